// The kernels of random numbers against values of JAX 0.10.2 (jax.random; f16 as JAX computes it where the processor has no f16 arithmetic).
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cstring>
#include <vector>

#include "spmd/device/host/threefry.hpp"

namespace {

using namespace spmd::host;
using spmd::Index;
using half = Eigen::half;
using Eigen::bfloat16;
using std::uint32_t;
using std::uint64_t;

/// The bits of a number.
template <class T> uint64_t word(T x) {
  uint64_t out = 0;
  std::memcpy(&out, &x, sizeof(T));
  return out;
}
/// Depends on every element and on its place.
template <class T> uint64_t checksum(const std::vector<T>& xs) {
  uint64_t sum = 0, i = 0;
  for (const T& x : xs) sum += ++i * word(x);
  return sum;
}
template <class T> std::vector<T> bits(uint32_t seed, uint64_t first, Index n) {
  std::vector<T> out(static_cast<std::size_t>(n));
  threefry_bits(static_cast<void*>(out.data()), 0, seed, first, n, 8 * static_cast<int>(sizeof(T)));
  return out;
}
template <class T> std::vector<T> uniforms(uint32_t seed, Index n, double lo = 0, double hi = 1, uint64_t first = 0) {
  std::vector<T> out(static_cast<std::size_t>(n));
  uniform(out.data(), 0, seed, first, n, static_cast<T>(lo), static_cast<T>(hi));
  return out;
}
template <class T> std::vector<T> normals(uint32_t seed, Index n, uint64_t first = 0) {
  std::vector<T> out(static_cast<std::size_t>(n));
  normal(out.data(), 0, seed, first, n);
  return out;
}
using Pair = std::vector<uint32_t>;
Pair block(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1) {
  threefry(k0, k1, x0, x1);
  return {x0, x1};
}
template <class T> std::vector<T> list(std::initializer_list<T> xs) { return xs; }

// The vectors of Random123.
TEST(Threefry, block_function) {
  EXPECT_EQ(block(0, 0, 0, 0), (Pair{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(block(~0u, ~0u, ~0u, ~0u), (Pair{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(block(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3), (Pair{0xc4923a9c, 0x483df7a0}));
}

TEST(Threefry, split_and_fold_in) {
  struct Row {
    uint32_t seed;
    Pair split3, fold_in7;
  };
  const Row rows[] = {
      {0, {0x6b200159, 0x99ba4efe, 0x375f238f, 0xcddb151d, 0xf71f4ea9, 0xa20e4081}, {0xa1ef7a4d, 0x116eb6b3}},
      {1, {0x1e3f1835, 0x6e752082, 0x74298876, 0xfc8d8048, 0x918ca911, 0xe3ab1c6b}, {0x38e71e7a, 0xef6ba66e}},
      {72, {0x4450903a, 0x682c989f, 0x28872806, 0x54a020b0, 0x896804c2, 0x21c21bef}, {0xd510a3d9, 0x0c290e21}},
      {1701, {0x2c2b73d8, 0x6e17d4fd, 0x0514a2d2, 0x9aa1d6e9, 0x0359804b, 0x394c6c7f}, {0x0206369c, 0x21a35b57}},
      {2147483653, {0x9789f556, 0xf3da1f4e, 0x95fbfcbc, 0x6e255856, 0x19778a28, 0xbba738c2}, {0x709cc827, 0x5b2de975}},
  };
  for (const auto& row : rows) {
    Pair words(6), two(4);
    threefry_split(words.data(), 0, row.seed, 0, 3);
    EXPECT_EQ(words, row.split3) << row.seed;
    threefry_split(two.data(), 0, row.seed, 1, 2);
    EXPECT_EQ(two, Pair(row.split3.begin() + 2, row.split3.end())) << row.seed;
    EXPECT_EQ(block(0, row.seed, 0, 7), row.fold_in7) << row.seed;
  }
}

TEST(Threefry, bits_of_key_0) {
  EXPECT_EQ(bits<uint32_t>(0, 0, 6), list<uint32_t>({0xf29a4fa7, 0xfa843692, 0x55110e28, 0x77faa835, 0x91e43bb7, 0x2a5e6943}));
  EXPECT_EQ(bits<std::uint8_t>(0, 0, 6), list<std::uint8_t>({0xa7, 0x92, 0x28, 0x35, 0xb7, 0x43}));
  EXPECT_EQ(bits<std::uint16_t>(0, 0, 6), list<std::uint16_t>({0x4fa7, 0x3692, 0x0e28, 0xa835, 0x3bb7, 0x6943}));
  EXPECT_EQ(bits<uint64_t>(0, 0, 6), list<uint64_t>({0x6b20015999ba4efe, 0x375f238fcddb151d, 0xf71f4ea9a20e4081, 0x9312778be4e8dfbe, 0x883ffec119dbc576,
                                                    0x5adb10de7085799d}));
}

struct BitsRow {
  uint32_t seed;
  uint64_t first;
  Index count;
  int width;
  uint64_t front, back, sum;
};
// The counters of the last three seeds pass 2^32, 2^40 and 2^63.
const BitsRow bits_rows[] = {
    {42u, 0x0u, 1, 32, 0x7d1c13a2u, 0x7d1c13a2u, 0x7d1c13a2u},
    {42u, 0x0u, 3, 32, 0x7d1c13a2u, 0x9dc3f9f9u, 0x3b276633fu},
    {42u, 0x0u, 17, 32, 0x7d1c13a2u, 0xb61b5533u, 0x67ab396020u},
    {42u, 0x0u, 1000, 8, 0xa2u, 0x5au, 0x3c15e4fu},
    {42u, 0x0u, 1000, 16, 0x13a2u, 0xd15au, 0x3cc63714fu},
    {42u, 0x0u, 1000, 32, 0x7d1c13a2u, 0x5dc2d15au, 0x400a3f9b5714fu},
    {42u, 0x0u, 1000, 64, 0x6d3e048f1022172du, 0x4bd779091615a853u, 0xe9670e2073d7c1bdu},
    {1701u, 0x0u, 1, 8, 0x25u, 0x25u, 0x25u},
    {1701u, 0x0u, 1, 16, 0xa725u, 0xa725u, 0xa725u},
    {1701u, 0x0u, 1, 32, 0x423ca725u, 0x423ca725u, 0x423ca725u},
    {1701u, 0x0u, 1, 64, 0x2c2b73d86e17d4fdu, 0x2c2b73d86e17d4fdu, 0x2c2b73d86e17d4fdu},
    {1701u, 0x0u, 3, 8, 0x25u, 0x34u, 0x137u},
    {1701u, 0x0u, 3, 16, 0xa725u, 0xec34u, 0x45437u},
    {1701u, 0x0u, 3, 32, 0x423ca725u, 0x3a15ec34u, 0x22fe95437u},
    {1701u, 0x0u, 3, 64, 0x2c2b73d86e17d4fdu, 0x359804b394c6c7fu, 0x40613a5f4f40c84cu},
    {1701u, 0x0u, 17, 8, 0x25u, 0x57u, 0x373fu},
    {1701u, 0x0u, 17, 16, 0xa725u, 0x9a57u, 0x43fc3fu},
    {1701u, 0x0u, 17, 32, 0x423ca725u, 0x38979a57u, 0x4309c3fc3fu},
    {1701u, 0x0u, 17, 64, 0x2c2b73d86e17d4fdu, 0x291fe11f11887b48u, 0x142a82ab12e0e30cu},
    {1701u, 0x0u, 1000, 8, 0x25u, 0xf3u, 0x3d58afcu},
    {1701u, 0x0u, 1000, 16, 0xa725u, 0x4bf3u, 0x3b65005fcu},
    {1701u, 0x0u, 1000, 32, 0x423ca725u, 0x77844bf3u, 0x3c18e4a9305fcu},
    {1701u, 0x0u, 1000, 64, 0x2c2b73d86e17d4fdu, 0x809ed123f71a9ad0u, 0xf7821f0472d84c36u},
    {2147483653u, 0xfffffffbu, 1, 32, 0x2aa3b9cau, 0x2aa3b9cau, 0x2aa3b9cau},
    {2147483653u, 0xfffffffbu, 3, 32, 0x2aa3b9cau, 0xf522c36cu, 0x3d2db4d92u},
    {2147483653u, 0xfffffffbu, 17, 32, 0x2aa3b9cau, 0xfb692e1au, 0x596daadfd3u},
    {2147483653u, 0xfffffffbu, 1000, 8, 0xcau, 0x1eu, 0x3e4eb62u},
    {2147483653u, 0xfffffffbu, 1000, 16, 0xb9cau, 0xf71eu, 0x3d6ca6b62u},
    {2147483653u, 0xfffffffbu, 1000, 32, 0x2aa3b9cau, 0x3f4cf71eu, 0x3c7b86ec46b62u},
    {2147483653u, 0xfffffffbu, 1000, 64, 0x95bda0f1bf1e193bu, 0xbfb343b680ffb4a8u, 0x6caa522419516612u},
    {7u, 0xffffffffffu, 1, 8, 0x4cu, 0x4cu, 0x4cu},
    {7u, 0xffffffffffu, 1, 16, 0xfb4cu, 0xfb4cu, 0xfb4cu},
    {7u, 0xffffffffffu, 1, 32, 0xed80fb4cu, 0xed80fb4cu, 0xed80fb4cu},
    {7u, 0xffffffffffu, 1, 64, 0x4d1dc058a09d3b14u, 0x4d1dc058a09d3b14u, 0x4d1dc058a09d3b14u},
    {7u, 0xffffffffffu, 3, 8, 0x4cu, 0x45u, 0x251u},
    {7u, 0xffffffffffu, 3, 16, 0xfb4cu, 0xbc45u, 0x4c951u},
    {7u, 0xffffffffffu, 3, 32, 0xed80fb4cu, 0x5814bc45u, 0x36bf2c951u},
    {7u, 0xffffffffffu, 3, 64, 0x4d1dc058a09d3b14u, 0xc010d96b9804652eu, 0x3374068038ba8b70u},
    {7u, 0xffffffffffu, 17, 8, 0x4cu, 0xe7u, 0x618du},
    {7u, 0xffffffffffu, 17, 16, 0xfb4cu, 0x86e7u, 0x45378du},
    {7u, 0xffffffffffu, 17, 32, 0xed80fb4cu, 0xf1b386e7u, 0x47337c378du},
    {7u, 0xffffffffffu, 17, 64, 0x4d1dc058a09d3b14u, 0x45ca7ab3b479fc54u, 0xb52c9625680ae0d2u},
    {7u, 0xffffffffffu, 1000, 8, 0x4cu, 0x98u, 0x3ab81ebu},
    {7u, 0xffffffffffu, 1000, 16, 0xfb4cu, 0xac98u, 0x3c42d69ebu},
    {7u, 0xffffffffffu, 1000, 32, 0xed80fb4cu, 0x8cb6ac98u, 0x3bcbd5f3269ebu},
    {7u, 0xffffffffffu, 1000, 64, 0x4d1dc058a09d3b14u, 0xbd3209463184a5deu, 0x441c5ed162132735u},
    {99u, 0x8000000000000003u, 1, 32, 0x347a0b4eu, 0x347a0b4eu, 0x347a0b4eu},
    {99u, 0x8000000000000003u, 3, 32, 0x347a0b4eu, 0xf387d221u, 0x4ff44b91fu},
    {99u, 0x8000000000000003u, 17, 32, 0x347a0b4eu, 0xa68ccf8du, 0x3dbce87c8au},
    {99u, 0x8000000000000003u, 1000, 8, 0x4eu, 0xeu, 0x3cca25fu},
    {99u, 0x8000000000000003u, 1000, 16, 0xb4eu, 0x260eu, 0x3c7420a5fu},
    {99u, 0x8000000000000003u, 1000, 32, 0x347a0b4eu, 0xe742260eu, 0x3d0edd3630a5fu},
    {99u, 0x8000000000000003u, 1000, 64, 0x35cddf9e01b7d4d0u, 0xdf6757cb382571c5u, 0xe0c643a7058e48f9u},
};
TEST(Threefry, bits) {
  auto check = [](const BitsRow& row, const auto& xs) {
    EXPECT_EQ(xs.front(), row.front) << row.seed << " " << row.count << " " << row.width;
    EXPECT_EQ(xs.back(), row.back) << row.seed << " " << row.count << " " << row.width;
    EXPECT_EQ(checksum(xs), row.sum) << row.seed << " " << row.count << " " << row.width;
  };
  for (const auto& row : bits_rows) {
    if (row.width == 8) check(row, bits<std::uint8_t>(row.seed, row.first, row.count));
    if (row.width == 16) check(row, bits<std::uint16_t>(row.seed, row.first, row.count));
    if (row.width == 32) check(row, bits<uint32_t>(row.seed, row.first, row.count));
    if (row.width == 64) check(row, bits<uint64_t>(row.seed, row.first, row.count));
  }
}

TEST(Threefry, uniform_of_key_0) {
  EXPECT_EQ(uniforms<float>(0, 6), list({0.947667f, 0.97857988f, 0.33229148f, 0.46866846f, 0.56988871f, 0.16550303f}));
  EXPECT_EQ(uniforms<double>(0, 6), list({0.41845711171638644, 0.21629545460551136, 0.9653214611189975, 0.5745005337275046, 0.5322264882505428, 0.35490518026974427}));
  EXPECT_EQ(uniforms<half>(0, 6), list({half(0.310546875f), half(0.212890625f), half(0.0546875f), half(0.65625f), half(0.232421875f), half(0.4111328125f)}));
  EXPECT_EQ(uniforms<bfloat16>(0, 6), list({bfloat16(0.6484375f), bfloat16(0.5703125f), bfloat16(0.15625f), bfloat16(0.203125f), bfloat16(0.7109375f), bfloat16(0.2578125f)}));
  EXPECT_EQ(uniforms<float>(0, 6, -3, 5.5), list({5.0551696f, 5.3179288f, -0.17552239f, 0.98368192f, 1.844054f, -1.5932243f}));
}

struct UniformRow {
  uint32_t seed;
  double lo, hi;
  uint64_t front[4], sum;  // of 1000 draws
};
template <class T> void check_uniform(const std::vector<UniformRow>& rows) {
  for (const auto& row : rows) {
    const auto xs = uniforms<T>(row.seed, 1000, row.lo, row.hi);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(word(xs[i]), row.front[i]) << row.seed << " " << i;
    EXPECT_EQ(checksum(xs), row.sum) << row.seed;
  }
}
TEST(Threefry, uniform_f32) {
  check_uniform<float>({
      {42u, 0.1, 0.7, {0x3ec954e2u, 0x3f020450u, 0x3ef084c3u, 0x3edf8b4cu}, 0x1df44295563a4u},
      {1701u, -3, 5.5, {0xbf4cfc7du, 0x40136196u, 0xbf8922d5u, 0xbffbc5eau}, 0x34f82cba56203u},
      {5u, 0.001, 1000000.0, {0x48e3b97cu, 0x4960d311u, 0x4933a423u, 0x47b9b4bau}, 0x22b873d4e42bfu},
      {11u, -1, 1, {0xbf14975cu, 0xbf7666e4u, 0x3ee8e5b8u, 0xbe9ea118u}, 0x3c6d61756eafcu},
      {3u, 2.5, -1.25, {0x40200000u, 0x40200000u, 0x40200000u, 0x40200000u}, 0x1e9b962800000u},
      {8u, -7, -7, {0xc0e00000u, 0xc0e00000u, 0xc0e00000u, 0xc0e00000u}, 0x5c0fdb1800000u},
  });
}
TEST(Threefry, uniform_f64) {
  check_uniform<double>({
      {42u, 0.1, 0.7, {0x3fd6c94d7bdc051cu, 0x3fbbe7d1e83516b4u, 0x3fdc7278231be21fu, 0x3fe13667e543ff46u}, 0xdc9852126b303ca8u},
      {1701u, -3, 5.5, {0xbff888ea7505835au, 0xc006a684c00eed05u, 0xc0071c39ec04c7b6u, 0xbff2a3d593fa90ebu}, 0x5561c7ee7ca83b04u},
      {5u, 0.001, 1000000.0, {0x41235bc93c2047ccu, 0x40e7077c89f05f61u, 0x41298a3b5340e652u, 0x4124e2fe4bb8273cu}, 0x40a92066072f25au},
      {11u, -1, 1, {0xbfb85624b3733ea0u, 0x3fead45faf7be77cu, 0x3fe3acc01b1d2298u, 0x3fe0abd00b66be3cu}, 0x3e411e092482f2d8u},
      {3u, 2.5, -1.25, {0x4004000000000000u, 0x4004000000000000u, 0x4004000000000000u, 0x4004000000000000u}, 0x8c50000000000000u},
      {8u, -7, -7, {0xc01c000000000000u, 0xc01c000000000000u, 0xc01c000000000000u, 0xc01c000000000000u}, 0xd630000000000000u},
  });
}
TEST(Threefry, uniform_f16) {
  check_uniform<half>({
      {42u, 0.1, 0.7, {0x30aau, 0x32dbu, 0x397cu, 0x386fu}, 0x19ade1bb6u},
      {1701u, -3, 5.5, {0x4118u, 0x3ad0u, 0x44d6u, 0x4274u}, 0x35a300eeau},
      {5u, 0.001, 60000.0, {0x78efu, 0x7a4du, 0x6b18u, 0x73a4u}, 0x38152c9efu},
      {11u, -1, 1, {0xb588u, 0x2fa0u, 0xb020u, 0x3758u}, 0x3b6a44e24u},
      {3u, 2.5, -1.25, {0x4100u, 0x4100u, 0x4100u, 0x4100u}, 0x1f0681400u},
      {8u, -7, -7, {0xc700u, 0xc700u, 0xc700u, 0xc700u}, 0x5efc48c00u},
  });
}
TEST(Threefry, uniform_bf16) {
  check_uniform<bfloat16>({
      {42u, 0.1, 0.7, {0x3ef5u, 0x3f1bu, 0x3f2eu, 0x3f1au}, 0x1deebd7b6u},
      {1701u, -3, 5.5, {0xbfe7u, 0xbf8au, 0xbfa3u, 0x403au}, 0x32bfaa3c3u},
      {5u, 0.001, 1000000.0, {0x48ffu, 0x48bfu, 0x4909u, 0x493bu}, 0x22abc9a6fu},
      {11u, -1, 1, {0x3f60u, 0xbe30u, 0x3eb0u, 0x3f5cu}, 0x3d808bd20u},
      {3u, 2.5, -1.25, {0x4020u, 0x4020u, 0x4020u, 0x4020u}, 0x1e9b96280u},
      {8u, -7, -7, {0xc0e0u, 0xc0e0u, 0xc0e0u, 0xc0e0u}, 0x5c0fdb180u},
  });
}

// Elements depend on their place alone, whatever the alignment and the length, and nothing is written past the end.
TEST(Threefry, any_part_of_an_array) {
  const auto whole = uniforms<float>(3, 300, -1, 2);
  const auto wide = uniforms<double>(3, 300, -1, 2);
  const auto gauss = normals<float>(3, 2300);
  for (const std::size_t from : {0u, 1u, 5u, 16u, 33u})
    for (const std::size_t n : {0u, 1u, 3u, 15u, 16u, 17u, 100u}) {
      std::vector<float> part(n + 2, 99.f);
      std::vector<double> wide_part(n + 2, 99.);
      uniform(part.data() + 1, 0, 3, from, static_cast<Index>(n), -1.f, 2.f);
      uniform(wide_part.data() + 1, 0, 3, from, static_cast<Index>(n), -1., 2.);
      EXPECT_TRUE(std::equal(part.begin() + 1, part.end() - 1, whole.begin() + static_cast<Index>(from))) << from << " " << n;
      EXPECT_TRUE(std::equal(wide_part.begin() + 1, wide_part.end() - 1, wide.begin() + static_cast<Index>(from))) << from << " " << n;
      EXPECT_EQ(part.front() + part.back(), 198.f);
      EXPECT_EQ(wide_part.front() + wide_part.back(), 198.);
    }
  std::vector<float> part(2001, 99.f);
  normal(part.data() + 1, 0, 3, 250, 1999);
  for (std::size_t i = 0; i < 1999; ++i) EXPECT_NEAR(part[i + 1], gauss[i + 250], 2.4e-7f * std::abs(gauss[i + 250]));
  EXPECT_EQ(part[0] + part[2000], 198.f);
}
TEST(Threefry, range_that_overflows_or_is_not_a_number) {
  for (float x : uniforms<float>(3, 20, -3e38, 3e38)) EXPECT_TRUE(x == std::numeric_limits<float>::infinity());
  for (float x : uniforms<float>(3, 20, std::nan(""), 1)) EXPECT_TRUE(std::isnan(x));
}

// One rounding: rounding the sum to double first gives another float in each of these.
TEST(Threefry, multiply_add) {
  const float rows[][4] = {{8477255.f, 16601776.f, 4.37595241e+21f, 4.3759527e+21f},  {12735349.f, 11050933.f, 2.85192417e+21f, 2.85192445e+21f},
                           {9148399.f, 15383838.f, 3.9524173e+21f, 3.9524173e+21f},   {11216468.f, 12547398.f, 4.09685675e+21f, 4.09685675e+21f},
                           {8900891.f, 15811618.f, 4.41170846e+21f, 4.41170846e+21f}, {16325067.f, 8620944.f, 3.73405323e+21f, 3.73405351e+21f}};
  for (const auto& [a, b, c, expected] : rows) {
    EXPECT_EQ(multiply_add(a, b, c), expected);
    EXPECT_EQ(emulated_multiply_add(a, b, c), expected);
    EXPECT_EQ(emulated_multiply_add(-a, b, -c), -expected);
  }
  EXPECT_EQ(emulated_multiply_add(0.1f, 10.f, -1.f), 0x1p-26f);
  EXPECT_EQ(emulated_multiply_add(1e30f, 1e30f, 1.f), std::numeric_limits<float>::infinity());
}

struct Sample {
  std::size_t place;
  double value;
};
struct NormalRow {
  uint32_t seed;
  std::vector<Sample> samples;
};
/// Relative tolerances: 3 ulp for float, 4e-15 for double, none for the 16-bit types.
template <class T> void check_normal(double tolerance, const std::vector<NormalRow>& rows) {
  for (const auto& row : rows) {
    const auto xs = normals<T>(row.seed, 4099);
    for (const auto& [place, value] : row.samples)
      EXPECT_NEAR(static_cast<double>(xs[place]), value, tolerance * std::abs(value)) << row.seed << " " << place;
  }
}
TEST(Threefry, normal_of_key_0) {
  const auto check = [](const auto& xs, const std::vector<double>& expected, double tolerance) {
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(xs[i], expected[i], tolerance * std::abs(expected[i])) << i;
  };
  check(normals<float>(0, 6), {1.6226422f, 2.0252647f, -0.43359444f, -0.078617349f, 0.1760909f, -0.97208923f}, 2.4e-7);
  check(normals<double>(0, 6), {-0.2058421394796434, -0.7847657764467411, 1.8160866726679836, 0.1878440128937887, 0.08086788103743275, -0.3721107933346203}, 4e-15);
}
// Each row has the largest and the smallest of 4099 numbers at its end.
TEST(Threefry, normal_f32) {
  check_normal<float>(2.4e-7, {
      {42, {{0, -0.028304616f}, {1, 0.467131853f}, {2, 0.295702964f}, {16, 0.557346165f}, {999, -0.34179157f}, {1023, -1.65011251f},
            {1024, -1.27883494f}, {4098, -0.477509379f}, {1402, 3.23912954f}, {1186, -0.000103015896f}}},
      {1701, {{0, -0.647241116f}, {1, 0.315641105f}, {2, -0.749104738f}, {16, -0.76860714f}, {999, -0.0831595138f}, {1023, 1.0502522f},
            {1024, -0.374970824f}, {4098, 1.23127782f}, {427, -3.9382472f}, {2974, -0.00123103661f}}},
      {5, {{0, -0.0843730643f}, {1, 1.4110229f}, {2, 0.630481541f}, {16, -0.884957433f}, {999, -0.931831121f}, {1023, -1.96144485f},
            {1024, 0.380667001f}, {4098, 0.998958409f}, {1878, -3.70199108f}, {354, 5.08729681e-05f}}},
  });
}
TEST(Threefry, normal_f64) {
  check_normal<double>(4e-15, {
      {42, {{0, -0.18471174528191162}, {1, -2.1698245603977542}, {2, 0.18693555179382582}, {16, -2.020110137345589}, {999, -0.53519762582777808},
            {1023, 0.80227403865855973}, {1024, 0.00011245572985214039}, {4098, -0.97726495564899829}, {1482, 3.6926934694208446},
            {1024, 0.00011245572985214039}}},
      {1701, {{0, -0.94418314714499807}, {1, -2.0569372575624807}, {2, -2.2236966872817883}, {16, -0.99181991411700088},
            {999, 0.0060744860569690992}, {1023, 0.72756813331066783}, {1024, -0.22352629437496008}, {4098, 0.22084095523481856},
            {3049, 3.562065216207575}, {3897, 5.1372891075392012e-06}}},
      {5, {{0, 0.34337180771691611}, {1, -1.6729975326208553}, {2, 0.98177100601030987}, {16, -0.12811372239929739}, {999, -1.9142640301056413},
            {1023, 0.5350049605222873}, {1024, 1.9777109374375814}, {4098, 0.30607397737825226}, {1708, -4.0574433948472155},
            {2882, 0.00087222732426988205}}},
  });
}
TEST(Threefry, normal_f16) {
  check_normal<half>(0, {
      {42, {{0, -1.4296875}, {1, -0.87548828125}, {2, 1.974609375}, {16, -0.43359375}, {999, 0.90673828125}, {1023, -0.221435546875},
            {1024, 1.2734375}, {4098, -1.1162109375}, {851, -3.486328125}, {548, 0.00061178207397460938}}},
      {1701, {{0, 0.39208984375}, {1, -0.11712646484375}, {2, 1.419921875}, {16, 0.260498046875}, {999, -0.53564453125}, {1023, -0.68310546875},
            {1024, -0.436279296875}, {4098, -0.2440185546875}, {780, -3.486328125}, {2884, 0.00061178207397460938}}},
      {5, {{0, 0.451171875}, {1, 1.0830078125}, {2, -1.5478515625}, {16, 0.3818359375}, {999, -0.11712646484375}, {1023, 0.626953125},
            {1024, -0.4228515625}, {4098, 1.0400390625}, {1750, -3.486328125}, {833, 0.00061178207397460938}}},
  });
}
TEST(Threefry, normal_bf16) {
  check_normal<bfloat16>(0, {
      {42, {{0, 0.34375}, {1, 1.015625}, {2, 1.890625}, {16, -0.8515625}, {999, -0.375}, {1023, 0.0439453125}, {1024, -1.4609375}, {4098, 2.015625},
            {34, -2.890625}, {65, 0.0048828125}}},
      {1701, {{0, -1.0625}, {1, -0.74609375}, {2, -0.82421875}, {16, -0.41796875}, {999, 1.625}, {1023, -0.232421875}, {1024, 0.703125},
            {4098, -0.0146484375}, {58, -2.890625}, {319, 0.0048828125}}},
      {5, {{0, 0.0634765625}, {1, -0.271484375}, {2, 0.162109375}, {16, -0.97265625}, {999, -1.515625}, {1023, -0.74609375}, {1024, -1.140625},
            {4098, 1.2421875}, {11, -2.890625}, {315, 0.0048828125}}},
  });
}

template <class T> struct Point {
  T x, y;
};
/// The scalar and the array function, the array long enough to meet the vector code and its tail.
template <class T> void check_erf_inv(T tolerance, const std::vector<Point<T>>& points) {
  for (std::size_t shift = 0; shift < 9; ++shift) {
    std::vector<T> xs(shift, T(0.25)), ys(shift + points.size());
    for (const auto& p : points) xs.push_back(p.x);
    erf_inv(ys.data(), xs.data(), static_cast<Index>(xs.size()));
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_NEAR(ys[shift + i], points[i].y, tolerance * std::abs(points[i].y)) << points[i].x;
      EXPECT_NEAR(erf_inv(points[i].x), points[i].y, tolerance * std::abs(points[i].y)) << points[i].x;
    }
  }
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> edges = {1, -1, T(1.5), -2, std::numeric_limits<T>::quiet_NaN(), inf, T(-0.0), 0};
  for (bool array : {false, true}) {
    std::vector<T> out = edges;
    if (array) erf_inv(out.data(), out.data(), 8);
    else
      for (T& x : out) x = erf_inv(x);
    EXPECT_EQ(out[0], inf);
    EXPECT_EQ(out[1], -inf);
    for (std::size_t i : {2u, 3u, 4u, 5u}) EXPECT_TRUE(std::isnan(out[i])) << i;
    EXPECT_TRUE(out[6] == 0 && std::signbit(out[6]) && out[7] == 0 && !std::signbit(out[7]));
  }
}
TEST(ErfInv, f32) {
  check_erf_inv<float>(2.4e-7f, {
    {0.f, 0.f}, {1e-30f, 8.8622682e-31f}, {-9.99999994e-09f, -8.86226825e-09f}, {5.96046448e-08f, 5.28232356e-08f},
    {0.100000001f, 0.0888559893f}, {-0.300000012f, -0.272462755f}, {0.5f, 0.476936281f}, {0.699999988f, 0.732869089f},
    {-0.899999976f, -1.16308701f}, {0.99000001f, 1.82138669f}, {0.995999992f, 2.03516626f}, {0.996699989f, 2.07770324f},
    {-0.999000013f, -2.32675767f}, {0.999989986f, 3.12320495f}, {0.99999994f, 3.83250666f}, {-0.999999881f, -3.74392128f}
  });
}
TEST(ErfInv, f64) {
  check_erf_inv<double>(4e-15, {
    {0, 0}, {1.0000000000000001e-30, 8.8622692545275813e-31}, {-1e-08, -8.8622692545275805e-09},
    {5.9604644775390625e-08, 5.2823241081998278e-08}, {0.10000000000000001, 0.088855990494257686},
    {-0.29999999999999999, -0.27246271472675437}, {0.5, 0.47693627620446977}, {0.69999999999999996, 0.73286907795921663},
    {-0.90000000000000002, -1.163087153676674}, {0.98999999999999999, 1.8213863677184494}, {0.996, 2.0351676830660832},
    {0.99670000000000003, 2.0777034861650985}, {-0.999, -2.3267537655135273}, {0.99999000000000005, 3.1234132743416341},
    {0.99999994039535522, 3.8325068569007104}, {-0.99999990000000005, -3.7665625816333361}, {0.999, 2.3267537655135273},
    {0.99904999999999999, 2.3369386724987384}, {0.99999990000000005, 3.7665625816333361}, {0.99999987000000001, 3.7327078059804397},
    {0.99999999999900002, 5.042031898572648}, {-0.99999999999999989, -5.8635847487551667}
  });
}
TEST(Erf, is_the_inverse) {
  std::vector<double> xs, ys;
  for (int i = -99; i < 100; ++i) xs.push_back(i / 100.0);
  ys.resize(xs.size());
  erf_inv(ys.data(), xs.data(), static_cast<Index>(xs.size()));
  erf(ys.data(), ys.data(), static_cast<Index>(ys.size()));
  for (std::size_t i = 0; i < xs.size(); ++i) EXPECT_NEAR(ys[i], xs[i], 2e-15);
}

}  // namespace
