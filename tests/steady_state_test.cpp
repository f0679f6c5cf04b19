// Once its caches are warm, a training step takes nothing from the system's heap.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <spmd/spmd.hpp>

#include "../examples/support/digits_model.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPMD_TEST_OWN_HEAP 0  // the sanitizers bring their own, and the library caches nothing then
#elif defined(__has_feature)
#define SPMD_TEST_OWN_HEAP !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SPMD_TEST_OWN_HEAP 1
#endif

namespace {

/// The allocations of all threads while it counts, and the sizes of the first ones for the message.
struct Allocations {
  std::atomic<bool> counting = false;
  std::atomic<std::size_t> count = 0;
  std::array<std::atomic<std::size_t>, 16> sizes = {};

  void note(std::size_t bytes) {
    if (!counting.load(std::memory_order_relaxed)) return;
    const std::size_t i = count.fetch_add(1);
    if (i < sizes.size()) sizes[i] = bytes;
  }
};
constinit Allocations allocations;

template <class F> std::size_t allocations_of(F f) {
  allocations.count = 0;
  allocations.counting = true;
  f();
  allocations.counting = false;
  return allocations.count;
}

std::string first_sizes() {
  std::string text = "bytes of the first ones:";
  for (std::size_t i = 0; i < std::min(allocations.sizes.size(), allocations.count.load()); ++i)
    text += " " + std::to_string(allocations.sizes[i]);
  return text;
}

}  // namespace

#if SPMD_TEST_OWN_HEAP && defined(__GLIBC__)

// Everything ends here, operator new too. glibc keeps its own functions under these other names for this purpose.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  allocations.note(bytes);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) noexcept {
  allocations.note(n * bytes);
  return __libc_calloc(n, bytes);
}
void* realloc(void* p, std::size_t bytes) noexcept {
  allocations.note(bytes);
  return __libc_realloc(p, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  allocations.note(bytes);
  return __libc_memalign(alignment, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  allocations.note(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) noexcept {
  allocations.note(bytes);
  *p = __libc_memalign(alignment, bytes);
  return *p ? 0 : 12;  // ENOMEM
}
}

#elif SPMD_TEST_OWN_HEAP

void* operator new(std::size_t bytes) {
  allocations.note(bytes);
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

#endif

namespace {

Digits some_digits(spmd::Index n) {
  std::vector<std::int32_t> labels;
  for (spmd::Index i = 0; i < n; ++i) labels.push_back(static_cast<std::int32_t>(i % 10));
  return {spmd::random::normal<float>(spmd::Key(1), {n, 64}), spmd::array(labels)};
}

class SteadyState : public testing::Test {
 protected:
  void SetUp() override {
    if (!SPMD_TEST_OWN_HEAP) GTEST_SKIP() << "a sanitizer owns the heap";
    spmd::set_host_device_count(2);
    spmd::set_default_devices(spmd::devices(spmd::Platform::host));
  }
};

TEST_F(SteadyState, TheCounterSeesAllocations) {
  EXPECT_GE(allocations_of([] {
              std::vector<int>* volatile p = new std::vector<int>(100);
              delete p;
            }),
            1u);
}

template <class Step> void expect_no_allocations(Step step) {
  const Digits digits = some_digits(640);
  Training state = start_training(spmd::Key(0));
  float total = 0;
  const auto train = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      auto [next, loss] = step(state, rows(digits, i % 5 * 128, i % 5 * 128 + 128));
      state = std::move(next);
      total += loss.item();
    }
  };
  // Blocks that one thread takes and another gives back collect there at first, until they travel back in batches: how long that takes
  // hangs on the timing of the threads. A step that itself allocates never has a hundred steps without an allocation.
  std::size_t fewest = allocations_of([&] { train(100); });
  for (int window = 0; window < 40 && fewest > 0; ++window) fewest = std::min<std::size_t>(fewest, allocations_of([&] { train(100); }));
  EXPECT_EQ(fewest, 0u) << first_sizes();
  EXPECT_GT(total, 0.0f);
}

TEST_F(SteadyState, TrainingStepOnTwoDevices) {
  expect_no_allocations(spmd::pmap(train_step, {.axis_name = "batch", .in_axes = {spmd::replicated, 0}, .out_axes = spmd::replicated}));
}

TEST_F(SteadyState, TrainingStepAsVmap) {
  expect_no_allocations(spmd::vmap(
      train_step, {.axis_name = "batch", .in_axes = {spmd::replicated, spmd::split(0)}, .out_axes = spmd::replicated, .axis_size = 2}));
}

}  // namespace
