// Products that sum: all ranks of matmul, dot, outer, einsum. What is expected comes from one plain loop over all indices.
#include "support/operations.hpp"

#include <map>

namespace check {
namespace {

using namespace spmd;

/// Sum of products over every assignment of the letters: "ij,jk->ik". A size of one goes with any.
D plain_einsum(const std::string& text, const Ds& x) {
  const auto arrow = text.find("->");
  std::vector<std::string> terms{""};
  for (char c : text.substr(0, arrow)) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  std::map<char, Index> sizes, index;
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t d = 0; d < terms[i].size(); ++d) sizes[terms[i][d]] = std::max(sizes[terms[i][d]], x[i].shape()[static_cast<Index>(d)]);
  const auto out = text.substr(arrow + 2);
  Shape shape, inner;
  std::string summed;
  for (char c : out) shape.push_back(sizes[c]);
  for (auto& [c, n] : sizes)
    if (out.find(c) == std::string::npos) {
      summed += c;
      inner.push_back(n);
    }
  std::vector<Plain> plain(x.begin(), x.end());
  return tabulate(shape, [&](const At& at) {
    for (std::size_t d = 0; d < out.size(); ++d) index[out[d]] = at[d];
    double total = 0;
    tabulate(inner, [&](const At& in) {
      for (std::size_t d = 0; d < summed.size(); ++d) index[summed[d]] = in[d];
      double product = 1;
      for (std::size_t i = 0; i < terms.size(); ++i) {
        At place;
        for (std::size_t d = 0; d < terms[i].size(); ++d) place.push_back(plain[i].shape[static_cast<Index>(d)] == 1 ? 0 : index[terms[i][d]]);
        product *= plain[i](place);
      }
      total += product;
      return 0.0;
    });
    return total;
  });
}
Ds samples(const std::vector<Shape>& shapes) {
  Ds out;
  for (std::size_t i = 0; i < shapes.size(); ++i) out.push_back(sample(shapes[i], -1, 2, static_cast<int>(i)));
  return out;
}
std::string text_of(const std::vector<Shape>& shapes) {
  std::string out;
  for (auto& s : shapes) out += s.text();
  return out;
}

}  // namespace

void add_products(Rows& rows) {
  struct Product {
    const char* meaning;
    std::vector<Shape> shapes;
  };
  for (auto& p : {Product{"k,k->", {{5}, {5}}}, Product{"ik,kj->ij", {{3, 5}, {5, 2}}}, Product{"k,kj->j", {{5}, {5, 2}}}, Product{"ik,k->i", {{3, 5}, {5}}},
                  Product{"aik,kj->aij", {{4, 3, 5}, {5, 2}}}, Product{"aik,akj->aij", {{4, 3, 5}, {4, 5, 2}}}, Product{"ik,akj->aij", {{3, 5}, {4, 5, 2}}},
                  Product{"k,akj->aj", {{5}, {4, 5, 2}}}, Product{"aik,k->ai", {{4, 3, 5}, {5}}}, Product{"abik,bkj->abij", {{2, 1, 3, 5}, {4, 5, 2}}},
                  Product{"aik,bakj->baij", {{2, 3, 5}, {3, 1, 5, 2}}}, Product{"aik,akj->aij", {{1, 3, 5}, {4, 5, 2}}}, Product{"ik,kj->ij", {{1, 1}, {1, 3}}}})
    rows.push_back({"matmul" + text_of(p.shapes), samples(p.shapes), [](const Ds& x) { return matmul(x[0], x[1]); }, [meaning = p.meaning](const Ds& x) { return plain_einsum(meaning, x); }});
  for (auto& p : {Product{"k,k->", {{5}, {5}}}, Product{"ik,kj->ij", {{3, 5}, {5, 2}}}, Product{",ij->ij", {{}, {3, 5}}}, Product{"i,->i", {{3}, {}}}, Product{"aik,k->ai", {{2, 3, 5}, {5}}},
                  Product{"ik,akj->iaj", {{3, 5}, {4, 5, 2}}}, Product{"bik,akj->biaj", {{2, 3, 5}, {4, 5, 2}}}})
    rows.push_back({"dot" + text_of(p.shapes), samples(p.shapes), [](const Ds& x) { return dot(x[0], x[1]); }, [meaning = p.meaning](const Ds& x) { return plain_einsum(meaning, x); }});
  rows.push_back({"outer", samples({{3}, {5}}), [](const Ds& x) { return outer(x[0], x[1]); }, [](const Ds& x) { return plain_einsum("i,j->ij", x); }});
  rows.push_back({"outer of matrices", samples({{3, 2}, {5}}), [](const Ds& x) { return outer(x[0], x[1]); }, [](const Ds& x) { return reshape(plain_einsum("ij,k->ijk", x), Shape{6, 5}); }});
  // Storage that needs no copy and storage that does: gradients read operands transposed.
  rows.push_back({"matmul of transposes", samples({{5, 3}, {2, 5}}), [](const Ds& x) { return matmul(transpose(x[0]), transpose(x[1])); }, [](const Ds& x) { return plain_einsum("ki,jk->ij", x); }});

  for (auto& p : {Product{"ij,jk->ik", {{3, 5}, {5, 2}}}, Product{"ji,jk->ik", {{5, 3}, {5, 2}}}, Product{"ij,kj->ki", {{3, 5}, {2, 5}}}, Product{"i,i->", {{5}, {5}}}, Product{"i,j->ij", {{3}, {5}}},
                  Product{"ij,ij->ij", {{3, 5}, {3, 5}}}, Product{"bi,bi->b", {{3, 5}, {3, 5}}}, Product{"bij,bjk->bik", {{2, 3, 5}, {2, 5, 4}}}, Product{"ijb,kjb->bki", {{3, 5, 2}, {4, 5, 2}}},
                  Product{"ii->i", {{3, 3}}}, Product{"ii->", {{3, 3}}}, Product{"iji->j", {{3, 5, 3}}}, Product{"iij,jk->ik", {{3, 3, 5}, {5, 2}}}, Product{"ijk->kij", {{2, 3, 5}}},
                  Product{"ij->", {{3, 5}}}, Product{"ij->i", {{3, 5}}}, Product{"ij,jk,kl->il", {{2, 3}, {3, 5}, {5, 4}}}, Product{"a,ab,abc->c", {{3}, {3, 2}, {3, 2, 5}}},
                  Product{"bqhd,bkhd->bhqk", {{2, 3, 2, 5}, {2, 4, 2, 5}}}, Product{"ij,jk->ik", {{3, 1}, {5, 2}}}, Product{"ij,k->ijk", {{3, 1}, {5}}}, Product{",ij->ji", {{}, {3, 5}}}})
    rows.push_back({std::string("einsum ") + p.meaning + " " + text_of(p.shapes), samples(p.shapes), [meaning = p.meaning](const Ds& x) { return einsum(meaning, x); },
                    [meaning = p.meaning](const Ds& x) { return plain_einsum(meaning, x); }});
  // Texts that leave something unsaid.
  struct Short {
    const char *text, *meaning;
    std::vector<Shape> shapes;
  };
  for (auto& s : {Short{"ij,jk", "ij,jk->ik", {{3, 5}, {5, 2}}}, Short{"ba", "ba->ab", {{3, 5}}}, Short{"ii", "ii->", {{3, 3}}}, Short{"Ba", "Ba->Ba", {{3, 5}}},
                  Short{"...ij,...jk->...ik", "aij,ajk->aik", {{2, 3, 5}, {2, 5, 4}}}, Short{"...ij,...jk", "aij,jk->aik", {{2, 3, 5}, {5, 4}}}, Short{"i...,i...->...", "iab,ib->ab", {{3, 2, 5}, {3, 5}}},
                  Short{"...i,...j->...ij", "abi,bj->abij", {{4, 1, 2}, {3, 5}}}, Short{"...,...", "ab,b->ab", {{3, 1}, {5}}}, Short{" i j , j k -> i k ", "ij,jk->ik", {{3, 5}, {5, 2}}},
                  Short{"...ii->...i", "aii->ai", {{2, 3, 3}}}, Short{"...i->i", "ai->i", {{3, 5}}}})
    rows.push_back({std::string("einsum ") + s.text, samples(s.shapes), [text = s.text](const Ds& x) { return x.size() == 1 ? einsum(text, x[0]) : einsum(text, x[0], x[1]); },
                    [meaning = s.meaning](const Ds& x) { return plain_einsum(meaning, x); }});
}

}  // namespace check
