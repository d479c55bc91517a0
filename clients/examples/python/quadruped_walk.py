"""Stands and walks a few hundred quadrupeds on a running axiond, and reports what happened.

Each world starts from the keyframe "stand", dropped from a little height with a random heading, tilt and joint angles.
The robots stand for two seconds and then trot, all to the same open loop controls. Prints throughput, solver statistics
and the server's metrics, and draws body height and forward travel over time. Exit code 1 if a robot fell, flew or did
not walk.
"""

import argparse
import contextlib
import pathlib
import sys
import time

import numpy as np

import axion
import metrics
from gait import Trot

SCENE = pathlib.Path(__file__).resolve().parents[1] / "models" / "quadruped.xml"
STEPS_PER_CALL = 20
RECORD_EVERY = 4
# What the trunk may do between the first stand and the end: lower is fallen, higher is thrown.
HEIGHT_RANGE = (0.22, 0.36)
LEAST_TRAVEL_PER_SECOND = 0.03


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default=axion.DEFAULT_TARGET, help="address of axiond (%(default)s)")
    parser.add_argument("--metrics", default="http://127.0.0.1:9470/metrics", help="its metrics page (%(default)s)")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated, of which 2 s standing (%(default)s)")
    parser.add_argument("--dt", type=float, default=0.005, help="time step, s (%(default)s)")
    parser.add_argument("--preset", default="default", help="solver preset: default, axion_seed or velocity (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the initial poses (%(default)s)")
    parser.add_argument("--plot", type=pathlib.Path, default=pathlib.Path("quadruped_walk.png"),
                        help="PNG to write (%(default)s)")
    return parser.parse_args()


def random_poses(stand, world_count, seed):
    """Joint positions [n, nq] near the keyframe: x y z, quaternion, twelve angles."""
    random = np.random.default_rng(seed)
    positions = np.tile(stand, (world_count, 1))
    positions[:, 0:2] += random.uniform(-0.5, 0.5, (world_count, 2))
    # High enough that the lowest foot starts above the floor: tilt and angles lower it by less than 4 cm.
    positions[:, 2] += random.uniform(0.04, 0.08, world_count)
    heading = random.uniform(-np.pi, np.pi, world_count) / 2
    tilt = random.uniform(-0.05, 0.05, (world_count, 2)) / 2
    # Heading about z, then a small roll and pitch; the server normalises.
    cos, sin = np.cos(heading), np.sin(heading)
    positions[:, 3:7] = np.stack([cos, cos * tilt[:, 0] - sin * tilt[:, 1], sin * tilt[:, 0] + cos * tilt[:, 1], sin],
                                 axis=1)
    positions[:, 7:] += random.uniform(-0.08, 0.08, (world_count, len(stand) - 7))
    return positions


class Progress:
    """A bar on stderr: in place on a terminal, else a line every tenth."""

    def __init__(self, label):
        self._label, self._terminal, self._tenths = label, sys.stderr.isatty(), -1

    def show(self, fraction, note):
        if not self._terminal and int(fraction * 10) == self._tenths:
            return
        self._tenths = int(fraction * 10)
        filled = int(30 * fraction)
        print(f"{self._label} [{'#' * filled}{'.' * (30 - filled)}] {100 * fraction:3.0f} %  {note}", file=sys.stderr,
              end="\033[K\r" if self._terminal and fraction < 1 else "\n", flush=True)


def walk(batch, gait, seconds):
    """Steps the batch to the gait. Returns times [r], trunk poses [n, r, 7], outcomes [n] (all seen), wall seconds."""
    calls = max(1, round(seconds / (batch.dt * STEPS_PER_CALL)))
    progress = Progress("walking")
    poses, outcomes = [], np.zeros(batch.world_count, dtype=np.uint32)

    def requests():
        for call in range(calls):
            step_times = (call * STEPS_PER_CALL + np.arange(STEPS_PER_CALL)) * batch.dt
            rows = gait.joint_angles(step_times).astype(np.float32)
            yield {"control": np.broadcast_to(rows, (batch.world_count, *rows.shape)), "steps": STEPS_PER_CALL,
                   "record_every": RECORD_EVERY, "outputs": ["body_pose"]}

    started = time.perf_counter()
    with batch.stream() as stream:
        for call, result in enumerate(stream.map(requests(), in_flight=4), 1):
            poses.append(result["body_pose"][:, :, 0, :])
            outcomes |= result.outcome & ~np.uint32(axion.Outcome.CONVERGED)
            wall = time.perf_counter() - started
            steps = call * STEPS_PER_CALL * batch.world_count
            progress.show(call / calls, f"{call * STEPS_PER_CALL * batch.dt:5.2f} s simulated, "
                                        f"{steps / wall:,.0f} world-steps/s")
    poses = np.concatenate(poses, axis=1)
    times = (np.arange(poses.shape[1]) + 1) * RECORD_EVERY * batch.dt
    return times, poses, outcomes, time.perf_counter() - started


def forward_travel(times, poses, start):
    """Way along the heading that each robot has when it sets off: [n, r], m."""
    first = min(np.searchsorted(times, start), len(times) - 1)
    w, x, y, z = np.moveaxis(poses[:, first, 3:7], -1, 0)
    heading = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    forward = np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    return np.einsum("nrc,nc->nr", poses[:, :, 0:2] - poses[:, first:first + 1, 0:2], forward)


def draw(path, times, heights, travel, gait, title, shown=10):
    """Heights and travel of several worlds over the range of all."""
    import matplotlib

    matplotlib.use("Agg")  # no display needed
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 1, figsize=(10, 8), sharex=True, layout="constrained")
    for axis, values, label in zip(axes, (heights, travel), ("body height (m)", "forward travel (m)")):
        axis.fill_between(times, values.min(axis=0), values.max(axis=0), color="0.87",
                          label=f"range of all {len(values)} worlds")
        for world in np.linspace(0, len(values) - 1, min(shown, len(values)), dtype=int):
            axis.plot(times, values[world], linewidth=1, label=f"world {world}")
        axis.axvline(gait.start, color="0.4", linestyle=":")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].axhline(0, color="black", linewidth=1)
    axes[0].annotate("floor", (times[-1], 0), xytext=(-30, 4), textcoords="offset points")
    axes[0].annotate("walk", (gait.start, axes[0].get_ylim()[1]), xytext=(4, -14), textcoords="offset points")
    axes[0].set_title(title)
    axes[0].legend(ncols=3, fontsize="small")
    axes[1].set_xlabel("time (s)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def print_statistics(stats):
    print("\nSolver statistics")
    print(f"  {stats.world_steps:,} world-steps, {100 * stats.converged_fraction:.3f} % converged; max iterations "
          f"{stats.max_iterations}, contact overflow {stats.contact_overflow}, non finite {stats.non_finite}, fallback "
          f"{stats.fallback}")
    for name in ("newton_iterations", "linear_iterations", "line_search_steps", "sweep_rounds", "contact_sweeps",
                 "contacts"):
        histogram = getattr(stats, name)
        print(f"  {name.replace('_', ' '):<22} mean {histogram.mean:7.3f}   99 % <= {histogram.quantile(0.99):g}")
    for block, histogram in sorted(stats.residual.items()):
        print(f"  residual {block:<13} mean {histogram.mean:7.3g}   99 % <= {histogram.quantile(0.99):g} "
              "(multiples of the tolerance)")
    print(f"  greatest penetration {1e3 * stats.max_penetration:.3f} mm, greatest joint error "
          f"{1e3 * stats.max_joint_error:.4f} mm")


def print_metrics(url):
    print(f"\nMetrics from {url}")
    try:
        lines = metrics.digest(metrics.scrape(url))
    except OSError as error:
        print(f"  no page: {error}")
        return False
    print("\n".join(f"  {line}" for line in lines) or "  the page has no axion_* metrics")
    return bool(lines)


def complaints(times, heights, travel, outcomes, gait):
    """What went wrong, in words."""
    settled = heights[:, times >= min(1.0, times[-1])]
    walked = times[-1] - gait.start
    found = []
    if np.any(outcomes & axion.Outcome.NON_FINITE):
        found.append(f"{np.count_nonzero(outcomes & axion.Outcome.NON_FINITE)} worlds became non-finite")
    if np.any(fallen := settled.min(axis=1) < HEIGHT_RANGE[0]):
        found.append(f"{np.count_nonzero(fallen)} robots sank below {HEIGHT_RANGE[0]} m")
    if np.any(thrown := settled.max(axis=1) > HEIGHT_RANGE[1]):
        found.append(f"{np.count_nonzero(thrown)} robots rose above {HEIGHT_RANGE[1]} m")
    if walked > 2 and np.any(idle := travel[:, -1] < LEAST_TRAVEL_PER_SECOND * walked):
        found.append(f"{np.count_nonzero(idle)} robots walked less than {LEAST_TRAVEL_PER_SECOND * walked:.2f} m")
    return found


def main():
    args = arguments()
    gait = Trot()
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(axion.Client(args.server))
        info = client.server_info(timeout=10)
        device = info.devices[0]
        print(f"axiond {info.version} ({info.revision}) on {device.name} [{device.id}]")
        model = client.create_model(mjcf=SCENE.read_text())
        for warning in model.warnings:
            print(f"warning: {warning}")
        batch = stack.enter_context(client.create_batch(model, args.worlds, args.dt, preset=args.preset))
        print(f"{batch.world_count} worlds of {model.display_name}: {model.body_count} bodies, {model.control_count} "
              f"drives, dt {batch.dt:g} s, {batch.memory_bytes / 2**20:.1f} MiB")
        batch.reset(keyframe="stand", joint_position=random_poses(model.keyframes["stand"], args.worlds, args.seed))
        times, poses, outcomes, wall = walk(batch, gait, args.seconds)
        stats = batch.solver_stats()
        scraped = print_metrics(args.metrics)
    print_statistics(stats)
    heights, travel = poses[:, :, 2], forward_travel(times, poses, gait.start)
    rate = stats.world_steps / wall
    title = f"{args.worlds} quadrupeds, dt {args.dt:g} s, {device.name}: {rate:,.0f} world-steps/s"
    draw(args.plot, times, heights, travel, gait, title)
    print(f"\nThroughput: {stats.world_steps:,} world-steps in {wall:.2f} s = {rate:,.0f} world-steps/s "
          f"({rate * args.dt:,.1f} x real time)")
    print(f"At {times[-1]:g} s: body height {heights[:, -1].min():.3f} .. {heights[:, -1].max():.3f} m, forward travel "
          f"{travel[:, -1].min():.2f} .. {travel[:, -1].max():.2f} m (mean {travel[:, -1].mean():.2f} m)")
    print(f"Plot: {args.plot.resolve()}")
    wrong = complaints(times, heights, travel, outcomes, gait) + ([] if scraped else ["no metrics were scraped"])
    for complaint in wrong:
        print(f"quadruped_walk: {complaint}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except axion.AxionError as error:
        sys.exit(f"quadruped_walk: {error}")
