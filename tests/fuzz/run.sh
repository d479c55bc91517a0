#!/usr/bin/env bash
# Builds the fuzzers with clang, under the address and undefined behaviour sanitizers, and runs each for a while from
# the corpus beside this script. Exit code 0 when none found anything; what one found lies in build/fuzz/found.
#
# Usage: tests/fuzz/run.sh [seconds of each [fuzzer...]]     seconds: 60 by default; 0 tries the corpus alone.
#        Fuzzers: mjcf urdf mesh snapshot tokens store service; all by default
# Environment: AXION_JOBS (parallel jobs of the build, default the number of cores)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds="${1:-60}"
shift || true
fuzzers=("$@")
[ ${#fuzzers[@]} -gt 0 ] || fuzzers=(mjcf urdf mesh snapshot tokens store service)
compiler="$(command -v clang++-14 || command -v clang++ || true)"
if [ -z "$compiler" ]; then
  echo "run.sh: there is no clang++ here (Debian: apt-get install clang-14 libclang-rt-14-dev)" >&2
  exit 2
fi

cmake --preset fuzz -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_C_COMPILER="${compiler/++/}" > /dev/null
cmake --build --preset fuzz --parallel "${AXION_JOBS:-$(nproc)}" --target "${fuzzers[@]/%/_fuzzer}"

mkdir -p build/fuzz/found
failed=()
for name in "${fuzzers[@]}"; do
  printf '\n== %s, %s s\n' "$name" "$seconds"
  mkdir -p "build/fuzz/corpus/$name"
  limits=(-max_total_time="$seconds")
  [ "$seconds" -gt 0 ] || limits=(-runs=0)
  # What was found before is tried first; new inputs go to the build's own folder.
  UBSAN_OPTIONS=print_stacktrace=1 "build/fuzz/bin/fuzz/${name}_fuzzer" "${limits[@]}" -timeout=20 -rss_limit_mb=4096 \
    -max_len=8192 -print_final_stats=1 -verbosity=0 -artifact_prefix="build/fuzz/found/$name-" \
    "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { echo "run.sh: found something: ${failed[*]}; see build/fuzz/found" >&2; exit 1; }
printf '\nno fuzzer found anything\n'
