// Arithmetic, comparisons, logic and selection on elements.
#pragma once
#include <cmath>
#include <limits>

#include "elementwise.hpp"

namespace spmd {
namespace detail {

/// Integer arithmetic wraps, as unsigned: no value raises a signal.
template <class C, class F> constexpr C wrapping(F f, C a, C b) {
  if constexpr (std::integral<C> && !std::same_as<C, bool>) {
    using U = std::make_unsigned_t<C>;
    using Wide = std::conditional_t<(sizeof(U) < sizeof(unsigned)), unsigned, U>;
    return static_cast<C>(static_cast<U>(f(static_cast<Wide>(static_cast<U>(a)), static_cast<Wide>(static_cast<U>(b)))));
  } else {
    return f(a, b);
  }
}

struct Add : SameType {
  static constexpr std::string_view name = "add";
  template <class C> static C host(C a, C b) { return wrapping([](auto x, auto y) { return x + y; }, a, b); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) { return std::tuple(ct, ct); }
};
struct Subtract : SameType {
  static constexpr std::string_view name = "subtract";
  template <class C> static C host(C a, C b) { return wrapping([](auto x, auto y) { return x - y; }, a, b); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) {
    return std::tuple(ct, [&ct] { return -ct; });
  }
};
struct Multiply : SameType {
  static constexpr std::string_view name = "multiply";
  template <class C> static C host(C a, C b) { return wrapping([](auto x, auto y) { return x * y; }, a, b); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x, const Tensor<T>& y) {
    return std::tuple([&ct, &y] { return ct * y; }, [&ct, &x] { return ct * x; });
  }
};
/// Integers truncate; a quotient by zero is -1 (all bits set), and the smallest number divided by -1 is itself.
struct Divide : SameType {
  static constexpr std::string_view name = "divide";
  template <class C> static C host(C a, C b) {
    if constexpr (std::integral<C>) {
      if (b == 0) return static_cast<C>(-1);
      if constexpr (std::signed_integral<C>)
        if (b == -1) return wrapping([](auto x, auto y) { return x - y; }, C{0}, a);
      return static_cast<C>(a / b);
    } else {
      return a / b;
    }
  }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>& out, const Tensor<T>&, const Tensor<T>& y) {
    return std::tuple([&ct, &y] { return ct / y; }, [&ct, &out, &y] { return -(ct * out / y); });
  }
};
/// The remainder of the truncated quotient; an integer modulo zero is itself.
struct Fmod : Costly {
  static constexpr std::string_view name = "fmod";
  template <class C> static C host(C a, C b) {
    if constexpr (std::integral<C>) {
      if (b == 0) return a;
      if constexpr (std::signed_integral<C>)
        if (b == -1) return 0;
      return static_cast<C>(a % b);
    } else {
      return std::fmod(a, b);
    }
  }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x, const Tensor<T>& y) {
    return std::tuple(ct, [&ct, &x, &y] { return -(ct * sign(x / y) * floor(abs(x / y))); });
  }
};
struct Negate : SameType {
  static constexpr std::string_view name = "negate";
  template <class C> static C host(C a) {
    if constexpr (std::integral<C>) return wrapping([](auto x, auto y) { return x - y; }, C{0}, a);
    else return -a;
  }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>&) { return std::tuple(-ct); }
};
struct Abs : SameType {
  static constexpr std::string_view name = "abs";
  template <class C> static C host(C a) {
    if constexpr (std::unsigned_integral<C>) return a;
    else if constexpr (std::integral<C>) return a < 0 ? Negate::host(a) : a;
    else return std::fabs(a);
  }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct * sign(x)); }
};
struct Sign : SameType {
  static constexpr std::string_view name = "sign";
  template <class C> static C host(C a) {
    if constexpr (std::integral<C>) return static_cast<C>((a > 0) - (a < C{0}));
    else return a > 0 ? C{1} : a < 0 ? C{-1} : a;  // keeps signed zeros and NaN
  }
  template <class T> static auto vjp(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) { return std::tuple(zero); }
};
struct Square : SameType {
  static constexpr std::string_view name = "square";
  template <class C> static C host(C a) { return Multiply::host(a, a); }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) { return std::tuple(ct * (x + x)); }
};
/// How much of the larger of two is the first: all, none, or half where they are equal.
struct Share : SameType {
  static constexpr std::string_view name = "share";
  template <class C> static C host(C a, C b) { return a > b ? C(1) : a == b ? C(0.5) : C(0); }
  template <class T> static auto vjp(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) { return std::tuple(zero, zero); }
};
/// The larger one; NaN if either is. The gradient goes to the larger, half to each where they are equal.
struct Maximum : SameType {
  static constexpr std::string_view name = "maximum";
  template <class C> static C host(C a, C b) { return a > b || a != a ? a : b; }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x, const Tensor<T>& y) {
    return std::tuple([&ct, &x, &y] { return ct * binary<Share>(x, y); }, [&ct, &x, &y] { return ct * binary<Share>(y, x); });
  }
};
struct Minimum : SameType {
  static constexpr std::string_view name = "minimum";
  template <class C> static C host(C a, C b) { return a < b || a != a ? a : b; }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x, const Tensor<T>& y) {
    return std::tuple([&ct, &x, &y] { return ct * binary<Share>(y, x); }, [&ct, &x, &y] { return ct * binary<Share>(x, y); });
  }
};

struct Equal : TruthValue {
  static constexpr std::string_view name = "equal";
  template <class C> static bool host(C a, C b) { return a == b; }
};
struct NotEqual : TruthValue {
  static constexpr std::string_view name = "not_equal";
  template <class C> static bool host(C a, C b) { return a != b; }
};
struct Less : TruthValue {
  static constexpr std::string_view name = "less";
  template <class C> static bool host(C a, C b) { return a < b; }
};
struct LessEqual : TruthValue {
  static constexpr std::string_view name = "less_equal";
  template <class C> static bool host(C a, C b) { return a <= b; }
};
struct And : TruthValue {
  static constexpr std::string_view name = "logical_and";
  static bool host(bool a, bool b) { return a && b; }
};
struct Or : TruthValue {
  static constexpr std::string_view name = "logical_or";
  static bool host(bool a, bool b) { return a || b; }
};
struct Not : TruthValue {
  static constexpr std::string_view name = "logical_not";
  static bool host(bool a) { return !a; }
};
struct IsNan : TruthValue {
  static constexpr std::string_view name = "isnan";
  template <class C> static bool host(C a) { return a != a; }
};
struct IsFinite : TruthValue {
  static constexpr std::string_view name = "isfinite";
  template <class C> static bool host(C a) { return std::integral<C> || a - a == C{0}; }
};
struct Select : SameType {
  static constexpr std::string_view name = "where";
  template <class C> static C host(bool c, C a, C b) { return c ? a : b; }
  template <class T> static auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<bool>& c, const Tensor<T>&, const Tensor<T>&) {
    return std::tuple(zero, [&ct, &c] { return where(c, ct, 0); }, [&ct, &c] { return where(c, 0, ct); });
  }
};
/// Between element types. Out of range saturates, and NaN becomes 0, when an integer is made of a floating number.
template <class To> struct Cast {
  template <class T> using Result = To;
  static constexpr std::string_view name = "cast";
  template <class C> static auto host(C a) {
    using R = host::Compute<To>;
    if constexpr (std::same_as<R, bool>) {
      return a != C{0};
    } else if constexpr (std::same_as<C, bool>) {
      return a ? R{1} : R{0};  // a choice, which compilers vectorise
    } else if constexpr (std::integral<R> && std::floating_point<C>) {
      if (a != a) return R{0};
      constexpr auto low = std::numeric_limits<R>::lowest(), high = std::numeric_limits<R>::max();
      if (a <= static_cast<C>(low)) return low;
      return a >= static_cast<C>(high) ? high : static_cast<R>(a);
    } else {
      return static_cast<R>(a);
    }
  }
  template <class T> static auto vjp(const Tensor<To>& ct, const Tensor<To>&, const Tensor<T>&) {
    if constexpr (Floating<T>) return std::tuple(unary<Cast<T>>(ct));
    else return std::tuple(zero);
  }
};

}  // namespace detail

template <class A, class B> requires NumberOperands<A, B> auto operator+(const A& a, const B& b) { return detail::binary_of<detail::Add>(a, b); }
template <class A, class B> requires NumberOperands<A, B> auto operator-(const A& a, const B& b) { return detail::binary_of<detail::Subtract>(a, b); }
template <class A, class B> requires NumberOperands<A, B> auto operator*(const A& a, const B& b) { return detail::binary_of<detail::Multiply>(a, b); }
/// Integers truncate, as in C++, and never raise a signal: x / 0 is -1, the smallest number / -1 is itself.
template <class A, class B> requires NumberOperands<A, B> auto operator/(const A& a, const B& b) { return detail::binary_of<detail::Divide>(a, b); }
template <Number T> Tensor<T> operator-(const Tensor<T>& x) { return detail::unary<detail::Negate>(x); }
template <Number T> Tensor<T> operator+(const Tensor<T>& x) { return x; }
/// The remainder of the truncated quotient, with the sign of a.
template <class A, class B> requires NumberOperands<A, B> auto fmod(const A& a, const B& b) { return detail::binary_of<detail::Fmod>(a, b); }
/// NaN where either is; the gradient goes to the larger one, half to each where they are equal.
template <class A, class B> requires Operands<A, B> auto maximum(const A& a, const B& b) { return detail::binary_of<detail::Maximum>(a, b); }
template <class A, class B> requires Operands<A, B> auto minimum(const A& a, const B& b) { return detail::binary_of<detail::Minimum>(a, b); }
template <Number T> Tensor<T> abs(const Tensor<T>& x) { return detail::unary<detail::Abs>(x); }
/// -1, 0 or 1; NaN of NaN.
template <Number T> Tensor<T> sign(const Tensor<T>& x) { return detail::unary<detail::Sign>(x); }
template <Number T> Tensor<T> square(const Tensor<T>& x) { return detail::unary<detail::Square>(x); }

template <class A, class B> requires Operands<A, B> auto operator==(const A& a, const B& b) { return detail::binary_of<detail::Equal>(a, b); }
template <class A, class B> requires Operands<A, B> auto operator!=(const A& a, const B& b) { return detail::binary_of<detail::NotEqual>(a, b); }
template <class A, class B> requires Operands<A, B> auto operator<(const A& a, const B& b) { return detail::binary_of<detail::Less>(a, b); }
template <class A, class B> requires Operands<A, B> auto operator<=(const A& a, const B& b) { return detail::binary_of<detail::LessEqual>(a, b); }
template <class A, class B> requires Operands<A, B> auto operator>(const A& a, const B& b) { return b < a; }
template <class A, class B> requires Operands<A, B> auto operator>=(const A& a, const B& b) { return b <= a; }
template <class A, class B> requires BoolOperands<A, B> auto operator&&(const A& a, const B& b) { return detail::binary_of<detail::And>(a, b); }
template <class A, class B> requires BoolOperands<A, B> auto operator||(const A& a, const B& b) { return detail::binary_of<detail::Or>(a, b); }
inline Tensor<bool> operator!(const Tensor<bool>& x) { return detail::unary<detail::Not>(x); }
template <Element T> Tensor<bool> isnan(const Tensor<T>& x) { return detail::unary<detail::IsNan>(x); }
template <Element T> Tensor<bool> isfinite(const Tensor<T>& x) { return detail::unary<detail::IsFinite>(x); }

/// Converts the element type. To integers: toward zero, saturating, NaN to 0. To bool: whether it is not 0.
template <class To, class T> Tensor<To> cast(const Tensor<T>& x) {
  if constexpr (std::same_as<To, T>) return x;
  else return detail::unary<detail::Cast<To>>(x);
}
/// a where c holds, else b; the three broadcast, a or b may be a number. The gradient of the branch not taken is zero.
template <class A, class B> requires Operands<A, B> auto where(const Tensor<bool>& c, const A& a, const B& b) {
  using T = detail::CommonType<A, B>;
  const Tensor<T> x = detail::as_tensor<T>(a), y = detail::as_tensor<T>(b);
  const auto shape = detail::broadcast_shapes("where", detail::broadcast_shapes("where", c.shape(), x.shape()), y.shape());
  return detail::map_elements<detail::Select, T>(shape, c, x, y);
}
/// A choice between two numbers of one type.
template <Element T> Tensor<T> where(const Tensor<bool>& c, T a, T b) { return where(c, Tensor<T>(a), Tensor<T>(b)); }
/// x, not below lo and not above hi.
template <Number T, class L, class H>
  requires Operands<Tensor<T>, L> && Operands<Tensor<T>, H>
Tensor<T> clip(const Tensor<T>& x, const L& lo, const H& hi) {
  return minimum(maximum(x, lo), hi);
}
/// Zeros (ones) of the shape and type of x.
template <class T> Tensor<T> zeros_like(const Tensor<T>& x) { return Tensor<T>(detail::broadcast(Tensor<T>(T{}).any(), x.shape())); }
template <class T> Tensor<T> ones_like(const Tensor<T>& x) { return Tensor<T>(detail::broadcast(Tensor<T>(static_cast<T>(1)).any(), x.shape())); }

}  // namespace spmd
