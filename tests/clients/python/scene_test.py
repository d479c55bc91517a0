"""Scenes made in Python: what the builder writes."""

import unittest

import axion
from axion.v1 import scene_pb2, sensor_pb2
from fake_server import FakeServer


def pendulum():
    scene = axion.Scene("pendulum", gravity=(0, 0, -5), timestep=0.01)
    rod = scene.body("rod", mass=2, inertia=(1, 2, 3), position=(0, 0, 1), center_of_mass=(0, 0, -0.5))
    joint = scene.hinge("pivot", rod, axis=(0, 1, 0), anchor=(0, 0, 0.1), limits=(-1, 2), friction_loss=0.3,
                        lock_stiffness=1e4, lock_damping=5)
    scene.actuator("position", "servo", joint, kp=10, effort_range=(-4, 5), control_range=(-1, 1))
    return scene


class Builder(unittest.TestCase):
    def test_absent_parent_and_body_are_the_world(self):
        scene = pendulum()
        scene.shape("plane", "ground")
        self.assertEqual((scene.proto.joints[0].parent, scene.proto.shapes[0].body), (-1, -1))

    def test_numbers_are_where_they_belong(self):
        proto = pendulum().proto
        body, joint, actuator = proto.bodies[0], proto.joints[0], proto.actuators[0]
        self.assertEqual((proto.gravity.z, proto.timestep), (-5, 0.01))
        self.assertEqual((body.mass, body.inertia.zz, body.inertia.xy, body.center_of_mass.z), (2, 3, 0, -0.5))
        self.assertEqual((body.pose.position.z, body.pose.rotation.w), (1, 1))
        axis = joint.axes[0]
        self.assertEqual((joint.kind, axis.kind), (scene_pb2.JOINT_KIND_AXES, scene_pb2.AXIS_KIND_HINGE))
        self.assertEqual((axis.axis.y, axis.anchor.z, axis.limited, axis.lower, axis.upper, axis.friction_loss),
                         (1, 0.1, True, -1, 2, 0.3))
        self.assertEqual((joint.lock_stiffness, joint.lock_damping), (1e4, 5))
        self.assertEqual((actuator.kp, actuator.effort_limited, actuator.effort_lower, actuator.effort_upper),
                         (10, True, -4, 5))
        self.assertEqual((actuator.control_limited, actuator.control_upper), (True, 1))

    def test_sensors_are_named_by_their_kind_in_small_letters(self):
        scene = pendulum()
        scene.sensor("gyro", "imu", frame=scene.frame(0, (0, 0, -1)), noise=0.1)
        scene.sensor("touch", "end", frame=scene.frame(0), zone="box", zone_size=(1, 2, 3))
        scene.sensor("joint_position", "angle", joint=0, axis=0)
        scene.sensor("frame_position", "seen", frame=scene.frame(0), reference=scene.frame())
        kinds = [sensor.kind for sensor in scene.proto.sensors]
        self.assertEqual(kinds, [sensor_pb2.SENSOR_KIND_GYRO, sensor_pb2.SENSOR_KIND_TOUCH,
                                 sensor_pb2.SENSOR_KIND_JOINT_POSITION, sensor_pb2.SENSOR_KIND_FRAME_POSITION])
        imu, touch, _, seen = scene.proto.sensors
        self.assertEqual((imu.frame.body, imu.frame.pose.position.z, imu.noise), (0, -1, 0.1))
        self.assertEqual((touch.zone, touch.zone_size.y), (scene_pb2.SHAPE_KIND_BOX, 2))
        self.assertEqual(seen.reference.body, -1)
        with self.assertRaisesRegex(ValueError, "kind: 'giro' is none of touch, accelerometer"):
            scene.sensor("giro", "x")

    def test_each_kind_of_joint_and_shape_has_its_method(self):
        scene = axion.Scene()
        bodies = [scene.body(f"b{i}", mass=1, inertia=(1, 1, 1)) for i in range(5)]
        scene.free("free", bodies[0])
        scene.fixed("fixed", bodies[1], bodies[0], anchor=(1, 0, 0), lock_stiffness=10)
        scene.ball("ball", bodies[2], bodies[1], ball_damping=0.1)
        scene.slide("slide", bodies[3], axis=(1, 0, 0))
        scene.axes("both", bodies[4], axes=[scene.slide_axis("x", (1, 0, 0)), scene.hinge_axis("turn", (0, 1, 0))])
        self.assertEqual([joint.kind for joint in scene.proto.joints],
                         [scene_pb2.JOINT_KIND_FREE, scene_pb2.JOINT_KIND_FIXED, scene_pb2.JOINT_KIND_BALL,
                          scene_pb2.JOINT_KIND_AXES, scene_pb2.JOINT_KIND_AXES])
        for kind, size in (("plane", ()), ("sphere", 0.1), ("capsule", (0.1, 0.2)), ("box", (1, 2, 3))):
            scene.shape(kind, kind, bodies[0], size=size, restitution=0.5)
        self.assertEqual([(s.size.x, s.size.y, s.size.z) for s in scene.proto.shapes],
                         [(0, 0, 0), (0.1, 0, 0), (0.1, 0.2, 0), (1, 2, 3)])
        scene.exclude(bodies[0], bodies[1])
        scene.keyframe("start", [0] * 14, time=1)
        self.assertEqual(len(scene.proto.keyframes[0].joint_position), 14)

    def test_unknown_fields_and_kinds_are_refused(self):
        scene = pendulum()
        with self.assertRaisesRegex(ValueError, "dampng"):
            scene.hinge("wrong", 0, dampng=1)
        with self.assertRaisesRegex(ValueError, "'cone' is none of plane"):
            scene.shape("cone", "wrong")
        with self.assertRaisesRegex(ValueError, "'piston' is none of motor"):
            scene.actuator("piston", "wrong", 0)
        with self.assertRaisesRegex(ValueError, "has 2 numbers"):
            scene.body("wrong", mass=1, inertia=(1, 2))

    def test_client_takes_a_scene_or_its_message(self):
        with FakeServer() as server, axion.Client(server.target) as client:
            client.create_model(scene=pendulum())
            client.create_model(scene=pendulum().proto)
            first, second = server.simulation.requests
            self.assertEqual(first.scene, second.scene)
            self.assertEqual(first.scene.bodies[0].name, "rod")


if __name__ == "__main__":
    unittest.main()
