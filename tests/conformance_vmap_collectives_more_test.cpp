// JAX's cases about collectives over a vmapped axis: groups, psum_scatter, all_to_all, indices of winners.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::same;
using conformance::tabulate;

const auto in_pmap = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };
const auto in_vmap = [](auto f) { return vmap(f, "i"); };

TEST(JaxCases, case_116_all_to_all_over_all_axes) {
  const auto x = iota({4, 4, 4, 4});
  for (int axis = 0; axis < 4; ++axis)
    for (Index split = 0; split < 3; ++split)
      for (Index concat = 0; concat < 3; ++concat) {
        const auto f = vmap([=](auto v) { return all_to_all(v, "i", split, concat); }, {.axis_name = "i", .in_axes = axis});
        // Result axis 0 is the split axis of x, result axis concat + 1 the mapped one, the others keep their order.
        const Index split_axis = split + (axis <= split);
        EXPECT_TRUE(same(f(x), {4, 4, 4, 4}, [&](const At& at) {
          At in(4, -1), rest;
          in[std::size_t(split_axis)] = at[0];
          in[std::size_t(axis)] = at[std::size_t(concat + 1)];
          for (Index d = 1; d < 4; ++d)
            if (d != concat + 1) rest.push_back(at[std::size_t(d)]);
          std::size_t next = 0;
          for (auto& i : in)
            if (i < 0) i = rest[next++];
          return conformance::ravel(in, x.shape());
        })) << axis << split << concat;
      }
}

TEST(JaxCases, case_118_all_to_all_equals_pmap) {
  const auto x = iota({3, 3, 3, 3});
  for (Index split = 0; split < 3; ++split)
    for (Index concat = 0; concat < 3; ++concat) {
      const auto f = [=](auto v) { return all_to_all(v, "i", split, concat); };
      EXPECT_TRUE(same(in_vmap(f)(x), in_pmap(f)(x))) << split << concat;
    }
  // An unnamed vmap inside: its axis comes out in front of what all_to_all made of the others.
  for (int axis = 0; axis < 3; ++axis)
    for (Index split = 0; split < 2; ++split)
      for (Index concat = 0; concat < 2; ++concat) {
        const auto f = [=](auto v) { return all_to_all(v, "i", split, concat); };
        const auto nested = in_pmap([=](const auto& v) { return vmap(f, {.in_axes = axis})(v); })(x);
        for (Index lane = 0; lane < 3; ++lane)
          EXPECT_TRUE(same(take(nested, Tensor<std::int32_t>(std::int32_t(lane)), 1), in_pmap(f)(take(x, Tensor<std::int32_t>(std::int32_t(lane)), axis + 1)))) << axis << split << concat << lane;
      }
}

TEST(JaxCases, case_118_all_to_all_tiled_equals_pmap) {
  const auto x = iota({3, 6, 3});
  for (Index split = 0; split < 2; ++split)
    for (Index concat = 0; concat < 2; ++concat) {
      const auto f = [=](auto v) { return all_to_all(v, "i", split, concat, {.tiled = true}); };
      EXPECT_TRUE(same(in_vmap(f)(x), in_pmap(f)(x))) << split << concat;
    }
}

TEST(JaxCases, case_124_psum_scatter_equals_pmap) {
  const auto f = [](auto v) { return psum_scatter(v, "i"); };
  EXPECT_TRUE(same(in_vmap(f)(iota({4, 4, 8})), {4, 8}, [](const At& at) { return 4 * (8 * at[0] + at[1]) + 192; }));
  EXPECT_TRUE(same(in_pmap(f)(iota({4, 4, 8})), {4, 8}, [](const At& at) { return 4 * (8 * at[0] + at[1]) + 192; }));
  const auto g = [](auto v) { return psum_scatter(v, "i", {.dim = 1, .tiled = true}); };
  EXPECT_TRUE(same(in_vmap(g)(iota({4, 4, 8})), {4, 4, 2}, [](const At& at) { return 4 * (8 * at[1] + 2 * at[0] + at[2]) + 192; }));
  EXPECT_TRUE(same(in_pmap(g)(iota({4, 4, 8})), {4, 4, 2}, [](const At& at) { return 4 * (8 * at[1] + 2 * at[0] + at[2]) + 192; }));
}

TEST(JaxCases, case_125_pargmax) {
  const auto value = [](const At& at) { return (7 * at[0] + (at.size() > 1 ? 3 * at[1] : 0)) % 5; };
  const auto check = [&](auto zero, const Shape& shape) {
    using T = decltype(zero);
    const auto x = tabulate<T>(shape, value);
    const Index rest = shape.rank() > 1 ? shape[1] : 1;
    const auto best = [&](auto better) {
      std::vector<std::int32_t> out;
      for (Index c = 0; c < rest; ++c) {
        Index winner = 0;
        for (Index r = 1; r < shape[0]; ++r)
          if (better(value({r, c}), value({winner, c}))) winner = r;
        out.push_back(std::int32_t(winner));
      }
      return out;
    };
    const Shape lane = shape.rank() > 1 ? Shape{rest} : Shape{};
    EXPECT_TRUE(same(vmap([](auto v) { return pargmax(v, "i"); }, {.axis_name = "i", .out_axes = replicated})(x), lane, best([](Index a, Index b) { return a > b; })));
    EXPECT_TRUE(same(vmap([](auto v) { return pargmin(v, "i"); }, {.axis_name = "i", .out_axes = replicated})(x), lane, best([](Index a, Index b) { return a < b; })));
    EXPECT_TRUE(same(vmap([](auto v) { return pargmax(v, "i"); }, {.axis_name = "i", .out_axes = replicated})(x), argmax(x, 0)));
  };
  for (const Shape& shape : {Shape{7}, Shape{5, 8}}) check(0.0f, shape), check(std::int32_t{0}, shape);
}

// JAX refuses groups under vmap; ours are those of pmap.
TEST(JaxCases, case_130_groups) {
  const auto check = [](auto f, const Tensor<>& x, const Shape& shape, std::vector<float> expected) {
    EXPECT_TRUE(same(in_vmap(f)(x), shape, expected));
    EXPECT_TRUE(same(in_pmap(f)(x), shape, expected));
  };
  check([](auto x) { return psum(x, "i", {.groups = {{0, 1}, {2, 3}}}); }, arange<float>(4), {4}, {1, 1, 5, 5});
  check([](auto x) { return pmean(x, "i", {.groups = {{2, 0, 4}, {1, 3}}}); }, array<float>({3, 1, 4, 1, 5}), {5}, {4, 1, 4, 1, 4});
  check([](auto x) { return pmax(x, "i", {.groups = {{2, 0, 4}, {1, 3}}}); }, array<float>({3, 1, 4, 1, 5}), {5}, {5, 1, 5, 1, 5});
  check([](auto x) { return all_gather(x, "i", {.groups = {{2, 0}, {1, 3}}}); }, arange<float>(4), {4, 2}, {2, 0, 1, 3, 2, 0, 1, 3});
  check([](auto x) { return psum_scatter(x, "i", {.tiled = true, .groups = {{0, 2}, {3, 1}}}); }, iota({4, 4}), {4, 2}, {8, 10, 20, 22, 12, 14, 16, 18});
  check([](auto x) { return all_to_all(x, "i", 0, 0, {.groups = {{0, 2}, {1, 3}}}); }, iota({4, 2}), {4, 2}, {0, 4, 2, 6, 1, 5, 3, 7});
  check([](auto x) { return all_to_all(x, "i", 0, 0, {.tiled = true, .groups = {{2, 0}, {1, 3}}}); }, iota({4, 4}), {4, 4}, {10, 11, 2, 3, 4, 5, 12, 13, 8, 9, 0, 1, 6, 7, 14, 15});
}

// Names of a vmapped and a pmapped axis together: JAX refuses these, or drops a name.
TEST(JaxCases, case_130_names_of_both_maps) {
  const auto x = iota({2, 3, 6});
  const auto check = [&](auto f) {
    const VmapOptions vi{.axis_name = "i"}, vj{.axis_name = "j"};
    const PmapOptions pi{.axis_name = "i", .in_axes = each(0)}, pj{.axis_name = "j", .in_axes = each(0)};
    const auto oracle = pmap([=](auto v) { return pmap(f, pj)(v); }, pi)(x);
    EXPECT_TRUE(same(vmap([=](auto v) { return vmap(f, vj)(v); }, vi)(x), oracle));
    EXPECT_TRUE(same(pmap([=](auto v) { return vmap(f, vj)(v); }, pi)(x), oracle));
    EXPECT_TRUE(same(vmap([=](auto v) { return pmap(f, pj)(v); }, vi)(x), oracle));
    return oracle;
  };
  EXPECT_TRUE(same(check([](auto v) { return all_gather(v, {"i", "j"}); }), {2, 3, 6, 6}, [](const At& at) { return 6 * at[2] + at[3]; }));
  EXPECT_TRUE(same(check([](auto v) { return all_gather(v, {"j", "i"}); }), {2, 3, 6, 6}, [](const At& at) { return 18 * (at[2] % 2) + 6 * (at[2] / 2) + at[3]; }));
  EXPECT_TRUE(same(check([](auto v) { return psum_scatter(v, {"i", "j"}); }), {2, 3}, [](const At& at) { return 90 + 6 * (3 * at[0] + at[1]); }));
  EXPECT_TRUE(same(check([](auto v) { return psum_scatter(v, {"j", "i"}); }), {2, 3}, [](const At& at) { return 90 + 6 * (2 * at[1] + at[0]); }));
  EXPECT_TRUE(same(check([](auto v) { return all_to_all(v, {"i", "j"}, 0, 0); }), {2, 3, 6}, [](const At& at) { return 6 * at[2] + 3 * at[0] + at[1]; }));
  const auto ring = check([](auto v) { return ppermute(v, {"i", "j"}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}); });
  EXPECT_TRUE(same(ring, {2, 3, 6}, [](const At& at) { return at[0] + at[1] == 0 ? 0 : 6 * (3 * at[0] + at[1] - 1) + at[2]; }));
}

}  // namespace
