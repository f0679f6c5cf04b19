// JAX's cases about gradients through psum_scatter, all_to_all and ragged_all_to_all, and in groups.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::same;
using conformance::second_order;
using conformance::tabulate;

using D = Tensor<double>;
const auto over_i = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };
const auto some = [](const Shape& shape) {
  return tabulate<double>(shape, [&](const At& at) { return std::sin(0.7 * double(conformance::ravel(at, shape)) + 0.3); });
};

TEST(JaxCases, case_146_pswapaxes) {
  const auto f = over_i([](Tensor<> x) { return grad([](Tensor<> v) { return sum(pswapaxes(v, "i", 1) * cast<float>(axis_index("i"))); })(x); });
  EXPECT_TRUE(same(f(ones<float>({8, 1, 8})), {8, 1, 8}, [](const At& at) { return at[2]; }));
  const auto g = over_i([](Tensor<> x) { return grad([](Tensor<> v) { return sum(pswapaxes(v, "i", 1) * arange<float>(5)); })(x); });
  EXPECT_TRUE(same(g(ones<float>({5, 1, 5})), {5, 1, 5}, [](const At& at) { return at[0]; }));
}

TEST(JaxCases, case_148_all_to_all_tiled) {
  const auto f = [](Tensor<> x) {
    return 2.0f * sum(pmap([](auto v) { return all_to_all(v, "i", 1, 0, {.tiled = true}); }, {.axis_name = "i", .in_axes = split(0), .out_axes = split(0), .axis_size = 4})(x));
  };
  const auto [value, g] = value_and_grad(f)(iota({8, 8}));
  EXPECT_EQ(value.item(), 4032);
  EXPECT_TRUE(same(g, {8, 8}, std::vector<float>(64, 2)));
}

// JAX 0.10.2 fails on split != concat without tiling.
TEST(JaxCases, case_148_all_to_all_other_axes) {
  const auto inside = [](Tensor<> x) {
    return grad([](Tensor<> v) { return sum(all_to_all(v, "i", 0, 1) * reshape(arange<float>(6), {2, 3}) * cast<float>(axis_index("i") + 1)); })(x);
  };
  const auto expected = [](const At& at) { return (3 * at[2] + at[0]) * (at[1] + 1); };
  EXPECT_TRUE(same(over_i(inside)(iota({3, 3, 2})), {3, 3, 2}, expected));
  EXPECT_TRUE(same(vmap(inside, "i")(iota({3, 3, 2})), {3, 3, 2}, expected));
  for (Index a = 0; a < 2; ++a)
    for (Index b = 0; b < 2; ++b) {
      EXPECT_TRUE(second_order([=](const D& x) { return sum(over_i([=](auto v) { return sin(all_to_all(v, "i", a, b)) * sum(v); })(x)); }, some({3, 3, 3}))) << a << b;
      EXPECT_TRUE(second_order([=](const D& x) { return sum(over_i([=](auto v) { return sin(all_to_all(v, "i", a, b, {.tiled = true})) * sum(v); })(x)); }, some({2, 2, 4}))) << a << b;
    }
}

TEST(JaxCases, case_133_psum_scatter) {
  const auto inside = [](Tensor<> x) { return grad([](Tensor<> v) { return sum(psum_scatter(v, "i", {.tiled = true}) * cast<float>(axis_index("i") + 1)); })(x); };
  EXPECT_TRUE(same(over_i(inside)(iota({3, 6})), {3, 6}, [](const At& at) { return at[1] / 2 + 1; }));
  EXPECT_TRUE(same(vmap(inside, "i")(iota({3, 6})), {3, 6}, [](const At& at) { return at[1] / 2 + 1; }));
  EXPECT_TRUE(second_order([](const D& x) { return sum(over_i([](auto v) { return exp(psum_scatter(v, "i", {.dim = 1})) * sum(v); })(x)); }, some({3, 2, 3})));
}

TEST(JaxCases, case_133_groups) {
  // The sum over the shards of g_i * psum(x)_i, by the members of the groups.
  const auto inside = [](Tensor<> x) { return grad([](Tensor<> v) { return psum(v, "i", {.groups = {{2, 0, 4}, {1, 3}}}) * cast<float>(axis_index("i") + 1); })(x); };
  EXPECT_TRUE(same(over_i(inside)(arange<float>(5)), {5}, {9, 6, 9, 6, 9}));
  EXPECT_TRUE(same(vmap(inside, "i")(arange<float>(5)), {5}, {9, 6, 9, 6, 9}));
  const auto gather = [](Tensor<> x) {
    return grad([](Tensor<> v) { return sum(all_gather(v, "i", {.groups = {{2, 0}, {1, 3}}}) * array<float>({1, 10})) * cast<float>(axis_index("i") + 1); })(x);
  };
  EXPECT_TRUE(same(over_i(gather)(arange<float>(4)), {4}, {40, 6, 4, 60}));
  EXPECT_TRUE(same(vmap(gather, "i")(arange<float>(4)), {4}, {40, 6, 4, 60}));
}

TEST(JaxCases, case_154_ragged_all_to_all) {
  using I = Tensor<std::int32_t>;
  const I in_off = array<std::int32_t>({{0, 1}, {0, 1}}), send = array<std::int32_t>({{1, 2}, {1, 1}}), out_off = array<std::int32_t>({{0, 0}, {1, 2}}), recv = array<std::int32_t>({{1, 1}, {2, 1}});
  const auto loss = [&](D operand, D output) {
    const auto out = over_i([](D x, D y, I a, I b, I c, I d) { return ragged_all_to_all(x, y, a, b, c, d, "i"); })(operand, output, in_off, send, out_off, recv);
    return sum(out * reshape(arange<double>(8), {2, 4}));
  };
  const auto [d_operand, d_output] = grad<0, 1>(loss)(array<double>({{1, 2, 2}, {3, 4, 0}}), zeros<double>({2, 4}));
  // Shard 0 sends to places 0 of shard 0 and 0, 1 of shard 1; shard 1 to place 1 of shard 0 and 2 of shard 1.
  EXPECT_TRUE(same(d_operand, {2, 3}, {0, 4, 5, 1, 6, 0}));
  EXPECT_TRUE(same(d_output, {2, 4}, {0, 0, 2, 3, 0, 0, 0, 7}));
}

}  // namespace
