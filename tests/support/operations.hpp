// All operations on Tensor<double> with samples and a plain implementation. A row here is tested for its values, its gradients of first and
// second order, under vmap and under pmap: see ops_values_test, ops_gradient_test, ops_batch_test.
#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/check.hpp"

namespace check {

using Ds = std::vector<D>;
using At = std::vector<spmd::Index>;

struct Operation {
  std::string name;
  Ds inputs;
  std::function<D(const Ds&)> run;
  std::function<D(const Ds&)> expected;  // written with loops
  /// Whether finite differences at the samples see what the derivatives are. Not so where a result is rounded, or derivatives are stopped.
  bool smooth = true;
  bool elementwise = false;  // on operands of one shape
};
/// The whole list.
const std::vector<Operation>& operations();

/// A test per row: TEST_P(Suite, what) looks at *GetParam().
using PerOperation = testing::TestWithParam<const Operation*>;
inline std::vector<const Operation*> operation_pointers() {
  std::vector<const Operation*> list;
  for (auto& row : operations()) list.push_back(&row);
  return list;
}
/// Its number, and its name as far as gtest's filter understands it.
inline std::string operation_name(const testing::TestParamInfo<const Operation*>& info) {
  auto name = std::to_string(info.index) + "_";
  for (char c : info.param->name)
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    else if (name.back() != '_') name += '_';
  return name;
}

// ---------------------------------------------------------------- plain arrays

/// Elements and a shape, and nothing of the library but reading them.
struct Plain {
  spmd::Shape shape;
  std::vector<double> elements;

  Plain(const D& x) : shape(x.shape()), elements(x.to_vector()) {}
  double operator()(const At& at) const {
    spmd::Index flat = 0;
    for (spmd::Index d = 0; d < shape.rank(); ++d) flat = flat * shape[d] + at[static_cast<std::size_t>(d)];
    return elements.at(static_cast<std::size_t>(flat));
  }
};
/// The array whose element at indices `at` is f(at).
template <class F> D tabulate(const spmd::Shape& shape, F f) {
  std::vector<double> values;
  for (spmd::Index flat = 0; flat < shape.size(); ++flat) {
    At at(static_cast<std::size_t>(shape.rank()));
    for (spmd::Index d = shape.rank(), rest = flat; d-- > 0; rest /= shape[d]) at[static_cast<std::size_t>(d)] = rest % shape[d];
    values.push_back(f(at));
  }
  return D(shape, values);
}
/// Different numbers between lo and hi, in no order; another seed, other numbers.
inline D sample(const spmd::Shape& shape, double lo = -2, double hi = 3, int seed = 0) {
  spmd::Index i = 0;
  return tabulate(shape, [&](const At&) {
    const double x = 0.37 + 0.6180339887498949 * static_cast<double>(i++) + 0.193 * seed;
    return lo + (hi - lo) * (x - std::floor(x));
  });
}

// ---------------------------------------------------------------- rows

using Rows = std::vector<Operation>;
void add_elementwise(Rows&);
void add_pairs(Rows&);
void add_reductions(Rows&);
void add_shapes(Rows&);
void add_indexing(Rows&);
void add_products(Rows&);
void add_images(Rows&);

}  // namespace check
