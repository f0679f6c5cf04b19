// Stores that pass by the cache. A result larger than the cache would only push out what is needed next, and an
// ordinary store first reads the line it overwrites: measured, twice the speed beyond 32 MiB, about equal at 8 MiB.
#pragma once
#include <cstdint>
#include <cstring>

#include "../../core/shape.hpp"
#include "isa.hpp"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace spmd::host {
inline namespace SPMD_ISA {

/// Results of at least so many bytes are streamed.
inline constexpr Index stream_bytes = Index{8} << 20;
inline constexpr std::size_t line_bytes = 64;

namespace detail {

/// Multiples of 16 bytes to where 16 divides the address. Lines must be written whole, if not at once.
inline void stream_pieces(void* out, const void* in, Index bytes) {
#ifdef __SSE2__
  auto* to = static_cast<__m128i*>(out);
  const auto* from = static_cast<const __m128i*>(in);
  for (Index i = 0; i < bytes / 16; ++i) _mm_stream_si128(to + i, _mm_loadu_si128(from + i));
#else
  std::memcpy(out, in, static_cast<std::size_t>(bytes));
#endif
}

}  // namespace detail

/// Bytes up to the next line.
inline Index to_line(const void* p) { return static_cast<Index>(-reinterpret_cast<std::uintptr_t>(p) % line_bytes); }

/// memcpy past the cache: whole lines are streamed, the ends stored.
inline void stream(void* out, const void* in, Index bytes) {
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(in);
  constexpr auto line = static_cast<Index>(line_bytes);
  const Index head = to_line(out) < bytes ? to_line(out) : bytes, lines = (bytes - head) / line * line, tail = bytes - head - lines;
  if (head) std::memcpy(to, from, static_cast<std::size_t>(head));
  detail::stream_pieces(to + head, from + head, lines);
  if (tail) std::memcpy(to + head + lines, from + head + lines, static_cast<std::size_t>(tail));
}

/// Streamed stores are weakly ordered: to be called before another thread may look.
inline void stream_end() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

/// memcpy, past the cache when it is long.
inline void copy_bytes(void* out, const void* in, Index bytes) {
  if (bytes < stream_bytes) {
    std::memcpy(out, in, static_cast<std::size_t>(bytes));
  } else {
    stream(out, in, bytes);
    stream_end();
  }
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
