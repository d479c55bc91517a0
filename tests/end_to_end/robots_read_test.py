#!/usr/bin/env python3
"""What a real axiond reads of published robots beside what MuJoCo reads of the same files: masses, centres, inertias, axes, anchors,
ranges, laws along joints, actuators, and at the start and at random coordinates the poses of all bodies and the readings of position and
velocity sensors.

Usage: robots_read_test.py BIN_DIRECTORY COLLECTIONS, with an interpreter that has the packages axion and mujoco. COLLECTIONS is a folder
of collections of robots (MJCF files with what they refer to); without it the test is skipped.
"""

import pathlib
import sys
import unittest
import xml.etree.ElementTree

import axion
import mujoco
import numpy as np
from axion import files
from axion.v1 import scene_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import AxiondProcess  # noqa: E402

BIN, COLLECTIONS = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
TOLERANCE = 1e-5   # beside 1 or the greatest number of its array; poses in float64 round far below it


def models():
    """MJCF files that are models by themselves."""
    for path in sorted(COLLECTIONS.rglob('*.xml')):
        root = xml.etree.ElementTree.parse(path).getroot()
        if root.tag == 'mujoco' and root.find('worldbody') is not None:
            try:
                yield path, mujoco.MjModel.from_xml_path(str(path))
            except ValueError:
                continue  # a part of another file


def vector(message):
    return np.array([message.x, message.y, message.z])


def matrix(quaternion):
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, np.asarray(quaternion, float))
    return out.reshape(3, 3)


def name_of(model, kind, i):
    return mujoco.mj_id2name(model, kind, i) or ''


class RobotsAreRead(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not COLLECTIONS.exists():
            raise unittest.SkipTest(f'there are no robots at {COLLECTIONS}')
        cls.server = AxiondProcess(BIN / 'axiond', '--threads=1')
        cls.client = axion.Client(cls.server.address)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.close()

    def same(self, ours, theirs, what):
        ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
        self.assertEqual(ours.shape, theirs.shape, what)
        scale = max(1.0, np.abs(theirs).max(initial=0))
        self.assertLess(np.abs(ours - theirs).max(initial=0), TOLERANCE * scale, f'{what}: {ours} here, {theirs} there')

    def test_as_mujoco_reads_them(self):
        seen = 0
        for path, theirs in models():
            with self.subTest(model=str(path.relative_to(COLLECTIONS))):
                text, assets = files.read_mjcf(path)
                try:
                    model = self.client.create_model(mjcf=text, assets=assets)
                except axion.InvalidArgumentError as error:
                    if 'was not sent along' in str(error):
                        continue  # a mesh of it is not there; MuJoCo at times reads such a file from what it read before
                    raise
                data = mujoco.MjData(theirs)
                mujoco.mj_forward(theirs, data)
                self.assertEqual(model.proto.joint_position_count, theirs.nq)
                bodies = self.bodies_of(model, theirs)
                self.compare_bodies(model.proto, theirs, data, bodies)
                self.compare_joints(model.proto, theirs)
                self.compare_actuators(model.proto, theirs)
                with self.client.create_batch(model, 1, precision='float64') as batch:
                    self.compare_states(batch, model.proto, theirs, data, bodies)
                self.client.delete_model(model.name)
                seen += 1
        self.assertGreater(seen, 0, 'no model was compared')

    @staticmethod
    def bodies_of(model, theirs):
        """MuJoCo's number of each of our bodies: those that joints move, and mocap bodies, in the order of the file."""
        moved = [i for i in range(1, theirs.nbody) if theirs.body_weldid[i] == i]
        names = {name_of(theirs, mujoco.mjtObj.mjOBJ_BODY, i): i for i in moved}
        return [names.get(body.name, moved[k] if k < len(moved) else -1) for k, body in enumerate(model.proto.bodies)]

    def compare_bodies(self, ours, theirs, data, bodies):
        self.assertNotIn(-1, bodies)
        for body, i in zip(ours.bodies, bodies):
            if theirs.body_mocapid[i] >= 0:
                continue
            group = [k for k in range(1, theirs.nbody) if theirs.body_weldid[k] == i]
            mass = theirs.body_mass[group].sum()
            centre = (theirs.body_mass[group, None] * data.xipos[group]).sum(0) / max(mass, 1e-300)
            inertia = np.zeros((3, 3))
            for k in group:
                R, arm = data.ximat[k].reshape(3, 3), data.xipos[k] - centre
                inertia += R @ np.diag(theirs.body_inertia[k]) @ R.T + theirs.body_mass[k] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
            frame = data.xmat[i].reshape(3, 3)
            own = body.inertia
            tensor = np.array([[own.xx, own.xy, own.xz], [own.xy, own.yy, own.yz], [own.xz, own.yz, own.zz]])
            self.assertAlmostEqual(body.mass / mass, 1, delta=TOLERANCE, msg=f'mass of {body.name}')
            self.same(vector(body.center_of_mass), frame.T @ (centre - data.xpos[i]), f'centre of {body.name}')
            reference = frame.T @ inertia @ frame
            self.same(tensor / reference.trace(), reference / reference.trace(), f'inertia of {body.name}')

    def compare_joints(self, ours, theirs):
        by_name = {name_of(theirs, mujoco.mjtObj.mjOBJ_JOINT, i): i for i in range(theirs.njnt)}
        for joint in ours.joints:
            for axis in joint.axes:
                i = by_name.get(axis.name, -1)
                if i < 0:
                    continue
                self.same(vector(axis.axis), theirs.jnt_axis[i], f'axis of {axis.name}')
                if theirs.jnt_type[i] == mujoco.mjtJoint.mjJNT_HINGE:  # a point anywhere on the axis is the same
                    arm = vector(axis.anchor) - theirs.jnt_pos[i]
                    self.same(arm - arm @ theirs.jnt_axis[i] * theirs.jnt_axis[i], np.zeros(3), f'anchor of {axis.name}')
                dof, place = theirs.jnt_dofadr[i], theirs.jnt_qposadr[i]
                self.assertEqual(axis.limited, bool(theirs.jnt_limited[i]), axis.name)
                if axis.limited:
                    self.same([axis.lower, axis.upper], theirs.jnt_range[i], f'range of {axis.name}')
                self.same([axis.armature, axis.damping, axis.friction_loss, axis.stiffness],
                          [theirs.dof_armature[dof], theirs.dof_damping[dof].ravel()[0], theirs.dof_frictionloss[dof],
                           theirs.jnt_stiffness[i].ravel()[0]], f'laws of {axis.name}')
                if axis.stiffness:
                    self.same(axis.spring_reference, theirs.qpos_spring[place], f'spring of {axis.name}')

    def compare_actuators(self, ours, theirs):
        self.assertEqual(len(ours.actuators), theirs.nu)
        for i, actuator in enumerate(ours.actuators):
            self.assertEqual(actuator.control_limited, bool(theirs.actuator_ctrllimited[i]), actuator.name)
            if actuator.control_limited:
                self.same([actuator.control_lower, actuator.control_upper], theirs.actuator_ctrlrange[i], f'control of {actuator.name}')
            if actuator.kind == scene_pb2.ACTUATOR_KIND_POSITION and theirs.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT:
                self.same([actuator.kp, -actuator.kp], [theirs.actuator_gainprm[i, 0], theirs.actuator_biasprm[i, 1]], actuator.name)

    def compare_states(self, batch, ours, theirs, data, bodies):
        draw, sensors = np.random.default_rng(11), self.sensors(ours, theirs)
        low, high = np.full(theirs.nv, -0.4), np.full(theirs.nv, 0.4)
        for trial in range(4):
            mujoco.mj_resetData(theirs, data)
            if trial > 0:
                mujoco.mj_integratePos(theirs, data.qpos, draw.uniform(low, high), 1.0)
                data.qvel[:] = 0
                batch.set_state(joint_position=data.qpos[None].copy(), joint_velocity=data.qvel[None].copy())
            mujoco.mj_forward(theirs, data)
            state = batch.get_state(['body_pose'] + (['sensor_data'] if sensors else []))
            pose = state['body_pose'][0]
            self.same(pose[:, :3], data.xpos[bodies], f'places, trial {trial}')
            turned = np.reshape([matrix(q) for q in pose[:, 3:]], (-1, 9))
            self.same(turned, data.xmat[bodies], f'rotations, trial {trial}')
            for name, here, there in sensors:
                if name in self.rangefinders(theirs) and data.sensordata[there] < 0:
                    continue  # MuJoCo's rays end with the picture of a plane; planes have no end here
                self.same(state['sensor_data'][0, here], data.sensordata[there], f'sensor {name}, trial {trial}')

    @staticmethod
    def rangefinders(theirs):
        return {name_of(theirs, mujoco.mjtObj.mjOBJ_SENSOR, i) for i in range(theirs.nsensor)
                if theirs.sensor_type[i] == mujoco.mjtSensor.mjSENS_RANGEFINDER}

    @staticmethod
    def sensors(ours, theirs):
        """Name and both places of the sensors that a state alone decides: of positions and velocities."""
        out = []
        for sensor in ours.sensors:
            i = mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_SENSOR, sensor.name)
            if i < 0 or theirs.sensor_needstage[i] == mujoco.mjtStage.mjSTAGE_ACC or theirs.sensor_noise[i] > 0:
                continue
            at, width = theirs.sensor_adr[i], theirs.sensor_dim[i]
            out.append((sensor.name, slice(sensor.start, sensor.start + width), slice(at, at + width)))
        return out


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
