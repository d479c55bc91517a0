#!/usr/bin/env bash
# From a fresh clone on Debian 12 to every test run: install, configure, build, test, in some twenty minutes on two
# cores. With --all then what takes longer: long tests, a choice of the tests under sanitizers, the client with
# Stable-Baselines3, PyTorch and JAX, clang-tidy, and every fuzzer for a while. Prints what each stage took. Exit code 0
# when all pass.
#
# Usage: deploy/test.sh [--all | preset]   a preset of CMakePresets.json is configured, built and tested alone, as users
#                                          build it; `release` is tested in a build that is optimised less
# Environment: AXION_JOBS (parallel jobs, default the number of cores)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=false
preset="${1:-release}"
if [ "$preset" = --all ]; then
  all=true
  preset=release
fi
jobs="${AXION_JOBS:-$(nproc)}"
venv="build/venv"

# ---- Which tests run under sanitizers (tests/README.md says why) ----------------------------------------------------
# Programs, and which of their suites.
asan_engine_tests=(backend_test import_test model_test shapes_test)
asan_engine_suites='Requests|Snapshot|State|ThreadPool|MeshFiles|Hostile.*|Convex.*|ValidateScene'
asan_engine_suites+='|Collide(Broad|Stability)'
asan_server_tests=(server_access_test server_rpc_test server_schedule_test)
tsan_tests=(backend_test server_access_test server_schedule_test)
tsan_suites='ThreadPool'

# ---- Stages ---------------------------------------------------------------------------------------------------------
stage_names=()
stage_seconds=()
stage_start=0
package=  # the process that installs the Python package, while it does
end_stage() {
  [ ${#stage_names[@]} -gt ${#stage_seconds[@]} ] || return 0
  stage_seconds+=($((SECONDS - stage_start)))
  printf -- '-- %s: %d s\n' "${stage_names[-1]}" "${stage_seconds[-1]}"
}
stage() {
  end_stage
  printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"
  stage_names+=("$1")
  stage_start=$SECONDS
}
summary() {
  local code=$?
  [ -z "$package" ] || kill "$package" 2>/dev/null || true
  end_stage
  printf '\n== Stages, in seconds\n'
  for k in "${!stage_names[@]}"; do printf '%6d  %s\n' "${stage_seconds[$k]}" "${stage_names[$k]}"; done
  if [ "$code" -eq 0 ]; then
    printf '%6d  all: passed\n' "$SECONDS"
  else
    printf '%6d  all: FAILED in "%s"\n' "$SECONDS" "${stage_names[-1]}"
  fi
}
trap summary EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Builds programs of tests under a preset and runs them: sanitized PRESET WHAT SUITES PROGRAM...; of the engine's
# programs only the suites that the pattern names.
sanitized() {
  local name="$1" what="$1, $2" suites="$3"
  shift 3
  stage "Build, $what"
  cmake --preset "$name" -DAXION_PYTHON=
  cmake --build --preset "$name" --parallel "$jobs" --target "$@"
  stage "Tests, $what"
  ctest --preset "$name" --parallel "$jobs" --no-tests=error \
    -R "^((backend|import|model|shapes)_test\.(.*/)?($suites)\.|server_[a-z]+_test\.)"
}

stage "Debian packages"
if $all; then deploy/setup.sh all; else deploy/setup.sh test; fi

stage "Configure"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# What ccache asks for before it keeps what was compiled with precompiled headers (AXION_QUICK_TESTS).
export CCACHE_SLOPPINESS=pch_defines,time_macros
# What the build of a test has no use for is left out: optimisation of what takes no time, and more than one kind of GPU
# (CUDAARCHS names others).
quick=()
if [ "$preset" = release ]; then
  quick=(-DCMAKE_CUDA_ARCHITECTURES="${CUDAARCHS:-90}" -DAXION_UNITY=ON -DAXION_QUICK_TESTS=ON)
fi
cmake --preset "$preset" "${quick[@]}" -DAXION_PYTHON="$PWD/$venv/bin/python"

stage "Build, and the Python package beside it"  # which waits for the network most of its time
"$venv/bin/pip" install --quiet --disable-pip-version-check './clients/python[test]' &
package=$!
cmake --build --preset "$preset" --parallel "$jobs"
wait "$package"
package=

stage "Tests"
# Three for each core: many tests wait most of their time.
ctest --preset "$preset" --parallel $((jobs * 3))

$all || exit 0

stage "Build, long tests"
cmake --build --preset release --parallel "$jobs" --target axion_seldom
stage "Long tests"
ctest --preset long --no-tests=error

sanitized asan-ubsan engine "$asan_engine_suites" "${asan_engine_tests[@]}"
sanitized asan-ubsan server none "${asan_server_tests[@]}"
sanitized tsan "pool and scheduler" "$tsan_suites" "${tsan_tests[@]}"

stage "Stable-Baselines3, PyTorch, JAX"  # five gigabytes
[ -x build/venv-learning/bin/python ] || python3 -m venv build/venv-learning
build/venv-learning/bin/pip install --quiet --disable-pip-version-check --no-cache-dir \
  './clients/python[arrays,examples,sb3]'
(cd tests/clients/python && AXION_AXIOND="$OLDPWD/build/release/bin/axiond" AXION_LIBRARIES=all \
  "$OLDPWD/build/venv-learning/bin/python" -B -m unittest -v gym_arrays_test torch_test)

stage "clang-tidy"
tests/architecture/check_tidy.py --build build/release --jobs "$jobs"

stage "Fuzzers"
AXION_JOBS="$jobs" tests/fuzz/run.sh 12
