// The primitive behind pmap: it cuts its operands, runs its program once per shard, each on its device, and assembles the results.
#pragma once
#include "../device/communicator.hpp"
#include "axes.hpp"
#include "batcher.hpp"

namespace spmd {

/// Where a shard was: its index on the axis of the map that was called, those of all levels (outermost first), and the device of the
/// innermost one.
struct ShardId {
  Index index = 0;
  std::vector<Index> indices = {};
  Device device = {};
};

namespace detail {

/// The shard whose exception the last map on this thread rethrew.
struct LastFailure {
  std::exception_ptr error;
  ShardId shard;
};
inline LastFailure& last_failure() {
  static thread_local LastFailure last;
  return last;
}

/// What one call of pmap knows that its program finds out on the way: how to assemble each result, and what differs between shards.
class Results : public Counted {
 public:
  List<Cut> cuts;                 // of the leaves of a result, as the shard's code sees them
  List<std::uint64_t> signature;  // per place: equal exactly when the trees are
  virtual std::string difference(Index a, Index b) const = 0;
};

class PMap final : public Carrier {
 public:
  struct Spec {
    Name name;
    Index n;
    List<Device> devices;           // of the shards
    List<List<Device>> groups;      // what a map inside each shard may use
    List<Cut> in;                   // of each operand
    List<Cut> out = {};             // of each result, unless `results` knows
    Ref<const Results> results = {};
    Index depth = 0;                // vmaps between the shard's code and here: each puts an axis in front of every result
  };
  PMap(Ref<Run> r, Ref<const Program> p, Spec spec) : Carrier(std::move(r), std::move(p)), spec_(std::move(spec)) {}

  inline Anys impl(const Anys& args) const override;
  Ref<const Carrier> with(Ref<const Program> p) const override { return make<const PMap>(run, std::move(p), spec_); }

  /// What every shard saw whole, a replicated argument or a captured value, gets the sum over the shards; a result that was one
  /// of n equal copies hands each of them its n-th part.
  Anys backward(Ref<const Program> pull, const Anys& cts, const Anys& args, const List<char>& traced, std::size_t captured) const override {
    Spec spec = spec_;
    spec.in = out_cuts();
    spec.out.clear();
    spec.results = {};
    spec.depth = 0;
    for (std::size_t k = 0; k < args.size(); ++k)
      if (traced[k]) spec.out.push_back(spec_.in[k].kind == Cut::replicated ? Cut{Cut::sum, 0} : spec_.in[k]);
    for (std::size_t k = 0; k < captured; ++k) spec.out.push_back({Cut::sum, 0});
    Anys scaled;
    for (std::size_t k = 0; k < cts.size(); ++k)
      scaled.push_back(spec.in[k].kind == Cut::replicated && cts[k]->dtype->differentiable() ? cts[k]->dtype->scale(cts[k], 1.0 / static_cast<double>(spec_.n)) : cts[k]);
    for (auto& cut : spec.in)
      if (cut.kind == Cut::sum) cut = {Cut::replicated, 0};
    return interpret(make<const PMap>(run, std::move(pull), std::move(spec)), scaled);
  }
  Batch batch(Batcher& batcher, const Batch& args) const override {
    Spec spec = spec_;
    auto [values, mapped] = Batcher::opened(args);
    for (std::size_t k = 0; k < args.size(); ++k)
      if (args[k].mapped) spec.in[k] = spec.in[k].moved(1);
    for (auto& cut : spec.out) cut = cut.moved(1);
    ++spec.depth;
    auto found = make<Batcher::Mapped>();
    return found->results(interpret(make<const PMap>(run, Batcher::entering(run, batcher.copy(), std::move(mapped), program, found), std::move(spec)), values));
  }

 private:
  struct Shards;
  List<Cut> out_cuts() const {
    if (!spec_.results) return spec_.out;
    List<Cut> cuts = spec_.results->cuts;
    for (auto& cut : cuts) cut = cut.moved(spec_.depth);
    return cuts;
  }
  Any piece(const Any& x, const Cut& cut, Index p) const {
    if (cut.kind == Cut::replicated) {
      auto* s = as_sharded(*x);
      return s && s->replicated() ? s->parts[static_cast<std::size_t>(p) % s->parts.size()].value : x;
    }
    const Index width = cut.kind == Cut::each ? 1 : x->shape[cut.axis] / spec_.n;
    Axes begin = Axes::filled(x->shape.rank(), 0);
    begin[cut.axis] = p * width;
    auto part = block(x, begin, spmd::detail::with(x->shape, cut.axis, width));
    return cut.kind == Cut::each ? reshaped(part, without(part->shape, cut.axis)) : part;
  }
  Any assemble(const List<Anys>& outs, std::size_t k, const Cut& cut) const;

  const Spec spec_;
};

/// The shards of one call while they run.
struct PMap::Shards final : Task {
  Shards(const PMap& m, const Anys& a, Meeting& meeting_, Group& group_) : map(m), args(a), meeting(meeting_), group(group_), around(context()) {
    const auto n = static_cast<std::size_t>(m.spec_.n);
    outs.resize(n);
    errors.resize(n);
    aborted.resize(n, 0);
    inner.resize(n);
  }
  void run(Index p) noexcept override {
    const auto at = static_cast<std::size_t>(p);
    auto saved = std::exchange(context(), around);
    auto* interpreter = std::exchange(Interpreter::current, nullptr);
    auto saved_marks = std::exchange(marks(), {});
    try {
      auto& here = context();
      here.meeting = &meeting;
      for (auto& axis : here.axes)
        if (axis.group) axis.path.push_back(p);
      here.axes.push_back({map.spec_.name, map.spec_.n, {}, &group, p, {}});
      here.devices = map.spec_.groups[at];
      Anys mine;
      mine.reserve(args.size());
      for (std::size_t k = 0; k < args.size(); ++k) mine.push_back(map.piece(args[k], map.spec_.in[k], p));
      auto out = (*map.program)(p, mine);
      for (auto& x : out) settle(x);
      outs[at] = std::move(out);
    } catch (const Aborted&) {
      errors[at] = std::current_exception();
      aborted[at] = 1;
      group.stop();
    } catch (...) {
      errors[at] = std::current_exception();
      if (last_failure().error == errors[at]) inner[at] = last_failure().shard;
      group.stop();
    }
    group.leave();
    context() = std::move(saved);
    Interpreter::current = interpreter;
    marks() = std::move(saved_marks);
  }
  /// What a shard hands out is computed by its own thread.
  static void settle(const Any& x) {
    if (auto* s = as_sharded(*x)) {
      for (auto& part : s->parts) part.value->dense("pmap");
    } else {
      x->dense("pmap");
    }
  }
  /// The lowest shard that failed by itself, else the lowest that was released.
  void rethrow() {
    for (const char wanted : {char{0}, char{1}})
      for (std::size_t p = 0; p < errors.size(); ++p)
        if (errors[p] && aborted[p] == wanted) {
          ShardId id{static_cast<Index>(p), {static_cast<Index>(p)}, map.spec_.devices[p]};
          if (inner[p]) {  // it came out of a map inside this shard
            id.indices.insert(id.indices.end(), inner[p]->indices.begin(), inner[p]->indices.end());
            id.device = inner[p]->device;
          }
          last_failure() = {errors[p], std::move(id)};
          std::rethrow_exception(errors[p]);
        }
  }
  const PMap& map;
  const Anys& args;
  Meeting& meeting;
  Group& group;
  const Context around;
  List<Anys> outs;
  List<std::exception_ptr> errors;
  List<char> aborted;
  List<std::optional<ShardId>> inner;
};

/// Holds the devices of an outermost map: maps on overlapping devices take turns, in an order that cannot cross.
class Turn {
 public:
  explicit Turn(const List<Device>& devices) : devices_(devices) {
    std::sort(devices_.begin(), devices_.end(), [](auto& a, auto& b) { return a.id < b.id; });
    for (auto& d : devices_) Workers::instance().of(d).turn.lock();
    Runtime::instance().running_maps.fetch_add(1);
  }
  ~Turn() {
    Runtime::instance().running_maps.fetch_sub(1);
    for (auto& d : devices_) Workers::instance().of(d).turn.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  List<Device> devices_;
};

inline Anys PMap::impl(const Anys& args) const {
  last_failure() = {};
  std::optional<Meeting> outermost;
  std::optional<Turn> turn;
  auto* meeting = context().meeting;
  const bool nested = meeting != nullptr;
  if (!nested) {
    List<Device> all;
    for (auto& group : spec_.groups) all.append(group.begin(), group.end());
    turn.emplace(all);
    meeting = &outermost.emplace();
  }
  Group group(*meeting, spec_.n, nested);
  Shards shards(*this, args, *meeting, group);
  run_on(spec_.devices, shards);
  shards.rethrow();
  if (spec_.results)
    for (Index p = 1; p < spec_.n; ++p)
      if (auto& s = spec_.results->signature; s[static_cast<std::size_t>(p)] != s[0]) fail<TypeError>("pmap", {spec_.results->difference(0, p)});
  Anys results;
  const auto cuts = out_cuts();
  for (std::size_t k = 0; k < cuts.size(); ++k) results.push_back(assemble(shards.outs, k, cuts[k]));
  return results;
}

inline Any PMap::assemble(const List<Anys>& outs, std::size_t k, const Cut& cut) const {
  auto& first = outs[0][k];
  for (std::size_t p = 1; p < outs.size(); ++p)
    if (outs[p][k]->shape != first->shape || outs[p][k]->dtype->name != first->dtype->name)
      fail<ShapeError>("pmap", {"leaf ", k, " of the result differs between shards: shard 0 returned ", first->dtype->name, first->shape, ", shard ", p, " ", outs[p][k]->dtype->name, outs[p][k]->shape});
  if (cut.kind == Cut::sum) {
    auto sum = first;
    for (std::size_t p = 1; p < outs.size(); ++p) sum = sum->dtype->add(sum, outs[p][k]);
    return sum;
  }
  if (outs.size() == 1 && cut.kind == Cut::replicated) return first;
  Shape shape = first->shape;
  if (cut.kind == Cut::each) shape.insert(cut.axis, 1);
  const Index width = cut.kind == Cut::replicated ? 0 : shape[cut.axis];
  List<Part> parts;
  for (std::size_t p = 0; p < outs.size(); ++p) {
    // One copy is returned: that of shard 0. Where the copies are one piece of memory, it already lies on every device.
    const auto& mine = outs[cut.kind == Cut::replicated ? 0 : p][k];
    Axes offset = Axes::filled(shape.rank(), 0);
    if (cut.kind != Cut::replicated) offset[cut.axis] = static_cast<Index>(p) * width;
    auto* s = as_sharded(*mine);
    if (!s || cut.kind == Cut::replicated) {
      parts.push_back({spec_.devices[p], offset, reshaped(mine, shape)});
      continue;
    }
    if (s->replicated()) {
      parts.push_back({spec_.devices[p], offset, reshaped(s->parts[0].value, shape)});
      continue;
    }
    for (auto& part : s->parts) {  // of a map inside this one
      Shape extent = part.value->shape;
      Axes begin = part.offset;
      if (cut.kind == Cut::each) {
        extent.insert(cut.axis, 1);
        begin.insert(cut.axis, 0);
      }
      for (Index d = 0; d < begin.rank(); ++d) begin[d] += offset[d];
      parts.push_back({part.device, begin, reshaped(part.value, extent)});
    }
  }
  if (parts.size() == 1) return parts[0].value;
  if (cut.kind != Cut::replicated) shape[cut.axis] = width * spec_.n;
  return make<const Sharded>(shape, std::move(parts));
}

}  // namespace detail
}  // namespace spmd
