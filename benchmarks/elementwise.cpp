// Elementwise work and reductions over large tensors, which fusion makes a matter of memory bandwidth, and random numbers.
#include "support/bench.hpp"
#include "support/chain.hpp"

using bench::add, bench::call, bench::put, bench::short_count;
using spmd::Index, spmd::Key, spmd::linspace, spmd::pmap, spmd::reshape, spmd::Tensor;

namespace {

Tensor<> ramp(Index n) { return linspace<float>(0, 1, n); }
Tensor<> halves(Index n) { return put(reshape(ramp(n), {bench::devices, -1})); }

void add_all() {
  for (Index n : {1 << 10, 64 << 10, 1 << 20, 16 << 20}) {
    add("chain_" + short_count(n) + "_one_device", [=] { return call(bench::chain, ramp(n)); });
    add("chain_" + short_count(n) + "_pmap", [=] { return call(pmap(bench::chain), halves(n)); });
  }
  add("chain_exp_4M_pmap", [] { return call(pmap(bench::chain_exp), halves(4 << 20)); });
  add("sum_of_squares_16M_pmap", [] { return call(pmap([](Tensor<> x) { return sum(x * x); }), halves(16 << 20)); });

  constexpr Index n = 4 << 20;
  add("random_uniform_4M", [] { return call([](const Key& key) { return spmd::random::uniform<float>(key, {n}); }, Key(0)); });
  add("random_normal_4M", [] { return call([](const Key& key) { return spmd::random::normal<float>(key, {n}); }, Key(0)); });
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
