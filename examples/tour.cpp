// The small programs that people learn pmap with. Each prints what it claims, and the program fails if a claim is wrong.
#include <iostream>
#include <utility>

#include <spmd/spmd.hpp>

#include "support/check.hpp"

using spmd::arange, spmd::device_count, spmd::devices, spmd::full, spmd::linspace, spmd::reshape;
using spmd::axis_index, spmd::pmean, spmd::psum;
using spmd::grad, spmd::pmap, spmd::vmap;
using spmd::Index, spmd::Key, spmd::Tensor;
using spmd::replicated, spmd::split;

/// Every device doubles its part of x, and all parts are added up.
void scaled_sum() {
  std::cout << "(a) a sum over devices\n";
  auto f = [](Tensor<> x) { return psum(2 * x, "devices"); };
  check_close("twice 0 + 1 + 2 + 3, on each of four devices", pmap(f, "devices")(arange<float>(4)), full<float>({4}, 12));
}

struct Line {
  Tensor<> w, b;
};

/// Each device differentiates the loss of its own points; pmean averages the gradients, so all take the same step.
void linear_regression() {
  std::cout << "(b) one step of linear regression, data-parallel\n";
  auto loss = [](const Line& line, Tensor<> x, Tensor<> y) { return mean(square(line.w * x + line.b - y)); };
  auto step = [&](const Line& line, Tensor<> x, Tensor<> y) {
    auto gradient = pmean(grad(loss)(line, x, y), "data_parallel_axis");
    return spmd::tree_map([](auto p, auto g) { return p - 0.01f * g; }, line, gradient);
  };
  auto x = arange<float>(16);
  auto parallel_step = pmap(step, {.axis_name = "data_parallel_axis", .in_axes = {replicated, 0, 0}, .out_axes = replicated});
  Line line = parallel_step(Line{1.0f, 0.0f}, x, 2 * x + 0.5f);
  check_close("w goes from 1 to 2.625", line.w, Tensor<>(2.625f));
  check_close("b goes from 0 to 0.16", line.b, Tensor<>(0.16f));
}

/// The rows of A are cut into four blocks; every device has the whole of B.
void split_matmul() {
  std::cout << "(c) a matrix product, its rows split over the devices\n";
  auto a = spmd::random::normal<float>(Key(1), {4096, 64}), b = spmd::random::normal<float>(Key(2), {64, 64});
  auto product = [](Tensor<> rows, Tensor<> whole) { return matmul(rows, whole); };
  auto c = pmap(product, {.in_axes = {0, replicated}})(a, b);
  check("the product lies in parts on", c.devices().size(), c.is_sharded() && c.devices().size() == 4);
  check("largest difference from the product on one device", max(abs(c - matmul(a, b))), spmd::allclose(c, matmul(a, b), 1e-5, 1e-5));
}

/// Maps nest: blocks over devices, and within each block one row at a time.
void map_of_map() {
  std::cout << "(d) pmap of vmap\n";
  auto twice = [](Tensor<> row) {
    if (row.shape() != spmd::Shape{3}) throw spmd::ShapeError("expected one row");
    return row * 2;
  };
  auto x = reshape(arange<float>(24), {8, 3});
  check_close("eight rows, two on each device, doubled one by one", pmap(vmap(twice))(x), 2 * x);
}

/// The one-device twin of a pmap: the same function, the same axis name, no devices needed.
void one_source() {
  std::cout << "(e) the same function by vmap and by pmap\n";
  auto centre = [](Tensor<> x) { return x - pmean(mean(x), "i"); };
  auto x = arange<float>(8);
  auto one_device = vmap(centre, {.axis_name = "i", .in_axes = split(0), .axis_size = 4})(x);
  auto many_devices = pmap(centre, "i")(x);
  check_close("by pmap, on four devices", many_devices, linspace<float>(-3.5f, 3.5f, 8));
  check_close("by vmap, on one", one_device, many_devices, 0);
}

bool all_rows_differ(const Tensor<>& x) {
  for (Index i = 0; i < x.shape()[0]; ++i)
    for (Index j = 0; j < i; ++j)
      if (any(x[i] == x[j]).item()) return false;
  return true;
}

/// A key is a value: who has the same key draws the same numbers.
void random_keys() {
  std::cout << "(f) random numbers\n";
  auto draw = [](Key key) { return spmd::random::normal<float>(key, {2}); };
  auto own = pmap(draw)(spmd::random::split(Key(0), 4));
  check("one key per device, four different draws", own, all_rows_differ(own));

  auto shared = pmap(draw, {.in_axes = replicated, .out_axes = spmd::each(0), .axis_size = 4})(Key(0));
  check("the trap, one key for all: every device draws the same", shared, all(shared == shared[0]).item());

  auto draw_own = [](Key key) { return spmd::random::normal<float>(spmd::random::fold_in(key, axis_index("i")), {2}); };
  auto folded = pmap(draw_own, {.axis_name = "i", .in_axes = replicated, .out_axes = spmd::each(0), .axis_size = 4})(Key(0));
  check("the way out, fold in the device's index", folded, all_rows_differ(folded));
}

/// A map runs on all devices unless it is told which.
void chosen_devices() {
  std::cout << "(g) some of the devices\n";
  auto sum_of_ones = [](Tensor<> x) { return psum(spmd::ones_like(x), "i"); };
  auto four = devices();
  auto two = pmap(sum_of_ones, {.axis_name = "i", .devices = {four[1], four[3]}})(arange<float>(2));
  check_close("psum of one on two of four devices", two, full<float>({2}, 2));
  check("they are", two.shard(0).device(), two.shard(0).device() == four[1] && two.shard(1).device() == four[3]);
  auto one = pmap(sum_of_ones, {.axis_name = "i", .devices = {four[2]}})(arange<float>(2));
  check_close("and on one", one, full<float>({2}, 1));
  const Index needed = spmd::required_devices(1000, 300);
  check("devices for 1000 rows, at most 300 on each", needed, needed == 4);
}

/// Sizes must divide. Padding is explicit, with a mask that says which rows are real.
void uneven_data() {
  std::cout << "(h) 1000 rows on three devices\n";
  auto three = devices();
  three.resize(3);
  auto rows = reshape(arange<float>(2000), {1000, 2});
  try {
    pmap([](Tensor<> x) { return x; }, {.devices = three})(rows);
    check("an error", "none", false);
  } catch (const spmd::ShapeError& error) {
    check("an error that says what to do", error.what(), true);
  }

  auto [padded, real] = spmd::pad_to_multiple(rows, 3);
  auto mean_row = [](Tensor<> x, Tensor<bool> counts) {
    auto total = psum(sum(where(expand_dims(counts, 1), x, 0), 0), "i");
    return total / psum(sum(cast<float>(counts)), "i");
  };
  check("padded to", padded.shape(), padded.shape() == spmd::Shape{1002, 2});
  check_close("the mean of the real rows", pmap(mean_row, {.axis_name = "i", .out_axes = replicated, .devices = three})(padded, real),
              spmd::array<float>({999, 1000}));
}

int main() {
  // Four CPU threads as devices, so that the numbers are the same on every machine.
  spmd::set_host_device_count(4);
  spmd::set_default_devices(devices(spmd::Platform::host));
  std::cout << "on " << device_count() << " devices\n";

  scaled_sum();
  linear_regression();
  split_matmul();
  map_of_map();
  one_source();
  random_keys();
  chosen_devices();
  uneven_data();

  std::cout << (wrong_claims == 0 ? "all claims hold\n" : "some claims are wrong\n");
  return wrong_claims == 0 ? 0 : 1;
}
