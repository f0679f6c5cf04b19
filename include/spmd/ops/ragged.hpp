// all_to_all of slices whose sizes differ. A composition: everybody gathers, and every row of the result finds its source.
#pragma once
#include "collective.hpp"
#include "shaping.hpp"

namespace spmd {

/// Sends slices of the leading axis: slice i of `operand`, send_sizes[i] rows from input_offsets[i] on, goes to member i / (K / n) of
/// the axis (K slices, n members) and lands there at output_offsets[i]. The result is `output` with what came written over it.
/// The four lists are integers of rank 1 and equal length, a multiple of n; recv_sizes is what the others send here. ShapeError when
/// lists or rows do not fit, or recv_sizes is not what the others send; AxisError for a slice out of range.
template <class T, class I>
Tensor<T> ragged_all_to_all(const Tensor<T>& operand, const Tensor<T>& output, const Tensor<I>& input_offsets, const Tensor<I>& send_sizes, const Tensor<I>& output_offsets,
                            const Tensor<I>& recv_sizes, const AxisNames& axis, const GroupOptions& options = {}, detail::Source source = detail::Source::current()) {
  constexpr std::string_view op = "ragged_all_to_all";
  const detail::Scope scope(op, axis, options.groups, true, source);
  for (auto* list : {&input_offsets, &send_sizes, &output_offsets, &recv_sizes})
    if (list->rank() != 1 || list->shape() != input_offsets.shape()) fail<ShapeError>(op, {"offsets and sizes must be lists of one length, got shapes ", input_offsets.shape(), " and ", list->shape()});
  if (operand.rank() == 0 || output.rank() == 0 || detail::without(operand.shape(), 0) != detail::without(output.shape(), 0))
    fail<ShapeError>(op, {"the rows of the operand, ", operand.shape(), ", and of the output, ", output.shape(), ", differ"});
  const Index slices = input_offsets.size(), members = scope.members(), each = slices / members, rows = operand.shape()[0], room = output.shape()[0];
  if (slices == 0 || slices % members != 0) fail<ShapeError>(op, {slices, " slices do not divide among ", members, " members"});

  const GatherOptions gather{.dim = 0, .tiled = false, .groups = options.groups};
  auto [values, from, sizes, to] = all_gather(std::tuple(operand, detail::wide(input_offsets), detail::wide(send_sizes), detail::wide(output_offsets)), axis, gather, source);
  if (axis.size() == 0) values = expand_dims(values, 0), from = expand_dims(from, 0), sizes = expand_dims(sizes, 0), to = expand_dims(to, 0);
  detail::List<Index> positions;
  for (Index i = 0; i < scope.size; ++i) positions.push_back(scope.groups ? scope.groups->position(i) : i);
  const Tensor<std::int64_t> me(detail::my_row(scope, detail::index_tensor(positions).any()));
  // What each member sends here: (members, each), laid out as a column beside the rows of the result.
  auto here = [&](const Tensor<std::int64_t>& all) { return reshape(take(all, me * each + arange<std::int64_t>(each), 1), Shape{members * each, 1}); };
  const auto begin = here(from), size = here(sizes), land = here(to);
  const auto wrong = any(reshape(detail::wide(recv_sizes), Shape{members * each, 1}) != size);
  if (wrong.any()->readable() && wrong.item()) fail<ShapeError>(op, {"recv_sizes are not the sizes that the others send here"});
  const auto member = reshape(broadcast_to(expand_dims(arange<std::int64_t>(members), 1), Shape{members, each}), Shape{members * each, 1});
  const auto row = arange<std::int64_t>(room), at = begin + row - land;
  const auto inside = row >= land && row < land + size;
  const auto fits = at >= 0 && at < rows && land >= 0 && land + size <= room;
  // A slice that does not fit becomes a row that does not exist, which take tells.
  const auto number = where(inside, where(fits, member * rows + at, members * rows), -1);
  const auto outside = any(size > 0 && (land < 0 || land + size > room));
  if (outside.any()->readable() && outside.item()) fail<AxisError>(op, {"a slice lands outside of the ", room, " rows of the output"});
  const auto found = max(number, 0);
  if (rows == 0 || room == 0) return output;
  const auto came = take(reshape(values, detail::replaced(operand.shape(), 0, Shape{members * rows})), where(found >= 0, found, 0), 0);
  Shape column = Shape::filled(output.rank(), 1);
  column[0] = room;
  return where(reshape(found >= 0, column), came, output);
}

}  // namespace spmd
