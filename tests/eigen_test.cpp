// Eigen in and out: every kind of expression, both storage orders, and views that copy nothing.
#include <gtest/gtest.h>

#include <spmd/interop/eigen.hpp>
#include <spmd/spmd.hpp>

#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::same;
using conformance::throws;

TEST(FromEigen, matrices_of_both_storage_orders) {
  Eigen::MatrixXf columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = columns;
  EXPECT_TRUE(same(from_eigen(columns), {2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(same(from_eigen(rows), {2, 3}, {1, 2, 3, 4, 5, 6}));
  Eigen::Matrix<double, 3, 2> fixed;
  fixed << 1, 2, 3, 4, 5, 6;
  EXPECT_TRUE(same(from_eigen(fixed), {3, 2}, {1, 2, 3, 4, 5, 6}));
}

TEST(FromEigen, vectors_have_rank_1) {
  const Eigen::Vector3d column(1, 2, 3);
  const Eigen::RowVector3f row(4, 5, 6);
  EXPECT_TRUE(same(from_eigen(column), {3}, {1, 2, 3}));
  EXPECT_TRUE(same(from_eigen(row), {3}, {4, 5, 6}));
  EXPECT_TRUE(same(from_eigen(Eigen::VectorXf(0)), {0}, std::vector<float>()));
  EXPECT_TRUE(same(from_eigen(Eigen::MatrixXf(Eigen::MatrixXf::Ones(3, 1))), {3, 1}, {1, 1, 1}));  // its type does not say that it is one
}

TEST(FromEigen, arrays_maps_blocks_and_expressions) {
  Eigen::ArrayXXi array(2, 2);
  array << 1, 2, 3, 4;
  EXPECT_TRUE(same(from_eigen(array), {2, 2}, {1, 2, 3, 4}));
  EXPECT_TRUE(same(from_eigen(array * array + 1), {2, 2}, {2, 5, 10, 17}));
  EXPECT_TRUE(same(from_eigen(array > 2), {2, 2}, {false, false, true, true}));

  Eigen::MatrixXd m(3, 3);
  m << 1, 2, 3, 4, 5, 6, 7, 8, 9;
  EXPECT_TRUE(same(from_eigen(m.transpose()), {3, 3}, {1, 4, 7, 2, 5, 8, 3, 6, 9}));
  EXPECT_TRUE(same(from_eigen(m.block(1, 0, 2, 2)), {2, 2}, {4, 5, 7, 8}));
  EXPECT_TRUE(same(from_eigen(m.row(1)), {3}, {4, 5, 6}));
  EXPECT_TRUE(same(from_eigen(m.col(1)), {3}, {2, 5, 8}));
  EXPECT_TRUE(same(from_eigen(m.diagonal()), {3}, {1, 5, 9}));
  EXPECT_TRUE(same(from_eigen(m * m), {3, 3}, {30, 36, 42, 66, 81, 96, 102, 126, 150}));
  EXPECT_TRUE(same(from_eigen(m.cast<float>()), {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));

  const double raw[] = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(same(from_eigen(Eigen::Map<const Eigen::MatrixXd>(raw, 2, 3)), {2, 3}, {1, 3, 5, 2, 4, 6}));
  EXPECT_TRUE(same(from_eigen(Eigen::Map<const Eigen::VectorXd, 0, Eigen::InnerStride<2>>(raw, 3)), {3}, {1, 3, 5}));
  EXPECT_TRUE(same(from_eigen(Eigen::MatrixXd(0, 4)), {0, 4}, std::vector<double>()));
}

TEST(ToEigen, matrices_of_both_storage_orders) {
  const Tensor<float> x({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto columns = to_matrix(x);
  const auto rows = to_matrix<Eigen::RowMajor>(x);
  static_assert(std::is_same_v<decltype(columns), const Eigen::MatrixXf>);
  static_assert(decltype(rows)::IsRowMajor);
  for (Index i = 0; i < 2; ++i)
    for (Index j = 0; j < 3; ++j) {
      EXPECT_EQ(columns(i, j), x.at({i, j}));
      EXPECT_EQ(rows(i, j), x.at({i, j}));
    }
  EXPECT_EQ(columns.data()[1], 4.0f);
  EXPECT_EQ(rows.data()[1], 2.0f);
  EXPECT_TRUE(same(from_eigen(to_matrix(x)), x));
  EXPECT_TRUE(throws<ShapeError>([] { to_matrix(zeros({3})); }, {"to_matrix: needs a tensor of rank 2, its shape is (3)"}));
  EXPECT_TRUE(throws<ShapeError>([] { to_matrix(zeros({3, 1, 2})); }, {"to_matrix: ", "(3, 1, 2)"}));
}

TEST(ToEigen, vectors) {
  const auto v = to_vector_eigen(array<double>({1, 2, 5}));
  static_assert(std::is_same_v<decltype(v), const Eigen::VectorXd>);
  EXPECT_EQ(v.sum(), 8.0);
  EXPECT_EQ(to_vector_eigen(zeros({0})).size(), 0);
  EXPECT_TRUE(throws<ShapeError>([] { to_vector_eigen(zeros({3, 1})); }, {"to_vector_eigen: needs a tensor of rank 1, its shape is (3, 1)"}));
}

TEST(View, copies_nothing) {
  const Tensor<float> x({2, 3}, {1, 2, 3, 4, 5, 6}), v({3}, {1, 10, 100});
  const auto m = view(x);
  EXPECT_EQ(m.data(), x.data());
  EXPECT_EQ(m(1, 0), 4.0f);
  EXPECT_EQ(view(v).data(), v.data());
  EXPECT_TRUE(same(from_eigen((m * view(v)).col(0)), matmul(x, v)));
  EXPECT_TRUE(throws<ShapeError>([] { view(zeros({1, 2, 3})); }, {"view: needs a tensor of rank 1 or 2, its shape is (1, 2, 3)"}));
  EXPECT_TRUE(throws<ShapeError>([] { view(Tensor<float>(1.0f)); }, {"view: needs a tensor of rank 1 or 2, its shape is ()"}));
  EXPECT_TRUE(throws<AxisError>([&] { vmap([](Tensor<float> row) { return view(row)(0, 0); })(x); }, {"view: ", "mapped by vmap"}));
}

TEST(View, of_values_that_are_not_computed_yet_or_in_parts) {
  const auto big = full<float>({40, 50}, 3.0f) * 2.0f;  // pending
  EXPECT_EQ(view(big).sum(), 12000.0f);
  EXPECT_EQ(view(big).data(), view(big).data());
  const auto sharded = pmap([](auto x) { return x + 1.0f; })(conformance::iota({8, 2}));
  ASSERT_TRUE(sharded.is_sharded());
  EXPECT_EQ(view(sharded)(7, 1), 16.0f);
}

TEST(Eigen16Bit, halves) {
  Eigen::Matrix<float16, 2, 2> m;
  m << float16(1), float16(0.5f), float16(-2), float16(3);
  const auto x = from_eigen(m);
  static_assert(std::is_same_v<decltype(x), const Tensor<float16>>);
  EXPECT_EQ(static_cast<float>(to_matrix(x)(1, 0)), -2.0f);
}

}  // namespace
