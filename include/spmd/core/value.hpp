// What flows through a program, untyped: a buffer of elements, or something that stands for one.
#pragma once
#include "list.hpp"
#include "shape.hpp"

namespace spmd {

enum class Platform { host, cuda };

/// A device of this process: host:0 is a CPU thread, cuda:3 a GPU.
struct Device {
  Platform platform = Platform::host;
  int id = 0;
  friend bool operator==(const Device&, const Device&) = default;
  std::string text() const { return detail::concat({platform == Platform::host ? "host:" : "cuda:", id}); }
  friend std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.text(); }
};

class Value;
class Buffer;
using Any = detail::Ref<const Value>;
using Anys = detail::List<Any, 3>;  // most operations have so many operands at most, which then need no block of their own

/// What the untyped core must know of an element type. One constant per type; the functions are operations like any other, so
/// they work on whatever the current interpreter traces.
struct DType {
  enum class Kind { boolean, integer, floating };
  std::string_view name;
  Index size;
  Kind kind;
  Any (*add)(const Any&, const Any&);                 // of cotangents that meet
  Any (*sum)(const Any&, const Axes&);                // over axes, which are dropped
  Any (*scale)(const Any&, double);                   // times a number
  Any (*scatter_add)(const Any& rows, const Any& updates, Index n, Index axis);  // the transpose of take
  bool differentiable() const { return kind == Kind::floating; }
};
template <class T> const DType* dtype_of();

/// A node that flows through a program. Immutable.
class Value : public detail::Counted {
 public:
  /// What it is, told without a dynamic_cast: that would be half the cost of a small operation. From `taped` on it stands for a
  /// value in some interpreter.
  enum class Kind : std::uint8_t { dense, pending, sharded, taped, batched };
  bool traced() const { return kind >= Kind::taped; }
  Value(Kind k, const Shape& s, const DType* t) : kind(k), dtype(t), shape(s) {}
  /// The elements in one piece of memory: computed, or gathered from shards, when first asked for. `op` is who asks: reading
  /// a value that vmap maps is an AxisError.
  virtual const Buffer& dense(std::string_view op) const = 0;
  /// The value without the derivatives that are being taken of it.
  virtual const Value& primal() const { return *this; }
  /// Whether there is one value here and not one per lane of a vmap.
  virtual bool readable() const { return true; }
  /// A tape will want this again: if it is computed on the way to something else, store it.
  virtual void keep() const {}

  const Kind kind;
  const DType* const dtype;
  const Shape shape;
};

/// When the work that fills a buffer is done. Host buffers are complete when they are made and have none.
class Completion : public detail::Counted {
 public:
  virtual void wait() const = 0;
};

/// Elements in memory, dense and row-major, on one device. It may be a part of a larger buffer, which it keeps alive.
class Buffer final : public Value {
 public:
  /// Uninitialised host memory. Small elements live in the node itself.
  static detail::Ref<Buffer> make(const Shape& shape, const DType* dtype, Device device) {
    Index n = shape.size();
    if (__builtin_mul_overflow(n, dtype->size, &n) || n > most_bytes) fail<DeviceError>("memory", {"a tensor of shape ", shape, " and type ", dtype->name, " is larger than any memory"});
    const auto bytes = static_cast<std::size_t>(n);
    const bool inside = bytes <= largest_inside;
    auto* memory = detail::allocate(inside ? header() + bytes : sizeof(Buffer));
    void* data = static_cast<std::byte*>(memory) + header();
    if (!inside) data = detail::allocate(bytes);
    return detail::Ref<Buffer>::adopt(new (memory) Buffer(shape, dtype, device, data, bytes, inside, {}));
  }
  /// A part of another buffer.
  static Any view(const Shape& shape, const DType* dtype, const Buffer& of, Index first) { return view(shape, dtype, of, first, of.device); }
  /// The same as a value of another device, which can read that memory.
  static Any view(const Shape& shape, const DType* dtype, const Buffer& of, Index first, Device device) {
    auto* data = static_cast<std::byte*>(of.data_) + first * dtype->size;
    return Any::adopt(new (detail::allocate(sizeof(Buffer))) Buffer(shape, dtype, device, data, 0, false, detail::Ref<const Buffer>(of.base_ ? of.base_.get() : &of)));
  }

  const Buffer& dense(std::string_view) const override { return *this; }
  const void* data() const { return data_; }
  void* fill() { return data_; }  // by whoever made it, before anybody else sees it
  template <class T> const T* as() const { return static_cast<const T*>(data_); }
  template <class T> T* fill_as() { return static_cast<T*>(data_); }

  const Device device;
  const detail::Ref<const Completion> completion;

 private:
  static constexpr std::size_t largest_inside = 1024;
  static constexpr Index most_bytes = Index{1} << 47;  // what an address counts
  static constexpr std::size_t header() { return (sizeof(Buffer) + 63) / 64 * 64; }
  Buffer(const Shape& s, const DType* t, Device d, void* data, std::size_t bytes, bool inside, detail::Ref<const Buffer> base)
      : Value(Kind::dense, s, t), device(d), data_(data), bytes_(bytes), inside_(inside), base_(std::move(base)) {}
  ~Buffer() override = default;
  void destroy() noexcept override {
    const auto bytes = bytes_;
    const bool inside = inside_, owns = !base_;
    auto* data = data_;
    this->~Buffer();
    if (!inside && owns) detail::deallocate(data, bytes);
    detail::deallocate(this, inside ? header() + bytes : sizeof(Buffer));
  }
  void* const data_;
  const std::size_t bytes_;
  const bool inside_;
  const detail::Ref<const Buffer> base_;
};

}  // namespace spmd
