// The collectives of programs: all operands of one instruction are one tree.
#include "interpreter.hpp"

namespace replay {

std::vector<Value> collective(const Instruction& n, const std::vector<Value>& a) {
  const auto names = names_of(n);
  const spmd::AxisNames axis(names);
  const auto groups = groups_of(n);
  const auto x = pack(a);
  const auto& op = n.op;
  const auto back = [&](const Values& y) { return unpack(n.results, y); };
  const bool tiled = n.has("tiled");
  if (op == "axis_index") return {spmd::axis_index(axis)};
  if (op == "axis_size") return {Integer(static_cast<std::int32_t>(spmd::axis_size(axis)))};
  if (op == "psum") return back(spmd::psum(x, axis, {.groups = groups}));
  if (op == "pmean") return back(Values{spmd::pmean(x.f, axis, {.groups = groups}), {}});
  if (op == "pmax") return back(spmd::pmax(x, axis, {.groups = groups}));
  if (op == "pmin") return back(spmd::pmin(x, axis, {.groups = groups}));
  if (op == "pargmax") return back(Values{{}, spmd::pargmax(x.f, axis)});
  if (op == "pargmin") return back(Values{{}, spmd::pargmin(x.f, axis)});
  if (op == "all_gather") return back(spmd::all_gather(x, axis, {.dim = n.number("dim"), .tiled = tiled, .groups = groups}));
  if (op == "psum_scatter") return back(spmd::psum_scatter(x, axis, {.dim = n.number("dim"), .tiled = tiled, .groups = groups}));
  if (op == "all_to_all") return back(spmd::all_to_all(x, axis, n.number("split"), n.number("concat"), {.tiled = tiled, .groups = groups}));
  if (op == "pswapaxes") return back(spmd::pswapaxes(x, axis, n.number("dim"), {.groups = groups}));
  if (op == "pshuffle") return back(spmd::pshuffle(x, axis, numbers(n.text("sources"))));
  if (op == "pbroadcast") return back(spmd::pbroadcast(x, axis, n.number("from")));
  if (op == "pshift") return back(spmd::pshift(x, axis, n.number("by"), {.wrap = n.has("wrap")}));
  if (op == "ppermute") {
    std::vector<std::pair<Index, Index>> pairs;
    for (auto& part : split_text(n.text("pairs"), ',')) {
      const auto pair = numbers(part, '>');
      pairs.emplace_back(pair.at(0), pair.at(1));
    }
    return back(spmd::ppermute(x, axis, pairs));
  }
  throw std::runtime_error("unknown collective " + op);
}

}  // namespace replay
