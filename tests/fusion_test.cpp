// Fusion: what waits to be computed, and who reads it, over many tiles.
#include "support/check.hpp"

#include <algorithm>
#include <cstdint>

using namespace spmd;
using check::close, check::D;

namespace {

using B = Tensor<bool>;
template <class T> testing::AssertionResult equal(const Tensor<T>& a, const Tensor<T>& b) { return close(a, b, 0); }
/// x, computed and stored.
template <class T> Tensor<T> stored(const Tensor<T>& x) {
  (void)x.data();
  return x;
}

/// A stretched scalar fills its scratch once for all tiles, so no other step may use the same place, before it or after.
TEST(Fusion, a_stretched_scalar_keeps_its_place) {
  for (Index n : {2, 1000, 2000, 5000}) {
    std::vector<float> x, expected[5];
    for (Index i = 0; i < n; ++i) {
      const auto v = static_cast<float>(i % 97) - 40.0f;
      const bool a = v > 20, b = v < -20;
      x.push_back(v);
      expected[0].push_back(a || b ? 7.0f : v * 3.0f);
      expected[1].push_back((a || b ? 7.0f : v * 3.0f) + (a ? -2.0f : v) * 5.0f);
      expected[2].push_back(std::max(v + 1.0f, 2.0f) * (b ? 0.5f : v - 3.0f));
      expected[3].push_back((v * v - 4.0f) * (v + 6.0f) - (v - 8.0f) * 9.0f);
      expected[4].push_back(a ? v * 2.0f : b ? 1.0f : -1.0f);
    }
    const auto t = array(x);
    // Scalars as numbers, and as tensors that are computed or stretched by hand.
    for (bool tensors : {false, true}) {
      auto number = [&](float c) { return tensors ? broadcast_to(Tensor<float>(c), {n}) : Tensor<float>(c); };
      const auto a = t > number(20), b = t < number(-20);
      EXPECT_TRUE(equal(where(a || b, number(7), t * number(3)), array(expected[0]))) << n;
      EXPECT_TRUE(equal(where(a || b, number(7), t * number(3)) + where(a, number(-2), t) * number(5), array(expected[1]))) << n;
      EXPECT_TRUE(equal(maximum(t + number(1), number(2)) * where(b, number(0.5f), t - number(3)), array(expected[2]))) << n;
      EXPECT_TRUE(equal((t * t - number(4)) * (t + number(6)) - (t - number(8)) * number(9), array(expected[3]))) << n;
      EXPECT_TRUE(equal(where(a, t * number(2), where(b, number(1), number(-1))), array(expected[4]))) << n;
    }
    EXPECT_TRUE(equal(where(t > 20.0f || t < -20.0f, 7.0f, t * 3.0f), array(expected[0]))) << n;
  }
}

/// A strided slice waits for the elementwise program that reads it; everything else must see the same elements.
TEST(Fusion, slices_that_wait) {
  const Index planes = 3, rows = 40, columns = 100;  // blocks of (2, 37, 70): long rows, several tiles, gaps between rows and planes
  auto source = [&](Index p, Index r, Index c) { return static_cast<double>(p * 10000 + r * 101 + c); };
  const auto whole = build<double>({planes, rows, columns}, [&](double* out) {
    for (Index p = 0; p < planes; ++p)
      for (Index r = 0; r < rows; ++r)
        for (Index c = 0; c < columns; ++c) *out++ = source(p, r, c);
  });
  auto part = [](const D& x) { return slice(x, {1, 2, 7}, {3, 39, 77}); };
  auto expect = [&](auto f) {
    std::vector<double> out;
    for (Index p = 1; p < 3; ++p)
      for (Index r = 2; r < 39; ++r)
        for (Index c = 7; c < 77; ++c) out.push_back(f(p, r, c));
    return D({2, 37, 70}, out);
  };
  EXPECT_TRUE(equal(part(whole), expect(source)));
  EXPECT_TRUE(equal(part(whole) * 2.0 + slice(whole, {0, 0, 30}, {2, 37, 100}), expect([&](Index p, Index r, Index c) { return 2 * source(p, r, c) + source(p - 1, r - 2, c + 23); })));
  EXPECT_TRUE(equal(sum(part(whole), 2), sum(expect(source), 2)));
  EXPECT_TRUE(equal(transpose(part(whole)), transpose(expect(source))));
  EXPECT_TRUE(equal(slice(part(whole), 3, 68, 2), slice(expect(source), 3, 68, 2)));  // a slice of one that waits
  // It outlives what it was cut from, and is made once for several readers.
  auto alone = part(D(whole + 1.0));
  const auto twice = alone + alone;
  EXPECT_TRUE(equal(alone, expect([&](Index p, Index r, Index c) { return source(p, r, c) + 1; })));
  EXPECT_TRUE(equal(twice, expect([&](Index p, Index r, Index c) { return 2 * source(p, r, c) + 2; })));
  // Its gradient lies where it was cut.
  const auto slope = grad([&](D x) { return sum(part(x) * part(x)); })(whole);
  EXPECT_EQ(slope.at({1, 2, 7}), 2 * source(1, 2, 7));
  EXPECT_EQ(slope.at({2, 38, 76}), 2 * source(2, 38, 76));
  EXPECT_EQ(slope.at({1, 2, 6}) + slope.at({2, 39, 76}) + slope.at({0, 10, 10}), 0);
  // Under both maps, one plane to a lane or shard.
  auto of_plane = [](D x) { return slice(x, {2, 7}, {39, 77}) * 3.0; };
  const auto lanes = vmap(of_plane)(whole);
  EXPECT_TRUE(equal(slice(lanes, 1, 3, 0), expect([&](Index p, Index r, Index c) { return 3 * source(p, r, c); })));
  set_host_device_count(3);
  EXPECT_TRUE(equal(pmap(of_plane, {.in_axes = each(0)})(whole), lanes));
}

/// Loops over bool run in blocks too.
TEST(Fusion, bool_in_blocks) {
  for (Index n : {63, 64, 130, 3000}) {
    std::vector<bool> a, b, both, flipped;
    std::vector<float> numbers, chosen;
    for (Index i = 0; i < n; ++i) {
      a.push_back(i % 3 == 0);
      b.push_back(i % 5 < 2);
      both.push_back(a.back() && b.back());
      flipped.push_back(!a.back());
      numbers.push_back(a.back() ? 1.0f : 0.0f);
      chosen.push_back(a.back() ? static_cast<float>(i) : -1.0f);
    }
    const B x({n}, a), y({n}, b);
    EXPECT_TRUE(equal(x && y, B({n}, both))) << n;
    EXPECT_TRUE(equal(!x, B({n}, flipped))) << n;
    EXPECT_TRUE(equal(cast<float>(x), array(numbers))) << n;
    EXPECT_TRUE(equal(cast<float16>(x), cast<float16>(array(numbers)))) << n;
    EXPECT_TRUE(equal(cast<bool>(array(numbers)), x)) << n;
    EXPECT_TRUE(equal(where(x, arange<float>(static_cast<float>(n)), -1), array(chosen))) << n;
  }
}

/// A reduction takes the elements of more than 2 MiB as they are computed. The bits are those of a reduction of what was stored.
template <class T, class Make> void reductions(Shape shape, const Axes& axes, Make make) {
  shape[0] *= 8 / static_cast<Index>(sizeof(T));
  const auto x = cast<T>(build<double>(shape, [&](double* out) {
    for (Index i = 0; i < shape.size(); ++i) *out++ = static_cast<double>(i * 7919 % 1009) / 64 - 7;
  }));
  const auto all_of_it = stored(make(x));
  EXPECT_TRUE(equal(sum(make(x), axes), sum(all_of_it, axes))) << shape;
  EXPECT_TRUE(equal(max(make(x), axes, true), max(all_of_it, axes, true))) << shape;
  EXPECT_TRUE(equal(min(make(x), axes), min(all_of_it, axes))) << shape;
  EXPECT_TRUE(equal(prod(make(x) / T(16), axes), prod(stored(all_of_it / T(16)), axes))) << shape;
  EXPECT_TRUE(equal(mean(make(x), axes), mean(all_of_it, axes))) << shape;
  EXPECT_TRUE(equal(all(make(x) > T(-60), axes), all(stored(all_of_it > T(-60)), axes))) << shape;
  EXPECT_TRUE(equal(any(make(x) > T(60), axes), any(stored(all_of_it > T(60)), axes))) << shape;
}
TEST(Fusion, reductions_of_what_is_not_stored) {
  const auto once = [](const auto& x) { return x * x + x; };
  const auto shapes = {std::pair(Shape{300007}, Axes{0}), {{300, 1025}, {1}}, {{3, 90001}, {1}}, {{2, 3, 45001}, {1, 2}}, {{90001, 3}, {1}}, {{270001, 1}, {0}},
                       {{2, 45001, 3}, {1}}, {{1500}, {0}}, {{7, 1000}, {0, 1}}};
  for (auto& [shape, axes] : shapes) reductions<double>(shape, axes, once);
  reductions<float>({270001}, {0}, once);
  reductions<float>({30, 9001}, {1}, once);
  reductions<float>({300, 1025}, {1}, [](const auto& x) { return where(x > 0.0f, 2.0f, x) * 3.0f + maximum(x, 1.0f); });
  reductions<float>({300, 1025}, {1}, [](const auto& x) { return exp(x) - x; });  // costly: stored
  reductions<float16>({100, 3001}, {1}, once);
  reductions<std::int32_t>({270001}, {0}, once);
  reductions<std::int8_t>({100, 3001}, {1}, once);
}
/// Against a loop, and over elements that more than one wants.
TEST(Fusion, what_a_reduction_passed_is_still_there) {
  for (Index n : {1025, 300001}) {
    double squares = 0, cubes = 0, shifted = 0;
    std::vector<double> numbers, doubled;
    for (Index i = 0; i < n; ++i) {
      const auto v = static_cast<double>(i % 50) - 20;
      numbers.push_back(v);
      doubled.push_back(2 * v * v);
      squares += v * v;
      cubes += v * v * v;
      shifted += v * v + 1;
    }
    const auto x = array(numbers);
    const auto y = x * x;
    EXPECT_EQ(sum(y).item(), squares);   // not stored
    EXPECT_TRUE(equal(y + y, array(doubled)));
    EXPECT_EQ(sum(y).item(), squares);   // stored
    EXPECT_EQ(sum(y * x).item(), cubes);
    const auto z = x * x, w = z + 1.0;   // z is wanted, by w and by us
    EXPECT_EQ(sum(w).item(), shifted);
    EXPECT_EQ(sum(z).item(), squares);
    EXPECT_TRUE(equal(z * 2.0, array(doubled)));
    // Under a tape, a vmap and both, and over shards.
    EXPECT_TRUE(equal(grad([](D v) { return sum(v * v); })(x), x * 2.0));
    EXPECT_TRUE(equal(grad([](D v) { return sum(v * v) * sum(v); })(x), stored(x * (2 * sum(x).item()) + squares)));
    EXPECT_TRUE(equal(vmap([](D v) { return sum(v * v); })(stack({x, x, x})), D({3}, {squares, squares, squares})));
    EXPECT_TRUE(equal(vmap(grad([](D v) { return sum(v * v); }))(stack({x, x})), stack({x * 2.0, x * 2.0})));
    set_host_device_count(3);
    EXPECT_TRUE(equal(pmap([](D v) { return psum(sum(v * v), "i"); }, {.axis_name = "i", .in_axes = each(0)})(stack({x, x, x})), D({3}, {3 * squares, 3 * squares, 3 * squares})));
  }
}
/// Long rows of slices are read where they are, whole or in equal parts, and so are rows that are stretched. All sums are exact.
TEST(Fusion, long_rows_in_place) {
  for (Index columns : {511, 512, 600, 1023, 1024, 1025, 2100, 3000}) {
    const Index rows = 3, width = columns + 9;
    auto source = [&](Index r, Index c) { return static_cast<double>(r * 100000 + c * 3 % 977); };
    const auto whole = build<double>({rows + 2, width}, [&](double* out) {
      for (Index r = 0; r < rows + 2; ++r)
        for (Index c = 0; c < width; ++c) *out++ = source(r, c);
    });
    auto part = [&](const D& x, Index r, Index c) { return slice(x, {r, c}, {r + rows, c + columns}); };
    auto program = [&](const D& x) { return part(x, 0, 4) + part(x, 2, 4) - 4.0 * part(x, 1, 5) + part(x, 1, 0) * slice(x, {0, 7}, {1, 7 + columns}); };
    std::vector<double> expected, sums;
    for (Index r = 0; r < rows; ++r) {
      sums.push_back(0);
      for (Index c = 0; c < columns; ++c) {
        expected.push_back(source(r, c + 4) + source(r + 2, c + 4) - 4 * source(r + 1, c + 5) + source(r + 1, c) * source(0, c + 7));
        sums.back() += expected.back();
      }
    }
    EXPECT_TRUE(equal(program(whole), D({rows, columns}, expected))) << columns;
    EXPECT_TRUE(equal(sum(program(whole), 1), array(sums))) << columns;
    EXPECT_TRUE(equal(vmap(program)(stack({whole, whole}))[1], D({rows, columns}, expected))) << columns;
  }
}
/// Rows that a reduction passes, each longer than a piece or several to a piece, against loops; the sums are exact.
TEST(Fusion, rows_that_are_passed) {
  for (auto [rows, columns] : {std::pair<Index, Index>{3, 90001}, {300, 1025}, {90001, 3}, {67, 4096}}) {
    std::vector<double> numbers, sums, largest;
    for (Index r = 0; r < rows; ++r) {
      sums.push_back(0);
      largest.push_back(-1e9);
      for (Index c = 0; c < columns; ++c) {
        const auto v = static_cast<double>((r * 31 + c * 17) % 1009 - 500);
        numbers.push_back(v);
        sums.back() += v * v - v;
        largest.back() = std::max(largest.back(), v * v - v);
      }
    }
    const D x({rows, columns}, numbers);
    EXPECT_TRUE(equal(sum(x * x - x, 1), array(sums))) << rows;
    EXPECT_TRUE(equal(max(x * x - x, 1), array(largest))) << rows;
  }
}
/// Threads that reduce one waiting value, or store it meanwhile.
TEST(Fusion, many_readers) {
  set_host_device_count(8);
  for (int round = 0; round < 5; ++round) {
    const auto x = arange<double>(300000);
    const auto y = x * 2.0, z = y + 1.0;
    const auto sums = pmap([&](Tensor<std::int32_t> i) { return i[0].item() % 3 == 0 ? sum(z) : i[0].item() % 3 == 1 ? sum(y) + 300000.0 : sum(z * 1.0); })(arange<std::int32_t>(8));
    EXPECT_TRUE(equal(sums, full<double>({8}, 300000.0 * 299999 + 300000)));
  }
}

/// A result that no memory holds is an error each time it is asked for, and nobody waits for it.
TEST(Fusion, what_does_not_fit_fails_again) {
  const auto huge = broadcast_to(Tensor<double>(1.0), {Index{1} << 45}) + 1.0;
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)huge.data(), DeviceError);
  set_host_device_count(2);
  EXPECT_THROW((void)pmap([&](Tensor<double> x) { return x + huge[0]; })(arange<double>(2)), DeviceError);
  EXPECT_EQ(sum(slice(broadcast_to(Tensor<double>(1.0), {5000}), 0, 3000, 0)).item(), 3000);
}

}  // namespace
