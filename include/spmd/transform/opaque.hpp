// Programs that tapes do not look into: what checkpoint and custom_vjp carry.
#pragma once
#include "batcher.hpp"
#include "tape.hpp"

namespace spmd::detail {

/// Every run of an opaque program is a place of its own: the copies of interpreters that it makes end up under another parent.
inline Index new_place() { return static_cast<Index>(fresh_id()); }

/// A copy of a tape that records nothing: programs run under it on the values behind the tracers of its family. It notes which of
/// them were captured, and whether the program met other shards.
class SilentTape final : public Interpreter {
 public:
  explicit SilentTape(Id f) : Interpreter(f) {}

  Anys process(Ref<const Primitive> prim, const Anys& args) override {
    const auto values = see(args);
    if (!prim->meets()) return interpret(std::move(prim), values);
    met_ = true;  // the run again will meet again, on every shard
    marks().push_back({level, true});
    struct Pop {
      ~Pop() { marks().pop_back(); }
    } pop;
    return interpret(std::move(prim), values);
  }
  /// Each place gets a silent copy too, whose notes are ours.
  inline Anys carry(Ref<const Carrier> carrier, const Anys& args) override;
  /// The value behind a tracer, which is remembered once.
  Any see(const Any& x) {
    auto* t = Tape::tracer(x, family);
    if (!t) return x;
    if (std::find(seen_.begin(), seen_.end(), x) == seen_.end()) seen_.push_back(x);
    return t->value;
  }
  Anys see(const Anys& xs) {
    Anys out;
    for (auto& x : xs) out.push_back(see(x));
    return out;
  }
  const Anys& seen() const { return seen_; }
  bool met() const { return met_; }

 private:
  struct Found final : Counted {
    std::mutex mutex;
    Anys seen;
    bool met = false;
  };
  static Ref<const Program> entering(Ref<const Program> program, Id family, Ref<Found> found) {
    return program_of([program = std::move(program), family, found = std::move(found)](Index place, const Anys& args) {
      auto silent = make<SilentTape>(family);
      Anys outs;
      {
        InterpreterScope scope(silent.get());
        outs = silent->see((*program)(place, args));
      }
      std::lock_guard lock(found->mutex);
      found->seen.append(silent->seen_.begin(), silent->seen_.end());
      found->met |= silent->met_;
      return outs;
    });
  }
  Anys seen_;
  bool met_ = false;
};

/// A tape runs `forward`, which returns the results and then what it keeps, and later `backward`, from what was kept and the
/// cotangents of the results to those of the args. Without a backward program the forward one is run again, and differentiated then.
struct Opaque {
  Ref<const Program> forward, backward;
  const std::size_t* results = nullptr;  // how many there are; known once forward has run
};

/// Back through an opaque program: by its own backward program, or by the forward one again, differentiated now.
class OpaquePull final : public Pull {
 public:
  OpaquePull(Opaque programs, Ref<const Counted> held, Anys kept, Anys args, List<char> traced, Anys captured, Id family)
      : programs_(std::move(programs)), held_(std::move(held)), kept_(std::move(kept)), args_(std::move(args)), traced_(std::move(traced)), captured_(std::move(captured)), family_(family) {}
  Anys operator()(const Anys& cts, Id) const override {
    Anys out;
    if (programs_.backward) {
      Anys in = kept_;
      in.append(cts.begin(), cts.end());
      auto silent = make<SilentTape>(family_);
      InterpreterScope scope(silent.get());
      const auto all = (*programs_.backward)(new_place(), in);
      for (std::size_t k = 0; k < traced_.size(); ++k)
        if (traced_[k]) out.push_back(silent->see(all[k]));
      out.resize(out.size() + captured_.size());
      return out;
    }
    auto again = make<Tape>(family_);
    Anys in;
    for (auto& x : args_) in.push_back(again->input(x));
    Anys outs;
    {
      InterpreterScope scope(again.get());
      outs = (*programs_.forward)(new_place(), in);
    }
    const auto table = again->pull(outs, cts, again->nodes());
    for (std::size_t k = 0; k < args_.size(); ++k)
      if (traced_[k]) out.push_back(table[k]);
    for (auto& c : captured_) out.push_back(again->of_captured(table, c, 0, static_cast<Index>(again->nodes())));
    return out;
  }

 private:
  const Opaque programs_;
  const Ref<const Counted> held_;
  const Anys kept_, args_;
  const List<char> traced_;
  const Anys captured_;
  const Id family_;
};

/// A program in one place that tapes do not look into. `held` is what its programs refer to.
class OpaqueCarrier final : public Carrier {
 public:
  OpaqueCarrier(Ref<Run> r, Ref<const Program> p, Opaque o, Ref<const Counted> held) : Carrier(std::move(r), std::move(p)), programs(std::move(o)), held_(std::move(held)) {}
  const OpaqueCarrier* opaque() const override { return this; }
  bool taped(Tape& tape, const Anys& args, Anys& outs) const override {
    auto [values, traced, parents] = tape.operands(args);
    auto silent = make<SilentTape>(tape.family);
    {
      InterpreterScope scope(silent.get());
      outs = silent->see((*programs.forward)(new_place(), values));
    }
    Anys kept;
    const auto results = programs.results ? *programs.results : outs.size();
    for (std::size_t k = results; k < outs.size(); ++k) kept.push_back(outs[k]);
    outs.resize(results);
    if (parents.empty() && silent->seen().empty() && !silent->met()) return true;
    for (auto& c : silent->seen()) parents.push_back(tape.node_of(c));
    tape.add(make<const OpaquePull>(programs, held_, std::move(kept), std::move(values), std::move(traced), silent->seen(), tape.family), parents, outs);
    return true;
  }
  Anys impl(const Anys& args) const override { return (*program)(0, args); }
  Ref<const Carrier> with(Ref<const Program> p) const override { return with(std::move(p), programs); }
  Ref<const Carrier> with(Ref<const Program> p, Opaque o) const { return make<const OpaqueCarrier>(run, std::move(p), std::move(o), held_); }
  Anys backward(Ref<const Program>, const Anys&, const Anys&, const List<char>&, std::size_t) const override { fail("grad", {"an opaque program has its own backward run"}); }
  Batch batch(Batcher& batcher, const Batch& args) const override {
    const auto in = Batcher::opened(args);
    auto found = make<Batcher::Mapped>();
    auto enter = [&](const Ref<const Program>& p, List<char> which, const Ref<Batcher::Mapped>& into) { return Batcher::entering(run, batcher.copy(), std::move(which), p, into); };
    Opaque on_lanes = programs;
    on_lanes.forward = enter(programs.forward, in.mapped, found);
    if (programs.backward) {
      // What was kept, and the cotangents, are lanes; an argument that all lanes share gets the sum.
      auto unused = make<Batcher::Mapped>();
      on_lanes.backward = program_of([backward = programs.backward, run = run, spec = batcher.copy(), mapped = in.mapped, unused](Index place, const Anys& kept) {
        auto out = (*Batcher::entering(run, spec, List<char>(kept.size(), 1), backward, unused))(place, kept);
        for (std::size_t k = 0; k < out.size(); ++k)
          if (!mapped[k] && out[k]->dtype->sum) out[k] = out[k]->dtype->sum(out[k], Axes{0});
        return out;
      });
    }
    return found->results(interpret(with(enter(program, in.mapped, found), std::move(on_lanes)), in.values));
  }

  const Opaque programs;

 private:
  const Ref<const Counted> held_;
};

inline Anys SilentTape::carry(Ref<const Carrier> carrier, const Anys& args) {
  auto found = make<Found>();
  const auto values = see(args);
  auto quiet = [&](const Ref<const Program>& p) { return p ? entering(p, family, found) : p; };
  auto* opaque = carrier->opaque();
  auto outs = interpret(opaque ? opaque->with(quiet(carrier->program), {quiet(opaque->programs.forward), quiet(opaque->programs.backward), opaque->programs.results}) : carrier->with(quiet(carrier->program)), values);
  see(found->seen);
  met_ |= found->met;
  return outs;
}

}  // namespace spmd::detail
