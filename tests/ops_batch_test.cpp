// Every operation of the list under maps: vmap is the loop over lanes, for whichever operands are mapped, at two levels and together with
// gradients; and pmap over 1, 2, 3 and 8 devices is vmap.
#include "support/operations.hpp"

using namespace spmd;
using check::close, check::D, check::Ds, check::Operation;

namespace {

const auto setup = (set_host_device_count(8), 0);

/// The sample with its elements in another order: still in the domain.
D lane(const D& x, Index i) { return roll(x, 2 * i + (i > 3)); }
/// n lanes of the operands in the mask; the others as they are.
Ds lanes(const Ds& xs, unsigned mask, Index n) {
  Ds out;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    Ds rows;
    for (Index i = 0; i < n; ++i) rows.push_back(lane(xs[k], i));
    out.push_back(mask >> k & 1 ? stack(rows) : xs[k]);
  }
  return out;
}
/// One lane of those.
Ds one_lane(const Ds& xs, unsigned mask, Index i) {
  Ds out;
  for (std::size_t k = 0; k < xs.size(); ++k) out.push_back(mask >> k & 1 ? xs[k][i] : xs[k]);
  return out;
}
MapOptions over(const Ds& xs, unsigned mask) {
  std::vector<AxisSpec> specs;
  for (std::size_t k = 0; k < xs.size(); ++k) specs.push_back(mask >> k & 1 ? each(0) : replicated);
  return {.in_axes = AxisSpecs(std::vector<AxisSpec>{AxisSpec(specs)}), .out_axes = each(0)};
}
template <class F> auto loop(F f, const Ds& xs, unsigned mask, Index n) {
  std::vector<decltype(f(xs))> out;
  for (Index i = 0; i < n; ++i) out.push_back(f(one_lane(xs, mask, i)));
  return out;
}
unsigned all_of(const Operation& op) { return (1u << op.inputs.size()) - 1; }
/// A gradient of every operand of which nothing cancels.
auto gradient_of(const Operation& op) {
  return grad([&op](const Ds& xs) {
    double i = 0;
    const auto y = op.run(xs);
    return sum(square(y) * check::tabulate(y.shape(), [&](const check::At&) { return std::cos(1 + i++); }));
  });
}

class OpsBatch : public check::PerOperation {};
INSTANTIATE_TEST_SUITE_P(All, OpsBatch, testing::ValuesIn(check::operation_pointers()), check::operation_name);

TEST_P(OpsBatch, vmap_is_the_loop) {
  const auto& op = *GetParam();
  for (unsigned mask = 1; mask <= all_of(op); ++mask) {
    const auto xs = lanes(op.inputs, mask, 3);
    EXPECT_TRUE(close(vmap(op.run, over(xs, mask))(xs), stack(loop(op.run, xs, mask, 3)), 1e-13)) << op.name << ", operands " << mask;
  }
}

TEST_P(OpsBatch, vmap_of_vmap_is_two_loops) {
  const auto& op = *GetParam();
  for (unsigned outer = 1; outer <= all_of(op); ++outer) {
    // Some operands are mapped by both, some by one.
    const unsigned inner = op.inputs.size() > 1 ? all_of(op) ^ (outer & (outer - 1)) : 1;
    auto xs = lanes(lanes(op.inputs, inner, 3), outer, 2);
    const auto f = [&](const Ds& x) { return vmap(op.run, over(x, inner))(x); };
    Ds expected;
    for (Index i = 0; i < 2; ++i) {
      const auto x = one_lane(xs, outer, i);
      expected.push_back(stack(loop(op.run, x, inner, 3)));
    }
    EXPECT_TRUE(close(vmap(f, over(xs, outer))(xs), stack(expected), 1e-13)) << op.name << ", operands " << outer << " and " << inner;
  }
}

TEST_P(OpsBatch, vmap_of_grad_is_the_loop) {
  const auto& op = *GetParam();
  const auto f = gradient_of(op);
  for (unsigned mask = 1; mask <= all_of(op); ++mask) {
    const auto xs = lanes(op.inputs, mask, 3);
    const auto out = vmap(f, over(xs, mask))(xs);
    const auto expected = loop(f, xs, mask, 3);
    for (std::size_t k = 0; k < xs.size(); ++k)
      for (Index i = 0; i < 3; ++i) EXPECT_TRUE(close(out[k][i], expected[static_cast<std::size_t>(i)][k], 1e-12)) << op.name << ", operands " << mask << ", gradient of " << k << ", lane " << i;
  }
}

TEST_P(OpsBatch, grad_of_vmap_is_the_loop) {
  const auto& op = *GetParam();
  const auto mask = all_of(op);
  const auto xs = lanes(op.inputs, mask, 3);
  const auto loss = [&](const Ds& x) {
    double i = 0;
    const auto y = op.run(x);
    return sum(square(y) * check::tabulate(y.shape(), [&](const check::At&) { return std::cos(1 + i++); }));
  };
  const auto out = grad([&](const Ds& x) { return sum(vmap(loss, over(x, mask))(x)); })(xs);
  const auto expected = loop(gradient_of(op), xs, mask, 3);
  for (std::size_t k = 0; k < xs.size(); ++k)
    for (Index i = 0; i < 3; ++i) EXPECT_TRUE(close(out[k][i], expected[static_cast<std::size_t>(i)][k], 1e-12)) << op.name << ", gradient of " << k << ", lane " << i;
}

TEST_P(OpsBatch, pmap_is_vmap) {
  const auto& op = *GetParam();
  const auto mask = all_of(op);
  for (Index n : {1, 2, 3, 8}) {
    const auto xs = lanes(op.inputs, mask, n);
    const auto out = pmap(op.run, over(xs, mask))(xs);
    EXPECT_EQ(out.shards(), n);
    EXPECT_TRUE(close(out, vmap(op.run, over(xs, mask))(xs), 1e-13)) << op.name << " on " << n << " devices";
  }
}

TEST_P(OpsBatch, pmap_of_grad_is_vmap_of_grad) {
  const auto& op = *GetParam();
  const auto f = gradient_of(op);
  const auto mask = all_of(op);
  const auto xs = lanes(op.inputs, mask, 3);
  const auto out = pmap(f, over(xs, mask))(xs), expected = vmap(f, over(xs, mask))(xs);
  for (std::size_t k = 0; k < xs.size(); ++k) EXPECT_TRUE(close(out[k], expected[k], 1e-12)) << op.name << ", gradient of " << k;
}

TEST_P(OpsBatch, no_lanes_at_all) {
  const auto& op = *GetParam();
  Ds none;
  for (auto& x : op.inputs) none.push_back(zeros<double>(detail::with_front(0, x.shape())));
  EXPECT_EQ(vmap(op.run, over(none, all_of(op)))(none).shape(), detail::with_front(0, op.expected(op.inputs).shape())) << op.name;
}

// ---------------------------------------------------------------- captured tensors, and lanes elsewhere

TEST(Captured, operands_of_every_operation_are_mapped_alike) {
  for (auto& op : check::operations()) {
    if (op.inputs.size() != 2) continue;
    const auto xs = lanes(op.inputs, 1, 3);
    // The second operand comes from outside of the map, the first from an outer one.
    const auto out = vmap([&](const D& x) { return vmap([&](const D& y) { return op.run({x, y}); })(stack({xs[1], lane(xs[1], 1)})); })(xs[0]);
    for (Index i = 0; i < 3; ++i) {
      EXPECT_TRUE(close(out[i][0], op.run({xs[0][i], xs[1]}), 1e-13)) << op.name;
      EXPECT_TRUE(close(out[i][1], op.run({xs[0][i], lane(xs[1], 1)}), 1e-13)) << op.name;
    }
  }
}

TEST(Lanes, along_other_axes) {
  const auto x = check::sample({3, 4, 5});
  EXPECT_TRUE(close(vmap([](D v) { return cumsum(v, 0); }, {.in_axes = 1, .out_axes = -1})(x), transpose(cumsum(x, 0), {0, 2, 1}), 1e-13));
  EXPECT_TRUE(close(vmap([](D v) { return sort(v); }, {.in_axes = -1, .out_axes = 2})(x), sort(x, 1), 1e-13));
}

}  // namespace
