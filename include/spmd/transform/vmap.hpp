// vmap: one call of a function for all slices of its arguments, every operation batched.
#pragma once
#include "axes.hpp"
#include "batcher.hpp"

namespace spmd {
namespace detail {

/// What vmap(f) is: a callable with the options of the map.
template <class F> class Vmapped {
 public:
  Vmapped(F f, MapOptions options) : f_(std::move(f)), options_(std::move(options)), name_(options_.axis_name.empty() ? nullptr : intern(options_.axis_name)) {
    if (!options_.devices.empty()) fail<DeviceError>("vmap", {"devices are for pmap: vmap runs on one"});
  }
  template <class... Args> auto operator()(const Args&... args) const {
    no_shadowing("vmap", options_.axis_name);
    const std::tuple<const Args&...> given(args...);
    ArgumentList list("vmap", MapKind::vmap, options_, given);
    const auto size = list.size();
    if (!size) fail<ShapeError>("vmap", {"no argument has a mapped axis: give axis_size"});
    list.check_blocks(std::max<Index>(1, *size));
    auto batcher = make<Batcher>(Batcher::Spec{Axis{name_, *size, {}, nullptr, 0, {}}, *size, fresh_id(), {}});
    Anys traced;
    for (auto& leaf : list.leaves) traced.push_back(batcher->close({to_front(leaf.value, leaf.cut, *size), leaf.cut.kind != Cut::replicated}));
    std::tuple<std::decay_t<const Args&>...> inputs(args...);
    auto* next = static_cast<const Any*>(traced.data());
    refill(inputs, next);
    using Result = std::invoke_result_t<const F&, std::decay_t<const Args&>...>;
    auto call = [&] {
      AxisScope named(batcher->in_scope());
      InterpreterScope scope(batcher.get());
      return std::apply(f_, std::move(inputs));
    };
    if constexpr (std::is_void_v<Result>) {
      call();
    } else {
      auto out = lift(call());
      const auto cuts = result_cuts("vmap", MapKind::vmap, options_.out_axes, list.any_split(), out);
      std::size_t k = 0;
      walk(out, [&]<class L>(L& leaf, const Path&) {
        if constexpr (is_array_leaf<L>) assign(leaf, from_front(*batcher, any_of(leaf), cuts[k++]));
      });
      return out;
    }
  }

 private:
  /// The lanes of an argument, along axis 0.
  static Any to_front(const Any& x, const Cut& cut, Index n) {
    if (cut.kind == Cut::replicated) return x;
    if (cut.kind == Cut::each) return moveaxis(x, cut.axis, 0);
    Shape shape = x->shape;
    shape[cut.axis] = n == 0 ? 0 : shape[cut.axis] / n;
    shape.insert(cut.axis, n);
    return moveaxis(reshape(x, shape), cut.axis, 0);
  }
  static Any from_front(const Batcher& batcher, const Any& x, const Cut& cut) {
    const auto opened = batcher.open(x);
    const Index n = batcher.axis().size;
    if (cut.kind == Cut::replicated) return opened.mapped ? apply<TakeReplica>(opened.value) : opened.value;
    auto y = moveaxis(on_lanes(opened, n), 0, cut.axis);
    if (cut.kind == Cut::each) return y;
    Shape shape = y->shape;
    shape.erase(cut.axis);
    shape[cut.axis] *= n;
    return reshape(y, shape);
  }
  F f_;
  MapOptions options_;
  Name name_;
};

}  // namespace detail

/// Maps f over an axis of its arguments on one device: f sees one slice, and is called once for all of them. See MapOptions, and
/// the contract for what the specs mean. Errors before f is called: ShapeError for sizes that disagree or do not divide, AxisError
/// for axes out of range or a name that is in scope already, TypeError for specs that do not follow the arguments.
template <class F> auto vmap(F f, MapOptions options = {}) { return detail::Vmapped<F>(std::move(f), std::move(options)); }
template <class F, class Name>
  requires std::is_convertible_v<Name, std::string>
auto vmap(F f, Name axis_name) {
  return detail::Vmapped<F>(std::move(f), MapOptions{.axis_name = std::move(axis_name)});
}

}  // namespace spmd
