// What a printed tensor looks like: the expected texts are NumPy's (2.4), but for the spelling of bool.
#include "support/check.hpp"

#include <limits>
#include <sstream>

#include <spmd/debug/print.hpp>

using namespace spmd;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

template <class T> std::string text(const Tensor<T>& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}
std::string floats(const std::vector<float>& v) { return text(array(v)); }
std::string doubles(const std::vector<double>& v) { return text(array(v)); }

TEST(Print, aligned_columns) {
  EXPECT_EQ(floats({1.5f, -2, 3}), "[ 1.5 -2.   3. ]");
  EXPECT_EQ(text(array<double>({{1, 0.5}, {-10.25, 100}})), "[[  1.     0.5 ]\n [-10.25 100.  ]]");
  EXPECT_EQ(text(array<int>({{1, -20, 300}, {4, 5, 6}})), "[[  1 -20 300]\n [  4   5   6]]");
  EXPECT_EQ(text(array<bool>({{true, false}, {false, false}})), "[[ true false]\n [false false]]");
  EXPECT_EQ(text(array<bool>({true, true})), "[ true  true]") << "NumPy makes room for a False";
  EXPECT_EQ(text(array<std::int8_t>({65, -1})), "[65 -1]") << "a number, not a character";
  EXPECT_EQ(text(array<std::uint64_t>({18446744073709551615u})), "[18446744073709551615]");
}

TEST(Print, eight_digits_at_most) {
  EXPECT_EQ(floats({0.1f, 1.0f / 3, 100}), "[  0.1          0.33333334 100.        ]");
  EXPECT_EQ(doubles({0.1, 1.0 / 3, 100}), "[  0.1          0.33333333 100.        ]");
  EXPECT_EQ(doubles({-0.0, 0.0}), "[-0.  0.]");
}

TEST(Print, exponents_where_numbers_are_far_apart) {
  EXPECT_EQ(doubles({1e-5, 1, 20}), "[1.e-05 1.e+00 2.e+01]");
  EXPECT_EQ(doubles({1e100, 1, 1e-300}), "[1.e+100 1.e+000 1.e-300]");
  EXPECT_EQ(doubles({1e9, 1}), "[1.e+09 1.e+00]");
  EXPECT_EQ(floats({1e6f, 1}), "[1.e+06 1.e+00]");
  EXPECT_EQ(floats({999999.0f, 1000}), "[999999.   1000.]");
  EXPECT_EQ(doubles({1001, 1}), "[1.001e+03 1.000e+00]");
  EXPECT_EQ(doubles({1000, 1}), "[1000.    1.]");
}

TEST(Print, nan_and_infinity) {
  EXPECT_EQ(doubles({nan, inf, -inf, 1.25}), "[ nan  inf -inf 1.25]");
  EXPECT_EQ(doubles({nan, 1e-8}), "[   nan 1.e-08]");
  EXPECT_EQ(doubles({inf, nan}), "[inf nan]");
}

TEST(Print, rank_0) {
  EXPECT_EQ(text(Tensor<float>(0.1f)), "0.1");
  EXPECT_EQ(text(Tensor<double>(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(text(Tensor<float>(1234567.0f)), "1.234567e+06");
  EXPECT_EQ(text(Tensor<double>(1e15)), "1000000000000000.0");
  EXPECT_EQ(text(Tensor<double>(1e-5)), "1e-05");
  EXPECT_EQ(text(Tensor<double>(-inf)), "-inf");
  EXPECT_EQ(text(Tensor<int>(-7)), "-7");
  EXPECT_EQ(text(Tensor<bool>(true)), "true");
}

TEST(Print, sixteen_bits) {
  EXPECT_EQ(text(cast<float16>(array<float>({0.1f, 2}))), "[0.1 2. ]");
  EXPECT_EQ(text(cast<bfloat16>(array<float>({0.1f, 2}))), "[0.1 2. ]");
  EXPECT_EQ(text(Tensor<float16>(float16(1234.0f))), "1.234e+03");
}

TEST(Print, empty) {
  EXPECT_EQ(text(zeros({0})), "[]");
  EXPECT_EQ(text(zeros({0, 3})), "[]");
  EXPECT_EQ(text(zeros<int>({3, 0})), "[]");
}

TEST(Print, higher_ranks) {
  EXPECT_EQ(text(reshape(arange<float>(8), Shape{2, 2, 2})), "[[[0. 1.]\n  [2. 3.]]\n\n [[4. 5.]\n  [6. 7.]]]");
  EXPECT_EQ(text(reshape(arange<int>(8), Shape{2, 1, 2, 2})), "[[[[0 1]\n   [2 3]]]\n\n\n [[[4 5]\n   [6 7]]]]");
}

TEST(Print, long_rows_are_wrapped) {
  EXPECT_EQ(text(arange<float>(30) / 4.0f),
            "[0.   0.25 0.5  0.75 1.   1.25 1.5  1.75 2.   2.25 2.5  2.75 3.   3.25\n"
            " 3.5  3.75 4.   4.25 4.5  4.75 5.   5.25 5.5  5.75 6.   6.25 6.5  6.75\n"
            " 7.   7.25]");
  EXPECT_EQ(text(arange<int>(40)),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            " 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39]");
  EXPECT_EQ(text(reshape(arange<float>(26) * 1.125f, Shape{2, 13})),
            "[[ 0.     1.125  2.25   3.375  4.5    5.625  6.75   7.875  9.    10.125\n"
            "  11.25  12.375 13.5  ]\n"
            " [14.625 15.75  16.875 18.    19.125 20.25  21.375 22.5   23.625 24.75\n"
            "  25.875 27.    28.125]]");
}

TEST(Print, more_than_1000_elements_are_summarised) {
  EXPECT_EQ(text(arange<double>(2000)), "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]");
  EXPECT_EQ(text(reshape(arange<int>(3000), Shape{50, 60})),
            "[[   0    1    2 ...   57   58   59]\n"
            " [  60   61   62 ...  117  118  119]\n"
            " [ 120  121  122 ...  177  178  179]\n"
            " ...\n"
            " [2820 2821 2822 ... 2877 2878 2879]\n"
            " [2880 2881 2882 ... 2937 2938 2939]\n"
            " [2940 2941 2942 ... 2997 2998 2999]]");
  EXPECT_EQ(text(reshape(arange<int>(4004), Shape{2, 1001, 2})),
            "[[[   0    1]\n  [   2    3]\n  [   4    5]\n  ...\n  [1996 1997]\n  [1998 1999]\n  [2000 2001]]\n\n"
            " [[2002 2003]\n  [2004 2005]\n  [2006 2007]\n  ...\n  [3998 3999]\n  [4000 4001]\n  [4002 4003]]]");
  EXPECT_EQ(text(arange<int>(1000)).find("..."), std::string::npos);
}

TEST(Print, traced_values) {
  std::ostringstream mapped, differentiated, sharded;
  vmap([&](Tensor<float> x) {
    mapped << x << " " << Tensor<int>(3);
    return x;
  })(zeros({5, 2, 3}));
  EXPECT_EQ(mapped.str(), "<float32(2, 3) mapped by vmap> 3");
  grad([&](Tensor<float> x) {
    differentiated << x;
    return sum(x);
  })(array<float>({1, 2.5f}));
  EXPECT_EQ(differentiated.str(), "[1.  2.5]");
  sharded << pmap([](Tensor<float> x) { return x + 1.0f; })(arange<float>(static_cast<float>(device_count())));
  EXPECT_EQ(sharded.str().substr(0, 4), device_count() > 1 ? "[1. " : "[1.]");
}

}  // namespace
