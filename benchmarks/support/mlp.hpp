/// The perceptron of peers/jax_bench.py: tanh between the layers, cross-entropy, plain gradient descent.
#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include <spmd/spmd.hpp>

namespace bench {

using Mlp = std::vector<std::pair<spmd::Tensor<>, spmd::Tensor<>>>;  // weights and biases

inline Mlp make_mlp(const std::vector<spmd::Index>& sizes) {
  Mlp layers;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
    layers.emplace_back(spmd::random::normal<float>(spmd::Key(i), {sizes[i], sizes[i + 1]}) / std::sqrt(static_cast<float>(sizes[i])),
                        spmd::zeros<float>({sizes[i + 1]}));
  return layers;
}

inline spmd::Tensor<> mlp_loss(const Mlp& layers, spmd::Tensor<> x, const spmd::Tensor<>& one_hot_labels) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    x = matmul(x, layers[i].first) + layers[i].second;
    if (i + 1 < layers.size()) x = tanh(x);
  }
  return -mean(sum(log_softmax(x, 1) * one_hot_labels, 1));
}

}  // namespace bench
