// Gathering and scattering along one axis of an array seen as (outer, n, inner). Rows are checked by the caller; a row of
// -1 is none: it reads zeros and takes no update.
#pragma once
#include <cstdint>
#include <cstring>

#include "../../core/shape.hpp"
#include "reducers.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {
namespace detail {

/// Rows of `run` bytes; a run known at compile time is one move instead of a call.
template <std::size_t known> void take_rows(char* out, const char* in, const std::int64_t* rows, Index count, Index run) {
  const std::size_t bytes = known ? known : static_cast<std::size_t>(run);
  for (Index r = 0; r < count; ++r, out += bytes) {
    if (rows[r] < 0) std::memset(out, 0, bytes);
    else std::memcpy(out, in + rows[r] * static_cast<Index>(bytes), bytes);
  }
}

template <std::size_t item> void take_items_along(char* out, const char* in, const std::int64_t* rows, Index m, Index inner) {
  for (Index j = 0; j < m; ++j)
    for (Index i = 0; i < inner; ++i, ++rows, out += item) {
      if (*rows < 0) std::memset(out, 0, item);
      else std::memcpy(out, in + (*rows * inner + i) * static_cast<Index>(item), item);
    }
}

/// A sum of bool is an `or`, everything else is added as it is in a reduction.
template <class T> using AddOf = std::conditional_t<std::is_same_v<T, bool>, AnyOf, SumOf>;

template <class T> void add_to(T& out, const T& x) {
  using A = Accumulator<AddOf<T>, T>;
  out = narrow<T>(AddOf<T>::of(widen<A>(out), widen<A>(x)));
}
template <class T> void add_to(T* out, const T* x, Index n) {
  using A = Accumulator<AddOf<T>, T>;
  constexpr int lanes = lanes_in_register<A>;
  Index i = 0;
  for (; i + lanes <= n; i += lanes) store_as<T, A, lanes>(out + i, AddOf<T>::of(load_as<A, lanes>(out + i), load_as<A, lanes>(x + i)));
  for (; i < n; ++i) add_to(out[i], x[i]);
}

}  // namespace detail

/// out[o, r, i] = in[o, rows[r], i]: `in` is (outer, n, inner), out is (outer, count, inner).
inline void take(void* out, const void* in, const std::int64_t* rows, Index count, Index outer, Index n, Index inner, Index item) {
  const Index run = inner * item;
  if (run == 0) return;
  const auto rows_of = [run] {
    switch (run) {
      case 1: return detail::take_rows<1>;
      case 2: return detail::take_rows<2>;
      case 4: return detail::take_rows<4>;
      case 8: return detail::take_rows<8>;
      default: return detail::take_rows<0>;
    }
  }();
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(in);
  for (Index o = 0; o < outer; ++o) rows_of(to + o * count * run, from + o * n * run, rows, count, run);
}

/// out[o, rows[r], i] += updates[o, r, i], in the order of r: out is (outer, n, inner), updates is (outer, count, inner).
template <class T> void scatter_add(T* out, const T* updates, const std::int64_t* rows, Index count, Index outer, Index n, Index inner) {
  for (Index o = 0; o < outer; ++o, out += n * inner)
    for (Index r = 0; r < count; ++r, updates += inner)
      if (rows[r] >= 0) detail::add_to(out + rows[r] * inner, updates, inner);
}

/// out[o, j, i] = in[o, rows[o, j, i], i]: `in` is (outer, n, inner), rows and out are (outer, m, inner).
inline void take_along(void* out, const void* in, const std::int64_t* rows, Index outer, Index n, Index m, Index inner, Index item) {
  const auto items_of = [item] {
    switch (item) {
      case 1: return detail::take_items_along<1>;
      case 2: return detail::take_items_along<2>;
      case 4: return detail::take_items_along<4>;
      default: return detail::take_items_along<8>;
    }
  }();
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(in);
  for (Index o = 0; o < outer; ++o) items_of(to + o * m * inner * item, from + o * n * inner * item, rows + o * m * inner, m, inner);
}

/// out[o, rows[o, j, i], i] += updates[o, j, i], in the order of j: out is (outer, n, inner), the others (outer, m, inner).
template <class T> void scatter_add_along(T* out, const T* updates, const std::int64_t* rows, Index outer, Index n, Index m, Index inner) {
  for (Index o = 0; o < outer; ++o, out += n * inner)
    for (Index j = 0; j < m; ++j)
      for (Index i = 0; i < inner; ++i, ++rows, ++updates)
        if (*rows >= 0) detail::add_to(out[*rows * inner + i], *updates);
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
