// Loading numbers of one type as lanes of another, and back. 16-bit floats are stored as such and computed as float.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "eigen.hpp"
#include "lanes.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

template <class T> inline constexpr bool is_half_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// How many numbers of type A a register holds.
template <class A> inline constexpr int lanes_in_register = lane_bytes / static_cast<int>(sizeof(A));
/// A register full of them.
template <class A> using Register = Lanes<A, lanes_in_register<A>>;

namespace detail {

template <int n> Lanes<float, n> float_from_bfloat16(const Lanes<std::uint16_t, n>& x) {
  using Bits = Lanes<std::uint32_t, n>;
  return std::bit_cast<Lanes<float, n>>(Bits(__builtin_convertvector(x, Bits) << 16));
}
template <int n> Lanes<std::uint16_t, n> bfloat16_from_float(const Lanes<float, n>& x) {
  using Bits = Lanes<std::uint32_t, n>;
  const auto bits = std::bit_cast<Bits>(x);
  const Bits even = bits + 0x7fffu + (bits >> 16 & 1u);  // round half to even
  const Bits rounded = x == x ? even : (bits | 0x400000u);  // a NaN must not round to infinity
  return __builtin_convertvector(Bits(rounded >> 16), Lanes<std::uint16_t, n>);
}

template <int n> Lanes<float, n> float_from_float16(const Lanes<std::uint16_t, n>& x) {
#ifdef __F16C__
  if constexpr (n == 8) return std::bit_cast<Lanes<float, n>>(_mm256_cvtph_ps(std::bit_cast<__m128i>(x)));
#endif
#ifdef __AVX512F__
  if constexpr (n == 16) return std::bit_cast<Lanes<float, n>>(_mm512_maskz_cvtph_ps(0xffff, std::bit_cast<__m256i>(x)));
#endif
  using Bits = Lanes<std::uint32_t, n>;
  const Bits wide = __builtin_convertvector(x, Bits), magnitude = wide & 0x7fffu;
  const Bits normal = (magnitude << 13) + (112u << 23), special = (magnitude << 13) | (255u << 23);
  // A subnormal half is a multiple of 2^-24: placed in the mantissa of 2^-14, which is then taken away.
  const Bits shifted = (magnitude << 13) + (113u << 23);
  const auto subnormal = std::bit_cast<Bits>(Lanes<float, n>(std::bit_cast<Lanes<float, n>>(shifted) - 0x1p-14f));
  const Bits finite = magnitude < 0x400u ? subnormal : normal;
  const Bits value = magnitude < 0x7c00u ? finite : special;
  return std::bit_cast<Lanes<float, n>>(Bits(value | (wide & 0x8000u) << 16));
}
template <int n> Lanes<std::uint16_t, n> float16_from_float(const Lanes<float, n>& x) {
#ifdef __F16C__
  if constexpr (n == 8) return std::bit_cast<Lanes<std::uint16_t, n>>(_mm256_cvtps_ph(std::bit_cast<__m256>(x), 0));
#endif
#ifdef __AVX512F__
  if constexpr (n == 16) return std::bit_cast<Lanes<std::uint16_t, n>>(_mm512_maskz_cvtps_ph(0xffff, std::bit_cast<__m512>(x), 0));
#endif
  using Bits = Lanes<std::uint32_t, n>;
  const auto bits = std::bit_cast<Bits>(x);
  const Bits magnitude = bits & 0x7fffffffu;
  const Bits normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  // Adding 0.5 aligns the mantissa to 2^-24, the step of subnormal halves, and rounds to even on the way.
  const Bits subnormal = std::bit_cast<Bits>(Lanes<float, n>(std::bit_cast<Lanes<float, n>>(magnitude) + 0.5f)) - (126u << 23);
  const Bits finite = magnitude < (113u << 23) ? subnormal : normal;
  const Bits special = magnitude > (255u << 23) ? (magnitude >> 13 | 0x7e00u) & 0x7fffu : magnitude * 0u + 0x7c00u;
  const Bits value = magnitude < (143u << 23) ? finite : special;
  return __builtin_convertvector(Bits(value | (bits >> 16 & 0x8000u)), Lanes<std::uint16_t, n>);
}

/// An integer of twice the size and the same sign.
template <class T> auto twice() {
  if constexpr (sizeof(T) == 1) return std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>();
  else return std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>();
}
/// Lane by lane. Integers widen by steps of two, for which there are instructions; g++ 12 takes lanes apart for more.
template <class A, int n, class T> Lanes<A, n> convert_lanes(const Lanes<T, n>& x) {
  if constexpr (std::is_integral_v<T> && sizeof(A) >= 4 * sizeof(T)) {
    using Next = decltype(twice<T>());
    return convert_lanes<A, n, Next>(__builtin_convertvector(x, Lanes<Next, n>));
  } else {
    return __builtin_convertvector(x, Lanes<A, n>);
  }
}

}  // namespace detail

/// The n numbers from p on, as A. A bool is read as a byte, 0 or 1.
template <class A, int n, class T> Lanes<A, n> load_as(const T* p) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    static_assert(std::is_same_v<A, float>);
    return detail::float_from_bfloat16<n>(load_lanes<Lanes<std::uint16_t, n>>(p));
  } else if constexpr (std::is_same_v<T, float16>) {
    static_assert(std::is_same_v<A, float>);
    return detail::float_from_float16<n>(load_lanes<Lanes<std::uint16_t, n>>(p));
  } else if constexpr (std::is_same_v<T, bool>) {
    static_assert(sizeof(bool) == 1);
    return detail::convert_lanes<A, n, std::uint8_t>(load_lanes<Lanes<std::uint8_t, n>>(p));
  } else {
    return detail::convert_lanes<A, n, T>(load_lanes<Lanes<T, n>>(p));
  }
}

/// Stores n numbers, computed as A, as T.
template <class T, class A, int n> void store_as(T* p, const Lanes<A, n>& x) {
  if constexpr (std::is_same_v<T, bfloat16>) store_lanes(p, detail::bfloat16_from_float<n>(x));
  else if constexpr (std::is_same_v<T, float16>) store_lanes(p, detail::float16_from_float<n>(x));
  else if constexpr (std::is_same_v<T, bool>) store_lanes(p, __builtin_convertvector(x, Lanes<std::uint8_t, n>));
  else store_lanes(p, __builtin_convertvector(x, Lanes<T, n>));
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
