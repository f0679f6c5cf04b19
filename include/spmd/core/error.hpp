// Errors: every failure the library reports is an Error whose text starts with the operation and carries the values.
#pragma once
#include <concepts>
#include <cstdint>
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

inline void append_text(std::string& out, std::string_view s) { out += s; }
template <std::integral I> void append_text(std::string& out, I i) {
  if constexpr (std::same_as<I, bool>) out += i ? "true" : "false";
  else out += std::to_string(i);
}
template <std::floating_point F> void append_text(std::string& out, F x) { out += std::to_string(x); }
template <class T>
  requires requires(const T& x) { x.text(); }
void append_text(std::string& out, const T& x) {
  out += x.text();
}

/// The parts, one behind the other, as text.
template <class... Parts> std::string concat_text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

}  // namespace detail

/// Throws E("op: parts..."). The only place in the library that throws.
template <class E = Error, class... Parts> [[noreturn]] void fail(std::string_view op, const Parts&... parts) {
  throw E(detail::concat_text(op, ": ", parts...));
}

}  // namespace spmd
