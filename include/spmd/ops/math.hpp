// Smooth functions of elements.
#pragma once
#include <numbers>

#include "../device/host/erf_inv.hpp"
#include "../device/host/packets.hpp"
#include "arithmetic.hpp"

namespace spmd {
namespace detail {

struct Exp : Costly {
  static constexpr std::string_view name = "exp";
  template <class A> static auto array(const A& a) { return host::exp_of(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>&) { return std::tuple(ct * out); }
};
struct Expm1 : Costly {
  static constexpr std::string_view name = "expm1";
  template <class C> static C host(C a) { return std::expm1(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>&) { return std::tuple(ct * (out + 1.0f)); }
};
struct Log : Costly {
  static constexpr std::string_view name = "log";
  template <class A> static auto array(const A& a) { return a.log(); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct / x); }
};
struct Log1p : Costly {
  static constexpr std::string_view name = "log1p";
  template <class C> static C host(C a) { return std::log1p(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct / (x + 1.0f)); }
};
struct Sqrt : SameType {
  static constexpr std::string_view name = "sqrt";
  template <class A> static auto array(const A& a) { return host::sqrt_of(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>&) { return std::tuple(ct * 0.5f / out); }
};
struct Rsqrt : SameType {
  static constexpr std::string_view name = "rsqrt";
  template <class A> static auto array(const A& a) { return host::sqrt_of(a).inverse(); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>& x) { return std::tuple(ct * -0.5f * out / x); }
};
struct Sin : Costly {
  static constexpr std::string_view name = "sin";
  template <class A> static auto array(const A& a) { return a.sin(); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct * cos(x)); }
};
struct Cos : Costly {
  static constexpr std::string_view name = "cos";
  template <class A> static auto array(const A& a) { return a.cos(); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(-(ct * sin(x))); }
};
struct Tan : Costly {
  static constexpr std::string_view name = "tan";
  template <class C> static C host(C a) { return std::tan(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>&) { return std::tuple(ct * (square(out) + 1.0f)); }
};
struct Asin : Costly {
  static constexpr std::string_view name = "asin";
  template <class C> static C host(C a) { return std::asin(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct * rsqrt(1.0f - square(x))); }
};
struct Acos : Costly {
  static constexpr std::string_view name = "acos";
  template <class C> static C host(C a) { return std::acos(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(-(ct * rsqrt(1.0f - square(x)))); }
};
struct Atan : Costly {
  static constexpr std::string_view name = "atan";
  template <class C> static C host(C a) { return std::atan(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct / (square(x) + 1.0f)); }
};
struct Atan2 : Costly {
  static constexpr std::string_view name = "atan2";
  template <class C> static C host(C a, C b) { return std::atan2(a, b); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& y, const Tensor<T>& x) {
    return std::tuple([&ct, &x, &y] { return ct * x / (square(x) + square(y)); }, [&ct, &x, &y] { return -(ct * y / (square(x) + square(y))); });
  }
};
struct Sinh : Costly {
  static constexpr std::string_view name = "sinh";
  template <class C> static C host(C a) { return std::sinh(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct * cosh(x)); }
};
struct Cosh : Costly {
  static constexpr std::string_view name = "cosh";
  template <class C> static C host(C a) { return std::cosh(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct * sinh(x)); }
};
struct Tanh : Costly {
  static constexpr std::string_view name = "tanh";
  template <class A> static auto array(const A& a) { return a.tanh(); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>&) { return std::tuple(ct * (1.0f - square(out))); }
};
struct Sigmoid : Costly {
  static constexpr std::string_view name = "sigmoid";
  template <class A> static auto array(const A& a) { return host::logistic_of(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>&) { return std::tuple(ct * out * (1.0f - out)); }
};
/// max(x, 0); its gradient at 0 is 0, as JAX's.
struct Relu : SameType {
  static constexpr std::string_view name = "relu";
  template <class C> static C host(C a) { return a > C{0} || a != a ? a : C{0}; }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(where(x > 0.0f, ct, 0)); }
};
/// log(1 + exp(x)).
struct Softplus : Costly {
  static constexpr std::string_view name = "softplus";
  template <class C> static C host(C a) { return (a > C{0} || a != a ? a : C{0}) + std::log1p(std::exp(-std::fabs(a))); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct * sigmoid(x)); }
};
struct Erf : Costly {
  static constexpr std::string_view name = "erf";
  template <class C> static C host(C a) { return std::erf(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) {
    return std::tuple(ct * (2.0 * std::numbers::inv_sqrtpi) * exp(-square(x)));
  }
};
/// The inverse of erf, by Giles' polynomials (M. Giles, Approximating the erfinv function, 2010), as XLA has them.
struct ErfInv : Costly {
  static constexpr std::string_view name = "erf_inv";
  template <class C> static C host(C a) { return host::erf_inv(a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>&) {
    return std::tuple(ct * (0.5 / std::numbers::inv_sqrtpi) * exp(square(out)));
  }
};
/// Integer powers of integers by squaring; a negative exponent counts as its unsigned value does in C: 0, or the unit's power.
struct Power : Costly {
  static constexpr std::string_view name = "pow";
  template <class C> static C host(C a, C b) {
    if constexpr (std::integral<C>) {
      if constexpr (std::signed_integral<C>)
        if (b < 0) return static_cast<C>(a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0);
      C result = 1;
      for (; b; b = static_cast<C>(b / 2)) {
        if (b % 2) result = Multiply::host(result, a);
        a = Multiply::host(a, a);
      }
      return result;
    } else {
      return std::pow(a, b);
    }
  }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>& x, const Tensor<T>& y) {
    return std::tuple([&ct, &x, &y] { return ct * where(y == 0.0f, 0, y * pow(x, where(y == 0.0f, 1, y - 1.0f))); },
                      [&ct, &out, &x] { return ct * log(where(x == 0.0f, 1, x)) * out; });
  }
};
struct Floor : SameType {
  static constexpr std::string_view name = "floor";
  template <class A> static auto array(const A& a) { return host::floor_of(a); }
  template <class T> static auto vjp(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) { return std::tuple(zero); }
};
struct Ceil : SameType {
  static constexpr std::string_view name = "ceil";
  template <class A> static auto array(const A& a) { return host::ceil_of(a); }
  template <class T> static auto vjp(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) { return std::tuple(zero); }
};
struct RoundEven : SameType {
  static constexpr std::string_view name = "round";
  template <class A> static auto array(const A& a) { return host::round_even_of(a); }
  template <class T> static auto vjp(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) { return std::tuple(zero); }
};
/// The value with no derivative.
struct StopGradient : SameType {
  static constexpr std::string_view name = "stop_gradient";
  template <class C> static C host(C a) { return a; }
  template <class T> static auto vjp(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) { return std::tuple(zero); }
};

}  // namespace detail

template <Floating T> Tensor<T> exp(const Tensor<T>& x) { return detail::unary<detail::Exp>(x); }
/// exp(x) - 1, exact near 0.
template <Floating T> Tensor<T> expm1(const Tensor<T>& x) { return detail::unary<detail::Expm1>(x); }
template <Floating T> Tensor<T> log(const Tensor<T>& x) { return detail::unary<detail::Log>(x); }
/// log(1 + x), exact near 0.
template <Floating T> Tensor<T> log1p(const Tensor<T>& x) { return detail::unary<detail::Log1p>(x); }
template <Floating T> Tensor<T> sqrt(const Tensor<T>& x) { return detail::unary<detail::Sqrt>(x); }
/// 1 / sqrt(x).
template <Floating T> Tensor<T> rsqrt(const Tensor<T>& x) { return detail::unary<detail::Rsqrt>(x); }
/// a to the power b. Integer exponents of integers that are negative give 0 unless a is 1 or -1.
template <class A, class B> requires NumberOperands<A, B> auto pow(const A& a, const B& b) { return detail::binary_of<detail::Power>(a, b); }
template <Floating T> Tensor<T> sin(const Tensor<T>& x) { return detail::unary<detail::Sin>(x); }
template <Floating T> Tensor<T> cos(const Tensor<T>& x) { return detail::unary<detail::Cos>(x); }
template <Floating T> Tensor<T> tan(const Tensor<T>& x) { return detail::unary<detail::Tan>(x); }
template <Floating T> Tensor<T> asin(const Tensor<T>& x) { return detail::unary<detail::Asin>(x); }
template <Floating T> Tensor<T> acos(const Tensor<T>& x) { return detail::unary<detail::Acos>(x); }
template <Floating T> Tensor<T> atan(const Tensor<T>& x) { return detail::unary<detail::Atan>(x); }
/// The angle of the point (x, y), in (-pi, pi].
template <class A, class B> requires FloatingOperands<A, B> auto atan2(const A& y, const B& x) { return detail::binary_of<detail::Atan2>(y, x); }
template <Floating T> Tensor<T> sinh(const Tensor<T>& x) { return detail::unary<detail::Sinh>(x); }
template <Floating T> Tensor<T> cosh(const Tensor<T>& x) { return detail::unary<detail::Cosh>(x); }
template <Floating T> Tensor<T> tanh(const Tensor<T>& x) { return detail::unary<detail::Tanh>(x); }
/// 1 / (1 + exp(-x)).
template <Floating T> Tensor<T> sigmoid(const Tensor<T>& x) { return detail::unary<detail::Sigmoid>(x); }
/// max(x, 0); its gradient at 0 is 0.
template <Floating T> Tensor<T> relu(const Tensor<T>& x) { return detail::unary<detail::Relu>(x); }
/// log(1 + exp(x)).
template <Floating T> Tensor<T> softplus(const Tensor<T>& x) { return detail::unary<detail::Softplus>(x); }
/// The Gaussian error linear unit in its tanh form, as JAX's default.
template <Floating T> Tensor<T> gelu(const Tensor<T>& x) {
  const double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
  return x * 0.5f * (tanh((x + x * square(x) * 0.044715) * c) + 1.0f);
}
/// The error function.
template <Floating T> Tensor<T> erf(const Tensor<T>& x) { return detail::unary<detail::Erf>(x); }
/// The inverse of erf on (-1, 1); infinite at the ends.
template <Floating T> Tensor<T> erf_inv(const Tensor<T>& x) { return detail::unary<detail::ErfInv>(x); }
template <Floating T> Tensor<T> floor(const Tensor<T>& x) { return detail::unary<detail::Floor>(x); }
template <Floating T> Tensor<T> ceil(const Tensor<T>& x) { return detail::unary<detail::Ceil>(x); }
/// To the nearest integer, halves to the even one.
template <Floating T> Tensor<T> round(const Tensor<T>& x) { return detail::unary<detail::RoundEven>(x); }
/// x, whose gradient is zero.
template <class T> Tensor<T> stop_gradient(const Tensor<T>& x) {
  if constexpr (Floating<T>) return detail::unary<detail::StopGradient>(x);
  else return x;
}

}  // namespace spmd
