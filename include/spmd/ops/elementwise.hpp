// What all elementwise operations share: one primitive for every operation and its types, and operands that broadcast.
#pragma once
#include <tuple>

#include "../device/host/elementwise.hpp"
#include "movement.hpp"

namespace spmd {
namespace detail {

/// An operation on elements: a struct with a name, the expression (host or array, see device/host/elementwise), the type of its
/// result, and a vjp that returns a tuple with one entry per operand (see Bound).
struct SameType {
  template <class T> using Result = T;
};
struct TruthValue {
  template <class T> using Result = bool;
  template <class... X> static auto vjp(const X&...) { return std::tuple(); }  // never asked for: tapes record no bool
};

/// Maps an operation over operands of equal shapes. Batched, it is the same operation on the lanes.
template <class Op, class R, class... Ts> class Elementwise final : public Primitive {
 public:
  std::string_view name() const override { return Op::name; }
  static Any run(const Shape& shape, const Any* const* args) { return elementwise(&host::elementwise<Op, R, Ts...>, dtype_of<R>(), shape, args, sizeof...(Ts)); }
  Anys impl(const Anys& args) const override {
    const Any* list[sizeof...(Ts)];
    for (std::size_t i = 0; i < sizeof...(Ts); ++i) list[i] = &args[i];
    return one<Any>(run(args[0]->shape, list));
  }
  Anys vjp(const Anys& cts, const Anys& outs, const Anys& args, Needed needed) const override {
    Anys result(sizeof...(Ts));
    if constexpr (Floating<R>) {
      const Tensor<R> ct(cts[0]), out(outs[0]);  // rules refer to their operands
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        const std::tuple<Tensor<Ts>...> xs(args[I]...);
        const auto rules = Op::vjp(ct, out, std::get<I>(xs)...);
        auto ask = [](const auto& rule) -> Any {
          if constexpr (requires { rule(); }) return rule().any();
          else return rule.any();
        };
        ((result[I] = needed[I] ? ask(std::get<I>(rules)) : Any()), ...);
      }(std::index_sequence_for<Ts...>{});
    }
    return result;
  }
  Batch batch(const Axis& axis, const Batch& args) const override {
    Anys lanes;
    for (auto& x : args) lanes.push_back(on_lanes(x, axis.size));
    return one<Batched>(Batched{std::move(interpret(make<const Elementwise>(), lanes)[0]), true});
  }
};

/// Operands of equal shapes; under no interpreter an operand of rank 0 goes with any shape.
template <class Op, class R, class... Ts> Tensor<R> map_elements(const Shape& shape, const Tensor<Ts>&... xs) {
  if (!Interpreter::current) {
    const Any* args[] = {&xs.any()...};
    return Tensor<R>(Elementwise<Op, R, Ts...>::run(shape, args));
  }
  Anys args;
  args.reserve(sizeof...(Ts));
  (args.push_back(broadcast(xs.any(), shape)), ...);
  return Tensor<R>(std::move(interpret(make<const Elementwise<Op, R, Ts...>>(), args)[0]));
}
template <class Op, class T> auto unary(const Tensor<T>& x) { return map_elements<Op, typename Op::template Result<T>>(x.shape(), x); }

/// Two operands that broadcast.
template <class Op, class T> auto binary(const Tensor<T>& x, const Tensor<T>& y) {
  using R = typename Op::template Result<T>;
  if (x.shape() == y.shape()) return map_elements<Op, R>(x.shape(), x, y);
  const auto shape = broadcast_shapes(Op::name, x.shape(), y.shape());
  auto fit = [&](const Tensor<T>& t) { return t.shape() == shape || (!Interpreter::current && t.rank() == 0) ? t : Tensor<T>(broadcast(t.any(), shape)); };
  return map_elements<Op, R>(shape, fit(x), fit(y));
}

/// The element type on which two operands agree: tensors of one type, or a tensor and a number that loses nothing in it.
template <class A, class B> struct Common {};
template <class T> struct Common<Tensor<T>, Tensor<T>> { using type = T; };
template <class T, class U>
  requires LiteralFor<U, T>
struct Common<Tensor<T>, U> { using type = T; };
template <class T, class U>
  requires LiteralFor<U, T>
struct Common<U, Tensor<T>> { using type = T; };
template <class A, class B> using CommonType = typename Common<A, B>::type;

template <class T, class X> decltype(auto) as_tensor(const X& x) {
  if constexpr (is_tensor<X>) return (x);
  else return Tensor<T>(x);
}
template <class Op, class A, class B> auto binary_of(const A& a, const B& b) {
  using T = CommonType<A, B>;
  return binary<Op, T>(as_tensor<T>(a), as_tensor<T>(b));
}

}  // namespace detail

/// Two operands of a binary operation: tensors of one element type, or one and a number.
template <class A, class B>
concept Operands = requires { typename detail::CommonType<A, B>; };
/// The same, with an element type that is no bool.
template <class A, class B>
concept NumberOperands = Operands<A, B> && !std::same_as<detail::CommonType<A, B>, bool>;
template <class A, class B>
concept FloatingOperands = Operands<A, B> && Floating<detail::CommonType<A, B>>;
template <class A, class B>
concept BoolOperands = Operands<A, B> && std::same_as<detail::CommonType<A, B>, bool>;
template <class T>
concept Number = Element<T> && !std::same_as<T, bool>;

}  // namespace spmd
