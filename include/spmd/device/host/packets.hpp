// Functions of Eigen arrays that Eigen 3.4 gets wrong at the edges: its exp of -infinity is not 0, its sqrt of infinity is not infinity and of
// all others an approximation, and without SSE 4.1 its roundings lose the sign of zero.
#pragma once
#include <cmath>

#include "eigen.hpp"
#include "isa.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {
namespace detail {

namespace E = Eigen::internal;
template <class Packet> using ScalarOf = typename E::unpacket_traits<Packet>::type;

/// Below it exp would be subnormal: 0, as with XLA.
template <class T> inline constexpr T lowest_exponent = sizeof(T) == 4 ? T(-87.33654022216797) : T(-708.3964185322641);

struct ExpOf {
  template <class T> static constexpr bool has_packets = E::packet_traits<T>::HasExp;
  template <class T> static T one(const T& x) { return x < lowest_exponent<T> ? T(0) : std::exp(x); }
  template <class P> static P packet(const P& x) { return E::pandnot(E::pexp(x), E::pcmp_lt(x, E::pset1<P>(lowest_exponent<ScalarOf<P>>))); }
};
/// 1 / (1 + exp(-x)), where exp never overflows.
struct LogisticOf {
  template <class T> static constexpr bool has_packets = E::packet_traits<T>::HasExp && E::packet_traits<T>::HasDiv;
  template <class T> static T one(const T& x) {
    const T e = ExpOf::one(-std::fabs(x)), r = T(1) / (T(1) + e);
    return x < 0 ? e * r : r;
  }
  template <class P> static P packet(const P& x) {
    const P unit = E::pset1<P>(ScalarOf<P>(1)), e = ExpOf::packet(E::pnegate(E::pabs(x))), r = E::pdiv(unit, E::padd(unit, e));
    return E::pselect(E::pcmp_lt(x, E::pset1<P>(ScalarOf<P>(0))), E::pmul(e, r), r);
  }
};
struct SqrtOf {
  template <class T> static constexpr bool has_packets = E::packet_traits<T>::HasSqrt;
  template <class T> static T one(const T& x) { return std::sqrt(x); }
  template <class P> static P packet(const P& x) { return E::psqrt(x); }
#ifdef EIGEN_VECTORIZE_SSE
  static E::Packet4f packet(const E::Packet4f& x) { return E::Packet4f(_mm_sqrt_ps(x)); }
#endif
#ifdef EIGEN_VECTORIZE_AVX
  static E::Packet8f packet(const E::Packet8f& x) { return E::Packet8f(_mm256_sqrt_ps(x)); }
#endif
#ifdef EIGEN_VECTORIZE_AVX512
  static E::Packet16f packet(const E::Packet16f& x) { return E::Packet16f(_mm512_sqrt_ps(x)); }
  static E::Packet8d packet(const E::Packet8d& x) { return E::Packet8d(_mm512_sqrt_pd(x)); }
#endif
};
/// A rounded number has the sign of what it was.
template <class P> P with_sign_of(const P& rounded, const P& x) { return E::por(rounded, E::pand(x, E::pset1<P>(ScalarOf<P>(-0.0)))); }
struct FloorOf {
  template <class T> static constexpr bool has_packets = E::packet_traits<T>::HasFloor;
  template <class T> static T one(const T& x) { return std::floor(x); }
  template <class P> static P packet(const P& x) { return with_sign_of(E::pfloor(x), x); }
};
struct CeilOf {
  template <class T> static constexpr bool has_packets = E::packet_traits<T>::HasCeil;
  template <class T> static T one(const T& x) { return std::ceil(x); }
  template <class P> static P packet(const P& x) { return with_sign_of(E::pceil(x), x); }
};
struct RoundEvenOf {
  template <class T> static constexpr bool has_packets = E::packet_traits<T>::HasRint;
  template <class T> static T one(const T& x) { return std::rint(x); }
  template <class P> static P packet(const P& x) { return with_sign_of(E::print(x), x); }
};

/// One of these as Eigen's expressions want it.
template <class Op, class T> struct PacketFunction {
  T operator()(const T& x) const { return Op::one(x); }
  template <class P> P packetOp(const P& x) const { return Op::packet(x); }
};
template <class Op, class A> auto map_packets(const A& a) { return a.unaryExpr(PacketFunction<Op, typename A::Scalar>{}); }

}  // namespace detail

template <class A> auto exp_of(const A& a) { return detail::map_packets<detail::ExpOf>(a); }
template <class A> auto logistic_of(const A& a) { return detail::map_packets<detail::LogisticOf>(a); }
template <class A> auto sqrt_of(const A& a) { return detail::map_packets<detail::SqrtOf>(a); }
template <class A> auto floor_of(const A& a) { return detail::map_packets<detail::FloorOf>(a); }
template <class A> auto ceil_of(const A& a) { return detail::map_packets<detail::CeilOf>(a); }
template <class A> auto round_even_of(const A& a) { return detail::map_packets<detail::RoundEvenOf>(a); }

}  // namespace SPMD_ISA
}  // namespace spmd::host

template <class Op, class T> struct Eigen::internal::functor_traits<spmd::host::detail::PacketFunction<Op, T>> {
  enum { Cost = 20, PacketAccess = Op::template has_packets<T> };
};
