// Wrong calls of operations: each is an error of a type whose text starts with the operation and carries the values.
#include "support/check.hpp"

using namespace spmd;
using check::throws;

namespace {

const auto x = zeros({3, 5}), y = zeros({2, 5}), v = zeros({5}), s = zeros({}), images = zeros({2, 5, 4, 3}), kernel = zeros({3, 3, 3, 2});
const Tensor<int> index({2}, {0, 1});

struct Row {
  void (*call)();
  const char* text;
};

template <class E> void expect(std::initializer_list<Row> rows) {
  for (auto& row : rows) EXPECT_TRUE(throws<E>(row.call, {row.text})) << "expected: " << row.text;
}

TEST(ShapeErrors, shapes_that_do_not_broadcast) {
  expect<ShapeError>({
      {[] { x + y; }, "add: shapes (3, 5) and (2, 5) do not broadcast: sizes 3 and 2 differ and neither is 1"},
      {[] { pow(x, zeros({3})); }, "pow: shapes (3, 5) and (3) do not broadcast: sizes 5 and 3"},
      {[] { (x < y).shape(); }, "less: shapes"},
      {[] { where(x > 0.0f, y, x); }, "where: shapes"},
      {[] { maximum(zeros({0}), zeros({2})); }, "maximum: shapes (0) and (2) do not broadcast"},
      {[] { broadcast_to(x, Shape{3, 6}); }, "broadcast_to: "},
      {[] { broadcast_to(x, Shape{5}); }, "broadcast_to: cannot stretch (3, 5) to (5)"},
      {[] { allclose(x, y); }, "allclose: shapes"},
  });
}

TEST(ShapeErrors, products) {
  expect<ShapeError>({
      {[] { matmul(x, y); }, "matmul: the inner sizes of (3, 5) and (2, 5) differ: 5 and 2"},
      {[] { matmul(v, x); }, "matmul: the inner sizes of (5) and (3, 5) differ: 5 and 3"},
      {[] { matmul(s, x); }, "matmul: needs operands of rank 1 or more, got shapes () and (3, 5)"},
      {[] { matmul(zeros({2, 3, 5}), zeros({4, 5, 2})); }, "matmul: shapes (2) and (4) do not broadcast"},
      {[] { dot(x, zeros({2, 3, 4})); }, "5 and 3"},
      {[] { einsum("ij,jk->ik", x, x); }, "einsum: \"ij,jk->ik\": index j has size 3 in operand 1 of shape (3, 5), and 5 in an earlier one"},
      {[] { einsum("ijk->k", x); }, "einsum: \"ijk->k\" names 3 axes of operand 0, its shape is (3, 5)"},
      {[] { einsum("i->i", x); }, "einsum: \"i->i\" names 1 axis of operand 0, its shape is (3, 5)"},
      {[] { einsum("ii->i", x); }, "einsum: \"ii->i\" takes the diagonal of axes 0 and 1 of operand 0, its shape is (3, 5)"},
      {[] { einsum("i,...j->ij", v, s); }, "einsum: \"i,...j->ij\" names 1 axis of operand 1, its shape is ()"},
      {[] { einsum("i->i", std::vector<Tensor<float>>{}); }, "einsum: the list of tensors is empty"},
  });
  expect<TypeError>({
      {[] { einsum("ij,jk->ik", x); }, "einsum: \"ij,jk->ik\" describes 2 operands, the call has 1"},
      {[] { einsum("ij->ik", x); }, "einsum: \"ij->ik\" has the index k in its output and in no operand"},
      {[] { einsum("ij->ii", x); }, "einsum: \"ij->ii\" has the index i twice in its output"},
      {[] { einsum("i1->i", x); }, "einsum: \"i1->i\" has an unexpected '1': an index is a letter"},
      {[] { einsum("ij>i", x); }, "einsum: \"ij>i\" has an unexpected '>'"},
      {[] { einsum("i.j->i", x); }, "einsum: \"i.j->i\" has dots that are not one ellipsis in \"i.j\""},
      {[] { einsum("......->", x); }, "not one ellipsis"},
  });
}

TEST(ShapeErrors, sizes) {
  expect<ShapeError>({
      {[] { reshape(x, Shape{4, 4}); }, "reshape: cannot make (4, 4) of (3, 5): 15 elements"},
      {[] { reshape(x, Shape{-1, 4}); }, "reshape: cannot make (-1, 4) of (3, 5)"},
      {[] { reshape(x, Shape{-1, -1}); }, "reshape: (-1, -1) has more than one -1"},
      {[] { reshape(x, Shape{-2, 5}); }, "reshape: (-2, 5) has a negative size"},
      {[] { squeeze(x, 0); }, "squeeze: axis 0 of (3, 5) has size 3, not 1"},
      {[] { concatenate({x, y}, 1); }, "concatenate: shapes (3, 5) and (2, 5) differ outside axis 1"},
      {[] { concatenate({x, v}); }, "concatenate: shapes (3, 5) and (5) differ"},
      {[] { concatenate(std::vector<Tensor<float>>{}); }, "concatenate: the list of tensors is empty"},
      {[] { stack({x, y}); }, "stack: shapes (3, 5) and (2, 5) differ"},
      {[] { split(x, 2, 0); }, "split: axis 0 of (3, 5) does not divide into 2 parts"},
      {[] { split(x, 0, 0); }, "split: axis 0 of (3, 5) does not divide into 0 parts"},
      {[] { slice(x, {0, 2}, {3, 6}); }, "slice: [2, 6) is out of range for axis 1 of (3, 5)"},
      {[] { slice(x, {0, -1}, {3, 5}); }, "slice: [-1, 5) is out of range for axis 1 of (3, 5)"},
      {[] { slice(x, 2, 1, 0); }, "slice: [2, 1) is out of range for axis 0 of (3, 5)"},
      {[] { slice(x, {0}, {3}); }, "slice: needs a begin and an end for each axis of (3, 5), got (0) and (3)"},
      {[] { pad(x, {1}, {1, 1}); }, "pad: needs a low and a high padding for each axis of (3, 5), got (1) and (1, 1)"},
      {[] { pad(x, {-1, 0}, {0, 0}); }, "pad: the padding of axis 0 is negative: use slice"},
      {[] { tile(x, {2, -1}); }, "tile: a repeat is negative in (2, -1)"},
      {[] { tril(v); }, "tril: needs a tensor of rank 2 or more, its shape is (5)"},
      {[] { triu(s); }, "triu: needs a tensor of rank 2 or more, its shape is ()"},
      {[] { diag(zeros({2, 3, 4})); }, "diag: needs a vector or a matrix, its shape is (2, 3, 4)"},
      {[] { Tensor<float>({2, 2}, {1, 2, 3}); }, "Tensor: shape (2, 2) holds 4 elements, got 3"},
      {[] { zeros({2, -3}); }, "a size is negative in (2, -3)"},
      {[] { array<float>({{1, 2}, {3}}); }, "array: rows of 2 and 1 elements"},
      {[] { x.item(); }, "item: needs a tensor of one element, its shape is (3, 5)"},
      {[] { x.at({1}); }, "at: needs one index per dimension of (3, 5), got (1)"},
  });
}

TEST(ShapeErrors, reductions_of_nothing) {
  expect<ShapeError>({
      {[] { max(zeros({0, 3}), 0); }, "max: axis 0 of (0, 3) is empty"},
      {[] { min(zeros({3, 0})); }, "min: axis 1 of (3, 0) is empty"},
      {[] { argmax(zeros({3, 0}), 1); }, "argmax: axis 1 of (3, 0) is empty"},
      {[] { argmin(zeros({0})); }, "argmin: axis 0 of (0) is empty"},
  });
}

TEST(AxisErrors, out_of_range_or_twice) {
  expect<AxisError>({
      {[] { sum(x, 2); }, "sum: axis 2 is out of range for rank 2"},
      {[] { prod(x, -3); }, "prod: axis -3 is out of range for rank 2"},
      {[] { max(x, {0, 0}); }, "max: axis 0 is given twice"},
      {[] { mean(x, {1, -1}); }, "mean: axis 1 is given twice"},
      {[] { any(s, 0); }, "any: axis 0 is out of range for rank 0"},
      {[] { argmax(x, 5); }, "argmax: axis 5 is out of range for rank 2"},
      {[] { cumsum(x, 2); }, "cumsum: axis 2 is out of range for rank 2"},
      {[] { sort(s); }, "sort: axis -1 is out of range for rank 0"},
      {[] { argsort(x, 2); }, "argsort: axis 2 is out of range for rank 2"},
      {[] { softmax(x, 2); }, "axis 2 is out of range for rank 2"},
      {[] { logsumexp(x, {0, -2}); }, "axis 0 is given twice"},
      {[] { transpose(x, {0, 2}); }, "transpose: axis 2 is out of range for rank 2"},
      {[] { transpose(x, {0, 0}); }, "transpose: axis 0 is given twice"},
      {[] { transpose(x, {0}); }, "transpose: (0) is not an order of the 2 axes of (3, 5)"},
      {[] { swapaxes(x, 0, 2); }, "swapaxes: axis 2 is out of range for rank 2"},
      {[] { moveaxis(x, 0, -3); }, "moveaxis: axis -3 is out of range for rank 2"},
      {[] { moveaxis(x, Axes{0, 1}, Axes{0}); }, "moveaxis: (0, 1) and (0) name different numbers of axes"},
      {[] { expand_dims(x, 3); }, "expand_dims: axis 3 is out of range for rank 3"},
      {[] { flip(x, 2); }, "flip: axis 2 is out of range for rank 2"},
      {[] { roll(x, 1, 2); }, "roll: axis 2 is out of range for rank 2"},
      {[] { concatenate({x, x}, 2); }, "concatenate: axis 2 is out of range for rank 2"},
      {[] { concatenate({s, s}); }, "concatenate: axis 0 is out of range for rank 0"},
      {[] { stack({x, x}, 3); }, "stack: axis 3 is out of range for rank 3"},
      {[] { split(x, 1, 2); }, "split: axis 2 is out of range for rank 2"},
      {[] { slice(x, 0, 1, -3); }, "slice: axis -3 is out of range for rank 2"},
      {[] { take(x, index, 2); }, "take: axis 2 is out of range for rank 2"},
  });
}

TEST(AxisErrors, indices) {
  expect<AxisError>({
      {[] { take(x, Tensor<int>(3), 0); }, "take: index 3 is out of range for axis 0 of size 3"},
      {[] { take(x, Tensor<int>({2}, {0, -6}), 1); }, "take: index -6 is out of range for axis 1 of size 5"},
      {[] { take(zeros({0}), Tensor<int>(0), 0); }, "take: index 0 is out of range for axis 0 of size 0"},
      {[] { scatter_add(v, Tensor<int>({1}, {5}), zeros({1})); }, "scatter_add: index 5 is out of range for axis 0 of size 5"},
      {[] { take_along_axis(x, Tensor<int>({3, 1}, {0, 5, 0}), 1); }, "take_along_axis: index 5 is out of range for axis 1 of (3, 5)"},
      {[] { x[3]; }, "operator[]: index 3 is out of range for axis 0 of (3, 5)"},
      {[] { x[-4]; }, "operator[]: index -4 is out of range for axis 0 of (3, 5)"},
      {[] { s[0]; }, "operator[]: a tensor of rank 0 has no leading axis"},
      {[] { x.at({0, 5}); }, "at: index 5 is out of range for axis 1 of (3, 5)"},
      {[] { x.at({-4, 0}); }, "at: index -4 is out of range for axis 0 of (3, 5)"},
  });
  expect<ShapeError>({
      {[] { scatter_add(x, index, zeros({3, 5})); }, "scatter_add: updates of shape (3, 5) do not fit: (3, 5) at indices (2) takes (2, 5)"},
      {[] { scatter_add(s, index, zeros({2})); }, "scatter_add: needs a tensor with a leading axis, got rank 0"},
      {[] { take_along_axis(x, index, 0); }, "take_along_axis: indices of shape (2) do not fit (3, 5)"},
      {[] { one_hot(index, -1); }, "one_hot: the number of classes is -1"},
  });
}

TEST(ShapeErrors, images) {
  expect<ShapeError>({
      {[] { conv2d(x, kernel); }, "conv2d: needs images (N, H, W, C) and a kernel (h, w, C, O), got (3, 5) and (3, 3, 3, 2)"},
      {[] { conv2d(images, x); }, "conv2d: needs images"},
      {[] { conv2d(images, zeros({3, 3, 2, 2})); }, "conv2d: images of shape (2, 5, 4, 3) have 3 channels, a kernel of shape (3, 3, 2, 2) takes 2"},
      {[] { conv2d(images, zeros({3, 5, 3, 2})); }, "conv2d: a window of width 5 does not fit images of width 4 with a padding of 0"},
      {[] { conv2d(images, kernel, {.stride = 0}); }, "conv2d: the stride along the height is 0: it must be 1 or more"},
      {[] { conv2d(images, kernel, {.stride = {1, -1}}); }, "conv2d: the stride along the width is -1"},
      {[] { conv2d(images, kernel, {.padding = {0, -1}}); }, "conv2d: the padding along the width is -1: use slice to cut"},
      {[] { conv2d(images, zeros({0, 3, 3, 2})); }, "conv2d: the window has height 0"},
      {[] { max_pool2d(x, 2); }, "max_pool2d: needs images (N, H, W, C), got (3, 5)"},
      {[] { max_pool2d(images, 6); }, "max_pool2d: a window of height 6 does not fit images of height 5 with a padding of 0"},
      {[] { max_pool2d(images, {2, 0}); }, "max_pool2d: the window has width 0"},
      {[] { avg_pool2d(images, 2, {.padding = 2}); }, "avg_pool2d: windows of (2, 2) with a padding of (2, 2) would see nothing but padding of images (2, 5, 4, 3)"},
      {[] { avg_pool2d(v, 2); }, "avg_pool2d: needs images (N, H, W, C), got (5)"},
  });
}

TEST(Errors, inside_maps_say_what_the_shard_saw) {
  const auto rows = zeros({2, 3, 5});
  EXPECT_TRUE(throws<ShapeError>([&] { vmap([](Tensor<float> r) { return matmul(r, r); })(rows); }, {"matmul: the inner sizes of (3, 5) and (3, 5) differ: 5 and 3"}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap([](Tensor<float> r) { return sum(r, 2); })(rows); }, {"sum: axis 2 is out of range for rank 2"}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap([](Tensor<float> r) { return r.item(); })(zeros({3})); }, {"item: this tensor of shape () is mapped by vmap", "where or cond"}));
  // A row that one lane does not have is an error, not a row of the next lane.
  EXPECT_TRUE(throws<AxisError>([&] { vmap([](Tensor<float> r) { return take(r, argmax(r) + 5, 0); })(zeros({2, 5})); }, {"take: index 5 is out of range for axis 0 of size 5"}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap([](Tensor<float> r) { return scatter_add(r, reshape(argmax(r) + 5, Shape{1}), ones({1})); })(zeros({2, 5})); }, {"scatter_add: index 5 is out of range for axis 0 of size 5"}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap([](Tensor<float> r) { return take_along_axis(r, reshape(argmax(r) - 6, Shape{1}), 0); })(zeros({2, 5})); }, {"take_along_axis: index -6 is out of range for axis 0 of (5)"}));
}

}  // namespace
