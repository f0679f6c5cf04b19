// The operations of programs that need no axis name.
#include "interpreter.hpp"

namespace replay {
namespace {

using spmd::Axes;

/// A function of Tensor<float> to itself, by name.
using Unary = Float (*)(const Float&);
const std::map<std::string, Unary> unary_of_float = {
    {"sin", [](const Float& x) { return spmd::sin(x); }},
    {"cos", [](const Float& x) { return spmd::cos(x); }},
    {"tanh", [](const Float& x) { return spmd::tanh(x); }},
    {"exp", [](const Float& x) { return spmd::exp(x); }},
    {"expm1", [](const Float& x) { return spmd::expm1(x); }},
    {"log", [](const Float& x) { return spmd::log(x); }},
    {"log1p", [](const Float& x) { return spmd::log1p(x); }},
    {"sqrt", [](const Float& x) { return spmd::sqrt(x); }},
    {"rsqrt", [](const Float& x) { return spmd::rsqrt(x); }},
    {"atan", [](const Float& x) { return spmd::atan(x); }},
    {"erf", [](const Float& x) { return spmd::erf(x); }},
    {"sigmoid", [](const Float& x) { return spmd::sigmoid(x); }},
    {"relu", [](const Float& x) { return spmd::relu(x); }},
    {"softplus", [](const Float& x) { return spmd::softplus(x); }},
    {"gelu", [](const Float& x) { return spmd::gelu(x); }},
    {"floor", [](const Float& x) { return spmd::floor(x); }},
    {"round", [](const Float& x) { return spmd::round(x); }},
    {"stop_gradient", [](const Float& x) { return spmd::stop_gradient(x); }},
};
const std::map<std::string, Float (*)(const Float&, const Float&)> binary_of_float = {
    {"atan2", [](const Float& x, const Float& y) { return spmd::atan2(x, y); }},
    {"pow", [](const Float& x, const Float& y) { return spmd::pow(x, y); }},
};

Axes axes(const Instruction& n) { return axes_of(numbers(n.text("dims"))); }
bool keep(const Instruction& n) { return n.has("keep"); }

/// The elements again and again, as numpy.resize.
template <class T> spmd::Tensor<T> resized(const spmd::Tensor<T>& x, const Shape& shape) {
  std::vector<Index> rows;
  for (Index k = 0; k < shape.size(); ++k) rows.push_back(k % x.size());
  return spmd::reshape(spmd::take(spmd::reshape(x, Shape{-1}), rows, 0), shape);
}

/// What floats and integers have in common.
template <class T> std::optional<spmd::Tensor<T>> common(const Instruction& n, const std::vector<Value>& a) {
  using X = spmd::Tensor<T>;
  const auto at = [&](std::size_t k) -> const X& { return std::get<X>(a.at(k)); };
  const auto index = [&](std::size_t k) -> const Integer& { return std::get<Integer>(a.at(k)); };
  const auto list = [&] {
    std::vector<X> xs;
    for (std::size_t k = 0; k < a.size(); ++k) xs.push_back(at(k));
    return xs;
  };
  const auto& op = n.op;
  const auto is = [&](const char* name) { return op == name; };
  if (is("where_lt")) return std::visit([&](const auto& x) { return spmd::where(x < std::get<std::decay_t<decltype(x)>>(a[1]), at(2), at(3)); }, a[0]);
  if (is("take")) return spmd::take(at(0), index(1), n.number("dim"));
  if (is("take_along")) return spmd::take_along_axis(at(0), index(1), n.number("dim"));
  if (is("scatter_add")) return spmd::scatter_add(at(0), index(1), std::get<X>(a.at(2)));
  if (is("add")) return at(0) + at(1);
  if (is("sub")) return at(0) - at(1);
  if (is("mul")) return at(0) * at(1);
  if (is("div")) return at(0) / at(1);
  if (is("maximum")) return spmd::maximum(at(0), at(1));
  if (is("minimum")) return spmd::minimum(at(0), at(1));
  if (is("neg")) return -at(0);
  if (is("abs")) return spmd::abs(at(0));
  if (is("square")) return spmd::square(at(0));
  if (is("sign")) return spmd::sign(at(0));
  if (is("addc")) return at(0) + X(static_cast<T>(std::stod(n.text("c"))));
  if (is("mulc")) return at(0) * X(static_cast<T>(std::stod(n.text("c"))));
  if (is("clip")) return spmd::clip(at(0), static_cast<T>(n.number("lo")), static_cast<T>(n.number("hi")));
  if (is("sum")) return spmd::sum(at(0), axes(n), keep(n));
  if (is("prod")) return spmd::prod(at(0), axes(n), keep(n));
  if (is("max")) return spmd::max(at(0), axes(n), keep(n));
  if (is("min")) return spmd::min(at(0), axes(n), keep(n));
  if (is("cumsum")) return spmd::cumsum(at(0), n.number("dim"));
  if (is("sort")) return spmd::sort(at(0), n.number("dim"));
  if (is("reshape")) return spmd::reshape(at(0), shape_of(n.text("shape")));
  if (is("broadcast")) return spmd::broadcast_to(at(0), shape_of(n.text("shape")));
  if (is("resize")) return resized(at(0), shape_of(n.text("shape")));
  if (is("full")) return spmd::full<T>(shape_of(n.text("shape")), static_cast<T>(std::stod(n.text("c"))));
  if (is("transpose")) return spmd::transpose(at(0), axes(n));
  if (is("moveaxis")) return spmd::moveaxis(at(0), n.number("from"), n.number("to"));
  if (is("expand")) return spmd::expand_dims(at(0), n.number("dim"));
  if (is("flip")) return spmd::flip(at(0), axes(n));
  if (is("roll")) return spmd::roll(at(0), n.number("by"), n.number("dim"));
  if (is("tile")) return spmd::tile(at(0), axes_of(numbers(n.text("by"))));
  if (is("index")) return at(0)[n.number("at")];
  if (is("slice")) return spmd::slice(at(0), axes_of(numbers(n.text("begin"))), axes_of(numbers(n.text("end"))));
  if (is("pad")) return spmd::pad(at(0), axes_of(numbers(n.text("low"))), axes_of(numbers(n.text("high"))), static_cast<T>(n.number("c")));
  if (is("concatenate")) return spmd::concatenate(list(), n.number("dim"));
  if (is("stack")) return spmd::stack(list(), n.number("dim"));
  if (is("tril")) return spmd::tril(at(0), n.number("k"));
  if (is("triu")) return spmd::triu(at(0), n.number("k"));
  if (is("diag")) return spmd::diag(at(0), n.number("k"));
  return {};
}

std::optional<Float> of_float(const Instruction& n, const std::vector<Value>& a) {
  const auto x = [&](std::size_t k) -> const Float& { return std::get<Float>(a.at(k)); };
  const auto& op = n.op;
  if (auto f = unary_of_float.find(op); f != unary_of_float.end()) return f->second(x(0));
  if (auto f = binary_of_float.find(op); f != binary_of_float.end()) return f->second(x(0), x(1));
  if (op == "mean") return spmd::mean(x(0), axes(n), keep(n));
  if (op == "var") return spmd::var(x(0), axes(n), keep(n));
  if (op == "logsumexp") return spmd::logsumexp(x(0), axes(n), keep(n));
  if (op == "softmax") return spmd::softmax(x(0), axes(n));
  if (op == "log_softmax") return spmd::log_softmax(x(0), axes(n));
  if (op == "matmul") return spmd::matmul(x(0), x(1));
  if (op == "dot") return spmd::dot(x(0), x(1));
  if (op == "outer") return spmd::outer(x(0), x(1));
  if (op == "einsum") return spmd::einsum(n.text("by"), x(0), x(1));
  if (op == "to_float") return spmd::cast<float>(std::get<Integer>(a.at(0)));
  if (op == "one_hot") return spmd::one_hot<float>(std::get<Integer>(a.at(0)), n.number("n"));
  if (op == "uniform") return spmd::random::uniform<float>(spmd::random::fold_in(spmd::Key(static_cast<std::uint32_t>(n.number("seed"))), std::get<Integer>(a.at(0))), shape_of(n.text("shape")));
  return {};
}
std::optional<Integer> to_integer(const Instruction& n, const std::vector<Value>& a) {
  const auto compare = [&](auto relation) { return std::visit([&](const auto& x) { return spmd::cast<std::int32_t>(relation(x, std::get<std::decay_t<decltype(x)>>(a.at(1)))); }, a.at(0)); };
  const auto& op = n.op;
  if (op == "lt") return compare([](const auto& x, const auto& y) { return x < y; });
  if (op == "ge") return compare([](const auto& x, const auto& y) { return x >= y; });
  if (op == "eq") return compare([](const auto& x, const auto& y) { return x == y; });
  if (op == "to_int") return spmd::cast<std::int32_t>(std::get<Float>(a.at(0)));
  if (op == "argmax") return spmd::argmax(std::get<Float>(a.at(0)), n.number("dim"));
  if (op == "argmin") return spmd::argmin(std::get<Float>(a.at(0)), n.number("dim"));
  if (op == "argsort") return spmd::argsort(std::get<Float>(a.at(0)), n.number("dim"));
  if (op == "iota") return spmd::arange<std::int32_t>(static_cast<std::int32_t>(n.number("n")));
  if (op == "fmod") return spmd::fmod(std::get<Integer>(a.at(0)), std::get<Integer>(a.at(1)));
  return {};
}

}  // namespace

std::vector<Value> elementwise_or_shape(const Instruction& n, const std::vector<Value>& a) {
  if (auto y = to_integer(n, a)) return {*y};
  if (auto y = of_float(n, a)) return {*y};
  if (n.results.at(0)[0] == 'f') {
    if (auto y = common<float>(n, a)) return {*y};
  } else {
    if (auto y = common<std::int32_t>(n, a)) return {*y};
  }
  throw std::runtime_error("unknown operation " + n.op);
}

}  // namespace replay
