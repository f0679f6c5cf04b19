// Tensors from and to Eigen. Eigen stores columns one behind the other unless told otherwise, tensors always rows.
#pragma once
#include "../ops/creation.hpp"

namespace spmd {
namespace detail {

template <class T> using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using RowMajorArray = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// `Map` is a type that an expression of this kind can be assigned to.
template <class Map, class Expression> auto tensor_of_eigen(const Expression& m) {
  using T = typename Expression::Scalar;
  const Index rows = m.rows(), columns = m.cols();
  const Shape shape = Expression::IsVectorAtCompileTime ? Shape{rows * columns} : Shape{rows, columns};
  return build<T>(shape, [&](T* out) { Map(out, rows, columns) = m; });
}

}  // namespace detail

/// A copy of a matrix, an array, a map, or what an expression gives. Vectors and row vectors have rank 1, all others rank 2.
template <class M> auto from_eigen(const Eigen::MatrixBase<M>& m) { return detail::tensor_of_eigen<Eigen::Map<detail::RowMajorMatrix<typename M::Scalar>>>(m.derived()); }
template <class M> auto from_eigen(const Eigen::ArrayBase<M>& m) { return detail::tensor_of_eigen<Eigen::Map<detail::RowMajorArray<typename M::Scalar>>>(m.derived()); }

/// A tensor of rank 1 (as one column) or 2 as an Eigen map, without a copy: it is valid while the tensor lives. ShapeError for any other rank;
/// DeviceError when the elements are not in the memory of the host.
template <class T> auto view(const Tensor<T>& x) {
  if (x.rank() != 1 && x.rank() != 2) fail<ShapeError>("view", {"needs a tensor of rank 1 or 2, its shape is ", x.shape()});
  const auto& buffer = x.any()->dense("view");
  if (buffer.device.platform != Platform::host) fail<DeviceError>("view", {"the tensor is on ", buffer.device, ": move it with device_put(x, Device{Platform::host, 0})"});
  return Eigen::Map<const detail::RowMajorMatrix<T>>(buffer.template as<T>(), x.shape()[0], x.rank() == 1 ? 1 : x.shape()[1]);
}
/// A copy of a tensor of rank 2 as a matrix, stored as Eigen does by default (or to_matrix<Eigen::RowMajor>). ShapeError for any other rank.
template <int Storage = Eigen::ColMajor, class T> auto to_matrix(const Tensor<T>& x) {
  if (x.rank() != 2) fail<ShapeError>("to_matrix", {"needs a tensor of rank 2, its shape is ", x.shape()});
  return Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Storage>(view(x));
}
/// A copy of a tensor of rank 1 as a column vector. ShapeError for any other rank.
template <class T> auto to_vector_eigen(const Tensor<T>& x) {
  if (x.rank() != 1) fail<ShapeError>("to_vector_eigen", {"needs a tensor of rank 1, its shape is ", x.shape()});
  return Eigen::Matrix<T, Eigen::Dynamic, 1>(view(x));
}

}  // namespace spmd
