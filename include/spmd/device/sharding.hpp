// Sharded values: blocks of one array on several devices. What pmap returns, and takes again without moving anything.
#pragma once
#include "host/copy.hpp"
#include "host/fused.hpp"

namespace spmd::detail {

/// A block of a sharded value.
struct Part {
  Device device;
  Axes offset;  // of its first element in the whole
  Any value;
};

/// Blocks that tile an array, or copies of the whole of it; in the order of the shards that made them.
class Sharded final : public Value {
 public:
  Sharded(const Shape& s, List<Part> p) : Value(Kind::sharded, s, p[0].value->dtype), parts(std::move(p)) {}
  ~Sharded() override {
    if (auto* whole = whole_.load()) whole->release();
  }
  /// Whether each part is the whole.
  bool replicated() const { return parts[0].value->shape == shape; }
  inline const Buffer& dense(std::string_view op) const override;  // inline here already: no key function, or every file that includes this would emit the class
  void keep() const override {
    for (auto& part : parts) part.value->keep();
  }

  const List<Part> parts;

 private:
  mutable std::atomic<const Buffer*> whole_ = nullptr;
};

inline const Sharded* as_sharded(const Value& x) { return x.kind == Value::Kind::sharded ? static_cast<const Sharded*>(&x) : nullptr; }

inline const Buffer& Sharded::dense(std::string_view op) const {
  if (replicated()) return parts[0].value->dense(op);
  if (auto* whole = whole_.load(std::memory_order_acquire)) return *whole;
  auto out = Buffer::make(shape, dtype, parts[0].device);
  const auto strides = strides_of(shape);
  for (auto& part : parts) {
    Index first = 0;
    for (Index d = 0; d < shape.rank(); ++d) first += part.offset[d] * strides[d];
    host::copy_strided(out->fill_as<std::byte>() + first * dtype->size, strides, part.value->dense(op).data(), strides_of(part.value->shape), part.value->shape, dtype->size);
  }
  Runtime::instance().gathers.add(shape.size() * dtype->size);
  const Buffer* none = nullptr;
  out->retain();
  if (!whole_.compare_exchange_strong(none, out.get(), std::memory_order_acq_rel)) {
    out->release();
    return *none;
  }
  return *out;
}

/// The block of x that begins at `offset`: a view where its elements lie one behind the other, and never a copy of a part that
/// is exactly this block. With `wait` it may be left to who needs it, if that can be an elementwise program.
inline Any block(const Any& x, const Axes& offset, const Shape& extent, bool wait = false) {
  if (extent == x->shape) return x;
  if (auto* s = as_sharded(*x)) {
    for (auto& part : s->parts) {
      Axes inner = offset;
      bool inside = true;
      for (Index d = 0; d < offset.rank(); ++d) {
        inner[d] -= part.offset[d];
        inside &= inner[d] >= 0 && inner[d] + extent[d] <= part.value->shape[d];
      }
      if (inside) return block(part.value, inner, extent, wait);
    }
  }
  if (auto* p = Pending::pending(x))
    if (auto base = p->stretched_scalar()) return stretch(base, extent, Axes::filled(extent.rank(), 0));
  auto& buffer = x->dense("slice");
  const auto strides = strides_of(x->shape);
  Index first = 0, leading = 0;
  for (Index d = 0; d < offset.rank(); ++d) first += offset[d] * strides[d];
  while (leading < extent.rank() && extent[leading] == 1) ++leading;
  bool contiguous = true;  // after sizes of one, one axis may be cut; those behind it are whole
  for (Index d = leading + 1; d < extent.rank(); ++d) contiguous &= extent[d] == x->shape[d];
  if (contiguous && extent.size() > 0) return Buffer::view(extent, x->dtype, buffer, first);
  if (wait && may_wait(extent)) return waiting_part(buffer, first, extent, strides);
  auto out = Buffer::make(extent, x->dtype, buffer.device);
  host::copy_strided(out->fill(), strides_of(extent), static_cast<const std::byte*>(buffer.data()) + first * x->dtype->size, strides, extent, x->dtype->size);
  return out;
}

/// The same elements, of another shape of the same size.
inline Any reshaped(const Any& x, const Shape& shape) {
  if (x->shape == shape) return x;
  return Buffer::view(shape, x->dtype, x->dense("reshape"), 0);
}

inline bool sharded(const Value& x) { return as_sharded(x) != nullptr; }
inline Index shards_of(const Value& x) {
  auto* s = as_sharded(x);
  return s ? static_cast<Index>(s->parts.size()) : 1;
}
inline List<Device> devices_of(const Value& x) {
  List<Device> list;
  if (auto* s = as_sharded(x)) {
    for (auto& part : s->parts) list.push_back(part.device);
  } else if (x.kind == Value::Kind::dense) {
    list.push_back(static_cast<const Buffer&>(x).device);
  } else if (x.kind == Value::Kind::pending) {
    list.push_back(static_cast<const Pending&>(x).device);
  } else {
    list.push_back(default_device());
  }
  return list;
}
/// A value as one of another device. The host's devices share their memory: nothing moves.
inline Any on_device(const Any& x, Device device) {
  if (!sharded(*x) && devices_of(*x)[0] == device) return x;
  return Buffer::view(x->shape, x->dtype, x->dense("device_put"), 0, device);
}
inline Any shard_of_value(const Any& x, Index i) {
  auto* s = as_sharded(x->primal());
  const Index n = s ? static_cast<Index>(s->parts.size()) : 1;
  if (i < -n || i >= n) fail<AxisError>("shard", {"index ", i, " is out of range for ", n, " shards"});
  if (!s) return x;
  auto& part = s->parts[static_cast<std::size_t>(i < 0 ? i + n : i)];
  return on_device(part.value, part.device);
}

/// One elementwise step on operands of this shape, or of rank 0. On equally sharded operands it runs part by part, where the parts are.
inline Any elementwise(Kernel kernel, const DType* dtype, const Shape& shape, const Any* const* args, std::size_t count) {
  const Sharded* like = nullptr;
  for (std::size_t i = 0; i < count; ++i)
    if (auto* s = as_sharded(**args[i]); s && s->shape == shape && (!like || (like->replicated() && !s->replicated()))) like = s;
  if (!like) return elementwise_step(kernel, dtype, shape, args, count);
  for (std::size_t i = 0; i < count; ++i) {
    auto* s = as_sharded(**args[i]);
    if (!s || s == like || s->replicated()) continue;
    bool equal = s->parts.size() == like->parts.size();
    for (std::size_t p = 0; equal && p < s->parts.size(); ++p) equal = s->parts[p].device == like->parts[p].device && s->parts[p].offset == like->parts[p].offset;
    if (!equal) return elementwise_step(kernel, dtype, shape, args, count);  // gathers
  }
  List<Part> parts;
  for (std::size_t p = 0; p < like->parts.size(); ++p) {
    auto& part = like->parts[p];
    std::array<Any, Pending::arity> cut;
    const Any* cuts[Pending::arity];
    bool as_before = p > 0;  // copies that share their memory are computed once
    for (std::size_t i = 0; i < count; ++i) {
      auto* s = as_sharded(**args[i]);
      const bool copies = s && s->replicated() == like->replicated() && s->parts.size() == like->parts.size();
      const bool scalar = (*args[i])->shape.size() == 1;
      cut[i] = copies ? s->parts[p].value : scalar ? *args[i] : block(*args[i], part.offset, part.value->shape);
      as_before = as_before && (copies ? cut[i] == s->parts[p - 1].value : like->replicated());
      cuts[i] = &cut[i];
    }
    parts.push_back({part.device, part.offset, as_before ? parts.back().value : elementwise_step(kernel, dtype, part.value->shape, cuts, count)});
  }
  return make<const Sharded>(shape, std::move(parts));
}

}  // namespace spmd::detail
