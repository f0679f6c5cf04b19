// Compositions: functions that only call operations.
#pragma once
#include "contraction.hpp"

namespace spmd {

/// log(sum(exp(x))) over axes (default: all), without overflow.
template <Floating T> Tensor<T> logsumexp(const Tensor<T>& x, const Axes& axes, bool keepdims = false) {
  detail::checked_axes("logsumexp", axes, x.rank());
  if (axes.empty()) return x;
  if (x.size() == 0) return log(sum(x, axes, keepdims));  // of nothing: -infinity
  const auto top = stop_gradient(max(x, axes, true));
  const auto shift = where(isfinite(top), top, 0.0f);  // infinities stay what they are
  const auto out = log(sum(exp(x - shift), axes, true)) + shift;
  return keepdims ? out : squeeze(out, axes);
}
template <Floating T> Tensor<T> logsumexp(const Tensor<T>& x) { return logsumexp(x, detail::all_axes(x.rank())); }
/// exp(x) / sum(exp(x)) over axes.
template <Floating T> Tensor<T> softmax(const Tensor<T>& x, const Axes& axes = Axes{-1}) {
  if (x.rank() == 0) return ones_like(x);
  detail::checked_axes("softmax", axes, x.rank());
  if (x.size() == 0) return x;
  const auto e = exp(x - stop_gradient(max(x, axes, true)));
  return e / sum(e, axes, true);
}
/// log(softmax(x)).
template <Floating T> Tensor<T> log_softmax(const Tensor<T>& x, const Axes& axes = Axes{-1}) {
  if (x.rank() == 0) return zeros_like(x);
  detail::checked_axes("log_softmax", axes, x.rank());
  if (x.size() == 0) return x;
  const auto shifted = x - stop_gradient(max(x, axes, true));
  return shifted - log(sum(exp(shifted), axes, true));
}
/// The mean squared distance from the mean; divides by the count. 16-bit floats are computed in f32.
template <class T> auto var(const Tensor<T>& x, const Axes& axes, bool keepdims = false) {
  if constexpr (SixteenBits<T>) return cast<T>(var(cast<float>(x), axes, keepdims));
  else if constexpr (Floating<T>) return mean(square(x - mean(x, axes, true)), axes, keepdims);
  else return var(cast<float>(x), axes, keepdims);
}
template <class T> auto var(const Tensor<T>& x) { return var(x, detail::all_axes(x.rank())); }
/// The Euclidean norm over axes (default: all).
template <Floating T> Tensor<T> norm(const Tensor<T>& x, const Axes& axes, bool keepdims = false) { return sqrt(sum(square(x), axes, keepdims)); }
template <Floating T> Tensor<T> norm(const Tensor<T>& x) { return sqrt(sum(square(x))); }

}  // namespace spmd
