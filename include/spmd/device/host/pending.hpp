// Fusion: an elementwise, broadcast or sliced result may stay pending, a small program over dense leaves, until its elements are needed.
// Then it is computed in one pass over memory, in tiles that stay in the first-level cache.
#pragma once
#include <cstring>

#include "../device.hpp"
#include "copy.hpp"

namespace spmd::detail {

/// Computes n elements of one elementwise step; all operands are dense.
struct Kernel {
  void (*run)(void* out, const void* const* in, Index n) = nullptr;
  bool costly = false;  // more than to store its results and to read them again
};

/// A value that has not been computed: one step, whose operands may be pending too.
class Pending final : public Value {
 public:
  static constexpr Index tile = 1024;         // elements: a handful of tiles fit the first-level cache
  static constexpr Index most_steps = 32;     // of one program
  static constexpr std::size_t arity = 3;

  /// A step on operands of the same shape.
  Pending(Kernel kernel, const DType* t, const Shape& s, const Any* const* args, std::size_t count, Device d) : Value(Kind::pending, s, t), device(d), kernel_(kernel), count_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      operands_[i] = *args[i];
      if (auto* p = pending(operands_[i])) {
        p->consumers_.fetch_add(1, std::memory_order_relaxed);
        steps_ += p->steps_;
        kernel_.costly |= p->kernel_.costly;
      }
    }
  }
  /// A dense value, stretched, or a part of one: strides into it, 0 along a stretched axis.
  Pending(const Any& base, const Shape& s, const Axes& strides, Device d) : Value(Kind::pending, s, base->dtype), device(d), count_(1), strides_(strides) { operands_[0] = base; }

  static const Pending* pending(const Any& x) {
    if (x->kind != Kind::pending) return nullptr;
    auto* p = static_cast<const Pending*>(x.get());
    return p->state_.load(std::memory_order_acquire) != done ? p : nullptr;
  }
  Index steps() const { return steps_; }
  bool stretched() const { return !kernel_.run; }
  /// What a broadcast stretches, if it is one element and nothing has been computed.
  Any stretched_scalar() const {
    if (!stretched()) return {};
    auto base = operands()[0];
    return base && base->shape.size() == 1 ? base : Any();
  }
  void keep() const override { keep_.store(true, std::memory_order_relaxed); }
  /// Whether a reduction may take the elements as they are computed, so that they need no place: they are cheap, more than a cache
  /// holds, and nobody else is known to want them. Once only: should they be needed again, they are computed a second time and stored.
  bool pass_once() const {
    constexpr Index few = 8, large = Index{2} << 20;
    if (shape.size() * dtype->size < large) return false;
    const bool wanted = keep_.load(std::memory_order_relaxed) || consumers_.load(std::memory_order_relaxed) > 0;
    return !wanted && !kernel_.costly && steps_ <= few && !passed_.exchange(true, std::memory_order_relaxed);
  }
  const Buffer& dense(std::string_view) const override {
    if (state_.load(std::memory_order_acquire) != done) force();
    return *result_;
  }
  const Device device;

 private:
  friend class Pieces;
  enum State : int { idle, computing, done };
  struct Step;
  struct Run;

  /// The operands, held so that another thread that finishes this node cannot free them.
  std::array<Any, arity> operands() const {
    lock();
    auto copy = operands_;
    unlock();
    return copy;
  }
  /// Of a stretched value: where the n elements from `first` on are, if they lie one behind the other.
  const std::byte* in_place(const Buffer& base, Index first, Index n) const {
    if (strides_.back() != 1 || first % shape.back() + n > shape.back()) return nullptr;
    Index offset = 0;
    for (Index d = shape.rank() - 1, rest = first; d >= 0; rest /= shape[d--]) offset += rest % shape[d] * strides_[d];
    return static_cast<const std::byte*>(base.data()) + offset * dtype->size;
  }
  void lock() const {
    while (locked_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() const { locked_.clear(std::memory_order_release); }
  void force() const;
  void publish(Ref<const Buffer> result) const {
    result_ = std::move(result);
    state_.store(done, std::memory_order_release);
    state_.notify_all();
    lock();
    auto released = std::move(operands_);  // freed below, outside the lock
    operands_ = {};
    unlock();
  }

  Kernel kernel_;  // none: a broadcast. Costly if one of the steps behind it is.
  const std::size_t count_;
  const Axes strides_ = {};
  Index steps_ = 1;
  mutable std::array<Any, arity> operands_;
  mutable Ref<const Buffer> result_;
  mutable std::atomic<int> state_ = idle;
  mutable std::atomic<std::uint32_t> consumers_ = 0;  // pending values made from this one
  mutable std::atomic<bool> keep_ = false, passed_ = false;
  mutable std::atomic_flag locked_ = ATOMIC_FLAG_INIT;
};

/// Reads `n` elements of a stretched value, from position `first` of the result on, into a tile.
template <class Item> void stretch_tile(Item* out, const Item* base, const Shape& shape, const Axes& strides, Index first, Index n) {
  const Index rank = shape.rank();
  Axes index = Axes::filled(rank, 0);
  Index offset = 0;
  for (Index d = rank - 1, rest = first; d >= 0; --d) {
    index[d] = rest % shape[d];
    rest /= shape[d];
    offset += index[d] * strides[d];
  }
  const Index inner = shape[rank - 1], step = strides[rank - 1];
  while (n > 0) {
    const Index run = std::min(n, inner - index[rank - 1]);
    const Item* from = base + offset;
    if (step == 1) std::memcpy(out, from, static_cast<std::size_t>(run) * sizeof(Item));
    else if (step == 0) std::fill_n(out, run, *from);
    else for (Index i = 0; i < run; ++i) out[i] = from[i * step];
    out += run;
    n -= run;
    offset += run * step;
    index[rank - 1] += run;
    for (Index d = rank - 1; d > 0 && index[d] == shape[d]; --d) {
      offset += strides[d - 1] - shape[d] * strides[d];
      index[d] = 0;
      ++index[d - 1];
    }
  }
}
inline void stretch_tile(void* out, const void* base, Index item, const Shape& shape, const Axes& strides, Index first, Index n) {
  if (n == 0) return;
  auto run = [&]<class Item>(Item) { stretch_tile(static_cast<Item*>(out), static_cast<const Item*>(base), shape, strides, first, n); };
  switch (item) {
    case 1: return run(std::uint8_t{});
    case 2: return run(std::uint16_t{});
    case 4: return run(std::uint32_t{});
    default: return run(std::uint64_t{});
  }
}

/// One step of a program that is about to run, or one of its leaves.
struct Pending::Step {
  const Pending* node = nullptr;
  std::array<Any, arity> operands;            // keeps leaves and inner steps alive
  std::array<std::size_t, arity> inputs = {};
  Index last_use = 0;
  std::uint32_t uses = 0;                     // inside this program
  const Buffer* leaf = nullptr;
  Ref<Buffer> stored;                         // where the elements stay
  std::byte* scratch = nullptr;               // where a tile of them is while it is needed
  const std::byte* in_place = nullptr;        // or, of a stretched value, the tile in its base, if it need not be copied
};
struct Pending::Run {
  List<Step> steps;

  /// Adds what x needs, operands first; returns its place in the list.
  std::size_t add(const Any& x) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i].node == x.get() || steps[i].leaf == x.get()) return i;
    auto* node = pending(x);
    if (!node) {
      Step step;
      step.leaf = &x->dense("fusion");
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].leaf == step.leaf) return i;
      steps.push_back(std::move(step));
      return steps.size() - 1;
    }
    return add(*node);
  }
  std::size_t add(const Pending& node) {
    Step step;
    step.operands = node.operands();
    if (node.state_.load(std::memory_order_acquire) == done) {  // by another thread, while we looked
      step.leaf = node.result_.get();
      step.operands = {};
      steps.push_back(std::move(step));
      return steps.size() - 1;
    }
    step.node = &node;
    for (std::size_t i = 0; i < node.count_; ++i) step.inputs[i] = add(step.operands[i]);
    const auto me = static_cast<Index>(steps.size());
    for (std::size_t i = 0; i < node.count_; ++i) {
      steps[step.inputs[i]].last_use = me;
      ++steps[step.inputs[i]].uses;
    }
    steps.push_back(std::move(step));
    return steps.size() - 1;
  }
  /// Finds a place for every step but the last.
  void prepare();
  /// Elements [first, first + n) of all steps, n <= tile; those of the last step go to `result`. In the order of `first`, from 0 on.
  void compute(Index first, Index n, std::byte* result);
  /// How many elements, of n from `first` on, the next tile has. Where rows can be read in place it is a row or an equal part of one.
  Index length(Index first, Index n) const {
    if (row_ == 0) return std::min(tile, n);
    const Index part = (row_ - 1) / ((row_ - 1) / tile + 1) + 1, at = first % row_;
    return std::min({n, row_ - at, part - at % part});
  }
  /// Hands out what was stored on the way.
  void publish();
  ~Run() {
    if (scratch_) deallocate(scratch_, slots_ * slot);
  }

 private:
  static constexpr std::size_t slot = static_cast<std::size_t>(tile) * 8;
  static bool constant(const Step& s) { return s.node->stretched() && s.operands[0]->shape.size() == 1; }
  std::byte* scratch_ = nullptr;
  std::size_t slots_ = 0;
  Index row_ = 0;
};

inline void Pending::Run::prepare() {
  List<std::size_t> free;
  for (auto& step : steps) {
    if (!step.node || &step == &steps.back()) continue;
    // Stored on the way is what somebody else will ask for: a tape, or a pending value outside this program; and what a reduction
    // has passed before.
    const auto& node = *step.node;
    constexpr Index long_row = tile / 2;  // below, more calls of kernels cost more than copies
    if (node.stretched() && node.strides_.back() == 1 && node.shape.back() >= long_row) row_ = node.shape.back();
    const bool wanted = !node.stretched() && (node.keep_.load(std::memory_order_relaxed) || node.passed_.load(std::memory_order_relaxed) || node.consumers_.load(std::memory_order_relaxed) > step.uses);
    if (wanted) step.stored = Buffer::make(node.shape, node.dtype, node.device);
  }
  List<std::size_t> place(steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    auto& step = steps[k];
    if (step.node && !step.stored && k + 1 < steps.size()) {
      // What a stretched scalar has filled stays there for all tiles, so the place must be no other step's, before it or after.
      if (free.empty() || constant(step)) free.push_back(slots_++);
      place[k] = free.back();
      free.pop_back();
    }
    if (!step.node) continue;
    for (std::size_t i = 0; i < step.node->count_; ++i) {
      auto& in = steps[step.inputs[i]];
      // A stretched scalar fills its tile once, for all tiles, so it keeps its place.
      if (in.node && !in.stored && in.last_use == static_cast<Index>(k) && !constant(in) && (i == 0 || step.inputs[i] != step.inputs[i - 1]) && (i < 2 || step.inputs[i] != step.inputs[0]))
        free.push_back(place[step.inputs[i]]);
    }
  }
  if (slots_) scratch_ = static_cast<std::byte*>(allocate(slots_ * slot));
  for (std::size_t k = 0; k + 1 < steps.size(); ++k)
    if (steps[k].node && !steps[k].stored) steps[k].scratch = scratch_ + place[k] * slot;
}

inline void Pending::Run::compute(Index first, Index n, std::byte* result) {
  auto at = [&](Step& s) -> std::byte* {
    if (s.in_place) return const_cast<std::byte*>(s.in_place);
    if (s.scratch) return s.scratch;
    if (!s.leaf && !s.stored) return result;
    return static_cast<std::byte*>(s.leaf ? const_cast<void*>(s.leaf->data()) : s.stored->fill()) + first * (s.leaf ? s.leaf->dtype->size : s.node->dtype->size);
  };
  for (auto& step : steps) {
    if (!step.node) continue;
    if (step.node->stretched()) {
      const bool filled = step.scratch && constant(step);
      if (filled && first > 0) continue;
      auto& base = *steps[step.inputs[0]].leaf;
      step.in_place = step.scratch && !filled ? step.node->in_place(base, first, n) : nullptr;
      if (step.in_place) continue;
      stretch_tile(at(step), base.data(), step.node->dtype->size, step.node->shape, step.node->strides_, first, filled ? std::min(tile, step.node->shape.size()) : n);
      continue;
    }
    const void* in[arity] = {};
    for (std::size_t i = 0; i < step.node->count_; ++i) in[i] = at(steps[step.inputs[i]]);
    step.node->kernel_.run(at(step), in, n);
  }
}

inline void Pending::Run::publish() {
  for (auto& step : steps) {
    int unclaimed = idle;
    if (step.stored && step.node->state_.compare_exchange_strong(unclaimed, computing, std::memory_order_acq_rel)) step.node->publish(std::move(step.stored));
  }
}

inline void Pending::force() const {
  int expected = idle;
  while (!state_.compare_exchange_strong(expected, computing, std::memory_order_acq_rel)) {
    if (expected == done) return;
    state_.wait(computing, std::memory_order_acquire);
    expected = idle;
  }
  struct Attempt {  // who waits tries for himself if there is no memory for us
    const Pending& of;
    ~Attempt() {
      int unfinished = computing;
      if (of.state_.compare_exchange_strong(unfinished, idle, std::memory_order_acq_rel)) of.state_.notify_all();
    }
  } attempt{*this};
  Run run;
  run.add(*this);
  run.prepare();
  auto out = Buffer::make(shape, dtype, device);
  auto* to = out->fill_as<std::byte>();
  const Index n = shape.size(), item = dtype->size;
  const bool streams = n * item >= 4 * host::stream_bytes;  // smaller ones are often read next, by another program
  alignas(64) std::byte piece[static_cast<std::size_t>(tile) * 8];
  for (Index first = 0, m; first < n; first += m) {
    m = run.length(first, n - first);
    run.compute(first, m, streams ? piece : to + first * item);
    if (streams) host::stream(to + first * item, piece, m * item);
  }
  if (streams) host::stream_end();
  run.publish();
  publish(std::move(out));
}

/// The elements of a pending value from the first to the last, by pieces that live in the cache until the next one is asked for.
class Pieces {
 public:
  static constexpr Index longest = 4096;  // elements of one piece

  explicit Pieces(const Pending& of) : item_(of.dtype->size), size_(of.shape.size()) {
    run_.add(of);
    if (auto* leaf = run_.steps.back().leaf) whole_ = static_cast<const std::byte*>(leaf->data());  // somebody has just stored it
    else run_.prepare();
  }
  /// The next n elements.
  const void* next(Index n) {
    const Index begin = std::exchange(first_, first_ + n);
    if (whole_) return whole_ + begin * item_;
    for (Index i = 0, m; i < n; i += m) {
      m = run_.length(begin + i, n - i);
      run_.compute(begin + i, m, piece_ + i * item_);
    }
    return piece_;
  }
  ~Pieces() {
    if (!whole_ && first_ == size_) run_.publish();
  }

 private:
  Pending::Run run_;
  const Index item_, size_;
  Index first_ = 0;
  const std::byte* whole_ = nullptr;
  alignas(64) std::byte piece_[longest * 8];
};

}  // namespace spmd::detail
