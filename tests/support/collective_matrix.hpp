// The collective matrix as data: which collectives, with which options, under which maps; and what each must give, in plain loops.
// Nothing of the library is used here. Numbers carry their derivatives, so the same loops say what gradients are: those of the sum over
// all shards. collective_matrix_test runs the table with double, collective_types_test a part of it with the other element types and with
// trees; docs/support.md is made from it.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace matrix {

using Index = std::int64_t;
using Dims = std::vector<Index>;

// ---------------------------------------------------------------- arrays of numbers with derivatives

/// A value, and its derivatives by some of the inputs. Choices (which is the largest?) are made by `base`, the value before inputs were
/// moved a little to see how derivatives change.
struct Number {
  Number(double v = 0) : value(v), base(v) {}
  double value, base;
  std::vector<std::pair<Index, double>> by;
};
/// A number with derivatives p times those of a, plus q times those of b.
inline Number combined(const Number& a, double p, const Number& b, double q, double value, double base) {
  Number out(value);
  out.base = base;
  auto i = a.by.begin(), j = b.by.begin();
  while (i != a.by.end() || j != b.by.end()) {
    const bool first = j == b.by.end() || (i != a.by.end() && i->first <= j->first), second = i == a.by.end() || (j != b.by.end() && j->first <= i->first);
    out.by.emplace_back(first ? i->first : j->first, (first ? p * i->second : 0) + (second ? q * j->second : 0));
    i += first, j += second;
  }
  return out;
}
inline Number operator+(const Number& a, const Number& b) { return combined(a, 1, b, 1, a.value + b.value, a.base + b.base); }
inline Number operator*(const Number& a, const Number& b) { return combined(a, b.value, b, a.value, a.value * b.value, a.base * b.base); }
inline Number operator/(const Number& a, const Number& b) { return combined(a, 1 / b.value, b, -a.value / (b.value * b.value), a.value / b.value, a.base / b.base); }

struct Array {
  Dims shape;
  std::vector<Number> elements;
  const Number& operator()(const Dims& at) const {
    Index flat = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + at[d];
    return elements.at(static_cast<std::size_t>(flat));
  }
};
inline Index size_of(const Dims& shape) {
  Index n = 1;
  for (auto d : shape) n *= d;
  return n;
}
template <class F> Array tabulate(const Dims& shape, F f) {
  Array out{shape, {}};
  Dims at(shape.size());
  for (Index flat = 0, n = size_of(shape); flat < n; ++flat) {
    Index rest = flat;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) at[d] = rest % shape[d];
    out.elements.push_back(f(static_cast<const Dims&>(at)));
  }
  return out;
}
inline Array scaled(const Array& x, double by) {
  return tabulate(x.shape, [&](const Dims& at) { return x(at) * Number(by); });
}
inline Dims inserted(Dims list, Index at, Index value) {
  list.insert(list.begin() + at, value);
  return list;
}
inline Dims erased(Dims list, Index at) {
  list.erase(list.begin() + at);
  return list;
}
inline Dims with(Dims list, Index at, Index value) {
  list[static_cast<std::size_t>(at)] = value;
  return list;
}

// ---------------------------------------------------------------- calls

enum class Op { psum, pmean, pmax, pmin, pargmax, pargmin, all_gather, psum_scatter, all_to_all, pswapaxes, ppermute, pshift, pshuffle, pbroadcast, ragged_all_to_all, axis_index, axis_size, count };
inline const char* name_of(Op op) {
  static constexpr const char* names[] = {"psum",     "pmean",  "pmax",     "pmin",       "pargmax",           "pargmin",    "all_gather", "psum_scatter", "all_to_all", "pswapaxes",
                                          "ppermute", "pshift", "pshuffle", "pbroadcast", "ragged_all_to_all", "axis_index", "axis_size"};
  return names[static_cast<int>(op)];
}
/// Whether it finds integers, which have no derivative.
inline bool discrete(Op op) { return op == Op::pargmax || op == Op::pargmin || op == Op::axis_index || op == Op::axis_size; }
/// What is added up or averaged besides the operand.
enum class Extra { none, number, tensor };

/// A collective with its options, and the shape of its operand. Those that find integers return x + 10 times what they find.
struct Call {
  Op op = Op::psum;
  Dims shape = {2, 3};
  std::vector<Dims> groups = {};
  Index dim = 0, concat = 0;  // concat: of all_to_all
  bool tiled = false, wrap = false;
  Index offset = 0;  // of pshift; the source of pbroadcast
  std::vector<std::pair<Index, Index>> pairs = {};
  Dims sources = {};
  Extra extra = Extra::none;  // pmean: the weight; psum: of a number
};
inline std::string text(const Dims& list) {
  std::string out = "{";
  for (auto i : list) out += (out.size() > 1 ? ", " : "") + std::to_string(i);
  return out + "}";
}
inline std::string text(const Call& c) {
  std::string out = std::string(name_of(c.op)) + " of " + text(c.shape);
  if (c.op == Op::all_gather || c.op == Op::psum_scatter || c.op == Op::pswapaxes) out += ", dim " + std::to_string(c.dim);
  if (c.op == Op::all_to_all) out += ", split " + std::to_string(c.dim) + ", concat " + std::to_string(c.concat);
  if (c.op == Op::pshift) out += ", offset " + std::to_string(c.offset);
  if (c.op == Op::pbroadcast) out += ", source " + std::to_string(c.offset);
  if (c.op == Op::ppermute) {
    out += ", pairs";
    for (auto [from, to] : c.pairs) out += " " + std::to_string(from) + "->" + std::to_string(to);
  }
  if (c.op == Op::pshuffle) out += ", sources " + text(c.sources);
  if (c.tiled) out += ", tiled";
  if (c.wrap) out += ", wrap";
  if (c.extra == Extra::number) out += c.op == Op::psum ? ", of a number" : ", weight a number";
  if (c.extra == Extra::tensor) out += ", weight a tensor";
  if (!c.groups.empty()) {
    out += ", groups";
    for (auto& g : c.groups) out += " " + text(g);
  }
  return out;
}
inline bool uneven(const std::vector<Dims>& groups) {
  return std::any_of(groups.begin(), groups.end(), [&](auto& g) { return g.size() != groups[0].size(); });
}

/// The groups of an axis of n that are tried: none, halves, even and odd, out of order; and, with `also_uneven`, of different sizes.
inline std::vector<std::vector<Dims>> groupings(Index n, bool also_uneven) {
  std::vector<std::vector<Dims>> out{{}};
  auto add = [&](Index count, auto group_of, bool backwards) {
    std::vector<Dims> groups(static_cast<std::size_t>(count));
    for (Index k = 0; k < n; ++k) {
      const Index i = backwards ? (n - 1 - k + n / 2) % n : k;
      groups[static_cast<std::size_t>(group_of(i))].push_back(i);
    }
    out.push_back(groups);
  };
  if (n == 1) add(1, [](Index) { return 0; }, false);
  if (n > 1) add(1, [](Index) { return 0; }, true);  // one group, in another order
  if (n == 3) add(3, [](Index i) { return 2 - i; }, false);
  if (n > 1 && n % 2 == 0) {
    add(2, [&](Index i) { return i / (n / 2); }, false);
    add(2, [](Index i) { return i % 2; }, false);
    add(2, [](Index i) { return 1 - i % 2; }, true);
  }
  if (also_uneven && n > 2) add(2, [&](Index i) { return i == n - 2 ? 1 : 0; }, true);
  if (also_uneven && n > 4) add(2, [](Index i) { return i % 3 == 0 ? 0 : 1; }, false);
  return out;
}
inline Index members(const std::vector<Dims>& groups, Index n) { return groups.empty() ? n : static_cast<Index>(groups[0].size()); }

/// All calls that are tried on an axis of n members. `few`: without most of the dims and small shapes.
inline std::vector<Call> calls(Index n, bool few) {
  std::vector<Call> out;
  const std::vector<Dims> small{{}, {2, 0}};
  for (Op op : {Op::psum, Op::pmean, Op::pmax, Op::pmin}) {
    for (auto& groups : groupings(n, true)) {
      out.push_back({.op = op, .groups = groups});
      if (op == Op::pmean)
        for (auto extra : {Extra::number, Extra::tensor}) out.push_back({.op = op, .groups = groups, .extra = extra});
      if (op == Op::psum && !uneven(groups)) out.push_back({.op = op, .groups = groups, .extra = Extra::number});
    }
    for (auto& shape : small)
      if (!few) out.push_back({.op = op, .shape = shape}), out.push_back({.op = op, .shape = shape, .groups = groupings(n, true).back()});
  }
  for (Op op : {Op::pargmax, Op::pargmin, Op::axis_index, Op::axis_size}) {
    out.push_back({.op = op});
    for (auto& shape : small)
      if (!few) out.push_back({.op = op, .shape = shape});
  }
  for (auto& groups : groupings(n, false)) {
    const Index g = members(groups, n);
    for (bool tiled : {false, true}) {
      for (Index dim : few ? Dims{0, -1} : Dims{0, 1, -1}) {
        out.push_back({.op = Op::all_gather, .groups = groups, .dim = dim, .tiled = tiled});
        out.push_back({.op = Op::psum_scatter, .shape = with({2, 3}, dim < 0 ? 1 : dim, tiled ? 2 * g : g), .groups = groups, .dim = dim, .tiled = tiled});
      }
      for (auto [split, concat] : few ? std::vector<std::pair<Index, Index>>{{0, 1}, {-1, 0}} : std::vector<std::pair<Index, Index>>{{0, 0}, {0, 1}, {1, 0}, {-1, -1}, {2, 0}, {0, -1}})
        out.push_back({.op = Op::all_to_all, .shape = with(split == 2 ? Dims{1, 2, 3} : Dims{2, 3}, split < 0 ? 1 : split, tiled ? 2 * g : g), .groups = groups, .dim = split, .concat = concat, .tiled = tiled});
      if (!few) {
        out.push_back({.op = Op::psum_scatter, .shape = tiled ? Dims{0} : Dims{g}, .groups = groups, .tiled = tiled});
        out.push_back({.op = Op::psum_scatter, .shape = {2 * g, 0}, .groups = groups, .tiled = true});
        out.push_back({.op = Op::all_gather, .shape = {2, 0}, .groups = groups, .dim = 1, .tiled = tiled});
        out.push_back({.op = Op::all_to_all, .shape = {g, 0}, .groups = groups, .dim = 0, .concat = 1, .tiled = tiled});
      }
    }
    if (!few) out.push_back({.op = Op::all_gather, .shape = {}, .groups = groups});
    out.push_back({.op = Op::ragged_all_to_all, .shape = {5, 2}, .groups = groups});
    if (!few) out.push_back({.op = Op::ragged_all_to_all, .shape = {5, 0}, .groups = groups}), out.push_back({.op = Op::pswapaxes, .shape = {0, g}, .groups = groups, .dim = 1});
    for (Index dim : {0, -1}) out.push_back({.op = Op::pswapaxes, .shape = with({2, 3}, dim < 0 ? 1 : 0, g), .groups = groups, .dim = dim});
  }
  auto permute = [&](std::vector<std::pair<Index, Index>> pairs, Dims shape = {2, 3}) { out.push_back({.op = Op::ppermute, .shape = std::move(shape), .pairs = std::move(pairs)}); };
  std::vector<std::pair<Index, Index>> ring, full;
  for (Index i = 0; i < n; ++i) {
    ring.emplace_back(i, (i + 1) % n);
    full.emplace_back(i, n - 1 - i);
  }
  permute(ring), permute(full), permute({}), permute({{n - 1, 0}});
  if (n > 2) permute({{0, n - 1}, {n - 1, n / 2}});
  for (auto& shape : small)
    if (!few) permute(full, shape), permute({{0, n - 1}}, shape);
  for (Index offset : few ? Dims{1, -2} : Dims{0, 1, -1, 2, -2, n, n + 1, -n - 1})
    for (bool wrap : {false, true}) out.push_back({.op = Op::pshift, .wrap = wrap, .offset = offset});
  Dims reversed, rotated;
  for (Index i = 0; i < n; ++i) reversed.push_back(n - 1 - i), rotated.push_back((i * (n % 3 == 0 ? 5 : 3) + 1) % n);
  out.push_back({.op = Op::pshuffle, .sources = reversed});
  out.push_back({.op = Op::pshuffle, .sources = rotated});
  for (Index source : Dims{0, n - 1}) out.push_back({.op = Op::pbroadcast, .offset = source});
  for (auto& shape : small)
    if (!few) {
      out.push_back({.op = Op::pshift, .shape = shape, .offset = 1});
      out.push_back({.op = Op::pshuffle, .shape = shape, .sources = reversed});
      out.push_back({.op = Op::pbroadcast, .shape = shape, .offset = n / 2});
    }
  return out;
}

// ---------------------------------------------------------------- what they give

/// The weight of a member in a mean with a tensor as weight: 1 + sum(x * x) / 4.
inline Number weight(const Array& x) {
  Number w(1);
  for (auto& e : x.elements) w = w + e * e * Number(0.25);
  return w;
}
/// What a ragged_all_to_all sends: to the k-th of g members, the m-th sends so many rows of its five, from there on, to land there among 2 g.
struct Ragged {
  static Index rows(Index m, Index k) { return (m + 2 * k) % 3; }
  static Index from(Index m, Index k) { return (m + k) % 4; }
  static Index to(Index m, Index k) {
    Index before = 0;
    for (Index i = 0; i < m; ++i) before += rows(i, k);
    return before;
  }
  static constexpr double nothing = 1;  // where no row lands
};
/// The results of the members of one group, or of an axis, in order.
inline std::vector<Array> among(const Call& c, const std::vector<Array>& in) {
  const auto g = static_cast<Index>(in.size());
  const Dims& shape = in[0].shape;
  const auto rank = static_cast<Index>(shape.size());
  auto member = [&](Index i) -> const Array& { return in[static_cast<std::size_t>(i)]; };
  auto positive = [](Index axis, Index n) { return axis < 0 ? axis + n : axis; };
  auto same_for_all = [&](const Array& x) { return std::vector<Array>(in.size(), x); };
  auto each = [&](auto f) {
    std::vector<Array> out;
    for (Index m = 0; m < g; ++m) out.push_back(f(m));
    return out;
  };
  auto sum_at = [&](const Dims& at) {
    Number sum;
    for (auto& x : in) sum = sum + x(at);
    return sum;
  };
  const bool largest = c.op == Op::pmax || c.op == Op::pargmax;
  auto winning = [&](const Dims& at) {
    double best = in[0](at).base;
    for (auto& x : in) best = largest ? std::max(best, x(at).base) : std::min(best, x(at).base);
    return best;
  };
  auto plus = [&](const Array& x, auto f) { return tabulate(shape, [&](const Dims& at) { return x(at) + Number(f(at)); }); };
  auto routed = [&](auto source_of) {
    return each([&](Index m) {
      const Index from = source_of(m);
      return tabulate(shape, [&](const Dims& at) { return from < 0 || from >= g ? Number() : member(from)(at); });
    });
  };
  switch (c.op) {
    case Op::psum:
      if (c.extra == Extra::number) return each([&](Index m) { return plus(member(m), [&](const Dims&) { return 2.5 * static_cast<double>(g); }); });
      return same_for_all(tabulate(shape, sum_at));
    case Op::pmean:
      if (c.extra == Extra::tensor)
        return same_for_all(tabulate(shape, [&](const Dims& at) {
          Number above, below;
          for (auto& x : in) above = above + weight(x) * x(at), below = below + weight(x);
          return above / below;
        }));
      return same_for_all(tabulate(shape, [&](const Dims& at) { return sum_at(at) / Number(static_cast<double>(g)); }));
    case Op::pmax:
    case Op::pmin:
      return same_for_all(tabulate(shape, [&](const Dims& at) {  // the derivative is the mean of the winners'
        Number sum;
        double winners = 0;
        for (auto& x : in)
          if (x(at).base == winning(at)) sum = sum + x(at), ++winners;
        return sum / Number(winners);
      }));
    case Op::pargmax:
    case Op::pargmin:
      return each([&](Index m) {
        return plus(member(m), [&](const Dims& at) {
          Index first = 0;
          while (member(first)(at).base != winning(at)) ++first;
          return 10.0 * static_cast<double>(first);
        });
      });
    case Op::axis_index: return each([&](Index m) { return plus(member(m), [&](const Dims&) { return 10.0 * static_cast<double>(m); }); });
    case Op::axis_size: return each([&](Index m) { return plus(member(m), [&](const Dims&) { return 10.0 * static_cast<double>(g); }); });
    case Op::all_gather: {
      const Index dim = positive(c.dim, c.tiled ? rank : rank + 1);
      const auto d = static_cast<std::size_t>(dim);
      if (!c.tiled) return same_for_all(tabulate(inserted(shape, dim, g), [&](const Dims& at) { return member(at[d])(erased(at, dim)); }));
      return same_for_all(tabulate(with(shape, dim, shape[d] * g), [&](const Dims& at) { return member(at[d] / shape[d])(with(at, dim, at[d] % shape[d])); }));
    }
    case Op::psum_scatter: {
      const Index dim = positive(c.dim, rank);
      const auto d = static_cast<std::size_t>(dim);
      return each([&](Index m) {
        if (!c.tiled) return tabulate(erased(shape, dim), [&](const Dims& at) { return sum_at(inserted(at, dim, m)); });
        return tabulate(with(shape, dim, shape[d] / g), [&](const Dims& at) { return sum_at(with(at, dim, at[d] + m * (shape[d] / g))); });
      });
    }
    case Op::all_to_all:
    case Op::pswapaxes: {
      const Index split = positive(c.dim, rank), concat = c.op == Op::pswapaxes ? split : positive(c.concat, rank);
      const auto s = static_cast<std::size_t>(split), t = static_cast<std::size_t>(concat);
      return each([&](Index m) {
        if (!c.tiled) return tabulate(inserted(erased(shape, split), concat, g), [&](const Dims& at) { return member(at[t])(inserted(erased(at, concat), split, m)); });
        const Dims block = with(shape, split, shape[s] / g);
        return tabulate(with(block, concat, block[t] * g), [&](const Dims& at) {
          auto from = with(at, concat, at[t] % block[t]);
          from[s] += m * block[s];
          return member(at[t] / block[t])(from);
        });
      });
    }
    case Op::ppermute:
      return routed([&](Index m) {
        for (auto [from, to] : c.pairs)
          if (to == m) return from;
        return Index{-1};
      });
    case Op::pshift: return routed([&](Index m) { return c.wrap ? (((m - c.offset) % g) + g) % g : m - c.offset; });
    case Op::pshuffle: return routed([&](Index m) { return c.sources[static_cast<std::size_t>(m)]; });
    case Op::pbroadcast: return routed([&](Index) { return c.offset; });
    case Op::ragged_all_to_all:
      return each([&](Index k) {
        return tabulate(with(shape, 0, 2 * g), [&](const Dims& at) {
          for (Index m = 0; m < g; ++m) {
            const Index row = at[0] - Ragged::to(m, k);
            if (row >= 0 && row < Ragged::rows(m, k)) return member(m)(with(at, 0, row + Ragged::from(m, k)));
          }
          return Number(Ragged::nothing);
        });
      });
    case Op::count: break;
  }
  return in;
}
/// The results of all members of an axis, whose groups meet apart.
inline std::vector<Array> on_axis(const Call& c, const std::vector<Array>& in) {
  if (c.groups.empty()) return among(c, in);
  std::vector<Array> out(in.size());
  for (auto& group : c.groups) {
    std::vector<Array> part;
    for (auto i : group) part.push_back(in[static_cast<std::size_t>(i)]);
    auto results = among(c, part);
    for (std::size_t k = 0; k < group.size(); ++k) out[static_cast<std::size_t>(group[k])] = results[k];
  }
  return out;
}

// ---------------------------------------------------------------- maps and modes

struct Level {
  char kind = 'p';     // a pmap or a vmap
  Index size = 1;
  bool varies = true;  // else the operand is the same all along this axis: the map does not consume it
};
/// What the collective is called in. `other`: in both branches of a cond, whose predicate depends on the index on an axis that the collective
/// does not speak of; the branches add 100 times that index.
enum class Control { none, cond, other, loop, scan };
/// What x is made of: small integers, some of them equal; the same without negative ones; zeros and ones; or numbers that all differ.
enum class Values { integers, natural, bits, distinct };
enum class Diff { value, inside, inside_twice, outside, outside_twice };
inline const char* name_of(Control c) { return c == Control::none ? "" : c == Control::cond ? ", in cond" : c == Control::other ? ", in cond by the other axis" : c == Control::loop ? ", in while_loop" : ", in scan"; }
inline const char* name_of(Diff d) {
  return d == Diff::value ? "" : d == Diff::inside ? ", grad inside" : d == Diff::inside_twice ? ", grad of grad inside" : d == Diff::outside ? ", grad outside" : ", grad of grad outside";
}
struct Case {
  std::vector<Level> levels;
  std::vector<std::size_t> names;  // the levels whose axes the collective speaks of, in its order
  Call call;
  Control control = Control::none;
  Diff diff = Diff::value;
  Values values = Values::integers;
};
inline std::string axis_name(std::size_t level) { return std::string(1, static_cast<char>('i' + level)); }
inline std::string text(const Case& c) {
  std::string out;
  for (std::size_t l = 0; l < c.levels.size(); ++l)
    out += std::string(l ? " of " : "") + (c.levels[l].kind == 'p' ? "pmap" : "vmap") + "(" + axis_name(l) + "=" + std::to_string(c.levels[l].size) + (c.levels[l].varies ? "" : ", constant") + ")";
  out += " | " + text(c.call) + " | over {";
  for (std::size_t k = 0; k < c.names.size(); ++k) out += (k ? ", " : "") + axis_name(c.names[k]);
  return out + "}" + name_of(c.control) + name_of(c.diff);
}

/// The shards of all levels, row-major: index on each level.
inline std::vector<Dims> places(const std::vector<Level>& levels) {
  Dims sizes;
  for (auto& l : levels) sizes.push_back(l.size);
  std::vector<Dims> out;
  tabulate(sizes, [&](const Dims& at) { return out.push_back(at), Number(); });
  return out;
}
/// The collective alone, everywhere at once.
inline std::vector<Array> everywhere(const Case& c, const std::vector<Array>& in) {
  if (c.names.empty() && (c.call.op == Op::all_gather || c.call.op == Op::psum_scatter || c.call.op == Op::all_to_all || c.call.op == Op::pswapaxes)) return in;
  const auto all = places(c.levels);
  std::vector<Array> out(in.size());
  std::vector<bool> done(in.size());
  auto spoken_of = [&](std::size_t level) { return std::find(c.names.begin(), c.names.end(), level) != c.names.end(); };
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (done[p]) continue;
    // Those that differ from p only along the names, in the order of the flattened names.
    std::vector<std::pair<Index, std::size_t>> who;
    for (std::size_t q = 0; q < all.size(); ++q) {
      bool together = true;
      for (std::size_t l = 0; l < c.levels.size(); ++l) together &= spoken_of(l) || all[p][l] == all[q][l];
      if (!together) continue;
      Index flat = 0;
      for (auto l : c.names) flat = flat * c.levels[l].size + all[q][l];
      who.emplace_back(flat, q);
    }
    std::sort(who.begin(), who.end());
    std::vector<Array> part;
    for (auto [flat, q] : who) part.push_back(in[q]);
    auto results = on_axis(c.call, part);
    for (std::size_t k = 0; k < who.size(); ++k) out[who[k].second] = results[k], done[who[k].second] = true;
  }
  return out;
}
/// The level that `other` asks for the index.
inline std::size_t other_level(const Case& c) { return c.names[0] == 0 ? 1 : 0; }
/// With what is around it.
inline std::vector<Array> controlled(const Case& c, std::vector<Array> in) {
  auto times = [&](double by) {
    auto out = in;
    for (auto& x : out) x = scaled(x, by);
    return out;
  };
  const auto all = places(c.levels);
  if (c.control == Control::other)
    for (std::size_t p = 0; p < in.size(); ++p)
      if (all[p][other_level(c)] % 2) in[p] = scaled(in[p], -1);
  auto once = everywhere(c, in);
  if (c.control == Control::other)
    for (std::size_t p = 0; p < in.size(); ++p)
      once[p] = tabulate(once[p].shape, [&](const Dims& at) { return once[p](at) + Number(100.0 * static_cast<double>(all[p][other_level(c)])); });
  if (c.control != Control::loop && c.control != Control::scan) return once;
  auto twice = everywhere(c, times(2));
  for (std::size_t p = 0; p < in.size(); ++p) {
    const auto& a = once[p];
    const auto& b = twice[p];
    if (c.control == Control::scan) once[p] = tabulate(inserted(a.shape, 0, 2), [&](const Dims& at) { return (at[0] ? b : a)(erased(at, 0)); });
    else once[p] = tabulate(a.shape, [&](const Dims& at) { return a(at) * Number(0.5) + b(at); });
  }
  return once;
}

// ---------------------------------------------------------------- numbers in, numbers out

struct Plain {
  Dims shape;
  std::vector<double> elements;
};
inline Plain samples(const Dims& shape, Values values, int seed) {
  Plain out{shape, {}};
  for (Index i = 0, n = size_of(shape); i < n; ++i) {
    const double x = 0.6180339887498949 * static_cast<double>(i + 1) + 0.377 * seed, number = static_cast<double>((i * 7 + i / 5 * 3 + i / 11 + seed * 13) % 5);
    out.elements.push_back(values == Values::distinct ? 3 * (x - std::floor(x)) - 1.4 : values == Values::bits ? (number > 1 ? 1 : 0) : values == Values::natural ? number : number - 2);
  }
  return out;
}
/// What a case takes: x, and what its results are multiplied with before they are added up; along which direction second derivatives are
/// taken; and what it must give.
struct Expected {
  Plain x, cotangent, direction, result;
  Dims value_shape;  // of the result on one shard
};
inline Expected expect(const Case& c) {
  const bool twice = c.diff == Diff::inside_twice || c.diff == Diff::outside_twice, inside = c.diff == Diff::inside || c.diff == Diff::inside_twice;
  const auto all = places(c.levels);
  const Index size = size_of(c.call.shape), count = static_cast<Index>(all.size());
  Dims front, varying;
  for (auto& l : c.levels) {
    front.push_back(l.size);
    if (l.varies) varying.push_back(l.size);
  }
  auto joined = [](Dims a, const Dims& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  Expected e;
  e.x = samples(joined(varying, c.call.shape), c.values, 1);
  // Which element of x is the k-th of place p.
  auto source = [&](Index p, Index k) {
    Index block = 0;
    for (std::size_t l = 0; l < c.levels.size(); ++l)
      if (c.levels[l].varies) block = block * c.levels[l].size + all[static_cast<std::size_t>(p)][l];
    return block * size + k;
  };
  // The inputs by which is differentiated: those of x, or each shard's own.
  const Index inputs = c.diff == Diff::value ? 0 : inside ? count * size : size_of(e.x.shape);
  auto input = [&](Index p, Index k) { return inside ? p * size + k : source(p, k); };
  auto run = [&](const std::vector<double>& by, double step) {
    std::vector<Array> in;
    for (Index p = 0; p < count; ++p) {
      Array x{c.call.shape, {}};
      for (Index k = 0; k < size; ++k) {
        Number n(e.x.elements[static_cast<std::size_t>(source(p, k))]);
        if (inputs) n.by.emplace_back(input(p, k), 1);
        if (step != 0) n.value += step * by[static_cast<std::size_t>(input(p, k))];
        x.elements.push_back(n);
      }
      in.push_back(x);
    }
    return in;
  };
  const auto out = controlled(c, run({}, 0));
  e.value_shape = out[0].shape;
  e.cotangent = samples(joined(front, out[0].shape), Values::distinct, 2);
  if (c.diff == Diff::value) {
    e.result = {e.cotangent.shape, {}};
    for (auto& y : out)
      for (auto& n : y.elements) e.result.elements.push_back(n.value);
    return e;
  }
  // The derivative of the sum over all shards of cotangent * y, or of cotangent * y * y.
  auto gradient = [&](const std::vector<Array>& ys) {
    std::vector<double> g(static_cast<std::size_t>(inputs));
    std::size_t k = 0;
    for (auto& y : ys)
      for (auto& n : y.elements) {
        const double c0 = e.cotangent.elements[k++] * (twice ? 2 * n.value : 1);
        for (auto [i, d] : n.by) g[static_cast<std::size_t>(i)] += c0 * d;
      }
    return g;
  };
  e.result.shape = inside ? joined(front, c.call.shape) : e.x.shape;
  if (!twice) {
    e.result.elements = gradient(out);
    return e;
  }
  // Along a direction: inside, that of the shard with index p is (1 + p) times one that all know.
  e.direction = samples(inside ? c.call.shape : e.x.shape, Values::distinct, 3);
  std::vector<double> along = e.direction.elements;
  if (inside) {
    along.clear();
    for (Index p = 0; p < count; ++p)
      for (double d : e.direction.elements) along.push_back(d * static_cast<double>(1 + p));
  }
  // Differences of the gradient, of fourth order: it is linear in x except where a weight is.
  const double step = 2e-4;
  auto difference = [&](double h) {
    auto high = gradient(controlled(c, run(along, h)));
    const auto low = gradient(controlled(c, run(along, -h)));
    for (std::size_t i = 0; i < high.size(); ++i) high[i] = (high[i] - low[i]) / (2 * h);
    return high;
  };
  e.result.elements = difference(step);
  if (c.call.extra == Extra::tensor) {
    const auto wide = difference(2 * step);
    for (std::size_t i = 0; i < wide.size(); ++i) e.result.elements[i] = (4 * e.result.elements[i] - wide[i]) / 3;
  }
  return e;
}

// ---------------------------------------------------------------- the table

/// Whether a case runs: all of them with SPMD_MATRIX=full, else one of twenty, others with each SPMD_MATRIX_SEED.
class Draw {
 public:
  explicit Draw(unsigned of = 20) : of_(of) {
    if (auto* all = std::getenv("SPMD_MATRIX")) full_ = std::string_view(all) == "full";
    if (auto* seed = std::getenv("SPMD_MATRIX_SEED")) state_ = std::strtoull(seed, nullptr, 10);
  }
  bool operator()() {
    ++cases;
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    const bool drawn = full_ || (z ^ (z >> 31)) % of_ == 0;
    ran += drawn;
    return drawn;
  }
  int cases = 0, ran = 0;

 private:
  unsigned of_;
  bool full_ = false;
  std::uint64_t state_ = 1;
};

/// Calls f with every case of some maps: one level ("p", "v"), two ("pp", "pv", "vp", "vv") or three.
template <class F> void each_case(const std::string& kinds, F f) {
  const auto levels = kinds.size();
  std::vector<Dims> sizes;
  std::vector<std::vector<std::size_t>> names;
  if (levels == 1) sizes = {{1}, {2}, {3}, {4}, {8}}, names = {{0}, {}};
  if (levels == 2) sizes = {{2, 3}, {4, 2}}, names = {{0}, {1}, {0, 1}, {1, 0}};
  if (levels == 3) sizes = {{2, 2, 2}}, names = {{0}, {1}, {2}, {2, 0}, {1, 2}, {0, 1, 2}, {2, 0, 1}};
  auto with_calls = [&](Case& c, Index n, bool few, bool controls) {
    for (auto& call : calls(n, few)) {
      c.call = call;
      for (std::size_t constant = 0; constant <= (controls ? 0 : levels); ++constant) {  // x is the same along no axis, or along one
        for (std::size_t l = 0; l < levels; ++l) c.levels[l].varies = l + 1 != constant;
        for (auto control : controls ? std::vector<Control>{Control::cond, Control::other, Control::loop, Control::scan} : std::vector<Control>{Control::none})
          for (auto diff : {Diff::value, Diff::inside, Diff::inside_twice, Diff::outside, Diff::outside_twice}) {
            if (control == Control::other && (levels != 2 || c.names.size() != 1)) continue;
            if (levels > 1 && constant && (diff == Diff::inside_twice || diff == Diff::outside_twice)) continue;
            if (levels == 3 && constant && diff != Diff::value) continue;
            if (levels > 1 && controls && (diff == Diff::inside || diff == Diff::outside_twice)) continue;
            c.control = control;
            c.diff = diff;
            c.values = diff == Diff::inside_twice || diff == Diff::outside_twice ? Values::distinct : Values::integers;
            f(static_cast<const Case&>(c));
          }
      }
    }
  };
  for (auto& size : sizes)
    for (auto& over : names) {
      Case c;
      c.names = over;
      Index n = 1;
      for (std::size_t l = 0; l < levels; ++l) c.levels.push_back({kinds[l], size[l], true});
      for (auto l : over) n *= size[l];
      if (over.empty() && size[0] != 2) continue;
      with_calls(c, n, levels > 1, false);
      if (levels < 3) with_calls(c, n, true, true);
    }
}
inline const std::vector<std::string>& all_kinds() {
  static const std::vector<std::string> kinds{"p", "v", "pp", "vp", "pv", "vv", "ppp", "vpp", "pvp", "ppv"};
  return kinds;
}

}  // namespace matrix
