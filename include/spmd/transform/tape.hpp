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

  Anys process(Ref<const Primitive> prim, const Anys& args) override {
    Record record;
    record.first_parent = parents_.size();
    record.first_constant = constants_.size();
    record.operands = args.size();
    Lent lent;
    bool traced = false;
    for (auto& a : args) {
      auto* t = tracer(a);
      parents_.push_back(t ? node_of(*t, a) : Needed::never);
      lent.push_back(t ? t->value : a);
      traced |= t != nullptr;
    }
    const Anys& values = lent;
    Anys outs = prim->meets() ? met(prim, values, traced) : interpret(prim, values);
    bool smooth = false;
    for (auto& x : outs) smooth |= x->dtype->differentiable();
    if (!traced || !smooth) {
      parents_.resize(record.first_parent);
      return outs;
    }
    record.prim = std::move(prim);
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (parents_[record.first_parent + k] == Needed::never) constants_.push_back(values[k]);
      if (values[k]->kind != Value::Kind::dense) values[k]->keep();
    }
    add(std::move(record), outs);
    return outs;
  }

  /// Runs a carrier's program under a copy of this tape in each place.
  Anys carry(Ref<const Carrier> carrier, const Anys& args) override {
    if (Anys outs; carrier->taped(*this, args, outs)) return outs;
    auto [values, traced, parents] = operands(args);
    auto visits = make<Visits>();
    auto forward = program_of([visits, traced = traced, run = carrier->run, program = carrier->program, id = family](Index place, const Anys& a) {
      auto& tape = run->local<Tape>(id, place, [&] { return Ref<Interpreter>(make<Tape>(id)); });
      return tape.visit(*visits, place, traced, a, *program);
    });
    auto outs = interpret(carrier->with(forward), values);
    if (parents.empty() && !visits->recorded) return outs;
    for (auto& c : visits->captured) parents.push_back(node_of(c));
    add(make<const PlacesPull>(visits, std::move(traced), std::move(carrier), std::move(values), family), parents, outs);
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
  /// The operands of a carrier: their values, which of them are traced, and the nodes of those.
  struct Operands {
    Anys values;
    List<char> traced;
    List<Index> parents;
  };
  Operands operands(const Anys& args) {
    Operands in;
    for (auto& a : args) {
      auto* t = tracer(a);
      in.values.push_back(t ? t->value : a);
      in.traced.push_back(t != nullptr);
      if (t) in.parents.push_back(node_of(*t, a));
    }
    return in;
  }
  /// Keeps the backward run of what made `outs` from these nodes; they become tracers.
  void add(Ref<const Pull> pull, const List<Index>& parents, Anys& outs) {
    Record made;
    made.pull = std::move(pull);
    made.first_parent = parents_.size();
    parents_.append(parents.begin(), parents.end());
    add(std::move(made), outs);
  }
  /// The node of a tracer; one of a copy around this is a captured value: one more input.
  Index node_of(const Any& a) {
    auto* t = tracer(a);
    return t ? node_of(*t, a) : Needed::never;
  }
  /// The cotangent, in a table of them, of what was captured between two nodes.
  Any of_captured(const Anys& table, const Any& value, Index first, Index last) const {
    for (auto& [v, node] : captured_)
      if (v == value && node >= first && node < last) return table[static_cast<std::size_t>(node)];
    return {};
  }
  std::size_t nodes() const { return nodes_.size(); }
  static const Tracer* tracer(const Any& a, Id family) {
    if (a->kind != Value::Kind::taped) return nullptr;
    auto* t = static_cast<const Tracer*>(a.get());
    return t->family == family ? t : nullptr;
  }
  const Tracer* tracer(const Any& a) const { return tracer(a, family); }
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
    std::size_t first_parent = 0, operands = 0, first_constant = 0, first_node = 0, results = 0;
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

  Index node_of(const Tracer& t, const Any& a) {
    if (t.self == self) return t.node;
    for (auto& [v, node] : captured_)
      if (v == a) return node;
    captured_.push_back({a, static_cast<Index>(nodes_.size())});
    nodes_.push_back(t.value);
    return captured_.back().second;
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
    for (auto n : piece.inputs) out.push_back(or_zeros(table, static_cast<std::size_t>(n)));
    for (auto& c : visits.captured) {
      auto ct = of_captured(table, c, piece.first_node, piece.last_node);
      out.push_back(ct ? std::move(ct) : zeros(c->dtype, c->shape));
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
      for (std::size_t k = 0; k < r.results; ++k) reached |= static_cast<bool>(table[r.first_node + k]);
      if (!reached && !r.pull && !r.prim->meets()) continue;
      const auto* parents = parents_.data() + r.first_parent;
      Anys cts;
      Lent outs, args;
      for (std::size_t k = 0; k < r.results; ++k) {
        cts.push_back(or_zeros(table, r.first_node + k));
        outs.push_back(nodes_[r.first_node + k]);
      }
      for (std::size_t k = 0, constant = r.first_constant; k < r.operands; ++k) {
        const bool never = parents[k] == Needed::never;
        args.push_back(never ? constants_[constant++] : nodes_[static_cast<std::size_t>(parents[k])]);
      }
      auto in = r.prim ? r.prim->vjp(cts, outs, args, Needed(parents)) : (*r.pull)(cts, pull);
      for (std::size_t k = 0; k < in.size(); ++k)
        if (in[k]) add_to(table, parents[k], std::move(in[k]));
    }
  }
  /// Takes the cotangent of a node that nothing else will ask for.
  Any or_zeros(Anys& table, std::size_t node) const {
    if (auto& ct = table[node]) return std::move(ct);
    auto& x = nodes_[node];
    return zeros(x->dtype, x->shape);
  }
  static void add_to(Anys& table, Index node, Any ct) {
    if (node == Needed::never || !ct->dtype->differentiable()) return;
    auto& sum = table[static_cast<std::size_t>(node)];
    sum = sum ? ct->dtype->add(sum, ct) : std::move(ct);
  }

  /// Keeps a record; its results become tracers.
  void add(Record&& record, Anys& outs) {
    record.first_node = nodes_.size();
    record.results = outs.size();
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

  List<Record> records_;
  Anys nodes_;                              // values: inputs, results, and what was captured
  Anys constants_;                          // the operands that are no nodes, in the order of the records
  List<Index> parents_;                     // of all records, one behind the other
  List<std::pair<Any, Index>> captured_;    // tracers of copies around this one, and their nodes here
  List<std::pair<Id, Anys>> tables_;
};

}  // namespace spmd::detail
