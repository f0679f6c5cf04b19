// The sum over all devices, in a project of its own.
#include <iostream>
#include <spmd/spmd.hpp>

int main() {
  spmd::set_host_device_count(4);
  auto total = spmd::pmap([](const spmd::Tensor<>& x) { return spmd::psum(x, "i"); }, "i");
  const spmd::Tensor<> y = total(spmd::arange<float>(4));
  std::cout << y << '\n';
  return spmd::allclose(y, spmd::full<float>({4}, 6.0f)) ? 0 : 1;
}
