// Random numbers: threefry2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) with the counters of JAX's partitionable mode.
// Element j of an array depends on the key and on j alone, so the arrays below start at any element.
#pragma once
#include <type_traits>

#include "erf_inv.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// The block function, in place; V is std::uint32_t or Lanes of it. The counter (x0, x1) becomes two random words.
template <class V> inline void threefry(std::uint32_t k0, std::uint32_t k1, V& x0, V& x1) {
  const std::uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x0 += keys[0];
  x1 += keys[1];
#pragma GCC unroll 5
  for (unsigned group = 1; group <= 5; ++group) {
#pragma GCC unroll 4
    for (int r : rotations[(group - 1) % 2]) {
      x0 += x1;
      x1 = (x1 << r) | (x1 >> (32 - r));
      x1 ^= x0;
    }
    x0 += keys[group % 3];
    x1 += keys[(group + 1) % 3] + group;
  }
}

/// Words 2i and 2i + 1 of out are the key that split(key) has at place first + i, which is also fold_in(key, first + i).
inline void threefry_split(std::uint32_t* out, std::uint32_t k0, std::uint32_t k1, std::uint64_t first, Index count) {
  for (Index i = 0; i < count; ++i) {
    const std::uint64_t j = first + static_cast<std::uint64_t>(i);
    auto x0 = static_cast<std::uint32_t>(j >> 32), x1 = static_cast<std::uint32_t>(j);
    threefry(k0, k1, x0, x1);
    out[2 * i] = x0;
    out[2 * i + 1] = x1;
  }
}

inline constexpr int word_lanes = lane_bytes / 4;
using Words = Lanes<std::uint32_t, word_lanes>;

/// The blocks of the elements j, j + 1, ...
inline void threefry_lanes(std::uint32_t k0, std::uint32_t k1, std::uint64_t j, Words& x0, Words& x1) {
  static constexpr std::uint32_t iota[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto low = static_cast<std::uint32_t>(j), high = static_cast<std::uint32_t>(j >> 32);
  x1 = load_lanes<Words>(iota) + low;
  x0 = high - (Words)(x1 < low);  // a true comparison is -1: the lanes that carry
  threefry(k0, k1, x0, x1);
}

/// Calls step(p, i), which writes elements i, i + 1, ... to p[0], ..., p[word_lanes - 1], for all i below count.
template <class T, class Step> inline void in_lanes(T* out, Index count, const Step& step) {
  Index i = 0;
  for (; i + word_lanes <= count; i += word_lanes) step(out + i, static_cast<std::uint64_t>(i));
  if (i < count) {
    T rest[word_lanes];
    step(rest, static_cast<std::uint64_t>(i));
    for (int lane = 0; i + lane < count; ++lane) out[i + lane] = rest[lane];
  }
}

/// Random numbers of Bits, an unsigned type, for the elements j, j + 1, ...: the low bits of both words' exclusive or, or all 64.
template <class Bits> inline void draw_lanes(Bits* out, std::uint32_t k0, std::uint32_t k1, std::uint64_t j) {
  Words x0, x1;
  threefry_lanes(k0, k1, j, x0, x1);
  if constexpr (sizeof(Bits) < 8) {
    store_lanes(out, __builtin_convertvector(x0 ^ x1, Lanes<Bits, word_lanes>));
  } else {
    using Half = Lanes<std::uint32_t, word_lanes / 2>;
    using Wide = Lanes<std::uint64_t, word_lanes / 2>;
    std::uint32_t high[word_lanes], low[word_lanes];
    store_lanes(high, x0);
    store_lanes(low, x1);
    for (int i = 0; i < word_lanes; i += word_lanes / 2)
      store_lanes(out + i, Wide((__builtin_convertvector(load_lanes<Half>(high + i), Wide) << 32) | __builtin_convertvector(load_lanes<Half>(low + i), Wide)));
  }
}

/// count random numbers of an unsigned type, as JAX's bits.
template <class Bits> inline void threefry_bits(Bits* out, std::uint32_t k0, std::uint32_t k1, std::uint64_t first, Index count) {
  in_lanes(out, count, [=](Bits* p, std::uint64_t i) { draw_lanes(p, k0, k1, first + i); });
}
/// The same with the width in bits, 8, 16, 32 or 64, at run time.
inline void threefry_bits(void* out, std::uint32_t k0, std::uint32_t k1, std::uint64_t first, Index count, int width) {
  if (width == 8) threefry_bits(static_cast<std::uint8_t*>(out), k0, k1, first, count);
  else if (width == 16) threefry_bits(static_cast<std::uint16_t*>(out), k0, k1, first, count);
  else if (width == 32) threefry_bits(static_cast<std::uint32_t*>(out), k0, k1, first, count);
  else threefry_bits(static_cast<std::uint64_t*>(out), k0, k1, first, count);
}

/// How a type of floating-point numbers is drawn: its bits after the leading one, and the unsigned type whose top bits give them.
/// float16 takes 16 random bits; bfloat16, with a mantissa of 7, is content with 8.
template <class T> struct Draw {
  static constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<(mantissa > 8), std::uint16_t, std::uint8_t>>>;
  static constexpr int drop = std::numeric_limits<Bits>::digits - mantissa;
};

/// count numbers uniform on [lo, hi), as JAX's uniform to the bit: max(lo, f * (hi - lo) + lo) with f uniform on [0, 1), one fused multiply-add
/// for float and double; the 16-bit types round the product and the sum. T is float, double or a 16-bit type that converts to and from float.
template <class T> inline void uniform(T* out, std::uint32_t k0, std::uint32_t k1, std::uint64_t first, Index count, T lo, T hi) {
  using Bits = typename Draw<T>::Bits;
  constexpr int drop = Draw<T>::drop;
  if constexpr (sizeof(T) == 2) {
    const float low = static_cast<float>(lo), range = static_cast<float>(static_cast<T>(static_cast<float>(hi) - low));
    constexpr float unit = 1.0f / static_cast<float>(1 << Draw<T>::mantissa);
    in_lanes(out, count, [=](T* p, std::uint64_t i) {
      Bits draws[word_lanes];
      draw_lanes(draws, k0, k1, first + i);
      for (int lane = 0; lane < word_lanes; ++lane) {
        const float product = static_cast<float>(static_cast<T>(static_cast<float>(draws[lane] >> drop) * unit * range));
        const float sum = static_cast<float>(static_cast<T>(product + low));
        p[lane] = static_cast<T>(sum < low ? low : sum);
      }
    });
  } else {
    constexpr int n = lane_bytes / static_cast<int>(sizeof(T));
    constexpr Bits one = std::bit_cast<Bits>(T{1});
    using V = Lanes<T, n>;
    const T range = hi - lo;
    int exponent = 0;
    const bool exact_product = std::frexp(range, &exponent) == T(0.5);
    in_lanes(out, count, [=](T* p, std::uint64_t i) {
      Bits draws[word_lanes];
      draw_lanes(draws, k0, k1, first + i);
      for (int part = 0; part < word_lanes; part += n) {
        const auto bits = (load_lanes<Lanes<Bits, n>>(draws + part) >> drop) | one;
        const V f = std::bit_cast<V>(bits) - T{1};
        V x;
        if constexpr (has_multiply_add) x = multiply_add(f, V{} + range, V{} + lo);
        else if (exact_product) x = f * range + lo;
        else
          for (int lane = 0; lane < n; ++lane) x[lane] = multiply_add(static_cast<T>(f[lane]), range, lo);
        store_lanes(p + part, V(x < lo ? V{} + lo : x));
      }
    });
  }
}

/// count standard normal numbers, as JAX's normal but for the last bit or two: sqrt(2) * erf_inv(u), u uniform on (-1, 1).
template <class T> inline void normal(T* out, std::uint32_t k0, std::uint32_t k1, std::uint64_t first, Index count) {
  constexpr Index chunk = 1024;  // stays in the first-level cache
  const T lo = static_cast<T>(std::ldexp(1.0f, -std::numeric_limits<T>::digits) - 1.0), hi = static_cast<T>(1.0f), root = static_cast<T>(1.4142135623730951);
  for (Index i = 0; i < count; i += chunk) {
    const Index n = count - i < chunk ? count - i : chunk;
    uniform(out + i, k0, k1, first + static_cast<std::uint64_t>(i), n, lo, hi);
    if constexpr (sizeof(T) == 2) {
      float wide[chunk];
      for (Index k = 0; k < n; ++k) wide[k] = static_cast<float>(out[i + k]);
      erf_inv(wide, wide, n);
      for (Index k = 0; k < n; ++k) out[i + k] = static_cast<T>(static_cast<float>(root) * static_cast<float>(static_cast<T>(wide[k])));
    } else {
      scaled_erf_inv(out + i, out + i, n, root);
    }
  }
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
