/// The elementwise workloads of peers/jax_bench.py.
#pragma once
#include <spmd/spmd.hpp>

namespace bench {

constexpr int chain_operations = 11;

/// An elementwise chain: one pass over memory where it is fused, eleven where it is not.
inline spmd::Tensor<> chain(const spmd::Tensor<>& x) {
  auto y = x * 2 + 1;
  y = y * x - 3;
  y = maximum(y, 0.5) * x;
  y = y + x * y;
  return abs(y - 1) * 0.25;
}

inline spmd::Tensor<> chain_exp(const spmd::Tensor<>& x) { return tanh(x * 2 + 1) * exp(-x * x); }

}  // namespace bench
