// Sorting along one axis of an array seen as (outer, n, inner): stable, NaN last, -0 equal to +0.
#pragma once
#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../core/shape.hpp"
#include "eigen.hpp"
#include "isa.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {
namespace detail {

/// What is sorted: an unsigned key that orders as the element does, and where the element was.
template <class Key> struct SortEntry {
  Key key;
  std::uint32_t index;
};

template <class T> using SortKey = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T> SortKey<T> sort_key(const T& x) {
  using Key = SortKey<T>;
  constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return sort_key(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return ~Key{0};
    const auto bits = std::bit_cast<Key>(x);
    return bits == sign ? sign : bits & sign ? ~bits : bits | sign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(x) ^ sign;
  } else {
    return static_cast<Key>(x);
  }
}

template <class Key> void insertion_sort(SortEntry<Key>* entries, Index n) {
  for (Index i = 1; i < n; ++i) {
    const SortEntry<Key> entry = entries[i];
    Index j = i;
    for (; j > 0 && entries[j - 1].key > entry.key; --j) entries[j] = entries[j - 1];
    entries[j] = entry;
  }
}

/// Byte by byte from the least significant one; returns the array, of the two, that holds the result.
template <class Key> SortEntry<Key>* radix_sort(SortEntry<Key>* entries, SortEntry<Key>* other, Index n) {
  constexpr std::size_t digits = sizeof(Key);
  std::uint32_t counts[digits][256] = {};
  for (Index i = 0; i < n; ++i)
    for (std::size_t d = 0; d < digits; ++d) ++counts[d][entries[i].key >> (8 * d) & 255u];
  for (std::size_t d = 0; d < digits; ++d) {
    const auto digit = [d](const SortEntry<Key>& e) { return static_cast<std::size_t>(e.key >> (8 * d) & 255u); };
    if (counts[d][digit(entries[0])] == static_cast<std::uint32_t>(n)) continue;  // the same byte everywhere
    std::uint32_t at = 0;
    for (auto& count : counts[d]) {
      const std::uint32_t here = count;
      count = at;
      at += here;
    }
    for (Index i = 0; i < n; ++i) other[counts[d][digit(entries[i])]++] = entries[i];
    std::swap(entries, other);
  }
  return entries;
}

/// put(j, index) for the j-th smallest of in[0], in[step], ...; `entries` has room for 2 n.
template <class T, class Put> void sort_run(const T* in, Index n, Index step, SortEntry<SortKey<T>>* entries, Put&& put) {
  constexpr Index few = 80;  // below, clearing and adding up the counts costs more than it saves
  for (Index i = 0; i < n; ++i) entries[i] = {sort_key(in[i * step]), static_cast<std::uint32_t>(i)};
  if (n <= few) insertion_sort(entries, n);
  else entries = radix_sort(entries, entries + n, n);
  for (Index i = 0; i < n; ++i) put(i, static_cast<Index>(entries[i].index));
}

/// sort_run on every run of (outer, n, inner), each with the offset of its first element.
template <class T, class Put> void sort_runs(const T* in, Index outer, Index n, Index inner, Put&& put) {
  if (n == 0) return;
  using Entry = SortEntry<SortKey<T>>;
  constexpr std::size_t on_stack = 512;
  const auto room = static_cast<std::size_t>(2 * n);
  Entry stack[on_stack];
  const auto heap = room > on_stack ? std::make_unique_for_overwrite<Entry[]>(room) : nullptr;
  for (Index o = 0; o < outer; ++o)
    for (Index i = 0; i < inner; ++i) {
      const Index first = o * n * inner + i;
      sort_run(in + first, n, inner, heap ? heap.get() : stack, [&](Index j, Index index) { put(first + j * inner, first, index); });
    }
}

}  // namespace detail

/// out[o, :, i] = in[o, :, i] in ascending order.
template <class T> void sort(T* out, const T* in, Index outer, Index n, Index inner) {
  detail::sort_runs(in, outer, n, inner, [&](Index at, Index first, Index index) { out[at] = in[first + index * inner]; });
}

/// out[o, :, i] = the indices that sort in[o, :, i].
template <class T> void arg_sort(std::int32_t* out, const T* in, Index outer, Index n, Index inner) {
  detail::sort_runs(in, outer, n, inner, [&](Index at, Index, Index index) { out[at] = static_cast<std::int32_t>(index); });
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
