// Every operation of the list against a plain loop; and what float32 gives, against JAX's numbers.
#include "support/operations.hpp"

#include <limits>

using namespace spmd;
using check::close, check::D, check::Ds;

namespace {

class OpsValues : public check::PerOperation {};
INSTANTIATE_TEST_SUITE_P(All, OpsValues, testing::ValuesIn(check::operation_pointers()), check::operation_name);

TEST_P(OpsValues, equal_a_plain_loop) {
  const auto& op = *GetParam();
  EXPECT_TRUE(close(op.run(op.inputs), op.expected(op.inputs), 1e-13)) << op.name;
}

TEST_P(OpsValues, leave_their_operands_alone) {
  const auto& op = *GetParam();
  const auto before = op.inputs[0].to_vector();
  op.run(op.inputs);
  EXPECT_EQ(op.inputs[0].to_vector(), before);
}

TEST(Elementwise, fused_over_many_tiles) {
  for (auto& op : check::operations()) {
    if (!op.elementwise || op.inputs[0].rank() == 0) continue;
    // 2175 elements, each sample beside itself: more than are computed at once, and no multiple of a tile.
    Ds large;
    for (auto& x : op.inputs) large.push_back(reshape(broadcast_to(expand_dims(x, -1), Shape{3, 5, 145}), Shape{3, 725}));
    const auto out = reshape(op.run(large), Shape{3, 5, 145});
    EXPECT_TRUE(close(out, broadcast_to(expand_dims(op.expected(op.inputs), -1), Shape{3, 5, 145}), 1e-13)) << op.name;
  }
}

// ---------------------------------------------------------------- float32 against JAX

using F = Tensor<float>;
constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

struct Float32 {
  const char* name;
  F (*run)(const F&);
  std::vector<float> x, jax;
  double tolerance = 1e-6;  // neither is rounded correctly
};
std::ostream& operator<<(std::ostream& out, const Float32& row) { return out << row.name; }
class OpsFloat32 : public testing::TestWithParam<Float32> {};

TEST_P(OpsFloat32, equal_jax) {
  auto& [name, run, x, jax, tolerance] = GetParam();
  const auto out = run(array(x)).to_vector();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto message = [&] { return testing::Message() << name << " of " << x[i] << " is " << out[i] << ", not " << jax[i]; };
    if (std::isnan(jax[i])) {
      EXPECT_TRUE(std::isnan(out[i])) << message();
      continue;
    }
    EXPECT_EQ(std::signbit(out[i]), std::signbit(jax[i])) << message();
    if (std::isinf(jax[i]) || std::isinf(x[i])) EXPECT_EQ(out[i], jax[i]) << message();
    else if (jax[i] == 0) EXPECT_LT(std::fabs(out[i]), std::numeric_limits<float>::min()) << message();  // XLA has no subnormal numbers
    else EXPECT_NEAR(out[i], jax[i], tolerance * std::fabs(jax[i])) << message();
  }
}

const Float32 float32_rows[] = {
    {"abs", [](const F& x) { return abs(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {inf, 3.5f, 2.5f, 1.0f, 0.5f, 0.1f, 1e-08f, 0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan}},
    {"sign", [](const F& x) { return sign(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-1.0f, -1.0f, -1.0f, -1.0f, -1.0f, -1.0f, -1.0f, -0.0f, 0.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, nan}},
    {"exp", [](const F& x) { return exp(x); },
     {-100.0f, -20.0f, -5.0f, -1.0f, -0.1f, -0.0f, 0.0f, 0.1f, 1.0f, 5.0f, 20.0f, 88.0f, 100.0f, inf, -inf, nan},
     {0.0f, 2.0611537e-09f, 0.006737947f, 0.36787945f, 0.9048374f, 1.0f, 1.0f, 1.105171f, 2.7182817f, 148.41316f, 4.851652e+08f, 1.6516363e+38f, inf, inf, 0.0f, nan}},
    {"expm1", [](const F& x) { return expm1(x); },
     {-100.0f, -20.0f, -5.0f, -1.0f, -0.1f, -0.0f, 0.0f, 0.1f, 1.0f, 5.0f, 20.0f, 88.0f, 100.0f, inf, -inf, nan},
     {-1.0f, -1.0f, -0.99326205f, -0.63212055f, -0.09516256f, -0.0f, 0.0f, 0.105170906f, 1.7182817f, 147.41316f, 4.851652e+08f, 1.6516363e+38f, inf, inf, -1.0f, nan}},
    {"log", [](const F& x) { return log(x); },
     {-1.0f, -0.0f, 0.0f, 1e-30f, 1e-08f, 0.1f, 0.5f, 1.0f, 2.0f, 10.0f, 1e+10f, inf, nan},
     {nan, -inf, -inf, -69.07755f, -18.420681f, -2.3025851f, -0.6931472f, 0.0f, 0.6931472f, 2.3025851f, 23.02585f, inf, nan}},
    {"log1p", [](const F& x) { return log1p(x); },
     {-1.0f, -0.5f, -0.0f, 0.0f, 1e-30f, 1e-08f, 0.1f, 0.5f, 1.0f, 2.0f, 10.0f, 1e+10f, inf, nan},
     {-inf, -0.6931472f, -0.0f, 0.0f, 1e-30f, 1e-08f, 0.09531018f, 0.4054651f, 0.6931472f, 1.0986123f, 2.3978953f, 23.02585f, inf, nan}},
    {"sqrt", [](const F& x) { return sqrt(x); },
     {-1.0f, -0.0f, 0.0f, 1e-30f, 1e-08f, 0.1f, 0.5f, 1.0f, 2.0f, 10.0f, 1e+10f, inf, nan},
     {nan, -0.0f, 0.0f, 1e-15f, 0.0001f, 0.31622776f, 0.70710677f, 1.0f, 1.4142135f, 3.1622777f, 100000.0f, inf, nan}},
    {"rsqrt", [](const F& x) { return rsqrt(x); },
     {-1.0f, -0.0f, 0.0f, 1e-30f, 1e-08f, 0.1f, 0.5f, 1.0f, 2.0f, 10.0f, 1e+10f, inf, nan},
     {nan, -inf, inf, 1e+15f, 10000.0f, 3.1622775f, 1.4142135f, 1.0f, 0.70710677f, 0.31622776f, 1e-05f, 0.0f, nan}},
    {"square", [](const F& x) { return square(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {inf, 12.25f, 6.25f, 1.0f, 0.25f, 0.010000001f, 1e-16f, 0.0f, 0.0f, 1e-16f, 0.010000001f, 0.09f, 0.25f, 1.0f, 2.25f, 6.25f, 12.25f, 100.0f, inf, nan}},
    {"sin", [](const F& x) { return sin(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {nan, 0.35078323f, -0.5984721f, -0.84147096f, -0.47942555f, -0.09983342f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.09983342f, 0.29552022f, 0.47942555f, 0.84147096f, 0.997495f, 0.5984721f, -0.35078323f, -0.5440211f, nan, nan}},
    {"cos", [](const F& x) { return cos(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {nan, -0.9364567f, -0.8011436f, 0.5403023f, 0.87758255f, 0.9950042f, 1.0f, 1.0f, 1.0f, 1.0f, 0.9950042f, 0.9553365f, 0.87758255f, 0.5403023f, 0.0707372f, -0.8011436f, -0.9364567f, -0.8390715f, nan, nan}},
    {"tan", [](const F& x) { return tan(x); },
     {-1.5f, -0.0f, 0.0f, 0.5f, 1.0f, 1.5f, inf, nan},
     {-14.10142f, -0.0f, 0.0f, 0.5463025f, 1.5574077f, 14.10142f, nan, nan}},
    {"asin", [](const F& x) { return asin(x); },
     {-1.5f, -1.0f, -0.9f, -0.5f, -0.0001f, -0.0f, 0.0f, 0.0001f, 0.25f, 0.5f, 0.999f, 1.0f, 1.5f, nan},
     {nan, -1.5707964f, -1.1197695f, -0.5235988f, -0.0001f, -0.0f, 0.0f, 0.0001f, 0.25268024f, 0.5235988f, 1.5260715f, 1.5707964f, nan, nan}},
    {"acos", [](const F& x) { return acos(x); },
     {-1.5f, -1.0f, -0.9f, -0.5f, -0.0001f, -0.0f, 0.0f, 0.0001f, 0.25f, 0.5f, 0.999f, 1.0f, 1.5f, nan},
     {nan, 3.1415927f, 2.6905658f, 2.0943952f, 1.5708963f, 1.5707964f, 1.5707964f, 1.5706964f, 1.3181161f, 1.0471976f, 0.044724803f, 0.0f, nan, nan}},
    {"atan", [](const F& x) { return atan(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-1.5707964f, -1.2924967f, -1.19029f, -0.7853981f, -0.46364754f, -0.09966866f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.09966866f, 0.2914568f, 0.46364754f, 0.7853981f, 0.9827938f, 1.19029f, 1.2924967f, 1.4711277f, 1.5707964f, nan}},
    {"sinh", [](const F& x) { return sinh(x); },
     {-10.0f, -1.0f, -0.0001f, -0.0f, 0.0f, 0.0001f, 1.0f, 10.0f, inf, nan},
     {-11013.228f, -1.1752012f, -0.000100000005f, -0.0f, 0.0f, 0.000100000005f, 1.1752012f, 11013.228f, inf, nan}},
    {"cosh", [](const F& x) { return cosh(x); },
     {-10.0f, -1.0f, 0.0f, 0.0001f, 1.0f, 10.0f, inf, nan},
     {11013.228f, 1.5430806f, 1.0f, 1.0f, 1.5430806f, 11013.228f, inf, nan}},
    {"tanh", [](const F& x) { return tanh(x); },
     {-100.0f, -20.0f, -5.0f, -1.0f, -0.1f, -0.0f, 0.0f, 0.1f, 1.0f, 5.0f, 20.0f, 88.0f, 100.0f, inf, -inf, nan},
     {-1.0f, -1.0f, -0.99990916f, -0.7615942f, -0.09966799f, -0.0f, 0.0f, 0.09966799f, 0.7615942f, 0.99990916f, 1.0f, 1.0f, 1.0f, 1.0f, -1.0f, nan}},
    {"sigmoid", [](const F& x) { return sigmoid(x); },
     {-100.0f, -20.0f, -5.0f, -1.0f, -0.1f, -0.0f, 0.0f, 0.1f, 1.0f, 5.0f, 20.0f, 88.0f, 100.0f, inf, -inf, nan},
     {0.0f, 2.0611537e-09f, 0.006692851f, 0.26894143f, 0.4750208f, 0.5f, 0.5f, 0.5249792f, 0.7310586f, 0.9933072f, 1.0f, 1.0f, 1.0f, 1.0f, 0.0f, nan}},
    {"relu", [](const F& x) { return relu(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan}},
    {"softplus", [](const F& x) { return softplus(x); },
     {-100.0f, -20.0f, -5.0f, -1.0f, -0.1f, -0.0f, 0.0f, 0.1f, 1.0f, 5.0f, 20.0f, 88.0f, 100.0f, inf, -inf, nan},
     {0.0f, 2.0611537e-09f, 0.0067153485f, 0.3132617f, 0.64439666f, 0.6931472f, 0.6931472f, 0.7443967f, 1.3132617f, 5.0067153f, 20.0f, 88.0f, 100.0f, inf, 0.0f, nan}},
    {"gelu", [](const F& x) { return gelu(x); },
     {-5.0f, -2.0f, -1.0f, -0.1f, 0.0f, 0.1f, 1.0f, 2.0f, 5.0f, nan},
     {-0.0f, -0.045402348f, -0.15880796f, -0.046017252f, 0.0f, 0.053982753f, 0.841192f, 1.9545977f, 5.0f, nan}, 1e-5},
    {"erf", [](const F& x) { return erf(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-1.0f, -0.9999992f, -0.999593f, -0.84270084f, -0.5204999f, -0.112462915f, -1.1283791e-08f, -0.0f, 0.0f, 1.1283791e-08f, 0.112462915f, 0.3286268f, 0.5204999f, 0.84270084f, 0.96610504f, 0.999593f, 0.9999992f, 1.0f, 1.0f, nan}},
    {"erf_inv", [](const F& x) { return erf_inv(x); },
     {-1.5f, -1.0f, -0.9f, -0.5f, -0.0001f, -0.0f, 0.0f, 0.0001f, 0.25f, 0.5f, 0.999f, 1.0f, 1.5f, nan},
     {nan, -inf, -1.163087f, -0.47693628f, -8.8622684e-05f, -0.0f, 0.0f, 8.8622684e-05f, 0.22531207f, 0.47693628f, 2.3267577f, inf, nan, nan}},
    {"floor", [](const F& x) { return floor(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-inf, -4.0f, -3.0f, -1.0f, -1.0f, -1.0f, -1.0f, -0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 1.0f, 2.0f, 3.0f, 10.0f, inf, nan}},
    {"ceil", [](const F& x) { return ceil(x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-inf, -3.0f, -2.0f, -1.0f, -0.0f, -0.0f, -0.0f, -0.0f, 0.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 2.0f, 3.0f, 4.0f, 10.0f, inf, nan}},
    {"round", [](const F& x) { return round(x); },
     {-2.5f, -1.5f, -0.5f, -0.0f, 0.0f, 0.5f, 1.5f, 2.5f, 3.5f, 0.49999997f, 8.388609e+06f, 1e+20f, inf, nan},
     {-2.0f, -2.0f, -0.0f, -0.0f, 0.0f, 0.0f, 2.0f, 2.0f, 4.0f, 0.0f, 8.388609e+06f, 1e+20f, inf, nan}},
    {"clip", [](const F& x) { return clip(x, -1, 2); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-1.0f, -1.0f, -1.0f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.0f, 2.0f, 2.0f, 2.0f, nan}},
    {"negate", [](const F& x) { return -x; },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {inf, 3.5f, 2.5f, 1.0f, 0.5f, 0.1f, 1e-08f, 0.0f, -0.0f, -1e-08f, -0.1f, -0.3f, -0.5f, -1.0f, -1.5f, -2.5f, -3.5f, -10.0f, -inf, nan}},
    {"x / 0", [](const F& x) { return x / 0.0f; },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-inf, -inf, -inf, -inf, -inf, -inf, -inf, nan, nan, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, nan}},
    {"pow 3", [](const F& x) { return pow(x, 3.0f); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-inf, -42.875f, -15.625f, -1.0f, -0.125f, -0.001f, -1e-24f, -0.0f, 0.0f, 1e-24f, 0.001f, 0.027000003f, 0.125f, 1.0f, 3.375f, 15.625f, 42.875f, 1000.0f, inf, nan}},
    {"pow 0", [](const F& x) { return pow(x, 0.0f); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f}},
    {"pow 0.5", [](const F& x) { return pow(x, 0.5f); },
     {-1.0f, -0.0f, 0.0f, 1e-30f, 1e-08f, 0.1f, 0.5f, 1.0f, 2.0f, 10.0f, 1e+10f, inf, nan},
     {nan, 0.0f, 0.0f, 1e-15f, 0.0001f, 0.31622776f, 0.70710677f, 1.0f, 1.4142135f, 3.1622777f, 100000.0f, inf, nan}},
    {"2 to x", [](const F& x) { return pow(2.0f, x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {0.0f, 0.088388346f, 0.17677669f, 0.5f, 0.70710677f, 0.933033f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0717734f, 1.2311444f, 1.4142135f, 2.0f, 2.828427f, 5.656854f, 11.313708f, 1024.0f, inf, nan}},
    {"fmod 3", [](const F& x) { return fmod(x, 3.0f); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {nan, -0.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 0.5f, 1.0f, nan, nan}},
    {"maximum", [](const F& x) { return maximum(x, 0.3f); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan}},
    {"minimum", [](const F& x) { return minimum(x, 0.3f); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, nan}},
    {"atan2 of x and -2", [](const F& x) { return atan2(x, -2.0f); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {-1.5707964f, -2.0899425f, -2.2455373f, -2.6779451f, -2.896614f, -3.0916343f, -3.1415927f, -3.1415927f, 3.1415927f, 3.1415927f, 3.0916343f, 2.9927027f, 2.896614f, 2.6779451f, 2.4980917f, 2.2455373f, 2.0899425f, 1.7681918f, 1.5707964f, nan}},
    {"atan2 of 0 and x", [](const F& x) { return atan2(0.0f, x); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {3.1415927f, 3.1415927f, 3.1415927f, 3.1415927f, 3.1415927f, 3.1415927f, 3.1415927f, 3.1415927f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, nan}},
    {"isfinite", [](const F& x) { return cast<float>(isfinite(x)); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {0.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.0f, 0.0f}},
    {"isnan", [](const F& x) { return cast<float>(isnan(x)); },
     {-inf, -3.5f, -2.5f, -1.0f, -0.5f, -0.1f, -1e-08f, -0.0f, 0.0f, 1e-08f, 0.1f, 0.3f, 0.5f, 1.0f, 1.5f, 2.5f, 3.5f, 10.0f, inf, nan},
     {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f}},
    {"softmax", [](const F& x) { return softmax(x); },
     {-3.0f, 0.0f, 1.5f, 2.0f, 100.0f},
     {0.0f, 0.0f, 0.0f, 0.0f, 1.0f}},
    {"log_softmax", [](const F& x) { return log_softmax(x); },
     {-3.0f, 0.0f, 1.5f, 2.0f, 100.0f},
     {-103.0f, -100.0f, -98.5f, -98.0f, 0.0f}},
    {"cumsum", [](const F& x) { return cumsum(x); },
     {1.0f, 2.5f, -1.0f, 0.1f, inf, 1.0f},
     {1.0f, 3.5f, 2.5f, 2.6f, inf, inf}},
    {"sort", [](const F& x) { return sort(x); },
     {3.0f, nan, -inf, 0.5f, -2.0f, inf, 0.5f},
     {-inf, -2.0f, 0.5f, 0.5f, 3.0f, inf, nan}},
};
INSTANTIATE_TEST_SUITE_P(Jax, OpsFloat32, testing::ValuesIn(float32_rows));

}  // namespace
