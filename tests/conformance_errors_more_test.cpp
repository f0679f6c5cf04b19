// JAX's cases about errors of groups, psum_scatter, all_to_all and their kin.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::iota;
using conformance::same;
using conformance::throws;

const auto over_i = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };
/// Both maps over an axis of size 4.
template <class E, class F> void both(F f, const Tensor<>& x, std::initializer_list<std::string> parts) {
  EXPECT_TRUE(throws<E>([&] { over_i(f)(x); }, parts)) << "pmap";
  EXPECT_TRUE(throws<E>([&] { vmap(f, "i")(x); }, parts)) << "vmap";
}

TEST(JaxCases, case_182_pshuffle_is_a_permutation) {
  EXPECT_TRUE(throws<AxisError>([&] { over_i([](auto x) { return pshuffle(x, "i", {1, 1, 2, 3, 4, 5, 6, 7}); })(arange<float>(8)); }, {"pshuffle", "1"}));
  both<AxisError>([](auto x) { return pshuffle(x, "i", {0, 1, 2}); }, arange<float>(4), {"pshuffle"});
}

TEST(JaxCases, case_184_sizes_of_all_to_all_and_psum_scatter) {
  both<ShapeError>([](auto x) { return all_to_all(x, "i", 0, 0); }, iota({4, 3}), {"all_to_all", "3", "4"});
  both<ShapeError>([](auto x) { return all_to_all(x, "i", 0, 0, {.tiled = true}); }, iota({4, 6}), {"all_to_all", "6", "4"});
  both<ShapeError>([](auto x) { return psum_scatter(x, "i"); }, iota({4, 8}), {"psum_scatter", "8", "4"});
  both<ShapeError>([](auto x) { return psum_scatter(x, "i", {.tiled = true}); }, iota({4, 6}), {"psum_scatter", "6", "4"});
  both<ShapeError>([](auto x) { return pswapaxes(x, "i", 0); }, iota({4, 3}), {"3", "4"});
  both<AxisError>([](auto x) { return all_to_all(x, "i", 1, 0); }, iota({4, 4}), {"all_to_all", "1"});
  both<AxisError>([](auto x) { return psum_scatter(x, "i", {.dim = 2}); }, iota({4, 4}), {"psum_scatter", "2"});
  both<AxisError>([](auto x) { return all_gather(x, "i", {.dim = 3}); }, iota({4, 4}), {"all_gather", "3"});
}

TEST(JaxCases, case_184_groups) {
  both<AxisError>([](auto x) { return psum(x, "i", {.groups = {{0, 1}, {2}}}); }, arange<float>(4), {"psum", "3"});
  both<AxisError>([](auto x) { return psum(x, "i", {.groups = {{0, 1}, {1, 2, 3}}}); }, arange<float>(4), {"psum", "1"});
  both<AxisError>([](auto x) { return psum(x, "i", {.groups = {{0, 1, 2, 3, 4}}}); }, arange<float>(4), {"psum", "4"});
  both<AxisError>([](auto x) { return all_gather(x, "i", {.groups = {{0}, {1, 2, 3}}}); }, arange<float>(4), {"all_gather"});
}

TEST(JaxCases, case_185_outside_a_map) {
  EXPECT_TRUE(throws<AxisError>([&] { all_to_all(iota({4, 4}), "i", 0, 0); }, {"all_to_all", "\"i\""}));
  EXPECT_TRUE(throws<AxisError>([&] { psum_scatter(iota({4, 4}), "i"); }, {"psum_scatter", "\"i\""}));
  EXPECT_TRUE(throws<AxisError>([&] { pshuffle(iota({4, 4}), "i", {0, 1, 2, 3}); }, {"pshuffle", "\"i\""}));
}

// JAX wants one name; ours is the index on the flattened axis.
TEST(JaxCases, case_185_pargmax_over_two_names) {
  const auto f = vmap([](const auto& row) { return vmap([](auto x) { return pargmax(x, {"i", "j"}); }, "j")(row); }, "i");
  EXPECT_TRUE(same(f(array<float>({{1, 5, 2}, {7, 7, 0}})), {2, 3}, {3, 3, 3, 3, 3, 3}));
}

}  // namespace
