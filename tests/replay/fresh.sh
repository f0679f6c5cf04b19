#!/usr/bin/env bash
# Draws fresh random programs, asks JAX for the answers, and compares; a disagreement is shrunk to the smallest program that shows it.
#
#   tests/replay/fresh.sh            200 programs, another seed every time
#   tests/replay/fresh.sh 2000 7     2,000 programs of seed 7
#
# Needs a build of replay_test (SPMD_REPLAY_BINARY, default build/release/tests/replay_test), and JAX, which pip installs into build/jax if it is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
binary="$(realpath "${SPMD_REPLAY_BINARY:-build/release/tests/replay_test}")"
python=python3
if ! python3 -c 'import jax' 2>/dev/null; then
  python=build/jax/bin/python
  if [[ ! -x $python ]]; then
    python3 -m venv build/jax
    "$python" -m pip install --quiet 'jax==0.10.2'
  fi
fi
"$python" tests/replay/generate.py --count "${1:-200}" --seed "${2:-$RANDOM}" --check "$binary"
