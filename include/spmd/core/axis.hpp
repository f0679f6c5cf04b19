// Named axes: which ones are in scope here, and how an operation that speaks of one finds it.
#pragma once
#include <array>
#include <mutex>
#include <string_view>

#include "value.hpp"

namespace spmd {

namespace detail {
class Group;    // the shards of one pmap (device/communicator)
class Meeting;  // all maps inside one outermost pmap

/// An axis name; equal names are the same pointer.
using Name = const std::string*;

inline Name intern(std::string_view text) {
  static auto* mutex = new std::mutex;
  // By hand: a standard set would be a hundred more functions in every program.
  static auto* buckets = new std::array<List<Name>, 64>;
  std::lock_guard lock(*mutex);
  auto& names = (*buckets)[std::hash<std::string_view>()(text) % buckets->size()];
  for (auto name : names)
    if (*name == text) return name;
  names.push_back(new std::string(text));
  return names.back();
}

/// Row numbers along an axis, shared and immutable.
struct Rows : Counted {
  explicit Rows(List<Index> r) : rows(std::move(r)) {}
  const List<Index> rows;
};
}  // namespace detail

/// A named axis that a function is being mapped over: by vmap (no group) or by pmap.
struct Axis {
  detail::Name name = nullptr;
  Index size = 0;  // of all members; in a batch rule, of the lanes that are here
  detail::Ref<const detail::Rows> lanes = {};  // vmap: the lanes that are here, once a cond has left the others behind
  detail::Group* group = nullptr;              // pmap: where its shards meet,
  Index index = 0;                             // which of them this is,
  Axes path = {};                              // and our index in each map inside it: shards meet their likes
};

namespace detail {

/// What a shard inherits from the thread that starts it. The axes are those of the maps around, outermost first.
struct Context {
  List<Axis> axes;
  List<Device> devices;        // the group of devices that a map here may use; empty outside every pmap
  Meeting* meeting = nullptr;  // null: no pmap is running
};
/// Reached through a pointer: a thread that dies last may still look, and a plain pointer costs no guard.
inline Context& context() {
  static thread_local Context here;
  return here;
}

struct AxisScope {
  explicit AxisScope(Axis axis) { context().axes.push_back(std::move(axis)); }
  ~AxisScope() { context().axes.pop_back(); }
  AxisScope(const AxisScope&) = delete;
  AxisScope& operator=(const AxisScope&) = delete;
};

inline void no_shadowing(std::string_view op, std::string_view name) {
  for (auto& axis : context().axes)
    if (axis.name && !name.empty() && *axis.name == name) fail<AxisError>(op, {"an axis named \"", name, "\" is in scope already: give this one another name"});
}

}  // namespace detail

/// The names of axes that a collective speaks of: one, several (the first is the most significant), or none.
class AxisNames {
 public:
  AxisNames(const char* name) { add(name); }
  AxisNames(const std::string& name) { add(name); }
  AxisNames(std::string_view name) { add(name); }
  AxisNames(std::initializer_list<const char*> names) {
    for (auto* n : names) add(n);
  }
  AxisNames(const std::vector<std::string>& names) {
    for (auto& n : names) add(n);
  }
  std::size_t size() const { return size_; }
  detail::Name operator[](std::size_t i) const { return names_[i]; }
  const detail::Name* begin() const { return names_; }
  const detail::Name* end() const { return names_ + size_; }
  /// As messages write it: "i" or {"i", "j"}.
  std::string text() const {
    if (size_ == 1) return detail::concat({"\"", *names_[0], "\""});
    std::string out = "{";
    for (std::size_t i = 0; i < size_; ++i) out += detail::concat({i ? ", \"" : "\"", *names_[i], "\""});
    return out + "}";
  }

 private:
  static constexpr std::size_t capacity = 8;
  void add(std::string_view name) {
    if (size_ == capacity) fail<AxisError>("AxisNames", {"more than ", capacity, " names"});
    // A name in scope is interned already; looking there first keeps collectives off the lock.
    detail::Name found = nullptr;
    for (auto& axis : detail::context().axes)
      if (axis.name && *axis.name == name) found = axis.name;
    names_[size_++] = found ? found : detail::intern(name);
  }
  std::size_t size_ = 0;
  detail::Name names_[capacity] = {};
};

namespace detail {

inline std::string axes_in_scope() {
  std::string known;
  for (auto& axis : context().axes)
    if (axis.name && !axis.name->empty()) known += concat({known.empty() ? "\"" : ", \"", *axis.name, "\""});
  return known.empty() ? "none (call it inside a vmap or pmap with an axis name)" : known;
}

/// The innermost axis of that name; AxisError when none is in scope.
inline const Axis& find_axis(std::string_view op, Name name) {
  auto& axes = context().axes;
  for (auto i = axes.size(); i-- > 0;)
    if (axes[i].name == name) return axes[i];
  fail<AxisError>(op, {"no axis named \"", *name, "\" is in scope; axes in scope: ", axes_in_scope()});
}
/// Every name is in scope and none is there twice.
inline void check_names(std::string_view op, const AxisNames& names) {
  for (auto* name : names) find_axis(op, name);
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (names[i] == names[j]) fail<AxisError>(op, {"the axis \"", *names[i], "\" is named twice in ", names});
}

}  // namespace detail
}  // namespace spmd
