#!/usr/bin/env bash
# From a fresh clone on Debian 12 to every test run: install, configure, build, test. Exit code 0 when all pass.
#
# Usage: deploy/test.sh [preset]      a preset of CMakePresets.json; `release` is what users build
# Environment: AXION_JOBS (parallel jobs, default the number of cores)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset="${1:-release}"
jobs="${AXION_JOBS:-$(nproc)}"
venv="build/venv"

stage() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }

stage "Debian packages"
deploy/setup.sh test

stage "Python package"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check './clients/python[test]'

stage "Configure"
# The quick start may have left a build for the GPU of this machine alone.
cmake --preset "$preset" -U CMAKE_CUDA_ARCHITECTURES -DAXION_PYTHON="$PWD/$venv/bin/python"

stage "Build"
cmake --build --preset "$preset" --parallel "$jobs"

stage "Tests"
ctest --preset "$preset" --parallel "$jobs"
