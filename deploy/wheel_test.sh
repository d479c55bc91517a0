#!/usr/bin/env bash
# Builds the wheels of the server and of the Python client, installs them in an empty virtual environment on a bare
# Debian 12, where no package of the project's dependencies is, and has a quadruped walk there: the seconds from the
# downloaded files to the robot's steps are printed. Other systems: AXION_WHEEL_BASES names tar files of their roots,
# which have python3 and its venv module.
#
# Usage: deploy/wheel_test.sh (as root, with debootstrap and a build of axiond; some minutes).
# Environment: AXION_DEBIAN_MIRROR, AXION_WHEEL_BASES.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work="$PWD/build/wheel_test"
root="$work/root"
mkdir -p "$work"
fail() { printf 'wheel_test: %s\n' "$1" >&2; exit 1; }
stage() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }
. deploy/debian_base.sh
trap 'rm -rf "$root"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

stage "Wheels"
rm -rf "$work/wheels"
deploy/server_wheel.sh "$work/wheels" > "$work/server_wheel.log" 2>&1 ||
  { tail -n 20 "$work/server_wheel.log" >&2; exit 1; }
python=build/server_wheel/venv/bin
"$python/python" -m build --quiet --wheel --outdir "$work/wheels" clients/python > "$work/client_wheel.log" 2>&1
"$python/twine" check --strict "$work"/wheels/*.whl
ls -l "$work"/wheels

stage "Bare Debian"
base="$work/base.tar"
[ ! -s build/image_test/base.tar ] || base=build/image_test/base.tar
make_debian_base "$base"

# walk_on ROOT: from the wheels to a walking robot.
walk_on() {
  local root="$1" version
  mkdir -p "$root/wheels"
  version=$(chroot "$root" /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  "$python/pip" download --quiet --disable-pip-version-check --only-binary :all: --python-version "$version" \
    --dest "$root/wheels" "$work"/wheels/axion_server_client-*.whl
  cp "$work"/wheels/*.whl clients/examples/models/quadruped.xml "$root/wheels/"
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --net --mount --pid --fork --kill-child bash -c '
    set -euo pipefail
    ip link set lo up
    mount -t proc proc "$1/proc"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 bash -c "$2"
  ' walk "$root" '
    set -euo pipefail
    start=$SECONDS
    python3 -m venv /venv
    /venv/bin/pip install --quiet --no-index --find-links /wheels axion-server axion-server-client
    /venv/bin/axiond > /axiond.log 2>&1 &
    server=$!
    /venv/bin/python - <<PYTHON
import time
import axion
for _ in range(100):
    try:
        client = axion.Client("127.0.0.1:8470")
        client.server_info()
        break
    except axion.AxionError:
        time.sleep(0.1)
batch = client.create_batch(client.create_model(path="/wheels/quadruped.xml"), 16, seed=1, joint_position_noise=0.05)
for _ in range(20):
    result = batch.step(steps=10)
print("16 quadrupeds after", int(result.step_index[0]), "steps; converged:", bool(result.converged.all()))
PYTHON
    kill -TERM $server
    wait $server
    echo "$(python3 --version), $(du -ch /wheels/*.whl | tail -n 1 | cut -f 1) of wheels"
    echo "from the wheels to walking robots: $((SECONDS - start)) s"
  '
}

rm -rf "$root"
mkdir -p "$root"
tar -C "$root" -x -f "$base"
cp /etc/resolv.conf "$root/etc/resolv.conf"
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
  sh -c 'apt-get -qq update && apt-get -qq -y --no-install-recommends install python3-venv' > "$work/apt.log" 2>&1
walk_on "$root"
for other in ${AXION_WHEEL_BASES:-}; do
  stage "$other"
  rm -rf "$root"
  mkdir -p "$root"
  tar -C "$root" -x -f "$other"
  walk_on "$root"
done
printf '\nwheel_test: installed, served, stepped, stopped with exit code 0\n'
