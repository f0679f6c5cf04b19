// Where values are: putting them on devices, getting them back, and waiting for them.
#pragma once
#include "axes.hpp"
#include "../ops/movement.hpp"

namespace spmd {
namespace detail {

/// Where a value is put: whole on one device, or on several, cut along an axis or in copies.
struct Placement {
  List<Device> devices;
  Cut cut;

  Index width(const Shape& shape) const { return shape[cut.axis] / static_cast<Index>(devices.size()); }
  Part part(const Any& x, std::size_t i) const {
    Axes offset = Axes::filled(x->shape.rank(), 0);
    if (cut.kind == Cut::replicated) return {devices[i], offset, x};
    offset[cut.axis] = static_cast<Index>(i) * width(x->shape);
    return {devices[i], offset, block(x, offset, with(x->shape, cut.axis, width(x->shape)))};
  }
  /// Whether x is placed like this already.
  bool holds(const Any& x) const {
    auto* s = as_sharded(*x);
    if (!s) return devices.size() == 1 && devices_of(*x)[0] == devices[0];
    if (s->parts.size() != devices.size() || s->replicated() != (cut.kind == Cut::replicated)) return false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!(s->parts[i].device == devices[i])) return false;
      if (cut.kind == Cut::replicated) continue;
      Axes offset = Axes::filled(x->shape.rank(), 0);
      offset[cut.axis] = static_cast<Index>(i) * width(x->shape);
      if (!(s->parts[i].offset == offset) || s->parts[i].value->shape != with(x->shape, cut.axis, width(x->shape))) return false;
    }
    return true;
  }
  Any put(const Any& x) const {
    if (holds(x)) return x;
    if (devices.size() == 1) {
      if (auto* s = as_sharded(*x); s && s->replicated())
        for (auto& part : s->parts)
          if (part.device == devices[0]) return on_device(part.value, devices[0]);
      return on_device(x, devices[0]);
    }
    Any from = x;
    if (auto* s = as_sharded(*x); cut.kind == Cut::replicated) from = s && s->replicated() ? s->parts[0].value : Any(&x->dense("device_put"));
    List<Part> parts;
    for (std::size_t i = 0; i < devices.size(); ++i) parts.push_back(part(from, i));
    return make<const Sharded>(x->shape, std::move(parts));
  }
};

/// The same value elsewhere. Derivatives stay where they are; a vmap's lanes go together.
class Put final : public Linear {
 public:
  explicit Put(Placement to) : to_(std::move(to)) {}
  std::string_view name() const override { return "device_put"; }
  Any run(const Any& x) const override { return to_.put(x); }
  Any transposed(const Any& ct, const Any&) const override { return ct; }
  Any lanes(Index, const Any& x) const override {
    Placement to = to_;
    to.cut = to.cut.moved(1);
    return apply<Put>(x, std::move(to));
  }

 private:
  const Placement to_;
};

inline Any apply_put(const Any& x, Placement to) { return apply<Put>(x, std::move(to)); }

/// What a spec means for one leaf; the axis divides.
inline Cut checked_cut(const AxisSpec& spec, bool is_key, const Shape& shape, Index n, const Path& path) {
  constexpr std::string_view op = "device_put";
  auto name = [&] { return concat({"leaf", path.parent ? " " : "", path}); };
  const Index rank = shape.rank() - (is_key ? 1 : 0);
  const auto cut = resolve(op, MapKind::pmap, spec, is_key, rank, false, name());
  if (cut.kind == Cut::replicated) return cut;
  const Index size = shape[cut.axis];
  if (cut.kind == Cut::each && size != n) fail<ShapeError>(op, {name(), " of shape ", shape, " has size ", size, " on axis ", cut.axis, ", there are ", n, " devices to put each index on one"});
  if (size % n != 0) fail<ShapeError>(op, {name(), " of shape ", shape, " has size ", size, " on axis ", cut.axis, ", which does not divide by ", n, " devices: drop rows, or pad with pad_to_multiple(x, ", n, ", ", cut.axis, ")"});
  return cut;
}

/// Stores what is pending in a value.
inline void settle(const Any& x) {
  if (!x->readable()) return;
  auto& value = x->primal();
  if (auto* s = as_sharded(value)) {
    for (auto& part : s->parts) settle(part.value);
  } else if (auto& done = value.dense("synchronize").completion) {
    done->wait();
  }
}

/// Every tensor and key of a tree, placed by f(value).
template <class Tree, class F> Tree placed(Tree tree, F f) {
  walk(tree, [&]<class L>(L& leaf, const Path&) {
    if constexpr (is_array_leaf<L>) assign(leaf, f(any_of(leaf)));
  });
  return tree;
}

}  // namespace detail

/// The tree with every tensor and key whole on one device. On the host nothing moves: its devices share their memory. DeviceError when there
/// is no such device.
template <class Tree> Tree device_put(const Tree& tree, Device device) {
  detail::check_devices("device_put", {device});
  return detail::placed(tree, [&](const Any& x) { return detail::apply_put(x, {{device}, {}}); });
}
/// The tree with every tensor and key on several devices: split(k), cut along axis k into equal blocks; each(k), one index of axis k for each
/// device; replicated, a copy for each. A number means what it does to pmap; a nested list of specs follows the members. A pmap over the same
/// devices takes the result without moving anything. ShapeError when an axis does not divide, AxisError when there is none, TypeError when the
/// specs do not follow the tree, DeviceError for devices that are missing or repeated.
template <class Tree> Tree device_put(const Tree& tree, const std::vector<Device>& devices, const AxisSpec& spec) {
  constexpr std::string_view op = "device_put";
  detail::check_devices(op, devices);
  Tree out = tree;
  const detail::Path root;
  detail::walk_with_spec(op, "the spec", out, &spec, [&]<class L>(L& leaf, const AxisSpec* said, const detail::Path& path) {
    if constexpr (detail::is_array_leaf<L>) {
      const auto& x = detail::any_of(leaf);
      detail::assign(leaf, detail::apply_put(x, {detail::List<Device>(devices.begin(), devices.end()), detail::checked_cut(*said, std::is_same_v<L, Key>, x->shape, static_cast<Index>(devices.size()), path)}));
    }
  }, root);
  return out;
}
/// The tree with every tensor and key in one piece on the first device. Sharded ones are gathered there.
template <class Tree> Tree device_get(const Tree& tree) { return device_put(tree, current_device()); }

/// Waits for the work of all devices, and throws what went wrong there. The host's is done when an operation returns.
inline void synchronize() {}
/// Computes what is pending in a tree, and waits until it is there. Values that vmap maps are left alone.
template <class Tree> void synchronize(const Tree& tree) {
  detail::walk(tree, [&]<class L>(const L& leaf, const detail::Path&) {
    if constexpr (detail::is_array_leaf<L>) detail::settle(detail::any_of(leaf));
  });
}

}  // namespace spmd
