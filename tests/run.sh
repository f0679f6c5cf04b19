#!/usr/bin/env bash
# Builds everything and runs every test: unit tests, examples and benchmarks with small settings, the checks of headers, layout, linking
# and packaging, and the sanitizers. The last lines are ctest's summary.
#
#   tests/run.sh                     everything, in the preset `release`
#   tests/run.sh -R collective       what ctest selects by these arguments
#   tests/run.sh --full [args...]    under every preset, and with clang, and with all cases of the collective matrix
#
# What is missing on this machine is installed first where that is possible: see scripts/setup.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
spmd_set_up --checks

jobs="$(nproc)"
options=(-DSPMD_TEST_TIMEOUT=300)
if [[ -n ${CI:-} ]]; then options+=(-DSPMD_WERROR=ON); fi

# Configures and builds a preset in a folder, with further options for CMake.
build() {
  local preset="$1" folder="$2"
  shift 2
  cmake --preset "$preset" -B "$folder" "${options[@]}" "$@"
  cmake --build "$folder" --parallel "$jobs"
}

run_tests() {
  local folder="$1"
  shift
  ctest --test-dir "$folder" --output-on-failure --no-label-summary --parallel "$jobs" "$@"
}

if [[ ${1:-} == --full ]]; then
  shift
  # All cases of collective_matrix_test and collective_types_test: minutes, under a sanitizer up to hours.
  export SPMD_MATRIX=full
  options+=(-DSPMD_TEST_TIMEOUT=14400)
  for preset in dev tsan asan; do
    build "$preset" "build/$preset"
    run_tests "build/$preset" "$@"
  done
  if clang="$(spmd_find_clang)"; then
    build dev build/clang -DCMAKE_CXX_COMPILER="$clang"
    run_tests build/clang "$@"
  fi
fi

build release build/release
if [[ $# == 0 ]]; then scripts/compile_time.sh; fi
run_tests build/release "$@"
