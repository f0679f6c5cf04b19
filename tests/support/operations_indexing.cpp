// What picks elements by number, and puts them back.
#include "support/operations.hpp"

namespace check {
namespace {

using namespace spmd;

/// The numbers that the rows below pick: some twice, some from the end.
const std::vector<Index> picks{2, 0, -1, 2};
Index pick(Index i, Index n) { return (picks[static_cast<std::size_t>(i)] + n) % n; }
Tensor<std::int32_t> pick_tensor() { return Tensor<std::int32_t>(Shape{2, 2}, {2, 0, -1, 2}); }

}  // namespace

void add_indexing(Rows& rows) {
  rows.push_back({"take 0 of a vector", {sample({3, 5})}, [](const Ds& x) { return take(x[0], picks, 0); }, [](const Ds& x) {
    const Plain in(x[0]);
    return tabulate({4, 5}, [&](const At& at) { return in({pick(at[0], 3), at[1]}); });
  }});
  rows.push_back({"take 1 of a matrix", {sample({3, 5, 2})}, [](const Ds& x) { return take(x[0], pick_tensor(), 1); }, [](const Ds& x) {
    const Plain in(x[0]);
    return tabulate({3, 2, 2, 2}, [&](const At& at) { return in({at[0], pick(2 * at[1] + at[2], 5), at[3]}); });
  }});
  rows.push_back({"take -1 of one", {sample({3, 5})}, [](const Ds& x) { return take(x[0], Tensor<int>(-2), -1); }, [](const Ds& x) {
    const Plain in(x[0]);
    return tabulate({3}, [&](const At& at) { return in({at[0], 3}); });
  }});
  // Indices that depend on an operand, so that under vmap they are mapped as well.
  rows.push_back({"take by argsort", {sample({5}), sample({5, 2}, 0, 1, 1)}, [](const Ds& x) { return take(x[1], argsort(x[0]), 0); }, [](const Ds& x) {
    const Plain key(x[0]), in(x[1]);
    return tabulate({5, 2}, [&](const At& at) {
      for (Index r = 0; r < 5; ++r) {
        Index before = 0;
        for (Index s = 0; s < 5; ++s) before += key({s}) < key({r});
        if (before == at[0]) return in({r, at[1]});
      }
      return 0.0;
    });
  }});
  rows.push_back({"take behind, by what depends on an operand", {sample({3}, -2, 3), sample({2, 5, 2}, 0, 1, 1)}, [](const Ds& x) { return take(x[1], argmax(reshape(x[0], Shape{1, 3}), 1), 1); }, [](const Ds& x) {
    const Plain key(x[0]), in(x[1]);
    Index best = 0;
    for (Index r = 1; r < 3; ++r)
      if (key({r}) > key({best})) best = r;
    return tabulate({2, 1, 2}, [&](const At& at) { return in({at[0], best, at[2]}); });
  }});
  for (Index axis : {0, 1})
    rows.push_back({"take_along_axis " + std::to_string(axis), {sample({3, 5})}, [axis](const Ds& x) { return take_along_axis(x[0], argsort(sin(x[0] * 9.0), axis), axis - 2); }, [axis](const Ds& x) {
      const Plain in(x[0]);
      return tabulate({3, 5}, [&](const At& at) {
        const auto along = static_cast<std::size_t>(axis);
        At k = at, r = at;
        for (k[along] = 0; k[along] < in.shape[axis]; ++k[along]) {
          Index before = 0;
          for (r[along] = 0; r[along] < in.shape[axis]; ++r[along]) before += std::sin(9 * in(r)) < std::sin(9 * in(k));
          if (before == at[along]) break;
        }
        return in(k);
      });
    }});
  rows.push_back({"take_along_axis, fewer", {sample({3, 5})}, [](const Ds& x) { return take_along_axis(x[0], Tensor<int>({3, 2}, {0, 4, -1, 1, 2, 2}), 1); }, [](const Ds& x) {
    const Plain in(x[0]);
    const Index at_column[] = {0, 4, 4, 1, 2, 2};
    return tabulate({3, 2}, [&](const At& at) { return in({at[0], at_column[2 * at[0] + at[1]]}); });
  }});
  rows.push_back({"scatter_add", {sample({3, 5}), sample({4, 5}, 0, 1, 1)}, [](const Ds& x) { return scatter_add(x[0], array<int>({2, 0, -1, 2}), x[1]); }, [](const Ds& x) {
    const Plain to(x[0]), updates(x[1]);
    return tabulate({3, 5}, [&](const At& at) {
      double out = to(at);
      for (Index k = 0; k < 4; ++k)
        if (pick(k, 3) == at[0]) out += updates({k, at[1]});
      return out;
    });
  }});
  rows.push_back({"scatter_add of numbers at a matrix of indices", {sample({3}), sample({2, 2}, 0, 1, 1)}, [](const Ds& x) { return scatter_add(x[0], pick_tensor(), x[1]); }, [](const Ds& x) {
    const Plain to(x[0]), updates(x[1]);
    return tabulate({3}, [&](const At& at) {
      double out = to(at);
      for (Index k = 0; k < 4; ++k)
        if (pick(k, 3) == at[0]) out += updates({k / 2, k % 2});
      return out;
    });
  }});
  rows.push_back({"scatter_add by argsort", {sample({5}), sample({5, 2}, 0, 1, 1), sample({5, 2}, 1, 2, 2)}, [](const Ds& x) { return scatter_add(x[1], argsort(x[0]), x[2]); }, [](const Ds& x) {
    const Plain key(x[0]), to(x[1]), updates(x[2]);
    return tabulate({5, 2}, [&](const At& at) {
      Index before = 0;
      for (Index s = 0; s < 5; ++s) before += key({s}) < key({at[0]});
      return to(at) + updates({before, at[1]});
    });
  }});
  rows.push_back({"one_hot", {sample({3, 2})}, [](const Ds& x) { return one_hot<double>(argmax(x[0], 0), 4); }, [](const Ds& x) {
    const Plain in(x[0]);
    return tabulate({2, 4}, [&](const At& at) {
      Index best = 0;
      for (Index r = 1; r < 3; ++r)
        if (in({r, at[0]}) > in({best, at[0]})) best = r;
      return best == at[1] ? 1.0 : 0.0;
    });
  }});
}

}  // namespace check
