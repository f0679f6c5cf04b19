// The primitives behind the collectives. Each works on the leading axis of its operands, over one named axis, on all leaves of a tree
// in one meeting; dims, tiling and several names are handled above, in collective.hpp. Under vmap over that axis they are local.
#pragma once
#include <source_location>

#include "../device/exchange.hpp"
#include "indexing.hpp"

namespace spmd::detail {

/// Where a collective was called: travels with it, for messages.
using Source = std::source_location;
/// A call as its author wrote it: where, and with which dims and tiling. These change nothing in the meeting, but shards that give
/// different ones have made different calls.
struct Site {
  Site(const Source& s, Index d = 0, Index c = 0, bool t = false) : source(s), dim(d), concat_dim(c), tiled(t) {}
  Source source;
  Index dim, concat_dim;
  bool tiled;
  bool same(const Site& o) const { return dim == o.dim && concat_dim == o.concat_dim && tiled == o.tiled; }
  std::string options() const { return concat({dim ? concat({", dim ", dim}) : "", concat_dim ? concat({", concat dim ", concat_dim}) : "", tiled ? ", tiled" : ""}); }
  std::string text() const {
    std::string file = source.file_name();
    return concat({file.substr(file.find_last_of('/') + 1), ":", static_cast<Index>(source.line())});
  }
};

/// The sums of one element type, for leaves whose type the core does not know.
struct LeafMath {
  Combine combine;
  Any (*sum_front)(const Any&);
  Any (*times)(const Any&, Index);
};
template <class T> const LeafMath* leaf_math() {
  static constexpr LeafMath math{
      [](void* out, const void* const* in, Index count, Index begin, Index end) { host::combine<host::SumOf>(static_cast<T*>(out), reinterpret_cast<const T* const*>(in), count, begin, end); },
      [](const Any& x) { return cast<T>(sum(Tensor<T>(x), Axes{0})).any(); },  // small integers sum to int32: a psum keeps its type
      [](const Any& x, Index n) { return (Tensor<T>(x) * static_cast<T>(n)).any(); }};
  return &math;
}
using Maths = List<const LeafMath*>;

class Collective : public Primitive {
 public:
  Collective(std::string_view n, Name a, Ref<const Grouping> g, Maths m, const Site& s) : groups(std::move(g)), name_(n), axis_(a), maths_(std::move(m)), site_(s) {}
  std::string_view name() const final { return name_; }
  Name axis() const final { return axis_; }
  bool meets() const final { return true; }
  bool same(const Primitive& other) const override {
    auto* o = dynamic_cast<const Collective*>(&other);
    return o && o->axis_ == axis_ && o->site_.same(site_) && !o->groups == !groups && (!groups || *o->groups == *groups);
  }
  std::string describe() const override {
    return concat({name_, "(\"", *axis_, "\"", site_.options(), groups ? ", groups " + groups->text() : "", ") at ", site_});
  }
  Anys impl(const Anys& args) const final {
    auto& axis = find_axis(name_, axis_);
    if (!axis.group) fail<AxisError>(name_, {"the axis \"", *axis_, "\" is mapped by a vmap that this code has left"});
    Anys operands;  // computed before anybody waits for them
    for (auto& x : args) operands.push_back(Any(&x->dense(name_)));
    return exchange(axis, operands);
  }
  Batch batch(const Axis& mapped, const Batch& args) const final {
    Batch out;
    if (axis_ == mapped.name) {
      if (mapped.lanes) fail<AxisError>(name_, {"the predicate of the enclosing cond varies over the axis \"", *axis_, "\", so not every member calls this"});
      for (std::size_t k = 0; k < args.size(); ++k) out.push_back(local(mapped, args[k], k));
      return out;
    }
    // Another axis is mapped. Its lanes ride along, behind the axis that the collective works on.
    Anys values;
    for (auto& x : args) values.push_back(x.mapped && takes_rows() ? moveaxis(x.value, 0, 1) : x.value);
    const auto results = interpret(Ref<const Primitive>(this), values);
    for (std::size_t k = 0; k < args.size(); ++k) out.push_back({args[k].mapped && makes_rows() ? moveaxis(results[k], 1, 0) : results[k], args[k].mapped});
    return out;
  }

  const Ref<const Grouping> groups;

 protected:
  /// Between the shards of a pmap axis.
  virtual Anys exchange(const Axis& axis, const Anys& operands) const = 0;
  /// The members of the axis on one device: leaf k, whose lanes are the members.
  virtual Batched local(const Axis& axis, const Batched& x, std::size_t k) const = 0;
  virtual bool takes_rows() const { return false; }  // the leading axis of an operand has one row per member
  virtual bool makes_rows() const { return false; }  // that of a result

  const Site& site() const { return site_; }
  const Maths& maths() const { return maths_; }
  List<Index> members(const Axis& axis, Index of) const {
    if (groups) return groups->members(groups->of(of));
    List<Index> everybody;
    for (Index i = 0; i < axis.size; ++i) everybody.push_back(i);
    return everybody;
  }
  Index position(Index of) const { return groups ? groups->position(of) : of; }
  List<Combine> combines() const {
    List<Combine> list;
    for (auto* m : maths_) list.push_back(m->combine);
    return list;
  }
  /// The sum over each lane's group, on every lane.
  Any group_sums(const Any& lanes, std::size_t k) const {
    Anys sums;
    for (Index g = 0; g < groups->count(); ++g) sums.push_back(maths_[k]->sum_front(take(lanes, groups->members(g), 0)));
    return take(stack(sums, 0), groups->of(), 0);
  }

 private:
  const std::string_view name_;
  const Name axis_;
  const Maths maths_;
  const Site site_;
};

/// The sum over the members, the same on each of them.
class AllReduce final : public Collective {
 public:
  using Collective::Collective;
  Anys vjp(const Anys& cts, const Anys&, const Anys&, Needed) const override { return interpret(Ref<const Primitive>(this), cts); }

 protected:
  Anys exchange(const Axis& axis, const Anys& operands) const override { return all_reduce(*this, axis, groups.get(), operands, combines()); }
  Batched local(const Axis& axis, const Batched& x, std::size_t k) const override {
    if (groups) return {group_sums(on_lanes(x, axis.size), k), true};
    return {x.mapped ? maths()[k]->sum_front(x.value) : maths()[k]->times(x.value, axis.size), false};
  }
};

/// All members' values along a new leading axis. Only floating leaves have a LeafMath: what the transpose adds with.
class AllGather final : public Collective {
 public:
  using Collective::Collective;
  inline Anys vjp(const Anys& cts, const Anys& outs, const Anys& args, Needed) const override;

 protected:
  bool makes_rows() const override { return true; }
  Anys exchange(const Axis& axis, const Anys& operands) const override { return all_gather(*this, axis, groups.get(), operands); }
  Batched local(const Axis& axis, const Batched& x, std::size_t) const override {
    const auto lanes = on_lanes(x, axis.size);
    if (!groups) return {lanes, false};
    List<Index> rows;
    for (Index i = 0; i < axis.size; ++i)
      for (auto m : members(axis, i)) rows.push_back(m);
    Shape shape = with_front(axis.size, lanes->shape);
    shape[1] = groups->size(0);
    return {reshape(take(lanes, rows, 0), shape), true};
  }
};

/// Row k of the sum, for the k-th member.
class ReduceScatter final : public Collective {
 public:
  using Collective::Collective;
  Anys vjp(const Anys& cts, const Anys&, const Anys&, Needed) const override { return interpret(make<const AllGather>("all_gather", axis(), groups, maths(), site()), cts); }

 protected:
  bool takes_rows() const override { return true; }
  Anys exchange(const Axis& axis, const Anys& operands) const override { return reduce_scatter(*this, axis, groups.get(), operands, combines()); }
  Batched local(const Axis& axis, const Batched& x, std::size_t k) const override {
    if (!groups) return {x.mapped ? maths()[k]->sum_front(x.value) : maths()[k]->times(x.value, axis.size), true};
    const auto sums = group_sums(on_lanes(x, axis.size), k);  // (n, g, ...): each lane wants the row of its position
    const Index g = sums->shape[1];
    List<Index> rows;
    for (Index i = 0; i < axis.size; ++i) rows.push_back(i * g + position(i));
    Shape flat = without(sums->shape, 0);
    flat[0] = axis.size * g;
    return {take(reshape(sums, flat), rows, 0), true};
  }
};
inline Anys AllGather::vjp(const Anys& cts, const Anys&, const Anys&, Needed) const {
  // A leaf of integers has no cotangent, but it goes along: every shard must make the same call.
  Anys floats;
  Maths with_math;
  for (std::size_t k = 0; k < cts.size(); ++k)
    if (maths()[k]) {
      floats.push_back(cts[k]);
      with_math.push_back(maths()[k]);
    }
  auto sums = interpret(make<const ReduceScatter>("psum_scatter", axis(), groups, std::move(with_math), site()), floats);
  Anys out(cts.size());
  for (std::size_t k = 0, next = 0; k < cts.size(); ++k)
    if (maths()[k]) out[k] = std::move(sums[next++]);
  return out;
}

/// Row j of member i becomes row i of member j.
class AllToAll final : public Collective {
 public:
  using Collective::Collective;
  Anys vjp(const Anys& cts, const Anys&, const Anys&, Needed) const override { return interpret(Ref<const Primitive>(this), cts); }

 protected:
  bool takes_rows() const override { return true; }
  bool makes_rows() const override { return true; }
  Anys exchange(const Axis& axis, const Anys& operands) const override { return all_to_all(*this, axis, groups.get(), operands); }
  Batched local(const Axis& axis, const Batched& x, std::size_t) const override {
    const auto lanes = on_lanes(x, axis.size);
    if (!groups) return {moveaxis(lanes, 1, 0), true};
    const Index g = lanes->shape[1];
    List<Index> rows;
    for (Index i = 0; i < axis.size; ++i)
      for (auto m : members(axis, i)) rows.push_back(m * g + position(i));
    Shape flat = without(lanes->shape, 0);
    flat[0] = axis.size * g;
    return {reshape(take(reshape(lanes, flat), rows, 0), lanes->shape), true};
  }
};

/// Each member gets the value of one source, or zeros.
class Route final : public Collective {
 public:
  static constexpr Index nobody = -1;
  Route(std::string_view n, Name a, List<Index> sources, Maths m, const Site& s) : Collective(n, a, {}, std::move(m), s), sources_(std::move(sources)) {}
  bool same(const Primitive& other) const override {
    auto* o = dynamic_cast<const Route*>(&other);
    return o && Collective::same(other) && o->sources_ == sources_;
  }
  /// Where every source serves one member, the way back is another route. Where one serves several, its cotangents are summed.
  Anys vjp(const Anys& cts, const Anys&, const Anys&, Needed) const override {
    const auto n = sources_.size();
    List<Index> back(n, nobody), once(n, nobody);
    bool single = true;
    for (std::size_t d = 0; d < n; ++d) {
      if (sources_[d] == nobody) continue;
      auto& to = back[static_cast<std::size_t>(sources_[d])];
      single &= to == nobody;
      to = static_cast<Index>(d);
    }
    if (single) return interpret(make<const Route>(name(), axis(), std::move(back), maths(), site()), cts);
    Anys floats;
    Maths with_math;
    for (std::size_t k = 0; k < cts.size(); ++k)
      if (maths()[k]) {
        floats.push_back(cts[k]);
        with_math.push_back(maths()[k]);
      }
    // Broadcast from one source to all: the sum, on the source alone.
    for (auto s : sources_)
      if (s != nobody) once[static_cast<std::size_t>(s)] = s;
    auto sums = interpret(make<const AllReduce>("psum", axis(), nullptr, with_math, site()), floats);
    sums = interpret(make<const Route>(name(), axis(), std::move(once), std::move(with_math), site()), sums);
    Anys out(cts.size());
    for (std::size_t k = 0, next = 0; k < cts.size(); ++k)
      if (maths()[k]) out[k] = std::move(sums[next++]);
    return out;
  }

 protected:
  Anys exchange(const Axis& axis, const Anys& operands) const override { return route(*this, axis, operands, sources_[static_cast<std::size_t>(axis.index)]); }
  Batched local(const Axis& axis, const Batched& x, std::size_t) const override {
    const bool full = std::find(sources_.begin(), sources_.end(), nobody) == sources_.end();
    if (!x.mapped && full) return x;
    auto lanes = on_lanes(x, axis.size);
    auto rows = sources_;
    if (!full) {  // one more row, of zeros
      Axes low = Axes::filled(lanes->shape.rank(), 0), high = low;
      high[0] = 1;
      lanes = pad(lanes, low, high);
      std::replace(rows.begin(), rows.end(), nobody, axis.size);
    }
    return {take(lanes, rows, 0), true};
  }

 private:
  const List<Index> sources_;
};

/// The index of this member, an integer of 32 or 64 bits. Untyped arithmetic, like OffsetRows.
class AxisIndexOf final : public Primitive {
 public:
  AxisIndexOf(Name a, const DType* t) : axis_(a), dtype_(t) {}
  std::string_view name() const override { return "axis_index"; }
  Name axis() const override { return axis_; }
  Anys impl(const Anys&) const override { return one<Any>(numbers(Shape{}, [&](Index) { return find_axis(name(), axis_).index; })); }
  Anys vjp(const Anys&, const Anys&, const Anys&, Needed) const override { return {}; }
  Batch batch(const Axis& mapped, const Batch&) const override {
    return one<Batched>(Batched{numbers(Shape{mapped.size}, [&](Index i) { return mapped.lanes ? mapped.lanes->rows[static_cast<std::size_t>(i)] : i; }), true});
  }

 private:
  template <class F> Any numbers(const Shape& shape, F f) const {
    auto out = Buffer::make(shape, dtype_, default_device());
    for (Index i = 0; i < shape.size(); ++i) {
      if (dtype_->size == 4) out->fill_as<std::int32_t>()[i] = static_cast<std::int32_t>(f(i));
      else out->fill_as<std::int64_t>()[i] = f(i);
    }
    return out;
  }
  const Name axis_;
  const DType* const dtype_;
};

/// Elementwise major * n + minor, of two integers of one type.
class FlattenIndex final : public Primitive {
 public:
  explicit FlattenIndex(Index n) : n_(n) {}
  std::string_view name() const override { return "axis_index"; }
  Anys impl(const Anys& args) const override {
    auto &major = args[0]->dense(name()), &minor = args[1]->dense(name());
    auto out = Buffer::make(major.shape, major.dtype, major.device);
    for (Index i = 0; i < major.shape.size(); ++i) {
      if (major.dtype->size == 4) out->fill_as<std::int32_t>()[i] = static_cast<std::int32_t>(major.as<std::int32_t>()[i] * n_ + minor.as<std::int32_t>()[i]);
      else out->fill_as<std::int64_t>()[i] = major.as<std::int64_t>()[i] * n_ + minor.as<std::int64_t>()[i];
    }
    return one<Any>(Any(out));
  }
  Anys vjp(const Anys&, const Anys&, const Anys&, Needed) const override { return Anys(2); }
  Batch batch(const Axis& axis, const Batch& args) const override {
    Anys lanes;
    for (auto& x : args) lanes.push_back(on_lanes(x, axis.size));
    return one<Batched>(Batched{std::move(interpret(make<const FlattenIndex>(n_), lanes)[0]), true});
  }

 private:
  const Index n_;
};

}  // namespace spmd::detail
