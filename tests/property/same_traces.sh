#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# same_traces.sh ROOT COMPILERS PROGRAM...
# Every PROGRAM (trace_hash, built in different ways) prints the same traces, each time it is run: memory lies elsewhere
# each time. The same of what each of COMPILERS that is installed makes of the sources under ROOT, at -O0 and -O3.
set -u
root=$1
compilers=$2
shift 2
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failed=0
first=

# compare NAME PROGRAM
compare() {
  for _ in 1 2; do
    if ! "$2" "$folder/path.json" >"$folder/out"; then
      echo "FAILED: $1"
      failed=1
    fi
    [ -n "$first" ] || { first=$1 && cp "$folder/out" "$folder/first" && cat "$folder/out"; }
    if ! cmp -s "$folder/first" "$folder/out"; then
      echo "FAILED: $1 differs from $first:"
      cat "$folder/out"
      failed=1
    fi
  done
  echo "$1: compared"
}

for program in "$@"; do compare "$program" "$program"; done
for compiler in $compilers; do
  command -v "$compiler" >/dev/null || { echo "$compiler: not installed" && continue; }
  for level in 0 3; do
    # As the build does it, see meson.build: the model casts host memory to records.
    if "$compiler" -std=c++20 "-O$level" -fno-strict-aliasing -w -I"$root/hwmodel/include" -I"$root/hwmodel" -I"$root/mapos/include" \
      -I"$root/mapos" "$root"/hwmodel/*.cpp "$root"/mapos/*.cpp "$root/tests/property/trace_hash.cpp" -lpcap -o "$folder/program"; then
      compare "$compiler -O$level" "$folder/program"
    else
      echo "FAILED: $compiler -O$level does not build it"
      failed=1
    fi
  done
done
exit $failed
