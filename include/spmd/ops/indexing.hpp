// Operations that pick elements by index.
#pragma once
#include "creation.hpp"
#include "reduction.hpp"

namespace spmd {
namespace detail {

/// Row numbers, checked against the size of their axis and made non-negative.
inline List<std::int64_t> checked_rows(std::string_view op, const Buffer& rows, Index n, Index axis) {
  auto* from = rows.as<std::int64_t>();
  List<std::int64_t> out(from, from + rows.shape.size());
  for (auto& r : out) {
    if (r < -n || r >= n) fail<AxisError>(op, {"index ", r, " is out of range for axis ", axis, " of size ", n});
    if (r < 0) r += n;
  }
  return out;
}
/// shape with the axis replaced by all axes of `by`.
inline Shape replaced(const Shape& shape, Index axis, const Shape& by) {
  Shape out(shape.begin(), shape.begin() + axis);
  for (auto d : by) out.push_back(d);
  for (Index d = axis + 1; d < shape.rank(); ++d) out.push_back(shape[d]);
  return out;
}
inline Tensor<std::int64_t> index_tensor(const List<Index>& list) {
  return Tensor<std::int64_t>(Shape{static_cast<Index>(list.size())}, std::span<const std::int64_t>(list.data(), list.size()));
}
/// For rows in each lane of an axis, the rows of all lanes laid one behind the other: row + lane * n. Negative rows count from the
/// end of their own lane. Untyped arithmetic, so that a map costs no program the operators on integers.
class OffsetRows final : public Primitive {
 public:
  /// `op` indexes `axis` of size n; the lanes are along `lane_axis` of the rows.
  OffsetRows(std::string_view op, Index n, Index axis, Index lane_axis) : op_(op), n_(n), axis_(axis), lane_axis_(lane_axis) {}
  std::string_view name() const override { return op_; }
  Anys impl(const Anys& args) const override {
    auto& in = args[0]->dense(name());
    auto out = Buffer::make(in.shape, in.dtype, in.device);
    const auto inner = extent(in.shape, lane_axis_ + 1, in.shape.rank()), lanes = in.shape[lane_axis_];
    const auto* from = in.as<std::int64_t>();
    auto* to = out->fill_as<std::int64_t>();
    for (Index i = 0; i < in.shape.size(); ++i) {
      if (from[i] < -n_ || from[i] >= n_) fail<AxisError>(op_, {"index ", from[i], " is out of range for axis ", axis_, " of size ", n_});
      to[i] = (from[i] < 0 ? from[i] + n_ : from[i]) + i / inner % lanes * n_;
    }
    return one<Any>(Any(out));
  }
  Anys vjp(const Anys&, const Anys&, const Anys&, Needed) const override { return Anys(1); }
  Batch batch(const Axis&, const Batch& args) const override {
    return one<Batched>(Batched{std::move(interpret(make<const OffsetRows>(op_, n_, axis_, lane_axis_ + 1), one<Any>(args[0].value))[0]), true});
  }

 private:
  const std::string_view op_;
  const Index n_, axis_, lane_axis_;
};
inline Any offset_rows(std::string_view op, const Any& rows, Index n, Index axis) { return apply<OffsetRows>(rows, op, n, axis, Index{0}); }

/// Slices of x along an axis, by an array of row numbers whose axes take the place of the axis.
class Take final : public Primitive {
 public:
  /// So many axes in front are lanes of maps: a message does not count them.
  explicit Take(Index axis, Index lanes) : axis_(axis), lanes_(lanes) {}
  std::string_view name() const override { return "take"; }
  Anys impl(const Anys& args) const override {
    auto& x = args[0]->dense(name());
    const auto& s = x.shape;
    const auto rows = checked_rows(name(), args[1]->dense(name()), s[axis_], axis_ - lanes_);
    auto out = Buffer::make(replaced(s, axis_, args[1]->shape), x.dtype, x.device);
    host::take(out->fill(), x.data(), rows.data(), static_cast<Index>(rows.size()), extent(s, 0, axis_), s[axis_], extent(s, axis_ + 1, s.rank()), x.dtype->size);
    return one<Any>(Any(out));
  }
  Anys vjp(const Anys& cts, const Anys&, const Anys& args, Needed) const override {
    Anys result(2);
    result[0] = cts[0]->dtype->scatter_add(args[1], cts[0], args[0]->shape[axis_], axis_);
    return result;
  }
  inline Batch batch(const Axis& axis, const Batch& args) const override;

 private:
  const Index axis_, lanes_;
};
/// Rows are an integer tensor of 64 bits.
inline Any take(const Any& x, const Any& rows, Index axis, Index lanes = 0) {
  Anys args;
  args.push_back(x);
  args.push_back(rows);
  return std::move(interpret(make<const Take>(axis, lanes), args)[0]);
}
inline Any take(const Any& x, const List<Index>& rows, Index axis) { return take(x, index_tensor(rows).any(), axis); }

inline Batch Take::batch(const Axis&, const Batch& args) const {
  auto &x = args[0], &rows = args[1];
  if (!rows.mapped) return one<Batched>(Batched{take(x.value, rows.value, axis_ + 1, lanes_ + 1), true});
  if (!x.mapped) return one<Batched>(Batched{moveaxis(take(x.value, rows.value, axis_, lanes_), axis_, 0), true});
  // Lanes and rows become one axis; the axes before it move behind, and back.
  const Index lanes = x.value->shape[0], n = x.value->shape[axis_ + 1];
  const auto front = moveaxis(x.value, axis_ + 1, 1);
  Shape flat = without(front->shape, 0);
  flat[0] = lanes * n;
  auto out = take(reshape(front, flat), offset_rows(name(), rows.value, n, axis_), 0);
  const Index count = rows.value->shape.rank() - 1;
  auto perm = all_axes(out->shape.rank());  // (lanes, rows..., before..., behind...) to (lanes, before..., rows..., behind...)
  std::rotate(perm.begin() + 1, perm.begin() + 1 + count, perm.begin() + 1 + count + axis_);
  return one<Batched>(Batched{transpose(out, perm), true});
}

template <class T> Tensor<T> ScatterAdd<T>::impl(const Tensor<std::int64_t>& rows, const Tensor<T>& updates) const {
  const auto checked = checked_rows(name, rows.any()->dense(name), n, axis);
  const auto& s = updates.shape();
  const Index inner = extent(s, axis + rows.rank(), s.rank());
  Shape shape(s.begin(), s.begin() + axis);
  shape.push_back(n);
  for (Index d = axis + rows.rank(); d < s.rank(); ++d) shape.push_back(s[d]);
  auto& in = updates.any()->dense(name);
  auto out = Buffer::make(shape, dtype_of<T>(), in.device);
  std::memset(out->fill(), 0, static_cast<std::size_t>(shape.size()) * sizeof(T));
  host::scatter_add(out->template fill_as<T>(), in.template as<T>(), checked.data(), static_cast<Index>(checked.size()), extent(s, 0, axis), n, inner);
  return Tensor<T>(Any(out));
}
template <class T> auto ScatterAdd<T>::vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<std::int64_t>& rows, const Tensor<T>&) const {
  return std::tuple(zero, Tensor<T>(take(ct.any(), rows.any(), axis)));
}
template <class T> template <class, class> Batched ScatterAdd<T>::batch(const Axis& mapped, const Batch& args) const {
  auto again = [](Index size, Index at, const Any& rows, const Any& updates) { return bind<T>(ScatterAdd{size, at}, Tensor<std::int64_t>(rows), Tensor<T>(updates)).any(); };
  const auto updates = on_lanes(args[1], mapped.size);
  if (!args[0].mapped) return {again(n, axis + 1, args[0].value, updates), true};
  // (lanes, before..., rows..., behind...) to (lanes, rows..., before..., behind...): then lanes and rows are one axis.
  const Index count = args[0].value->shape.rank() - 1, lanes = mapped.size;
  auto perm = all_axes(updates->shape.rank());
  std::rotate(perm.begin() + 1, perm.begin() + 1 + axis, perm.begin() + 1 + axis + count);
  auto out = again(lanes * n, 0, offset_rows(name, args[0].value, n, axis), transpose(updates, perm));
  Shape split = with_front(lanes, out->shape);
  split[1] = n;
  return {moveaxis(reshape(out, split), 1, axis + 1), true};
}

/// For take_along_axis: the place in a whole array of this shape of each row along an axis. Axes in front of those of the array are lanes.
class NumbersAlong final : public Primitive {
 public:
  NumbersAlong(const Shape& shape, Index axis) : shape_(shape), axis_(axis) {}
  std::string_view name() const override { return "take_along_axis"; }
  Anys impl(const Anys& args) const override {
    auto& in = args[0]->dense(name());
    auto out = Buffer::make(in.shape, in.dtype, in.device);
    const Index n = shape_[axis_], outer = extent(shape_, 0, axis_), inner = extent(shape_, axis_ + 1, shape_.rank());
    const Index block = in.shape[in.shape.rank() - shape_.rank() + axis_] * inner;
    const auto* from = in.as<std::int64_t>();
    auto* to = out->fill_as<std::int64_t>();
    for (Index i = 0; i < in.shape.size(); ++i) {
      if (from[i] < -n || from[i] >= n) fail<AxisError>(name(), {"index ", from[i], " is out of range for axis ", axis_, " of ", shape_});
      to[i] = (i / block % outer * n + (from[i] < 0 ? from[i] + n : from[i])) * inner + i % inner;
    }
    return one<Any>(Any(out));
  }
  Anys vjp(const Anys&, const Anys&, const Anys&, Needed) const override { return Anys(1); }
  Batch batch(const Axis&, const Batch& args) const override { return one<Batched>(Batched{apply<NumbersAlong>(args[0].value, shape_, axis_), true}); }

 private:
  const Shape shape_;
  const Index axis_;
};
template <class I> Tensor<std::int64_t> wide(const Tensor<I>& indices) {
  static_assert(std::integral<I> && !std::same_as<I, bool>, "spmd: indices must be integers");
  return cast<std::int64_t>(indices);
}

}  // namespace detail

/// Slices of x along an axis, by number; the axes of `indices` take the place of the axis. Negative numbers count from the end;
/// AxisError when one is out of range.
template <class T, class I> Tensor<T> take(const Tensor<T>& x, const Tensor<I>& indices, Index axis) {
  return Tensor<T>(detail::take(x.any(), detail::wide(indices).any(), detail::checked_axis("take", axis, x.rank())));
}
template <class T> Tensor<T> take(const Tensor<T>& x, const std::vector<Index>& indices, Index axis) { return take(x, Tensor<std::int64_t>(Shape{indices.size()}, indices), axis); }
/// x with updates added along axis 0: out[indices[k]] += updates[k]. Repeated indices add up. AxisError when one is out of range.
template <class T, class I> Tensor<T> scatter_add(const Tensor<T>& x, const Tensor<I>& indices, const Tensor<T>& updates) {
  if (x.rank() == 0) fail<ShapeError>("scatter_add", {"needs a tensor with a leading axis, got rank 0"});
  const auto expected = detail::replaced(x.shape(), 0, indices.shape());
  if (updates.shape() != expected) fail<ShapeError>("scatter_add", {"updates of shape ", updates.shape(), " do not fit: ", x.shape(), " at indices ", indices.shape(), " takes ", expected});
  return x + bind<T>(detail::ScatterAdd<T>{x.shape()[0], 0}, detail::wide(indices), updates);
}
/// One where the last, new axis of size n equals the index, zero elsewhere (everywhere, for an index out of range).
template <class T = float, class I> Tensor<T> one_hot(const Tensor<I>& indices, Index n) {
  if (n < 0 || n > std::numeric_limits<std::int32_t>::max()) fail<ShapeError>("one_hot", {"the number of classes is ", n});
  Shape shape = indices.shape();
  shape.push_back(1);
  static_assert(std::integral<I> && !std::same_as<I, bool>, "spmd: indices must be integers");
  using C = std::conditional_t<(sizeof(I) < 4 || std::same_as<I, std::int32_t>), std::int32_t, std::int64_t>;  // a small I need not hold n
  return cast<T>(Tensor<C>(detail::reshape(cast<C>(indices).any(), shape)) == arange<C>(static_cast<C>(n)));
}
template <class T = float, std::integral I> Tensor<T> one_hot(I index, Index n) { return one_hot<T>(Tensor<I>(index), n); }
/// x along an axis at indices of the same rank: out[i][j] = x[indices[i][j]][j] for axis 0. Other axes have equal sizes.
template <class T, class I> Tensor<T> take_along_axis(const Tensor<T>& x, const Tensor<I>& indices, Index asked) {
  const auto axis = detail::checked_axis("take_along_axis", asked, x.rank());
  if (indices.rank() != x.rank() || detail::with(indices.shape(), axis, 0) != detail::with(x.shape(), axis, 0))
    fail<ShapeError>("take_along_axis", {"indices of shape ", indices.shape(), " do not fit ", x.shape(), ": all axes but ", axis, " must agree"});
  const auto numbers = spmd::apply<detail::NumbersAlong>(detail::wide(indices).any(), x.shape(), axis);
  return Tensor<T>(detail::take(detail::reshape(x.any(), Shape{x.size()}), numbers, 0));
}

}  // namespace spmd
