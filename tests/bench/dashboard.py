"""The dashboard of deploy/grafana as a picture, without a Grafana: a real Prometheus scrapes a real axiond while clients of several
kinds come and go, and each panel's queries are drawn as the panel has them. Wants the Python package and matplotlib, and Debian's
prometheus.

    python tests/bench/dashboard.py build/release/bin/axiond [--seconds 90] [--out docs/plots/dashboard.png]

Ends with 1 where a panel has nothing to show.
"""

import argparse
import contextlib
import json
import pathlib
import re
import sys
import tempfile
import threading
import time

import matplotlib
import numpy as np

import axion

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from axiond_process import AxiondProcess  # noqa: E402
from prometheus_process import Prometheus, until  # noqa: E402

DASHBOARD, RULES = ROOT / "deploy/grafana/dashboards/axion.json", ROOT / "deploy/prometheus/axion.rules.yml"
WINDOW = "10s"  # of rates, ten scrapes
COLUMNS = 3
MOST_NAMES = 8  # of series that are all zero a panel with more leaves out the names
WORLDS_LIMIT = 400
PILE = ("<mujoco><worldbody><geom type='plane' size='5 5 .1'/>" +
        "".join(f"<body pos='0 0 {.15 + .22 * i}'><freejoint/><geom type='box' size='.1 .1 .1'/></body>" for i in range(6)) +
        "</worldbody></mujoco>")


class Clients:
    """Who works on the server, each on a thread of its own; the error of one that fails is raised when they are joined."""

    def __init__(self, address, seconds):
        self.address, self.start, self.seconds = address, time.monotonic(), seconds
        self.threads, self.errors = [], []

    def during(self, first, last, work):
        """Calls work(client) again and again between two shares of the time."""
        def run():
            time.sleep(max(0, self.start + first * self.seconds - time.monotonic()))
            try:
                with axion.Client(self.address) as client, work(client) as again:
                    while time.monotonic() < self.start + last * self.seconds:
                        again()
            except Exception as error:  # noqa: BLE001 - whatever it is, the picture would be wrong
                self.errors.append(error)
        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def join(self):
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


def trainer(mjcf, worlds, steps, pause, keyframe=None):
    """Steps worlds under random controls, and starts them anew at times."""
    @contextlib.contextmanager
    def work(client):
        model, drawn = client.create_model(mjcf=mjcf), np.random.default_rng(1)
        with client.create_batch(model, worlds, 0.005) as batch:
            around = None if keyframe is None else np.asarray(model.hold_control(keyframe), np.float32)

            def again():
                controls = None if around is None else around + drawn.normal(0, .2, (worlds, len(around))).astype(np.float32)
                batch.step(control=controls, steps=steps, outputs=["body_pose"])
                if drawn.random() < 0.02:
                    batch.reset(keyframe=keyframe or "")
                time.sleep(pause)
            yield again
    return work


@contextlib.contextmanager
def onlooker(client):
    with contextlib.ExitStack() as streams:
        batches = client.list_batches()
        watches = [streams.enter_context(client.get_batch(getattr(batch, "name", batch)).watch(rate=30)) for batch in batches[:1]]
        yield lambda: [next(watch) for watch in watches]


@contextlib.contextmanager
def refused(client):
    """Asks for more worlds than there may be."""
    model = client.create_model(mjcf=PILE)

    def again():
        with contextlib.suppress(axion.ResourceExhaustedError):
            client.create_batch(model, WORLDS_LIMIT + 1, 0.005).delete()
        time.sleep(.3)
    yield again


def legend(labels, text):
    return re.sub(r"{{(\w+)}}", lambda name: labels.get(name[1], ""), text)


def draw(panels, prometheus, start, end, path):
    """A figure of all panels; the titles of those that show nothing."""
    rows = -(-len(panels) // COLUMNS)
    figure, axes = pyplot.subplots(rows, COLUMNS, figsize=(7 * COLUMNS, 2.6 * rows), layout="constrained", squeeze=False)
    empty = []
    for panel, axis in zip(panels, axes.flat):
        unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit", "short")
        series = []
        for target in panel["targets"]:
            query = target["expr"].replace("$instance", ".*").replace("$__rate_interval", WINDOW)
            for labels, times, values in prometheus.query_range(query, start, end, 1):
                series.append((legend(labels, target.get("legendFormat", "")), np.array(times) - start, np.array(values)))
        shown = [one for one in series if np.isfinite(one[2]).any()]
        if not shown:
            empty.append(panel["title"])
        moved = [one for one in shown if (one[2] != 0).any()]
        for name, times, values in shown if len(shown) <= MOST_NAMES else moved:
            axis.plot(times, values / (2 ** 20 if unit == "bytes" else 1), label=name, linewidth=1.2)
        axis.set_title(panel["title"] + {"bytes": ", MiB", "s": ", s", "lengthm": ", m"}.get(unit, ""), fontsize=10)
        axis.set_xlim(0, end - start)
        if not any((values < 0).any() for _, _, values in shown):
            axis.set_ylim(bottom=0)
        axis.grid(alpha=.3)
        axis.tick_params(labelsize=8)
        if len(shown) > 1:
            axis.legend(fontsize=7, ncols=1 + len(axis.lines) // 5)
    for axis in axes.flat[len(panels):]:
        axis.set_axis_off()
    for axis in axes[-1]:
        axis.set_xlabel("s", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=70)
    return empty


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axiond")
    parser.add_argument("--seconds", type=float, default=90, help="of work [%(default)s]")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("dashboard.png"), help="picture to write [%(default)s]")
    given = parser.parse_args()
    quadruped = (ROOT / "clients/examples/models/quadruped.xml").read_text()
    with tempfile.TemporaryDirectory() as folder, AxiondProcess(
            given.axiond, f"--max_worlds={WORLDS_LIMIT}", f"--state_dir={folder}/state", "--checkpoint_interval=5s") as server:
        prometheus = Prometheus(pathlib.Path(folder), f"127.0.0.1:{server.metrics_port}", RULES, "1s")
        try:
            start = time.time()
            clients = Clients(server.address, given.seconds)
            clients.during(0, 1, trainer(quadruped, 16, 4, .01, "stand"))
            clients.during(.15, .6, trainer(PILE, 64, 20, .02))
            clients.during(.4, .9, trainer(quadruped, 256, 20, 0, "stand"))
            clients.during(.5, .8, onlooker)
            clients.during(.6, .75, refused)
            clients.join()
            end = time.time()
            until("the last of it is scraped", lambda: prometheus.query(f"timestamp(axion_models) > {end}"))
            empty = draw(json.loads(DASHBOARD.read_text())["panels"], prometheus, start, end, given.out)
        finally:
            prometheus.stop()
    print(f"{given.out} written", "" if not empty else f"; nothing to show: {', '.join(empty)}")
    sys.exit(1 if empty else 0)


if __name__ == "__main__":
    main()
