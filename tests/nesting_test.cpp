// Gradients and maps in each other, at any order: what a quick version of this library gets wrong.
#include <thread>

#include "support/check.hpp"

using namespace spmd;
using check::close, check::D, check::lanes, check::over, check::throws;

namespace {

const auto setup = (set_host_device_count(8), 0);
const D v({3}, {1, 2, 3}), m({2, 3}, {1, 2, 3, 4, 5, 6});
const auto cube = [](D x) { return x * x * x; };
const auto wave = [](D x) { return sin(x) * x; };
bool first(const char* axis) { return axis_index(axis).item() == 0; }
template <class F> auto total(F f) {
  return [f](D x) { return sum(over(f)(x)); };
}

TEST(Grad, HigherOrders) {
  EXPECT_TRUE(close(grad(wave)(D(2.0)), std::cos(2.0) * 2 + std::sin(2.0)));
  EXPECT_TRUE(close(grad(grad(wave))(D(2.0)), -std::sin(2.0) * 2 + 2 * std::cos(2.0)));
  EXPECT_TRUE(close(grad(grad(grad(wave)))(D(2.0)), -std::cos(2.0) * 2 - 3 * std::sin(2.0)));
}
TEST(Grad, PerturbationConfusion) {
  EXPECT_TRUE(close(grad([](D x) { return x * grad([x](D) { return x; })(D(0.0)); })(D(5.0)), 0.0));
  EXPECT_TRUE(close(grad([](D x) { return x * grad([x](D y) { return x * y; })(D(3.0)); })(D(5.0)), 10.0));
  EXPECT_TRUE(close(grad([](D x) { return x * grad([x](D y) { return x + y; })(D(1.0)); })(D(1.0)), 1.0));
}
TEST(Grad, OfAndInVmap) {
  EXPECT_TRUE(close(vmap(grad(wave))(v)[2], std::cos(3.0) * 3 + std::sin(3.0)));
  EXPECT_TRUE(close(grad([](D x) { return sum(vmap(wave)(x)); })(v)[1], std::cos(2.0) * 2 + std::sin(2.0)));
  EXPECT_TRUE(close(grad([](D w) { return sum(vmap([&](D x) { return x * w; })(v)); })(D(2.0)), 6.0));
}
TEST(Grad, ArgumentsAuxAndTrees) {
  auto f = [](D x, D y, D z) { return x + 2.0 * y + 3.0 * z; };
  EXPECT_TRUE(close(grad<1>(f)(D(1.0), D(1.0), D(1.0)), 2.0));
  auto [dz, dx] = grad<2, 0>(f)(D(1.0), D(1.0), D(1.0));
  EXPECT_TRUE(close(dz, 3.0) && close(dx, 1.0));
  auto [result, gradient] = value_and_grad([](D x) { return std::pair(x * x, x + 1.0); })(D(3.0));
  EXPECT_TRUE(close(result.first, 9.0) && close(result.second, 4.0) && close(gradient, 6.0));
  auto [g, aux] = grad([](D x) { return std::pair(x * x, x + 1.0); })(D(3.0));
  EXPECT_TRUE(close(g, 6.0) && close(aux, 4.0));
  auto tree = grad([](std::map<std::string, D> p) { return p["a"] * p["a"] * p["b"]; })(std::map<std::string, D>{{"a", D(2.0)}, {"b", D(5.0)}});
  EXPECT_TRUE(close(tree["a"], 20.0) && close(tree["b"], 4.0));
}
TEST(Grad, IntegersAreZero) {
  auto g = grad([](std::pair<D, Tensor<int>> p) { return p.first * cast<double>(p.second); })(std::pair(D(2.0), Tensor<int>(3)));
  EXPECT_TRUE(close(g.first, 3.0));
  EXPECT_EQ(g.second.item(), 0);
}
TEST(Vmap, AxesAndNames) {
  EXPECT_TRUE(close(vmap(vmap(cube))(m)[1][2], 216.0));
  EXPECT_TRUE(close(vmap([](D x) { return sum(x); }, {.in_axes = {1}})(m), D({3}, {5, 7, 9})));
  EXPECT_TRUE(close(vmap([](D x, D y) { return sum(x * y); }, {.in_axes = {0, replicated}})(m, v), D({2}, {14, 32})));
  EXPECT_TRUE(close(lanes([](D x) { return x / psum(x, "i"); })(v), D({3}, {1 / 6.0, 2 / 6.0, 0.5})));
  EXPECT_TRUE(close(lanes([](D x) { return x * psum(D(1.0), "i"); })(v), D({3}, {3, 6, 9})));
  auto nested = lanes([](D r) { return lanes([](D x) { return x + psum(x, "j") + psum(x, "i"); }, "j")(r); });
  EXPECT_TRUE(close(nested(m)[1][2], 6 + 15 + 9.0));
  EXPECT_TRUE(close(vmap([](D x) { return x; }, {.out_axes = 1})(m), D({3, 2}, {1, 4, 2, 5, 3, 6})));
}
TEST(Pmap, GradOfGrad) {
  EXPECT_TRUE(close(grad(grad([](D x) { return sum(over(cube)(x * D({1}, {1}))); }))(D(2.0)), 12.0));
  auto g = [](D x) { return psum(x * x, "i") * x; };
  auto by_pmap = [&](D x) { return sum(over(g)(x)); };
  auto by_vmap = [&](D x) { return sum(lanes(g)(x)); };
  EXPECT_TRUE(close(grad(by_pmap)(v), grad(by_vmap)(v)));
  EXPECT_TRUE(close(grad(by_pmap)(v)[0], 26.0));
  auto twice = [](auto f) { return [f](D x) { return sum(grad(f)(x) * x); }; };
  EXPECT_TRUE(close(grad(twice(by_pmap))(v), grad(twice(by_vmap))(v)));
}
TEST(Pmap, CapturedParameters) {
  auto one = [](D w) { return sum(over([&](D x) { return x * w * w * w; })(v)); };
  EXPECT_TRUE(close(grad(one)(D(2.0)), 72.0));
  EXPECT_TRUE(close(grad(grad(one))(D(2.0)), 72.0));
  EXPECT_TRUE(close(grad(grad(grad(one)))(D(2.0)), 36.0));
  EXPECT_TRUE(close(vmap(grad(one))(D({2}, {1, 2})), D({2}, {18, 72})));
  EXPECT_TRUE(close(vmap(grad(grad(one)))(D({2}, {1, 2})), D({2}, {36, 72})));
  EXPECT_TRUE(close(grad([](D w) { return sum(over([&](D x) { return x * w; })(v)); })(v), D({3}, {6, 6, 6})));
  // The captured local is gone when the backward run of the outer gradient comes.
  EXPECT_TRUE(close(grad(grad([](D w) { D a = w * w; return sum(over([&](D x) { return x * a * a; })(v)); }))(D(2.0)), 288.0));
  EXPECT_TRUE(close(grad([](D w) { return sum(vmap(over([&](D x) { return x * w * w; }))(m)); })(D(3.0)), 126.0));
  EXPECT_TRUE(close(vmap([](D a) { return over([&](D x) { return x * a; })(v); })(D({2}, {1, 10})), D({2, 3}, {1, 2, 3, 10, 20, 30})));
  EXPECT_TRUE(close(grad([](D w) { return sum(over([&](D x) { return x * psum(w, "i"); })(v)); })(D(3.0)), 18.0));
  Tensor<int> k({}, {5});
  EXPECT_TRUE(close(grad([&](D w) { return sum(over([&](D x) { return x * w * cast<double>(k); })(v)); })(D(2.0)), 30.0));
  EXPECT_TRUE(close(grad([](D w) { D y = over([&](D x) { return x * w; })(v); return sum(over([&](D x) { return x * w; })(y)); })(D(3.0)), 36.0));
}
TEST(Pmap, CapturedThroughTwoMaps) {
  EXPECT_TRUE(close(grad(grad([](D w) { return sum(over([&](D r) { return over([&](D x) { return x * w * w + psum(w, "i"); }, "j")(r); })(m)); }))(D(3.0)), 42.0));
  EXPECT_TRUE(close(grad([](D w) { return sum(over([&](D x) { return grad([&](D y) { return y * y * w * w; })(x); })(v)); })(D(3.0)), 72.0));
  EXPECT_TRUE(close(grad([](D w) { return w * grad([&](D u) { return sum(over([&](D x) { return x * u * u * w; })(v)); })(w); })(D(2.0)), 144.0));
  EXPECT_TRUE(close(grad([](D w) { return sum(over([&](D r) { return over([&](D x) { return grad([&](D y) { return y * x * w * y; })(w); }, "j")(r); })(m)); })(D(3.0)), 252.0));
}
TEST(Pmap, ReplicatedInAndOut) {
  auto scaled = [](D x, D w) { return x * w; };
  EXPECT_TRUE(close(grad([&](D w) { return sum(pmap(scaled, {.axis_name = "i", .in_axes = {each(0), replicated}})(v, w)); })(D(3.0)), 6.0));
  // A replicated result is one of n copies, each of which gets its n-th part of the cotangent.
  auto summed = pmap([](D x) { return psum(x, "i"); }, {.axis_name = "i", .in_axes = each(0), .out_axes = replicated});
  EXPECT_TRUE(close(summed(v), 6.0));
  EXPECT_TRUE(close(grad([&](D x) { return summed(x) * summed(x); })(v), D({3}, {12, 12, 12})));
}
TEST(Pmap, TheCallableRunsOnce) {
  std::atomic<int> calls = 0;
  auto counted = [&](D x) { return sum(over([&](D y) { ++calls; return cube(y); })(x)); };
  EXPECT_TRUE(close(grad([&](D x) { return sum(grad(counted)(x)); })(v), D({3}, {6, 12, 18})));
  EXPECT_EQ(calls, 3);
}
TEST(Pmap, BackwardNeverHangs) {
  // A psum whose result one shard ignores, an operand that one shard alone depends on, and the same in a map inside.
  EXPECT_TRUE(close(grad(total([](D x) { auto s = psum(x * x, "i"); return first("i") ? x + s : x; }))(v), D({3}, {3, 5, 7})));
  auto lone = [](D x) { return psum(first("i") ? x : D(1.0), "i"); };
  EXPECT_TRUE(close(grad(total(lone))(v), D({3}, {3, 0, 0})));
  EXPECT_TRUE(close(grad([&](D x) { return sum(grad(total([&](D y) { return cube(lone(y)); }))(x)); })(v), D({3}, {54, 0, 0})));
  auto inner = [](D x) { D a = first("i") ? x : D(1.0); return sum(over([&](D y) { return y * psum(a * a, "i"); }, "j")(D({2}, {1, 2}))); };
  EXPECT_TRUE(close(grad(total(inner))(v), D({3}, {18, 0, 0})));
  EXPECT_TRUE(throws<CollectiveMismatch>([] { over([](D x) { auto f = [](D y) { return psum(y, "i"); }; return first("i") ? grad(f)(x) : f(x); })(v); }, {"differentiates", "nesting_test.cpp"}));
}
TEST(Pmap, TwoLevelsOfNames) {
  auto body = [](D x) { return psum(x, "i") + 10.0 * psum(x, "j") + x * psum(x, {"i", "j"}) + cast<double>(axis_index("i") + axis_index("j")); };
  auto by_pmap = over([&](D r) { return over(body, "j")(r); });
  auto by_vmap = lanes([&](D r) { return lanes(body, "j")(r); });
  auto mixed = lanes([&](D r) { return over(body, "j")(r); });
  auto mixed2 = over([&](D r) { return lanes(body, "j")(r); });
  for (const D& x : {m, D({3, 2}, {3, 1, 4, 1, 5, 9})}) {
    EXPECT_TRUE(close(by_pmap(x), by_vmap(x)));
    EXPECT_TRUE(close(mixed(x), by_vmap(x)));
    EXPECT_TRUE(close(mixed2(x), by_vmap(x)));
    EXPECT_TRUE(close(grad([&](D y) { return sum(cube(by_pmap(y))); })(x), grad([&](D y) { return sum(cube(by_vmap(y))); })(x)));
    EXPECT_TRUE(close(grad([&](D y) { return sum(cube(mixed(y))); })(x), grad([&](D y) { return sum(cube(by_vmap(y))); })(x)));
  }
}
TEST(Pmap, WhatDoesNotDependOnAVmapIsNotMapped) {
  // The result of the inner map is the same in every lane, so it may be read.
  auto f = [](D x) {
    D s = sum(over([](D y) { return y * 2.0; })(v));
    return s.item() > 5 ? x : -x;
  };
  EXPECT_TRUE(close(vmap(f)(v), v));
}
TEST(Vjp, PullbacksAreFunctions) {
  auto [y, pull] = vjp([](D x) { return over([](D z) { return z * psum(z, "i"); })(x); }, v);
  EXPECT_TRUE(close(y, D({3}, {6, 12, 18})));
  EXPECT_TRUE(close(vmap([pull = pull](D ct) { return std::get<0>(pull(ct)); })(eye<double>(3)), D({3, 3}, {7, 1, 1, 2, 8, 2, 3, 3, 9})));
  EXPECT_TRUE(close(std::get<0>(pull(D({3}, {0, 1, 0}))), D({3}, {2, 8, 2})));
  EXPECT_TRUE(close(grad([pull = pull](D ct) { return sum(cube(std::get<0>(pull(ct)))); })(D({3}, {1, 0, 0})), D({3}, {3 * (49 * 7 + 1 + 1.0), 3 * (49 * 2 + 8 + 2.0), 3 * (49 * 3 + 3 + 9.0)})));
}
TEST(StopGradient, IsAConstant) { EXPECT_TRUE(close(grad([](D x) { return x * stop_gradient(x * x); })(D(3.0)), 9.0)); }

// One program, by a loop, by vmap and by pmap, on 1, 2, 3 and 8 devices.
TEST(Equality, LoopVmapPmap) {
  for (Index n : {1, 2, 3, 8}) {
    Tensor<float> x = arange<float>(static_cast<float>(n * 5)) * 0.37f;
    x = reshape(x, Shape{n, 5});
    std::vector<Tensor<float>> rows;
    Tensor<float> s = zeros<float>({5});
    for (Index i = 0; i < n; ++i) s = s + x[i] * x[i];
    for (Index i = 0; i < n; ++i) rows.push_back(tanh(x[i]) * s / static_cast<double>(n) + static_cast<float>(i));
    auto f = [](Tensor<float> r) { return tanh(r) * pmean(r * r, "i") + cast<float>(axis_index("i")); };
    EXPECT_TRUE(close(lanes(f)(x), stack(rows), 1e-6)) << n;
    EXPECT_TRUE(close(over(f)(x), stack(rows), 1e-6)) << n;
    // Integers and moved data agree exactly.
    auto k = cast<std::int32_t>(x * 100.0f);
    auto g = [n](Tensor<std::int32_t> r) { return psum(r, "i") - pmax(r, "i") + pshift(r, "i", 1, {.wrap = true}) * static_cast<int>(n) + max(all_gather(r, "i"), {0}); };
    EXPECT_EQ(lanes(g)(k).to_vector(), over(g)(k).to_vector()) << n;
  }
}
TEST(Equality, SameBitsInEveryRun) {
  Tensor<float> x = reshape(sin(arange<float>(8 * 9000)), Shape{8, 9000});
  auto f = over([](Tensor<float> r) { return psum(r * 1.1f, "i") + sum(exp(r)); });
  const auto once = f(x).to_vector();
  for (int run = 0; run < 100; ++run) ASSERT_EQ(f(x).to_vector(), once) << run;
  for (Index p = 1; p < 8; ++p)  // the psum part is the same on every shard
    EXPECT_EQ(over([](Tensor<float> r) { return psum(r, "i"); })(x)[p].to_vector(), over([](Tensor<float> r) { return psum(r, "i"); })(x)[0].to_vector());
}

}  // namespace
