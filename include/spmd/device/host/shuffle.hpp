// Random orders, and the searches behind drawing with given probabilities.
#pragma once
#include "../../core/list.hpp"
#include "threefry.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

namespace detail {

using spmd::detail::List;

/// Sorts by the upper 32 bits, and leaves what is equal there in its order: a radix sort by one byte after the other. `other` is as long.
inline void sort_by_upper_half(std::uint64_t* words, std::uint64_t* other, Index n) {
  for (int shift = 32; shift < 64; shift += 8) {  // an even number of passes: the result is in `words`
    Index ends[256] = {};
    for (Index i = 0; i < n; ++i) ++ends[words[i] >> shift & 255];
    Index begin = 0;
    for (Index& end : ends) begin += std::exchange(end, begin);
    for (Index i = 0; i < n; ++i) other[ends[words[i] >> shift & 255]++] = words[i];
    std::swap(words, other);
  }
}

/// Unsigned integers in the order of the numbers, with NaN on top.
inline std::uint64_t ordered_bits(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return x != x ? ~std::uint64_t{0} : bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
}

}  // namespace detail

/// Random orders of 0, ..., n - 1 along the middle axis of an array (outer, n, inner): each line is sorted by random words that belong to its
/// elements, often enough that equal words do not matter (JAX's number of rounds, which counts all elements).
inline void random_order(std::int32_t* order, std::uint32_t k0, std::uint32_t k1, Index outer, Index n, Index inner) {
  const Index size = outer * n * inner;
  if (size == 0) return;
  const int rounds = static_cast<int>(std::ceil(3 * std::log(static_cast<double>(size)) / std::log(4294967295.0)));
  detail::List<std::uint32_t> bits(static_cast<std::size_t>(rounds ? size : 0));
  detail::List<std::uint64_t> line(static_cast<std::size_t>(n)), other(static_cast<std::size_t>(n));
  for (Index o = 0; o < outer; ++o)
    for (Index k = 0; k < n; ++k) std::fill_n(order + (o * n + k) * inner, inner, static_cast<std::int32_t>(k));
  for (int round = 0; round < rounds; ++round) {
    std::uint32_t keys[4];  // for the rounds that follow, and for this one
    threefry_split(keys, k0, k1, 0, 2);
    k0 = keys[0];
    k1 = keys[1];
    threefry_bits(bits.data(), keys[2], keys[3], 0, size);
    for (Index o = 0; o < outer; ++o)
      for (Index i = 0; i < inner; ++i) {
        const Index first = o * n * inner + i;
        for (Index k = 0; k < n; ++k) {
          const auto at = static_cast<std::size_t>(first + k * inner);
          line[static_cast<std::size_t>(k)] = std::uint64_t{bits[at]} << 32 | static_cast<std::uint32_t>(order[at]);
        }
        detail::sort_by_upper_half(line.data(), other.data(), n);
        for (Index k = 0; k < n; ++k) order[first + k * inner] = static_cast<std::int32_t>(line[static_cast<std::size_t>(k)] & 0xFFFFFFFFu);
      }
  }
}

/// The places of the `count` largest of n numbers, the largest first, NaN before everything; of equals the first.
inline void falling_order(std::int32_t* out, const double* x, Index n, Index count) {
  detail::List<std::uint64_t> words(static_cast<std::size_t>(n)), other(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) words[static_cast<std::size_t>(i)] = (~detail::ordered_bits(x[i]) << 32) | static_cast<std::uint64_t>(i);
  detail::sort_by_upper_half(words.data(), other.data(), n);  // by the lower half of the bits, then by the upper
  for (auto& word : words) {
    const auto i = word & 0xFFFFFFFFu;
    word = (~detail::ordered_bits(x[i]) >> 32 << 32) | i;
  }
  detail::sort_by_upper_half(words.data(), other.data(), n);
  for (Index i = 0; i < count; ++i) out[i] = static_cast<std::int32_t>(words[static_cast<std::size_t>(i)] & 0xFFFFFFFFu);
}

/// For each of count numbers, how many of the n rising numbers of `sorted` are below it: the first place with sorted[place] >= x.
inline void search_sorted(std::int32_t* out, const double* sorted, Index n, const double* x, Index count) {
  for (Index i = 0; i < count; ++i) out[i] = static_cast<std::int32_t>(std::lower_bound(sorted, sorted + n, x[i]) - sorted);
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
