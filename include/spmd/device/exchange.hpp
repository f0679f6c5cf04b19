// What shards on host threads do with each other's values once they have met. Memory is shared and values are immutable, so most of
// it is passing pointers; a reduction reads every input once and writes one result that all shards share.
#pragma once
#include "communicator.hpp"
#include "groups.hpp"
#include "sharding.hpp"

namespace spmd::detail {

/// out[i] = in[0][i] + in[1][i] + ... in this order, for i in [begin, end): the same bits on every shard and in every run.
using Combine = void (*)(void* out, const void* const* in, Index count, Index begin, Index end);

/// Who meets this shard: all members of its axis, or those of its group, in their order.
class Members {
 public:
  Members(const Axis& axis, const Grouping* groups) : axis_(axis), groups_(groups) {}
  Index groups() const { return groups_ ? groups_->count() : 1; }
  Index group() const { return groups_ ? groups_->of(axis_.index) : 0; }
  Index size(Index group) const { return groups_ ? groups_->size(group) : axis_.size; }
  Index size() const { return size(group()); }
  Index position() const { return groups_ ? groups_->position(axis_.index) : axis_.index; }
  std::size_t member(Index group, Index k) const { return static_cast<std::size_t>(groups_ ? groups_->members(group)[static_cast<std::size_t>(k)] : k); }
  std::size_t member(Index k) const { return member(group(), k); }

 private:
  const Axis& axis_;
  const Grouping* groups_;
};

inline constexpr Index alone_bytes = 64 << 10;  // up to here the last shard to come does it all; above, each does a part

inline Index bytes_of(const Anys& values) {
  Index bytes = 0;
  for (auto& x : values) bytes += x->shape.size() * x->dtype->size;
  return bytes;
}
/// Waits until all shards have done their share.
inline void finish_share(Round& round, Index n) {
  if (round.finished.fetch_add(1, std::memory_order_acq_rel) + 1 == n) round.finished.notify_all();
  const Index spin = Spinning::limit(n);
  for (Index i = 0; i < spin && round.finished.load(std::memory_order_acquire) < n; ++i) pause_cpu();
  for (Index f; (f = round.finished.load(std::memory_order_acquire)) < n;) round.finished.wait(f, std::memory_order_acquire);
}
/// The results of this shard's group, which all its members share.
inline Anys group_results(const Round& round, const Members& who, std::size_t leaves) {
  const auto first = round.results.begin() + who.group() * static_cast<Index>(leaves);
  return Anys(first, first + static_cast<Index>(leaves));
}

inline Anys all_reduce(const Primitive& prim, const Axis& axis, const Grouping* groups, const Anys& operands, const List<Combine>& combine) {
  const Members who(axis, groups);
  const auto leaves = operands.size();
  // Adds the parts [from, to) of size(group) equal parts of every leaf of a group.
  auto add = [&](Round& round, Index group, Index from, Index to) {
    const Index parts = who.size(group);
    List<const void*> in(static_cast<std::size_t>(parts));
    for (std::size_t k = 0; k < leaves; ++k) {
      auto& out = round.results[static_cast<std::size_t>(group) * leaves + k]->dense("psum");
      const Index size = out.shape.size(), line = 64 / out.dtype->size;  // no two shards write one cache line
      auto cut = [&](Index p) { return p == parts ? size : std::min(size, size / parts * p / line * line); };
      for (Index m = 0; m < parts; ++m) in[static_cast<std::size_t>(m)] = round.calls[who.member(group, m)].operands[k]->dense("psum").data();
      if (cut(from) < cut(to)) combine[k](const_cast<void*>(out.data()), in.data(), parts, cut(from), cut(to));
    }
  };
  const bool alone = bytes_of(operands) <= alone_bytes;
  auto round = meet(prim, axis, operands, [&](Round& r) {
    for (Index g = 0; g < who.groups(); ++g)
      for (auto& x : operands) r.results.push_back(Buffer::make(x->shape, x->dtype, default_device()));
    if (alone)
      for (Index g = 0; g < who.groups(); ++g) add(r, g, 0, who.size(g));
  });
  if (!alone) {
    add(*round, who.group(), who.position(), who.position() + 1);
    finish_share(*round, axis.size);
  }
  return group_results(*round, who, leaves);
}

inline Anys all_gather(const Primitive& prim, const Axis& axis, const Grouping* groups, const Anys& operands) {
  const Members who(axis, groups);
  const auto leaves = operands.size();
  auto copy = [&](Round& round, Index group, Index k) {
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      auto& x = round.calls[who.member(group, k)].operands[leaf]->dense("all_gather");
      const auto bytes = static_cast<std::size_t>(x.shape.size() * x.dtype->size);
      auto& out = round.results[static_cast<std::size_t>(group) * leaves + leaf]->dense("all_gather");
      if (bytes) std::memcpy(static_cast<std::byte*>(const_cast<void*>(out.data())) + static_cast<std::size_t>(k) * bytes, x.data(), bytes);
    }
  };
  const bool alone = bytes_of(operands) * axis.size <= alone_bytes;
  auto round = meet(prim, axis, operands, [&](Round& r) {
    for (Index g = 0; g < who.groups(); ++g)
      for (auto& x : operands) r.results.push_back(Buffer::make(with_front(who.size(g), x->shape), x->dtype, default_device()));
    if (!alone) return;
    for (Index g = 0; g < who.groups(); ++g)
      for (Index k = 0; k < who.size(g); ++k) copy(r, g, k);
  });
  if (!alone) {
    copy(*round, who.group(), who.position());
    finish_share(*round, axis.size);
  }
  return group_results(*round, who, leaves);
}

/// Row `position` of the sum; the leading axis of every operand has the size of the group.
inline Anys reduce_scatter(const Primitive& prim, const Axis& axis, const Grouping* groups, const Anys& operands, const List<Combine>& combine) {
  const Members who(axis, groups);
  const auto round = meet(prim, axis, operands, {});
  Anys out;
  List<const void*> in(static_cast<std::size_t>(who.size()));
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto row = without(operands[k]->shape, 0);
    auto result = Buffer::make(row, operands[k]->dtype, default_device());
    for (Index m = 0; m < who.size(); ++m)
      in[static_cast<std::size_t>(m)] = round->calls[who.member(m)].operands[k]->dense("psum_scatter").as<std::byte>() + who.position() * row.size() * result->dtype->size;
    if (row.size() > 0) combine[k](result->fill(), in.data(), who.size(), 0, row.size());
    out.push_back(result);
  }
  return out;
}

/// Row j of member i becomes row i of member j.
inline Anys all_to_all(const Primitive& prim, const Axis& axis, const Grouping* groups, const Anys& operands) {
  const Members who(axis, groups);
  const auto round = meet(prim, axis, operands, {});
  Anys out;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    auto result = Buffer::make(operands[k]->shape, operands[k]->dtype, default_device());
    const auto bytes = static_cast<std::size_t>(without(operands[k]->shape, 0).size() * result->dtype->size);
    for (Index m = 0; m < who.size() && bytes; ++m)
      std::memcpy(result->fill_as<std::byte>() + static_cast<std::size_t>(m) * bytes, round->calls[who.member(m)].operands[k]->dense("all_to_all").as<std::byte>() + static_cast<std::size_t>(who.position()) * bytes, bytes);
    out.push_back(result);
  }
  return out;
}

/// The value of one source, or zeros. Nothing is copied.
inline Anys route(const Primitive& prim, const Axis& axis, const Anys& operands, Index source) {
  const auto round = meet(prim, axis, operands, {});
  if (source >= 0) return round->calls[static_cast<std::size_t>(source)].operands;
  Anys out;
  for (auto& x : operands) {
    auto none = Buffer::make(x->shape, x->dtype, default_device());
    std::memset(none->fill(), 0, static_cast<std::size_t>(x->shape.size() * x->dtype->size));
    out.push_back(none);
  }
  return out;
}

}  // namespace spmd::detail
