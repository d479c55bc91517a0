#!/usr/bin/env bash
# Builds the wheels of the server and of the Python client, installs them in an empty virtual environment on a bare
# Debian 12, where no package of the project's dependencies is, and has a quadruped walk and a policy learn there, each
# by a server that Python starts for itself: the seconds from the downloaded files to each are printed. Other systems:
# AXION_WHEEL_BASES names tar files of their roots, which have python3 and its venv module.
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
    --dest "$root/wheels" "$(echo "$work"/wheels/axion_server_client-*.whl)[gym]"
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
    /venv/bin/pip install --quiet --no-index --find-links /wheels axion-server "axion-server-client[gym]"
    /venv/bin/python - <<PYTHON
import axion
client = axion.Client()
batch = client.create_batch(client.create_model(path="/wheels/quadruped.xml"), 16, seed=1, joint_position_noise=0.05)
for _ in range(20):
    result = batch.step(steps=10)
print("16 quadrupeds after", int(result.step_index[0]), "steps; converged:", bool(result.converged.all()))
PYTHON
    echo "from the wheels to walking robots: $((SECONDS - start)) s"
    /venv/bin/python - <<PYTHON
# A linear policy for a pole on a cart, by the cross-entropy method: each of 64 worlds tries its own gains.
import numpy as np
import axion.gym
envs = axion.gym.make_vec("InvertedPendulum-v5", 64)
rng = np.random.default_rng(1)
mean, spread, lasted = np.zeros(4), np.full(4, 3.0), []
for generation in range(8):
    gains = mean + spread * rng.normal(size=(64, 4))
    observation, _ = envs.reset(seed=generation)
    alive, steps = np.ones(64, bool), np.zeros(64)
    for _ in range(200):
        action = np.clip((gains * observation).sum(axis=1, keepdims=True), -3, 3)
        observation, _, terminated, _, _ = envs.step(action.astype(np.float32))
        alive &= ~terminated
        steps += alive
    best = gains[np.argsort(steps)[-8:]]
    mean, spread = best.mean(axis=0), best.std(axis=0)
    lasted.append(steps.mean())
print("steps that 64 poles stay up, by generation:", *np.round(lasted).astype(int))
assert lasted[-1] > 3 * lasted[0]
PYTHON
    echo "$(python3 --version), $(du -ch /wheels/*.whl | tail -n 1 | cut -f 1) of wheels"
    echo "from the wheels to a policy that has learned: $((SECONDS - start)) s"
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
printf '\nwheel_test: installed, stepped, learned\n'
