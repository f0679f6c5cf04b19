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
TEST(Forms, TextAndFunctionsAsArguments) {
  auto f = [](F x, const char* name, auto g) { return g(x) + static_cast<float>(name[0] - 'a'); };
  auto twice = [](F x) { return x * 2; };
  EXPECT_TRUE(close(pmap(f)(x4, "c", twice), x4 * 2 + 2));
  EXPECT_TRUE(close(pmap([](F x, F (*g)(F)) { return g(x) + x; }, {.axis_name = "i"})(x4, shares), share + x4, 1e-6));
  EXPECT_TRUE(close(vmap(f)(x4, "c", twice), x4 * 2 + 2));
  EXPECT_TRUE(close(shard_map(f, make_mesh({{"i", 2}}), {P("i"), P(), P()}, P("i"))(x4, "c", twice), x4 * 2 + 2));
}
TEST(Forms, NumbersAsOperands) {
  const auto c = array<bool>({true, false});
  EXPECT_EQ(where(c, 1.0f, 0.0f).to_vector(), std::vector<float>({1, 0}));
  EXPECT_TRUE(allclose(x4 * 0 + 3, 3) && allclose(3, x4 * 0 + 3) && !allclose(x4, 3.0));
  EXPECT_EQ(one_hot(1, 3).to_vector(), std::vector<float>({0, 1, 0}));
  EXPECT_EQ(isfinite(array<int>({1})).item(), true);
  EXPECT_EQ(isnan(c).to_vector(), std::vector<bool>({false, false}));
}
TEST(Forms, SixteenBitLiterals) {
  EXPECT_EQ(cast<float>(array<float16>({1, 2.5})).to_vector(), std::vector<float>({1, 2.5}));
  EXPECT_EQ(cast<float>(array<bfloat16>({{1, 2}, {3, 4}})).shape(), (Shape{2, 2}));
  EXPECT_EQ(cast<float>(Tensor<float16>({2}, {1, 2.5})).to_vector(), std::vector<float>({1, 2.5}));
  EXPECT_EQ(array<float>({}).shape(), (Shape{0}));
}
TEST(Forms, GradientsByNumbers) {
  auto cube = [](F x) { return x * x * x; };
  EXPECT_EQ(grad(cube)(3.0f).item(), 27);
  EXPECT_EQ(grad(cube)(3.0).item(), 27);
  EXPECT_EQ(grad(grad(cube))(3.0f).item(), 18);
  EXPECT_EQ(grad([](auto x) { return x * x; })(3.0).item(), 6);
  auto [value, gradients] = value_and_grad<1, 0>([](F x, F y) { return sum(x) * y * y; })(x4, 2.0f);
  EXPECT_EQ(value.item(), 40);
  EXPECT_EQ(std::get<0>(gradients).item(), 40);
  auto [y, pull] = vjp([](F x, float k) { return x * k; }, x4, 2.0f);
  EXPECT_TRUE(close(std::get<0>(pull(x4)), x4 * 2));
  auto [z, pull_number] = vjp(cube, 3.0f);
  EXPECT_EQ(z.item() + std::get<0>(pull_number(F(1.0f))).item(), 54);
}
TEST(Forms, PsumOfNumbersInTuples) {
  auto [total, count] = pmap([](F x) { return psum(std::pair(sum(x), 1), "i"); }, {.axis_name = "i", .out_axes = replicated})(x4);
  EXPECT_EQ(total.item() / static_cast<float>(count.item()), 2.5f);
  pmap([] {
    const auto all = psum(std::tuple(true, 2.5, std::pair(2, std::string("static"))), "i");
    static_assert(std::is_same_v<decltype(all), const std::tuple<int, double, std::pair<int, std::string>>>);
    EXPECT_EQ(std::get<0>(all) + std::get<1>(all) + std::get<2>(all).first, 4 + 10 + 8);
  }, "i")();
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
template <class T> struct Layers {
  std::vector<Net<T>> all;
  std::map<std::string, Net<T>> named;
  T scale;
  std::string name;
};
TEST(Trees, CastInsideContainers) {
  const Layers<float> layers{{{x4, Tensor<int>(1)}, {x4, Tensor<int>(2)}}, {{"a", {x4, Tensor<int>(3)}}}, 0.5f, "kept"};
  const auto wide = tree_cast<double>(std::pair(layers, std::vector<Net<float>>{{x4, Tensor<int>(4)}}));
  static_assert(std::is_same_v<decltype(wide), const std::pair<Layers<double>, std::vector<Net<double>>>>);
  EXPECT_TRUE(close(wide.first.all[1].w, D({4}, {1, 2, 3, 4})));
  EXPECT_EQ(wide.first.named.at("a").steps.item(), 3);
  EXPECT_EQ(wide.first.scale, 0.5);
  EXPECT_EQ(wide.first.name, "kept");
  static_assert(std::is_same_v<decltype(tree_cast<bfloat16>(layers)), Layers<bfloat16>>);
}
TEST(Trees, MapLeavesStaticLeavesAlone) {
  struct Named {
    F w;
    std::string name;
    std::vector<int> sizes;
  };
  const auto step = tree_map([](auto p, auto g) { return p - 0.5f * g; }, Named{x4, "a", {1, 2}}, Named{x4, "b", {}});
  static_assert(std::is_same_v<decltype(step), const Named>);
  EXPECT_TRUE(close(step.w, x4 * 0.5f));
  EXPECT_EQ(step.name, "a");
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
