"""Colours of shapes: from MJCF and scenes to pictures, over restarts and snapshots; see axiond_case.py."""

import tempfile
import unittest

import numpy as np

import axion
from axiond_case import AXIOND, AxiondCase, AxiondProcess

try:
    from axion.viewing import geometry
except ImportError:
    geometry = None

BALLS = """<mujoco>
  <default><geom rgba="0.1 0.2 0.3 1"/><default class="plain"><geom rgba="0.5 0.5 0.5 1"/></default>
    <default class="shiny"><material rgba="1 0 1 0.25"/></default></default>
  <asset><material name="red" rgba="1 0 0 1" specular="1"/><material name="magenta" class="shiny"/><material name="bare"/>
    <texture name="sky" type="2d" builtin="flat" width="8" height="8"/><material name="painted" texture="sky" rgba="1 1 1 1"/></asset>
  <worldbody>
    <body><freejoint/><geom name="by_class" size="0.1"/><geom name="own" size="0.1" rgba="0 1 0" material="red"/>
      <geom name="of_material" size="0.1" class="plain" material="red"/><geom name="of_class_of_material" size="0.1" class="plain"
        material="magenta"/><geom name="grey" size="0.1" class="plain"/><geom name="painted" size="0.1" class="plain" material="painted"/>
      <geom name="no_colour" size="0.1" class="plain" rgba="blue"/><geom name="too_bright" size="0.1" rgba="2 0 0 1"/>
      <geom name="unknown" size="0.1" class="plain" material="nowhere"/></body>
  </worldbody></mujoco>"""
WANTED = {"by_class": (0.1, 0.2, 0.3, 1), "own": (0, 1, 0, 1), "of_material": (1, 0, 0, 1), "of_class_of_material": (1, 0, 1, 0.25),
          "grey": (0.5, 0.5, 0.5, 1), "painted": (0.5, 0.5, 0.5, 1), "no_colour": None, "too_bright": None, "unknown": (0.5, 0.5, 0.5, 1)}


def colors_of(shapes):
    def of(shape):
        color = shape.color
        return tuple(round(value, 6) for value in (color.red, color.green, color.blue, color.alpha)) if shape.HasField("color") else None
    return {shape.name: of(shape) for shape in shapes}


class Colors(AxiondCase):
    def test_mjcf_says_what_shapes_are_drawn_in(self):
        model = self.client.create_model(mjcf=BALLS)
        self.assertEqual(colors_of(model.proto.shapes), WANTED)
        self.assertEqual(colors_of(self.client.get_model(model.name).proto.shapes), WANTED)
        scene = self.client.get_scene(model)
        self.assertEqual(colors_of(scene.proto.shapes), WANTED)
        again = self.client.create_model(scene=scene)
        self.assertEqual(again.name, model.name)

    def test_models_of_other_colours_are_other_models_that_move_alike(self):
        one, other = (self.client.create_model(mjcf=BALLS.replace("1 0 0 1", rgba)) for rgba in ("1 0 0 1", "0 0 1 1"))
        self.assertNotEqual(one.name, other.name)
        self.assertEqual(one.fingerprint, other.fingerprint)
        self.assertEqual(colors_of(other.proto.shapes)["of_material"], (0, 0, 1, 1))
        self.assertEqual(colors_of(self.client.get_model(one.name).proto.shapes), WANTED)

    def test_a_scene_has_colours(self):
        scene = axion.Scene("balls")
        ball = scene.body("ball", mass=1, inertia=(1, 1, 1))
        scene.free("root", ball)
        scene.shape("sphere", "a", ball, size=0.1, color=(0.25, 0.5, 0.75))
        scene.shape("sphere", "b", ball, size=0.1)
        model = self.client.create_model(scene=scene)
        self.assertEqual(colors_of(model.proto.shapes), {"a": (0.25, 0.5, 0.75, 1), "b": None})
        with self.assertRaisesRegex(ValueError, "color: .* is not three or four numbers from 0 to 1"):
            scene.shape("sphere", "c", ball, size=0.1, color=(255, 0, 0))
        scene.proto.shapes[1].color.green = 7
        with self.assertRaisesRegex(axion.InvalidArgumentError, r"scene.shapes\[1\].color.green: is 7; it must be from 0 to 1"):
            self.client.create_model(scene=scene)

    def test_colours_outlive_the_server(self):
        with tempfile.TemporaryDirectory() as state:
            server = AxiondProcess(AXIOND, f"--state_dir={state}")
            with axion.Client(server.address) as client:
                model = client.create_model(mjcf=BALLS)
                content = client.create_batch(model, 1).save_snapshot(return_content=True, skip_store=True).content
            self.assertEqual(server.stop(), 0)
            server = AxiondProcess(AXIOND, f"--state_dir={state}")
            with axion.Client(server.address) as client:
                self.assertEqual(colors_of(client.get_model(model.name).proto.shapes), WANTED)
                self.assertEqual(client.create_model(mjcf=BALLS).name, model.name)  # found by its content
            self.assertEqual(server.stop(), 0)
        with AxiondProcess(AXIOND) as server, axion.Client(server.address) as client:
            restored = client.restore_snapshot(content)
            self.assertEqual(colors_of(client.get_model(restored.model).proto.shapes), WANTED)

    @unittest.skipIf(geometry is None, "the extra view is not installed")
    def test_pictures_have_them(self):
        model = self.client.create_model(mjcf=BALLS)
        drawn = {shape.name: (tuple(np.round(shape.color, 6)), round(shape.opacity, 6)) for shape in geometry.shapes_of(model)}
        for name, color in WANTED.items():
            if color is not None:
                self.assertEqual(drawn[name], (color[:3], color[3]), name)
        self.assertEqual(drawn["no_colour"], drawn["too_bright"])  # the palette's


if __name__ == "__main__":
    unittest.main()
