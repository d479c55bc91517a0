"""Random scenes that mix MuJoCo's features, beside MuJoCo. Wants the Python package and mujoco from PyPI.

    python tests/bench/mixed_scenes.py build/release/bin/axiond [--seeds 0 200] [--features limit spatial ...] [--list]

Each scene is a forest of up to six bodies with random joints, inertias, frames and starting velocities, and has each of the features
with the probability that is usual for it. Both simulators start from its keyframe and step for --time seconds by --dt, MuJoCo with RK4,
this server in float64 with soft contacts; small steps, so that models are compared and not integrators. What differs is measured by the
change of each coordinate, velocity and frame in that time, as a share of the greatest change of its kind in the scene, and other sensors
by their greatest value. Without --features: one row for each feature alone, then one for all of them together. --list names each scene
that differs; --save FOLDER keeps all as MJCF.

A scene may differ for a reason that is no fault: axes that are almost parallel, a contact or a limit that one side meets a step sooner.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import sys
from typing import Any

import mujoco
import numpy as np

import axion

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from axiond_process import AxiondProcess  # noqa: E402

# Each feature, and those that it makes no sense without.
FEATURES: dict[str, tuple[str, ...]] = {
    "none": (), "damping": (), "armature": (), "stiffness": (), "frictionloss": (), "ref": (), "limit": (), "inertial": (), "gravcomp": (),
    "contact": (), "cone": ("contact",), "fixed": (), "spatial": (), "wrap": ("spatial",),
    "tendon_frictionloss": ("fixed", "spatial"), "tendon_armature": ("fixed", "spatial"), "joint_equality": (), "connect": (), "weld": (),
    "tendon_equality": ("fixed",), "actuators": (), "activation": ("actuators",), "ranges": ("actuators",), "sites": ("actuators",),
    "fluid": (),
}
MOTION = {"jointpos", "jointvel", "ballquat", "ballangvel", "framepos", "framequat", "framelinvel", "frameangvel", "tendonpos", "tendonvel"}
LEAST = {"jointvel": 0.02, "framelinvel": 0.02, "frameangvel": 0.05, "ballangvel": 0.05, "tendonvel": 0.02}  # changes that count


def numbers(*values: Any) -> str:
    return " ".join(f"{float(x):.5g}" for value in values for x in np.ravel(value))


class Scene:
    """MJCF of a seed."""

    def __init__(self, seed: int, features: set[str], dt: float):
        self.r, self.features = np.random.default_rng(seed), features
        self.joints: list[tuple[str, str]] = []
        self.limited: list[str] = []
        self.sites: list[tuple[str, int]] = [("sw", -1)]
        self.wrapped: list[str] = []
        self.actuators = 0
        count = int(self.r.integers(1, 7))
        self.children: dict[int, list[int]] = {k: [] for k in range(-1, count)}
        for k in range(count):
            self.children[int(self.r.integers(0, k)) if k > 0 and self.r.random() < 0.85 else -1].append(k)
        self.count = count
        bodies = "".join(self.body(k, -1) for k in self.children[-1])
        floor = '<geom type="plane" size="5 5 .1" contype="0" conaffinity="1"/>' if "contact" in features else ""
        tendons = self.tendons()
        self.text = (
            f'<mujoco><compiler angle="radian" autolimits="true"/><option timestep="{dt}"{self.option()}/>'
            f'<worldbody>{floor}<site name="sw" pos=".3 .2 1.2"/>{bodies}</worldbody><tendon>{tendons}</tendon>'
            f"<equality>{self.equalities()}</equality><actuator>{self.actuator_list()}</actuator>"
            f"<sensor>{self.sensors()}</sensor><keyframe>{self.key()}</keyframe></mujoco>")

    def has(self, feature: str, chance: float) -> bool:
        return bool(self.r.random() < chance) and feature in self.features

    def u(self, low: float, high: float, size: int | None = None) -> Any:
        return self.r.uniform(low, high, size)

    def direction(self) -> str:
        return numbers((lambda v: v / np.linalg.norm(v))(self.r.normal(size=3)))

    def option(self) -> str:
        text = f' density="{numbers(self.u(1, 1000))}" viscosity="{numbers(self.u(0, 1))}" wind="{numbers(self.u(-2, 2, 3))}"' \
            if self.has("fluid", 0.5) else ""
        text += ' cone="elliptic"' if self.has("cone", 0.5) else ""
        return text + (f' impratio="{numbers(self.u(0.5, 5))}"' if self.has("cone", 0.3) else "")

    def softness(self, kind: str) -> str:
        text = f' solref{kind}="{numbers(self.u(0.01, 0.04), self.u(0.5, 1.2))}"' if self.r.random() < 0.3 else ""
        if self.r.random() < 0.3:
            text += f' solimp{kind}="{numbers(self.u(0.5, 0.9), self.u(0.9, 0.97), self.u(0.001, 0.05))}"'
        return text

    def joint(self, name: str, kind: str) -> str:
        self.joints.append((name, kind))
        friction = self.dry_friction()
        if kind == "free":
            return f'<joint type="free" name="{name}"{friction}/>' if friction else f'<freejoint name="{name}"/>'
        text = f'<joint name="{name}" type="{kind}"' + ("" if kind == "ball" else f' axis="{self.direction()}"')
        text += f' pos="{numbers(self.u(-0.1, 0.1, 3))}"' if kind != "slide" and self.r.random() < 0.5 else ""
        text += f' damping="{numbers(self.u(0.05, 2))}"' if self.has("damping", 0.5) else ""
        text += f' armature="{numbers(self.u(0.01, 0.3))}"' if self.has("armature", 0.3) else ""
        text += f' stiffness="{numbers(self.u(1, 40))}"' if self.has("stiffness", 0.3) else ""
        if self.has("limit", 0.4):
            low, high = (0, self.u(0.3, 1.2)) if kind == "ball" else (-self.u(0.1, 0.8), self.u(0.1, 0.8))
            text += f' range="{numbers(low, high)}"' + self.softness("limit")
            if kind != "ball":
                self.limited.append(name)
        if kind != "ball":
            text += f' springref="{numbers(self.u(-0.5, 0.5))}"' if self.has("stiffness", 0.3) else ""
            text += f' ref="{numbers(self.u(-0.3, 0.3))}"' if self.has("ref", 0.3) else ""
        return text + friction + "/>"

    def dry_friction(self) -> str:
        return f' frictionloss="{numbers(self.u(0.05, 2))}"' + self.softness("friction") if self.has("frictionloss", 0.3) else ""

    def geom(self, name: str) -> str:
        kind = str(self.r.choice(["sphere", "box", "capsule", "cylinder", "ellipsoid"]))
        size = self.u(0.04, 0.15, {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3))
        text = f'<geom name="{name}" type="{kind}" size="{numbers(size)}" pos="{numbers(self.u(-0.1, 0.1, 3))}"'
        if kind != "sphere":
            text += str(self.r.choice([f' euler="{numbers(self.u(-1.5, 1.5, 3))}"', f' quat="{numbers(self.r.normal(size=4))}"']))
        text += f' mass="{numbers(self.u(0.2, 3))}"' if self.r.random() < 0.3 else ""
        if kind in ("sphere", "cylinder"):
            self.wrapped.append(name)
        if not self.has("contact", 0.5):
            return text + ' contype="0" conaffinity="0"/>'
        text += f' contype="1" conaffinity="0" condim="{self.r.choice([1, 3, 3, 4, 6])}" solmix="{numbers(self.u(0.1, 3))}"'
        text += f' friction="{numbers(self.u(0.2, 1.5), self.u(0.001, 0.05), self.u(1e-4, 0.01))}" priority="{self.r.integers(0, 2)}"'
        return text + self.softness("") + (f' margin="{numbers(self.u(0, 0.05))}"/>' if self.r.random() < 0.2 else "/>")

    def body(self, k: int, parent: int) -> str:
        low = 0.3 if "contact" in self.features else 1.0
        place = self.u(-0.3, 0.3, 3) + ([0, 0, low] if parent < 0 else [0, 0, -0.1])
        text = f'<body name="b{k}" pos="{numbers(place)}"' + (f' euler="{numbers(self.u(-1, 1, 3))}"' if self.r.random() < 0.4 else "")
        text += f' gravcomp="{numbers(self.u(0, 1.2))}">' if self.has("gravcomp", 0.4) else ">"
        chains = [["hinge"], ["slide"], ["ball"], ["hinge", "hinge"], ["slide", "hinge"], ["slide", "ball"], [], ["free"]]
        chain = chains[self.r.choice(8, p=[0.34, 0.1, 0.12, 0.08, 0.08, 0.06, 0.07, 0.15])]
        if (chain == ["free"] and parent >= 0) or (not chain and parent < 0):
            chain = ["hinge"]
        text += "".join(self.joint(f"j{k}_{i}", kind) for i, kind in enumerate(chain))
        if self.has("inertial", 0.3):
            mass = self.u(0.3, 3)
            text += f'<inertial pos="{numbers(self.u(-0.1, 0.1, 3))}" mass="{numbers(mass)}" quat="{numbers(self.r.normal(size=4))}" ' \
                    f'diaginertia="{numbers(0.02 * mass * self.u(0.5, 1, 3))}"/>'
        text += "".join(self.geom(f"g{k}_{i}") for i in range(self.r.integers(1, 3)))
        for i in range(self.r.integers(0, 3)):
            self.sites.append((f"s{k}_{i}", k))
            text += f'<site name="s{k}_{i}" pos="{numbers(self.u(-0.2, 0.2, 3))}" quat="{numbers(self.r.normal(size=4))}"/>'
        return text + "".join(self.body(child, k) for child in self.children[k]) + "</body>"

    def along(self) -> list[str]:
        return [name for name, kind in self.joints if kind in ("hinge", "slide")]

    def some(self, of: list[str], most: int) -> list[str]:
        return [of[i] for i in self.r.permutation(len(of))[:self.r.integers(1, most + 1)]]

    def tendon_laws(self) -> str:
        text = f' stiffness="{numbers(self.u(1, 40))}" damping="{numbers(self.u(0.05, 1))}"' if self.r.random() < 0.5 else ""
        if self.has("tendon_frictionloss", 0.5):
            text += f' frictionloss="{numbers(self.u(0.05, 1))}"' + self.softness("friction")
        return text

    def tendons(self) -> str:
        self.tendon_names, text = [], ""
        if self.along() and self.has("fixed", 0.6):
            terms = "".join(f'<joint joint="{j}" coef="{numbers(self.u(-1.5, 1.5))}"/>' for j in self.some(self.along(), 3))
            limits = f' range="{numbers(-self.u(0.05, 0.5), self.u(0.05, 0.5))}"' + self.softness("limit") if self.r.random() < 0.4 else ""
            armature = f' armature="{numbers(self.u(0.01, 0.2))}"' if self.has("tendon_armature", 0.5) else ""
            text += f'<fixed name="t0"{self.tendon_laws()}{limits}{armature}>{terms}</fixed>'
            self.tendon_names.append("t0")
        if len(self.sites) > 2 and self.has("spatial", 0.6):
            names = [site for site, _ in self.sites]
            path, wraps = [f'<site site="{name}"/>' for name in self.r.permutation(names)[:3]], bool(self.wrapped) and self.has("wrap", 0.6)
            if wraps:
                path.insert(1, f'<geom geom="{self.r.choice(self.wrapped)}"/>')
            limits = f' range="0 {numbers(self.u(0.2, 1))}"' + self.softness("limit") if self.r.random() < 0.4 else ""
            armature = f' armature="{numbers(self.u(0.01, 0.2))}"' if not wraps and self.has("tendon_armature", 0.5) else ""
            text += f'<spatial name="t1"{self.tendon_laws()}{limits}{armature}>{"".join(path)}</spatial>'
            self.tendon_names.append("t1")
        return text

    def equalities(self) -> str:
        text = ""
        if len(self.along()) > 1 and self.has("joint_equality", 0.5):
            one, other = self.r.permutation(self.along())[:2]
            polynomial = numbers(self.u(-0.1, 0.1), self.u(-1.5, 1.5), self.u(-0.5, 0.5), 0, 0)
            text += f'<joint joint1="{one}" joint2="{other}" polycoef="{polynomial}"/>'
        for kind in ("connect", "weld"):
            if self.count > 1 and self.has(kind, 0.4):
                one, other = self.r.permutation(self.count)[:2]
                anchor = f' anchor="{numbers(self.u(-0.2, 0.2, 3))}"' if kind == "connect" else ""
                text += f'<{kind} body1="b{one}" body2="b{other}"{anchor}{self.softness("")}/>'
        if "t0" in self.tendon_names and self.has("tendon_equality", 0.5):
            text += f'<tendon tendon1="t0" polycoef="{numbers(self.u(-0.1, 0.1))} 0 0 0 0"/>'
        return text

    def actuator_list(self) -> str:
        balls = [name for name, kind in self.joints if kind == "ball"]
        targets = [("joint", name) for name in self.along() + balls] + [("tendon", name) for name in self.tendon_names]
        sites = [("site", name) for name, body in self.sites if body >= 0] if "sites" in self.features else []
        text = ""
        for i in range(self.r.integers(1, 5) if targets and "actuators" in self.features else 0):
            place, name = (targets + sites)[self.r.integers(len(targets + sites))]
            kind = str(self.r.choice(["motor", "position", "velocity", "general", "damper", "intvelocity", "cylinder"],
                                     p=[0.3, 0.2, 0.1, 0.2, 0.08, 0.06, 0.06]))
            if kind in ("intvelocity", "cylinder") and "activation" not in self.features:
                kind = "motor"
            size = 6 if place == "site" else 3 if name in balls else 1
            text += f'<{kind} name="a{i}" {place}="{name}" gear="{numbers(self.u(-2, 2, size))}"'
            text += ' refsite="sw"' if place == "site" and self.r.random() < 0.5 else ""
            text += {"motor": "", "position": f' kp="{numbers(self.u(5, 50))}" kv="{numbers(self.u(0.1, 3))}"',
                     "velocity": f' kv="{numbers(self.u(0.1, 3))}"', "damper": f' kv="{numbers(self.u(0.1, 3))}" ctrlrange="0 2"',
                     "intvelocity": f' kp="{numbers(self.u(5, 50))}" actrange="-1 1"',
                     "cylinder": f' timeconst="{numbers(self.u(0.02, 0.2))}" area="{numbers(self.u(0.5, 3))}"',
                     "general": f' gainprm="{numbers(self.u(0.5, 10))}" biastype="affine"'
                                f' biasprm="{numbers(self.u(-1, 1), -self.u(0, 20), -self.u(0, 2))}"'}[kind]
            if kind == "general" and self.has("activation", 0.5):
                text += f' dyntype="{self.r.choice(["integrator", "filter", "filterexact"])}" dynprm="{numbers(self.u(0.02, 0.2))}"'
            if kind in ("motor", "position", "velocity", "general") and self.has("ranges", 0.4):
                text += f' ctrlrange="{numbers(-self.u(0.2, 1), self.u(0.2, 1))}"'
            text += f' forcerange="{numbers(-self.u(0.3, 5), self.u(0.3, 5))}"/>' if self.has("ranges", 0.3) else "/>"
            self.actuators += 1
        return text

    def sensors(self) -> str:
        text = "".join(f'<jointpos joint="{j}"/><jointvel joint="{j}"/><jointactuatorfrc joint="{j}"/>' for j in self.along())
        text += "".join(f'<jointlimitfrc joint="{j}"/>' for j in self.limited)
        text += "".join(f'<ballquat joint="{j}"/><ballangvel joint="{j}"/>' for j, kind in self.joints if kind == "ball")
        for k in range(self.count):
            text += "".join(f'<{kind} objtype="body" objname="b{k}"/>' for kind in ("framepos", "framequat", "framelinvel", "frameangvel"))
            text += "".join(f'<{kind} body="b{k}"/>' for kind in ("subtreecom", "subtreelinvel", "subtreeangmom"))
        text += "".join(f'<tendonpos tendon="{t}"/><tendonvel tendon="{t}"/>' for t in self.tendon_names)
        for site, body in self.sites:
            if body >= 0:
                text += "".join(f'<{kind} site="{site}"/>' for kind in ("accelerometer", "force", "torque", "gyro", "velocimeter"))
        for i in range(self.actuators):
            text += "".join(f'<{kind} actuator="a{i}"/>' for kind in ("actuatorpos", "actuatorvel", "actuatorfrc"))
        return text

    def key(self) -> str:
        q: list[float] = []
        v: list[float] = []
        for _, kind in self.joints:
            turn = np.r_[1, self.u(-0.5, 0.5, 3)]
            if kind == "free":
                q += [*self.u(-0.2, 0.2, 2), 0.2 if "contact" in self.features else 1.0]
            if kind in ("free", "ball"):
                q += list(turn / np.linalg.norm(turn))
            else:
                q.append(self.u(-0.6, 0.6) if kind == "hinge" else self.u(-0.1, 0.1))
            v += list(self.u(-2, 2, {"free": 6, "ball": 3}.get(kind, 1)))
        control = f' ctrl="{numbers(self.u(-1, 1, self.actuators))}"' if self.actuators else ""
        return f'<key name="start" qpos="{numbers(q)}" qvel="{numbers(v)}"{control}/>'


@dataclasses.dataclass
class Verdict:
    """What became of a scene: "agrees", "motion" or "sensors" that differ, "refused", or "left out", as MuJoCo refuses or diverges."""

    word: str
    detail: str = ""


def compare(client: axion.Client, text: str, given: argparse.Namespace) -> Verdict:
    steps = round(given.time / given.dt)
    try:
        m = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        return Verdict("left out", str(error))
    m.opt.integrator, m.opt.tolerance, m.opt.iterations = mujoco.mjtIntegrator.mjINT_RK4, 1e-14, 500
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_forward(m, d)
    before = d.sensordata.copy()
    for _ in range(steps):
        mujoco.mj_step(m, d)
    mujoco.mj_forward(m, d)
    after = d.sensordata
    if not np.isfinite(after).all() or np.abs(after).max() > 1e6:
        return Verdict("left out", "diverges")
    try:
        model = client.create_model(text)
    except axion.AxionError as error:
        return Verdict("refused", str(error).splitlines()[0])
    batch = client.create_batch(model, 1, precision="float64", options={"contact_softness": "mjcf", "tolerance": 1e-9})
    batch.reset(keyframe="start")
    batch.step(steps=steps)
    ours = np.asarray(batch.get_state("sensor_data")["sensor_data"])[0]
    batch.delete()
    client.delete_model(model)
    kinds: dict[str, list[tuple[float, float, float, int]]] = collections.defaultdict(list)
    for i in range(m.nsensor):
        part = slice(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
        kinds[mujoco.mjtSensor(m.sensor_type[i]).name[7:].lower()].append(
            (np.linalg.norm(ours[part] - after[part]), np.linalg.norm(after[part] - before[part]), np.linalg.norm(after[part]), i))
    off = []
    for kind, found in kinds.items():
        of_motion = kind in MOTION
        scale = max(LEAST.get(kind, 1e-3) if of_motion else 1e-2, *(entry[1 if of_motion else 2] for entry in found))
        off += [(entry[0] / scale, kind, entry[3]) for entry in found if entry[0] > given.tolerance * scale]
    off.sort(reverse=True)
    of_motion = [entry for entry in off if entry[1] in MOTION]
    word = "motion" if of_motion else "sensors" if off else "agrees"
    return Verdict(word, ", ".join(f"{kind}[{i}] {error:.2g}" for error, kind, i in (of_motion or off)[:4]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axiond")
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 200], help="from one up to below the other [%(default)s]")
    parser.add_argument("--features", nargs="+", choices=FEATURES, help="that scenes have, together")
    parser.add_argument("--time", type=float, default=4e-3, help="s [%(default)s]")
    parser.add_argument("--dt", type=float, default=2e-5, help="s [%(default)s]")
    parser.add_argument("--tolerance", type=float, default=0.03, help="share of a change that may differ [%(default)s]")
    parser.add_argument("--list", action="store_true", help="name each scene that differs")
    parser.add_argument("--save", type=pathlib.Path, help="folder for the scenes")
    given = parser.parse_args()
    rows = [set(given.features)] if given.features else [{name, *FEATURES[name]} for name in FEATURES] + [set(FEATURES)]
    names = [", ".join(given.features)] if given.features else [*FEATURES, "all together"]
    words = ("agrees", "sensors", "motion", "refused", "left out")
    print("| features | agree | sensors differ | motion differs | refused | left out |\n| --- | --- | --- | --- | --- | --- |")
    if given.save:
        given.save.mkdir(parents=True, exist_ok=True)
    with AxiondProcess(given.axiond) as server, axion.Client(server.address) as client:
        for name, features in zip(names, rows, strict=True):
            counts: collections.Counter[str] = collections.Counter()
            for seed in range(*given.seeds):
                text = Scene(seed, features, given.dt).text
                if given.save:
                    (given.save / f"{name.replace(', ', '_')}_{seed}.xml").write_text(text)
                verdict = compare(client, text, given)
                counts[verdict.word] += 1
                if given.list and verdict.word not in ("agrees", "left out"):
                    print(f"{name}, seed {seed}: {verdict.word}: {verdict.detail}", file=sys.stderr, flush=True)
            print(f"| {name} | {' | '.join(str(counts[word]) for word in words)} |", flush=True)


if __name__ == "__main__":
    main()
