// Every way of calling that the contract promises, and trees of every kind. All of it compiles without warnings.
#include "support/check.hpp"

using namespace spmd;
using check::close, check::D;

namespace {

const auto setup = (set_host_device_count(4), 0);
using F = Tensor<float>;
F shares(F x) { return x / psum(sum(x), "i"); }
struct Shares {
  F operator()(F x) const { return shares(x); }
};
struct Params {
  F w, b;
};
template <class T> struct Net {
  Tensor<T> w;
  Tensor<int> steps;
};
struct Own {
  F hidden;
  std::string name;
  auto tree_members() { return std::tie(hidden); }
  auto tree_members() const { return std::tie(hidden); }
};
const F x4({4}, {1, 2, 3, 4}), share({4}, {0.1f, 0.2f, 0.3f, 0.4f});

TEST(Forms, OfPmap) {
  const std::string name = "i";
  EXPECT_TRUE(close(pmap(shares, "i")(x4), share, 1e-6));
  EXPECT_TRUE(close(pmap(shares, name)(x4), share, 1e-6));
  EXPECT_TRUE(close(pmap(shares, {.axis_name = "i"})(x4), share, 1e-6));
  EXPECT_TRUE(close(pmap<Shares>("i")(x4), share, 1e-6));
  EXPECT_TRUE(close(pmap<shares>("i")(x4), share, 1e-6));
  EXPECT_TRUE(close(pmap([](F x) { return x + 1; })(x4), x4 + 1, 1e-6));
  const PmapOptions options{.axis_name = "i", .in_axes = split(0), .axis_size = 2};
  EXPECT_EQ(pmap(shares, options)(x4).shape(), (Shape{4}));
  EXPECT_EQ(pmap([](F x) { return sum(x); }, {.in_axes = split(0), .axis_size = 2})(x4).to_vector(), std::vector<float>({3, 7}));
}
TEST(Forms, OfVmap) {
  EXPECT_TRUE(close(vmap([](F x) { return x / psum(x, "i"); }, "i")(x4), share, 1e-6));
  EXPECT_TRUE(close(vmap(shares, {.axis_name = "i", .in_axes = split(0), .axis_size = 4})(x4), share, 1e-6));
  EXPECT_TRUE(close(vmap([](F a, F b) { return a * b; }, {.in_axes = {0, replicated}})(x4, F(2.0f)), x4 * 2, 1e-6));
  EXPECT_EQ(vmap([](F x) { return x; }, {.in_axes = replicated, .axis_size = 3})(F(1.0f)).shape(), (Shape{3}));
}
TEST(Forms, OfSpecs) {
  const F m = reshape(arange<float>(16), {4, 4});
  auto add = [](F a, F b) { return a + b; };
  EXPECT_TRUE(close(pmap(add, {.in_axes = {0, replicated}})(m, F(1.0f)), m + 1));
  EXPECT_TRUE(close(pmap(add, {.in_axes = {each(1), each(0)}, .out_axes = each(1)})(m, m), m + transpose(m)));
  EXPECT_TRUE(close(pmap([](F a) { return a; }, {.in_axes = split(-1), .out_axes = 1})(m), m));
  auto by_params = [](Params p, F x) { return p.w * x + p.b; };
  EXPECT_TRUE(close(pmap(by_params, {.in_axes = {replicated, 0}})(Params{F(2.0f), F(1.0f)}, x4), x4 * 2 + 1));
  EXPECT_TRUE(close(pmap(by_params, {.in_axes = {{0, replicated}, 0}})(Params{x4, F(1.0f)}, x4), x4 * x4 + 1));
  auto [a, b] = pmap([](F x) { return std::pair(x, psum(x, "i")); }, {.axis_name = "i", .out_axes = {0, replicated}})(x4);
  EXPECT_TRUE(close(a, x4) && close(b, F({1}, {10})));
  auto p = pmap([](F x) { return Params{x, psum(x, "i")}; }, {.axis_name = "i", .out_axes = AxisSpec{0, replicated}})(x4);
  EXPECT_TRUE(close(p.w, x4) && close(p.b, F({1}, {10})));
  EXPECT_EQ(p.b.devices().size(), 4u);
  auto pick = [](std::tuple<F, std::pair<F, F>> t) { return std::get<0>(t) + std::get<1>(t).second; };
  EXPECT_TRUE(close(pmap(pick, {.in_axes = {{0, {replicated, 0}}}})(std::tuple(x4, std::pair(F(1.0f), x4))), x4 + x4));
}
TEST(Forms, StaticArgumentsAndNumbers) {
  auto scaled = [](F x, float k, const std::string& name, int n) { return x * k + static_cast<float>(name.size()) + static_cast<float>(n); };
  EXPECT_TRUE(close(pmap(scaled)(x4, 2.0f, std::string("abc"), 4), x4 * 2 + 7));
  EXPECT_TRUE(close(vmap(scaled)(x4, 2.0f, std::string("abc"), 4), x4 * 2 + 7));
  auto [three, index] = pmap([](F) { return std::pair(3, 2.5); })(x4);
  EXPECT_EQ(three.to_vector(), std::vector<int>(4, 3));
  EXPECT_EQ(index.to_vector(), std::vector<double>(4, 2.5));
  std::atomic<int> calls = 0;
  pmap([&](F) { ++calls; })(x4);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(psum(2.0, {}), 2.0);
  EXPECT_EQ(pmap([](F) { return psum(1, "i"); }, "i")(x4).to_vector(), std::vector<int>(4, 4));
}
TEST(Forms, AxisNames) {
  const std::vector<std::string> both = {"i", "j"};
  auto f = pmap([&](F x) { return vmap([&](F y) { return psum(y, both) + psum(y, {"j", "i"}) + psum(y, {}) + (axis_in_scope("j") ? 0.0f : 1.0f); }, "j")(x); }, "i");
  EXPECT_TRUE(close(f(x4), x4 + 20));
  EXPECT_FALSE(axis_in_scope("i"));
}
TEST(Trees, EveryKind) {
  using Tree = std::tuple<std::map<std::string, F>, std::vector<F>, std::array<F, 2>, std::optional<F>, std::optional<F>, std::unordered_map<int, F>, Own, Params>;
  const Tree t{{{"b", x4}, {"a", x4 * 2}}, {x4, x4}, {x4, x4 * 3}, x4, std::nullopt, {{2, x4}, {1, x4}}, Own{x4, "kept"}, Params{x4, x4}};
  const auto out = pmap([](Tree u) { return tree_map([](F x) { return x + 1; }, u); })(t);
  EXPECT_TRUE(close(std::get<0>(out).at("a"), x4 * 2 + 1));
  EXPECT_TRUE(close(std::get<2>(out)[1], x4 * 3 + 1));
  EXPECT_FALSE(std::get<4>(out));
  EXPECT_EQ(std::get<6>(out).name, "kept");
  EXPECT_TRUE(close(std::get<7>(out).b, x4 + 1));
  EXPECT_EQ(tree_leaves(t).size(), 12u);
  EXPECT_EQ(tree_size(t), 48);
  const auto added = tree_map([](F a, F b) { return a - b; }, out, t);
  for (auto& leaf : tree_leaves(added)) EXPECT_TRUE(close(leaf, F({4}, {1, 1, 1, 1})));
}
TEST(Trees, TypesFollow) {
  auto pair = tree_map([](F x) { return x > 2.0f; }, Params{x4, x4});
  static_assert(std::is_same_v<decltype(pair), std::tuple<Tensor<bool>, Tensor<bool>>>);
  const auto net = tree_cast<double>(Net<float>{x4, Tensor<int>(3)});
  static_assert(std::is_same_v<decltype(net), const Net<double>>);
  EXPECT_EQ(net.steps.item(), 3);
  EXPECT_TRUE(close(global_norm(net), std::sqrt(30.0)));
  EXPECT_TRUE(close(global_norm(Params{F({2}, {1, 2}), F({2}, {2, 4})}), F(5.0f)));
  EXPECT_THROW(tree_map([](F a, F b) { return a + b; }, std::vector<F>{x4}, std::vector<F>{x4, x4}), TypeError);
}
TEST(Padding, ToAMultiple) {
  auto [padded, mask] = pad_to_multiple(Params{arange<float>(5), reshape(arange<float>(10), {5, 2})}, 4);
  EXPECT_EQ(padded.w.shape(), (Shape{8}));
  EXPECT_EQ(padded.b.shape(), (Shape{8, 2}));
  EXPECT_EQ(mask.to_vector(), std::vector<bool>({true, true, true, true, true, false, false, false}));
  EXPECT_TRUE(close(slice(padded.w, 0, 5, 0), arange<float>(5)));
  EXPECT_EQ(pad_to_multiple(x4, 4).first.shape(), (Shape{4}));
}
TEST(Values, ShardedStaysSharded) {
  auto f = pmap([](F x) { return x * 2; });
  const F y = f(x4);
  EXPECT_TRUE(y.is_sharded());
  EXPECT_EQ(y.shards(), 4);
  EXPECT_EQ(y.shard(2).to_vector(), std::vector<float>{6});
  const auto before = transfers().gathers.count;
  const F z = f(y + y * 0.5f - 1);
  EXPECT_TRUE(z.is_sharded());
  EXPECT_EQ(transfers().gathers.count, before) << "something was gathered on the way";
  EXPECT_TRUE(close(z, (x4 * 3 - 1) * 2));
  EXPECT_EQ(transfers().gathers.count, before + 1);
}

}  // namespace
