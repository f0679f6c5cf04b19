// Eigen as this library uses it: one thread per device, so Eigen itself never starts any.
#pragma once
#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 takes the "undefined" registers of its own AVX-512 intrinsics for mistakes
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace spmd {

/// IEEE half precision: stored in 16 bits, computed in float.
using float16 = Eigen::half;
/// The upper half of a float: stored in 16 bits, computed in float.
using bfloat16 = Eigen::bfloat16;

}  // namespace spmd
