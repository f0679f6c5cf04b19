#!/usr/bin/env bash
# How long a program with one pmap and one grad takes to compile: the best of three, without ccache and precompiled headers.
# In CI a warning is an error: at -O2 compilers see more of the library than where headers are only checked.
#
#   scripts/compile_time.sh [compiler]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
compiler="${1:-${CXX:-g++}}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

cat >"$folder/program.cpp" <<'CPP'
#include <spmd/spmd.hpp>

int main() {
  auto loss = [](const spmd::Tensor<>& w, const spmd::Tensor<>& x) { return spmd::mean(spmd::square(x * w - 1.0f)); };
  auto step = spmd::pmap(
      [&](const spmd::Tensor<>& w, const spmd::Tensor<>& x) { return w - 0.1f * spmd::pmean(spmd::grad(loss)(w, x), "i"); },
      {.axis_name = "i", .in_axes = {spmd::replicated, 0}, .out_axes = spmd::replicated});
  return spmd::all(spmd::isfinite(step(spmd::Tensor<>(1.0f), spmd::arange<float>(spmd::device_count())))).item() ? 0 : 1;
}
CPP

# Eigen is where CMake finds it; the usual place otherwise.
eigen="$(sed -n 's|^Eigen3_DIR:PATH=\(.*\)/share/eigen3/cmake$|\1/include/eigen3|p' "$root/build/release/CMakeCache.txt" 2>/dev/null || true)"
compile=("$compiler" -std=c++20 -Wall -Wextra ${CI:+-Werror} -I "$root/include" -isystem "${eigen:-/usr/include/eigen3}" -pthread -c "$folder/program.cpp" -o "$folder/program.o")

TIMEFORMAT=%R
for level in -O0 -O2; do
  best=
  for _ in 1 2 3; do
    seconds="$({ time "${compile[@]}" "$level"; } 2>&1)" || { echo "$seconds" >&2 && exit 1; }
    best="$(printf '%s\n' $best "$seconds" | sort -n | head -n 1)"
  done
  echo "compile time of a program with one pmap and one grad, $level: $best s ($compiler)"
done
