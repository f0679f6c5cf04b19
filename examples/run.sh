#!/usr/bin/env bash
# Builds and runs an example.
#
#   examples/run.sh [options...]     the main job: train_digits
#   examples/run.sh NAME [args...]   one example
#   examples/run.sh --list           their names
#
# What is missing on this machine is installed first where that is possible: see scripts/setup.sh.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Each example with the first line of its file.
list() {
  local file name
  for file in "$root"/examples/*.cpp; do
    name="$(basename "$file" .cpp)"
    printf '  %-18s %s\n' "$name" "$(sed -n '1s|^// *||p' "$file" | sed "s/^$name: *//")"
  done
}

case "${1:-}" in
  --list) list && exit ;;
  -h | --help) sed -n '2,/^$/s/^#\( \|$\)//p' "${BASH_SOURCE[0]}" && list && exit ;;
esac
case "${1:-}" in
  "" | -*) name=train_digits ;;
  *) name="$1" && shift ;;
esac
if [[ ! -f $root/examples/$name.cpp ]]; then
  echo "there is no example \"$name\"; there are:" >&2
  list >&2
  exit 1
fi

source "$root/scripts/setup.sh"
spmd_set_up
# The build speaks on stderr, so that the output of the example can be piped; the configuration only where it fails.
(
  cd "$root"
  cmake --preset release >"$spmd_setup/configure.log" 2>&1 || { cat "$spmd_setup/configure.log" && exit 1; }
  cmake --build build/release --parallel "$(nproc)" --target "example_$name"
) >&2
exec "$root/build/release/examples/$name" "$@"
