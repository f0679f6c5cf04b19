// Windows that move over images: their sizes, strides and paddings as users write them.
#pragma once
#include "../device/host/window.hpp"
#include "shaping.hpp"

namespace spmd {

/// A number for the height and one for the width; a single number is both.
struct HeightWidth {
  Index height = 0, width = 0;

  HeightWidth() = default;
  template <std::integral I> HeightWidth(I both) : height(static_cast<Index>(both)), width(height) {}
  template <std::integral I, std::integral J> HeightWidth(I h, J w) : height(static_cast<Index>(h)), width(static_cast<Index>(w)) {}
  std::string text() const { return detail::concat({"(", height, ", ", width, ")"}); }
};

/// The padding for which ceil(size / stride) windows are seen; an odd one has its larger half behind the image.
struct SamePadding {};
inline constexpr SamePadding same{};

/// Zeros before and behind each axis of an image: as many as said, or `same`.
class Padding {
 public:
  Padding() = default;
  Padding(SamePadding) : same_(true) {}
  Padding(HeightWidth by) : by_(by) {}
  template <std::integral I> Padding(I both) : by_(both) {}
  template <std::integral I, std::integral J> Padding(I h, J w) : by_(h, w) {}
  bool is_same() const { return same_; }
  const HeightWidth& by() const { return by_; }

 private:
  bool same_ = false;
  HeightWidth by_ = {};
};

namespace detail {

inline host::Window window_along(std::string_view op, std::string_view axis, Index size, Index window, Index stride, const Padding& padding, Index by) {
  if (window < 1) fail<ShapeError>(op, {"the window has ", axis, " ", window});
  if (stride < 1) fail<ShapeError>(op, {"the stride along the ", axis, " is ", stride, ": it must be 1 or more"});
  if (const auto largest = std::max({window, stride, by}); largest > Index{1} << 40) fail<ShapeError>(op, {"the window, stride or padding along the ", axis, " is ", largest});
  if (padding.is_same()) {
    const Index count = (size + stride - 1) / stride, total = std::max<Index>(0, (count - 1) * stride + window - size);
    return {size, window, stride, total / 2, total - total / 2};
  }
  if (by < 0) fail<ShapeError>(op, {"the padding along the ", axis, " is ", by, ": use slice to cut"});
  if (size + 2 * by < window) fail<ShapeError>(op, {"a window of ", axis, " ", window, " does not fit images of ", axis, " ", size, " with a padding of ", by});
  return {size, window, stride, by, by};
}
/// A window over the two axes of images.
struct Windows {
  host::Window rows, columns;
};
inline Windows windows_over(std::string_view op, const Shape& images, HeightWidth window, HeightWidth stride, const Padding& padding) {
  return {window_along(op, "height", images[1], window.height, stride.height, padding, padding.by().height),
          window_along(op, "width", images[2], window.width, stride.width, padding, padding.by().width)};
}

/// Lanes, along axis 0, become a part of what was axis `to`, and come back.
inline Any merge_lanes(const Any& x, Index to) {
  const auto moved = moveaxis(x, 0, to);
  Shape shape = without(moved->shape, to);
  shape[to] *= moved->shape[to];
  return reshape(moved, shape);
}
inline Any split_lanes(const Any& x, Index from, Index lanes, Index size) {
  Shape shape = x->shape;
  shape[from] = size;
  shape.insert(from, lanes);
  return moveaxis(reshape(x, shape), from, 0);
}

}  // namespace detail
}  // namespace spmd
