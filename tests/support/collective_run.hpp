// A call of the collective matrix, as the library runs it.
#pragma once
#include <spmd/spmd.hpp>

#include "collective_matrix.hpp"

namespace matrix {

using D = spmd::Tensor<double>;

inline spmd::Shape shape_of(const Dims& dims) { return spmd::Shape(dims.begin(), dims.end()); }
inline D tensor(const Plain& x) { return D(shape_of(x.shape), x.elements); }

inline D wide(const D& x) { return x; }
template <class T> D wide(const spmd::Tensor<T>& x) { return spmd::cast<double>(x); }
template <class... Ts> auto wide(const std::tuple<Ts...>& tree) {
  return std::apply([](auto&... leaf) { return std::tuple(wide(leaf)...); }, tree);
}
/// x + 10 y.
template <class T, class U> D plus(const spmd::Tensor<T>& x, const U& y) {
  if constexpr (std::is_arithmetic_v<U>) return wide(x) + 10.0 * static_cast<double>(y);
  else return wide(x) + 10.0 * wide(y);
}
template <class... Ts, class U> auto plus(const std::tuple<Ts...>& tree, const U& y) {
  return [&]<std::size_t... k>(std::index_sequence<k...>) {
    if constexpr (requires { std::get<0>(y); }) return std::tuple(plus(std::get<k>(tree), std::get<k>(y))...);
    else return std::tuple(plus(std::get<k>(tree), y)...);
  }(std::index_sequence_for<Ts...>());
}

/// Every member finds its lists in a table, by its index.
template <class T> D ragged(const Call& c, const spmd::AxisNames& axis, const spmd::Tensor<T>& x) {
  const Index n = spmd::axis_size(axis);
  std::vector<Dims> groups = c.groups;
  if (groups.empty()) {
    groups.emplace_back();
    for (Index i = 0; i < n; ++i) groups[0].push_back(i);
  }
  const auto g = static_cast<Index>(groups[0].size());
  auto mine = [&](auto f) {  // of member m, a list with f(m, k) for every k
    std::vector<std::int32_t> table(static_cast<std::size_t>(n * g));
    for (auto& group : groups)
      for (Index m = 0; m < g; ++m)
        for (Index k = 0; k < g; ++k) table[static_cast<std::size_t>(group[static_cast<std::size_t>(m)] * g + k)] = static_cast<std::int32_t>(f(m, k));
    return spmd::take(spmd::Tensor<std::int32_t>({n, g}, table), spmd::axis_index(axis), 0);
  };
  const auto output = spmd::cast<T>(spmd::full<double>({2 * g, c.shape[1]}, Ragged::nothing));
  return wide(spmd::ragged_all_to_all(x, output, mine(Ragged::from), mine(Ragged::rows), mine(Ragged::to), mine([](Index m, Index k) { return Ragged::rows(k, m); }), axis, {.groups = c.groups}));
}

/// x is a tensor, or a tuple of them; what comes out is as double.
template <class X> auto run(const Call& c, const spmd::AxisNames& axis, const X& x) {
  const spmd::GroupOptions groups{.groups = c.groups};
  switch (c.op) {
    case Op::psum: return c.extra == Extra::number ? plus(x, 0.1 * spmd::psum(2.5, axis, groups)) : wide(spmd::psum(x, axis, groups));
    case Op::pmean:
      if (c.extra == Extra::number) return wide(spmd::pmean(x, axis, {.groups = c.groups, .weight = 3}));
      if constexpr (requires { 0.25f * x; } || requires { 0.25 * x; })  // a floating tensor
        if (c.extra == Extra::tensor) return wide(spmd::pmean(x, axis, {.groups = c.groups, .weight = 1.0f + spmd::sum(x * x) / 4.0f}));
      return wide(spmd::pmean(x, axis, {.groups = c.groups}));
    case Op::pmax: return wide(spmd::pmax(x, axis, groups));
    case Op::pmin: return wide(spmd::pmin(x, axis, groups));
    case Op::pargmax: return plus(x, spmd::pargmax(x, axis));
    case Op::pargmin: return plus(x, spmd::pargmin(x, axis));
    case Op::all_gather: return wide(spmd::all_gather(x, axis, {.dim = c.dim, .tiled = c.tiled, .groups = c.groups}));
    case Op::psum_scatter: return wide(spmd::psum_scatter(x, axis, {.dim = c.dim, .tiled = c.tiled, .groups = c.groups}));
    case Op::all_to_all: return wide(spmd::all_to_all(x, axis, c.dim, c.concat, {.tiled = c.tiled, .groups = c.groups}));
    case Op::pswapaxes: return wide(spmd::pswapaxes(x, axis, c.dim, groups));
    case Op::ppermute: return wide(spmd::ppermute(x, axis, c.pairs));
    case Op::pshift: return wide(spmd::pshift(x, axis, c.offset, {.wrap = c.wrap}));
    case Op::pshuffle: return wide(spmd::pshuffle(x, axis, c.sources));
    case Op::pbroadcast: return wide(spmd::pbroadcast(x, axis, c.offset));
    case Op::ragged_all_to_all:
      if constexpr (requires { ragged(c, axis, x); }) return ragged(c, axis, x);
      else break;
    case Op::axis_index: return plus(x, spmd::axis_index(axis));
    case Op::axis_size: return plus(x, spmd::axis_size(axis));
    case Op::count: break;
  }
  return wide(x);
}

}  // namespace matrix
