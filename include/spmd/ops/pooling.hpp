// Pools: the largest, or the mean, of each window over images.
#pragma once
#include "../device/host/pool_places.hpp"
#include "window.hpp"

namespace spmd {
namespace detail {

/// What the operations of a pool share: their windows, over images of this shape.
struct Pool {
  Windows windows;
  host::Pool2d over(const Shape& images) const { return {images[0], windows.rows, windows.columns, images[3]}; }
  Shape outputs(const Shape& images) const { return {images[0], windows.rows.outputs(), windows.columns.outputs(), images[3]}; }
  Shape images(const Shape& outputs) const { return {outputs[0], windows.rows.size, windows.columns.size, outputs[3]}; }
};
/// Runs op where lanes are more images.
template <class R, class... Ts, class Op> Batched pool_lanes(const Op& op, const Axis& axis, const Batch& args) {
  const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return bind<R>(op, Tensor<Ts>(merge_lanes(on_lanes(args[I], axis.size), 0))...).any();
  }(std::index_sequence_for<Ts...>{});
  return {split_lanes(all, 0, axis.size, args[0].value->shape[args[0].mapped ? 1 : 0]), true};
}

/// The offset of the first of the greatest of each window.
struct MaxPoolPlaces : Pool {
  static constexpr std::string_view name = "max_pool2d";
  template <class T> Tensor<std::int64_t> impl(const Tensor<T>& x) const {
    auto& in = x.any()->dense(name);
    auto out = Buffer::make(outputs(x.shape()), dtype_of<std::int64_t>(), in.device);
    host::max_pool2d_places(out->template fill_as<std::int64_t>(), in.template as<T>(), over(x.shape()));
    return Tensor<std::int64_t>(Any(out));
  }
  template <class T> auto vjp(const Tensor<std::int64_t>&, const Tensor<std::int64_t>&, const Tensor<T>&) const { return std::tuple(zero); }
  template <class T> Batched batch(const Axis& axis, const Batch& args) const {
    const auto all = pool_lanes<std::int64_t, T>(*this, axis, args);
    const auto& s = args[0].value->shape;  // an offset counts from the first image of its lane
    const auto first = reshape((arange<std::int64_t>(s[0]) * without(s, 0).size()).any(), Shape{s[0], 1, 1, 1, 1});
    return {(Tensor<std::int64_t>(all.value) - Tensor<std::int64_t>(first)).any(), true};
  }
};
/// What comes in for a window goes to the first of its greatest. Linear in that, and flat in the images.
struct MaxPoolGradient : Pool {
  static constexpr std::string_view name = "max_pool2d";
  template <class T> Tensor<T> impl(const Tensor<T>& x, const Tensor<T>& outs) const {
    auto &in = x.any()->dense(name), &from = outs.any()->dense(name);
    auto out = Buffer::make(x.shape(), dtype_of<T>(), in.device);
    host::max_pool2d_gradient(out->template fill_as<T>(), in.template as<T>(), from.template as<T>(), over(x.shape()));
    return Tensor<T>(Any(out));
  }
  template <class T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x, const Tensor<T>&) const {
    return std::tuple(zero, [=, this] { return take(spmd::reshape(ct, Shape{-1}), bind<std::int64_t>(MaxPoolPlaces{*this}, x), 0); });
  }
  template <class T, class> Batched batch(const Axis& axis, const Batch& args) const { return pool_lanes<T, T, T>(*this, axis, args); }
};
struct MaxPool : Pool {
  static constexpr std::string_view name = "max_pool2d";
  template <class T> Tensor<T> impl(const Tensor<T>& x) const {
    auto& in = x.any()->dense(name);
    auto out = Buffer::make(outputs(x.shape()), dtype_of<T>(), in.device);
    host::max_pool2d(out->template fill_as<T>(), in.template as<T>(), over(x.shape()));
    return Tensor<T>(Any(out));
  }
  template <class T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) const {
    return std::tuple([=, this] { return bind<T>(MaxPoolGradient{*this}, x, ct); });
  }
  template <class T> Batched batch(const Axis& axis, const Batch& args) const { return pool_lanes<T, T>(*this, axis, args); }
};

/// The mean of each window, and its transpose.
template <bool transposed> struct MeanPool : Pool {
  static constexpr std::string_view name = "avg_pool2d";
  template <class T> Tensor<T> impl(const Tensor<T>& x) const {
    auto& in = x.any()->dense(name);
    auto out = Buffer::make(transposed ? images(x.shape()) : outputs(x.shape()), dtype_of<T>(), in.device);
    if constexpr (transposed) host::avg_pool2d_gradient(out->template fill_as<T>(), in.template as<T>(), over(x.shape()), true);
    else host::avg_pool2d(out->template fill_as<T>(), in.template as<T>(), over(x.shape()), true);
    return Tensor<T>(Any(out));
  }
  template <class T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>&) const {
    return std::tuple([ct, back = MeanPool<!transposed>{*this}] { return bind<T>(back, ct); });
  }
  template <class T> Batched batch(const Axis& axis, const Batch& args) const { return pool_lanes<T, T>(*this, axis, args); }
};

}  // namespace detail

/// How the window of a pool moves: each a number, or {height, width}; the padding also `same`. A stride of 0 is the size of the window.
struct PoolOptions {
  HeightWidth stride = 0;
  Padding padding = 0;
};

namespace detail {
inline Pool pool_over(std::string_view op, const Shape& images, HeightWidth window, const PoolOptions& options) {
  if (images.rank() != 4) fail<ShapeError>(op, {"needs images (N, H, W, C), got ", images});
  const HeightWidth stride(options.stride.height == 0 ? window.height : options.stride.height, options.stride.width == 0 ? window.width : options.stride.width);
  const auto windows = windows_over(op, images, window, stride, options.padding);
  const auto by = options.padding.by();
  if (by.height >= window.height || by.width >= window.width || (images[1] * images[2] == 0 && windows.rows.outputs() * windows.columns.outputs() > 0))
    fail<ShapeError>(op, {"windows of ", window, " with a padding of ", by, " would see nothing but padding of images ", images});
  return {windows};
}
}  // namespace detail

/// The largest element of each window over images (N, H, W, C), channel by channel: shape (N, rows, columns, C), see conv2d. Padding
/// never wins, NaN always does; the gradient goes to the first of equals. ShapeError for another rank, or a window that does not fit.
template <Number T> Tensor<T> max_pool2d(const Tensor<T>& x, HeightWidth window, const PoolOptions& options = {}) {
  return bind<T>(detail::MaxPool{detail::pool_over("max_pool2d", x.shape(), window, options)}, x);
}
/// The mean of each window; padding counts as zeros.
template <Floating T> Tensor<T> avg_pool2d(const Tensor<T>& x, HeightWidth window, const PoolOptions& options = {}) {
  return bind<T>(detail::MeanPool<false>{detail::pool_over("avg_pool2d", x.shape(), window, options)}, x);
}

}  // namespace spmd
