// Along one axis of an array seen as (outer, n, inner): where the greatest or least element is, and running sums.
#pragma once
#include <algorithm>
#include <cstdint>

#include "reduce.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {
namespace detail {

template <class T> bool is_nan(const T& x) {
  if constexpr (std::is_integral_v<T>) return false;
  else return x != x;
}

/// The first of x[0], x[step], ... that equals the extreme, or the first NaN if that is one.
template <class T> Index find_extreme(const T* x, Index n, Index step, const T& extreme) {
  if (is_nan(extreme)) {
    for (Index i = 0; i < n; ++i)
      if (is_nan(x[i * step])) return i;
  } else {
    for (Index i = 0; i < n; ++i)
      if (x[i * step] == extreme) return i;
  }
  return 0;
}

/// One contiguous run: the extreme of each block by reduction, then its place in the first block that holds it.
template <class R, class T> Index arg_reduce_run(const T* in, Index n) {
  using A = Accumulator<R, T>;
  constexpr Index block = 2048;
  if (n < 2 * lanes_in_register<A>) {
    Index best = 0;
    A extreme = widen<A>(in[0]);
    for (Index i = 1; i < n && !is_nan(extreme); ++i) {
      const A x = widen<A>(in[i]);
      if (!is_nan(x) && R::of(extreme, x) == extreme) continue;
      extreme = x;
      best = i;
    }
    return best;
  }
  Index best_block = 0;
  A best = reduce_block<R, A>(in, std::min(n, block));
  for (Index first = block; first < n && !is_nan(best); first += block) {
    const A next = reduce_block<R, A>(in + first, std::min(n - first, block));
    if (is_nan(next) || (R::of(best, next) != best)) {
      best = next;
      best_block = first;
    }
  }
  return best_block + find_extreme(in + best_block, std::min(n - best_block, block), 1, narrow<T>(best));
}

template <class A> using IndexLane = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;

/// Whether x beats what is best so far, for numbers or lanes: only the first NaN does, and nothing beats that.
template <bool Max, class V> auto beats(const V& x, const V& best) {
  if constexpr (Max) return ((x > best) | (x != x)) & (best == best);
  else return ((x < best) | (x != x)) & (best == best);
}

/// As many columns as `count` registers hold, from column c on; at(row) points to the first column of a row.
template <bool Max, class A, int count, class At> void arg_reduce_lanes(std::int32_t* out, At&& at, Index n, Index c) {
  constexpr int lanes = lanes_in_register<A>;
  using Where = Register<IndexLane<A>>;
  Register<A> best[std::size_t{count}];
  Where where[std::size_t{count}] = {};
#pragma GCC unroll 4
  for (int r = 0; r < count; ++r) best[r] = load_as<A, lanes>(at(0) + c + r * lanes);
  for (Index row = 1; row < n; ++row) {
    const Where here = Where{} + static_cast<IndexLane<A>>(row);
#pragma GCC unroll 4
    for (int r = 0; r < count; ++r) {
      const Register<A> x = load_as<A, lanes>(at(row) + c + r * lanes);
      const auto better = beats<Max>(x, best[r]);
      best[r] = better ? x : best[r];
      where[r] = better ? here : where[r];
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < count; ++r) store_as<std::int32_t, IndexLane<A>, lanes>(out + c + r * lanes, where[r]);
}

/// out[c] = the row of 0 .. n - 1 whose at(row)[c] is the extreme, for c in [0, inner).
template <bool Max, class T, class At> void arg_reduce_columns(std::int32_t* out, At&& at, Index n, Index inner) {
  // Small integers are compared as wide ones, so that an index fits beside them.
  using A = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, std::int32_t, Accumulator<MaxOf, T>>;
  constexpr int lanes = lanes_in_register<A>;
  Index c = 0;
  for (; c + 4 * lanes <= inner; c += 4 * lanes) arg_reduce_lanes<Max, A, 4>(out, at, n, c);
  for (; c + lanes <= inner; c += lanes) arg_reduce_lanes<Max, A, 1>(out, at, n, c);
  for (; c < inner; ++c) {
    A best = widen<A>(at(0)[c]);
    out[c] = 0;
    for (Index row = 1; row < n; ++row) {
      const A x = widen<A>(at(row)[c]);
      if (!beats<Max>(x, best)) continue;
      best = x;
      out[c] = static_cast<std::int32_t>(row);
    }
  }
}

}  // namespace detail

/// out[o, i] = where in[o, :, i] is greatest (Max) or least: the first of equals, the first NaN before anything else. n > 0.
template <bool Max, class T> void arg_reduce(std::int32_t* out, const T* in, Index outer, Index n, Index inner) {
  using R = std::conditional_t<Max, MaxOf, MinOf>;
  for (Index o = 0; o < outer; ++o) {
    if (inner == 1) out[o] = static_cast<std::int32_t>(detail::arg_reduce_run<R>(in + o * n, n));
    else detail::arg_reduce_columns<Max, T>(out + o * inner, [matrix = in + o * n * inner, inner](Index row) { return matrix + row * inner; }, n, inner);
  }
}

/// out[o, j, i] = in[o, 0, i] + ... + in[o, j, i], or from j to the end if `reverse`. Sums of floats run in double, of
/// 16-bit floats in float, and are rounded as they are stored.
template <class T, class Out> void cumulative_sum(Out* out, const T* in, Index outer, Index n, Index inner, bool reverse) {
  using namespace detail;
  using A = Accumulator<SumOf, Out>;
  using W = Wide<SumOf, A>;
  constexpr Index strip = 512;
  const Index step = reverse ? -inner : inner;
  for (Index o = 0; o < outer; ++o) {
    const Index begin = o * n * inner + (reverse ? (n - 1) * inner : 0);
    if (inner == 1) {
      W sum = 0;
      for (Index j = 0, at = begin; j < n; ++j, at += step) out[at] = narrow<Out>(static_cast<A>(sum = SumOf::of(sum, static_cast<W>(widen<A>(in[at])))));
      continue;
    }
    for (Index c = 0; c < inner; c += strip) {
      const Index width = std::min(strip, inner - c);
      W sums[static_cast<std::size_t>(strip)];
      std::fill_n(sums, width, W(0));
      for (Index j = 0, at = begin + c; j < n; ++j, at += step)
        for (Index i = 0; i < width; ++i) out[at + i] = narrow<Out>(static_cast<A>(sums[i] = SumOf::of(sums[i], static_cast<W>(widen<A>(in[at + i])))));
    }
  }
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
