// Trees: tensors, keys and numbers in tuples, vectors, maps and plain structs. One walk serves everything that looks at leaves.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "key.hpp"

namespace spmd {
namespace detail {

template <class T, template <class...> class Template> inline constexpr bool is_a = false;
template <class... Ts, template <class...> class Template> inline constexpr bool is_a<Template<Ts...>, Template> = true;
template <class T> inline constexpr bool is_std_array = false;
template <class T, std::size_t N> inline constexpr bool is_std_array<std::array<T, N>> = true;

template <class T> concept TupleLike = is_a<T, std::tuple> || is_a<T, std::pair> || is_std_array<T>;
template <class T> concept MapLike = is_a<T, std::map> || is_a<T, std::unordered_map>;
template <class T> concept VectorLike = is_a<T, std::vector>;
/// A vector of numbers is data, not a tree of them.
template <class T> concept VectorOfTrees = VectorLike<T> && !std::is_arithmetic_v<typename T::value_type>;
template <class T> concept OptionalLike = is_a<T, std::optional>;
template <class T>
concept HasMembers = requires(T& x) { x.tree_members(); } || requires(T& x) { tree_members(x); };

/// Converts to anything: how the members of an aggregate are counted. std::optional takes it by its own constructor.
struct AnyField {
  template <class T>
    requires(!OptionalLike<T>)
  operator T() const;
};
template <class T, class... Fields> consteval std::size_t count_fields() {
  if constexpr (sizeof...(Fields) > 24) return sizeof...(Fields);
  else if constexpr (requires { T{Fields{}..., AnyField{}}; }) return count_fields<T, Fields..., AnyField>();
  else return sizeof...(Fields);
}
template <class T>
concept Aggregate = std::is_class_v<T> && std::is_aggregate_v<T> && !TupleLike<T> && !HasMembers<T> && std::is_copy_constructible_v<T>;

/// References to the members of an aggregate. Structured bindings need their number spelled out.
template <class T> auto tie_fields(T& x) {
  constexpr auto n = count_fields<std::remove_const_t<T>>();
  static_assert(n <= 16, "spmd: a struct with more than 16 members needs a tree_members function");
  if constexpr (n == 0) return std::tie();
  else if constexpr (n == 1) { auto& [a] = x; return std::tie(a); }
  else if constexpr (n == 2) { auto& [a, b] = x; return std::tie(a, b); }
  else if constexpr (n == 3) { auto& [a, b, c] = x; return std::tie(a, b, c); }
  else if constexpr (n == 4) { auto& [a, b, c, d] = x; return std::tie(a, b, c, d); }
  else if constexpr (n == 5) { auto& [a, b, c, d, e] = x; return std::tie(a, b, c, d, e); }
  else if constexpr (n == 6) { auto& [a, b, c, d, e, f] = x; return std::tie(a, b, c, d, e, f); }
  else if constexpr (n == 7) { auto& [a, b, c, d, e, f, g] = x; return std::tie(a, b, c, d, e, f, g); }
  else if constexpr (n == 8) { auto& [a, b, c, d, e, f, g, h] = x; return std::tie(a, b, c, d, e, f, g, h); }
  else if constexpr (n == 9) { auto& [a, b, c, d, e, f, g, h, i] = x; return std::tie(a, b, c, d, e, f, g, h, i); }
  else if constexpr (n == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = x; return std::tie(a, b, c, d, e, f, g, h, i, j); }
  else if constexpr (n == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
  else if constexpr (n == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
  else if constexpr (n == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  else if constexpr (n == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o); }
  else if constexpr (n == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p); }
  else { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q); }
}
/// The members of a struct, its own way or field by field.
template <class T> auto members(T& x) {
  if constexpr (requires { x.tree_members(); }) return x.tree_members();
  else if constexpr (requires { tree_members(x); }) return tree_members(x);
  else return tie_fields(x);
}
template <class T> concept Struct = HasMembers<T> || Aggregate<T>;

/// Where a walk is: a chain on the stack, turned into text only for a message. `text()` writes it as [1].w["key"].
struct Path {
  const Path* parent = nullptr;
  Index index = 0;
  const std::string* key = nullptr;
  std::string text() const {
    if (!parent) return "";
    return key ? concat({parent->text(), "[\"", *key, "\"]"}) : concat({parent->text(), "[", index, "]"});
  }
};
template <class K> std::string key_text(const K& key) {
  if constexpr (std::is_convertible_v<K, std::string>) return key;
  else if constexpr (requires { std::to_string(key); }) return std::to_string(key);
  else return "?";
}

/// The keys of a map in sorted order: the order of leaves must not hang on a hash.
template <class M> auto sorted_keys(M& map) {
  List<decltype(&map.begin()->first)> keys;
  for (auto& entry : map) keys.push_back(&entry.first);
  if constexpr (!is_a<std::remove_const_t<M>, std::map>) std::sort(keys.begin(), keys.end(), [](auto* a, auto* b) { return *a < *b; });
  return keys;
}

/// Calls f(leaf, path) for every leaf in order. A leaf is whatever is no container: a tensor, a key, a number, or anything else.
template <class Tree, class F> void walk(Tree& tree, F&& f, const Path& path = {}) {
  using T = std::remove_const_t<Tree>;
  if constexpr (TupleLike<T>) {
    std::apply([&](auto&... x) { [[maybe_unused]] Index i = 0; (walk(x, f, Path{&path, i++}), ...); }, tree);
  } else if constexpr (VectorOfTrees<T>) {
    for (std::size_t i = 0; i < tree.size(); ++i) walk(tree[i], f, Path{&path, static_cast<Index>(i)});
  } else if constexpr (OptionalLike<T>) {
    if (tree) walk(*tree, f, path);
  } else if constexpr (MapLike<T>) {
    for (auto* key : sorted_keys(tree)) {
      const auto text = key_text(*key);
      walk(tree.find(*key)->second, f, Path{&path, 0, &text});
    }
  } else if constexpr (!is_tensor<T> && Struct<T>) {
    std::apply([&](auto&... x) { [[maybe_unused]] Index i = 0; (walk(x, f, Path{&path, i++}), ...); }, members(tree));
  } else {
    f(tree, path);
  }
}

template <class T> inline constexpr bool is_array_leaf = is_tensor<T> || std::is_same_v<T, Key>;
inline const Any& any_of(const Key& key) { return key.words().any(); }
template <class T> const Any& any_of(const Tensor<T>& x) { return x.any(); }
template <class T> void assign(Tensor<T>& x, Any value) { x = Tensor<T>(std::move(value)); }
inline void assign(Key& x, Any value) { x = Key::from_words(Tensor<std::uint32_t>(std::move(value))); }

/// The values of all tensors and keys in a tree, in order.
template <class Tree> void flatten(const Tree& tree, Anys& out) {
  walk(tree, [&]<class L>(const L& leaf, const Path&) {
    if constexpr (is_array_leaf<L>) out.push_back(any_of(leaf));
  });
}
template <class Tree> Anys flat(const Tree& tree) {
  Anys out;
  flatten(tree, out);
  return out;
}
/// Puts values back where flatten took them from.
template <class Tree> void refill(Tree& tree, const Any*& next) {
  walk(tree, [&]<class L>(L& leaf, const Path&) {
    if constexpr (is_array_leaf<L>) assign(leaf, *next++);
  });
}
template <class Tree> Tree unflat(Tree like, const Anys& leaves, std::size_t skip = 0) {
  auto* next = leaves.data() + skip;
  refill(like, next);
  return like;
}

/// f on every leaf that is not static; the containers around them follow the types that it returns. A struct keeps its type when its
/// members do, and becomes a tuple where they do not, unless f has a way of its own with it, f.whole(x).
template <class F, class Tree, class... Trees> auto map_leaves(F& f, const Tree& tree, const Trees&... trees) {
  using T = Tree;
  auto same_size = [&](std::size_t a, std::size_t b) {
    if (a != b) fail<TypeError>("tree_map", {"the trees differ: a container has ", a, " members in one and ", b, " in another"});
  };
  if constexpr (is_a<T, std::tuple> || is_a<T, std::pair> || is_std_array<T>) {
    auto at = [&](auto i) { return map_leaves(f, std::get<i>(tree), std::get<i>(trees)...); };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (is_a<T, std::pair>) return std::pair{at(std::integral_constant<std::size_t, I>{})...};
      else if constexpr (is_std_array<T>) return std::array{at(std::integral_constant<std::size_t, I>{})...};
      else return std::tuple<decltype(at(std::integral_constant<std::size_t, I>{}))...>{at(std::integral_constant<std::size_t, I>{})...};
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (VectorOfTrees<T>) {
    (same_size(tree.size(), trees.size()), ...);
    std::vector<decltype(map_leaves(f, tree[0], trees[0]...))> out;
    out.reserve(tree.size());
    for (std::size_t i = 0; i < tree.size(); ++i) out.push_back(map_leaves(f, tree[i], trees[i]...));
    return out;
  } else if constexpr (OptionalLike<T>) {
    (same_size(tree.has_value(), trees.has_value()), ...);
    std::optional<decltype(map_leaves(f, *tree, *trees...))> out;
    if (tree) out = map_leaves(f, *tree, *trees...);
    return out;
  } else if constexpr (MapLike<T>) {
    (same_size(tree.size(), trees.size()), ...);
    auto at = [](const auto& map, const auto& key) -> auto& {
      auto it = map.find(key);
      if (it == map.end()) fail<TypeError>("tree_map", {"the trees differ: one has no key ", key_text(key)});
      return it->second;
    };
    using Mapped = decltype(map_leaves(f, tree.begin()->second, trees.begin()->second...));
    std::conditional_t<is_a<T, std::map>, std::map<typename T::key_type, Mapped>, std::unordered_map<typename T::key_type, Mapped>> out;
    for (auto* key : sorted_keys(tree)) out.emplace(*key, map_leaves(f, at(tree, *key), at(trees, *key)...));
    return out;
  } else if constexpr (requires { f.whole(tree); }) {
    return f.whole(tree);
  } else if constexpr (!is_array_leaf<T> && Struct<T>) {
    using Fields = decltype(members(tree));
    auto at = [&](auto i) { return map_leaves(f, std::get<i>(members(tree)), std::get<i>(members(trees))...); };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::tuple<decltype(at(std::integral_constant<std::size_t, I>{}))...> out{at(std::integral_constant<std::size_t, I>{})...};
      if constexpr ((std::is_same_v<std::tuple_element_t<I, decltype(out)>, std::remove_cvref_t<std::tuple_element_t<I, Fields>>> && ...)) {
        T same = tree;
        members(same) = std::move(out);
        return same;
      } else {
        return out;
      }
    }(std::make_index_sequence<std::tuple_size_v<Fields>>{});
  } else if constexpr (is_array_leaf<T> || std::is_arithmetic_v<T>) {
    if constexpr (requires { f(tree, trees...); }) return f(tree, trees...);
    else return tree;
  } else {
    return tree;  // a static leaf
  }
}

/// The type of a function's result once its numbers have become tensors: alone, or in tuples, pairs, arrays and vectors.
template <class T> auto lift(T&& x) {
  using X = std::remove_cvref_t<T>;
  if constexpr (std::is_arithmetic_v<X>) return Tensor<X>(x);
  else if constexpr (is_a<X, std::tuple>) return std::apply([](auto&&... y) { return std::tuple(lift(std::move(y))...); }, X(std::forward<T>(x)));
  else if constexpr (is_a<X, std::pair>) return std::pair(lift(std::forward<T>(x).first), lift(std::forward<T>(x).second));
  else return X(std::forward<T>(x));
}

}  // namespace detail
}  // namespace spmd
