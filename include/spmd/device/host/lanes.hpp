// Short vectors for kernels written by hand: the compilers' vector extension, as wide as the instruction set, and multiply-add, rounded once, on them.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "../../core/shape.hpp"
#include "isa.hpp"
#if SPMD_PACK_BYTES >= 32
#include <immintrin.h>
#endif

namespace spmd::host {
inline namespace SPMD_ISA {

inline constexpr int lane_bytes = SPMD_PACK_BYTES;

template <class T, int n> struct LanesOf {
  typedef T type __attribute__((vector_size(n * sizeof(T))));
};
/// n numbers of type T in one register. Arithmetic, comparison (a mask of integers) and ?: work lane by lane.
template <class T, int n> using Lanes = typename LanesOf<T, n>::type;

template <class V> inline V load_lanes(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}
template <class V> inline void store_lanes(void* to, const V& v) { __builtin_memcpy(to, &v, sizeof(V)); }

/// Whether every lane of a mask is set.
template <class Mask> inline bool all_lanes(const Mask& mask) {
  std::uint64_t words[sizeof(Mask) / 8], all = ~std::uint64_t{0};
  __builtin_memcpy(words, &mask, sizeof(Mask));
  for (std::uint64_t word : words) all &= word;
  return all == ~std::uint64_t{0};
}

/// a * b + c, rounded once, without the instruction: the product is exact in double, the sum is rounded to odd, and that rounds to float as
/// the exact sum would (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
inline float emulated_multiply_add(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);
  double sum = product + addend;
  const double shift = sum - product, error = (product - (sum - shift)) + (addend - shift);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((error > 0 || error < 0) && (bits & 1) == 0)  // no error is either where the sum is infinite or not a number
    sum = std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
  return static_cast<float>(sum);
}

/// a * b + c, rounded once, whatever the flags.
inline float multiply_add(float a, float b, float c) {
#if SPMD_PACK_BYTES >= 32 || defined(__FP_FAST_FMAF)
  return __builtin_fmaf(a, b, c);
#else
  return emulated_multiply_add(a, b, c);
#endif
}
inline double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }

#if SPMD_PACK_BYTES >= 32
inline constexpr bool has_multiply_add = true;
inline auto multiply_add(const Lanes<float, 4>& a, const Lanes<float, 4>& b, const Lanes<float, 4>& c) { return Lanes<float, 4>(_mm_fmadd_ps(a, b, c)); }
inline auto multiply_add(const Lanes<float, 8>& a, const Lanes<float, 8>& b, const Lanes<float, 8>& c) { return Lanes<float, 8>(_mm256_fmadd_ps(a, b, c)); }
inline auto multiply_add(const Lanes<double, 2>& a, const Lanes<double, 2>& b, const Lanes<double, 2>& c) { return Lanes<double, 2>(_mm_fmadd_pd(a, b, c)); }
inline auto multiply_add(const Lanes<double, 4>& a, const Lanes<double, 4>& b, const Lanes<double, 4>& c) { return Lanes<double, 4>(_mm256_fmadd_pd(a, b, c)); }
#if SPMD_PACK_BYTES == 64
inline auto multiply_add(const Lanes<float, 16>& a, const Lanes<float, 16>& b, const Lanes<float, 16>& c) { return Lanes<float, 16>(_mm512_fmadd_ps(a, b, c)); }
inline auto multiply_add(const Lanes<double, 8>& a, const Lanes<double, 8>& b, const Lanes<double, 8>& c) { return Lanes<double, 8>(_mm512_fmadd_pd(a, b, c)); }
#endif
#elif defined(__FP_FAST_FMAF)
inline constexpr bool has_multiply_add = true;
template <class V> inline V multiply_add(const V& a, const V& b, const V& c) {
  V out = c;
  for (unsigned i = 0; i < sizeof(V) / sizeof(a[0]); ++i) out[i] = multiply_add(a[i], b[i], c[i]);
  return out;
}
#else
inline constexpr bool has_multiply_add = false;
#endif

/// multiply_add, or where that is slow something as good for a polynomial: float rounds once (but for one case in 2^29), double twice.
template <class V> inline V quick_multiply_add(const V& a, const V& b, const V& c) {
  if constexpr (has_multiply_add) {
    return multiply_add(a, b, c);
  } else if constexpr (sizeof(a[0]) == sizeof(float)) {
    using Wide = Lanes<double, sizeof(V) / sizeof(float)>;
    return __builtin_convertvector(__builtin_convertvector(a, Wide) * __builtin_convertvector(b, Wide) + __builtin_convertvector(c, Wide), V);
  } else {
    return a * b + c;
  }
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
