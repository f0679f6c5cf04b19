// Samplers: what is made of uniform numbers by a function of one variable, and random integers. As in threefry.hpp an element depends on the
// key and on its place alone, to the last bit: the incomplete register at the end of an array is computed like all the others.
#pragma once
#include "convert.hpp"
#include "threefry.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

namespace detail {

inline constexpr int wide_lanes = lane_bytes / static_cast<int>(sizeof(double));
using Doubles = Lanes<double, wide_lanes>;
using Floats = Lanes<float, wide_lanes>;

// Logarithms are taken in double, whatever T: rounded to float they are correct but for one in 2^28.
template <class T> Doubles widened(const T* p) {
  if constexpr (is_half_float<T>) return __builtin_convertvector((load_as<float, wide_lanes>(p)), Doubles);
  else return load_as<double, wide_lanes>(p);
}
template <class T> void store_narrowed(T* p, const Doubles& x) {
  if constexpr (is_half_float<T>) store_as<T, float, wide_lanes>(p, __builtin_convertvector(x, Floats));
  else store_as<T, double, wide_lanes>(p, x);
}
/// As a step computed in T leaves it.
template <class T> Doubles rounded(const Doubles& x) {
  T stored[wide_lanes];
  store_narrowed(stored, x);
  return widened(stored);
}
/// log(x) for 0 < x that are not subnormal: x = 2^k m with 1/2 <= m < 1, and m - 1 is exact.
inline Doubles log_lanes(const Doubles& x) {
  using Bits = Lanes<std::uint64_t, wide_lanes>;
  constexpr std::uint64_t mantissa = 0x000FFFFFFFFFFFFF, half = 0x3FE0000000000000;
  constexpr std::uint64_t magic = 0x4338000000000000;  // 1.5 * 2^52: small integers added to its bits appear in its value
  const Bits bits = std::bit_cast<Bits>(x), scaled = (bits & mantissa) | half, exponent = (bits >> 52) + (magic - 1022);
  const Doubles k = std::bit_cast<Doubles>(exponent) - 0x1.8p52;
  return k * 0.693147180559945309417 + log1p_lanes<Doubles>(std::bit_cast<Doubles>(scaled) - 1.0);
}
/// Where uniform numbers of (-1, 1) begin: the number above -1. Then all of them are odd multiples of half an ulp of 1, and none is 0.
template <class T> T above_minus_one() { return static_cast<T>(std::ldexp(1.0f, -std::numeric_limits<T>::digits) - 1.0); }

/// out[i] = step(u) where u, as lanes of double, is uniform on [lo, hi).
template <class T, class Step> void from_uniform(T* out, std::uint32_t k0, std::uint32_t k1, Index count, T lo, T hi, const Step& step) {
  constexpr Index chunk = 1024;  // stays in the first-level cache
  T drawn[chunk];
  for (Index i = 0; i < count; i += chunk) {
    const Index n = std::min(chunk, count - i), whole = (n + wide_lanes - 1) / wide_lanes * wide_lanes;
    uniform(drawn, k0, k1, static_cast<std::uint64_t>(i), whole, lo, hi);
    for (Index k = 0; k < whole; k += wide_lanes) store_narrowed(drawn + k, step(widened(drawn + k)));
    std::copy_n(drawn, n, out + i);
  }
}

}  // namespace detail

/// count exponentially distributed numbers: -log1p(-f), f uniform on [0, 1).
template <class T> void exponential(T* out, std::uint32_t k0, std::uint32_t k1, Index count) {
  using namespace detail;
  from_uniform(out, k0, k1, count, static_cast<T>(0.0f), static_cast<T>(1.0f), [](const Doubles& f) { return Doubles(0.0 - log1p_lanes<Doubles>(-f)); });
}
/// count numbers of Laplace's distribution: sign(u) log1p(-|u|), u uniform on (-1, 1).
template <class T> void laplace(T* out, std::uint32_t k0, std::uint32_t k1, Index count) {
  using namespace detail;
  from_uniform(out, k0, k1, count, above_minus_one<T>(), static_cast<T>(1.0f), [](const Doubles& u) {
    const Doubles logarithm = log1p_lanes<Doubles>(u < 0.0 ? u : -u);
    return Doubles(u < 0.0 ? -logarithm : logarithm);
  });
}
/// count numbers of Gumbel's distribution: -log(-log(u)), u uniform on [tiny, 1), tiny the smallest normal number.
template <class T> void gumbel(T* out, std::uint32_t k0, std::uint32_t k1, Index count) {
  using namespace detail;
  from_uniform(out, k0, k1, count, std::numeric_limits<T>::min(), static_cast<T>(1.0f), [](const Doubles& u) { return Doubles(-log_lanes(rounded<T>(-log_lanes(u)))); });
}
/// The same from twice as many bits, which reaches further up: elements j and count + j of the uniform numbers make one small x, and
/// -log(-log1p(-x)) is the sample.
template <class T> void gumbel_high(T* out, std::uint32_t k0, std::uint32_t k1, Index count) {
  using namespace detail;
  constexpr Index chunk = 1024;
  const T zero = static_cast<T>(0.0f), one = static_cast<T>(1.0f);
  const double tiny = static_cast<double>(std::numeric_limits<T>::min()), unit = std::ldexp(1.0, -Draw<T>::mantissa);
  T high[chunk], low[chunk];
  for (Index i = 0; i < count; i += chunk) {
    const Index n = std::min(chunk, count - i), whole = (n + wide_lanes - 1) / wide_lanes * wide_lanes;
    uniform(high, k0, k1, static_cast<std::uint64_t>(i), whole, zero, one);
    uniform(low, k0, k1, static_cast<std::uint64_t>(count + i), whole, zero, one);
    for (Index k = 0; k < whole; k += wide_lanes) {
      const Doubles h = widened(high + k), sum = rounded<T>(rounded<T>(h + unit * widened(low + k)) + tiny);
      const Doubles x = h < 0.5 ? sum : h;
      store_narrowed(high + k, Doubles(-log_lanes(rounded<T>(-log1p_lanes<Doubles>(-x)))));
    }
    std::copy_n(high, n, out + i);
  }
}

/// The next number of T from x up, or down.
template <class T> T neighbour(T x, bool up) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  const T zero = static_cast<T>(0.0f);
  auto bits = std::bit_cast<Bits>(x);
  if (x == zero) bits = static_cast<Bits>(up ? 1u : (Bits{1} << (8 * sizeof(T) - 1)) + 1u);
  else bits = static_cast<Bits>((x > zero) == up ? bits + 1u : bits - 1u);
  return std::bit_cast<T>(bits);
}

/// count normal numbers between lo and hi: sqrt(2) erf_inv(u), u uniform between the values of erf at both ends. They are kept inside by force:
/// rounding may lead out, and where the values of erf coincide, far from 0, erf_inv has nothing to tell apart.
template <class T> void truncated_normal(T* out, std::uint32_t k0, std::uint32_t k1, Index count, T lo, T hi) {
  constexpr Index chunk = 1024;
  const T root = static_cast<T>(1.4142135623730951), least = neighbour(lo, true), most = neighbour(hi, false);
  const auto erf_of = [root](T x) { return static_cast<T>(std::erf(static_cast<double>(static_cast<T>(x / root)))); };
  const T a = erf_of(lo), b = erf_of(hi);
  for (Index i = 0; i < count; i += chunk) {
    const Index n = std::min(chunk, count - i);
    T* at = out + i;
    uniform(at, k0, k1, static_cast<std::uint64_t>(i), n, a, b);
    if constexpr (is_half_float<T>) {
      float wide[chunk];
      for (Index k = 0; k < n; ++k) wide[k] = static_cast<float>(at[k]);
      erf_inv(wide, wide, n);
      for (Index k = 0; k < n; ++k) at[k] = static_cast<T>(static_cast<float>(root) * static_cast<float>(static_cast<T>(wide[k])));
    } else {
      scaled_erf_inv(at, at, n, root);
    }
    for (Index k = 0; k < n; ++k) {
      const T raised = at[k] < least ? least : at[k];
      at[k] = raised > most ? most : raised;
    }
  }
}

namespace detail {

/// lo + (H 2^w + L) mod span for random words H and L of w bits, wrapping as JAX does; a span of 0 stands for 2^w.
template <class Word, class Out> void integers(Out* out, std::uint32_t k0, std::uint32_t k1, Index count, Word lo, Word span) {
  constexpr Index chunk = 512;
  std::uint32_t keys[4];  // of the high and of the low words
  threefry_split(keys, k0, k1, 0, 2);
  Word power = 0;  // 2^w mod span; 0 for spans that are powers of two, whose high words do not matter
  if (span) power = static_cast<Word>(Word{1} << (4 * sizeof(Word))) % span;
  if (span) power = static_cast<Word>(power * power) % span;
  Word low[chunk], high[chunk] = {};
  for (Index i = 0; i < count; i += chunk) {
    const Index n = std::min(chunk, count - i);
    const auto first = static_cast<std::uint64_t>(i);
    threefry_bits(low, keys[2], keys[3], first, n);
    if (power) threefry_bits(high, keys[0], keys[1], first, n);
    for (Index k = 0; k < n; ++k) {
      Word offset = low[k];
      if (power) offset = ((high[k] % span) * power + offset % span) % span;
      else if (span) offset %= span;
      out[i + k] = static_cast<Out>(lo + offset);
    }
  }
}

}  // namespace detail

/// count integers of 8, 16, 32 or 64 bits in [lo, lo + span), as JAX's randint; lo and span modulo 2^width, a span of 0 means all values.
/// Those of 8 and 16 bits are drawn as 32 bits and cut.
inline void random_integers(void* out, std::uint32_t k0, std::uint32_t k1, Index count, int width, std::uint64_t lo, std::uint64_t span) {
  const auto low = static_cast<std::uint32_t>(lo), range = static_cast<std::uint32_t>(span);
  if (width == 8) detail::integers(static_cast<std::uint8_t*>(out), k0, k1, count, low, range);
  else if (width == 16) detail::integers(static_cast<std::uint16_t*>(out), k0, k1, count, low, range);
  else if (width == 32) detail::integers(static_cast<std::uint32_t*>(out), k0, k1, count, low, range);
  else detail::integers(static_cast<std::uint64_t*>(out), k0, k1, count, lo, span);
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
