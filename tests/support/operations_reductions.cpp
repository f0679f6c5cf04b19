// Reductions over every kind of axes, and what else goes along an axis.
#include "support/operations.hpp"

#include <algorithm>
#include <numeric>

namespace check {
namespace {

using namespace spmd;
using Numbers = std::vector<double>;

/// For each place of the axes that stay, f of all elements that meet there, in row-major order.
template <class F> D reduced(const D& in, const Axes& axes, bool keepdims, F f) {
  const Plain x(in);
  Shape out, inner;
  std::vector<Index> kept, gone;
  for (Index d = 0; d < x.shape.rank(); ++d) {
    const bool goes = axes.contains(d) || axes.contains(d - x.shape.rank());
    (goes ? gone : kept).push_back(d);
    if (goes) inner.push_back(x.shape[d]);
    if (!goes || keepdims) out.push_back(goes ? 1 : x.shape[d]);
  }
  return tabulate(out, [&](const At& at) {
    Numbers all;
    tabulate(inner, [&](const At& in_at) {
      At whole(static_cast<std::size_t>(x.shape.rank()));
      for (std::size_t i = 0; i < kept.size(); ++i) whole[static_cast<std::size_t>(kept[i])] = at[keepdims ? static_cast<std::size_t>(kept[i]) : i];
      for (std::size_t i = 0; i < gone.size(); ++i) whole[static_cast<std::size_t>(gone[i])] = in_at[i];
      all.push_back(x(whole));
      return 0.0;
    });
    return f(all);
  });
}

template <class Run, class F> void add(Rows& rows, const std::string& name, Run run, F f, bool reduces_nothing_too = true) {
  const auto x = sample({3, 5, 2}, 0.3, 2);
  auto row = [&](const std::string& how, std::function<D(const Ds&)> call, const Axes& axes, bool keepdims) {
    rows.push_back({name + how, {x}, std::move(call), [=](const Ds& in) { return reduced(in[0], axes, keepdims, f); }});
  };
  row("(x)", [run](const Ds& in) { return D(run(in[0])); }, {0, 1, 2}, false);
  row("(x, 0)", [run](const Ds& in) { return D(run(in[0], 0)); }, {0}, false);
  row("(x, 1)", [run](const Ds& in) { return D(run(in[0], 1)); }, {1}, false);
  row("(x, -1)", [run](const Ds& in) { return D(run(in[0], -1)); }, {2}, false);
  row("(x, {2, 0})", [run](const Ds& in) { return D(run(in[0], Axes{2, 0})); }, {0, 2}, false);
  row("(x, {-1, 1})", [run](const Ds& in) { return D(run(in[0], Axes{-1, 1})); }, {1, 2}, false);
  row("(x, -2, true)", [run](const Ds& in) { return D(run(in[0], -2, true)); }, {1}, true);
  row("(x, {0, 1, 2}, true)", [run](const Ds& in) { return D(run(in[0], Axes{0, 1, 2}, true)); }, {0, 1, 2}, true);
  if (reduces_nothing_too) row("(x, {})", [run](const Ds& in) { return D(run(in[0], Axes{})); }, {}, false);
}

/// out[..., i, ...] = f(the elements along the axis, i).
template <class F> D along(const D& in, Index axis, F f) {
  const Plain x(in);
  return tabulate(x.shape, [&](const At& at) {
    Numbers line;
    At other = at;
    for (Index i = 0; i < x.shape[axis]; ++i) {
      other[static_cast<std::size_t>(axis)] = i;
      line.push_back(x(other));
    }
    return f(line, static_cast<std::size_t>(at[static_cast<std::size_t>(axis)]));
  });
}
double exp_share(const Numbers& line, std::size_t i) {
  double total = 0;
  for (double v : line) total += std::exp(v);
  return std::exp(line[i]) / total;
}

}  // namespace

void add_reductions(Rows& rows) {
  auto total = [](const Numbers& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
  auto average = [total](const Numbers& v) { return total(v) / static_cast<double>(v.size()); };
  add(rows, "sum", [](const auto&... a) { return sum(a...); }, total);
  add(rows, "mean", [](const auto&... a) { return mean(a...); }, average);
  add(rows, "prod", [](const auto&... a) { return prod(a...); }, [](const Numbers& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); });
  add(rows, "max", [](const auto&... a) { return max(a...); }, [](const Numbers& v) { return *std::max_element(v.begin(), v.end()); });
  add(rows, "min", [](const auto&... a) { return min(a...); }, [](const Numbers& v) { return *std::min_element(v.begin(), v.end()); });
  add(rows, "any", [](const D& x, const auto&... a) { return cast<double>(any(x > 1.7, a...)); }, [](const Numbers& v) { return std::any_of(v.begin(), v.end(), [](double e) { return e > 1.7; }) ? 1.0 : 0.0; });
  add(rows, "all", [](const D& x, const auto&... a) { return cast<double>(all(x > 0.7, a...)); }, [](const Numbers& v) { return std::all_of(v.begin(), v.end(), [](double e) { return e > 0.7; }) ? 1.0 : 0.0; });
  add(rows, "var", [](const auto&... a) { return var(a...); }, [average](const Numbers& v) {
    double squares = 0;
    for (double e : v) squares += (e - average(v)) * (e - average(v));
    return squares / static_cast<double>(v.size());
  });
  add(rows, "norm", [](const auto&... a) { return norm(a...); }, [](const Numbers& v) { return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)); });
  add(rows, "logsumexp", [](const auto&... a) { return logsumexp(a...); }, [](const Numbers& v) {
    double sum_of_exp = 0;
    for (double e : v) sum_of_exp += std::exp(e);
    return std::log(sum_of_exp);
  });

  // Softmax over axes: exp(x) over the sum of those beside it.
  for (Index axis : {0, 1, 2}) {
    const auto x = sample({3, 5, 2}, -2, 2);
    const auto name = "(x, " + std::to_string(axis) + ")";
    const Index negative = axis - 3;
    rows.push_back({"softmax" + name, {x}, [axis](const Ds& in) { return softmax(in[0], axis); }, [axis](const Ds& in) { return along(in[0], axis, exp_share); }});
    rows.push_back({"log_softmax" + name, {x}, [negative](const Ds& in) { return log_softmax(in[0], negative); },
                    [axis](const Ds& in) { return along(in[0], axis, [](const Numbers& line, std::size_t i) { return std::log(exp_share(line, i)); }); }});
    rows.push_back({"cumsum" + name, {x}, [axis](const Ds& in) { return cumsum(in[0], axis); },
                    [axis](const Ds& in) { return along(in[0], axis, [](const Numbers& line, std::size_t i) { return std::accumulate(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(i) + 1, 0.0); }); }});
    rows.push_back({"sort" + name, {x}, [negative](const Ds& in) { return sort(in[0], negative); }, [axis](const Ds& in) {
      return along(in[0], axis, [](Numbers line, std::size_t i) {
        std::sort(line.begin(), line.end());
        return line[i];
      });
    }});
    rows.push_back({"argsort" + name, {x}, [axis](const Ds& in) { return cast<double>(argsort(in[0], axis)); }, [axis](const Ds& in) {
      return along(in[0], axis, [](const Numbers& line, std::size_t i) {
        for (std::size_t k = 0; k < line.size(); ++k)
          if (static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [&](double v) { return v < line[k]; })) == i) return static_cast<double>(k);
        return -1.0;
      });
    }});
    auto place = [](bool largest) {
      return [largest](const Numbers& v) { return static_cast<double>((largest ? std::max_element(v.begin(), v.end()) : std::min_element(v.begin(), v.end())) - v.begin()); };
    };
    rows.push_back({"argmax" + name, {x}, [axis](const Ds& in) { return cast<double>(argmax(in[0], axis)); }, [=](const Ds& in) { return reduced(in[0], axis, false, place(true)); }});
    rows.push_back({"argmin" + name, {x}, [negative](const Ds& in) { return cast<double>(argmin(in[0], negative, true)); }, [=](const Ds& in) { return reduced(in[0], axis, true, place(false)); }});
  }
  const auto x = sample({3, 5}, -2, 2);
  rows.push_back({"softmax(x)", {x}, [](const Ds& in) { return softmax(in[0]); }, [](const Ds& in) { return along(in[0], 1, exp_share); }});
  rows.push_back({"softmax(x, {0, 1})", {x}, [](const Ds& in) { return softmax(in[0], {0, 1}); },
                  [](const Ds& in) { return reshape(along(reshape(in[0], Shape{-1}), 0, exp_share), in[0].shape()); }});
  rows.push_back({"sort(x)", {x}, [](const Ds& in) { return sort(in[0]); }, [](const Ds& in) {
    return along(in[0], 1, [](Numbers line, std::size_t i) {
      std::sort(line.begin(), line.end());
      return line[i];
    });
  }});
  rows.push_back({"cumsum(x)", {x}, [](const Ds& in) { return cumsum(in[0]); }, [](const Ds& in) {
    auto v = in[0].to_vector();
    std::partial_sum(v.begin(), v.end(), v.begin());
    return D(Shape{15}, v);
  }});
  rows.push_back({"argmax(x)", {x}, [](const Ds& in) { return cast<double>(argmax(in[0])); }, [](const Ds& in) {
    const auto v = in[0].to_vector();
    return D(static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin()));
  }});
  rows.push_back({"argmin(x)", {x}, [](const Ds& in) { return cast<double>(argmin(in[0])); }, [](const Ds& in) {
    const auto v = in[0].to_vector();
    return D(static_cast<double>(std::min_element(v.begin(), v.end()) - v.begin()));
  }});
}

}  // namespace check
