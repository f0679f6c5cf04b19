// What code inside a map can ask of its named axes.
#pragma once
#include "collective_primitives.hpp"

namespace spmd {

/// Whether an axis of this name is in scope here.
inline bool axis_in_scope(std::string_view name) {
  for (auto& axis : detail::context().axes)
    if (axis.name && *axis.name == name) return true;
  return false;
}
/// The size of an axis, or the product over several; 1 for none. AxisError for a name that is not in scope, or given twice.
inline Index axis_size(const AxisNames& axis) {
  detail::check_names("axis_size", axis);
  Index n = 1;
  for (auto* name : axis) n *= detail::find_axis("axis_size", name).size;
  return n;
}
namespace detail {
/// This member's index on the (flattened) axis, as an integer of this type.
inline Any flat_index(const AxisNames& axis, const DType* type) {
  Any index;
  for (auto* name : axis) {
    auto here = std::move(interpret(make<const AxisIndexOf>(name, type), Anys())[0]);
    if (!index) {
      index = std::move(here);
      continue;
    }
    Anys both;
    both.push_back(std::move(index));
    both.push_back(std::move(here));
    index = std::move(interpret(make<const FlattenIndex>(find_axis("axis_index", name).size), both)[0]);
  }
  return index ? index : zeros(type, Shape{});
}
}  // namespace detail
/// The index on an axis of the shard or lane that asks, an int32 of rank 0; of several axes the flattened one, the first name being
/// the most significant.
inline Tensor<std::int32_t> axis_index(const AxisNames& axis) {
  detail::check_names("axis_index", axis);
  return Tensor<std::int32_t>(detail::flat_index(axis, dtype_of<std::int32_t>()));
}

}  // namespace spmd
