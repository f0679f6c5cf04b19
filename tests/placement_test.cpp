// device_put and device_get: which device holds which block, that nothing moves twice, and what is wrong with a wrong call.
#include "support/check.hpp"

#include <map>

#include <spmd/transform/placement.hpp>

using namespace spmd;
using check::close, check::throws, check::D;

namespace {

const auto setup = (set_host_device_count(5), 0);
std::vector<Device> first(std::size_t n) {
  auto all = devices(Platform::host);
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}
D counting(const Shape& shape) { return reshape(arange<double>(static_cast<double>(shape.size())), shape); }
std::int64_t gathers() { return transfers().gathers.count; }

TEST(DevicePut, one_device) {
  const auto x = counting({3, 5});
  const auto y = device_put(x, devices()[3]);
  EXPECT_EQ(y.device(), devices()[3]);
  EXPECT_EQ(y.devices(), std::vector<Device>{devices()[3]});
  EXPECT_FALSE(y.is_sharded());
  EXPECT_EQ(y.shards(), 1);
  EXPECT_EQ(y.data(), x.data());  // the host's devices share their memory
  EXPECT_TRUE(close(y, x, 0));
  EXPECT_EQ(device_put(y, devices()[3]).any(), y.any());
  EXPECT_EQ(device_get(y).device(), devices()[0]);
}

TEST(DevicePut, blocks_are_views_of_the_leading_axis) {
  const auto x = counting({6, 5});
  const auto y = device_put(x, first(3), split(0));
  ASSERT_TRUE(y.is_sharded());
  ASSERT_EQ(y.shards(), 3);
  EXPECT_EQ(y.devices(), first(3));
  for (Index i = 0; i < 3; ++i) {
    EXPECT_EQ(y.shard(i).device(), devices()[static_cast<std::size_t>(i)]);
    EXPECT_EQ(y.shard(i).data(), x.data() + 10 * i);
    EXPECT_TRUE(close(y.shard(i), slice(x, 2 * i, 2 * i + 2, 0), 0));
  }
  EXPECT_EQ(y.shard(-1).data(), x.data() + 20);
  EXPECT_TRUE(throws<AxisError>([&] { y.shard(3); }, {"shard: index 3 is out of range for 3 shards"}));
}

TEST(DevicePut, blocks_of_other_axes) {
  const auto x = counting({3, 10});
  for (const auto& spec : {split(1), split(-1)}) {
    const auto y = device_put(x, first(5), spec);
    ASSERT_EQ(y.shards(), 5);
    for (Index i = 0; i < 5; ++i) EXPECT_TRUE(close(y.shard(i), slice(x, 2 * i, 2 * i + 2, 1), 0)) << i;
    EXPECT_TRUE(close(y, x, 0));
  }
  const auto z = device_put(x, first(3), each(0));
  for (Index i = 0; i < 3; ++i) EXPECT_EQ(z.shard(i).shape(), (Shape{1, 10})) << "all axes are kept";
}

TEST(DevicePut, copies) {
  const auto x = counting({3});
  const auto y = device_put(x, first(4), replicated);
  ASSERT_EQ(y.shards(), 4);
  EXPECT_EQ(y.shape(), x.shape());
  for (Index i = 0; i < 4; ++i) {
    EXPECT_EQ(y.shard(i).device(), devices()[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(close(y.shard(i), x, 0));
  }
  EXPECT_EQ(device_put(y, devices()[2]).device(), devices()[2]);
}

TEST(DevicePut, the_order_of_devices_counts) {
  const std::vector<Device> order{devices()[4], devices()[0], devices()[2]};
  const auto y = device_put(counting({3}), order, split(0));
  EXPECT_EQ(y.devices(), order);
  EXPECT_EQ(y.device(), devices()[4]);
  EXPECT_EQ(y.shard(0).item(), 0.0);
  EXPECT_EQ(y.shard(0).device(), devices()[4]);
}

TEST(DevicePut, a_pmap_takes_it_as_it_is) {
  const auto x = counting({10, 3});
  const auto y = device_put(x, devices(), split(0));
  const auto before = gathers();
  std::vector<const double*> seen(5);
  const auto look = [&](D block) {
    seen[static_cast<std::size_t>(axis_index("i").item())] = block.data();
    return block * 2.0;
  };
  const auto z = pmap(look, {.axis_name = "i", .in_axes = split(0)})(y);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(seen[i], y.shard(static_cast<Index>(i)).data()) << i;
  EXPECT_EQ(gathers(), before);
  EXPECT_TRUE(close(z, x * 2.0, 0));

  // Blocks that lie apart are copied once, by device_put, and never again.
  const auto columns = device_put(counting({3, 5}), devices(), each(1));
  const auto rows = pmap([&](D column) {
    seen[static_cast<std::size_t>(axis_index("i").item())] = column.data();
    return column;
  }, {.axis_name = "i", .in_axes = each(1)})(columns);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(seen[i], columns.shard(static_cast<Index>(i)).data()) << i;
  EXPECT_TRUE(close(rows, transpose(counting({3, 5})), 0));
  // And what a pmap returned is where device_put would put it.
  EXPECT_EQ(device_put(z, devices(), split(0)).any(), z.any());
  EXPECT_EQ(device_put(y, devices(), split(0)).any(), y.any());
}

TEST(DevicePut, from_one_sharding_to_another) {
  const auto x = counting({6, 3, 2});
  for (const auto& from : {split(0), each(1), replicated, split(-2)})
    for (const auto& to : {split(0), split(1), replicated}) EXPECT_TRUE(close(device_put(device_put(x, first(3), from), first(3), to), x, 0));
  EXPECT_TRUE(close(device_put(device_put(x, first(3), split(0)), first(2), split(0)).shard(1), slice(x, 3, 6, 0), 0));
  // A part of a block is a view of it.
  const auto halves = device_put(x, first(2), split(0));
  EXPECT_EQ(device_put(halves, {devices()[0], devices()[1], devices()[2], devices()[3], devices()[4]}, replicated).shards(), 5);
}

TEST(DeviceGet, in_one_piece_on_the_first_device) {
  const auto x = counting({10, 2});
  const auto y = pmap([](D b) { return b + 1.0; })(x);
  const auto before = gathers();
  const auto z = device_get(y);
  EXPECT_EQ(gathers(), before + 1);
  EXPECT_FALSE(z.is_sharded());
  EXPECT_EQ(z.device(), devices()[0]);
  EXPECT_TRUE(close(z, x + 1.0, 0));
  EXPECT_FALSE(device_get(device_put(x, first(4), replicated)).is_sharded());
  EXPECT_EQ(gathers(), before + 1);  // a copy is there already
  EXPECT_EQ(device_get(x).any(), x.any());
}

struct Net {
  D w, b;
  int layers;
};

TEST(DevicePut, replicated_numbers_meet_other_tensors) {
  const auto two = device_put(D(2), first(3), replicated);
  for (Index n : {3, 6, 6000}) {
    const auto five = full<double>({n}, 5), three = full<double>({n}, 3);
    EXPECT_TRUE(close(five - two, three, 0)) << n;
    EXPECT_TRUE(close(two * five, full<double>({n}, 10), 0)) << n;
    EXPECT_TRUE(close(where(two < five, two, five), full<double>({n}, 2), 0)) << n;
    EXPECT_TRUE(close(device_put(five, first(3), split(0)) - two, three, 0)) << n;
    EXPECT_TRUE(close(device_put(five, first(3), replicated) - two, three, 0)) << n;
    EXPECT_TRUE(close(device_put(five, first(2), replicated) - two, three, 0)) << n;
  }
}

TEST(DevicePut, trees) {
  const auto tree = std::tuple(counting({6}), std::map<std::string, D>{{"a", counting({3, 2})}, {"b", counting({9})}}, 7, std::string("static"), Key(3));
  const auto [x, map, number, text, key] = device_put(tree, first(3), AxisSpec{split(0), split(0), replicated, replicated, replicated});
  EXPECT_EQ(x.shards(), 3);
  EXPECT_EQ(map.at("a").shard(2).shape(), (Shape{1, 2}));
  EXPECT_EQ(map.at("b").shard(2).shape(), (Shape{3}));
  EXPECT_EQ(number, 7);
  EXPECT_EQ(text, "static");
  EXPECT_EQ(key.words().shards(), 3);
  const auto net = device_put(Net{counting({3, 4}), counting({4}), 2}, first(2), AxisSpec{split(1), replicated, replicated});
  EXPECT_EQ(net.w.shard(1).shape(), (Shape{3, 2}));
  EXPECT_EQ(net.b.shard(1).shape(), (Shape{4}));
  EXPECT_EQ(net.layers, 2);
  EXPECT_FALSE(device_get(net).w.is_sharded());
  // Keys are split by their own leading axes.
  const auto keys = Key::from_words(reshape(arange<std::uint32_t>(12), Shape{6, 2}));
  EXPECT_EQ(device_put(keys, first(3), split(0)).words().shard(0).shape(), (Shape{2, 2}));
}

TEST(DevicePut, wrong_calls) {
  const auto x = counting({7, 4});
  EXPECT_TRUE(throws<ShapeError>([&] { device_put(x, first(3), split(0)); }, {"device_put: leaf of shape (7, 4) has size 7 on axis 0, which does not divide by 3 devices", "pad_to_multiple(x, 3, 0)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { device_put(std::tuple(counting({3}), x), first(3), split(0)); }, {"device_put: leaf [1] of shape (7, 4)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { device_put(x, first(3), each(1)); }, {"device_put: ", "(7, 4) has size 4 on axis 1, there are 3 devices"}));
  EXPECT_TRUE(throws<ShapeError>([&] { device_put(D(1.0), first(3), split(0)); }, {"device_put: ", "rank 0", "replicated"}));
  EXPECT_TRUE(throws<AxisError>([&] { device_put(x, first(3), split(2)); }, {"device_put: axis 2 is out of range", "rank 2"}));
  EXPECT_TRUE(throws<AxisError>([&] { device_put(x, first(3), split(-3)); }, {"device_put: axis -3 is out of range"}));
  EXPECT_TRUE(throws<TypeError>([&] { device_put(std::tuple(x, x), first(2), AxisSpec{split(1), split(1), split(1)}); }, {"device_put: ", "3 specs", "2 members"}));
  EXPECT_TRUE(throws<DeviceError>([&] { device_put(x, Device{Platform::host, 5}); }, {"device_put: there is no device host:5; there are 5 host devices"}));
  EXPECT_TRUE(throws<DeviceError>([&] { device_put(x, Device{Platform::cuda, 0}); }, {"device_put: there is no device cuda:0"}));
  EXPECT_TRUE(throws<DeviceError>([&] { device_put(x, {devices()[1], devices()[0], devices()[1]}, replicated); }, {"device_put: the device host:1 is given twice"}));
  EXPECT_TRUE(throws<DeviceError>([&] { device_put(x, std::vector<Device>{}, replicated); }, {"device_put: the list of devices is empty"}));
}

TEST(DevicePut, inside_grad_and_maps) {
  const auto x = counting({6});
  const auto loss = [](D v) { return sum(square(device_put(v, first(3), split(0)) * 3.0)); };
  EXPECT_TRUE(close(grad(loss)(x), x * 18.0));
  EXPECT_TRUE(close(grad([&](D v) { return sum(square(grad(loss)(v))); })(x), x * 648.0));
  const auto rows = counting({5, 6});
  EXPECT_TRUE(close(vmap([](D v) { return sum(device_put(v, first(2), split(0))) + sum(device_get(v)); })(rows), sum(rows, 1) * 2.0));
  EXPECT_TRUE(close(pmap([](D v) { return device_put(v, current_device()) * 2.0; })(rows), rows * 2.0));
}

TEST(DevicePut, empty_and_single) {
  EXPECT_EQ(device_put(zeros<double>({0, 3}), first(3), split(0)).shape(), (Shape{0, 3}));
  EXPECT_EQ(device_get(device_put(zeros<double>({0, 3}), first(3), split(1))).shape(), (Shape{0, 3}));
  const auto one = device_put(counting({3}), {devices()[1]}, split(0));
  EXPECT_EQ(one.device(), devices()[1]);
  EXPECT_FALSE(one.is_sharded());
}

TEST(Synchronize, stores_what_is_pending) {
  const auto x = full<double>({50, 50}, 2.0);
  const auto y = x * 3.0 + 1.0;
  synchronize(std::tuple(y, 3, Key(0)));
  EXPECT_EQ(y.at({49, 49}), 7.0);
  const auto z = device_put(x, devices(), split(0)) * 2.0;
  synchronize(z);
  EXPECT_TRUE(z.is_sharded());
  EXPECT_EQ(z.shard(4).at({9, 49}), 4.0);
  synchronize();
  vmap([](D v) { synchronize(v); return v; })(x);
}

}  // namespace
