// Derivatives of functions of trees.
#pragma once
#include "../core/tree.hpp"
#include "tape.hpp"

namespace spmd {
namespace detail {

/// The tensors of a tree under a tape: each one an input.
template <class Tree> Tree traced(Tape& tape, const Tree& tree) {
  Tree copy = tree;
  walk(copy, [&]<class L>(L& leaf, const Path&) {
    if constexpr (is_array_leaf<L>) assign(leaf, tape.input(any_of(leaf)));
  });
  return copy;
}
/// A tree that came out of a taped function, as the interpreter around the tape sees it.
template <class Tree> Tree untraced(const Tape& tape, Tree tree) {
  walk(tree, [&]<class L>(L& leaf, const Path&) {
    if constexpr (is_array_leaf<L>) assign(leaf, tape.value(any_of(leaf)));
  });
  return tree;
}
/// A tree like `like` with cotangents in it, from position `next` of a list; zeros where there is none.
template <class Tree> Tree cotangents(Tree like, const Anys& cts, std::size_t& next) {
  walk(like, [&]<class L>(L& leaf, const Path&) {
    if constexpr (is_array_leaf<L>) {
      auto& ct = cts[next++];
      auto& x = any_of(leaf);
      assign(leaf, ct ? ct : zeros(x->dtype, x->shape));
    } else if constexpr (std::is_arithmetic_v<L>) {
      leaf = L{};  // a number was not traced
    }
  });
  return like;
}

/// A floating number that is differentiated becomes a tensor of rank 0, of its own type or, where f takes no such tensor, of float.
template <bool Picked, bool Narrow, class X> using NumberAsTensor = std::conditional_t<Picked && std::is_floating_point_v<X>, Tensor<std::conditional_t<Narrow, float, X>>, X>;
template <class To, class X> decltype(auto) converted(const X& x) {
  if constexpr (std::is_same_v<To, X>) return (x);
  else return To(x);
}
/// go(args...) with the numbers among those arguments that Picked(position) names as such tensors, if f takes them.
template <class Picked, class F, class Go, std::size_t... I, class... Args> auto with_tensors(std::index_sequence<I...>, const F&, const Go& go, const Args&... args) {
  constexpr bool numbers = ((Picked{}(I) && std::is_floating_point_v<Args>) || ...);
  if constexpr (!numbers) return go(args...);
  else if constexpr (std::is_invocable_v<const F&, const NumberAsTensor<Picked{}(I), false, Args>&...>) return go(converted<NumberAsTensor<Picked{}(I), false, Args>>(args)...);
  else if constexpr (std::is_invocable_v<const F&, const NumberAsTensor<Picked{}(I), true, Args>&...>) return go(converted<NumberAsTensor<Picked{}(I), true, Args>>(args)...);
  else return go(args...);
}
template <std::size_t... Positions> struct AnyOfThem {
  constexpr bool operator()(std::size_t i) const { return ((i == Positions) || ...); }
};
struct AllOfThem {
  constexpr bool operator()(std::size_t) const { return true; }
};

template <class Out> concept ValueAndAux = is_a<Out, std::pair> && requires { typename Out::second_type; } && is_tensor<typename Out::first_type>;

template <class Out> void check_loss(const Out& loss) {
  static_assert(is_tensor<Out>, "spmd::grad: the function must return a tensor of rank 0, or a pair of one and anything");
  static_assert(Floating<typename Out::value_type>, "spmd::grad: the function must return a floating tensor");
  if (loss.rank() != 0) fail<ShapeError>("grad", {"the function must return a tensor of rank 0, it returned shape ", loss.shape(), ": reduce it, or use vjp"});
}

/// f's result, and the gradients of its first part with respect to the arguments that Positions name.
template <std::size_t... Positions, class F, class... Args> auto differentiate(const F& f, const Args&... args) {
  static_assert(((Positions < sizeof...(Args)) && ...), "spmd::grad: there is no argument at this position");
  auto tape = make<Tape>(fresh_id());
  std::tuple<const Args&...> given(args...);
  std::tuple<std::remove_cvref_t<decltype(std::get<Positions>(given))>...> inputs{traced(*tape, std::get<Positions>(given))...};
  auto result = [&] {
    InterpreterScope scope(tape.get());
    auto pick = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) -> decltype(auto) {
      constexpr std::size_t none = sizeof...(Positions);
      constexpr std::size_t at = [] {
        std::size_t found = none, k = 0;
        ((Positions == I ? (found = k, ++k) : ++k), ...);
        return found;
      }();
      if constexpr (at < none) return (std::get<at>(inputs));
      else return (std::get<I>(given));
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return f(pick(std::integral_constant<std::size_t, I>{})...); }(std::index_sequence_for<Args...>{});
  }();
  auto& loss = [&]() -> auto& {
    if constexpr (ValueAndAux<decltype(result)>) return result.first;
    else return result;
  }();
  check_loss(loss);
  using Loss = std::remove_cvref_t<decltype(loss)>;
  const auto count = flat(inputs).size();
  const auto cts = tape->pull(one<Any>(loss.any()), one<Any>(Loss(typename Loss::value_type(1)).any()), count);
  std::size_t next = 0;
  auto gradients = std::tuple<std::remove_cvref_t<decltype(std::get<Positions>(given))>...>{cotangents(std::get<Positions>(given), cts, next)...};
  return std::pair(untraced(*tape, std::move(result)), std::move(gradients));
}
/// One gradient alone, several as a tuple.
template <class... Gs> auto unwrap(std::tuple<Gs...> gradients) {
  if constexpr (sizeof...(Gs) == 1) return std::get<0>(std::move(gradients));
  else return gradients;
}
template <std::size_t... Positions, class F, class... Args> auto positions_or_first(const F& f, const Args&... args) {
  if constexpr (sizeof...(Positions) == 0) return positions_or_first<0>(f, args...);
  else return with_tensors<AnyOfThem<Positions...>>(std::index_sequence_for<Args...>{}, f, [&](const auto&... xs) { return differentiate<Positions...>(f, xs...); }, args...);
}

}  // namespace detail

/// A function that returns (f(args...), gradient); with an auxiliary result ((value, aux), gradient). Positions: of the arguments
/// to differentiate, default the first; several give a tuple of gradients in that order. f returns a floating tensor of rank 0,
/// or a pair of it and anything; ShapeError otherwise. Gradients have the tree of their argument; of integers, and of numbers inside a
/// tree, they are zeros. A floating number as the argument counts as a tensor of rank 0.
template <std::size_t... Positions, class F> auto value_and_grad(F f) {
  return [f = std::move(f)](const auto&... args) {
    auto [result, gradients] = detail::positions_or_first<Positions...>(f, args...);
    return std::pair(std::move(result), detail::unwrap(std::move(gradients)));
  };
}

/// A function that returns the gradient of f; with an auxiliary result (gradient, aux). See value_and_grad.
template <std::size_t... Positions, class F> auto grad(F f) {
  return [f = std::move(f)](const auto&... args) {
    auto [result, gradients] = detail::positions_or_first<Positions...>(f, args...);
    if constexpr (detail::ValueAndAux<decltype(result)>) return std::pair(detail::unwrap(std::move(gradients)), std::move(result.second));
    else return detail::unwrap(std::move(gradients));
  };
}

namespace detail {
template <class F, class... Args> auto vjp_of(const F& f, const Args&... args) {
  auto tape = make<Tape>(fresh_id());
  auto inputs = std::tuple<Args...>{traced(*tape, args)...};
  auto out = [&] {
    InterpreterScope scope(tape.get());
    return std::apply(f, inputs);
  }();
  using Out = decltype(out);
  auto pullback = [tape, out, given = std::tuple<Args...>(args...)](const Out& cotangent) {
    const auto outs = flat(out), cts = flat(cotangent);
    if (outs.size() != cts.size()) fail<TypeError>("vjp", {"the cotangent has ", cts.size(), " leaves, the result of the function has ", outs.size()});
    for (std::size_t i = 0; i < outs.size(); ++i)
      if (outs[i]->shape != cts[i]->shape) fail<ShapeError>("vjp", {"leaf ", i, " of the cotangent has shape ", cts[i]->shape, ", the result of the function ", outs[i]->shape});
    const auto result = tape->pull(outs, cts, flat(given).size());
    std::size_t next = 0;
    return std::apply([&](auto&... xs) { return std::tuple<Args...>{cotangents(xs, result, next)...}; }, given);
  };
  return std::pair<Out, decltype(pullback)>(untraced(*tape, out), std::move(pullback));
}
}  // namespace detail

/// f(args...), and a function from a cotangent of it (the same tree) to the tuple of the cotangents of the arguments. It may be
/// called again, but not by two threads at once. TypeError or ShapeError when the cotangent's tree does not match.
template <class F, class... Args> auto vjp(const F& f, const Args&... args) {
  return detail::with_tensors<detail::AllOfThem>(std::index_sequence_for<Args...>{}, f, [&](const auto&... xs) { return detail::vjp_of(f, xs...); }, args...);
}

}  // namespace spmd
