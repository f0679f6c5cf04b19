#include "support/operations.hpp"

namespace check {

const std::vector<Operation>& operations() {
  static const auto* list = [] {
    auto* rows = new Rows;
    for (auto* add : {add_elementwise, add_pairs, add_reductions, add_shapes, add_indexing, add_products, add_images}) add(*rows);
    return rows;
  }();
  return *list;
}

}  // namespace check
