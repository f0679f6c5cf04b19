// The idea that organises the library: an operation is a primitive with three rules, and an interpreter gives it another meaning.
#pragma once
#include "axis.hpp"
#include "tensor.hpp"

namespace spmd {

/// A value under vmap. If mapped, its axis 0 is the mapped axis.
struct Batched {
  Any value;
  bool mapped;
};
using Batch = detail::List<Batched, 3>;

/// Which operands of a primitive a cotangent is wanted for.
class Needed {
 public:
  static constexpr Index never = -1;
  explicit Needed(const Index* nodes) : nodes_(nodes) {}
  bool operator[](std::size_t i) const { return nodes_[i] != never; }

 private:
  const Index* nodes_;
};

/// An operation with its parameters and its three rules. Rules are written in operations, and run with the enclosing
/// interpreter current: that alone makes them right in any nesting, and at any order of differentiation.
class Primitive : public detail::Counted {
 public:
  virtual std::string_view name() const = 0;
  /// Runs it on values that no interpreter traces.
  virtual Anys impl(const Anys& args) const = 0;
  /// Cotangents of the operands, from those of the results; null where none is needed, or where it is zero.
  virtual Anys vjp(const Anys& cts, const Anys& outs, const Anys& args, Needed needed) const = 0;
  /// The same operation on all lanes of a vmap at once; at least one operand is mapped, or it speaks of that axis.
  virtual Batch batch(const Axis& axis, const Batch& args) const = 0;

  virtual detail::Name axis() const { return nullptr; }  // the named axis it speaks of
  virtual bool meets() const { return false; }           // shards wait for each other in it
  /// Whether two shards that meet here made the same call; the operands are compared by who asks.
  virtual bool same(const Primitive&) const { return true; }
  virtual std::string describe() const { return std::string(name()); }
};

class Carrier;
using Id = std::uint64_t;
inline Id fresh_id() {
  static std::atomic<Id> last = 0;
  return ++last;
}

/// Gives primitives, and programs that run elsewhere, a meaning.
class Interpreter : public detail::Counted {
 public:
  explicit Interpreter(Id f) : family(f) {}
  virtual Anys process(detail::Ref<const Primitive> prim, const Anys& args) = 0;
  virtual Anys carry(detail::Ref<const Carrier> carrier, const Anys& args) = 0;

  Interpreter* const parent = current;
  const Index level = parent ? parent->level + 1 : 0;  // the same in every shard of one program
  const Id family;                                     // the call of vmap or grad; its copies in shards and branches keep it
  const Id self = fresh_id();                          // this copy

  static inline constinit thread_local Interpreter* current = nullptr;  // null: evaluate
};

namespace detail {

struct InterpreterScope {
  explicit InterpreterScope(Interpreter* next) : saved_(std::exchange(Interpreter::current, next)) {}
  ~InterpreterScope() { Interpreter::current = saved_; }
  InterpreterScope(const InterpreterScope&) = delete;
  InterpreterScope& operator=(const InterpreterScope&) = delete;

 private:
  Interpreter* saved_;
};

/// Operands as rules take them, whose owners outlive this list: it does not count as one. To count owners is what a small operation
/// would spend most of its time with.
class Lent {
 public:
  Lent() = default;
  template <class... Ts> explicit Lent(const Tensor<Ts>&... xs) : Lent() { (push_back(xs.any()), ...); }  // should that throw, ~Lent runs
  ~Lent() { list_.abandon(); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  void push_back(const Any& x) {
    list_.make_room();  // may throw, before anything is adopted
    list_.push_back(Any::adopt(x.get()));
  }
  operator const Anys&() const { return list_; }

 private:
  Anys list_;
};

/// A list of one: what most rules return.
template <class T, class X> List<T, 3> one(X&& x) {
  List<T, 3> list;
  list.push_back(std::forward<X>(x));
  return list;
}

/// The cotangent of an operand on which the result does not depend smoothly.
struct Zero {
  Any any() const { return {}; }
};
inline constexpr Zero zero;
/// What a rule of a typed vjp says of one operand: a tensor, a function that makes it, or `zero`.
template <class Rule> Any cotangent(Rule&& rule) {
  if constexpr (requires { rule(); }) return rule().any();
  else return std::forward<Rule>(rule).any();
}

/// Adapts an operation, a plain struct with typed rules, to the untyped Primitive. `vjp` returns a tuple with one entry per
/// operand: a tensor, a function that makes it (called only where it is needed), or `zero`.
template <class Op, class R, class... Ts> class Bound final : public Primitive {
 public:
  explicit Bound(Op op) : op_(std::move(op)) {}
  std::string_view name() const override { return Op::name; }
  Anys impl(const Anys& args) const override {
    return apply([&](auto... i) { return one<Any>(op_.impl(Tensor<Ts>::of(args[i])...).any()); });
  }
  Anys vjp(const Anys& cts, const Anys& outs, const Anys& args, Needed needed) const override {
    if constexpr (!Floating<R>) return Anys(sizeof...(Ts));  // tapes record no integers
    else return apply([&](auto... i) {
      auto rules = op_.vjp(Tensor<R>::of(cts[0]), Tensor<R>::of(outs[0]), Tensor<Ts>::of(args[i])...);
      Anys result(sizeof...(Ts));
      ((result[i] = needed[i] ? cotangent(std::get<i>(std::move(rules))) : Any()), ...);
      return result;
    });
  }
  Batch batch(const Axis& axis, const Batch& args) const override { return one<Batched>(op_.template batch<Ts...>(axis, args)); }

 private:
  template <class F> static auto apply(F f) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return f(std::integral_constant<std::size_t, I>{}...); }(std::index_sequence_for<Ts...>{});
  }
  Op op_;
};

inline bool any_traced(const Anys& values) {
  for (auto& x : values)
    if (x->traced()) return true;
  return false;
}
/// Whether an operation without a named axis on these values runs at once, whatever interpreters are around it.
template <class... Ts> bool runs_at_once(const Tensor<Ts>&... xs) { return !Interpreter::current || !(xs.any()->traced() || ...); }
}  // namespace detail

/// Applies a primitive under the current interpreter. Constants mean the same to all of them, unless the primitive speaks of an axis.
inline Anys interpret(detail::Ref<const Primitive> prim, const Anys& args) {
  auto* top = Interpreter::current;
  if (!top) return prim->impl(args);
  const bool constant = !detail::any_traced(args) && !prim->axis() && !prim->meets();
  detail::InterpreterScope under(constant ? nullptr : top->parent);
  return constant ? prim->impl(args) : top->process(std::move(prim), args);
}
/// Applies a primitive that has one operand and one result.
template <class P, class... Params> Any apply(const Any& x, Params&&... params) {
  detail::Lent args;
  args.push_back(x);
  return std::move(interpret(detail::make<const P>(std::forward<Params>(params)...), args)[0]);
}
/// Applies an operation with typed rules.
template <class R, class Op, class... Ts> Tensor<R> bind(Op op, const Tensor<Ts>&... args) {
  if (detail::runs_at_once(args...)) {
    detail::InterpreterScope evaluate(nullptr);
    return op.impl(args...);
  }
  return Tensor<R>(std::move(interpret(detail::make<const detail::Bound<Op, R, Ts...>>(std::move(op)), detail::Lent(args...))[0]));
}

}  // namespace spmd
