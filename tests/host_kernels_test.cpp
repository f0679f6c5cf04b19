// The host kernels against plain loops: every item size and kind of type, odd sizes, empty arrays, NaN, strides of any sign.
#include <gtest/gtest.h>
#include <spmd/device/host/conv.hpp>
#include <spmd/device/host/copy.hpp>
#include <spmd/device/host/gather.hpp>
#include <spmd/device/host/gemm.hpp>
#include <spmd/device/host/pool.hpp>
#include <spmd/device/host/reduce.hpp>
#include <spmd/device/host/scan.hpp>
#include <spmd/device/host/sort.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using spmd::Axes;
using spmd::Index;
using spmd::Shape;
namespace host = spmd::host;

std::mt19937& generator() {
  static std::mt19937 g(7);
  return g;
}
std::vector<unsigned char> random_bytes(Index n) {
  std::vector<unsigned char> out(static_cast<std::size_t>(n));
  for (auto& b : out) b = static_cast<unsigned char>(generator()());
  return out;
}

/// The next index of a shape in row-major order; false after the last.
bool advance(Axes& index, const Shape& shape) {
  for (Index d = shape.rank() - 1; d >= 0; --d) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}
Index offset(const Axes& index, const Axes& strides) {
  Index o = 0;
  for (Index d = 0; d < index.rank(); ++d) o += index[d] * strides[d];
  return o;
}

// ---------------------------------------------------------------- copy

/// A strided copy against an odometer; arrays are as large as the strides reach.
void check_copy(const Shape& shape, const Axes& out_strides, const Axes& in_strides, Index item) {
  SCOPED_TRACE("shape " + shape.text() + " out " + out_strides.text() + " in " + in_strides.text() + " item " + std::to_string(item));
  const auto reach = [&](const Axes& strides, bool negative) {
    Index r = 0;
    for (Index d = 0; d < shape.rank(); ++d)
      if (shape[d] > 0 && (strides[d] < 0) == negative) r += strides[d] * (shape[d] - 1);
    return r;
  };
  const Index out_low = -reach(out_strides, true), in_low = -reach(in_strides, true);
  const Index out_size = out_low + reach(out_strides, false) + 1, in_size = in_low + reach(in_strides, false) + 1;
  const auto in = random_bytes(in_size * item);
  auto out = random_bytes(out_size * item);
  auto expected = out;
  if (shape.size() > 0) {
    Axes index = Axes::filled(shape.rank(), 0);
    do std::memcpy(&expected[static_cast<std::size_t>((out_low + offset(index, out_strides)) * item)],
                   &in[static_cast<std::size_t>((in_low + offset(index, in_strides)) * item)], static_cast<std::size_t>(item));
    while (advance(index, shape));
  }
  host::copy_strided(out.data() + out_low * item, out_strides, in.data() + in_low * item, in_strides, shape, item);
  EXPECT_TRUE(out == expected);
}

/// Row-major strides of `shape`, permuted: axis d of the result is axis perm[d] of the array.
Axes permuted_strides(const Shape& result, const Axes& perm) {
  Shape source = result;
  for (Index d = 0; d < perm.rank(); ++d) source[perm[d]] = result[d];
  const Axes strides = spmd::detail::strides_of(source);
  Axes out = strides;
  for (Index d = 0; d < perm.rank(); ++d) out[d] = strides[perm[d]];
  return out;
}

class Items : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(HostCopy, Items, testing::Values(1, 2, 4, 8));

TEST_P(Items, CopiesEmptyAndScalar) {
  check_copy({}, {}, {}, GetParam());
  check_copy(Shape{0}, Axes{1}, Axes{1}, GetParam());
  check_copy({3, 0, 2}, {0, 2, 1}, {0, 2, 1}, GetParam());
  check_copy({1, 1}, {1, 1}, {5, 7}, GetParam());
}
TEST_P(Items, Transposes) {
  for (Index n : {1, 3, 5, 17, 64, 100})
    for (Index m : {1, 2, 3, 16, 17, 33, 100}) {
      const Shape shape{n, m};
      check_copy(shape, spmd::detail::strides_of(shape), permuted_strides(shape, {1, 0}), GetParam());
    }
}
TEST_P(Items, TransposesLarge) {
  // Beyond the size from which results are streamed, with and without edges and aligned rows.
  const Index n = GetParam() == 1 ? 3008 : GetParam() == 2 ? 2112 : GetParam() == 4 ? 1472 : 1088;
  for (Index m : {n, n + 1, n + 40}) check_copy({n, m}, {m, 1}, {1, n}, GetParam());
}
TEST_P(Items, PermutesEveryWay) {
  for (const Shape& shape : {Shape{3, 5, 17}, Shape{17, 2, 33}, Shape{20, 40, 1}, Shape{2, 3, 4}}) {
    Axes perm{0, 1, 2};
    do check_copy(shape, spmd::detail::strides_of(shape), permuted_strides(shape, perm), GetParam());
    while (std::next_permutation(perm.begin(), perm.end()));
  }
  Axes perm{0, 1, 2, 3};
  const Shape shape{3, 18, 4, 19};
  do check_copy(shape, spmd::detail::strides_of(shape), permuted_strides(shape, perm), GetParam());
  while (std::next_permutation(perm.begin(), perm.end()));
}
TEST_P(Items, Broadcasts) {
  for (Index n : {1, 3, 17, 100, 300}) {
    check_copy(Shape{n}, Axes{1}, Axes{0}, GetParam());
    check_copy({n, 5}, {5, 1}, {0, 1}, GetParam());
    check_copy({5, n}, {n, 1}, {1, 0}, GetParam());
    check_copy({3, n, 4}, {4 * n, 4, 1}, {4, 0, 1}, GetParam());
    check_copy({4, n, 3, 2}, {n * 6, 6, 2, 1}, {0, 1, 0, n}, GetParam());
  }
}
TEST_P(Items, FlipsAndSteps) {
  for (Index n : {1, 3, 17, 100}) {
    check_copy(Shape{n}, Axes{1}, Axes{-1}, GetParam());
    check_copy({n, 7}, {7, 1}, {-7, 1}, GetParam());
    check_copy({n, 7}, {7, 1}, {7, -1}, GetParam());
    check_copy({n, 7}, {7, 1}, {-7, -1}, GetParam());
    check_copy({n, 7}, {-7, -1}, {-7, 1}, GetParam());
    check_copy({n, 18}, {20, 1}, {1, -n}, GetParam());
    check_copy({n, 18}, {18, 1}, {-1, n}, GetParam());
    check_copy({n, 4}, {11, 2}, {9, 1}, GetParam());
    check_copy({n, 4, 3}, {30, 7, 2}, {24, 6, 2}, GetParam());
  }
}
TEST_P(Items, RandomStrides) {
  for (int round = 0; round < 300; ++round) {
    const auto pick = [](Index n) { return static_cast<Index>(generator()() % static_cast<unsigned>(n)); };
    const Index rank = pick(5);
    Shape shape;
    Axes perm, out_strides, in_strides;
    for (Index d = 0; d < rank; ++d) {
      shape.push_back(1 + pick(round % 3 == 0 ? 20 : 5));
      perm.push_back(d);
    }
    std::shuffle(perm.begin(), perm.end(), generator());
    in_strides = permuted_strides(shape, perm);
    std::shuffle(perm.begin(), perm.end(), generator());
    out_strides = permuted_strides(shape, perm);
    for (Index d = 0; d < rank; ++d) {
      if (pick(4) == 0) in_strides[d] = 0;
      if (pick(4) == 0) in_strides[d] *= -1;
      if (pick(4) == 0) out_strides[d] *= -1;
    }
    check_copy(shape, out_strides, in_strides, GetParam());
  }
}
TEST_P(Items, Fills) {
  const Index item = GetParam();
  for (Index n : {Index{0}, Index{1}, Index{3}, Index{17}, Index{64}, Index{100}, Index{1001}, host::stream_bytes + 13})
    for (Index start : {0, 1}) {
      const auto value = random_bytes(item);
      std::vector<unsigned char> out(static_cast<std::size_t>((n + start + 1) * item), 1), expected = out;
      for (Index i = 0; i < n; ++i) std::memcpy(expected.data() + (start + i) * item, value.data(), value.size());
      host::fill(out.data() + start * item, value.data(), n, item);
      EXPECT_TRUE(out == expected) << n;
    }
}

// ---------------------------------------------------------------- reduce

using spmd::bfloat16;
using spmd::float16;

/// Small numbers, so that integers and halves hold their sums; NaN is put in by hand.
template <class T> std::vector<T> random_numbers(Index n, int low = -4, int high = 4) {
  std::vector<T> out(static_cast<std::size_t>(n));
  for (auto& x : out) {
    const double u = std::uniform_real_distribution<double>(low, high)(generator());
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) x = static_cast<T>(u);
    else if constexpr (host::is_half_float<T>) x = static_cast<T>(static_cast<float>(u));
    else if constexpr (std::is_unsigned_v<T>) x = static_cast<T>(std::abs(u));
    else x = static_cast<T>(std::lround(u));
  }
  return out;
}
template <> std::vector<bool> random_numbers<bool>(Index, int, int) = delete;  // not contiguous: see Bools
/// An array of bool.
struct Bools {
  explicit Bools(Index n) : size(n), data(new bool[static_cast<std::size_t>(n + 1)]) {
    for (Index i = 0; i < n; ++i) data[i] = generator()() % 4 == 0;
  }
  ~Bools() { delete[] data; }
  Bools(const Bools&) = delete;
  Index size;
  bool* data;
};

template <class R> double combined(double a, double b) {
  const std::string name = R::name;
  if (name == "sum") return a + b;
  if (name == "prod") return a * b;
  if (name == "any") return a != 0 || b != 0;
  if (name == "all") return a != 0 && b != 0;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return name == "max" ? std::max(a, b) : std::min(a, b);
}
/// Whether x is y but for what rounding to T loses (subnormal halves are 6e-8 apart), and computing with terms of this
/// magnitude.
template <class T> bool near(double x, double y, double magnitude) {
  if (std::isnan(y)) return std::isnan(x);
  if (x == y) return true;
  const double last = std::is_same_v<T, double> ? 1e-15 : std::is_same_v<T, float16> ? 1.0 / 2048 : std::is_same_v<T, bfloat16> ? 1.0 / 256 : 1e-7;
  return std::abs(x - y) <= last * std::abs(y) + (std::is_same_v<T, float16> ? 3e-8 : 0) + (std::is_same_v<T, double> ? 1e-15 : 5e-7) * magnitude;
}

template <class R, class T, class Out> void check_reduce(const T* in, const Shape& shape, const Axes& axes) {
  SCOPED_TRACE(std::string(R::name) + " of " + shape.text() + " over " + axes.text());
  Shape kept;
  Axes out_strides;
  for (Index d = 0; d < shape.rank(); ++d)
    if (!axes.contains(d)) kept.push_back(shape[d]);
  const Axes kept_strides = spmd::detail::strides_of(kept);
  for (Index d = 0, k = 0; d < shape.rank(); ++d) out_strides.push_back(axes.contains(d) ? 0 : kept_strides[k++]);
  const Index n = kept.size();
  std::vector<double> expected(static_cast<std::size_t>(n)), size(expected);
  std::vector<bool> seen(expected.size());
  Axes index = Axes::filled(shape.rank(), 0);
  if (shape.size() > 0) {
    Index i = 0;
    do {
      const auto o = static_cast<std::size_t>(offset(index, out_strides));
      const auto x = static_cast<double>(in[i++]);
      expected[o] = seen[o] ? combined<R>(expected[o], x) : x;
      size[o] = std::is_same_v<R, host::ProdOf> ? 20 * std::abs(expected[o]) : size[o] + std::abs(x);
      seen[o] = true;
    } while (advance(index, shape));
  }
  std::unique_ptr<Out[]> out(new Out[static_cast<std::size_t>(n + 1)]);
  host::reduce<R>(out.get(), in, shape, axes);
  for (Index i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double e = seen[k] ? expected[k] : static_cast<double>(R::template identity<Out>());
    ASSERT_TRUE(near<Out>(static_cast<double>(out[k]), e, size[k])) << i << ": " << static_cast<double>(out[k]) << " for " << e;
  }
}

/// Every choice of axes of some shapes.
template <class F> void for_each_reduction(F&& f) {
  const std::vector<Shape> shapes{Shape{}, Shape{1}, Shape{3}, Shape{17}, Shape{64}, Shape{100}, Shape{0}, {3, 0}, {0, 3}, {5, 17}, {17, 5}, {64, 100}, {100, 3},
                                  {1000, 3}, {5000, 2}, {3, 5000}, {40, 1, 33}, {5, 64, 3}, {3, 5, 17, 4}, {2, 3, 1, 5, 7}, {33, 1100}};
  for (const auto& shape : shapes)
    for (unsigned mask = 0; mask < 1u << shape.rank(); ++mask) {
      Axes axes;
      for (Index d = shape.rank() - 1; d >= 0; --d)
        if (mask >> d & 1u) axes.push_back(d);
      f(shape, axes);
    }
}

template <class T> class HostReduce : public testing::Test {};
using Numbers = testing::Types<float, double, float16, bfloat16, std::int8_t, std::uint16_t, std::int32_t, std::uint64_t>;
TYPED_TEST_SUITE(HostReduce, Numbers, );

TYPED_TEST(HostReduce, EveryAxis) {
  using Sum = std::conditional_t<std::is_integral_v<TypeParam> && sizeof(TypeParam) < 4, std::int32_t, TypeParam>;
  for_each_reduction([](const Shape& shape, const Axes& axes) {
    const auto in = random_numbers<TypeParam>(shape.size());
    check_reduce<host::SumOf, TypeParam, Sum>(in.data(), shape, axes);
    check_reduce<host::MaxOf, TypeParam, TypeParam>(in.data(), shape, axes);
    check_reduce<host::MinOf, TypeParam, TypeParam>(in.data(), shape, axes);
  });
  for (Index n : {1, 3, 5, 17}) {
    const auto in = random_numbers<TypeParam>(3 * n, 1, 2);
    check_reduce<host::ProdOf, TypeParam, Sum>(in.data(), {n, 3}, {0});
    check_reduce<host::ProdOf, TypeParam, Sum>(in.data(), {3, n}, {1});
  }
}
TYPED_TEST(HostReduce, NaNWins) {
  if constexpr (!std::is_integral_v<TypeParam>)
    for (Index n : {1, 5, 17, 100, 600})
      for (Index at : {Index{0}, n / 2, n - 1}) {
        auto in = random_numbers<TypeParam>(n * 3);
        in[static_cast<std::size_t>(at * 3 + 1)] = std::numeric_limits<TypeParam>::quiet_NaN();
        for (const Shape& shape : {Shape{n, 3}, Shape{3, n}})
          for (const Axes& axes : {Axes{0}, Axes{1}, Axes{0, 1}}) {
            check_reduce<host::MaxOf, TypeParam, TypeParam>(in.data(), shape, axes);
            check_reduce<host::MinOf, TypeParam, TypeParam>(in.data(), shape, axes);
            check_reduce<host::SumOf, TypeParam, TypeParam>(in.data(), shape, axes);
          }
      }
}
TEST(HostReduceBool, AnyAllSum) {
  for_each_reduction([](const Shape& shape, const Axes& axes) {
    const Bools in(shape.size());
    check_reduce<host::AnyOf, bool, bool>(in.data, shape, axes);
    check_reduce<host::AllOf, bool, bool>(in.data, shape, axes);
    check_reduce<host::MaxOf, bool, bool>(in.data, shape, axes);
    check_reduce<host::MinOf, bool, bool>(in.data, shape, axes);
    check_reduce<host::SumOf, bool, std::int32_t>(in.data, shape, axes);
  });
}
TEST(HostReduceSum, StaysAccurate) {
  // Equal terms are the worst: their rounding errors all have one sign.
  const Index n = Index{1} << 24;
  for (bool equal : {true, false}) {
    std::vector<float> in(static_cast<std::size_t>(n), 0.1f);
    if (!equal) for (auto& x : in) x = std::uniform_real_distribution<float>(0, 1)(generator());
    for (const Shape& shape : {Shape{n}, Shape{n / 4, 4}, Shape{n / 256, 256}, Shape{4, n / 16, 4}}) {
      const Index inner = shape.rank() == 1 ? 1 : shape.back(), outer = shape.rank() == 3 ? 4 : 1;
      std::vector<double> expected(static_cast<std::size_t>(outer * inner));
      for (Index i = 0; i < n; ++i) expected[static_cast<std::size_t>(i / (n / outer) * inner + i % inner)] += static_cast<double>(in[static_cast<std::size_t>(i)]);
      std::vector<float> out(expected.size());
      host::reduce<host::SumOf>(out.data(), in.data(), shape, shape.rank() == 3 ? Axes{1} : Axes{0});
      for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(static_cast<double>(out[i]) / expected[i], 1, 1e-6);
    }
  }
}
TEST(HostReduceSum, IntegersWrap) {
  const std::vector<std::int32_t> in{std::numeric_limits<std::int32_t>::max(), 1, 1};
  std::int32_t out = 0;
  host::reduce<host::SumOf>(&out, in.data(), Shape{3}, Axes{0});
  EXPECT_EQ(out, std::numeric_limits<std::int32_t>::min() + 1);
}

template <class R, class T> void check_combine(Index n, Index count) {
  std::vector<std::vector<T>> ins;
  std::vector<const T*> pointers;
  for (Index c = 0; c < count; ++c) {
    ins.push_back(random_numbers<T>(n));
    if constexpr (!std::is_integral_v<T>)
      if (n > 2) ins.back()[static_cast<std::size_t>(c % n)] = std::numeric_limits<T>::quiet_NaN();
  }
  for (const auto& in : ins) pointers.push_back(in.data());
  using A = host::detail::Accumulator<R, T>;
  std::vector<T> out(static_cast<std::size_t>(n + 1), T(7)), again(out);
  host::combine<R>(out.data(), pointers.data(), count, 0, n);
  EXPECT_TRUE(out[static_cast<std::size_t>(n)] == T(7));
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    auto e = static_cast<A>(ins[0][i]);
    for (std::size_t c = 1; c < ins.size(); ++c) e = static_cast<A>(R::of(e, static_cast<A>(ins[c][i])));
    const T expected = static_cast<T>(e);
    ASSERT_TRUE(out[i] == expected || (expected != expected && out[i] != out[i])) << R::name << " " << n << " " << count << " " << i;
  }
  // In parts: the same bits.
  for (Index begin = 0; begin < n; begin += 37) host::combine<R>(again.data(), pointers.data(), count, begin, std::min(n, begin + 37));
  EXPECT_EQ(std::memcmp(out.data(), again.data(), out.size() * sizeof(T)), 0);
}
TYPED_TEST(HostReduce, CombinesInOrder) {
  for (Index n : {0, 1, 3, 5, 17, 64, 100, 1000})
    for (Index count : {1, 2, 3, 8, 64}) {
      check_combine<host::SumOf, TypeParam>(n, count);
      check_combine<host::MaxOf, TypeParam>(n, count);
    }
}
TEST(HostReduceOthers, CombineInOrder) {
  for (Index n : {5, 17, 300}) {
    check_combine<host::MinOf, float>(n, 3);
    check_combine<host::MinOf, bfloat16>(n, 3);
    check_combine<host::ProdOf, float>(n, 3);
    check_combine<host::ProdOf, std::uint16_t>(n, 3);
  }
}
TEST(HostReduceBool, Combines) {
  const Bools a(100), b(100);
  const bool* ins[] = {a.data, b.data};
  bool any[100], all[100];
  host::combine<host::AnyOf>(any, ins, 2, 0, 100);
  host::combine<host::AllOf>(all, ins, 2, 0, 100);
  for (Index i = 0; i < 100; ++i) {
    EXPECT_EQ(any[i], a.data[i] || b.data[i]);
    EXPECT_EQ(all[i], a.data[i] && b.data[i]);
  }
}

// ---------------------------------------------------------------- gemm

template <class T> void check_gemm(Index m, Index k, Index n, bool ta, bool tb, Index batch = 1, bool same_a = false, bool same_b = false) {
  SCOPED_TRACE(std::to_string(m) + " " + std::to_string(k) + " " + std::to_string(n) + (ta ? " ta" : "") + (tb ? " tb" : ""));
  const auto a = random_numbers<T>(batch * m * k, -2, 2), b = random_numbers<T>(batch * k * n, -2, 2);
  std::vector<T> c(static_cast<std::size_t>(batch * m * n + 1), T(7));
  const Index a_stride = same_a ? 0 : m * k, b_stride = same_b ? 0 : k * n;
  if (batch == 1) host::gemm(c.data(), a.data(), b.data(), m, k, n, ta, tb);
  else host::gemm_batched(c.data(), a.data(), b.data(), batch, a_stride, b_stride, m, k, n, ta, tb);
  EXPECT_TRUE(c.back() == T(7));
  for (Index q = 0; q < batch; ++q)
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (Index p = 0; p < k; ++p) {
          const auto x = static_cast<double>(a[static_cast<std::size_t>(q * a_stride + (ta ? p * m + i : i * k + p))]);
          const auto y = static_cast<double>(b[static_cast<std::size_t>(q * b_stride + (tb ? j * k + p : p * n + j))]);
          sum += x * y;
          size += std::abs(x * y);
        }
        const T out = c[static_cast<std::size_t>((q * m + i) * n + j)];
        if constexpr (std::is_integral_v<T>) ASSERT_EQ(out, static_cast<T>(static_cast<std::int64_t>(sum)));
        else ASSERT_TRUE(near<T>(static_cast<double>(out), sum, size)) << static_cast<double>(out) << " for " << sum;
      }
}

template <class T> class HostGemm : public testing::Test {};
TYPED_TEST_SUITE(HostGemm, Numbers, );

TYPED_TEST(HostGemm, EverySizeAndOrder) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      for (Index m : {1, 3, 5, 17})
        for (Index k : {0, 1, 2, 3, 17, 64})
          for (Index n : {1, 3, 5, 17, 100}) check_gemm<TypeParam>(m, k, n, ta, tb);
      check_gemm<TypeParam>(0, 3, 4, ta, tb);
      check_gemm<TypeParam>(3, 3, 0, ta, tb);
      check_gemm<TypeParam>(64, 100, 64, ta, tb);
      check_gemm<TypeParam>(300, 3, 2, ta, tb);
      check_gemm<TypeParam>(1, 500, 1100, ta, tb);
      check_gemm<TypeParam>(1100, 500, 1, ta, tb);
      check_gemm<TypeParam>(1, 10000, 1, ta, tb);
    }
}
TYPED_TEST(HostGemm, Batches) {
  for (bool ta : {false, true})
    for (bool same_a : {false, true})
      for (bool same_b : {false, true}) {
        check_gemm<TypeParam>(3, 5, 17, ta, false, 4, same_a, same_b);
        check_gemm<TypeParam>(17, 5, 3, ta, true, 3, same_a, same_b);
        check_gemm<TypeParam>(1, 1, 1, ta, true, 5, same_a, same_b);
      }
}
TEST(HostGemmBool, IsOrOfAnds) {
  for (Index m : {1, 3, 33})
    for (Index k : {0, 1, 5, 64})
      for (Index n : {1, 3, 40}) {
        const Bools a(m * k), b(k * n);
        Bools c(m * n);
        host::gemm(c.data, a.data, b.data, m, k, n, false, true);
        for (Index i = 0; i < m; ++i)
          for (Index j = 0; j < n; ++j) {
            bool e = false;
            for (Index p = 0; p < k; ++p) e = e || (a.data[i * k + p] && b.data[j * k + p]);
            ASSERT_EQ(c.data[i * n + j], e) << m << " " << k << " " << n;
          }
      }
}

// ---------------------------------------------------------------- scan

template <class T> class HostScan : public testing::Test {};
TYPED_TEST_SUITE(HostScan, Numbers, );

template <bool Max, class T> void check_arg_reduce(const std::vector<T>& in, Index outer, Index n, Index inner) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(outer * inner));
  host::arg_reduce<Max>(out.data(), in.data(), outer, n, inner);
  for (Index o = 0; o < outer; ++o)
    for (Index i = 0; i < inner; ++i) {
      std::int32_t best = 0;
      const auto at = [&](Index j) { return static_cast<double>(in[static_cast<std::size_t>((o * n + j) * inner + i)]); };
      for (std::int32_t j = 1; j < n; ++j)
        if (!std::isnan(at(best)) && (std::isnan(at(j)) || (Max ? at(j) > at(best) : at(j) < at(best)))) best = j;
      ASSERT_EQ(out[static_cast<std::size_t>(o * inner + i)], best) << outer << " " << n << " " << inner << " " << o << " " << i;
    }
}
TYPED_TEST(HostScan, ArgReduces) {
  for (Index n : {1, 3, 5, 17, 64, 100, 5000})
    for (Index inner : {1, 3, 17})
      for (Index outer : {0, 1, 3}) {
        auto in = random_numbers<TypeParam>(outer * n * inner);
        check_arg_reduce<true>(in, outer, n, inner);
        check_arg_reduce<false>(in, outer, n, inner);
        if constexpr (!std::is_integral_v<TypeParam>) {
          for (auto& x : in)
            if (generator()() % static_cast<unsigned>(n + 1) == 0) x = std::numeric_limits<TypeParam>::quiet_NaN();
          check_arg_reduce<true>(in, outer, n, inner);
          check_arg_reduce<false>(in, outer, n, inner);
        }
      }
  check_arg_reduce<true>(random_numbers<TypeParam>(7 * 1100), 1, 7, 1100);
  check_arg_reduce<true>(std::vector<TypeParam>(10000, TypeParam(1)), 1, 10000, 1);
}
TYPED_TEST(HostScan, SumsCumulatively) {
  using Out = std::conditional_t<std::is_integral_v<TypeParam> && sizeof(TypeParam) < 4, std::int32_t, TypeParam>;
  for (Index n : {0, 1, 3, 5, 17, 100})
    for (Index inner : {1, 3, 17, 600})
      for (bool reverse : {false, true}) {
        const Index outer = 2;
        const auto in = random_numbers<TypeParam>(outer * n * inner);
        std::vector<Out> out(in.size());
        host::cumulative_sum(out.data(), in.data(), outer, n, inner, reverse);
        for (Index o = 0; o < outer; ++o)
          for (Index i = 0; i < inner; ++i) {
            double sum = 0, size = 0;
            for (Index k = 0; k < n; ++k) {
              const auto at = static_cast<std::size_t>((o * n + (reverse ? n - 1 - k : k)) * inner + i);
              sum += static_cast<double>(in[at]);
              size += std::abs(static_cast<double>(in[at]));
              ASSERT_TRUE(near<Out>(static_cast<double>(out[at]), sum, size));
            }
          }
      }
}

// ---------------------------------------------------------------- gather

std::vector<std::int64_t> random_rows(Index count, Index n) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (auto& r : rows) r = static_cast<std::int64_t>(generator()() % static_cast<unsigned>(n + 1)) - 1;
  return rows;
}
TEST_P(Items, Takes) {
  const Index item = GetParam();
  for (Index outer : {1, 3})
    for (Index n : {1, 5, 17})
      for (Index inner : {0, 1, 2, 3, 17})
        for (Index count : {0, 1, 3, 20}) {
          const auto in = random_bytes(outer * n * inner * item);
          const auto rows = random_rows(count, n), along = random_rows(outer * count * inner, n);
          auto out = random_bytes(outer * count * inner * item), expected = out, out_along = out, expected_along = out;
          for (Index o = 0; o < outer; ++o)
            for (Index r = 0; r < count; ++r)
              for (Index i = 0; i < inner; ++i)
                for (Index byte = 0; byte < item; ++byte) {
                  const Index e = (o * count + r) * inner + i, row = rows[static_cast<std::size_t>(r)], other = along[static_cast<std::size_t>(e)];
                  const auto get = [&](Index at) { return at < 0 ? static_cast<unsigned char>(0) : in[static_cast<std::size_t>(((o * n + at) * inner + i) * item + byte)]; };
                  expected[static_cast<std::size_t>(e * item + byte)] = get(row);
                  expected_along[static_cast<std::size_t>(e * item + byte)] = get(other);
                }
          host::take(out.data(), in.data(), rows.data(), count, outer, n, inner, item);
          host::take_along(out_along.data(), in.data(), along.data(), outer, n, count, inner, item);
          EXPECT_TRUE(out == expected);
          EXPECT_TRUE(out_along == expected_along);
        }
}
TYPED_TEST(HostScan, ScattersInOrder) {
  using T = TypeParam;
  const auto add = [](T& x, T y) {
    if constexpr (host::is_half_float<T>) x = static_cast<T>(static_cast<float>(x) + static_cast<float>(y));
    else x = static_cast<T>(x + y);
  };
  for (Index outer : {1, 3})
    for (Index n : {1, 5, 17})
      for (Index inner : {1, 3, 17, 100})
        for (Index count : {0, 1, 20}) {
          auto out = random_numbers<T>(outer * n * inner), expected = out, out_along = out, expected_along = out;
          const auto updates = random_numbers<T>(outer * count * inner);
          const auto rows = random_rows(count, n), along = random_rows(outer * count * inner, n);
          for (Index o = 0; o < outer; ++o)
            for (Index r = 0; r < count; ++r)
              for (Index i = 0; i < inner; ++i) {
                const auto e = static_cast<std::size_t>((o * count + r) * inner + i);
                const Index row = rows[static_cast<std::size_t>(r)], other = along[e];
                if (row >= 0) add(expected[static_cast<std::size_t>((o * n + row) * inner + i)], updates[e]);
                if (other >= 0) add(expected_along[static_cast<std::size_t>((o * n + other) * inner + i)], updates[e]);
              }
          host::scatter_add(out.data(), updates.data(), rows.data(), count, outer, n, inner);
          host::scatter_add_along(out_along.data(), updates.data(), along.data(), outer, n, count, inner);
          EXPECT_TRUE(out == expected);
          EXPECT_TRUE(out_along == expected_along);
        }
}

// ---------------------------------------------------------------- sort

template <class T> void check_sort(const std::vector<T>& in, Index outer, Index n, Index inner) {
  std::vector<T> out(in.size());
  std::vector<std::int32_t> indices(in.size());
  host::sort(out.data(), in.data(), outer, n, inner);
  host::arg_sort(indices.data(), in.data(), outer, n, inner);
  for (Index o = 0; o < outer; ++o)
    for (Index i = 0; i < inner; ++i) {
      const auto at = [&](Index j) { return static_cast<std::size_t>((o * n + j) * inner + i); };
      std::vector<std::int32_t> expected(static_cast<std::size_t>(n));
      std::iota(expected.begin(), expected.end(), 0);
      std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
        const T x = in[at(a)], y = in[at(b)];
        if (x != x || y != y) return x == x;
        return x < y;
      });
      for (Index j = 0; j < n; ++j) {
        ASSERT_EQ(indices[at(j)], expected[static_cast<std::size_t>(j)]);
        ASSERT_EQ(std::memcmp(&out[at(j)], &in[at(expected[static_cast<std::size_t>(j)])], sizeof(T)), 0);
      }
    }
}
TYPED_TEST(HostScan, Sorts) {
  using T = TypeParam;
  for (Index n : {0, 1, 2, 3, 17, 80, 81, 100, 300, 1000})
    for (Index inner : {1, 3}) {
      auto in = random_numbers<T>(2 * n * inner, -3, 3);
      check_sort(in, 2, n, inner);
      if constexpr (!std::is_integral_v<T>)
        for (auto& x : in) {
          const auto pick = generator()() % 8;
          if (pick == 0) x = std::numeric_limits<T>::quiet_NaN();
          if (pick == 1) x = T(-0.0f);
          if (pick == 2) x = T(0.0f);
          if (pick == 3) x = std::numeric_limits<T>::infinity();
          if (pick == 4) x = -x;
          if (pick == 5) x = -std::numeric_limits<T>::infinity();
          if (pick == 6) x = -std::numeric_limits<T>::quiet_NaN();
        }
      else
        for (auto& x : in) x = generator()() % 2 ? std::numeric_limits<T>::lowest() : static_cast<T>(generator()());
      check_sort(in, 2, n, inner);
    }
}

// ---------------------------------------------------------------- convolution and pooling

std::vector<host::Window> some_windows() {
  return {{1, 1}, {5, 1}, {5, 3}, {7, 3, 2, 1, 1}, {6, 2, 2}, {6, 3, 1, 1, 1}, {5, 3, 3, 0, 2}, {4, 4, 1, 3, 3}, {3, 5, 1, 2, 2}, {2, 3}, {3, 2, 4, 5, 1}};
}
/// f(b, r, c, i, j, y, x): output pixel, place in the window, input pixel; only where that is inside.
template <class F> void for_each_tap(Index batch, const host::Window& rows, const host::Window& columns, F&& f) {
  for (Index b = 0; b < batch; ++b)
    for (Index r = 0; r < rows.outputs(); ++r)
      for (Index c = 0; c < columns.outputs(); ++c)
        for (Index i = 0; i < rows.window; ++i)
          for (Index j = 0; j < columns.window; ++j) {
            const Index y = r * rows.stride - rows.low + i, x = c * columns.stride - columns.low + j;
            if (y >= 0 && y < rows.size && x >= 0 && x < columns.size)
              f((b * rows.outputs() + r) * columns.outputs() + c, i * columns.window + j, (b * rows.size + y) * columns.size + x);
          }
}

template <class T> class HostImages : public testing::Test {};
using Floats = testing::Types<float, double, bfloat16, float16>;
TYPED_TEST_SUITE(HostImages, Floats, );

template <class T> void expect_near(const std::vector<T>& out, const std::vector<double>& expected, const std::vector<double>& size, double rounds = 1) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double loss = host::is_half_float<T> ? (rounds - 1) / 256 : 0;  // where 16-bit floats are rounded more than once
    ASSERT_TRUE(near<T>(static_cast<double>(out[i]), expected[i], size[i]) || std::abs(static_cast<double>(out[i]) - expected[i]) <= loss * size[i])
        << i << ": " << static_cast<double>(out[i]) << " for " << expected[i];
  }
}
template <class T> void check_conv(const host::Conv2d& c) {
  SCOPED_TRACE(testing::Message() << c.rows.size << "/" << c.rows.window << " " << c.columns.size << "/" << c.columns.window << " " << c.channels << ">" << c.features);
  const Index inputs = c.batch * c.image(), outputs = c.pixels() * c.features, weights = c.patch() * c.features;
  const auto in = random_numbers<T>(inputs, -1, 1), w = random_numbers<T>(weights, -1, 1), gradient = random_numbers<T>(outputs, -1, 1);
  std::vector<T> out(gradient.size(), T(7)), in_gradient(in.size(), T(7)), w_gradient(w.size(), T(7));
  std::vector<double> e_out(out.size()), s_out(out.size()), e_in(in.size()), s_in(in.size()), e_w(w.size()), s_w(w.size());
  for_each_tap(c.batch, c.rows, c.columns, [&](Index o, Index tap, Index pixel) {
    for (Index f = 0; f < c.features; ++f)
      for (Index k = 0; k < c.channels; ++k) {
        const auto a = static_cast<std::size_t>(pixel * c.channels + k), b = static_cast<std::size_t>((tap * c.channels + k) * c.features + f), q = static_cast<std::size_t>(o * c.features + f);
        const auto x = static_cast<double>(in[a]), y = static_cast<double>(w[b]), g = static_cast<double>(gradient[q]);
        e_out[q] += x * y;
        e_in[a] += g * y;
        e_w[b] += g * x;
        s_out[q] += std::abs(x * y);
        s_in[a] += std::abs(g * y);
        s_w[b] += std::abs(g * x);
      }
  });
  // Exactly as large as it is said to be, so that the address sanitizer sees a kernel that takes more.
  std::unique_ptr<char[]> workspace(new char[static_cast<std::size_t>(host::conv2d_workspace<T>(c))]);
  host::conv2d(out.data(), in.data(), w.data(), c, workspace.get());
  host::conv2d_input_gradient(in_gradient.data(), gradient.data(), w.data(), c, workspace.get());
  host::conv2d_weight_gradient(w_gradient.data(), in.data(), gradient.data(), c, workspace.get());
  expect_near(out, e_out, s_out);
  expect_near(in_gradient, e_in, s_in);
  expect_near(w_gradient, e_w, s_w);
}
TYPED_TEST(HostImages, Convolve) {
  const auto windows = some_windows();
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto &rows = windows[i], &columns = windows[(i * 5 + 2) % windows.size()];
    check_conv<TypeParam>({2, rows, columns, 3, 5});
    check_conv<TypeParam>({1, rows, rows, 17, 1});
    check_conv<TypeParam>({3, columns, columns, 1, 17});
  }
  check_conv<TypeParam>({0, {5, 3}, {5, 3}, 2, 2});
  check_conv<TypeParam>({3, {30, 3, 1, 1, 1}, {30, 3, 1, 1, 1}, 4, 8});  // more pixels than are taken at a time
}
TYPED_TEST(HostImages, Pool) {
  using T = TypeParam;
  for (const auto& rows : some_windows())
    for (const auto& columns : some_windows())
      for (Index channels : {1, 3, 17, 40}) {
        const host::Pool2d p{2, rows, columns, channels};
        const Index inputs = 2 * rows.size * columns.size * channels, outputs = 2 * rows.outputs() * columns.outputs() * channels;
        auto in = random_numbers<T>(inputs, -2, 2);
        for (auto& x : in) x = static_cast<T>(std::round(static_cast<float>(x) * 2));  // many equals
        if (!in.empty()) in[0] = std::numeric_limits<T>::quiet_NaN();
        const auto g = random_numbers<T>(outputs, -1, 1);
        std::vector<double> greatest(g.size(), -std::numeric_limits<double>::infinity()), count(g.size()), sum(g.size()), size(g.size());
        std::vector<Index> winner(g.size(), -1);
        for_each_tap(2, rows, columns, [&](Index o, Index, Index pixel) {
          for (Index k = 0; k < channels; ++k) {
            const auto q = static_cast<std::size_t>(o * channels + k);
            const auto x = static_cast<double>(in[static_cast<std::size_t>(pixel * channels + k)]);
            if (winner[q] < 0 || (!std::isnan(greatest[q]) && (std::isnan(x) || x > greatest[q]))) {
              winner[q] = pixel * channels + k;
              greatest[q] = x;
            }
            count[q] += 1;
            sum[q] += x;
            size[q] += std::abs(x);
          }
        });
        std::vector<T> out(g.size()), gradient(in.size());
        host::max_pool2d(out.data(), in.data(), p);
        expect_near(out, greatest, std::vector<double>(g.size()));
        host::max_pool2d_gradient(gradient.data(), in.data(), g.data(), p);
        std::vector<double> e(in.size()), s(in.size());
        for (std::size_t q = 0; q < g.size(); ++q)
          if (winner[q] >= 0) {
            e[static_cast<std::size_t>(winner[q])] += static_cast<double>(g[q]);
            s[static_cast<std::size_t>(winner[q])] += std::abs(static_cast<double>(g[q]));
          }
        expect_near(gradient, e, s, 20);
        for (bool count_padding : {false, true}) {
          const auto divisor = [&](std::size_t q) { return count_padding ? static_cast<double>(rows.window * columns.window) : std::max(1.0, count[q]); };
          auto mean = sum;
          for (std::size_t q = 0; q < g.size(); ++q) mean[q] /= divisor(q);
          host::avg_pool2d(out.data(), in.data(), p, count_padding);
          expect_near(out, mean, size);
          std::fill(e.begin(), e.end(), 0);
          std::fill(s.begin(), s.end(), 0);
          for_each_tap(2, rows, columns, [&](Index o, Index, Index pixel) {
            for (Index k = 0; k < channels; ++k) {
              const auto q = static_cast<std::size_t>(o * channels + k), a = static_cast<std::size_t>(pixel * channels + k);
              e[a] += static_cast<double>(g[q]) / divisor(q);
              s[a] += std::abs(static_cast<double>(g[q])) / divisor(q);
            }
          });
          host::avg_pool2d_gradient(gradient.data(), g.data(), p, count_padding);
          expect_near(gradient, e, s, 20);
        }
      }
}

}  // namespace
