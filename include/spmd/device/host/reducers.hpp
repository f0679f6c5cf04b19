// What a reduction combines with, said once per reducer for numbers and for registers of numbers alike.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "convert.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

namespace detail {

template <class T, bool greatest> T extreme() {
  using L = std::numeric_limits<T>;
  if constexpr (L::has_infinity) return static_cast<T>(greatest ? L::infinity() : -L::infinity());
  else return greatest ? L::max() : L::lowest();
}

}  // namespace detail

/// identity<T>() for elements of type T; of(a, b) on two numbers or two registers, a before b. `rounds`: sums and products
/// of floats depend on the order and lose digits, sums and products of signed integers wrap (and so run unsigned).
struct SumOf {
  static constexpr const char* name = "sum";
  static constexpr bool rounds = true;
  template <class T> static T identity() { return T(0); }
  template <class V> static V of(const V& a, const V& b) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(std::uintmax_t{a} + b);
    else return a + b;
  }
};
struct ProdOf {
  static constexpr const char* name = "prod";
  static constexpr bool rounds = true;
  template <class T> static T identity() { return T(1); }
  template <class V> static V of(const V& a, const V& b) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(std::uintmax_t{a} * b);
    else return a * b;
  }
};
/// A NaN wins: a stays if it is one, b is taken if it is one because no comparison with it holds.
struct MaxOf {
  static constexpr const char* name = "max";
  static constexpr bool rounds = false;
  template <class T> static T identity() { return detail::extreme<T, false>(); }
  template <class V> static V of(const V& a, const V& b) { return ((a > b) | (a != a)) ? a : b; }
};
struct MinOf {
  static constexpr const char* name = "min";
  static constexpr bool rounds = false;
  template <class T> static T identity() { return detail::extreme<T, true>(); }
  template <class V> static V of(const V& a, const V& b) { return ((a < b) | (a != a)) ? a : b; }
};
/// On bool, computed as bytes.
struct AnyOf {
  static constexpr const char* name = "any";
  static constexpr bool rounds = false;
  template <class T> static T identity() { return T(false); }
  template <class V> static V of(const V& a, const V& b) { return a | b; }
};
struct AllOf {
  static constexpr const char* name = "all";
  static constexpr bool rounds = false;
  template <class T> static T identity() { return T(true); }
  template <class V> static V of(const V& a, const V& b) { return a & b; }
};

namespace detail {

template <class R, class T> auto accumulator() {
  if constexpr (is_half_float<T>) return float();
  else if constexpr (std::is_same_v<T, bool>) return std::uint8_t();
  else if constexpr (R::rounds && std::is_integral_v<T>) return std::make_unsigned_t<T>();
  else return T();
}
/// What results of type T accumulate in.
template <class R, class T> using Accumulator = decltype(accumulator<R, T>());
/// What many accumulators are folded into: a float that has taken few terms is exact enough, the sum of many of those is not.
template <class R, class A> using Wide = std::conditional_t<R::rounds && std::is_same_v<A, float>, double, A>;

/// One element as an accumulator, and back.
template <class A, class T> A widen(const T& x) { return static_cast<A>(x); }
template <class T, class A> T narrow(const A& x) {
  if constexpr (std::is_same_v<T, bool>) return x != 0;
  else return static_cast<T>(x);
}

}  // namespace detail
}  // namespace SPMD_ISA
}  // namespace spmd::host
