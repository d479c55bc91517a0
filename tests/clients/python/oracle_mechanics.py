"""What MuJoCo's tasks read of a state: generalised coordinates, frames, inertias and contact forces of all worlds at once.

The server's fields follow its own conventions (proto/axion/v1/state.proto). These are MuJoCo's: the velocity of a free joint is that
of its frame's origin, in the world's axes, and the angular velocity, in the body's; bodies are those of the file, whatever they
are welded to. Source: MuJoCo's documentation, Computation and APIreference/APItypes (mjData).
"""

import dataclasses

import numpy as np

from axion.v1 import scene_pb2


def rotation_matrices(q):
    """Rotation matrices [..., 3, 3] of quaternions (w, x, y, z) [..., 4] of any length but zero."""
    w, x, y, z = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return np.stack(rows, axis=-1).reshape(*q.shape[:-1], 3, 3)


def _rotated(R, v):
    """R v for stacks of matrices [..., 3, 3] and vectors [..., 3]."""
    return np.einsum("...ij,...j->...i", R, v)


def _vec3(message):
    return [message.x, message.y, message.z]


@dataclasses.dataclass
class WorldState:
    """State of n worlds of a robot of B bodies, and what was made of it, as mjData has it; the world is left out."""

    qpos: np.ndarray  # [n, nq] rad and m
    qvel: np.ndarray  # [n, nv]
    xpos: np.ndarray  # [n, B, 3] m
    xmat: np.ndarray  # [n, B, 3, 3]
    center_of_mass: np.ndarray  # [n, 3] m, of all bodies
    cinert: np.ndarray  # [n, B, 10] xx yy zz xy xz yz (kg m^2), first moment (kg m), mass (kg)
    cvel: np.ndarray  # [n, B, 6] rad/s, m/s
    cfrc_ext: np.ndarray  # [n, B, 6] N m, N
    control: np.ndarray  # [n, nu]


class Mechanics:
    """The bodies of a model's file, and how fields of the server become a WorldState."""

    FIELDS = ("joint_position", "joint_velocity", "body_pose", "body_velocity")

    def __init__(self, client, model):
        self.model = model
        scene = client.get_scene(model).proto
        self.body_names = [body.name for body in scene.bodies]
        owners = {body.name: (index, scene_pb2.Pose(rotation=scene_pb2.Quaternion(w=1)))
                  for index, body in enumerate(model.proto.bodies)}
        owners.update({weld.name: (weld.body, weld.pose) for weld in model.proto.welds})
        self._owner = np.array([owners[name][0] for name in self.body_names])
        poses = [owners[name][1] for name in self.body_names]
        self._p_owner = np.array([_vec3(pose.position) for pose in poses]).reshape(-1, 3)
        self._R_owner = rotation_matrices(np.array([[pose.rotation.w, pose.rotation.x, pose.rotation.y, pose.rotation.z]
                                                    for pose in poses], dtype=np.float64).reshape(-1, 4))
        self.mass = np.array([body.mass for body in scene.bodies])
        self._p_com = np.array([_vec3(body.center_of_mass) for body in scene.bodies]).reshape(-1, 3)
        self._inertia = np.array([[[i.xx, i.xy, i.xz], [i.xy, i.yy, i.yz], [i.xz, i.yz, i.zz]]
                                  for i in (body.inertia for body in scene.bodies)]).reshape(-1, 3, 3)
        self._center_of_mass = np.array([_vec3(body.center_of_mass) for body in model.proto.bodies]).reshape(-1, 3)
        self._body_of_shape = np.array([shape.body if shape.HasField("body") else -1 for shape in scene.shapes], dtype=np.int64)
        self._free = [joint for joint in model.proto.joints
                      if joint.kind == scene_pb2.JOINT_KIND_FREE and not joint.closes_loop]
        # What MuJoCo calls the subtree of a root: the bodies that hang on one body that hangs on the world.
        parents = {joint.child: joint.parent if joint.HasField("parent") else -1 for joint in scene.joints}
        self._root = np.array([self._root_of(index, parents) for index in range(len(self.body_names))], dtype=np.int64)

    @staticmethod
    def _root_of(body, parents):
        while parents.get(body, -1) >= 0:
            body = parents[body]
        return body

    def body(self, name):
        """Index of a body of the file."""
        return self.body_names.index(name)

    def joint_velocity(self, qpos, qvel):
        """The server's joint_velocity [n, nv] of MuJoCo's coordinates."""
        result = qvel.copy()
        for joint in self._free:
            q, v = joint.position_start, joint.velocity_start
            R = rotation_matrices(qpos[:, q + 3:q + 7])
            omega = _rotated(R, qvel[:, v + 3:v + 6])
            result[:, v:v + 3] += np.cross(omega, _rotated(R, self._center_of_mass[joint.child]))
            result[:, v + 3:v + 6] = omega
        return result

    def qvel(self, qpos, joint_velocity):
        """MuJoCo's velocities [n, nv] of the server's."""
        result = joint_velocity.copy()
        for joint in self._free:
            q, v = joint.position_start, joint.velocity_start
            R = rotation_matrices(qpos[:, q + 3:q + 7])
            omega = joint_velocity[:, v + 3:v + 6]
            result[:, v:v + 3] -= np.cross(omega, _rotated(R, self._center_of_mass[joint.child]))
            result[:, v + 3:v + 6] = _rotated(np.swapaxes(R, -1, -2), omega)
        return result

    def state(self, fields, control, contacts=None, dt=1.0):
        """The state of n worlds of what the server answers, contacts of a step of dt s among it."""
        qpos, joint_velocity, pose, velocity = (np.array(fields[name], dtype=np.float64) for name in self.FIELDS)
        qvel = self.qvel(qpos, joint_velocity)
        count = len(qpos)
        # The world as one more body, the last, so that -1 finds it.
        p = np.concatenate([pose[:, :, :3], np.zeros((count, 1, 3))], axis=1)
        R = np.concatenate([rotation_matrices(pose[:, :, 3:]), np.broadcast_to(np.eye(3), (count, 1, 3, 3))], axis=1)
        v_com = np.concatenate([velocity[:, :, :3], np.zeros((count, 1, 3))], axis=1)
        omega = np.concatenate([velocity[:, :, 3:], np.zeros((count, 1, 3))], axis=1)
        com = p + _rotated(R, np.concatenate([self._center_of_mass, np.zeros((1, 3))]))
        xmat = R[:, self._owner] @ self._R_owner
        xpos = p[:, self._owner] + _rotated(R[:, self._owner], self._p_owner)
        xipos = xpos + _rotated(xmat, self._p_com)
        subtree = self._subtree_com(xipos)
        cvel = np.concatenate([omega[:, self._owner], v_com[:, self._owner] +
                               np.cross(omega[:, self._owner], subtree - com[:, self._owner])], axis=2)
        return WorldState(qpos=qpos, qvel=qvel, xpos=xpos, xmat=xmat, cvel=cvel, cinert=self._cinert(xmat, xipos - subtree),
                          center_of_mass=np.einsum("b,nbi->ni", self.mass, xipos) / self.mass.sum(),
                          cfrc_ext=self._cfrc_ext(count, contacts, subtree, dt), control=np.asarray(control, dtype=np.float64))

    def _subtree_com(self, xipos):
        """[n, B, 3] m, centre of mass of all that hangs on the same root as each body."""
        result = np.empty_like(xipos)
        for root in np.unique(self._root):
            part = self._root == root
            result[:, part] = (np.einsum("b,nbi->ni", self.mass[part], xipos[:, part]) / self.mass[part].sum())[:, None]
        return result

    def _cinert(self, xmat, arm):
        """[n, B, 10]: inertia about the robot's centre of mass, world axes (xx, yy, zz, xy, xz, yz), first moment (kg m), mass."""
        I = xmat @ self._inertia @ np.swapaxes(xmat, -1, -2)
        square = np.einsum("nbi,nbi->nb", arm, arm)[..., None, None] * np.eye(3) - arm[..., :, None] * arm[..., None, :]
        I = I + self.mass[:, None, None] * square
        moment = self.mass[:, None] * arm
        mass = np.broadcast_to(self.mass[None, :, None], (*arm.shape[:2], 1))
        return np.concatenate([np.stack([I[..., 0, 0], I[..., 1, 1], I[..., 2, 2], I[..., 0, 1], I[..., 0, 2], I[..., 1, 2]], axis=-1),
                               moment, mass], axis=-1)

    def _cfrc_ext(self, count, contacts, subtree, dt):
        wrench = np.zeros((count, len(self.body_names), 6))
        if contacts is None or len(contacts) == 0:
            return wrench
        row = np.repeat(np.arange(count), contacts.contact_count)
        force = (contacts.normal_impulse[:, None] * contacts.normal + contacts.friction_impulse) / dt
        for shapes, sign in ((contacts.shape_a, 1.0), (contacts.shape_b, -1.0)):
            body = self._body_of_shape[shapes]
            moving = body >= 0
            n, b = row[moving], body[moving]
            torque = np.cross(contacts.point[moving] - subtree[n, b], force[moving]) + contacts.moment_impulse[moving] / dt
            np.add.at(wrench, (n, b), sign * np.concatenate([torque, force[moving]], axis=1))
        return wrench

    def qfrc_actuator(self, control):
        """[n, nv] N and N m that motors exert on each coordinate."""
        result = np.zeros((len(control), self.model.joint_velocity_count))
        for index, actuator in enumerate(self.model.proto.actuators):
            assert actuator.kind == scene_pb2.ACTUATOR_KIND_MOTOR, actuator.name
            u = control[:, index]
            if actuator.control_limited:
                u = np.clip(u, actuator.control_lower, actuator.control_upper)
            if actuator.effort_limited:
                u = np.clip(u, actuator.effort_lower, actuator.effort_upper)
            joint = self.model.proto.joints[actuator.joint]
            result[:, joint.velocity_start + actuator.axis] += actuator.gear * u
        return result
