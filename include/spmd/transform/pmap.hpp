// pmap: the same function on every device, each with its shard of the arguments.
#pragma once
#include "pmap_carrier.hpp"

namespace spmd {
namespace detail {

/// The structure of a tree as a number: the paths and types of its leaves.
template <class Tree> std::uint64_t signature_of(const Tree& tree) {
  std::uint64_t hash = 14695981039346656037ull;
  auto mix = [&](std::uint64_t word) { hash = (hash ^ word) * 1099511628211ull; };
  walk(tree, [&]<class L>(const L& leaf, const Path& path) {
    if constexpr (is_array_leaf<L>) {
      for (auto* p = &path; p->parent; p = p->parent) mix(p->key ? std::hash<std::string>{}(*p->key) : static_cast<std::uint64_t>(p->index) + 1);
      mix(std::hash<std::string_view>{}(any_of(leaf)->dtype->name));
    }
  });
  return hash;
}
template <class Tree> std::string leaves_text(const Tree& tree) {
  std::string out;
  walk(tree, [&]<class L>(const L& leaf, const Path& path) {
    if constexpr (is_array_leaf<L>) out += concat({out.empty() ? "" : ", ", "result", path, " ", any_of(leaf)->dtype->name, any_of(leaf)->shape});
  });
  return out.empty() ? "no leaves" : out;
}

/// The trees that the shards returned, until the call is over.
template <class Out> class TypedResults final : public Results {
 public:
  explicit TypedResults(Index n) : trees(static_cast<std::size_t>(n)) { signature.resize(static_cast<std::size_t>(n)); }
  std::string difference(Index a, Index b) const override {
    return concat({"the shards returned different trees: shard ", a, " ", leaves_text(*trees[static_cast<std::size_t>(a)]), "; shard ", b, " ", leaves_text(*trees[static_cast<std::size_t>(b)])});
  }
  List<std::optional<Out>> trees;
};

/// The devices of a map of size n, and what each shard leaves to maps inside it.
inline void place(const MapOptions& options, Index n, PMap::Spec& spec) {
  const auto& here = context();
  const auto group_text = [&] { return here.meeting ? " in the group of this shard" : ""; };
  List<Device> all;
  if (!options.devices.empty()) {
    check_devices("pmap", options.devices);
    all.append(options.devices.begin(), options.devices.end());
    if (here.meeting)
      for (auto& d : all)
        if (std::find(here.devices.begin(), here.devices.end(), d) == here.devices.end()) fail<DeviceError>("pmap", {"the device ", d, " is not in the group of this shard, which has ", here.devices.size()});
  } else if (here.meeting) {
    all = here.devices;
  } else {
    const auto defaults = Runtime::instance().default_list();
    all.append(defaults.begin(), defaults.end());
  }
  const auto count = static_cast<Index>(all.size());
  if (n < 1) fail<ShapeError>("pmap", {"the mapped axis has size ", n, ": there is nothing to map"});
  if (n > count) fail<DeviceError>("pmap", {"an axis of size ", n, " needs ", n, " devices, there are ", count, group_text(), here.meeting ? "" : "; set_host_device_count or SPMD_HOST_DEVICES makes more"});
  const Index width = count / n;
  for (Index p = 0; p < n; ++p) {
    const auto first = all.begin() + p * width;
    spec.groups.push_back(List<Device>(first, first + width));
    spec.devices.push_back(*first);
  }
}
inline Index devices_here(const MapOptions& options) {
  if (!options.devices.empty()) return static_cast<Index>(options.devices.size());
  return context().meeting ? static_cast<Index>(context().devices.size()) : device_count();
}

/// What pmap(f) is: a callable with the options of the map.
template <class F> class Pmapped {
 public:
  Pmapped(F f, MapOptions options) : f_(std::move(f)), options_(std::move(options)), name_(options_.axis_name.empty() ? nullptr : intern(options_.axis_name)) {}

  template <class... Args> auto operator()(const Args&... args) const {
    no_shadowing("pmap", options_.axis_name);
    const std::tuple<const Args&...> given(args...);
    ArgumentList list("pmap", MapKind::pmap, options_, given);
    const Index n = list.size().value_or(devices_here(options_));
    PMap::Spec spec{name_, n, {}, {}, {}};
    place(options_, n, spec);
    list.check_blocks(n);
    for (auto& leaf : list.leaves) spec.in.push_back(leaf.cut);

    using Returned = std::invoke_result_t<const F&, std::decay_t<const Args&>...>;
    if constexpr (std::is_void_v<Returned>) {
      using Out = std::tuple<>;
      run<Out>(list, std::move(spec), given, [this](auto&& inputs) {
        std::apply(f_, std::move(inputs));
        return Out();
      });
    } else {
      using Out = decltype(lift(std::declval<Returned>()));
      return run<Out>(list, std::move(spec), given, [this](auto&& inputs) { return lift(std::apply(f_, std::move(inputs))); });
    }
  }

 private:
  template <class Out, class... Refs, class Call> Out run(const ArgumentList& list, PMap::Spec spec, const std::tuple<Refs...>& given, Call call) const {
    check_result_count<Out>();
    auto results = make<TypedResults<Out>>(spec.n);
    spec.results = results;
    auto program = program_of([&results = *results, &given, call, inputs_split = list.any_split(), this](Index p, const Anys& leaves) {
      std::tuple<std::decay_t<Refs>...> inputs(given);
      auto* next = static_cast<const Any*>(leaves.data());
      refill(inputs, next);
      auto& tree = results.trees[static_cast<std::size_t>(p)].emplace(call(std::move(inputs)));
      results.signature[static_cast<std::size_t>(p)] = signature_of(tree);
      auto cuts = result_cuts("pmap", MapKind::pmap, options_.out_axes, inputs_split, tree);
      if (p == 0) results.cuts = std::move(cuts);
      return flat(tree);
    });
    const auto outs = interpret(make<const PMap>(make<Run>(), std::move(program), std::move(spec)), list.values());
    Out out = std::move(*results->trees[0]);
    results->trees.clear();
    auto* next = static_cast<const Any*>(outs.data());
    refill(out, next);
    return out;
  }
  /// What can be known of out_axes before anything runs.
  template <class Out> void check_result_count() const {
    if (!options_.out_axes.is_list()) return;
    constexpr bool is_list = is_a<Out, std::tuple> || is_a<Out, std::pair>;
    std::size_t members = 1;
    if constexpr (is_list) members = std::tuple_size_v<Out>;
    if (options_.out_axes.size() != members)
      fail<TypeError>("pmap", {"out_axes lists ", options_.out_axes.size(), " specs, the result has ", members, members == 1 ? " member" : " members"});
  }
  F f_;
  MapOptions options_;
  Name name_;
};

template <auto Function> struct AsObject {
  template <class... Args> auto operator()(const Args&... args) const { return Function(args...); }
};

}  // namespace detail

/// Runs f on n devices at once, each with its shard of the arguments; a callable like f. n is `axis_size`, else the size of an
/// `each` axis, else the number of devices. f is called concurrently through a const reference, exactly once per shard. Results
/// are sharded tensors: passing them on moves nothing. Errors before any shard starts: ShapeError for sizes that disagree or do
/// not divide, AxisError for axes out of range or a name in scope already, TypeError for specs that do not follow the arguments,
/// DeviceError for too few, repeated or missing devices. What a shard throws reaches the caller with its own type.
template <class F> auto pmap(F f, MapOptions options = {}) { return detail::Pmapped<F>(std::move(f), std::move(options)); }
template <class F, class Name>
  requires std::is_convertible_v<Name, std::string>
auto pmap(F f, Name axis_name) {
  return detail::Pmapped<F>(std::move(f), MapOptions{.axis_name = std::move(axis_name)});
}
/// The same for a function object type, or a function, given as a template argument.
template <class F, class Name>
  requires std::is_convertible_v<Name, std::string> && std::is_default_constructible_v<F> && (!std::is_convertible_v<Name, F>)
auto pmap(Name axis_name) {
  return pmap(F{}, std::move(axis_name));
}
template <auto Function, class Name>
  requires std::is_convertible_v<Name, std::string>
auto pmap(Name axis_name) {
  return pmap(detail::AsObject<Function>{}, std::move(axis_name));
}

/// Which shard threw this exception, which the last map on this thread rethrew; nothing for any other.
inline std::optional<ShardId> shard_of(const std::exception_ptr& error) {
  auto& last = detail::last_failure();
  if (!error || error != last.error) return {};
  return last.shard;
}

}  // namespace spmd
