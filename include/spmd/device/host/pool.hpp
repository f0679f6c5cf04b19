// Pools: the largest element, or the sum, of each window over images (images, height, width, channels).
#pragma once
#include <cstdint>

#include "convert.hpp"
#include "isa.hpp"
#include "windows.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// Of each window and channel the largest element that is no padding (the first of equals, the first NaN if there is one) to `out`, and its
/// place in the image, (row * width + column) * channels + channel, to `at`; either may be null. Every window sees an element.
template <class T> void max_pool(T* out, std::int64_t* at, const T* in, Index images, Index channels, const Windows& w) {
  for (Index n = 0; n < images; ++n) {
    const T* image = in + n * w.height * w.width * channels;
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = 0; j < w.columns; ++j)
        for (Index c = 0; c < channels; ++c) {
          Index best = -1;
          w.each_row(i, [&](Index, Index y) {
            w.each_column(j, [&](Index, Index x) {
              const Index here = (y * w.width + x) * channels + c;
              if (best < 0 || image[here] > image[best] || (image[here] != image[here] && image[best] == image[best])) best = here;
            });
          });
          const Index to = ((n * w.rows + i) * w.columns + j) * channels + c;
          if (out) out[to] = image[best];
          if (at) at[to] = best;
        }
  }
}

/// The sum of each window, channel by channel; 16-bit floats add in float.
template <class T> void sum_pool(T* out, const T* in, Index images, Index channels, const Windows& w) {
  for (Index n = 0; n < images; ++n)
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = 0; j < w.columns; ++j)
        for (Index c = 0; c < channels; ++c) {
          std::conditional_t<is_half_float<T>, float, T> sum{};
          w.each_row(i, [&](Index, Index y) {
            w.each_column(j, [&](Index, Index x) { sum += static_cast<decltype(sum)>(in[((n * w.height + y) * w.width + x) * channels + c]); });
          });
          out[((n * w.rows + i) * w.columns + j) * channels + c] = static_cast<T>(sum);
        }
}

/// The transpose of sum_pool: every element of an image gets the sum of `in` over the windows that see it.
template <class T> void spread_pool(T* out, const T* in, Index images, Index channels, const Windows& w) {
  std::fill_n(out, images * w.height * w.width * channels, T(0));
  for (Index n = 0; n < images; ++n)
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = 0; j < w.columns; ++j) {
        const T* from = in + ((n * w.rows + i) * w.columns + j) * channels;
        w.each_row(i, [&](Index, Index y) {
          w.each_column(j, [&](Index, Index x) {
            T* to = out + ((n * w.height + y) * w.width + x) * channels;
            for (Index c = 0; c < channels; ++c) to[c] = static_cast<T>(to[c] + from[c]);
          });
        });
      }
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
