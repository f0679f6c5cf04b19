// Pooling of NHWC images over two-dimensional windows, and its gradients. Padding is outside: no maximum, no term of a sum.
#pragma once
#include <algorithm>

#include "scan.hpp"
#include "window.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// `in` is (batch, rows.size, columns.size, channels), out is (batch, rows.outputs(), columns.outputs(), channels).
struct Pool2d {
  Index batch;
  Window rows, columns;
  Index channels;
};

namespace detail {

inline constexpr Index pool_strip = 512;  // channels at a time

/// One window: the pixel it belongs to and the part of it that is inside the images.
struct PoolWindow {
  Index out;           // offset of the output's first channel
  Index in;            // of the first input inside
  Index height, width; // of the part inside
  Index row_step, column_step;

  Index count() const { return height * width; }
  /// The offset of the i-th input, row by row.
  Index at(Index i) const { return in + i / width * row_step + i % width * column_step; }
};

template <class F> void for_each_window(const Pool2d& p, F&& f) {
  Index out = 0;
  for (Index b = 0; b < p.batch; ++b)
    for (Index r = 0; r < p.rows.outputs(); ++r)
      for (Index c = 0; c < p.columns.outputs(); ++c, out += p.channels) {
        const Index top = p.rows.first_inside(r), left = p.columns.first_inside(c);
        const Index row = b * p.rows.size + p.rows.begin(r) + top, column = p.columns.begin(c) + left;
        f(PoolWindow{out, (row * p.columns.size + column) * p.channels, p.rows.last_inside(r) - top, p.columns.last_inside(c) - left,
                     p.columns.size * p.channels, p.channels});
      }
}

/// sums[i] = the combination over the window of channel i, for i in [0, n), where the window is not empty.
template <class R, class A, class T> void reduce_window(A* sums, const T* in, const PoolWindow& w, Index n) {
  const T* rows[terms];
  for (Index first = 0; first < w.count(); first += terms) {
    const Index count = std::min(terms, w.count() - first);
    for (Index i = 0; i < count; ++i) rows[i] = in + w.at(first + i);
    if (first == 0) reduce_columns<R, A>(rows, count, 0, n, PutOut<A, A>{sums});
    else reduce_columns<R, A>(rows, count, 0, n, PutCombined<R, A>{sums});
  }
}

}  // namespace detail

/// The greatest of each window; a NaN wins.
template <class T> void max_pool2d(T* out, const T* in, const Pool2d& p) {
  using namespace detail;
  using A = Accumulator<MaxOf, T>;
  for_each_window(p, [&](const PoolWindow& w) {
    if (w.count() == 0) return void(std::fill_n(out + w.out, p.channels, MaxOf::identity<T>()));
    for (Index c = 0; c < p.channels; c += pool_strip) {
      const Index n = std::min(pool_strip, p.channels - c);
      A sums[static_cast<std::size_t>(pool_strip)];
      reduce_window<MaxOf>(sums, in + c, w, n);
      for (Index i = 0; i < n; ++i) out[w.out + c + i] = narrow<T>(sums[i]);
    }
  });
}

/// The gradient with respect to the images, `gradient`, which is written: what comes in, out, goes to the first of the
/// greatest of each window of `in`.
template <class T> void max_pool2d_gradient(T* gradient, const T* in, const T* out, const Pool2d& p) {
  using namespace detail;
  std::fill_n(gradient, p.batch * p.rows.size * p.columns.size * p.channels, T(0));
  for_each_window(p, [&](const PoolWindow& w) {
    if (w.count() == 0) return;
    for (Index c = 0; c < p.channels; c += pool_strip) {
      const Index n = std::min(pool_strip, p.channels - c);
      std::int32_t winners[static_cast<std::size_t>(pool_strip)];
      arg_reduce_columns<true, T>(winners, [&](Index i) { return in + w.at(i) + c; }, w.count(), n);
      for (Index i = 0; i < n; ++i) {
        T& to = gradient[w.at(winners[i]) + c + i];
        to = narrow<T>(SumOf::of(widen<Accumulator<SumOf, T>>(to), widen<Accumulator<SumOf, T>>(out[w.out + c + i])));
      }
    }
  });
}

/// The mean of each window: over all of it (count_padding: the padding counts as zeros), or over its part inside.
template <class T> void avg_pool2d(T* out, const T* in, const Pool2d& p, bool count_padding) {
  using namespace detail;
  using A = Accumulator<SumOf, T>;
  for_each_window(p, [&](const PoolWindow& w) {
    const A count = static_cast<A>(count_padding ? p.rows.window * p.columns.window : std::max<Index>(1, w.count()));
    for (Index c = 0; c < p.channels; c += pool_strip) {
      const Index n = std::min(pool_strip, p.channels - c);
      A sums[static_cast<std::size_t>(pool_strip)];
      if (w.count() == 0) std::fill_n(sums, n, A(0));
      reduce_window<SumOf>(sums, in + c, w, n);
      for (Index i = 0; i < n; ++i) out[w.out + c + i] = narrow<T>(static_cast<A>(sums[i] / count));
    }
  });
}

/// The gradient with respect to the images, `gradient`, which is written; out is the gradient that comes in.
template <class T> void avg_pool2d_gradient(T* gradient, const T* out, const Pool2d& p, bool count_padding) {
  using namespace detail;
  using A = Accumulator<SumOf, T>;
  std::fill_n(gradient, p.batch * p.rows.size * p.columns.size * p.channels, T(0));
  for_each_window(p, [&](const PoolWindow& w) {
    const A count = static_cast<A>(count_padding ? p.rows.window * p.columns.window : std::max<Index>(1, w.count()));
    for (Index i = 0; i < w.count(); ++i) {
      constexpr int lanes = lanes_in_register<A>;
      T* to = gradient + w.at(i);
      const T* from = out + w.out;
      Index c = 0;
      for (; c + lanes <= p.channels; c += lanes) store_as<T, A, lanes>(to + c, load_as<A, lanes>(to + c) + load_as<A, lanes>(from + c) / count);
      for (; c < p.channels; ++c) to[c] = narrow<T>(static_cast<A>(widen<A>(to[c]) + widen<A>(from[c]) / count));
    }
  });
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
