// Windows over images.
#include "support/operations.hpp"

#include <algorithm>

namespace check {
namespace {

using namespace spmd;

struct Geometry {
  HeightWidth stride;
  Padding padding;
  const char* name;
};
const Geometry geometries[] = {{1, 0, ""}, {2, 1, " stride 2 padding 1"}, {{2, 1}, {0, 1}, " stride {2, 1} padding {0, 1}"}, {{1, 3}, same, " stride {1, 3} padding same"}};

struct Line {
  Index count, first, stride;  // windows, where the first begins, and how far apart they are
};
Line line(Index size, Index window, Index stride, const Padding& padding, Index by) {
  if (!padding.is_same()) return {(size + 2 * by - window) / stride + 1, -by, stride};
  const Index count = (size + stride - 1) / stride;
  return {count, -(std::max<Index>(0, (count - 1) * stride + window - size) / 2), stride};
}
/// Calls f(row in the window, column in the window, row, column) for what a window sees of an image.
template <class F> void look(const Line& rows, const Line& columns, Index i, Index j, HeightWidth window, const Shape& image, F f) {
  for (Index h = 0; h < window.height; ++h)
    for (Index w = 0; w < window.width; ++w) {
      const Index y = rows.first + i * rows.stride + h, x = columns.first + j * columns.stride + w;
      if (y >= 0 && x >= 0 && y < image[1] && x < image[2]) f(h, w, y, x);
    }
}

}  // namespace

void add_images(Rows& rows) {
  const Shape images{2, 5, 4, 3};
  for (auto& g : geometries) {
    const HeightWidth window(3, 2);
    const auto down = line(images[1], window.height, g.stride.height, g.padding, g.padding.by().height), across = line(images[2], window.width, g.stride.width, g.padding, g.padding.by().width);
    rows.push_back({std::string("conv2d") + g.name, {sample(images, -1, 2), sample({3, 2, 3, 2}, -1, 1, 1)},
                    [=](const Ds& x) { return conv2d(x[0], x[1], {.stride = g.stride, .padding = g.padding}); }, [=](const Ds& x) {
                      const Plain in(x[0]), kernel(x[1]);
                      return tabulate({2, down.count, across.count, 2}, [&](const At& at) {
                        double total = 0;
                        look(down, across, at[1], at[2], window, images, [&](Index h, Index w, Index r, Index c) {
                          for (Index channel = 0; channel < 3; ++channel) total += in({at[0], r, c, channel}) * kernel({h, w, channel, at[3]});
                        });
                        return total;
                      });
                    }});
    rows.push_back({std::string("max_pool2d") + g.name, {sample(images, -3, -1)}, [=](const Ds& x) { return max_pool2d(x[0], window, {.stride = g.stride, .padding = g.padding}); }, [=](const Ds& x) {
      const Plain in(x[0]);
      return tabulate({2, down.count, across.count, 3}, [&](const At& at) {
        double best = -1e9;
        look(down, across, at[1], at[2], window, images, [&](Index, Index, Index r, Index c) { best = std::max(best, in({at[0], r, c, at[3]})); });
        return best;
      });
    }});
    rows.push_back({std::string("avg_pool2d") + g.name, {sample(images, -1, 2)}, [=](const Ds& x) { return avg_pool2d(x[0], window, {.stride = g.stride, .padding = g.padding}); }, [=](const Ds& x) {
      const Plain in(x[0]);
      return tabulate({2, down.count, across.count, 3}, [&](const At& at) {
        double total = 0;
        look(down, across, at[1], at[2], window, images, [&](Index, Index, Index r, Index c) { total += in({at[0], r, c, at[3]}); });
        return total / 6;
      });
    }});
  }
  // The stride of a pool that names none is the window.
  rows.push_back({"max_pool2d(x, 2)", {sample({1, 5, 4, 2})}, [](const Ds& x) { return max_pool2d(x[0], 2); }, [](const Ds& x) {
    const Plain in(x[0]);
    return tabulate({1, 2, 2, 2}, [&](const At& at) {
      double best = -1e9;
      for (Index h = 0; h < 2; ++h)
        for (Index w = 0; w < 2; ++w) best = std::max(best, in({0, 2 * at[1] + h, 2 * at[2] + w, at[3]}));
      return best;
    });
  }});
}

}  // namespace check
