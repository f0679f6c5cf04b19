// JAX's cases about ragged_all_to_all.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::same;

const auto over_i = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };
using I = Tensor<std::int32_t>;

// Case 90 of the table, two shards: shard 0 sends 1 | 2 2, shard 1 sends 3 | 4.
TEST(JaxCases, case_091_ragged_all_to_all) {
  const auto f = over_i([](Tensor<> operand, I in_off, I send, I out_off, I recv) { return ragged_all_to_all(operand, zeros<float>({4}), in_off, send, out_off, recv, "i"); });
  const auto out = f(array<float>({{1, 2, 2}, {3, 4, 0}}), array<std::int32_t>({{0, 1}, {0, 1}}), array<std::int32_t>({{1, 2}, {1, 1}}), array<std::int32_t>({{0, 0}, {1, 2}}),
                     array<std::int32_t>({{1, 1}, {2, 1}}));
  EXPECT_TRUE(same(out, {2, 4}, {1, 3, 0, 0, 2, 2, 4, 0}));
}

TEST(JaxCases, case_091_ragged_all_to_all_in_groups) {
  const auto pair_times_10 = array<float>({{1, 2, 2}, {3, 4, 0}, {10, 20, 20}, {30, 40, 0}});
  const auto f = over_i([](Tensor<> operand, I in_off, I send, I out_off, I recv) {
    return ragged_all_to_all(operand, zeros<float>({4}), in_off, send, out_off, recv, "i", {.groups = {{0, 1}, {2, 3}}});
  });
  const auto out = f(pair_times_10, array<std::int32_t>({{0, 1}, {0, 1}, {0, 1}, {0, 1}}), array<std::int32_t>({{1, 2}, {1, 1}, {1, 2}, {1, 1}}),
                     array<std::int32_t>({{0, 0}, {1, 2}, {0, 0}, {1, 2}}), array<std::int32_t>({{1, 1}, {2, 1}, {1, 1}, {2, 1}}));
  EXPECT_TRUE(same(out, {4, 4}, {1, 3, 0, 0, 2, 2, 4, 0, 10, 30, 0, 0, 20, 20, 40, 0}));
}

TEST(JaxCases, case_092_ragged_all_to_all_alone) {
  const auto f = over_i([](Tensor<> operand, I in_off, I send, I out_off, I recv) {
    return ragged_all_to_all(operand, zeros<float>({4}), in_off, send, out_off, recv, "i", {.groups = {{0}, {1}}});
  });
  const auto out = f(array<float>({{1, 0, 0, 0}, {2, 3, 4, 0}}), array<std::int32_t>({{0}, {0}}), array<std::int32_t>({{1}, {3}}), array<std::int32_t>({{2}, {1}}), array<std::int32_t>({{1}, {3}}));
  EXPECT_TRUE(same(out, {2, 4}, {0, 0, 1, 0, 0, 2, 3, 4}));
}

TEST(JaxCases, case_154_ragged_all_to_all) {
  const I in_off = array<std::int32_t>({{0, 1}, {0, 1}}), send = array<std::int32_t>({{1, 2}, {1, 1}}), out_off = array<std::int32_t>({{0, 0}, {1, 2}}), recv = array<std::int32_t>({{1, 1}, {2, 1}});
  const auto loss = [&](Tensor<double> operand, Tensor<double> output) {
    const auto out = over_i([](Tensor<double> x, Tensor<double> y, I a, I b, I c, I d) { return ragged_all_to_all(x, y, a, b, c, d, "i"); })(operand, output, in_off, send, out_off, recv);
    return sum(out * reshape(arange<double>(8), {2, 4}));
  };
  const auto [d_operand, d_output] = grad<0, 1>(loss)(array<double>({{1, 2, 2}, {3, 4, 0}}), zeros<double>({2, 4}));
  // Shard 0 sends to places 0 of shard 0 and 0, 1 of shard 1; shard 1 to place 1 of shard 0 and 2 of shard 1.
  EXPECT_TRUE(same(d_operand, {2, 3}, {0, 4, 5, 1, 6, 0}));
  EXPECT_TRUE(same(d_output, {2, 4}, {0, 0, 2, 3, 0, 0, 0, 7}));
}

}  // namespace
