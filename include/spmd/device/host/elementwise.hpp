// The loop behind every elementwise operation. The operation states its expression once: on single elements, which compilers
// vectorise in blocks of fixed size even at -O2, or on Eigen arrays, whose transcendental functions are vectorised by hand.
#pragma once
#include "../../core/tensor.hpp"
#include "eigen.hpp"
#include "isa.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// 16-bit floats compute in f32 and are rounded after every operation: a result does not depend on where fusion ended.
template <class T> using Compute = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

template <class T> auto array_of(const void* p, Index n) {
  const auto map = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>(static_cast<const T*>(p), n);
  if constexpr (std::is_same_v<T, Compute<T>>) return map;
  else return map.template cast<float>();
}

/// Whether an operation states its expression on whole arrays.
template <class Op, class... Arrays>
concept OnArrays = requires(const Arrays&... arrays) { Op::array(arrays...); };

/// How a loop reads and writes an element: compilers do not vectorise those of type bool.
template <class T> using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// The loop on single elements. g++ -O2 vectorises only a loop of fixed length whose pointers need no check against each other.
template <class Op, class R, class... Ts> void each_element(Index n, Stored<R>* __restrict out, const Stored<Ts>* __restrict... in) {
  constexpr Index block = 64;
  Index i = 0;
  for (; i + block <= n; i += block)
    for (Index j = 0; j < block; ++j) out[i + j] = static_cast<Stored<R>>(static_cast<R>(Op::host(static_cast<Compute<Ts>>(in[i + j])...)));
  for (; i < n; ++i) out[i] = static_cast<Stored<R>>(static_cast<R>(Op::host(static_cast<Compute<Ts>>(in[i])...)));
}

template <class Op, class R, class... Ts> void elementwise(void* out, const void* const* in, Index n) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (OnArrays<Op, decltype(array_of<Ts>(nullptr, Index{}))...>) {
      auto result = Op::array(array_of<Ts>(in[I], n)...);
      Eigen::Map<Eigen::Array<R, Eigen::Dynamic, 1>> to(static_cast<R*>(out), n);
      if constexpr (std::is_same_v<R, typename decltype(result)::Scalar>) to = result;
      else to = result.template cast<R>();
    } else {
      each_element<Op, R, Ts...>(n, static_cast<Stored<R>*>(out), static_cast<const Stored<Ts>*>(in[I])...);
    }
  }(std::index_sequence_for<Ts...>{});
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
