// Each of four devices divides its part of x by the sum over all of them.
#include <iostream>

#include <spmd/spmd.hpp>

int main() {
  spmd::set_host_device_count(4);                    // four devices on any machine: CPU threads
  auto share = [](spmd::Tensor<> x) {                // what one device does with its part of x
    return x / spmd::psum(spmd::sum(x), "devices");  // psum: the sum over all devices
  };
  auto x = spmd::array<float>({1, 2, 3, 4});
  std::cout << spmd::pmap(share, "devices")(x) << "\n";
}
