// The gradient of every operation of the list against finite differences, and so that of the gradient; then what differences do not see.
#include "support/operations.hpp"

using namespace spmd;
using check::At, check::close, check::D, check::Ds;

namespace {

/// A weighted sum with no symmetry, so that every element counts differently.
D weighted(const D& x) {
  double i = 0;
  return sum(x * check::tabulate(x.shape(), [&](const At&) { return std::cos(1 + i++); }));
}
D weighted(const Ds& xs) {
  D total = 0.0;
  for (auto& x : xs) total = total + weighted(x);
  return total;
}
/// The gradient of f by central differences of the elements.
template <class F> Ds differences(F f, const Ds& xs, double step = 1e-5) {
  Ds out;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    auto values = xs[k].to_vector();
    std::size_t i = 0;
    out.push_back(check::tabulate(xs[k].shape(), [&](const At&) {
      const double at = values[i];
      auto moved = xs;
      values[i] = at + step;
      moved[k] = D(xs[k].shape(), values);
      const double up = f(moved).item();
      values[i] = at - step;
      moved[k] = D(xs[k].shape(), values);
      const double down = f(moved).item();
      values[i++] = at;
      return (up - down) / (2 * step);
    }));
  }
  return out;
}
void expect_close(const Ds& a, const Ds& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(close(a[k], b[k], tolerance)) << what << ", operand " << k;
}

class OpsGradient : public check::PerOperation {};
INSTANTIATE_TEST_SUITE_P(All, OpsGradient, testing::ValuesIn(check::operation_pointers()), check::operation_name);

TEST_P(OpsGradient, equals_finite_differences) {
  const auto& op = *GetParam();
  if (!op.smooth) return;
  const auto loss = [&](const Ds& xs) { return weighted(op.run(xs)); };
  expect_close(grad(loss)(op.inputs), differences(loss, op.inputs), 1e-7, op.name);
}

TEST_P(OpsGradient, of_the_gradient_equals_finite_differences) {
  const auto& op = *GetParam();
  if (!op.smooth) return;
  // The square makes derivatives of linear operations depend on their operands.
  const auto loss = [&](const Ds& xs) { return weighted(square(op.run(xs))); };
  const auto of_gradient = [&](const Ds& xs) { return weighted(grad(loss)(xs)); };
  expect_close(grad(of_gradient)(op.inputs), differences(of_gradient, op.inputs), 1e-6, op.name);
}

// ---------------------------------------------------------------- ties, edges, and what has no derivative

template <class F> D gradient(F f, const D& x) {
  return grad([&](const D& v) { return sum(f(v)); })(x);
}
D row(std::initializer_list<double> v) { return array<double>(v); }

TEST(GradientAt, ties_share) {
  EXPECT_TRUE(close(gradient([](auto x) { return max(x); }, row({1, 3, 3, 2, 3})), row({0, 1.0 / 3, 1.0 / 3, 0, 1.0 / 3})));
  EXPECT_TRUE(close(gradient([](auto x) { return min(x, 0); }, row({1, 3, 1})), row({0.5, 0, 0.5})));
  const auto [a, b] = grad<0, 1>([](D x, D y) { return sum(maximum(x, y)); })(row({1, 2, 3}), row({1, 3, 2}));
  EXPECT_TRUE(close(a, row({0.5, 0, 1})) && close(b, row({0.5, 1, 0})));
  const auto [c, d] = grad<0, 1>([](D x, D y) { return sum(minimum(x, y)); })(row({1, 2, 3}), row({1, 3, 2}));
  EXPECT_TRUE(close(c, row({0.5, 1, 0})) && close(d, row({0.5, 0, 1})));
}

TEST(GradientAt, the_first_of_equals_in_a_pool) {
  const D x({1, 2, 4, 1}, {5, 5, 1, 2, 5, 3, 2, 2});
  EXPECT_TRUE(close(gradient([](auto v) { return max_pool2d(v, 2); }, x), D({1, 2, 4, 1}, {1, 0, 0, 1, 0, 0, 0, 0})));
  // Windows that overlap add up.
  EXPECT_TRUE(close(gradient([](auto v) { return max_pool2d(v, 2, {.stride = 1}); }, x), D({1, 2, 4, 1}, {1, 1, 0, 1, 0, 0, 0, 0})));
}

TEST(GradientAt, kinks_as_in_jax) {
  EXPECT_TRUE(close(gradient([](auto x) { return abs(x); }, row({-1, 0, 2})), row({-1, 0, 1})));
  EXPECT_TRUE(close(gradient([](auto x) { return relu(x); }, row({-1, 0, 2})), row({0, 0, 1})));
  EXPECT_TRUE(close(gradient([](auto x) { return clip(x, 0.0, 1.0); }, row({-1, 0.5, 3})), row({0, 1, 0})));
  EXPECT_TRUE(close(gradient([](auto x) { return floor(x) + ceil(x) + round(x) + sign(x); }, row({-1.2, 0.5, 3})), row({0, 0, 0})));
}

TEST(GradientAt, zeros_in_a_product) {
  EXPECT_TRUE(close(gradient([](auto x) { return prod(x); }, row({2, 0, 3})), row({0, 6, 0})));
  EXPECT_TRUE(close(gradient([](auto x) { return prod(x); }, row({2, 0, 0})), row({0, 0, 0})));
  EXPECT_TRUE(close(gradient([](auto x) { return prod(x, 1); }, D({2, 2}, {0, 5, 4, 3})), D({2, 2}, {5, 0, 3, 4})));
  // d2/dx2 of xyz: where x is 0, too.
  EXPECT_TRUE(close(grad([](D x) { return grad([](D v) { return prod(v); })(x)[1]; })(row({2, 0, 3})), row({3, 0, 2})));
}

TEST(GradientAt, pow_at_its_edges) {
  EXPECT_TRUE(close(gradient([](auto x) { return pow(x, 2.0); }, row({-3, 0, 2})), row({-6, 0, 4})));
  EXPECT_TRUE(close(gradient([](auto x) { return pow(x, 0.0); }, row({-3, 0, 2})), row({0, 0, 0})));
  EXPECT_TRUE(close(gradient([](auto x) { return pow(x, 1.0); }, row({-3, 0, 2})), row({1, 1, 1})));
  EXPECT_TRUE(close(grad<1>([](D x, D y) { return sum(pow(x, y)); })(row({0, 1, 2}), row({2, 2, 2})), row({0, 0, 4 * std::log(2.0)})));
}

TEST(GradientAt, no_nan_from_the_branch_not_taken) {
  EXPECT_TRUE(close(gradient([](auto x) { return where(x > 0.0, x * 3.0, 0.0); }, row({-1, 0, 4})), row({0, 0, 3})));
  EXPECT_TRUE(close(gradient([](auto x) { return logsumexp(x); }, row({0, 0, -std::numeric_limits<double>::infinity()})), row({0.5, 0.5, 0})));
  EXPECT_TRUE(close(gradient([](auto x) { return log_softmax(x)[0]; }, row({1000, 0})), row({0, 0})));
}

TEST(GradientAt, stopped_and_integer_paths_give_zeros) {
  EXPECT_TRUE(close(gradient([](auto x) { return stop_gradient(x) * x; }, row({1, 2})), row({1, 2})));
  EXPECT_TRUE(close(gradient([](auto x) { return cast<double>(cast<int>(x)); }, row({1, 2})), row({0, 0})));
  EXPECT_TRUE(close(gradient([](auto x) { return cast<double>(argsort(x)); }, row({1, 2})), row({0, 0})));
  EXPECT_TRUE(close(cast<double>(gradient([](auto x) { return cast<double>(cast<float>(x)) * x; }, row({0.5, 2}))), row({1, 4})));
}

TEST(GradientAt, equal_elements_of_a_sort) {
  EXPECT_TRUE(close(gradient([](auto x) { return sort(x) * row({1, 10, 100}); }, row({2, 1, 1})), row({100, 1, 10})));
}

TEST(GradientOf, float_and_halves) {
  const auto x = array<float>({0.5f, -1, 2});
  EXPECT_TRUE(close(grad([](Tensor<float> v) { return sum(tanh(v) * v); })(x), tanh(x) + x * (1.0f - square(tanh(x))), 1e-6));
  const auto h = cast<bfloat16>(x);
  EXPECT_TRUE(close(cast<float>(grad([](Tensor<bfloat16> v) { return sum(square(v)); })(h)), x * 2.0f, 1e-2));
  const auto w = cast<float16>(array<float>({{1, 2}, {3, 4}}));
  EXPECT_TRUE(close(cast<float>(grad([&](Tensor<float16> v) { return sum(matmul(v, w)); })(w)), array<float>({{3, 7}, {3, 7}}), 1e-3));
}

TEST(GradientOf, empty_tensors) {
  const auto none = zeros<double>({0, 3});
  EXPECT_EQ(gradient([](auto x) { return exp(x); }, none).shape(), none.shape());
  EXPECT_EQ(gradient([](auto x) { return matmul(transpose(x), x); }, none).shape(), none.shape());
  EXPECT_EQ(gradient([](auto x) { return cumsum(x, 0); }, none).shape(), none.shape());
  EXPECT_EQ(gradient([](auto x) { return prod(x, 0); }, none).shape(), none.shape());
  EXPECT_EQ(gradient([](auto x) { return sort(x, 0); }, none).shape(), none.shape());
  EXPECT_TRUE(close(gradient([](auto x) { return concatenate({x, zeros<double>({0})}); }, row({1, 2})), row({1, 1})));
}

}  // namespace
