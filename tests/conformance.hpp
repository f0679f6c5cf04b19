// What the tests of JAX's cases share: eight host devices, arrays given by a formula, and comparisons.
//
// Case numbers are those of the table that the project keeps of what JAX's own tests and documentation check; docs/jax.md lists the cases
// that do not apply here. `each(0)` is the leading axis of JAX's pmap.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <numeric>
#include <spmd/spmd.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace conformance {

using spmd::Index;
using spmd::Shape;
using spmd::Tensor;
using At = std::vector<Index>;

inline const bool eight_devices = [] {
  spmd::set_host_device_count(8);
  spmd::set_default_devices(spmd::devices(spmd::Platform::host));
  return true;
}();

/// The indices of the element at place `flat` of a row-major array.
inline At unravel(Index flat, const Shape& shape) {
  At at(static_cast<std::size_t>(shape.rank()));
  for (Index d = shape.rank(); d-- > 0;) {
    at[static_cast<std::size_t>(d)] = flat % shape[d];
    flat /= shape[d];
  }
  return at;
}
inline Index ravel(const At& at, const Shape& shape) {
  Index flat = 0;
  for (Index d = 0; d < shape.rank(); ++d) flat = flat * shape[d] + at[static_cast<std::size_t>(d)];
  return flat;
}
/// The index list without the entry at place d, and with one more at place d.
inline At without(At at, Index d) {
  at.erase(at.begin() + d);
  return at;
}
inline At with(At at, Index d, Index value) {
  at.insert(at.begin() + d, value);
  return at;
}

/// The array whose element at indices `at` is f(at).
template <class T = float, class F> Tensor<T> tabulate(const Shape& shape, F f) {
  std::vector<T> values;
  for (Index i = 0; i < shape.size(); ++i) values.push_back(static_cast<T>(f(unravel(i, shape))));
  return Tensor<T>(shape, values);
}
/// 0, 1, 2, ... in row-major order.
template <class T = float> Tensor<T> iota(const Shape& shape) {
  return tabulate<T>(shape, [&](const At& at) { return ravel(at, shape); });
}

/// Whether x has this shape and these elements: equal, or for floating types within tolerance * max(1, |expected|). NaN equals NaN.
template <class T>
testing::AssertionResult same(const Tensor<T>& x, const Shape& shape, const std::vector<std::type_identity_t<T>>& expected, double tolerance = 0) {
  if (!(x.shape() == shape)) return testing::AssertionFailure() << "shape " << x.shape() << ", expected " << shape;
  const auto values = x.to_vector();
  if (static_cast<std::size_t>(shape.size()) != expected.size()) return testing::AssertionFailure() << "the test lists " << expected.size() << " values";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    bool ok;
    if constexpr (std::is_floating_point_v<T>) {
      const double a = values[i], b = expected[i];
      ok = (std::isnan(a) && std::isnan(b)) || a == b || (!std::isinf(b) && std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)));
    } else {
      ok = values[i] == expected[i];
    }
    if (!ok) return testing::AssertionFailure() << "element " << testing::PrintToString(unravel(static_cast<Index>(i), shape)) << " is " << +values[i] << ", expected " << +expected[i];
  }
  return testing::AssertionSuccess();
}
template <class T, class F>
  requires std::is_invocable_v<F, const At&>
testing::AssertionResult same(const Tensor<T>& x, const Shape& shape, F f, double tolerance = 0) {
  std::vector<T> expected;
  for (Index i = 0; i < shape.size(); ++i) expected.push_back(static_cast<T>(f(unravel(i, shape))));
  return same(x, shape, expected, tolerance);
}
template <class T, std::same_as<Tensor<T>> Y> testing::AssertionResult same(const Tensor<T>& x, const Y& y, double tolerance = 0) {
  const auto values = y.to_vector();
  return same(x, y.shape(), std::vector<T>(values.begin(), values.end()), tolerance);
}

/// Whether f() throws an E, not of a derived class, whose text contains all parts.
template <class E, class F> testing::AssertionResult throws(F f, std::initializer_list<std::string> parts) {
  try {
    f();
  } catch (const std::exception& e) {
    const std::string text = e.what();
    if (typeid(e) != typeid(E)) return testing::AssertionFailure() << "another type: " << typeid(e).name() << ": " << text;
    for (const auto& part : parts)
      if (text.find(part) == std::string::npos) return testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

/// The gradient of f, a function of one Tensor<double> to a rank-0 one, by central differences.
template <class F> Tensor<double> differences(F f, const Tensor<double>& x, double step = 1e-5) {
  const auto values = x.to_vector();
  return tabulate<double>(x.shape(), [&](const At& at) {
    const auto i = static_cast<std::size_t>(ravel(at, x.shape()));
    auto up = values, down = values;
    up[i] += step;
    down[i] -= step;
    return (f(Tensor<double>(x.shape(), up)).item() - f(Tensor<double>(x.shape(), down)).item()) / (2 * step);
  });
}
/// Whether grad(f), and the gradient of a weighted sum of it, agree with differences.
template <class F> testing::AssertionResult second_order(F f, const Tensor<double>& x) {
  auto result = same(spmd::grad(f)(x), differences(f, x), 1e-6);
  if (!result) return result << " (first order)";
  const auto weights = tabulate<double>(x.shape(), [&](const At& at) { return std::cos(1.0 + static_cast<double>(ravel(at, x.shape()))); });
  const auto g = [f, weights](const Tensor<double>& y) { return spmd::sum(spmd::grad(f)(y) * weights); };
  result = same(spmd::grad(g)(x), differences(g, x), 1e-5);
  return result << " (second order)";
}

}  // namespace conformance
