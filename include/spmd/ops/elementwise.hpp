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
struct Costly : SameType {};  // so costly that results are stored where a cheap operation would be run again
struct TruthValue {
  template <class T> using Result = bool;
  template <class... X> static auto vjp(const X&...) { return std::tuple(); }  // never asked for: tapes record no bool
};

/// Operands of elementwise primitives have one shape, but a constant of rank 0 goes with any: kernels repeat it, and nobody will
/// want its cotangent.
inline bool fits_any(const Value& x) { return x.shape.rank() == 0 && !x.traced(); }
/// x, or what it broadcasts to, which `held` then owns.
inline const Any& fitted(const Any& x, const Shape& shape, Any& held) {
  if (fits_any(*x) || x->shape == shape) return x;
  held = broadcast(x, shape);
  return held;
}

/// What elementwise primitives share whatever their types are: batched, one is the same operation on the lanes.
class Lanewise : public Primitive {
 public:
  Batch batch(const Axis& axis, const Batch& args) const final {
    Anys lanes;
    for (auto& x : args) lanes.push_back(!x.mapped && fits_any(*x.value) ? x.value : on_lanes(x, axis.size));
    return one<Batched>(Batched{std::move(interpret(Ref<const Primitive>(this), lanes)[0]), true});
  }
};

/// Maps an operation over its operands. It has no parameters, so there is one for all calls.
template <class Op, class R, class... Ts> class Elementwise final : public Lanewise {
 public:
  static Ref<const Primitive> instance() {
    static const Elementwise* const only = immortal(new Elementwise);
    return Ref<const Primitive>(only);
  }
  std::string_view name() const override { return Op::name; }
  static Any run(const Shape& shape, const Any* const* args) { return elementwise({&host::elementwise<Op, R, Ts...>, std::is_base_of_v<Costly, Op>}, dtype_of<R>(), shape, args, sizeof...(Ts)); }
  Anys impl(const Anys& args) const override {
    const Any* list[sizeof...(Ts)];
    const Shape* shape = &args[0]->shape;
    for (std::size_t i = 0; i < sizeof...(Ts); ++i) {
      list[i] = &args[i];
      if (shape->rank() == 0) shape = &args[i]->shape;
    }
    return one<Any>(run(*shape, list));
  }
  Anys vjp(const Anys& cts, const Anys& outs, const Anys& args, Needed needed) const override {
    Anys result(sizeof...(Ts));
    if constexpr (Floating<R>) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        auto rules = Op::vjp(Tensor<R>::of(cts[0]), Tensor<R>::of(outs[0]), Tensor<Ts>::of(args[I])...);  // they refer to their operands
        ((result[I] = needed[I] ? cotangent(std::get<I>(std::move(rules))) : Any()), ...);
      }(std::index_sequence_for<Ts...>{});
    }
    return result;
  }
};

/// Operands that broadcast to a shape.
template <class Op, class R, class... Ts> Tensor<R> map_elements(const Shape& shape, const Tensor<Ts>&... xs) {
  constexpr std::size_t n = sizeof...(Ts);
  const Any* args[n] = {&xs.any()...};
  Any held[n];
  for (std::size_t i = 0; i < n; ++i) args[i] = &fitted(*args[i], shape, held[i]);
  if (runs_at_once(xs...)) {
    InterpreterScope evaluate(nullptr);
    return Tensor<R>(Elementwise<Op, R, Ts...>::run(shape, args));
  }
  Lent list;
  for (auto* x : args) list.push_back(*x);
  return Tensor<R>(std::move(interpret(Elementwise<Op, R, Ts...>::instance(), list)[0]));
}
template <class Op, class T> auto unary(const Tensor<T>& x) { return map_elements<Op, typename Op::template Result<T>>(x.shape(), x); }

/// Two operands that broadcast.
template <class Op, class T> auto binary(const Tensor<T>& x, const Tensor<T>& y) {
  using R = typename Op::template Result<T>;
  if (x.shape() == y.shape() || y.rank() == 0) return map_elements<Op, R>(x.shape(), x, y);
  return map_elements<Op, R>(broadcast_shapes(Op::name, x.shape(), y.shape()), x, y);
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
