// Random numbers: what JAX's jax.random draws. uniform, bernoulli and randint are JAX's to the bit; those that take a logarithm or erf_inv
// agree within a few units of the last place. Errors of all: TypeError for an array of keys (use vmap), ShapeError for a negative size. No
// sampler has a gradient, and each is a function of its key: the same key draws the same numbers, on every shard.
#pragma once
#include "../device/host/samplers.hpp"
#include "random_keys.hpp"

namespace spmd {
namespace detail {

/// A bound of a distribution: any number, rounded to the element type where it is used.
class Real {
 public:
  template <Element U>
    requires(!std::same_as<U, bool>)
  Real(U x) : value_(static_cast<double>(x)) {}
  template <class T> T as() const { return static_cast<T>(value_); }

 private:
  double value_;
};

/// The numbers that a kernel (out, k0, k1, n) of device/host/samplers makes.
template <class T> Tensor<T> draw_by(std::string_view op, const Key& key, const Shape& shape, void (*kernel)(T*, std::uint32_t, std::uint32_t, Index)) {
  return Tensor<T>(draw(op, key, dtype_of<T>(), shape, [kernel](void* out, std::uint32_t k0, std::uint32_t k1, Index n) { kernel(static_cast<T*>(out), k0, k1, n); }));
}

inline Any random_integers(const Key& key, const DType* type, const Shape& shape, std::uint64_t lo, std::uint64_t span) {
  return draw("random::randint", key, type, shape, [=, width = static_cast<int>(8 * type->size)](void* out, std::uint32_t k0, std::uint32_t k1, Index n) {
    host::random_integers(out, k0, k1, n, width, lo, span);
  });
}

}  // namespace detail

namespace random {

/// How far the tail of a distribution reaches: `high` spends twice as many bits on it.
enum class Mode { low, high };

/// Numbers between lo and hi, which are numbers (rounded to T), not tensors. Rounding may return hi itself where the range is no power of two.
template <Floating T = float> Tensor<T> uniform(const Key& key, const Shape& shape, detail::Real lo = 0, detail::Real hi = 1) {
  return Tensor<T>(detail::draw("random::uniform", key, dtype_of<T>(), shape, [lo = lo.as<T>(), hi = hi.as<T>()](void* out, std::uint32_t k0, std::uint32_t k1, Index n) {
    host::uniform(static_cast<T*>(out), k0, k1, 0, n, lo, hi);
  }));
}
/// Normal numbers of mean 0 and variance 1.
template <Floating T = float> Tensor<T> normal(const Key& key, const Shape& shape) {
  return detail::draw_by<T>("random::normal", key, shape, [](T* out, std::uint32_t k0, std::uint32_t k1, Index n) { host::normal(out, k0, k1, 0, n); });
}
/// Normal numbers of the open interval from lo to hi, which are numbers. As in JAX an infinite bound stands for the largest number of T, and
/// that is what one draw in some million returns: give finite ones.
template <Floating T = float> Tensor<T> truncated_normal(const Key& key, detail::Real lo, detail::Real hi, const Shape& shape) {
  return Tensor<T>(detail::draw("random::truncated_normal", key, dtype_of<T>(), shape, [lo = lo.as<T>(), hi = hi.as<T>()](void* out, std::uint32_t k0, std::uint32_t k1, Index n) {
    host::truncated_normal(static_cast<T*>(out), k0, k1, n, lo, hi);
  }));
}
/// Exponentially distributed numbers of mean 1. 0 is one of them.
template <Floating T = float> Tensor<T> exponential(const Key& key, const Shape& shape) { return detail::draw_by<T>("random::exponential", key, shape, host::exponential<T>); }
/// Numbers x with the density exp(-|x|) / 2.
template <Floating T = float> Tensor<T> laplace(const Key& key, const Shape& shape) { return detail::draw_by<T>("random::laplace", key, shape, host::laplace<T>); }
/// Numbers x with the distribution function exp(-exp(-x)): added to logarithms of weights, the largest sum picks by weight. In mode high the
/// numbers depend on the shape.
template <Floating T = float> Tensor<T> gumbel(const Key& key, const Shape& shape, Mode mode = Mode::low) {
  return detail::draw_by<T>("random::gumbel", key, shape, mode == Mode::low ? host::gumbel<T> : host::gumbel_high<T>);
}

/// true with probability p, a tensor that broadcasts to the shape (ShapeError otherwise). Its type decides the numbers that are drawn. In
/// mode high, for p below 1e-7, they depend on the shape.
template <Floating P> Tensor<bool> bernoulli(const Key& key, const Tensor<P>& p, const Shape& shape, Mode mode = Mode::low) {
  detail::single_key("random::bernoulli", key);
  detail::check_sizes("random::bernoulli", shape);
  if (detail::broadcast_shapes("random::bernoulli", p.shape(), shape) != shape) fail<ShapeError>("random::bernoulli", {"p of shape ", p.shape(), " does not broadcast to ", shape});
  if (mode == Mode::low) return uniform<P>(key, shape) < p;
  const auto u = uniform<P>(key, detail::with_front(2, shape));
  return u[1] * std::ldexp(1.0, 1 - std::numeric_limits<P>::digits) < p - u[0];
}
template <Floating P> Tensor<bool> bernoulli(const Key& key, const Tensor<P>& p) { return bernoulli(key, p, p.shape()); }
/// The same for one number p: a float draws 32-bit numbers, a double 64-bit ones.
template <Floating P> Tensor<bool> bernoulli(const Key& key, P p, const Shape& shape = {}, Mode mode = Mode::low) { return bernoulli(key, Tensor<P>(p), shape, mode); }

/// Integers of [lo, hi), any two integers, which are cut to what T holds; hi may be one more than that. lo where hi <= lo. Of 32 and 64
/// bits the streams differ; smaller types are drawn as 32 bits. As in JAX, large ranges that are no power of two have a slight bias.
template <std::integral T = std::int32_t, std::integral L, std::integral H>
  requires(!std::same_as<T, bool> && !std::same_as<L, bool> && !std::same_as<H, bool>)
Tensor<T> randint(const Key& key, const Shape& shape, L lo, H hi) {
  constexpr auto least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const auto cut = [](auto x) { return std::cmp_less(x, least) ? least : std::cmp_greater(x, most) ? most : static_cast<T>(x); };
  const T low = cut(lo), high = cut(hi);
  const bool beyond = std::cmp_greater(hi, most);
  std::uint64_t span = 1;
  // JAX clips both bounds, but the upper one of 8- and 16-bit types to one more than the largest number.
  if (sizeof(T) < 4 ? low < high || beyond : low < high) span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + (beyond ? 1 : 0);
  return Tensor<T>(detail::random_integers(key, dtype_of<T>(), shape, static_cast<std::uint64_t>(low), span));
}

}  // namespace random
}  // namespace spmd
