// Matrix products, all matrices row-major: by Eigen (or, with EIGEN_USE_BLAS, the BLAS) for floats, by loops for integers,
// products with a vector, and tiny ones.
#pragma once
#include <algorithm>
#include <memory>

#include "reduce.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

template <class T> void gemm(T* c, const T* a, const T* b, Index m, Index k, Index n, bool transpose_a, bool transpose_b);

namespace detail {

template <class T> auto product_number() {
  if constexpr (std::is_same_v<T, bool>) return float();  // and is a product, or a sum that is not zero
  else return accumulator<SumOf, T>();
}
/// What products of T are computed in: float for 16-bit floats and bool, unsigned (so that they wrap) for integers.
template <class T> using ProductNumber = decltype(product_number<T>());

/// out[i] = a[i][0] x[0] + ... + a[i][k - 1] x[k - 1] for `rows` rows, in blocks, so that long sums stay accurate.
template <class A, int rows, class T> void dot_rows(T* out, const T* a, const T* x, Index k) {
  constexpr int lanes = lanes_in_register<A>, accumulators = rows == 1 ? registers : rows, columns = accumulators / rows;
  constexpr Index step = columns * lanes, block = terms * step;
  Wide<SumOf, A> totals[std::size_t{rows}] = {};
  const Index whole = k / step * step;
  for (Index first = 0; first < whole; first += block) {
    Register<A> sums[std::size_t{accumulators}] = {};
    for (Index p = first; p < std::min(whole, first + block); p += step)
#pragma GCC unroll 8
      for (int s = 0; s < accumulators; ++s) sums[s] += load_as<A, lanes>(a + s / columns * k + p + s % columns * lanes) * load_as<A, lanes>(x + p + s % columns * lanes);
#pragma GCC unroll 8
    for (int s = 0; s < accumulators; ++s) totals[s / columns] += static_cast<Wide<SumOf, A>>(across<SumOf, A, lanes>(sums[s]));
  }
  const Index lined = k / lanes * lanes;
  for (int r = 0; r < rows; ++r) {
    A rest = 0;
    if (whole < lined) {
      Register<A> sum = {};
      for (Index p = whole; p < lined; p += lanes) sum += load_as<A, lanes>(a + r * k + p) * load_as<A, lanes>(x + p);
      rest = across<SumOf, A, lanes>(sum);
    }
    for (Index p = lined; p < k; ++p) rest = static_cast<A>(rest + widen<A>(a[r * k + p]) * widen<A>(x[p]));
    out[r] = narrow<T>(static_cast<A>(totals[r] + static_cast<Wide<SumOf, A>>(rest)));
  }
}

/// out = a x, for a of shape (m, k).
template <class A, class T> void multiply_by_vector(T* out, const T* a, const T* x, Index m, Index k) {
  Index i = 0;
  for (; i + registers <= m; i += registers) dot_rows<A, registers>(out + i, a + i * k, x, k);
  for (; i < m; ++i) dot_rows<A, 1>(out + i, a + i * k, x, k);
}

/// out = x b, for b of shape (k, n) and the elements of x a step apart.
template <class A, class T> void weigh_rows(T* out, const T* x, Index x_step, const T* b, Index k, Index n) {
  constexpr int lanes = lanes_in_register<A>;
  constexpr Index strip = 1024, wide = registers * lanes;
  A sums[static_cast<std::size_t>(strip + lanes)];
  for (Index c = 0; c < n; c += strip) {  // a strip of columns and a few rows at a time: those rows' pages stay mapped
    const Index width = std::min(strip, n - c);
    for (Index first = 0; first < k; first += terms) {
      const Index last = std::min(k, first + terms);
      Index j = 0;
      for (; j + wide <= width; j += wide) {
        Register<A> acc[registers] = {};
        if (first > 0) std::memcpy(acc, sums + j, sizeof(acc));
        for (Index p = first; p < last; ++p) {
          const A w = widen<A>(x[p * x_step]);
          const T* row = b + p * n + c + j;
#pragma GCC unroll 8
          for (int r = 0; r < registers; ++r) acc[r] += w * load_as<A, lanes>(row + r * lanes);
        }
        if (last < k) std::memcpy(sums + j, acc, sizeof(acc));
        else
#pragma GCC unroll 8
          for (int r = 0; r < registers; ++r) store_as<T, A, lanes>(out + c + j + r * lanes, acc[r]);
      }
      for (; j < width; j += lanes) {
        // A register that reaches over the end of a row reads on in the next; only the last rows have none.
        const Index inside = k * n < c + j + lanes ? 0 : (k * n - c - j - lanes) / n + 1, safe = std::clamp(inside, first, last);
        Register<A> acc = {};
        if (first > 0) acc = load_lanes<Register<A>>(sums + j);
        for (Index p = first; p < safe; ++p) acc += widen<A>(x[p * x_step]) * load_as<A, lanes>(b + p * n + c + j);
        store_lanes(sums + j, acc);
        const Index stop = std::min(width, j + lanes);
        for (Index p = safe; p < last; ++p)
          for (Index l = j; l < stop; ++l) sums[l] = static_cast<A>(sums[l] + widen<A>(x[p * x_step]) * widen<A>(b[p * n + c + l]));
        for (Index l = j; l < stop && last == k; ++l) out[c + l] = narrow<T>(sums[l]);
      }
    }
  }
}

/// Integers, for which Eigen has hardly any packets: row by row.
template <class T> void multiply_integers(T* c, const T* a, const T* b, Index m, Index k, Index n, bool transpose_a, bool transpose_b) {
  using A = ProductNumber<T>;
  if (!transpose_b) {
    for (Index i = 0; i < m; ++i) weigh_rows<A>(c + i * n, transpose_a ? a + i : a + i * k, transpose_a ? m : 1, b, k, n);
  } else if (!transpose_a) {
    for (Index i = 0; i < m; ++i) multiply_by_vector<A>(c + i * n, b, a + i * k, n, k);
  } else {
    const auto column = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(m));
    for (Index j = 0; j < n; ++j) {
      weigh_rows<A>(column.get(), b + j * k, 1, a, k, m);
      for (Index i = 0; i < m; ++i) c[i * n + j] = column[static_cast<std::size_t>(i)];
    }
  }
}

/// Eigen's product itself, below the expressions: those would compile each pair of storage orders three times over (as
/// lazy, matrix-vector and matrix-matrix product; 5 s instead of 1.6), and may start OpenMP threads.
template <class T, bool transpose_a, bool transpose_b> void multiply_large(T* c, const T* a, const T* b, Index m, Index k, Index n) {
  namespace E = Eigen::internal;
  constexpr int order_a = transpose_a ? Eigen::ColMajor : Eigen::RowMajor, order_b = transpose_b ? Eigen::ColMajor : Eigen::RowMajor;
  E::gemm_blocking_space<Eigen::RowMajor, T, T, Eigen::Dynamic, Eigen::Dynamic, Eigen::Dynamic> blocking(m, n, k, 1, true);
  std::fill_n(c, m * n, T(0));
  E::general_matrix_matrix_product<Index, T, order_a, false, T, order_b, false, Eigen::RowMajor, 1>::run(m, n, k, a, transpose_a ? m : k, b, transpose_b ? k : n, c, 1, n, T(1), blocking, nullptr);
}

template <class T> void widen_all(float* out, const T* in, Index n) {
  constexpr int lanes = lanes_in_register<float>;
  Index i = 0;
  for (; i + lanes <= n; i += lanes) store_lanes(out + i, load_as<float, lanes>(in + i));
  for (; i < n; ++i) out[i] = widen<float>(in[i]);
}

/// Through float: b as a whole, a and c in panels of rows.
template <class T> void multiply_widened(T* c, const T* a, const T* b, Index m, Index k, Index n, bool transpose_a, bool transpose_b) {
  const Index panel = std::min<Index>(m, 256);
  const auto work = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(k * n + panel * (k + n)));
  float *const wide_b = work.get(), *const wide_a = wide_b + k * n, *const wide_c = wide_a + panel * k;
  widen_all(wide_b, b, k * n);
  for (Index i = 0; i < m; i += panel) {
    const Index rows = std::min(panel, m - i);
    if (!transpose_a) widen_all(wide_a, a + i * k, rows * k);
    else for (Index p = 0; p < k; ++p) widen_all(wide_a + p * rows, a + p * m + i, rows);
    gemm<float>(wide_c, wide_a, wide_b, rows, k, n, transpose_a, transpose_b);
    T* out = c + i * n;
    if constexpr (std::is_same_v<T, bool>) {
      for (Index j = 0; j < rows * n; ++j) out[j] = wide_c[j] > 0;
    } else {
      constexpr int lanes = lanes_in_register<float>;
      Index j = 0;
      for (; j + lanes <= rows * n; j += lanes) store_as<T, float, lanes>(out + j, load_lanes<Register<float>>(wide_c + j));
      for (; j < rows * n; ++j) out[j] = narrow<T>(wide_c[j]);
    }
  }
}

}  // namespace detail

/// c = op(a) op(b), of shapes (m, k) and (k, n): a is stored (k, m) where transpose_a, b is stored (n, k) where
/// transpose_b. 16-bit floats are summed in float and rounded once; for bool the product is `and`, the sum `or`.
template <class T> void gemm(T* c, const T* a, const T* b, Index m, Index k, Index n, bool transpose_a, bool transpose_b) {
  using namespace detail;
  using A = ProductNumber<T>;
  if (m * n == 0) return;
  if (k == 0) return void(std::fill_n(c, m * n, T(0)));
  if (m * k * n <= 64) {
    const Index a_row = transpose_a ? 1 : k, a_column = transpose_a ? m : 1, b_row = transpose_b ? 1 : n, b_column = transpose_b ? k : 1;
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < n; ++j) {
        A sum = 0;
        for (Index p = 0; p < k; ++p) sum = static_cast<A>(sum + widen<A>(a[i * a_row + p * a_column]) * widen<A>(b[p * b_row + j * b_column]));
        c[i * n + j] = narrow<T>(sum);
      }
    return;
  }
  if (m == 1 || k == 1) transpose_a = false;  // a vector lies the same either way
  if (n == 1 || k == 1) transpose_b = false;
  if (n == 1 && !transpose_a) return multiply_by_vector<A>(c, a, b, m, k);
  if (n == 1) return weigh_rows<A>(c, b, 1, a, k, m);
  if (m == 1 && transpose_b) return multiply_by_vector<A>(c, b, a, n, k);
  if (m == 1 || (k <= 4 && n >= lanes_in_register<A> && !transpose_b)) {
    for (Index i = 0; i < m; ++i) weigh_rows<A>(c + i * n, transpose_a ? a + i : a + i * k, transpose_a ? m : 1, b, k, n);
    return;
  }
  if constexpr (is_half_float<T> || std::is_same_v<T, bool>) multiply_widened(c, a, b, m, k, n, transpose_a, transpose_b);
  else if constexpr (std::is_integral_v<T>) multiply_integers(c, a, b, m, k, n, transpose_a, transpose_b);
  else if (!transpose_a && !transpose_b) multiply_large<T, false, false>(c, a, b, m, k, n);
  else if (!transpose_b) multiply_large<T, true, false>(c, a, b, m, k, n);
  else if (!transpose_a) multiply_large<T, false, true>(c, a, b, m, k, n);
  else multiply_large<T, true, true>(c, a, b, m, k, n);
}

/// `batch` products. The matrices of a and of b follow each other at their strides, in elements; 0: one serves all.
template <class T> void gemm_batched(T* c, const T* a, const T* b, Index batch, Index a_stride, Index b_stride, Index m, Index k, Index n, bool transpose_a, bool transpose_b) {
  if (b_stride == 0 && a_stride == m * k && !transpose_a) return gemm(c, a, b, batch * m, k, n, false, transpose_b);
  for (Index i = 0; i < batch; ++i) gemm(c + i * m * n, a + i * a_stride, b + i * b_stride, m, k, n, transpose_a, transpose_b);
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
