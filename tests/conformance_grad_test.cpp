// JAX's cases about gradients through maps and collectives.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::same;
using conformance::second_order;
using conformance::tabulate;

using D = Tensor<double>;
const auto over_i = [](auto f) { return pmap(f, {.axis_name = "i", .in_axes = each(0)}); };
const auto some = [](const Shape& shape) {
  return tabulate<double>(shape, [&](const At& at) { return std::sin(0.7 * double(conformance::ravel(at, shape)) + 0.3); });
};

TEST(JaxCases, case_133_gradient_of_psum) {
  const auto stacked = [](Tensor<> x) { return sum(over_i([](auto v) { return psum(v, "i"); })(x)); };
  EXPECT_TRUE(same(grad(stacked)(iota({8, 4})), {8, 4}, std::vector<float>(32, 8)));
  const auto one_copy = [](Tensor<> x) { return sum(pmap([](auto v) { return psum(v, "i"); }, {.axis_name = "i", .in_axes = each(0), .out_axes = replicated})(x)); };
  EXPECT_TRUE(same(grad(one_copy)(iota({8, 4})), {8, 4}, std::vector<float>(32, 1)));
  EXPECT_TRUE(second_order([](const D& x) { return sum(over_i([](auto v) { return sin(v) * psum(v * v, "i"); })(x)); }, some({3, 2})));
  EXPECT_TRUE(second_order([](const D& x) { return sum(over_i([](auto v) { return v * v * pmean(exp(v), "i"); })(x)); }, some({5, 2})));
}

TEST(JaxCases, case_134_product_of_cosine_and_sine) {
  const auto loss = [](D x, D y) { return sum(over_i([](auto u, auto v) { return psum(5.0 * cos(u) * sin(v), "i"); })(x, y)); };
  const auto x = linspace<double>(0.1, 0.8, 8), y = linspace<double>(1.0, 0.3, 8);
  const auto [dx, dy] = grad<0, 1>(loss)(x, y);
  EXPECT_TRUE(same(dx, {8}, {-3.36027670, -6.22492123, -8.47972965, -10.03480721, -10.82816124, -10.82816124, -10.03480721, -8.47972965}, 1e-6));
  EXPECT_TRUE(same(dy, {8}, {21.50412178, 24.36876678, 26.62357330, 28.17865181, 28.97200584, 28.97200584, 28.17865181, 26.62357330}, 1e-6));
  EXPECT_TRUE(same(dx, conformance::differences([&](D v) { return loss(v, y); }, x), 1e-7));
  EXPECT_TRUE(same(dy, conformance::differences([&](D v) { return loss(x, v); }, y), 1e-7));
}

TEST(JaxCases, case_136_psum_inside_the_body) {
  const auto f = over_i([](Tensor<> w, Tensor<> d) { return grad([=](Tensor<> v) { return psum(v * d, "i"); })(w); });
  EXPECT_TRUE(same(f(ones<float>({2}), arange<float>(2)), {2}, {0, 2}));
  EXPECT_TRUE(same(f(ones<float>({5}), arange<float>(5)), {5}, {0, 5, 10, 15, 20}));
  const auto g = vmap([](Tensor<> w, Tensor<> d) { return grad([=](Tensor<> v) { return psum(v * d, "i"); })(w); }, "i");
  EXPECT_TRUE(same(g(ones<float>({5}), arange<float>(5)), {5}, {0, 5, 10, 15, 20}));
  EXPECT_TRUE(same(vmap([](Tensor<> x) { return grad([](Tensor<> v) { return -psum(v, "i"); })(x); }, "i")(arange<float>(5)), {5}, {-5, -5, -5, -5, -5}));
}

TEST(JaxCases, case_137_pmean_inside_the_body) {
  const auto f = over_i([](Tensor<> w, Tensor<> d) {
    const auto g = grad([=](Tensor<> v) { return pmean(v * d, "i"); })(w);
    return std::pair(g, pmean(g, "i"));
  });
  const auto [local, mean] = f(ones<float>({4}), arange<float>(4));
  EXPECT_TRUE(same(local, {4}, {0, 1, 2, 3}));
  EXPECT_TRUE(same(mean, {4}, {1.5, 1.5, 1.5, 1.5}));
}

AxisSpec spec(int axis) { return axis < 0 ? replicated : each(axis); }

TEST(JaxCases, case_139_all_axes_of_arguments_and_results) {
  const Index n = 2;
  const auto f = [](D x, D y, D z) { return sin(x + y) * z; };
  int place = 0;
  for (int ax = -1; ax <= 2; ++ax)
    for (int ay = -1; ay <= 2; ++ay)
      for (int az = -1; az <= 2; ++az) {
        if (ax < 0 && ay < 0 && az < 0) continue;
        const int out = place++ % 3;
        const auto shape = [&](Shape base, int axis) {
          std::vector<Index> sizes(base.begin(), base.end());
          if (axis >= 0) sizes.insert(sizes.begin() + axis, n);
          return Shape(sizes);
        };
        const Shape sx = shape({3, 4}, ax), sy = shape({3, 1}, ay), sz = shape({1, 4}, az);
        const auto x = some(sx), y = some(sy) * 0.5, z = some(sz) - 0.25;
        const MapOptions options{.in_axes = {spec(ax), spec(ay), spec(az)}, .out_axes = each(out)};
        const auto weigh = [](const D& v) { return sum(v * some(v.shape())); };
        const auto loss = [&](D a, D b, D c) { return weigh(pmap(f, options)(a, b, c)); };
        const auto [dx, dy, dz] = grad<0, 1, 2>(loss)(x, y, z);
        // The definition, element by element.
        std::vector<double> ex(std::size_t(sx.size())), ey(std::size_t(sy.size())), ez(std::size_t(sz.size()));
        const Shape whole = shape({3, 4}, out);
        const auto weights = some(whole).to_vector(), vx = x.to_vector(), vy = y.to_vector(), vz = z.to_vector();
        for (Index p = 0; p < n; ++p)
          for (Index r = 0; r < 3; ++r)
            for (Index c = 0; c < 4; ++c) {
              const auto index = [&](At at, int axis, const Shape& s) { return std::size_t(conformance::ravel(axis < 0 ? at : conformance::with(at, axis, p), s)); };
              const auto ix = index({r, c}, ax, sx), iy = index({r, 0}, ay, sy), iz = index({0, c}, az, sz), io = index({r, c}, out, whole);
              const double slope = weights[io] * std::cos(vx[ix] + vy[iy]) * vz[iz];
              ex[ix] += slope;
              ey[iy] += slope;
              ez[iz] += weights[io] * std::sin(vx[ix] + vy[iy]);
            }
        EXPECT_TRUE(same(dx, sx, ex, 1e-12)) << ax << ay << az;
        EXPECT_TRUE(same(dy, sy, ey, 1e-12)) << ax << ay << az;
        EXPECT_TRUE(same(dz, sz, ez, 1e-12)) << ax << ay << az;
        if (place % 9 == 0) {
          EXPECT_TRUE(second_order([&](const D& v) { return loss(v, y, z) * sum(v); }, x)) << ax << ay << az;
          EXPECT_TRUE(second_order([&](const D& v) { return loss(x, v, z); }, y)) << ax << ay << az;
        }
      }
}

TEST(JaxCases, case_140_closed_over_argument) {
  const auto x = some({3, 4}), y = some({3, 5, 1}) * 0.5;  // y is mapped over axis 1
  const auto with = [&](auto map) {
    return grad([&, map](D v) {
      const auto out = map([&](D row) { return sin(v + row); })(y);  // (3, 4, 5)
      return sum(out * some({3, 4, 5}));
    })(x);
  };
  const MapOptions options{.in_axes = each(1), .out_axes = each(2)};
  const auto by_pmap = with([&](auto f) { return pmap(f, options); }), by_vmap = with([&](auto f) { return vmap(f, options); });
  const auto weights = some({3, 4, 5}).to_vector(), vx = x.to_vector(), vy = y.to_vector();
  const auto expected = [&](const At& at) {
    double total = 0;
    for (Index p = 0; p < 5; ++p) total += weights[std::size_t(20 * at[0] + 5 * at[1] + p)] * std::cos(vx[std::size_t(4 * at[0] + at[1])] + vy[std::size_t(5 * at[0] + p)]);
    return total;
  };
  EXPECT_TRUE(same(by_pmap, {3, 4}, expected, 1e-12));
  EXPECT_TRUE(same(by_vmap, {3, 4}, expected, 1e-12));
}

TEST(JaxCases, case_142_all_gather) {
  const auto inside = [](Tensor<> x) { return grad([](Tensor<> v) { return sum(all_gather(v, "i")); })(x); };
  EXPECT_TRUE(same(over_i(inside)(arange<float>(4)), {4}, {4, 4, 4, 4}));
  EXPECT_TRUE(same(vmap(inside, "i")(arange<float>(3)), {3}, {3, 3, 3}));
  const auto tiled = over_i([](Tensor<> x) { return grad([](Tensor<> v) { return sum(all_gather(v, "i", {.tiled = true}) * arange<float>(6)); })(x); });
  EXPECT_TRUE(same(tiled(iota({3, 2})), {3, 2}, {0, 3, 6, 9, 12, 15}));
  // The pullback adds what the lanes say about each x.
  const auto [y, pullback] = vjp(vmap([](Tensor<> v) { return all_gather(v, "i"); }, "i"), iota({3, 4}));
  EXPECT_EQ(y.shape(), Shape({3, 3, 4}));
  const auto [x_bar] = pullback(iota({3, 3, 4}));
  EXPECT_TRUE(same(x_bar, {3, 4}, [](const At& at) { return 36 + 3 * (4 * at[0] + at[1]); }));
}

TEST(JaxCases, case_143_ppermute) {
  const double pi = 3.14159265358979323846;
  const auto weights = tabulate<double>({8}, [&](const At& at) { return pi + double(at[0]); });
  const auto of = [&](std::vector<std::pair<Index, Index>> pairs) { return grad([&, pairs](D x) { return sum(weights * over_i([&](auto v) { return ppermute(v, "i", pairs); })(x)); })(arange<double>(8)); };
  std::vector<std::pair<Index, Index>> ring, shift;
  for (Index i = 0; i < 8; ++i) ring.emplace_back(i, (i + 1) % 8);
  for (Index i = 0; i < 7; ++i) shift.emplace_back(i, i + 1);
  EXPECT_TRUE(same(of(ring), {8}, {pi + 1, pi + 2, pi + 3, pi + 4, pi + 5, pi + 6, pi + 7, pi}, 1e-15));
  EXPECT_TRUE(same(of(shift), {8}, {pi + 1, pi + 2, pi + 3, pi + 4, pi + 5, pi + 6, pi + 7, 0}, 1e-15));
}

TEST(JaxCases, case_145_pbroadcast) {
  const auto inside = [](Tensor<> x) { return grad([](Tensor<> v) { return pbroadcast(v, "i", 0); })(x); };
  EXPECT_TRUE(same(over_i(inside)(arange<float>(8)), {8}, {8, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(same(vmap(inside, "i")(arange<float>(5)), {5}, {5, 0, 0, 0, 0}));
  const auto weighted = over_i([](Tensor<> x) { return grad([](Tensor<> v) { return pbroadcast(v, "i", 2) * cast<float>(axis_index("i") + 1); })(x); });
  EXPECT_TRUE(same(weighted(arange<float>(5)), {5}, {0, 0, 15, 0, 0}));
}

struct Params {
  Tensor<double> a, b;
};
TEST(JaxCases, case_149_psum_of_gradients_inside_an_outer_gradient) {
  const auto of = [](bool use_b) {
    return [use_b](D m) {
      const auto out = over_i([=](D x) {
        const auto loss = [=](const Params& p) { return p.a * p.b * p.b * m * m * m * x; };
        const auto g = psum(grad(loss)(Params{D(2.0), D(3.0)}), "i");
        return use_b ? g.b + 0.0 * g.a : g.a * g.a;
      })(array<double>({1, 2, 3}));
      return sum(out);
    };
  };
  const D m = 0.5;
  EXPECT_NEAR(of(false)(m).item(), 136.6875, 1e-10);
  EXPECT_NEAR(grad(of(false))(m).item(), 1640.25, 1e-9);
  EXPECT_NEAR(grad(grad(of(false)))(m).item(), 16402.5, 1e-8);
  EXPECT_NEAR(of(true)(m).item(), 27, 1e-12);
  EXPECT_NEAR(grad(of(true))(m).item(), 162, 1e-11);
  EXPECT_NEAR(grad(grad(of(true)))(m).item(), 648, 1e-10);
}

// The part of the case without JAX's replication types: each shard gets the gradient of its own loss.
TEST(JaxCases, case_152_local_gradient_of_a_replicated_argument) {
  const auto f = pmap([](Tensor<> w, Tensor<> x) { return grad([=](Tensor<> v) { return sum(v * x); })(w); }, {.axis_name = "i", .in_axes = {replicated, each(0)}});
  EXPECT_TRUE(same(f(Tensor<>(3.0f), arange<float>(4)), {4}, {0, 1, 2, 3}));
  // And from outside, the sum.
  const auto outer = grad([](Tensor<> w, Tensor<> x) { return sum(pmap([](Tensor<> v, Tensor<> u) { return v * u; }, {.in_axes = {replicated, each(0)}})(w, x)); });
  EXPECT_TRUE(same(outer(Tensor<>(3.0f), arange<float>(4)), {}, {6}));
}

TEST(JaxCases, case_155_which_arguments) {
  const auto f = [](Tensor<> x, Tensor<> y, Tensor<> z) { return x + 2.0f * y + 3.0f * z; };
  const Tensor<> one = 1.0f;
  EXPECT_EQ(grad(f)(one, one, one).item(), 1);
  EXPECT_EQ(grad<1>(f)(one, one, one).item(), 2);
  const auto [dz, dx] = grad<2, 0>(f)(one, one, one);
  EXPECT_EQ(dz.item(), 3);
  EXPECT_EQ(dx.item(), 1);
  const auto [value, g] = value_and_grad<1>(f)(one, one, one);
  EXPECT_EQ(value.item(), 6);
  EXPECT_EQ(g.item(), 2);
  const auto with_aux = [](Tensor<> x) { return std::pair(x * x, std::string("aux")); };
  const auto [gradient, aux] = grad(with_aux)(Tensor<>(3.0f));
  EXPECT_EQ(gradient.item(), 6);
  EXPECT_EQ(aux, "aux");
  const auto [pair, slope] = value_and_grad(with_aux)(Tensor<>(3.0f));
  EXPECT_EQ(pair.first.item(), 9);
  EXPECT_EQ(pair.second, "aux");
  EXPECT_EQ(slope.item(), 6);
}

// The gradient of pmax and pmin goes to the winners; JAX has none.
TEST(JaxCases, case_133_pmax) {
  const auto f = over_i([](Tensor<> x) { return grad([](Tensor<> v) { return pmax(v, "i"); })(x); });
  EXPECT_TRUE(same(f(array<float>({1, 5, 2})), {3}, {0, 3, 0}));
  EXPECT_TRUE(same(f(array<float>({5, 1, 5, 5})), {4}, {4 / 3.f, 0, 4 / 3.f, 4 / 3.f}, 1e-6));
}

}  // namespace
