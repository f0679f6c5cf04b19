// What a map costs by itself, and what one operation on a small tensor costs outside any map.
#include <chrono>
#include <string>

#include "support/bench.hpp"
#include "support/chain.hpp"

using bench::add, bench::call, bench::put;
using spmd::grad, spmd::linspace, spmd::pmap, spmd::psum, spmd::Tensor, spmd::zeros;

namespace {

/// Seconds to the first result of the first map in this process: threads started, memory touched.
double first_result() {
  const auto begin = std::chrono::steady_clock::now();
  const auto x = reshape(spmd::arange<float>(8 * bench::devices), {bench::devices, 8});
  bench::force(pmap([](Tensor<> part) { return part - spmd::pmean(part, "i"); }, "i")(x));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void add_all() {
  benchmark::AddCustomContext("first_result_after_start", std::to_string(first_result()));

  const auto one_each = [] { return put(zeros<float>({bench::devices, 1})); };
  add("dispatch_pmap_empty", [=] { return call(pmap([](Tensor<> x) { return x; }), one_each()); });
  add("dispatch_pmap_add1", [=] { return call(pmap([](Tensor<> x) { return x + 1; }), one_each()); });
  add("dispatch_pmap_psum_scalar", [=] { return call(pmap([](Tensor<> x) { return psum(x, "i"); }, "i"), one_each()); });

  const auto small = [] { return linspace<float>(0, 1, 16); };
  add(
      "eager_op", [=] { return call(bench::chain, small()); }, bench::chain_operations);
  add("eager_op_stored", [=] { return call([](Tensor<> x) { return x + x; }, small()); });
  add(
      "eager_op_forward_backward", [=] { return call(grad([](Tensor<> x) { return sum(bench::chain(x)); }), small()); },
      bench::chain_operations + 1);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
