// What tests share: tensors close to each other, and errors of a type and text.
#pragma once
#include <gtest/gtest.h>

#include <spmd/spmd.hpp>

namespace check {

using D = spmd::Tensor<double>;

/// Same shape, and elements within a relative and absolute tolerance.
template <class T> ::testing::AssertionResult close(const spmd::Tensor<T>& a, const spmd::Tensor<T>& b, double tolerance = 1e-9) {
  if (a.shape() != b.shape()) return ::testing::AssertionFailure() << "shapes " << a.shape().text() << " and " << b.shape().text();
  const auto x = a.to_vector(), y = b.to_vector();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto p = static_cast<double>(x[i]), q = static_cast<double>(y[i]);
    if (p == q || (p != p && q != q)) continue;
    // An infinity is close to itself only.
    if (std::isinf(q) || !(std::abs(p - q) <= tolerance * (1 + std::abs(q)))) return ::testing::AssertionFailure() << "element " << i << ": " << p << " and " << q;
  }
  return ::testing::AssertionSuccess();
}
inline ::testing::AssertionResult close(const D& a, double b, double tolerance = 1e-9) { return close(a, D(b), tolerance); }

/// f throws E whose text holds all the parts.
template <class E, class F> ::testing::AssertionResult throws(F f, std::initializer_list<const char*> parts) {
  try {
    f();
  } catch (const E& e) {
    const std::string text = e.what();
    for (auto* part : parts)
      if (text.find(part) == std::string::npos) return ::testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
    return ::testing::AssertionSuccess();
  } catch (const std::exception& e) {
    return ::testing::AssertionFailure() << "another type: " << e.what();
  }
  return ::testing::AssertionFailure() << "nothing was thrown";
}

/// pmap of f, consuming the leading axis of all arguments.
template <class F> auto over(F f, const char* name = "i") { return spmd::pmap(f, spmd::MapOptions{.axis_name = name, .in_axes = spmd::each(0)}); }
template <class F> auto lanes(F f, const char* name = "i") { return spmd::vmap(f, spmd::MapOptions{.axis_name = name}); }

}  // namespace check
