/// A progress bar on a terminal; in a file or a pipe only the lines remain.
#pragma once
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

class Progress {
 public:
  explicit Progress(std::int64_t total) : total_(total), terminal_(isatty(STDOUT_FILENO) != 0) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more of `total` is done; `label` stands beside the bar.
  void advance(const std::string& label) {
    ++done_;
    const auto now = Clock::now();
    if (!terminal_ || now - drawn_ < std::chrono::milliseconds(50)) return;  // drawing more often only costs time
    drawn_ = now;
    constexpr int width = 40;
    const int filled = static_cast<int>(width * done_ / total_);
    std::string bar(static_cast<std::size_t>(filled), '#');
    bar.resize(width, '.');
    std::printf("\r\033[K[%s] %3d %%  %s", bar.c_str(), static_cast<int>(100 * done_ / total_), label.c_str());
    std::fflush(stdout);
  }

  /// A line that stays, above the bar.
  void line(const std::string& text) {
    clear();
    std::puts(text.c_str());
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void clear() {
    if (!terminal_) return;
    std::fputs("\r\033[K", stdout);
    std::fflush(stdout);
  }

  std::int64_t total_, done_ = 0;
  bool terminal_;
  Clock::time_point drawn_{};
};
