// The devices of this process and which of them a map uses when nothing is said.
#pragma once
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "../core/axis.hpp"

namespace spmd {

/// How often, and how many bytes of, values moved since the program began.
struct Transfers {
  struct Counter {
    std::int64_t count = 0, bytes = 0;
  };
  Counter host_to_device, device_to_host, device_to_device, gathers;
};

namespace detail {

struct AtomicCounter {
  std::atomic<std::int64_t> count = 0, bytes = 0;
  void add(Index n) {
    count.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(n, std::memory_order_relaxed);
  }
  Transfers::Counter read() const { return {count.load(), bytes.load()}; }
};

/// What the process knows of its devices. Never destroyed: static tensors may outlive everything else.
class Runtime {
 public:
  static Runtime& instance() {
    static auto* runtime = new Runtime;
    return *runtime;
  }
  Device first_device() const { return first_.load(std::memory_order_relaxed); }
  std::vector<Device> default_devices() const {
    std::lock_guard lock(mutex_);
    return defaults_;
  }
  List<Device> default_list() const {  // as above, without the heap
    std::lock_guard lock(mutex_);
    List<Device> list;
    list.append(defaults_.begin(), defaults_.end());
    return list;
  }
  Index host_count() const {
    std::lock_guard lock(mutex_);
    return host_count_;
  }
  void set_host_count(Index n) {
    std::lock_guard lock(mutex_);
    host_count_ = n;
    defaults_.clear();
    for (Index i = 0; i < n; ++i) defaults_.push_back({Platform::host, static_cast<int>(i)});
    first_ = defaults_[0];
  }
  void set_defaults(std::vector<Device> devices) {
    std::lock_guard lock(mutex_);
    defaults_ = std::move(devices);
    first_ = defaults_[0];
  }

  std::atomic<Index> running_maps = 0;
  AtomicCounter gathers, device_to_device;

 private:
  Runtime() {
    Index n = std::max<Index>(1, std::thread::hardware_concurrency());
    if (auto* text = std::getenv("SPMD_HOST_DEVICES"); text && *text) {
      char* end = nullptr;
      errno = 0;
      const auto asked = std::strtol(text, &end, 10);
      if (*end || errno || asked < 1 || asked > 4096) fail<DeviceError>("SPMD_HOST_DEVICES", {"\"", text, "\" is not a number of devices (1 to 4096)"});
      n = asked;
    }
    set_host_count(n);
  }
  mutable std::mutex mutex_;
  Index host_count_ = 0;
  std::vector<Device> defaults_;
  std::atomic<Device> first_{Device{}};
};

inline Device default_device() {
  auto& here = context();
  return here.devices.empty() ? Runtime::instance().first_device() : here.devices[0];
}
inline void no_map_runs(std::string_view op) {
  if (Runtime::instance().running_maps.load() > 0) fail<DeviceError>(op, {"a map is running: change devices before or after it"});
}

/// Devices that a call named: none missing, none twice, at least one.
inline void check_devices(std::string_view op, const std::vector<Device>& devices) {
  if (devices.empty()) fail<DeviceError>(op, {"the list of devices is empty"});
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto& d = devices[i];
    if (d.platform != Platform::host || d.id < 0 || d.id >= Runtime::instance().host_count())
      fail<DeviceError>(op, {"there is no device ", d, "; there are ", Runtime::instance().host_count(), " host devices"});
    for (std::size_t j = 0; j < i; ++j)
      if (devices[j] == d) fail<DeviceError>(op, {"the device ", d, " is given twice"});
  }
}

}  // namespace detail

/// All devices of a platform.
inline std::vector<Device> devices(Platform platform) {
  std::vector<Device> list;
  if (platform == Platform::host)
    for (Index i = 0; i < detail::Runtime::instance().host_count(); ++i) list.push_back({platform, static_cast<int>(i)});
  return list;
}
/// The devices that maps use when nothing is said.
inline std::vector<Device> devices() { return detail::Runtime::instance().default_devices(); }
inline std::vector<Device> local_devices() { return devices(); }
inline Index device_count() { return static_cast<Index>(detail::Runtime::instance().default_list().size()); }
inline Index local_device_count() { return device_count(); }
inline Index process_index() { return 0; }
inline Index process_count() { return 1; }

/// Makes n virtual host devices, whatever the number of cores; they become the default devices. DeviceError while a map runs.
inline void set_host_device_count(Index n) {
  detail::no_map_runs("set_host_device_count");
  if (n < 1 || n > 4096) fail<DeviceError>("set_host_device_count", {n, " is not a number of devices (1 to 4096)"});
  detail::Runtime::instance().set_host_count(n);
}
/// What maps use when nothing is said. DeviceError for a device that is missing or given twice.
inline void set_default_devices(std::vector<Device> list) {
  detail::no_map_runs("set_default_devices");
  detail::check_devices("set_default_devices", list);
  detail::Runtime::instance().set_defaults(std::move(list));
}
/// How many devices hold `total` items at `per_device` each: the quotient, rounded up.
inline Index required_devices(Index total, Index per_device) {
  if (total < 0 || per_device < 1) fail<ShapeError>("required_devices", {total, " items at ", per_device, " per device"});
  return total / per_device + (total % per_device != 0);
}
/// The device that this code runs on: inside a shard its own, outside the first default device.
inline Device current_device() { return detail::default_device(); }

inline Transfers transfers() {
  auto& runtime = detail::Runtime::instance();
  return {{}, {}, runtime.device_to_device.read(), runtime.gathers.read()};
}

}  // namespace spmd
