// docs/support.md and README's table of collectives, as the collective matrix has them.
#pragma once
#include <fstream>
#include <map>
#include <sstream>

#include "collective_matrix.hpp"

namespace matrix {

struct Column {
  const char* title;
  bool (*holds)(const Case&);
};
inline std::string kinds_of(const Case& c) {
  std::string kinds;
  for (auto& l : c.levels) kinds += l.kind;
  return kinds;
}
/// A cell says yes where the table has cases of it.
inline const std::vector<Column>& columns() {
  static const std::vector<Column> list{
      {"`pmap`", [](const Case& c) { return kinds_of(c) == "p"; }},
      {"`vmap`", [](const Case& c) { return kinds_of(c) == "v"; }},
      {"nested `pmap`", [](const Case& c) { return kinds_of(c) == "pp"; }},
      {"`vmap` of `pmap`", [](const Case& c) { return kinds_of(c) == "vp"; }},
      {"`pmap` of `vmap`", [](const Case& c) { return kinds_of(c) == "pv"; }},
      {"`vmap` of `vmap`", [](const Case& c) { return kinds_of(c) == "vv"; }},
      {"three maps", [](const Case& c) { return c.levels.size() == 3; }},
      {"several names", [](const Case& c) { return c.names.size() > 1; }},
      {"no name", [](const Case& c) { return c.names.empty(); }},
      {"groups", [](const Case& c) { return !c.call.groups.empty(); }},
      {"uneven groups", [](const Case& c) { return uneven(c.call.groups); }},
      {"any dim", [](const Case& c) { return c.call.dim != 0; }},
      {"tiled", [](const Case& c) { return c.call.tiled; }},
      {"constants", [](const Case& c) { return std::any_of(c.levels.begin(), c.levels.end(), [](auto& l) { return !l.varies; }); }},
      {"empty tensors", [](const Case& c) { return size_of(c.call.shape) == 0; }},
      {"in `cond`", [](const Case& c) { return c.control == Control::cond || c.control == Control::other; }},
      {"in `while_loop`, `scan`", [](const Case& c) { return c.control == Control::loop || c.control == Control::scan; }},
      {"gradient", [](const Case& c) { return !discrete(c.call.op) && (c.diff == Diff::inside || c.diff == Diff::outside); }},
      {"`grad` of `grad`", [](const Case& c) { return !discrete(c.call.op) && (c.diff == Diff::inside_twice || c.diff == Diff::outside_twice); }},
  };
  return list;
}
struct Remark {
  Op op;
  const char* types;
  const char* text;
};
inline const std::vector<Remark>& remarks() {
  static const char* all = "all";
  static const std::vector<Remark> list{
      {Op::psum, all, "`bool` gives `int32`; of a number, the number times the members. Gradient: `psum`"},
      {Op::pmean, all, "each group divides by its own size; integers and `bool` give `float`; the weight (a number or a tensor) is differentiated too"},
      {Op::pmax, all, "NaN wins. Gradient: to the winners, equal ones share it"},
      {Op::pmin, all, "as `pmax`"},
      {Op::pargmax, all, "the axis index of the first of equals, `int32`; 2147483647 where one is NaN"},
      {Op::pargmin, all, "as `pargmax`"},
      {Op::all_gather, all, "groups of equal size. Gradient: `psum_scatter`"},
      {Op::psum_scatter, all, "groups of equal size. Gradient: `all_gather`"},
      {Op::all_to_all, all, "groups of equal size; negative dims. Gradient: `all_to_all`, the other way"},
      {Op::pswapaxes, all, "`all_to_all` with one dim"},
      {Op::ppermute, all, "zeros where nothing comes. Gradient: the inverse pairs"},
      {Op::pshift, all, "any offset; `wrap` goes round the ring. Gradient: the way back"},
      {Op::pshuffle, all, "a permutation of the sources. Gradient: the inverse"},
      {Op::pbroadcast, all, "Gradient: the sum, on the source"},
      {Op::ragged_all_to_all, all, "groups of equal size. A composition: everybody gathers"},
      {Op::axis_index, "gives `int32`", ""},
      {Op::axis_size, "gives `Index`", ""},
  };
  return list;
}

class Support {
 public:
  Support() {
    for (auto& kinds : all_kinds())
      each_case(kinds, [&](const Case& c) {
        ++cases_;
        auto& row = rows_[c.call.op];
        row.resize(columns().size());
        if (std::find(row.begin(), row.end(), false) == row.end()) return;
        for (std::size_t k = 0; k < row.size(); ++k)
          if (!row[k]) row[k] = columns()[k].holds(c);
      });
  }
  /// docs/support.md.
  std::string page() const {
    std::ostringstream out;
    out << "# Collectives under maps\n\n"
           "Made from the table of `tests/support/collective_matrix.hpp`, whose cases are compared with plain loops: do not edit, run\n"
           "`SPMD_SUPPORT_PAGE=. build/release/tests/collective_matrix_test`. A cell says *yes* where the table has cases of it, – where it does not\n"
           "apply. There are "
        << cases_
        << " cases with `double`; `SPMD_MATRIX=full` runs all of them, CI a part. Every element type (`float` `double` `float16` `bfloat16`\n"
           "`int8` … `int64` `uint8` … `uint64` `bool`) and trees of several are tried in a plain `pmap`. Axes have sizes from 1 to 8.\n\n|  |";
    for (auto& r : remarks()) out << " `" << name_of(r.op) << "` |";
    std::string text = out.str() + "\n|---|";
    for (std::size_t k = 0; k < remarks().size(); ++k) text += "---|";
    text += "\n";
    for (std::size_t k = 0; k < columns().size(); ++k) {
      text += std::string("| ") + columns()[k].title + " |";
      for (auto& r : remarks()) text += cell(r.op, k) ? " yes |" : " – |";
      text += "\n";
    }
    text += "\n| collective | element types | remarks |\n|---|---|---|\n";
    for (auto& r : remarks()) text += std::string("| `") + name_of(r.op) + "` | " + r.types + " | " + r.text + " |\n";
    text +=
        "\n*Groups* cover every index once; *uneven* ones differ in size. *Several names* in any order, the first is the most significant. *No name*, `{}`, is\n"
        "an axis of one member. *Constants* are operands that do not vary along an axis. *In `cond`*: under a predicate that is the same for all who meet,\n"
        "also one that differs along another axis. A collective under a predicate that varies over its own axis is an AxisError under `vmap`; under `pmap` a\n"
        "CollectiveMismatch, unless both branches make the same call.\n";
    return text;
  }
  /// README's part: collectives with equal rows together.
  std::string summary() const {
    std::vector<std::pair<std::string, std::string>> lines;  // cells, collectives
    for (auto& r : remarks()) {
      bool maps = true;
      for (std::size_t k = 0; k < 9; ++k) maps &= cell(r.op, k);
      const std::string groups = at(r.op, "uneven groups") ? "any sizes" : at(r.op, "groups") ? "equal sizes" : "–";
      const std::string cells = std::string(maps ? "yes" : "in part") + " | " + groups + " | " + (at(r.op, "tiled") ? "yes" : "–") + " | " +
                                (at(r.op, "in `cond`") && at(r.op, "in `while_loop`, `scan`") ? "yes" : "in part") + " | " + (at(r.op, "`grad` of `grad`") ? "yes" : "–") + " |";
      auto line = std::find_if(lines.begin(), lines.end(), [&](auto& l) { return l.first == cells; });
      if (line == lines.end()) line = lines.insert(lines.end(), {cells, ""});
      line->second += std::string(line->second.empty() ? "`" : " `") + name_of(r.op) + "`";
    }
    std::string text = "| collectives ([details](docs/support.md)) | every map and nesting, several names | groups | tiled | in `cond`, loops, `scan` | gradients of any order |\n|---|---|---|---|---|---|\n";
    for (auto& [cells, names] : lines) text += "| " + names + " | " + cells + "\n";
    return text;
  }

 private:
  bool cell(Op op, std::size_t column) const { return rows_.at(op)[column]; }
  bool at(Op op, std::string_view title) const {
    for (std::size_t k = 0; k < columns().size(); ++k)
      if (columns()[k].title == title) return cell(op, k);
    return false;
  }
  std::map<Op, std::vector<bool>> rows_;
  long cases_ = 0;
};

inline std::string file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}
inline constexpr std::string_view readme_begin = "<!-- support -->\n", readme_end = "<!-- /support -->\n";
/// README with its part replaced; empty where it has no markers.
inline std::string readme_with(const std::string& readme, const std::string& part) {
  const auto begin = readme.find(readme_begin), end = readme.find(readme_end);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return readme.substr(0, begin + readme_begin.size()) + part + readme.substr(end);
}

}  // namespace matrix
