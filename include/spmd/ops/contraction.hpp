// Products that sum over an axis.
#pragma once
#include "../device/host/gemm.hpp"
#include "shaping.hpp"

namespace spmd {
namespace detail {

/// The product of matrices, or of stacks of them; a matrix goes with every matrix of a stack. Flags say which operand is stored
/// transposed, so that gradients copy nothing.
struct MatMul {
  static constexpr std::string_view name = "matmul";
  bool transpose_a = false, transpose_b = false;

  template <class T> Tensor<T> impl(const Tensor<T>& a, const Tensor<T>& b) const {
    const Index stack = a.rank() == 3 ? a.shape()[0] : b.rank() == 3 ? b.shape()[0] : 1;
    const auto [m, k] = sizes(a.shape(), transpose_a);
    const auto n = sizes(b.shape(), transpose_b).second;
    auto &x = a.any()->dense(name), &y = b.any()->dense(name);
    const auto out = Buffer::make(a.rank() == 3 || b.rank() == 3 ? Shape{stack, m, n} : Shape{m, n}, dtype_of<T>(), x.device);
    host::gemm_batched(out->template fill_as<T>(), x.template as<T>(), y.template as<T>(), stack, a.rank() == 3 ? m * k : 0, b.rank() == 3 ? k * n : 0, m, k, n, transpose_a, transpose_b);
    return Tensor<T>(Any(out));
  }
  template <class T>
    requires(!Floating<T>)
  auto vjp(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) const {
    return std::tuple(zero, zero);
  }
  template <Floating T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& a, const Tensor<T>& b) const {
    // One matrix met every matrix of a stack: its cotangent is the sum, as one product where the storage allows it.
    auto times = [](bool ta, bool tb, const Tensor<T>& x, const Tensor<T>& y) { return bind<T>(MatMul{ta, tb}, x, y); };
    auto summed = [](const Tensor<T>& x, const Tensor<T>& like) { return x.rank() == 3 && like.rank() == 2 ? sum(x, 0) : x; };
    auto for_a = [=, this] { return summed(transpose_a ? times(transpose_b, true, b, ct) : times(false, !transpose_b, ct, b), a); };
    auto for_b = [=, this] {
      if (b.rank() == 2 && a.rank() == 3 && !transpose_a) return transpose_b ? times(true, false, folded(ct), folded(a)) : times(true, false, folded(a), folded(ct));
      return summed(transpose_b ? times(true, transpose_a, ct, a) : times(!transpose_a, false, a, ct), b);
    };
    return std::tuple(for_a, for_b);
  }
  template <class T, class> Batched batch(const Axis& axis, const Batch& args) const {
    const auto &a = args[0], &b = args[1];
    const Index rank_a = a.value->shape.rank() - a.mapped, rank_b = b.value->shape.rank() - b.mapped;
    if (rank_a == 2 && rank_b == 2) return {bind<T>(*this, Tensor<T>(a.value), Tensor<T>(b.value)).any(), true};
    // Lanes and stack become one axis; only a matrix that all lanes and the whole stack share stays one.
    const Index stack = rank_a == 3 ? a.value->shape[a.mapped] : b.value->shape[b.mapped];
    auto merged = [&](const Batched& x, Index rank) {
      if (!x.mapped && rank == 2) return x.value;
      const Index rows = x.value->shape[x.value->shape.rank() - 2], columns = x.value->shape.back();
      Shape apart{x.mapped ? axis.size : Index{1}, rank == 3 ? stack : Index{1}, rows, columns};
      return reshape(broadcast(reshape(x.value, apart), Shape{axis.size, stack, rows, columns}), Shape{axis.size * stack, rows, columns});
    };
    auto out = bind<T>(*this, Tensor<T>(merged(a, rank_a)), Tensor<T>(merged(b, rank_b))).any();
    return {reshape(out, Shape{axis.size, stack, out->shape[1], out->shape[2]}), true};
  }

 private:
  static std::pair<Index, Index> sizes(const Shape& s, bool transposed) {
    const auto rows = s[s.rank() - 2], columns = s.back();
    return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  }
  template <class T> static Tensor<T> folded(const Tensor<T>& x) { return Tensor<T>(reshape(x.any(), Shape{x.shape()[0] * x.shape()[1], x.shape()[2]})); }
};

}  // namespace detail

/// The matrix product by NumPy's rules: leading axes broadcast, an operand of rank 1 contracts. ShapeError when the inner sizes
/// differ or an operand has rank 0. 16-bit floats add in f32.
template <class T> Tensor<T> matmul(const Tensor<T>& a, const Tensor<T>& b) {
  if (a.rank() == 0 || b.rank() == 0) fail<ShapeError>("matmul", {"needs operands of rank 1 or more, got shapes ", a.shape(), " and ", b.shape()});
  const auto x = a.rank() == 1 ? expand_dims(a, 0) : a, y = b.rank() == 1 ? expand_dims(b, 1) : b;
  const Index m = x.shape()[x.rank() - 2], k = x.shape().back(), n = y.shape().back();
  if (k != y.shape()[y.rank() - 2]) fail<ShapeError>("matmul", {"the inner sizes of ", a.shape(), " and ", b.shape(), " differ: ", k, " and ", y.shape()[y.rank() - 2]});
  auto leading = [](const Tensor<T>& t) { return Shape(t.shape().begin(), t.shape().end() - 2); };
  const auto stack = detail::broadcast_shapes("matmul", leading(x), leading(y));
  auto flat = [&](const Tensor<T>& t, Index rows, Index columns) {
    Shape whole = stack;
    whole.push_back(rows);
    whole.push_back(columns);
    if (leading(t).size() == 1 && stack.size() != 1) return reshape(t, Shape{rows, columns});
    return reshape(broadcast_to(t, whole), stack.rank() == 0 ? Shape{rows, columns} : Shape{stack.size(), rows, columns});
  };
  const auto out = bind<T>(detail::MatMul{}, flat(x, m, k), flat(y, k, n));
  Shape shape = stack;
  if (a.rank() > 1) shape.push_back(m);
  if (b.rank() > 1) shape.push_back(n);
  return reshape(out, shape);
}
/// NumPy's dot: of vectors their inner product (rank 0), of matrices their product; in general the sum over the last axis of a
/// and the last but one of b. A number scales.
template <class T> Tensor<T> dot(const Tensor<T>& a, const Tensor<T>& b) {
  if constexpr (Number<T>)
    if (a.rank() == 0 || b.rank() == 0) return a * b;
  if (b.rank() <= 2) return matmul(a, b);
  Shape shape(a.shape().begin(), a.shape().end() - 1);
  for (Index d = 0; d < b.rank(); ++d)
    if (d != b.rank() - 2) shape.push_back(b.shape()[d]);
  const auto columns = moveaxis(b, b.rank() - 2, 0);
  return reshape(matmul(a, reshape(columns, Shape{columns.shape()[0], -1})), shape);
}
/// All products of an element of a and one of b, shape (a.size(), b.size()).
template <class T> Tensor<T> outer(const Tensor<T>& a, const Tensor<T>& b) { return reshape(a, Shape{a.size(), 1}) * reshape(b, Shape{1, b.size()}); }

}  // namespace spmd
