// JAX's cases about gradients through psum_scatter and all_to_all, and in groups.
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

}  // namespace
