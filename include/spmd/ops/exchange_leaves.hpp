// What the collectives share: the leaves of a tree, dims and tiling, several names, and groups over them.
#pragma once
#include "../core/tree.hpp"
#include "axis_query.hpp"

namespace spmd::detail {

/// A collective's axis: its names, size and groups, checked.
struct Scope {
  Scope(std::string_view op, const AxisNames& n, const Groups& g, bool equal_groups, const Site& s) : name(op), names(n), site(s) {
    check_names(op, names);
    for (auto* axis : names) size *= find_axis(op, axis).size;
    if (!g.empty()) groups = make<const Grouping>(op, g, size, equal_groups);
  }
  /// The number of members that meet; with uneven groups that of the first.
  Index members() const { return groups ? groups->size(0) : size; }
  bool single() const { return names.size() == 1; }
  /// This member's index on the flattened axis, for looking things up.
  Any index() const { return flat_index(names, dtype_of<std::int64_t>()); }

  std::string_view name;
  const AxisNames& names;
  Index size = 1;
  Ref<const Grouping> groups;
  Site site;
};

/// The leaves of a tree, with the arithmetic of their types.
struct Leaves {
  Anys values;
  Maths maths;
};
template <bool Integers, class Tree> Leaves leaves_of(const Tree& tree) {
  Leaves out;
  walk(tree, [&]<class L>(const L& leaf, const Path&) {
    if constexpr (is_array_leaf<L>) {
      out.values.push_back(any_of(leaf));
      if constexpr (is_tensor<L>) {
        using T = typename L::value_type;
        if constexpr (Floating<T> || (Integers && !std::same_as<T, bool>)) out.maths.push_back(leaf_math<T>());
        else out.maths.push_back(nullptr);
      } else {
        out.maths.push_back(nullptr);
      }
    }
  });
  return out;
}
template <class P> Anys over(const Scope& scope, Name axis, const Ref<const Grouping>& groups, const Anys& values, const Maths& maths) {
  return interpret(make<const P>(scope.name, axis, groups, maths, scope.site), values);
}

/// Every leaf with a new leading axis of all members, whatever the groups: over several names, one axis after the other.
inline Anys gather_all(const Scope& scope, Anys values, const Maths& maths) {
  for (std::size_t i = scope.names.size(); i-- > 0;) values = over<AllGather>(scope, scope.names[i], nullptr, values, maths);
  for (auto& x : values) {
    Shape flat(x->shape.begin() + static_cast<Index>(scope.names.size()), x->shape.end());
    flat.insert(0, scope.size);
    x = reshape(x, flat);
  }
  return values;
}
/// The row of a table that belongs to this member.
inline Any my_row(const Scope& scope, const Any& table) { return take(table, scope.index(), 0); }
inline Any index_table(const Shape& shape, const List<Index>& list) { return reshape(index_tensor(list).any(), shape); }
/// The indices of the members of every index's group: (size, members).
inline Any member_table(const Scope& scope) {
  List<Index> rows;
  for (Index i = 0; i < scope.size; ++i)
    for (auto m : scope.groups->members(scope.groups->of(i))) rows.push_back(m);
  return index_table(Shape{scope.size, scope.members()}, rows);
}

inline Anys sum_leaves(const Scope& scope, Anys values, const Maths& maths) {
  if (scope.single()) return over<AllReduce>(scope, scope.names[0], scope.groups, values, maths);
  if (!scope.groups) {
    for (std::size_t i = scope.names.size(); i-- > 0;) values = over<AllReduce>(scope, scope.names[i], nullptr, values, maths);
    return values;
  }
  // Groups that lie across several axes: everybody adds a table of all groups, with its value in the row of its own.
  const auto mine = my_row(scope, index_table(Shape{scope.size, 1}, scope.groups->of()));
  for (auto& x : values) x = x->dtype->scatter_add(mine, reshape(x, with_front(1, x->shape)), scope.groups->count(), 0);
  for (std::size_t i = scope.names.size(); i-- > 0;) values = over<AllReduce>(scope, scope.names[i], nullptr, values, maths);
  for (auto& x : values) x = reshape(take(x, mine, 0), without(x->shape, 0));
  return values;
}
/// A new leading axis of the members that meet.
inline Anys gather_leaves(const Scope& scope, Anys values, const Maths& maths) {
  if (scope.single()) return over<AllGather>(scope, scope.names[0], scope.groups, values, maths);
  values = gather_all(scope, std::move(values), maths);
  if (scope.groups)
    for (auto& x : values) x = take(x, my_row(scope, member_table(scope)), 0);
  return values;
}
/// Row k of the sum, of leaves whose leading axis has the number of members.
inline Anys scatter_leaves(const Scope& scope, Anys values, const Maths& maths) {
  if (scope.single()) return over<ReduceScatter>(scope, scope.names[0], scope.groups, values, maths);
  if (!scope.groups) {
    for (std::size_t i = 0; i < scope.names.size(); ++i) {
      const Index n = find_axis(scope.name, scope.names[i]).size;
      for (auto& x : values) {
        Shape apart = with_front(n, x->shape);
        apart[1] /= n;
        x = reshape(x, apart);
      }
      values = over<ReduceScatter>(scope, scope.names[i], nullptr, values, maths);
    }
    for (auto& x : values) x = reshape(x, without(x->shape, 0));  // what is left of the leading axis: one row
    return values;
  }
  values = sum_leaves(scope, std::move(values), maths);
  List<Index> positions;
  for (Index i = 0; i < scope.size; ++i) positions.push_back(scope.groups->position(i));
  for (auto& x : values) x = take(x, my_row(scope, index_tensor(positions).any()), 0);
  return values;
}
/// Row j of member i becomes row i of member j.
inline Anys exchange_rows(const Scope& scope, Anys values, const Maths& maths) {
  if (scope.single()) return over<AllToAll>(scope, scope.names[0], scope.groups, values, maths);
  if (!scope.groups) {
    const auto count = static_cast<Index>(scope.names.size());
    for (auto& x : values) {
      Shape apart = without(x->shape, 0);
      for (std::size_t i = scope.names.size(); i-- > 0;) apart.insert(0, find_axis(scope.name, scope.names[i]).size);
      x = reshape(x, apart);
    }
    for (Index i = 0; i < count; ++i) {
      for (auto& x : values) x = moveaxis(x, i, 0);
      values = over<AllToAll>(scope, scope.names[static_cast<std::size_t>(i)], nullptr, values, maths);
      for (auto& x : values) x = moveaxis(x, 0, i);
    }
    for (auto& x : values) {
      Shape flat(x->shape.begin() + count, x->shape.end());
      flat.insert(0, scope.size);
      x = reshape(x, flat);
    }
    return values;
  }
  values = gather_all(scope, std::move(values), maths);
  const Index g = scope.members();
  List<Index> rows;
  for (Index i = 0; i < scope.size; ++i)
    for (auto m : scope.groups->members(scope.groups->of(i))) rows.push_back(m * g + scope.groups->position(i));
  for (auto& x : values) {
    Shape flat = without(x->shape, 0);
    flat[0] = scope.size * g;
    x = take(reshape(x, flat), my_row(scope, index_table(Shape{scope.size, g}, rows)), 0);
  }
  return values;
}
/// Member d gets the value of sources[d], or zeros.
inline Anys route_leaves(const Scope& scope, Anys values, const Maths& maths, List<Index> sources) {
  if (scope.single()) return interpret(make<const Route>(scope.name, scope.names[0], std::move(sources), maths, scope.site), values);
  values = gather_all(scope, std::move(values), maths);
  std::replace(sources.begin(), sources.end(), Route::nobody, scope.size);
  for (auto& x : values) {
    Axes low = Axes::filled(x->shape.rank(), 0), high = low;
    high[0] = 1;
    x = take(pad(x, low, high), my_row(scope, index_tensor(sources).any()), 0);
  }
  return values;
}

/// The leading axis goes into dim: as an axis of its own, or joined with the one there.
inline Any rows_to_dim(const Any& x, Index dim, bool joined) {
  auto y = moveaxis(x, 0, dim);
  if (!joined) return y;
  Shape shape = y->shape;
  shape[dim + 1] *= shape[dim];
  shape.erase(dim);
  return reshape(y, shape);
}
/// Dim, or its division into g blocks, becomes the leading axis.
inline Any dim_to_rows(std::string_view op, const Any& x, Index dim, Index g, bool blocks) {
  const auto n = x->shape[dim];
  if (!blocks) {
    if (n != g) fail<ShapeError>(op, {"axis ", dim, " of ", x->shape, " has size ", n, ", it must be that of the axis or group, ", g, op == "pswapaxes" ? "" : " (or set tiled)"});
    return moveaxis(x, dim, 0);
  }
  if (n % g != 0) fail<ShapeError>(op, {"axis ", dim, " of ", x->shape, " has size ", n, ", which does not divide by the size of the axis or group, ", g});
  Shape apart = x->shape;
  apart[dim] = n / g;
  apart.insert(dim, g);
  return moveaxis(reshape(x, apart), dim, 0);
}

}  // namespace spmd::detail
