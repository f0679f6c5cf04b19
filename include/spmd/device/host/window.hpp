// Windows that slide over the rows and columns of images, as convolutions and pooling use them.
#pragma once
#include <algorithm>

#include "../../core/shape.hpp"
#include "isa.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

/// A window that slides along one axis, which is padded by `low` and `high` elements.
struct Window {
  Index size, window, stride = 1, low = 0, high = 0;

  Index outputs() const {
    const Index room = size + low + high - window;
    return room < 0 ? 0 : room / stride + 1;
  }
  /// Where the window of an output begins: may lie in the padding.
  Index begin(Index output) const { return output * stride - low; }
  /// The part of the window that lies in the axis, counted from the window's begin.
  Index first_inside(Index output) const { return std::clamp<Index>(-begin(output), 0, window); }
  Index last_inside(Index output) const { return std::clamp<Index>(size - begin(output), first_inside(output), window); }
};

}  // namespace SPMD_ISA
}  // namespace spmd::host
