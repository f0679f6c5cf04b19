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

/// A part of a message.
class Text {
 public:
  Text(const char* s) : text_(s) {}
  Text(std::string_view s) : text_(s) {}
  Text(std::string s) : text_(std::move(s)) {}
  template <std::integral I> Text(I i) : text_(std::to_string(i)) {}
  template <std::floating_point F> Text(F x) : text_(std::to_string(x)) {}
  template <class T>
    requires requires(const T& x) { x.text(); }
  Text(const T& x) : text_(x.text()) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};
inline std::string concat(std::initializer_list<Text> parts) {
  std::string out;
  for (auto& part : parts) out += part.text();
  return out;
}
/// The parts, one behind the other, as text.
template <class... Parts> std::string concat_text(Parts... parts) { return concat({Text(std::move(parts))...}); }

}  // namespace detail

/// Throws E("op: parts..."). The only place in the library that throws.
template <class E> [[noreturn]] void fail_with(std::string_view op, const std::string& text) { throw E(std::string(op) + ": " + text); }
template <class E = Error, class... Parts> [[noreturn]] void fail(std::string_view op, Parts... parts) {
  fail_with<E>(op, detail::concat({detail::Text(std::move(parts))...}));
}

}  // namespace spmd
