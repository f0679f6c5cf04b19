// Einstein summation: a sum of products, written with one letter per axis.
#pragma once
#include "contraction.hpp"
#include "matrix.hpp"

namespace spmd {
namespace detail {

/// What an einsum's text says of operands of certain shapes. An index is the code of its letter; the axes that an ellipsis stands
/// for, counted from its end, are -1, -2 ...
struct EinsumPlan {
  List<Axes> operands;
  Axes output;
  List<std::pair<Index, Index>> sizes = {};  // of each index, in order of appearance

  Index& size(Index label) {
    for (auto& [known, n] : sizes)
      if (known == label) return n;
    sizes.push_back({label, 1});
    return sizes.back().second;
  }
};

/// Reads the text; errors quote it.
class EinsumReader {
 public:
  EinsumReader(std::string_view text, const Anys& operands) : text_(text) {
    std::string letters;
    for (char c : text)
      if (c != ' ') letters += c;
    const auto arrow = letters.find("->");
    const std::string inputs = letters.substr(0, arrow);
    for (std::size_t begin = 0;;) {
      const auto comma = inputs.find(',', begin);
      terms_.push_back(inputs.substr(begin, comma - begin));
      if (comma == std::string::npos) break;
      begin = comma + 1;
    }
    if (terms_.size() != operands.size()) wrong({"describes ", terms_.size(), terms_.size() == 1 ? " operand" : " operands", ", the call has ", operands.size()});
    for (std::size_t i = 0; i < terms_.size(); ++i) read_operand(i, operands[i]->shape);
    if (arrow == std::string::npos) implicit_output();
    else read_output(letters.substr(arrow + 2));
  }
  EinsumPlan plan() && { return std::move(plan_); }

 private:
  [[noreturn]] void wrong(std::initializer_list<Text> parts) const { fail<TypeError>("einsum", {"\"", text_, "\" ", concat(parts)}); }

  /// The labels of one term, its ellipsis standing for so many axes.
  Axes labels(const std::string& term, Index dots) const {
    Axes out;
    bool seen = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      const char c = term[i];
      if (c == '.') {
        if (term.compare(i, 3, "...") != 0 || seen) wrong({"has dots that are not one ellipsis in \"", term, "\""});
        seen = true;
        i += 2;
        for (Index d = dots; d > 0; --d) out.push_back(-d);
      } else if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
        wrong({"has an unexpected '", std::string(1, c), "': an index is a letter"});
      } else {
        out.push_back(c);
      }
    }
    return out;
  }
  void read_operand(std::size_t i, const Shape& shape) {
    const auto& term = terms_[i];
    const bool ellipsis = term.find('.') != std::string::npos;
    const Index named = labels(term, 0).rank(), dots = shape.rank() - named;
    if (dots < 0 || (dots > 0 && !ellipsis))
      fail<ShapeError>("einsum", {"\"", text_, "\" names ", named, named == 1 ? " axis" : " axes", " of operand ", i, ", its shape is ", shape});
    const auto list = labels(term, dots);
    dots_ = std::max(dots_, dots);
    for (Index d = 0; d < list.rank(); ++d) {
      for (Index e = 0; e < d; ++e)
        if (list[d] == list[e] && shape[d] != shape[e]) fail<ShapeError>("einsum", {"\"", text_, "\" takes the diagonal of axes ", e, " and ", d, " of operand ", i, ", its shape is ", shape});
      auto& size = plan_.size(list[d]);
      if (size == 1) size = shape[d];
      else if (shape[d] != 1 && shape[d] != size) fail<ShapeError>("einsum", {"\"", text_, "\": index ", name(list[d]), " has size ", shape[d], " in operand ", i, " of shape ", shape, ", and ", size, " in an earlier one"});
    }
    plan_.operands.push_back(list);
  }
  static std::string name(Index label) { return label < 0 ? "..." : std::string(1, static_cast<char>(label)); }
  /// The ellipsis, then every letter that appears once, in the order of the alphabet.
  void implicit_output() {
    for (Index d = dots_; d > 0; --d) plan_.output.push_back(-d);
    for (Index c = 'A'; c <= 'z'; ++c) {
      Index count = 0;
      for (auto& list : plan_.operands) count += std::count(list.begin(), list.end(), c);
      if (count == 1) plan_.output.push_back(c);
    }
  }
  void read_output(const std::string& term) {
    plan_.output = labels(term, dots_);
    for (Index d = 0; d < plan_.output.rank(); ++d) {
      const Index label = plan_.output[d];
      bool known = false;
      for (auto& list : plan_.operands) known |= list.contains(label);
      if (!known) wrong({"has the index ", name(label), " in its output and in no operand"});
      for (Index e = 0; e < d; ++e)
        if (plan_.output[e] == label) wrong({"has the index ", name(label), " twice in its output"});
    }
  }
  const std::string_view text_;
  List<std::string> terms_;
  Index dots_ = 0;
  EinsumPlan plan_;
};

/// A tensor with an index for each axis.
template <class T> struct Indexed {
  Tensor<T> x;
  Axes labels;

  /// No index twice, and none whose size here is 1 and elsewhere not.
  void simplify(EinsumPlan& plan) {
    for (Index d = 0; d < labels.rank(); ++d)
      for (Index e = d + 1; e < labels.rank(); ++e) {
        if (labels[d] != labels[e]) continue;
        const Index label = labels[d], last = labels.rank() - 1;
        x = Tensor<T>(diagonal(moveaxis(moveaxis(x.any(), e, last), d, last - 1), 0));
        labels.erase(e);
        labels.erase(d);
        labels.push_back(label);
        d = -1;
        break;
      }
    for (Index d = labels.rank(); d-- > 0;) {
      if (x.shape()[d] != 1 || plan.size(labels[d]) == 1) continue;
      x = Tensor<T>(reshape(x.any(), without(x.shape(), d)));
      labels.erase(d);
    }
  }
  /// Sums over all indices but these.
  void keep(const Axes& wanted) {
    Axes axes, left;
    for (Index d = 0; d < labels.rank(); ++d) (wanted.contains(labels[d]) ? left.push_back(labels[d]) : axes.push_back(d));
    if (axes.empty()) return;
    x = cast<T>(sum(x, axes));
    labels = left;
  }
  Axes order(std::initializer_list<const Axes*> groups) const {
    Axes perm;
    for (auto* group : groups)
      for (auto label : *group) perm.push_back(std::find(labels.begin(), labels.end(), label) - labels.begin());
    return perm;
  }
  Any ordered(std::initializer_list<const Axes*> groups) const { return detail::transpose(x.any(), order(groups)); }
  bool in_order(std::initializer_list<const Axes*> groups) const { return order(groups) == all_axes(labels.rank()); }
};

/// The product of two tensors, summed over the indices that are not wanted.
template <class T> Indexed<T> contract_pair(const Indexed<T>& a, const Indexed<T>& b, const Axes& wanted, EinsumPlan& plan) {
  Axes both, inner, left, right;
  for (auto label : a.labels) (!b.labels.contains(label) ? left : wanted.contains(label) ? both : inner).push_back(label);
  for (auto label : b.labels)
    if (!a.labels.contains(label)) right.push_back(label);
  auto sizes = [&](std::initializer_list<const Axes*> groups) {
    Shape shape;
    for (auto* group : groups)
      for (auto label : *group) shape.push_back(plan.size(label));
    return shape;
  };
  Axes labels;
  for (auto* group : {&both, &left, &right})
    for (auto label : *group) labels.push_back(label);
  const auto shape = sizes({&both, &left, &right});
  const Index stack = sizes({&both}).size(), m = sizes({&left}).size(), k = sizes({&inner}).size(), n = sizes({&right}).size();

  constexpr bool sums_as_it_is = std::same_as<SumType<T>, T> && std::same_as<host::Compute<T>, T>;
  if (inner.empty() || (sums_as_it_is && left.empty() && right.empty())) {  // no matrix product, or many of single numbers
    Shape beside_left = sizes({&both, &left, &inner}), before_right = sizes({&both});
    for (Index i = 0; i < right.rank(); ++i) beside_left.push_back(1);
    for (Index i = 0; i < left.rank(); ++i) before_right.push_back(1);
    for (auto d : sizes({&right, &inner})) before_right.push_back(d);
    const auto product = Tensor<T>(reshape(a.ordered({&both, &left, &inner}), beside_left)) * Tensor<T>(reshape(b.ordered({&both, &right, &inner}), before_right));
    if (inner.empty()) return {product, labels};
    Axes axes;
    for (Index i = 0; i < inner.rank(); ++i) axes.push_back(both.rank() + i);
    return {cast<T>(sum(product, axes)), labels};
  }
  // Whichever storage needs no copy; the product reads both.
  const bool turn_a = !a.in_order({&both, &left, &inner}) && a.in_order({&both, &inner, &left});
  const bool turn_b = !b.in_order({&both, &inner, &right}) && b.in_order({&both, &right, &inner});
  auto matrix = [&](const Any& x, Index rows, Index columns, bool turned) {
    if (turned) std::swap(rows, columns);
    return Tensor<T>(reshape(x, both.empty() ? Shape{rows, columns} : Shape{stack, rows, columns}));
  };
  const auto x = matrix(turn_a ? a.x.any() : a.ordered({&both, &left, &inner}), m, k, turn_a), y = matrix(turn_b ? b.x.any() : b.ordered({&both, &inner, &right}), k, n, turn_b);
  return {Tensor<T>(reshape(bind<T>(MatMul{turn_a, turn_b}, x, y).any(), shape)), labels};
}

template <class T> Tensor<T> einsum(std::string_view text, const Anys& operands) {
  auto plan = EinsumReader(text, operands).plan();
  List<Indexed<T>> list;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    list.push_back({Tensor<T>(operands[i]), plan.operands[i]});
    list.back().simplify(plan);
  }
  /// The indices that the output and all operands but two want.
  auto wanted = [&](std::size_t a, std::size_t b) {
    Axes out = plan.output;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (i != a && i != b)
        for (auto label : list[i].labels)
          if (!out.contains(label)) out.push_back(label);
    return out;
  };
  for (std::size_t i = 0; i < list.size(); ++i) list[i].keep(wanted(i, i));
  while (list.size() > 1) {
    // The pair with the smallest result.
    std::size_t a = 0, b = 1;
    Index smallest = -1;
    for (std::size_t i = 0; i + 1 < list.size(); ++i)
      for (std::size_t j = i + 1; j < list.size(); ++j) {
        Index size = 1;
        for (auto label : wanted(i, j))
          if (list[i].labels.contains(label) || list[j].labels.contains(label)) size *= plan.size(label);
        if (smallest >= 0 && size >= smallest) continue;
        smallest = size;
        a = i;
        b = j;
      }
    auto product = contract_pair(list[a], list[b], wanted(a, b), plan);
    list[a] = std::move(product);
    for (std::size_t i = b; i + 1 < list.size(); ++i) list[i] = std::move(list[i + 1]);
    list.pop_back();
  }
  return Tensor<T>(list[0].ordered({&plan.output}));
}

}  // namespace detail

/// The sum of products that a text describes, by NumPy's rules: einsum("ij,jk->ik", a, b) is matmul(a, b). A letter names an axis; indices that
/// the output lacks are summed; without "->" the output has the indices that appear once, in alphabetical order; an index twice in one operand
/// is its diagonal; "..." stands for axes that broadcast, as sizes of 1 do. Products run as matrix products, the pair with the smallest result
/// first. TypeError for a text that is wrong or has another number of operands; ShapeError for shapes that do not fit it.
template <Number T, class... More>
  requires(std::same_as<More, Tensor<T>> && ...)
Tensor<T> einsum(std::string_view text, const Tensor<T>& x, const More&... more) {
  Anys operands;
  operands.push_back(x.any());
  (operands.push_back(more.any()), ...);
  return detail::einsum<T>(text, operands);
}
template <Number T> Tensor<T> einsum(std::string_view text, const std::vector<Tensor<T>>& xs) { return detail::einsum<T>(text, detail::any_list("einsum", xs)); }

}  // namespace spmd
