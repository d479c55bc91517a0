#!/usr/bin/env bash
# Builds the Debian packages, installs them with apt on a bare Debian 12, starts the server as its systemd unit does,
# and looks whether robots can be stepped in it, whether it ends with exit code 0 on the unit's stop signal, whether a
# second start has the batch again, and whether the packages go without leaving a file.
#
# There is no systemd in the bare Debian: the unit is read by systemd-analyze where this machine has one, and its
# ExecStart is run by a user without privileges in namespaces of its own.
#
# Usage: deploy/package_test.sh (as root, with debootstrap; some minutes). Environment: AXION_DEBIAN_MIRROR.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work="$PWD/build/package_test"
root="$work/root"
launcher=""
mkdir -p "$work"
fail() { printf 'package_test: %s\n' "$1" >&2; exit 1; }
stage() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }
. deploy/debian_base.sh

clean_up() {
  [ -z "$launcher" ] || kill -KILL "$launcher" 2>/dev/null || true
  rm -rf "$root"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

stage "Packages"
[ -f build/release/CMakeCache.txt ] || cmake --preset release
cmake --build build/release --parallel "$(nproc)" --target axiond axion >/dev/null
rm -rf "$work/packages"
cpack --config build/release/CPackConfig.cmake -B "$work/packages" >/dev/null
ls -l "$work"/packages/*.deb

stage "Bare Debian"
base="$work/base.tar"
[ ! -s build/image_test/base.tar ] || base=build/image_test/base.tar
make_debian_base "$base"
rm -rf "$root"
mkdir -p "$root"
tar -C "$root" -x -f "$base"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/packages" && cp "$work"/packages/*.deb "$root/packages/"
inside() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
inside apt-get -qq update
inside dpkg -l | awk '/^ii/ { print $2 }' | sort > "$work/before"

stage "Installation"
inside sh -c 'apt-get -qq -y --no-install-recommends install /packages/*.deb' > "$work/apt.log" 2>&1 \
  || { tail -n 20 "$work/apt.log" >&2; fail "apt could not install the packages"; }
inside sh -c 'dpkg -L axion-server axion-tool' | grep -E 'axion' | sort -u
inside axiond --version

stage "Unit"
unit="$root/usr/lib/systemd/system/axiond.service"
[ -f "$unit" ] || unit="$root/lib/systemd/system/axiond.service"
if command -v systemd-analyze >/dev/null; then
  # The bare Debian lacks systemd's own units.
  words=$(systemd-analyze --root="$root" verify "$unit" 2>&1 | grep -i axiond | grep -v 'target not found' || true)
  [ -z "$words" ] || fail "systemd-analyze says of the unit: $words"
  systemd-analyze security --offline=true --root="$root" "$unit" 2>/dev/null | tail -n 1 || true
fi
mapfile -t command < <(sed -n 's/^ExecStart=//p' "$unit" | tr ' ' '\n' | grep -v '^\$')
stop_signal=$(sed -n 's/^KillSignal=//p' "$unit")
[ "${#command[@]}" -gt 1 ] && [ -n "$stop_signal" ] || fail "the unit has no ExecStart or no KillSignal"
state=$(printf '%s\n' "${command[@]}" | sed -n 's/^--state_dir=//p')
install -d -m 700 -o 64000 -g 64000 "$root$state"

# What systemd would do with the unit: a user of its own, no privileges, a root that only $state can be written in.
start() {
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --net --mount --pid --fork --kill-child bash -c '
    set -euo pipefail
    root="$1" state="$2"
    shift 2
    ip link set lo up
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/tmp"
    mount --bind "$root$state" "$root$state"
    mount -o remount,ro,bind "$root"
    exec setpriv --no-new-privs chroot --userspec=64000:64000 --groups= "$root" /usr/bin/env -i "$@"
  ' start "$root" "$state" "${command[@]}" > "$work/axiond.log" 2>&1 &
  launcher=$!
  for _ in $(seq 150); do
    kill -0 "$launcher" 2>/dev/null || break
    read -r pid < "/proc/$launcher/task/$launcher/children" 2>/dev/null || true
    if [ -n "${pid:-}" ] && ask axion info >/dev/null 2>&1; then return 0; fi
    sleep 0.2
  done
  cat "$work/axiond.log" >&2
  fail "the server did not become healthy"
}
# The command line tool of the package, beside the server.
ask() { nsenter --target "$pid" --net --mount --root --wd=/ -- /usr/bin/env -i PATH=/usr/bin LC_ALL=C.UTF-8 "$@"; }
stop() {
  local code=0
  kill -s "${stop_signal#SIG}" "$pid"
  timeout 60 tail --pid="$pid" -f /dev/null || fail "the server did not stop"
  wait "$launcher" || code=$?
  launcher=""
  [ "$code" -eq 0 ] || { cat "$work/axiond.log" >&2; fail "the server ended with exit code $code"; }
}

stage "Robots"
cp clients/examples/models/quadruped.xml "$root/packages/"
start
batch=$(ask axion create /packages/quadruped.xml --worlds=8 | grep -o 'batches/[0-9a-f]*' | head -n 1)
[ -n "$batch" ] || fail "no batch was made"
ask axion step "$batch" --steps=200 | tail -n 3
stop
start
ask axion step "$batch" --steps=10 | tail -n 1 || fail "the batch is gone after a restart"
stop
echo "stepped, stopped with exit code 0, and there again after a restart"

stage "Removal"
inside sh -c 'apt-get -qq -y --auto-remove purge axion-server axion-tool' >> "$work/apt.log" 2>&1
left=$(find "$root/usr" "$root/lib" "$root/etc" -iname '*axion*' 2>/dev/null || true)
[ -z "$left" ] || fail "the packages leave $left"
inside dpkg -l | awk '/^ii/ { print $2 }' | sort | diff "$work/before" - || fail "the packages leave others"
printf '\npackage_test: installed, started as the unit says, stepped, restarted, removed\n'
