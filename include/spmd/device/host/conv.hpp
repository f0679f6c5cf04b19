// Two-dimensional convolution (as the field says it: a correlation) of NHWC images with HWIO weights, and its gradients,
// as matrix products with the patches of the images. Patches are made a few at a time, in a workspace of the caller.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "gemm.hpp"
#include "window.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// `in` is (batch, rows.size, columns.size, channels), weights are (rows.window, columns.window, channels, features), out
/// is (batch, rows.outputs(), columns.outputs(), features).
struct Conv2d {
  Index batch;
  Window rows, columns;
  Index channels, features;

  Index pixels() const { return batch * rows.outputs() * columns.outputs(); }  // of out
  Index image() const { return rows.size * columns.size * channels; }
  Index patch() const { return rows.window * columns.window * channels; }
  /// Whether the patches are the image itself.
  bool pointwise() const {
    const auto plain = [](const Window& w) { return w.window == 1 && w.stride == 1 && w.low == 0 && w.high == 0; };
    return plain(rows) && plain(columns);
  }
};

namespace detail {

/// What convolutions of T are computed in, also between products: float for 16-bit floats.
template <class T> using ConvNumber = std::conditional_t<is_half_float<T>, float, T>;

/// Patches at a time: about 1 MiB of them, but enough for the product to be worth its packing.
template <class T> Index conv_chunk(const Conv2d& c) {
  const Index fitting = (Index{1} << 20) / std::max<Index>(1, c.patch() * static_cast<Index>(sizeof(ConvNumber<T>)));
  return std::min(c.pixels(), std::max<Index>(256, fitting));
}

/// f(patch, image, run) for every run of numbers that are contiguous in both, in the patches of pixels [begin, end):
/// their offsets in the array of patches and in the images, and the length. With pad(patch, length) for what is outside.
template <class Run, class Pad> void for_each_run(const Conv2d& c, Index begin, Index end, Run&& run, Pad&& pad) {
  const Index height = c.rows.outputs(), width = c.columns.outputs(), line = c.columns.window * c.channels;
  Index patch = 0;
  for (Index p = begin; p < end; ++p) {
    const Index column = p % width, row = p / width % height, image = p / width / height * c.image();
    const Index first = c.columns.first_inside(column), last = c.columns.last_inside(column);
    const Index left = first * c.channels, inside = (last - first) * c.channels;
    const Index top = c.rows.first_inside(row), bottom = c.rows.last_inside(row);
    if (top > 0) pad(patch, top * line);
    if (bottom < c.rows.window) pad(patch + bottom * line, (c.rows.window - bottom) * line);
    for (Index i = top; i < bottom; ++i) {
      const Index at = patch + i * line;
      if (left > 0) pad(at, left);
      run(at + left, image + ((c.rows.begin(row) + i) * c.columns.size + c.columns.begin(column) + first) * c.channels, inside);
      if (left + inside < line) pad(at + left + inside, line - left - inside);
    }
    patch += c.patch();
  }
}

template <class A, class T> void widen_or_copy(A* out, const T* in, Index n) {
  if constexpr (!std::is_same_v<A, T>) widen_all(out, in, n);
  else if (n > 8) std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(T));
  else for (Index i = 0; i < n; ++i) out[i] = in[i];  // images of one or three channels: less than the call
}
template <class T, class A> void narrow_all(T* out, const A* in, Index n) {
  constexpr int lanes = lanes_in_register<A>;
  Index i = 0;
  for (; i + lanes <= n; i += lanes) store_as<T, A, lanes>(out + i, load_lanes<Register<A>>(in + i));
  for (; i < n; ++i) out[i] = narrow<T>(in[i]);
}

template <class A, class T> void make_patches(A* patches, const T* in, const Conv2d& c, Index begin, Index end) {
  for_each_run(c, begin, end, [&](Index patch, Index image, Index n) { widen_or_copy(patches + patch, in + image, n); },
               [&](Index patch, Index n) { std::fill_n(patches + patch, n, A(0)); });
}

/// The workspace, cut up in order.
template <class A> struct Workspace {
  A* at;
  A* take(Index n) { return std::exchange(at, at + n); }
  /// Numbers as A: themselves, or widened into the workspace.
  template <class T> const A* widened(const T* x, Index n) {
    if constexpr (std::is_same_v<A, T>) return x;
    else {
      A* out = take(n);
      widen_all(out, x, n);
      return out;
    }
  }
};

}  // namespace detail

/// Bytes of workspace that each of the functions below needs for element type T.
template <class T> Index conv2d_workspace(const Conv2d& c) {
  using A = detail::ConvNumber<T>;
  const Index chunk = detail::conv_chunk<T>(c), weights = c.patch() * c.features;
  const Index widened = std::is_same_v<A, T> ? 0 : weights + chunk * c.features + c.image();
  return static_cast<Index>(sizeof(A)) * (chunk * c.patch() + weights + widened);
}

template <class T> void conv2d(T* out, const T* in, const T* weights, const Conv2d& c, void* workspace) {
  using namespace detail;
  using A = ConvNumber<T>;
  const Index pixels = c.pixels(), depth = c.patch(), chunk = conv_chunk<T>(c);
  if (c.pointwise()) return gemm(out, in, weights, pixels, depth, c.features, false, false);
  Workspace<A> work{static_cast<A*>(workspace)};
  A* patches = work.take(chunk * depth);
  const A* w = work.widened(weights, depth * c.features);
  for (Index p = 0; p < pixels; p += chunk) {
    const Index n = std::min(chunk, pixels - p);
    make_patches(patches, in, c, p, p + n);
    if constexpr (std::is_same_v<A, T>) {
      gemm(out + p * c.features, patches, w, n, depth, c.features, false, false);
    } else {
      A* result = Workspace<A>(work).take(chunk * c.features);
      gemm(result, patches, w, n, depth, c.features, false, false);
      narrow_all(out + p * c.features, result, n * c.features);
    }
  }
}

/// The gradient with respect to the images: `in` is written, out is the gradient that comes in.
template <class T> void conv2d_input_gradient(T* in, const T* out, const T* weights, const Conv2d& c, void* workspace) {
  using namespace detail;
  using A = ConvNumber<T>;
  const Index pixels = c.pixels(), depth = c.patch(), chunk = conv_chunk<T>(c);
  if (c.pointwise()) return gemm(in, out, weights, pixels, c.features, depth, false, true);
  Workspace<A> work{static_cast<A*>(workspace)};
  A* patches = work.take(chunk * depth);
  const A* w = work.widened(weights, depth * c.features);
  const auto add_patches = [&](A* images, Index origin, Index begin, Index end) {
    const A* gradient = Workspace<A>(work).widened(out + begin * c.features, (end - begin) * c.features);
    gemm(patches, gradient, w, end - begin, c.features, depth, false, true);
    for_each_run(c, begin, end,
                 [&](Index patch, Index image, Index n) {
                   constexpr int lanes = lanes_in_register<A>;
                   Index i = 0;
                   A* to = images + (image - origin);
                   for (; i + lanes <= n; i += lanes) store_lanes(to + i, load_lanes<Register<A>>(to + i) + load_lanes<Register<A>>(patches + patch + i));
                   for (; i < n; ++i) to[i] = static_cast<A>(to[i] + patches[patch + i]);
                 },
                 [](Index, Index) {});
  };
  if constexpr (std::is_same_v<A, T>) {
    std::fill_n(in, c.batch * c.image(), A(0));
    for (Index p = 0; p < pixels; p += chunk) add_patches(in, 0, p, std::min(pixels, p + chunk));
  } else {  // image by image, summed in float and rounded once
    A* image = work.take(c.image());
    const Index each = c.batch ? pixels / c.batch : 0;
    for (Index b = 0; b < c.batch; ++b) {
      std::fill_n(image, c.image(), A(0));
      for (Index p = b * each; p < (b + 1) * each; p += chunk) add_patches(image, b * c.image(), p, std::min((b + 1) * each, p + chunk));
      narrow_all(in + b * c.image(), image, c.image());
    }
  }
}

/// The gradient with respect to the weights, which are written; out is the gradient that comes in.
template <class T> void conv2d_weight_gradient(T* weights, const T* in, const T* out, const Conv2d& c, void* workspace) {
  using namespace detail;
  using A = ConvNumber<T>;
  const Index pixels = c.pixels(), depth = c.patch(), chunk = conv_chunk<T>(c), size = depth * c.features;
  if (c.pointwise() || pixels == 0) return gemm(weights, in, out, depth, pixels, c.features, true, false);
  Workspace<A> work{static_cast<A*>(workspace)};
  A* patches = work.take(chunk * depth);
  A* part = work.take(size);
  A* sum;
  if constexpr (std::is_same_v<A, T>) sum = weights;
  else sum = work.take(size);
  for (Index p = 0; p < pixels; p += chunk) {
    const Index n = std::min(chunk, pixels - p);
    make_patches(patches, in, c, p, p + n);
    const A* gradient = Workspace<A>(work).widened(out + p * c.features, n * c.features);
    gemm(p == 0 ? sum : part, patches, gradient, depth, n, c.features, true, false);
    if (p == 0) continue;
    const A* both[] = {sum, part};
    combine<SumOf>(sum, both, 2, 0, size);
  }
  if constexpr (!std::is_same_v<A, T>) narrow_all(weights, sum, size);
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
