// What moves elements without looking at them: each row says where an element of the result comes from.
#include "support/operations.hpp"

namespace check {
namespace {

using namespace spmd;

/// from(at) is the place in the one operand.
template <class Run, class From> void add(Rows& rows, const std::string& name, const Shape& in, const Shape& out, Run run, From from) {
  rows.push_back({name, {sample(in)}, [run](const Ds& x) { return D(run(x[0])); }, [out, from](const Ds& x) {
    const Plain plain(x[0]);
    return tabulate(out, [&](const At& at) { return plain(from(at)); });
  }});
}
At unravel(Index flat, const Shape& shape) {
  At at(static_cast<std::size_t>(shape.rank()));
  for (Index d = shape.rank(); d-- > 0; flat /= shape[d]) at[static_cast<std::size_t>(d)] = flat % shape[d];
  return at;
}
Index ravel(const At& at, const Shape& shape) {
  Index flat = 0;
  for (Index d = 0; d < shape.rank(); ++d) flat = flat * shape[d] + at[static_cast<std::size_t>(d)];
  return flat;
}
/// The same elements in the same order.
template <class Run> void same_order(Rows& rows, const std::string& name, const Shape& in, const Shape& out, Run run) {
  add(rows, name, in, out, run, [=](const At& at) { return unravel(ravel(at, out), in); });
}

void add_orders(Rows& rows) {
  same_order(rows, "reshape", {3, 5, 2}, {2, 15}, [](D x) { return reshape(x, Shape{2, 15}); });
  same_order(rows, "reshape with -1", {3, 5, 2}, {3, 2, 5}, [](D x) { return reshape(x, Shape{3, -1, 5}); });
  same_order(rows, "reshape to rank 1", {3, 5}, {15}, [](D x) { return reshape(x, Shape{-1}); });
  same_order(rows, "reshape rank 0", {1, 1}, {}, [](D x) { return reshape(x, Shape{}); });
  same_order(rows, "expand_dims 0", {3, 5}, {1, 3, 5}, [](D x) { return expand_dims(x, 0); });
  same_order(rows, "expand_dims 1", {3, 5}, {3, 1, 5}, [](D x) { return expand_dims(x, 1); });
  same_order(rows, "expand_dims -1", {3, 5}, {3, 5, 1}, [](D x) { return expand_dims(x, -1); });
  same_order(rows, "squeeze", {3, 1, 5, 1}, {3, 5}, [](D x) { return squeeze(x); });
  same_order(rows, "squeeze -1", {3, 1, 5, 1}, {3, 1, 5}, [](D x) { return squeeze(x, -1); });
  same_order(rows, "squeeze {1, 3}", {3, 1, 5, 1}, {3, 5}, [](D x) { return squeeze(x, {1, 3}); });

  add(rows, "transpose", {3, 5}, {5, 3}, [](D x) { return transpose(x); }, [](const At& at) { return At{at[1], at[0]}; });
  add(rows, "transpose of rank 3", {2, 3, 5}, {5, 3, 2}, [](D x) { return transpose(x); }, [](const At& at) { return At{at[2], at[1], at[0]}; });
  add(rows, "transpose {2, 0, 1}", {2, 3, 5}, {5, 2, 3}, [](D x) { return transpose(x, {2, 0, 1}); }, [](const At& at) { return At{at[1], at[2], at[0]}; });
  add(rows, "transpose {1, -1, 0}", {2, 3, 5}, {3, 5, 2}, [](D x) { return transpose(x, {1, -1, 0}); }, [](const At& at) { return At{at[2], at[0], at[1]}; });
  add(rows, "transpose past a size of 1", {3, 1, 5}, {1, 3, 5}, [](D x) { return transpose(x, {1, 0, 2}); }, [](const At& at) { return At{at[1], at[0], at[2]}; });
  add(rows, "swapaxes", {2, 3, 5}, {5, 3, 2}, [](D x) { return swapaxes(x, 0, -1); }, [](const At& at) { return At{at[2], at[1], at[0]}; });
  add(rows, "moveaxis", {2, 3, 5}, {3, 5, 2}, [](D x) { return moveaxis(x, 0, -1); }, [](const At& at) { return At{at[2], at[0], at[1]}; });
  add(rows, "moveaxis of two", {2, 3, 5}, {3, 5, 2}, [](D x) { return moveaxis(x, {0, 2}, {2, 1}); }, [](const At& at) { return At{at[2], at[0], at[1]}; });
  add(rows, "flip", {3, 5}, {3, 5}, [](D x) { return flip(x); }, [](const At& at) { return At{2 - at[0], 4 - at[1]}; });
  add(rows, "flip -1", {3, 5}, {3, 5}, [](D x) { return flip(x, -1); }, [](const At& at) { return At{at[0], 4 - at[1]}; });
  add(rows, "flip {0, 2}", {3, 5, 2}, {3, 5, 2}, [](D x) { return flip(x, {0, 2}); }, [](const At& at) { return At{2 - at[0], at[1], 1 - at[2]}; });
  add(rows, "roll 1", {3, 5}, {3, 5}, [](D x) { return roll(x, 1, 0); }, [](const At& at) { return At{(at[0] + 2) % 3, at[1]}; });
  add(rows, "roll -7", {3, 5}, {3, 5}, [](D x) { return roll(x, -7, -1); }, [](const At& at) { return At{at[0], (at[1] + 2) % 5}; });
  add(rows, "roll of all", {3, 5}, {3, 5}, [](D x) { return roll(x, 4); }, [](const At& at) { return unravel((5 * at[0] + at[1] + 11) % 15, {3, 5}); });
}

void add_sizes(Rows& rows) {
  add(rows, "broadcast_to", {3, 1}, {2, 3, 5}, [](D x) { return broadcast_to(x, Shape{2, 3, 5}); }, [](const At& at) { return At{at[1], 0}; });
  add(rows, "broadcast_to of rank 0", {}, {3, 5}, [](D x) { return broadcast_to(x, Shape{3, 5}); }, [](const At&) { return At{}; });
  add(rows, "broadcast_to of a row", {5}, {3, 5}, [](D x) { return broadcast_to(x, Shape{3, 5}); }, [](const At& at) { return At{at[1]}; });
  add(rows, "tile", {3, 5}, {6, 15}, [](D x) { return tile(x, {2, 3}); }, [](const At& at) { return At{at[0] % 3, at[1] % 5}; });
  add(rows, "tile by fewer", {2, 3}, {2, 6}, [](D x) { return tile(x, {2}); }, [](const At& at) { return At{at[0], at[1] % 3}; });
  add(rows, "tile by more", {3}, {2, 2, 3}, [](D x) { return tile(x, {2, 2, 1}); }, [](const At& at) { return At{at[2]}; });
  add(rows, "slice", {3, 5}, {2, 3}, [](D x) { return slice(x, {1, 1}, {3, 4}); }, [](const At& at) { return At{at[0] + 1, at[1] + 1}; });
  add(rows, "slice of one axis", {3, 5}, {3, 2}, [](D x) { return slice(x, 2, 4, -1); }, [](const At& at) { return At{at[0], at[1] + 2}; });
  add(rows, "slice of rows", {3, 5}, {2, 5}, [](D x) { return slice(x, 1, 3, 0); }, [](const At& at) { return At{at[0] + 1, at[1]}; });
  add(rows, "x[1]", {3, 5}, {5}, [](D x) { return x[1]; }, [](const At& at) { return At{1, at[0]}; });
  add(rows, "x[-1]", {3, 5, 2}, {5, 2}, [](D x) { return x[-1]; }, [](const At& at) { return At{2, at[0], at[1]}; });
  add(rows, "x[2][0]", {3, 5}, {}, [](D x) { return x[2][0]; }, [](const At&) { return At{2, 0}; });
  add(rows, "split", {3, 6}, {3, 2}, [](D x) { return split(x, 3, 1)[1]; }, [](const At& at) { return At{at[0], at[1] + 2}; });
  add(rows, "split -2", {4, 3}, {2, 3}, [](D x) { return split(x, 2, -2)[1]; }, [](const At& at) { return At{at[0] + 2, at[1]}; });

  struct Pad {
    const char* name;
    double value;
  };
  for (auto& p : {Pad{"pad", 0}, Pad{"pad with 7", 7}})
    rows.push_back({p.name, {sample({3, 5})}, [v = p.value](const Ds& x) { return pad(x[0], {1, 0}, {2, 3}, v); }, [v = p.value](const Ds& x) {
      const Plain in(x[0]);
      return tabulate({6, 8}, [&](const At& at) { return at[0] >= 1 && at[0] < 4 && at[1] < 5 ? in({at[0] - 1, at[1]}) : v; });
    }});
  rows.push_back({"concatenate 0", {sample({2, 3}), sample({1, 3}, -2, 3, 1), sample({2, 3}, -2, 3, 2)}, [](const Ds& x) { return concatenate({x[0], x[1], x[2]}, 0); }, [](const Ds& x) {
    const Plain a(x[0]), b(x[1]), c(x[2]);
    return tabulate({5, 3}, [&](const At& at) { return at[0] < 2 ? a(at) : at[0] < 3 ? b({0, at[1]}) : c({at[0] - 3, at[1]}); });
  }});
  rows.push_back({"concatenate -1 of a vector", {sample({2, 3}), sample({2, 2}, -2, 3, 1)}, [](const Ds& x) { return concatenate(x, -1); }, [](const Ds& x) {
    const Plain a(x[0]), b(x[1]);
    return tabulate({2, 5}, [&](const At& at) { return at[1] < 3 ? a(at) : b({at[0], at[1] - 3}); });
  }});
  rows.push_back({"concatenate of one twice", {sample({3})}, [](const Ds& x) { return concatenate({x[0], x[0] * 2.0}); }, [](const Ds& x) {
    const Plain a(x[0]);
    return tabulate({6}, [&](const At& at) { return at[0] < 3 ? a(at) : 2 * a({at[0] - 3}); });
  }});
  for (Index axis : {0, 1, -1})
    rows.push_back({"stack " + std::to_string(axis), {sample({3, 5}), sample({3, 5}, -2, 3, 1)}, [axis](const Ds& x) { return stack({x[0], x[1]}, axis); }, [axis](const Ds& x) {
      const Plain a(x[0]), b(x[1]);
      const auto place = axis < 0 ? 2 : axis;
      Shape shape{3, 5};
      shape.insert(place, 2);
      return tabulate(shape, [&](At at) {
        const auto which = at[static_cast<std::size_t>(place)];
        at.erase(at.begin() + place);
        return which == 0 ? a(at) : b(at);
      });
    }});
  rows.push_back({"stack of a vector", {sample({3}), sample({3}, -2, 3, 1), sample({3}, -2, 3, 2)}, [](const Ds& x) { return stack(x); }, [](const Ds& x) {
    return tabulate({3, 3}, [&](const At& at) { return Plain(x[static_cast<std::size_t>(at[0])])({at[1]}); });
  }});
}

void add_triangles(Rows& rows) {
  struct Triangle {
    Shape shape;
    Index k;
  };
  for (auto& t : {Triangle{{3, 5}, 0}, Triangle{{5, 3}, 1}, Triangle{{2, 3, 3}, -1}, Triangle{{3, 5}, -7}, Triangle{{3, 5}, 9}}) {
    auto keep = [k = t.k](bool lower) {
      return [k, lower](const Ds& x) {
        const Plain in(x[0]);
        return tabulate(in.shape, [&](const At& at) {
          const Index d = at[at.size() - 1] - at[at.size() - 2];
          return (lower ? d <= k : d >= k) ? in(at) : 0.0;
        });
      };
    };
    const auto name = t.shape.text() + " " + std::to_string(t.k);
    rows.push_back({"tril" + name, {sample(t.shape)}, [k = t.k](const Ds& x) { return tril(x[0], k); }, keep(true)});
    rows.push_back({"triu" + name, {sample(t.shape)}, [k = t.k](const Ds& x) { return triu(x[0], k); }, keep(false)});
  }
  for (Index k : {0, 1, -2, 4}) {
    const auto name = std::to_string(k);
    const Index up = std::max<Index>(k, 0), down = std::max<Index>(-k, 0);
    rows.push_back({"diag of a vector " + name, {sample({3})}, [k](const Ds& x) { return diag(x[0], k); }, [=](const Ds& x) {
      const Plain in(x[0]);
      return tabulate({3 + up + down, 3 + up + down}, [&](const At& at) { return at[1] - at[0] == k ? in({at[0] - down}) : 0.0; });
    }});
    rows.push_back({"diag of a matrix " + name, {sample({3, 5})}, [k](const Ds& x) { return diag(x[0], k); }, [=](const Ds& x) {
      const Plain in(x[0]);
      return tabulate({std::min(3 - down, 5 - up)}, [&](const At& at) { return in({at[0] + down, at[0] + up}); });
    }});
  }
}

}  // namespace

void add_shapes(Rows& rows) {
  add_orders(rows);
  add_sizes(rows);
  add_triangles(rows);
}

}  // namespace check
