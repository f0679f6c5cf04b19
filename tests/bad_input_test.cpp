// Wrong calls: the type and the text of each error, before any shard starts; afterwards everything works as before.
#include "support/check.hpp"

using namespace spmd;
using check::D, check::over, check::throws;

namespace {

const auto setup = (set_host_device_count(3), 0);
int started = 0;
/// A body that must not run.
const auto body = [](D x) {
  ++started;
  return x;
};
const auto two = [](D x, D y) {
  ++started;
  return x + y;
};

struct BadInput : ::testing::Test {
  void SetUp() override {
    set_host_device_count(3);
    started = 0;
  }
  void TearDown() override {
    EXPECT_EQ(started, 0) << "a shard was started";
    EXPECT_EQ(pmap([](D x) { return psum(x, "i"); }, "i")(D({3}, {1, 2, 3})).to_vector(), std::vector<double>({6, 6, 6}));
  }
};

TEST_F(BadInput, RowsNotDivisible) {
  EXPECT_TRUE(throws<ShapeError>([] { pmap(body)(zeros<double>({1000, 4})); }, {"pmap: argument 0", "(1000, 4)", "1000", "3 devices", "999 and 1002", "pad"}));
  EXPECT_TRUE(throws<ShapeError>([] { pmap(body)(zeros<double>({2})); }, {"size 2", "are 3", "pad_to_multiple"}));
  struct Batch {
    D x, y;
  };
  auto f = [](Batch b) { return ++started, b.x; };
  EXPECT_TRUE(throws<ShapeError>([&] { pmap(f)(Batch{zeros<double>({6}), zeros<double>({7})}); }, {"argument 0[1]", "7"}));
  auto g = [](std::map<std::string, D> b) { return ++started, b["a"]; };
  EXPECT_TRUE(throws<ShapeError>([&] { pmap(g)(std::map<std::string, D>{{"a", zeros<double>({6})}, {"b", zeros<double>({4})}}); }, {"argument 0[\"b\"]", "4"}));
}
TEST_F(BadInput, AxesDisagree) {
  auto f = [](D a, D b, D c) { return ++started, a + b + c; };
  EXPECT_TRUE(throws<ShapeError>([&] { vmap(f)(zeros<double>({3}), zeros<double>({5}), zeros<double>({3})); }, {"argument 1 has size 5", "argument 0 has size 3"}));
  EXPECT_FALSE(throws<ShapeError>([&] { vmap(f)(zeros<double>({3}), zeros<double>({5}), zeros<double>({3})); }, {"argument 2"}));
  EXPECT_TRUE(throws<ShapeError>([&] { pmap(two, {.in_axes = each(0)})(zeros<double>({3}), zeros<double>({2})); }, {"differ in size", "argument 1 has size 2"}));
  EXPECT_TRUE(throws<ShapeError>([&] { pmap(body, {.in_axes = each(0), .axis_size = 2})(zeros<double>({3})); }, {"axis_size is 2", "size 3"}));
  EXPECT_TRUE(throws<ShapeError>([&] { vmap([] { return ++started, D(1.0); })(); }, {"axis_size"}));
}
TEST_F(BadInput, SizesThatNoMemoryHolds) {
  const Index big = Index{1} << 32;
  EXPECT_TRUE(throws<ShapeError>([&] { zeros<float>({big, big}); }, {"(4294967296, 4294967296)", "64 bits"}));
  EXPECT_TRUE(throws<ShapeError>([&] { eye<float>(big); }, {"64 bits"}));
  EXPECT_TRUE(throws<ShapeError>([&] { broadcast_to(D(1.0), {big, big}); }, {"64 bits"}));
  EXPECT_TRUE(throws<ShapeError>([&] { tile(zeros<double>({8}), {Index{1} << 62}); }, {"64 bits"}));
  EXPECT_TRUE(throws<ShapeError>([&] { pad(zeros<double>({8}), {Index{1} << 62}, {Index{1} << 62}); }, {"pad: "}));
  EXPECT_TRUE(throws<DeviceError>([&] { zeros<float>({Index{1} << 61}); }, {"memory: ", "float32"}));
  EXPECT_TRUE(throws<DeviceError>([&] { zeros<float>({Index{1} << 46}); }, {"memory: ", "float32"}));
  EXPECT_TRUE(throws<DeviceError>([&] { zeros<float>({Index{1} << 42}); }, {"memory: "}));
  EXPECT_TRUE(throws<ShapeError>([&] { diag(zeros<double>({8}), std::numeric_limits<Index>::min()); }, {"diag: "}));
  EXPECT_TRUE(throws<ShapeError>([&] { conv2d(zeros<double>({1, 4, 4, 1}), zeros<double>({2, 2, 1, 1}), {.padding = Index{1} << 62}); }, {"conv2d: "}));
  EXPECT_EQ(over([](D x) { return pshift(x, "i", std::numeric_limits<Index>::min()); })(D({3}, {1, 2, 3})).to_vector(), std::vector<double>(3, 0));
  EXPECT_TRUE(throws<ShapeError>([&] { reshape(zeros<double>({8}), {big, big, -1}); }, {"64 bits"}));
  EXPECT_TRUE(throws<ShapeError>([&] { arange<float>(0, 1e30f); }, {"arange: "}));
}
TEST_F(BadInput, NegativeSizes) {
  EXPECT_TRUE(throws<ShapeError>([] { zeros<float>({-1}); }, {"zeros: ", "(-1)"}));
  EXPECT_TRUE(throws<ShapeError>([] { eye<float>(-2); }, {"eye: "}));
  EXPECT_TRUE(throws<ShapeError>([] { broadcast_to(ones<float>({1}), {-1}); }, {"broadcast_to: ", "(-1)"}));
}
TEST_F(BadInput, SpecsOfAMesh) {
  const auto mesh = make_mesh({{"a", 3}, {"b", 1}});
  auto pair = [](D x) { return ++started, std::pair(x, x); };
  auto second = [](D x, std::tuple<D, D>) { return ++started, x; };
  EXPECT_TRUE(throws<ShapeError>([&] { shard_map(body, mesh, P("a"), P("a"))(zeros<double>({7})); }, {"shard_map: argument 0 of shape (7)", "axis 0", "3 blocks", "pad_to_multiple(x, 3, 0)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { shard_map(second, mesh, P(names{"b", "a"}), P("a"))(zeros<double>({3}), std::tuple(zeros<double>({3}), zeros<double>({4}))); }, {"shard_map: argument 1[1] of shape (4)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { shard_map(body, mesh, P("a", "b"), P("a"))(zeros<double>({3})); }, {"shard_map: argument 0 of shape (3) has fewer dimensions"}));
  EXPECT_TRUE(throws<TypeError>([&] { shard_map(pair, mesh, P("a"), {P("a"), P(), P()})(zeros<double>({3})); }, {"shard_map: out_specs lists 3 specs", "2 members"}));
  EXPECT_TRUE(throws<TypeError>([&] { shard_map(body, mesh, P("a"), {P("a"), P()})(zeros<double>({3})); }, {"shard_map: out_specs lists 2 specs", "1 member"}));
  EXPECT_TRUE(throws<TypeError>([&] { shard_map(body, mesh, {P("a"), P()}, P("a"))(zeros<double>({3})); }, {"shard_map: in_specs lists 2 specs", "1 argument"}));
}
TEST(BadResult, OutAxesNameTheResult) {
  struct Two {
    D a, b;
  };
  auto f = [](D x) { return std::pair(x, Two{x, x}); };
  EXPECT_TRUE(throws<TypeError>([&] { vmap(f, {.out_axes = {0, AxisSpec{0, 0, 0}}})(zeros<double>({3})); }, {"out_axes lists 3 specs for result[1]", "2 members"}));
}
TEST(BadResult, IndicesNameTheAxisOfTheLane) {
  auto f = [](D x) { return take(x, array<int>({4}), 0); };
  EXPECT_TRUE(throws<AxisError>([&] { f(zeros<double>({4})); }, {"take: index 4 is out of range for axis 0 of size 4"}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap(vmap(f))(zeros<double>({2, 3, 4})); }, {"take: index 4 is out of range for axis 0 of size 4"}));
}
TEST_F(BadInput, InAxes) {
  EXPECT_TRUE(throws<TypeError>([] { pmap(two, {.in_axes = {0}})(zeros<double>({3}), zeros<double>({3})); }, {"in_axes lists 1 specs", "2 arguments"}));
  EXPECT_TRUE(throws<TypeError>([] { vmap(body, {.in_axes = {0, 0}})(zeros<double>({3})); }, {"in_axes lists 2", "1 argument"}));
  auto f = [](std::pair<D, D> p, D y) { return ++started, p.first + y; };
  const auto x = std::pair(zeros<double>({3}), zeros<double>({3}));
  EXPECT_TRUE(throws<TypeError>([&] { pmap(f, {.in_axes = {{0, 0, 0}, 0}})(x, zeros<double>({3})); }, {"in_axes lists 3 specs for argument 0", "2 members"}));
  EXPECT_TRUE(throws<TypeError>([&] { pmap(f, {.in_axes = {{0, {0, 0}}, 0}})(x, zeros<double>({3})); }, {"argument 0[1]", "single value"}));
  EXPECT_TRUE(throws<AxisError>([] { pmap(body, {.in_axes = 1})(zeros<double>({3})); }, {"axis 1", "argument 0", "rank 1"}));
  EXPECT_TRUE(throws<AxisError>([] { vmap(body, {.in_axes = -2})(zeros<double>({3})); }, {"axis -2", "rank 1"}));
}
TEST_F(BadInput, OutAxes) {
  auto pair = [](D x) { return ++started, std::pair(x, x); };
  EXPECT_TRUE(throws<TypeError>([&] { pmap(pair, {.out_axes = {0, 0, 0}})(zeros<double>({3})); }, {"out_axes lists 3 specs", "2 members"}));
  EXPECT_TRUE(throws<TypeError>([&] { pmap(body, {.out_axes = {0, 0}})(zeros<double>({3})); }, {"out_axes lists 2 specs", "1 member"}));
  EXPECT_TRUE(throws<AxisError>([&] { pmap([](D x) { return x; }, {.out_axes = 2})(zeros<double>({3})); }, {"axis 2", "result", "rank 1"}));
}
TEST_F(BadInput, Names) {
  EXPECT_TRUE(throws<AxisError>([] { pmap([](D x) { return psum(x, "j"); }, "i")(zeros<double>({3})); }, {"psum", "no axis named \"j\"", "axes in scope: \"i\""}));
  EXPECT_TRUE(throws<AxisError>([] { pmap([](D x) { return pmap(body, "i")(x); }, "i")(zeros<double>({3})); }, {"\"i\" is in scope already"}));
  EXPECT_TRUE(throws<AxisError>([] { pmap([](D x) { return psum(x, {"i", "i"}); }, "i")(zeros<double>({3})); }, {"\"i\" is named twice"}));
  for (int which = 0; which < 8; ++which)
    EXPECT_TRUE(throws<AxisError>([&] {
      const D x(1.0);
      if (which == 0) psum(x, "i");
      if (which == 1) pmean(x, "i");
      if (which == 2) pmax(x, "i");
      if (which == 3) all_gather(x, "i");
      if (which == 4) ppermute(x, "i", {{0, 1}});
      if (which == 5) pbroadcast(x, "i", 0);
      if (which == 6) axis_index("i");
      if (which == 7) axis_size("i");
    }, {"no axis named \"i\"", "none"})) << which;
}
TEST_F(BadInput, Devices) {
  auto host = devices(Platform::host);
  EXPECT_TRUE(throws<DeviceError>([] { pmap(body, {.in_axes = each(0)})(zeros<double>({4})); }, {"size 4 needs 4 devices", "there are 3"}));
  EXPECT_TRUE(throws<DeviceError>([] { pmap(body, {.axis_size = 4})(zeros<double>({4})); }, {"needs 4 devices"}));
  EXPECT_TRUE(throws<DeviceError>([&] { pmap(body, {.devices = {host[0], host[1], host[0]}})(zeros<double>({3})); }, {"host:0 is given twice"}));
  EXPECT_TRUE(throws<DeviceError>([&] { pmap(body, {.devices = {Device{Platform::host, 7}}})(zeros<double>({3})); }, {"no device host:7"}));
  EXPECT_TRUE(throws<DeviceError>([&] { pmap(body, {.devices = {Device{Platform::cuda, 0}}})(zeros<double>({3})); }, {"cuda:0"}));
  EXPECT_TRUE(throws<DeviceError>([] { set_host_device_count(0); }, {"set_host_device_count"}));
  EXPECT_TRUE(throws<DeviceError>([] { set_default_devices({}); }, {"empty"}));
  EXPECT_TRUE(throws<DeviceError>([] { pmap([](D x) { set_host_device_count(2); return x; })(zeros<double>({3})); }, {"a map is running"}));
}
TEST_F(BadInput, EmptyDeviceListIsTheDefault) {
  EXPECT_TRUE(throws<DeviceError>([] { set_default_devices(std::vector<Device>{}); }, {"empty"}));
}
TEST_F(BadInput, RankZeroAndEmptyAxes) {
  EXPECT_TRUE(throws<ShapeError>([] { pmap(body)(D(1.0)); }, {"argument 0 has rank 0", "replicated"}));
  EXPECT_TRUE(throws<ShapeError>([] { vmap(body)(D(1.0)); }, {"rank 0", "replicated"}));
  EXPECT_TRUE(throws<ShapeError>([] { pmap(body)(zeros<double>({0, 2})); }, {"size 0"}));
  EXPECT_TRUE(throws<ShapeError>([] { pmap(body, {.in_axes = each(0)})(zeros<double>({0})); }, {"size 0"}));
}
TEST_F(BadInput, Operations) {
  EXPECT_TRUE(throws<ShapeError>([] { zeros<double>({2, 3}) + zeros<double>({4}); }, {"add", "(2, 3)", "(4)", "3 and 4"}));
  EXPECT_TRUE(throws<ShapeError>([] { matmul(zeros<double>({2, 3}), zeros<double>({4, 5})); }, {"matmul", "(2, 3)", "(4, 5)", "3 and 4"}));
  EXPECT_TRUE(throws<ShapeError>([] { matmul(D(1.0), zeros<double>({4})); }, {"matmul", "rank 1 or more"}));
  EXPECT_TRUE(throws<AxisError>([] { sum(zeros<double>({2}), 1); }, {"sum", "axis 1", "rank 1"}));
  EXPECT_TRUE(throws<AxisError>([] { sum(zeros<double>({2, 2}), {0, -2}); }, {"sum", "twice"}));
  EXPECT_TRUE(throws<ShapeError>([] { max(zeros<double>({0})); }, {"max", "empty"}));
  EXPECT_TRUE(throws<ShapeError>([] { reshape(zeros<double>({6}), {4, -1}); }, {"reshape", "(4, -1)", "6 elements"}));
  EXPECT_TRUE(throws<ShapeError>([] { slice(zeros<double>({6}), {2}, {9}); }, {"slice", "[2, 9)", "axis 0"}));
  EXPECT_TRUE(throws<AxisError>([] { take(zeros<double>({6}), Tensor<int>({2}, {0, 6}), 0); }, {"take", "index 6", "size 6"}));
  EXPECT_TRUE(throws<AxisError>([] { zeros<double>({6})[6]; }, {"index 6"}));
  EXPECT_TRUE(throws<AxisError>([] { zeros<double>({6, 2}).at({0, -3}); }, {"at", "index -3", "axis 1"}));
  EXPECT_TRUE(throws<ShapeError>([] { zeros<double>({2}).item(); }, {"item", "(2)"}));
  EXPECT_TRUE(throws<ShapeError>([] { D({2, 2}, {1, 2, 3}); }, {"(2, 2)", "4 elements, got 3"}));
}
TEST_F(BadInput, TracedValues) {
  EXPECT_TRUE(throws<AxisError>([] { vmap([](D x) { return D(x.item()); })(zeros<double>({3})); }, {"item", "mapped by vmap", "where or cond"}));
  EXPECT_TRUE(throws<AxisError>([] { vmap([](D x) { return D(x.data()[0]); })(zeros<double>({3})); }, {"data"}));
  EXPECT_TRUE(throws<ShapeError>([] { grad([](D x) { return x; })(zeros<double>({3})); }, {"grad", "rank 0", "(3)"}));
  auto pull = vjp([](D x) { return x * 2.0; }, zeros<double>({3})).second;
  EXPECT_TRUE(throws<ShapeError>([&] { pull(zeros<double>({4})); }, {"vjp", "(4)", "(3)"}));
}
TEST_F(BadInput, Collectives) {
  auto in_map = [](auto f) { return [f] { pmap([f](D x) { return f(x); }, "i")(zeros<double>({3})); }; };
  EXPECT_TRUE(throws<AxisError>(in_map([](D x) { return ppermute(x, "i", {{0, 3}}); }), {"ppermute", "destination 3", "size 3"}));
  EXPECT_TRUE(throws<AxisError>(in_map([](D x) { return ppermute(x, "i", {{0, 1}, {0, 2}}); }), {"source 0 is named twice"}));
  EXPECT_TRUE(throws<AxisError>(in_map([](D x) { return ppermute(x, "i", {{0, 1}, {2, 1}}); }), {"destination 1 is named twice"}));
  EXPECT_TRUE(throws<AxisError>(in_map([](D x) { return pbroadcast(x, "i", -1); }), {"pbroadcast", "source -1"}));
  EXPECT_TRUE(throws<AxisError>(in_map([](D x) { return all_gather(x, "i", {.dim = 3}); }), {"all_gather", "axis 3"}));
  EXPECT_TRUE(throws<AxisError>(in_map([](D x) { return all_gather(x[0], "i", {.tiled = true}); }), {"all_gather", "rank 0"}));
}
TEST(EmptyTensors, WorkWhereNumPysDo) {
  const D e = zeros<double>({0, 3});
  EXPECT_EQ((e + 1.0).shape(), (Shape{0, 3}));
  EXPECT_EQ(sum(e, 0).to_vector(), std::vector<double>({0, 0, 0}));
  EXPECT_EQ(prod(e).item(), 1.0);
  EXPECT_EQ(matmul(zeros<double>({2, 0}), zeros<double>({0, 2})).to_vector(), std::vector<double>(4, 0.0));
  EXPECT_EQ(concatenate({e, ones<double>({1, 3})}).shape(), (Shape{1, 3}));
  EXPECT_EQ(transpose(e).shape(), (Shape{3, 0}));
  EXPECT_EQ(vmap([](D x) { return x * 2.0; })(e).shape(), (Shape{0, 3}));
  EXPECT_EQ(pmap([](D x) { return psum(x, "i"); }, {.axis_name = "i", .in_axes = 1})(e).shape(), (Shape{0, 1}));
  EXPECT_TRUE(std::isnan(mean(e).item()));
}

}  // namespace
