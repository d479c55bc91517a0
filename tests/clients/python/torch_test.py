"""Steps as functions of PyTorch, where that is installed; see axiond_case.py."""

import importlib.util
import unittest

import axion
from axiond_case import AxiondCase

ARM = """<mujoco><option timestep="0.01"/><worldbody><body pos="0 0 2"><joint name="a" axis="0 1 0" damping=".1"/>
  <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.5" mass="1"/><body pos=".1 0 -.5"><joint name="b" axis="0 1 .3" stiffness="2"/>
  <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4" mass=".6"/></body></body></worldbody>
  <actuator><motor joint="a" gear="3"/><motor joint="b"/></actuator></mujoco>"""


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class TorchTest(AxiondCase):
    def test_autograd_follows_steps(self):
        import torch

        import axion.torch

        batch = self.client.create_batch(self.client.create_model(mjcf=ARM), 2, precision="float64")
        self.addCleanup(batch.delete)
        simulator = axion.torch.Simulator(batch, outputs=["joint_position", "body_pose"], record_every=2)
        generator = torch.Generator().manual_seed(3)

        def random(*shape):
            return torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True)
        mass = torch.tensor([[1.0, 0.6], [0.8, 0.9]], dtype=torch.float64, requires_grad=True)

        def run(control, position, velocity, mass):
            return tuple(simulator(control, joint_position=position, joint_velocity=velocity, body_mass=mass).values())
        self.assertTrue(torch.autograd.gradcheck(run, (random(2, 4, 2), random(2, 2), random(2, 2), mass), atol=1e-6, rtol=1e-5))

    def test_adam_brings_an_arm_to_its_mark(self):
        import torch

        import axion.torch

        batch = self.client.create_batch(self.client.create_model(mjcf=ARM), 1, precision="float64")
        self.addCleanup(batch.delete)
        simulator = axion.torch.Simulator(batch, outputs="joint_position")
        control = torch.zeros(1, 20, 2, dtype=torch.float64, requires_grad=True)
        mark, optimizer = torch.tensor([[0.3, -0.2]]), torch.optim.Adam([control], lr=0.2)
        for _ in range(60):
            optimizer.zero_grad()
            loss = (simulator(control, joint_position=torch.zeros(1, 2))["joint_position"] - mark).square().sum()
            loss.backward()
            optimizer.step()
        self.assertLess(loss.item(), 1e-3)

    def test_a_name_that_is_no_input_is_refused(self):
        import axion.torch

        batch = self.client.create_batch(self.client.create_model(mjcf=ARM), 1)
        self.addCleanup(batch.delete)
        with self.assertRaisesRegex(TypeError, "weight is neither"):
            axion.torch.Simulator(batch)(weight=[1.0])


class WithoutTorch(unittest.TestCase):
    @unittest.skipIf(importlib.util.find_spec("torch"), "PyTorch is installed")
    def test_it_says_what_it_wants(self):
        with self.assertRaisesRegex(ImportError, "axion.torch wants PyTorch: pip install torch"):
            import axion.torch  # noqa: F401
