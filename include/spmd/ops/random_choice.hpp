// Random orders and choices; exactly JAX's, as far as no logarithm decides. Indices are int32. Errors of all: TypeError for an array of keys
// (use vmap), ShapeError for a negative size.
#pragma once
#include "../device/host/shuffle.hpp"
#include "random_numbers.hpp"
#include "shaping.hpp"
#include "sorting.hpp"

namespace spmd {
namespace detail {

/// Random orders along the middle axis of (outer, n, inner), in an int32 array of this shape.
inline Tensor<std::int32_t> random_order(const Key& key, const Shape& shape, Index axis) {
  const Index outer = extent(shape, 0, axis), n = shape[axis], inner = extent(shape, axis + 1, shape.rank());
  check_sizes("random::permutation", shape);
  if (n > std::numeric_limits<std::int32_t>::max()) fail<ShapeError>("random::permutation", {n, " elements have no int32 indices"});
  return Tensor<std::int32_t>(draw("random::permutation", key, dtype_of<std::int32_t>(), shape, [=](void* out, std::uint32_t k0, std::uint32_t k1, Index) {
    host::random_order(static_cast<std::int32_t*>(out), k0, k1, outer, n, inner);
  }));
}

/// The places of the k largest elements along the last axis, the largest first, of equals the first.
template <class T> Tensor<std::int32_t> largest(const Tensor<T>& x, Index k) { return slice(argsort(-x, -1), 0, k, -1); }

/// Where numbers (lines..., shape) belong in rising lines (lines..., n): the first place that is not below.
struct SearchSorted {
  static constexpr std::string_view name = "random::choice";
  Index line_axes;
  template <class T> Tensor<std::int32_t> impl(const Tensor<T>& sorted, const Tensor<T>& x) const {
    const Index lines = extent(sorted.shape(), 0, line_axes), n = sorted.shape()[line_axes], count = extent(x.shape(), line_axes, x.rank());
    auto *rising = sorted.any()->dense(name).template as<T>(), *number = x.any()->dense(name).template as<T>();
    auto out = Buffer::make(x.shape(), dtype_of<std::int32_t>(), default_device());
    for (Index i = 0; i < lines; ++i) host::search_sorted(out->template fill_as<std::int32_t>() + i * count, rising + i * n, n, number + i * count, count);
    return Tensor<std::int32_t>(Any(std::move(out)));
  }
  template <class T> auto vjp(const Tensor<std::int32_t>&, const Tensor<std::int32_t>&, const Tensor<T>&, const Tensor<T>&) const { return std::tuple(zero, zero); }
  template <class T, class> Batched batch(const Axis& axis, const Batch& args) const {
    return {bind<std::int32_t>(SearchSorted{line_axes + 1}, Tensor<T>(on_lanes(args[0], axis.size)), Tensor<T>(on_lanes(args[1], axis.size))).any(), true};
  }
};

/// What `choice` of n things checks.
inline void check_choice(const Key& key, Index n, const Shape& shape, bool replace) {
  constexpr auto op = "random::choice";
  single_key(op, key);
  check_sizes(op, shape);
  if (n < 0) fail<ShapeError>(op, {"the number of elements is ", n});
  if (n == 0 && shape.size() > 0) fail<ShapeError>(op, {"there is nothing to choose from: the axis is empty"});
  if (!replace && shape.size() > n) fail<ShapeError>(op, {"cannot choose ", shape.size(), " of ", n, " elements without replacement"});
}
/// The indices that `choice` takes.
inline Tensor<std::int32_t> choose(const Key& key, Index n, const Shape& shape, bool replace);

}  // namespace detail

namespace random {

/// 0, ..., n - 1 in random order; depends on n. ShapeError for a negative n.
template <std::integral I> Tensor<std::int32_t> permutation(const Key& key, I n) { return detail::random_order(key, Shape{n}, 0); }
/// x with its slices along an axis in random order, or with each of its lines along the axis in an order of its own. Differentiable in x.
template <class T> Tensor<T> permutation(const Key& key, const Tensor<T>& x, Index axis = 0, bool independent = false) {
  const auto along = detail::checked_axis("random::permutation", axis, x.rank());
  if (independent) return take_along_axis(x, detail::random_order(key, x.shape(), along), along);
  return take(x, detail::random_order(key, Shape{x.shape()[along]}, 0), along);
}

/// How `choice` draws.
struct ChoiceOptions {
  bool replace = true;
  Index axis = 0;
};
/// Numbers of 0, ..., n - 1, each equally likely, of this shape; without replacement all of them differ. ShapeError when n elements are not
/// enough for that, or n is 0.
template <std::integral I> Tensor<std::int32_t> choice(const Key& key, I n, const Shape& shape = {}, const ChoiceOptions& options = {}) {
  return detail::choose(key, static_cast<Index>(n), shape, options.replace);
}
/// Numbers of 0, ..., n - 1 with probabilities p of shape (n), of sum 1 (ShapeError for another shape).
template <std::integral I, Floating P> Tensor<std::int32_t> choice(const Key& key, I n, const Shape& shape, const Tensor<P>& p, const ChoiceOptions& options = {}) {
  detail::check_choice(key, static_cast<Index>(n), shape, options.replace);
  if (p.shape() != Shape{n}) fail<ShapeError>("random::choice", {"needs one probability for each of ", n, " elements, got p of shape ", p.shape()});
  if (shape.size() == 0) return zeros<std::int32_t>(shape);
  // Without replacement: the largest of Gumbel numbers plus log p (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).
  if (!options.replace) return reshape(detail::largest(gumbel<P>(key, p.shape()) + log(p), shape.size()), shape);
  const auto rising = cumsum(p, 0);
  return bind<std::int32_t>(detail::SearchSorted{0}, rising, rising[-1] * (1 - uniform<P>(key, shape)));
}
/// Slices of x along an axis, by the indices that choice of their number draws: the axes of `shape` take the place of the axis.
/// Differentiable in x.
template <class T> Tensor<T> choice(const Key& key, const Tensor<T>& x, const Shape& shape = {}, const ChoiceOptions& options = {}) {
  const auto axis = detail::checked_axis("random::choice", options.axis, x.rank());
  return take(x, choice(key, x.shape()[axis], shape, options), axis);
}
template <class T, Floating P> Tensor<T> choice(const Key& key, const Tensor<T>& x, const Shape& shape, const Tensor<P>& p, const ChoiceOptions& options = {}) {
  const auto axis = detail::checked_axis("random::choice", options.axis, x.rank());
  return take(x, choice(key, x.shape()[axis], shape, p, options), axis);
}

/// How `categorical` draws: leading axes of the result, each place a draw of its own.
struct CategoricalOptions {
  Shape draws = {};
  bool replace = true;
  Mode mode = Mode::low;
};
/// Indices of categories, drawn with the probabilities softmax(logits) along an axis, which is dropped: the shape is that of the other axes,
/// behind `draws`. Without replacement the draws at one place differ. ShapeError for an axis without categories, or with too few.
/// The type of the logits decides the numbers that are drawn (E. J. Gumbel's trick, as in C. J. Maddison et al., "A* sampling", 2014).
template <Floating T> Tensor<std::int32_t> categorical(const Key& key, const Tensor<T>& logits, Index axis = -1, const CategoricalOptions& options = {}) {
  constexpr auto op = "random::categorical";
  detail::single_key(op, key);
  detail::check_sizes(op, options.draws);
  const auto along = detail::checked_axis(op, axis, logits.rank());
  const Index n = logits.shape()[along], draws = options.draws.size();
  if (n == 0) fail<ShapeError>(op, {"axis ", axis, " of ", logits.shape(), " has no categories"});
  Shape out = options.draws;
  for (auto d : detail::without(logits.shape(), along)) out.push_back(d);
  if (options.replace) {
    Shape all = options.draws;
    for (auto d : logits.shape()) all.push_back(d);
    return argmax(gumbel<T>(key, all, options.mode) + logits, options.draws.rank() + along);
  }
  if (draws > n) fail<ShapeError>(op, {"cannot draw ", draws, " of ", n, " categories without replacement"});
  const auto best = detail::largest(moveaxis(gumbel<T>(key, logits.shape(), options.mode) + logits, along, -1), draws);
  return reshape(moveaxis(best, -1, 0), out);
}

}  // namespace random

namespace detail {
inline Tensor<std::int32_t> choose(const Key& key, Index n, const Shape& shape, bool replace) {
  check_choice(key, n, shape, replace);
  if (replace) return random::randint<std::int32_t>(key, shape, 0, n);
  return reshape(slice(random::permutation(key, n), 0, shape.size(), 0), shape);
}
}  // namespace detail
}  // namespace spmd
