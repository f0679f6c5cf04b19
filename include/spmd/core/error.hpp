// Errors: every failure the library reports is an Error whose text starts with the operation and carries the values.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace spmd {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Sizes, broadcasting, divisibility.
struct ShapeError : Error {
  using Error::Error;
};
/// An axis or an index: unbound, duplicate, out of range, a bad group, a mapped value that was read.
struct AxisError : Error {
  using Error::Error;
};
/// Trees that do not match, and element types at run time.
struct TypeError : Error {
  using Error::Error;
};
/// Devices: too few, repeated, memory, libraries.
struct DeviceError : Error {
  using Error::Error;
};
/// Shards that disagree on what they do together.
struct CollectiveMismatch : Error {
  using Error::Error;
};
/// A collective waited longer than set_timeout or SPMD_TIMEOUT allows.
struct Timeout : Error {
  using Error::Error;
};

namespace detail {

/// A part of a message: a view of text, a number, or something with a text(). Trivial, and a list of them is one argument,
/// because messages stand everywhere: each costs a program a few stores instead of functions of its own.
class Text {
 public:
  Text(const char* s) : Text(std::string_view(s)) {}
  Text(const std::string& s) : Text(std::string_view(s)) {}
  Text(std::string_view s) : kind_(Kind::view), view_(s) {}
  template <std::integral I> Text(I i) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(i)) {}
  template <std::floating_point F> Text(F x) : kind_(Kind::real), real_(static_cast<double>(x)) {}
  template <class T>
    requires requires(const T& x) { x.text(); }
  Text(const T& x) : kind_(Kind::object), object_{&x, [](const void* p) { return static_cast<const T*>(p)->text(); }} {}

  void append_to(std::string& out) const {
    switch (kind_) {
      case Kind::view: out += view_; break;
      case Kind::integer: out += std::to_string(integer_); break;
      case Kind::real: out += std::to_string(real_); break;
      case Kind::object: out += object_.text(object_.it); break;
    }
  }

 private:
  enum class Kind { view, integer, real, object } kind_;
  struct Object {
    const void* it;
    std::string (*text)(const void*);
  };
  union {
    std::string_view view_;
    std::int64_t integer_;
    double real_;
    Object object_;
  };
};
/// The parts, one behind the other.
inline std::string concat(std::initializer_list<Text> parts) {
  std::string out;
  for (auto& part : parts) part.append_to(out);
  return out;
}

}  // namespace detail

/// Throws E("op: parts..."). The only place in the library that throws.
template <class E = Error> [[noreturn]] void fail(std::string_view op, std::initializer_list<detail::Text> parts) {
  throw E(detail::concat({op, ": "}) + detail::concat(parts));
}

}  // namespace spmd
