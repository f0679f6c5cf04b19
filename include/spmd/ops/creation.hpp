// Tensors from numbers, and how they are read and compared.
#pragma once
#include "arithmetic.hpp"

namespace spmd {

/// A tensor whose elements f(T* memory) writes: uninitialised, dense, row-major memory of the current device.
template <class T = float, class F> Tensor<T> build(const Shape& shape, F f) {
  for (auto d : shape)
    if (d < 0) fail<ShapeError>("build", {"a size is negative in ", shape});
  auto out = Buffer::make(shape, detail::checked_dtype<T>(), detail::default_device());
  f(out->template fill_as<T>());
  return Tensor<T>(Any(out));
}
/// All elements the same.
template <class T = float, class U> Tensor<T> full(const Shape& shape, U value) {
  return build<T>(shape, [&](T* out) { std::fill_n(out, shape.size(), static_cast<T>(value)); });
}
template <class T = float> Tensor<T> zeros(const Shape& shape) { return full<T>(shape, 0); }
template <class T = float> Tensor<T> ones(const Shape& shape) { return full<T>(shape, 1); }
/// The identity matrix.
template <class T = float> Tensor<T> eye(Index n) {
  return build<T>(Shape{n, n}, [&](T* out) {
    std::fill_n(out, n * n, static_cast<T>(0));
    for (Index i = 0; i < n; ++i) out[i * n + i] = static_cast<T>(1);
  });
}
/// start, start + step, ... up to but not including stop.
template <class T = float> Tensor<T> arange(std::type_identity_t<T> start, std::type_identity_t<T> stop, std::type_identity_t<T> step = static_cast<T>(1)) {
  const double from = static_cast<double>(start), to = static_cast<double>(stop), by = static_cast<double>(step);
  if (by == 0) fail<ShapeError>("arange", {"the step is 0"});
  const auto n = static_cast<Index>(std::max(0.0, std::ceil((to - from) / by)));
  return build<T>(Shape{n}, [&](T* out) {
    for (Index i = 0; i < n; ++i) {
      if constexpr (std::integral<T>) out[i] = static_cast<T>(start + static_cast<T>(static_cast<T>(i) * step));
      else out[i] = static_cast<T>(from + static_cast<double>(i) * by);
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
template <class T = float> Tensor<T> array(std::initializer_list<T> list) { return Tensor<T>(Shape{list.size()}, list); }
template <class T = float> Tensor<T> array(std::initializer_list<std::initializer_list<T>> rows) {
  detail::check_rows<T>(rows);
  std::vector<T> all;
  for (auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return Tensor<T>(Shape{rows.size(), rows.size() ? rows.begin()->size() : 0}, all);
}
template <class T = float> Tensor<T> array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks) {
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
/// A tensor of rank 1 with the elements of a vector or span.
template <class T> Tensor<T> array(const std::vector<T>& v) { return Tensor<T>(Shape{v.size()}, v); }
template <class T> Tensor<T> array(std::span<const T> v) { return Tensor<T>(Shape{v.size()}, v); }
template <class T>
  requires(!std::is_const_v<T>)
Tensor<T> array(std::span<T> v) {
  return Tensor<T>(Shape{v.size()}, std::span<const T>(v));
}

/// Whether |a - b| <= atol + rtol * |b| everywhere; the shapes broadcast. Infinity is close to itself only, NaN to nothing.
template <class T> bool allclose(const Tensor<T>& a, const Tensor<T>& b, double rtol = 1e-5, double atol = 1e-8) {
  const auto shape = detail::broadcast_shapes("allclose", a.shape(), b.shape());
  const Tensor<T> x(detail::broadcast(a.any(), shape)), y(detail::broadcast(b.any(), shape));
  const auto *p = x.data(), *q = y.data();
  for (Index i = 0; i < shape.size(); ++i) {
    const auto u = static_cast<double>(p[i]), v = static_cast<double>(q[i]);
    if (!(u == v) && !(std::isfinite(v) && std::fabs(u - v) <= atol + rtol * std::fabs(v))) return false;
  }
  return true;
}

}  // namespace spmd
