"""An open loop trot for the quadruped of ../models/quadruped.xml: joint angles as a function of time alone."""

import dataclasses

import numpy as np

LEGS = ("fl", "fr", "rl", "rr")            # in the order of the controls: abduction, hip, knee of each
LINK = 0.2                                 # m, thigh and shank
_KNEE_SIDE = np.array([1, 1, -1, -1])      # front knees point backwards, rear knees forwards
_PHASE = np.array([0.0, 0.5, 0.5, 0.0])    # diagonal legs swing together


@dataclasses.dataclass(frozen=True)
class Trot:
    """A slow, low trot. Lengths in m, times in s."""

    stride: float = 0.10      # way of a foot on the ground, relative to the trunk
    frequency: float = 1.6    # cycles per second
    height: float = 0.28      # of the hips above the feet
    lift: float = 0.05        # of a swinging foot
    duty: float = 0.6         # share of the cycle on the ground: above a half, all feet touch for a moment
    start: float = 2.0        # it stands before
    ramp: float = 1.0         # the stride grows to its length in this time

    def joint_angles(self, time):
        """Joint angles at times [t]: float64 [t, 12], rad, in the order of the robot's controls."""
        time = np.atleast_1d(np.asarray(time, dtype=float))[:, None]
        grown = np.clip((time - self.start) / self.ramp, 0.0, 1.0)
        phase = ((time - self.start) * self.frequency + _PHASE) % 1.0
        on_ground = phase / self.duty                                # 0 .. 1 while the foot is down
        swing = np.clip((phase - self.duty) / (1.0 - self.duty), 0.0, 1.0)  # 0 .. 1 while it is in the air
        down = phase < self.duty
        forward = np.where(down, 0.5 - on_ground, swing - np.sin(2 * np.pi * swing) / (2 * np.pi) - 0.5)
        foot_x = grown * self.stride * forward
        foot_down = self.height - grown * self.lift * np.where(down, 0.0, 0.5 - 0.5 * np.cos(2 * np.pi * swing))
        # Two equal links: the knee opens to the foot's distance, the hip turns by half of it and towards the foot.
        bend = np.arccos(np.minimum(np.hypot(foot_x, foot_down) / (2 * LINK), 1.0))
        hip = _KNEE_SIDE * bend - np.arctan2(foot_x, foot_down)
        knee = -2 * _KNEE_SIDE * bend
        return np.stack([np.zeros_like(hip), hip, knee], axis=-1).reshape(len(time), 12)
