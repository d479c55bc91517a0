#!/usr/bin/env bash
# Installs what building, running and testing need on Debian 12. Run as root, or as a user who may use sudo.
# Running it again installs only what is missing, and asks the package servers nothing when nothing is.
#
# Usage: deploy/setup.sh [build|test|all]   build: compile and run; test (default): the test suite besides; all: what
#                                           deploy/test.sh --all wants besides
set -euo pipefail

build_packages=(
  build-essential ca-certificates ccache cmake git ninja-build pkg-config
  libabsl-dev libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libpng-dev libqhull-dev libsqlite3-dev libssl-dev libtinyxml2-dev libspdlog-dev nlohmann-json3-dev
  prometheus-cpp-dev
  python3 python3-pip python3-venv
)
test_packages=(
  clang-14 clang-format-14 clang-tidy-14 libeigen3-dev libfcl-dev libgmock-dev libgtest-dev libmujoco-dev libzstd-dev
  haproxy openssl prometheus
)
fuzz_packages=(libclang-rt-14-dev)

packages=("${build_packages[@]}")
case "${1:-test}" in
  build) ;;
  test) packages+=("${test_packages[@]}") ;;
  all) packages+=("${test_packages[@]}" "${fuzz_packages[@]}") ;;
  *) echo "setup.sh: unknown argument '$1': build, test or all" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null; then
  echo "setup.sh: no apt-get here; on other systems install the libraries of vcpkg.json (see CONTRIBUTING.md)" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} Debian packages are installed"
else
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup.sh: run as root, or install sudo: needs ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  # A list that cannot be refreshed (a third-party source that is down) is no reason to stop; a missing package is.
  "${as_root[@]}" apt-get update -qq || echo "setup: some package lists were not refreshed"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
  # Debian starts a packaged server as a service; the tests start their own on a free port of the loopback address.
  for service in haproxy prometheus; do
    if [[ " ${missing[*]} " == *" $service "* ]] && [ -d /run/systemd/system ]; then
      "${as_root[@]}" systemctl disable --now "$service.service" || true
    fi
  done
fi

# The same search as the build's: on the PATH, or where the toolkit installs itself.
nvcc=$(command -v nvcc || true)
for folder in "${CUDA_PATH:-}" /usr/local/cuda; do
  if [ -z "$nvcc" ] && [ -x "$folder/bin/nvcc" ]; then nvcc="$folder/bin/nvcc"; fi
done
if [ -n "$nvcc" ]; then
  echo "setup: CUDA can be built by $nvcc ($("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p'))"
else
  echo "setup: nvcc was not found, so the CUDA backend will NOT be built; the CPU backend does everything it does"
fi
