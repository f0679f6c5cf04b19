// Keys and random bits. The generator is threefry2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) in the
// partitionable mode of JAX: element j of a draw depends on its key and on j alone, so neither shapes nor devices change the numbers.
#pragma once
#include "../core/key.hpp"
#include "../device/host/threefry.hpp"
#include "indexing.hpp"

namespace spmd {
namespace detail {

/// What is drawn from keys. The operand is their words, (keys..., 2); the result has the shape (keys..., shape), and the part of a key is
/// drawn from that key alone. So a vmap over keys only adds leading axes, and equals the loop over them bit for bit.
class Draw : public Primitive {
 public:
  Draw(std::string_view name, const DType* type, const Shape& shape) : name_(name), type_(type), shape_(shape) {}
  std::string_view name() const final { return name_; }
  Anys impl(const Anys& args) const final {
    auto& words = args[0]->dense(name_);
    auto* word = words.as<std::uint32_t>();
    Shape all = without(words.shape, words.shape.rank() - 1);
    const Index keys = all.size(), n = shape_.size();
    for (auto d : shape_) all.push_back(d);
    auto out = Buffer::make(all, type_, default_device());
    auto* to = out->fill_as<std::byte>();
    for (Index k = 0; k < keys && n > 0; ++k) fill(to + k * n * type_->size, word[2 * k], word[2 * k + 1], n);
    return one<Any>(Any(std::move(out)));
  }
  // Keys are integers, so no cotangent is ever asked for: nothing that is drawn has a gradient.
  Anys vjp(const Anys&, const Anys&, const Anys&, Needed) const final { return Anys(1); }
  Batch batch(const Axis&, const Batch& args) const final {
    return one<Batched>(Batched{std::move(interpret(Ref<const Primitive>(this), one<Any>(args[0].value))[0]), true});
  }

 protected:
  /// Writes the n elements that belong to the key (k0, k1).
  virtual void fill(void* out, std::uint32_t k0, std::uint32_t k1, Index n) const = 0;

 private:
  const std::string_view name_;
  const DType* const type_;
  const Shape shape_;
};
template <class F> class DrawBy final : public Draw {
 public:
  DrawBy(std::string_view name, const DType* type, const Shape& shape, F f) : Draw(name, type, shape), fill_(std::move(f)) {}

 protected:
  void fill(void* out, std::uint32_t k0, std::uint32_t k1, Index n) const override { fill_(out, k0, k1, n); }

 private:
  const F fill_;
};

/// One key with its words, or TypeError.
inline const Any& single_key(std::string_view op, const Key& key) {
  const auto shape = key.shape();
  if (shape.rank() > 0) fail<TypeError>(op, {"needs a single key, got an array of keys of shape ", shape, ": use vmap or k[i]"});
  return key.words().any();
}
inline void check_sizes(std::string_view op, const Shape& shape) {
  for (auto d : shape)
    if (d < 0) fail<ShapeError>(op, {"a size is negative in ", shape});
}
/// What fill(memory, k0, k1, n) draws from one key. `op` must be a literal.
template <class F> Any draw(std::string_view op, const Key& key, const DType* type, const Shape& shape, F fill) {
  check_sizes(op, shape);
  return std::move(interpret(make<const DrawBy<F>>(op, type, shape, std::move(fill)), one<Any>(single_key(op, key)))[0]);
}

/// The key that the block function makes of a key and of a number: operands (keys..., 2) and (keys...).
class FoldIn final : public Primitive {
 public:
  std::string_view name() const override { return "random::fold_in"; }
  Anys impl(const Anys& args) const override {
    auto *word = args[0]->dense(name()).as<std::uint32_t>(), *number = args[1]->dense(name()).as<std::uint32_t>();
    auto out = Buffer::make(args[0]->shape, args[0]->dtype, default_device());
    auto* to = out->fill_as<std::uint32_t>();
    for (Index k = 0, n = args[1]->shape.size(); k < n; ++k) host::threefry_split(to + 2 * k, word[2 * k], word[2 * k + 1], number[k], 1);
    return one<Any>(Any(std::move(out)));
  }
  Anys vjp(const Anys&, const Anys&, const Anys&, Needed) const override { return Anys(2); }
  Batch batch(const Axis& axis, const Batch& args) const override {
    Anys lanes;
    for (auto& x : args) lanes.push_back(on_lanes(x, axis.size));
    return one<Batched>(Batched{std::move(interpret(make<const FoldIn>(), lanes)[0]), true});
  }
};
inline Key fold_in(const Key& key, const Tensor<std::uint32_t>& number) {
  Anys args;
  args.push_back(single_key("random::fold_in", key));
  args.push_back(number.any());
  if (number.rank() > 0) fail<ShapeError>("random::fold_in", {"needs one integer, got a tensor of shape ", number.shape(), ": use vmap"});
  return Key::from_words(Tensor<std::uint32_t>(std::move(interpret(make<const FoldIn>(), args)[0])));
}

inline Any random_bits(const Key& key, const DType* type, const Shape& shape) {
  return draw("random::bits", key, type, shape, [width = static_cast<int>(8 * type->size)](void* out, std::uint32_t k0, std::uint32_t k1, Index n) {
    host::threefry_bits(out, k0, k1, 0, n, width);
  });
}

}  // namespace detail

namespace random {

/// The key of a seed, of which the low 32 bits count: words (0, seed mod 2^32).
template <std::integral I> Key key(I seed) { return Key(seed); }

/// The words of a key, or of an array of keys, of shape (..., 2).
inline Tensor<std::uint32_t> key_data(const Key& key) { return key.words(); }
/// The key, or the array of keys, of these words. ShapeError when their last axis is not 2.
inline Key wrap_key_data(const Tensor<std::uint32_t>& words) {
  if (words.rank() == 0 || words.shape().back() != 2) fail<ShapeError>("random::wrap_key_data", {"needs words of shape (..., 2), got ", words.shape()});
  return Key::from_words(words);
}

/// Independent keys, an array of this shape, made of one; use each for one purpose. Key j, in row-major order, is fold_in(key, j) and does not
/// depend on the shape. TypeError for an array of keys, ShapeError for a negative size.
inline Key split(const Key& key, const Shape& shape) {
  Shape words = shape;
  words.push_back(2);
  return Key::from_words(Tensor<std::uint32_t>(detail::draw("random::split", key, dtype_of<std::uint32_t>(), words, [](void* out, std::uint32_t k0, std::uint32_t k1, Index n) {
    host::threefry_split(static_cast<std::uint32_t*>(out), k0, k1, 0, n / 2);
  })));
}
/// n keys, along a leading axis.
template <std::integral I> Key split(const Key& key, I n) { return split(key, Shape{n}); }
inline Key split(const Key& key) { return split(key, Shape{2}); }

/// The key that belongs to a number: another one for every i, which counts modulo 2^32. TypeError for an array of keys.
template <std::integral I> Key fold_in(const Key& key, I i) { return detail::fold_in(key, Tensor<std::uint32_t>(static_cast<std::uint32_t>(i))); }
/// The same with an integer tensor of rank 0 (ShapeError otherwise), which may be mapped: fold_in(key, axis_index("i")) is a key of one's own
/// for every shard.
template <std::integral I> Key fold_in(const Key& key, const Tensor<I>& i) { return detail::fold_in(key, cast<std::uint32_t>(i)); }

/// Random bits, for an unsigned type of 8, 16, 32 or 64 bits; exactly JAX's. TypeError for an array of keys, ShapeError for a negative size.
template <std::unsigned_integral T = std::uint32_t>
  requires(!std::same_as<T, bool>)
Tensor<T> bits(const Key& key, const Shape& shape) {
  return Tensor<T>(detail::random_bits(key, dtype_of<T>(), shape));
}

}  // namespace random
}  // namespace spmd
