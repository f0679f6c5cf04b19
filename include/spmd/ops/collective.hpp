// The collectives: shards (or lanes) that exchange values over a named axis. x is any tree; all its leaves travel in one meeting.
// Errors of all: AxisError for a name that is unbound or given twice and for groups that do not name every index once;
// CollectiveMismatch when another shard makes another call, or none.
#pragma once
#include <numeric>

#include "exchange_leaves.hpp"

namespace spmd {

/// Options, in this order; those that a collective has no use for are not in its options.
struct GroupOptions {
  Groups groups = {};
};
struct GatherOptions {
  Index dim = 0;
  bool tiled = false;
  Groups groups = {};
};
struct AllToAllOptions {
  bool tiled = false;
  Groups groups = {};
};
struct ShiftOptions {
  bool wrap = false;
};
/// The weight of a mean: a number, or a tensor of rank 0 of the type of what is averaged.
class Weight {
 public:
  Weight() = default;
  template <class U>
    requires std::is_arithmetic_v<U>
  Weight(U number) : number_(static_cast<double>(number)), given_(true) {}
  template <class T> Weight(const Tensor<T>& tensor) : tensor_(tensor.any()), given_(true) {}
  bool given() const { return given_; }
  template <class T> Tensor<T> as() const {
    if (!tensor_) return Tensor<T>(number_);
    if (tensor_->dtype->name != dtype_of<T>()->name) fail<TypeError>("pmean", {"the weight is ", tensor_->dtype->name, ", the values are ", dtype_of<T>()->name, ": cast it"});
    if (tensor_->shape.rank() != 0) fail<ShapeError>("pmean", {"the weight must have rank 0, its shape is ", tensor_->shape});
    return Tensor<T>(tensor_);
  }

 private:
  double number_ = 1;
  Any tensor_;
  bool given_ = false;
};
struct MeanOptions {
  Groups groups = {};
  Weight weight = {};
};

namespace detail {

struct Countable {
  template <class T> auto operator()(const Tensor<T>& x) const {
    if constexpr (std::same_as<T, bool>) return cast<std::int32_t>(x);
    else return x;
  }
};
struct Averageable {
  template <class T> auto operator()(const Tensor<T>& x) const {
    if constexpr (Floating<T>) return x;
    else return cast<float>(x);
  }
};
/// The tree with f of the numbers that stand alone or in tuples; those inside a struct are static.
template <class Tree, class F> auto map_numbers(const Tree& tree, const F& f) {
  if constexpr (std::is_arithmetic_v<Tree>) return f(tree);
  else if constexpr (is_a<Tree, std::tuple>) return std::apply([&](auto&... x) { return std::tuple<decltype(map_numbers(x, f))...>(map_numbers(x, f)...); }, tree);
  else if constexpr (is_a<Tree, std::pair>) return std::pair(map_numbers(tree.first, f), map_numbers(tree.second, f));
  else return tree;
}
template <class Tree> Tree with_leaves(Tree tree, const Anys& leaves) { return unflat(std::move(tree), leaves); }

/// How many members add up here, as a number where that is the same for all.
inline Index members_here(const Scope& scope) {
  if (!scope.groups) return scope.size;
  bool equal = true;
  for (Index g = 1; g < scope.groups->count(); ++g) equal &= scope.groups->size(g) == scope.groups->size(0);
  if (equal) return scope.groups->size(0);
  Index index = 0;
  for (auto* name : scope.names) {
    auto& axis = find_axis(scope.name, name);
    if (!axis.group) fail<AxisError>(scope.name, {"groups of different sizes give a number another value in each lane of the axis \"", *name, "\": pass a tensor"});
    index = index * axis.size + axis.index;
  }
  return scope.groups->size(scope.groups->of(index));
}
template <class Tree> auto gathered(std::string_view op, const Tree& tree, const AxisNames& axis, const Groups& groups, const Source& source) {
  const Scope scope(op, axis, groups, false, source);
  auto leaves = leaves_of<false>(tree);
  if (leaves.values.empty()) return tree;
  if (scope.groups) {
    // Groups may be uneven: everybody gathers, and takes the rows of its own group, each as often as any other, so that winners who
    // are equal share the gradient evenly.
    Index rows_each = 1;
    for (Index g = 0; g < scope.groups->count(); ++g) rows_each = std::lcm(rows_each, scope.groups->size(g));
    List<Index> rows;
    for (Index i = 0; i < scope.size; ++i) {
      auto& members = scope.groups->members(scope.groups->of(i));
      for (Index k = 0; k < rows_each; ++k) rows.push_back(members[static_cast<std::size_t>(k) % members.size()]);
    }
    auto all = gather_all(scope, std::move(leaves.values), leaves.maths);
    for (auto& x : all) x = take(x, my_row(scope, index_table(Shape{scope.size, rows_each}, rows)), 0);
    return with_leaves(tree, all);
  }
  return with_leaves(tree, gather_leaves(scope, std::move(leaves.values), leaves.maths));
}

}  // namespace detail

/// The sum over an axis, or over its groups (which may differ in size); the same bits on every shard. bool gives int32; of a number
/// it is the number times the members, in a tuple as alone. Its gradient is the psum of the cotangents.
template <class Tree> auto psum(const Tree& x, const AxisNames& axis, const GroupOptions& options = {}, detail::Source source = detail::Source::current()) {
  const detail::Scope scope("psum", axis, options.groups, false, source);
  auto times_members = [&]<class T>(T number) {
    using N = std::conditional_t<std::is_same_v<T, bool>, int, T>;
    return static_cast<N>(static_cast<N>(number) * static_cast<N>(detail::members_here(scope)));
  };
  if constexpr (std::is_arithmetic_v<Tree>) {
    return times_members(x);
  } else {
    detail::Countable countable;
    auto tree = detail::map_leaves(countable, detail::map_numbers(x, times_members));
    auto leaves = detail::leaves_of<true>(tree);
    if (leaves.values.empty()) return tree;
    return detail::with_leaves(std::move(tree), detail::sum_leaves(scope, std::move(leaves.values), leaves.maths));
  }
}
/// The mean over an axis, or over groups, each divided by its own size; with a weight, psum(w x) / psum(w). Integers and bool give
/// float.
template <class Tree> auto pmean(const Tree& x, const AxisNames& axis, const MeanOptions& options = {}, detail::Source source = detail::Source::current()) {
  const detail::Scope scope("pmean", axis, options.groups, false, source);
  if constexpr (std::is_arithmetic_v<Tree>) {
    return std::conditional_t<std::is_floating_point_v<Tree>, Tree, float>(x);
  } else {
    detail::Averageable averageable;
    auto tree = detail::map_leaves(averageable, x);
    auto leaves = detail::leaves_of<true>(tree);
    if (leaves.values.empty()) return tree;
    if (options.weight.given()) {
      auto times = [&]<class T>(const Tensor<T>& leaf) { return std::pair(leaf * options.weight.template as<T>(), options.weight.template as<T>()); };
      auto both = detail::map_leaves(times, tree);
      auto flat = detail::leaves_of<true>(both);
      const auto sums = detail::sum_leaves(scope, std::move(flat.values), flat.maths);
      std::size_t k = 0;
      detail::walk(tree, [&]<class L>(L& leaf, const detail::Path&) {
        if constexpr (is_tensor<L>) {
          leaf = L(sums[k]) / L(sums[k + 1]);
          k += 2;
        }
      });
      return tree;
    }
    const auto sums = detail::sum_leaves(scope, std::move(leaves.values), leaves.maths);
    bool equal = true;
    for (Index g = 1; scope.groups && g < scope.groups->count(); ++g) equal &= scope.groups->size(g) == scope.groups->size(0);
    std::size_t k = 0;
    detail::walk(tree, [&]<class L>(L& leaf, const detail::Path&) {
      if constexpr (is_tensor<L>) {
        const L total(sums[k++]);
        if (equal) {
          leaf = total / static_cast<double>(scope.members());
        } else {
          detail::List<Index> sizes;
          for (Index i = 0; i < scope.size; ++i) sizes.push_back(scope.groups->size(scope.groups->of(i)));
          leaf = total / cast<typename L::value_type>(Tensor<std::int64_t>(detail::my_row(scope, detail::index_tensor(sizes).any())));
        }
      }
    });
    return tree;
  }
}
/// The elementwise maximum over an axis or its groups. NaN wins. The gradient goes to the winners, in equal shares.
template <class Tree> auto pmax(const Tree& x, const AxisNames& axis, const GroupOptions& options = {}, detail::Source source = detail::Source::current()) {
  auto f = []<class T>(const Tensor<T>& all) { return max(all, Axes{0}); };
  return axis.size() == 0 ? x : detail::map_leaves(f, detail::gathered("pmax", x, axis, options.groups, source));
}
template <class Tree> auto pmin(const Tree& x, const AxisNames& axis, const GroupOptions& options = {}, detail::Source source = detail::Source::current()) {
  auto f = []<class T>(const Tensor<T>& all) { return min(all, Axes{0}); };
  return axis.size() == 0 ? x : detail::map_leaves(f, detail::gathered("pmin", x, axis, options.groups, source));
}
namespace detail {
/// As JAX has it: where the winner is NaN, no index equals it, and the largest int32 is left.
template <bool Largest> struct WinningIndex {
  template <class T> Tensor<std::int32_t> operator()(const Tensor<T>& all) const {
    const auto index = arg_reduce<Largest>(all, 0, false);
    if constexpr (Floating<T>) return where(any(isnan(all), Axes{0}), std::numeric_limits<std::int32_t>::max(), index);
    else return index;
  }
};
}  // namespace detail
/// Elementwise, the (flattened) axis index of the first shard with the largest value, as int32; 2147483647 where one has a NaN.
template <class Tree> auto pargmax(const Tree& x, const AxisNames& axis, detail::Source source = detail::Source::current()) {
  detail::WinningIndex<true> f;
  return detail::map_leaves(f, detail::gathered("pargmax", x, axis, {}, source));
}
template <class Tree> auto pargmin(const Tree& x, const AxisNames& axis, detail::Source source = detail::Source::current()) {
  detail::WinningIndex<false> f;
  return detail::map_leaves(f, detail::gathered("pargmin", x, axis, {}, source));
}

/// The values of all members (of groups of equal size) along a new axis at `dim`, or, tiled, behind each other along dim.
template <class Tree> Tree all_gather(const Tree& x, const AxisNames& axis, const GatherOptions& options = {}, detail::Source source = detail::Source::current()) {
  const detail::Scope scope("all_gather", axis, options.groups, true, {source, options.dim, 0, options.tiled});
  auto leaves = detail::leaves_of<false>(x);
  if (leaves.values.empty() || axis.size() == 0) return x;
  detail::List<Index> dims;
  for (auto& leaf : leaves.values) dims.push_back(detail::checked_axis("all_gather", options.dim, leaf->shape.rank() + (options.tiled ? 0 : 1)));
  auto out = detail::gather_leaves(scope, std::move(leaves.values), leaves.maths);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = detail::rows_to_dim(out[k], dims[k], options.tiled);
  return detail::with_leaves(x, out);
}
/// The sum, of which the k-th member keeps row k of `dim` (whose size is the number of members), or, tiled, the k-th block.
template <class Tree> auto psum_scatter(const Tree& x, const AxisNames& axis, const GatherOptions& options = {}, detail::Source source = detail::Source::current()) {
  const detail::Scope scope("psum_scatter", axis, options.groups, true, {source, options.dim, 0, options.tiled});
  detail::Countable countable;
  auto tree = detail::map_leaves(countable, x);
  auto leaves = detail::leaves_of<true>(tree);
  if (leaves.values.empty() || axis.size() == 0) return tree;
  for (auto& leaf : leaves.values) leaf = detail::dim_to_rows("psum_scatter", leaf, detail::checked_axis("psum_scatter", options.dim, leaf->shape.rank()), scope.members(), options.tiled);
  return detail::with_leaves(std::move(tree), detail::scatter_leaves(scope, std::move(leaves.values), leaves.maths));
}
namespace detail {
template <class Tree> Tree exchanged(std::string_view op, const Tree& x, const AxisNames& axis, Index split_dim, Index concat_dim, const AllToAllOptions& options, const Source& source) {
  const Scope scope(op, axis, options.groups, true, {source, split_dim, concat_dim, options.tiled});
  auto leaves = leaves_of<false>(x);
  if (leaves.values.empty() || axis.size() == 0) return x;
  List<Index> dims;
  for (auto& leaf : leaves.values) {
    dims.push_back(checked_axis(op, concat_dim, leaf->shape.rank()));
    leaf = dim_to_rows(op, leaf, checked_axis(op, split_dim, leaf->shape.rank()), scope.members(), options.tiled);
  }
  auto out = exchange_rows(scope, std::move(leaves.values), leaves.maths);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = rows_to_dim(out[k], dims[k], options.tiled);
  return with_leaves(x, out);
}
}  // namespace detail

/// Splits `split_dim` among the members and joins what comes from them at `concat_dim`. Untiled, split_dim has the number of members and
/// goes away, and a new axis comes at concat_dim; tiled, blocks are cut and laid behind each other, rank kept.
template <class Tree>
Tree all_to_all(const Tree& x, const AxisNames& axis, Index split_dim, Index concat_dim, const AllToAllOptions& options = {}, detail::Source source = detail::Source::current()) {
  return detail::exchanged("all_to_all", x, axis, split_dim, concat_dim, options, source);
}
/// Swaps an array axis with the mapped one: all_to_all with the same dim for both.
template <class Tree> Tree pswapaxes(const Tree& x, const AxisNames& axis, Index dim, const GroupOptions& options = {}, detail::Source source = detail::Source::current()) {
  return detail::exchanged("pswapaxes", x, axis, dim, dim, AllToAllOptions{.tiled = false, .groups = options.groups}, source);
}

namespace detail {
template <class Tree> Tree routed(const Scope& scope, const Tree& x, List<Index> sources) {
  auto leaves = leaves_of<false>(x);
  if (leaves.values.empty()) return x;
  return with_leaves(x, route_leaves(scope, std::move(leaves.values), leaves.maths, std::move(sources)));
}
inline void check_member(std::string_view op, std::string_view what, Index i, Index n) {
  if (i < 0 || i >= n) fail<AxisError>(op, {what, " ", i, " is out of range for an axis of size ", n});
}
template <class Tree> Tree permuted(const Tree& x, const AxisNames& axis, std::span<const std::pair<Index, Index>> pairs, const Source& source) {
  const Scope scope("ppermute", axis, {}, false, source);
  List<Index> sources(static_cast<std::size_t>(scope.size), Route::nobody), used;
  for (auto [from, to] : pairs) {
    check_member("ppermute", "source", from, scope.size);
    check_member("ppermute", "destination", to, scope.size);
    if (sources[static_cast<std::size_t>(to)] != Route::nobody) fail<AxisError>("ppermute", {"the destination ", to, " is named twice"});
    if (std::find(used.begin(), used.end(), from) != used.end()) fail<AxisError>("ppermute", {"the source ", from, " is named twice"});
    sources[static_cast<std::size_t>(to)] = from;
    used.push_back(from);
  }
  return routed(scope, x, std::move(sources));
}
}  // namespace detail

/// Sends along pairs (source, destination); who is no destination gets zeros. AxisError for an index out of range or named twice.
template <class Tree> Tree ppermute(const Tree& x, const AxisNames& axis, std::initializer_list<std::pair<Index, Index>> pairs, detail::Source source = detail::Source::current()) {
  return detail::permuted(x, axis, {pairs.begin(), pairs.size()}, source);
}
template <class Tree> Tree ppermute(const Tree& x, const AxisNames& axis, const std::vector<std::pair<Index, Index>>& pairs, detail::Source source = detail::Source::current()) {
  return detail::permuted(x, axis, pairs, source);
}
/// Shard i's value goes to i + offset; zeros where none comes, or, with wrap, round the ring.
template <class Tree> Tree pshift(const Tree& x, const AxisNames& axis, Index offset, const ShiftOptions& options = {}, detail::Source source = detail::Source::current()) {
  const detail::Scope scope("pshift", axis, {}, false, source);
  const Index n = scope.size, by = options.wrap ? offset % n : std::clamp(offset, -n, n);
  detail::List<Index> sources;
  for (Index d = 0; d < n; ++d) {
    const Index from = options.wrap ? (d - by + n) % n : d - by;
    sources.push_back(from >= 0 && from < n ? from : detail::Route::nobody);
  }
  return detail::routed(scope, x, std::move(sources));
}
/// Shard i gets the value of sources[i], a permutation; AxisError otherwise.
template <class Tree> Tree pshuffle(const Tree& x, const AxisNames& axis, const std::vector<Index>& sources, detail::Source source = detail::Source::current()) {
  const detail::Scope scope("pshuffle", axis, {}, false, source);
  std::vector<char> used(static_cast<std::size_t>(scope.size), 0);
  if (static_cast<Index>(sources.size()) != scope.size) fail<AxisError>("pshuffle", {sources.size(), " sources for an axis of size ", scope.size});
  for (auto s : sources) {
    detail::check_member("pshuffle", "source", s, scope.size);
    if (std::exchange(used[static_cast<std::size_t>(s)], 1)) fail<AxisError>("pshuffle", {"the source ", s, " is named twice: not a permutation"});
  }
  return detail::routed(scope, x, detail::List<Index>(sources.begin(), sources.end()));
}
/// Everybody gets the value of one shard.
template <class Tree> Tree pbroadcast(const Tree& x, const AxisNames& axis, Index from, detail::Source source = detail::Source::current()) {
  const detail::Scope scope("pbroadcast", axis, {}, false, source);
  detail::check_member("pbroadcast", "source", from, scope.size);
  return detail::routed(scope, x, detail::List<Index>(static_cast<std::size_t>(scope.size), from));
}

}  // namespace spmd
