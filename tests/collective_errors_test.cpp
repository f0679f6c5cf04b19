// Wrong calls of collectives: type and text of each error, the same under vmap and pmap, found on every shard before any of them waits.
#include <atomic>
#include <typeinfo>

#include "support/check.hpp"
#include "support/collective_run.hpp"

using namespace spmd;
using check::close, check::D;
using matrix::Call, matrix::Dims, matrix::Op;

namespace {

const auto setup = (set_host_device_count(8), 0);
using Body = std::function<D(const D&)>;
constexpr Index n = 4;
const D x({n, 4, 3}, std::vector<double>(4 * 4 * 3, 1.0));

/// What a call under a map throws: its type and text; how many shards it was thrown on.
struct Thrown {
  std::string type, text;
  int shards = 0;
};
template <class E> std::string type_of() { return typeid(E).name(); }
Thrown thrown(bool on_devices, const Body& body, const D& input) {
  std::atomic<int> shards = 0;
  auto shard = [&](const D& mine) {
    try {
      return body(mine);
    } catch (...) {
      ++shards;
      throw;
    }
  };
  Thrown out;
  const MapOptions options{.axis_name = "i", .in_axes = each(0)};
  try {
    on_devices ? pmap(shard, options)(input) : vmap(shard, options)(input);
    out.type = "nothing";
  } catch (const std::exception& e) {
    out = {typeid(e).name(), e.what()};
  }
  out.shards = shards;
  return out;
}
/// Under both maps it is an E whose text begins with op and holds all the parts. Afterwards everything works as before.
template <class E> void wrong(const std::string& op, std::initializer_list<const char*> parts, const Body& body, const D& input = x) {
  const auto there = thrown(true, body, input), here = thrown(false, body, input);
  for (auto& t : {there, here}) {
    EXPECT_EQ(t.type, type_of<E>()) << op << ": " << t.text;
    EXPECT_EQ(t.text.rfind(op + ": ", 0), 0u) << op << ": " << t.text;
    for (auto* part : parts) EXPECT_NE(t.text.find(part), std::string::npos) << op << ", no " << part << " in: " << t.text;
  }
  EXPECT_EQ(there.text, here.text);
  EXPECT_EQ(there.shards, input.shape()[0]) << op << ": some shards waited";
  EXPECT_EQ(here.shards, 1);
  EXPECT_TRUE(close(check::over([](const D& v) { return psum(v, "i"); })(arange<double>(4)), D({4}, {6, 6, 6, 6})));
  // On one shard alone: the others wait for it, and are told.
  const auto alone = thrown(true, [&](const D& mine) { return axis_index("i").item() == 2 ? body(mine) : psum(mine, "i"); }, input);
  EXPECT_EQ(alone.text, there.text);
}

// ---------------------------------------------------------------- names, groups: every collective alike

/// A right call of each, of what each shard of x has.
Call right(Op op) {
  Call c{.op = op, .shape = {4, 3}};
  if (op == Op::ppermute) c.pairs = {{0, 1}};
  if (op == Op::pshuffle) c.sources = {0, 1, 2, 3};
  return c;
}
std::vector<Op> all_ops() {
  std::vector<Op> out;
  for (int op = 0; op < static_cast<int>(Op::count); ++op)
    if (static_cast<Op>(op) != Op::ragged_all_to_all) out.push_back(static_cast<Op>(op));
  return out;
}
void wrong_name(const AxisNames& axis, std::initializer_list<const char*> parts) {
  for (Op op : all_ops()) wrong<AxisError>(matrix::name_of(op), parts, [&](const D& v) { return matrix::run(right(op), axis, v); });
  const auto list = ones<std::int32_t>({4});
  wrong<AxisError>("ragged_all_to_all", parts, [&](const D& v) { return ragged_all_to_all(v, v, list, list, list, list, axis); });
}
TEST(CollectiveErrors, RightCallsThrowNothing) {
  for (Op op : all_ops())
    for (bool on_devices : {false, true}) EXPECT_EQ(thrown(on_devices, [&](const D& v) { return matrix::run(right(op), "i", v); }, x).text, "");
}
TEST(CollectiveErrors, UnknownNames) {
  wrong_name("j", {"no axis named \"j\" is in scope", "axes in scope: \"i\""});
  wrong_name({"i", "batch"}, {"no axis named \"batch\" is in scope"});
}
TEST(CollectiveErrors, NamesTwice) { wrong_name({"i", "i"}, {"\"i\" is named twice", "{\"i\", \"i\"}"}); }
TEST(CollectiveErrors, Groups) {
  for (Op op : {Op::psum, Op::pmean, Op::pmax, Op::pmin, Op::all_gather, Op::psum_scatter, Op::all_to_all, Op::pswapaxes}) {
    auto with = [&](std::vector<Dims> groups, std::initializer_list<const char*> parts) {
      Call c = right(op);
      c.groups = std::move(groups);
      wrong<AxisError>(matrix::name_of(op), parts, [&](const D& v) { return matrix::run(c, "i", v); });
    };
    with({{0, 1}, {1, 2}}, {"index 1 twice"});
    with({{0, 0}, {1, 2}}, {"index 0 twice"});
    with({{0, 1}}, {"miss the index 2", "size 4"});
    with({{3, 1}, {0, 4}}, {"index 4", "size 4"});
    with({{0, 1}, {2, -1}}, {"index -1", "size 4"});
    with({{}, {0, 1, 2, 3}}, {"empty"});
    if (op == Op::all_gather || op == Op::psum_scatter || op == Op::all_to_all || op == Op::pswapaxes) with({{0, 1, 2}, {3}}, {"equal sizes", "3 and 1"});
  }
  wrong<AxisError>("psum", {"miss the index 2"}, [](const D& v) { return v + psum(1.0, "i", {.groups = {{0, 1}}}); });
  wrong<AxisError>("pmean", {"miss the index 2"}, [](const D& v) { return v + pmean(1.0, "i", {.groups = {{0, 1}}}); });
  wrong<AxisError>("psum", {"miss the index 2"}, [](const D& v) { return psum(std::tuple(), "i", {.groups = {{0, 1}}}), v; });  // not only where something travels
  wrong<AxisError>("pmax", {"miss the index 2"}, [](const D& v) { return pmax(std::tuple(), "i", {.groups = {{0, 1}}}), v; });
}
TEST(CollectiveErrors, GroupsOverSeveralNames) {
  for (bool outer : {false, true})
    for (bool inner : {false, true}) {
      const MapOptions i{.axis_name = "i", .in_axes = each(0)}, j{.axis_name = "j", .in_axes = each(0)};
      auto shard = [](const D& v) { return psum(v, {"i", "j"}, {.groups = {{0, 1, 2}, {3, 4, 6}}}); };
      auto row = [&](const D& v) { return inner ? pmap(shard, j)(v) : vmap(shard, j)(v); };
      EXPECT_TRUE(check::throws<AxisError>([&] { outer ? pmap(row, i)(zeros<double>({2, 3})) : vmap(row, i)(zeros<double>({2, 3})); }, {"psum: ", "index 6", "size 6"}));
    }
}

// ---------------------------------------------------------------- dims, permutations, weights

TEST(CollectiveErrors, Dims) {
  for (Index dim : {3, -4, 100}) wrong<AxisError>("all_gather", {("axis " + std::to_string(dim)).c_str(), "rank 3"}, [=](const D& v) { return all_gather(v, "i", {.dim = dim}); });
  for (Index dim : {2, -3}) {
    const std::string text = "axis " + std::to_string(dim);
    wrong<AxisError>("all_gather", {text.c_str(), "rank 2"}, [=](const D& v) { return all_gather(v, "i", {.dim = dim, .tiled = true}); });
    for (bool tiled : {false, true}) {
      wrong<AxisError>("psum_scatter", {text.c_str(), "rank 2"}, [=](const D& v) { return psum_scatter(v, "i", {.dim = dim, .tiled = tiled}); });
      wrong<AxisError>("all_to_all", {text.c_str(), "rank 2"}, [=](const D& v) { return all_to_all(v, "i", dim, 0, {.tiled = tiled}); });
      wrong<AxisError>("all_to_all", {text.c_str(), "rank 2"}, [=](const D& v) { return all_to_all(v, "i", 0, dim, {.tiled = tiled}); });
    }
    wrong<AxisError>("pswapaxes", {text.c_str(), "rank 2"}, [=](const D& v) { return pswapaxes(v, "i", dim); });
  }
}
TEST(CollectiveErrors, RankZero) {
  const D numbers({4}, {1, 2, 3, 4});
  wrong<AxisError>("all_gather", {"rank 0"}, [](const D& v) { return all_gather(v, "i", {.tiled = true}); }, numbers);
  for (bool tiled : {false, true}) {
    wrong<AxisError>("psum_scatter", {"rank 0"}, [=](const D& v) { return psum_scatter(v, "i", {.tiled = tiled}); }, numbers);
    wrong<AxisError>("all_to_all", {"rank 0"}, [=](const D& v) { return all_to_all(v, "i", 0, 0, {.tiled = tiled}); }, numbers);
  }
  wrong<AxisError>("pswapaxes", {"rank 0"}, [](const D& v) { return pswapaxes(v, "i", 0); }, numbers);
}
TEST(CollectiveErrors, SizesThatDoNotFit) {
  wrong<ShapeError>("psum_scatter", {"axis 1 of (4, 3)", "size 3", "4", "tiled"}, [](const D& v) { return psum_scatter(v, "i", {.dim = 1}); });
  wrong<ShapeError>("psum_scatter", {"size 3", "does not divide", "4"}, [](const D& v) { return psum_scatter(v, "i", {.dim = -1, .tiled = true}); });
  wrong<ShapeError>("psum_scatter", {"size 4", "group, 2"}, [](const D& v) { return psum_scatter(v, "i", {.groups = {{0, 1}, {2, 3}}}); });
  wrong<ShapeError>("all_to_all", {"axis 1 of (4, 3)", "size 3", "4", "tiled"}, [](const D& v) { return all_to_all(v, "i", 1, 0); });
  wrong<ShapeError>("all_to_all", {"size 3", "does not divide", "4"}, [](const D& v) { return all_to_all(v, "i", 1, 0, {.tiled = true}); });
  wrong<ShapeError>("pswapaxes", {"size 3", "4"}, [](const D& v) { return pswapaxes(v, "i", -1); });
  wrong<ShapeError>("pswapaxes", {"size 4", "group, 2"}, [](const D& v) { return pswapaxes(v, "i", 0, {.groups = {{0, 1}, {2, 3}}}); });
  // The second leaf of a tree.
  wrong<ShapeError>("psum_scatter", {"(3, 4)"}, [](const D& v) { return psum_scatter(std::pair(v, transpose(v)), "i").first; });
}
TEST(CollectiveErrors, Permutations) {
  using Pairs = std::vector<std::pair<Index, Index>>;
  auto permute = [](const Pairs& pairs, std::initializer_list<const char*> parts) { wrong<AxisError>("ppermute", parts, [=](const D& v) { return ppermute(v, "i", pairs); }); };
  permute({{0, 1}, {0, 2}}, {"source 0 is named twice"});
  permute({{0, 1}, {2, 1}}, {"destination 1 is named twice"});
  permute({{0, 4}}, {"destination 4 is out of range", "size 4"});
  permute({{4, 0}}, {"source 4 is out of range", "size 4"});
  permute({{0, 1}, {-1, 0}}, {"source -1"});
  permute({{0, -1}}, {"destination -1"});
  auto shuffle = [](const Dims& sources, std::initializer_list<const char*> parts) { wrong<AxisError>("pshuffle", parts, [=](const D& v) { return pshuffle(v, "i", sources); }); };
  shuffle({0, 1, 2}, {"3 sources", "size 4"});
  shuffle({0, 1, 2, 2}, {"source 2 is named twice"});
  shuffle({0, 1, 2, 4}, {"source 4 is out of range"});
  shuffle({0, 1, 2, -1}, {"source -1 is out of range"});
  for (Index source : {-1, 4}) wrong<AxisError>("pbroadcast", {"source", "out of range", "size 4"}, [=](const D& v) { return pbroadcast(v, "i", source); });
}
TEST(CollectiveErrors, Weights) {
  wrong<ShapeError>("pmean", {"weight", "rank 0", "(4, 3)"}, [](const D& v) { return pmean(v, "i", {.weight = v}); });
  wrong<TypeError>("pmean", {"weight is float32", "float64"}, [](const D& v) { return pmean(v, "i", {.weight = Tensor<float>(1.0f)}); });
  auto number = [](const D& v) { return v + psum(1.0, "i", {.groups = {{0}, {1, 2, 3}}}); };
  EXPECT_TRUE(check::throws<AxisError>([&] { check::lanes(number)(x); }, {"psum: ", "different sizes", "pass a tensor"}));  // a number cannot differ from lane to lane
  EXPECT_EQ(check::over(number)(x).at({1, 0, 0}), 4);
}

}  // namespace
