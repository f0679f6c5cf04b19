// Reductions over axes, and the element types as the untyped core knows them.
#pragma once
#include "../device/host/gather.hpp"
#include "../device/host/reduce.hpp"
#include "../device/host/scan.hpp"
#include "math.hpp"

namespace spmd {
namespace detail {

/// The shape with axes of size one, for what a reduction dropped.
inline Shape kept(Shape shape, const Axes& axes) {
  for (auto a : axes) shape[a] = 1;
  return shape;
}
inline Shape dropped(const Shape& shape, const Axes& axes) {
  Shape out;
  for (Index d = 0; d < shape.rank(); ++d)
    if (!axes.contains(d)) out.push_back(shape[d]);
  return out;
}
/// Whether these axes have elements to combine, and no axis that stays comes behind one.
inline bool are_last(const Axes& axes, const Shape& shape) {
  bool one = false;
  for (Index d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    if (one && !axes.contains(d)) return false;
    one |= axes.contains(d);
  }
  return one;
}
/// A reduced value, stretched back over the axes.
template <class T> Tensor<T> spread(const Tensor<T>& x, const Axes& axes, const Shape& shape) {
  return Tensor<T>(broadcast(reshape(x.any(), kept(shape, axes)), shape));
}

/// Reduces axes by R, one of the reducers of device/host/reduce; Out is the type of the result.
template <class R, class Out> struct Reduce {
  static constexpr std::string_view name = R::name;
  Axes axes;
  template <class T> Tensor<Out> impl(const Tensor<T>& x) const {
    if (auto* pending = Pending::pending(x.any()); pending && are_last(axes, x.shape()) && pending->pass_once()) {
      auto out = Buffer::make(dropped(x.shape(), axes), dtype_of<Out>(), pending->device);
      Pieces pieces(*pending);
      const Index rows = out->shape.size();
      host::reduce_pieces<R, T>(out->template fill_as<Out>(), pieces, rows, x.size() / rows);
      return Tensor<Out>(Any(out));
    }
    auto& in = x.any()->dense(name);
    auto out = Buffer::make(dropped(x.shape(), axes), dtype_of<Out>(), in.device);
    host::reduce<R>(out->template fill_as<Out>(), in.template as<T>(), x.shape(), axes);
    return Tensor<Out>(Any(out));
  }
  template <class T> auto vjp(const Tensor<Out>& ct, const Tensor<Out>& out, const Tensor<T>& x) const {
    if constexpr (!std::same_as<T, Out> || !Floating<T>) {
      return std::tuple(zero);
    } else if constexpr (std::same_as<R, host::SumOf>) {
      return std::tuple(spread(ct, axes, x.shape()));
    } else if constexpr (std::same_as<R, host::ProdOf>) {
      // The product of the others: where one factor is zero it is that of the rest, where two are it is zero.
      const auto is_zero = x == 0.0f;
      const auto zeros_there = sum(cast<std::int32_t>(is_zero), axes, true);
      const auto rest = prod(where(is_zero, 1, x), axes, true);
      const auto others = where(zeros_there == 0, spread(out, axes, x.shape()) / where(is_zero, 1, x), where(zeros_there == 1 && is_zero, rest, 0));
      return std::tuple(spread(ct, axes, x.shape()) * others);
    } else {
      const auto winner = cast<T>(x == spread(out, axes, x.shape()));
      return std::tuple(winner * spread(ct / sum(winner, axes), axes, x.shape()));  // ties share
    }
  }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return {bind<Out>(Reduce{shifted(axes)}, Tensor<T>(args[0].value)).any(), true}; }
};

template <class R, class Out, class T> Tensor<Out> reduce(const Tensor<T>& x, const Axes& asked, bool keepdims) {
  const auto axes = checked_axes(R::name, asked, x.rank());
  auto out = axes.empty() ? cast<Out>(x) : bind<Out>(Reduce<R, Out>{axes}, x);
  return keepdims ? Tensor<Out>(reshape(out.any(), kept(x.shape(), axes))) : out;
}
/// What sums and products of T are made of: bool and integers under 32 bits become int32.
template <class T> using SumType = std::conditional_t<std::integral<T> && sizeof(T) < 4, std::int32_t, T>;

/// The index of the first largest (or smallest) element along an axis.
template <bool Largest> struct ArgReduce {
  static constexpr std::string_view name = Largest ? "argmax" : "argmin";
  Index axis;
  template <class T> Tensor<std::int32_t> impl(const Tensor<T>& x) const {
    const auto& s = x.shape();
    auto& in = x.any()->dense(name);
    auto out = Buffer::make(without(s, axis), dtype_of<std::int32_t>(), in.device);
    host::arg_reduce<Largest>(out->template fill_as<std::int32_t>(), in.template as<T>(), extent(s, 0, axis), s[axis], extent(s, axis + 1, s.rank()));
    return Tensor<std::int32_t>(Any(out));
  }
  template <class T> auto vjp(const Tensor<std::int32_t>&, const Tensor<std::int32_t>&, const Tensor<T>&) const { return std::tuple(zero); }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return {bind<std::int32_t>(ArgReduce{axis + 1}, Tensor<T>(args[0].value)).any(), true}; }
};
template <bool Largest, class T> Tensor<std::int32_t> arg_reduce(const Tensor<T>& x, Index asked, bool keepdims) {
  constexpr auto name = ArgReduce<Largest>::name;
  const auto axis = checked_axis(name, asked, x.rank());
  if (x.shape()[axis] == 0) fail<ShapeError>(name, {"axis ", axis, " of ", x.shape(), " is empty"});
  auto out = bind<std::int32_t>(ArgReduce<Largest>{axis}, x);
  return keepdims ? Tensor<std::int32_t>(reshape(out.any(), with(x.shape(), axis, 1))) : out;
}

struct CumSum {
  static constexpr std::string_view name = "cumsum";
  Index axis;
  bool reverse;
  template <class T> auto impl(const Tensor<T>& x) const {
    using Out = SumType<T>;
    const auto& s = x.shape();
    auto& in = x.any()->dense(name);
    auto out = Buffer::make(s, dtype_of<Out>(), in.device);
    host::cumulative_sum(out->template fill_as<Out>(), in.template as<T>(), extent(s, 0, axis), s[axis], extent(s, axis + 1, s.rank()), reverse);
    return Tensor<Out>(Any(out));
  }
  template <class Out, class T> auto vjp(const Tensor<Out>& ct, const Tensor<Out>&, const Tensor<T>&) const {
    if constexpr (std::same_as<T, Out> && Floating<T>) return std::tuple(bind<T>(CumSum{axis, !reverse}, ct));
    else return std::tuple(zero);
  }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return {bind<SumType<T>>(CumSum{axis + 1, reverse}, Tensor<T>(args[0].value)).any(), true}; }
};

/// Adds slices into zeros of size n along an axis: the transpose of take. The rows are std::int64_t and not negative.
template <class T> struct ScatterAdd {
  static constexpr std::string_view name = "scatter_add";
  Index n, axis;
  Tensor<T> impl(const Tensor<std::int64_t>& rows, const Tensor<T>& updates) const;
  auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<std::int64_t>& rows, const Tensor<T>&) const;
  template <class, class> Batched batch(const Axis& mapped, const Batch& args) const;
};

template <class T> constexpr std::string_view type_name() {
  if constexpr (std::same_as<T, float>) return "float32";
  else if constexpr (std::same_as<T, double>) return "float64";
  else if constexpr (std::same_as<T, float16>) return "float16";
  else if constexpr (std::same_as<T, bfloat16>) return "bfloat16";
  else if constexpr (std::same_as<T, bool>) return "bool";
  else if constexpr (std::signed_integral<T>) return sizeof(T) == 1 ? "int8" : sizeof(T) == 2 ? "int16" : sizeof(T) == 4 ? "int32" : "int64";
  else return sizeof(T) == 1 ? "uint8" : sizeof(T) == 2 ? "uint16" : sizeof(T) == 4 ? "uint32" : "uint64";
}

}  // namespace detail

/// The element type T as the core knows it. Only floating types are differentiated, so only they have arithmetic there.
template <class T> const DType* dtype_of() {
  using Kind = DType::Kind;
  static constexpr auto kind = std::same_as<T, bool> ? Kind::boolean : Floating<T> ? Kind::floating : Kind::integer;
  if constexpr (Floating<T>) {
    static constexpr DType type{detail::type_name<T>(), sizeof(T), kind,
                                [](const Any& a, const Any& b) { return (Tensor<T>(a) + Tensor<T>(b)).any(); },
                                [](const Any& x, const Axes& axes) { return sum(Tensor<T>(x), axes).any(); },
                                [](const Any& x, double by) { return (Tensor<T>(x) * by).any(); },
                                [](const Any& rows, const Any& updates, Index n, Index axis) {
                                  return bind<T>(detail::ScatterAdd<T>{n, axis}, Tensor<std::int64_t>(rows), Tensor<T>(updates)).any();
                                }};
    return &type;
  } else {
    static constexpr DType type{detail::type_name<T>(), sizeof(T), kind, nullptr, nullptr, nullptr, nullptr};
    return &type;
  }
}

/// Sums over axes (default: all; {} reduces nothing). bool and integers under 32 bits give int32. 16-bit floats add in f32.
template <class T> auto sum(const Tensor<T>& x, const Axes& axes, bool keepdims = false) { return detail::reduce<host::SumOf, detail::SumType<T>>(x, axes, keepdims); }
template <class T> auto sum(const Tensor<T>& x) { return sum(x, detail::all_axes(x.rank())); }
template <class T> auto prod(const Tensor<T>& x, const Axes& axes, bool keepdims = false) { return detail::reduce<host::ProdOf, detail::SumType<T>>(x, axes, keepdims); }
template <class T> auto prod(const Tensor<T>& x) { return prod(x, detail::all_axes(x.rank())); }
/// The largest element; NaN if there is one. The gradient goes to the largest, in equal shares. ShapeError over an empty axis.
template <class T> Tensor<T> max(const Tensor<T>& x, const Axes& axes, bool keepdims = false) {
  for (auto a : detail::checked_axes("max", axes, x.rank()))
    if (x.shape()[a] == 0) fail<ShapeError>("max", {"axis ", a, " of ", x.shape(), " is empty"});
  return detail::reduce<host::MaxOf, T>(x, axes, keepdims);
}
template <class T> Tensor<T> max(const Tensor<T>& x) { return max(x, detail::all_axes(x.rank())); }
template <class T> Tensor<T> min(const Tensor<T>& x, const Axes& axes, bool keepdims = false) {
  for (auto a : detail::checked_axes("min", axes, x.rank()))
    if (x.shape()[a] == 0) fail<ShapeError>("min", {"axis ", a, " of ", x.shape(), " is empty"});
  return detail::reduce<host::MinOf, T>(x, axes, keepdims);
}
template <class T> Tensor<T> min(const Tensor<T>& x) { return min(x, detail::all_axes(x.rank())); }
template <class T> Tensor<bool> any(const Tensor<T>& x, const Axes& axes, bool keepdims = false) { return detail::reduce<host::AnyOf, bool>(cast<bool>(x), axes, keepdims); }
template <class T> Tensor<bool> any(const Tensor<T>& x) { return any(x, detail::all_axes(x.rank())); }
template <class T> Tensor<bool> all(const Tensor<T>& x, const Axes& axes, bool keepdims = false) { return detail::reduce<host::AllOf, bool>(cast<bool>(x), axes, keepdims); }
template <class T> Tensor<bool> all(const Tensor<T>& x) { return all(x, detail::all_axes(x.rank())); }
/// The mean; of integers and bool a float. Of nothing: NaN. The sum of 16-bit floats, which they may not hold, is an f32.
template <class T> auto mean(const Tensor<T>& x, const Axes& axes, bool keepdims = false) {
  if constexpr (SixteenBits<T>) {
    return cast<T>(mean(cast<float>(x), axes, keepdims));
  } else if constexpr (Floating<T>) {
    Index n = 1;
    for (auto a : detail::checked_axes("mean", axes, x.rank())) n *= x.shape()[a];
    return sum(x, axes, keepdims) / static_cast<double>(n);
  } else {
    return mean(cast<float>(x), axes, keepdims);
  }
}
template <class T> auto mean(const Tensor<T>& x) { return mean(x, detail::all_axes(x.rank())); }
/// The index of the first largest element (of the first NaN) along an axis, as int32; without an axis, in row-major order.
template <class T> Tensor<std::int32_t> argmax(const Tensor<T>& x, Index axis, bool keepdims = false) { return detail::arg_reduce<true>(x, axis, keepdims); }
template <class T> Tensor<std::int32_t> argmax(const Tensor<T>& x) { return argmax(Tensor<T>(detail::reshape(x.any(), Shape{x.size()})), 0); }
template <class T> Tensor<std::int32_t> argmin(const Tensor<T>& x, Index axis, bool keepdims = false) { return detail::arg_reduce<false>(x, axis, keepdims); }
template <class T> Tensor<std::int32_t> argmin(const Tensor<T>& x) { return argmin(Tensor<T>(detail::reshape(x.any(), Shape{x.size()})), 0); }
/// Sums of the first elements along an axis; without one, of all in row-major order.
template <class T> auto cumsum(const Tensor<T>& x, Index axis) { return bind<detail::SumType<T>>(detail::CumSum{detail::checked_axis("cumsum", axis, x.rank()), false}, x); }
template <class T> auto cumsum(const Tensor<T>& x) { return cumsum(Tensor<T>(detail::reshape(x.any(), Shape{x.size()})), 0); }

}  // namespace spmd
