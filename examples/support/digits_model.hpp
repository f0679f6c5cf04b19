/// A network for the digits, and one step of training it on many devices. An ordinary C++ function: nothing in it knows how many.
#pragma once
#include <cmath>
#include <utility>

#include <spmd/spmd.hpp>

#include "digits.hpp"

struct Layer {
  spmd::Tensor<> w, b;

  spmd::Tensor<> operator()(const spmd::Tensor<>& x) const { return matmul(x, w) + b; }
};

struct Network {
  Layer first, second, last;

  /// Images (n, 64) to unnormalised log-probabilities (n, 10).
  spmd::Tensor<> operator()(const spmd::Tensor<>& images) const { return last(relu(second(relu(first(images))))); }
};

/// What training carries from step to step: the network, and Adam's two running averages.
struct Training {
  Network network, mean, variance;
  spmd::Tensor<> steps;
};

/// Weights from a normal distribution whose variance keeps the activations' size through relu (He et al., 2015).
inline Layer make_layer(const spmd::Key& key, spmd::Index in, spmd::Index out) {
  return {spmd::random::normal<float>(key, {in, out}) * std::sqrt(2.0f / static_cast<float>(in)), spmd::zeros<float>({out})};
}

inline Training start_training(const spmd::Key& key) {
  const spmd::Key keys = spmd::random::split(key, 3);
  const Network network{make_layer(keys[0], 64, 128), make_layer(keys[1], 128, 64), make_layer(keys[2], 64, 10)};
  const Network zero = spmd::tree_map([](const auto& w) { return zeros_like(w); }, network);
  return {network, zero, zero, 0.0f};
}

/// The mean cross-entropy over a batch.
inline spmd::Tensor<> cross_entropy(const Network& network, const Digits& batch) {
  const auto log_probabilities = log_softmax(network(batch.images), 1);
  return -mean(sum(log_probabilities * spmd::one_hot<float>(batch.labels, 10), 1));
}

/// Adam (Kingma and Ba, 2015), with the corrections of both averages in the step size as in the end of its section 2.
inline Training adam(const Training& before, const Network& gradient, float rate = 3e-3f) {
  static constexpr float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  const auto steps = before.steps + 1.0f;
  const auto mean = spmd::tree_map([](const auto& m, const auto& g) { return beta1 * m + (1 - beta1) * g; }, before.mean, gradient);
  const auto variance =
      spmd::tree_map([](const auto& v, const auto& g) { return beta2 * v + (1 - beta2) * g * g; }, before.variance, gradient);
  const auto size = rate * sqrt(1.0f - pow(beta2, steps)) / (1.0f - pow(beta1, steps));
  const auto network = spmd::tree_map([&](const auto& w, const auto& m, const auto& v) { return w - size * m / (sqrt(v) + epsilon); },
                                      before.network, mean, variance);
  return {network, mean, variance, steps};
}

/// One step, as every device runs it: the gradient of its own part of the batch, averaged over the axis "batch" together with the
/// loss. So every device takes the same step, and the networks stay equal.
inline std::pair<Training, spmd::Tensor<>> train_step(const Training& before, const Digits& batch) {
  const auto [loss, gradient] = spmd::pmean(spmd::value_and_grad(cross_entropy)(before.network, batch), "batch");
  return {adam(before, gradient), loss};
}

/// How many of the digits the network recognises; those whose `real` is false are padding and do not count.
inline spmd::Tensor<std::int32_t> count_correct(const Network& network, const Digits& digits, const spmd::Tensor<bool>& real) {
  return spmd::psum(sum(argmax(network(digits.images), 1) == digits.labels && real), "batch");
}
