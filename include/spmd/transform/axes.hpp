// What a map does with each axis of its arguments and results: the specs that users write, and how they are resolved leaf by leaf.
#pragma once
#include <functional>

#include "../core/tree.hpp"
#include "../device/device.hpp"

namespace spmd {

/// What a map does with one argument or result, or, as a nested list, with each of its members.
class AxisSpec {
 public:
  enum class Kind { number, split, each, replicated, members };
  AxisSpec(int k) : kind(Kind::number), axis(k) {}
  AxisSpec(Index k) : kind(Kind::number), axis(k) {}
  AxisSpec(std::initializer_list<AxisSpec> list) : kind(Kind::members), members(list) {}
  AxisSpec(std::vector<AxisSpec> list) : kind(Kind::members), members(std::move(list)) {}
  AxisSpec(Kind k, Index a) : kind(k), axis(a) {}

  Kind kind;
  Index axis = 0;
  std::vector<AxisSpec> members = {};
};
/// Axis k is cut into equal blocks; a shard sees its block, rank kept. Results are concatenated along k.
inline AxisSpec split(int axis) { return {AxisSpec::Kind::split, axis}; }
/// Axis k, of the map's size, is consumed. Results are stacked at k.
inline AxisSpec each(int axis) { return {AxisSpec::Kind::each, axis}; }
/// Every shard sees the whole. Of a result, the copy of shard 0 is returned.
inline const AxisSpec replicated{AxisSpec::Kind::replicated, 0};

/// One spec for all arguments (or results), or a list with one for each.
class AxisSpecs {
 public:
  AxisSpecs() = default;
  AxisSpecs(AxisSpec one) : given_(true), specs_{std::move(one)} {}
  AxisSpecs(int axis) : AxisSpecs(AxisSpec(axis)) {}
  AxisSpecs(Index axis) : AxisSpecs(AxisSpec(axis)) {}
  AxisSpecs(std::initializer_list<AxisSpec> list) : given_(list.size() > 0), list_(true), specs_(list) {}
  AxisSpecs(std::vector<AxisSpec> list) : given_(true), list_(true), specs_(std::move(list)) {}

  bool given() const { return given_; }
  bool is_list() const { return given_ && list_; }
  std::size_t size() const { return specs_.size(); }
  /// The spec of argument i; null where nothing was said.
  const AxisSpec* of(std::size_t i) const { return !given_ ? nullptr : list_ ? &specs_[i] : &specs_[0]; }

 private:
  bool given_ = false, list_ = false;
  std::vector<AxisSpec> specs_;
};

/// How a function is mapped. Of vmap and of pmap alike; `devices` is for pmap only.
struct MapOptions {
  std::string axis_name = {};
  AxisSpecs in_axes = {};
  AxisSpecs out_axes = {};
  std::optional<Index> axis_size = {};
  std::vector<Device> devices = {};
};
using PmapOptions = MapOptions;
using VmapOptions = MapOptions;

namespace detail {

/// A resolved spec of one leaf: axis is not negative.
struct Cut {
  enum Kind { split, each, replicated, sum } kind = replicated;  // sum: of a result, the sum over the shards
  Index axis = 0;
  Cut moved(Index by) const { return {kind, axis + by}; }
};

/// What differs between the two maps when a spec is only a number or missing.
enum class MapKind { vmap, pmap };

/// "argument 1[0].." for messages; results are "result[..]".
inline std::string leaf_name(std::string_view root, const Path& path) {
  const auto text = path.text();  // [i]...: the first index is that of the argument
  if (root == "argument" && !text.empty()) {
    const auto close = text.find(']');
    return concat({"argument ", text.substr(1, close - 1), text.substr(close + 1)});
  }
  return concat({root, text});
}

/// Walks a tree together with its spec: calls f(leaf, spec or null, path). A list must follow the members one by one.
template <class Tree, class F> void walk_with_spec(std::string_view op, std::string_view what, Tree& tree, const AxisSpec* spec, F&& f, const Path& path) {
  using T = std::remove_const_t<Tree>;
  if (!spec || spec->kind != AxisSpec::Kind::members) {
    walk(tree, [&](auto& leaf, const Path& p) { f(leaf, spec, p); }, path);
    return;
  }
  auto name = [&] { return leaf_name(what == "in_axes" ? "argument" : what == "out_axes" ? "result" : "tree", path); };
  auto expect = [&](std::size_t n) {
    if (spec->members.size() != n) fail<TypeError>(op, {what, " lists ", spec->members.size(), " specs for ", name(), ", which has ", n, " members"});
  };
  if constexpr (TupleLike<T> || (!is_tensor<T> && Struct<T>)) {
    auto fields = [&](auto&... x) {
      expect(sizeof...(x));
      [[maybe_unused]] std::size_t i = 0;
      (([&] {
         walk_with_spec(op, what, x, &spec->members[i], f, Path{&path, static_cast<Index>(i)});
         ++i;
       }()),
       ...);
    };
    if constexpr (TupleLike<T>) std::apply(fields, tree);
    else std::apply(fields, members(tree));
  } else if constexpr (VectorOfTrees<T>) {
    expect(tree.size());
    for (std::size_t i = 0; i < tree.size(); ++i) walk_with_spec(op, what, tree[i], &spec->members[i], f, Path{&path, static_cast<Index>(i)});
  } else if constexpr (MapLike<T>) {
    expect(tree.size());
    std::size_t i = 0;
    for (auto* key : sorted_keys(tree)) {
      const auto text = key_text(*key);
      walk_with_spec(op, what, tree.find(*key)->second, &spec->members[i++], f, Path{&path, 0, &text});
    }
  } else if constexpr (OptionalLike<T>) {
    if (tree) walk_with_spec(op, what, *tree, spec, f, path);
  } else {
    fail<TypeError>(op, {what, " has a list of specs for ", name(), ", which is a single value"});
  }
}

/// The cut that a spec means for one leaf of an argument or a result of this rank.
inline Cut resolve(std::string_view op, MapKind map, const AxisSpec& spec, bool is_key, Index rank, bool result, const std::string& leaf) {
  using Kind = AxisSpec::Kind;
  if (spec.kind == Kind::replicated) return {Cut::replicated, 0};
  const bool number_splits = map == MapKind::pmap && !is_key;
  const bool splits = spec.kind == Kind::split || (spec.kind == Kind::number && number_splits);
  // A stacked result has one axis more than what the shard returned.
  const Index axes = result && !splits ? rank + 1 : rank;
  if (rank == 0 && !result)
    fail<ShapeError>(op, {leaf, " has rank 0 and no axis to map over: pass it as replicated"});
  if (spec.axis < -axes || spec.axis >= axes) fail<AxisError>(op, {"axis ", spec.axis, " is out of range for ", leaf, " of rank ", rank});
  return {splits ? Cut::split : Cut::each, spec.axis < 0 ? spec.axis + axes : spec.axis};
}

/// The size of the mapped axis, agreed on by all leaves of all arguments. Disagreement is told with the odd ones only.
class SizeVote {
 public:
  SizeVote(std::string_view op, std::optional<Index> asked) : op_(op), size_(asked), from_option_(asked.has_value()) {}
  /// A leaf whose consumed axis has this size.
  void consumed(const std::string& leaf, Index axis, Index n) { votes_.push_back({leaf, axis, n}); }
  std::optional<Index> decide() {
    if (votes_.empty()) return size_;
    Index usual = votes_[0].size;
    if (from_option_) {
      usual = *size_;
    } else {
      std::size_t most = 0;
      for (auto& v : votes_) {
        const auto count = static_cast<std::size_t>(std::count_if(votes_.begin(), votes_.end(), [&](auto& w) { return w.size == v.size; }));
        if (count > most) {
          most = count;
          usual = v.size;
        }
      }
    }
    std::string odd;
    for (auto& v : votes_)
      if (v.size != usual) odd += concat({odd.empty() ? "" : ", ", v.leaf, " has size ", v.size, " on axis ", v.axis});
    if (!odd.empty()) {
      if (from_option_) fail<ShapeError>(op_, {"axis_size is ", usual, ", but ", odd});
      const auto& first = *std::find_if(votes_.begin(), votes_.end(), [&](auto& v) { return v.size == usual; });
      fail<ShapeError>(op_, {"the mapped axes differ in size: ", first.leaf, " has size ", usual, " on axis ", first.axis, ", but ", odd});
    }
    return usual;
  }

 private:
  struct Vote {
    std::string leaf;
    Index axis, size;
  };
  std::string_view op_;
  std::optional<Index> size_;
  bool from_option_;
  List<Vote> votes_;
};

/// A leaf of an argument, with what a map does to it.
struct ArgumentLeaf {
  Any value;
  Cut cut;
};

/// All that a map must know of its arguments. Filled by the typed door, checked here, once for all types.
class ArgumentList {
 public:
  template <class... Refs> ArgumentList(std::string_view op, MapKind map, const MapOptions& options, const std::tuple<Refs...>& args) : op_(op), map_(map), options_(options) {
    auto& in = options.in_axes;
    constexpr auto count = sizeof...(Refs);
    if (in.is_list() && in.size() != count) fail<TypeError>(op, {"in_axes lists ", in.size(), " specs, the call has ", count, count == 1 ? " argument" : " arguments"});
    std::apply([&](auto&... arg) { [[maybe_unused]] std::size_t i = 0; (add(arg, i++), ...); }, args);
    name_of_ = [&args](std::size_t wanted) {
      std::string name;
      std::size_t i = 0;
      walk(args, [&]<class L>(const L&, const Path& path) {
        if constexpr (is_array_leaf<L>)
          if (i++ == wanted) name = leaf_name("argument", path);
      });
      return name;
    };
  }
  /// The axis size: `axis_size`, else that of an `each` axis, else none; all leaves agree.
  std::optional<Index> size() {
    SizeVote vote(op_, options_.axis_size);
    if (options_.axis_size && *options_.axis_size < 0) fail<ShapeError>(op_, {"axis_size is ", *options_.axis_size});
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].cut.kind == Cut::each) vote.consumed(name_of_(i), leaves[i].cut.axis, leaves[i].value->shape[leaves[i].cut.axis]);
    return vote.decide();
  }
  /// Every split axis divides into n blocks.
  void check_blocks(Index n) const {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      auto& leaf = leaves[i];
      if (leaf.cut.kind != Cut::split) continue;
      const auto rows = leaf.value->shape[leaf.cut.axis];
      if (rows == 0 && map_ == MapKind::pmap) fail<ShapeError>(op_, {name_of_(i), " of shape ", leaf.value->shape, " has size 0 on axis ", leaf.cut.axis, ": there is nothing to split"});
      if (rows % n == 0) continue;
      const auto below = rows / n * n, above = below + n;
      fail<ShapeError>(op_, {name_of_(i), " of shape ", leaf.value->shape, " has size ", rows, " on axis ", leaf.cut.axis, ", which does not divide by ", n, map_ == MapKind::pmap ? " devices" : " lanes",
                       "; the nearest sizes that do are ", below > 0 ? std::to_string(below) + " and " : "", above, ": drop rows, or pad with pad_to_multiple(x, ", n, ", ", leaf.cut.axis, ")"});
    }
  }
  bool any_split() const {
    return std::any_of(leaves.begin(), leaves.end(), [](auto& l) { return l.cut.kind == Cut::split; });
  }
  Anys values() const {
    Anys list;
    for (auto& leaf : leaves) list.push_back(leaf.value);
    return list;
  }
  List<ArgumentLeaf> leaves;

 private:
  template <class Arg> void add(const Arg& arg, std::size_t position) {
    const Path root, here{&root, static_cast<Index>(position)};
    auto leaf = [&]<class L>(const L& x, const AxisSpec* spec, const Path& path) {
      if constexpr (is_array_leaf<L>) add_leaf(any_of(x), std::is_same_v<L, Key>, spec, path);
    };
    walk_with_spec(op_, "in_axes", arg, options_.in_axes.of(position), leaf, here);
  }
  void add_leaf(const Any& value, bool is_key, const AxisSpec* spec, const Path& path) {
    static const AxisSpec first(0);
    const Index rank = value->shape.rank() - (is_key ? 1 : 0);
    const auto& said = spec ? *spec : first;
    const bool fits = said.kind == AxisSpec::Kind::replicated || (rank > 0 && said.axis >= -rank && said.axis < rank);
    leaves.push_back({value, resolve(op_, map_, said, is_key, rank, false, fits ? std::string() : leaf_name("argument", path))});
  }
  std::string_view op_;
  MapKind map_;
  const MapOptions& options_;
  std::function<std::string(std::size_t)> name_of_;  // only messages want names, so they are found when asked for
};

/// The cuts of all leaves of a result, from out_axes or from the default.
template <class Out> List<Cut> result_cuts(std::string_view op, MapKind map, const AxisSpecs& specs, bool inputs_split, const Out& out) {
  List<Cut> cuts;
  auto leaf = [&]<class L>(const L& x, const AxisSpec* spec, const Path& path) {
    if constexpr (is_array_leaf<L>) {
      constexpr bool key = std::is_same_v<L, Key>;
      const Index rank = any_of(x)->shape.rank() - (key ? 1 : 0);
      // A rank-0 result is stacked, whatever the spec says but replicated.
      if (!spec) cuts.push_back({inputs_split && rank > 0 && !key ? Cut::split : Cut::each, 0});
      else if (rank == 0 && spec->kind != AxisSpec::Kind::replicated) cuts.push_back({Cut::each, 0});
      else cuts.push_back(resolve(op, map, *spec, key, rank, true, spec->kind == AxisSpec::Kind::replicated ? std::string() : leaf_name("result", path)));
    }
  };
  const Path root;
  if (specs.is_list()) {
    if constexpr (is_a<Out, std::tuple> || is_a<Out, std::pair>) {
      if (specs.size() != std::tuple_size_v<Out>) fail<TypeError>(op, {"out_axes lists ", specs.size(), " specs, the result has ", std::tuple_size_v<Out>, " members"});
      Index i = 0;
      std::apply([&](auto&... x) { ((walk_with_spec(op, "out_axes", x, specs.of(static_cast<std::size_t>(i)), leaf, Path{&root, i}), ++i), ...); }, out);
    } else {
      if (specs.size() != 1) fail<TypeError>(op, {"out_axes lists ", specs.size(), " specs, the function returns one value"});
      walk_with_spec(op, "out_axes", out, specs.of(0), leaf, root);
    }
  } else {
    walk_with_spec(op, "out_axes", out, specs.of(0), leaf, root);
  }
  return cuts;
}

}  // namespace detail
}  // namespace spmd
