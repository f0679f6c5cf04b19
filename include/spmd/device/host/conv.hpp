// Convolutions of images (images, height, width, channels) with a kernel (window_h, window_w, channels, filters), as matrix products: the
// windows of a few images at a time are laid out as rows, so that what is written is read again from the cache.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>

#include "gemm.hpp"
#include "windows.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {
namespace detail {

/// How many of the outputs' rows (of all images, one behind the other) are laid out at a time, for rows of `patch` numbers of `item` bytes.
inline Index rows_at_a_time(const Windows& w, Index patch, Index item) {
  constexpr Index cache = 256 << 10;
  return std::max<Index>(1, cache / std::max<Index>(1, w.columns * patch * item));
}
/// The windows of the outputs' rows [first, last), one behind the other: numbers of the image, zeros for padding.
template <class T> void lay_out(T* out, const T* in, Index channels, const Windows& w, Index first, Index last) {
  const Index patch = w.window_h * w.window_w * channels;
  std::fill_n(out, (last - first) * w.columns * patch, T(0));
  for (Index r = first; r < last; ++r) {
    const T* image = in + r / w.rows * w.height * w.width * channels;
    for (Index j = 0; j < w.columns; ++j, out += patch) {
      const Index from = std::max<Index>(0, j * w.stride_w - w.left), left = from - (j * w.stride_w - w.left);
      const Index count = std::min(w.width - from, w.window_w - left);
      if (count <= 0) continue;
      w.each_row(r % w.rows, [&](Index k, Index y) {
        std::memcpy(out + (k * w.window_w + left) * channels, image + (y * w.width + from) * channels, static_cast<std::size_t>(count * channels) * sizeof(T));
      });
    }
  }
}
/// The transpose: rows of windows are added to the images they are of.
template <class T> void add_back(T* out, const T* in, Index channels, const Windows& w, Index first, Index last) {
  const Index patch = w.window_h * w.window_w * channels;
  for (Index r = first; r < last; ++r) {
    T* image = out + r / w.rows * w.height * w.width * channels;
    for (Index j = 0; j < w.columns; ++j, in += patch) {
      const Index to = std::max<Index>(0, j * w.stride_w - w.left), left = to - (j * w.stride_w - w.left);
      const Index count = std::min(w.width - to, w.window_w - left) * channels;
      w.each_row(r % w.rows, [&](Index k, Index y) {
        const T* from = in + (k * w.window_w + left) * channels;
        T* at = image + (y * w.width + to) * channels;
        for (Index c = 0; c < count; ++c) at[c] = static_cast<T>(at[c] + from[c]);
      });
    }
  }
}
/// Calls f(first row, last row) for all rows of outputs, some at a time.
template <class T, class F> void in_blocks(const Windows& w, Index images, Index patch, F f) {
  const Index rows = images * w.rows, step = rows_at_a_time(w, patch, static_cast<Index>(sizeof(T)));
  for (Index first = 0; first < rows; first += step) f(first, std::min(rows, first + step));
}
template <class T> std::unique_ptr<T[]> patches_of(const Windows& w, Index images, Index patch) {
  const Index rows = std::min(images * w.rows, rows_at_a_time(w, patch, static_cast<Index>(sizeof(T))));
  return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(rows * w.columns * patch));
}

}  // namespace detail

/// out (images, rows, columns, filters) = the windows of x times the kernel.
template <class T> void conv2d(T* out, const T* x, const T* kernel, Index images, Index channels, Index filters, const Windows& w) {
  const Index patch = w.window_h * w.window_w * channels;
  const auto patches = detail::patches_of<T>(w, images, patch);
  detail::in_blocks<T>(w, images, patch, [&](Index first, Index last) {
    detail::lay_out(patches.get(), x, channels, w, first, last);
    gemm(out + first * w.columns * filters, patches.get(), kernel, (last - first) * w.columns, patch, filters, false, false);
  });
}

/// The transpose in x: dx (images, height, width, channels) from the cotangent of the outputs.
template <class T> void conv2d_images(T* dx, const T* ct, const T* kernel, Index images, Index channels, Index filters, const Windows& w) {
  const Index patch = w.window_h * w.window_w * channels;
  const auto patches = detail::patches_of<T>(w, images, patch);
  std::fill_n(dx, images * w.height * w.width * channels, T(0));
  detail::in_blocks<T>(w, images, patch, [&](Index first, Index last) {
    gemm(patches.get(), ct + first * w.columns * filters, kernel, (last - first) * w.columns, filters, patch, false, true);
    detail::add_back(dx, patches.get(), channels, w, first, last);
  });
}

/// The transpose in the kernel: dk (window_h, window_w, channels, filters) from the cotangent of the outputs.
template <class T> void conv2d_kernel(T* dk, const T* x, const T* ct, Index images, Index channels, Index filters, const Windows& w) {
  const Index patch = w.window_h * w.window_w * channels;
  const auto patches = detail::patches_of<T>(w, images, patch);
  const auto part = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(patch * filters));
  std::fill_n(dk, patch * filters, T(0));
  detail::in_blocks<T>(w, images, patch, [&](Index first, Index last) {
    detail::lay_out(patches.get(), x, channels, w, first, last);
    gemm(part.get(), patches.get(), ct + first * w.columns * filters, patch, (last - first) * w.columns, filters, true, false);
    for (Index i = 0; i < patch * filters; ++i) dk[i] = static_cast<T>(dk[i] + part[static_cast<std::size_t>(i)]);
  });
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
