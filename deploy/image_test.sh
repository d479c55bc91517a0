#!/usr/bin/env bash
# Builds the container image, starts it as a user without privileges on a read-only root, waits until its health check
# is green, lets the quick start's quadrupeds walk in it, stops it, and looks whether it ended with exit code 0.
#
# Takes docker or podman where these can run a container, else buildah, whose chroot isolation needs no daemon; the
# program is then started as the image's configuration says, in namespaces of its own (as root). Where no base image can
# be pulled, one is made by debootstrap.
#
# Usage: deploy/image_test.sh [options of clients/examples/python/quadruped_walk.py, for example --worlds 64]
# Environment: AXION_IMAGE_TOOL (docker, podman or buildah; default the first that works), AXION_IMAGE_BASE (an image of
# Debian 12 to build on), AXION_DEBIAN_MIRROR (for debootstrap; default where apt fetches from)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

image=axion-image-test
work="$PWD/build/image_test"
venv=build/venv
container=""   # of docker or podman
launcher=""    # process that holds the namespaces of a container made by hand
walk_options=("$@")
mkdir -p "$work"
. deploy/debian_base.sh

stage() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }
fail() { printf 'image_test: %s\n' "$1" >&2; exit 1; }
tool() {
  if [ "$kind" = buildah ]; then
    buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" "$@"
  else
    "$kind" "$@"
  fi
}

clean_up() {
  [ -z "$container" ] || tool rm -f "$container" >/dev/null 2>&1 || true
  [ -z "$launcher" ] || kill -KILL "$launcher" 2>/dev/null || true
  # Its layers are whole copies of a file system.
  [ "${kind:-}" != buildah ] || tool rm --all >/dev/null 2>&1 || true
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- What to build with, and on what ---------------------------------------------------------------------------------
choose_tool() {
  local name
  for name in ${AXION_IMAGE_TOOL:-docker podman buildah}; do
    command -v "$name" >/dev/null || continue
    case "$name" in
      docker) timeout 20 docker info >/dev/null 2>&1 || continue ;;
      podman) timeout 20 podman info >/dev/null 2>&1 && can_run_podman || continue ;;
      buildah) [ "$(id -u)" -eq 0 ] || continue ;;
    esac
    kind="$name"
    return 0
  done
  return 1
}

# podman may be installed where it has no runtime or no right to make namespaces: a container of one static program
# tells.
can_run_podman() {
  local made code=0
  made=$(tar -C / -c usr/bin/true 2>/dev/null | podman import -q - axion-image-probe 2>/dev/null) || return 1
  # The program misses its libraries, so it fails by 127 or the like once it was started; 125 and 126 are podman's own.
  timeout 30 podman run --rm "$made" /usr/bin/true >/dev/null 2>&1 || code=$?
  podman rmi -f "$made" >/dev/null 2>&1 || true
  [ "$code" -ne 125 ] && [ "$code" -ne 126 ]
}

make_base() {
  local made="$work/base.tar"
  make_debian_base "$made"
  base=localhost/axion-image-base
  if [ "$kind" = buildah ]; then
    local scratch
    scratch=$(tool from scratch)
    tool add --quiet "$scratch" "$made" / >/dev/null
    tool commit --quiet "$scratch" "$base" >/dev/null
    tool rm "$scratch" >/dev/null
  else
    tool import "$made" "$base" >/dev/null
  fi
}

choose_base() {
  base="${AXION_IMAGE_BASE:-debian:12-slim}"
  [ -z "${AXION_IMAGE_BASE:-}" ] || return 0
  timeout 120 "$kind" --version >/dev/null
  if [ "$kind" = buildah ]; then
    timeout 120 buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" pull --quiet "$base" \
      >/dev/null 2>&1 && return 0
  else
    timeout 120 "$kind" pull --quiet "$base" >/dev/null 2>&1 && return 0
  fi
  echo "$base cannot be pulled here: making a base by debootstrap"
  make_base
}

# ---- A container by hand: the image's files and configuration, namespaces, a read-only root --------------------------
# One value or list of the image's configuration, its items ended by NUL.
configured() {
  tool inspect --type image "$image" | python3 -c '
import json, sys
value = json.load(sys.stdin)["Docker"]["config"]
for key in sys.argv[1].split("."):
    value = (value or {}).get(key)
for item in value if isinstance(value, list) else [] if value is None else [str(value)]:
    sys.stdout.write(item + "\0")' "$1"
}

start_by_hand() {
  local user
  root=$(tool mount "$(tool from "$image")")
  mapfile -d '' -t entry < <(configured Entrypoint; configured Cmd)
  mapfile -d '' -t environment < <(configured Env)
  mapfile -d '' -t health < <(configured Healthcheck.Test)
  IFS= read -r -d '' user < <(configured User) || fail "the image names no user"
  IFS= read -r -d '' stop_signal < <(configured StopSignal) || stop_signal=SIGTERM
  [[ "$user" =~ ^[1-9][0-9]*$ ]] || fail "the image's user \"$user\" is not a number above 0"
  ids="$user:$user"
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --net --mount --pid --ipc --uts --fork --kill-child bash -c '
    set -euo pipefail
    root="$1" ids="$2"
    shift 2
    ip link set lo up
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in null zero full random urandom; do
      : > "$root/dev/$device"
      mount --bind "/dev/$device" "$root/dev/$device"
    done
    mount -t tmpfs tmpfs "$root/tmp"
    mount -o remount,ro,bind "$root"
    exec setpriv --no-new-privs chroot --userspec="$ids" --groups= "$root" /usr/bin/env -i "$@"
  ' start "$root" "$ids" "${environment[@]}" "${entry[@]}" > "$work/axiond.log" 2>&1 &
  launcher=$!
  for _ in $(seq 100); do
    kill -0 "$launcher" 2>/dev/null || break
    read -r pid < "/proc/$launcher/task/$launcher/children" 2>/dev/null || true
    # Once it is the program that runs, its root is the image's.
    [ -z "${pid:-}" ] || [ "$(readlink "/proc/$pid/root" 2>/dev/null)" != "$root" ] || break
    sleep 0.1
  done
  [ -n "${pid:-}" ] || { cat "$work/axiond.log" >&2; fail "the container did not start"; }
  server=127.0.0.1:8470
  metrics=127.0.0.1:9470
}

# ---- The same verbs for all tools ------------------------------------------------------------------------------------
start() {
  if [ "$kind" = buildah ]; then
    start_by_hand
    return
  fi
  container=$(tool run --detach --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
    --publish 127.0.0.1::8470 --publish 127.0.0.1::9470 "$image")
  server=$(tool port "$container" 8470/tcp | head -n 1)
  metrics=$(tool port "$container" 9470/tcp | head -n 1)
}

# Runs a command inside as the image's user.
inside() {
  if [ "$kind" = buildah ]; then
    nsenter --target "$pid" --net --mount --pid --ipc --uts --root --wd=/ --setuid "${ids%:*}" --setgid "${ids#*:}" \
      -- /usr/bin/env -i "${environment[@]}" "$@"
  else
    tool exec "$container" "$@"
  fi
}

# The image's own health check.
healthy() {
  case "$kind" in
    docker) [ "$(tool inspect --format '{{.State.Health.Status}}' "$container")" = healthy ] ;;
    podman) tool healthcheck run "$container" >/dev/null 2>&1 ;;
    buildah) [ "${health[0]:-}" = CMD ] && inside "${health[@]:1}" > "$work/health.log" 2>&1 ;;
  esac
}

alive() {
  if [ "$kind" = buildah ]; then
    kill -0 "$launcher" 2>/dev/null
  else
    [ "$(tool inspect --format '{{.State.Running}}' "$container")" = true ]
  fi
}

show_log() {
  if [ "$kind" = buildah ]; then cat "$work/axiond.log"; else tool logs "$container"; fi >&2
}

# Runs a command of this machine where it can reach the container.
beside() {
  if [ "$kind" = buildah ]; then nsenter --target "$pid" --net -- "$@"; else "$@"; fi
}

# Its exit code.
stop() {
  local code=0
  if [ "$kind" = buildah ]; then
    kill -s "${stop_signal#SIG}" "$pid"
    timeout 40 tail --pid="$pid" -f /dev/null || fail "the container did not stop within 40 s"
    wait "$launcher" || code=$?
    launcher=""
  else
    tool stop --time 40 "$container" >/dev/null
    code=$(tool inspect --format '{{.State.ExitCode}}' "$container")
  fi
  return "$code"
}

# ---- The test --------------------------------------------------------------------------------------------------------
choose_tool || fail "neither docker nor podman can run here, nor buildah (a Debian package) as root"
stage "Base image, for $kind"
choose_base
echo "building on $base"

stage "Image (some minutes)"
case "$kind" in
  buildah) tool bud --isolation chroot --format docker --build-arg BASE="$base" -t "$image" . ;;
  podman) tool build --format docker --build-arg BASE="$base" -t "$image" . ;;
  docker) tool build --build-arg BASE="$base" -t "$image" . ;;
esac

stage "Client"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check './clients/python[examples]'

stage "Start"
start
green=""
for _ in $(seq 300); do
  if healthy; then
    green=yes
    break
  fi
  alive || break
  sleep 0.2
done
[ -n "$green" ] || { show_log; fail "the health check did not turn green"; }
echo "the health check is green"
user=$(inside id -u)
[ "$user" -ne 0 ] || fail "the server runs as root"
[ "$(inside awk '$2 == "/" { split($4, o, ","); mode = o[1] } END { print mode }' /proc/mounts)" = ro ] \
  || fail "the root of the container can be written"
echo "it runs as user $user on a read-only root"

stage "Robots"
beside "$venv/bin/python" clients/examples/python/quadruped_walk.py --server "$server" \
  --metrics "http://$metrics/metrics" --plot "$work/quadruped_walk.png" "${walk_options[@]}" ||
  { show_log; fail "the walk failed"; }

stage "Stop"
code=0
stop || code=$?
[ "$code" -eq 0 ] || { show_log; fail "the server ended with exit code $code"; }
printf '\nimage_test: built, started, healthy, walked in, and stopped with exit code 0\n'
