"""RayFleet: actors of Ray that hold servers, of which some are killed: bits of one server's run. Wants the extra `ray`."""

import contextlib
import importlib.util
import os
import pathlib
import pickle
import re
import signal
import tempfile
import textwrap
import unittest

import numpy as np

import axion
import fleet_test
from axiond_case import AXIOND, ROOT
from axiond_process import AxiondProcess, eventually

HAS_RAY = importlib.util.find_spec("ray") is not None
if HAS_RAY:
    import ray
    import axion.ray_fleet
    from axion.ray_fleet import RayFleet

SCENE = (ROOT / "clients" / "examples" / "models" / "quadruped.xml").read_text()
WORLDS = fleet_test.WORLDS
FLAGS = ("--device=cpu", "--threads=1")


def servers_of(fleet):
    """Process ids of the servers that the actors have started: children of children of the actors."""
    alive = [member.client._handle for member in fleet._members if not member.is_lost]
    actors = {ray.get(handle.__ray_call__.remote(lambda self: os.getpid())) for handle in alive}
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                parents[int(entry)] = (int(fields[1]), os.readlink(f"/proc/{entry}/exe"))
            except OSError:
                continue
    return {pid for pid, (parent, program) in parents.items()
            if os.path.basename(program).startswith("axiond") and parents.get(parent, (0, ""))[0] in actors}


class Pickles(unittest.TestCase):
    """What goes from process to process, with or without Ray."""

    def test_an_error_says_all_that_it_did(self):
        import grpc

        error = axion.ResourceExhaustedError(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", reason="QUEUE_FULL", metadata={"a": "b"},
                                             field_violations=[axion.FieldViolation("steps", "is negative")], quota_violations=["queue: 4"],
                                             retry_delay=0.5)
        again = pickle.loads(pickle.dumps(error))
        self.assertIs(type(again), axion.ResourceExhaustedError)
        self.assertEqual({**vars(again)}, {**vars(error)})
        self.assertEqual(str(again), str(error))


@unittest.skipUnless(HAS_RAY, "the extra `ray` is not installed")
@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class RayFleetOfThree(unittest.TestCase):
    model = None
    asked, expect_same = fleet_test.FleetOfThree.asked, fleet_test.FleetOfThree.expect_same

    @classmethod
    def setUpClass(cls):
        # The workers find this file's functions, which tests send them, by this path.
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000,
                 runtime_env={"env_vars": {"PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}})
        cls.addClassCleanup(ray.shutdown)

    def started(self, servers=3):
        fleet = self.enterContext(RayFleet(servers=servers, program=AXIOND, flags=FLAGS, actor_options={"num_cpus": 0}, patience=0.5))
        self.model = fleet.create_model(mjcf=SCENE)
        return fleet

    def alone(self, target):
        with axion.Client(target) as client, client.create_batch(client.create_model(mjcf=SCENE), WORLDS, 0.005) as batch:
            self.model = client.get_model(batch.model) if self.model is None else self.model
            return self.asked(batch)

    def test_servers_that_actors_start_give_the_bits_of_one_server(self):
        fleet = self.started()
        expected = self.alone(fleet.targets[0])
        self.assertEqual(len(set(fleet.targets)), 3)
        with fleet.create_batch(self.model, WORLDS, 0.005) as batch:
            self.assertEqual(sum(batch.placement.values()), WORLDS)
            self.expect_same(self.asked(batch), expected)

    def test_servers_that_run_already_are_taken(self):
        with AxiondProcess(AXIOND) as one, AxiondProcess(AXIOND) as other:
            expected = self.alone(one.address)
            with RayFleet([one.address, other.address], actor_options={"num_cpus": 0}) as fleet:
                self.assertEqual(fleet.targets, [one.address, other.address])
                with fleet.create_batch(fleet.create_model(mjcf=SCENE), WORLDS, 0.005, shares=[1, 1]) as batch:
                    self.expect_same(self.asked(batch), expected)
                self.assertEqual(axion.Client(one.address).list_batches(), [])

    def test_worlds_of_lost_actors_and_servers_go_on_with_the_same_bits(self):
        fleet = self.started()
        expected = self.alone(fleet.targets[2])

        def kill_server():
            os.kill(min(servers_of(fleet)), signal.SIGKILL)
        with fleet.create_batch(self.model, WORLDS, 0.005, shares=[1, 1, 1], checkpoint_every=4) as batch:
            events = {6: lambda: ray.kill(fleet._members[0].client._handle), 15: kill_server}
            self.expect_same(self.asked(batch, events), expected)
            self.assertEqual(len(batch.placement), 1)

    def test_tasks_have_the_episodes_of_one_server(self):
        task = {"observation": [{"quantity": {"field": "joint_position", "start": 7}}],
                "reward": [{"name": "alive", "weight": 1, "measure": "MEASURE_ALIVE"}],
                "action": {"scale": [0.1], "offset_keyframe": "stand"}, "keyframe": "stand", "max_episode_steps": "5",
                "start": [{"of": "START_OF_POSITION", "start": 7, "lower": -0.05, "upper": 0.05}]}
        fleet, answers = self.started(2), []
        with axion.Client(fleet.targets[0]) as client:
            for where in (client, fleet):
                choices = {"shares": [1, 2]} if where is fleet else {}
                with where.create_batch(where.create_model(mjcf=SCENE), 6, 0.005, task=task, seed=5, **choices) as batch:
                    told = [batch.step_task(np.zeros((6, batch.task.action_size if where is fleet else batch.proto.task.action_size)))
                            for _ in range(12)]
                answers.append([[each.observation, each.reward, each.truncated, each.episode, each.final_rows] for each in told])
        self.expect_same(answers[0], answers[1])

    def test_no_server_outlives_its_actor(self):
        fleet = self.started(2)
        servers = servers_of(fleet)
        self.assertEqual(len(servers), 2)
        ray.kill(fleet._members[0].client._handle)  # as when its machine is lost
        fleet.close()
        for pid in servers:
            self.assertTrue(eventually(lambda pid=pid: not os.path.exists(f"/proc/{pid}")), pid)

    def test_what_the_module_says_of_its_use_runs(self):
        code = textwrap.dedent("\n".join(re.findall(r"^    .*$", axion.ray_fleet.__doc__, re.MULTILINE))).replace("ray.init()", "")
        self.assertIn("RayFleet(servers=2", code)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        (pathlib.Path(folder) / "quadruped.xml").write_text(SCENE)  # not where the actors are
        self.enterContext(contextlib.chdir(folder))
        told = {}
        exec(code.replace("servers=2", f"servers=2, program={AXIOND!r}, flags={FLAGS}"), told)
        self.assertEqual(told["result"]["body_pose"].shape[0], 256)

    def test_mistakes_are_named(self):
        for arguments, error, text in (({}, ValueError, "targets, servers: a fleet"), ({"servers": -1}, ValueError, "servers: -1"),
                                       ({"servers": 1, "program": "no-axiond"}, FileNotFoundError, "program: there is no 'no-axiond'"),
                                       ({"servers": 1, "program": AXIOND, "flags": ["--fly"]}, RuntimeError, "did not serve: .*fly"),
                                       ({"servers": 1, "actor_options": {"max_restarts": 1}}, ValueError, "max_restarts")):
            with self.subTest(arguments=arguments), self.assertRaisesRegex(error, f"(?s){text}"):
                RayFleet(**arguments)
        fleet = self.started(1)
        with self.assertRaises(axion.InvalidArgumentError) as raised:
            fleet.create_batch(self.model, 4, -1.0, shares=[1])
        self.assertTrue(raised.exception.field_violations)


if __name__ == "__main__":
    unittest.main()
