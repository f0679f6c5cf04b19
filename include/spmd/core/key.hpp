// A random key: two words of counter-based generator state, and a tree leaf like a tensor.
#pragma once
#include "tensor.hpp"

namespace spmd {

/// One key, or an array of keys; its words are a Tensor<std::uint32_t> of shape (..., 2).
class Key {
 public:
  /// The key of a seed, as in JAX with 32-bit integers: words (0, seed mod 2^32).
  template <std::integral I> explicit Key(I seed) : words_(Shape{2}, {0u, static_cast<std::uint32_t>(seed)}) {}
  Key() : Key(0) {}

  /// The leading axes: () for a single key.
  Shape shape() const {
    Shape s = words_.shape();
    s.erase(s.rank() - 1);
    return s;
  }
  Index size() const { return shape().size(); }
  /// The i-th key of the leading axis; negative counts from the end; AxisError when out of range, or of a single key.
  Key operator[](Index i) const {
    if (words_.rank() < 2) fail<AxisError>("operator[]", {"a single key has no leading axis: split it first"});
    return from_words(words_[i]);
  }

  const Tensor<std::uint32_t>& words() const { return words_; }
  static Key from_words(Tensor<std::uint32_t> words) {
    Key key{Raw{}, std::move(words)};
    return key;
  }

 private:
  struct Raw {};
  Key(Raw, Tensor<std::uint32_t> words) : words_(std::move(words)) {}
  Tensor<std::uint32_t> words_;
};

}  // namespace spmd
