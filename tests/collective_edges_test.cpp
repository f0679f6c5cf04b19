// What collectives make of small integers that overflow, of NaN and of infinity: literally, under vmap and under pmap. The numbers are
// those of JAX 0.10.2 under vmap; under pmap it loses a NaN in pmax, pmin, pargmax and pargmin on the CPU (docs/jax.md).
#include "support/check.hpp"

#include <limits>

using namespace spmd;
using check::close;

namespace {

const auto setup = (set_host_device_count(8), 0);

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();  // pargmax and pargmin where a value is NaN
using F = Tensor<float>;
using I = Tensor<std::int32_t>;
template <class T> testing::AssertionResult equal(const Tensor<T>& a, const Tensor<T>& b) { return close(a, b, 0); }

/// f by vmap and by pmap, consuming the leading axis: check(result) for both.
template <class F, class Check, class... Args> void under_both(F f, Check check, const Args&... args) {
  {
    SCOPED_TRACE("vmap");
    check(check::lanes(f)(args...));
  }
  SCOPED_TRACE("pmap");
  check(check::over(f)(args...));
}

// ---------------------------------------------------------------- small integers keep their type, and wrap

template <class T> void sums(std::initializer_list<T> x, T expected) {
  static_assert(std::is_same_v<decltype(psum(Tensor<T>(), "i")), Tensor<T>>);
  const auto n = static_cast<Index>(x.size());
  const auto wrapped = full<T>({n}, expected);
  under_both([](const Tensor<T>& v) { return psum(v, "i"); }, [&](const Tensor<T>& y) { EXPECT_TRUE(equal(y, wrapped)); }, array<T>(x));
  // One group of all; the same value in every lane, which a vmap multiplies; a scatter; a leaf of a tree.
  std::vector<Index> everybody;
  for (Index i = 0; i < n; ++i) everybody.push_back(i);
  under_both([&](const Tensor<T>& v) { return psum(v, "i", {.groups = {everybody}}); }, [&](const Tensor<T>& y) { EXPECT_TRUE(equal(y, wrapped)); }, array<T>(x));
  under_both([n](const Tensor<T>& v) { return psum_scatter(broadcast_to(v, {n}), "i"); }, [&](const Tensor<T>& y) { EXPECT_TRUE(equal(y, wrapped)); }, array<T>(x));
  under_both([](const Tensor<T>& v) { return psum(std::pair(v, 1.0f), "i").first; }, [&](const Tensor<T>& y) { EXPECT_TRUE(equal(y, wrapped)); }, array<T>(x));
}
TEST(SmallIntegers, KeepTheirTypeAndWrap) {
  sums<std::int8_t>({100, 100}, -56);
  sums<std::int8_t>({-128, -1}, 127);
  sums<std::int8_t>({100, 100, 100}, 44);
  sums<std::uint8_t>({200, 100}, 44);
  sums<std::int16_t>({30000, 30000, 30000}, 24464);
  sums<std::uint16_t>({65535, 2}, 1);
  sums<std::int32_t>({std::numeric_limits<std::int32_t>::max(), 1}, std::numeric_limits<std::int32_t>::min());
  sums<std::uint64_t>({std::numeric_limits<std::uint64_t>::max(), 3}, 2);
}
TEST(SmallIntegers, OfAConstant) {
  under_both([](const F&) { return psum(Tensor<std::int8_t>(100), "i"); }, [](const Tensor<std::int8_t>& y) { EXPECT_TRUE(equal(y, full<std::int8_t>({2}, -56))); }, zeros({2}));
}

// ---------------------------------------------------------------- NaN and infinity

/// The first n of these are the shards' values.
const F values({8, 8}, {nan, inf, -inf, inf,  1,   2,    1,   1,     //
                        1,   1,   1,    -inf, 2,   inf,  2,   2,     //
                        2,   inf, -inf, 3,    nan, -inf, 3,   3,     //
                        1,   1,   1,    1,    1,   1,    1,   1,     //
                        1,   1,   1,    1,    1,   1,    1,   1,     //
                        1,   1,   1,    1,    1,   1,    nan, 1,     //
                        1,   1,   1,    1,    1,   1,    1,   1,     //
                        1,   1,   1,    1,    1,   1,    1,   -inf});
struct Row {
  Index n;
  std::vector<float> sum, mean, max, min;
  std::vector<std::int32_t> largest, smallest;
};
const std::vector<Row> rows{
    {1, {nan, inf, -inf, inf, 1, 2, 1, 1}, {nan, inf, -inf, inf, 1, 2, 1, 1}, {nan, inf, -inf, inf, 1, 2, 1, 1}, {nan, inf, -inf, inf, 1, 2, 1, 1}, {none, 0, 0, 0, 0, 0, 0, 0}, {none, 0, 0, 0, 0, 0, 0, 0}},
    {2, {nan, inf, -inf, nan, 3, inf, 3, 3}, {nan, inf, -inf, nan, 1.5f, inf, 1.5f, 1.5f}, {nan, inf, 1, inf, 2, inf, 2, 2}, {nan, 1, -inf, -inf, 1, 2, 1, 1}, {none, 0, 1, 0, 1, 1, 1, 1}, {none, 1, 0, 1, 0, 0, 0, 0}},
    {3, {nan, inf, -inf, nan, nan, nan, 6, 6}, {nan, inf, -inf, nan, nan, nan, 2, 2}, {nan, inf, 1, inf, nan, inf, 3, 3}, {nan, 1, -inf, -inf, nan, -inf, 1, 1}, {none, 0, 1, 0, none, 1, 2, 2}, {none, 1, 0, 1, none, 2, 0, 0}},
    {8, {nan, inf, -inf, nan, nan, nan, nan, -inf}, {nan, inf, -inf, nan, nan, nan, nan, -inf}, {nan, inf, 1, inf, nan, inf, nan, 3}, {nan, 1, -inf, -inf, nan, -inf, nan, -inf}, {none, 0, 1, 0, none, 1, none, 2}, {none, 1, 0, 1, none, 2, none, 7}},
};

class NotFinite : public testing::TestWithParam<Row> {
 protected:
  const Row& row = GetParam();
  const F x = slice(values, 0, row.n, 0);
  /// The same row for everybody.
  template <class T> Tensor<T> everywhere(const std::vector<T>& v) const { return broadcast_to(array(v), {row.n, 8}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, NotFinite, testing::ValuesIn(rows), [](const auto& shards) { return std::to_string(shards.param.n); });

TEST_P(NotFinite, Reductions) {
  under_both([](const F& v) { return std::tuple(psum(v, "i"), pmean(v, "i"), pmax(v, "i"), pmin(v, "i")); },
             [&](const auto& y) {
               EXPECT_TRUE(equal(std::get<0>(y), everywhere(row.sum)));
               EXPECT_TRUE(equal(std::get<1>(y), everywhere(row.mean)));
               EXPECT_TRUE(equal(std::get<2>(y), everywhere(row.max)));
               EXPECT_TRUE(equal(std::get<3>(y), everywhere(row.min)));
             }, x);
}
TEST_P(NotFinite, Winners) {
  under_both([](const F& v) { return std::pair(pargmax(v, "i"), pargmin(v, "i")); },
             [&](const std::pair<I, I>& y) {
               EXPECT_TRUE(equal(y.first, everywhere(row.largest)));
               EXPECT_TRUE(equal(y.second, everywhere(row.smallest)));
             }, x);
}
/// 16-bit floats have kernels of their own.
template <class T> void halves(const Row& row, const F& x) {
  auto same = [&](const Tensor<T>& y, const std::vector<float>& v) { EXPECT_TRUE(equal(cast<float>(y), broadcast_to(array(v), x.shape()))); };
  under_both([](const Tensor<T>& v) { return std::tuple(psum(v, "i"), pmax(v, "i"), pmin(v, "i"), pargmax(v, "i"), pargmin(v, "i")); },
             [&](const auto& y) {
               same(std::get<0>(y), row.sum), same(std::get<1>(y), row.max), same(std::get<2>(y), row.min);
               EXPECT_TRUE(equal(std::get<3>(y), broadcast_to(array(row.largest), x.shape())));
               EXPECT_TRUE(equal(std::get<4>(y), broadcast_to(array(row.smallest), x.shape())));
             }, cast<T>(x));
}
TEST_P(NotFinite, Halves) {
  halves<float16>(row, x);
  halves<bfloat16>(row, x);
}
/// Moved, not computed with: what another shard holds does not spread.
TEST_P(NotFinite, Gathered) {
  under_both([](const F& v) { return std::pair(all_gather(v, "i"), all_gather(v, "i", {.tiled = true})); },
             [&](const std::pair<F, F>& y) {
               for (Index i = 0; i < row.n; ++i) {
                 EXPECT_TRUE(equal(y.first[i], x));
                 EXPECT_TRUE(equal(y.second[i], reshape(x, {-1})));
               }
             }, x);
  under_both([](const F& v) { return pbroadcast(v, "i", 0); }, [&](const F& y) { EXPECT_TRUE(equal(y, broadcast_to(x[0], x.shape()))); }, x);
  under_both([](const F& v) { return pshift(v, "i", 1); },
             [&](const F& y) { EXPECT_TRUE(equal(y, concatenate({zeros({1, 8}), slice(x, 0, row.n - 1, 0)}, 0))); }, x);
}
/// Row k of an operand is (-1)^k times the value, so the k-th shard gets (-1)^k times the sum.
TEST_P(NotFinite, Scattered) {
  std::vector<float> signs;
  for (Index k = 0; k < row.n; ++k) signs.push_back(k % 2 ? -1.0f : 1.0f);
  const auto sign = reshape(array(signs), {row.n, 1});
  under_both([&](const F& v) { return std::pair(psum_scatter(v * sign, "i"), psum_scatter(v * sign, "i", {.tiled = true})); },
             [&](const std::pair<F, F>& y) {
               EXPECT_TRUE(equal(y.first, array(row.sum) * sign));
               EXPECT_TRUE(equal(reshape(y.second, {row.n, 8}), array(row.sum) * sign));
             }, x);
}

}  // namespace
