"""What is read of MJCF files as MuJoCo 4.0 reads it, and otherwise than its versions before did; see axiond_case.py."""

import importlib.util
import unittest

import numpy as np

from axiond_case import AxiondCase

# Joints of every kind whose motions are coupled, on a body that floats; armatures of joints, of tendons and of actuators, which come
# after the drives that feel them.
COUPLED = """
<mujoco>
  <worldbody>
    <body name="trunk" pos="0 0 1" euler="10 20 30"><freejoint/><geom type="box" size=".2 .1 .05" mass="4"/>
      <site name="hook" pos=".1 0 -.2"/>
      <body pos=".2 0 0"><joint name="hip" axis="0 1 0" armature=".02"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="1"/>
        <body pos=".3 0 0" euler="0 0 40"><joint name="knee" axis="0 1 .3" ref="20"/>
          <geom type="capsule" size=".02" fromto="0 0 0 .25 0 0" mass=".6"/>
          <body pos=".25 0 0"><joint name="slide" type="slide" axis="1 0 0"/><geom size=".04" mass=".2"/><site name="tip" pos="0 0 .05"/>
          </body></body></body>
      <body pos="-.2 0 0"><joint type="ball" armature=".01"/><geom type="capsule" size=".03" fromto="0 0 0 -.3 0 0" mass="1"/>
        <body pos="-.3 0 0"><joint name="tail" axis="0 1 0"/><geom size=".05" mass=".3" pos="-.1 0 0"/>
          <site name="end" pos="-.2 0 0"/></body>
      </body>
    </body>
    <body name="cart" pos="2 0 0"><joint name="cart" type="slide" axis="1 0 0"/><geom type="box" size=".1 .1 .1" mass="2"/>
      <body><joint name="pole" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 .5" mass=".5"/></body></body>
  </worldbody>
  <tendon>
    <fixed name="sum" armature=".05"><joint joint="hip" coef="1.5"/><joint joint="knee" coef="-.7"/></fixed>
    <spatial name="string" armature=".3"><site site="hook"/><site site="tip"/></spatial>
    <spatial name="cord"><site site="hook"/><site site="end"/></spatial>
  </tendon>
  <actuator>
    <position joint="hip" kp="100" dampratio="1"/><position joint="knee" kp="80" dampratio=".5" gear="3"/>
    <position joint="slide" kp="300" dampratio="1.2"/><position joint="tail" kp="10" dampratio=".7" armature=".004"/>
    <position tendon="sum" kp="20" dampratio="1" gear="-2"/><position tendon="string" kp="50" dampratio=".8"/>
    <position tendon="cord" kp="40" dampratio="1"/><intvelocity joint="pole" kp="30" dampratio="1"/>
    <general joint="cart" gainprm="60" biastype="affine" biasprm="0 -60 .9"/><motor joint="pole" armature=".02" gear="2"/>
  </actuator>
</mujoco>"""

# A cube of half of it as an object, and others, as programs write them.
MESH = """
<mujoco><asset><mesh name="m" file="m.obj"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
CORNERS = [(x, y, z) for z in (-.1, .1) for x, y in ((-.1, -.1), (.1, -.1), (.1, .1), (-.1, .1))]
FACES = [(1, 4, 3, 2), (5, 6, 7, 8), (1, 2, 6, 5), (2, 3, 7, 6), (3, 4, 8, 7), (4, 1, 5, 8)]


# Motors without memory, each on a pendulum of its own: by constants, by nominal numbers, by both; saturated; with a controller.
MOTORS = ('motorconst=".1" resistance=".02"', 'motorconst=".1 .2" resistance=".03" gear="5"', 'nominal="12 3 50"',
          'nominal="12 3 50" motorconst=".1"', 'nominal="12 3 50" motorconst="0 .1" armature=".05"',
          'motorconst=".1" resistance=".02" saturation=".4 0 0" gear="3"',
          'motorconst=".1" resistance=".02" saturation="0 6 0" damping=".1"',
          'motorconst=".1" resistance="2" input="pos" controller="5 0 .3 0 0 0"',
          'class="c" resistance=".5" input="vel" controller="0 0 .3 0 0 0"', 'class="c"',
          'motorconst=".1" resistance="2" input="vel" controller="5 0 .7 0 0 0" ctrlrange="-.5 .5"',
          'motorconst=".1" resistance="2" input="ff" controller="5 0 .3 0 0 0" saturation="1.5"')
PENDULUMS = f"""
<mujoco><option timestep="1e-6" gravity="0 0 0"/><default><default class="c"><dcmotor motorconst=".3" resistance="2"/></default></default>
  <worldbody>{"".join(f'<body pos="0 {i} 0"><joint name="{i}" axis="0 1 0"/><geom size=".1" pos=".3 0 0" mass="1"/></body>'
                      for i in range(len(MOTORS)))}</worldbody>
  <actuator>{"".join(f'<dcmotor joint="{i}" {motor}/>' for i, motor in enumerate(MOTORS))}</actuator>
</mujoco>"""


def cube(at: float, before: int) -> tuple[str, str]:
    return ("".join(f"v {x + at} {y} {z}\n" for x, y, z in CORNERS),
            "".join("f " + " ".join(str(i + before) for i in face) + "\n" for face in FACES))


def objects() -> dict[str, str]:
    (v1, f1), (v2, f2) = cube(0, 0), cube(1, 8)
    return {"objects": f"o a\n{v1}{f1}o b\n{v2}{f2}", "groups": f"g a\n{v1}{f1}g b\n{v2}{f2}", "a second": f"{v1}{f1}g b\n{v2}{f2}",
            "points first": f"{v1}{v2}o a\n{f1}o b\n{f2}", "an empty first": f"o a\n{v1}o b\n{v2}{f2}o c\n{f1}",
            "materials": f"o a\nusemtl x\n{v1}{f1}usemtl y\n{v2}{f2}", "one of two names": f"o a\ng b\n{v1}{f1}{v2}{f2}"}


@unittest.skipUnless(importlib.util.find_spec("mujoco"), "the package mujoco is not installed")
class ReadAsMujoco(AxiondCase):
    def test_a_damping_ratio_is_of_what_moves_while_all_other_joints_give_way(self):
        import mujoco
        theirs = mujoco.MjModel.from_xml_string(COUPLED)
        ours = self.client.get_scene(self.client.create_model(mjcf=COUPLED)).proto.actuators
        for i in range(theirs.nu - 1):
            self.assertLess(abs(ours[i].kd / -theirs.actuator_biasprm[i, 2] - 1), 1e-9, i)

    def test_motors_without_memory_drive_alike(self):
        import mujoco
        model = mujoco.MjModel.from_xml_string(PENDULUMS)
        data, draw, count = mujoco.MjData(model), np.random.default_rng(2), 50
        places, rates, controls = (draw.normal(size=(count, len(MOTORS))) for _ in range(3))
        theirs = np.empty_like(places)
        for k in range(count):
            data.qpos[:], data.qvel[:], data.ctrl[:] = places[k], rates[k], controls[k]
            mujoco.mj_forward(model, data)
            theirs[k] = data.qacc
        batch = self.client.create_batch(self.client.create_model(mjcf=PENDULUMS), count, precision="float64")
        batch.reset(joint_position=places, joint_velocity=rates)
        ours = (batch.step(controls, outputs=["joint_velocity"])["joint_velocity"] - rates) / model.opt.timestep
        # Ours is that of the middle of the step, by when the quickest motor has lost 9e-5 of its acceleration.
        self.assertLess(np.abs(ours - theirs).max() / np.abs(theirs).max(), 2e-4)

    def test_of_a_file_of_several_objects_the_first_alone_weighs_and_touches(self):
        import mujoco
        for name, text in objects().items():
            theirs = mujoco.MjModel.from_xml_string(MESH, {"m.obj": text.encode()})
            model = self.client.create_model(mjcf=MESH, assets={"m.obj": text})
            ours, several = model.proto.bodies[0], name not in ("materials", "one of two names")
            self.assertLess(abs(ours.mass / theirs.body_mass[1] - 1), 1e-6, name)
            self.assertLess(abs(ours.center_of_mass.x - theirs.body_ipos[1, 0]), 1e-6, name)
            self.assertEqual(several, any("the first alone" in warning for warning in model.warnings), name)
            points = np.array([[v.x, v.y, v.z] for v in self.client.get_scene(model).proto.meshes[0].vertices])
            # From corner to corner: a cube's principal axes may be any.
            widest = np.linalg.norm(points[:, None] - points[None], axis=-1).max()
            self.assertLess(abs(widest - np.linalg.norm([0.2, 0.2, 0.2 if several else 1.2])), 1e-6, name)

    def test_shells_weigh_by_their_surface(self):
        import mujoco
        for shape in ('type="box" size=".1 .2 .3"', 'type="sphere" size=".2"', 'type="capsule" size=".1 .25"',
                      'type="cylinder" size=".1 .25"', 'type="ellipsoid" size=".1 .2 .3"'):
            for weight in ('density="3"', 'mass="2"', 'mass="2" density="7"'):
                text = f'<mujoco><worldbody><body><freejoint/><geom {shape} {weight} shellinertia="true"/></body></worldbody></mujoco>'
                theirs = mujoco.MjModel.from_xml_string(text)
                ours = self.client.create_model(mjcf=text).proto.bodies[0]
                self.assertLess(abs(ours.mass / theirs.body_mass[1] - 1), 1e-12, text)
                # Theirs of an ellipsoid is a difference of two that are 1e-6 m apart.
                inertia = np.sort([ours.inertia.xx, ours.inertia.yy, ours.inertia.zz])
                np.testing.assert_allclose(inertia, np.sort(theirs.body_inertia[1]), rtol=2e-5 if "ellipsoid" in text else 1e-12)

    def test_strings_go_round_the_side_of_their_side_site(self):
        import mujoco
        draw = np.random.default_rng(4)
        for kind in ("sphere", "cylinder"):
            sides = draw.uniform(-.4, .4, (12, 3))
            sites = "".join(f'<site name="s{i}" pos="{x} {y} {z}"/>' for i, (x, y, z) in enumerate(sides))
            strings = "".join(f'<spatial name="t{i}"><site site="a"/><geom geom="g" sidesite="s{i}"/><site site="b"/></spatial>'
                              for i in range(len(sides)))
            read = "".join(f'<tendonpos tendon="t{i}"/>' for i in range(len(sides)))
            slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
            text = f"""<mujoco><worldbody><geom name="g" type="{kind}" size=".1 .3" contype="0" conaffinity="0"/>{sites}
                <body>{slides}<geom size=".02" mass="1"/><site name="a"/></body>
                <body>{slides}<geom size=".02" mass="1"/><site name="b"/></body></worldbody>
                <tendon>{strings}</tendon><sensor>{read}</sensor></mujoco>"""
            model = mujoco.MjModel.from_xml_string(text)
            data, places = mujoco.MjData(model), draw.uniform(-.4, .4, (200, 6))
            theirs = np.empty((len(places), len(sides)))
            for k, place in enumerate(places):
                data.qpos[:] = place
                mujoco.mj_forward(model, data)
                theirs[k] = data.ten_length
            batch = self.client.create_batch(self.client.create_model(mjcf=text), len(places), precision="float64")
            batch.reset(joint_position=places)
            ours = batch.get_state(["sensor_data"])["sensor_data"]
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


if __name__ == "__main__":
    unittest.main()
