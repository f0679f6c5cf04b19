// JAX's cases about what pmap and vmap do with arguments and results.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::ravel;
using conformance::same;
using conformance::tabulate;

constexpr auto identity = [](const auto& x) { return x; };
constexpr auto twice = [](const auto& x) { return x * 2.0f; };

TEST(JaxCases, case_001_square) {
  EXPECT_TRUE(same(pmap([](auto x) { return x * x; }, {.in_axes = each(0)})(arange<float>(8)), {8}, {0, 1, 4, 9, 16, 25, 36, 49}));
}

TEST(JaxCases, case_002_dot_on_three_of_eight_devices) {
  const auto x = iota({3, 2, 2}), y = x * x;
  const auto out = pmap([](auto a, auto b) { return matmul(a, b); }, {.in_axes = each(0)})(x, y);
  EXPECT_TRUE(same(out, {3, 2, 2}, {4, 9, 12, 29, 244, 345, 348, 493, 1412, 1737, 1740, 2141}));
}

TEST(JaxCases, case_004_reversed_devices) {
  auto list = devices();
  ASSERT_EQ(list.size(), 8u);
  std::reverse(list.begin(), list.end());
  const auto x = iota({8, 3});
  const auto out = pmap(identity, {.in_axes = each(0), .devices = list})(x);
  EXPECT_TRUE(same(out, {8, 3}, [](const At& at) { return 3 * at[0] + at[1]; }));
  ASSERT_EQ(out.shards(), 8);
  for (Index k = 0; k < 8; ++k) EXPECT_EQ(out.shard(k).device(), list[static_cast<std::size_t>(k)]) << k;
  // A permutation that is not its own inverse.
  std::rotate(list.begin(), list.begin() + 3, list.end());
  const auto again = pmap(identity, {.in_axes = each(0), .devices = list})(x);
  EXPECT_TRUE(same(again, x));
  for (Index k = 0; k < 8; ++k) EXPECT_EQ(again.shard(k).device(), list[static_cast<std::size_t>(k)]) << k;
}

TEST(JaxCases, case_005_one_argument_not_mapped) {
  const auto [sum, two_y] = pmap([](Tensor<> x, Tensor<> y) { return std::pair(x + y, y * 2.0f); }, {.in_axes = {each(0), replicated}})(array<float>({0, 1}), Tensor<>(4.0f));
  EXPECT_TRUE(same(sum, {2}, {4, 5}));
  EXPECT_TRUE(same(two_y, {2}, {8, 8}));
}

TEST(JaxCases, case_007_in_axes_1_and_2) {
  const auto x = iota({2, 8, 4}), y = iota({2, 4, 8});
  const auto out = pmap([](auto a, auto b) { return sin(a + b); }, {.in_axes = {each(1), each(2)}})(x, y);
  EXPECT_TRUE(same(out, {8, 2, 4}, [](const At& at) { return std::sin(float(32 * at[1] + 4 * at[0] + at[2]) + float(32 * at[1] + 8 * at[2] + at[0])); }, 1e-6));
  // The same with negative axes.
  EXPECT_TRUE(same(pmap([](auto a, auto b) { return sin(a + b); }, {.in_axes = {each(-2), each(-1)}})(x, y), out));
}

TEST(JaxCases, case_008_out_axes_2_and_none) {
  const auto x = iota({2, 8, 4}), y = iota({2, 4});
  const auto [first, second] =
      pmap([](Tensor<> a, Tensor<> b) { return std::pair(sin(a + b), b * 2.0f); }, {.in_axes = {each(1), replicated}, .out_axes = {each(2), replicated}})(x, y);
  EXPECT_TRUE(same(first, {2, 4, 8}, [](const At& at) { return std::sin(float(32 * at[0] + 4 * at[2] + at[1]) + float(4 * at[0] + at[1])); }, 1e-6));
  EXPECT_TRUE(same(second, {2, 4}, {0, 2, 4, 6, 8, 10, 12, 14}));
}

TEST(JaxCases, case_010_replicated_result_is_that_of_shard_0) {
  EXPECT_TRUE(same(pmap(identity, {.in_axes = each(0), .out_axes = replicated})(arange<float>(3, 11)), {}, {3}));
}

TEST(JaxCases, case_011_whole_arguments_and_results) {
  const auto x = iota({8, 2}), y = iota({8, 2}) + 100.0f;
  const auto [a, b] = pmap(
      [](Tensor<> u, Tensor<> v) {
        EXPECT_EQ(u.shape(), Shape({2}));
        EXPECT_EQ(v.shape(), Shape({8, 2}));
        return std::pair(u, v);
      },
      {.in_axes = {each(0), replicated}, .out_axes = {replicated, each(0)}})(x, y);
  EXPECT_TRUE(same(a, {2}, {0, 1}));
  EXPECT_TRUE(same(b, {8, 8, 2}, [](const At& at) { return 100 + 2 * at[1] + at[2]; }));
}

TEST(JaxCases, case_013_callable_as_static_argument) {
  const auto three = [] { return 3.0f; };
  const auto out = pmap([](Tensor<> x, auto f) { return sin(x + f()); }, {.in_axes = {each(0), replicated}})(arange<float>(8), three);
  EXPECT_TRUE(same(out, {8}, [](const At& at) { return std::sin(float(at[0]) + 3); }, 1e-6));
}

TEST(JaxCases, case_014_constant_on_seven_shuffled_devices) {
  const auto all = devices();
  std::vector<Device> list;
  for (const std::size_t i : {5u, 0u, 3u, 7u, 1u, 6u, 2u}) list.push_back(all[i]);
  const auto out = pmap([](const auto&) { return 3; }, {.in_axes = each(0), .devices = list})(arange<float>(7));
  EXPECT_TRUE(same(out, {7}, {3, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(out.devices(), list);
}

TEST(JaxCases, case_016_five_hundred_arguments_in_a_list) {
  std::vector<Tensor<>> xs;
  for (int i = 0; i < 500; ++i) xs.push_back(full<float>({8}, float(i)));
  const auto out = pmap(
      [](const std::vector<Tensor<>>& v) {
        Tensor<> total = 0.0f;
        for (const auto& x : v) total = total + x;
        return total;
      },
      {.in_axes = each(0)})(xs);
  EXPECT_TRUE(same(out, {8}, std::vector<float>(8, 124750)));
}

TEST(JaxCases, case_017_trees) {
  std::map<std::string, Tensor<>> tree{{"b", iota({8, 8})}, {"a", iota({8, 8}) + 1.0f}, {"c", iota({8, 8}) * -1.0f}};
  const auto out = pmap([](const auto& t) { return tree_map(twice, t); }, {.in_axes = each(0)})(tree);
  static_assert(std::is_same_v<decltype(out), const std::map<std::string, Tensor<>>>);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(same(out.at("a"), {8, 8}, [](const At& at) { return 2 * (8 * at[0] + at[1]) + 2; }));
  EXPECT_TRUE(same(out.at("b"), {8, 8}, [](const At& at) { return 2 * (8 * at[0] + at[1]); }));
  EXPECT_TRUE(same(out.at("c"), {8, 8}, [](const At& at) { return -2 * (8 * at[0] + at[1]); }));
}

TEST(JaxCases, case_019_reshape_of_results) {
  const auto f = pmap(twice, {.in_axes = each(0)});
  EXPECT_TRUE(same(reshape(f(array<float>({{3}})), {1}), {1}, {6}));
  EXPECT_TRUE(same(reshape(f(array<float>({3})), {1, 1}), {1, 1}, {6}));
  EXPECT_TRUE(same(reshape(f(array<float>({3})), {}), {}, {6}));
  EXPECT_TRUE(same(reshape(f(iota({8, 3})), {2, 12}), {2, 12}, [](const At& at) { return 2 * (12 * at[0] + at[1]); }));
}

TEST(JaxCases, case_020_applied_to_its_own_output) {
  const auto f = pmap(twice, {.in_axes = each(0)});
  const auto first = f(iota({8, 2}));
  const auto before = transfers();
  const auto second = f(first), third = f(second);
  EXPECT_EQ(transfers().gathers.count, before.gathers.count);
  EXPECT_TRUE(same(second, {8, 2}, [](const At& at) { return 4 * (2 * at[0] + at[1]); }));
  EXPECT_TRUE(same(third, {8, 2}, [](const At& at) { return 8 * (2 * at[0] + at[1]); }));
  EXPECT_EQ(third.devices(), first.devices());
  EXPECT_EQ(third.shard(5).device(), devices()[5]);
}

TEST(JaxCases, case_022_minus_the_sum) {
  const auto out = pmap([](auto x) { return x - psum(x, "i"); }, {.axis_name = "i", .in_axes = each(0)})(iota({8, 4}));
  EXPECT_TRUE(same(out, {8, 4}, [](const At& at) { return 4 * at[0] + at[1] - (112 + 8 * at[1]); }));
}

/// An array that holds, at each index of the base shape, a number that tells all indices: 100 v + 10 p + a code of the base indices. p and v are put
/// at the given places, the place of v counted with p in; -1: not there.
Tensor<> mapped(const Shape& base, Index p_axis, Index p_size, Index v_axis, Index v_size, float scale) {
  std::vector<Index> sizes(base.begin(), base.end());
  if (p_axis >= 0) sizes.insert(sizes.begin() + p_axis, p_size);
  if (v_axis >= 0) sizes.insert(sizes.begin() + v_axis, v_size);
  return tabulate(Shape(sizes), [&](At at) {
    Index v = 0, p = 0;
    if (v_axis >= 0) v = at[static_cast<std::size_t>(v_axis)], at = conformance::without(at, v_axis);
    if (p_axis >= 0) p = at[static_cast<std::size_t>(p_axis)], at = conformance::without(at, p_axis);
    return scale * (100.0f * float(v) + 10.0f * float(p) + 0.5f * float(ravel(at, base)));
  });
}
AxisSpec spec(Index axis) { return axis < 0 ? replicated : each(int(axis)); }

TEST(JaxCases, case_025_vmap_of_pmap_over_all_axes) {
  const Index P = 2, V = 3;
  const Shape base_x{3, 4}, base_y{3, 1};
  for (Index px = -1; px <= 2; ++px)
    for (Index vx = -1; vx <= 2 + (px >= 0); ++vx)
      for (Index py = -1; py <= 2; ++py)
        for (Index vy = -1; vy <= 2 + (py >= 0); ++vy) {
          if ((px < 0 && py < 0) || (vx < 0 && vy < 0)) continue;
          const int po = int((px + py + 3) % 3), vo = int((vx + 2 * vy + 5) % 4);  // every place of the result comes up
          const auto x = mapped(base_x, px, P, vx, V, 1.0f), y = mapped(base_y, py, P, vy, V, 0.125f);
          const auto inner = pmap([](Tensor<> a, Tensor<> b) { return a + b; }, {.in_axes = {spec(px), spec(py)}, .out_axes = each(po)});
          const auto out = vmap(inner, {.in_axes = {spec(vx), spec(vy)}, .out_axes = each(vo)})(x, y);
          std::vector<Index> sizes{3, 4};
          sizes.insert(sizes.begin() + po, P);
          sizes.insert(sizes.begin() + vo, V);
          EXPECT_TRUE(same(out, Shape(sizes), [&](At at) {
            const Index v = at[std::size_t(vo)];
            at = conformance::without(at, vo);
            const Index p = at[std::size_t(po)];
            at = conformance::without(at, po);
            const float of_x = 100.0f * float(vx < 0 ? 0 : v) + 10.0f * float(px < 0 ? 0 : p) + 0.5f * float(4 * at[0] + at[1]);
            const float of_y = 100.0f * float(vy < 0 ? 0 : v) + 10.0f * float(py < 0 ? 0 : p) + 0.5f * float(at[0]);
            return of_x + 0.125f * of_y;
          })) << px << vx << py << vy;
        }
}

TEST(JaxCases, case_026_vmap_over_the_unmapped_argument_of_a_pmap) {
  const auto points = iota({5, 2}), queries = iota({3, 2}) * 10.0f;
  const auto rows = pmap([](Tensor<> x, Tensor<> y) { return y + 0.0f * x; }, {.in_axes = {each(0), replicated}});
  const auto out = vmap([&](Tensor<> q) { return rows(points, q); })(queries);
  EXPECT_TRUE(same(out, {3, 5, 2}, [](const At& at) { return 10 * (2 * at[0] + at[2]); }));
  const auto constant = pmap([](Tensor<>, Tensor<> y) { return y; }, {.in_axes = {each(0), replicated}});
  EXPECT_TRUE(same(vmap([&](Tensor<> q) { return constant(points, q); })(queries), out));
}

struct Pair {
  Tensor<> y, z;
};
struct Triple {
  Tensor<> x;
  Pair yz;
};
TEST(JaxCases, case_028_in_axes_as_a_tree) {
  const auto x = iota({6, 2, 3}), y = iota({3, 6, 4}), z = iota({4, 5, 6});
  const auto expected = [](const At& at) {
    double total = 0;
    for (Index k = 0; k < 3; ++k)
      for (Index l = 0; l < 4; ++l) total += double(6 * at[0] + 3 * at[1] + k) * double(24 * k + 4 * at[0] + l) * double(30 * l + 6 * at[2] + at[0]);
    return total;
  };
  const auto on_struct = vmap([](const Triple& t) { return matmul(t.x, matmul(t.yz.y, t.yz.z)); }, {.in_axes = {AxisSpec{0, AxisSpec{1, 2}}}});
  EXPECT_TRUE(same(on_struct(Triple{x, {y, z}}), {6, 2, 5}, expected, 1e-6));
  using Tuple = std::tuple<Tensor<>, std::pair<Tensor<>, Tensor<>>>;
  const auto on_tuple = vmap([](const Tuple& t) { return matmul(std::get<0>(t), matmul(std::get<1>(t).first, std::get<1>(t).second)); }, {.in_axes = {AxisSpec{0, AxisSpec{1, 2}}}});
  EXPECT_TRUE(same(on_tuple(Tuple{x, {y, z}}), {6, 2, 5}, expected, 1e-6));
  using Map = std::map<std::string, Tensor<>>;
  const auto on_map = vmap([](const Map& t) { return matmul(t.at("x"), matmul(t.at("y"), t.at("z"))); }, {.in_axes = {AxisSpec{0, 1, 2}}});
  EXPECT_TRUE(same(on_map(Map{{"z", z}, {"y", y}, {"x", x}}), {6, 2, 5}, expected, 1e-6));
}

TEST(JaxCases, case_029_in_axes_of_a_map) {
  using Map = std::map<std::string, Tensor<>>;
  const Map tree{{"a", Tensor<>(0.0f)}, {"b", arange<float>(5)}};
  const auto f = vmap([](const Map& m, Tensor<> x) { return m.at("a") + m.at("b") + x; }, {.in_axes = {AxisSpec{replicated, 0}, replicated}});
  EXPECT_TRUE(same(f(tree, Tensor<>(1.0f)), {5}, {1, 2, 3, 4, 5}));
}

TEST(JaxCases, case_031_function_object_as_unmapped_argument) {
  const std::vector<AxisSpec> specs{replicated, 0, 0};
  const auto apply = [](const auto& f, Tensor<> x, Tensor<> y) { return f(x, y); };
  const auto minus = [](const Tensor<>& a, const Tensor<>& b) { return a - b; };
  const auto x = array<float>({5, 7, 9}), y = array<float>({1, 2, 3});
  EXPECT_TRUE(same(vmap(apply, {.in_axes = specs})(minus, x, y), {3}, {4, 5, 6}));
  EXPECT_TRUE(same(vmap(apply, {.in_axes = {replicated, 0, 0}})(minus, x, y), {3}, {4, 5, 6}));
}

TEST(JaxCases, case_032_axis_size_without_mapped_arguments) {
  EXPECT_TRUE(same(vmap(identity, {.in_axes = replicated, .axis_size = 1})(Tensor<>(1.0f)), {1}, {1}));
  EXPECT_TRUE(same(vmap(identity, {.in_axes = replicated, .axis_size = 3})(array<float>({1, 2})), {3, 2}, {1, 2, 1, 2, 1, 2}));
  EXPECT_TRUE(same(vmap([] { return Tensor<>(3.0f); }, {.out_axes = replicated, .axis_size = 2})(), {}, {3}));
  EXPECT_TRUE(same(vmap([] { return Tensor<>(3.0f); }, {.axis_size = 2})(), {2}, {3, 3}));
}

}  // namespace
