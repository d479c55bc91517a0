"""The example's gait and its reading of metrics pages, without a server."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree as ElementTree

import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "clients" / "examples"
sys.path.insert(0, str(EXAMPLES / "python"))

import gait  # noqa: E402
import metrics  # noqa: E402


def foot_positions(angles):
    """Feet in the frames of their hips: [t, 4, 2], x and z, m."""
    hip, knee = angles.reshape(-1, 4, 3)[:, :, 1], angles.reshape(-1, 4, 3)[:, :, 2]
    x = -gait.LINK * (np.sin(hip) + np.sin(hip + knee))
    z = -gait.LINK * (np.cos(hip) + np.cos(hip + knee))
    return np.stack([x, z], axis=-1)


class Gait(unittest.TestCase):
    def setUp(self):
        self.scene = ElementTree.parse(EXAMPLES / "models" / "quadruped.xml").getroot()
        self.times = np.arange(0, 10, 0.005)
        self.angles = gait.Trot().joint_angles(self.times)

    def test_standing_is_the_keyframe_of_the_model(self):
        stand = np.array(self.scene.find("keyframe/key").get("qpos").split(), dtype=float)[7:]
        np.testing.assert_allclose(self.angles[self.times < 2], np.tile(stand, (400, 1)), atol=1e-3)

    def test_controls_follow_the_order_of_the_actuators(self):
        names = [actuator.get("name") for actuator in self.scene.find("actuator")]
        self.assertEqual(names, [f"{leg}_{joint}" for leg in gait.LEGS for joint in ("abduction", "hip", "knee")])

    def test_angles_stay_within_the_control_ranges(self):
        ranges = {}
        for default in self.scene.find("default").findall("default"):
            if default.find("position") is not None:
                ranges[default.get("class")] = [float(bound) for bound in default.find("position").get("ctrlrange").split()]
        for column, actuator in enumerate(self.scene.find("actuator")):
            low, high = ranges[actuator.get("class")]
            self.assertTrue(np.all((self.angles[:, column] >= low) & (self.angles[:, column] <= high)),
                            actuator.get("name"))

    def test_angles_do_not_jump(self):
        self.assertLess(np.abs(np.diff(self.angles, axis=0)).max(), 0.06)

    def test_feet_on_the_ground_move_backwards_at_one_height(self):
        walk = gait.Trot()
        late = self.times > 4
        feet = foot_positions(self.angles[late])
        down = np.isclose(feet[:, :, 1], -walk.height, atol=1e-9)
        speed = np.diff(feet[:, :, 0], axis=0) / 0.005
        both = down[1:] & down[:-1]
        expected = -walk.stride * walk.frequency / walk.duty
        np.testing.assert_allclose(np.median(speed[both]), expected, rtol=1e-3)
        self.assertTrue(np.all(down.sum(axis=1) >= 2))
        self.assertLessEqual(feet[:, :, 1].max(), -walk.height + walk.lift + 1e-9)


class Metrics(unittest.TestCase):
    PAGE = """# HELP axion_worlds Worlds.
# TYPE axion_worlds gauge
axion_worlds{device="cpu"} 256
other_metric 1
axion_step_outcomes_total{outcome="converged"} 12
axion_step_outcomes_total{outcome="fallback"} 0
axion_step_outcomes_total{outcome="non_finite"} 0
axion_contacts_bucket{le="2"} 3
axion_contacts_bucket{le="4"} 4
axion_contacts_bucket{le="+Inf"} 4
axion_contacts_sum 10
axion_contacts_count 4
axion_line_search_steps_bucket{le="+Inf"} 0
axion_line_search_steps_sum 0
axion_line_search_steps_count 0
"""

    def test_page_becomes_a_line_for_each_metric(self):
        lines = metrics.digest(metrics.parse(self.PAGE))
        self.assertEqual(len(lines), 5)
        text = "\n".join(lines)
        self.assertIn("4 observed, mean 2.5, median <= 2, 99 % <= 4", text)
        self.assertIn("nothing observed", text)
        self.assertIn("2 of its 3 series are 0", text)
        self.assertRegex(text, r"axion_worlds\s+device cpu\s+256")
        self.assertNotIn("other_metric", text)


if __name__ == "__main__":
    unittest.main()
