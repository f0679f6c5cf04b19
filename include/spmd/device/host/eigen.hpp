// Eigen as this library uses it: one thread per device, so Eigen itself never starts any.
#pragma once
#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif
#include <Eigen/Core>

namespace spmd {

/// IEEE half precision: stored in 16 bits, computed in float.
using float16 = Eigen::half;
/// The upper half of a float: stored in 16 bits, computed in float.
using bfloat16 = Eigen::bfloat16;

}  // namespace spmd
