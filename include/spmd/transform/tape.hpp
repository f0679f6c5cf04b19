// The interpreter behind every derivative: it records what depends on its inputs and replays the record backwards.
#pragma once
#include "../device/communicator.hpp"
#include "../ops/movement.hpp"
#include "visits.hpp"

namespace spmd::detail {

/// Records every primitive that depends on a traced input, then replays the record backwards. Each place of a carrier has its own
/// copy, of the same family, which stays for the backward run. A copy that meets a tracer of a copy around it has found a
/// captured value: one more input.
class Tape final : public Interpreter {
 public:
  class Tracer final : public Value {
   public:
    Tracer(const Tape& owner, Any v, Index n) : Value(Kind::taped, v->shape, v->dtype), family(owner.family), self(owner.self), value(std::move(v)), node(n) {}
    const Buffer& dense(std::string_view op) const override { return value->dense(op); }
    const Value& primal() const override { return value->primal(); }
    bool readable() const override { return value->readable(); }
    void keep() const override { value->keep(); }
    const Id family, self;
    const Any value;
    const Index node;
  };

  explicit Tape(Id f) : Interpreter(f) {
    records_.reserve(32);  // growing moves them all, which short functions would pay five times over
    nodes_.reserve(64);
    parents_.reserve(64);
  }
  /// A copy that records nothing: programs run under it on the values behind the tracers of `owner`.
  Tape(Id f, Tape* owner) : Interpreter(f), silent_for_(owner) {}

  Anys process(Ref<const Primitive> prim, const Anys& args) override {
    if (silent_for_) return process_silently(std::move(prim), args);
    Record record;
    bool traced = resolve(args, record);
    Anys outs = prim->meets() ? met(prim, record.args, traced) : interpret(prim, record.args);
    bool smooth = false;
    for (auto& x : outs) smooth |= x->dtype->differentiable();
    if (!traced || !smooth) {
      parents_.resize(static_cast<std::size_t>(record.first_parent));
      return outs;
    }
    record.prim = std::move(prim);
    for (auto& x : record.args)
      if (x->kind != Value::Kind::dense) x->keep();
    add(std::move(record), outs);
    return outs;
  }

  Anys carry(Ref<const Carrier> carrier, const Anys& args) override {
    if (silent_for_) return carry_silently(std::move(carrier), args);
    if (carrier->opaque()) return carry_opaque(std::move(carrier), args);
    Record record;
    const bool any = resolve(args, record);
    List<char> traced;
    for (std::size_t k = 0; k < args.size(); ++k) traced.push_back(parents_[static_cast<std::size_t>(record.first_parent) + k] != Needed::never);
    parents_.resize(static_cast<std::size_t>(record.first_parent));  // found again below: programs that run meanwhile add their own
    auto visits = make<Visits>();
    auto forward = program_of([visits, traced, run = carrier->run, program = carrier->program, id = family](Index place, const Anys& a) {
      auto& tape = run->local<Tape>(id, place, [&] { return Ref<Interpreter>(make<Tape>(id)); });
      return tape.visit(*visits, place, traced, a, *program);
    });
    auto outs = interpret(carrier->with(forward), record.args);
    if (!any && !visits->recorded) return outs;
    record.first_parent = static_cast<Index>(parents_.size());
    List<Index> parents;
    for (std::size_t k = 0; k < args.size(); ++k)
      if (traced[k]) parents.push_back(node_of(args[k]));
    for (auto& c : visits->captured) parents.push_back(node_of(c));
    record.first_parent = static_cast<Index>(parents_.size());
    parents_.append(parents.begin(), parents.end());
    record.pull = make<const PlacesPull>(visits, std::move(traced), std::move(carrier), std::move(record.args), family);
    record.args.clear();
    add(std::move(record), outs);
    return outs;
  }

  /// A node that nothing recorded made. Integers have no gradient and stay what they are.
  Any input(Any x) {
    nodes_.push_back(x);
    if (!x->dtype->differentiable()) return x;
    return make<const Tracer>(*this, std::move(x), static_cast<Index>(nodes_.size()) - 1);
  }
  /// What x is to the interpreter around this one.
  Any value(const Any& x) const {
    auto* t = tracer(x);
    return t && t->self == self ? t->value : x;
  }
  /// Cotangents of the first n nodes, given those of `outs`; null where nothing came back.
  Anys pull(const Anys& outs, const Anys& cts, std::size_t n) const {
    Anys table(nodes_.size());
    for (std::size_t k = 0; k < outs.size(); ++k)
      if (auto* t = tracer(outs[k]); t && t->self == self && cts[k]) add_to(table, t->node, cts[k]);
    replay(table, 0, static_cast<Index>(records_.size()), fresh_id());
    table.resize(n);
    return table;
  }

 private:
  struct Record {
    Ref<const Primitive> prim;
    Ref<const Pull> pull;  // a carrier's backward run
    Anys args;
    Index first_parent = 0, first_node = 0, results = 0;
  };
  /// Of a carrier: back to its places.
  class PlacesPull final : public Pull {
   public:
    PlacesPull(Ref<Visits> v, List<char> t, Ref<const Carrier> c, Anys a, Id f) : visits_(std::move(v)), traced_(std::move(t)), carrier_(std::move(c)), args_(std::move(a)), family_(f) {}
    Anys operator()(const Anys& cts, Id pull) const override {
      auto back = program_of([visits = visits_, pull, run = carrier_->run, id = family_](Index place, const Anys& a) {
        auto& tape = run->local<Tape>(id, place, []() -> Ref<Interpreter> { fail("grad", {"the backward run came to a new place"}); });
        return tape.revisit(*visits, place, a, pull);
      });
      return carrier_->backward(back, cts, args_, traced_, visits_->captured.size());
    }

   private:
    const Ref<Visits> visits_;
    const List<char> traced_;
    const Ref<const Carrier> carrier_;
    const Anys args_;
    const Id family_;
  };

  /// Of a program that is not looked into: its own backward program, or the forward one again, differentiated now.
  class OpaquePull final : public Pull {
   public:
    OpaquePull(Ref<const Carrier> c, Anys k, Anys a, List<char> t, Anys captured, Id f) : carrier_(std::move(c)), kept_(std::move(k)), args_(std::move(a)), traced_(std::move(t)), captured_(std::move(captured)), family_(f) {}
    Anys operator()(const Anys& cts, Id) const override {
      auto& opaque = *carrier_->opaque();
      Anys out;
      if (opaque.backward) {
        Anys in = kept_;
        in.append(cts.begin(), cts.end());
        auto silent = make<Tape>(family_, nullptr);
        silent->silent_for_ = silent.get();
        InterpreterScope scope(silent.get());
        const auto all = (*opaque.backward)(new_place(), in);
        for (std::size_t k = 0; k < traced_.size(); ++k)
          if (traced_[k]) out.push_back(silent->seen_through(all[k]));
        out.resize(out.size() + captured_.size());
        return out;
      }
      auto again = make<Tape>(family_);
      Anys in;
      for (auto& x : args_) in.push_back(again->input(x));
      Anys outs;
      {
        InterpreterScope scope(again.get());
        outs = (*opaque.forward)(new_place(), in);
      }
      const auto table = again->pull(outs, cts, again->nodes_.size());
      for (std::size_t k = 0; k < args_.size(); ++k)
        if (traced_[k]) out.push_back(table[k]);
      for (auto& c : captured_) {
        Any ct;
        for (auto& [v, node] : again->captured_)
          if (v == c) ct = table[static_cast<std::size_t>(node)];
        out.push_back(ct);
      }
      return out;
    }

   private:
    const Ref<const Carrier> carrier_;
    const Anys kept_, args_;
    const List<char> traced_;
    const Anys captured_;
    const Id family_;
  };
  Anys carry_opaque(Ref<const Carrier> carrier, const Anys& args) {
    Record record;
    resolve(args, record);
    List<char> traced;
    List<Index> parents;
    for (std::size_t k = 0; k < args.size(); ++k) {
      const auto node = parents_[static_cast<std::size_t>(record.first_parent) + k];
      traced.push_back(node != Needed::never);
      if (traced.back()) parents.push_back(node);
    }
    parents_.resize(static_cast<std::size_t>(record.first_parent));
    auto silent = make<Tape>(family, this);
    Anys outs;
    {
      InterpreterScope scope(silent.get());
      outs = silent->seen_through((*carrier->opaque()->forward)(new_place(), record.args));
    }
    Anys kept;
    const auto results = carrier->opaque()->results ? *carrier->opaque()->results : outs.size();
    for (std::size_t k = results; k < outs.size(); ++k) kept.push_back(outs[k]);
    outs.resize(results);
    if (parents.empty() && silent->seen_.empty() && !silent->met_) return outs;
    for (auto& c : silent->seen_) parents.push_back(node_of(c));
    record.first_parent = static_cast<Index>(parents_.size());
    parents_.append(parents.begin(), parents.end());
    record.pull = make<const OpaquePull>(std::move(carrier), std::move(kept), std::move(record.args), std::move(traced), silent->seen_, family);
    record.args.clear();
    add(std::move(record), outs);
    return outs;
  }
  /// Every run of an opaque program is a place of its own: the copies of interpreters that it makes end up under another parent.
  static Index new_place() { return static_cast<Index>(fresh_id()); }
  Anys process_silently(Ref<const Primitive> prim, const Anys& args) {
    const auto values = seen_through(args);
    if (!prim->meets()) return interpret(std::move(prim), values);
    met_ = true;  // the run again will meet again, on every shard
    marks().push_back({level, true});
    struct Pop {
      ~Pop() { marks().pop_back(); }
    } pop;
    return interpret(std::move(prim), values);
  }
  /// Each place gets a silent copy too, which notes what was captured there. A program that is run again later needs no place.
  Anys carry_silently(Ref<const Carrier> carrier, const Anys& args) {
    auto* opaque = carrier->opaque();
    const auto values = seen_through(args);
    if (opaque && opaque->backward) return interpret(std::move(carrier), values);
    if (opaque) {
      InterpreterScope scope(this);
      return seen_through((*opaque->forward)(new_place(), values));
    }
    auto found = make<SilentFound>();
    auto forward = program_of([found, program = carrier->program, id = family, owner = silent_for_](Index place, const Anys& a) {
      auto silent = make<Tape>(id, owner);
      Anys outs;
      {
        InterpreterScope scope(silent.get());
        outs = silent->seen_through((*program)(place, a));
      }
      std::lock_guard lock(found->mutex);
      found->seen.append(silent->seen_.begin(), silent->seen_.end());
      found->met |= silent->met_;
      return outs;
    });
    auto outs = interpret(carrier->with(std::move(forward)), values);
    seen_through(found->seen);
    met_ |= found->met;
    return outs;
  }
  /// The value behind a tracer of the owner, or of a copy around it; each is remembered once.
  Any seen_through(const Any& x) {
    auto* t = tracer(x);
    if (!t) return x;
    if (std::find(seen_.begin(), seen_.end(), x) == seen_.end()) seen_.push_back(x);
    return t->value;
  }
  Anys seen_through(const Anys& xs) {
    Anys out;
    for (auto& x : xs) out.push_back(seen_through(x));
    return out;
  }

  Anys visit(Visits& visits, Index place, const List<char>& traced, const Anys& args, const Program& program) {
    Piece piece;
    piece.place = place;
    piece.begin = static_cast<Index>(records_.size());
    piece.first_node = static_cast<Index>(nodes_.size());
    Anys in;
    for (std::size_t k = 0; k < args.size(); ++k) {
      if (traced[k]) piece.inputs.push_back(static_cast<Index>(nodes_.size()));
      in.push_back(traced[k] ? input(args[k]) : args[k]);
    }
    Anys outs;
    {
      InterpreterScope scope(this);
      outs = program(place, in);
    }
    for (auto& x : outs) {
      piece.outs.push_back(node_of(x));
      if (auto* t = tracer(x)) x = Any(t->value);
    }
    piece.end = static_cast<Index>(records_.size());
    piece.last_node = static_cast<Index>(nodes_.size());
    std::lock_guard lock(visits.mutex);
    for (auto& [v, node] : captured_)
      if (node >= piece.first_node && std::find(visits.captured.begin(), visits.captured.end(), v) == visits.captured.end()) visits.captured.push_back(v);
    visits.recorded |= piece.last_node > piece.first_node + static_cast<Index>(piece.inputs.size());
    visits.pieces.push_back(std::move(piece));
    return outs;
  }
  /// The cotangents of later pieces (a backward run under this tape is one) wait in the table until their turn.
  Anys revisit(Visits& visits, Index place, const Anys& cts, Id pull) {
    auto& piece = visits.at(place);
    auto& table = table_of(pull);
    table.resize(std::max(table.size(), nodes_.size()));
    for (std::size_t k = 0; k < cts.size(); ++k)
      if (cts[k]) add_to(table, piece.outs[k], cts[k]);
    replay(table, piece.begin, piece.end, pull);
    Anys out;
    for (auto n : piece.inputs) out.push_back(or_zeros(table, n));
    for (auto& c : visits.captured) {
      Any ct;
      for (auto& [v, node] : captured_)
        if (v == c && node >= piece.first_node && node < piece.last_node) ct = table[static_cast<std::size_t>(node)];
      out.push_back(ct ? ct : zeros(c->dtype, c->shape));
    }
    if (piece.first_node == 0) tables_.erase_if([&](auto& t) { return t.first == pull; });
    return out;
  }
  Anys& table_of(Id pull) {
    for (auto& [id, table] : tables_)
      if (id == pull) return table;
    tables_.push_back({pull, {}});
    return tables_.back().second;
  }
  /// Reverse order of recording. What other shards take part in is replayed even if nothing came back to it here.
  void replay(Anys& table, Index begin, Index end, Id pull) const {
    for (auto i = end; i-- > begin;) {
      auto& r = records_[static_cast<std::size_t>(i)];
      bool reached = false;
      for (Index k = 0; k < r.results; ++k) reached |= static_cast<bool>(table[static_cast<std::size_t>(r.first_node + k)]);
      if (!reached && !r.pull && !r.prim->meets()) continue;
      Anys cts, outs;
      for (Index k = 0; k < r.results; ++k) {
        cts.push_back(or_zeros(table, r.first_node + k));
        if (r.prim) outs.push_back(nodes_[static_cast<std::size_t>(r.first_node + k)]);
      }
      const auto* parents = parents_.data() + r.first_parent;
      auto in = r.prim ? r.prim->vjp(cts, outs, r.args, Needed(parents)) : (*r.pull)(cts, pull);
      for (std::size_t k = 0; k < in.size(); ++k)
        if (in[k]) add_to(table, parents[k], std::move(in[k]));
    }
  }
  /// Takes the cotangent of a node that nothing else will ask for.
  Any or_zeros(Anys& table, Index node) const {
    if (auto& ct = table[static_cast<std::size_t>(node)]) return std::move(ct);
    auto& x = nodes_[static_cast<std::size_t>(node)];
    return zeros(x->dtype, x->shape);
  }
  static void add_to(Anys& table, Index node, Any ct) {
    if (node == Needed::never || !ct->dtype->differentiable()) return;
    auto& sum = table[static_cast<std::size_t>(node)];
    sum = sum ? ct->dtype->add(sum, ct) : std::move(ct);
  }

  const Tracer* tracer(const Any& a) const {
    if (a->kind != Value::Kind::taped) return nullptr;
    auto* t = static_cast<const Tracer*>(a.get());
    return t->family == family ? t : nullptr;
  }
  Index node_of(const Any& a) {
    auto* t = tracer(a);
    if (!t) return Needed::never;
    if (t->self == self) return t->node;
    for (auto& [v, node] : captured_)
      if (v == a) return node;
    captured_.push_back({a, static_cast<Index>(nodes_.size())});
    nodes_.push_back(t->value);
    return captured_.back().second;
  }
  bool resolve(const Anys& args, Record& record) {
    bool traced = false;
    record.first_parent = static_cast<Index>(parents_.size());
    record.args.reserve(args.size());
    for (auto& a : args) {
      auto* t = tracer(a);
      parents_.push_back(t ? node_of(a) : Needed::never);
      record.args.push_back(t ? t->value : a);
      traced |= t != nullptr;
    }
    return traced;
  }
  /// Keeps a record; its results become tracers.
  void add(Record&& record, Anys& outs) {
    record.first_node = static_cast<Index>(nodes_.size());
    record.results = static_cast<Index>(outs.size());
    records_.emplace_back(std::move(record));
    for (auto& x : outs) x = input(std::move(x));
  }
  /// If any shard records a collective all must, or the backward run of one would wait for ever.
  Anys met(const Ref<const Primitive>& prim, const Anys& values, bool& traced) const {
    marks().push_back({level, traced});
    struct Pop {
      ~Pop() { marks().pop_back(); }
    } pop;
    Anys outs = interpret(prim, values);
    traced = marks().back().traced;
    return outs;
  }

  Tape* silent_for_ = nullptr;
  Anys seen_;         // of a silent copy: the tracers that its program captured,
  bool met_ = false;  // and whether it met other shards
  List<Record> records_;
  Anys nodes_;                              // their values
  List<Index> parents_;                     // of all records, one behind the other
  List<std::pair<Any, Index>> captured_;    // tracers of copies around this one, and their nodes here
  List<std::pair<Id, Anys>> tables_;
};

}  // namespace spmd::detail
