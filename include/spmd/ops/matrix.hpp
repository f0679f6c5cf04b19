// Diagonals and triangles of matrices.
#pragma once
#include "shaping.hpp"

namespace spmd {
namespace detail {

/// The number of elements on diagonal k (above the main one, or below where negative), and where in a matrix it begins.
inline Index diagonal_length(Index rows, Index columns, Index k) { return std::max<Index>(0, k >= 0 ? std::min(rows, columns - k) : std::min(rows + k, columns)); }
inline Index diagonal_start(Index columns, Index k) { return k >= 0 ? k : -k * columns; }

inline Any diagonal(const Any& x, Index k);
inline Any diagonal_matrix(const Any& x, Index rows, Index columns, Index k);

/// Diagonal k of the last two axes, as the last one. Axes in front of them are none of its business: its lanes are itself.
class Diagonal final : public Linear {
 public:
  explicit Diagonal(Index k) : k_(k) {}
  std::string_view name() const override { return "diag"; }
  inline Any run(const Any& x) const override {
    const Index rank = x->shape.rank(), rows = x->shape[rank - 2], columns = x->shape[rank - 1];
    Shape shape(x->shape.begin(), x->shape.end() - 1);
    Axes strides = strides_of(x->shape);
    shape[rank - 2] = diagonal_length(rows, columns, k_);
    strides.erase(rank - 1);
    strides[rank - 2] = columns + 1;
    auto& in = x->dense(name());
    auto out = Buffer::make(shape, x->dtype, in.device);
    if (shape.size() > 0) host::copy_strided(out->fill(), strides_of(shape), in.as<std::byte>() + diagonal_start(columns, k_) * x->dtype->size, strides, shape, x->dtype->size);
    return out;
  }
  Any transposed(const Any& ct, const Any& x) const override { return diagonal_matrix(ct, x->shape[x->shape.rank() - 2], x->shape.back(), k_); }
  Any lanes(Index, const Any& x) const override { return diagonal(x, k_); }

 private:
  const Index k_;
};
/// Matrices of zeros with the last axis on their diagonal k.
class DiagonalMatrix final : public Linear {
 public:
  DiagonalMatrix(Index rows, Index columns, Index k) : rows_(rows), columns_(columns), k_(k) {}
  std::string_view name() const override { return "diag"; }
  inline Any run(const Any& x) const override {
    Shape shape = x->shape;
    shape[shape.rank() - 1] = rows_;
    shape.push_back(columns_);
    Axes strides = strides_of(shape);
    strides.erase(shape.rank() - 1);
    strides[shape.rank() - 2] = columns_ + 1;
    auto& in = x->dense(name());
    auto out = Buffer::make(shape, x->dtype, in.device);
    std::memset(out->fill(), 0, static_cast<std::size_t>(shape.size() * x->dtype->size));
    if (x->shape.size() > 0) host::copy_strided(out->fill_as<std::byte>() + diagonal_start(columns_, k_) * x->dtype->size, strides, in.data(), strides_of(x->shape), x->shape, x->dtype->size);
    return out;
  }
  Any transposed(const Any& ct, const Any&) const override { return diagonal(ct, k_); }
  Any lanes(Index, const Any& x) const override { return diagonal_matrix(x, rows_, columns_, k_); }

 private:
  const Index rows_, columns_, k_;
};
inline Any diagonal(const Any& x, Index k) { return apply<Diagonal>(x, k); }
inline Any diagonal_matrix(const Any& x, Index rows, Index columns, Index k) { return apply<DiagonalMatrix>(x, rows, columns, k); }

/// x where column - row compares with k as wanted, else zero.
template <class T, class Keep> Tensor<T> triangle(std::string_view op, const Tensor<T>& x, Keep keep) {
  if (x.rank() < 2) fail<ShapeError>(op, {"needs a tensor of rank 2 or more, its shape is ", x.shape()});
  const Index rows = x.shape()[x.rank() - 2], columns = x.shape()[x.rank() - 1];
  const auto mask = build<bool>(Shape{rows, columns}, [&](bool* out) {
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) out[i * columns + j] = keep(j - i);
  });
  return where(mask, x, Tensor<T>(T{}));
}

}  // namespace detail

/// The matrix (or the matrices of the last two axes) with zeros above diagonal k. ShapeError for rank 0 or 1.
template <class T> Tensor<T> tril(const Tensor<T>& x, Index k = 0) {
  return detail::triangle("tril", x, [k](Index d) { return d <= k; });
}
/// The matrix (or the matrices of the last two axes) with zeros below diagonal k. ShapeError for rank 0 or 1.
template <class T> Tensor<T> triu(const Tensor<T>& x, Index k = 0) {
  return detail::triangle("triu", x, [k](Index d) { return d >= k; });
}
/// Of a vector of n elements the square matrix that has it on diagonal k, zeros elsewhere; of a matrix its diagonal k. Diagonals
/// above the main one have positive numbers. ShapeError for any other rank.
template <class T> Tensor<T> diag(const Tensor<T>& x, Index k = 0) {
  if (x.rank() != 1 && x.rank() != 2) fail<ShapeError>("diag", {"needs a vector or a matrix, its shape is ", x.shape()});
  if (x.rank() == 2) return Tensor<T>(detail::diagonal(x.any(), k));
  if (const Index most = Index{1} << 40; k > most || k < -most) fail<ShapeError>("diag", {"diagonal ", k, " needs a matrix that no memory holds"});
  const Index n = x.size() + (k < 0 ? -k : k);
  return Tensor<T>(detail::diagonal_matrix(x.any(), n, n, k));
}

}  // namespace spmd
