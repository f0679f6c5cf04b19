// What crosses from device to device. Sizes are bytes per device.
#include <utility>
#include <vector>

#include "support/bench.hpp"

using bench::add, bench::call, bench::devices, bench::put;
using spmd::Index, spmd::ones, spmd::pmap, spmd::ppermute, spmd::Tensor;

namespace {

Tensor<> per_device(Index kib) { return put(ones<float>({devices, kib * 256})); }

using Pairs = std::vector<std::pair<Index, Index>>;

Pairs ring() {
  Pairs pairs;
  for (Index i = 0; i < devices; ++i) pairs.emplace_back(i, (i + 1) % devices);
  return pairs;
}

/// One step of the heat equation on a strip of rows; the rows beside it come from the neighbours.
Tensor<> heat(const Tensor<>& u) {
  Pairs down, up;
  for (Index i = 0; i + 1 < devices; ++i) {
    down.emplace_back(i, i + 1);
    up.emplace_back(i + 1, i);
  }
  const Index rows = u.shape()[0], columns = u.shape()[1];
  const auto above = ppermute(slice(u, rows - 1, rows, 0), "i", down), below = ppermute(slice(u, 0, 1, 0), "i", up);
  const auto g = spmd::concatenate({above, u, below}, 0);
  const auto inner = [&](const Tensor<>& x, Index row, Index column) {
    return slice(x, {row, column}, {row + rows, column + columns - 2});
  };
  return inner(u, 0, 1) + 0.1 * (inner(g, 0, 1) + inner(g, 2, 1) + inner(u, 0, 0) + inner(u, 0, 2) - 4 * inner(u, 0, 1));
}

void add_all() {
  const auto psum = [](const auto& x) { return spmd::psum(x, "i"); };
  const auto all_gather = [](const Tensor<>& x) { return spmd::all_gather(x, "i"); };
  for (Index kib : {4, 64, 1024, 16384, 65536}) {
    add("psum_" + std::to_string(kib) + "KiB", [=] { return call(pmap(psum, "i"), per_device(kib)); });
    add("all_gather_" + std::to_string(kib) + "KiB", [=] { return call(pmap(all_gather, "i"), per_device(kib)); });
  }
  add("psum_tree_100x1KiB", [=] { return call(pmap(psum, "i"), std::vector<Tensor<>>(100, per_device(1))); });
  add("ppermute_4096KiB", [] { return call(pmap([](Tensor<> x) { return ppermute(x, "i", ring()); }, "i"), per_device(4096)); });
  add("halo_heat_1024", [] { return call(pmap(heat, "i"), put(ones<float>({1024, 1024}))); });
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
