#!/usr/bin/env bash
# From a fresh clone on Debian 12 to robots that walked: installs packages, builds, starts axiond on free ports of the
# loopback address, lets hundreds of quadrupeds stand and walk, prints throughput, solver statistics and metrics, draws
# a plot, and stops the server. Exit code 0 only if all of that went well; Ctrl-C stops the server too.
#
# Usage: deploy/quickstart.sh [options of clients/examples/python/quadruped_walk.py, for example --worlds 64]
# Environment: AXION_JOBS (parallel build jobs, default the number of cores), AXION_DEVICE (default auto)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs="${AXION_JOBS:-$(nproc)}"
bin=build/release/bin
venv=build/venv
out=quickstart-out
server=""
walker=""

stage() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }
fail() { printf 'quickstart: %s\n' "$1" >&2; exit 1; }

# Asks the server to stop, waits for it and returns its exit code; kills it if it does not stop in 30 s.
stop_server() {
  local pid="$server" code=0
  server=""
  kill -TERM "$pid" 2>/dev/null || true
  for _ in $(seq 300); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null && echo "quickstart: the server did not stop within 30 s and was killed" >&2
  wait "$pid" || code=$?
  return "$code"
}

clean_up() {
  if [ -n "$walker" ]; then
    kill -TERM "$walker" 2>/dev/null || true
  fi
  if [ -n "$server" ]; then
    echo "quickstart: stopping the server" >&2
    stop_server || true
  fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# A driver that works names its devices; in a container the device may be there without the driver's tools.
has_gpu() { [ -e /dev/nvidia0 ] || nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }

# Changes when the Python package or the messages do, so that it is installed again only then.
package_stamp() { find clients/python proto/axion -type f \( -name '*.py' -o -name '*.toml' -o -name '*.proto' \) \
  -not -path '*/build/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum; }

stage "Debian packages"
deploy/setup.sh

stage "Build (some minutes the first time)"
# Kernels take longer to build than all the rest: they are built where a GPU is found, and for it alone.
if [ "${AXION_DEVICE:-auto}" != cpu ] && has_gpu; then
  echo "a GPU was found: CUDA is built for it if there is an nvcc"
  cuda=(-DAXION_CUDA=AUTO -DCMAKE_CUDA_ARCHITECTURES=native)
else
  echo "no GPU is used here: CUDA is not built (deploy/test.sh and the preset release do)"
  cuda=(-DAXION_CUDA=OFF)
fi
cmake --preset release "${cuda[@]}" -DAXION_WERROR=OFF
cmake --build --preset release --parallel "$jobs" --target axiond axion

stage "Python environment $venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if [ "$(cat "$venv/axion.stamp" 2>/dev/null || true)" = "$(package_stamp)" ]; then
  echo "the client is installed"
else
  "$venv/bin/pip" install --quiet --disable-pip-version-check './clients/python[examples]'
  package_stamp > "$venv/axion.stamp"
fi

stage "Server"
mkdir -p "$out"
read -r port metrics_port < <("$venv/bin/python" - <<'PYTHON'
import socket

with socket.socket() as first, socket.socket() as second:
    for one in (first, second):
        one.bind(("127.0.0.1", 0))
    print(first.getsockname()[1], second.getsockname()[1])
PYTHON
)
"$bin/axiond" --listen="127.0.0.1:$port" --metrics_listen="127.0.0.1:$metrics_port" \
  --device="${AXION_DEVICE:-auto}" > "$out/axiond.log" 2>&1 &
server=$!
ready=""
for _ in $(seq 150); do
  if "$bin/axion" info --server="127.0.0.1:$port" --timeout=2s > "$out/info.txt" 2>&1; then
    ready=yes
    break
  fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
if [ -z "$ready" ]; then
  cat "$out/axiond.log" >&2
  fail "the server did not answer (its log is above)"
fi
cat "$out/info.txt"

stage "Robots"
# In the background, so that a signal interrupts the wait at once.
"$venv/bin/python" clients/examples/python/quadruped_walk.py --server "127.0.0.1:$port" \
  --metrics "http://127.0.0.1:$metrics_port/metrics" --plot "$out/quadruped_walk.png" "$@" &
walker=$!
wait "$walker" || fail "the walk failed; the server's log is $out/axiond.log"
walker=""

stage "Stop"
code=0
stop_server || code=$?
[ "$code" -eq 0 ] || fail "the server ended with exit code $code; its log is $out/axiond.log"
echo "the server stopped in order"
printf '\nquickstart: all went well. Look at the plot: %s\n' "$PWD/$out/quadruped_walk.png"
