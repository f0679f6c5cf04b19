// Order along an axis.
#pragma once
#include "../device/host/sort.hpp"
#include "indexing.hpp"

namespace spmd {
namespace detail {

/// Where the sorted elements come from.
struct ArgSort {
  static constexpr std::string_view name = "argsort";
  Index axis;
  template <class T> Tensor<std::int32_t> impl(const Tensor<T>& x) const {
    const auto& s = x.shape();
    auto& in = x.any()->dense(name);
    auto out = Buffer::make(s, dtype_of<std::int32_t>(), in.device);
    host::arg_sort(out->template fill_as<std::int32_t>(), in.template as<T>(), extent(s, 0, axis), s[axis], extent(s, axis + 1, s.rank()));
    return Tensor<std::int32_t>(Any(out));
  }
  template <class T> auto vjp(const Tensor<std::int32_t>&, const Tensor<std::int32_t>&, const Tensor<T>&) const { return std::tuple(zero); }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return {bind<std::int32_t>(ArgSort{axis + 1}, Tensor<T>(args[0].value)).any(), true}; }
};

struct Sort {
  static constexpr std::string_view name = "sort";
  Index axis;
  template <class T> Tensor<T> impl(const Tensor<T>& x) const {
    const auto& s = x.shape();
    auto& in = x.any()->dense(name);
    auto out = Buffer::make(s, dtype_of<T>(), in.device);
    host::sort(out->template fill_as<T>(), in.template as<T>(), extent(s, 0, axis), s[axis], extent(s, axis + 1, s.rank()));
    return Tensor<T>(Any(out));
  }
  template <class T> auto vjp(const Tensor<T>& ct, const Tensor<T>&, const Tensor<T>& x) const {
    // The order of the order is where each element went.
    return std::tuple([=, this] {
      auto place = [this](const auto& y) { return bind<std::int32_t>(ArgSort{axis}, y); };
      return take_along_axis(ct, place(place(x)), axis);
    });
  }
  template <class T> Batched batch(const Axis&, const Batch& args) const { return {bind<T>(Sort{axis + 1}, Tensor<T>(args[0].value)).any(), true}; }
};

}  // namespace detail

/// The elements in ascending order along an axis; NaN comes last. Equal elements keep their order.
template <class T> Tensor<T> sort(const Tensor<T>& x, Index axis = -1) { return bind<T>(detail::Sort{detail::checked_axis("sort", axis, x.rank())}, x); }
/// The indices (int32) that sort an axis: sort(x, axis) is take_along_axis(x, argsort(x, axis), axis). Of equal elements the first comes first.
template <class T> Tensor<std::int32_t> argsort(const Tensor<T>& x, Index axis = -1) {
  return bind<std::int32_t>(detail::ArgSort{detail::checked_axis("argsort", axis, x.rank())}, x);
}

}  // namespace spmd
