// Pools: the largest, or the mean, of each window over images.
#pragma once
#include "../device/host/pool.hpp"
#include "window.hpp"

namespace spmd {
namespace detail {

/// Lanes are more images.
template <class R, class T, class Op> Batched pool_lanes(const Op& op, const Batch& args) {
  const auto& s = args[0].value->shape;
  return {split_lanes(bind<R>(op, Tensor<T>(merge_lanes(args[0].value, 0))).any(), 0, s[0], s[1]), true};
}

/// Where in its image the largest element of each window is.
struct ArgMaxPool {
  static constexpr std::string_view name = "max_pool2d";
  host::Windows windows;
  template <class T> Tensor<std::int64_t> impl(const Tensor<T>& x) const {
    const Index images = x.shape()[0], channels = x.shape()[3];
    auto& in = x.any()->dense(name);
    auto out = Buffer::make({images, windows.rows, windows.columns, channels}, dtype_of<std::int64_t>(), in.device);
    host::max_pool<T>(nullptr, out->template fill_as<std::int64_t>(), in.template as<T>(), images, channels, windows);
    return Tensor<std::int64_t>(Any(out));
  }
  template <class T> auto vjp(const Tensor<std::int64_t>&, const Tensor<std::int64_t>&, const Tensor<T>&) const { return std::tuple(zero); }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return pool_lanes<std::int64_t, T>(*this, args); }
};

struct MaxPool {
  static constexpr std::string_view name = "max_pool2d";
  host::Windows windows;
  template <class T> Tensor<T> impl(const Tensor<T>& x) const {
    const Index images = x.shape()[0], channels = x.shape()[3];
    auto& in = x.any()->dense(name);
    auto out = Buffer::make({images, windows.rows, windows.columns, channels}, dtype_of<T>(), in.device);
    host::max_pool<T>(out->template fill_as<T>(), nullptr, in.template as<T>(), images, channels, windows);
    return Tensor<T>(Any(out));
  }
  template <class T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) const {
    return std::tuple([=, this] {
      // Each window's part goes to the element that it took: a place in its image becomes one in all of them.
      const Index images = x.shape()[0], each = images > 0 ? x.size() / images : 0;
      const auto first = reshape(arange<std::int64_t>(images) * each, Shape{images, 1, 1, 1});
      return reshape(bind<T>(ScatterAdd<T>{x.size(), 0}, bind<std::int64_t>(ArgMaxPool{windows}, x) + first, ct), x.shape());
    });
  }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return pool_lanes<T, T>(*this, args); }
};

struct SpreadPool;
/// The sum of each window.
struct SumPool {
  static constexpr std::string_view name = "avg_pool2d";
  host::Windows windows;
  template <class T> Tensor<T> impl(const Tensor<T>& x) const {
    const Index images = x.shape()[0], channels = x.shape()[3];
    auto& in = x.any()->dense(name);
    auto out = Buffer::make({images, windows.rows, windows.columns, channels}, dtype_of<T>(), in.device);
    host::sum_pool(out->template fill_as<T>(), in.template as<T>(), images, channels, windows);
    return Tensor<T>(Any(out));
  }
  template <class T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>&) const {
    return std::tuple([ct, by = windows] { return bind<T>(SpreadPool{by}, ct); });
  }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return pool_lanes<T, T>(*this, args); }
};
/// Its transpose: every element gets the sum over the windows that see it.
struct SpreadPool {
  static constexpr std::string_view name = "avg_pool2d";
  host::Windows windows;
  template <class T> Tensor<T> impl(const Tensor<T>& x) const {
    const Index images = x.shape()[0], channels = x.shape()[3];
    auto& in = x.any()->dense(name);
    auto out = Buffer::make({images, windows.height, windows.width, channels}, dtype_of<T>(), in.device);
    host::spread_pool(out->template fill_as<T>(), in.template as<T>(), images, channels, windows);
    return Tensor<T>(Any(out));
  }
  template <class T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>&) const {
    return std::tuple([ct, by = windows] { return bind<T>(SumPool{by}, ct); });
  }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return pool_lanes<T, T>(*this, args); }
};

}  // namespace detail

/// How the window of a pool moves: each a number, or {height, width}; the padding also `same`. A stride of 0 is the size of the window.
struct PoolOptions {
  HeightWidth stride = 0;
  Padding padding = 0;
};

namespace detail {
inline host::Windows pool_windows(std::string_view op, const Shape& images, HeightWidth window, const PoolOptions& options) {
  if (images.rank() != 4) fail<ShapeError>(op, "needs images (N, H, W, C), got ", images);
  const HeightWidth stride(options.stride.height == 0 ? window.height : options.stride.height, options.stride.width == 0 ? window.width : options.stride.width);
  const auto windows = windows_over(op, images, window, stride, options.padding);
  const auto by = options.padding.by();
  if (by.height >= window.height || by.width >= window.width || (images[1] * images[2] == 0 && windows.rows * windows.columns > 0))
    fail<ShapeError>(op, "windows of ", window, " with a padding of ", by, " would see nothing but padding of images ", images);
  return windows;
}
}  // namespace detail

/// The largest element of each window over images (N, H, W, C), channel by channel: shape (N, rows, columns, C), see conv2d. Padding
/// never wins, NaN always does; the gradient goes to the first of equals. ShapeError for another rank, or a window that does not fit.
template <Number T> Tensor<T> max_pool2d(const Tensor<T>& x, HeightWidth window, const PoolOptions& options = {}) {
  return bind<T>(detail::MaxPool{detail::pool_windows("max_pool2d", x.shape(), window, options)}, x);
}
/// The mean of each window; padding counts as zeros.
template <Floating T> Tensor<T> avg_pool2d(const Tensor<T>& x, HeightWidth window, const PoolOptions& options = {}) {
  return bind<T>(detail::SumPool{detail::pool_windows("avg_pool2d", x.shape(), window, options)}, x) / static_cast<double>(window.height * window.width);
}

}  // namespace spmd
