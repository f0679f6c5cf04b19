// JAX's cases about integers and the other distributions, with values of JAX 0.10.2.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::same;

/// Absolute and relative tolerance of the functions that JAX computes with its own logarithm.
constexpr double close = 1e-6;

TEST(JaxCases, case_172_randint) {
  const auto key = random::key(0);
  EXPECT_TRUE(same(random::randint<std::int32_t>(key, {5}, 7, 7), {5}, {7, 7, 7, 7, 7}));
  EXPECT_TRUE(same(random::randint<std::int32_t>(key, {5}, 7, 2), {5}, {7, 7, 7, 7, 7}));
  EXPECT_EQ(max(random::randint<std::uint8_t>(random::key(3), {1000}, 0, 256)).item(), 255);
  EXPECT_TRUE(same(random::randint<std::uint8_t>(random::key(3), {5}, 0, 256), {5}, {75, 115, 157, 170, 12}));
}

TEST(JaxCases, vectors_randint) {
  const auto key = random::key(0);
  EXPECT_TRUE(same(random::randint<std::int32_t>(key, {2, 3}, 0, 10), {2, 3}, {9, 0, 2, 3, 1, 7}));
  EXPECT_TRUE(same(random::randint<std::int32_t>(key, {6}, -5, 1000), {6}, {554, 625, 417, 293, 951, 577}));
  EXPECT_TRUE(same(random::randint<std::uint8_t>(key, {6}, 0, 10), {6}, {9, 0, 2, 3, 1, 7}));
  EXPECT_TRUE(same(random::randint<std::uint8_t>(key, {6}, 0, 256), {6}, {101, 80, 200, 61, 3, 211}));
  EXPECT_TRUE(same(random::randint<std::int64_t>(key, {6}, 0, 10), {6}, {5, 1, 5, 7, 3, 5}));
  EXPECT_TRUE(same(random::randint<std::int16_t>(random::key(42), {5}, -100, 100), {5}, {-56, 14, -29, 69, 9}));
  EXPECT_TRUE(same(random::randint<std::int32_t>(random::key(1701), {5}, 0, 2147483647), {5}, {1344773877, 1454871358, 1666829978, 1975938583, 1123755433}));
  EXPECT_TRUE(same(random::randint<std::int64_t>(random::key(42), {3}, -(std::int64_t{1} << 40), std::int64_t{1} << 50), {3}, {16428379125301, 961713065416382, 267319332261015}));
}

TEST(JaxCases, vectors_bernoulli) {
  EXPECT_TRUE(same(random::bernoulli(random::key(0), 0.3f, {6}), {6}, {false, false, false, false, false, true}));
  EXPECT_TRUE(same(random::bernoulli(random::key(0), 0.5f, {8}), {8}, {false, false, true, true, false, true, true, false}));
  EXPECT_TRUE(same(random::bernoulli(random::key(42), 0.3f, {8}), {8}, {false, false, false, false, false, false, true, false}));
  // A double probability draws 64-bit numbers.
  EXPECT_TRUE(same(random::bernoulli(random::key(42), 0.3, {8}), {8}, {false, true, false, false, false, false, false, false}));
}

TEST(JaxCases, vectors_truncated_normal) {
  EXPECT_TRUE(same(random::truncated_normal<float>(random::key(0), -2, 2, {6}), {6}, {1.4559592f, 1.7147487f, -0.41267535f, -0.075033434f, 0.16800101f, -0.91261411f}, close));
  EXPECT_TRUE(same(random::truncated_normal<float>(random::key(1701), -1, 2.5f, {5}), {5}, {-0.319334656f, 0.4667615f, -0.390333712f, -0.642880082f, 0.182296798f}, close));
}

TEST(JaxCases, vectors_exponential_gumbel_laplace) {
  EXPECT_TRUE(same(random::exponential<float>(random::key(0), {6}), {6}, {2.9501281f, 3.8434246f, 0.40390354f, 0.6323691f, 0.84371126f, 0.18092616f}, 1.2e-7));
  EXPECT_TRUE(same(random::gumbel<float>(random::key(0), {6}), {6}, {2.9233725f, 3.8326178f, -0.096893243f, 0.27725708f, 0.57569456f, -0.58710074f}, close));
  EXPECT_TRUE(same(random::laplace<float>(random::key(0), {6}), {6}, {-2.2569816f, -3.1502788f, 0.40859544f, 0.06471242f, -0.15056418f, 1.1056185f}, 1.2e-7));
  EXPECT_TRUE(same(random::exponential<double>(random::key(42), {3}), {3}, {0.55639422438559161, 0.015123860720489336, 0.85365499934319877}, 1e-14));
  EXPECT_TRUE(same(random::gumbel<double>(random::key(42), {3}), {3}, {0.16062720630382138, -1.4348544993307841, 0.58901365001619521}, 1e-14));
  EXPECT_TRUE(same(random::laplace<float>(random::key(42), {5}), {5}, {0.0228396524f, -0.445653558f, -0.264672905f, -0.130145386f, 0.103929006f}, close));
}

TEST(JaxCases, vectors_categorical) {
  const auto logits = array<float>({0.1f, 2, -1, 0.5f});
  const auto rows = [&](Index n) { return broadcast_to(logits, {n, 4}); };
  EXPECT_TRUE(same(random::categorical(random::key(0), rows(6)), {6}, {1, 3, 2, 3, 1, 1}));
  EXPECT_TRUE(same(random::categorical(random::key(1), rows(6)), {6}, {1, 2, 1, 1, 0, 3}));
  const auto slope = reshape(arange<float>(12), {3, 4}) * 0.3f;
  EXPECT_TRUE(same(random::categorical(random::key(1), slope), {3}, {3, 2, 1}));
  EXPECT_TRUE(same(random::categorical(random::key(1701), slope, 0), {4}, {2, 1, 2, 2}));
  EXPECT_TRUE(same(random::categorical(random::key(1), slope, -2), {4}, {1, 2, 1, 1}));
}

TEST(JaxCases, vectors_choice) {
  EXPECT_TRUE(same(random::choice(random::key(0), arange<std::int32_t>(8), {6}), {6}, {5, 0, 0, 5, 3, 3}));
  EXPECT_TRUE(same(random::choice(random::key(1701), array<float>({10, 20, 30}), {5}), {5}, {20, 30, 10, 30, 20}));
}

TEST(JaxCases, case_169_samplers_under_maps) {
  const auto keys = random::split(random::key(5), 5);
  const auto check = [&](auto f) {
    const auto by_vmap = vmap(f)(keys), by_pmap = pmap(f)(keys);
    EXPECT_TRUE(same(by_vmap, by_pmap));
    for (Index i = 0; i < 5; ++i) EXPECT_TRUE(same(by_vmap[i], f(keys[i])));
  };
  check([](const Key& k) { return random::randint<std::int32_t>(k, {3}, 0, 100); });
  check([](const Key& k) { return random::permutation(k, 7); });
  check([](const Key& k) { return random::bernoulli(k, 0.5f, {9}); });
  check([](const Key& k) { return random::categorical(k, array<float>({{0.1f, 2, -1, 0.5f}, {0, 0, 0, 0}})); });
  check([](const Key& k) { return random::truncated_normal<float>(k, -1, 1, {3}); });
  check([](const Key& k) { return random::choice(k, arange<float>(6), {4}); });
}

}  // namespace
