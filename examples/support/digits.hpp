/// The handwritten digits of examples/data: images and labels, in two parts.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spmd/spmd.hpp>

#include "csv.hpp"

/// A tree of two tensors, so it is sliced, shuffled and split over devices as one.
struct Digits {
  spmd::Tensor<> images;              // (n, 64), from 0 to 1
  spmd::Tensor<std::int32_t> labels;  // (n), from 0 to 9

  spmd::Index size() const { return labels.size(); }
};

inline Digits load_digits(const std::string& path) {
  const Csv csv = read_csv(path);
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  for (std::size_t row = 0; row < csv.rows; ++row) {
    for (std::size_t pixel = 0; pixel < 64; ++pixel) images.push_back(csv(row, pixel) / 16);
    labels.push_back(static_cast<std::int32_t>(csv(row, 64)));
  }
  return {spmd::Tensor<>({csv.rows, 64}, images), spmd::array(labels)};
}

/// The digits at `indices`, in that order.
inline Digits pick(const Digits& digits, const spmd::Tensor<std::int32_t>& indices) {
  return spmd::tree_map([&](const auto& x) { return take(x, indices, 0); }, digits);
}

/// The digits from begin up to end: a view, nothing is copied.
inline Digits rows(const Digits& digits, spmd::Index begin, spmd::Index end) {
  return spmd::tree_map([=](const auto& x) { return slice(x, begin, end, 0); }, digits);
}
