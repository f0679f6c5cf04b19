// Tensors from numbers, and how they are read and compared.
#pragma once
#include "arithmetic.hpp"

namespace spmd {

namespace detail {
template <class T, class F> Tensor<T> build(std::string_view op, const Shape& shape, F f) {
  for (auto d : shape)
    if (d < 0) fail<ShapeError>(op, {"a size is negative in ", shape});
  auto out = Buffer::make(shape, checked_dtype<T>(), default_device());
  f(out->template fill_as<T>());
  return Tensor<T>(Any(out));
}
template <class T> Tensor<T> full(std::string_view op, const Shape& shape, T value) {
  return build<T>(op, shape, [&](T* out) { std::fill_n(out, shape.size(), value); });
}
/// How many of start, start + step, ... come before stop. A difference of integers fits their unsigned twin.
template <class T> Index arange_size(T start, T stop, T step) {
  if (step == static_cast<T>(0)) fail<ShapeError>("arange", {"the step is 0"});
  if constexpr (std::integral<T>) {
    if (step > 0 ? start >= stop : start <= stop) return 0;
    const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(stop), by = static_cast<std::uint64_t>(step);
    return static_cast<Index>(step > 0 ? (to - from - 1) / by + 1 : (from - to - 1) / (0 - by) + 1);
  } else {
    const double n = std::ceil((static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step));
    if (!(n < 1e18)) fail<ShapeError>("arange", {"from ", static_cast<double>(start), " to ", static_cast<double>(stop), " by ", static_cast<double>(step), " is no finite number of elements"});
    return static_cast<Index>(std::max(0.0, n));
  }
}
}  // namespace detail

/// A tensor whose elements f(T* memory) writes: uninitialised, dense, row-major memory of the current device.
template <class T = float, class F> Tensor<T> build(const Shape& shape, F f) { return detail::build<T>("build", shape, std::move(f)); }
/// All elements the same.
template <class T = float, class U> Tensor<T> full(const Shape& shape, U value) { return detail::full<T>("full", shape, static_cast<T>(value)); }
template <class T = float> Tensor<T> zeros(const Shape& shape) { return detail::full<T>("zeros", shape, static_cast<T>(0)); }
template <class T = float> Tensor<T> ones(const Shape& shape) { return detail::full<T>("ones", shape, static_cast<T>(1)); }
/// The identity matrix.
template <class T = float> Tensor<T> eye(Index n) {
  return detail::build<T>("eye", Shape{n, n}, [&](T* out) {
    std::fill_n(out, n * n, static_cast<T>(0));
    for (Index i = 0; i < n; ++i) out[i * n + i] = static_cast<T>(1);
  });
}
/// start, start + step, ... up to but not including stop.
template <class T = float> Tensor<T> arange(std::type_identity_t<T> start, std::type_identity_t<T> stop, std::type_identity_t<T> step = static_cast<T>(1)) {
  const auto n = detail::arange_size<T>(start, stop, step);
  return build<T>(Shape{n}, [&](T* out) {
    for (Index i = 0; i < n; ++i) {
      if constexpr (std::integral<T>) out[i] = static_cast<T>(static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step));
      else out[i] = static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(step));
    }
  });
}
template <class T = float> Tensor<T> arange(std::type_identity_t<T> stop) { return arange<T>(static_cast<T>(0), stop); }
/// n numbers from a to b, both included.
template <class T = float> Tensor<T> linspace(std::type_identity_t<T> a, std::type_identity_t<T> b, Index n) {
  if (n < 0) fail<ShapeError>("linspace", {"the number of elements is ", n});
  const double from = static_cast<double>(a), to = static_cast<double>(b);
  return build<T>(Shape{n}, [&](T* out) {
    for (Index i = 0; i < n; ++i) out[i] = static_cast<T>(i + 1 == n && n > 1 ? to : from + (n > 1 ? (to - from) * static_cast<double>(i) / static_cast<double>(n - 1) : 0.0));
  });
}

namespace detail {
template <class T, class Rows> void check_rows(const Rows& rows) {
  for (auto& row : rows)
    if (row.size() != rows.begin()->size()) fail<ShapeError>("array", {"rows of ", rows.begin()->size(), " and ", row.size(), " elements"});
}
}  // namespace detail

/// A tensor of nested literals: rank 1 to 3.
template <class T = float> requires(!SixteenBits<T>) Tensor<T> array(std::initializer_list<T> list) { return Tensor<T>(Shape{list.size()}, list); }
template <class T = float> requires(!SixteenBits<T>) Tensor<T> array(std::initializer_list<std::initializer_list<T>> rows) {
  detail::check_rows<T>(rows);
  std::vector<T> all;
  for (auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return Tensor<T>(Shape{rows.size(), rows.size() ? rows.begin()->size() : 0}, all);
}
template <class T = float> requires(!SixteenBits<T>) Tensor<T> array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks) {
  if (blocks.size() == 0) return zeros<T>(Shape{0});  // {}
  detail::check_rows<T>(blocks);
  std::vector<T> all;
  std::size_t columns = 0;
  for (auto& rows : blocks) {
    detail::check_rows<T>(rows);
    for (auto& row : rows) {
      if (columns && row.size() != columns) fail<ShapeError>("array", {"rows of ", columns, " and ", row.size(), " elements"});
      columns = row.size();
      all.insert(all.end(), row.begin(), row.end());
    }
  }
  return Tensor<T>(Shape{blocks.size(), blocks.size() ? blocks.begin()->size() : 0, columns}, all);
}
/// The same of 16-bit floats, whose literals are float.
template <SixteenBits T> Tensor<T> array(std::initializer_list<float> list) { return cast<T>(array<float>(list)); }
template <SixteenBits T> Tensor<T> array(std::initializer_list<std::initializer_list<float>> rows) { return cast<T>(array<float>(rows)); }
template <SixteenBits T> Tensor<T> array(std::initializer_list<std::initializer_list<std::initializer_list<float>>> blocks) { return cast<T>(array<float>(blocks)); }
/// A tensor of rank 1 with the elements of a vector or span.
template <class T> Tensor<T> array(const std::vector<T>& v) { return Tensor<T>(Shape{v.size()}, v); }
template <class T> Tensor<T> array(std::span<const T> v) { return Tensor<T>(Shape{v.size()}, v); }
template <class T>
  requires(!std::is_const_v<T>)
Tensor<T> array(std::span<T> v) {
  return Tensor<T>(Shape{v.size()}, std::span<const T>(v));
}

/// Whether |a - b| <= atol + rtol * |b| everywhere; the shapes broadcast. Infinity is close to itself only, NaN to nothing.
template <class A, class B> requires Operands<A, B> bool allclose(const A& a, const B& b, double rtol = 1e-5, double atol = 1e-8) {
  using T = detail::CommonType<A, B>;
  const Tensor<T> left = detail::as_tensor<T>(a), right = detail::as_tensor<T>(b);
  const auto shape = detail::broadcast_shapes("allclose", left.shape(), right.shape());
  const Tensor<T> x(detail::broadcast(left.any(), shape)), y(detail::broadcast(right.any(), shape));
  const auto *p = x.data(), *q = y.data();
  for (Index i = 0; i < shape.size(); ++i) {
    const auto u = static_cast<double>(p[i]), v = static_cast<double>(q[i]);
    if (!(u == v) && !(std::isfinite(v) && std::fabs(u - v) <= atol + rtol * std::fabs(v))) return false;
  }
  return true;
}

}  // namespace spmd
