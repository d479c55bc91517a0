"""Sensors of distances, of what is within sites and of images, beside those of the package mujoco; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

from axiond_case import AxiondCase

SHAPES = ('type="sphere" size=".2"', 'type="capsule" size=".1 .3"', 'type="box" size=".15 .2 .25"', 'type="cylinder" size=".2 .15"',
          'type="ellipsoid" size=".1 .2 .3"', 'type="mesh" mesh="wedge"')
IMAGES = ('fovy="70" resolution="320 200"', 'resolution="320 200" sensorsize=".003 .002" focal=".004 .005" principal=".001 0"',
          'resolution="64 48" sensorsize=".003 .002" focalpixel="40 30"')
ZONES = ('type="sphere" size=".6"', 'type="capsule" size=".4 .3" euler="40 0 0"', 'type="box" size=".4 .5 .6" euler="0 20 0"',
         'type="cylinder" size=".5 .4" pos=".1 0 0"', 'type="ellipsoid" size=".4 .6 .8"')
COUNT = len(SHAPES)
PAIRS = [(i, j) for i in range(COUNT) for j in range(COUNT) if i != j]


def bodies() -> str:
    return "".join(f'<body name="b{i}"><freejoint/><geom name="g{i}" contype="0" conaffinity="0" {shape}/>'
                   f'<site name="s{i}" pos=".1 .2 -.1"/><camera name="c{i}" {IMAGES[i % 3]}/></body>' for i, shape in enumerate(SHAPES))


def sensors() -> str:
    distances = "".join(f'<{kind} geom1="g{i}" body2="b{j}" cutoff="2"/>' for i, j in PAIRS for kind in ("distance", "normal", "fromto"))
    floor = "".join(f'<distance body1="world" geom2="g{i}" cutoff=".5"/>' for i in range(COUNT))
    within = "".join(f'<insidesite site="zone{k}" objtype="{kind}" objname="{kind[0]}{i}"/>'
                     for k in range(len(ZONES)) for i in range(COUNT) for kind in ("geom", "site"))
    pixels = "".join(f'<camprojection site="s{i}" camera="c{j}" cutoff="{(i + j) % 3 * 300}"/>' for i, j in PAIRS)
    return distances + floor + within + pixels


SCENE = f"""
<mujoco>
  <option gravity="0 0 0"><flag nativeccd="enable"/></option>
  <asset><mesh name="wedge" vertex="0 0 0  .5 0 0  0 .4 0  0 0 .3"/></asset>
  <worldbody><geom type="plane" size="9 9 1" pos="0 0 -.7"/>
    {"".join(f'<site name="zone{k}" {zone}/>' for k, zone in enumerate(ZONES))}{bodies()}
  </worldbody>
  <sensor>{sensors()}</sensor>
</mujoco>"""


@unittest.skipUnless(importlib.util.find_spec("mujoco"), "the package mujoco is not installed")
class BesideMujoco(AxiondCase):
    def test_distances_points_sites_and_images_are_alike_between_shapes_of_every_kind(self):
        import mujoco
        model = mujoco.MjModel.from_xml_string(SCENE)
        data = mujoco.MjData(model)
        poses, draw = 200, np.random.default_rng(3)
        theirs = np.empty((poses, model.nsensordata))
        places = np.empty((poses, model.nq))
        for k in range(poses):
            place = np.concatenate([draw.uniform(-.7, .7, (COUNT, 3)), draw.normal(size=(COUNT, 4))], axis=1)
            place[:, 3:] /= np.linalg.norm(place[:, 3:], axis=1, keepdims=True)
            data.qpos[:] = places[k] = place.ravel()
            mujoco.mj_forward(model, data)
            theirs[k] = data.sensordata
        batch = self.client.create_batch(self.client.create_model(mjcf=SCENE), poses, precision="float64")
        batch.reset(joint_position=places, joint_velocity=np.zeros((poses, model.nv)))
        ours = batch.get_state(["sensor_data"])["sensor_data"]

        ends = np.cumsum([10 * len(PAIRS), COUNT, 2 * COUNT * len(ZONES), 2 * len(PAIRS)])
        self.assertEqual(ends[-1], ours.shape[1])
        pair, floor, within, pixels = (slice(start, end) for start, end in zip((0, *ends), ends))
        own, other = (values[:, pair].reshape(-1, 10) for values in (ours, theirs))  # distance, normal, from, to
        apart = other[:, 0] > 0.02
        self.assertGreater(apart.sum(), 1000)
        error = np.abs(own - other)[apart]
        # MuJoCo iterates to 1e-6 m; 1e-5 was measured.
        self.assertLess((error[:, 0] / other[apart, 0]).max(), 2e-4)
        self.assertLess(error[:, 1:4].max(), 5e-3)
        # m. The distance is flat about its least: where edges and faces are nearly parallel the points are less sure.
        self.assertLess(np.quantile(error[:, 4:].max(axis=1), 0.99), 1e-5)
        self.assertLess(error[:, 4:].max(), 0.1)
        between = np.abs(np.linalg.norm(own[:, 7:] - own[:, 4:7], axis=1) - np.abs(own[:, 0]) * (own[:, 0] < 2))
        self.assertLess(between[apart].max(), 1e-5)
        self.assertLess(between.max(), 5e-3)  # of deep overlaps the points are not quite along the way out
        overlap = other[:, 0] < -1e-3
        self.assertGreater(overlap.sum(), 300)
        self.assertTrue((own[overlap, 0] < 0).all())
        self.assertTrue((np.einsum("ni,ni->n", own[overlap, 1:4], own[overlap, 7:] - own[overlap, 4:7]) > 0).all())
        deep = np.abs(own[overlap, 0] - other[overlap, 0])
        self.assertLess(np.quantile(deep, 0.9), 0.02)
        self.assertLess(np.abs(ours - theirs)[:, floor].max(), 1e-6)
        np.testing.assert_array_equal(ours[:, within], theirs[:, within])
        self.assertTrue(0.1 < theirs[:, within].mean() < 0.9)
        # MuJoCo keeps focal lengths in float32.
        np.testing.assert_allclose(ours[:, pixels], theirs[:, pixels], rtol=1e-5, atol=1e-3)


if __name__ == "__main__":
    unittest.main()
