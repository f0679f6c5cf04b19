// The collectives with every element type under a plain pmap, and with trees whose leaves differ in type: see collective_matrix_test.
#include <iostream>

#include "support/check.hpp"
#include "support/collective_run.hpp"

using namespace spmd;
using check::D;
using matrix::Case, matrix::Extra, matrix::Op, matrix::Values;

namespace {

const auto setup = (set_host_device_count(8), 0);

template <class T> class CollectiveTypes : public ::testing::Test {};
using Types = ::testing::Types<float, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;
TYPED_TEST_SUITE(CollectiveTypes, Types);

TYPED_TEST(CollectiveTypes, EqualPlainLoops) {
  using T = TypeParam;
  constexpr bool floating = !std::numeric_limits<T>::is_integer;
  // Exact, but for a rounded quotient or weighted sum.
  const double tolerance = std::is_same_v<T, bfloat16> ? 0.02 : std::is_same_v<T, float16> ? 2e-3 : 1e-6;
  matrix::Draw drawn(4);
  for (Index n : {1, 2, 3, 4, 8})
    for (auto& call : matrix::calls(n, false)) {
      if (!floating && call.extra == Extra::tensor) continue;  // the weight has the type of what is averaged
      if (!drawn()) continue;
      Case c{.levels = {{'p', n}}, .names = {0}, .call = call};
      c.values = std::is_same_v<T, bool> ? Values::bits : std::is_unsigned_v<T> ? Values::natural : Values::integers;
      try {
        const auto e = matrix::expect(c);
        const auto result = check::over([&](const Tensor<T>& x) { return matrix::run(call, "i", x); })(cast<T>(matrix::tensor(e.x)));
        EXPECT_TRUE(check::close(result, matrix::tensor(e.result), tolerance)) << matrix::text(c);
      } catch (const std::exception& error) {
        ADD_FAILURE() << matrix::text(c) << "\n  threw " << error.what();
      }
    }
  std::cout << drawn.ran << " of " << drawn.cases << " cases\n";
}

// The types that come out.
template <class T> using Summed = decltype(psum(Tensor<T>(), "i"));
template <class T> using Averaged = decltype(pmean(Tensor<T>(), "i"));
static_assert(std::is_same_v<Summed<bool>, Tensor<std::int32_t>> && std::is_same_v<Summed<std::int8_t>, Tensor<std::int8_t>> && std::is_same_v<Summed<bfloat16>, Tensor<bfloat16>>);
static_assert(std::is_same_v<Averaged<bool>, Tensor<float>> && std::is_same_v<Averaged<std::int64_t>, Tensor<float>> && std::is_same_v<Averaged<float16>, Tensor<float16>>);
static_assert(std::is_same_v<decltype(pmax(Tensor<bool>(), "i")), Tensor<bool>> && std::is_same_v<decltype(pargmin(Tensor<float>(), "i")), Tensor<std::int32_t>>);
static_assert(std::is_same_v<decltype(psum(true, "i")), int> && std::is_same_v<decltype(psum(2.0f, "i")), float> && std::is_same_v<decltype(pmean(2, "i")), float>);

using Mixed = std::tuple<Tensor<float>, Tensor<std::int32_t>, D, Tensor<bool>>;

/// Leaf by leaf what plain loops give, whose values are those of `kinds`.
TEST(CollectiveTrees, MixedLeavesTravelTogether) {
  matrix::Draw drawn(4);
  const std::array<Values, 4> values{Values::integers, Values::natural, Values::distinct, Values::bits};
  for (char kind : {'p', 'v'})
    for (Index n : {1, 3, 4})
      for (auto& call : matrix::calls(n, false)) {
        if (call.extra == Extra::tensor || call.op == Op::ragged_all_to_all || !drawn()) continue;  // not of trees
        Case c{.levels = {{kind, n}}, .names = {0}, .call = call};
        std::array<matrix::Expected, 4> e, gradient;
        for (std::size_t k = 0; k < 4; ++k) {
          c.values = values[k];
          c.diff = matrix::Diff::value;
          e[k] = matrix::expect(c);
          c.diff = matrix::Diff::inside;
          gradient[k] = matrix::expect(c);
        }
        const Mixed x(cast<float>(matrix::tensor(e[0].x)), cast<std::int32_t>(matrix::tensor(e[1].x)), matrix::tensor(e[2].x), cast<bool>(matrix::tensor(e[3].x)));
        const D cotangent = matrix::tensor(gradient[0].cotangent);
        auto shard = [&](const Mixed& mine, const D& ct) {
          auto loss = [&](const Mixed& m) {
            const auto y = matrix::run(call, "i", m);
            return sum(std::get<0>(y) * ct) + sum(std::get<2>(y) * ct);
          };
          return std::pair(matrix::run(call, "i", mine), grad(loss)(mine));
        };
        const MapOptions options{.axis_name = "i", .in_axes = each(0), .out_axes = each(0)};
        try {
          const auto [y, g] = kind == 'p' ? pmap(shard, options)(x, cotangent) : vmap(shard, options)(x, cotangent);
          auto same = [&](const auto& a, const matrix::Expected& b) { EXPECT_TRUE(check::close(matrix::wide(a), matrix::tensor(b.result), 1e-6)) << matrix::text(c); };
          same(std::get<0>(y), e[0]), same(std::get<1>(y), e[1]), same(std::get<2>(y), e[2]), same(std::get<3>(y), e[3]);
          same(std::get<0>(g), gradient[0]), same(std::get<2>(g), gradient[2]);
          EXPECT_TRUE(check::close(cast<double>(std::get<1>(g)), zeros<double>(std::get<1>(x).shape()))) << matrix::text(c);
        } catch (const std::exception& error) {
          ADD_FAILURE() << matrix::text(c) << "\n  threw " << error.what();
        }
      }
  std::cout << drawn.ran << " of " << drawn.cases << " cases\n";
}

struct Params {
  D w;
  std::vector<Tensor<float>> layers;
  std::optional<D> bias;
  std::map<std::string, Tensor<std::int64_t>> counts;
};
/// Shapes may differ from leaf to leaf, some empty; and a tree without leaves is its own sum.
TEST(CollectiveTrees, Aggregates) {
  const Params p{D({2}, {1, 2}), {Tensor<float>({2, 2}, {1, 2, 3, 4}), zeros<float>({2, 0}), ones<float>({2, 1, 3})}, std::nullopt, {{"a", Tensor<std::int64_t>({2}, {5, 7})}}};
  for (bool on_devices : {false, true}) {
    auto f = [](const Params& q) {
      auto r = psum(q, "i");
      r.bias = cast<double>(sum(all_gather(q, "i", {.dim = -1}).layers[0]));
      return std::tuple(pshift(r, "i", 1), psum(std::tuple(), {"i"}), pmax(q.layers, {}));
    };
    const MapOptions options{.axis_name = "i", .in_axes = each(0), .out_axes = each(0)};
    const auto [r, none, same] = on_devices ? pmap(f, options)(p) : vmap(f, options)(p);
    EXPECT_TRUE(check::close(r.w, D({2}, {0, 3})));
    EXPECT_TRUE(check::close(r.layers[0], Tensor<float>({2, 2}, {0, 0, 4, 6})));
    EXPECT_EQ(r.layers[1].shape(), (Shape{2, 0}));
    EXPECT_EQ(r.layers[2].to_vector(), (std::vector<float>{0, 0, 0, 2, 2, 2}));
    EXPECT_TRUE(check::close(*r.bias, D({2}, {0, 10})));
    EXPECT_EQ(r.counts.at("a").to_vector(), (std::vector<std::int64_t>{0, 12}));
    EXPECT_EQ(same[0].to_vector(), p.layers[0].to_vector());
  }
}

}  // namespace
