// Two named axes at once: an ensemble of models ("model_replicas"), each trained on shards of the data ("data_shards"). Gradients are
// averaged over the data only, predictions over the models only, the loss over both. Every figure stands beside that of a plain loop.
#include <cmath>
#include <cstdio>
#include <tuple>

#include <spmd/spmd.hpp>

using spmd::grad, spmd::pmap, spmd::pmean, spmd::Tensor;
using spmd::each, spmd::replicated;

constexpr int replicas = 2, shards = 3, points = 12, steps = 20;
constexpr float rate = 0.05f;

/// The mean squared error of y = w x on one shard of the data.
Tensor<> loss(Tensor<> w, Tensor<> x, Tensor<> y) { return spmd::mean(spmd::square(w * x - y)); }

/// What one model on one shard does: returns its weight, the ensemble's predictions for the shard, and the mean loss of all.
std::tuple<Tensor<>, Tensor<>, Tensor<>> train(Tensor<> w, Tensor<> x, Tensor<> y) {
  for (int i = 0; i < steps; ++i) w = w - rate * pmean(grad(loss)(w, x, y), "data_shards");
  return {w, pmean(w * x, "model_replicas"), pmean(loss(w, x, y), {"model_replicas", "data_shards"})};
}

int main() {
  spmd::set_host_device_count(replicas * shards);
  const auto x = spmd::linspace<float>(-1, 1, points), y = 2.0f * x + 0.1f;
  const auto start = spmd::array<float>({0.0f, 5.0f});  // one weight for each model

  const auto model = [](Tensor<> w, Tensor<> all_x, Tensor<> all_y) {
    const auto on_shards = pmap([w](Tensor<> part_x, Tensor<> part_y) { return train(w, part_x, part_y); },
                                {.axis_name = "data_shards", .out_axes = {replicated, 0, replicated}, .axis_size = shards});
    return on_shards(all_x, all_y);
  };
  const auto [w, prediction, mean_loss] = pmap(model, {.axis_name = "model_replicas", .in_axes = {each(0), replicated, replicated}, .out_axes = {each(0), replicated, replicated}})(start, x, y);

  // The same by a loop over everything.
  double weight[replicas], predicted[points] = {};
  double total = 0;
  for (int m = 0; m < replicas; ++m) {
    weight[m] = start.at({m});
    auto error = [&](int i) { return weight[m] * x.at({i}) - y.at({i}); };
    for (int step = 0; step < steps; ++step) {
      double slope = 0;
      for (int i = 0; i < points; ++i) slope += 2 * error(i) * x.at({i}) / points;
      weight[m] -= rate * slope;
    }
    for (int i = 0; i < points; ++i) {
      predicted[i] += weight[m] * x.at({i}) / replicas;
      total += error(i) * error(i) / (points * replicas);
    }
  }

  bool right = true;
  auto line = [&](const char* what, double ours, double loop) {
    std::printf("%-28s %10.6f   by a loop %10.6f\n", what, ours, loop);
    right = right && std::fabs(ours - loop) < 1e-5;
  };
  for (int m = 0; m < replicas; ++m) line(m == 0 ? "weight of model 0" : "weight of model 1", w.at({m}), weight[m]);
  for (int i : {0, 5, points - 1}) line("prediction of the ensemble", prediction.at({i}), predicted[i]);
  line("loss, over both axes", mean_loss.item(), total);
  std::puts(right ? "all figures agree" : "SOME FIGURES DIFFER");
  return right ? 0 : 1;
}
