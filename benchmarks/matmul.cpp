// A matrix product on one device, on two with the rows split, and the same two halves as two threads of plain Eigen.
#include <thread>

#include "support/bench.hpp"

using bench::add, bench::call, bench::normal;
using spmd::Index, spmd::pmap, spmd::replicated, spmd::Tensor;

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

auto two_eigen_threads(Index n) {
  const Index half = n / 2;
  return [=, a = Matrix(Matrix::Random(n, n)), b = Matrix(Matrix::Random(n, n)), c = Matrix(n, n)]() mutable {
    std::thread other([&] { c.bottomRows(n - half).noalias() = a.bottomRows(n - half) * b; });
    c.topRows(half).noalias() = a.topRows(half) * b;
    other.join();
    benchmark::DoNotOptimize(c.data());
  };
}

auto one_eigen_thread(Index n) {
  return [a = Matrix(Matrix::Random(n, n)), b = Matrix(Matrix::Random(n, n)), c = Matrix(n, n)]() mutable {
    c.noalias() = a * b;
    benchmark::DoNotOptimize(c.data());
  };
}

void add_all() {
  const auto product = [](const Tensor<>& a, const Tensor<>& b) { return matmul(a, b); };
  for (Index n : {256, 1024, 2048, 4096}) {
    const std::string name = "matmul_" + std::to_string(n);
    add(name + "_pmap", [=] {
      return call(pmap(product, {.in_axes = {0, replicated}}), bench::put(normal(0, {n, n})), normal(1, {n, n}));
    });
    add(name + "_eigen_two_threads", [=] { return two_eigen_threads(n); });
    add(name + "_one_device", [=] { return call(product, normal(0, {n, n}), normal(1, {n, n})); });
    add(name + "_eigen_one_thread", [=] { return one_eigen_thread(n); });
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
