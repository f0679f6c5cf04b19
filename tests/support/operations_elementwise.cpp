// Functions of one element.
#include "support/operations.hpp"

namespace check {
namespace {

using namespace spmd;
using F = double (*)(double);

/// Newton's method on erf.
double inverse_erf(double y) {
  double x = 0;
  for (int i = 0; i < 200; ++i) x -= (std::erf(x) - y) / (2 / std::sqrt(std::acos(-1.0)) * std::exp(-x * x));
  return x;
}

template <class Run> void add(Rows& rows, const std::string& name, Run run, F f, double lo, double hi, bool smooth = true) {
  for (auto& shape : {Shape{3, 5}, Shape{}}) {
    Operation row;
    row.name = name + shape.text();
    row.inputs = {sample(shape, lo, hi)};
    row.run = [run](const Ds& x) { return D(run(x[0])); };
    row.expected = [f](const Ds& x) {
      const Plain in(x[0]);
      return tabulate(in.shape, [&](const At& at) { return f(in(at)); });
    };
    row.smooth = smooth;
    row.elementwise = true;
    rows.push_back(std::move(row));
  }
}

}  // namespace

void add_elementwise(Rows& rows) {
  add(rows, "negate", [](D x) { return -x; }, [](double x) { return -x; }, -2, 3);
  add(rows, "plus", [](D x) { return +x; }, [](double x) { return x; }, -2, 3);
  add(rows, "abs", [](D x) { return abs(x); }, [](double x) { return x < 0 ? -x : x; }, -2, 3);
  add(rows, "sign", [](D x) { return sign(x); }, [](double x) { return x < 0 ? -1.0 : 1.0; }, -2, 3);
  add(rows, "exp", [](D x) { return exp(x); }, [](double x) { return std::exp(x); }, -2, 3);
  add(rows, "expm1", [](D x) { return expm1(x); }, [](double x) { return std::expm1(x); }, -2, 2);
  add(rows, "log", [](D x) { return log(x); }, [](double x) { return std::log(x); }, 0.1, 5);
  add(rows, "log1p", [](D x) { return log1p(x); }, [](double x) { return std::log1p(x); }, -0.8, 3);
  add(rows, "sqrt", [](D x) { return sqrt(x); }, [](double x) { return std::sqrt(x); }, 0.2, 5);
  add(rows, "rsqrt", [](D x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, 0.3, 5);
  add(rows, "square", [](D x) { return square(x); }, [](double x) { return x * x; }, -2, 3);
  add(rows, "sin", [](D x) { return sin(x); }, [](double x) { return std::sin(x); }, -4, 4);
  add(rows, "cos", [](D x) { return cos(x); }, [](double x) { return std::cos(x); }, -4, 4);
  add(rows, "tan", [](D x) { return tan(x); }, [](double x) { return std::tan(x); }, -1.2, 1.2);
  add(rows, "asin", [](D x) { return asin(x); }, [](double x) { return std::asin(x); }, -0.9, 0.9);
  add(rows, "acos", [](D x) { return acos(x); }, [](double x) { return std::acos(x); }, -0.9, 0.9);
  add(rows, "atan", [](D x) { return atan(x); }, [](double x) { return std::atan(x); }, -3, 3);
  add(rows, "sinh", [](D x) { return sinh(x); }, [](double x) { return std::sinh(x); }, -2, 2);
  add(rows, "cosh", [](D x) { return cosh(x); }, [](double x) { return std::cosh(x); }, -2, 2);
  add(rows, "tanh", [](D x) { return tanh(x); }, [](double x) { return std::tanh(x); }, -2, 2);
  add(rows, "sigmoid", [](D x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -3, 3);
  add(rows, "relu", [](D x) { return relu(x); }, [](double x) { return x > 0 ? x : 0; }, -2, 3);
  add(rows, "softplus", [](D x) { return softplus(x); }, [](double x) { return std::log(1 + std::exp(x)); }, -3, 3);
  add(rows, "gelu", [](D x) { return gelu(x); }, [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); }, -3, 3);
  add(rows, "erf", [](D x) { return erf(x); }, [](double x) { return std::erf(x); }, -2, 2);
  add(rows, "erf_inv", [](D x) { return erf_inv(x); }, inverse_erf, -0.9, 0.9);
  add(rows, "floor", [](D x) { return floor(x); }, [](double x) { return std::floor(x); }, -2.9, 3.05);
  add(rows, "ceil", [](D x) { return ceil(x); }, [](double x) { return std::ceil(x); }, -2.9, 3.05);
  add(rows, "round", [](D x) { return round(x); }, [](double x) { return std::nearbyint(x); }, -2.9, 3.05);
  add(rows, "clip", [](D x) { return clip(x, -1.0, 1.5); }, [](double x) { return x < -1 ? -1 : x > 1.5 ? 1.5 : x; }, -2, 3);
  add(rows, "isnan", [](D x) { return cast<double>(isnan(x)); }, [](double) { return 0.0; }, -2, 3);
  add(rows, "isfinite", [](D x) { return cast<double>(isfinite(x)); }, [](double) { return 1.0; }, -2, 3);
  add(rows, "cast to float", [](D x) { return cast<double>(cast<float>(x)); }, [](double x) { return static_cast<double>(static_cast<float>(x)); }, -2, 3, false);
  add(rows, "cast to int", [](D x) { return cast<double>(cast<int>(x)); }, [](double x) { return std::trunc(x); }, -2, 3);
  add(rows, "cast to bool", [](D x) { return cast<double>(cast<bool>(x)); }, [](double) { return 1.0; }, 1, 3);
  add(rows, "stop_gradient", [](D x) { return stop_gradient(x) * 2.0; }, [](double x) { return 2 * x; }, -2, 3, false);
  add(rows, "not", [](D x) { return cast<double>(!(x > 0.5)); }, [](double x) { return x > 0.5 ? 0.0 : 1.0; }, -2, 3);
  add(rows, "zeros_like", [](D x) { return x + zeros_like(x); }, [](double x) { return x; }, -2, 3);
  add(rows, "ones_like", [](D x) { return x * ones_like(x); }, [](double x) { return x; }, -2, 3);
  // A number on either side.
  add(rows, "x + 3", [](D x) { return x + 3; }, [](double x) { return x + 3; }, -2, 3);
  add(rows, "3 - x", [](D x) { return 3.0f - x; }, [](double x) { return 3 - x; }, -2, 3);
  add(rows, "x * 0.5", [](D x) { return x * 0.5; }, [](double x) { return x * 0.5; }, -2, 3);
  add(rows, "2 / x", [](D x) { return 2 / x; }, [](double x) { return 2 / x; }, 0.5, 3);
  add(rows, "x ^ 3", [](D x) { return pow(x, 3); }, [](double x) { return x * x * x; }, -2, 3);
  add(rows, "x ^ -0.5", [](D x) { return pow(x, -0.5); }, [](double x) { return 1 / std::sqrt(x); }, 0.4, 3);
  add(rows, "2 ^ x", [](D x) { return pow(2.0, x); }, [](double x) { return std::exp2(x); }, -2, 3);
  add(rows, "x fmod 0.7", [](D x) { return fmod(x, 0.7); }, [](double x) { return x - 0.7 * std::trunc(x / 0.7); }, -2, 3);
  add(rows, "maximum(x, 0.5)", [](D x) { return maximum(x, 0.5); }, [](double x) { return x > 0.5 ? x : 0.5; }, -2, 3);
  add(rows, "minimum(0.5, x)", [](D x) { return minimum(0.5, x); }, [](double x) { return x < 0.5 ? x : 0.5; }, -2, 3);
  add(rows, "where(x > 0, x, 1)", [](D x) { return where(x > 0.0, x, 1.0); }, [](double x) { return x > 0 ? x : 1.0; }, -2, 3);
  // Longer than one fused program may be.
  add(rows, "a chain of 40", [](D x) {
    for (int i = 0; i < 20; ++i) x = sin(x) * 1.1;
    return x;
  }, [](double x) {
    for (int i = 0; i < 20; ++i) x = std::sin(x) * 1.1;
    return x;
  }, -2, 2);
}

}  // namespace check
