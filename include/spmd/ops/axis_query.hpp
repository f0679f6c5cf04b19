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
/// The index on an axis of the shard or lane that asks, an int32 of rank 0; of several axes the flattened one, the first name being
/// the most significant.
inline Tensor<std::int32_t> axis_index(const AxisNames& axis) {
  detail::check_names("axis_index", axis);
  if (axis.size() == 0) return Tensor<std::int32_t>(0);
  Tensor<std::int32_t> index(0);
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const auto n = static_cast<std::int32_t>(detail::find_axis("axis_index", axis[i]).size);
    const Tensor<std::int32_t> here(std::move(interpret(detail::make<const detail::AxisIndexOf>(axis[i]), Anys())[0]));
    index = i == 0 ? here : index * n + here;
  }
  return index;
}

}  // namespace spmd
