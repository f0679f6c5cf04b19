// Where the greatest of each window is.
#pragma once
#include "pool.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// The offset in `in` of the first of the greatest of each window. Every window sees an element.
template <class T> void max_pool2d_places(std::int64_t* out, const T* in, const Pool2d& p) {
  using namespace detail;
  for_each_window(p, [&](const PoolWindow& w) {
    for (Index c = 0; c < p.channels; c += pool_strip) {
      const Index n = std::min(pool_strip, p.channels - c);
      std::int32_t winners[static_cast<std::size_t>(pool_strip)];
      arg_reduce_columns<true, T>(winners, [&](Index i) { return in + w.at(i) + c; }, w.count(), n);
      for (Index i = 0; i < n; ++i) out[w.out + c + i] = w.at(winners[i]) + c + i;
    }
  });
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
