// spmd: JAX's SPMD programming model in C++. This is the door; the rooms behind it are
//   core/       what a value is, and how an operation gets its meaning
//   ops/        what can be computed: one struct for each primitive, with three rules
//   transform/  functions that take functions: grad, vmap, pmap
//   device/     where loops run and how shards meet; host/ are the kernels
//   interop/    values from and to other libraries
//   debug/      printing
#pragma once
#include "debug/print.hpp"
#include "interop/eigen.hpp"
#include "ops/collective.hpp"
#include "ops/convolution.hpp"
#include "ops/einsum.hpp"
#include "ops/functions.hpp"
#include "ops/ragged.hpp"
#include "ops/matrix.hpp"
#include "ops/pooling.hpp"
#include "ops/random.hpp"
#include "ops/sorting.hpp"
#include "transform/control.hpp"
#include "transform/custom.hpp"
#include "transform/grad.hpp"
#include "transform/placement.hpp"
#include "transform/pmap.hpp"
#include "transform/shard_map.hpp"
#include "transform/tree.hpp"
#include "transform/vmap.hpp"
