// What a tape remembers of the places that a carrier ran in.
#pragma once
#include "carrier.hpp"

namespace spmd::detail {

/// In one place: a piece of the record of the tape's copy there.
struct Piece {
  Index place, begin, end, first_node, last_node;
  List<Index> inputs, outs;
};
/// What one call of a carrier left in the copies: a piece in each place, and over all places the captured values.
struct Visits final : Counted {
  std::mutex mutex;
  List<Piece> pieces;
  Anys captured;
  bool recorded = false;
  const Piece& at(Index place) {
    std::lock_guard lock(mutex);
    for (auto& piece : pieces)
      if (piece.place == place) return piece;
    fail("grad", {"the backward run came to a new place"});
  }
};
/// A backward run that is no primitive's rule.
class Pull : public Counted {
 public:
  virtual Anys operator()(const Anys& cts, Id pull) const = 0;
};

}  // namespace spmd::detail
