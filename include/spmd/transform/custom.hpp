// Functions whose derivative is another program: the user's own, or the function again.
#pragma once
#include "grad.hpp"
#include "opaque.hpp"

namespace spmd {
namespace detail {

/// What a kept program knows of the trees around it.
template <class Out> struct KeptTrees final : Counted {
  std::optional<Out> out;
};
template <class Trees> auto finish_opaque(const Trees& trees, const Anys& outs) {
  auto out = *trees.out;
  auto* next = outs.data();
  refill(out, next);
  return out;
}
template <class... Args> std::tuple<Args...> with_values(std::tuple<Args...> args, const Anys& leaves, std::size_t skip = 0) {
  auto* next = leaves.data() + skip;
  refill(args, next);
  return args;
}

}  // namespace detail

/// f, whose inner values are not kept for the backward run: f is run again there, its collectives included. The callable is kept, so
/// it must own what it captures; captured tensors are differentiated like arguments.
template <class F> auto checkpoint(F f) {
  return [f = std::move(f)]<class... Args>(const Args&... args) {
    using Out = decltype(detail::lift(f(args...)));
    auto trees = detail::make<detail::KeptTrees<Out>>();
    auto program = detail::program_of([f, given = std::tuple<Args...>(args...), &trees = *trees](Index, const Anys& leaves) {
      Out out = detail::lift(std::apply(f, detail::with_values(given, leaves)));
      auto values = detail::flat(out);
      trees.out = std::move(out);
      return values;
    });
    Anys leaves;
    (detail::flatten(args, leaves), ...);
    const auto outs = interpret(detail::make<const detail::OpaqueCarrier>(detail::make<detail::Run>(), program, detail::Opaque{program, nullptr, nullptr}, trees), leaves);
    return detail::finish_opaque(*trees, outs);
  };
}

/// f with a gradient of the user's: forward(args...) gives (output, residuals), and backward(residuals, cotangent) the tuple of the
/// arguments' gradients. All three are kept and must own what they capture. TypeError when backward's tuple does not match.
template <class F, class Forward, class Backward> auto custom_vjp(F f, Forward forward, Backward backward) {
  return [f = std::move(f), forward = std::move(forward), backward = std::move(backward)]<class... Args>(const Args&... args) {
    using Pair = decltype(forward(args...));
    static_assert(detail::is_a<Pair, std::pair> || detail::is_a<Pair, std::tuple>, "spmd::custom_vjp: forward must return (output, residuals)");
    using Out = decltype(detail::lift(f(args...)));
    using Residuals = std::remove_cvref_t<decltype(std::get<1>(std::declval<Pair>()))>;
    struct Trees final : detail::Counted {
      std::optional<Out> out;
      std::optional<Residuals> residuals;
      std::size_t results = 0;
    };
    auto trees = detail::make<Trees>();
    auto given = std::tuple<Args...>(args...);
    auto plain = detail::program_of([f, given, &trees = *trees](Index, const Anys& leaves) {
      trees.out = detail::lift(std::apply(f, detail::with_values(given, leaves)));
      return detail::flat(*trees.out);
    });
    auto ahead = detail::program_of([forward, given, &trees = *trees](Index, const Anys& leaves) {
      auto [out, residuals] = std::apply(forward, detail::with_values(given, leaves));
      trees.out = detail::lift(std::move(out));
      trees.residuals = std::move(residuals);
      auto values = detail::flat(*trees.out);
      trees.results = values.size();
      detail::flatten(*trees.residuals, values);
      return values;
    });
    auto back = detail::program_of([backward, given, &trees = *trees](Index, const Anys& in) {
      const auto kept = detail::flat(*trees.residuals).size();
      auto gradients = backward(detail::unflat(*trees.residuals, in), detail::unflat(*trees.out, in, kept));
      Anys values = detail::flat(gradients);
      const auto expected = detail::flat(given);
      if (values.size() != expected.size()) fail<TypeError>("custom_vjp", {"backward returned ", values.size(), " gradients for ", expected.size(), " leaves of the arguments"});
      for (std::size_t k = 0; k < values.size(); ++k)
        if (values[k]->shape != expected[k]->shape) fail<ShapeError>("custom_vjp", {"gradient ", k, " has shape ", values[k]->shape, ", the argument ", expected[k]->shape});
      return values;
    });
    Anys leaves;
    (detail::flatten(args, leaves), ...);
    const auto outs = interpret(detail::make<const detail::OpaqueCarrier>(detail::make<detail::Run>(), plain, detail::Opaque{ahead, back, &trees->results}, trees), leaves);
    return detail::finish_opaque(*trees, outs);
  };
}

}  // namespace spmd
