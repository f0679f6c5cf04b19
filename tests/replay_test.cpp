// Random programs against JAX's answers, which are stored in tests/replay/programs.txt. SPMD_REPLAY names another file of programs
// (tests/replay/fresh.sh draws one); with SPMD_REPLAY_VERBOSE the id of each is printed before it runs.
#include <gtest/gtest.h>

#include "replay/interpreter.hpp"

namespace {

TEST(Replay, programs) {
  spmd::set_host_device_count(8);
  const char* given = std::getenv("SPMD_REPLAY");
  const bool verbose = std::getenv("SPMD_REPLAY_VERBOSE") != nullptr;
  const auto programs = replay::Reader(given ? given : SPMD_REPLAY_PROGRAMS).all();
  EXPECT_FALSE(programs.empty());
  for (auto& p : programs) {
    if (verbose) std::cerr << "RUN " << p.id << std::endl;
    std::string wrong;
    try {
      wrong = replay::difference(p);
    } catch (const std::exception& e) {
      wrong = std::string(e.what()) + "\n";
    }
    EXPECT_TRUE(wrong.empty()) << "FAIL " << p.id << " " << wrong << (given ? "" : p.text);
  }
}

}  // namespace
