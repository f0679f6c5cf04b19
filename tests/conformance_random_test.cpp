// JAX's cases about keys, bits, uniform and normal numbers and permutations, with values of JAX 0.10.2.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::At;
using conformance::same;
using conformance::throws;
using Words = std::vector<std::uint32_t>;

Words words(const Key& key) { return random::key_data(key).to_vector(); }

TEST(JaxCases, case_157_block_function) {
  const auto block = [](std::uint32_t k0, std::uint32_t k1, std::uint32_t x1) { return words(random::fold_in(random::wrap_key_data(Tensor<std::uint32_t>({2}, {k0, k1})), x1)); };
  EXPECT_EQ(block(0, 0, 0), (Words{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(random::bits<std::uint32_t>(random::key(0), {10, 0}).shape(), Shape({10, 0}));
  EXPECT_EQ(random::normal<float>(random::key(0), {0}).size(), 0);
}

TEST(JaxCases, case_158_seeds) {
  EXPECT_EQ(words(random::key(0)), (Words{0, 0}));
  EXPECT_EQ(words(random::key(1)), (Words{0, 1}));
  EXPECT_EQ(words(random::key(-1)), (Words{0, 4294967295u}));
  EXPECT_EQ(words(random::key(-2)), (Words{0, 4294967294u}));
  EXPECT_EQ(words(random::key((std::int64_t{1} << 31) + 99)), (Words{0, 2147483747u}));
  EXPECT_EQ(words(random::key(-(std::int64_t{1} << 31) - 100)), (Words{0, 2147483548u}));
  EXPECT_EQ(words(Key(7)), (Words{0, 7}));
}

TEST(JaxCases, case_161_fold_in) {
  EXPECT_EQ(words(random::fold_in(random::key(0), 4)), (Words{2285895361u, 433833334u}));
  EXPECT_EQ(words(random::fold_in(random::key(0), 7)), (Words{0xa1ef7a4d, 0x116eb6b3}));
  EXPECT_EQ(words(random::fold_in(random::key(42), -1)), (Words{2398536845u, 3890976714u}));
  EXPECT_EQ(words(random::fold_in(random::key(1701), 123456)), (Words{502853912u, 1357883978u}));
}

TEST(JaxCases, case_163_split_is_fold_in) {
  const Words expected{1146130490u, 1747753119u, 679946246u, 1419780272u, 2305295554u, 566369263u};
  const auto key = random::key(72);
  EXPECT_EQ(words(random::split(key, 3)), expected);
  EXPECT_EQ(words(random::split(key)), Words(expected.begin(), expected.begin() + 4));
  for (Index j = 0; j < 3; ++j) {
    const auto at = expected.begin() + 2 * j;
    EXPECT_EQ(words(random::fold_in(key, j)), Words(at, at + 2));
    EXPECT_EQ(words(random::split(key, 3)[j]), Words(at, at + 2));
  }
  const auto by_index = [&](Tensor<>) { return random::fold_in(key, axis_index("i")); };
  EXPECT_EQ(words(vmap(by_index, "i")(zeros<float>({3}))), expected);
  EXPECT_EQ(words(pmap(by_index, {.axis_name = "i", .in_axes = each(0)})(zeros<float>({3}))), expected);
  EXPECT_EQ(words(random::split(random::key(1), 4)), (Words{507451445u, 1853169794u, 1948878966u, 4237131848u, 2441914641u, 3819641963u, 3568232559u, 2761185182u}));
}

TEST(JaxCases, case_164_uniform) {
  EXPECT_TRUE(same(random::uniform<float>(random::key(0), {3}), {3}, {0.947667003f, 0.978579879f, 0.332291484f}));
  EXPECT_TRUE(same(random::uniform<float>(random::key(0), {2, 3}), {2, 3}, {0.947667f, 0.97857988f, 0.33229148f, 0.46866846f, 0.56988871f, 0.16550303f}));
  EXPECT_TRUE(same(random::uniform<float>(random::key(42), {5}, 0.1f, 0.7f), {5}, {0.393225729f, 0.507878304f, 0.469762892f, 0.436609626f, 0.37038675f}));
  EXPECT_TRUE(same(random::uniform<double>(random::key(42), {3}, -3, 5.5), {3}, {0.62718431652422713, -2.872414409119826, 1.880227552146049}));
  EXPECT_TRUE(same(cast<float>(random::uniform<float16>(random::key(0), {3})), {3}, {0.310546875f, 0.212890625f, 0.0546875f}));
  EXPECT_TRUE(same(cast<float>(random::uniform<bfloat16>(random::key(0), {3})), {3}, {0.6484375f, 0.5703125f, 0.15625f}));
}

TEST(JaxCases, case_166_the_first_elements_do_not_depend_on_the_length) {
  const auto five = random::uniform<float>(random::key(0), {5}), four = random::uniform<float>(random::key(0), {4});
  EXPECT_TRUE(same(slice(five, {0}, {4}), four));
  const auto many = random::normal<float>(random::key(3), {1000});
  EXPECT_TRUE(same(slice(many, {0}, {7}), random::normal<float>(random::key(3), {7}), 1e-7));
}

TEST(JaxCases, case_167_draws_from_split_keys) {
  const auto keys = random::split(random::key(0), 4);
  EXPECT_EQ(keys.shape(), Shape({4}));
  const std::vector<float> normals{1.00401425f, -2.44245577f, 1.29563594f, -0.621943593f}, uniforms{0.842314124f, 0.00729382038f, 0.902449489f, 0.26698947f};
  const auto normal = [](const Key& k) { return random::normal<float>(k, {}); };
  const auto uniform = [](const Key& k) { return random::uniform<float>(k, {}); };
  EXPECT_TRUE(same(vmap(normal)(keys), {4}, normals, 2.4e-7));
  EXPECT_TRUE(same(vmap(uniform)(keys), {4}, uniforms));
  EXPECT_TRUE(same(pmap(normal)(keys), {4}, normals, 2.4e-7));
  EXPECT_TRUE(same(pmap(uniform, {.in_axes = each(0)})(keys), {4}, uniforms));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(same(normal(keys[Index(i)]), {}, {normals[i]}, 2.4e-7));
    EXPECT_TRUE(same(uniform(keys[Index(i)]), {}, {uniforms[i]}));
  }
}

TEST(JaxCases, case_169_bits_over_split_keys) {
  const auto keys = random::split(random::key(5), 8);
  const auto bits = [](const Key& k) { return random::bits<std::uint32_t>(k, {2}); };
  const Words expected{2839113055u, 3758129494u, 359975681u,  984463424u, 4107458132u, 3258059621u, 481613680u,  2294666293u,
                       3506757060u, 2806193600u, 782279353u, 890553392u, 3012033470u, 911666708u,  3101781449u, 2507562191u};
  EXPECT_TRUE(same(pmap(bits)(keys), {8, 2}, expected));
  EXPECT_TRUE(same(vmap(bits)(keys), {8, 2}, expected));
  const auto replicated_key = pmap(bits, {.in_axes = replicated, .axis_size = 5})(random::key(1));
  EXPECT_TRUE(same(replicated_key, {5, 2}, [](const At& at) { return at[1] ? 2292451390u : 1883912375u; }));
  // Different keys, different numbers.
  const auto normals = pmap([](const Key& k) { return random::normal<float>(k, {2}); })(keys).to_vector();
  for (std::size_t i = 0; i < normals.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(normals[i], normals[j]) << i << " " << j;
}

TEST(JaxCases, case_169_keys_of_two_axes) {
  const auto keys = random::wrap_key_data(reshape(random::key_data(random::split(random::key(9), 6)), {2, 3, 2}));
  EXPECT_EQ(keys.shape(), Shape({2, 3}));
  const auto draw = [](const Key& k) { return random::uniform<float>(k, {2}); };
  const std::vector<float> expected{0.541768909f, 0.842899799f, 0.136543036f, 0.233313918f, 0.696773767f, 0.581920028f, 0.310482979f, 0.668074012f, 0.673801064f, 0.970737457f, 0.578746796f, 0.316034079f};
  EXPECT_TRUE(same(vmap([&](const Key& row) { return vmap(draw)(row); })(keys), {2, 3, 2}, expected));
  EXPECT_TRUE(same(pmap([&](const Key& row) { return vmap(draw)(row); })(keys), {2, 3, 2}, expected));
}

TEST(JaxCases, case_170_keys_through_pmap) {
  const auto keys = random::split(random::key(11), 3);
  const auto zero = pmap([](const Key& k) { return random::fold_in(k, 0); })(keys);
  static_assert(std::is_same_v<std::remove_const_t<decltype(zero)>, Key>);
  EXPECT_EQ(zero.shape(), Shape({3}));
  for (Index i = 0; i < 3; ++i) EXPECT_EQ(words(zero[i]), words(random::fold_in(keys[i], 0)));
  const auto same_key = pmap([](const Key& k) { return random::fold_in(k, 0); }, {.in_axes = replicated, .out_axes = replicated})(random::key(11));
  EXPECT_EQ(words(same_key), words(random::fold_in(random::key(11), 0)));
  EXPECT_EQ(words(pmap([](const Key& k) { return k; })(keys)), words(keys));
  EXPECT_EQ(words(vmap([](const Key& k) { return k; })(keys)), words(keys));
}

TEST(JaxCases, case_169_fold_in_of_the_axis_index) {
  const auto draw = [](Tensor<>) { return random::uniform<float>(random::fold_in(random::key(3), axis_index("i")), {2}); };
  const std::vector<float> expected{0.008695364f, 0.0439884663f, 0.0259946585f, 0.541739106f, 0.278339505f, 0.00704133511f, 0.273577332f, 0.964946985f, 0.947590709f, 0.99920857f};
  EXPECT_TRUE(same(pmap(draw, {.axis_name = "i", .in_axes = each(0)})(arange<float>(5)), {5, 2}, expected));
  EXPECT_TRUE(same(vmap(draw, "i")(arange<float>(5)), {5, 2}, expected));
}

TEST(JaxCases, vectors_bits) {
  const auto key = random::key(0);
  EXPECT_TRUE(same(random::bits<std::uint32_t>(key, {2, 3}), {2, 3}, {0xf29a4fa7, 0xfa843692, 0x55110e28, 0x77faa835, 0x91e43bb7, 0x2a5e6943}));
  EXPECT_TRUE(same(random::bits<std::uint8_t>(key, {5}), {5}, {167, 146, 40, 53, 183}));
  EXPECT_TRUE(same(random::bits<std::uint16_t>(key, {5}), {5}, {20391, 13970, 3624, 43061, 15287}));
  EXPECT_TRUE(same(random::bits<std::uint64_t>(key, {2}), {2}, {7719171245655871230u, 3989946895414531357u}));
  EXPECT_TRUE(same(random::bits<std::uint8_t>(random::key(1701), {3}), {3}, {37, 59, 52}));
  EXPECT_TRUE(same(random::bits<std::uint16_t>(random::key(1701), {3}), {3}, {42789, 29755, 60468}));
  EXPECT_TRUE(same(random::bits<std::uint32_t>(random::key(1701), {3}), {3}, {1111271205, 2679469115, 974515252}));
  EXPECT_TRUE(same(random::bits<std::uint64_t>(random::key(42), {3}), {3}, {7871734211187709741u, 276886910877598708u, 10591095138341673235u}));
}

TEST(JaxCases, vectors_normal) {
  EXPECT_TRUE(same(random::normal<float>(random::key(0), {}), {}, {1.6226422f}, 2.4e-7));
  EXPECT_TRUE(same(random::normal<float>(random::key(0), {6}), {6}, {1.6226422f, 2.0252647f, -0.43359444f, -0.078617349f, 0.1760909f, -0.97208923f}, 2.4e-7));
  EXPECT_TRUE(same(random::normal<float>(random::key(42), {5}), {5}, {-0.028304616f, 0.467131853f, 0.295702964f, 0.153545916f, -0.124032818f}, 2.4e-7));
  EXPECT_TRUE(same(random::normal<double>(random::key(0), {3}), {3}, {-0.2058421394796434, -0.7847657764467411, 1.8160866726679836}, 4e-15));
  EXPECT_TRUE(same(random::normal<double>(random::key(42), {3}), {3}, {-0.18471174528191162, -2.1698245603977542, 0.18693555179382582}, 4e-15));
}

TEST(JaxCases, vectors_permutation) {
  const auto of = [](int seed, Index n) { return random::permutation(random::key(seed), n); };
  EXPECT_TRUE(same(of(0, 8), {8}, {0, 1, 5, 6, 4, 3, 2, 7}));
  EXPECT_TRUE(same(of(42, 5), {5}, {4, 2, 3, 0, 1}));
  EXPECT_TRUE(same(of(42, 8), {8}, {7, 4, 2, 5, 3, 6, 0, 1}));
  EXPECT_TRUE(same(of(0, 1), {1}, {0}));
  // From 1626 on there are two rounds.
  EXPECT_TRUE(same(slice(of(0, 2000), {0}, {8}), {8}, {988, 23, 1144, 1675, 1700, 884, 311, 1604}));
  EXPECT_TRUE(same(slice(of(1701, 2000), {0}, {5}), {5}, {445, 1512, 367, 1945, 1547}));
  EXPECT_TRUE(same(random::permutation(random::key(42), reshape(arange<float>(6), {3, 2})), {3, 2}, {4, 5, 0, 1, 2, 3}));
}

TEST(JaxCases, samplers_take_one_key) {
  const auto keys = random::split(random::key(0), 3);
  EXPECT_THROW(random::normal<float>(keys, {2}), TypeError);
  EXPECT_THROW(random::uniform<float>(keys, {2}), TypeError);
  EXPECT_THROW(random::split(keys, 2), TypeError);
}

}  // namespace
