/// One line per benchmark: a name and a function that prepares what is timed.
#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <spmd/spmd.hpp>

namespace bench {

using spmd::Index, spmd::Tensor;

/// The devices of every benchmark that has more than one.
constexpr Index devices = 2;

/// Makes sure that the elements are computed and stored, block by block where the tensor is sharded: nothing is gathered.
template <class T> void force(const Tensor<T>& x) {
  if (!x.is_sharded()) return benchmark::DoNotOptimize(x.data());
  for (Index i = 0; i < x.shards(); ++i) benchmark::DoNotOptimize(x.shard(i).data());
}

template <class Tree> void force(const Tree& tree) {
  for (const auto& leaf : spmd::tree_leaves<float>(tree)) force(leaf);
}

/// Times `setup()()`. The set-up runs only if the benchmark is selected. Where one call makes several operations of the kind that is
/// asked for, say how many. Beside Google Benchmark's mean there is a counter `best`, which compare.py reads: seconds per operation, the
/// smallest mean of a few calls in a row (5 ms), as peers/jax_bench.py measures too.
template <class Setup> void add(const std::string& name, Setup setup, std::int64_t operations = 1) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    using Clock = std::chrono::steady_clock;
    const auto since = [](Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    auto timed = setup();
    timed();  // the first call finds empty caches
    auto begin = Clock::now();
    timed();
    const auto calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.005 / since(begin)));
    double best = std::numeric_limits<double>::infinity();
    std::int64_t called = 0;
    begin = Clock::now();
    for (auto _ : state) {
      timed();
      if (++called < calls) continue;
      best = std::min(best, since(begin) / static_cast<double>(calls * operations));
      called = 0;
      begin = Clock::now();
    }
    if (called > 0 && best > 1e9) best = since(begin) / static_cast<double>(called * operations);  // too slow for a full row of calls
    state.counters["best"] = best;
  })->UseRealTime();
}

/// f(x...), forced.
template <class F, class... Args> auto call(F f, Args... args) {
  return [=] { force(f(args...)); };
}

/// Normally distributed numbers, the same in every run.
inline Tensor<> normal(std::uint64_t seed, const spmd::Shape& shape) { return spmd::random::normal<float>(spmd::Key(seed), shape); }

/// The leading axis cut over the devices, each block already in its place.
template <class Tree> Tree put(const Tree& tree) {
  return spmd::pmap([](const Tree& x) { return x; })(tree);
}

/// Runs what `add_all` adds, on two host devices.
template <class AddAll> int run(int argc, char** argv, AddAll add_all) {
  spmd::set_host_device_count(devices);
  spmd::set_default_devices(spmd::devices(spmd::Platform::host));
  add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

/// "64K", "16M": numbers of elements as the names have them.
inline std::string short_count(Index n) {
  if (n % (1 << 20) == 0) return std::to_string(n >> 20) + "M";
  return std::to_string(n >> 10) + "K";
}

}  // namespace bench
