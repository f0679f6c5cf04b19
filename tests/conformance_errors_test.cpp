// JAX's cases about errors. The types are ours (docs/jax.md compares them); each message starts with the operation and carries the values.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::iota;
using conformance::same;
using conformance::throws;

constexpr auto identity = [](const auto& x) { return x; };
const auto over_i = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };

TEST(JaxCases, case_173_more_rows_than_devices) {
  const auto f = pmap(identity, {.in_axes = each(0)});
  EXPECT_TRUE(throws<DeviceError>([&] { f(arange<float>(9)); }, {"pmap", "9", "8"}));
  EXPECT_TRUE(throws<DeviceError>([&] { f(iota({9, 2})); }, {"pmap", "9", "8"}));
  EXPECT_TRUE(throws<DeviceError>([&] { pmap([](const auto&) { return 3; }, {.in_axes = each(0)})(arange<float>(9)); }, {"pmap", "9", "8"}));
  EXPECT_TRUE(throws<ShapeError>([&] { pmap(identity)(arange<float>(9)); }, {"pmap", "9", "8"}));
  EXPECT_TRUE(same(f(arange<float>(8)), {8}, {0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(JaxCases, case_173_sizes_that_disagree) {
  const auto add = [](Tensor<> x, Tensor<> y) { return x + y; };
  EXPECT_TRUE(throws<ShapeError>([&] { pmap(add, {.in_axes = each(0)})(iota({4, 2}), iota({3, 2})); }, {"pmap", "4", "3"}));
  EXPECT_TRUE(throws<ShapeError>([&] { pmap(add, {.in_axes = each(0)})(iota({4, 2}), iota({8, 2})); }, {"pmap", "4", "8"}));
  EXPECT_THROW(pmap(identity, {.in_axes = each(0)})(Tensor<>(1.0f)), Error);
  EXPECT_TRUE(throws<AxisError>([&] { pmap(identity, {.in_axes = each(2)})(iota({4, 2})); }, {"2"}));
}

TEST(JaxCases, case_175_in_axes_that_do_not_follow_the_arguments) {
  const auto x = arange<float>(3);
  using Pair = std::pair<Tensor<>, Tensor<>>;
  const auto f = [](const Pair& a, Tensor<> b) { return a.first + a.second + b; };
  for (const bool by_vmap : {false, true}) {
    const auto call = [&](const AxisSpecs& specs) { return by_vmap ? vmap(f, {.in_axes = specs})(Pair{x, x}, x) : pmap(f, {.in_axes = specs})(Pair{x, x}, x); };
    EXPECT_TRUE(throws<TypeError>([&] { call({AxisSpec{each(0), each(0), each(0)}, each(0)}); }, {"in_axes"}));
    EXPECT_TRUE(throws<TypeError>([&] { call({each(0)}); }, {"in_axes"}));
    EXPECT_TRUE(throws<TypeError>([&] { call({each(0), each(0), each(0)}); }, {"in_axes"}));
    EXPECT_TRUE(same(call({AxisSpec{each(0), each(0)}, each(0)}), {3}, {0, 3, 6}));
  }
}

TEST(JaxCases, case_176_out_axes_that_do_not_follow_the_result) {
  using Pair = std::pair<Tensor<>, Tensor<>>;
  const auto f = [](Tensor<> x) { return std::pair(Pair{x, x}, x); };
  for (const bool by_vmap : {false, true}) {
    const auto call = [&](const AxisSpecs& specs) {
      const MapOptions options{.in_axes = each(0), .out_axes = specs};
      return by_vmap ? vmap(f, options)(arange<float>(3)) : pmap(f, options)(arange<float>(3));
    };
    EXPECT_TRUE(throws<TypeError>([&] { call({AxisSpec{each(0), each(0), each(0)}, each(0)}); }, {"out_axes"}));
    EXPECT_TRUE(throws<TypeError>([&] { call({each(0), each(0), each(0)}); }, {"out_axes"}));
    EXPECT_TRUE(same(call({AxisSpec{each(0), each(0)}, replicated}).second, {}, {0}));
  }
}

TEST(JaxCases, case_178_nothing_to_map) {
  using Map = std::map<std::string, Tensor<>>;
  const auto f = [](const Map&) { return Tensor<>(1.0f); };
  EXPECT_THROW(vmap(f)(Map{}), Error);
  EXPECT_TRUE(same(vmap(f, {.axis_size = 3})(Map{}), {3}, {1, 1, 1}));
  EXPECT_THROW(vmap(identity, {.in_axes = replicated})(Tensor<>(1.0f)), Error);
  // A pmap has a size without arguments: the number of devices.
  EXPECT_TRUE(same(pmap(f)(Map{}), {8}, std::vector<float>(8, 1)));
}

TEST(JaxCases, case_179_lists_of_devices) {
  const auto all = devices();
  EXPECT_TRUE(throws<DeviceError>([&] { pmap(identity, {.in_axes = each(0), .devices = {all[1], all[1]}})(arange<float>(2)); }, {"host:1"}));
  EXPECT_TRUE(throws<DeviceError>([&] { pmap(identity, {.in_axes = each(0), .devices = {all[0], Device{Platform::host, 99}}})(arange<float>(2)); }, {"host:99"}));
  EXPECT_TRUE(throws<DeviceError>([&] { pmap(identity, {.in_axes = each(0), .devices = {all[0], all[1]}})(arange<float>(3)); }, {"3", "2"}));
}

TEST(JaxCases, case_181_unbound_axis_names) {
  EXPECT_TRUE(throws<AxisError>([&] { over_i([](auto x) { return psum(x, "batch"); })(arange<float>(3)); }, {"psum", "\"batch\"", "\"i\""}));
  EXPECT_TRUE(throws<AxisError>([&] { pmap([](auto x) { return psum(x, "batch"); }, {.in_axes = each(0)})(arange<float>(3)); }, {"psum", "\"batch\""}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap([](auto x) { return psum(x, "batch"); }, "i")(arange<float>(3)); }, {"psum", "\"batch\"", "\"i\""}));
  EXPECT_TRUE(throws<AxisError>([&] { psum(arange<float>(3), "batch"); }, {"psum", "\"batch\""}));
  EXPECT_TRUE(throws<AxisError>([&] { psum(1.0, "batch"); }, {"psum", "\"batch\""}));
  EXPECT_TRUE(throws<AxisError>([&] { axis_index("batch"); }, {"axis_index", "\"batch\""}));
  EXPECT_TRUE(throws<AxisError>([&] { axis_size("batch"); }, {"axis_size", "\"batch\""}));
  EXPECT_TRUE(throws<AxisError>([&] { over_i([](auto x) { return psum(x, {"i", "i"}); })(arange<float>(3)); }, {"psum", "\"i\""}));
  EXPECT_FALSE(axis_in_scope("batch"));
  EXPECT_TRUE(same(over_i([](auto x) { return psum(x, "i"); })(arange<float>(3)), {3}, {3, 3, 3}));
}

TEST(JaxCases, case_182_bad_permutations) {
  for (const bool by_vmap : {false, true}) {
    const auto call = [&](auto f) { return by_vmap ? vmap(f, "i")(arange<float>(4)) : over_i(f)(arange<float>(4)); };
    EXPECT_TRUE(throws<AxisError>([&] { call([](auto x) { return ppermute(x, "i", {{0, 1}, {2, 1}}); }); }, {"ppermute", "1"})) << by_vmap;
    EXPECT_TRUE(throws<AxisError>([&] { call([](auto x) { return ppermute(x, "i", {{2, 0}, {2, 1}}); }); }, {"ppermute", "2"})) << by_vmap;
    EXPECT_TRUE(throws<AxisError>([&] { call([](auto x) { return ppermute(x, "i", {{0, 4}}); }); }, {"ppermute", "4"})) << by_vmap;
    EXPECT_TRUE(throws<AxisError>([&] { call([](auto x) { return ppermute(x, "i", {{-1, 0}}); }); }, {"ppermute", "-1"})) << by_vmap;
    EXPECT_TRUE(throws<AxisError>([&] { call([](auto x) { return pbroadcast(x, "i", 4); }); }, {"pbroadcast", "4"})) << by_vmap;
  }
}

TEST(JaxCases, case_187_sizes_under_vmap) {
  const auto add = [](Tensor<> x, Tensor<> y) { return sum(x) + sum(y); };
  EXPECT_TRUE(throws<ShapeError>([&] { vmap(add)(zeros<float>({10, 3}), zeros<float>({2, 3})); }, {"vmap", "10", "2"}));
  EXPECT_TRUE(throws<ShapeError>([&] { vmap(identity, {.axis_size = 2})(zeros<float>({8, 3})); }, {"vmap", "2", "8"}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap(identity, {.in_axes = 2})(zeros<float>({8, 3})); }, {"vmap", "2"}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap(identity, {.in_axes = -3})(zeros<float>({8, 3})); }, {"vmap", "-3"}));
}

TEST(JaxCases, case_188_result_axes_under_vmap) {
  EXPECT_TRUE(throws<AxisError>([&] { vmap(identity, {.out_axes = 2})(zeros<float>({8, 3})); }, {"vmap", "2"}));
  // JAX refuses None for what varies over the axis; replicated takes the first lane, as in pmap.
  EXPECT_TRUE(same(vmap(identity, {.out_axes = replicated})(array<float>({5, 6})), {}, {5}));
}

TEST(JaxCases, case_190_gradients_of_what_is_not_a_number) {
  EXPECT_TRUE(throws<ShapeError>([&] { grad([](Tensor<> x) { return x * x; })(arange<float>(3)); }, {"grad", "(3)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { grad([](Tensor<> x) { return reshape(sum(x), {1}); })(arange<float>(3)); }, {"grad", "(1)"}));
  // Integers have a zero gradient, where JAX has its own type for it.
  const auto g = grad([](std::pair<Tensor<>, Tensor<std::int32_t>> p) { return sum(p.first * cast<float>(p.second)); })(std::pair(arange<float>(3), arange<std::int32_t>(3)));
  EXPECT_TRUE(same(g.first, {3}, {0, 1, 2}));
  EXPECT_TRUE(same(g.second, {3}, {0, 0, 0}));
}

TEST(JaxCases, case_199_axis_size_and_data_disagree) {
  EXPECT_TRUE(throws<ShapeError>([&] { pmap(identity, {.in_axes = each(0), .axis_size = 4})(arange<float>(8)); }, {"pmap", "4", "8"}));
}

// What JAX does not check: the shards make different calls.
TEST(JaxCases, shards_that_disagree) {
  const auto call = [](auto f) { return [=] { over_i(f)(arange<float>(3)); }; };
  EXPECT_TRUE(throws<CollectiveMismatch>(call([](Tensor<> x) { return axis_index("i").item() == 1 ? pmax(x, "i") : psum(x, "i"); }), {"psum", "pmax"}));
  EXPECT_TRUE(throws<CollectiveMismatch>(call([](Tensor<> x) { return axis_index("i").item() == 2 ? x : psum(x, "i"); }), {"psum"}));
  EXPECT_TRUE(throws<std::out_of_range>(call([](Tensor<> x) {
                                          if (axis_index("i").item() == 1) throw std::out_of_range("mine");
                                          return psum(x, "i");
                                        }),
                                        {"mine"}));
  EXPECT_TRUE(same(over_i([](auto x) { return psum(x, "i"); })(arange<float>(3)), {3}, {3, 3, 3}));
}

}  // namespace
