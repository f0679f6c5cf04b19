// The typed face of a value: what users hold.
#pragma once
#include <cstring>
#include <type_traits>

#include "value.hpp"

namespace Eigen {
struct half;
struct bfloat16;
}  // namespace Eigen

namespace spmd {

using float16 = Eigen::half;
using bfloat16 = Eigen::bfloat16;

/// Floating element types, the 16-bit ones included.
template <class T> inline constexpr bool is_floating = std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T> concept Floating = is_floating<T>;
/// Eigen's 16-bit floats are made of other numbers explicitly only: their literals are float.
template <class T> concept SixteenBits = Floating<T> && !std::is_floating_point_v<T>;
/// What a tensor may be made of.
template <class T> concept Element = Floating<T> || std::integral<T>;
/// A number of type U that an operation on Tensor<T> takes as it is: nothing is lost but what T itself cannot hold.
template <class U, class T>
concept LiteralFor = Element<U> && Element<T> && (Floating<T> || (std::integral<U> && std::integral<T> && std::same_as<U, bool> == std::same_as<T, bool>));

template <class T = float> class Tensor;
template <class X> inline constexpr bool is_tensor = false;
template <class T> inline constexpr bool is_tensor<Tensor<T>> = true;

namespace detail {
Device default_device();  // where new values go: the current device of a shard, the first default device outside
template <class T> const DType* checked_dtype() {
  static_assert(Element<T>, "spmd::Tensor: the element type must be a floating, integer or bool type");
  return dtype_of<T>();
}
template <class T> Any scalar(T value) {
  auto buffer = Buffer::make(Shape{}, checked_dtype<T>(), default_device());
  *buffer->template fill_as<T>() = value;
  return buffer;
}
template <class T> Any from_elements(const Shape& shape, const T* first, Index n) {
  for (auto d : shape)
    if (d < 0) fail<ShapeError>("Tensor", {"a size is negative in ", shape});
  if (shape.size() != n) fail<ShapeError>("Tensor", {"shape ", shape, " holds ", shape.size(), " elements, got ", n});
  auto buffer = Buffer::make(shape, checked_dtype<T>(), default_device());
  if (n > 0) std::memcpy(buffer->fill(), first, static_cast<std::size_t>(n) * sizeof(T));
  return buffer;
}
Any leading_slice(const Any& x, Index i);
List<Device> devices_of(const Value& x);
Index shards_of(const Value& x);
Any shard_of_value(const Any& x, Index i);
bool sharded(const Value& x);
}  // namespace detail

/// An immutable, row-major array of T. Copies share storage. Inside a map or a gradient it may stand for a traced value.
template <class T> class Tensor {
 public:
  using value_type = T;

  /// Rank 0, zero.
  Tensor() : value_(detail::scalar<T>(T{})) {}
  /// Rank 0.
  template <class U>
    requires LiteralFor<U, T>
  Tensor(U value) : value_(detail::scalar<T>(static_cast<T>(value))) {}
  /// A shape and its elements in row-major order; ShapeError when their number is another.
  Tensor(const Shape& shape, const std::vector<T>& elements) {
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<unsigned char> bytes(elements.begin(), elements.end());  // vector<bool> has no array of bool to copy from
      value_ = detail::from_elements<bool>(shape, reinterpret_cast<const bool*>(bytes.data()), static_cast<Index>(bytes.size()));
    } else {
      value_ = detail::from_elements<T>(shape, elements.data(), static_cast<Index>(elements.size()));
    }
  }
  Tensor(const Shape& shape, std::span<const T> elements) : value_(detail::from_elements<T>(shape, elements.data(), static_cast<Index>(elements.size()))) {}
  Tensor(const Shape& shape, std::initializer_list<T> elements)
    requires(!SixteenBits<T>)
      : value_(detail::from_elements<T>(shape, elements.begin(), static_cast<Index>(elements.size()))) {}
  Tensor(const Shape& shape, std::initializer_list<float> elements)
    requires SixteenBits<T>
      : Tensor(shape, std::vector<T>(elements.begin(), elements.end())) {}
  /// A value whose element type is T.
  explicit Tensor(Any value) : value_(std::move(value)) {}

  const Shape& shape() const { return value_->shape; }
  Index rank() const { return shape().rank(); }
  /// The number of elements.
  Index size() const { return shape().size(); }

  /// The one element; ShapeError when there are more or none. Waits for it.
  T item() const {
    if (size() != 1) fail<ShapeError>("item", {"needs a tensor of one element, its shape is ", shape()});
    return *elements("item");
  }
  /// The element at an index per dimension; negative counts from the end.
  T at(std::initializer_list<Index> index) const { return at(Axes(index.begin(), index.end())); }
  T at(const std::vector<Index>& index) const { return at(Axes(index)); }
  /// All elements in row-major order.
  std::vector<T> to_vector() const {
    auto* p = elements("to_vector");
    return std::vector<T>(p, p + size());
  }
  /// The i-th slice of the leading axis; negative counts from the end; AxisError when out of range.
  Tensor operator[](Index i) const { return Tensor(detail::leading_slice(value_, i)); }
  /// The dense elements, in the memory of device(), while this tensor lives.
  const T* data() const { return elements("data"); }

  /// Where it is: of a sharded tensor, the device of the first shard.
  Device device() const { return detail::devices_of(value_->primal())[0]; }
  std::vector<Device> devices() const {
    auto list = detail::devices_of(value_->primal());
    return {list.begin(), list.end()};
  }
  bool is_sharded() const { return detail::sharded(value_->primal()); }
  /// How many shards; 1 for a tensor in one piece.
  Index shards() const { return detail::shards_of(value_->primal()); }
  /// The i-th block with all its axes, a view.
  Tensor shard(Index i) const { return Tensor(detail::shard_of_value(value_, i)); }

  /// A value that is in somebody's hands already, as a tensor: it is nothing else, and counting owners costs more than most small
  /// operations.
  static const Tensor& of(const Any& value) {
    static_assert(sizeof(Tensor) == sizeof(Any) && std::is_standard_layout_v<Tensor>);
    return reinterpret_cast<const Tensor&>(value);
  }
  const Any& any() const& { return value_; }
  Any any() && { return std::move(value_); }

 private:
  const T* elements(std::string_view op) const { return value_->dense(op).template as<T>(); }
  T at(const Axes& index) const {
    if (index.rank() != rank()) fail<ShapeError>("at", {"needs one index per dimension of ", shape(), ", got ", index});
    Index offset = 0;
    for (Index d = 0; d < rank(); ++d) {
      const auto n = shape()[d], i = index[d] < 0 ? index[d] + n : index[d];
      if (i < 0 || i >= n) fail<AxisError>("at", {"index ", index[d], " is out of range for axis ", d, " of ", shape()});
      offset = offset * n + i;
    }
    return elements("at")[offset];
  }
  Any value_;
};

template <class T> Tensor(const Shape&, const std::vector<T>&) -> Tensor<T>;
template <class T>
  requires Element<T>
Tensor(T) -> Tensor<T>;

}  // namespace spmd
