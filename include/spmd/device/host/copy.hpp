// Moving elements: strided copies (transpose, broadcast, flip, slices) and fills. Data moves by item size, never by type.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "../../core/shape.hpp"
#include "isa.hpp"
#include "stream.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {

namespace detail {

template <std::size_t S> void repeat_items(char* out, const char* value, Index bytes) {
  for (Index i = 0; i < bytes; i += static_cast<Index>(S)) std::memcpy(out + i, value, S);
}
inline void repeat(char* out, const char* value, Index bytes, Index item) {
  switch (item) {
    case 1: return repeat_items<1>(out, value, bytes);
    case 2: return repeat_items<2>(out, value, bytes);
    case 4: return repeat_items<4>(out, value, bytes);
    case 8: return repeat_items<8>(out, value, bytes);
    default: return repeat_items<16>(out, value, bytes);
  }
}

}  // namespace detail

/// out[0 .. n) = *value, of 1, 2, 4, 8 or 16 bytes.
inline void fill(void* out, const void* value, Index n, Index item) {
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(value);
  const Index bytes = n * item;
  constexpr Index line = line_bytes;
  if (bytes < 2 * line) return detail::repeat(to, from, bytes, item);
  alignas(line_bytes) char pattern[line_bytes];  // looks the same from every item, because the item divides a line
  detail::repeat(pattern, from, line, item);
  std::memcpy(to, pattern, line_bytes);
  Index i = line;
  if (bytes >= stream_bytes && to_line(to) % item == 0) {
    for (i = to_line(to); i + line <= bytes; i += line) detail::stream_pieces(to + i, pattern, line);
    stream_end();
  } else {
    for (; i + line <= bytes; i += line) std::memcpy(to + i, pattern, line_bytes);
  }
  std::memcpy(to + bytes - line, pattern, line_bytes);
}

namespace detail {

/// One loop of a strided copy: its length and the steps, in bytes.
struct CopyLoop {
  Index size, out, in;
};

/// A copy as nested loops, outermost first, around runs of `run` contiguous bytes.
struct CopyPlan {
  char* out;
  const char* in;
  Index run;
  Index depth = 0;
  CopyLoop loops[Shape::capacity];
};

/// The loops in the order of the output, as few of them as possible. False when there is nothing to copy.
inline bool plan_copy(CopyPlan& plan, const Axes& out_strides, const Axes& in_strides, const Shape& shape, Index item) {
  for (Index d = 0; d < shape.rank(); ++d) {
    CopyLoop loop{shape[d], out_strides[d] * item, in_strides[d] * item};
    if (loop.size == 0) return false;
    if (loop.size == 1) continue;
    if (loop.out < 0) {  // run both backwards: writes then always ascend
      plan.out += loop.out * (loop.size - 1);
      plan.in += loop.in * (loop.size - 1);
      loop.out = -loop.out;
      loop.in = -loop.in;
    }
    Index at = plan.depth++;
    for (; at > 0 && plan.loops[at - 1].out < loop.out; --at) plan.loops[at] = plan.loops[at - 1];
    plan.loops[at] = loop;
  }
  Index depth = 0;
  for (Index d = 0; d < plan.depth; ++d) {
    const CopyLoop loop = plan.loops[d];
    if (depth > 0) {
      CopyLoop& outer = plan.loops[depth - 1];
      if (outer.out == loop.out * loop.size && outer.in == loop.in * loop.size) {
        outer = {outer.size * loop.size, loop.out, loop.in};
        continue;
      }
    }
    plan.loops[depth++] = loop;
  }
  plan.run = item;
  if (depth > 0 && plan.loops[depth - 1].out == item && plan.loops[depth - 1].in == item) plan.run *= plan.loops[--depth].size;
  plan.depth = depth;
  return true;
}

/// The two innermost loops of a copy, by the kind of copy.
using CopyKernel = void(char* out, const char* in, const CopyLoop& rows, const CopyLoop& columns, Index run);

inline void copy_runs(char* out, const char* in, const CopyLoop& rows, const CopyLoop& columns, Index run) {
  for (Index r = 0; r < rows.size; ++r)
    for (Index c = 0; c < columns.size; ++c)
      copy_bytes(out + r * rows.out + c * columns.out, in + r * rows.in + c * columns.in, run);
}

inline void copy_fill(char* out, const char* in, const CopyLoop& rows, const CopyLoop& columns, Index run) {
  for (Index r = 0; r < rows.size; ++r) fill(out + r * rows.out, in + r * rows.in, columns.size, run);
}

template <std::size_t S> void copy_items(char* out, const char* in, const CopyLoop& rows, const CopyLoop& columns, Index) {
  for (Index r = 0; r < rows.size; ++r) {
    char* to = out + r * rows.out;
    const char* from = in + r * rows.in;
    for (Index c = 0; c < columns.size; ++c, to += columns.out, from += columns.in) std::memcpy(to, from, S);
  }
}

template <std::size_t S> struct ItemOf;
template <> struct ItemOf<1> { using type = std::uint8_t; };
template <> struct ItemOf<2> { using type = std::uint16_t; };
template <> struct ItemOf<4> { using type = std::uint32_t; };
template <> struct ItemOf<8> { using type = std::uint64_t; };

/// A square of items with rows of one register (of 16 bytes for small items, which interleave badly in wider ones),
/// transposed in registers: interleaving the upper with the lower half of the rows, log2(side) times, is a transpose.
template <std::size_t S> struct Square {
  static constexpr int side = (S < 4 ? 16 : SPMD_PACK_BYTES) / S;
  typedef typename ItemOf<S>::type Row __attribute__((vector_size(side * S)));

  template <int... I> static Row interleave(Row a, Row b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (I / 2 + I % 2 * side)...);
  }
  template <int... I> static Row interleave_high(Row a, Row b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (side / 2 + I / 2 + I % 2 * side)...);
  }
  [[gnu::noinline]] static void transpose(char* out, Index out_step, const char* in, Index in_step) {
    constexpr auto sequence = std::make_integer_sequence<int, side>();
    Row rows[std::size_t{side}], next[std::size_t{side}];
#pragma GCC unroll 16
    for (int i = 0; i < side; ++i) std::memcpy(&rows[i], in + i * in_step, sizeof(Row));
#pragma GCC unroll 4
    for (int stage = 1; stage < side; stage *= 2) {
#pragma GCC unroll 8
      for (int i = 0; i < side / 2; ++i) {
        next[2 * i] = interleave(rows[i], rows[i + side / 2], sequence);
        next[2 * i + 1] = interleave_high(rows[i], rows[i + side / 2], sequence);
      }
#pragma GCC unroll 16
      for (int i = 0; i < side; ++i) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < side; ++i) std::memcpy(out + i * out_step, &rows[i], sizeof(Row));
  }
};

/// rows step by one item in the input, columns by one item in the output.
template <std::size_t S> void copy_transpose(char* out, const char* in, const CopyLoop& rows, const CopyLoop& columns, Index) {
  constexpr Index item = S, side = Square<S>::side, tile = S == 8 ? 32 : 64;
  const Index r_end = rows.size / side * side, c_end = columns.size / side * side, bytes = rows.size * columns.size * item;
  const auto squares = [](char* to, Index out_step, const char* from, Index in_step, Index height, Index width) {
    for (Index c = 0; c < width; c += side)
      for (Index r = 0; r < height; r += side)
        Square<S>::transpose(to + r * out_step + c * item, out_step, from + r * item + c * in_step, in_step);
  };
  constexpr Index through_tile = side * item == line_bytes ? Index{1} << 20 : Index{1} << 16;
  if (bytes < through_tile) {
    squares(out, rows.out, in, columns.in, r_end, c_end);
  } else {  // through a tile in the first-level cache, so that the output is written in whole lines
    alignas(line_bytes) char buffer[static_cast<std::size_t>(tile * tile * item)];
    for (Index c = 0; c < c_end; c += tile)
      for (Index r = 0; r < r_end; r += tile) {
        const Index height = std::min(tile, r_end - r), width = std::min(tile, c_end - c);
        squares(buffer, tile * item, in + r * item + c * columns.in, columns.in, height, width);
        for (Index i = 0; i < height; ++i) {
          char* to = out + (r + i) * rows.out + c * item;
          if (bytes >= stream_bytes) stream(to, buffer + i * tile * item, width * item);
          else std::memcpy(to, buffer + i * tile * item, static_cast<std::size_t>(width * item));
        }
      }
    if (bytes >= stream_bytes) stream_end();
  }
  const auto rest = [&](Index r, Index r_stop, Index c, Index c_stop) {
    char* to = out + r * rows.out + c * item;
    const char* from = in + r * item + c * columns.in;
    const CopyLoop height{r_stop - r, rows.out, item}, width{c_stop - c, item, columns.in};
    if (height.size > width.size) copy_items<S>(to, from, width, height, item);  // the long loop goes inside
    else copy_items<S>(to, from, height, width, item);
  };
  rest(0, r_end, c_end, columns.size);
  rest(r_end, rows.size, 0, columns.size);
}

struct CopyKernels {
  CopyKernel *items, *transpose;
};
inline CopyKernels copy_kernels(Index run) {
  switch (run) {
    case 1: return {copy_items<1>, copy_transpose<1>};
    case 2: return {copy_items<2>, copy_transpose<2>};
    case 4: return {copy_items<4>, copy_transpose<4>};
    case 8: return {copy_items<8>, copy_transpose<8>};
    case 16: return {copy_items<16>, copy_items<16>};
    default: return {copy_runs, copy_runs};
  }
}

inline void run_loops(CopyKernel* kernel, const CopyPlan& plan, Index depth, char* out, const char* in) {
  const CopyLoop& loop = plan.loops[depth];
  if (depth + 2 == plan.depth) return kernel(out, in, loop, plan.loops[depth + 1], plan.run);
  for (Index i = 0; i < loop.size; ++i) run_loops(kernel, plan, depth + 1, out + i * loop.out, in + i * loop.in);
}

}  // namespace detail

/// out[i] = in[i] for every index i of the shape. Strides are in elements; those of `in` may be 0 (broadcast) and both
/// may be negative (flip). Both pointers are at index 0, whatever the strides' signs. They must not overlap.
inline void copy_strided(void* out, const Axes& out_strides, const void* in, const Axes& in_strides, const Shape& shape, Index item) {
  using namespace detail;
  CopyPlan plan;
  plan.out = static_cast<char*>(out);
  plan.in = static_cast<const char*>(in);
  if (!plan_copy(plan, out_strides, in_strides, shape, item)) return;
  if (plan.depth == 0) {
    copy_bytes(plan.out, plan.in, plan.run);
    return;
  }
  const CopyKernels kernels = copy_kernels(plan.run);
  CopyKernel* kernel = kernels.items;
  const CopyLoop& inner = plan.loops[plan.depth - 1];
  if (inner.out == plan.run && kernel != copy_runs) {
    if (inner.in == 0 && inner.size > 16) kernel = copy_fill;
    // A loop that is contiguous in the input, beside the one that is contiguous in the output: a transpose.
    for (Index d = plan.depth - 2; d >= 0; --d)
      if (plan.loops[d].in == plan.run && inner.in != 0) {
        kernel = kernels.transpose;
        const CopyLoop found = plan.loops[d];
        for (Index i = d; i < plan.depth - 2; ++i) plan.loops[i] = plan.loops[i + 1];
        plan.loops[plan.depth - 2] = found;
        break;
      }
  }
  if (plan.depth == 1) kernel(plan.out, plan.in, {1, 0, 0}, inner, plan.run);
  else run_loops(kernel, plan, 0, plan.out, plan.in);
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
