// Operations that move elements and never look at them. They are untyped, so a program pays for each of them once, not once per
// element type; the typed functions that users call stand in shaping.hpp.
#pragma once
#include "../core/primitive.hpp"
#include "../device/sharding.hpp"

namespace spmd {

/// A linear operation of one operand: its vjp needs no values, only the operand's shape.
class Linear : public Primitive {
 public:
  virtual Any run(const Any& x) const = 0;
  virtual Any transposed(const Any& ct, const Any& x) const = 0;
  virtual Any lanes(Index n, const Any& x) const = 0;  // the same on n lanes, along axis 0

  Anys impl(const Anys& args) const final { return detail::one<Any>(run(args[0])); }
  Anys vjp(const Anys& cts, const Anys&, const Anys& args, Needed) const final { return detail::one<Any>(transposed(cts[0], args[0])); }
  Batch batch(const Axis& axis, const Batch& args) const final { return detail::one<Batched>(Batched{lanes(axis.size, args[0].value), true}); }
};

namespace detail {

inline Any reshape(const Any& x, const Shape& shape);
inline Any transpose(const Any& x, const Axes& perm);
inline Any broadcast(const Any& x, const Shape& shape);
inline Any slice(const Any& x, const Axes& begin, const Shape& extent);
inline Any pad(const Any& x, const Axes& low, const Axes& high);
inline Any flip(const Any& x, const Axes& axes);

class Reshape final : public Linear {
 public:
  explicit Reshape(const Shape& shape) : shape_(shape) {}
  std::string_view name() const override { return "reshape"; }
  Any run(const Any& x) const override { return reshaped(x, shape_); }
  Any transposed(const Any& ct, const Any& x) const override { return reshape(ct, x->shape); }
  Any lanes(Index n, const Any& x) const override { return reshape(x, with_front(n, shape_)); }

 private:
  const Shape shape_;
};

class Transpose final : public Linear {
 public:
  explicit Transpose(const Axes& perm) : perm_(perm) {}
  std::string_view name() const override { return "transpose"; }
  Any run(const Any& x) const override {
    const auto from = strides_of(x->shape);
    Shape shape;
    Axes strides;
    for (auto p : perm_) {
      shape.push_back(x->shape[p]);
      strides.push_back(from[p]);
    }
    auto& in = x->dense(name());
    auto out = Buffer::make(shape, x->dtype, in.device);
    host::copy_strided(out->fill(), strides_of(shape), in.data(), strides, shape, x->dtype->size);
    return out;
  }
  Any transposed(const Any& ct, const Any&) const override {
    Axes inverse = perm_;
    for (Index i = 0; i < perm_.rank(); ++i) inverse[perm_[i]] = i;
    return transpose(ct, inverse);
  }
  Any lanes(Index, const Any& x) const override {
    auto perm = shifted(perm_);
    perm.insert(0, 0);
    return transpose(x, perm);
  }

 private:
  const Axes perm_;
};

class Broadcast final : public Linear {
 public:
  explicit Broadcast(const Shape& shape) : shape_(shape) {}
  std::string_view name() const override { return "broadcast"; }
  Any run(const Any& x) const override {
    auto strides = strides_of(x->shape);
    for (Index i = 0; i < strides.rank(); ++i)
      if (x->shape[i] == 1) strides[i] = 0;
    while (strides.rank() < shape_.rank()) strides.insert(0, 0);
    return stretch(x, shape_, strides);
  }
  Any transposed(const Any& ct, const Any& x) const override {
    Axes axes;
    const auto extra = shape_.rank() - x->shape.rank();
    for (Index i = 0; i < shape_.rank(); ++i)
      if (i < extra || (x->shape[i - extra] == 1 && shape_[i] != 1)) axes.push_back(i);
    return reshape(ct->dtype->sum(ct, axes), x->shape);
  }
  Any lanes(Index n, const Any& x) const override {
    Shape padded = x->shape;  // sizes of one between the lanes and what is stretched
    while (padded.rank() < shape_.rank() + 1) padded.insert(1, 1);
    return broadcast(reshape(x, padded), with_front(n, shape_));
  }

 private:
  const Shape shape_;
};

/// The block that begins at `begin`.
class Slice final : public Linear {
 public:
  Slice(const Axes& begin, const Shape& extent) : begin_(begin), extent_(extent) {}
  std::string_view name() const override { return "slice"; }
  Any run(const Any& x) const override { return block(x, begin_, extent_, true); }
  Any transposed(const Any& ct, const Any& x) const override {
    Axes high = begin_;
    for (Index d = 0; d < high.rank(); ++d) high[d] = x->shape[d] - begin_[d] - extent_[d];
    return pad(ct, begin_, high);
  }
  Any lanes(Index n, const Any& x) const override {
    auto begin = begin_;
    begin.insert(0, 0);
    return slice(x, begin, with_front(n, extent_));
  }

 private:
  const Axes begin_;
  const Shape extent_;
};

/// Zeros before and behind each axis.
class Pad final : public Linear {
 public:
  Pad(const Axes& low, const Axes& high) : low_(low), high_(high) {}
  std::string_view name() const override { return "pad"; }
  Any run(const Any& x) const override {
    Shape shape = x->shape;
    for (Index d = 0; d < shape.rank(); ++d) shape[d] += low_[d] + high_[d];
    auto& in = x->dense(name());
    auto out = Buffer::make(shape, x->dtype, in.device);
    std::memset(out->fill(), 0, static_cast<std::size_t>(shape.size() * x->dtype->size));
    const auto strides = strides_of(shape);
    Index first = 0;
    for (Index d = 0; d < shape.rank(); ++d) first += low_[d] * strides[d];
    host::copy_strided(out->fill_as<std::byte>() + first * x->dtype->size, strides, in.data(), strides_of(x->shape), x->shape, x->dtype->size);
    return out;
  }
  Any transposed(const Any& ct, const Any& x) const override { return slice(ct, low_, x->shape); }
  Any lanes(Index, const Any& x) const override {
    auto low = low_, high = high_;
    low.insert(0, 0);
    high.insert(0, 0);
    return pad(x, low, high);
  }

 private:
  const Axes low_, high_;
};

class Flip final : public Linear {
 public:
  explicit Flip(const Axes& axes) : axes_(axes) {}
  std::string_view name() const override { return "flip"; }
  Any run(const Any& x) const override {
    auto& in = x->dense(name());
    auto strides = strides_of(x->shape);
    Index first = 0;
    for (auto a : axes_) {
      first += std::max<Index>(0, x->shape[a] - 1) * strides[a];
      strides[a] = -strides[a];
    }
    auto out = Buffer::make(x->shape, x->dtype, in.device);
    host::copy_strided(out->fill(), strides_of(x->shape), static_cast<const std::byte*>(in.data()) + first * x->dtype->size, strides, x->shape, x->dtype->size);
    return out;
  }
  Any transposed(const Any& ct, const Any&) const override { return flip(ct, axes_); }
  Any lanes(Index, const Any& x) const override { return flip(x, shifted(axes_)); }

 private:
  const Axes axes_;
};

/// Pieces of one type behind each other along an axis. The operands agree on all other axes.
class Concatenate final : public Primitive {
 public:
  explicit Concatenate(Index axis) : axis_(axis) {}
  std::string_view name() const override { return "concatenate"; }
  Anys impl(const Anys& args) const override {
    Shape shape = args[0]->shape;
    shape[axis_] = 0;
    for (auto& x : args) shape[axis_] += x->shape[axis_];
    auto out = Buffer::make(shape, args[0]->dtype, default_device());
    const auto strides = strides_of(shape);
    auto* to = out->fill_as<std::byte>();
    for (auto& x : args) {
      host::copy_strided(to, strides, x->dense(name()).data(), strides_of(x->shape), x->shape, x->dtype->size);
      to += x->shape[axis_] * strides[axis_] * x->dtype->size;
    }
    return one<Any>(Any(out));
  }
  Anys vjp(const Anys& cts, const Anys&, const Anys& args, Needed needed) const override {
    Anys result(args.size());
    Axes begin = Axes::filled(args[0]->shape.rank(), 0);
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (needed[i]) result[i] = slice(cts[0], begin, args[i]->shape);
      begin[axis_] += args[i]->shape[axis_];
    }
    return result;
  }
  Batch batch(const Axis& axis, const Batch& args) const override {
    Anys all;
    for (auto& x : args) all.push_back(x.mapped ? x.value : broadcast(x.value, with_front(axis.size, x.value->shape)));
    return one<Batched>(Batched{std::move(interpret(make<const Concatenate>(axis_ + 1), all)[0]), true});
  }

 private:
  const Index axis_;
};

inline Any reshape(const Any& x, const Shape& shape) { return x->shape == shape ? x : apply<Reshape>(x, shape); }
inline Any transpose(const Any& x, const Axes& perm) {
  bool identity = true, moves_ones_only = true;
  Index last = -1;
  Shape shape;
  for (Index i = 0; i < perm.rank(); ++i) {
    identity &= perm[i] == i;
    shape.push_back(x->shape[perm[i]]);
    if (x->shape[perm[i]] == 1) continue;
    moves_ones_only &= perm[i] > last;
    last = perm[i];
  }
  if (identity) return x;
  return moves_ones_only ? reshape(x, shape) : apply<Transpose>(x, perm);
}
inline Any broadcast(const Any& x, const Shape& shape) { return x->shape == shape ? x : apply<Broadcast>(x, shape); }
inline Any slice(const Any& x, const Axes& begin, const Shape& extent) { return x->shape == extent ? x : apply<Slice>(x, begin, extent); }
inline Any pad(const Any& x, const Axes& low, const Axes& high) {
  bool nothing = true;
  for (Index d = 0; d < low.rank(); ++d) nothing &= low[d] == 0 && high[d] == 0;
  return nothing ? x : apply<Pad>(x, low, high);
}
inline Any flip(const Any& x, const Axes& axes) { return axes.empty() ? x : apply<Flip>(x, axes); }
inline Any concatenate(const Anys& xs, Index axis) { return xs.size() == 1 ? xs[0] : std::move(interpret(make<const Concatenate>(axis), xs)[0]); }

/// Moves axis `from` to position `to`.
inline Any moveaxis(const Any& x, Index from, Index to) {
  auto perm = all_axes(x->shape.rank());
  perm.erase(from);
  perm.insert(to, from);
  return transpose(x, perm);
}
/// The i-th slice of an axis, which is dropped.
inline Any row(const Any& x, Index axis, Index i) {
  Axes begin = Axes::filled(x->shape.rank(), 0);
  begin[axis] = i;
  return reshape(slice(x, begin, with(x->shape, axis, 1)), without(x->shape, axis));
}
inline Any leading_slice(const Any& x, Index i) {
  if (x->shape.rank() == 0) fail<AxisError>("operator[]", {"a tensor of rank 0 has no leading axis"});
  const auto n = x->shape[0];
  if (i < -n || i >= n) fail<AxisError>("operator[]", {"index ", i, " is out of range for axis 0 of ", x->shape});
  return row(x, 0, i < 0 ? i + n : i);
}
/// One new axis.
inline Any stack(Anys xs, Index axis) {
  for (auto& x : xs) {
    Shape shape = x->shape;
    shape.insert(axis, 1);
    x = reshape(x, shape);
  }
  return concatenate(xs, axis);
}
inline Any zeros(const DType* dtype, const Shape& shape) {
  auto out = Buffer::make(shape, dtype, default_device());
  std::memset(out->fill(), 0, static_cast<std::size_t>(shape.size() * dtype->size));
  return out;
}
/// The value of every lane, along axis 0.
inline Any on_lanes(const Batched& x, Index n) { return x.mapped ? x.value : broadcast(x.value, with_front(n, x.value->shape)); }

}  // namespace detail
}  // namespace spmd
