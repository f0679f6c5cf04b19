// JAX's cases about collectives under pmap: reductions, gathers and permutations of one axis without groups.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::same;
using conformance::tabulate;

const auto over_i = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };
const float nan = std::numeric_limits<float>::quiet_NaN();
const float inf = std::numeric_limits<float>::infinity();

TEST(JaxCases, case_043_psum) {
  const auto x = arange<float>(4);
  EXPECT_TRUE(same(over_i([](auto v) { return psum(v, "i"); })(x), {4}, {6, 6, 6, 6}));
  EXPECT_TRUE(same(over_i([](auto v) { return v / psum(v, "i"); })(x), {4}, {0, 0.16666667f, 0.33333333f, 0.5f}, 1e-7));
}

TEST(JaxCases, case_047_psum_of_a_number) {
  const auto out = over_i([](Tensor<> x) {
    static_assert(std::is_same_v<decltype(psum(2.0, "i")), double>);
    static_assert(std::is_same_v<decltype(psum(1, "i")), int>);
    return std::tuple(psum(2.0, "i"), psum(1, "i"), psum(x * 0.0f, "i"), psum(cast<std::int32_t>(x), "i"), psum(Tensor<std::int8_t>(std::int8_t{100}), "i"));
  })(arange<float>(8));
  EXPECT_TRUE(same(std::get<0>(out), {8}, std::vector<double>(8, 16)));
  EXPECT_TRUE(same(std::get<1>(out), {8}, std::vector<int>(8, 8)));
  static_assert(std::is_same_v<std::tuple_element_t<2, std::remove_const_t<decltype(out)>>, Tensor<float>>);
  static_assert(std::is_same_v<std::tuple_element_t<3, std::remove_const_t<decltype(out)>>, Tensor<std::int32_t>>);
  EXPECT_TRUE(same(std::get<3>(out), {8}, std::vector<int>(8, 28)));
  EXPECT_TRUE(same(std::get<4>(out), {8}, std::vector<std::int8_t>(8, 32)));  // int8 stays, and wraps: 800 mod 256
}

TEST(JaxCases, case_049_bool) {
  const auto x = array<bool>({true, false, true, true, false});
  const auto [sum, mean] = over_i([](Tensor<bool> v) { return std::pair(psum(v, "i"), pmean(v, "i")); })(x);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(sum)>, Tensor<std::int32_t>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(mean)>, Tensor<float>>);
  EXPECT_TRUE(same(sum, {5}, {3, 3, 3, 3, 3}));
  EXPECT_TRUE(same(mean, {5}, {0.6f, 0.6f, 0.6f, 0.6f, 0.6f}, 1e-7));
  EXPECT_TRUE(same(over_i([](Tensor<std::int32_t> v) { return pmean(v, "i"); })(array<std::int32_t>({1, 2, 4})), {3}, {7 / 3.f, 7 / 3.f, 7 / 3.f}, 1e-7));
}

TEST(JaxCases, case_053_trees_of_mixed_types) {
  using Tree = std::tuple<Tensor<>, std::vector<Tensor<std::int32_t>>>;
  const auto value = [](const At& at) { return (7 * at[0] + 3 * at[1]) % 11 - 5; };
  const Tree tree{tabulate({8, 8}, value) * 0.5f, {tabulate<std::int32_t>({8, 8}, value), tabulate<std::int32_t>({8, 8}, value) * 2}};
  const auto column = [&](Index c, auto fold, double init) {
    for (Index r = 0; r < 8; ++r) init = fold(init, double(value({r, c})));
    return init;
  };
  const auto check = [&](const auto& out, auto fold, double init, double divide) {
    EXPECT_TRUE(same(std::get<0>(out), {8, 8}, [&](const At& at) { return 0.5 * column(at[1], fold, init) / divide; }, 1e-6));
    EXPECT_TRUE(same(std::get<1>(out).at(0), {8, 8}, [&](const At& at) { return column(at[1], fold, init) / divide; }, 1e-6));
    EXPECT_TRUE(same(std::get<1>(out).at(1), {8, 8}, [&](const At& at) { return 2 * column(at[1], fold, init) / divide; }, 1e-6));
  };
  check(over_i([](const Tree& t) { return pmax(t, "i"); })(tree), [](double a, double b) { return std::max(a, b); }, -100, 1);
  check(over_i([](const Tree& t) { return pmin(t, "i"); })(tree), [](double a, double b) { return std::min(a, b); }, 100, 1);
  check(over_i([](const Tree& t) { return psum(t, "i"); })(tree), [](double a, double b) { return a + b; }, 0, 1);
  check(over_i([](const Tree& t) { return pmean(t, "i"); })(tree), [](double a, double b) { return a + b; }, 0, 8);
}

TEST(JaxCases, case_055_all_gather_along_the_last_axis) {
  const auto out = over_i([](auto x) { return all_gather(x, "i", {.dim = -1}); })(iota({8, 4}));
  EXPECT_TRUE(same(out, {8, 4, 8}, [](const At& at) { return 4 * at[2] + at[1]; }));
  const auto front = over_i([](auto x) { return all_gather(x, "i"); })(iota({5, 3}));
  EXPECT_TRUE(same(front, {5, 5, 3}, [](const At& at) { return 3 * at[1] + at[2]; }));
}

TEST(JaxCases, case_056_all_gather_tiled) {
  const auto flat = over_i([](auto x) { return all_gather(x, "i", {.tiled = true}); })(iota({8, 4}));
  EXPECT_TRUE(same(flat, {8, 32}, [](const At& at) { return at[1]; }));
  const auto last = over_i([](auto x) { return all_gather(x, "i", {.dim = -1, .tiled = true}); })(iota({8, 4, 3}));
  EXPECT_TRUE(same(last, {8, 4, 24}, [](const At& at) { return 12 * (at[2] / 3) + 3 * at[1] + at[2] % 3; }));
  const auto flags = over_i([](Tensor<bool> x) { return all_gather(x, "i"); })(array<bool>({true, false, true}));
  EXPECT_TRUE(same(flags, {3, 3}, {true, false, true, true, false, true, true, false, true}));
}

TEST(JaxCases, case_074_ppermute_ring) {
  std::vector<std::pair<Index, Index>> ring;
  for (Index i = 0; i < 8; ++i) ring.emplace_back(i, (i + 1) % 8);
  const auto out = over_i([&](auto x) { return ppermute(x, "i", ring); })(iota({8, 4}));
  EXPECT_TRUE(same(out, {8, 4}, [](const At& at) { return 4 * ((at[0] + 7) % 8) + at[1]; }));
}

TEST(JaxCases, case_076_partial_ppermute_fills_zeros) {
  EXPECT_TRUE(same(over_i([](auto x) { return ppermute(x, "i", {{0, 1}, {1, 2}}); })(array<float>({1, 2, 3, 4})), {4}, {0, 1, 2, 0}));
  EXPECT_TRUE(same(over_i([](auto x) { return ppermute(x, "i", {{0, 1}, {1, 2}}); })(array<bool>({true, true, true, true})), {4}, {false, true, true, false}));
  // NaN in a shard that nobody receives does not spread.
  EXPECT_TRUE(same(over_i([](auto x) { return ppermute(x, "i", {{3, 0}}); })(array<float>({1, 2, nan, 4})), {4}, {4, 0, 0, 0}));
}

TEST(JaxCases, case_077_ppermute_of_blocks) {
  const auto out = pmap([](auto x) { return ppermute(x, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}}); }, {.axis_name = "i", .axis_size = 4})(arange<float>(8));
  EXPECT_TRUE(same(out, {8}, {6, 7, 0, 1, 2, 3, 4, 5}));
}

TEST(JaxCases, case_079_rule_30_with_halo_exchange) {
  std::vector<std::pair<Index, Index>> right, left;
  for (Index i = 0; i < 8; ++i) right.emplace_back(i, (i + 1) % 8), left.emplace_back((i + 1) % 8, i);
  const auto step = pmap(
      [&](Tensor<std::int32_t> cells) {
        const auto from_left = ppermute(slice(cells, 4, 5, 0), "i", right), from_right = ppermute(slice(cells, 0, 1, 0), "i", left);
        const auto wide = concatenate({from_left, cells, from_right}, 0);
        const auto l = slice(wide, 0, 5, 0), c = slice(wide, 1, 6, 0), r = slice(wide, 2, 7, 0);
        return cast<std::int32_t>(l != maximum(c, r));  // l xor (c or r)
      },
      "i");
  const auto live = [](const Tensor<std::int32_t>& board) {
    std::vector<Index> out;
    const auto cells = board.to_vector();
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (cells[i]) out.push_back(Index(i));
    return out;
  };
  auto board = tabulate<std::int32_t>({40}, [](const At& at) { return at[0] == 20; });
  for (int i = 0; i < 9; ++i) board = step(board);
  EXPECT_EQ(live(board), (std::vector<Index>{11, 12, 14, 15, 16, 17, 19, 20, 23, 27, 28, 29}));
  for (int i = 9; i < 20; ++i) board = step(board);
  EXPECT_EQ(live(board), (std::vector<Index>{1, 4, 8, 9, 10, 13, 14, 15, 16, 22, 23, 24, 25, 27, 28, 29, 31, 32, 36}));
}

TEST(JaxCases, case_080_pbroadcast) {
  EXPECT_TRUE(same(over_i([](auto x) { return pbroadcast(x, "i", 0); })(iota({8, 4})), {8, 4}, [](const At& at) { return at[1]; }));
  EXPECT_TRUE(same(over_i([](auto x) { return pbroadcast(x, "i", 3); })(iota({5, 4})), {5, 4}, [](const At& at) { return 12 + at[1]; }));
  const auto batched = over_i([](auto x) { return vmap([](auto row) { return pbroadcast(row, "i", 0); })(x); })(iota({8, 4, 4}));
  EXPECT_TRUE(same(batched, {8, 4, 4}, [](const At& at) { return 4 * at[1] + at[2]; }));
  // A NaN elsewhere does not come along, as it would from a masked sum.
  EXPECT_TRUE(same(over_i([](auto x) { return pbroadcast(x, "i", 1); })(array<float>({nan, 5, inf})), {3}, {5, 5, 5}));
}

TEST(JaxCases, case_082_axis_index) {
  const auto out = over_i([](Tensor<std::int32_t> x) {
    static_assert(std::is_same_v<decltype(axis_index("i")), Tensor<std::int32_t>>);
    return axis_index("i") + x;
  })(ones<std::int32_t>({8}));
  EXPECT_TRUE(same(out, {8}, {1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(JaxCases, case_083_axis_size) {
  static_assert(std::is_same_v<decltype(axis_size("i")), Index>);
  EXPECT_TRUE(same(over_i([](auto) { return axis_size("i"); })(arange<float>(8)), {8}, std::vector<Index>(8, 8)));
  EXPECT_TRUE(same(over_i([](auto) { return axis_size("i"); })(arange<float>(5)), {5}, std::vector<Index>(5, 5)));
}

// Our decision; JAX on the CPU drops the NaN.
TEST(JaxCases, case_095_not_a_number_in_pmax_and_pmin) {
  const auto x = array<float>({1, nan, 3});
  EXPECT_TRUE(same(over_i([](auto v) { return pmax(v, "i"); })(x), {3}, {nan, nan, nan}));
  EXPECT_TRUE(same(over_i([](auto v) { return pmin(v, "i"); })(x), {3}, {nan, nan, nan}));
  EXPECT_TRUE(same(over_i([](auto v) { return pmax(v, "i"); })(full<float>({5}, nan)), {5}, {nan, nan, nan, nan, nan}));
  EXPECT_TRUE(same(over_i([](auto v) { return pmax(v, "i"); })(array<float>({-inf, -inf, -3})), {3}, {-3, -3, -3}));
  EXPECT_TRUE(same(over_i([](auto v) { return psum(v, "i"); })(array<float>({inf, 1, -inf})), {3}, {nan, nan, nan}));
}

}  // namespace
