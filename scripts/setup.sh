#!/usr/bin/env bash
# Finds what the project is built with, and installs what is missing where apt-get can (Debian, Ubuntu; root or sudo). Otherwise it says
# what to install and fails. The run scripts source it: it leaves CXX and CMAKE_GENERATOR set for the configuration that follows.
#
#   scripts/setup.sh            compiler, CMake, Ninja or Make, Eigen, GoogleTest, Google Benchmark
#   scripts/setup.sh --checks   also a clang, for the check that every header compiles with both compilers

spmd_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
spmd_setup="$spmd_root/build/setup"  # the probe's build folder, and notes on what apt-get could not do

spmd_has() { command -v "$1" >/dev/null 2>&1; }

# Whether $1 is g++ >= 12 or clang >= 16, with a standard library that has C++20.
spmd_is_cxx20() {
  spmd_has "$1" && "$1" -std=c++20 -x c++ -fsyntax-only - >/dev/null 2>&1 <<'CPP'
#include <concepts>
#if defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12
#error too old
#endif
CPP
}

# Prints the first of its arguments that is such a compiler.
spmd_first_cxx20() {
  local compiler
  for compiler in "$@"; do
    if spmd_is_cxx20 "$compiler"; then echo "$compiler" && return; fi
  done
  return 1
}

spmd_find_gcc() { spmd_first_cxx20 ${CXX:-g++ g++-12 g++-13 g++-14 g++-15 c++}; }
spmd_find_clang() { spmd_first_cxx20 clang++-16 clang++-17 clang++-18 clang++-19 clang++-20 clang++; }
spmd_find_compiler() { spmd_find_gcc || { [[ -z ${CXX:-} ]] && spmd_find_clang; }; }

spmd_has_cmake() {
  local version
  spmd_has cmake && version="$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')" &&
    [[ "$(printf '%s\n' 3.21 "$version" | sort -V | head -n 1)" == 3.21 ]]
}

# The Debian names of the libraries CMake does not find.
spmd_missing_libraries() {
  local log="$spmd_setup/probe.log"
  mkdir -p "$spmd_setup"
  # A folder that an earlier compiler or generator configured is thrown away.
  cmake -S "$spmd_root/cmake/probe" -B "$spmd_setup/probe" >"$log" 2>&1 ||
    { rm -rf "$spmd_setup/probe" && cmake -S "$spmd_root/cmake/probe" -B "$spmd_setup/probe" >"$log" 2>&1; } ||
    { cat "$log" >&2 && return 1; }
  cat "$spmd_setup/probe/missing"
}

# As root, or through sudo. Without a terminal sudo must not ask for a password.
spmd_as_root() {
  if [[ $EUID == 0 ]]; then env "$@"
  elif [[ -t 0 ]]; then sudo env "$@"
  else sudo -n env "$@"
  fi
}

spmd_apt() { spmd_as_root DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends "$@" </dev/null >>"$spmd_setup/apt.log" 2>&1; }

# Refreshes apt's lists, once; fails where there is no apt-get or nobody may use it.
spmd_apt_ready() {
  if [[ -z ${spmd_apt_state:-} ]]; then
    spmd_apt_state=no
    mkdir -p "$spmd_setup"
    if spmd_has apt-get && { [[ $EUID == 0 ]] || spmd_has sudo; } && spmd_apt update; then spmd_apt_state=yes; fi
  fi
  [[ $spmd_apt_state == yes ]]
}

spmd_can_apt_install() { apt-cache show "$1" >/dev/null 2>&1; }

# The g++ to install: the distribution's own where it is new enough.
spmd_gcc_package() {
  local candidate
  candidate="$(apt-cache policy g++ 2>/dev/null | sed -n 's/.*Candidate: \([0-9]*:\)\{0,1\}\([0-9]*\).*/\2/p')"
  if [[ ${candidate:-12} -ge 12 ]]; then echo g++; else echo g++-12; fi
}

# Installs the packages it is given, and ccache with them where it is missing; it only saves time.
spmd_install() {
  local packages=("$@")
  if spmd_apt_ready; then
    if ! spmd_has ccache && spmd_can_apt_install ccache; then packages+=(ccache); fi
    echo "installing: ${packages[*]}" >&2
    if spmd_apt install "${packages[@]}"; then return; fi
    tail -n 20 "$spmd_setup/apt.log" >&2
  fi
  cat >&2 <<TEXT
These packages are missing and could not be installed from here:

    sudo apt-get install $*

(the names are Debian's and Ubuntu's; elsewhere: g++ >= 12 or clang >= 16, CMake >= 3.21, Ninja or Make, Eigen >= 3.4, GoogleTest,
Google Benchmark). Then run this again.
TEXT
  return 1
}

spmd_set_up() {
  local missing=() libraries
  spmd_find_compiler >/dev/null || {
    if [[ -n ${CXX:-} ]]; then echo "CXX=$CXX is neither g++ >= 12 nor clang >= 16 with C++20" >&2 && return 1; fi
    spmd_apt_ready || true  # so that the newest g++ is known by name
    missing+=("$(spmd_gcc_package)")
  }
  spmd_has_cmake || missing+=(cmake)
  spmd_has ninja || spmd_has make || missing+=(ninja-build)
  # Without compiler and CMake nobody can be asked about the libraries, and a machine without them hardly has those.
  if [[ ${#missing[@]} -gt 0 ]]; then spmd_install "${missing[@]}" libeigen3-dev libgtest-dev libbenchmark-dev || return; fi
  if ! spmd_has_cmake; then echo "CMake is older than 3.21: install a newer one, for instance by pip install cmake" >&2 && return 1; fi

  CXX="$(spmd_find_compiler)" || { echo "no C++20 compiler was found after the installation" >&2 && return 1; }
  export CXX
  if [[ -z ${CMAKE_GENERATOR:-} ]] && spmd_has ninja; then export CMAKE_GENERATOR=Ninja; fi
  libraries="$(spmd_missing_libraries)" || return
  if [[ -n $libraries ]]; then
    # shellcheck disable=SC2086  # one word per package
    spmd_install $libraries || return
    libraries="$(spmd_missing_libraries)" || return
    if [[ -n $libraries ]]; then echo "CMake still does not find: $libraries" >&2 && return 1; fi
  fi

  if [[ ${1:-} == --checks ]]; then spmd_set_up_clang; fi
}

# A clang is wanted, not needed: where apt-get has none, that is said once and noted, and the check runs with g++ alone.
spmd_set_up_clang() {
  local version
  if spmd_find_clang >/dev/null; then return; fi
  if [[ ! -e $spmd_setup/no-clang ]]; then
    if spmd_apt_ready; then
      for version in 16 17 18 19 20; do
        if spmd_can_apt_install "clang-$version"; then
          echo "installing: clang-$version" >&2
          spmd_apt install "clang-$version" && return
          break
        fi
      done
    fi
    touch "$spmd_setup/no-clang"
  fi
  echo "no clang >= 16 here: the headers are checked with $CXX only" >&2
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  spmd_set_up "$@"
  echo "ready: $CXX, $(cmake --version | head -n 1), ${CMAKE_GENERATOR:-the default generator}"
fi
