// Runs programs of program.hpp with spmd. Nothing is instantiated per program: registers are Tensor<float> or Tensor<int32>, and every
// map, gradient and loop is one call with a lambda over Values.
#pragma once
#include <functional>
#include <memory>
#include <spmd/spmd.hpp>
#include <variant>

#include "program.hpp"

namespace replay {

using spmd::Index;
using spmd::Shape;
using Integer = spmd::Tensor<std::int32_t>;
using Float = spmd::Tensor<float>;
using Value = std::variant<Float, Integer>;

/// Operands or results of a block: a tree.
struct Values {
  std::vector<Float> f;
  std::vector<Integer> i;
};
/// Registers, and those around them.
struct Scope {
  std::shared_ptr<const Scope> outer;
  std::map<std::string, Value> registers;
  const Value& operator[](const std::string& name) const {
    for (auto* scope = this; scope; scope = scope->outer.get())
      if (auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
    throw std::runtime_error("no register " + name);
  }
};
using ScopePointer = std::shared_ptr<const Scope>;

inline Shape shape_of(const std::string& text) { return Shape(numbers(text, 'x')); }
inline spmd::Axes axes_of(const std::vector<Index>& list) {
  spmd::Axes axes;
  for (auto i : list) axes.push_back(i);
  return axes;
}
inline std::vector<std::vector<Index>> groups_of(const Instruction& n) {
  std::vector<std::vector<Index>> groups;
  if (n.has("groups"))
    for (auto& part : split_text(n.text("groups"), '/')) groups.push_back(numbers(part));
  return groups;
}
inline std::vector<std::string> names_of(const Instruction& n) { return split_text(n.text("axis"), ','); }

inline Values pack(const std::vector<Value>& list) {
  Values values;
  for (auto& v : list) {
    if (v.index() == 0) values.f.push_back(std::get<0>(v));
    else values.i.push_back(std::get<1>(v));
  }
  return values;
}
/// The packed values, in the order of the names.
inline std::vector<Value> unpack(const std::vector<std::string>& names, const Values& values) {
  std::vector<Value> list;
  std::size_t f = 0, i = 0;
  for (auto& name : names) {
    if (name[0] == 'f') list.push_back(values.f.at(f++));
    else list.push_back(values.i.at(i++));
  }
  if (f != values.f.size() || i != values.i.size()) throw std::runtime_error("a block has other results than its instruction");
  return list;
}

std::vector<Value> elementwise_or_shape(const Instruction& n, const std::vector<Value>& a);  // operations.cpp
std::vector<Value> collective(const Instruction& n, const std::vector<Value>& a);            // collectives.cpp

/// Runs the instructions of blocks.
class Interpreter {
 public:
  static Values run(const Block& block, const ScopePointer& outer, const Values& arguments) {
    auto scope = std::make_shared<Scope>();
    scope->outer = outer;
    const auto list = unpack(block.parameters, arguments);
    for (std::size_t k = 0; k < list.size(); ++k) scope->registers.insert_or_assign(block.parameters[k], list[k]);
    for (auto& n : block.body) step(n, scope);
    std::vector<Value> results;
    for (auto& name : block.results) results.push_back((*scope)[name]);
    return pack(results);
  }
  static void step(const Instruction& n, const std::shared_ptr<Scope>& scope) {
    std::vector<Value> operands;
    for (auto& name : n.operands) operands.push_back((*scope)[name]);
    const auto results = n.blocks.empty() ? plain(n, operands) : structured(n, scope, operands);
    if (results.size() != n.results.size()) throw std::runtime_error(n.op + " has another number of results");
    for (std::size_t k = 0; k < results.size(); ++k) scope->registers.insert_or_assign(n.results[k], results[k]);
  }

 private:
  static std::vector<Value> plain(const Instruction& n, const std::vector<Value>& operands) {
    return n.has("axis") && n.text("axis")[0] >= 'a' ? collective(n, operands) : elementwise_or_shape(n, operands);
  }
  static spmd::AxisSpecs specs(const std::string& text, const std::vector<std::string>& names) {
    std::vector<spmd::AxisSpec> f, i;
    const auto parts = split_text(text, ',');
    for (std::size_t k = 0; k < names.size(); ++k) {
      const auto& part = parts.at(k);
      auto& list = names[k][0] == 'f' ? f : i;
      if (part == "r") list.push_back(spmd::replicated);
      else if (part[0] == 's') list.push_back(spmd::split(std::stoi(part.substr(1))));
      else list.push_back(spmd::each(std::stoi(part)));
    }
    std::vector<spmd::AxisSpec> members;
    members.emplace_back(std::move(f));
    members.emplace_back(std::move(i));
    return spmd::AxisSpecs(spmd::AxisSpec(std::move(members)));
  }
  static std::vector<Value> structured(const Instruction& n, const ScopePointer& scope, const std::vector<Value>& operands) {
    const auto& block = n.blocks.at(0);
    const auto call = [&block, scope](const Values& x) { return run(block, scope, x); };
    const auto inputs = pack(operands);
    if (n.op == "vmap" || n.op == "pmap") {
      spmd::MapOptions options;
      options.axis_name = n.text("name");
      options.in_axes = specs(n.text("in"), n.operands);
      options.out_axes = specs(n.text("out"), n.results);
      options.axis_size = n.number("size");
      return unpack(n.results, n.op == "vmap" ? spmd::vmap(call, options)(inputs) : spmd::pmap(call, options)(inputs));
    }
    if (n.op == "cond") {
      const Values rest{inputs.f, {inputs.i.begin() + 1, inputs.i.end()}};
      const auto& other = n.blocks.at(1);
      return unpack(n.results, spmd::cond(inputs.i.at(0) > 0, call, [&](const Values& x) { return run(other, scope, x); }, rest));
    }
    if (n.op == "checkpoint") return unpack(n.results, spmd::checkpoint(call)(inputs));
    if (n.op == "while") {  // operands: the number of steps, then the carry
      const auto steps = inputs.i.at(0);
      const Values rest{inputs.f, {inputs.i.begin() + 1, inputs.i.end()}};
      const auto test = [&](const std::pair<Integer, Values>& c) { return c.first < steps; };
      const auto body = [&](const std::pair<Integer, Values>& c) { return std::pair(c.first + 1, call(c.second)); };
      return unpack(n.results, spmd::while_loop(test, body, std::pair(Integer(0), rest)).second);
    }
    if (n.op == "fori") {
      const auto body = [&](Index i, const Values& c) {
        Values x = c;
        x.i.insert(x.i.begin(), Integer(static_cast<std::int32_t>(i)));
        return call(x);
      };
      return unpack(n.results, spmd::fori_loop(n.number("lo"), n.number("hi"), body, inputs));
    }
    if (n.op == "scan") return scan(n, call, operands);
    if (n.op == "grad") return grad(n, scope, operands);
    if (n.op == "vjp") return vjp(n, scope, operands);
    throw std::runtime_error("unknown operation " + n.op);
  }
  /// The first `carry` operands and results are the carry; the others are xs and ys.
  template <class Call> static std::vector<Value> scan(const Instruction& n, const Call& call, const std::vector<Value>& operands) {
    const auto count = static_cast<std::ptrdiff_t>(n.number("carry"));
    const auto part = [](const auto& list, std::ptrdiff_t from, std::ptrdiff_t to) { return std::decay_t<decltype(list)>(list.begin() + from, list.begin() + to); };
    const auto size = static_cast<std::ptrdiff_t>(operands.size()), outs = static_cast<std::ptrdiff_t>(n.results.size());
    const auto& block = n.blocks.at(0);
    const auto body = [&](const Values& c, const Values& x) {
      auto list = unpack(part(block.parameters, 0, count), c);
      const auto rest = unpack(part(block.parameters, count, size), x);
      list.insert(list.end(), rest.begin(), rest.end());
      const auto results = unpack(block.results, call(pack(list)));
      return std::pair(pack(part(results, 0, count)), pack(part(results, count, outs)));
    };
    const auto [carry, ys] = spmd::scan(body, pack(part(operands, 0, count)), pack(part(operands, count, size)));
    auto list = unpack(part(n.results, 0, count), carry);
    const auto rest = unpack(part(n.results, count, outs), ys);
    list.insert(list.end(), rest.begin(), rest.end());
    return list;
  }
  /// The gradient in all operands (float) of the block's first result (rank 0): the gradients, the value where value=1, then the
  /// block's other results.
  static std::vector<Value> grad(const Instruction& n, const ScopePointer& scope, const std::vector<Value>& operands) {
    const auto& block = n.blocks.at(0);
    const std::vector<std::string> aux_names(block.results.begin() + 1, block.results.end());
    const auto loss = [&](const std::vector<Float>& x) {
      const auto out = run(block, scope, Values{x, {}});
      return std::pair(out.f.at(0), Values{{out.f.begin() + 1, out.f.end()}, out.i});
    };
    std::vector<Value> list;
    const auto add = [&](const auto& values) { list.insert(list.end(), values.begin(), values.end()); };
    const auto x = pack(operands).f;
    if (n.number("value") == 1) {
      const auto [value, gradient] = spmd::value_and_grad(loss)(x);
      add(gradient);
      list.push_back(value.first);
      add(unpack(aux_names, value.second));
    } else {
      const auto [gradient, aux] = spmd::grad(loss)(x);
      add(gradient);
      add(unpack(aux_names, aux));
    }
    return list;
  }
  /// The operands are `count` arguments, then a cotangent for each result of the block (all float): its results, then the pullback's.
  static std::vector<Value> vjp(const Instruction& n, const ScopePointer& scope, const std::vector<Value>& operands) {
    const auto all = pack(operands).f;
    const auto count = static_cast<std::ptrdiff_t>(n.number("count"));
    const auto [y, pullback] = spmd::vjp([&](const std::vector<Float>& x) { return run(n.blocks.at(0), scope, Values{x, {}}).f; }, std::vector<Float>(all.begin(), all.begin() + count));
    std::vector<Value> list(y.begin(), y.end());
    const auto [back] = pullback(std::vector<Float>(all.begin() + count, all.end()));
    list.insert(list.end(), back.begin(), back.end());
    return list;
  }
};

inline Value value_of(const Array& a) {
  const Shape shape(a.shape);
  if (a.kind == "i") return Integer(shape, std::vector<std::int32_t>(a.elements.begin(), a.elements.end()));
  return Float(shape, std::vector<float>(a.elements.begin(), a.elements.end()));
}

/// What differs from the answers; empty if nothing does.
inline std::string difference(const Program& p) {
  auto scope = std::make_shared<Scope>();
  for (auto& a : p.inputs) scope->registers.insert_or_assign(a.name, value_of(a));
  for (auto& n : p.main.body) Interpreter::step(n, scope);
  std::ostringstream text;
  for (auto& a : p.answers) {
    const auto& value = (*scope)[a.name];
    const Shape shape(a.shape);
    const auto have = std::visit([](auto& x) { return x.shape(); }, value);
    if (have != shape) {
      text << a.name << ": shape " << have.text() << ", JAX has " << shape.text() << "\n";
      continue;
    }
    const auto elements = std::visit([](auto& x) { const auto v = x.to_vector(); return std::vector<double>(v.begin(), v.end()); }, value);
    const double tolerance = a.kind == "f" ? 1e-5 : a.kind == "g" ? 1e-4 : 0;
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const double x = elements[k], y = a.elements.at(k), expected = a.kind == "i" ? y : static_cast<double>(static_cast<float>(y));
      if (x == expected || (x != x && y != y) || std::abs(x - expected) <= tolerance * (1 + std::abs(expected))) continue;
      text.precision(9);
      text << a.name << ": element " << k << " is " << x << ", JAX has " << expected << "\n";
      break;
    }
  }
  return text.str();
}

}  // namespace replay
