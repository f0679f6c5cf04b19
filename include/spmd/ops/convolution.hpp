// Convolution of images.
#pragma once
#include "../device/host/conv.hpp"
#include "contraction.hpp"
#include "window.hpp"

namespace spmd {
namespace detail {

/// A convolution ties three arrays in one sum over images x, kernel w and outputs y: sum of y * conv(x, w), linear in each. What this
/// computes is the factor of one of them, from the other two in the order x, w, y; so each part is the derivative of the others.
enum class ConvPart { outputs, images, kernel };

template <ConvPart part> struct Conv2d {
  static constexpr std::string_view name = "conv2d";
  Windows windows;

  template <class T> Tensor<T> impl(const Tensor<T>& a, const Tensor<T>& b) const {
    const auto shape = result_shape(a.shape(), b.shape());
    const auto& images = part == ConvPart::kernel ? a.shape() : shape;
    const auto& kernel = part == ConvPart::outputs ? b.shape() : part == ConvPart::images ? a.shape() : shape;
    const host::Conv2d sizes{images[0], windows.rows, windows.columns, kernel[2], kernel[3]};
    auto &x = a.any()->dense(name), &y = b.any()->dense(name);
    auto out = Buffer::make(shape, dtype_of<T>(), x.device);
    const auto bytes = static_cast<std::size_t>(host::conv2d_workspace<T>(sizes));
    auto* workspace = allocate(bytes);
    const T *p = x.template as<T>(), *q = y.template as<T>();
    if constexpr (part == ConvPart::outputs) host::conv2d(out->template fill_as<T>(), p, q, sizes, workspace);
    else if constexpr (part == ConvPart::images) host::conv2d_input_gradient(out->template fill_as<T>(), q, p, sizes, workspace);
    else host::conv2d_weight_gradient(out->template fill_as<T>(), p, q, sizes, workspace);
    deallocate(workspace, bytes);
    return Tensor<T>(Any(out));
  }
  template <class T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& a, const Tensor<T>& b) const {
    const auto by = windows;
    auto images = [by](const Tensor<T>& w, const Tensor<T>& y) { return bind<T>(Conv2d<ConvPart::images>{by}, w, y); };
    auto kernel = [by](const Tensor<T>& x, const Tensor<T>& y) { return bind<T>(Conv2d<ConvPart::kernel>{by}, x, y); };
    auto outputs = [by](const Tensor<T>& x, const Tensor<T>& w) { return bind<T>(Conv2d<ConvPart::outputs>{by}, x, w); };
    if constexpr (part == ConvPart::outputs) return std::tuple([=] { return images(b, ct); }, [=] { return kernel(a, ct); });
    else if constexpr (part == ConvPart::images) return std::tuple([=] { return kernel(ct, b); }, [=] { return outputs(ct, a); });
    else return std::tuple([=] { return images(ct, b); }, [=] { return outputs(a, ct); });
  }
  template <class T, class> Batched batch(const Axis& mapped, const Batch& args) const {
    const auto &a = args[0], &b = args[1];
    auto run = [this](const Any& x, const Any& y) { return bind<T>(Conv2d{windows}, Tensor<T>(x), Tensor<T>(y)).any(); };
    const Index lanes = mapped.size;
    if (a.mapped != b.mapped) {
      // The lanes of one operand are more images, more channels, or more filters.
      const auto [from, to] = a.mapped ? merged_first : merged_second;
      const Any &x = a.mapped ? a.value : b.value, merged = merge_lanes(x, from);
      return {split_lanes(a.mapped ? run(merged, b.value) : run(a.value, merged), to, lanes, x->shape[from + 1]), true};
    }
    Anys rows;
    for (Index i = 0; i < lanes; ++i) rows.push_back(run(row(a.value, 0, i), row(b.value, 0, i)));
    return {lanes > 0 ? stack(std::move(rows), 0) : zeros(a.value->dtype, with_front(0, result_shape(without(a.value->shape, 0), without(b.value->shape, 0)))), true};
  }

 private:
  Shape result_shape(const Shape& a, const Shape& b) const {
    if constexpr (part == ConvPart::outputs) return {a[0], windows.rows.outputs(), windows.columns.outputs(), b[3]};
    else if constexpr (part == ConvPart::images) return {b[0], windows.rows.size, windows.columns.size, a[2]};
    else return {windows.rows.window, windows.columns.window, a[3], b[3]};
  }
  /// Where the lanes of an operand go, if the other has none, and where they are found in the result.
  using Lane = std::pair<Index, Index>;
  static constexpr Lane merged_first = part == ConvPart::outputs ? Lane{0, 0} : part == ConvPart::images ? Lane{2, 3} : Lane{3, 2};
  static constexpr Lane merged_second = part == ConvPart::outputs ? Lane{3, 3} : part == ConvPart::images ? Lane{0, 0} : Lane{3, 3};
};

}  // namespace detail

/// How the window of a convolution moves: each a number, or {height, width}; the padding also `same`.
struct ConvOptions {
  HeightWidth stride = 1;
  Padding padding = 0;
};

/// The convolution (as in JAX: the kernel is not flipped) of images (N, H, W, C) with a kernel (h, w, C, O): shape (N, rows, columns, O), where
/// rows = (H + 2 padding - h) / stride + 1, rounded down, or ceil(H / stride) with the padding `same`. ShapeError for other ranks,
/// channels that differ, and a kernel that does not fit.
template <Floating T> Tensor<T> conv2d(const Tensor<T>& x, const Tensor<T>& w, const ConvOptions& options = {}) {
  const auto &s = x.shape(), &k = w.shape();
  if (s.rank() != 4 || k.rank() != 4) fail<ShapeError>("conv2d", {"needs images (N, H, W, C) and a kernel (h, w, C, O), got ", s, " and ", k});
  if (s[3] != k[2]) fail<ShapeError>("conv2d", {"images of shape ", s, " have ", s[3], " channels, a kernel of shape ", k, " takes ", k[2]});
  return bind<T>(detail::Conv2d<detail::ConvPart::outputs>{detail::windows_over("conv2d", s, {k[0], k[1]}, options.stride, options.padding)}, x, w);
}

}  // namespace spmd
