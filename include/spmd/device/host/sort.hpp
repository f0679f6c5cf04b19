// Sorting along an axis: placeholder until the tuned kernel is there.
#pragma once
#include <algorithm>
#include <memory>

#include "../../core/shape.hpp"
#include "isa.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

namespace detail {
/// NaN is behind everything.
template <class T> bool sorts_before(const T& a, const T& b) { return a < b || (b != b && a == a); }
}  // namespace detail

template <class T> void arg_sort(std::int32_t* out, const T* in, Index outer, Index n, Index inner) {
  const auto order = std::make_unique<std::int32_t[]>(static_cast<std::size_t>(n));
  for (Index o = 0; o < outer; ++o)
    for (Index i = 0; i < inner; ++i) {
      const T* from = in + o * n * inner + i;
      for (Index k = 0; k < n; ++k) order[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(k);
      std::stable_sort(order.get(), order.get() + n, [&](std::int32_t a, std::int32_t b) { return detail::sorts_before(from[a * inner], from[b * inner]); });
      for (Index k = 0; k < n; ++k) out[(o * n + k) * inner + i] = order[static_cast<std::size_t>(k)];
    }
}
template <class T> void sort(T* out, const T* in, Index outer, Index n, Index inner) {
  const auto order = std::make_unique<std::int32_t[]>(static_cast<std::size_t>(outer * n * inner));
  arg_sort(order.get(), in, outer, n, inner);
  for (Index o = 0; o < outer; ++o)
    for (Index k = 0; k < n; ++k)
      for (Index i = 0; i < inner; ++i) {
        const Index at = (o * n + k) * inner + i;
        out[at] = in[(o * n + order[static_cast<std::size_t>(at)]) * inner + i];
      }
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
