// Shapes: the typed functions over the movements. Negative axes count from the end.
#pragma once
#include "indexing.hpp"

namespace spmd {

/// The same elements in row-major order, of another shape; one size may be -1. ShapeError when the sizes do not agree.
template <class T> Tensor<T> reshape(const Tensor<T>& x, const Shape& asked) {
  Shape shape = asked;
  Index unknown = -1;
  for (Index d = 0; d < shape.rank(); ++d) {
    if (shape[d] == -1 && unknown < 0) shape[unknown = d] = 1;
    else if (shape[d] < 0) fail<ShapeError>("reshape", {asked, " has ", shape[d] == -1 ? "more than one -1" : "a negative size"});
  }
  const Index known = shape.size();
  if (unknown >= 0 && known > 0) shape[unknown] = x.size() / known;
  if (unknown >= 0 && known == 0) shape[unknown] = 0;
  if (shape.size() != x.size()) fail<ShapeError>("reshape", {"cannot make ", asked, " of ", x.shape(), ": ", x.size(), " elements"});
  return Tensor<T>(detail::reshape(x.any(), shape));
}
/// The axes in another order: axis i of the result is axis perm[i] of x.
template <class T> Tensor<T> transpose(const Tensor<T>& x, const Axes& asked) {
  const auto perm = detail::checked_axes("transpose", asked, x.rank());
  if (perm.rank() != x.rank()) fail<AxisError>("transpose", {perm, " is not an order of the ", x.rank(), " axes of ", x.shape()});
  return Tensor<T>(detail::transpose(x.any(), perm));
}
/// The axes in reverse order.
template <class T> Tensor<T> transpose(const Tensor<T>& x) {
  auto perm = detail::all_axes(x.rank());
  std::reverse(perm.begin(), perm.end());
  return Tensor<T>(detail::transpose(x.any(), perm));
}
template <class T> Tensor<T> swapaxes(const Tensor<T>& x, Index a, Index b) {
  auto perm = detail::all_axes(x.rank());
  std::swap(perm[detail::checked_axis("swapaxes", a, x.rank())], perm[detail::checked_axis("swapaxes", b, x.rank())]);
  return Tensor<T>(detail::transpose(x.any(), perm));
}
template <class T> Tensor<T> moveaxis(const Tensor<T>& x, Index from, Index to) {
  return Tensor<T>(detail::moveaxis(x.any(), detail::checked_axis("moveaxis", from, x.rank()), detail::checked_axis("moveaxis", to, x.rank())));
}
/// Several axes at once.
template <class T> Tensor<T> moveaxis(const Tensor<T>& x, const Axes& from, const Axes& to) {
  const auto source = detail::checked_axes("moveaxis", from, x.rank()), target = detail::checked_axes("moveaxis", to, x.rank());
  if (source.rank() != target.rank()) fail<AxisError>("moveaxis", {source, " and ", target, " name different numbers of axes"});
  Axes perm = Axes::filled(x.rank(), -1), rest;
  for (Index i = 0; i < source.rank(); ++i) perm[target[i]] = source[i];
  for (Index d = 0; d < x.rank(); ++d)
    if (!source.contains(d)) rest.push_back(d);
  for (Index d = 0, next = 0; d < x.rank(); ++d)
    if (perm[d] < 0) perm[d] = rest[next++];
  return Tensor<T>(detail::transpose(x.any(), perm));
}
/// A new axis of size one at this position of the result.
template <class T> Tensor<T> expand_dims(const Tensor<T>& x, Index axis) {
  Shape shape = x.shape();
  shape.insert(detail::checked_axis("expand_dims", axis, x.rank() + 1), 1);
  return Tensor<T>(detail::reshape(x.any(), shape));
}
/// Without axes of size one; ShapeError when one has another size.
template <class T> Tensor<T> squeeze(const Tensor<T>& x, const Axes& asked) {
  const auto axes = detail::checked_axes("squeeze", asked, x.rank());
  for (auto a : axes)
    if (x.shape()[a] != 1) fail<ShapeError>("squeeze", {"axis ", a, " of ", x.shape(), " has size ", x.shape()[a], ", not 1"});
  return Tensor<T>(detail::reshape(x.any(), detail::dropped(x.shape(), axes)));
}
template <class T> Tensor<T> squeeze(const Tensor<T>& x) {
  Axes ones;
  for (Index d = 0; d < x.rank(); ++d)
    if (x.shape()[d] == 1) ones.push_back(d);
  return squeeze(x, ones);
}
/// x stretched to a shape by NumPy's rules.
template <class T> Tensor<T> broadcast_to(const Tensor<T>& x, const Shape& shape) {
  for (auto d : shape)
    if (d < 0) fail<ShapeError>("broadcast_to", {"a size is negative in ", shape});
  if (detail::broadcast_shapes("broadcast_to", x.shape(), shape) != shape) fail<ShapeError>("broadcast_to", {"cannot stretch ", x.shape(), " to ", shape});
  return Tensor<T>(detail::broadcast(x.any(), shape));
}
/// The elements in reverse order along axes (default: all).
template <class T> Tensor<T> flip(const Tensor<T>& x, const Axes& axes) { return Tensor<T>(detail::flip(x.any(), detail::checked_axes("flip", axes, x.rank()))); }
template <class T> Tensor<T> flip(const Tensor<T>& x) { return flip(x, detail::all_axes(x.rank())); }

namespace detail {
template <class List> Anys any_list(std::string_view op, const List& xs) {
  Anys all;
  for (auto& x : xs) all.push_back(x.any());
  if (all.empty()) fail<ShapeError>(op, {"the list of tensors is empty"});
  return all;
}
template <class T, class List> Tensor<T> concatenate_list(const List& xs, Index asked) {
  const auto all = any_list("concatenate", xs);
  const auto axis = checked_axis("concatenate", asked, all[0]->shape.rank());
  for (auto& x : all)
    if (x->shape.rank() != all[0]->shape.rank() || with(x->shape, axis, 0) != with(all[0]->shape, axis, 0))
      fail<ShapeError>("concatenate", {"shapes ", all[0]->shape, " and ", x->shape, " differ outside axis ", axis});
  return Tensor<T>(concatenate(all, axis));
}
template <class T, class List> Tensor<T> stack_list(const List& xs, Index asked) {
  const auto all = any_list("stack", xs);
  for (auto& x : all)
    if (x->shape != all[0]->shape) fail<ShapeError>("stack", {"shapes ", all[0]->shape, " and ", x->shape, " differ"});
  return Tensor<T>(stack(all, checked_axis("stack", asked, all[0]->shape.rank() + 1)));
}
}  // namespace detail

/// Tensors behind each other along an axis. ShapeError when their other sizes differ.
template <class T> Tensor<T> concatenate(std::initializer_list<Tensor<T>> xs, Index axis = 0) { return detail::concatenate_list<T>(xs, axis); }
template <class T> Tensor<T> concatenate(const std::vector<Tensor<T>>& xs, Index axis = 0) { return detail::concatenate_list<T>(xs, axis); }
/// Tensors of one shape along a new axis.
template <class T> Tensor<T> stack(std::initializer_list<Tensor<T>> xs, Index axis = 0) { return detail::stack_list<T>(xs, axis); }
template <class T> Tensor<T> stack(const std::vector<Tensor<T>>& xs, Index axis = 0) { return detail::stack_list<T>(xs, axis); }
/// The block from begins up to, not including, ends: one of each per axis. Nothing is clipped: out of range is a ShapeError.
template <class T> Tensor<T> slice(const Tensor<T>& x, const Axes& begins, const Axes& ends) {
  if (begins.rank() != x.rank() || ends.rank() != x.rank()) fail<ShapeError>("slice", {"needs a begin and an end for each axis of ", x.shape(), ", got ", begins, " and ", ends});
  Shape extent;
  for (Index d = 0; d < x.rank(); ++d) {
    if (begins[d] < 0 || begins[d] > ends[d] || ends[d] > x.shape()[d]) fail<ShapeError>("slice", {"[", begins[d], ", ", ends[d], ") is out of range for axis ", d, " of ", x.shape()});
    extent.push_back(ends[d] - begins[d]);
  }
  return Tensor<T>(detail::slice(x.any(), begins, extent));
}
/// The part of one axis.
template <class T> Tensor<T> slice(const Tensor<T>& x, Index begin, Index end, Index asked) {
  const auto axis = detail::checked_axis("slice", asked, x.rank());
  Axes begins = Axes::filled(x.rank(), 0), ends = x.shape();
  begins[axis] = begin;
  ends[axis] = end;
  return slice(x, begins, ends);
}
/// n equal parts of an axis; ShapeError when it does not divide.
template <class T> std::vector<Tensor<T>> split(const Tensor<T>& x, Index n, Index asked) {
  const auto axis = detail::checked_axis("split", asked, x.rank());
  const auto size = x.shape()[axis];
  if (n < 1 || size % n != 0) fail<ShapeError>("split", {"axis ", axis, " of ", x.shape(), " does not divide into ", n, " parts"});
  std::vector<Tensor<T>> parts;
  for (Index i = 0; i < n; ++i) parts.push_back(slice(x, i * (size / n), (i + 1) * (size / n), axis));
  return parts;
}
/// `low` elements before and `high` behind each axis, all equal to a value.
template <class T, class U = T>
  requires LiteralFor<U, T>
Tensor<T> pad(const Tensor<T>& x, const Axes& low, const Axes& high, U value = U{}) {
  if (low.rank() != x.rank() || high.rank() != x.rank()) fail<ShapeError>("pad", {"needs a low and a high padding for each axis of ", x.shape(), ", got ", low, " and ", high});
  for (Index d = 0; d < x.rank(); ++d)
    if (low[d] < 0 || high[d] < 0) fail<ShapeError>("pad", {"the padding of axis ", d, " is negative: use slice"});
    else if (Index most = Index{1} << 60; low[d] > most || high[d] > most) fail<ShapeError>("pad", {"the padding of axis ", d, " is ", std::max(low[d], high[d])});
  auto out = Tensor<T>(detail::pad(x.any(), low, high));
  if (static_cast<T>(value) == static_cast<T>(0)) return out;
  const Tensor<bool> inside(detail::pad(full<bool>(x.shape(), true).any(), low, high));
  return where(inside, out, static_cast<T>(value));
}
/// The elements moved on along an axis; those that fall off come in again at its begin.
template <class T> Tensor<T> roll(const Tensor<T>& x, Index shift, Index asked) {
  const auto axis = detail::checked_axis("roll", asked, x.rank());
  const auto n = x.shape()[axis];
  if (n == 0) return x;
  const auto by = ((shift % n) + n) % n;
  return by == 0 ? x : concatenate({slice(x, n - by, n, axis), slice(x, 0, n - by, axis)}, axis);
}
template <class T> Tensor<T> roll(const Tensor<T>& x, Index shift) { return reshape(roll(reshape(x, Shape{-1}), shift, 0), x.shape()); }
/// x repeated, as often as said for each axis; missing leading axes count as size 1 and repeat 1.
template <class T> Tensor<T> tile(const Tensor<T>& x, const Axes& repeats) {
  for (auto r : repeats)
    if (r < 0) fail<ShapeError>("tile", {"a repeat is negative in ", repeats});
  Shape shape = x.shape(), counts(repeats.begin(), repeats.end()), apart, stretched, joined;
  while (shape.rank() < counts.rank()) shape.insert(0, 1);
  while (counts.rank() < shape.rank()) counts.insert(0, 1);
  for (Index d = 0; d < shape.rank(); ++d) {
    apart.push_back(1);
    apart.push_back(shape[d]);
    stretched.push_back(counts[d]);
    stretched.push_back(shape[d]);
    joined.push_back(Shape{counts[d], shape[d]}.size());
  }
  return Tensor<T>(detail::reshape(detail::broadcast(detail::reshape(x.any(), apart), stretched), joined));
}

}  // namespace spmd
