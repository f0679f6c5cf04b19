// Integers, bool, casts, NaN and infinity, and tensors without elements.
#include "support/check.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

using namespace spmd;
using check::close, check::D;

namespace {

using I = Tensor<std::int32_t>;
using B = Tensor<bool>;
constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr auto smallest = std::numeric_limits<std::int32_t>::min(), largest = std::numeric_limits<std::int32_t>::max();

I ints(std::initializer_list<std::int32_t> v) { return array<std::int32_t>(v); }
B bools(std::initializer_list<bool> v) { return array<bool>(v); }
template <class T> testing::AssertionResult equal(const Tensor<T>& a, const Tensor<T>& b) { return close(a, b, 0); }

// ---------------------------------------------------------------- integers

TEST(Integers, division_raises_no_signal) {
  EXPECT_TRUE(equal(ints({7, -7, 7, -7, 0}) / ints({2, 2, -2, -2, 5}), ints({3, -3, -3, 3, 0})));
  EXPECT_TRUE(equal(ints({1, 0, -5, smallest}) / 0, ints({-1, -1, -1, -1})));
  EXPECT_TRUE(equal(ints({smallest, largest, 5}) / -1, ints({smallest, -largest, -5})));
  EXPECT_TRUE(equal(fmod(ints({7, -7, 7, smallest, 5}), ints({3, 3, -3, -1, 0})), ints({1, -1, 1, 0, 5})));
  EXPECT_TRUE(equal(array<std::uint8_t>({7, 200}) / array<std::uint8_t>({0, 3}), array<std::uint8_t>({255, 66})));
  EXPECT_TRUE(equal(array<std::int8_t>({-128}) / std::int8_t{-1}, array<std::int8_t>({-128})));
  EXPECT_TRUE(equal(array<std::int64_t>({std::numeric_limits<std::int64_t>::min()}) / -1, array<std::int64_t>({std::numeric_limits<std::int64_t>::min()})));
}

TEST(Integers, arithmetic_wraps) {
  EXPECT_TRUE(equal(ints({largest}) + 1, ints({smallest})));
  EXPECT_TRUE(equal(ints({smallest}) - 1, ints({largest})));
  EXPECT_TRUE(equal(-ints({smallest}), ints({smallest})));
  EXPECT_TRUE(equal(abs(ints({smallest, -3})), ints({smallest, 3})));
  EXPECT_TRUE(equal(array<std::uint8_t>({200}) + array<std::uint8_t>({100}), array<std::uint8_t>({44})));
  EXPECT_TRUE(equal(array<std::int16_t>({300}) * array<std::int16_t>({300}), array<std::int16_t>({24464})));
  EXPECT_TRUE(equal(square(array<std::uint16_t>({65535})), array<std::uint16_t>({1})));
  EXPECT_TRUE(equal(-array<std::uint32_t>({1}), array<std::uint32_t>({4294967295u})));
}

TEST(Integers, powers) {
  EXPECT_TRUE(equal(pow(ints({2, -2, 0, 3}), ints({10, 3, 0, 0})), ints({1024, -8, 1, 1})));
  EXPECT_TRUE(equal(pow(ints({1, -1, -1, 2, 0}), ints({-3, -3, -2, -1, -1})), ints({1, -1, 1, 0, 0})));
  EXPECT_TRUE(equal(pow(ints({3}), 40), ints({689956897})));  // 3^40 mod 2^32
}

TEST(Integers, comparisons_and_selection) {
  EXPECT_TRUE(equal(ints({1, 2, 3}) < ints({2, 2, 2}), bools({true, false, false})));
  EXPECT_TRUE(equal(array<std::uint32_t>({4000000000u}) > 5u, bools({true})));
  EXPECT_TRUE(equal(maximum(array<std::uint8_t>({200, 3}), std::uint8_t{100}), array<std::uint8_t>({200, 100})));
  EXPECT_TRUE(equal(sign(ints({-5, 0, 9})), ints({-1, 0, 1})));
  EXPECT_TRUE(equal(clip(ints({-5, 0, 9}), -1, 3), ints({-1, 0, 3})));
  EXPECT_TRUE(equal(where(bools({true, false}), ints({1, 2}), 7), ints({1, 7})));
}

TEST(Integers, reductions_widen) {
  const auto bytes = array<std::uint8_t>({200, 100, 7});
  static_assert(std::is_same_v<decltype(sum(bytes)), I> && std::is_same_v<decltype(prod(bytes)), I> && std::is_same_v<decltype(cumsum(bytes, 0)), I>);
  static_assert(std::is_same_v<decltype(sum(Tensor<std::int16_t>())), I> && std::is_same_v<decltype(sum(B())), I> && std::is_same_v<decltype(cumsum(B(), 0)), I>);
  static_assert(std::is_same_v<decltype(sum(Tensor<std::uint32_t>())), Tensor<std::uint32_t>> && std::is_same_v<decltype(sum(Tensor<std::int64_t>())), Tensor<std::int64_t>>);
  static_assert(std::is_same_v<decltype(mean(bytes)), Tensor<float>> && std::is_same_v<decltype(mean(B())), Tensor<float>> && std::is_same_v<decltype(var(bytes)), Tensor<float>>);
  static_assert(std::is_same_v<decltype(max(bytes)), Tensor<std::uint8_t>> && std::is_same_v<decltype(argmax(bytes)), I> && std::is_same_v<decltype(argsort(bytes)), I>);
  EXPECT_EQ(sum(bytes).item(), 307);
  EXPECT_EQ(prod(bytes).item(), 140000);
  EXPECT_TRUE(equal(cumsum(bytes, 0), ints({200, 300, 307})));
  EXPECT_EQ(sum(bools({true, true, false})).item(), 2);
  EXPECT_TRUE(equal(cumsum(bools({true, true, false})), ints({1, 2, 2})));
  EXPECT_EQ(prod(bools({true, false})).item(), 0);
  EXPECT_EQ(mean(bools({true, true, false, false})).item(), 0.5f);
  EXPECT_EQ(mean(ints({1, 2})).item(), 1.5f);
  EXPECT_EQ(var(ints({1, 3})).item(), 1.0f);
  EXPECT_EQ(sum(ints({largest, 1})).item(), smallest);
  EXPECT_TRUE(equal(sum(bytes, Axes{}), ints({200, 100, 7})));  // reduces nothing, widens all the same
}

TEST(Integers, products_and_sorts) {
  EXPECT_TRUE(equal(matmul(array<int>({{1, 2}, {3, 4}}), array<int>({{5}, {6}})), array<int>({{17}, {39}})));
  EXPECT_TRUE(equal(einsum("ij,ij->", array<int>({{1, 2}, {3, 4}}), array<int>({{1, 1}, {1, 2}})), Tensor<int>(14)));
  EXPECT_TRUE(equal(einsum("i,j->ij", array<std::int8_t>({100, 1}), array<std::int8_t>({2})), Tensor<std::int8_t>({2, 1}, {-56, 2})));
  EXPECT_TRUE(equal(sort(array<std::uint8_t>({200, 3, 100})), array<std::uint8_t>({3, 100, 200})));
  EXPECT_TRUE(equal(sort(array<std::int8_t>({5, -128, 127, -1})), array<std::int8_t>({-128, -1, 5, 127})));
  EXPECT_TRUE(equal(argsort(array<std::int64_t>({5, -9000000000, 5, 9000000000})), ints({1, 0, 2, 3})));
  EXPECT_TRUE(equal(sort(bools({true, false, true})), bools({false, true, true})));
  EXPECT_TRUE(equal(max_pool2d(Tensor<int>({1, 2, 2, 1}, {-5, -9, -7, -6}), 2), Tensor<int>({1, 1, 1, 1}, {-5})));
}

// ---------------------------------------------------------------- casts

TEST(Cast, out_of_range_saturates_and_nan_is_zero) {
  const auto x = array<float>({1.9f, -1.9f, 3e9f, -3e9f, inf, -inf, nan, 300, -300});
  EXPECT_TRUE(equal(cast<std::int32_t>(x), ints({1, -1, largest, smallest, largest, smallest, 0, 300, -300})));
  EXPECT_TRUE(equal(cast<std::uint8_t>(x), array<std::uint8_t>({1, 0, 255, 0, 255, 0, 0, 255, 0})));
  EXPECT_TRUE(equal(cast<std::int8_t>(x), array<std::int8_t>({1, -1, 127, -128, 127, -128, 0, 127, -128})));
  EXPECT_TRUE(equal(cast<std::int64_t>(array<double>({1e30, -1e30, 2e9})), array<std::int64_t>({std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 2000000000})));
  EXPECT_TRUE(equal(cast<std::uint64_t>(array<double>({1e30, -1})), array<std::uint64_t>({std::numeric_limits<std::uint64_t>::max(), 0})));
  EXPECT_TRUE(equal(cast<std::int32_t>(cast<bfloat16>(x)), ints({1, -1, largest, smallest, largest, smallest, 0, 300, -300})));
}

TEST(Cast, to_bool_and_back) {
  EXPECT_TRUE(equal(cast<bool>(array<float>({0, -0.0f, 0.5f, nan})), bools({false, false, true, true})));
  EXPECT_TRUE(equal(cast<bool>(ints({0, 256, -1})), bools({false, true, true})));
  EXPECT_TRUE(equal(cast<float>(bools({true, false})), array<float>({1, 0})));
}

TEST(Cast, between_integers_wraps) {
  EXPECT_TRUE(equal(cast<std::uint8_t>(ints({300, -1})), array<std::uint8_t>({44, 255})));
  EXPECT_TRUE(equal(cast<std::int32_t>(array<std::uint32_t>({4294967295u})), ints({-1})));
}

TEST(Cast, to_halves_rounds_to_even) {
  EXPECT_EQ(static_cast<float>(cast<bfloat16>(Tensor<float>(1.00390625f)).item()), 1.0f);
  EXPECT_EQ(static_cast<float>(cast<float16>(Tensor<float>(2049.0f)).item()), 2048.0f);
  EXPECT_EQ(static_cast<float>(cast<float16>(Tensor<float>(1e6f)).item()), inf);
}

TEST(Logic, of_bool) {
  const auto a = bools({true, true, false, false}), b = bools({true, false, true, false});
  EXPECT_TRUE(equal(a && b, bools({true, false, false, false})));
  EXPECT_TRUE(equal(a || b, bools({true, true, true, false})));
  EXPECT_TRUE(equal(!a, bools({false, false, true, true})));
  EXPECT_TRUE(equal(a == b, bools({true, false, false, true})));
  EXPECT_TRUE(equal(a || true, bools({true, true, true, true})));
  EXPECT_EQ(any(a).item(), true);
  EXPECT_EQ(all(a).item(), false);
  EXPECT_EQ(any(array<float>({0, nan})).item(), true);
}

// ---------------------------------------------------------------- NaN and infinity

TEST(NaN, wins_in_max_and_min) {
  const auto x = array<float>({{1, nan, 3}, {5, 2, 4}});
  EXPECT_TRUE(equal(max(x, 1), array<float>({nan, 5})));
  EXPECT_TRUE(equal(min(x, 0), array<float>({1, nan, 3})));
  EXPECT_TRUE(std::isnan(max(x).item()) && std::isnan(min(x).item()));
  EXPECT_TRUE(equal(maximum(array<float>({nan, 1, nan}), array<float>({1, nan, nan})), array<float>({nan, nan, nan})));
  EXPECT_TRUE(equal(minimum(array<float>({nan, 1, 3}), array<float>({1, nan, 2})), array<float>({nan, nan, 2})));
  EXPECT_TRUE(equal(relu(array<float>({nan, -1})), array<float>({nan, 0})));
  for (Index n : {5, 50, 500, 5000}) {  // wherever it stands, whichever kernel runs
    for (Index at : {Index{0}, n / 2, n - 1}) {
      std::vector<float> v(static_cast<std::size_t>(n), 1.0f);
      v[static_cast<std::size_t>(at)] = nan;
      EXPECT_TRUE(std::isnan(max(array(v)).item())) << n << " " << at;
      EXPECT_EQ(argmax(array(v)).item(), at);
      EXPECT_EQ(argmin(array(v)).item(), at);
    }
  }
}

TEST(NaN, the_first_is_the_argmax_and_argmin) {
  EXPECT_EQ(argmax(array<float>({1, nan, 3, nan})).item(), 1);
  EXPECT_EQ(argmin(array<float>({1, nan, 3, nan})).item(), 1);
  EXPECT_EQ(argmax(array<float>({2, 5, 5, 1})).item(), 1);
  EXPECT_EQ(argmin(array<float>({2, 1, 5, 1})).item(), 1);
  EXPECT_TRUE(equal(argmax(array<float>({{1, 4}, {nan, 4}, {9, 2}}), 0), ints({1, 0})));
}

TEST(NaN, comes_last_in_a_sort) {
  EXPECT_TRUE(equal(sort(array<float>({nan, inf, 1, -inf, nan, 0})), array<float>({-inf, 0, 1, inf, nan, nan})));
  EXPECT_TRUE(equal(argsort(array<float>({nan, inf, 1, -inf, nan, 0})), ints({3, 5, 2, 1, 0, 4})));
  EXPECT_TRUE(equal(argsort(array<float>({2, 1, 2, 1, 0})), ints({4, 1, 3, 0, 2}))) << "equal elements keep their order";
}

/// As in JAX: the cotangent times what is the larger one's, so that infinity times nothing is NaN.
TEST(NaN, slopes_of_maximum_and_minimum) {
  const Tensor<> x({5}, {1, 2, 3, 0, nan}), y({5}, {2, 2, 1, 1, 0}), w({5}, {1, 2, 3, inf, 5});
  const auto text = [](const auto& t) {
    std::string out;
    for (auto e : t.to_vector()) out += (std::isnan(e) ? "nan" : std::isinf(e) ? "inf" : std::to_string(static_cast<int>(e))) + " ";
    return out;
  };
  const auto [a, b] = grad<0, 1>([&](const Tensor<>& p, const Tensor<>& q) { return sum(maximum(p, q) * w); })(x, y);
  EXPECT_EQ(text(a), "0 1 3 nan 0 ");
  EXPECT_EQ(text(b), "1 1 0 inf 0 ");
  const auto [c, d] = grad<0, 1>([&](const Tensor<>& p, const Tensor<>& q) { return sum(minimum(p, q) * w); })(x, y);
  EXPECT_EQ(text(c), "1 1 0 inf 0 ");
  EXPECT_EQ(text(d), "0 1 3 nan 0 ");
}
TEST(NaN, comparisons) {
  const auto x = array<float>({nan, 1});
  EXPECT_TRUE(equal(x == x, bools({false, true})));
  EXPECT_TRUE(equal(x != x, bools({true, false})));
  EXPECT_TRUE(equal(x <= x, bools({false, true})));
  EXPECT_TRUE(equal(isnan(x), bools({true, false})));
  EXPECT_FALSE(allclose(x, x));
  EXPECT_TRUE(allclose(array<float>({inf, -inf, 1}), array<float>({inf, -inf, 1.000001f})));
  EXPECT_FALSE(allclose(array<float>({inf}), array<float>({-inf})));
  EXPECT_FALSE(allclose(array<float>({1}), array<float>({1.1f})));
}

TEST(Infinity, in_softmax_and_logsumexp) {
  EXPECT_TRUE(equal(softmax(array<float>({-inf, 0, 0})), array<float>({0, 0.5f, 0.5f})));
  EXPECT_EQ(logsumexp(array<float>({-inf, -inf})).item(), -inf);
  EXPECT_EQ(logsumexp(array<float>({inf, 1})).item(), inf);
  EXPECT_TRUE(close(logsumexp(array<float>({1000, 1000})), Tensor<float>(1000.6931472f), 1e-6));
  EXPECT_TRUE(close(log_softmax(array<float>({1000, 0})), array<float>({0, -1000}), 1e-6));
  EXPECT_TRUE(close(softmax(array<float>({1e30f, 0})), array<float>({1, 0}), 0));
}

// ---------------------------------------------------------------- constants and shapes

/// A constant of rank 0 is not stretched; one that something traces is, and has its slope.
TEST(Constants, of_rank_0) {
  for (Index n : {3, 2000}) {
    const D x = linspace<double>(1, 2, n), c(3.0);
    std::vector<double> fourth, root;
    double total = 0, reciprocals = 0;
    for (Index i = 0; i < n; ++i) {
      const double v = n > 1 ? 1 + static_cast<double>(i) / static_cast<double>(n - 1) : 1;
      fourth.push_back(-3 / (v * v) + 3);
      root.push_back(6 / (v * v * v));
      total += v;
      reciprocals += 1 / v;
    }
    auto f = [&](D y) { return sum(c / y + y * c); };
    EXPECT_TRUE(close(grad(f)(x), D({n}, fourth)));
    EXPECT_TRUE(close(grad([&](D y) { return sum(grad(f)(y)); })(x), D({n}, root)));
    EXPECT_TRUE(close(grad([&](D k) { return sum(k / x + x * k); })(c), total + reciprocals, 1e-12));
    // Lanes of rank 0 and of rank 1, beside a constant on either side; nested.
    EXPECT_TRUE(equal(vmap([&](D y) { return c - y; })(x), 3.0 - x));
    const auto rows = stack({x, x * 2.0, x * 3.0}, 0);
    EXPECT_TRUE(equal(vmap([&](D y) { return maximum(c, y) * c; })(rows), maximum(rows, 3.0) * 3.0));
    EXPECT_TRUE(equal(vmap(vmap([&](D y) { return where(y > c, c, y); }))(rows), minimum(rows, 3.0)));
    // The constant of one map is a lane of the map around it.
    EXPECT_TRUE(equal(vmap([&](D k) { return vmap([&](D y) { return k * y; })(x); })(array<double>({1, 2, 3})), rows));
  }
}

TEST(Shapes, of_many_dimensions) {
  const auto x = reshape(arange<std::int32_t>(720), {1, 2, 3, 4, 5, 6});
  const auto y = transpose(x, {5, 4, 3, 2, 1, 0});
  EXPECT_EQ(y.shape(), (Shape{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(y.at({5, 3, 2, 1, 1, 0}), 1 * 360 + 1 * 120 + 2 * 30 + 3 * 6 + 5);
  EXPECT_EQ(expand_dims(x, 4).shape(), (Shape{1, 2, 3, 4, 1, 5, 6}));
  EXPECT_FALSE((Shape{1, 2, 3, 4, 5, 6}) == (Shape{1, 2, 3, 4, 5, 7}));
}

// ---------------------------------------------------------------- nothing

TEST(Empty, wherever_numpy_works) {
  const auto none = zeros({0, 3});
  EXPECT_EQ((none + 1.0f).shape(), (Shape{0, 3}));
  EXPECT_EQ((none + zeros({3})).shape(), (Shape{0, 3}));
  EXPECT_EQ((zeros({0}) * zeros({1})).shape(), (Shape{0}));
  EXPECT_EQ(exp(none).shape(), (Shape{0, 3}));
  EXPECT_TRUE(equal(sum(none, 0), zeros({3})));
  EXPECT_EQ(sum(none, 1).shape(), (Shape{0}));
  EXPECT_EQ(sum(none).item(), 0.0f);
  EXPECT_EQ(prod(none).item(), 1.0f);
  EXPECT_TRUE(std::isnan(mean(none).item()));
  EXPECT_EQ(max(none, 1).shape(), (Shape{0}));
  EXPECT_EQ(argmax(none, 1).shape(), (Shape{0}));
  EXPECT_EQ(any(cast<bool>(none)).item(), false);
  EXPECT_EQ(all(cast<bool>(none)).item(), true);
  EXPECT_EQ(norm(none).item(), 0.0f);
  EXPECT_EQ(cumsum(none, 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(softmax(none).shape(), (Shape{0, 3}));
  EXPECT_EQ(sort(none).shape(), (Shape{0, 3}));
  EXPECT_EQ(argsort(zeros({3, 0})).shape(), (Shape{3, 0}));
  EXPECT_EQ(allclose(none, none), true);
}

TEST(Empty, shapes) {
  const auto none = zeros({0, 3});
  EXPECT_EQ(reshape(none, Shape{3, 0, 5}).shape(), (Shape{3, 0, 5}));
  EXPECT_EQ(reshape(none, Shape{-1, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(transpose(none).shape(), (Shape{3, 0}));
  EXPECT_EQ(flip(none).shape(), (Shape{0, 3}));
  EXPECT_EQ(roll(none, 2, 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(roll(none, 2).shape(), (Shape{0, 3}));
  EXPECT_EQ(tile(none, {2, 2}).shape(), (Shape{0, 6}));
  EXPECT_EQ(tile(ones({2}), {0}).shape(), (Shape{0}));
  EXPECT_EQ(broadcast_to(zeros({1, 3}), Shape{0, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(concatenate({none, ones({2, 3})}).shape(), (Shape{2, 3}));
  EXPECT_EQ(stack({none, none}).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(split(none, 3, 0)[2].shape(), (Shape{0, 3}));
  EXPECT_EQ(slice(ones({3, 3}), {1, 0}, {1, 3}).shape(), (Shape{0, 3}));
  EXPECT_TRUE(equal(pad(none, {1, 0}, {0, 0}, 2.0f), full({1, 3}, 2)));
  EXPECT_EQ(tril(none).shape(), (Shape{0, 3}));
  EXPECT_EQ(diag(zeros({0})).shape(), (Shape{0, 0}));
  EXPECT_TRUE(equal(diag(zeros({0}), 2), zeros({2, 2})));
  EXPECT_EQ(diag(none).shape(), (Shape{0}));
}

TEST(Empty, products_and_indices) {
  const auto none = zeros({0, 3});
  EXPECT_EQ(matmul(none, ones({3, 5})).shape(), (Shape{0, 5}));
  EXPECT_TRUE(equal(matmul(ones({2, 0}), ones({0, 5})), zeros({2, 5})));
  EXPECT_TRUE(equal(matmul(ones({0}), ones({0})), Tensor<float>(0.0f)));
  EXPECT_EQ(matmul(zeros({0, 2, 3}), ones({3, 2})).shape(), (Shape{0, 2, 2}));
  EXPECT_EQ(outer(zeros({0}), ones({2})).shape(), (Shape{0, 2}));
  EXPECT_EQ(einsum("ij,jk->ik", none, ones({3, 2})).shape(), (Shape{0, 2}));
  EXPECT_TRUE(equal(einsum("ij,jk->ik", ones({2, 0}), ones({0, 3})), zeros({2, 3})));
  EXPECT_TRUE(equal(einsum("ij->", none), Tensor<float>(0.0f)));
  EXPECT_EQ(take(ones({3, 2}), Tensor<int>(Shape{0}, {}), 0).shape(), (Shape{0, 2}));
  EXPECT_EQ(take(none, Tensor<int>(Shape{0}, {}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(take_along_axis(none, Tensor<int>(Shape{0, 2}, {}), 1).shape(), (Shape{0, 2}));
  EXPECT_EQ(one_hot(Tensor<int>(Shape{0}, {}), 3).shape(), (Shape{0, 3}));
  EXPECT_TRUE(equal(scatter_add(ones({2}), Tensor<int>(Shape{0}, {}), zeros({0})), ones({2})));
  EXPECT_EQ(conv2d(zeros({0, 5, 5, 2}), ones({3, 3, 2, 4})).shape(), (Shape{0, 3, 3, 4}));
  EXPECT_TRUE(equal(conv2d(zeros({1, 3, 3, 0}), zeros({2, 2, 0, 1})), zeros({1, 2, 2, 1})));
  EXPECT_EQ(max_pool2d(zeros({0, 4, 4, 2}), 2).shape(), (Shape{0, 2, 2, 2}));
  EXPECT_EQ(avg_pool2d(zeros({1, 4, 4, 0}), 2).shape(), (Shape{1, 2, 2, 0}));
}

TEST(Empty, softmax_and_logsumexp) {
  const auto none = zeros<float>({2, 0});
  EXPECT_EQ(softmax(none).shape(), (Shape{2, 0}));
  EXPECT_EQ(log_softmax(none, 1).shape(), (Shape{2, 0}));
  EXPECT_EQ(logsumexp(none, 1).to_vector(), std::vector<float>({-inf, -inf}));
  EXPECT_EQ(logsumexp(none).item(), -inf);
}
TEST(Halves, means_do_not_overflow) {
  const auto many = full<float16>({70000}, 1);
  EXPECT_EQ(static_cast<float>(mean(many).item()), 1);
  EXPECT_EQ(static_cast<float>(var(many).item()), 0);
  EXPECT_EQ(static_cast<float>(var(cast<bfloat16>(arange<float>(1000))).item()), 83456);  // as jnp.var
}
TEST(Arange, is_exact_in_integers) {
  const Index big = Index{1} << 60;
  EXPECT_EQ(arange<std::int64_t>(big, big + 3).to_vector(), std::vector<std::int64_t>({big, big + 1, big + 2}));
  EXPECT_EQ(arange<std::int8_t>(100, -100, -50).to_vector(), std::vector<std::int8_t>({100, 50, 0, -50}));
  EXPECT_EQ(arange<std::uint8_t>(250, 255, 2).to_vector(), std::vector<std::uint8_t>({250, 252, 254}));
  constexpr auto low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(arange<std::int64_t>(low, high, high).to_vector(), std::vector<std::int64_t>({low, -1, high - 1}));
}
TEST(OneHot, more_classes_than_the_index_type_counts) {
  EXPECT_EQ(one_hot<float>(array<std::uint8_t>({255}), 256).at({0, 255}), 1);
  EXPECT_EQ(one_hot<float>(array<std::int8_t>({3, -1}), 200).shape(), (Shape{2, 200}));
}
TEST(OneHot, out_of_range_is_nothing) {
  EXPECT_TRUE(equal(one_hot<int>(ints({-1, 0, 3}), 3), array<int>({{0, 0, 0}, {1, 0, 0}, {0, 0, 0}})));
}

}  // namespace
