// Random numbers against JAX 0.10.2: the vectors of key(0) and values of other keys, types and ranges. (f16: as XLA computes it for processors
// without f16 arithmetic.)
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::same;
using random::Mode;
using Words = std::vector<std::uint32_t>;

/// Absolute and relative tolerance of samplers that take JAX's own logarithm, which is not quite ours.
constexpr double close = 1e-6;

Words words(const Key& key) { return random::key_data(key).to_vector(); }

/// draw(shape) has these values, for the shapes (2, 3) and (5).
template <class F, class T = typename std::invoke_result_t<F, Shape>::value_type>
void expect_six(F draw, const std::vector<std::conditional_t<std::is_floating_point_v<T>, double, T>>& values, double tolerance = 0) {
  std::vector<T> six;
  for (const auto value : values) six.push_back(static_cast<T>(value));
  EXPECT_TRUE(same(draw(Shape{2, 3}), Shape{2, 3}, six, tolerance));
  EXPECT_TRUE(same(draw(Shape{5}), Shape{5}, std::vector<T>(six.begin(), six.begin() + 5), tolerance));
}
/// Depends on the bits of every element and on its place.
template <class T> std::uint64_t checksum(const Tensor<T>& x) {
  std::uint64_t sum = 0;
  for (Index i = 0; i < x.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, x.data() + i, sizeof(T));
    sum += static_cast<std::uint64_t>(i + 1) * word;
  }
  return sum;
}

TEST(Random, keys) {
  EXPECT_EQ(words(Key(0)), (Words{0, 0}));
  EXPECT_EQ(words(random::key(0)), (Words{0, 0}));
  EXPECT_EQ(words(random::key((std::int64_t{7} << 32) + 5)), (Words{0, 5}));
  EXPECT_EQ(words(random::key(std::uint8_t{200})), (Words{0, 200}));
  const Words three{0x6b200159, 0x99ba4efe, 0x375f238f, 0xcddb151d, 0xf71f4ea9, 0xa20e4081};
  EXPECT_EQ(words(random::split(Key(0), 3)), three);
  EXPECT_EQ(words(random::split(Key(0))), Words(three.begin(), three.begin() + 4));
  EXPECT_EQ(words(random::split(Key(0), std::size_t{3})), three);
  EXPECT_EQ(random::split(Key(0), 0).shape(), Shape{0});
  const auto square = random::split(Key(42), {2, 2});
  EXPECT_EQ(square.shape(), (Shape{2, 2}));
  EXPECT_EQ(square.size(), 4);
  EXPECT_EQ(words(square), (Words{1832780943, 270669613, 64467757, 2916123636, 2465931498, 255383827, 3134548294, 894150801}));
  EXPECT_EQ(words(square[-1][0]), (Words{2465931498, 255383827}));
  EXPECT_EQ(words(random::fold_in(Key(0), 7)), (Words{0xa1ef7a4d, 0x116eb6b3}));
  for (const auto& last : {random::fold_in(Key(42), -1), random::fold_in(Key(42), 4294967295u), random::fold_in(Key(42), (std::int64_t{3} << 32) - 1),
                           random::fold_in(Key(42), Tensor<std::int32_t>(-1)), random::fold_in(Key(42), Tensor<std::int8_t>(-1)), random::fold_in(Key(42), Tensor<std::uint64_t>(~0ull))})
    EXPECT_EQ(words(last), (Words{2398536845, 3890976714}));
  EXPECT_EQ(words(random::wrap_key_data(random::key_data(square))), words(square));
  EXPECT_EQ(words(rng::key(3)), (Words{0, 3}));
}

TEST(Random, bits) {
  expect_six([](const Shape& s) { return random::bits<std::uint32_t>(Key(0), s); }, {0xf29a4fa7, 0xfa843692, 0x55110e28, 0x77faa835, 0x91e43bb7, 0x2a5e6943});
  expect_six([](const Shape& s) { return random::bits<std::uint8_t>(Key(0), s); }, {0xa7, 0x92, 0x28, 0x35, 0xb7, 0x43});
  expect_six([](const Shape& s) { return random::bits<std::uint16_t>(Key(0), s); }, {0x4fa7, 0x3692, 0x0e28, 0xa835, 0x3bb7, 0x6943});
  expect_six([](const Shape& s) { return random::bits<std::uint64_t>(Key(0), s); },
             {0x6b20015999ba4efe, 0x375f238fcddb151d, 0xf71f4ea9a20e4081, 0x9312778be4e8dfbe, 0x883ffec119dbc576, 0x5adb10de7085799d});
  EXPECT_TRUE(same(random::bits(Key(0), {}), {}, {0xf29a4fa7}));
  EXPECT_EQ(random::bits(Key(0), {3, 0, 2}).shape(), (Shape{3, 0, 2}));
}

TEST(Random, uniform) {
  expect_six([](const Shape& s) { return random::uniform<float>(Key(0), s); }, {0.947667, 0.97857988, 0.33229148, 0.46866846, 0.56988871, 0.16550303});
  expect_six([](const Shape& s) { return random::uniform<double>(Key(0), s); },
             {0.41845711171638644, 0.21629545460551136, 0.9653214611189975, 0.5745005337275046, 0.5322264882505428, 0.35490518026974427});
  expect_six([](const Shape& s) { return cast<float>(random::uniform<float16>(Key(0), s)); }, {0.310546875, 0.212890625, 0.0546875, 0.65625, 0.232421875, 0.4111328125});
  expect_six([](const Shape& s) { return cast<float>(random::uniform<bfloat16>(Key(0), s)); }, {0.6484375, 0.5703125, 0.15625, 0.203125, 0.7109375, 0.2578125});
  expect_six([](const Shape& s) { return random::uniform<float>(Key(0), s, -3, 5.5); }, {5.0551696, 5.3179288, -0.17552239, 0.98368192, 1.844054, -1.5932243});
  // Bounds are rounded to the type, whatever theirs is.
  EXPECT_TRUE(same(random::uniform<float>(Key(1701), {5}, 0.1, 0.7f), {5}, {0.255242735f, 0.474317491f, 0.236138195f, 0.172919244f, 0.39719969f}));
  EXPECT_TRUE(same(random::uniform<float>(Key(0), {2}, bfloat16(-3.0f), std::int64_t{-3}), {2}, {-3, -3}));
  EXPECT_EQ(random::uniform(Key(0), {2, 0}).size(), 0);
}

/// Checksums of 1000 numbers of each range.
template <class T> void expect_uniform(int seed, const std::vector<std::uint64_t>& sums) {
  const double ranges[][2] = {{0, 1}, {-3, 5.5}, {0.1, 0.7}};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(checksum(random::uniform<T>(Key(seed), {1000}, ranges[i][0], ranges[i][1])), sums[i]) << seed << " " << i;
}
TEST(Random, uniform_by_checksum) {
  expect_uniform<float>(0, {0x1df22d15c74be, 0x332439860d292, 0x1df0905cbaf60});
  expect_uniform<double>(0, {0xb9c343295a3f5c58, 0xd469eacdd4edabca, 0xe392026f95822a9c});
  expect_uniform<float16>(0, {0x199eff958, 0x33a61d60b, 0x19a2722c5});
  expect_uniform<bfloat16>(0, {0x1dd066c52, 0x3539eaee8, 0x1def50289});
  expect_uniform<float>(1701, {0x1df1de4bfa0ce, 0x34f82cba56203, 0x1defb1b34d2cb});
  expect_uniform<double>(1701, {0x8532f541fd3e0de, 0x5561c7ee7ca83b04, 0xacf27a07c4b5ba48});
  expect_uniform<float16>(1701, {0x19a46a5c2, 0x35a300eea, 0x199c2acf8});
  expect_uniform<bfloat16>(1701, {0x1dd14d216, 0x32bfaa3c3, 0x1df11a71c});
  expect_uniform<float>(123456789, {0x1df3e8e4353b4, 0x3431ad03853aa, 0x1df107d8e0e64});
  expect_uniform<double>(123456789, {0x9aca367603ab8bc2, 0x9db70f271f25bf6, 0x871dc0dd3c706700});
  expect_uniform<float16>(123456789, {0x19c921012, 0x33f5016f0, 0x19b0e55ee});
  expect_uniform<bfloat16>(123456789, {0x1dc2f3210, 0x3589da13b, 0x1defbb96f});
}

TEST(Random, normal) {
  expect_six([](const Shape& s) { return random::normal<float>(Key(0), s); }, {1.6226422, 2.0252647, -0.43359444, -0.078617349, 0.1760909, -0.97208923}, 2.4e-7);
  expect_six([](const Shape& s) { return random::normal<double>(Key(0), s); },
             {-0.2058421394796434, -0.7847657764467411, 1.8160866726679836, 0.1878440128937887, 0.08086788103743275, -0.3721107933346203}, 4e-15);
  const auto of = []<class T>(T) { return cast<double>(random::normal<T>(Key(1701), {5})); };
  EXPECT_TRUE(same(of(0.0f), {5}, {-0.647241116, 0.315641105, -0.749104738, -1.16736209, -0.0116990339}, 2.4e-7));
  EXPECT_TRUE(same(of(0.0), {5}, {-0.94418314714499807, -2.0569372575624807, -2.2236966872817883, -0.78617489122489692, 1.4859825645388456}, 4e-15));
  EXPECT_TRUE(same(of(float16(0)), {5}, {0.392089844, -0.117126465, 1.41992188, 0.620605469, -1.10742188}, 1e-3));
  EXPECT_TRUE(same(of(bfloat16(0)), {5}, {-1.0625, -0.74609375, -0.82421875, 0.515625, -0.171875}, 1e-2));
  EXPECT_TRUE(same(slice(random::normal(Key(1701), {1000}), 996, 1000, 0), {4}, {-0.182650417f, -0.105143748f, 0.222846702f, -0.0831595138f}, 2.4e-7));
  EXPECT_TRUE(same(slice(random::normal<double>(Key(1701), {1000}), 996, 1000, 0), {4}, {1.040327578391899, 0.94501400105556865, -1.1584263756245055, 0.0060744860569690992}, 4e-15));
}

TEST(Random, truncated_normal) {
  expect_six([](const Shape& s) { return random::truncated_normal<float>(Key(0), -2, 2, s); }, {1.4559592, 1.7147487, -0.41267535, -0.075033434, 0.16800101, -0.91261411}, close);
  const auto of = []<class T>(T, int seed, double lo, double hi) { return cast<double>(random::truncated_normal<T>(Key(seed), lo, hi, {5})); };
  EXPECT_TRUE(same(of(0.0f, 1701, -1, 2.5), {5}, {-0.319334656, 0.4667615, -0.390333712, -0.642880082, 0.182296798}, close));
  EXPECT_TRUE(same(of(0.0, 1701, -1, 2.5), {5}, {-0.51651375310601488, -0.93369952926336186, -0.95581632434969199, -0.41534053104333563, 1.5257594132115018}, 4e-15));
  EXPECT_TRUE(same(of(float16(0), 1701, -1, 2.5), {5}, {0.534667969, 0.0931396484, 1.46191406, 0.738769531, -0.611816406}, 2e-3));
  EXPECT_TRUE(same(of(bfloat16(0), 1701, -1, 2.5), {5}, {-0.59765625, -0.392578125, -0.4453125, 0.64453125, 0.0439453125}, 2e-2));
  EXPECT_TRUE(same(of(0.0f, 7, 2, 3), {5}, {2.39437079, 2.89544654, 2.13773322, 2.21882558, 2.45170879}, 2e-5));
  EXPECT_TRUE(same(of(0.0, 7, 2, 3), {5}, {2.5981742643938839, 2.0183330775196207, 2.0983887681735607, 2.0261976939024007, 2.0047547570842434}, 1e-13));
  // Inside the open interval even where erf has nothing to tell apart.
  const auto far = random::truncated_normal<float>(Key(0), 10, 10.5, {100});
  EXPECT_TRUE(all(far > 10 && far < 10.5f).item());
  EXPECT_TRUE(same(random::truncated_normal<float>(Key(0), 0, 1e-45, {2}), {2}, {0, 0}));
}

TEST(Random, exponential) {
  expect_six([](const Shape& s) { return random::exponential<float>(Key(0), s); }, {2.9501281, 3.8434246, 0.40390354, 0.6323691, 0.84371126, 0.18092616}, 1.2e-7);
  const auto of = []<class T>(T) { return cast<double>(random::exponential<T>(Key(1701), {5})); };
  EXPECT_TRUE(same(of(0.0f), {5}, {0.299401045, 0.977800488, 0.257342994, 0.129575893, 0.68385613}, 1.2e-7));
  EXPECT_TRUE(same(of(0.0), {5}, {0.18939213394170878, 0.020045710222591835, 0.013170784378234043, 0.24319641905267469, 2.6788526326547375}, 3e-16));
  EXPECT_TRUE(same(of(float16(0)), {5}, {1.05664062, 0.603515625, 2.54882812, 1.31835938, 0.143676758}, 1e-3));
  EXPECT_TRUE(same(of(bfloat16(0)), {5}, {0.151367188, 0.2578125, 0.227539062, 1.1875, 0.5625}, 8e-3));
}

TEST(Random, gumbel) {
  expect_six([](const Shape& s) { return random::gumbel<float>(Key(0), s); }, {2.9233725, 3.8326178, -0.096893243, 0.27725708, 0.57569456, -0.58710074}, close);
  EXPECT_TRUE(same(random::gumbel<float>(Key(0), {5}, Mode::high), {5}, {-1.0818486f, -1.3463638f, 0.90657884f, 0.45828176f, 0.16994496f}, close));
  EXPECT_TRUE(same(random::gumbel<float>(Key(0), {2, 3}, Mode::high), {2, 3}, {-1.0818486f, -1.3463638f, 0.90657884f, 0.45828202f, 0.16994496f, 1.7096663f}, close));
  const auto of = []<class T>(T, Mode mode) { return cast<double>(random::gumbel<T>(Key(1701), {5}, mode)); };
  EXPECT_TRUE(same(of(0.0f, Mode::low), {5}, {-0.301540285, 0.751146495, -0.39424175, -0.74553901, 0.353073835}, close));
  EXPECT_TRUE(same(of(0.0, Mode::low), {5}, {-0.56368611376108502, -1.3660269104658402, -1.4670289151085247, -0.42724024767047003, 2.6435076253537457}, 1e-15));
  EXPECT_TRUE(same(of(float16(0), Mode::low), {5}, {0.850585938, 0.233764648, 2.50976562, 1.16699219, -0.69921875}, 2e-3));
  EXPECT_TRUE(same(of(bfloat16(0), Mode::low), {5}, {-0.671875, -0.39453125, -0.466796875, 1.015625, 0.169921875}, 2e-2));
  EXPECT_TRUE(same(of(0.0f, Mode::high), {5}, {1.20597076, 0.0224496294, 1.35734534, 2.04348779, 0.380007386}, close));
  EXPECT_TRUE(same(of(0.0, Mode::high), {5}, {1.6639356305513839, 3.9097401021064129, 4.3297542070479809, 1.4138858532885163, -0.98538858070856061}, 1e-15));
  EXPECT_TRUE(same(of(float16(0), Mode::high), {5}, {-0.0550842285, 0.503417969, -0.935546875, -0.276367188, 1.93652344}, 2e-3));
  EXPECT_TRUE(same(of(bfloat16(0), Mode::high), {5}, {1.8671875, 1.3359375, 1.453125, -0.171875, 0.57421875}, 2e-2));
}

TEST(Random, laplace) {
  expect_six([](const Shape& s) { return random::laplace<float>(Key(0), s); }, {-2.2569816, -3.1502788, 0.40859544, 0.06471242, -0.15056418, 1.1056185}, 1.2e-7);
  const auto of = []<class T>(T) { return cast<double>(random::laplace<T>(Key(1701), {5})); };
  EXPECT_TRUE(same(of(0.0f), {5}, {0.658792317, -0.284653425, 0.79011178, 1.41442955, 0.00937810354}, 1.2e-7));
  EXPECT_TRUE(same(of(0.0), {5}, {1.0639904059319201, 3.226599033776405, 3.6431851907892159, 0.83987374163078043, -1.9857054520947928}, 3e-16));
  EXPECT_TRUE(same(of(float16(0)), {5}, {-0.364013672, 0.0979003906, -1.859375, -0.625976562, 1.31640625}, 1e-3));
  EXPECT_TRUE(same(of(bfloat16(0)), {5}, {1.2578125, 0.78125, 0.890625, -0.5, 0.147460938}, 8e-3));
}

TEST(Random, bernoulli) {
  expect_six([](const Shape& s) { return random::bernoulli(Key(0), 0.3f, s); }, {false, false, false, false, false, true});
  expect_six([](const Shape& s) { return random::bernoulli(Key(0), 0.5f, s); }, {false, false, true, true, false, true});
  const auto of = []<class T>(T, const std::vector<std::int32_t>& by_tensor, const std::vector<std::int32_t>& high, std::int32_t count, std::int32_t high_count) {
    const auto p = cast<T>(array<double>({0.1, 0.5, 0.9}));
    EXPECT_TRUE(same(cast<std::int32_t>(random::bernoulli(Key(1701), p, {4, 3})), {4, 3}, by_tensor));
    const auto third = static_cast<T>(0.3);
    EXPECT_TRUE(same(cast<std::int32_t>(random::bernoulli(Key(1701), third, {8}, Mode::high)), {8}, high));
    EXPECT_EQ(sum(random::bernoulli(Key(1701), third, {1000})).item(), count);
    EXPECT_EQ(sum(random::bernoulli(Key(1701), third, {1000}, Mode::high)).item(), high_count);
  };
  of(0.0f, {0, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1}, {1, 0, 1, 1, 0, 0, 1, 1}, 320, 320);
  of(0.0, {0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1}, {1, 1, 1, 1, 0, 0, 0, 1}, 280, 280);
  of(float16(0), {0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1}, {0, 0, 0, 0, 1, 0, 0, 0}, 324, 322);
  of(bfloat16(0), {0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1}, {1, 1, 1, 0, 0, 1, 0, 0}, 287, 280);
  EXPECT_TRUE(same(random::bernoulli(Key(0), array<float>({0, 1})), {2}, {false, true}));
  EXPECT_EQ(random::bernoulli(Key(0), 0.5f).shape(), Shape{});
}

TEST(Random, randint) {
  expect_six([](const Shape& s) { return random::randint<std::int32_t>(Key(0), s, 0, 10); }, {9, 0, 2, 3, 1, 7});
  expect_six([](const Shape& s) { return random::randint<std::int32_t>(Key(0), s, -5, 1000); }, {554, 625, 417, 293, 951, 577});
  expect_six([](const Shape& s) { return random::randint<std::uint8_t>(Key(0), s, 0, 10); }, {9, 0, 2, 3, 1, 7});
  expect_six([](const Shape& s) { return random::randint<std::uint8_t>(Key(0), s, 0, 256); }, {101, 80, 200, 61, 3, 211});
  expect_six([](const Shape& s) { return random::randint<std::int64_t>(Key(0), s, 0, 10); }, {5, 1, 5, 7, 3, 5});
  const auto of = []<class T>(T, auto lo, auto hi) { return checksum(random::randint<T>(Key(42), {1000}, lo, hi)); };
  constexpr std::int64_t i31 = std::int64_t{1} << 31;
  constexpr std::uint64_t u63 = std::uint64_t{1} << 63;
  // All values of a type, and ranges that reach beyond it.
  EXPECT_EQ(of(std::int8_t{}, -128, 128), 0x3e19c8cu);
  EXPECT_EQ(of(std::int8_t{}, -300, 70000), 0x3e19c8cu);
  EXPECT_EQ(of(std::uint8_t{}, -300, 70000), 0x3ef818cu);
  EXPECT_EQ(of(std::int16_t{}, -32768, 32768), 0x3f3b5808cu);
  EXPECT_EQ(of(std::int16_t{}, -300, 70000), 0x1eb53b8f4u);
  EXPECT_EQ(of(std::uint16_t{}, -300, 70000), 0x3c394808cu);
  EXPECT_EQ(of(std::int32_t{}, -i31, i31), 0x3f010595c808cu);
  EXPECT_EQ(of(std::uint32_t{}, 0, 2 * i31), 0x3b2f1595c808cu);
  EXPECT_EQ(of(std::int64_t{}, std::numeric_limits<std::int64_t>::min(), u63), 0x27046692228446e3u);
  EXPECT_EQ(of(std::uint64_t{}, 0, ~std::uint64_t{0}), 0x27046692228446e3u);
  // Parts.
  for (const auto sum : {of(std::int8_t{}, 3, 100), of(std::uint8_t{}, 3u, 100), of(std::int16_t{}, 3, 100), of(std::uint16_t{}, 3, 100), of(std::int32_t{}, 3, 100), of(std::uint32_t{}, 3, 100u)})
    EXPECT_EQ(sum, 0x184bb83u);
  EXPECT_EQ(of(std::int64_t{}, 3, 100), 0x1859513u);
  EXPECT_EQ(of(std::uint64_t{}, 3, 100), 0x1859513u);
  EXPECT_EQ(of(std::int32_t{}, -300, 70000), 0xc4c188124f8u);
  EXPECT_EQ(of(std::uint32_t{}, -300, 70000), 0x416d68d8cu);
  EXPECT_EQ(of(std::uint32_t{}, 5, 3000000000u), 0x22ddf31c61904u);
  EXPECT_EQ(of(std::int64_t{}, -300, 70000), 0x3f792a8f7u);
  EXPECT_EQ(of(std::int64_t{}, -(std::int64_t{1} << 40), (std::int64_t{1} << 50) + 12345), 0x4d55f02e81910c16u);
  EXPECT_EQ(of(std::uint64_t{}, 5, u63 + 12345), 0x2704669165eebccfu);
  // Nothing between the bounds: the lower one.
  for (int hi : {7, 2, -1000}) EXPECT_TRUE(same(random::randint(Key(0), {3}, 7, hi), {3}, {7, 7, 7}));
  EXPECT_TRUE(same(random::randint<std::int8_t>(Key(0), {2}, 500, 400), {2}, {127, 127}));
  EXPECT_TRUE(same(random::randint<std::int32_t>(Key(0), {2}, i31, i31 + 5), {2}, {2147483647, 2147483647}));
}

TEST(Random, permutation) {
  const auto sum = [](int seed, Index n) { return checksum(random::permutation(Key(seed), n)); };
  EXPECT_TRUE(same(random::permutation(Key(0), 8), {8}, {0, 1, 5, 6, 4, 3, 2, 7}));
  EXPECT_TRUE(same(slice(random::permutation(Key(0), 2000), 0, 8, 0), {8}, {988, 23, 1144, 1675, 1700, 884, 311, 1604}));
  EXPECT_EQ(random::permutation(Key(0), 0).shape(), Shape{0});
  EXPECT_TRUE(same(random::permutation(Key(9), 1), {1}, {0}));
  EXPECT_TRUE(same(random::permutation(Key(0), 2), {2}, {0, 1}));
  EXPECT_EQ(sum(5, 1625), 0x3fdc341bu);  // one round
  EXPECT_EQ(sum(5, 1626), 0x4026ad79u);  // two
  EXPECT_EQ(sum(5, 2000), 0x784333ccu);
  EXPECT_EQ(sum(5, 70000), 0x4df6db2ba7cdu);  // three
  const auto x = reshape(arange<float>(12), {3, 4});
  EXPECT_TRUE(same(random::permutation(Key(3), x), {3, 4}, {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7}));
  EXPECT_TRUE(same(random::permutation(Key(3), x, -1), {3, 4}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11}));
  EXPECT_TRUE(same(random::permutation(Key(3), x, 0, true), {3, 4}, {0, 5, 6, 7, 4, 1, 10, 3, 8, 9, 2, 11}));
  EXPECT_TRUE(same(random::permutation(Key(3), x, 1, true), {3, 4}, {0, 2, 1, 3, 5, 6, 7, 4, 10, 9, 11, 8}));
  const auto y = reshape(arange<std::int32_t>(24), {2, 3, 4});
  EXPECT_TRUE(same(random::permutation(Key(3), y, 1, true), {2, 3, 4}, {0, 5, 6, 7, 4, 1, 10, 3, 8, 9, 2, 11, 20, 17, 14, 23, 12, 13, 18, 15, 16, 21, 22, 19}));
  const auto z = reshape(arange<std::int32_t>(2000), {40, 50});
  EXPECT_EQ(checksum(random::permutation(Key(3), z, 0, true)), 0x77242904u);
  EXPECT_EQ(checksum(random::permutation(Key(3), z, 1, true)), 0x9eebbe46u);
  EXPECT_EQ(random::permutation(Key(3), zeros<float>({0, 4})).shape(), (Shape{0, 4}));
  EXPECT_EQ(random::permutation(Key(3), zeros<float>({0, 4}), 1, true).shape(), (Shape{0, 4}));
}

TEST(Random, choice) {
  const auto rising = array<float>({0.1f, 0.2f, 0.3f, 0.4f}), falling = flip(rising);
  expect_six([](const Shape& s) { return random::choice(Key(0), 8, s); }, {5, 0, 0, 5, 3, 3});
  expect_six([](const Shape& s) { return random::choice(Key(0), 8, s, {.replace = false}); }, {0, 1, 5, 6, 4, 3});
  expect_six([&](const Shape& s) { return random::choice(Key(0), 4, s, rising); }, {0, 0, 3, 2, 2, 3});
  expect_six([&](const Shape& s) { return random::choice(Key(0), 4, s, falling); }, {0, 0, 1, 1, 1, 2});
  EXPECT_TRUE(same(random::choice(Key(0), 4, {3}, rising, {.replace = false}), {3}, {1, 0, 3}));
  EXPECT_TRUE(same(random::choice(Key(1701), 10, {2, 3}), {2, 3}, {2, 8, 7, 4, 2, 3}));
  EXPECT_TRUE(same(random::choice(Key(1701), 10, {2, 3}, {.replace = false}), {2, 3}, {9, 1, 8, 6, 5, 4}));
  EXPECT_TRUE(same(random::choice(Key(1701), 10), {}, {2}));
  const auto x = reshape(arange<float>(12), {3, 4}), p = array<float>({0.05f, 0.35f, 0.2f, 0.4f});
  EXPECT_TRUE(same(random::choice(Key(1701), x, {2, 2}), {2, 2, 4}, {4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_TRUE(same(random::choice(Key(1701), x, {5}, {.axis = 1}), {3, 5}, {0, 2, 1, 2, 0, 4, 6, 5, 6, 4, 8, 10, 9, 10, 8}));
  EXPECT_TRUE(same(random::choice(Key(1701), x, {2}, {.replace = false, .axis = -1}), {3, 2}, {1, 0, 5, 4, 9, 8}));
  EXPECT_TRUE(same(random::choice(Key(1701), x, {2, 3}, p, {.axis = 1}), {3, 2, 3}, {3, 1, 3, 3, 2, 0, 7, 5, 7, 7, 6, 4, 11, 9, 11, 11, 10, 8}));
  EXPECT_TRUE(same(random::choice(Key(1701), x, {3}, p, {.replace = false, .axis = 1}), {3, 3}, {1, 3, 2, 5, 7, 6, 9, 11, 10}));
  EXPECT_EQ(checksum(random::choice(Key(9), 4, {1000}, p)), 0xf3da2u);
  // Probabilities of every floating type.
  const auto certain = []<class T>(T) { return random::choice(Key(2), 4, {9}, cast<T>(array<float>({0, 0, 1, 0}))); };
  for (const auto& drawn : {certain(0.0f), certain(0.0), certain(float16(0)), certain(bfloat16(0))}) EXPECT_TRUE(same(drawn, Shape{9}, std::vector<std::int32_t>(9, 2)));
  EXPECT_EQ(random::choice(Key(0), 0, {0, 2}).shape(), (Shape{0, 2}));
  EXPECT_EQ(random::choice(Key(0), 4, {0}, rising).shape(), Shape{0});
  EXPECT_EQ(random::choice(Key(0), zeros<float>({0, 4}), {0}).shape(), (Shape{0, 4}));
}

TEST(Random, categorical) {
  const auto logits = array<float>({0.1f, 2, -1, 0.5f}), slope = reshape(arange<float>(12), {3, 4}) * 0.3f;
  expect_six([&](const Shape& s) { return random::categorical(Key(0), logits, -1, {.draws = s}); }, {1, 3, 2, 3, 1, 1});
  EXPECT_EQ(random::categorical(Key(0), logits).shape(), Shape{});
  EXPECT_TRUE(same(random::categorical(Key(1701), slope), {3}, {1, 1, 1}));
  EXPECT_TRUE(same(random::categorical(Key(1701), slope, 0), {4}, {2, 1, 2, 2}));
  EXPECT_TRUE(same(random::categorical(Key(1701), slope, -1, {.draws = {2}}), {2, 3}, {1, 1, 1, 3, 3, 0}));
  EXPECT_TRUE(same(random::categorical(Key(1701), slope, 0, {.draws = {2}}), {2, 4}, {2, 1, 2, 2, 2, 2, 2, 1}));
  EXPECT_TRUE(same(random::categorical(Key(1701), slope, -1, {.draws = {2}, .replace = false}), {2, 3}, {1, 1, 1, 2, 0, 0}));
  EXPECT_TRUE(same(random::categorical(Key(1701), slope, 0, {.draws = {2}, .replace = false}), {2, 4}, {2, 1, 2, 2, 1, 2, 1, 1}));
  EXPECT_TRUE(same(random::categorical(Key(1701), slope, 1, {.draws = {2, 2}, .replace = false}), {2, 2, 3}, {1, 1, 1, 2, 0, 0, 3, 3, 3, 0, 2, 2}));
  EXPECT_TRUE(same(random::categorical(Key(1701), slope, -1, {.mode = Mode::high}), {3}, {3, 2, 2}));
  EXPECT_TRUE(same(random::categorical(Key(1701), array<double>({0.1, 2, -1, 0.5}), -1, {.draws = {6}}), {6}, {1, 1, 0, 1, 1, 1}));
}

}  // namespace
