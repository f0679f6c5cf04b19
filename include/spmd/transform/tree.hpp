// Functions of trees that users call.
#pragma once
#include "../ops/functions.hpp"
#include "../core/tree.hpp"

namespace spmd {

/// f on the leaves of one tree, or of several of the same shape: tensors, keys and numbers. The result is the same tree where f
/// keeps types; where it does not, a struct becomes a tuple. TypeError when containers differ in size.
template <class F, class Tree, class... Trees> auto tree_map(F f, const Tree& tree, const Trees&... trees) { return detail::map_leaves(f, tree, trees...); }

/// All Tensor<T> of a tree, in order.
template <class T = float, class Tree> std::vector<Tensor<T>> tree_leaves(const Tree& tree) {
  std::vector<Tensor<T>> leaves;
  detail::walk(tree, [&]<class L>(const L& leaf, const detail::Path&) {
    if constexpr (std::is_same_v<L, Tensor<T>>) leaves.push_back(leaf);
  });
  return leaves;
}
/// The number of elements of all tensors.
template <class Tree> Index tree_size(const Tree& tree) {
  Index n = 0;
  detail::walk(tree, [&]<class L>(const L& leaf, const detail::Path&) {
    if constexpr (is_tensor<L>) n += leaf.size();
  });
  return n;
}
namespace detail {
/// The type of the first floating tensor in a tree type; void where there is none.
template <class T> struct FirstFloating { using type = void; };
template <class... Ts> struct FirstOf { using type = void; };
template <class T, class... Ts> struct FirstOf<T, Ts...> {
  using here = typename FirstFloating<std::remove_cvref_t<T>>::type;
  using type = std::conditional_t<std::is_void_v<here>, typename FirstOf<Ts...>::type, here>;
};
template <Floating T> struct FirstFloating<Tensor<T>> { using type = T; };
template <class T> struct FirstFloating<std::optional<T>> : FirstFloating<T> {};
template <class T> struct FirstFloating<std::vector<T>> : FirstFloating<T> {};
template <class T, std::size_t N> struct FirstFloating<std::array<T, N>> : FirstFloating<T> {};
template <class... Ts> struct FirstFloating<std::tuple<Ts...>> : FirstOf<Ts...> {};
template <class A, class B> struct FirstFloating<std::pair<A, B>> : FirstOf<A, B> {};
template <MapLike M> struct FirstFloating<M> : FirstFloating<typename M::mapped_type> {};
template <class S>
  requires(Struct<S> && !is_array_leaf<S>)
struct FirstFloating<S> : FirstFloating<decltype(members(std::declval<S&>()))> {};
}  // namespace detail
/// The Euclidean norm of all floating tensors together, in the type of the first one (float where there is none).
template <class Tree> auto global_norm(const Tree& tree) {
  using First = typename detail::FirstFloating<Tree>::type;
  using T = std::conditional_t<std::is_void_v<First>, float, First>;
  Tensor<T> total;
  detail::walk(tree, [&]<class L>(const L& leaf, const detail::Path&) {
    if constexpr (is_tensor<L>)
      if constexpr (Floating<typename L::value_type>) total = total + cast<T>(sum(square(leaf)));
  });
  return sqrt(total);
}

namespace detail {
template <class U, class T> struct Recast { using type = T; };
template <class U, template <class> class Net, class T>
  requires Floating<T>
struct Recast<U, Net<T>> { using type = Net<U>; };
template <class U, class T> using Recasted = typename Recast<U, T>::type;
template <class U> struct CastLeaf {
  template <class T> auto operator()(const Tensor<T>& x) const {
    if constexpr (Floating<T>) return cast<U>(x);
    else return x;
  }
  template <class S>
    requires(!is_array_leaf<S> && Struct<S> && !std::is_same_v<Recasted<U, S>, S>)
  auto whole(const S& net) const {
    Recasted<U, S> out{};
    const auto from = members(net);
    std::apply([&](auto&... to) {
      [&]<std::size_t... I>(std::index_sequence<I...>) { ((to = static_cast<std::remove_cvref_t<decltype(to)>>(map_leaves(*this, std::get<I>(from)))), ...); }(std::index_sequence_for<decltype(to)...>{});
    }, members(out));
    return out;
  }
};
}  // namespace detail
/// Floating tensors become Tensor<U>; a struct that is a class template over the element type, Net<float>, becomes Net<U>.
template <class U, class Tree> auto tree_cast(const Tree& tree) {
  const detail::CastLeaf<U> f;
  return detail::map_leaves(f, tree);
}

/// Pads axis `axis` of every tensor with zeros to the next multiple of n: the padded tree, and a mask of the padded length that
/// is true for the rows that were there. ShapeError when the leaves do not agree along the axis. `slice` is the way back.
template <class Tree> auto pad_to_multiple(const Tree& tree, Index n, Index axis = 0) {
  if (n < 1) fail<ShapeError>("pad_to_multiple", {"cannot pad to a multiple of ", n});
  std::optional<Index> rows;
  detail::walk(tree, [&]<class L>(const L& leaf, const detail::Path& path) {
    if constexpr (is_tensor<L>) {
      const auto size = leaf.shape()[detail::checked_axis("pad_to_multiple", axis, leaf.rank())];
      if (rows && *rows != size) fail<ShapeError>("pad_to_multiple", {"leaf ", path, " has size ", size, " along axis ", axis, ", an earlier one ", *rows});
      rows = size;
    }
  });
  const Index have = rows.value_or(0), want = have % n == 0 ? have : have / n * n + n;
  auto f = [&]<class T>(const Tensor<T>& x) {
    Axes low = Axes::filled(x.rank(), 0), high = low;
    high[detail::checked_axis("pad_to_multiple", axis, x.rank())] = want - have;
    return Tensor<T>(detail::pad(x.any(), low, high));
  };
  return std::pair(detail::map_leaves(f, tree), arange<std::int64_t>(want) < have);
}

}  // namespace spmd
