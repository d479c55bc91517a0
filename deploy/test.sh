#!/usr/bin/env bash
# From a fresh clone on Debian 12 to every test run: install, configure, build, test; then a choice of the tests under
# sanitizers, the client with Stable-Baselines3, PyTorch and JAX, and clang-tidy; where clang is installed, the fuzzers
# for a minute. Of what comes after the tests a stage is left out, and named, that would probably not end in time; which
# of them comes first turns from commit to commit. Prints what each stage took. Exit code 0 when all pass.
#
# Usage: deploy/test.sh [preset]      a preset of CMakePresets.json; `release` is what users build. Another preset is
#                                     configured, built and tested alone: all of its tests, and neither clang-tidy
#                                     nor other builds
# Environment: AXION_JOBS (parallel jobs, default the number of cores)
#              AXION_MINUTES (in which all should be done, 30 by default; with more of them nothing is left out)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset="${1:-release}"
jobs="${AXION_JOBS:-$(nproc)}"
minutes="${AXION_MINUTES:-30}"
venv="build/venv"

# ---- Which tests run under sanitizers (tests/README.md says why) ----------------------------------------------------
asan_engine_tests=(
  backend_requests_test backend_snapshot_test backend_state_test backend_thread_pool_test
  collide_robust_test convex_hull_test mesh_files_test mjcf_hostile_test urdf_hostile_test validate_scene_test
)
asan_server_tests=(server_access_test server_rpc_test server_schedule_test)
tsan_tests=(backend_thread_pool_test server_access_test server_schedule_test)

# ---- Stages ---------------------------------------------------------------------------------------------------------
stage_names=()
stage_seconds=()
stage_start=0
left_out=()
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
  end_stage
  printf '\n== Stages, in seconds\n'
  for k in "${!stage_names[@]}"; do printf '%6d  %s\n' "${stage_seconds[$k]}" "${stage_names[$k]}"; done
  for name in "${left_out[@]}"; do
    printf '     –  %s: left out for time; AXION_MINUTES=120 deploy/test.sh runs it\n' "$name"
  done
  if [ "$code" -eq 0 ]; then
    printf '%6d  all: passed\n' "$SECONDS"
  else
    printf '%6d  all: FAILED in "%s"\n' "$SECONDS" "${stage_names[-1]}"
  fi
}
trap summary EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Whether a stage that takes this many hundredths of what the build took would end in time, with a minute to spare for
# what the estimate misses: fits NAME HUNDREDTHS
fits() {
  if ((SECONDS + build_seconds * $2 / 100 + 60 <= minutes * 60)); then return 0; fi
  left_out+=("$1")
  return 1
}

# Builds tests under a preset and runs them: sanitized PRESET WHAT HUNDREDTHS TEST...
sanitized() {
  local name="$1" what="$1, $2" hundredths="$3"
  shift 3
  fits "$what" "$hundredths" || return 0
  stage "Build, $what"
  cmake --preset "$name" -DAXION_PYTHON=
  cmake --build --preset "$name" --parallel "$jobs" --target "$@"
  stage "Tests, $what"
  ctest --preset "$name" --parallel "$jobs" --no-tests=error -R "^($(IFS='|' && echo "$*"))\."
}

stage "Debian packages"
deploy/setup.sh test

stage "Python package"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check './clients/python[test]'

stage "Configure"
# What ccache asks for before it keeps what was compiled with precompiled headers (AXION_QUICK_TESTS).
export CCACHE_SLOPPINESS=pch_defines,time_macros
# Machine code and PTX of one kind of GPU are enough to test: each takes a minute to compile (CUDAARCHS names others).
cmake --preset "$preset" -DCMAKE_CUDA_ARCHITECTURES="${CUDAARCHS:-90}" -DAXION_UNITY=ON \
  -DAXION_QUICK_TESTS=ON -DAXION_PYTHON="$PWD/$venv/bin/python"

stage "Build"
cmake --build --preset "$preset" --parallel "$jobs"

stage "Tests"
build_seconds="${stage_seconds[-1]}"
# One more than there are cores: many tests wait most of their time.
ctest --preset "$preset" --parallel $((jobs + 1))

[ "$preset" = release ] || exit 0

built_before() { [ -d "build/$1/bin" ]; }  # by another of these stages, what both of them need
check_asan_engine() {
  sanitized asan-ubsan engine "$(built_before asan-ubsan && echo 15 || echo 37)" "${asan_engine_tests[@]}"
}
check_tsan() { sanitized tsan "pool and scheduler" 14 "${tsan_tests[@]}"; }
check_asan_server() {
  sanitized asan-ubsan server "$(built_before asan-ubsan && echo 35 || echo 60)" "${asan_server_tests[@]}"
}
# The client with Stable-Baselines3, PyTorch and JAX, which take five gigabytes.
check_learning() {
  fits "Stable-Baselines3, PyTorch, JAX" 14 || return 0
  local free
  free="$(df --output=avail -k build | tail -1)"
  if ((free < 12 * 1024 * 1024)); then
    left_out+=("Stable-Baselines3, PyTorch, JAX (they want 12 GiB of the disk)")
    return 0
  fi
  stage "Stable-Baselines3, PyTorch, JAX"
  [ -x build/venv-learning/bin/python ] || python3 -m venv build/venv-learning
  if ! build/venv-learning/bin/pip install --quiet --disable-pip-version-check --no-cache-dir \
    './clients/python[arrays,examples,sb3]'; then
    left_out+=("Stable-Baselines3, PyTorch, JAX (they could not be installed)")
    return 0
  fi
  (cd tests/clients/python && AXION_AXIOND="$OLDPWD/build/$preset/bin/axiond" AXION_LIBRARIES=all \
    "$OLDPWD/build/venv-learning/bin/python" -B -m unittest -v gym_arrays_test)
}
check_tidy() {
  fits clang-tidy 46 || return 0
  stage "clang-tidy"
  tests/architecture/check_tidy.py --build "build/$preset" --jobs "$jobs"
}
# A minute of all fuzzers together, where there is a clang that links them: setup.sh does not install one.
check_fuzzers() {
  local clang
  clang="$(command -v clang++-14 || command -v clang++)" || return 0
  "$clang" -fsanitize=fuzzer -x c++ -o /dev/null - 2> /dev/null <<< \
    'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' || return 0
  fits Fuzzers 40 || return 0
  stage "Fuzzers"
  AXION_JOBS="$jobs" tests/fuzz/run.sh 12
}

# Where there is not time for all, each commit begins with the next of them, so that a few commits run all.
checks=(check_asan_engine check_tsan check_asan_server check_learning check_tidy check_fuzzers)
turn="$(git rev-list --count HEAD 2> /dev/null || echo 0)"
for k in "${!checks[@]}"; do
  "${checks[(turn + k) % ${#checks[@]}]}"
done
