// Where shards meet. Every collective first meets here with what it is about to do, so that a mismatch or a missing shard is found
// before anything waits for it for ever.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <optional>

#include "../core/primitive.hpp"
#include "worker.hpp"

namespace spmd {

namespace detail {
/// Seconds that a collective may wait; 0: for ever. Read at each map from SPMD_TIMEOUT unless set in code.
inline std::atomic<double> timeout_set{-1.0};
inline double timeout_seconds() {
  if (const auto set = timeout_set.load(); set >= 0) return set;
  const auto* text = std::getenv("SPMD_TIMEOUT");
  return text && *text ? std::max(0.0, std::strtod(text, nullptr)) : 0.0;
}
}  // namespace detail

/// How many seconds a collective may wait for the other shards before all of them get a Timeout; 0: no limit. Wins over SPMD_TIMEOUT.
inline void set_timeout(double seconds) { detail::timeout_set.store(seconds < 0 ? 0.0 : seconds); }

namespace detail {

/// A tape that is interpreting a collective right now, and whether the operands depend on its inputs.
struct Mark {
  Index level;
  bool traced;
};
/// What one shard brings to a collective. The round owns the operands: a peer may leave while others still read them.
struct Call {
  Ref<const Primitive> prim;
  Anys operands;
  List<Mark> marks;
  List<Ref<const Rows>> lanes;  // the selections of the conds around it: unlike lanes must not meet
};
inline List<Mark>& marks() {
  static thread_local List<Mark> here;
  return here;
}

inline std::string describe(const Call& call) {
  std::string out = call.prim->describe() + " of ";
  for (std::size_t i = 0; i < call.operands.size() && i < 4; ++i)
    out += concat({i ? ", " : "", call.operands[i]->dtype->name, call.operands[i]->shape});
  if (call.operands.size() > 4) out += concat({", ... (", call.operands.size(), " leaves)"});
  return out;
}
inline bool agree(const Call& a, const Call& b) {
  if (a.prim->name() != b.prim->name() || !a.prim->same(*b.prim) || a.operands.size() != b.operands.size() || a.lanes.size() != b.lanes.size()) return false;
  for (std::size_t i = 0; i < a.operands.size(); ++i)
    if (a.operands[i]->dtype->name != b.operands[i]->dtype->name || a.operands[i]->shape != b.operands[i]->shape) return false;
  for (std::size_t i = 0; i < a.lanes.size(); ++i)
    if (a.lanes[i]->rows != b.lanes[i]->rows) return false;
  return true;
}

/// Why shards that wait were released without a result.
struct Failure {
  enum Kind { aborted, mismatch, timeout } kind;
  std::string message;
};
/// Thrown in shards that wait for one that failed; never the error the caller sees.
struct Aborted : Error {
  using Error::Error;
};

/// One meeting of all shards.
struct Round final : Counted {
  explicit Round(std::size_t size) : calls(size), here(size, 0) {}
  List<Call> calls;
  List<char> here;
  Index arrived = 0, waiting = 0;
  std::atomic<bool> done = false;
  std::optional<Failure> failure;
  Anys results;                     // of reductions: one for all
  std::atomic<Index> finished = 0;  // shards that have done their share of a large one
};

/// What the last shard to come does, before anybody is released. Refers to the function it is made of.
class Complete {
 public:
  Complete() = default;
  template <std::invocable<Round&> F> Complete(const F& f) : f_(&f), call_([](const void* p, Round& round) { (*static_cast<const F*>(p))(round); }) {}
  void operator()(Round& round) const {
    if (call_) call_(f_, round);
  }

 private:
  const void* f_ = nullptr;
  void (*call_)(const void*, Round&) = nullptr;
};

/// All maps inside one outermost pmap: one lock, and how many of their threads can still run. At zero nobody ever will: whatever
/// the cause (a shard returned early, two shards wait in different collectives), that is a mismatch.
class Meeting {
 public:
  std::mutex mutex;
  std::condition_variable changed;
  Index running = 0;
  List<Group*> groups;
  const double timeout = timeout_seconds();
};

/// The shards of one pmap call.
class Group {
 public:
  Group(Meeting& meeting, Index size, bool nested) : meeting_(meeting), size_(size), nested_(nested), alive_(size) {
    std::lock_guard lock(meeting_.mutex);
    meeting_.running += size - (nested ? 1 : 0);  // the thread that starts a nested map waits for its end
    meeting_.groups.push_back(this);
  }
  ~Group() {
    std::lock_guard lock(meeting_.mutex);
    meeting_.groups.erase_if([this](Group* g) { return g == this; });
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  Index size() const { return size_; }

  /// Waits until every shard has come to this path; fails in all of them if that cannot happen. `complete` is called by the last
  /// one to come, before anybody is released.
  Ref<Round> meet(const Axes& path, Index rank, Call call, Complete complete) {
    auto lock = locked();
    if (stopped_) fail<Aborted>("pmap", {"another shard failed"});
    auto& slot = slot_of(path);
    if (!slot) slot = make<Round>(static_cast<std::size_t>(size_));
    auto round = slot;
    for (Index r = 0; r < size_; ++r) {
      if (!round->here[index(r)] || agree(round->calls[index(r)], call)) continue;
      Failure failure{Failure::mismatch, concat({"shard ", std::min(rank, r), " calls ", describe(r < rank ? round->calls[index(r)] : call), " and shard ",
                                                     std::max(rank, r), " calls ", describe(r < rank ? call : round->calls[index(r)])})};
      end_rounds(failure);
      raise(failure);
    }
    round->calls[index(rank)] = std::move(call);
    round->here[index(rank)] = 1;
    if (++round->arrived == size_) {
      forget(path);
      lock.unlock();
      std::exception_ptr error;
      try {
        complete(*round);
      } catch (...) {
        error = std::current_exception();
      }
      lock = locked();
      if (error) {
        const Failure failure{Failure::aborted, "another shard failed"};
        round->failure = failure;
        end_rounds(failure);
      }
      release(*round);
      lock.unlock();
      if (error) std::rethrow_exception(error);
      return round;
    }
    ++round->waiting;
    if (--meeting_.running == 0) stuck();
    lock.unlock();
    wait(*round, lock);
    if (round->failure) raise(*round->failure);
    return round;
  }
  /// A shard threw: those who wait for it are released.
  void stop() {
    std::lock_guard lock(meeting_.mutex);
    end_rounds({Failure::aborted, "another shard failed"});
  }
  /// A shard ended. The last one of a nested map lets the thread that waits for the map run again.
  void leave() {
    const auto lock = locked();
    if (--alive_ > 0 || !nested_) --meeting_.running;
    if (meeting_.running == 0) stuck();
  }

 private:
  static std::size_t index(Index i) { return static_cast<std::size_t>(i); }
  /// The meeting's lock. Shards come at the same time and hold it for less time than it takes to fall asleep, so they spin first, but not
  /// for as long as for each other's work.
  std::unique_lock<std::mutex> locked() const {
    std::unique_lock lock(meeting_.mutex, std::try_to_lock);
    for (Index i = Spinning::limit(size_) / 4; !lock && i > 0; --i) {
      pause_cpu();
      (void)lock.try_lock();
    }
    if (!lock) lock.lock();
    return lock;
  }
  Ref<Round>& slot_of(const Axes& path) {
    for (auto& [at, round] : rounds_)
      if (at == path) return round;
    rounds_.push_back({path, nullptr});
    return rounds_.back().second;
  }
  void forget(const Axes& path) {
    rounds_.erase_if([&](auto& entry) { return entry.first == path; });
  }
  [[noreturn]] static void raise(const Failure& failure) {
    if (failure.kind == Failure::mismatch) fail<CollectiveMismatch>("pmap", {failure.message});
    if (failure.kind == Failure::timeout) fail<Timeout>("pmap", {failure.message});
    fail<Aborted>("pmap", {failure.message});
  }
  void wait(Round& round, std::unique_lock<std::mutex>& lock) {
    const Index spin = Spinning::limit(size_);
    for (Index i = 0; i < spin && !round.done.load(std::memory_order_acquire); ++i) pause_cpu();
    if (round.done.load(std::memory_order_acquire)) return;
    using clock = std::chrono::system_clock;  // the one whose waits the thread sanitizer understands
    const auto start = clock::now();
    constexpr double slow = 10.0;
    bool warned = false;
    lock.lock();
    while (!round.done.load(std::memory_order_relaxed)) {
      const double limit = meeting_.timeout > 0 ? (warned ? meeting_.timeout : std::min(meeting_.timeout, slow)) : (warned ? 3600.0 : slow);
      meeting_.changed.wait_until(lock, start + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(limit)));
      if (round.done.load(std::memory_order_relaxed)) break;
      const double waited = std::chrono::duration<double>(clock::now() - start).count();
      if (meeting_.timeout > 0 && waited >= meeting_.timeout) {
        end_rounds({Failure::timeout, concat({"after ", meeting_.timeout, " s ", missing(round)})});
      } else if (!warned && waited >= slow) {
        warned = true;
        std::fprintf(stderr, "spmd: after 10 s %s\n", missing(round).c_str());
      }
    }
  }
  std::string missing(const Round& round) const {
    std::string waits, absent;
    for (Index r = 0; r < size_; ++r) {
      if (round.here[index(r)] && waits.empty()) waits = describe(round.calls[index(r)]);
      if (!round.here[index(r)]) absent += concat({absent.empty() ? "" : ", ", r});
    }
    return concat({waits, " still waits for shard ", absent});
  }
  void release(Round& round) {
    meeting_.running += std::exchange(round.waiting, 0);
    round.done.store(true, std::memory_order_release);
    meeting_.changed.notify_all();
  }
  void end_rounds(const Failure& failure) {
    stopped_ = true;
    for (auto& [path, round] : rounds_) {
      round->failure = failure;
      release(*round);
    }
    rounds_.clear();
  }
  void stuck() {
    std::string waits;
    for (auto* group : meeting_.groups)
      for (auto& [path, round] : group->rounds_)
        for (Index r = 0; r < group->size_; ++r)
          if (round->here[index(r)]) waits += (waits.empty() ? "" : "; ") + concat({"shard ", r, " waits in ", describe(round->calls[index(r)])});
    if (waits.empty()) return;
    const Failure failure{Failure::mismatch, "the other shards have returned or wait elsewhere and will not come: " + waits};
    for (auto* group : meeting_.groups)
      if (!group->rounds_.empty()) group->end_rounds(failure);
  }
  Meeting& meeting_;
  const Index size_;
  const bool nested_;
  Index alive_;
  bool stopped_ = false;
  List<std::pair<Axes, Ref<Round>>> rounds_;
};

/// Meets the shards of a pmap axis. A tape learns whether the operands are traced in any of them.
inline Ref<Round> meet(const Primitive& prim, const Axis& axis, const Anys& operands, Complete complete) {
  Call call{Ref<const Primitive>(&prim), operands, marks(), {}};
  for (auto& a : context().axes)
    if (a.lanes) call.lanes.push_back(a.lanes);
  auto round = axis.group->meet(axis.path, axis.index, std::move(call), complete);
  for (auto& other : round->calls)
    for (auto& mark : other.marks) {
      if (!mark.traced) continue;
      auto& mine = marks();
      auto it = std::find_if(mine.begin(), mine.end(), [&](auto& m) { return m.level == mark.level; });
      if (it == mine.end()) fail<CollectiveMismatch>(prim.name(), {"one shard differentiates this call over \"", *axis.name, "\" and this one does not: ", describe(other)});
      it->traced = true;
    }
  return round;
}

}  // namespace detail
}  // namespace spmd
