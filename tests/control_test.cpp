// Control flow, checkpoint and custom gradients under every map.
#include "support/check.hpp"

using namespace spmd;
using check::close, check::D, check::lanes, check::over, check::throws;

namespace {

const auto setup = (set_host_device_count(8), 0);
const D v({3}, {1, 2, 3});
const D p({4}, {-2, 0, 1, 4}), slope({4}, {-4, 0, 1, 0.25}), second({4}, {2, 2, -1, -1 / 16.0});
const auto safe = [](D x) { return cond(x > 0.0, [](D y) { return log(y); }, [](D y) { return y * y; }, x); };

TEST(Cond, EachLaneItsOwnBranch) {
  EXPECT_TRUE(close(safe(D(4.0)), std::log(4.0)));
  EXPECT_TRUE(close(vmap(safe)(p), D({4}, {4, 0, 0, std::log(4.0)})));
  EXPECT_TRUE(close(vmap(grad(safe))(p), slope));  // no NaN from the branch not taken
  EXPECT_TRUE(close(grad([](D x) { return sum(vmap(safe)(x)); })(p), slope));
  EXPECT_TRUE(close(vmap(grad(grad(safe)))(p), second));
  EXPECT_TRUE(close(grad([](D x) { return sum(vmap(grad(safe))(x)); })(p), second));
  EXPECT_TRUE(close(over(safe)(p), D({4}, {4, 0, 0, std::log(4.0)})));
  EXPECT_TRUE(close(over(vmap(grad(safe)))(reshape(p, {2, 2})), reshape(slope, {2, 2})));
}
TEST(Cond, UnderTwoMaps) {
  const D q({2, 2}, {-2, 0, 1, 4});
  EXPECT_TRUE(close(vmap(vmap(safe))(q), D({2, 2}, {4, 0, 0, std::log(4.0)})));
  EXPECT_TRUE(close(vmap(vmap(grad(safe)))(q), reshape(slope, {2, 2})));
  EXPECT_TRUE(close(vmap(grad([](D r) { return sum(vmap(grad(safe))(r)); }))(q), reshape(second, {2, 2})));
  auto twice = [](D x) { return vmap([&](D y) { return cond(x > y, [&] { return x * x * y; }, [&] { return cond(x + y > 4.5, [&] { return y * x; }, [&] { return log(x); }); }); })(v); };
  EXPECT_TRUE(close(vmap(twice)(v), D({3, 3}, {0, 0, 0, 4, std::log(2.0), 6, 9, 18, 9})));
  EXPECT_TRUE(close(grad([&](D x) { return sum(vmap(twice)(x)); })(v), D({3}, {3, 4 + 0.5 + 3, 6 + 12 + 3})));
  EXPECT_TRUE(close(vmap(grad([&](D x) { return sum(twice(x)); }))(v), D({3}, {3, 4 + 0.5 + 3, 6 + 12 + 3})));
  auto outer = vmap([](D x) { return vmap([&](D y) { return cond(x > 0.0, [](D z) { return log(z) * z; }, [](D z) { return -z; }, y); })(v); });
  EXPECT_TRUE(close(outer(D({2}, {-1, 1}))[1][2], std::log(3.0) * 3));
}
TEST(Cond, Captures) {
  auto capture = [](D w) { return vmap([&](D x) { return cond(x > w, [&] { return x * w; }, [&] { return w * w; }); })(v); };
  EXPECT_TRUE(close(capture(D(1.5)), D({3}, {2.25, 3, 4.5})));
  EXPECT_TRUE(close(grad([&](D w) { return sum(capture(w)); })(D(1.5)), 8.0));
  auto three = [](D x) { return vmap([&](D y) { return grad([&](D w) { return cond(y > 1.5, [&] { return w * y * x * w; }, [&] { return w * x; }); })(x); })(v); };
  EXPECT_TRUE(close(three(D(2.0)), D({3}, {2, 16, 24})));
  EXPECT_TRUE(close(grad([&](D x) { return sum(three(x)); })(D(2.0)), 41.0));
  EXPECT_TRUE(close(vmap(three)(D({2}, {2, 2}))[1], D({3}, {2, 16, 24})));
}
/// Each branch runs on some lanes, which keep the indices that they have outside.
TEST(Cond, AxisIndexOfSomeLanes) {
  using I = Tensor<std::int32_t>;
  const D x({5}, {2, 0, 3, 1, 4});
  auto index = [](const AxisNames& axis) { return cast<double>(axis_index(axis)); };
  auto f = [&](D y) { return cond(y > 1.5, [&] { return index("i"); }, [&] { return -1.0 - index("i"); }); };
  EXPECT_TRUE(close(lanes(f)(x), D({5}, {0, -2, 2, -4, 4})));
  EXPECT_TRUE(close(over(f)(x), D({5}, {0, -2, 2, -4, 4})));
  // As an int32, beside the values of the lanes; in a cond of a cond.
  auto pairs = [](D y) { return cond(y > 1.5, [](D z) { return std::pair(z * 10.0, axis_index("i")); }, [](D z) { return std::pair(z, axis_index("i") + 100); }, y); };
  const auto [values, indices] = lanes(pairs)(x);
  EXPECT_TRUE(close(values, D({5}, {20, 0, 30, 1, 40})));
  EXPECT_TRUE(close(indices, I({5}, {0, 101, 2, 103, 4})));
  auto deep = [&](D y) { return cond(y > 0.5, [&] { return cond(y < 3.5, [&] { return index("i"); }, [&] { return 10.0 + index("i"); }); }, [&] { return 100.0 + index("i"); }); };
  EXPECT_TRUE(close(lanes(deep)(x), D({5}, {0, 101, 2, 3, 14})));
  EXPECT_TRUE(close(over(deep)(x), D({5}, {0, 101, 2, 3, 14})));
  // The lanes that go on in a loop: x + 10 * steps, of as many steps as the index.
  auto loop = [&](D y) {
    return while_loop([&](std::pair<D, D> c) { return c.second < index("i"); }, [&](std::pair<D, D> c) { return std::pair(c.first + 10.0 * index("i"), c.second + 1.0); }, std::pair(y, D(0.0))).first;
  };
  EXPECT_TRUE(close(lanes(loop)(x), D({5}, {2, 10, 43, 91, 164})));
  EXPECT_TRUE(close(over(loop)(x), D({5}, {2, 10, 43, 91, 164})));
  // Multiplied with a value, it is the slope.
  auto slope_of = [&](D y) { return cond(y > 1.5, [&](D z) { return z * index("i"); }, [&](D z) { return z * z * index("i"); }, y); };
  EXPECT_TRUE(close(lanes(grad(slope_of))(x), D({5}, {0, 0, 2, 6, 4})));
  EXPECT_TRUE(close(grad([&](D z) { return sum(lanes(slope_of)(z)); })(x), D({5}, {0, 0, 2, 6, 4})));
}
TEST(Cond, AxisIndexUnderTwoMaps) {
  // The predicate varies over the outer axis, the inner one, or both; the branches ask for either, and for both.
  const D x({2, 3}, {0, 1, 2, 3, 4, 5}), both({2, 3}, {9, 1, 9, 9, 4, 5}), by_outer({2, 3}, {0, 0, 0, 4, 4, 4});
  auto run = [](const D& y, const AxisNames& axis) {
    auto f = [&](D r) { return lanes([&](D z) { return cond(z > 3.5, [&] { return 100.0 + cast<double>(axis_index(axis)); }, [&] { return cast<double>(axis_index(axis)); }); }, "j")(r); };
    return lanes(f)(y);
  };
  EXPECT_TRUE(close(run(x, "i"), D({2, 3}, {0, 0, 0, 1, 101, 101})));
  EXPECT_TRUE(close(run(x, "j"), D({2, 3}, {0, 1, 2, 0, 101, 102})));
  EXPECT_TRUE(close(run(x, {"i", "j"}), D({2, 3}, {0, 1, 2, 3, 104, 105})));
  EXPECT_TRUE(close(run(both, {"i", "j"}), D({2, 3}, {100, 1, 102, 103, 104, 105})));
  EXPECT_TRUE(close(run(both, {"j", "i"}), D({2, 3}, {100, 2, 104, 101, 103, 105})));
  EXPECT_TRUE(close(run(by_outer, {"i", "j"}), D({2, 3}, {0, 1, 2, 103, 104, 105})));
  // The axes keep their sizes; the sum of a number is that number times all members.
  auto sizes = [](D z) { return cond(z > 3.5, [&] { return static_cast<double>(axis_size("i")) + 10.0 * static_cast<double>(axis_size({"i", "j"})) + psum(100.0, "j") + z * 0.0; }, [&] { return z; }); };
  EXPECT_TRUE(close(lanes([&](D r) { return lanes(sizes, "j")(r); })(both), D({2, 3}, {362, 1, 362, 362, 362, 362})));
  // A collective over both, in several names, is an error as over one.
  auto sums = [](D z) { return cond(z > 3.5, [&] { return psum(z, {"i", "j"}); }, [&] { return z; }); };
  EXPECT_TRUE(throws<AxisError>([&] { lanes([&](D r) { return lanes(sums, "j")(r); })(both); }, {"psum", "varies over the axis"}));
  // Only the outer axis is known to vary it.
  auto outer = [](D r) { return lanes([&](D z) { return cond(r > 0.5, [&] { return z + 10.0 * cast<double>(axis_index({"i", "j"})); }, [&] { return z - cast<double>(axis_index({"j", "i"})); }); }, "j")(v); };
  EXPECT_TRUE(close(lanes(outer)(D({2}, {0, 1})), D({2, 3}, {1, 0, -1, 31, 42, 53})));
}
TEST(Cond, Errors) {
  EXPECT_TRUE(throws<ShapeError>([] { cond(Tensor<bool>({2}, {true, false}), [] { return D(1.0); }, [] { return D(2.0); }); }, {"cond", "rank 0", "(2)"}));
  EXPECT_TRUE(throws<AxisError>([] { lanes([](D x) { return cond(x > 1.5, [&] { return psum(x, "i"); }, [&] { return x; }); })(v); }, {"psum", "varies over the axis \"i\""}));
  EXPECT_TRUE(throws<CollectiveMismatch>([] { over([](D x) { return cond(x > 1.5, [&] { return psum(x, "i"); }, [&] { return x; }); })(v); }, {"psum"}));
  // As many lanes, but others: they must not add.
  auto rows = [](D r) { return vmap([](D x) { return cond(x > 0.0, [&] { return psum(x, "i"); }, [&] { return x; }); })(r); };
  EXPECT_TRUE(close(over(rows)(D({2, 2}, {1, -1, 2, -2})), D({2, 2}, {3, -1, 3, -2})));
  EXPECT_TRUE(throws<CollectiveMismatch>([&] { over(rows)(D({2, 2}, {1, -1, -2, 2})); }, {"psum"}));
  // The same call in both branches is legal under pmap.
  EXPECT_TRUE(close(over([](D x) { return cond(x > 1.5, [&] { return psum(x, "i"); }, [&] { return psum(x * 2.0, "i"); }); })(v), D({3}, {7, 7, 7})));
}
TEST(While, EachLaneItsOwnTripCount) {
  auto halve = [](D x) { return while_loop([](D c) { return c > 1.0; }, [](D c) { return c * 0.5 * c; }, x); };
  EXPECT_TRUE(close(vmap(halve)(D({3}, {0.5, 1.5, 1.9})), D({3}, {0.5, 0.6328125, halve(D(1.9)).item()})));
  auto trips = [](D x) {
    return std::get<1>(while_loop([](auto c) { return std::get<0>(c) > 1.0; }, [](auto c) { return std::tuple(std::get<0>(c) * 0.5, std::get<1>(c) + 1.0); }, std::tuple(x, D(0.0))));
  };
  EXPECT_TRUE(close(vmap(trips)(D({5}, {0.5, 1.5, 3, 100, 1e9})), D({5}, {0, 1, 2, 7, 30})));
  EXPECT_TRUE(close(over(vmap(trips))(D({2, 2}, {1.5, 3, 100, 0.1})), D({2, 2}, {1, 2, 7, 0})));
  EXPECT_TRUE(close(vmap(vmap(trips))(D({2, 2}, {1.5, 3, 100, 0.1})), D({2, 2}, {1, 2, 7, 0})));
  // Differentiable: x halved until it is at most one has the slope of its trip count.
  auto down = [](D x) { return while_loop([](D c) { return c > 1.0; }, [](D c) { return c * 0.5; }, x); };
  EXPECT_TRUE(close(vmap(grad(down))(D({4}, {0.5, 1.5, 3, 100})), D({4}, {1, 0.5, 0.25, 1 / 128.0})));
  EXPECT_TRUE(close(grad([&](D x) { return sum(vmap(down)(x)); })(D({4}, {0.5, 1.5, 3, 100})), D({4}, {1, 0.5, 0.25, 1 / 128.0})));
  EXPECT_TRUE(close(while_loop([](D) { return false; }, [](D c) { return c; }, D(3.0)), 3.0));
}
TEST(While, PlainNumbersInACarry) {
  auto more = [](std::tuple<int, D> c) { return std::get<0>(c) < 5; };
  auto step = [](std::tuple<int, D> c) { return std::tuple(std::get<0>(c) + 1, std::get<1>(c) * 2.0); };
  EXPECT_TRUE(close(std::get<1>(while_loop(more, step, std::tuple(0, D(1.0)))), 32.0));
  EXPECT_TRUE(close(vmap([&](D x) { return std::get<1>(while_loop(more, step, std::tuple(3, x))); })(v), v * 4.0));
  EXPECT_EQ(while_loop([](int i) { return i < 5; }, [](int i) { return i + 2; }, 0), 6);
  EXPECT_EQ(fori_loop(0, 4, [](Index i, int c) { return c + static_cast<int>(i); }, 0), 6);
  // All lanes share the number: it may stay, but not change where they stop at different times.
  auto below = [](std::tuple<int, D> c) { return std::get<1>(c) < 5.0; };
  auto keep = [](std::tuple<int, D> c) { return std::tuple(std::get<0>(c), std::get<1>(c) * 2.0); };
  EXPECT_TRUE(close(vmap([&](D x) { return std::get<1>(while_loop(below, keep, std::tuple(0, x))); })(v), D({3}, {8, 8, 6})));
  EXPECT_TRUE(throws<TypeError>([&] { vmap([&](D x) { return std::get<1>(while_loop(below, step, std::tuple(0, x))); })(v); }, {"while_loop: ", "plain number", "Tensor"}));
}
TEST(Scan, CarriesAndStacks) {
  auto cumulative = [](D xs) { return scan([](D c, D x) { return std::pair(c + x, c * x); }, D(0.0), xs); };
  auto [last, ys] = cumulative(v);
  EXPECT_TRUE(close(last, 6.0) && close(ys, D({3}, {0, 2, 9})));
  EXPECT_TRUE(close(grad([&](D x) { return sum(cumulative(x).second); })(v), D({3}, {5, 4, 3})));
  EXPECT_TRUE(close(vmap([&](D x) { return cumulative(x).second; })(D({2, 3}, {1, 2, 3, 4, 5, 6})), D({2, 3}, {0, 2, 9, 0, 20, 54})));
  auto [c, squares] = scan([](D c0, Index i) { return std::pair(c0 + static_cast<double>(i), D(static_cast<double>(i * i))); }, D(0.0), 4);
  EXPECT_TRUE(close(c, 6.0) && close(squares, D({4}, {0, 1, 4, 9})));
  auto counted = over([](D x) { return scan([](D c0, Index) { return std::pair(c0 + 1.0 + cast<double>(axis_index("i")), c0); }, x * 0.0, 10).first; });
  EXPECT_TRUE(close(counted(zeros<double>({8})), D({8}, {10, 20, 30, 40, 50, 60, 70, 80})));
  EXPECT_TRUE(close(fori_loop(2, 5, [](Index i, D x) { return x * static_cast<double>(i); }, D(1.0)), 24.0));
  EXPECT_TRUE(throws<ShapeError>([] { scan([](D c0, D x) { return std::pair(stack({c0, x}), x); }, D(0.0), v); }, {"scan", "shape ()", "(2)"}));
  EXPECT_TRUE(throws<ShapeError>([] { scan([](D c0, std::pair<D, D> x) { return std::pair(c0, x.first); }, D(0.0), std::pair(v, zeros<double>({2}))); }, {"3 and 2"}));
}
TEST(Checkpoint, SameValuesAndGradients) {
  auto f = [](D x) { return sum(sin(x) * exp(x * 0.1)); };
  EXPECT_TRUE(close(checkpoint(f)(v), f(v)));
  EXPECT_TRUE(close(grad(checkpoint(f))(v), grad(f)(v)));
  auto twice = [](auto g) { return grad([g](D x) { return sum(grad(g)(x) * x); }); };
  EXPECT_TRUE(close(twice(checkpoint(f))(v), twice(f)(v)));
  const D m = reshape(arange<double>(6) * 0.3, {2, 3});
  EXPECT_TRUE(close(vmap(grad(checkpoint(f)))(m), vmap(grad(f))(m)));
  EXPECT_TRUE(close(grad([&](D x) { return sum(vmap(checkpoint(f))(x)); })(m), grad([&](D x) { return sum(vmap(f)(x)); })(m)));
  // Captured tensors, and collectives that are met again in the backward run.
  EXPECT_TRUE(close(grad([](D w) { return checkpoint([w](D x) { return sum(x * w * w); })(v); })(D(2.0)), 24.0));
  auto g = [](D x) { return psum(x * x, "i") * x; };
  EXPECT_TRUE(close(grad([&](D x) { return sum(over(checkpoint(g))(x)); })(v), grad([&](D x) { return sum(over(g)(x)); })(v)));
  EXPECT_TRUE(close(over(grad(checkpoint(g)))(v), over(grad(g))(v)));
  EXPECT_TRUE(close(grad([](D w) { return sum(over([&](D x) { return checkpoint([w, x](D y) { return y * w * w * x; })(x); })(v)); })(D(3.0)), 84.0));
}
TEST(Checkpoint, RunsAgain) {
  int calls = 0;
  auto f = checkpoint([&calls](D x) { return ++calls, x * x; });
  EXPECT_TRUE(close(grad(f)(D(3.0)), 6.0));
  EXPECT_EQ(calls, 2);
}
/// A custom_vjp inside a checkpoint keeps its own gradient, whatever it captured and whatever is around the two.
TEST(Checkpoint, OfACustomVjp) {
  auto tripled = [](const D& x) {  // x * x, whose gradient is said to be 3
    return custom_vjp([x](const D& t) { return t * x; }, [x](const D& t) { return std::pair(t * x, t); }, [x](const D&, const D& ct) { return std::tuple(ct * 3.0); })(x);
  };
  auto rise = [&](auto f) { return grad([f](const D& x) { return sum(f(x)); }); };
  const auto plain = [&](const D& x) { return tripled(x); };
  const auto kept = [&](const D& x) { return checkpoint([x, tripled](const D& u) { return tripled(u) + x * u; })(x); };
  const D x({3}, {1, 2, 3}), m({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(close(rise(plain)(x), full<double>({3}, 3)));
  EXPECT_TRUE(close(rise(kept)(x), x * 2.0 + 3.0));
  EXPECT_TRUE(close(vmap(rise(plain))(m), full<double>({2, 3}, 3)));
  EXPECT_TRUE(close(vmap(rise(kept))(m), m * 2.0 + 3.0));
  EXPECT_TRUE(close(rise(vmap(kept))(m), m * 2.0 + 3.0));
  EXPECT_TRUE(close(rise(rise(kept))(x), full<double>({3}, 2)));
  EXPECT_TRUE(close(rise(rise(plain))(x), zeros<double>({3})));
  for (Index n : {1, 2, 3, 8}) {
    set_host_device_count(n);
    const auto rows = arange<double>(static_cast<double>(3 * n));
    EXPECT_TRUE(close(pmap(rise(kept))(rows), rows * 2.0 + 3.0)) << n;
    EXPECT_TRUE(close(rise(pmap(kept))(rows), rows * 2.0 + 3.0)) << n;
  }
}
/// If one shard records a collective in it, all do.
TEST(Checkpoint, OfACustomVjpThatMeets) {
  auto total = custom_vjp([](const D& t) { return psum(t, "i"); }, [](const D& t) { return std::pair(psum(t, "i"), t); }, [](const D&, const D& ct) { return std::tuple(psum(ct, "i")); });
  for (Index n : {1, 2, 3, 8}) {
    set_host_device_count(n);
    const auto constant = full<double>({2}, 1);
    auto rises = pmap([&](const D& x) {
      return grad([&](const D& t) { return sum(checkpoint(total)(axis_index("i").item() == 0 ? t : constant)) + sum(t); })(x);
    }, "i")(arange<double>(static_cast<double>(2 * n)));
    const auto expected = concatenate({full<double>({2}, 1.0 + static_cast<double>(n)), full<double>({2 * (n - 1)}, 1)}, 0);
    EXPECT_TRUE(close(rises, expected)) << n;
  }
}
TEST(CustomVjp, UsesTheGivenGradient) {
  auto f = custom_vjp([](D x, D y) { return sin(x) * y; }, [](D x, D y) { return std::pair(sin(x) * y, std::pair(x, y)); },
                      [](std::pair<D, D> r, D ct) { return std::tuple(ct * 10.0 * r.second, ct * 100.0 * r.first); });
  EXPECT_TRUE(close(f(D(2.0), D(3.0)), std::sin(2.0) * 3));
  EXPECT_TRUE(close(grad(f)(D(2.0), D(3.0)), 30.0));
  EXPECT_TRUE(close(grad<1>(f)(D(2.0), D(3.0)), 200.0));
  EXPECT_TRUE(close(vmap(grad(f))(v, v), v * 10.0));
  EXPECT_TRUE(close(grad([&](D x) { return sum(vmap(f)(x, v)); })(v), v * 10.0));
  EXPECT_TRUE(close(grad([&](D y) { return sum(vmap(f, {.in_axes = {0, replicated}})(v, y)); })(D(5.0)), 600.0));
  EXPECT_TRUE(close(over(grad(f))(v, v), v * 10.0));
  EXPECT_TRUE(close(grad([&](D x) { return sum(over(f)(x, v)); })(v), v * 10.0));
  EXPECT_TRUE(close(grad(grad(f))(D(2.0), D(3.0)), 0.0));
  auto wrong = custom_vjp([](D x) { return x; }, [](D x) { return std::pair(x, x); }, [](D, D ct) { return std::tuple(ct, ct); });
  EXPECT_TRUE(throws<TypeError>([&] { grad(wrong)(D(1.0)); }, {"custom_vjp", "2 gradients for 1"}));
}
TEST(Mesh, ShardMap) {
  auto mesh = make_mesh({{"x", 2}, {"y", 4}});
  const D a = reshape(arange<double>(64), {8, 8});
  auto id = shard_map([](D b) { EXPECT_EQ(b.shape(), (Shape{4, 2})); return b; }, mesh, P("x", "y"), P("x", "y"));
  EXPECT_TRUE(close(id(a), a));
  auto swapped = shard_map([](D b) { EXPECT_EQ(b.shape(), (Shape{2, 4})); return b; }, mesh, P("y", "x"), P("y", "x"));
  EXPECT_TRUE(close(swapped(a), a));
  auto both = shard_map([](D b) { EXPECT_EQ(b.shape(), (Shape{1, 8})); return b + 1.0 * cast<double>(axis_index({"y", "x"})); }, mesh, P(names{"y", "x"}, none), P(names{"y", "x"}));
  EXPECT_TRUE(close(both(a), a + reshape(arange<double>(8), {8, 1})));
  auto summed = shard_map([](D b) { return psum(b, {"x", "y"}); }, mesh, P("x", "y"), P());
  D expected = zeros<double>({4, 2});
  for (Index i : {0, 1})
    for (Index j : {0, 1, 2, 3}) expected = expected + slice(a, {4 * i, 2 * j}, {4 * i + 4, 2 * j + 2});
  EXPECT_TRUE(close(summed(a), expected));
  EXPECT_TRUE(close(grad([&](D z) { return sum(summed(z) * summed(z)); })(a)[0][0], 2 * expected.at({0, 0})));
  EXPECT_TRUE(close(shard_map([] { return D(5.0); }, mesh, P(), P())(), 5.0));
  EXPECT_TRUE(throws<ShapeError>([&] { shard_map([](D b) { return sum(b); }, mesh, P("x"), P("x"))(a); }, {"shard_map", "P()"}));
  EXPECT_TRUE(throws<AxisError>([&] { shard_map([](D b) { return b; }, mesh, P("z"), P()); }, {"no axis \"z\""}));
  EXPECT_TRUE(throws<DeviceError>([&] { make_mesh({{"x", 3}, {"y", 3}}); }, {"9", "8"}));
}

}  // namespace
