// JAX's cases about shard_map over a mesh.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::same;
using conformance::tabulate;
using conformance::throws;

constexpr auto identity = [](const auto& x) { return x; };

TEST(JaxCases, case_034_blocks_over_three_axes) {
  const auto mesh = make_mesh({{"x", 2}, {"y", 2}, {"z", 2}});
  const auto spec = P("z", names{"x", "y"});
  const auto f = [](Tensor<> x) {
    EXPECT_EQ(x.shape(), Shape({4, 2}));
    return x;
  };
  EXPECT_TRUE(same(shard_map(f, mesh, spec, spec)(iota({8, 8})), iota({8, 8})));
  // Which block a shard sees: row block z, column block 2 x + y.
  const auto corner = [](Tensor<> x) { return reshape(slice(x, {0, 0}, {1, 1}), {1, 1, 1}); };
  const auto out = shard_map(corner, mesh, spec, P("x", "y", "z"))(iota({8, 8}));
  EXPECT_TRUE(same(out, {2, 2, 2}, [](const At& at) { return 32 * at[2] + 2 * (2 * at[0] + at[1]); }));
}

TEST(JaxCases, case_035_products_of_blocks) {
  const auto mesh = make_mesh({{"i", 4}});
  const auto out = shard_map([](Tensor<> x) { return matmul(transpose(x), x); }, mesh, P("i"), P("i"))(iota({8, 4}));
  EXPECT_TRUE(same(out, {16, 4}, [](const At& at) {
    const Index block = at[0] / 4, a = at[0] % 4, b = at[1];
    return (8 * block + a) * (8 * block + b) + (8 * block + 4 + a) * (8 * block + 4 + b);
  }));
  EXPECT_EQ(out.at({0, 0}), 16);
  EXPECT_EQ(out.at({4, 3}), 268);
}

TEST(JaxCases, case_037_result_over_an_axis_the_input_does_not_name) {
  const auto mesh = make_mesh({{"i", 4}, {"j", 2}});
  const auto f = [](Tensor<> x) {
    EXPECT_EQ(x.shape(), Shape({3, 12}));
    return x;
  };
  EXPECT_TRUE(same(shard_map(f, mesh, P("i", none), P("i", "j"))(iota({12, 12})), {12, 24}, [](const At& at) { return 12 * at[0] + at[1] % 12; }));
}

TEST(JaxCases, case_038_maps_that_keep_the_rank) {
  const auto square = [](Tensor<> x) {
    EXPECT_EQ(x.shape(), Shape({2, 2}));
    return x * x;
  };
  const auto inner = [&](Tensor<> x) { return pmap(square, {.axis_name = "y", .in_axes = split(1), .out_axes = split(1), .axis_size = 4})(x); };
  const auto out = pmap(inner, {.axis_name = "x", .in_axes = split(0), .axis_size = 2})(iota({4, 8}));
  EXPECT_TRUE(same(out, {4, 8}, [](const At& at) { return (8 * at[0] + at[1]) * (8 * at[0] + at[1]); }));
  const auto whole = pmap([](Tensor<> x) { return x * 2.0f; }, {.in_axes = replicated, .out_axes = replicated})(arange<float>(8));
  EXPECT_TRUE(same(whole, {8}, {0, 2, 4, 6, 8, 10, 12, 14}));
}

TEST(JaxCases, case_052_pmin_and_pmax_of_blocks) {
  const auto mesh = make_mesh({{"i", 4}});
  EXPECT_TRUE(same(shard_map([](auto x) { return pmin(x, "i"); }, mesh, P("i"), P())(arange<float>(8)), {2}, {0, 1}));
  EXPECT_TRUE(same(shard_map([](auto x) { return pmax(x, "i"); }, mesh, P("i"), P())(arange<float>(8)), {2}, {6, 7}));
}

TEST(JaxCases, case_071_all_to_all_over_a_flattened_axis) {
  const auto mesh = make_mesh({{"x", 4}, {"y", 2}});
  const auto f = shard_map([](auto x) { return all_to_all(x, {"x", "y"}, 1, 1, {.tiled = true}); }, mesh, P(names{"x", "y"}, none), P(none, names{"x", "y"}));
  EXPECT_TRUE(same(f(iota({8, 8})), {1, 64}, [](const At& at) { return 8 * (at[1] % 8) + at[1] / 8; }));
}

TEST(JaxCases, case_086_psum_over_one_and_both_axes) {
  const auto mesh = make_mesh({{"i", 2}, {"j", 2}});
  EXPECT_TRUE(same(shard_map([](auto x) { return psum(x, "i"); }, mesh, P("i", "j"), P(none, "j"))(iota({4, 4})), {2, 4}, {8, 10, 12, 14, 16, 18, 20, 22}));
  EXPECT_TRUE(same(shard_map([](auto x) { return psum(x, {"i", "j"}); }, mesh, P("i", "j"), P(none, none))(iota({4, 4})), {2, 2}, {20, 24, 36, 40}));
}

TEST(JaxCases, case_088_product_with_psum_scatter) {
  const auto mesh = make_mesh({{"x", 2}, {"y", 2}, {"z", 2}});
  const auto product = [](Index i, Index j) {
    Index total = 0;
    for (Index k = 0; k < 8; ++k) total += (8 * i + k) * (8 * k + j);
    return total;
  };
  const auto over = [&](AxisNames axes) {
    return shard_map([=](auto a, auto b) { return psum_scatter(matmul(a, b), axes, {.tiled = true}); }, mesh, {P("z", "y"), P("y", none)}, P(names{"z", "y"}, none))(iota({8, 8}), iota({8, 8}));
  };
  const auto full = over("y");
  EXPECT_TRUE(same(full, {8, 8}, [&](const At& at) { return product(at[0], at[1]); }));
  EXPECT_EQ(full.at({0, 7}), 1316);
  const auto halves = over({"z", "y"});
  EXPECT_TRUE(same(halves, {4, 8}, [&](const At& at) { return product(at[0], at[1]) + product(at[0] + 4, at[1]); }));
  EXPECT_EQ(halves.at({0, 7}), 11592);
}

TEST(JaxCases, case_089_all_gather_over_two_axes_in_groups) {
  const auto mesh = make_mesh({{"x", 2}, {"y", 2}, {"z", 2}});
  const auto spec = P("x", names{"y", "z"});
  const auto f = shard_map([](auto x) { return all_gather(x, {"y", "z"}, {.dim = -1, .tiled = true, .groups = {{0, 1}, {2, 3}}}); }, mesh, spec, spec);
  EXPECT_TRUE(same(f(iota({8, 8})), {8, 16}, [](const At& at) { return 8 * at[0] + 4 * (at[1] / 8) + at[1] % 4; }));
}

TEST(JaxCases, case_127_vmap_of_shard_map) {
  const auto mesh = make_mesh({{"y", 4}});
  const auto f = shard_map([](auto x) { return psum(x, "y"); }, mesh, P("y"), P());
  EXPECT_TRUE(same(vmap(f)(iota({2, 8})), {2, 2}, {12, 16, 44, 48}));
}

TEST(JaxCases, case_128_mesh_index_under_vmap) {
  const auto mesh = make_mesh({{"x", 4}});
  const auto f = shard_map([](Tensor<std::int32_t> rows) { return vmap([](Tensor<std::int32_t> row) { return row * 0 + axis_index("x"); })(rows); }, mesh, P("x"), P("x"));
  EXPECT_TRUE(same(f(arange<std::int32_t>(8)), {8}, {0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(JaxCases, case_191_specs_that_do_not_fit) {
  const auto mesh = make_mesh({{"i", 4}, {"j", 2}});
  EXPECT_TRUE(throws<ShapeError>([&] { shard_map(identity, mesh, P("i"), P("i"))(arange<float>(2)); }, {"2", "4"}));
  EXPECT_THROW(shard_map(identity, mesh, P("i", "j"), P("i", "j"))(arange<float>(8)), Error);
  EXPECT_THROW(shard_map([](Tensor<> x) { return sum(x); }, mesh, P("i"), P("i"))(arange<float>(8)), Error);
  EXPECT_THROW(shard_map(identity, mesh, P("k"), P("k"))(arange<float>(8)), AxisError);
}

TEST(JaxCases, case_193_specs_that_do_not_follow_the_arguments) {
  const auto mesh = make_mesh({{"i", 4}});
  const auto add = [](Tensor<> x, Tensor<> y) { return x + y; };
  EXPECT_THROW(shard_map(add, mesh, {P("i")}, P("i"))(arange<float>(8), arange<float>(8)), TypeError);
  EXPECT_THROW(shard_map(add, mesh, {P("i"), P("i"), P("i")}, P("i"))(arange<float>(8), arange<float>(8)), TypeError);
}

// JAX 0.10.2 silently gives 3, 0, 1, 2 here.
TEST(JaxCases, case_194_ppermute_over_names_in_another_order) {
  const auto mesh = make_mesh({{"x", 2}, {"y", 2}});
  const auto ring = [&](AxisNames axes) {
    return shard_map([=](auto v) { return ppermute(v, axes, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}); }, mesh, P(names{"x", "y"}), P(names{"x", "y"}))(arange<float>(4));
  };
  EXPECT_TRUE(same(ring({"x", "y"}), {4}, {3, 0, 1, 2}));
  EXPECT_TRUE(same(ring({"y", "x"}), {4}, {3, 2, 0, 1}));
}

}  // namespace
