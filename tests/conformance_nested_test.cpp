// Nested pmap, as JAX's pmap had it until 2025: the outermost axis is the most significant in a row-major grid of devices.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::same;
using conformance::tabulate;
using conformance::throws;

/// f over two mapped axes, the first name outside.
template <class F> auto grid(std::string outer, std::string inner, F f) {
  return pmap([=](const auto&... x) { return pmap(f, {.axis_name = inner, .in_axes = each(0)})(x...); }, {.axis_name = outer, .in_axes = each(0)});
}

TEST(JaxCases, case_097_psum_over_one_axis_and_then_the_other) {
  const auto f = grid("j", "i", [](Tensor<> x) { return psum(psum(x, "i"), "j"); });
  EXPECT_TRUE(same(f(iota({8, 1, 4})), {8, 1, 4}, [](const At& at) { return 112 + 8 * at[2]; }));
  EXPECT_TRUE(same(f(iota({3, 2, 4})), {3, 2, 4}, [](const At& at) { return 60 + 6 * at[2]; }));
}

TEST(JaxCases, case_098_psum_over_both) {
  const auto f = grid("i", "j", [](Tensor<> x) { return psum(x, {"i", "j"}); });
  EXPECT_TRUE(same(f(iota({4, 2, 4})), {4, 2, 4}, [](const At& at) { return 112 + 8 * at[2]; }));
}

TEST(JaxCases, case_100_unmapped_at_both_levels) {
  const auto inner = [](Tensor<> x, Tensor<> y) { return pmap([](Tensor<> a, Tensor<> b) { return a - psum(b, "j"); }, {.axis_name = "j", .in_axes = {replicated, each(0)}})(x, y); };
  const auto f = pmap(inner, {.axis_name = "i", .in_axes = {replicated, each(0)}});
  EXPECT_TRUE(same(f(Tensor<>(3.0f), iota({4, 2})), {4, 2}, {2, 2, -2, -2, -6, -6, -10, -10}));
  EXPECT_TRUE(same(f(Tensor<>(3.0f), iota({2, 3})), {2, 3}, {0, 0, 0, -9, -9, -9}));
}

TEST(JaxCases, case_101_who_meets_whom) {
  const auto members = [](AxisNames axes) {
    return grid("i", "j", [=](Tensor<>) { return all_gather(axis_index({"i", "j"}), axes); })(zeros<float>({4, 2}));
  };
  EXPECT_TRUE(same(members("i"), {4, 2, 4}, [](const At& at) { return 2 * at[2] + at[1]; }));
  EXPECT_TRUE(same(members("j"), {4, 2, 2}, [](const At& at) { return 2 * at[0] + at[2]; }));
  EXPECT_TRUE(same(members({"i", "j"}), {4, 2, 8}, [](const At& at) { return at[2]; }));
  const std::vector<int> order{0, 2, 4, 6, 1, 3, 5, 7};
  EXPECT_TRUE(same(members({"j", "i"}), {4, 2, 8}, [&](const At& at) { return order[std::size_t(at[2])]; }));
}

TEST(JaxCases, case_103_groups_on_the_outer_axis) {
  const auto out = grid("i", "j", [](Tensor<> x) { return x - psum(x, "i", {.groups = {{0, 1}, {2, 3}}}); })(iota({4, 2, 4}));
  EXPECT_TRUE(same(out, {4, 2, 4}, [](const At& at) { return -(8 * (at[0] ^ 1) + 4 * at[1] + at[2]); }));
  EXPECT_EQ(out.at({0, 0, 3}), -11);
  EXPECT_EQ(out.at({3, 1, 0}), -20);
}

TEST(JaxCases, case_103_groups_on_the_inner_and_on_both_axes) {
  const auto inner = grid("i", "j", [](Tensor<> x) { return psum(x, "j", {.groups = {{0, 2}, {3, 1}}}); })(iota({2, 4}));
  EXPECT_TRUE(same(inner, {2, 4}, {2, 4, 2, 4, 10, 12, 10, 12}));
  const auto both = grid("i", "j", [](Tensor<> x) { return psum(x, {"i", "j"}, {.groups = {{0, 5}, {1, 2, 3, 4}}}); })(iota({3, 2}));
  EXPECT_TRUE(same(both, {3, 2}, {5, 10, 10, 10, 10, 5}));
  const auto swapped = grid("i", "j", [](Tensor<> x) { return psum(x, {"j", "i"}, {.groups = {{0, 1, 2}, {3, 4, 5}}}); })(iota({3, 2}));
  EXPECT_TRUE(same(swapped, {3, 2}, {6, 9, 6, 9, 6, 9}));
}

TEST(JaxCases, case_104_axis_index) {
  const auto index = [](AxisNames axes, Shape shape) { return grid("i", "j", [=](Tensor<std::int32_t> x) { return x + axis_index(axes); })(ones<std::int32_t>(shape)); };
  EXPECT_TRUE(same(index("j", {2, 2}), {2, 2}, {1, 2, 1, 2}));
  EXPECT_TRUE(same(index("i", {2, 2}), {2, 2}, {1, 1, 2, 2}));
  EXPECT_TRUE(same(index({"i", "j"}, {2, 2}), {2, 2}, {1, 2, 3, 4}));
  EXPECT_TRUE(same(index({"j", "i"}, {2, 2}), {2, 2}, {1, 3, 2, 4}));
  EXPECT_TRUE(same(index({"j", "i"}, {2, 3}), {2, 3}, {1, 3, 5, 2, 4, 6}));
}

TEST(JaxCases, case_106_device_of_a_place_in_the_grid) {
  const auto ids = grid("i", "j", [](Tensor<>) { return current_device().id; });
  EXPECT_TRUE(same(ids(zeros<float>({4, 2})), {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(same(ids(zeros<float>({2, 4})), {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}));
  const auto constant = grid("i", "j", [](Tensor<>) { return Tensor<>(3.0f); })(zeros<float>({4, 2}));
  EXPECT_TRUE(same(constant, {4, 2}, std::vector<float>(8, 3)));
  // Three levels.
  const auto three = pmap([](auto x) { return grid("j", "k", [](Tensor<>) { return current_device().id; })(x); }, {.axis_name = "i", .in_axes = each(0)});
  EXPECT_TRUE(same(three(zeros<float>({2, 2, 2})), {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(JaxCases, case_107_all_to_all_over_both) {
  for (Index split = 0; split < 2; ++split)
    for (Index concat = 0; concat < 2; ++concat) {
      const Shape whole = split == 0 ? Shape{6, 6, 3} : Shape{6, 3, 6};
      const auto f = [=](Tensor<> x) { return all_to_all(x, {"i", "j"}, split, concat); };
      const auto nested = grid("i", "j", f)(reshape(iota(whole), {2, 3, whole[1], whole[2]}));
      const auto flat = pmap([=](Tensor<> x) { return all_to_all(x, "i", split, concat); }, {.axis_name = "i", .in_axes = each(0)})(iota(whole));
      EXPECT_TRUE(same(reshape(nested, flat.shape()), flat)) << split << concat;
      // Element 0 of the piece that place 1 has from place 4 is x[4] at 1 along the split axis.
      const auto at = concat == 0 ? std::vector<Index>{0, 1, 4, 0} : std::vector<Index>{0, 1, 0, 4};
      EXPECT_EQ(nested.to_vector()[std::size_t(conformance::ravel(at, nested.shape()))], split == 0 ? 4 * 18 + 3 : 4 * 18 + 1);
    }
}

TEST(JaxCases, case_109_too_many_devices_and_devices_inside) {
  const auto sum = grid("i", "j", [](Tensor<> x) { return psum(x, "j"); });
  EXPECT_TRUE(same(sum(ones<float>({4, 2})), {4, 2}, std::vector<float>(8, 2)));
  EXPECT_THROW(sum(ones<float>({8, 2})), DeviceError);
  EXPECT_TRUE(same(sum(ones<float>({4, 2})), {4, 2}, std::vector<float>(8, 2)));  // and the next map works
  const auto negate = grid("i", "j", [](Tensor<bool> x) { return !x; });
  EXPECT_TRUE(same(negate(ones<bool>({4, 2})), {4, 2}, std::vector<bool>(8, false)));
  // Devices named by the inner map must be of its group: shard 0 of 2 has devices 0 to 3.
  const std::vector<Device> two{devices()[0], devices()[1]};
  const auto inside = pmap([&](Tensor<> x) { return pmap([](Tensor<> y) { return y; }, {.in_axes = each(0), .devices = two})(x); }, {.in_axes = each(0)});
  EXPECT_THROW(inside(ones<float>({2, 2})), DeviceError);
  const auto outside = pmap([](Tensor<> x) { return pmap([](Tensor<> y) { return psum(y, "j"); }, {.axis_name = "j", .in_axes = each(0)})(x); }, {.in_axes = each(0), .devices = devices()});
  EXPECT_TRUE(same(outside(ones<float>({4, 2})), {4, 2}, std::vector<float>(8, 2)));
}

TEST(JaxCases, case_110_pmap_and_vmap_in_either_order) {
  const auto y = tabulate<double>({5, 5}, [](const At& at) { return 0.01 * double((3 * at[0] + 7 * at[1]) % 5 - 2); });
  const auto check = [&](auto collective, auto expected) {
    const auto f = [=](Tensor<double> x) { return x + collective(matmul(x, y)); };
    const auto x = iota<double>({4, 2, 5, 5}) * 0.125;
    const VmapOptions vi{.axis_name = "i"}, vj{.axis_name = "j"};
    const PmapOptions pi{.axis_name = "i", .in_axes = each(0)}, pj{.axis_name = "j", .in_axes = each(0)};
    const auto oracle = vmap([=](const auto& a) { return vmap(f, vj)(a); }, vi)(x);
    EXPECT_TRUE(same(oracle, {4, 2, 5, 5}, [&](const At& at) {
      std::vector<double> all;
      for (Index p = 0; p < 8; ++p) {
        double dot = 0;
        for (Index k = 0; k < 5; ++k) dot += 0.125 * double(25 * p + 5 * at[2] + k) * 0.01 * double((3 * k + 7 * at[3]) % 5 - 2);
        all.push_back(dot);
      }
      return 0.125 * double(50 * at[0] + 25 * at[1] + 5 * at[2] + at[3]) + expected(all);
    }, 1e-12));
    EXPECT_TRUE(same(pmap([=](const auto& a) { return vmap(f, vj)(a); }, pi)(x), oracle, 1e-12));
    EXPECT_TRUE(same(vmap([=](const auto& a) { return pmap(f, pj)(a); }, vi)(x), oracle, 1e-12));
    EXPECT_TRUE(same(pmap([=](const auto& a) { return pmap(f, pj)(a); }, pi)(x), oracle, 1e-12));
  };
  check([](const auto& x) { return psum(x, {"i", "j"}); }, [](const auto& v) { return std::accumulate(v.begin(), v.end(), 0.0); });
  check([](const auto& x) { return pmean(x, {"j", "i"}); }, [](const auto& v) { return std::accumulate(v.begin(), v.end(), 0.0) / 8; });
  check([](const auto& x) { return pmax(x, {"i", "j"}); }, [](const auto& v) { return *std::max_element(v.begin(), v.end()); });
  check([](const auto& x) { return pmin(x, {"i", "j"}); }, [](const auto& v) { return *std::min_element(v.begin(), v.end()); });
}

}  // namespace
