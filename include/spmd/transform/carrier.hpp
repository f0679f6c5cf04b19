// Primitives that carry a program: pmap runs it on shards, cond on the lanes of a branch.
#pragma once
#include "../core/primitive.hpp"

namespace spmd {
namespace detail {
class Batcher;
class OpaqueCarrier;
class Tape;

/// A program on untyped values; `place` says which shard or which branch of the carrier this is.
class Program : public Counted {
 public:
  virtual Anys operator()(Index place, const Anys& args) const = 0;
};
template <class F> class ProgramOf final : public Program {
 public:
  explicit ProgramOf(F f) : f_(std::move(f)) {}
  Anys operator()(Index place, const Anys& args) const override { return f_(place, args); }

 private:
  F f_;
};
template <class F> Ref<const Program> program_of(F f) { return make<const ProgramOf<F>>(std::move(f)); }

/// One call of a carrier. Every place keeps its copies of the enclosing interpreters, so that what a tape kept there means the
/// same when the backward run comes back, at any order. The user's callable, which may hold references to what has died since,
/// is called in the forward run only.
class Run final : public Counted {
 public:
  template <class I, class Make> I& local(Id family, Index place, Make make_copy) {
    {
      std::lock_guard lock(mutex_);
      if (auto* found = find(family, place)) return static_cast<I&>(*found);
    }
    Ref<Interpreter> made = make_copy();
    std::lock_guard lock(mutex_);
    copies_.push_back({family, place, made});
    return static_cast<I&>(*made);
  }
  /// The part of this call that one lane of a map makes by itself.
  Ref<Run> lane(Index i) {
    std::lock_guard lock(mutex_);
    for (auto& [at, run] : lanes_)
      if (at == i) return run;
    lanes_.push_back({i, make<Run>()});
    return lanes_.back().second;
  }

 private:
  struct Copy {
    Id family;
    Index place;
    Ref<Interpreter> interpreter;
  };
  Interpreter* find(Id family, Index place) {
    for (auto& copy : copies_)
      if (copy.family == family && copy.place == place) return copy.interpreter.get();
    return nullptr;
  }
  std::mutex mutex_;
  List<Copy> copies_;
  List<std::pair<Index, Ref<Run>>> lanes_;
};
}  // namespace detail

/// A primitive that carries a program and has several results. An interpreter passes it on with a program that enters the
/// interpreter's copy first.
class Carrier : public detail::Counted {
 public:
  Carrier(detail::Ref<detail::Run> r, detail::Ref<const detail::Program> p) : run(std::move(r)), program(std::move(p)) {}
  virtual Anys impl(const Anys& args) const = 0;
  virtual detail::Ref<const Carrier> with(detail::Ref<const detail::Program>) const = 0;
  /// Comes back to the same places with `pull`, from cotangents of the results to those of the traced args and of captured values.
  virtual Anys backward(detail::Ref<const detail::Program> pull, const Anys& cts, const Anys& args, const detail::List<char>& traced, std::size_t captured) const = 0;
  /// Runs on all lanes at once.
  virtual Batch batch(detail::Batcher& batcher, const Batch& args) const = 0;
  /// Runs under a tape by itself, if tapes must not look into the program (transform/opaque). Most run under its copies in all places.
  virtual bool taped(detail::Tape&, const Anys& /*args*/, Anys& /*outs*/) const { return false; }
  /// Itself, if that is so.
  virtual const detail::OpaqueCarrier* opaque() const { return nullptr; }

  const detail::Ref<detail::Run> run;
  const detail::Ref<const detail::Program> program;
};

inline Anys interpret(detail::Ref<const Carrier> carrier, const Anys& args) {
  auto* top = Interpreter::current;
  if (!top) return carrier->impl(args);
  detail::InterpreterScope under(top->parent);
  return top->carry(std::move(carrier), args);
}

}  // namespace spmd
