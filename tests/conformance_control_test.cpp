// JAX's cases about collectives inside control flow.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::same;

const auto over_i = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };

TEST(JaxCases, case_082_axis_index_in_a_scan) {
  const auto out = over_i([](Tensor<std::int32_t> x) {
    return scan([](Tensor<std::int32_t> carry, Index) { return std::pair(carry + 1 + axis_index("i"), carry); }, x * 0, 10).first;
  })(ones<std::int32_t>({8}));
  EXPECT_TRUE(same(out, {8}, {10, 20, 30, 40, 50, 60, 70, 80}));
  const auto by_vmap = vmap([](Tensor<std::int32_t> x) {
    return fori_loop(0, 10, [](Index, Tensor<std::int32_t> carry) { return carry + 1 + axis_index("i"); }, x * 0);
  }, "i")(ones<std::int32_t>({5}));
  EXPECT_TRUE(same(by_vmap, {5}, {10, 20, 30, 40, 50}));
}

// A sum over the shards in every step.
TEST(JaxCases, case_082_psum_in_loops) {
  const auto f = [](Tensor<> x) { return fori_loop(0, 3, [](Index, Tensor<> carry) { return psum(carry, "i") - carry; }, x); };
  EXPECT_TRUE(same(over_i(f)(array<float>({1, 2, 4})), {3}, {20, 19, 17}));
  EXPECT_TRUE(same(vmap(f, "i")(array<float>({1, 2, 4})), {3}, {20, 19, 17}));
  const auto g = [](Tensor<> x) {
    const auto [last, all] = scan([](Tensor<> carry, Tensor<> row) { return std::pair(carry + pmean(row, "i"), carry); }, sum(x) * 0.0f, x);
    return std::pair(last, all);
  };
  const auto [last, all] = over_i(g)(conformance::iota({3, 2}));
  EXPECT_TRUE(same(last, {3}, {5, 5, 5}));
  EXPECT_TRUE(same(all, {3, 2}, {0, 2, 0, 2, 0, 2}));
}

}  // namespace
