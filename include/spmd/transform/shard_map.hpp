// Meshes: a grid of devices with named axes, and shard_map, nested pmaps over it written as specs per dimension.
#pragma once
#include "pmap.hpp"

namespace spmd {

/// A grid of devices, row-major, the first axis being the most significant.
struct Mesh {
  std::vector<std::pair<std::string, Index>> axes;
  std::vector<Device> devices;
  Index size() const {
    Index n = 1;
    for (auto& axis : axes) n *= axis.second;
    return n;
  }
};
/// A mesh over devices, default the first ones. DeviceError when there are too few, AxisError when a name comes twice.
inline Mesh make_mesh(std::vector<std::pair<std::string, Index>> axes, std::vector<Device> on = {}) {
  Mesh mesh{std::move(axes), {}};
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    if (mesh.axes[i].second < 1) fail<ShapeError>("make_mesh", {"the axis \"", mesh.axes[i].first, "\" has size ", mesh.axes[i].second});
    for (std::size_t j = 0; j < i; ++j)
      if (mesh.axes[i].first == mesh.axes[j].first) fail<AxisError>("make_mesh", {"the axis \"", mesh.axes[i].first, "\" is named twice"});
  }
  if (mesh.axes.empty()) fail<AxisError>("make_mesh", {"a mesh needs an axis"});
  const bool given = !on.empty();
  if (!given) on = devices();
  const auto n = static_cast<std::size_t>(mesh.size());
  if (on.size() < n) fail<DeviceError>("make_mesh", {"a mesh of ", n, " needs as many devices, there are ", on.size()});
  detail::check_devices("make_mesh", on);
  mesh.devices.assign(on.begin(), on.begin() + static_cast<std::ptrdiff_t>(n));
  return mesh;
}

/// Several axis names for one dimension, the first being the most significant.
struct names {
  names(std::initializer_list<std::string> axes) : list(axes) {}
  std::vector<std::string> list;
};
/// A dimension that no axis cuts.
struct None {};
inline constexpr None none;

/// Which axes cut each dimension: a name, `none` or several names. Dimensions not mentioned are whole; P() is replicated.
class P {
 public:
  P() = default;
  template <class... Dims>
    requires(sizeof...(Dims) > 0)
  P(const Dims&... dims) {
    (add(dims), ...);
  }
  const std::vector<std::vector<std::string>>& dims() const { return dims_; }

 private:
  void add(None) { dims_.push_back({}); }
  void add(const names& n) { dims_.push_back(n.list); }
  void add(const std::string& name) { dims_.push_back({name}); }
  std::vector<std::vector<std::string>> dims_;
};
/// One spec for all, or a list with one for each.
class Specs {
 public:
  Specs(P one) : specs_{std::move(one)} {}
  Specs(std::initializer_list<P> list) : list_(true), specs_(list) {}
  Specs(std::vector<P> list) : list_(true), specs_(std::move(list)) {}
  bool is_list() const { return list_; }
  std::size_t size() const { return specs_.size(); }
  const P& operator[](std::size_t i) const { return specs_[list_ ? i : 0]; }

 private:
  bool list_ = false;
  std::vector<P> specs_;
};

namespace detail {

/// A spec against its mesh: names known, none twice.
inline void check_spec(const Mesh& mesh, const P& spec) {
  std::vector<std::string> used;
  for (auto& dim : spec.dims())
    for (auto& name : dim) {
      if (std::none_of(mesh.axes.begin(), mesh.axes.end(), [&](auto& axis) { return axis.first == name; })) fail<AxisError>("shard_map", {"the mesh has no axis \"", name, "\""});
      if (std::find(used.begin(), used.end(), name) != used.end()) fail<AxisError>("shard_map", {"a spec names the axis \"", name, "\" twice"});
      used.push_back(name);
    }
}
inline Index mesh_level(const Mesh& mesh, const std::string& name) {
  for (std::size_t i = 0; i < mesh.axes.size(); ++i)
    if (mesh.axes[i].first == name) return static_cast<Index>(i);
  return -1;
}
/// Nested maps cut a dimension in the order of the mesh. Where a spec names its axes in another order, blocks change places before,
/// and back after.
inline Any reorder_blocks(const Mesh& mesh, const P& spec, Any x, bool back) {
  for (std::size_t d = 0; d < spec.dims().size(); ++d) {
    const auto& dim = spec.dims()[d];
    const auto count = static_cast<Index>(dim.size());
    if (count < 2) continue;
    List<Index> order;  // position in the spec, by level of the mesh
    for (Index i = 0; i < count; ++i) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return mesh_level(mesh, dim[static_cast<std::size_t>(a)]) < mesh_level(mesh, dim[static_cast<std::size_t>(b)]); });
    if (std::is_sorted(order.begin(), order.end())) continue;
    const auto axis = static_cast<Index>(d);
    Shape apart = x->shape;
    Index blocks = 1;
    List<Index> sizes;
    for (auto& name : dim) {
      sizes.push_back(mesh.axes[static_cast<std::size_t>(mesh_level(mesh, name))].second);
      blocks *= sizes.back();
    }
    apart[axis] /= blocks;
    auto perm = all_axes(x->shape.rank() + count);
    for (Index i = 0; i < count; ++i) {
      const auto from = order[static_cast<std::size_t>(i)];
      apart.insert(axis + i, sizes[static_cast<std::size_t>(back ? from : i)]);
      perm[back ? axis + from : axis + i] = back ? axis + i : axis + from;
    }
    const auto shape = x->shape;
    x = reshape(transpose(reshape(x, apart), perm), shape);
  }
  return x;
}
/// Before anything runs: a leaf has the dimensions that its spec names, and, of an argument, sizes that divide.
inline void check_fit(const Mesh& mesh, const P& spec, const Shape& shape, bool is_key, const std::string& leaf, bool divides) {
  const auto& dims = spec.dims();
  if (static_cast<Index>(dims.size()) > shape.rank() - is_key)
    fail<ShapeError>("shard_map", {leaf, " of shape ", shape, " has fewer dimensions than its spec, which names ", dims.size(), "; rank 0 needs P()"});
  for (std::size_t d = 0; divides && d < dims.size(); ++d) {
    Index blocks = 1;
    for (auto& name : dims[d]) blocks *= mesh.axes[static_cast<std::size_t>(mesh_level(mesh, name))].second;
    const auto n = shape[static_cast<Index>(d)];
    if (n % blocks != 0 || (n == 0 && !dims[d].empty()))
      fail<ShapeError>("shard_map", {leaf, " of shape ", shape, " has size ", n, " on axis ", d, ", which does not divide into ", blocks, " blocks: drop rows, or pad with pad_to_multiple(x, ", blocks, ", ", d, ")"});
  }
}
/// What the map of one level does with a value of this spec.
inline AxisSpec level_spec(const Mesh& mesh, const P& spec, std::size_t level) {
  for (std::size_t d = 0; d < spec.dims().size(); ++d)
    for (auto& name : spec.dims()[d])
      if (name == mesh.axes[level].first) return split(static_cast<int>(d));
  return replicated;
}

/// The map of one axis of the mesh, which runs those inside it.
template <class F, class Out> struct MeshLevel {
  const F* f;
  const Mesh* mesh;
  const Specs *in, *out;
  std::size_t level;

  template <class... Args> Out operator()(const Args&... args) const {
    if (level == mesh->axes.size()) {
      if constexpr (std::is_same_v<Out, std::tuple<>>) {
        (*f)(args...);
        return Out();
      } else {
        Out result = lift((*f)(args...));
        check_results(result);
        return result;
      }
    }
    MapOptions options{.axis_name = mesh->axes[level].first, .axis_size = mesh->axes[level].second};
    std::vector<AxisSpec> ins, outs;
    for (std::size_t i = 0; i < sizeof...(Args); ++i) ins.push_back(level_spec(*mesh, (*in)[i], level));
    options.in_axes = std::move(ins);
    if (out->is_list()) {
      for (std::size_t i = 0; i < out->size(); ++i) outs.push_back(level_spec(*mesh, (*out)[i], level));
      options.out_axes = std::move(outs);
    } else {
      options.out_axes = level_spec(*mesh, (*out)[0], level);
    }
    if (level == 0) options.devices = mesh->devices;
    MeshLevel inside = *this;
    ++inside.level;
    return pmap(inside, std::move(options))(args...);
  }
  void check_results(const Out& result) const {
    std::size_t member = 0;
    auto check = [&](const auto& tree) {
      const auto& spec = (*out)[member++];
      for (auto& x : flat(tree))
        if (static_cast<Index>(spec.dims().size()) > x->shape.rank())
          fail<ShapeError>("shard_map", {"a result of shape ", x->shape, " has fewer dimensions than its spec, which names ", spec.dims().size(), x->shape.rank() == 0 ? ": give it P(), or an axis" : ""});
    };
    if constexpr (is_a<Out, std::tuple> || is_a<Out, std::pair>) {
      if (out->is_list()) return std::apply([&](auto&... x) { (check(x), ...); }, result);
    }
    check(result);
  }
};

}  // namespace detail

/// Runs f on every device of a mesh. A spec serves a whole tree: each named dimension is cut into blocks (rank kept), the others are
/// whole; results are joined likewise, and of dimensions no axis names one copy is returned. Nested pmaps over the axes, outermost first.
/// A result of rank 0 needs P().
template <class F> auto shard_map(F f, Mesh mesh, Specs in_specs, Specs out_specs) {
  for (const auto* specs : {&in_specs, &out_specs})
    for (std::size_t i = 0; i < specs->size(); ++i) detail::check_spec(mesh, (*specs)[i]);
  return [f = std::move(f), mesh = std::move(mesh), in_specs = std::move(in_specs), out_specs = std::move(out_specs)]<class... Args>(const Args&... args) {
    if (in_specs.is_list() && in_specs.size() != sizeof...(Args)) fail<TypeError>("shard_map", {"in_specs lists ", in_specs.size(), " specs, the call has ", sizeof...(Args), sizeof...(Args) == 1 ? " argument" : " arguments"});
    auto ordered = [&]<class Tree>(Tree tree, const P& spec, bool back, Index position) {
      const detail::Path root, here{&root, position};
      detail::walk(tree, [&]<class L>(L& leaf, const detail::Path& path) {
        if constexpr (detail::is_array_leaf<L>) {
          detail::check_fit(mesh, spec, detail::any_of(leaf)->shape, std::is_same_v<L, Key>, detail::leaf_name(back ? "result" : "argument", path), !back);
          detail::assign(leaf, detail::reorder_blocks(mesh, spec, detail::any_of(leaf), back));
        }
      }, here);
      return tree;
    };
    using Returned = std::invoke_result_t<const F&, std::decay_t<const Args&>...>;
    auto inputs = [&]<std::size_t... I>(std::index_sequence<I...>) { return std::tuple<std::decay_t<const Args&>...>{ordered(args, in_specs[I], false, static_cast<Index>(I))...}; }(std::index_sequence_for<Args...>{});
    if constexpr (std::is_void_v<Returned>) {
      std::apply(detail::MeshLevel<F, std::tuple<>>{&f, &mesh, &in_specs, &out_specs, 0}, inputs);
    } else {
      using Out = decltype(detail::lift(std::declval<Returned>()));
      constexpr std::size_t members = [] {
        if constexpr (detail::is_a<Out, std::tuple> || detail::is_a<Out, std::pair>) return std::tuple_size_v<Out>;
        else return 1;
      }();
      if (out_specs.is_list() && out_specs.size() != members) fail<TypeError>("shard_map", {"out_specs lists ", out_specs.size(), " specs, the result has ", members, members == 1 ? " member" : " members"});
      auto out = std::apply(detail::MeshLevel<F, Out>{&f, &mesh, &in_specs, &out_specs, 0}, inputs);
      if constexpr (detail::is_a<Out, std::tuple> || detail::is_a<Out, std::pair>) {
        if (out_specs.is_list()) {
          std::size_t k = 0;
          std::apply([&](auto&... member) { ((member = ordered(std::move(member), out_specs[k], true, static_cast<Index>(k)), ++k), ...); }, out);
          return out;
        }
      }
      return ordered(std::move(out), out_specs[0], true, 0);
    }
  };
}

}  // namespace spmd
