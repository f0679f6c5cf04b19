// The interpreter behind vmap: every operation runs on all lanes at once, by its batch rule.
#pragma once
#include "../ops/movement.hpp"
#include "carrier.hpp"

namespace spmd::detail {

/// Runs programs on all lanes at once. In a shard, or on the lanes of a cond's branch, a copy of the same family takes its place;
/// a copy reads the tracers of the copies around it through `views`.
class Batcher final : public Interpreter {
 public:
  class Tracer final : public Value {
   public:
    Tracer(const Batcher& owner, Any v) : Value(Kind::batched, without(v->shape, 0), v->dtype), family(owner.family), self(owner.self), lanes(std::move(v)) {}
    const Buffer& dense(std::string_view op) const override {
      fail<AxisError>(op, {"this tensor of shape ", shape, " is mapped by vmap and has one value per lane: choose with where or cond, or read it after the map"});
    }
    bool readable() const override { return false; }
    void keep() const override { lanes->keep(); }
    const Id family, self;
    const Any lanes;
  };
  /// What makes a copy: the axis, and for each copy around it the rows of its lanes (none: all of them).
  struct View {
    Id self;
    Ref<const Rows> rows;
  };
  struct Spec {
    Axis axis;      // its size is that of the lanes that are here,
    Index members;  // this that of all
    Id family;
    List<View> views;
  };

  explicit Batcher(Spec spec) : Interpreter(spec.family), spec_(std::move(spec)) {}
  const Axis& axis() const { return spec_.axis; }
  /// What code under us finds: the axis has all its members, also where a cond has left some lanes behind.
  Axis in_scope() const {
    Axis whole = spec_.axis;
    whole.size = spec_.members;
    return whole;
  }

  Anys process(Ref<const Primitive> prim, const Anys& args) override {
    Batch in;
    in.reserve(args.size());
    bool any = axis().name && prim->axis() == axis().name;
    for (auto& a : args) {
      in.push_back(open(a));
      any |= in.back().mapped;
    }
    if (!any) return interpret(std::move(prim), args);
    Anys outs;
    for (auto& x : prim->batch(axis(), in)) outs.push_back(close(std::move(x)));
    return outs;
  }
  Anys carry(Ref<const Carrier> carrier, const Anys& args) override {
    Batch in;
    for (auto& a : args) in.push_back(open(a));
    Anys outs;
    for (auto& x : carrier->batch(*this, in)) outs.push_back(close(std::move(x)));
    return outs;
  }
  Batched open(const Any& a) const {
    if (a->kind != Value::Kind::batched) return {a, false};
    auto* t = static_cast<const Tracer*>(a.get());
    if (t->family != family) return {a, false};
    if (t->self == self) return {t->lanes, true};
    for (auto& view : spec_.views)
      if (view.self == t->self) return {view.rows ? take_rows(t->lanes, view.rows) : t->lanes, true};
    fail<AxisError>("vmap", {"a value has left the shard or the branch that made it"});
  }
  Any close(Batched x) const { return x.mapped ? Any(make<const Tracer>(*this, std::move(x.value))) : std::move(x.value); }

  Spec copy() const {
    Spec spec = spec_;
    spec.views.push_back({self, {}});
    return spec;
  }
  /// A copy for these rows of our lanes.
  Spec copy(const List<Index>& rows) const {
    Spec spec = copy();
    spec.axis.size = static_cast<Index>(rows.size());
    auto select = [&](Ref<const Rows>& lanes) {
      List<Index> out;
      for (auto r : rows) out.push_back(lanes ? lanes->rows[static_cast<std::size_t>(r)] : r);
      lanes = make<const Rows>(std::move(out));
    };
    for (auto& view : spec.views) select(view.rows);
    select(spec.axis.lanes);
    return spec;
  }
  /// Operands as an entering program takes them.
  struct Opened {
    Anys values;
    List<char> mapped;
  };
  static Opened opened(const Batch& args) {
    Opened in;
    for (auto& x : args) {
      in.values.push_back(x.value);
      in.mapped.push_back(x.mapped);
    }
    return in;
  }
  /// Which results were mapped in any place; filled while an entering program runs.
  struct Mapped final : Counted {
    std::mutex mutex;
    List<char> outs;
    /// Its results. Equal lanes count as one value: predicates may depend on it.
    Batch results(Anys all) const {
      Batch result;
      for (std::size_t k = 0; k < all.size(); ++k) {
        const bool varies = outs[k] != 0;
        result.push_back({varies ? std::move(all[k]) : row(all[k], 0, 0), varies});
      }
      return result;
    }
  };
  /// A program that runs `program` under a copy; its args are opened values, its results have all lanes along axis 0.
  static Ref<const Program> entering(Ref<Run> run, Spec spec, List<char> mapped, Ref<const Program> program, Ref<Mapped> found) {
    return program_of([run = std::move(run), spec = std::move(spec), mapped = std::move(mapped), program = std::move(program), found = std::move(found)](Index place, const Anys& args) {
      auto& copy = run->local<Batcher>(spec.family, place, [&] { return Ref<Interpreter>(make<Batcher>(spec)); });
      Anys traced, outs;
      for (std::size_t i = 0; i < args.size(); ++i) traced.push_back(copy.close({args[i], mapped[i] != 0}));
      {
        AxisScope named(copy.in_scope());
        InterpreterScope scope(&copy);
        outs = (*program)(place, traced);
      }
      List<char> flags;
      for (auto& x : outs) {
        const auto opened = copy.open(x);
        flags.push_back(opened.mapped);
        x = on_lanes(opened, copy.axis().size);
      }
      std::lock_guard lock(found->mutex);
      found->outs.resize(std::max(found->outs.size(), flags.size()));
      for (std::size_t k = 0; k < flags.size(); ++k) found->outs[k] = static_cast<char>(found->outs[k] | flags[k]);
      return outs;
    });
  }
  /// Rows of axis 0, one behind the other; differentiable.
  static Any take_rows(const Any& x, const Ref<const Rows>& rows) {
    Anys parts;
    for (auto r : rows->rows) {
      Axes begin = Axes::filled(x->shape.rank(), 0);
      begin[0] = r;
      parts.push_back(slice(x, begin, with(x->shape, 0, 1)));
    }
    return parts.empty() ? slice(x, Axes::filled(x->shape.rank(), 0), with(x->shape, 0, 0)) : concatenate(parts, 0);
  }

 private:
  const Spec spec_;
};

/// The value of lane 0 of lanes that are copies of each other: each of them gets its part of the cotangent.
class TakeReplica final : public Linear {
 public:
  std::string_view name() const override { return "replicated"; }
  Any run(const Any& x) const override { return row(x, 0, 0); }
  Any transposed(const Any& ct, const Any& x) const override { return broadcast(ct->dtype->scale(ct, 1.0 / static_cast<double>(x->shape[0])), x->shape); }
  Any lanes(Index, const Any& x) const override { return apply<TakeReplica>(moveaxis(x, 1, 0)); }
};

}  // namespace spmd::detail
