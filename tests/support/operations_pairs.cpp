// Functions of two or three elements, with shapes that broadcast.
#include "support/operations.hpp"

namespace check {
namespace {

using namespace spmd;
using F = double (*)(double, double);

/// The element that stands at `at` of the result.
double stretched(const Plain& x, const At& at) {
  At own(at.end() - static_cast<std::ptrdiff_t>(x.shape.rank()), at.end());
  for (Index d = 0; d < x.shape.rank(); ++d)
    if (x.shape[d] == 1) own[static_cast<std::size_t>(d)] = 0;
  return x(own);
}

template <class Run> void add(Rows& rows, const std::string& name, Run run, F f, double lo, double hi, double lo2, double hi2) {
  struct Shapes {
    Shape a, b, out;
  };
  for (auto& s : {Shapes{{3, 5}, {3, 5}, {3, 5}}, Shapes{{3, 1}, {5}, {3, 5}}, Shapes{{}, {2, 3}, {2, 3}}, Shapes{{2, 1, 3}, {5, 1}, {2, 5, 3}}}) {
    Operation row;
    row.name = name + s.a.text() + s.b.text();
    row.inputs = {sample(s.a, lo, hi), sample(s.b, lo2, hi2, 1)};
    row.run = [run](const Ds& x) { return D(run(x[0], x[1])); };
    row.expected = [f, out = s.out](const Ds& x) {
      const Plain a(x[0]), b(x[1]);
      return tabulate(out, [&](const At& at) { return f(stretched(a, at), stretched(b, at)); });
    };
    row.elementwise = s.a == s.b;
    rows.push_back(std::move(row));
  }
}

}  // namespace

void add_pairs(Rows& rows) {
  add(rows, "+", [](D a, D b) { return a + b; }, [](double a, double b) { return a + b; }, -2, 3, -1, 2);
  add(rows, "-", [](D a, D b) { return a - b; }, [](double a, double b) { return a - b; }, -2, 3, -1, 2);
  add(rows, "*", [](D a, D b) { return a * b; }, [](double a, double b) { return a * b; }, -2, 3, -1, 2);
  add(rows, "/", [](D a, D b) { return a / b; }, [](double a, double b) { return a / b; }, -2, 3, 0.5, 2);
  add(rows, "pow", [](D a, D b) { return pow(a, b); }, [](double a, double b) { return std::pow(a, b); }, 0.3, 3, -2, 2);
  add(rows, "atan2", [](D a, D b) { return atan2(a, b); }, [](double a, double b) { return std::atan2(a, b); }, -2, 3, 0.5, 2);
  add(rows, "maximum", [](D a, D b) { return maximum(a, b); }, [](double a, double b) { return a > b ? a : b; }, -2, 3, -1, 2);
  add(rows, "minimum", [](D a, D b) { return minimum(a, b); }, [](double a, double b) { return a < b ? a : b; }, -2, 3, -1, 2);
  add(rows, "fmod", [](D a, D b) { return fmod(a, b); }, [](double a, double b) { return std::fmod(a, b); }, -3, 4, 0.6, 1.7);
  add(rows, "==", [](D a, D b) { return cast<double>(round(a) == round(b)); }, [](double a, double b) { return std::nearbyint(a) == std::nearbyint(b) ? 1.0 : 0.0; }, -2, 3, -1.1, 2.2);
  add(rows, "!=", [](D a, D b) { return cast<double>(round(a) != round(b)); }, [](double a, double b) { return std::nearbyint(a) == std::nearbyint(b) ? 0.0 : 1.0; }, -2, 3, -1.1, 2.2);
  add(rows, "<", [](D a, D b) { return cast<double>(a < b); }, [](double a, double b) { return a < b ? 1.0 : 0.0; }, -2, 3, -1, 2);
  add(rows, "<=", [](D a, D b) { return cast<double>(round(a) <= round(b)); }, [](double a, double b) { return std::nearbyint(a) <= std::nearbyint(b) ? 1.0 : 0.0; }, -2, 3, -1.1, 2.2);
  add(rows, ">", [](D a, D b) { return cast<double>(a > b); }, [](double a, double b) { return a > b ? 1.0 : 0.0; }, -2, 3, -1, 2);
  add(rows, ">=", [](D a, D b) { return cast<double>(round(a) >= round(b)); }, [](double a, double b) { return std::nearbyint(a) >= std::nearbyint(b) ? 1.0 : 0.0; }, -2, 3, -1.1, 2.2);
  add(rows, "&&", [](D a, D b) { return cast<double>(a > 0.0 && b > 0.0); }, [](double a, double b) { return a > 0 && b > 0 ? 1.0 : 0.0; }, -2, 3, -1, 2);
  add(rows, "||", [](D a, D b) { return cast<double>(a > 0.0 || b > 0.0); }, [](double a, double b) { return a > 0 || b > 0 ? 1.0 : 0.0; }, -2, 3, -1, 2);
  add(rows, "where", [](D a, D b) { return where(a > b, a * 2.0, b); }, [](double a, double b) { return a > b ? 2 * a : b; }, -2, 3, -1, 2);
  add(rows, "clip by tensors", [](D a, D b) { return clip(a, b - 1.0, b); }, [](double a, double b) { return a < b - 1 ? b - 1 : a > b ? b : a; }, -2, 3, -1, 2);
  add(rows, "outer of what broadcasts", [](D a, D b) { return sin(a) * exp(b) - a / (b * b + 1.0); }, [](double a, double b) { return std::sin(a) * std::exp(b) - a / (b * b + 1); }, -2, 3, -1, 2);

  // Three operands of three shapes.
  Operation row;
  row.name = "where of three shapes";
  row.inputs = {sample({3, 1}), sample({5}, 0, 1, 1), sample({}, 2, 3, 2)};
  row.run = [](const Ds& x) { return where(x[0] > 0.4, x[1], x[2]); };
  row.expected = [](const Ds& x) {
    const Plain c(x[0]), a(x[1]), b(x[2]);
    return tabulate({3, 5}, [&](const At& at) { return stretched(c, at) > 0.4 ? stretched(a, at) : stretched(b, at); });
  };
  rows.push_back(row);
}

}  // namespace check
