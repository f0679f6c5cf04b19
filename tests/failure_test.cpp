// Shards that throw, disagree, return early, are slow, or share values; threads that map at once. Nobody hangs, nothing is lost.
#include <thread>

#include "support/check.hpp"

using namespace spmd;
using check::close, check::D, check::over, check::throws;

namespace {

const auto setup = (set_host_device_count(8), 0);
const D v({3}, {1, 2, 3});
Index rank(const char* axis = "i") { return axis_index(axis).item(); }
struct Mine : std::runtime_error {
  int code;
  explicit Mine(int c) : std::runtime_error("mine"), code(c) {}
};
/// The library works as before: a map with a collective gives the right values.
void works() { EXPECT_TRUE(close(over([](D x) { return psum(x, "i"); })(v), D({3}, {6, 6, 6}))); }

TEST(Failure, OriginalExceptionReachesTheCaller) {
  for (Index bad : {0, 1, 2}) {
    try {
      over([&](D x) {
        if (rank() == bad) throw Mine(static_cast<int>(40 + bad));
        return psum(x, "i");  // the others wait here
      })(v);
      FAIL();
    } catch (const Mine& e) {
      EXPECT_EQ(e.code, 40 + bad);
      const auto shard = shard_of(std::current_exception());
      ASSERT_TRUE(shard);
      EXPECT_EQ(shard->index, bad);
      EXPECT_EQ(shard->indices, std::vector<Index>{bad});
    }
    works();
  }
  EXPECT_THROW(over([](D x) -> D { if (rank() == 1) throw 7; return psum(x, "i"); })(v), int);
  EXPECT_FALSE(shard_of(std::make_exception_ptr(1)));
  works();
}
TEST(Failure, TheLowestShardThatThrewByItselfWins) {
  for (int run = 0; run < 20; ++run) {
    try {
      over([](D x) -> D {
        if (rank() == 0) return psum(x, "i");
        throw Mine(static_cast<int>(rank()));
      })(v);
      FAIL();
    } catch (const Mine& e) {
      EXPECT_EQ(e.code, 1);
    }
  }
  works();
}
TEST(Failure, InAMapInside) {
  try {
    over([](D x) {
      return over([&](D y) -> D {
        if (rank("i") == 1 && rank("j") == 2) throw Mine(12);
        return psum(x * y, {"i", "j"});
      }, "j")(D({4}, {1, 2, 3, 4}));
    })(D({2}, {1, 2}));
    FAIL();
  } catch (const Mine& e) {
    EXPECT_EQ(e.code, 12);
    const auto shard = shard_of(std::current_exception());
    ASSERT_TRUE(shard);
    EXPECT_EQ(shard->index, 1);
    EXPECT_EQ(shard->indices, (std::vector<Index>{1, 2}));
    EXPECT_EQ(shard->device, devices()[6]);
  }
  works();
}
TEST(Failure, ShardsThatDisagree) {
  auto gathers = [](D x) { return all_gather(stack({x, x, x}), "i", {.dim = rank() == 1 ? 1 : 0}); };
  EXPECT_TRUE(throws<CollectiveMismatch>([&] { over(gathers)(v); }, {"shard 0 calls all_gather(\"i\")", "shard 1 calls all_gather(\"i\", dim 1)"}));
  auto exchanges = [](D x) { return all_to_all(stack({x, x, x}), "i", 0, 0, {.tiled = rank() == 1}); };
  EXPECT_TRUE(throws<CollectiveMismatch>([&] { over(exchanges)(v); }, {"all_to_all(\"i\", tiled)"}));
  EXPECT_TRUE(throws<CollectiveMismatch>([] { over([](D x) { return rank() == 0 ? psum(x, "i") : pmean(x, "i"); })(v); }, {"shard 0 calls psum(\"i\")", "calls pmean(\"i\")", "failure_test.cpp:"}));
  EXPECT_TRUE(throws<CollectiveMismatch>([] { over([](D x) { return rank() == 2 ? psum(stack({x, x}), "i")[0] : psum(x, "i"); })(v); }, {"float64(2)", "float64()"}));
  EXPECT_TRUE(throws<CollectiveMismatch>([] { over([](D x) { return rank() == 1 ? ppermute(x, "i", {{0, 1}}) : ppermute(x, "i", {{1, 0}}); })(v); }, {"ppermute"}));
  EXPECT_TRUE(throws<CollectiveMismatch>([] { over([](D x) { return rank() == 1 ? x : psum(x, "i"); })(v); }, {"will not come", "shard 0 waits in psum"}));
  EXPECT_TRUE(throws<CollectiveMismatch>([] { over([](D x) { return rank() == 1 ? psum(psum(x, "i"), "i") : psum(x, "i"); })(v); }, {"will not come"}));
  works();
}
TEST(Failure, ShardsThatWaitForEachOtherOverTwoAxes) {
  auto cross = [](D) {
    return over([](D y) { return rank("i") == rank("j") ? psum(psum(y, "i"), "j") : psum(psum(y, "j"), "i"); }, "j")(D({2}, {1, 2}));
  };
  EXPECT_TRUE(throws<CollectiveMismatch>([&] { over(cross)(D({2}, {1, 2})); }, {"wait"}));
  works();
}
TEST(Failure, ATimeoutNamesWhoIsMissing) {
  set_timeout(0.2);
  EXPECT_TRUE(throws<Timeout>([] {
    over([](D x) {
      if (rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(700));
      return psum(x, "i");
    })(v);
  }, {"psum", "shard 1"}));
  set_timeout(0);
  works();
}
TEST(Failure, TreesThatDiffer) {
  EXPECT_TRUE(throws<TypeError>([] { over([](D x) { return std::vector<D>(static_cast<std::size_t>(1 + rank() % 2), x); })(v); }, {"different trees", "shard 1", "result[1]"}));
  EXPECT_TRUE(throws<ShapeError>([] { over([](D x) { return rank() == 1 ? stack({x, x}) : x; })(v); }, {"shard 1", "float64(2)"}));
  works();
}
TEST(Sharing, TwoShardsForceOneCapturedValue) {
  for (int run = 0; run < 50; ++run) {
    Tensor<float> big = arange<float>(50000) * 2.0f + 1.0f;  // pending until somebody reads it
    auto f = pmap([&](Tensor<float> x) { return sum(big * 0.0f) + big[7] + x[0]; }, MapOptions{.axis_size = 8});
    for (auto y : f(zeros<float>({8})).to_vector()) ASSERT_EQ(y, 15.0f);
    ASSERT_EQ(big.at({49999}), 99999.0f);
  }
}
TEST(Threads, TwoCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&wrong, t] {
      auto f = over([](D x) { return psum(x, "i"); });
      for (int run = 0; run < 100; ++run) {
        D x = v + static_cast<double>(t);
        if (f(x).to_vector() != std::vector<double>(3, 6.0 + 3 * t)) ++wrong;
      }
    });
  for (auto& c : callers) c.join();
  EXPECT_EQ(wrong, 0);
}
TEST(Threads, OneFailsWhileAnotherWorks) {
  std::thread failing([] {
    for (int run = 0; run < 50; ++run) EXPECT_THROW(over([](D x) -> D { if (rank() == 1) throw Mine(1); return psum(x, "i"); })(v), Mine);
  });
  for (int run = 0; run < 50; ++run) works();
  failing.join();
}
TEST(Threads, SubsetsOfDevices) {
  auto host = devices(Platform::host);
  auto on = [](std::vector<Device> list) { return pmap([](D x) { return x + static_cast<double>(current_device().id); }, MapOptions{.axis_name = "i", .in_axes = each(0), .devices = std::move(list)}); };
  EXPECT_TRUE(close(on({host[5], host[3], host[1]})(v), D({3}, {6, 5, 4})));
  EXPECT_TRUE(close(on({host[7], host[0], host[6]})(v), D({3}, {8, 2, 9})));
}
TEST(Collectives, ManySmallOnes) {
  auto f = over([](D x) {
    for (int i = 0; i < 300; ++i) x = psum(x, "i") * (1.0 / 3);
    return x;
  });
  EXPECT_TRUE(close(f(v), D({3}, {2, 2, 2})));
}
TEST(Collectives, SumsAddInRankOrder) {
  // Added in another order, these give 0 or 2.
  const auto x = array<float>({1e8f, 1, -1e8f, 1});
  auto f = [](Tensor<float> r) { return std::tuple(psum(r, "i"), psum_scatter(broadcast_to(r, {4}), "i"), psum(r, "i", {.groups = {{1, 0, 2, 3}}}), psum(broadcast_to(r, {40000}), "i")[39999]); };
  auto [all, scattered, grouped, large] = over(f)(x);
  for (auto& got : {all, scattered, grouped, large}) EXPECT_EQ(got.to_vector(), std::vector<float>(4, 1));
}
TEST(Collectives, LargeOnesAreSharedWork) {
  const Index n = 100001;
  Tensor<float> x = reshape(arange<float>(static_cast<float>(3 * n)), Shape{3, n});
  const auto sum = over([](Tensor<float> r) { return psum(r, "i"); })(x);
  const auto all = over([](Tensor<float> r) { return all_gather(r, "i"); })(x);
  for (Index k : {Index{0}, Index{1}, n / 2, n - 1})
    for (Index p = 0; p < 3; ++p) {
      EXPECT_EQ(sum.at({p, k}), static_cast<float>(k) + static_cast<float>(n + k) + static_cast<float>(2 * n + k));
      EXPECT_EQ(all.at({p, 2, k}), static_cast<float>(2 * n + k));
    }
}
// Destroyed after main, when the threads of the library are still there and nothing may be used after free.
Tensor<float> outlives_main = zeros<float>({3});
TEST(Static, TensorsOutliveMain) {
  outlives_main = pmap([](Tensor<float> x) { return x * 2.0f; })(arange<float>(8000));
  EXPECT_EQ(outlives_main.at({3}), 6.0f);
}

}  // namespace
