// Which results wait to be computed, and which are computed at once.
#pragma once
#include "pending.hpp"

namespace spmd::detail {

/// The largest result that is computed at once: for small ones a program costs more than it saves.
inline constexpr Index eager_size = 1024;

inline Any stretch(const Any& x, const Shape& shape, const Axes& strides);

/// What dense() gives, without a virtual call where the elements are there.
inline const Buffer& dense_elements(const Value& x) { return x.kind == Value::Kind::dense ? static_cast<const Buffer&>(x) : x.dense("elementwise"); }

/// One elementwise step on unsharded operands of this shape, or of rank 0.
inline Any elementwise_step(Kernel kernel, const DType* dtype, const Shape& shape, const Any* const* args, std::size_t count) {
  const auto device = default_device();
  const Index n = shape.size();
  if (n <= eager_size) {
    const void* in[Pending::arity] = {};
    alignas(64) std::byte filled[Pending::arity][eager_size * 8];
    for (std::size_t i = 0; i < count; ++i) {
      auto& x = dense_elements(**args[i]);
      in[i] = x.data();
      if (x.shape.rank() == shape.rank()) continue;
      host::fill(filled[i], x.data(), n, x.dtype->size);
      in[i] = filled[i];
    }
    auto out = Buffer::make(shape, dtype, device);
    kernel.run(out->fill(), in, n);
    return out;
  }
  std::array<Any, Pending::arity> stretched;
  const Any* full[Pending::arity];
  for (std::size_t i = 0; i < count; ++i) {
    full[i] = args[i];
    if ((*args[i])->shape.rank() == shape.rank()) continue;
    stretched[i] = stretch(*args[i], shape, Axes::filled(shape.rank(), 0));
    full[i] = &stretched[i];
  }
  args = full;
  Index steps = 1;
  for (std::size_t i = 0; i < count; ++i)
    if (auto* p = Pending::pending(*args[i])) steps += p->steps();
  if (steps > Pending::most_steps)
    for (std::size_t i = 0; i < count; ++i) (*args[i])->dense("elementwise");
  return make<const Pending>(kernel, dtype, shape, args, count, device);
}

/// A part of dense elements whose rows are long enough to be read in tiles by who computes with it; `first` is its first element.
inline bool may_wait(const Shape& part) { return part.size() > eager_size && part.back() >= 64; }
inline Any waiting_part(const Buffer& of, Index first, const Shape& part, const Axes& strides) {
  Index span = 1;
  for (Index d = 0; d < part.rank(); ++d) span += (part[d] - 1) * strides[d];
  return make<const Pending>(Buffer::view(Shape{span}, of.dtype, of, first), part, strides, of.device);
}

/// x stretched to a shape; strides into x, 0 along stretched axes.
inline Any stretch(const Any& x, const Shape& shape, const Axes& strides) {
  const auto device = default_device();
  auto& base = x->dense("broadcast");
  if (shape.size() > eager_size) return make<const Pending>(Any(&base), shape, strides, device);
  auto out = Buffer::make(shape, x->dtype, device);
  if (shape.rank() == 0) std::memcpy(out->fill(), base.data(), static_cast<std::size_t>(x->dtype->size));
  else if (shape.size() > 0) stretch_tile(out->fill(), base.data(), x->dtype->size, shape, strides, 0, shape.size());
  return out;
}

}  // namespace spmd::detail
