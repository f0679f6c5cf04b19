// Groups of an axis: which members of it meet in a collective.
#pragma once
#include "../core/primitive.hpp"

namespace spmd {

/// Lists of axis indices, each index in exactly one: a collective then runs within each group. None: all together.
using Groups = std::vector<std::vector<Index>>;

namespace detail {

/// Checked groups of an axis, as primitives keep them; the order inside a group is the order of its results.
class Grouping final : public Counted {
 public:
  Grouping(std::string_view op, const Groups& groups, Index n, bool equal_sizes) : of_(static_cast<std::size_t>(n), -1), position_(static_cast<std::size_t>(n), 0) {
    for (auto& group : groups) {
      if (group.empty()) fail<AxisError>(op, {"a group is empty"});
      if (equal_sizes && group.size() != groups[0].size()) fail<AxisError>(op, {"the groups must have equal sizes, there are groups of ", groups[0].size(), " and ", group.size()});
      List<Index> list;
      for (auto i : group) {
        if (i < 0 || i >= n) fail<AxisError>(op, {"groups name the index ", i, ", the axis has size ", n});
        if (of_[static_cast<std::size_t>(i)] >= 0) fail<AxisError>(op, {"groups name the index ", i, " twice"});
        of_[static_cast<std::size_t>(i)] = static_cast<Index>(members_.size());
        position_[static_cast<std::size_t>(i)] = static_cast<Index>(list.size());
        list.push_back(i);
      }
      members_.push_back(std::move(list));
    }
    for (Index i = 0; i < n; ++i)
      if (of_[static_cast<std::size_t>(i)] < 0) fail<AxisError>(op, {"groups miss the index ", i, " of an axis of size ", n, ": name every index once"});
  }
  Index count() const { return static_cast<Index>(members_.size()); }
  const List<Index>& members(Index group) const { return members_[static_cast<std::size_t>(group)]; }
  Index of(Index i) const { return of_[static_cast<std::size_t>(i)]; }              // the group of an index,
  Index position(Index i) const { return position_[static_cast<std::size_t>(i)]; }  // and its place there
  const List<Index>& of() const { return of_; }
  Index size(Index group) const { return static_cast<Index>(members(group).size()); }
  friend bool operator==(const Grouping& a, const Grouping& b) { return a.members_ == b.members_; }
  std::string text() const {
    std::string out = "{";
    for (auto& group : members_) {
      out += out.size() > 1 ? ", {" : "{";
      for (std::size_t k = 0; k < group.size(); ++k) out += concat({k ? ", " : "", group[k]});
      out += "}";
    }
    return out + "}";
  }

 private:
  List<List<Index>> members_;
  List<Index> of_, position_;
};

}  // namespace detail
}  // namespace spmd
