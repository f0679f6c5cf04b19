// One of two shared objects that include the header.
#include <spmd/spmd.hpp>

void set_device_count_in_first(spmd::Index n) { spmd::set_host_device_count(n); }

spmd::Tensor<> map_in_first(spmd::Tensor<> (*f)(const spmd::Tensor<>&), const spmd::Tensor<>& x) { return spmd::pmap(f, "i")(x); }
