// Steps of training: the one of examples/train_digits.cpp, and two perceptrons by plain gradient descent; and what vmap makes of a
// function of one example.
#include <sys/resource.h>

#include <string>
#include <utility>
#include <vector>

#include "../examples/support/digits_model.hpp"
#include "support/bench.hpp"
#include "support/mlp.hpp"

using bench::add, bench::call, bench::Mlp;
using spmd::grad, spmd::Index, spmd::pmap, spmd::replicated, spmd::Tensor, spmd::vmap;

namespace {

/// Labels 0, 1, ..., 9, 0, ...
Tensor<std::int32_t> labels(Index n) {
  std::vector<std::int32_t> values;
  for (Index i = 0; i < n; ++i) values.push_back(static_cast<std::int32_t>(i % 10));
  return spmd::array(values);
}

Digits some_digits(Index n) { return {bench::normal(1, {n, 64}), labels(n)}; }

/// A step that keeps its state from call to call, as a training loop does.
template <class Step, class State, class... Batch> auto loop(Step step, State state, Batch... batch) {
  return [=]() mutable {
    auto result = step(state, batch...);
    state = std::move(result.first);
    bench::force(result.second);
  };
}

auto digits_step() {
  return loop(pmap(train_step, {.axis_name = "batch", .in_axes = {replicated, 0}, .out_axes = replicated}), start_training(spmd::Key(0)),
              some_digits(128));
}

auto digits_step_one_device() {
  const auto step = [](const Training& before, const Digits& batch) {
    const auto [loss, gradient] = spmd::value_and_grad(cross_entropy)(before.network, batch);
    return std::pair(adam(before, gradient), loss);
  };
  return loop(step, start_training(spmd::Key(0)), some_digits(128));
}

Mlp descend(const Mlp& layers, const Mlp& gradient) {
  return spmd::tree_map([](const auto& w, const auto& g) { return w - 0.1 * g; }, layers, gradient);
}

std::pair<Mlp, Tensor<>> mlp_step(const Mlp& layers, const Tensor<>& x, const Tensor<>& y) {
  const auto [loss, gradient] = spmd::pmean(spmd::value_and_grad(bench::mlp_loss)(layers, x, y), "i");
  return {descend(layers, gradient), loss};
}

std::pair<Mlp, Tensor<>> mlp_step_one_device(const Mlp& layers, const Tensor<>& x, const Tensor<>& y) {
  const auto [loss, gradient] = spmd::value_and_grad(bench::mlp_loss)(layers, x, y);
  return {descend(layers, gradient), loss};
}

void add_mlp(const std::string& name, const std::vector<Index>& sizes, Index batch) {
  const auto x = [=] { return bench::normal(7, {batch, sizes.front()}); };
  const auto y = [=] { return spmd::one_hot<float>(labels(batch), 10); };
  add(name + "_pmap", [=] {
    return loop(pmap(mlp_step, {.axis_name = "i", .in_axes = {replicated, 0, 0}, .out_axes = replicated}), bench::make_mlp(sizes), x(),
                y());
  });
  add(name + "_one_device", [=] { return loop(mlp_step_one_device, bench::make_mlp(sizes), x(), y()); });
}

std::int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/// After a warm-up every buffer comes from the cache, so that the kernel has no page left to map.
void page_faults_of_training(benchmark::State& state) {
  auto step = digits_step();
  for (int i = 0; i < 100; ++i) step();
  const auto before = page_faults();
  for (auto _ : state)
    for (int i = 0; i < 1000; ++i) step();
  state.counters["page_faults"] = static_cast<double>(page_faults() - before);
}

void add_all() {
  add("train_digits_pmap", [] { return digits_step(); });
  add("train_digits_one_device", [] { return digits_step_one_device(); });
  add_mlp("train_mlp_64_32_10_b128", {64, 32, 10}, 128);
  add_mlp("train_mlp_784_512_256_10_b512", {784, 512, 256, 10}, 512);
  benchmark::RegisterBenchmark("train_digits_1000_steps_page_faults", page_faults_of_training)
      ->UseRealTime()
      ->Iterations(1)
      ->Repetitions(1);

  const auto matvec = [](const Tensor<>& a, const Tensor<>& x) { return matmul(a, x); };
  add("vmap_matvec_1024x64", [=] { return call(vmap(matvec), bench::normal(0, {1024, 64, 64}), bench::normal(1, {1024, 64})); });

  const auto example_loss = [](const Mlp& layers, const Tensor<>& x, const Tensor<>& y) {
    return bench::mlp_loss(layers, expand_dims(x, 0), expand_dims(y, 0));
  };
  add("vmap_grad_per_example_256", [=] {
    return call(vmap(grad(example_loss), {.in_axes = {replicated, 0, 0}}), bench::make_mlp({64, 32, 10}), bench::normal(2, {256, 64}),
                spmd::one_hot<float>(labels(256), 10));
  });
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
