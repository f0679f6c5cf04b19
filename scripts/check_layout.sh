#!/usr/bin/env bash
# Checks what docs/design.md says about the headers: arrows between the rooms point one way, no header is longer than 400 lines, only
# core/error.hpp throws, logic does not test backend macros, and #pragma once comes first. Prints each offence as file:line: text.
#
#   scripts/check_layout.sh [folder that contains spmd/]
set -euo pipefail
cd "${1:-"$(dirname "${BASH_SOURCE[0]}")/../include"}"

find spmd -name '*.hpp' | sort | xargs awk '
BEGIN {
  limit = 400
  # What the headers of a room may include.
  may["core"] = "core"
  may["device"] = "core device"
  may["ops"] = "core device ops"
  may["transform"] = "core device ops transform"
  may["interop"] = "core device ops interop"
  may["debug"] = "core device ops debug"
  may["door"] = "core device ops transform interop debug"
  may["cuda"] = "core device ops cuda"  # leaves: they plug in behind interfaces, and nobody includes them
  may["mpi"] = "core device mpi"
}

function room(path) {
  if (path == "spmd/spmd.hpp") return "door"
  if (path ~ /^spmd\/device\/cuda[\/.]/) return "cuda"
  if (path ~ /^spmd\/device\/mpi[\/.]/) return "mpi"
  split(path, part, "/")
  return part[2]
}

# folder/../x is x.
function normal(path) {
  while (path ~ /[^\/]+\/\.\.\//) sub(/[^\/]+\/\.\.\//, "", path)
  gsub(/\/\.\//, "/", path)
  return path
}

function offence(line, text) {
  print FILENAME ":" line ": " text
  failed = 1
}

function end_of_file() {
  if (last_name != "" && last_line > limit) {
    print last_name ":" last_line ": more than " limit " lines: split it by idea, or question an operation"
    failed = 1
  }
}

FNR == 1 {
  end_of_file()
  started = in_comment = 0
  here = room(FILENAME)
  if (!(here in may)) offence(1, "no such room: " here)
}
{ last_name = FILENAME; last_line = FNR; code = $0 }

# Includes, before the text in quotes is removed.
/^[ \t]*#[ \t]*include/ && match(code, /["<][^">]+[">]/) {
  path = substr(code, RSTART + 1, RLENGTH - 2)
  quoted = substr(code, RSTART, 1) == "\""
  if (path !~ /^spmd\//) {
    if (here == "core" && path ~ /^(iostream|regex|ranges)$/) offence(FNR, "<" path "> is too heavy for core")
    folder = FILENAME
    sub(/[^\/]+$/, "", folder)
    path = quoted ? normal(folder path) : ""
  }
  if (path != "" && index(" " may[here] " ", " " room(path) " ") == 0)
    offence(FNR, "the room " here " must not include " path " (it may include: " may[here] ")")
}

# The line without comments, strings and characters.
{
  gsub(/\\["\\]/, "", code)
  gsub(/"[^"]*"/, "\"\"", code)
  gsub(/\047[^\047]\047/, "0", code)
  if (in_comment) {
    if (!sub(/^.*\*\//, "", code)) next
    in_comment = 0
  }
  gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", code)
  if (sub(/\/\*.*$/, "", code)) in_comment = 1
  sub(/\/\/.*$/, "", code)
  gsub(/throw[ \t]*;/, ";", code)  # to pass an exception on is no throw
}
code ~ /^[ \t]*$/ { next }

!started {
  started = 1
  if (code !~ /^#pragma once/) offence(FNR, "#pragma once must be the first line of code")
}
FILENAME != "spmd/core/error.hpp" && code ~ /(^|[^A-Za-z0-9_])throw([^A-Za-z0-9_]|$)/ {
  offence(FNR, "only core/error.hpp throws: call fail")
}
here ~ /^(core|ops|transform)$/ && code ~ /^[ \t]*#[ \t]*(el)?if.*(CUDA|NVCC|NCCL|MPI)/ {
  offence(FNR, "a backend macro in " here ": a backend plugs in behind an interface")
}
END {
  end_of_file()
  exit failed
}
'
echo "layout: $(find spmd -name '*.hpp' | wc -l) headers are in order"
