// Where small objects and buffers come from: 64-byte aligned blocks that are cached by size and never given back while they may
// be used again. A steady-state step allocates nothing from the system: fresh pages, not arithmetic, are the first enemy.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "error.hpp"

namespace spmd::detail {

/// Blocks of one size. The classes are 64 bytes apart up to 1 KiB, then four to each power of two.
struct SizeClass {
  static constexpr std::size_t small_classes = 16, count = 16 + 4 * 38;
  static std::size_t of(std::size_t bytes) {
    if (bytes <= 1024) return (bytes - (bytes > 0)) / 64;  // of nothing: 0
    const auto log = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^log < bytes <= 2^(log + 1)
    return small_classes + (log - 10) * 4 + ((bytes - 1) >> (log - 2)) % 4;
  }
  static std::size_t bytes(std::size_t index) {
    if (index < small_classes) return (index + 1) * 64;
    const auto k = index - small_classes;
    return (std::size_t{1} << (k / 4 + 10)) / 4 * (k % 4 + 5);
  }
};

/// The blocks that no thread keeps for itself. One for the process, never destroyed: static tensors may outlive everything.
class CentralCache {
 public:
  struct Block {
    Block* next;
  };
  static CentralCache& instance() {
    static auto* cache = new CentralCache;
    return *cache;
  }
  /// Up to `want` blocks as a linked list; at least one. DeviceError when the system has no more.
  [[gnu::noinline]] Block* take(std::size_t index, std::size_t want) {
    auto& list = lists_[index];
    const auto bytes = SizeClass::bytes(index);
    {
      std::lock_guard lock(list.mutex);
      if (list.first) {
        auto* first = list.first;
        auto* last = first;
        std::size_t got = 1;
        for (; got < want && last->next; ++got) last = last->next;
        list.first = last->next;
        last->next = nullptr;
        cached_.fetch_sub(got * bytes, std::memory_order_relaxed);
        return first;
      }
    }
    Block* first = nullptr;
    for (std::size_t i = 0; i < want; ++i) {
      auto* block = static_cast<Block*>(system(bytes));
      block->next = first;
      first = block;
    }
    return first;
  }
  [[gnu::noinline]] void give(std::size_t index, Block* first) {
    const auto bytes = SizeClass::bytes(index);
    // What sits idle stays in proportion to what was ever in use at one time, whatever sizes a program went through.
    if (bytes > keep_always && cached_.load(std::memory_order_relaxed) > idle_limit()) {
      from_system_.fetch_sub(bytes, std::memory_order_relaxed);
      std::free(first);
      return;
    }
    std::size_t n = 1;
    auto* last = first;
    for (; last->next; last = last->next) ++n;
    cached_.fetch_add(n * bytes, std::memory_order_relaxed);
    auto& list = lists_[index];
    std::lock_guard lock(list.mutex);
    last->next = list.first;
    list.first = first;
  }
  void give_one(std::size_t index, void* p) {
    auto* block = static_cast<Block*>(p);
    block->next = nullptr;
    give(index, block);
  }
  /// Gives all idle blocks back to the system.
  void trim() {
    for (std::size_t index = 0; index < SizeClass::count; ++index) {
      auto& list = lists_[index];
      std::lock_guard lock(list.mutex);
      while (auto* block = list.first) {
        list.first = block->next;
        cached_.fetch_sub(SizeClass::bytes(index), std::memory_order_relaxed);
        from_system_.fetch_sub(SizeClass::bytes(index), std::memory_order_relaxed);
        std::free(block);
      }
    }
  }

 private:
  static constexpr std::size_t keep_always = 64 << 10;
  struct List {
    std::mutex mutex;
    Block* first = nullptr;
  };
  std::size_t idle_limit() const { return std::max<std::size_t>(1 << 30, from_system_.load(std::memory_order_relaxed) * 3 / 4); }
  void* system(std::size_t bytes) {
    auto* p = std::aligned_alloc(64, bytes);
    if (!p) {
      trim();
      p = std::aligned_alloc(64, bytes);
    }
    if (!p) fail<DeviceError>("memory", {"the system has no ", bytes, " bytes for a block; ", from_system_.load(), " are in use or cached"});
    from_system_.fetch_add(bytes, std::memory_order_relaxed);
    return p;
  }
  std::array<List, SizeClass::count> lists_;
  std::atomic<std::size_t> cached_ = 0, from_system_ = 0;
};

/// A thread's own blocks of at most 4 KiB: taken and given back without a lock. What is rare stands in functions of its own, or the
/// common case would pay for their registers: a small operation is little else than taking and giving blocks.
class ThreadCache {
 public:
  using Block = CentralCache::Block;
  static constexpr std::size_t largest = 4096;
  static constexpr std::uint32_t batch = 32;

  void* take(std::size_t index) {
    auto& list = lists_[index];
    if (!list.first) [[unlikely]] fetch(index);
    auto* block = list.first;
    list.first = block->next;
    --list.count;
    return block;
  }
  void give(std::size_t index, void* p) {
    auto& list = lists_[index];
    auto* block = static_cast<Block*>(p);
    block->next = list.first;
    list.first = block;
    if (++list.count == 4 * batch) [[unlikely]] hand_back(index);
  }
  ~ThreadCache() {
    for (std::size_t i = 0; i < lists_.size(); ++i)
      if (lists_[i].first) CentralCache::instance().give(i, lists_[i].first);
  }
  /// This thread's cache; null once the thread is ending, while its last objects die.
  static ThreadCache* mine() { return state.cache ? state.cache : first_use(); }

 private:
  [[gnu::noinline]] void fetch(std::size_t index) {
    auto& list = lists_[index];
    list.first = CentralCache::instance().take(index, batch);
    list.count = 0;
    for (auto* b = list.first; b; b = b->next) ++list.count;
  }
  /// Blocks that one thread frees and another allocates travel back in batches.
  [[gnu::noinline]] void hand_back(std::size_t index) {
    auto& list = lists_[index];
    auto* first = list.first;
    auto* last = first;
    for (std::uint32_t i = 1; i < batch; ++i) last = last->next;
    list.first = last->next;
    last->next = nullptr;
    list.count -= batch;
    CentralCache::instance().give(index, first);
  }
  static ThreadCache* first_use();
  struct List {
    Block* first = nullptr;
    std::uint32_t count = 0;
  };
  struct State {
    ThreadCache* cache;
    bool ended;
  };
  struct Owner;
  static inline constinit thread_local State state{nullptr, false};
  std::array<List, SizeClass::small_classes + 8> lists_;
};
struct ThreadCache::Owner {
  ThreadCache cache;
  ~Owner() { state = {nullptr, true}; }
};
inline ThreadCache* ThreadCache::first_use() {
  if (state.ended) return nullptr;
  static thread_local Owner owner;
  return state.cache = &owner.cache;
}

/// A 64-byte aligned block of at least `bytes` bytes.
inline void* allocate(std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  return ::operator new(bytes == 0 ? 1 : bytes, std::align_val_t{64});  // reuse would hide errors from the sanitizer
#else
  const auto index = SizeClass::of(bytes);
  if (bytes <= ThreadCache::largest)
    if (auto* cache = ThreadCache::mine()) return cache->take(index);
  return CentralCache::instance().take(index, 1);
#endif
}
inline void deallocate(void* p, std::size_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  ::operator delete(p, bytes == 0 ? 1 : bytes, std::align_val_t{64});
#else
  const auto index = SizeClass::of(bytes);
  if (bytes <= ThreadCache::largest)
    if (auto* cache = ThreadCache::mine()) return cache->give(index, p);
  CentralCache::instance().give_one(index, p);
#endif
}

/// An object with an intrusive reference count, from the cached blocks. Its maker owns it: the count starts at one.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  virtual ~Counted() = default;
  void retain() const noexcept {
    if (count_.load(std::memory_order_relaxed) < forever) count_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const noexcept {
    // The last owner needs no atomic decrement: nobody else can see the object.
    const auto count = count_.load(std::memory_order_acquire);
    if (count == 1 || (count < forever && count_.fetch_sub(1, std::memory_order_acq_rel) == 1)) const_cast<Counted*>(this)->destroy();
  }
  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void* operator new(std::size_t, void* p) noexcept { return p; }
  static void operator delete(void* p, std::size_t bytes) noexcept { deallocate(p, bytes); }
  static void operator delete(void*, void*) noexcept {}

 protected:
  virtual void destroy() noexcept { delete this; }
  /// Never destroyed, and owned without counting: threads that share it do not pass a cache line around.
  template <class T> static T* immortal(T* p) {
    p->Counted::count_.store(forever, std::memory_order_relaxed);
    return p;
  }

 private:
  static constexpr std::uint32_t forever = std::uint32_t{1} << 31;
  mutable std::atomic<std::uint32_t> count_ = 1;
};

/// A shared owner of a Counted object. There are hundreds of these types in a program, so it does without the templates of <utility>.
template <class T> class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) noexcept : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.p_) {}
  Ref(Ref&& other) noexcept : p_(other.detach()) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(const Ref<U>& other) noexcept : Ref(static_cast<T*>(other.get())) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(Ref<U>&& other) noexcept : p_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    T* old = p_;
    p_ = other.p_;
    other.p_ = old;
    return *this;
  }
  ~Ref() {
    if (p_) p_->release();
  }
  T* get() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  T* operator->() const noexcept { return p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.p_ == b.p_; }
  T* detach() noexcept {
    T* p = p_;
    p_ = nullptr;
    return p;
  }
  /// Takes over the count that a new object starts with, or that another Ref detached.
  static Ref adopt(T* p) noexcept {
    Ref ref;
    ref.p_ = p;
    return ref;
  }

 private:
  T* p_ = nullptr;
};
template <class T, class... Args> Ref<T> make(Args&&... args) {
  return Ref<T>::adopt(new std::remove_const_t<T>(std::forward<Args>(args)...));
}

}  // namespace spmd::detail
