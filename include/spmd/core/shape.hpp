// Shapes, axes and the arithmetic on them. Everything is stored inline: a shape never allocates.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <initializer_list>
#include <ostream>
#include <span>
#include <vector>

#include "error.hpp"

namespace spmd {

using Index = std::int64_t;

namespace detail {

/// A short list of Index, stored inline. Shapes, strides, axes and permutations are such lists.
class Dims {
 public:
  static constexpr Index capacity = 16;

  Dims() = default;
  Dims(const Dims& other) : rank_(other.rank_) { copy(other); }
  Dims& operator=(const Dims& other) {
    rank_ = other.rank_;
    copy(other);
    return *this;
  }
  template <std::integral... I>
    requires(sizeof...(I) > 0)
  Dims(I... values) {  // from any integer types, mixed ones too
    (push_back(static_cast<Index>(values)), ...);
  }
  template <std::integral I> Dims(const std::vector<I>& list) : Dims(list.begin(), list.end()) {}
  template <std::integral I, std::size_t N> Dims(const std::array<I, N>& list) : Dims(list.begin(), list.end()) {}
  template <std::input_iterator It> Dims(It begin, It end) {
    for (; begin != end; ++begin) push_back(static_cast<Index>(*begin));
  }
  static Dims filled(Index rank, Index value) {
    Dims out;
    for (Index i = 0; i < rank; ++i) out.push_back(value);
    return out;
  }

  Index rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  Index operator[](Index i) const { return data_[i]; }
  Index& operator[](Index i) { return data_[i]; }
  const Index* begin() const { return data_; }
  const Index* end() const { return data_ + rank_; }
  Index* begin() { return data_; }
  Index* end() { return data_ + rank_; }
  Index back() const { return data_[rank_ - 1]; }

  void push_back(Index value) {
    if (rank_ == capacity) fail<ShapeError>("Shape", {"more than ", capacity, " dimensions"});
    data_[rank_++] = value;
  }
  void insert(Index at, Index value) {
    push_back(value);
    for (Index i = rank_ - 1; i > at; --i) data_[i] = data_[i - 1];
    data_[at] = value;
  }
  void erase(Index at) {
    --rank_;
    for (Index i = at; i < rank_; ++i) data_[i] = data_[i + 1];
  }
  bool contains(Index value) const { return std::find(begin(), end(), value) != end(); }
  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (Index i = 0; i < a.rank_; ++i)
      if (a.data_[i] != b.data_[i]) return false;
    return true;
  }

  std::string text() const {
    std::string out = "(";
    for (Index i = 0; i < rank_; ++i) out += concat({i ? ", " : "", data_[i]});
    return out + ")";
  }

 private:
  /// Only what is there, one by one: wide loads of numbers that were just written stall, and most ranks are small.
  void copy(const Dims& other) {
    switch (rank_) {
      case 4: data_[3] = other.data_[3]; [[fallthrough]];
      case 3: data_[2] = other.data_[2]; [[fallthrough]];
      case 2: data_[1] = other.data_[1]; [[fallthrough]];
      case 1: data_[0] = other.data_[0]; [[fallthrough]];
      case 0: break;
      default:
        for (Index i = 0; i < rank_; ++i) data_[i] = other.data_[i];
    }
  }
  Index rank_ = 0;
  Index data_[capacity] = {};  // or compilers warn wherever an index is read
};

}  // namespace detail

/// Axes of an array, strides, or a permutation: a list of Index.
using Axes = detail::Dims;

/// The sizes of an array, one per dimension.
class Shape : public detail::Dims {
 public:
  using Dims::Dims;
  template <std::same_as<Dims> D> Shape(const D& dims) : Dims(dims) {}
  /// The number of elements; ShapeError when 64 bits do not count them.
  Index size() const {
    Index n = 1;
    for (auto d : *this)
      if (__builtin_mul_overflow(n, d, &n)) too_large();
    return n;
  }
  friend std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.text(); }

 private:
  [[noreturn]] void too_large() const { fail<ShapeError>("Shape", {text(), " has more elements than 64 bits count"}); }
};

namespace detail {

/// Row-major strides, in elements.
inline Axes strides_of(const Shape& shape) {
  Axes strides = Axes::filled(shape.rank(), 1);
  for (Index i = shape.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}
/// The product of the sizes in [from, to).
inline Index extent(const Shape& shape, Index from, Index to) {
  Index n = 1;
  for (Index i = from; i < to; ++i) n *= shape[i];
  return n;
}
inline Shape with_front(Index n, Shape shape) {
  shape.insert(0, n);
  return shape;
}
inline Shape without(Shape shape, Index axis) {
  shape.erase(axis);
  return shape;
}
inline Shape with(Shape shape, Index axis, Index n) {
  shape[axis] = n;
  return shape;
}
/// Each axis moved by one: what becomes of axes when a mapped one comes to the front.
inline Axes shifted(Axes axes) {
  for (auto& a : axes) ++a;
  return axes;
}
inline Axes all_axes(Index rank) {
  Axes axes;
  for (Index i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

/// An axis of an array of this rank; negative counts from the end. AxisError when there is no such axis.
inline Index checked_axis(std::string_view op, Index axis, Index rank) {
  if (axis < -rank || axis >= rank) fail<AxisError>(op, {"axis ", axis, " is out of range for rank ", rank});
  return axis < 0 ? axis + rank : axis;
}
/// Axes of an array, made non-negative; AxisError when one is out of range or given twice.
inline Axes checked_axes(std::string_view op, Axes axes, Index rank) {
  for (auto& a : axes) a = checked_axis(op, a, rank);
  for (Index i = 0; i < axes.rank(); ++i)
    for (Index j = 0; j < i; ++j)
      if (axes[i] == axes[j]) fail<AxisError>(op, {"axis ", axes[i], " is given twice"});
  return axes;
}

/// NumPy broadcasting of two shapes.
inline Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  const Index offset = longer.rank() - shorter.rank();
  for (Index i = 0; i < shorter.rank(); ++i) {
    Index& d = out[offset + i];
    if (d == shorter[i] || shorter[i] == 1) continue;
    if (d != 1) fail<ShapeError>(op, {"shapes ", a, " and ", b, " do not broadcast: sizes ", d, " and ", shorter[i], " differ and neither is 1"});
    d = shorter[i];
  }
  return out;
}

}  // namespace detail
}  // namespace spmd
