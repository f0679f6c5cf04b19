// Reductions: over any axes of an array, and over several arrays element by element (what an all-reduce computes).
#pragma once
#include <algorithm>

#include "../../core/shape.hpp"
#include "reducers.hpp"
#include "stream.hpp"

namespace spmd::host {
inline namespace SPMD_ISA {
namespace detail {

/// Terms that one accumulator takes before it is folded into a wide one: keeps float sums within 1e-6 whatever their length.
inline constexpr Index terms = 32;
inline constexpr int registers = 8;  // accumulators side by side, to hide the latency of an addition

/// The lanes of a register, combined by halves.
template <class R, class A, int n> A across(const Lanes<A, n>& x) {
  if constexpr (n == 1) {
    return x[0];
  } else {
    Lanes<A, n / 2> halves[2];
    __builtin_memcpy(halves, &x, sizeof(x));
    return across<R, A, n / 2>(R::of(halves[0], halves[1]));
  }
}

/// in[0] .. in[n - 1] combined, for 0 < n <= terms * registers * lanes.
template <class R, class A, class T> A reduce_block(const T* in, Index n) {
  constexpr int lanes = lanes_in_register<A>;
  Index i = 0;
  A total;
  if (n >= lanes) {
    Register<A> sum = load_as<A, lanes>(in);
    i = lanes;
    if (n >= registers * lanes) {
      Register<A> sums[registers];
      sums[0] = sum;
#pragma GCC unroll 8
      for (int r = 1; r < registers; ++r) sums[r] = load_as<A, lanes>(in + r * lanes);
      for (i = registers * lanes; i + registers * lanes <= n; i += registers * lanes) {
#pragma GCC unroll 8
        for (int r = 0; r < registers; ++r) sums[r] = R::of(sums[r], load_as<A, lanes>(in + i + r * lanes));
      }
      for (int width = registers / 2; width > 0; width /= 2)
        for (int r = 0; r < width; ++r) sums[r] = R::of(sums[r], sums[r + width]);
      sum = sums[0];
    }
    for (; i + lanes <= n; i += lanes) sum = R::of(sum, load_as<A, lanes>(in + i));
    total = across<R, A, lanes>(sum);
  } else {
    total = widen<A>(in[i++]);
  }
  for (; i < n; ++i) total = R::of(total, widen<A>(in[i]));
  return total;
}

/// in[0] .. in[n - 1] combined, for n > 0.
template <class R, class A, class T> Wide<R, A> reduce_run(const T* in, Index n) {
  constexpr Index block = terms * registers * lanes_in_register<A>;
  Wide<R, A> total = reduce_block<R, A>(in, std::min(n, block));
  for (Index i = block; i < n; i += block) total = R::of(total, static_cast<Wide<R, A>>(reduce_block<R, A>(in + i, std::min(n - i, block))));
  return total;
}

/// put(i, x) for every register of columns in [begin, end), where x = rows[0][i] . rows[1][i] . ...; then put(i, number)
/// for the columns left over.
template <class R, class A, class T, class Put> void reduce_columns(const T* const* rows, Index count, Index begin, Index end, Put&& put) {
  constexpr int lanes = lanes_in_register<A>;
  Index i = begin;
  for (; i + registers * lanes <= end; i += registers * lanes) {
    Register<A> sums[registers];
#pragma GCC unroll 8
    for (int r = 0; r < registers; ++r) sums[r] = load_as<A, lanes>(rows[0] + i + r * lanes);
    for (Index row = 1; row < count; ++row) {
      const T* in = rows[row] + i;
#pragma GCC unroll 8
      for (int r = 0; r < registers; ++r) sums[r] = R::of(sums[r], load_as<A, lanes>(in + r * lanes));
    }
#pragma GCC unroll 8
    for (int r = 0; r < registers; ++r) put(i + r * lanes, sums[r]);
  }
  for (; i + lanes <= end; i += lanes) {
    Register<A> sum = load_as<A, lanes>(rows[0] + i);
    for (Index row = 1; row < count; ++row) sum = R::of(sum, load_as<A, lanes>(rows[row] + i));
    put(i, sum);
  }
  if (i == end) return;
  A sums[std::size_t{lanes}];
  for (Index c = i; c < end; ++c) sums[c - i] = widen<A>(rows[0][c]);
  for (Index row = 1; row < count; ++row)
    for (Index c = i; c < end; ++c) sums[c - i] = R::of(sums[c - i], widen<A>(rows[row][c]));
  for (Index c = i; c < end; ++c) put(c, sums[c - i]);
}

/// Where a reduction puts its columns: rounded to T in `out`.
template <class T, class A> struct PutOut {
  T* out;
  void operator()(Index i, const Register<A>& x) const { store_as<T, A, lanes_in_register<A>>(out + i, x); }
  void operator()(Index i, const A& x) const { out[i] = narrow<T>(x); }
};
/// Or past the cache, where a line begins at out + begin.
template <class T, class A> struct PutStream {
  T* out;
  void operator()(Index i, const Register<A>& x) const {
    T numbers[lanes_in_register<A>];
    store_as<T, A, lanes_in_register<A>>(numbers, x);
    stream_pieces(out + i, numbers, sizeof(numbers));
  }
  void operator()(Index i, const A& x) const { out[i] = narrow<T>(x); }
};
/// Or combined with what is there.
template <class R, class A> struct PutCombined {
  A* out;
  void operator()(Index i, const Register<A>& x) const { store_lanes(out + i, R::of(load_lanes<Register<A>>(out + i), x)); }
  void operator()(Index i, const A& x) const { out[i] = R::of(out[i], x); }
};
/// Or added to wide accumulators.
template <class R, class A> struct PutWide {
  Wide<R, A>* wide;
  void operator()(Index i, const Register<A>& x) const {
    constexpr int lanes = lanes_in_register<Wide<R, A>>;
    A numbers[lanes_in_register<A>];
    store_lanes(numbers, x);
#pragma GCC unroll 2
    for (int j = 0; j < lanes_in_register<A>; j += lanes) {
      auto* to = wide + i + j;
      store_lanes(to, R::of(load_lanes<Register<Wide<R, A>>>(to), load_as<Wide<R, A>, lanes>(numbers + j)));
    }
  }
  void operator()(Index i, const A& x) const { wide[i] = R::of(wide[i], static_cast<Wide<R, A>>(x)); }
};

/// A walk over some dimensions of an array: their sizes and strides, the innermost first.
struct Walk {
  Shape shape;
  Axes strides;

  void add(Index size, Index stride) {
    shape.push_back(size);
    strides.push_back(stride);
  }
  /// The size of the innermost dimension, which is taken out of the walk.
  Index take_innermost() {
    if (shape.empty()) return 1;
    const Index size = shape[0];
    shape.erase(0);
    strides.erase(0);
    return size;
  }
  /// The offset of the n-th element.
  Index at(Index n) const {
    Index offset = 0;
    for (Index d = 0; d + 1 < shape.rank(); ++d) {
      offset += n % shape[d] * strides[d];
      n /= shape[d];
    }
    return shape.empty() ? 0 : offset + n * strides.back();
  }
};

/// out[c] = the combination of in[row][c] over `count` > 0 rows that lie where the walk says, for c in [0, width).
template <class R, class A, class Out, class T> void reduce_rows(Out* out, const T* in, const Walk& walk, Index count, Index width) {
  constexpr Index strip = 1024;
  const T* rows[terms];
  const auto find = [&](Index first, Index c) {
    const Index n = std::min(terms, count - first);
    for (Index r = 0; r < n; ++r) rows[r] = in + walk.at(first + r) + c;
    return n;
  };
  if (count <= terms) {
    find(0, 0);
    return reduce_columns<R, A>(rows, count, 0, width, PutOut<Out, A>{out});
  }
  for (Index c = 0; c < width; c += strip) {
    const Index n = std::min(strip, width - c);
    Wide<R, A> wide[strip];
    std::fill_n(wide, n, R::template identity<Wide<R, A>>());
    for (Index first = 0; first < count; first += terms) reduce_columns<R, A>(rows, find(first, c), 0, n, PutWide<R, A>{wide});
    for (Index i = 0; i < n; ++i) out[c + i] = narrow<Out>(static_cast<A>(wide[i]));
  }
}

/// The same for many rows of few columns, one behind the other: taken several at a time, as one long row.
template <class R, class A, class Out, class T> void reduce_narrow_rows(Out* out, const T* in, Index count, Index width) {
  constexpr Index longest = registers * lanes_in_register<A>;
  const Index together = longest / width, length = together * width, whole = count / together;
  A sums[static_cast<std::size_t>(longest)];
  Walk walk;
  walk.add(whole, length);
  reduce_rows<R, A>(sums, in, walk, whole, length);
  for (Index c = 0; c < width; ++c) {
    Wide<R, A> total = sums[c];
    for (Index i = 1; i < together; ++i) total = R::of(total, static_cast<Wide<R, A>>(sums[i * width + c]));
    for (Index i = whole * together; i < count; ++i) total = R::of(total, static_cast<Wide<R, A>>(widen<A>(in[i * width + c])));
    out[c] = narrow<Out>(static_cast<A>(total));
  }
}

}  // namespace detail

/// out = `in`, row-major, reduced over `axes` (non-negative, in any order); row-major over the axes that stay. The
/// identity where there is nothing to combine. Results are accumulated in Out, 16-bit floats in float and rounded once.
template <class R, class T, class Out> void reduce(Out* out, const T* in, const Shape& shape, const Axes& axes) {
  using namespace detail;
  using A = Accumulator<R, Out>;
  Walk kept, reduced;
  Walk* previous = nullptr;
  bool reduced_last = false;
  for (Index d = shape.rank() - 1, stride = 1; d >= 0; stride *= shape[d--]) {
    if (shape[d] == 1) continue;
    Walk* walk = axes.contains(d) ? &reduced : &kept;
    if (!previous) reduced_last = walk == &reduced;
    if (walk == previous) walk->shape[walk->shape.rank() - 1] *= shape[d];  // neighbours of a kind are one dimension
    else walk->add(shape[d], stride);
    previous = walk;
  }
  const Index outputs = kept.shape.size(), count = reduced.shape.size();
  if (outputs == 0) return;
  if (count == 0) return void(std::fill_n(out, outputs, R::template identity<Out>()));
  if (reduced_last) {
    const Index run = reduced.take_innermost(), runs = count / run;
    for (Index o = 0; o < outputs; ++o) {
      const T* from = in + kept.at(o);
      auto total = reduce_run<R, A>(from, run);
      for (Index r = 1; r < runs; ++r) total = R::of(total, reduce_run<R, A>(from + reduced.at(r), run));
      out[o] = narrow<Out>(static_cast<A>(total));
    }
  } else {
    const Index width = kept.take_innermost();
    const bool narrow_rows = 2 * width <= registers * lanes_in_register<A> && count >= 4 * registers * lanes_in_register<A> && reduced.shape.rank() == 1;
    for (Index o = 0; o < outputs / width; ++o) {
      const T* from = in + kept.at(o);
      if (narrow_rows) reduce_narrow_rows<R, A>(out + o * width, from, count, width);
      else reduce_rows<R, A>(out + o * width, from, reduced, count, width);
    }
  }
}

/// The same over rows of `run` > 0 elements that are computed as they are asked for: `pieces.next(n)` gives the next n of them.
/// The bits are those of reduce() on all of them.
template <class R, class T, class Out, class Pieces> void reduce_pieces(Out* out, Pieces& pieces, Index rows, Index run) {
  using namespace detail;
  using A = Accumulator<R, Out>;
  constexpr Index block = std::min<Index>(terms * registers * lanes_in_register<A>, Pieces::longest);  // that of reduce_run, where an order matters
  static_assert(std::is_integral_v<A> || block == terms * registers * lanes_in_register<A>);
  const auto next = [&](Index n) { return static_cast<const T*>(pieces.next(n)); };
  if (run <= block) {
    for (Index o = 0, n; o < rows; o += n) {
      n = std::min(block / run, rows - o);
      const T* in = next(n * run);
      for (Index k = 0; k < n; ++k) out[o + k] = narrow<Out>(static_cast<A>(reduce_run<R, A>(in + k * run, run)));
    }
    return;
  }
  for (Index o = 0; o < rows; ++o) {
    auto total = reduce_run<R, A>(next(block), block);
    for (Index i = block, n; i < run; i += n) {
      n = std::min(run - i, block);
      total = R::of(total, reduce_run<R, A>(next(n), n));
    }
    out[o] = narrow<Out>(static_cast<A>(total));
  }
}

/// out[i] = ((ins[0][i] . ins[1][i]) . ins[2][i]) ... for i in [begin, end), count >= 1: an all-reduce, or its part for
/// one thread. The order is that of the list, so every run and every split gives the same bits.
template <class R, class T> void combine(T* out, const T* const* ins, Index count, Index begin, Index end) {
  static_assert(!(R::rounds && std::is_same_v<T, bool>), "a sum of bool is an integer");
  using A = detail::Accumulator<R, T>;
  const Index line = static_cast<Index>(line_bytes / sizeof(T)), aligned = std::min(end, begin + to_line(out + begin) / static_cast<Index>(sizeof(T)));
  Index from = begin;
  if (static_cast<Index>(sizeof(T)) * (end - begin) >= stream_bytes) {
    detail::reduce_columns<R, A>(ins, count, begin, aligned, detail::PutOut<T, A>{out});
    from = aligned + (end - aligned) / line * line;
    detail::reduce_columns<R, A>(ins, count, aligned, from, detail::PutStream<T, A>{out});
    stream_end();
  }
  detail::reduce_columns<R, A>(ins, count, from, end, detail::PutOut<T, A>{out});
}

}  // namespace SPMD_ISA
}  // namespace spmd::host
