#include <spmd/spmd.hpp>

spmd::Tensor<> total_in_the_other_file(const spmd::Tensor<>& x) {
  return spmd::pmap([](const spmd::Tensor<>& shard) { return spmd::psum(shard, "i"); }, "i")(x);
}
