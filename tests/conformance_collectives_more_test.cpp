// JAX's cases about collectives under pmap: groups, psum_scatter, all_to_all and their kin, indices of winners.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::same;
using conformance::tabulate;

const auto over_i = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };
const float nan = std::numeric_limits<float>::quiet_NaN();

TEST(JaxCases, case_044_psum_in_pairs) {
  const auto f = over_i([](auto x) { return psum(x, "i", {.groups = {{0, 1}, {2, 3}}}); });
  EXPECT_TRUE(same(f(arange<float>(4)), {4}, {1, 1, 5, 5}));
  EXPECT_TRUE(same(f(iota({4, 4})), {4, 4}, {4, 6, 8, 10, 4, 6, 8, 10, 20, 22, 24, 26, 20, 22, 24, 26}));
}

TEST(JaxCases, case_046_psum_in_halves) {
  const auto out = over_i([](auto x) { return psum(x, "i", {.groups = {{0, 1, 2, 3}, {4, 5, 6, 7}}}); })(iota({8, 4}));
  EXPECT_TRUE(same(out, {8, 4}, [](const At& at) { return (at[0] < 4 ? 24 : 88) + 4 * at[1]; }));
}

TEST(JaxCases, case_047_psum_of_a_number_in_groups) {
  const auto out = over_i([](auto) { return std::pair(psum(2.0, "i", {.groups = {{0, 1, 2, 3}, {4, 5, 6, 7}}}), psum(1, "i", {.groups = {{0, 2, 4, 6, 7}, {1, 3, 5}}})); })(arange<float>(8));
  EXPECT_TRUE(same(out.first, {8}, std::vector<double>(8, 8)));
  EXPECT_TRUE(same(out.second, {8}, {5, 3, 5, 3, 5, 3, 5, 5}));  // each shard counts its own group
}

TEST(JaxCases, case_047_uneven_groups) {
  const auto x = array<float>({3, 1, 4, 1, 5});
  EXPECT_TRUE(same(over_i([](auto v) { return pmax(v, "i", {.groups = {{2, 0, 4}, {1, 3}}}); })(x), {5}, {5, 1, 5, 1, 5}));
  EXPECT_TRUE(same(over_i([](auto v) { return psum(v, "i", {.groups = {{2, 0, 4}, {1, 3}}}); })(x), {5}, {12, 2, 12, 2, 12}));
  EXPECT_TRUE(same(over_i([](auto v) { return pmean(v, "i", {.groups = {{2, 0, 4}, {1, 3}}}); })(x), {5}, {4, 1, 4, 1, 4}));  // by the size of the own group
}

TEST(JaxCases, case_058_all_gather_in_groups) {
  const auto out = over_i([](auto x) { return all_gather(x, "i", {.groups = {{0, 2, 4, 6}, {1, 3, 5, 7}}}); })(iota({8, 4}));
  EXPECT_TRUE(same(out, {8, 4, 4}, [](const At& at) { return 4 * (2 * at[1] + at[0] % 2) + at[2]; }));
  // The order inside a group counts.
  const auto mixed = over_i([](auto x) { return all_gather(x, "i", {.groups = {{6, 2, 0, 4}, {1, 7, 5, 3}}}); })(iota({8, 2}));
  const std::vector<float> even{12, 13, 4, 5, 0, 1, 8, 9}, odd{2, 3, 14, 15, 10, 11, 6, 7};
  EXPECT_TRUE(same(mixed, {8, 4, 2}, [&](const At& at) { return (at[0] % 2 ? odd : even)[std::size_t(2 * at[1] + at[2])]; }));
}

TEST(JaxCases, case_059_psum_scatter) {
  EXPECT_TRUE(same(over_i([](auto x) { return psum_scatter(x, "i"); })(iota({8, 8})), {8}, {224, 232, 240, 248, 256, 264, 272, 280}));
  const auto along_last = over_i([](auto x) { return psum_scatter(x, "i", {.dim = -1}); })(iota({3, 2, 3}));
  EXPECT_TRUE(same(along_last, {3, 2}, {18, 27, 21, 30, 24, 33}));
}

TEST(JaxCases, case_061_psum_scatter_groups_out_of_order) {
  const auto out = over_i([](auto x) { return psum_scatter(x, "i", {.tiled = true, .groups = {{0, 2}, {3, 1}}}); })(iota({4, 4}));
  EXPECT_TRUE(same(out, {4, 2}, {8, 10, 20, 22, 12, 14, 16, 18}));
}

TEST(JaxCases, case_062_psum_scatter_in_evens_and_odds) {
  const auto out = over_i([](auto x) { return psum_scatter(x, "i", {.tiled = true, .groups = {{0, 2, 4, 6}, {1, 3, 5, 7}}}); })(iota({8, 32}));
  EXPECT_TRUE(same(out, {8, 8}, [](const At& at) { return (at[0] % 2 ? 512 : 384) + 32 * (at[0] / 2) + 4 * at[1]; }));
}

TEST(JaxCases, case_064_psum_scatter_of_columns) {
  const auto f = pmap([](auto x) { return psum_scatter(x, "i", {.tiled = true, .groups = {{0, 2, 4, 6}, {1, 3, 5, 7}}}); }, {.axis_name = "i", .in_axes = each(1), .out_axes = each(0)});
  EXPECT_TRUE(same(f(iota({8, 8})), {8, 2}, {12, 44, 16, 48, 76, 108, 80, 112, 140, 172, 144, 176, 204, 236, 208, 240}));
}

/// What JAX's rule says all_to_all gives on shard k: axis `split` of every x_s taken at k, the pieces stacked at `concat`.
float exchanged(const At& out, Index split, Index concat, const Shape& whole) {
  const Index k = out[0];
  At at(out.begin() + 1, out.end());
  const Index source = at[std::size_t(concat)];
  at = conformance::with(conformance::without(at, concat), split, k);
  return float(conformance::ravel(conformance::with(at, 0, source), whole));
}

TEST(JaxCases, case_065_all_to_all_over_all_axes) {
  const Index n = 5;
  for (Index split = 0; split < 2; ++split)
    for (Index concat = 0; concat < 2; ++concat) {
      const Shape whole = split == 0 ? Shape{n, n, 3} : Shape{n, 3, n}, result = concat == 0 ? Shape{n, n, 3} : Shape{n, 3, n};
      const auto f = [&](auto x) { return all_to_all(x, "i", split, concat); };
      EXPECT_TRUE(same(over_i(f)(iota(whole)), result, [&](const At& at) { return exchanged(at, split, concat, whole); })) << split << concat;
      EXPECT_TRUE(same(over_i(f)(iota<std::int16_t>(whole)), result, [&](const At& at) { return exchanged(at, split, concat, whole); }));
      EXPECT_TRUE(same(over_i(f)(iota<double>(whole)), result, [&](const At& at) { return exchanged(at, split, concat, whole); }));
      const auto flags = tabulate<bool>(whole, [&](const At& at) { return conformance::ravel(at, whole) % 7 % 3 == 1; });
      EXPECT_TRUE(same(over_i(f)(flags), result, [&](const At& at) { return int(exchanged(at, split, concat, whole)) % 7 % 3 == 1; }));
      EXPECT_TRUE(same(over_i([&](auto x) { return all_to_all(x, "i", split - 2, concat - 2); })(iota(whole)), result, [&](const At& at) { return exchanged(at, split, concat, whole); }));
    }
}

TEST(JaxCases, case_067_all_to_all_is_the_transpose) {
  for (const Index n : {Index{1}, Index{3}, Index{8}})
    EXPECT_TRUE(same(over_i([](auto x) { return all_to_all(x, "i", 0, 0); })(iota({n, n})), {n, n}, [&](const At& at) { return n * at[1] + at[0]; })) << n;
}

TEST(JaxCases, case_068_all_to_all_in_groups) {
  EXPECT_TRUE(same(over_i([](auto x) { return all_to_all(x, "i", 0, 0, {.groups = {{0, 2}, {1, 3}}}); })(iota({4, 2})), {4, 2}, {0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_TRUE(same(over_i([](auto x) { return all_to_all(x, "i", 0, 0, {.groups = {{0, 1}, {2, 3}}}); })(iota({4, 2})), {4, 2}, {0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(JaxCases, case_070_all_to_all_tiled) {
  const auto x = array<std::int32_t>({{3, 1, 4, 1}, {5, 9, 2, 6}, {5, 3, 5, 8}, {9, 7, 1, 2}});
  EXPECT_TRUE(same(over_i([](auto v) { return all_to_all(v, "i", 0, 0, {.tiled = true}); })(x), {4, 4}, {3, 5, 5, 9, 1, 9, 3, 7, 4, 2, 5, 1, 1, 6, 8, 2}));
  const auto there = over_i([](auto v) { return all_to_all(v, "i", 0, 1, {.tiled = true}); })(iota({3, 6, 2}));
  EXPECT_TRUE(same(there, {3, 2, 6}, {0, 1, 12, 13, 24, 25, 2, 3, 14, 15, 26, 27, 4, 5, 16, 17, 28, 29, 6, 7, 18, 19, 30, 31, 8, 9, 20, 21, 32, 33, 10, 11, 22, 23, 34, 35}));
  const auto back = over_i([](auto v) { return all_to_all(v, "i", 1, 0, {.tiled = true}); })(iota({3, 2, 6}));
  EXPECT_TRUE(same(back, {3, 6, 2}, {0, 1, 6, 7, 12, 13, 18, 19, 24, 25, 30, 31, 2, 3, 8, 9, 14, 15, 20, 21, 26, 27, 32, 33, 4, 5, 10, 11, 16, 17, 22, 23, 28, 29, 34, 35}));
  const auto mixed = over_i([](auto v) { return all_to_all(v, "i", 0, 0, {.tiled = true, .groups = {{2, 0}, {1, 3}}}); })(iota({4, 4}));
  EXPECT_TRUE(same(mixed, {4, 4}, {10, 11, 2, 3, 4, 5, 12, 13, 8, 9, 0, 1, 6, 7, 14, 15}));
}

TEST(JaxCases, case_071_all_to_all_of_rows) {
  const auto f = pmap([](auto x) { return all_to_all(x, "x", 1, 1, {.tiled = true}); }, {.axis_name = "x", .in_axes = split(0), .out_axes = split(1)});
  EXPECT_TRUE(same(f(iota({8, 8})), {1, 64}, [](const At& at) { return 8 * (at[1] % 8) + at[1] / 8; }));
}

TEST(JaxCases, case_073_pswapaxes) {
  const auto out = over_i([](auto x) { return pswapaxes(x, "i", 1); })(iota({8, 3, 8, 5}));
  EXPECT_TRUE(same(out, {8, 3, 8, 5}, [](const At& at) { return 120 * at[2] + 40 * at[1] + 5 * at[0] + at[3]; }));
}

TEST(JaxCases, case_074_pshuffle) {
  std::vector<Index> sources;
  for (Index i = 0; i < 8; ++i) sources.push_back((i + 7) % 8);
  EXPECT_TRUE(same(over_i([&](auto x) { return pshuffle(x, "i", sources); })(arange<std::int32_t>(8)), {8}, {7, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(same(over_i([](auto x) { return pshuffle(x, "i", {2, 0, 4, 3, 1}); })(arange<float>(5) * 10.0f), {5}, {20, 0, 40, 30, 10}));
}

TEST(JaxCases, case_085_psum_scatter_of_blocks_is_psum) {
  const auto x = array(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 1, 2});
  EXPECT_TRUE(same(pmap([](auto v) { return psum(v, "i"); }, {.axis_name = "i", .out_axes = replicated, .axis_size = 4})(x), {4}, {22, 20, 12, 17}));
  EXPECT_TRUE(same(pmap([](auto v) { return psum_scatter(v, "i", {.tiled = true}); }, {.axis_name = "i", .axis_size = 4})(x), {4}, {22, 20, 12, 17}));
}

// JAX's one-sided send and receive; here two partial permutations.
TEST(JaxCases, case_094_there_and_back) {
  const auto out = over_i([](auto x) {
    const auto there = ppermute(x, "i", {{0, 1}});
    return std::pair(there, ppermute(there, "i", {{1, 0}}));
  })(array<float>({7, 8, 9}));
  EXPECT_TRUE(same(out.first, {3}, {0, 7, 0}));
  EXPECT_TRUE(same(out.second, {3}, {7, 0, 0}));
}

TEST(JaxCases, case_095_pargmax) {
  const auto x = array<float>({{3, 1, 4}, {5, 1, 4}, {5, 9, 2}, {1, 0, 4}});
  const auto most = over_i([](auto v) { return pargmax(v, "i"); });
  const auto least = over_i([](auto v) { return pargmin(v, "i"); });
  EXPECT_TRUE(same(most(x), {4, 3}, {1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));  // the first of equals
  EXPECT_TRUE(same(least(x), {4, 3}, {3, 3, 2, 3, 3, 2, 3, 3, 2, 3, 3, 2}));
  EXPECT_TRUE(same(most(array<std::int32_t>({-3, -1, -1})), {3}, {1, 1, 1}));
  // Nobody holds a maximum that is not a number.
  EXPECT_TRUE(same(most(array<float>({5, nan, nan})), {3}, {2147483647, 2147483647, 2147483647}));
  EXPECT_TRUE(same(least(full<float>({2}, nan)), {2}, {2147483647, 2147483647}));
}

}  // namespace
