// Control flow that is right under every map: a mapped predicate runs each branch on its own lanes only.
#pragma once
#include "../core/tree.hpp"
#include "../ops/indexing.hpp"
#include "batcher.hpp"

namespace spmd {
namespace detail {

/// A choice between two programs whose predicate some vmap around it maps. A place is 2 * lane + branch where the lanes of inner
/// maps had to be taken one by one, else the branch.
class Cond final : public Carrier {
 public:
  /// The predicate is no argument: tapes have nothing to do with a bool.
  Cond(Ref<Run> r, Ref<const Program> p, Any pred) : Carrier(std::move(r), std::move(p)), pred_(std::move(pred)) {}
  Anys impl(const Anys& args) const override { return (*program)(Tensor<bool>(pred_).item() ? 1 : 0, args); }
  Ref<const Carrier> with(Ref<const Program> p) const override { return make<const Cond>(run, std::move(p), pred_); }
  Anys backward(Ref<const Program> pull, const Anys& cts, const Anys&, const List<char>&, std::size_t) const override { return interpret(with(std::move(pull)), cts); }

  Batch batch(Batcher& batcher, const Batch& args) const override {
    auto [values, mapped] = Batcher::opened(args);
    const auto opened = batcher.open(pred_);
    auto found = make<Batcher::Mapped>();
    if (!opened.mapped) {  // the same for all lanes here; a map further out will take it
      return found->results(interpret(make<const Cond>(run, Batcher::entering(run, batcher.copy(), std::move(mapped), program, found), opened.value), values));
    }
    const Index n = batcher.axis().size;
    auto at = [&](const List<Index>& lanes) {
      Anys in;
      for (auto& a : args) in.push_back(a.mapped ? take(a.value, lanes, 0) : a.value);
      return in;
    };
    List<Anys> parts;
    List<Index> order;  // the lane of each row, over all parts
    if (opened.value->readable()) {
      const auto* pred = opened.value->dense("cond").as<bool>();
      for (Index branch = 0; branch < 2; ++branch) {
        List<Index> lanes;
        for (Index i = 0; i < n; ++i)
          if (pred[i] == (branch == 1)) lanes.push_back(i);
        if (lanes.empty()) continue;
        parts.push_back((*Batcher::entering(run, batcher.copy(lanes), mapped, program, found))(branch, at(lanes)));
        order.append(lanes.begin(), lanes.end());
      }
    } else {
      // Two maps vary it: their lanes are not a rectangle. This one takes its lanes singly, the outer one selects.
      for (Index i = 0; i < n; ++i) {
        List<Index> lane{i};
        auto single = program_of([enter = Batcher::entering(run, batcher.copy(lane), mapped, program, found), n, i](Index place, const Anys& a) { return (*enter)((place / 2 * n + i) * 2 + place % 2, a); });
        parts.push_back(interpret(make<const Cond>(run->lane(i), std::move(single), row(opened.value, 0, i)), at(lane)));
        order.push_back(i);
      }
    }
    Batch result;
    List<Index> back(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < order.size(); ++k) back[static_cast<std::size_t>(order[k])] = static_cast<Index>(k);
    for (std::size_t k = 0; !parts.empty() && k < parts[0].size(); ++k) {
      Anys rows;
      for (auto& part : parts) {
        if (without(part[k]->shape, 0) != without(parts[0][k]->shape, 0)) fail<ShapeError>("cond", {"the branches return different shapes: ", without(parts[0][k]->shape, 0), " and ", without(part[k]->shape, 0)});
        rows.push_back(part[k]);
      }
      auto all = concatenate(rows, 0);
      result.push_back({parts.size() > 1 ? take(all, back, 0) : all, true});
    }
    return result;
  }

 private:
  const Any pred_;
};

/// Whether the predicate holds in any lane; of one that no vmap maps it is the predicate.
class AnyLane final : public Primitive {
 public:
  std::string_view name() const override { return "while_loop"; }
  Anys impl(const Anys& args) const override { return args; }
  Anys vjp(const Anys&, const Anys&, const Anys&, Needed) const override { return Anys(1); }
  Batch batch(const Axis&, const Batch& args) const override {
    return one<Batched>(Batched{std::move(interpret(make<const AnyLane>(), one<Any>(any(Tensor<bool>(args[0].value), Axes{0}).any()))[0]), false});
  }
};
inline Tensor<bool> any_lane(const Tensor<bool>& pred) { return Tensor<bool>(std::move(interpret(make<const AnyLane>(), one<Any>(pred.any()))[0])); }

inline void check_predicate(std::string_view op, const Tensor<bool>& pred) {
  if (pred.rank() != 0) fail<ShapeError>(op, {"the predicate must have rank 0, its shape is ", pred.shape()});
}
inline bool is_readable(const Tensor<bool>& pred) { return pred.any()->readable(); }

/// A carry keeps its shapes; only debug text is lost when it has other leaves.
template <class Carry> void check_carry(std::string_view op, const Carry& before, const Carry& after) {
  const auto a = flat(before), b = flat(after);
  if (a.size() != b.size()) fail<TypeError>(op, {"the carry had ", a.size(), " leaves, the body returned ", b.size()});
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k]->shape != b[k]->shape) fail<ShapeError>(op, {"leaf ", k, " of the carry had shape ", a[k]->shape, ", the body returned ", b[k]->shape});
}

/// The plain numbers of a carry, which all lanes share.
template <class Carry> List<double> numbers_of(const Carry& carry) {
  List<double> numbers;
  walk(carry, [&]<class L>(const L& leaf, const Path&) {
    if constexpr (std::is_arithmetic_v<L>) numbers.push_back(static_cast<double>(leaf));
  });
  return numbers;
}

/// f(args...) on the lanes where pred holds, g(args...) on the others; both return an Out.
template <class Out, class F, class G, class... Args> Out on_lanes_of(const Tensor<bool>& pred, const F& f, const G& g, const Args&... args) {
  std::optional<Out> tree;
  auto program = program_of([&](Index place, const Anys& leaves) {
    std::tuple<std::decay_t<const Args&>...> in(args...);
    auto* next = leaves.data();
    refill(in, next);
    tree.emplace(place % 2 ? Out(std::apply(f, in)) : Out(std::apply(g, in)));
    return flat(*tree);
  });
  Anys leaves;
  (flatten(args, leaves), ...);
  const auto outs = interpret(make<const Cond>(make<Run>(), std::move(program), pred.any()), leaves);
  auto* next = outs.data();
  refill(*tree, next);
  return std::move(*tree);
}

}  // namespace detail

/// f(args...) where pred holds, else g(args...); both return the same type. pred is a bool or a Tensor<bool> of rank 0. Where a vmap
/// maps it, each branch runs on its own lanes only. ShapeError when pred has another rank, or the branches' shapes differ.
template <class F, class G, class... Args> auto cond(const Tensor<bool>& pred, const F& f, const G& g, const Args&... args) {
  using Out = decltype(detail::lift(f(args...)));
  static_assert(std::is_convertible_v<decltype(detail::lift(g(args...))), Out>, "spmd::cond: both branches must return the same type");
  detail::check_predicate("cond", pred);
  auto yes = [&f](const auto&... xs) { return Out(detail::lift(f(xs...))); };
  auto no = [&g](const auto&... xs) { return Out(detail::lift(g(xs...))); };
  if (detail::is_readable(pred)) return pred.item() ? yes(args...) : no(args...);
  return detail::on_lanes_of<Out>(pred, yes, no, args...);
}

/// carry = body(carry) while test(carry), a bool or a Tensor<bool> of rank 0. Under vmap each lane makes its own number of steps:
/// the body runs on the lanes that go on. Differentiable. ShapeError when the body changes a shape; TypeError when it changes a plain
/// number that the lanes share.
template <class Test, class Body, class Carry> Carry while_loop(const Test& test, const Body& body, const Carry& init) {
  Carry carry = init;
  auto step = [&](const Carry& c) {
    Carry next = body(c);
    detail::check_carry("while_loop", c, next);
    return next;
  };
  for (;;) {
    const Tensor<bool> go = test(carry);
    detail::check_predicate("while_loop", go);
    if (detail::is_readable(go)) {
      if (!go.item()) return carry;
      carry = step(carry);
      continue;
    }
    const auto anybody = detail::any_lane(go);
    if (detail::is_readable(anybody) && !anybody.item()) return carry;
    auto step_some = [&](const Carry& c) {
      Carry next = step(c);
      const auto before = detail::numbers_of(c), after = detail::numbers_of(next);
      for (std::size_t k = 0; k < before.size(); ++k)
        if (before[k] != after[k]) fail<TypeError>("while_loop", {"the body changes a plain number of the carry, and lanes make different numbers of steps: make it a Tensor"});
      return next;
    };
    carry = detail::on_lanes_of<Carry>(go, step_some, [](const Carry& c) { return c; }, carry);
  }
}
/// body(i, carry) for i from lo up to, not including, hi.
template <class Body, class Carry> Carry fori_loop(Index lo, Index hi, const Body& body, const Carry& init) {
  Carry carry = init;
  for (Index i = lo; i < hi; ++i) {
    Carry next = body(i, carry);
    detail::check_carry("fori_loop", carry, next);
    carry = std::move(next);
  }
  return carry;
}

namespace detail {
template <class Body, class Carry, class At> auto scan_steps(const Body& body, const Carry& init, Index n, At at) {
  using Pair = decltype(body(init, at(0)));
  static_assert(is_a<Pair, std::pair>, "spmd::scan: the body must return a pair (carry, y)");
  using Y = decltype(lift(std::declval<typename Pair::second_type>()));
  Carry carry = init;
  std::vector<Y> ys;
  for (Index i = 0; i < n; ++i) {
    auto [next, y] = body(carry, at(i));
    Carry kept = std::move(next);
    check_carry("scan", carry, kept);
    carry = std::move(kept);
    ys.push_back(lift(std::move(y)));
  }
  Y stacked = n > 0 ? ys[0] : Y{};
  Anys leaves = flat(stacked);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (n == 0) {
      leaves[k] = zeros(leaves[k]->dtype, with_front(0, leaves[k]->shape));
      continue;
    }
    Anys steps;
    for (auto& y : ys) {
      auto all = flat(y);
      if (all.size() != leaves.size()) fail<TypeError>("scan", {"the body returned ", leaves.size(), " and then ", all.size(), " leaves"});
      if (all[k]->shape != leaves[k]->shape) fail<ShapeError>("scan", {"leaf ", k, " of y had shape ", leaves[k]->shape, ", then ", all[k]->shape});
      steps.push_back(std::move(all[k]));
    }
    leaves[k] = stack(std::move(steps), 0);
  }
  return std::pair(std::move(carry), unflat(std::move(stacked), leaves));
}
}  // namespace detail

/// (carry, y) = body(carry, x) for each slice x of the leading axis of xs, a tree: the last carry, and the ys along a new leading
/// axis. ShapeError when leading axes disagree or the body changes a shape. Of no steps ys is empty.
template <class Body, class Carry, class Xs>
  requires(!std::integral<Xs>)
auto scan(const Body& body, const Carry& init, const Xs& xs) {
  std::optional<Index> n;
  for (auto& x : detail::flat(xs)) {
    if (x->shape.rank() == 0) fail<ShapeError>("scan", {"xs has a leaf of rank 0, which has no leading axis"});
    if (n && *n != x->shape[0]) fail<ShapeError>("scan", {"the leaves of xs differ in length: ", *n, " and ", x->shape[0]});
    n = x->shape[0];
  }
  if (!n) fail<ShapeError>("scan", {"xs has no leaves: give the number of steps"});
  return detail::scan_steps(body, init, *n, [&](Index i) {
    Xs slice = xs;
    detail::walk(slice, [&]<class L>(L& leaf, const detail::Path&) {
      if constexpr (detail::is_array_leaf<L>) leaf = leaf[i];
    });
    return slice;
  });
}
/// (carry, y) = body(carry, i) for i = 0, ..., n - 1.
template <class Body, class Carry> auto scan(const Body& body, const Carry& init, Index n) {
  if (n < 0) fail<ShapeError>("scan", {"the number of steps is ", n});
  return detail::scan_steps(body, init, n, [](Index i) { return i; });
}

}  // namespace spmd
