// How a window moves over images: what convolutions and pools have in common. Images are (images, height, width, channels).
#pragma once
#include "../../core/shape.hpp"

namespace spmd::host {

/// Output (i, j) sees the rows i * stride_h - top ... of an image, as many as the window is high, and columns likewise; what lies outside
/// the image is padding. A padding behind the last row follows from the number of outputs.
struct Windows {
  Index height, width;      // of an image,
  Index rows, columns;      // of outputs,
  Index window_h, window_w;
  Index stride_h, stride_w;
  Index top, left;          // padding before the first row and column

  /// Calls f(row of the window, row of the image) for those that lie in the image.
  template <class F> void each_row(Index i, F f) const { each(i * stride_h - top, window_h, height, f); }
  template <class F> void each_column(Index j, F f) const { each(j * stride_w - left, window_w, width, f); }

 private:
  template <class F> static void each(Index first, Index window, Index size, F f) {
    const Index begin = first < 0 ? -first : 0, end = first + window > size ? size - first : window;
    for (Index k = begin; k < end; ++k) f(k, first + k);
  }
};

}  // namespace spmd::host
