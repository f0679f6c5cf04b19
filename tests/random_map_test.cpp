// Random numbers under maps and gradients: vmap and pmap over keys equal the loop to the bit; what the numbers depend on; wrong calls.
#include "conformance.hpp"

namespace {

using namespace spmd;
using conformance::same;
using conformance::throws;
using random::Mode;

/// A sampler of one key. Its numbers, of whatever type, are exact in double.
struct Sampler {
  const char* name;
  std::function<Tensor<double>(const Key&)> draw;
  Tensor<double> operator()(const Key& key) const { return draw(key); }
};
template <class T> Tensor<double> wide(const Tensor<T>& x) { return cast<double>(x); }

/// Samplers whose element j depends on the key and on j alone, and those that depend on the shape. Shapes leave incomplete registers.
std::vector<Sampler> samplers_of(const Shape& s) {
  return {
      {"bits8", [s](const Key& k) { return wide(random::bits<std::uint8_t>(k, s)); }},
      {"bits32", [s](const Key& k) { return wide(random::bits(k, s)); }},
      {"bits64", [s](const Key& k) { return wide(random::bits<std::uint64_t>(k, s)); }},
      {"uniform", [s](const Key& k) { return wide(random::uniform(k, s, -0.3, 0.7)); }},
      {"uniform f64", [s](const Key& k) { return random::uniform<double>(k, s); }},
      {"uniform bf16", [s](const Key& k) { return wide(random::uniform<bfloat16>(k, s)); }},
      {"normal", [s](const Key& k) { return wide(random::normal(k, s)); }},
      {"normal f64", [s](const Key& k) { return random::normal<double>(k, s); }},
      {"normal f16", [s](const Key& k) { return wide(random::normal<float16>(k, s)); }},
      {"truncated_normal", [s](const Key& k) { return wide(random::truncated_normal(k, -1, 2, s)); }},
      {"exponential", [s](const Key& k) { return wide(random::exponential(k, s)); }},
      {"gumbel", [s](const Key& k) { return wide(random::gumbel(k, s)); }},
      {"gumbel f64", [s](const Key& k) { return random::gumbel<double>(k, s); }},
      {"laplace", [s](const Key& k) { return wide(random::laplace(k, s)); }},
      {"bernoulli", [s](const Key& k) { return wide(random::bernoulli(k, 0.4f, s)); }},
      {"randint", [s](const Key& k) { return wide(random::randint(k, s, -7, 1000)); }},
      {"randint i64", [s](const Key& k) { return wide(random::randint<std::int64_t>(k, s, 0, 12345)); }},
      {"split", [s](const Key& k) { return wide(random::key_data(random::split(k, s))); }},
      {"choice", [s](const Key& k) { return wide(random::choice(k, 100, s)); }},
      {"choice by p", [s](const Key& k) { return wide(random::choice(k, 4, s, array<float>({0.1f, 0.2f, 0.3f, 0.4f}))); }},
      {"categorical", [s](const Key& k) { return wide(random::categorical(k, array<float>({0.1f, 2, -1, 0.5f}), -1, {.draws = s})); }},
  };
}
std::vector<Sampler> whole_samplers() {
  return {
      {"bernoulli high", [](const Key& k) { return wide(random::bernoulli(k, 0.4f, {5}, Mode::high)); }},
      {"gumbel high", [](const Key& k) { return wide(random::gumbel(k, {5}, Mode::high)); }},
      {"fold_in", [](const Key& k) { return wide(random::key_data(random::fold_in(k, 3))); }},
      {"permutation", [](const Key& k) { return wide(random::permutation(k, 9)); }},
      {"permutation of x", [](const Key& k) { return wide(random::permutation(k, reshape(arange<float>(12), {3, 4}), 1)); }},
      {"permutation of lines", [](const Key& k) { return wide(random::permutation(k, reshape(arange<float>(12), {3, 4}), 1, true)); }},
      {"choice without replacement", [](const Key& k) { return wide(random::choice(k, 9, {2, 2}, {.replace = false})); }},
      {"choice by p without replacement", [](const Key& k) { return wide(random::choice(k, 4, {3}, array<float>({0.1f, 0.2f, 0.3f, 0.4f}), {.replace = false})); }},
      {"categorical without replacement", [](const Key& k) { return wide(random::categorical(k, reshape(arange<float>(8), {2, 4}), -1, {.draws = {2}, .replace = false})); }},
  };
}
std::vector<Sampler> all_samplers() {
  auto all = samplers_of({3, 5});
  for (const Shape& s : {Shape{}, Shape{7}, Shape{0, 2}})
    for (auto& f : samplers_of(s)) all.push_back(f);
  for (auto& f : whole_samplers()) all.push_back(f);
  return all;
}
Tensor<double> loop(const Sampler& f, const Key& keys) {
  std::vector<Tensor<double>> rows;
  for (Index i = 0; i < keys.size(); ++i) rows.push_back(f(keys[i]));
  return stack(rows);
}

TEST(RandomMaps, vmap_and_pmap_over_keys_equal_the_loop) {
  for (const auto& f : all_samplers())
    for (Index n : {1, 2, 3, 8}) {
      const auto keys = random::split(Key(5), n);
      const auto expected = loop(f, keys);
      EXPECT_TRUE(same(vmap(f)(keys), expected)) << f.name << " " << n;
      EXPECT_TRUE(same(pmap(f)(keys), expected)) << f.name << " " << n;
    }
}

TEST(RandomMaps, nested_maps_over_keys) {
  for (const auto& f : samplers_of({3})) {
    const auto keys = random::split(Key(9), {2, 3});
    const auto by_row = [&](const Key& row) { return vmap(f)(row); };
    const auto expected = stack({loop(f, keys[0]), loop(f, keys[1])});
    EXPECT_TRUE(same(vmap(by_row)(keys), expected)) << f.name;
    EXPECT_TRUE(same(pmap(by_row)(keys), expected)) << f.name;
  }
  EXPECT_EQ(vmap([](const Key& k) { return random::uniform(k, {2}); })(random::split(Key(0), 0)).shape(), (Shape{0, 2}));
}

TEST(RandomMaps, values_of_jax_under_vmap) {
  const auto keys = random::split(Key(77), 3);
  EXPECT_TRUE(same(vmap([](const Key& k) { return random::normal(k, {2}); })(keys), {3, 2}, {0.669564247f, 0.562933326f, 0.991807938f, 0.414001226f, 0.0531915128f, -0.226248339f}, 2.4e-7));
  EXPECT_TRUE(same(vmap([](const Key& k) { return random::permutation(k, 6); })(keys), {3, 6}, {2, 0, 4, 1, 5, 3, 0, 2, 5, 1, 4, 3, 2, 5, 1, 4, 3, 0}));
}

TEST(RandomMaps, fold_in_of_the_axis_index_is_split) {
  const auto own_key = [](const Key& key) { return random::fold_in(key, axis_index("i")); };
  const auto draw = [&](const Key& key) { return random::normal(own_key(key), {5}); };
  for (Index n : {1, 2, 3, 8}) {
    const MapOptions options{.axis_name = "i", .in_axes = replicated, .out_axes = each(0), .axis_size = n};
    const auto keys = random::split(Key(3), n);
    EXPECT_TRUE(same(random::key_data(pmap(own_key, options)(Key(3))), random::key_data(keys))) << n;
    EXPECT_TRUE(same(random::key_data(vmap(own_key, options)(Key(3))), random::key_data(keys))) << n;
    const auto expected = pmap([](const Key& k) { return random::normal(k, {5}); })(keys);
    EXPECT_TRUE(same(pmap(draw, options)(Key(3)), expected)) << n;
    EXPECT_TRUE(same(vmap(draw, options)(Key(3)), expected)) << n;
  }
  // Both may be mapped, or either.
  const auto keys = random::split(Key(4), 3);
  const auto numbers = array<std::int32_t>({5, -1, 7});
  const auto fold = [](const Key& k, const Tensor<std::int32_t>& i) { return random::fold_in(k, i); };
  const auto both = vmap(fold)(keys, numbers), numbers_only = vmap(fold, {.in_axes = {replicated, 0}})(Key(4), numbers), keys_only = vmap(fold, {.in_axes = {0, replicated}})(keys, numbers[2]);
  for (Index i = 0; i < 3; ++i) {
    EXPECT_TRUE(same(random::key_data(both[i]), random::key_data(random::fold_in(keys[i], numbers[i]))));
    EXPECT_TRUE(same(random::key_data(numbers_only[i]), random::key_data(random::fold_in(Key(4), numbers[i]))));
    EXPECT_TRUE(same(random::key_data(keys_only[i]), random::key_data(random::fold_in(keys[i], 7))));
  }
}

TEST(RandomMaps, one_key_for_all_draws_the_same_everywhere) {
  const auto draw = [](const Key& k) { return random::normal(k, {4}); };
  const MapOptions shared{.in_axes = replicated, .out_axes = each(0), .axis_size = 3};
  const auto by_pmap = pmap(draw, shared)(Key(0)), by_vmap = vmap(draw, shared)(Key(0));
  for (Index i = 0; i < 3; ++i) {
    EXPECT_TRUE(same(by_pmap[i], draw(Key(0))));
    EXPECT_TRUE(same(by_vmap[i], draw(Key(0))));
  }
  // It does not depend on the axis, so it is one value: reading it inside the map is no error.
  EXPECT_TRUE(same(vmap([&](Tensor<> x) { return x + random::uniform(Key(1), {}).item(); })(zeros({2})), {2}, [](const conformance::At&) { return random::uniform(Key(1), {}).item(); }));
}

TEST(RandomMaps, mapped_operands) {
  const auto keys = random::split(Key(6), 3);
  const auto logits = reshape(random::normal(Key(8), {12}), {3, 4});
  const auto p = softmax(logits);
  const auto check = [&](auto f, const auto& x) {
    for (const bool own_key : {true, false}) {
      const auto mapped = vmap(f, {.in_axes = {own_key ? AxisSpec(0) : replicated, 0}})(own_key ? keys : keys[1], x);
      for (Index i = 0; i < 3; ++i) EXPECT_TRUE(same(mapped[i], f(own_key ? keys[i] : keys[1], x[i])));
    }
  };
  check([](const Key& k, const Tensor<>& x) { return random::categorical(k, x, -1, {.draws = {2}}); }, logits);
  check([](const Key& k, const Tensor<>& x) { return random::categorical(k, x, -1, {.draws = {3}, .replace = false}); }, logits);
  check([](const Key& k, const Tensor<>& x) { return random::bernoulli(k, x, {5, 4}); }, p);
  check([](const Key& k, const Tensor<>& x) { return random::bernoulli(k, x, {5, 4}, Mode::high); }, p);
  check([](const Key& k, const Tensor<>& x) { return random::choice(k, 4, {2, 2}, x); }, p);
  check([](const Key& k, const Tensor<>& x) { return random::choice(k, 4, {3}, x, {.replace = false}); }, p);
  check([](const Key& k, const Tensor<>& x) { return random::choice(k, x, {5}); }, logits);
  check([](const Key& k, const Tensor<>& x) { return random::permutation(k, x); }, logits);
}

TEST(RandomMaps, the_first_elements_do_not_depend_on_the_shape) {
  const auto longest = samplers_of({1000});
  for (Index n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 100, 999}) {
    const auto shorter = samplers_of({n});
    for (std::size_t i = 0; i < longest.size(); ++i)
      EXPECT_TRUE(same(shorter[i](Key(21)), slice(longest[i](Key(21)), 0, n, 0))) << longest[i].name << " " << n;
  }
}

TEST(RandomMaps, numbers_have_no_gradient) {
  const Key key(2);
  const auto w = array<float>({1, 2, 3});
  const auto noise = random::normal(key, {3});
  EXPECT_TRUE(same(grad([&](const Tensor<>& x) { return sum(x * random::normal(key, x.shape())); })(w), noise));
  EXPECT_TRUE(same(grad([&](const Tensor<>&) { return sum(random::uniform(key, {3})); })(w), zeros_like(w)));
  EXPECT_TRUE(same(grad([&](const Tensor<>& x) { return sum(cast<float>(random::categorical(key, x)) * x); })(w), ones_like(w) * cast<float>(random::categorical(key, w))));
  EXPECT_TRUE(same(grad([&](const Tensor<>& x) { return sum(cast<float>(random::bernoulli(key, x / 4)) * x); })(w), cast<float>(random::bernoulli(key, w / 4))));
  // What a permutation or a choice moves is differentiated: the gradient goes where the element came from.
  EXPECT_TRUE(same(grad([&](const Tensor<>& x) { return sum(random::permutation(key, x) * array<float>({1, 10, 100})); })(arange<float>(3)),
                   {3}, [&](const conformance::At& at) { return std::pow(10.0f, static_cast<float>(argmax(random::permutation(key, one_hot(Tensor<std::int32_t>(static_cast<std::int32_t>(at[0])), 3))).item())); }, 1e-6));
  EXPECT_EQ(sum(grad([&](const Tensor<>& x) { return sum(random::choice(key, x, {50})); })(w)).item(), 50.0f);
  // Dropout in a pmap: the gradient is the mask.
  const auto keys = random::split(key, 2);
  const auto dropout = [](const Tensor<>& x, const Key& k) { return where(random::bernoulli(k, 0.5f, x.shape()), x, 0.0f); };
  const auto x = ones({2, 10});
  const auto mask = vmap(dropout)(x, keys);
  EXPECT_TRUE(same(grad([&](const Tensor<>& y) { return sum(pmap(dropout, {.in_axes = {each(0), 0}})(y, keys)); })(x), mask));
}

// What ten thousand draws can tell; a wrong distribution is further off than this.
TEST(RandomMaps, distributions) {
  constexpr Index n = 10000;
  const auto near = [](double x, double expected, double distance) { return std::abs(x - expected) < distance; };
  const Key key(12);
  const auto u = random::uniform(key, {n}, -1, 3), z = random::normal(key, {n});
  EXPECT_TRUE(all(u >= -1 && u < 3).item());
  EXPECT_TRUE(near(mean(u).item(), 1, 0.05) && near(var(u).item(), 16.0 / 12, 0.05));
  EXPECT_TRUE(near(mean(z).item(), 0, 0.05) && near(var(z).item(), 1, 0.06) && near(mean(square(square(z))).item(), 3, 0.4));
  const auto t = random::truncated_normal(key, -1, 1, {n});
  EXPECT_TRUE(all(abs(t) < 1).item());
  EXPECT_TRUE(near(var(t).item(), 0.2911, 0.02));
  EXPECT_TRUE(near(mean(random::exponential(key, {n})).item(), 1, 0.05));
  EXPECT_TRUE(near(mean(random::gumbel(key, {n})).item(), 0.5772, 0.06));
  EXPECT_TRUE(near(mean(random::gumbel(key, {n}, Mode::high)).item(), 0.5772, 0.06));
  EXPECT_TRUE(near(var(random::laplace(key, {n})).item(), 2, 0.2));
  EXPECT_TRUE(near(mean(random::bernoulli(key, 0.3, {n})).item(), 0.3, 0.02));
  const auto p = array<float>({0.1f, 0.2f, 0.3f, 0.4f});
  for (const auto& drawn : {random::choice(key, 4, {n}, p), random::categorical(key, log(p), -1, {.draws = {n}})}) EXPECT_LT(max(abs(mean(one_hot(drawn, 4), {0}) - p)).item(), 0.02f);
  EXPECT_LT(max(abs(mean(one_hot(random::randint(key, {n}, 0, 7), 7), {0}) - 1.0f / 7)).item(), 0.02f);
  // Two keys, or two places, have nothing to do with each other.
  EXPECT_TRUE(near(mean(z * random::normal(Key(13), {n})).item(), 0, 0.05));
  EXPECT_TRUE(near(mean(slice(z, 1, n, 0) * slice(z, 0, n - 1, 0)).item(), 0, 0.05));
  for (Index size : {0, 1, 8, 1625, 1626, 2000}) {
    auto order = random::permutation(key, size).to_vector();
    std::sort(order.begin(), order.end());
    for (Index i = 0; i < size; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(RandomMaps, large_draws_equal_small_ones) {
  constexpr Index n = 100003;
  const auto whole = random::normal(Key(1), {n});
  const auto words = random::bits(Key(1), {n});
  EXPECT_EQ(words.at({n - 1}), random::key_data(random::fold_in(Key(1), n - 1)).at({0}) ^ random::key_data(random::fold_in(Key(1), n - 1)).at({1}));
  EXPECT_TRUE(same(slice(whole, 0, 2000, 0), random::normal(Key(1), {2000})));
  EXPECT_EQ(random::permutation(Key(1), n).size(), n);
}

TEST(RandomMaps, errors_of_keys) {
  const auto keys = random::split(Key(0), 3);
  const std::string text = ": needs a single key, got an array of keys of shape (3): use vmap or k[i]";
  const auto x = array<float>({0.5f, 0.5f});
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"random::split", [&] { random::split(keys); }},
      {"random::split", [&] { random::split(keys, {2, 2}); }},
      {"random::fold_in", [&] { random::fold_in(keys, 1); }},
      {"random::fold_in", [&] { random::fold_in(keys, Tensor<std::int32_t>(1)); }},
      {"random::bits", [&] { random::bits(keys, {2}); }},
      {"random::uniform", [&] { random::uniform(keys, {2}); }},
      {"random::normal", [&] { random::normal<double>(keys, {2}); }},
      {"random::truncated_normal", [&] { random::truncated_normal(keys, -1, 1, {2}); }},
      {"random::exponential", [&] { random::exponential(keys, {2}); }},
      {"random::gumbel", [&] { random::gumbel(keys, {2}, Mode::high); }},
      {"random::laplace", [&] { random::laplace(keys, {2}); }},
      {"random::bernoulli", [&] { random::bernoulli(keys, 0.5f, {2}); }},
      {"random::randint", [&] { random::randint(keys, {2}, 0, 5); }},
      {"random::permutation", [&] { random::permutation(keys, 5); }},
      {"random::permutation", [&] { random::permutation(keys, x); }},
      {"random::choice", [&] { random::choice(keys, 5); }},
      {"random::choice", [&] { random::choice(keys, x, {2}, x); }},
      {"random::categorical", [&] { random::categorical(keys, x); }},
  };
  for (const auto& [name, call] : calls) EXPECT_TRUE(throws<TypeError>(call, {name + text})) << name;
  // A vmap takes one axis away.
  const auto square = random::split(Key(0), {3, 2});
  EXPECT_TRUE(throws<TypeError>([&] { vmap([](const Key& k) { return random::uniform(k, {2}); })(square); }, {"random::uniform", "keys of shape (2)"}));
  EXPECT_TRUE(throws<AxisError>([&] { keys[3]; }, {"index 3", "out of range"}));
  EXPECT_TRUE(throws<AxisError>([&] { Key(0)[0]; }, {"a single key has no leading axis"}));
  EXPECT_TRUE(throws<ShapeError>([] { random::wrap_key_data(Tensor<std::uint32_t>({3}, {1, 2, 3})); }, {"random::wrap_key_data: needs words of shape (..., 2), got (3)"}));
  EXPECT_TRUE(throws<ShapeError>([] { random::wrap_key_data(Tensor<std::uint32_t>(1u)); }, {"random::wrap_key_data", "got ()"}));
  EXPECT_TRUE(throws<ShapeError>([] { random::fold_in(Key(0), array<std::int32_t>({1, 2})); }, {"random::fold_in: needs one integer, got a tensor of shape (2): use vmap"}));
}

TEST(RandomMaps, errors_of_shapes) {
  const Key k(0);
  const auto x = zeros({3, 0}), p = array<float>({0.5f, 0.5f});
  EXPECT_TRUE(throws<ShapeError>([&] { random::uniform(k, {2, -1}); }, {"random::uniform: a size is negative in (2, -1)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::split(k, -2); }, {"random::split: a size is negative in (-2"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::permutation(k, -1); }, {"random::permutation", "negative", "-1"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::permutation(k, std::int64_t{1} << 31); }, {"random::permutation", "2147483648", "int32"}));
  EXPECT_TRUE(throws<AxisError>([&] { random::permutation(k, p, 1); }, {"random::permutation: axis 1 is out of range for rank 1"}));
  EXPECT_TRUE(throws<AxisError>([&] { random::permutation(k, Tensor<>(3.0f)); }, {"random::permutation", "rank 0"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::bernoulli(k, p, {3}); }, {"random::bernoulli", "(2)", "(3)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::bernoulli(k, p, {2, 1}); }, {"random::bernoulli: p of shape (2) does not broadcast to (2, 1)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::bernoulli(k, 0.5f, {-3}); }, {"random::bernoulli: a size is negative in (-3)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::choice(k, 3, {2, 2}, {.replace = false}); }, {"random::choice: cannot choose 4 of 3 elements without replacement"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::choice(k, 2, {3}, p, {.replace = false}); }, {"random::choice: cannot choose 3 of 2"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::choice(k, 3, {1}, p); }, {"random::choice: needs one probability for each of 3 elements, got p of shape (2)"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::choice(k, 0); }, {"random::choice: there is nothing to choose from"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::choice(k, -1, {0}); }, {"random::choice", "-1"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::choice(k, x, {1}, {.axis = 1}); }, {"random::choice: there is nothing to choose from"}));
  EXPECT_TRUE(throws<AxisError>([&] { random::choice(k, x, {1}, {.axis = 2}); }, {"random::choice: axis 2 is out of range for rank 2"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::categorical(k, x); }, {"random::categorical: axis -1 of (3, 0) has no categories"}));
  EXPECT_TRUE(throws<AxisError>([&] { random::categorical(k, p, 1); }, {"random::categorical: axis 1 is out of range for rank 1"}));
  EXPECT_TRUE(throws<ShapeError>([&] { random::categorical(k, p, -1, {.draws = {3}, .replace = false}); }, {"random::categorical: cannot draw 3 of 2 categories without replacement"}));
}

// Bounds are numbers; integers and floats stay apart.
template <class B> concept UniformBound = requires(const Key& k, B b) { random::uniform<float>(k, Shape{2}, b); };
template <class B> concept RandintBound = requires(const Key& k, B b) { random::randint<std::int32_t>(k, Shape{2}, 0, b); };
template <class P> concept Probability = requires(const Key& k, P p) { random::bernoulli(k, p, Shape{2}); };
template <class T> concept BitsOf = requires(const Key& k) { random::bits<T>(k, Shape{2}); };
static_assert(UniformBound<double> && UniformBound<int> && UniformBound<bfloat16> && !UniformBound<Tensor<float>> && !UniformBound<bool>);
static_assert(RandintBound<std::uint64_t> && !RandintBound<double> && !RandintBound<bool>);
static_assert(Probability<float> && Probability<double> && Probability<Tensor<double>> && !Probability<int> && !Probability<Tensor<bool>>);
static_assert(BitsOf<std::uint8_t> && !BitsOf<std::int32_t> && !BitsOf<bool> && !BitsOf<float>);

}  // namespace
