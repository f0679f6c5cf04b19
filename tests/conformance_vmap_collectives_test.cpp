// JAX's cases about collectives over a vmapped axis: reductions, gathers and permutations without groups.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::iota;
using conformance::same;
using conformance::tabulate;
using conformance::throws;

const float nan = std::numeric_limits<float>::quiet_NaN();

TEST(JaxCases, case_112_psum) {
  EXPECT_TRUE(same(vmap([](auto x) { return psum(x, "i"); }, "i")(iota({3, 4})), {3, 4}, {12, 15, 18, 21, 12, 15, 18, 21, 12, 15, 18, 21}));
}

/// f under vmaps named i, j and k, outermost first, each over the given axis of what is left.
template <class F> auto three(Index a, Index b, F f) {
  return [=](const Tensor<double>& x) {
    return vmap([=](const auto& y) { return vmap([=](const auto& z) { return vmap(f, "k")(z); }, {.axis_name = "j", .in_axes = int(b), .out_axes = int(b)})(y); },
                {.axis_name = "i", .in_axes = int(a), .out_axes = int(a)})(x);
  };
}
TEST(JaxCases, case_113_reductions_over_subsets_of_three_axes) {
  const Shape shape{2, 3, 4};
  const auto value = [](const At& at) { return double((5 * at[0] + 3 * at[1] + 7 * at[2]) % 11) - 0.25 * double(at[2]); };
  const std::vector<std::vector<std::string>> lists{{},         {"i"},      {"j"},           {"k"},           {"i", "j"},      {"j", "i"},      {"i", "k"},      {"k", "i"},
                                                    {"j", "k"}, {"k", "j"}, {"i", "j", "k"}, {"k", "j", "i"}, {"j", "i", "k"}, {"i", "k", "j"}, {"k", "i", "j"}, {"j", "k", "i"}};
  for (Index a = 0; a < 3; ++a)
    for (Index b = 0; b < 2; ++b)
      for (const auto& names : lists) {
        // Where i, j and k are in the array.
        std::vector<Index> rest;
        for (Index d = 0; d < 3; ++d)
          if (d != a) rest.push_back(d);
        const std::map<std::string, Index> place{{"i", a}, {"j", rest[std::size_t(b)]}, {"k", rest[std::size_t(1 - b)]}};
        const auto expected = [&](auto fold) {
          return [&, fold](const At& at) {
            double total = 0;
            bool first = true;
            for (Index flat = 0; flat < 24; ++flat) {
              const At other = conformance::unravel(flat, shape);
              bool meets = true;
              for (const auto& [name, d] : place) meets = meets && (other[std::size_t(d)] == at[std::size_t(d)] || std::find(names.begin(), names.end(), name) != names.end());
              if (meets) total = first ? value(other) : fold(total, value(other)), first = false;
            }
            return value(at) - total;
          };
        };
        const auto x = tabulate<double>(shape, value);
        EXPECT_TRUE(same(three(a, b, [&](const auto& v) { return v - psum(v, names); })(x), shape, expected([](double p, double q) { return p + q; }), 1e-12)) << a << b;
        EXPECT_TRUE(same(three(a, b, [&](const auto& v) { return v - pmax(v, names); })(x), shape, expected([](double p, double q) { return std::max(p, q); }))) << a << b;
        EXPECT_TRUE(same(three(a, b, [&](const auto& v) { return v - pmin(v, names); })(x), shape, expected([](double p, double q) { return std::min(p, q); }))) << a << b;
      }
}
TEST(JaxCases, case_113_second_order) {
  for (const auto& names : std::vector<std::vector<std::string>>{{"i"}, {"k", "i"}, {"i", "j", "k"}}) {
    const auto f = [&](const Tensor<double>& x) { return sum(three(1, 0, [&](const auto& v) { return sin(v) * psum(v * v, names); })(x)); };
    EXPECT_TRUE(conformance::second_order(f, tabulate<double>({2, 2, 2}, [](const At& at) { return 0.1 * double(4 * at[0] + 2 * at[1] + at[2]) - 0.3; })));
  }
}

TEST(JaxCases, case_115_ppermute_in_both_maps) {
  const auto f = [](auto x) { return ppermute(x, "i", {{1, 0}, {2, 1}, {0, 2}}); };
  const auto x = array<float>({0, 10, 20});
  EXPECT_TRUE(same(vmap(f, "i")(x), {3}, {10, 20, 0}));
  EXPECT_TRUE(same(pmap(f, {.axis_name = "i", .in_axes = each(0)})(x), {3}, {10, 20, 0}));
  // Partial: JAX refuses, we fill zeros as pmap does.
  const auto partial = [](auto v) { return ppermute(v, "i", {{3, 1}, {0, 2}}); };
  EXPECT_TRUE(same(vmap(partial, "i")(array<float>({1, 2, nan, 4})), {4}, {0, 4, 1, 0}));
  EXPECT_TRUE(same(vmap(partial, "i")(array<bool>({true, true, true, true})), {4}, {false, true, true, false}));
}

TEST(JaxCases, case_119_axis_index) {
  EXPECT_TRUE(same(vmap([](Tensor<std::int32_t> x) { return x - axis_index("i"); }, "i")(arange<std::int32_t>(10)), {10}, std::vector<int>(10, 0)));
  const auto both = vmap([](const auto& row) { return vmap([](Tensor<std::int32_t> x) { return x * 100 + axis_index({"j", "i"}); }, "j")(row); }, "i");
  EXPECT_TRUE(same(both(ones<std::int32_t>({2, 3})), {2, 3}, {100, 102, 104, 101, 103, 105}));
}

TEST(JaxCases, case_121_all_gather_beside_another_axis) {
  const auto x = iota({5, 4});
  const auto inner = vmap([](const auto& row) { return vmap([](auto v) { return all_gather(v, "i"); }, {.axis_name = "i", .out_axes = replicated})(row); }, "j");
  EXPECT_TRUE(same(inner(x), {5, 4}, [](const At& at) { return 4 * at[0] + at[1]; }));
  const auto outer = vmap([](const auto& row) { return vmap([](auto v) { return all_gather(v, "i"); }, "j")(row); }, {.axis_name = "i", .out_axes = replicated});
  EXPECT_TRUE(same(outer(x), {4, 5}, [](const At& at) { return 4 * at[1] + at[0]; }));
}

TEST(JaxCases, case_122_all_gather_tiled) {
  const auto gather = [](auto v) { return all_gather(v, "i", {.tiled = true}); };
  const auto f = vmap(gather, {.axis_name = "i", .in_axes = 1, .out_axes = replicated});
  const auto expected = [](const At& at) { return 15 * (at[0] % 4) + 5 * (at[0] / 4) + at[1]; };
  EXPECT_TRUE(same(f(iota({4, 3, 5})), {12, 5}, expected));
  const auto batched = vmap([=](const auto& x) { return vmap(gather, {.in_axes = 1, .out_axes = 1})(x); }, {.axis_name = "i", .in_axes = 1, .out_axes = replicated});
  EXPECT_TRUE(same(batched(iota({4, 3, 5})), {12, 5}, expected));
}

TEST(JaxCases, case_124_all_gather_equals_pmap) {
  const auto x = iota({4, 4, 8});
  for (const bool tiled : {false, true})
    for (int dim = -2; dim <= 1 + !tiled; ++dim) {
      const auto f = [=](auto v) { return all_gather(v, "i", {.dim = dim, .tiled = tiled}); };
      const auto by_vmap = vmap(f, "i")(x);
      EXPECT_TRUE(same(by_vmap, pmap(f, {.axis_name = "i", .in_axes = each(0)})(x))) << tiled << dim;
      const Index size = by_vmap.size();
      EXPECT_EQ(size, 4 * 4 * 32);
      EXPECT_EQ(sum(by_vmap).item(), 4.0f * 127 * 64);
    }
}

TEST(JaxCases, case_124_pbroadcast_and_pmean_equal_pmap) {
  const auto x = iota({5, 3});
  const auto f = [](auto v) { return std::tuple(pbroadcast(v, "i", 3), pmean(v, "i"), psum(v, "i") / pmax(v, "i")); };
  const auto [source, mean, ratio] = vmap(f, "i")(x);
  const auto [p_source, p_mean, p_ratio] = pmap(f, {.axis_name = "i", .in_axes = each(0)})(x);
  EXPECT_TRUE(same(source, {5, 3}, [](const At& at) { return 9 + at[1]; }));
  EXPECT_TRUE(same(mean, {5, 3}, [](const At& at) { return 6 + at[1]; }));
  EXPECT_TRUE(same(source, p_source));
  EXPECT_TRUE(same(mean, p_mean, 1e-7));
  EXPECT_TRUE(same(ratio, p_ratio, 1e-7));
}

// A value that does not vary over the axis counts once per lane.
TEST(JaxCases, case_124_not_varying) {
  const Tensor<> c = 2.0f;
  const auto f = [&](Tensor<> x) { return std::tuple(psum(c, "i"), pmax(c, "i"), all_gather(c, "i"), ppermute(c, "i", {{0, 1}, {1, 2}, {2, 0}}), psum(x, "i")); };
  const auto out = vmap(f, {.axis_name = "i", .out_axes = replicated})(arange<float>(3));
  EXPECT_TRUE(same(std::get<0>(out), {}, {6}));
  EXPECT_TRUE(same(std::get<1>(out), {}, {2}));
  EXPECT_TRUE(same(std::get<2>(out), {3}, {2, 2, 2}));
  EXPECT_TRUE(same(std::get<3>(out), {}, {2}));
  EXPECT_TRUE(same(std::get<4>(out), {}, {3}));
}

// JAX allows this as long as no collective uses the name; we say which name it is.
TEST(JaxCases, case_131_one_name_twice) {
  const auto f = vmap([](const auto& row) { return vmap([](auto x) { return x; }, "i")(row); }, "i");
  EXPECT_TRUE(throws<AxisError>([&] { f(iota({2, 1})); }, {"\"i\""}));
  const auto g = vmap([](const auto& row) { return pmap([](auto x) { return x; }, "i")(row); }, "i");
  EXPECT_TRUE(throws<AxisError>([&] { g(iota({1, 1})); }, {"\"i\""}));
}

}  // namespace
