// One persistent thread per host device. A map hands each worker its shard; the calling thread runs the first device's itself.
#pragma once
#include <pthread.h>

#include <thread>

#include "device.hpp"

namespace spmd::detail {

inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Threads of maps that are running or looking for work: while each has a core, waiting by looking is faster than sleeping.
class Spinning {
 public:
  static Index limit(Index threads) {
    static const auto cores = static_cast<Index>(std::max(1u, std::thread::hardware_concurrency()));
    return threads <= cores ? 1000 : 0;
  }
};

/// A piece of work for several devices. `run` must not throw.
struct Task {
  virtual void run(Index place) noexcept = 0;
  std::atomic<Index> remaining = 0;

 protected:
  ~Task() = default;
};

class Worker {
 public:
  /// Begins task->run(place) on this worker, which is idle; `threads` says how many take part.
  void begin(Task* task, Index place, Index threads) {
    place_ = place;
    spin_.store(Spinning::limit(threads), std::memory_order_relaxed);
    task_.store(task, std::memory_order_release);
    task_.notify_one();
  }
  std::mutex turn;  // held by the map that uses this device

  Worker() {
    std::thread([this] { loop(); }).detach();
  }

 private:
  [[noreturn]] void loop() {
    for (;;) {
      auto* task = task_.load(std::memory_order_acquire);
      for (Index i = 0; !task && i < spin_.load(std::memory_order_relaxed); ++i) {
        pause_cpu();
        task = task_.load(std::memory_order_acquire);
      }
      if (!task) {
        task_.wait(nullptr, std::memory_order_acquire);
        continue;
      }
      task_.store(nullptr, std::memory_order_relaxed);
      task->run(place_);
      finish(*task);
    }
  }
  static void finish(Task& task) {
    // The task may be gone as soon as the count is zero; waking by its address touches no memory.
    auto* remaining = &task.remaining;
    if (remaining->fetch_sub(1, std::memory_order_acq_rel) == 1) remaining->notify_all();
  }
  std::atomic<Task*> task_ = nullptr;
  std::atomic<Index> spin_ = 0;
  Index place_ = 0;
};

/// The workers of this process, made when first needed and never destroyed. A forked child makes its own.
class Workers {
 public:
  static Workers& instance() {
    static auto* workers = [] {
      pthread_atfork(nullptr, nullptr, [] { Workers::instance().forget(); });
      return new Workers;
    }();
    return *workers;
  }
  Worker& of(Device device) {
    const auto id = static_cast<std::size_t>(device.id);
    std::lock_guard lock(*mutex_);
    if (list_.size() <= id) list_.resize(id + 1);
    if (!list_[id]) list_[id] = new Worker;
    return *list_[id];
  }

 private:
  void forget() {
    mutex_ = new std::mutex;  // the parent's threads do not exist here, nor does whoever held the lock
    list_.clear();
  }
  std::mutex* mutex_ = new std::mutex;
  List<Worker*> list_;
};

/// Runs the task's places 1, 2, ... on the workers of their devices and place 0 here; returns when all are done.
inline void run_on(const List<Device>& devices, Task& task) {
  const auto n = static_cast<Index>(devices.size());
  task.remaining.store(n - 1, std::memory_order_relaxed);
  for (Index p = 1; p < n; ++p) Workers::instance().of(devices[static_cast<std::size_t>(p)]).begin(&task, p, n);
  task.run(0);
  const Index spin = Spinning::limit(n);
  for (Index i = 0; i < spin && task.remaining.load(std::memory_order_acquire) > 0; ++i) pause_cpu();
  for (Index left; (left = task.remaining.load(std::memory_order_acquire)) > 0;) task.remaining.wait(left, std::memory_order_acquire);
}

}  // namespace spmd::detail
