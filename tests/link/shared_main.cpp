// One runtime in the whole program: devices set through one shared object are seen in the other, an axis bound in one is found in the
// other, and an exception keeps its type on the way.
#include <iostream>
#include <spmd/spmd.hpp>

void set_device_count_in_first(spmd::Index n);
spmd::Tensor<> map_in_first(spmd::Tensor<> (*f)(const spmd::Tensor<>&), const spmd::Tensor<>& x);
spmd::Index device_count_in_second();
spmd::Tensor<> psum_in_second(const spmd::Tensor<>& x);

int main() {
  set_device_count_in_first(3);
  if (device_count_in_second() != 3) {
    std::cout << "the second shared object sees " << device_count_in_second() << " devices, not 3\n";
    return 1;
  }
  const spmd::Tensor<> y = map_in_first(psum_in_second, spmd::arange<float>(3));
  if (!spmd::allclose(y, spmd::full<float>({3}, 3.0f))) {
    std::cout << "psum over both shared objects gives " << y << ", not 3 on each\n";
    return 1;
  }
  try {
    psum_in_second(y);  // outside any map
  } catch (const spmd::AxisError&) {
    return 0;
  }
  std::cout << "an unbound axis was no AxisError\n";
  return 1;
}
