// erf and its inverse, on arrays. The inverse is the polynomial that XLA uses, after Giles, "Approximating the erfinv function" (2010).
#pragma once
#include <limits>

#include "lanes.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// The polynomials of erf_inv in w = -log(1 - x^2), the highest power first: `centre` in w - centre_offset for w < centre_end, the others in
/// sqrt(w) minus an offset.
template <class T> struct ErfInv;
template <> struct ErfInv<float> {
  static constexpr float centre_end = 5, centre_offset = 2.5f, tail_offset = 3;
  static constexpr float centre[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                     -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
  static constexpr float tail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                                   -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
};
template <> struct ErfInv<double> {
  static constexpr double centre_end = 6.25, centre_offset = 3.125, tail_end = 16, tail_offset = 3.25, far_offset = 5;
  static constexpr double centre[] = {
      -3.64441206401782e-21,  -1.6850591381820166e-19, 1.28584807152564e-18,    1.1157877678025181e-17, -1.333171662854621e-16,   2.0972767875968562e-17,
      6.637638134358324e-15,  -4.054566272975207e-14,  -8.151934197605472e-14,  2.6335093153082323e-12, -1.2975133253453532e-11,  -5.415412054294628e-11,
      1.0512122733215323e-09, -4.112633980346984e-09,  -2.9070369957882005e-08, 4.2347877827932404e-07, -1.3654692000834679e-06,  -1.3882523362786469e-05,
      0.00018673420803405714, -0.000740702534166267,   -0.006033670871430149,   0.24015818242558962,    1.6536545626831027};
  static constexpr double tail[] = {
      2.2137376921775787e-09, 9.075656193888539e-08,  -2.7517406297064545e-07, 1.8239629214389228e-08, 1.5027403968909828e-06, -4.013867526981546e-06, 2.9234449089955446e-06,
      1.2475304481671779e-05, -4.7318229009055734e-05, 6.828485145957318e-05,  2.4031110387097894e-05, -0.0003550375203628475, 0.0009532893797373805, -0.0016882755560235047,
      0.002491442096107851,   -0.003751208507569241,   0.005370914553590064,   1.0052589676941592,     3.0838856104922208};
  static constexpr double far[] = {
      -2.7109920616438573e-11, -2.555641816996525e-10, 1.5076572693500548e-09, -3.789465440126737e-09, 7.61570120807834e-09,    -1.496002662714924e-08,
      2.914795345090108e-08,   -6.771199775845234e-08, 2.2900482228026655e-07, -9.9298272942317e-07,   4.526062597223154e-06,   -1.968177810553167e-05,
      7.599527703001776e-05,   -0.00021503011930044477, -0.00013871931833623122, 1.0103004648645344,   4.849906401408584};
};

template <class T, std::size_t n> inline T polynomial(const T (&coefficients)[n], T x) {
  T p = coefficients[0];
  for (std::size_t i = 1; i < n; ++i) p = multiply_add(p, x, coefficients[i]);
  return p;
}
template <class V, class T, std::size_t n> inline V polynomial_lanes(const T (&coefficients)[n], const V& x) {
  V p = V{} + coefficients[0];
#pragma GCC unroll 24
  for (std::size_t i = 1; i < n; ++i) p = quick_multiply_add(p, x, V{} + coefficients[i]);
  return p;
}

/// The inverse of erf for one number: infinite at -1 and 1, not a number beyond.
template <class T> inline T erf_inv(T x) {
  using Table = ErfInv<T>;
  const T square = x * x;
  if (square == 1) return x * std::numeric_limits<T>::infinity();
  const T w = static_cast<T>(-std::log1p(-static_cast<double>(square)));
  if (w < Table::centre_end) return polynomial(Table::centre, w - Table::centre_offset) * x;
  if constexpr (sizeof(T) == sizeof(double)) {
    if (!(w < Table::tail_end)) return polynomial(Table::far, std::sqrt(w) - Table::far_offset) * x;
  }
  return polynomial(Table::tail, std::sqrt(w) - Table::tail_offset) * x;
}

/// log(1 + x) for -1 < x <= 0 within an ulp, by the method of fdlibm's log: 1 + x = 2^k (1 + f), s = f / (2 + f),
/// log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)).
template <class V> inline V log1p_lanes(const V& x) {
  constexpr int n = sizeof(V) / sizeof(double);
  using Bits = Lanes<std::uint64_t, n>;
  static constexpr double R[] = {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
                                 2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01};
  constexpr std::uint64_t one = 0x3FF0000000000000, root_half = 0x3FE6A09E00000000, mantissa = 0x000FFFFFFFFFFFFF;
  constexpr std::uint64_t magic = 0x4338000000000000;  // 1.5 * 2^52: small integers added to its bits appear in its value
  const V whole = 1.0 + x, lost = x - (whole - 1.0);
  const Bits shifted = std::bit_cast<Bits>(whole) + (one - root_half);
  const Bits exponent = shifted >> 52;  // of 2^k, biased
  const Bits scaled = (shifted & mantissa) + root_half, down = (2046 - exponent) << 52, count = exponent + (magic - 1023);
  const V k = std::bit_cast<V>(count) - 0x1.8p52;
  const V f = (std::bit_cast<V>(scaled) - 1.0) + lost * std::bit_cast<V>(down);
  const V s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  const V series = polynomial_lanes(R, z) * z;
  return k * 6.93147180369123816490e-01 - ((half_square - (s * (half_square + series) + k * 1.90821492927058770002e-10)) - f);
}

/// scale * erf_inv(x), each step rounded to T.
template <class V, class T> inline V scaled_erf_inv_lanes(const V& x, T scale) {
  constexpr int n = sizeof(V) / sizeof(T);
  using Wide = Lanes<double, n>;
  const V square = x * x;
  const V w = -__builtin_convertvector(log1p_lanes<Wide>(-__builtin_convertvector(square, Wide)), V);
  const auto central = (w < ErfInv<T>::centre_end) & (square < T{1});
  V y = polynomial_lanes(ErfInv<T>::centre, V(w - ErfInv<T>::centre_offset)) * x * scale;
  if (!all_lanes(central)) {  // seldom: 1 in 300 numbers of a uniform distribution is in the tails
    for (int lane = 0; lane < n; ++lane)
      if (!central[lane]) y[lane] = scale * erf_inv(static_cast<T>(x[lane]));
  }
  return y;
}
/// out[i] = scale * erf_inv(in[i]). In place is allowed. A result does not depend on its place: the rest of the array is computed in lanes, too.
template <class T> inline void scaled_erf_inv(T* out, const T* in, Index count, T scale) {
  constexpr int n = lane_bytes / static_cast<int>(sizeof(double));
  using V = Lanes<T, n>;
  Index i = 0;
  for (; i + n <= count; i += n) store_lanes(out + i, scaled_erf_inv_lanes(load_lanes<V>(in + i), scale));
  if (i == count) return;
  T rest[n] = {};
  for (int lane = 0; i + lane < count; ++lane) rest[lane] = in[i + lane];
  store_lanes(rest, scaled_erf_inv_lanes(load_lanes<V>(rest), scale));
  for (int lane = 0; i + lane < count; ++lane) out[i + lane] = rest[lane];
}
template <class T> inline void erf_inv(T* out, const T* in, Index count) { scaled_erf_inv(out, in, count, T{1}); }

template <class T> inline void erf(T* out, const T* in, Index count) {
  for (Index i = 0; i < count; ++i) out[i] = std::erf(in[i]);
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
