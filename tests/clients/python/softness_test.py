"""Soft contacts and limits through the server beside those of the package mujoco; see axiond_case.py."""

import importlib.util
import itertools
import unittest

import numpy as np

from axiond_case import AxiondCase

HAS_MUJOCO = importlib.util.find_spec("mujoco") is not None
FINE, SECONDS = 1e-4, 2.0


def document(option, world):
    return f"<mujoco><option timestep='.001' {option}/><worldbody><geom type='plane' size='9 9 1'/>{world}</worldbody></mujoco>"


def ball(geom, height=.15):
    return f"<body pos='0 0 {height}'><freejoint/><geom size='.1' {geom}/></body>"


ARM = "<geom type='capsule' size='.03' fromto='0 0 0 .5 0 0' mass='1'/>"
# name: document, coordinate that settles
SCENES = {
    "a ball": (document("", ball("mass='1'")), 2),
    "a ball that rebounds": (document("", ball("mass='3' solref='.06 .2'")), 2),
    "a ball of stiffness and damping": (document("", ball("mass='2' solref='-2000 -40' solmix='3' priority='1'")), 2),
    "a ball on a soft curve, elliptic": (document("cone='elliptic'", ball("solimp='.5 .8 .01 .3 3' mass='1'")), 2),
    "a ball with a margin, frictionless": (document("", ball("condim='1' priority='1' margin='.02' mass='1'")), 2),
    "a ball of condim 6 and impratio": (document("impratio='3'", ball("condim='6' friction='.6' priority='1' mass='1'")), 2),
    "a box": (document("", "<body pos='0 0 .12'><freejoint/><geom type='box' size='.1 .2 .1' mass='1'/></body>"), 2),
    "a stack": (document("", "<body pos='0 0 .12'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
                         "<body pos='0 0 .33'><freejoint/><geom type='box' size='.1 .1 .1' mass='2'/></body>"), 9),
    "a limit stop": (document("", f"<body pos='0 0 1'><joint axis='0 1 0' range='-20 30' damping='.3'/>{ARM}</body>"), 0),
    "a limit stop of a chain": (document("", "<body pos='0 0 2'><joint axis='0 1 0' range='-40 10' solreflimit='.05 .7' "
                                         f"solimplimit='.7 .9 .05' armature='.1' damping='.2'/>{ARM}<body pos='.5 0 0'>"
                                         f"<joint axis='0 1 0' range='-10 20' margin='.02' damping='.2'/>{ARM}</body></body>"), 1),
    "a pair with a law of its own": (
        document("", ball("mass='1' name='ball'").replace("<freejoint/>", "<joint type='slide' axis='0 0 1'/>"))
        .replace("<geom type='plane'", "<geom name='floor' type='plane'").replace(
            "</mujoco>", "<contact><pair geom1='ball' geom2='floor' solref='.04 .5' solimp='.6 .9 .002' condim='4' friction='.7 .7'/>"
            "</contact></mujoco>"), 0),
}


FOOT = "<geom name='foot' size='.05' mass='.5' pos='.3 0 0'/>"
LINK = "<geom type='capsule' size='.03' fromto='0 0 0 .3 0 0' mass='1' contype='0' conaffinity='0'/>"
Y_HINGE = "<joint axis='0 1 0'/>"
# name: the bodies of what turns, positions and velocities of its coordinates
TURNING = {
    "two links": (f"<body pos='0 0 1'>{Y_HINGE}{LINK}<body pos='.3 0 0'>{Y_HINGE}{LINK}{FOOT}</body></body>", [.3, .4], [12, -9]),
    "hinges of one body with anchors of their own": (
        f"<body pos='0 0 1'><joint axis='1 0 0' pos='0 .1 0'/><joint axis='0 1 0'/>{LINK}<body pos='.3 0 0'>"
        f"<joint axis='0 0 1' pos='0 0 .1'/><joint axis='0 1 0' pos='-.05 0 0'/><joint axis='1 0 1'/>{LINK}{FOOT}</body></body>",
        [.2, .5, .4, .3, -.2], [-6, 9, -8, -7, 5]),
    "a slide on what turns": (f"<body pos='0 0 1'>{Y_HINGE}{LINK}<body pos='.3 0 0'><joint type='slide' axis='1 0 .2'/>{LINK}{FOOT}"
                              "</body></body>", [.6, .1], [9, 3]),
    "a slide and a hinge of one body": (f"<body pos='0 0 1'>{Y_HINGE}{LINK}<body pos='.3 0 0'><joint type='slide' axis='1 0 0'/>"
                                        f"<joint axis='.3 1 0'/>{LINK}{FOOT}</body></body>", [.6, .1, .3], [9, 3, -7]),
    "a ball": (f"<body pos='0 0 1'><joint axis='0 0 1'/>{LINK}<body pos='.3 0 0'><joint type='ball'/>{LINK}{FOOT}</body></body>",
               [.3, .9, .1, .3, .2], [9, -4, 8, -3]),
    "a leg of what falls": (f"<body pos='0 0 1'><freejoint/><geom size='.1' mass='2' contype='0' conaffinity='0'/>"
                            f"<body pos='.1 0 0'>{Y_HINGE}{LINK}<body pos='.3 0 0'>{Y_HINGE}{LINK}{FOOT}</body></body></body>",
                            [0, 0, 1, 1, 0, 0, 0, .3, .6], [.3, 0, -.2, 1, 3, -2, 9, -12]),
    "a leg of what falls and has its centre elsewhere": (
        f"<body pos='0 0 1'><freejoint/><geom size='.1' pos='.1 -.05 .2' mass='2' contype='0' conaffinity='0'/>"
        f"<body pos='.1 0 0'>{Y_HINGE}{LINK}<body pos='.3 0 0'>{Y_HINGE}{LINK}{FOOT}</body></body></body>",
        [0, 0, 1, 1, 0, 0, 0, .3, .6], [.3, 0, -.2, 4, 6, -3, 9, -12]),
}


@unittest.skipUnless(HAS_MUJOCO, "the package mujoco is not installed")
class SoftnessTest(AxiondCase):

    def rollout(self, mjcf, dt, **options):
        model = self.client.create_model(mjcf=mjcf)
        self.assertEqual(list(model.proto.warnings), [])
        batch = self.client.create_batch(model, 1, dt, precision="float64", options=options)
        steps = round(SECONDS / dt)
        positions = batch.step(steps=steps, outputs=["joint_position"], record_every=1)["joint_position"][0]
        batch.delete()
        return dt * np.arange(1, steps + 1), np.asarray(positions)

    @staticmethod
    def rollout_mujoco(mjcf, dt):
        import mujoco
        model = mujoco.MjModel.from_xml_string(mjcf)
        model.opt.timestep = dt
        data = mujoco.MjData(model)
        positions = []
        for _ in range(round(SECONDS / dt)):
            mujoco.mj_step(model, data)
            positions.append(data.qpos.copy())
        return dt * np.arange(1, len(positions) + 1), np.array(positions)

    def test_drops_boxes_and_stops_move_and_rest_as_mujocos_do(self):
        for name, (mjcf, k) in SCENES.items():
            time, reference = self.rollout_mujoco(mjcf, FINE)
            rest, travel = reference[-1, k], np.ptp(reference[:, k])
            hard = self.rollout(mjcf, 1e-3)[1][-1, k]  # where the surfaces touch, or the margin ends
            for dt in (5e-4, 2e-3):
                with self.subTest(scene=name, dt=dt):
                    own_time, own = self.rollout(mjcf, dt, contact_softness="mjcf")
                    self.assertLess(abs(own[-1, k] - rest), .02 * abs(rest - hard) + 1e-7)
                    # Of first order: most of it is the shift of free fall by half a step.
                    apart = np.abs(own[:, k] - np.interp(own_time, time, reference[:, k]))
                    self.assertLess(apart.max(), 25 * dt * travel)

    def test_a_step_beyond_the_contacts_time_constant_rests_at_the_same_depth(self):
        for name in ("a ball", "a box", "a limit stop"):
            mjcf, k = SCENES[name]
            with self.subTest(scene=name):
                rest = self.rollout_mujoco(mjcf, FINE)[1][-1, k]
                self.assertLess(abs(self.rollout(mjcf, .04, contact_softness="mjcf")[1][-1, k] - rest), 1e-5)

    def moved_to(self, mjcf, dt, steps, position, velocity):
        """Velocities of slides and hinges after some steps with soft contacts, in axiond and in MuJoCo."""
        import mujoco
        model = mujoco.MjModel.from_xml_string(mjcf)
        model.opt.timestep = dt
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = position, velocity
        mujoco.mj_step(model, data, steps)
        with self.client.create_batch(self.client.create_model(mjcf=mjcf), 1, dt, precision="float64",
                                      options={"contact_softness": "mjcf"}) as batch:
            batch.set_state(joint_position=[position], joint_velocity=[velocity])
            batch.step(steps=steps)
            return batch.get_state("joint_velocity")["joint_velocity"][0], data.qvel.copy()

    def test_forces_of_a_deep_overlap_act_in_its_middle(self):
        mjcf = document("", "<body pos='0 0 .1'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
                            "<joint axis='0 1 0'/><geom size='.1' mass='1' friction='1.9'/></body>")
        position, velocity, steps = [0, -.03, 0], [.5, 0, 0], 100
        own, theirs = self.moved_to(mjcf, FINE, steps, position, velocity)
        for k in range(3):  # the friction's arm is half the depth, 15 mm, less than that of the ball's lowest point
            self.assertLess(abs(own[k] - theirs[k]), .02 * abs(theirs[k] - velocity[k]), k)

    @staticmethod
    def moved(model, position, velocity, to_mujoco):
        """Velocities of free joints and balls between axiond's and MuJoCo's: turning in the parent's frame or the child's, and what moves
        is the centre of mass or the frame's origin."""
        import mujoco
        velocity = np.array(velocity, float)
        for joint in range(model.njnt):
            at, dof = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
            is_free = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
            if not is_free and model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_BALL:
                continue
            at, first = at + 3 * is_free, dof + 3 * is_free
            matrix = np.zeros(9)
            mujoco.mju_quat2Mat(matrix, np.array(position[at:at + 4], float))
            turn = matrix.reshape(3, 3)
            omega = velocity[first:first + 3].copy()
            world = omega if to_mujoco else turn @ omega
            velocity[first:first + 3] = turn.T @ omega if to_mujoco else world
            if is_free:
                velocity[dof:dof + 3] += (-1 if to_mujoco else 1) * np.cross(world, turn @ model.body_ipos[model.jnt_bodyid[joint]])
        return velocity

    def test_the_turning_of_links_is_left_out_of_what_contacts_ask_for_as_mujoco_leaves_it_out(self):
        import mujoco
        for name, (bodies, position, velocity) in TURNING.items():
            with self.subTest(name):
                def mjcf_on(height):
                    return ("<mujoco><option timestep='.001'/><worldbody>"
                            f"<geom type='plane' size='9 9 1' pos='0 0 {height}' condim='1' priority='1'/>{bodies}</worldbody></mujoco>")
                model = mujoco.MjModel.from_xml_string(mjcf_on(0))
                data = mujoco.MjData(model)
                data.qpos[:] = position
                mujoco.mj_normalizeQuat(model, data.qpos)
                start = data.qpos.copy()
                mujoco.mj_forward(model, data)
                mjcf = mjcf_on(data.geom("foot").xpos[2] - .05 + .01)
                changes = {}
                for is_touching in (True, False):
                    document = mjcf if is_touching else mjcf.replace("condim='1'", "condim='1' contype='0' conaffinity='0'")
                    model = mujoco.MjModel.from_xml_string(document)
                    model.opt.timestep = FINE / 16
                    data = mujoco.MjData(model)
                    data.qpos[:], data.qvel[:] = start, velocity
                    mujoco.mj_step(model, data, 160)
                    with self.client.create_batch(self.client.create_model(mjcf=document), 1, FINE / 16, precision="float64",
                                                  options={"contact_softness": "mjcf"}) as batch:
                        place = start.copy()
                        for joint in range(model.njnt):  # quaternions have w first in MuJoCo, and last in axiond
                            at = model.jnt_qposadr[joint] + (3 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE else 0)
                            if model.jnt_type[joint] in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
                                place[at:at + 4] = np.roll(place[at:at + 4], -1)
                        batch.set_state(joint_position=[place], joint_velocity=[self.moved(model, start, velocity, False)])
                        batch.step(steps=160)
                        own = batch.get_state("joint_velocity")["joint_velocity"][0]
                    changes[is_touching] = self.moved(model, data.qpos, own, True), data.qvel.copy()
                pushed = [touching - free for touching, free in zip(changes[True], changes[False])]
                self.assertLess(np.abs(pushed[0] - pushed[1]).max(), .01 * np.abs(pushed[1]).max())

    def test_what_slides_on_a_leg_is_lifted_as_mujoco_lifts_it(self):
        shin = "<geom type='capsule' size='.05' fromto='0 0 0 .1 0 -.4'/>"
        leg = ("<body pos='0 0 .9'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"
               "<geom type='capsule' size='.05' fromto='0 0 0 0 0 -.4' contype='0' conaffinity='0'/>"
               f"<body pos='0 0 -.4'><joint axis='0 1 0'/>{shin}</body></body>")
        for cone, friction, speed in itertools.product(("pyramidal", "elliptic"), (.1, .5, 1.9), (1, -1)):
            with self.subTest(cone=cone, friction=friction, speed=speed):
                plane = f"<geom friction='{friction}' priority='1' type='plane'"
                mjcf = document(f"cone='{cone}'", leg).replace("<geom type='plane'", plane)
                position, velocity = [0, -.1, 0, 0], [speed, 0, 0, 0]
                own, theirs = self.moved_to(mjcf, FINE / 4, 80, position, velocity)
                # The first step here begins with half of its forces, 1/160 of the change. Two edges of a pyramid that both push
                # have a regularisation each, which a cone has not: 2.3 % with friction of 0.5.
                within = .01 if cone == "elliptic" else .03
                self.assertLess(np.abs(own - theirs).max(), within * np.abs(theirs - velocity).max())

    def test_what_is_wrong_is_named(self):
        from axion.v1 import scene_pb2, softness_pb2
        for softness, field in ((softness_pb2.Softness(solref=[.1]), "solref"), (softness_pb2.Softness(solref=[.1, -1]), "solref"),
                                (softness_pb2.Softness(solimp=[.1, 1]), "solimp"), (softness_pb2.Softness(margin=-1), "margin"),
                                (softness_pb2.Softness(solimp=[.9, .9, float("nan"), .5, 2]), "solimp")):
            scene = scene_pb2.SceneSpec(bodies=[scene_pb2.BodySpec(name="b", mass=1, inertia=scene_pb2.Inertia(xx=1, yy=1, zz=1))])
            scene.shapes.add(name="s", kind=scene_pb2.SHAPE_KIND_SPHERE, body=0, size=scene_pb2.Vec3(x=.1), softness=softness)
            with self.assertRaisesRegex(Exception, f"shapes\\[0\\].softness.{field}"):
                self.client.create_model(scene=scene)


if __name__ == "__main__":
    unittest.main()
