// Random orders, and the search behind drawing with given probabilities.
#pragma once
#include "../../core/list.hpp"
#include "sort.hpp"
#include "threefry.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// Random orders of 0, ..., n - 1 along the middle axis of an array (outer, n, inner): each line is sorted by random words that belong to its
/// elements, often enough that equal words do not matter (JAX's number of rounds, which counts all elements).
inline void random_order(std::int32_t* order, std::uint32_t k0, std::uint32_t k1, Index outer, Index n, Index inner) {
  const Index size = outer * n * inner;
  if (size == 0) return;
  for (Index o = 0; o < outer; ++o)
    for (Index k = 0; k < n; ++k) std::fill_n(order + (o * n + k) * inner, inner, static_cast<std::int32_t>(k));
  const int rounds = static_cast<int>(std::ceil(3 * std::log(static_cast<double>(size)) / std::log(4294967295.0)));
  if (rounds == 0) return;
  spmd::detail::List<std::uint32_t> bits(static_cast<std::size_t>(size));
  spmd::detail::List<std::int32_t> before(static_cast<std::size_t>(size));
  for (int round = 0; round < rounds; ++round) {
    std::uint32_t keys[4];  // for the rounds that follow, and for this one
    threefry_split(keys, k0, k1, 0, 2);
    k0 = keys[0];
    k1 = keys[1];
    threefry_bits(bits.data(), keys[2], keys[3], 0, size);
    std::copy_n(order, size, before.data());
    detail::sort_runs(bits.data(), outer, n, inner, [&](Index at, Index first, Index index) { order[at] = before[static_cast<std::size_t>(first + index * inner)]; });
  }
}

/// For each of count numbers, how many of the n rising numbers of `sorted` are below it: the first place with sorted[place] >= x.
template <class T> void search_sorted(std::int32_t* out, const T* sorted, Index n, const T* x, Index count) {
  for (Index i = 0; i < count; ++i) out[i] = static_cast<std::int32_t>(std::lower_bound(sorted, sorted + n, x[i]) - sorted);
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
