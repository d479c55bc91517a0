#!/usr/bin/env python3
"""mujoco_warp on the same file, for the table of gpu.py. Needs the packages mujoco, mujoco_warp and warp; says so where they lack.

Steps run as a captured CUDA graph where the device is a GPU. Controls are uniform over a tenth of their range about zero, new
at every tenth step. Room for contacts and constraint rows a world: --contacts, --rows; what passes them is dropped by it.

Usage: warp_bench.py --model humanoid.xml --worlds 1 8192
"""

import argparse
import sys
import time


def measure(modules, options, worlds):
    """(steps per second, mean contacts a world) of the timed steps."""
    mujoco, mjw, wp, np = modules
    model = mujoco.MjModel.from_xml_path(options.model)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    m = mjw.put_model(model)
    d = mjw.put_data(model, data, nworld=worlds, nconmax=options.contacts, njmax=options.rows)
    draws = np.random.default_rng(1)

    def draw():
        low, high = model.actuator_ctrlrange.T if model.nu else (0, 0)
        d.ctrl.assign((0.05 * (high - low) * draws.uniform(-1, 1, (worlds, model.nu))).astype(np.float32))

    mjw.step(m, d)  # compiles
    graph = None
    if wp.get_device().is_cuda:
        with wp.ScopedCapture() as capture:
            mjw.step(m, d)
        graph = capture.graph
    steps = max(20, min(1000, options.world_steps // worlds))
    seconds = 0.0
    for step in range(options.warmup_steps + steps):
        if step % 10 == 0:
            draw()
            wp.synchronize()
        start = time.perf_counter()
        if graph is None:
            mjw.step(m, d)
        else:
            wp.capture_launch(graph)
        if step % 10 == 9 or step == options.warmup_steps + steps - 1:
            wp.synchronize()
        if step >= options.warmup_steps:
            seconds += time.perf_counter() - start
    return worlds * steps / seconds, float(d.nacon.numpy()[0]) / worlds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', required=True)
    parser.add_argument('--worlds', nargs='+', type=int, default=[1, 8192])
    parser.add_argument('--world_steps', type=int, default=4_000_000)
    parser.add_argument('--warmup_steps', type=int, default=200)
    parser.add_argument('--contacts', type=int, default=24)
    parser.add_argument('--rows', type=int, default=96)
    options = parser.parse_args()
    try:
        import mujoco
        import mujoco_warp
        import numpy
        import warp
    except ImportError as error:
        print(f'mujoco_warp is not measured: {error}')
        return 0
    warp.config.quiet = True
    print(f'mujoco {mujoco.__version__}, warp {warp.__version__}, {warp.get_device()}\n')
    print('| worlds | mujoco_warp steps/s | us a world-step | contacts at the end |\n| ---: | ---: | ---: | ---: |')
    for worlds in options.worlds:
        rate, contacts = measure((mujoco, mujoco_warp, warp, numpy), options, worlds)
        print(f'| {worlds} | {rate:,.0f} | {1e6 / rate:.4g} | {contacts:.1f} |', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
