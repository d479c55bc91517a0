"""The dm_env_rpc endpoint: the protocol's own compliance suite, and agents through its dm_env adaptor; see axiond_case.py."""

import hashlib
import signal
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import unittest

import grpc
import numpy as np

from axiond_case import AxiondCase
from axiond_process import PATIENCE_SECONDS

try:
    from dm_env_rpc.v1 import compliance, connection, dm_env_adaptor, dm_env_rpc_pb2, dm_env_rpc_pb2_grpc, error, tensor_utils
    from dm_env_rpc.v1.compliance import create_destroy_world, join_leave_world, reset, reset_world, step

    import axion.dm_env_rpc
    from axion.dm_env_agents import hashes_of_tokens
except ImportError:
    compliance = None

SETTINGS = {"task": "Hopper-v5"}


@unittest.skipIf(compliance is None, "dm_env_rpc or gymnasium is not installed")
class Endpoint(AxiondCase):
    """Has an endpoint at `address`, and connects to it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server, port, service = axion.dm_env_rpc.serve(cls.client, "127.0.0.1:0")
        cls.address = f"127.0.0.1:{port}"
        cls.addClassCleanup(service.close)
        cls.addClassCleanup(lambda: server.stop(None).wait())

    def setUp(self):
        super().setUp()
        self._connection = connection.create_secure_channel_and_connect(self.address)
        self.addCleanup(self._connection.close)

    def create(self, **settings):
        name = dm_env_adaptor.create_world(self._connection, {**SETTINGS, **settings})
        self.addCleanup(self.destroy, name)
        return name

    def destroy(self, name):
        self._connection.send(dm_env_rpc_pb2.LeaveWorldRequest())
        self._connection.send(dm_env_rpc_pb2.DestroyWorldRequest(world_name=name))

    def join(self, name):
        return self._connection.send(dm_env_rpc_pb2.JoinWorldRequest(world_name=name)).specs


class Agents(Endpoint):
    def test_an_episode_goes_from_its_first_step_to_its_last(self):
        env = dm_env_adaptor.join_world(self._connection, self.create(seed=3), {})
        first = env.reset()
        self.assertTrue(first.first())
        self.assertEqual(first.observation["observation"].shape, (11,))
        rewards = 0
        for _ in range(1000):
            answer = env.step({"action": np.array([1, -1, 1], dtype=np.float32)})
            rewards += answer.reward
            if answer.last():
                break
        self.assertTrue(answer.last())
        self.assertEqual(answer.discount, 0)
        self.assertGreater(rewards, 0)
        self.assertTrue(env.step({}).first())

    def test_an_episode_that_is_cut_has_a_future(self):
        env = dm_env_adaptor.join_world(self._connection, self.create(max_episode_steps=2), {})
        env.reset()
        answers = [env.step({}) for _ in range(2)]
        self.assertTrue(answers[1].last() and not answers[0].last())
        self.assertEqual(answers[1].discount, 1)

    def test_a_seed_gives_the_same_episodes(self):
        found = []
        for _ in range(2):
            name = self.create(seed=5)
            env = dm_env_adaptor.join_world(self._connection, name, {})
            found.append([env.reset().observation["observation"], env.step({}).observation["observation"],
                          env.reset().observation["observation"]])
            self._connection.send(dm_env_rpc_pb2.LeaveWorldRequest())
        np.testing.assert_array_equal(found[0], found[1])
        self.assertTrue((found[0][0] != found[0][2]).any())

    def test_mistakes_are_named(self):
        for settings, text in (({"task": "Hopper"}, "is none of"), ({"task": "Hopper-v5", "sneed": 1}, "sneed.{1,2} is none of task"),
                               ({"task": "Hopper-v5", "seed": -1}, "settings.seed"), ({}, "settings.task")):
            with self.assertRaisesRegex(error.DmEnvRpcError, text):
                dm_env_adaptor.create_world(self._connection, settings)
        self.join(self.create())
        request = dm_env_rpc_pb2.StepRequest()
        self._connection.send(request)
        request.actions[1].CopyFrom(tensor_utils.pack_tensor([0, np.nan, 0], dtype=np.float32))
        with self.assertRaisesRegex(error.DmEnvRpcError, "actions.action: must be from"):
            self._connection.send(request)

    def test_a_number_that_is_said_to_fill_a_great_shape_is_refused_before_it_does(self):
        name = self.create()
        self.join(name)
        self._connection.send(dm_env_rpc_pb2.StepRequest(requested_observations=[1]))
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for shape in ([1 << 28], [1 << 14, 1 << 14], [-1, -1], [3, 1 << 26], [-1], []):
            action = dm_env_rpc_pb2.Tensor(floats={"array": [1.0]}, shape=shape)
            with self.assertRaisesRegex(error.DmEnvRpcError, "actions.action: has shape"):
                self._connection.send(dm_env_rpc_pb2.StepRequest(requested_observations=[1], actions={1: action}))
            setting = dm_env_rpc_pb2.Tensor(int64s={"array": [1]}, shape=shape or [1 << 28])
            with self.assertRaisesRegex(error.DmEnvRpcError, "settings.seed: must be one value"):
                self._connection.send(dm_env_rpc_pb2.CreateWorldRequest(
                    settings={"task": tensor_utils.pack_tensor("Hopper-v5"), "seed": setting}))
        self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 24)  # NumPy's arrays are traced, too
        self._connection.send(dm_env_rpc_pb2.StepRequest(requested_observations=[1]))

    def test_agents_that_say_nothing_make_room_for_those_that_do(self):
        server, port, service = axion.dm_env_rpc.serve(self.client, "127.0.0.1:0", connections=3)
        self.addCleanup(service.close)
        self.addCleanup(lambda: server.stop(None).wait())
        said = threading.Event()
        self.addCleanup(said.set)

        def open_stream(requests):
            channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])
            self.addCleanup(channel.close)
            return dm_env_rpc_pb2_grpc.EnvironmentStub(channel).Process(requests)

        def nothing():
            said.wait()
            yield from ()

        def one():
            yield dm_env_rpc_pb2.EnvironmentRequest(leave_world=dm_env_rpc_pb2.LeaveWorldRequest())
            said.wait()

        silent = [open_stream(nothing()) for _ in range(40)]
        sent_away = threading.Semaphore(0)
        for stream in silent:
            if not stream.add_callback(sent_away.release):  # it has ended already
                sent_away.release()
        for _ in range(37):  # all have come then: one that came later could send away an agent that has not spoken yet
            self.assertTrue(sent_away.acquire(timeout=PATIENCE_SECONDS))
        speaking = [open_stream(one()) for _ in range(3)]
        for stream in speaking:
            self.assertTrue(next(stream).HasField("leave_world"))
        # Each place is of an agent that has spoken: a new agent is refused, and none of the others is sent away.
        with self.assertRaises(grpc.RpcError) as caught:
            next(open_stream(one()))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertTrue(all(stream.is_active() for stream in speaking))
        for stream in silent:
            with self.assertRaises(grpc.RpcError):
                next(stream)

    def test_with_tokens_an_agent_sends_one(self):
        hashed = hashlib.sha256(b"secret").hexdigest()
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"# tenant hash\nteam sha256:{hashed} max_worlds=3\n")
            file.flush()
            tokens = hashes_of_tokens(file.name)
            file.write("team secret\n")
            file.flush()
            with self.assertRaisesRegex(ValueError, "token_file: line 3"):
                hashes_of_tokens(file.name)
        server, port, service = axion.dm_env_rpc.serve(self.client, "127.0.0.1:0", tokens=tokens)
        self.addCleanup(service.close)
        self.addCleanup(lambda: server.stop(None).wait())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            process = dm_env_rpc_pb2_grpc.EnvironmentStub(channel).Process
            request = dm_env_rpc_pb2.EnvironmentRequest(leave_world=dm_env_rpc_pb2.LeaveWorldRequest())
            for sent in ((), (("authorization", "Bearer public"),), (("authorization", "secret"),)):
                with self.assertRaises(grpc.RpcError) as caught:
                    list(process(iter([request]), metadata=sent))
                self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
            self.assertEqual(len(list(process(iter([request]), metadata=(("authorization", "Bearer secret"),)))), 1)

    def test_it_is_not_open_to_other_machines_by_mistake(self):
        for listen in ("0.0.0.0:0", "[::]:0", "sim.example:0"):
            with self.assertRaisesRegex(ValueError, "tls_cert, tls_key and token_file, or insecure"):
                axion.dm_env_rpc.serve(self.client, listen, tokens=frozenset({"0" * 64}))
        server, _, service = axion.dm_env_rpc.serve(self.client, "0.0.0.0:0", insecure=True)
        server.stop(None).wait()
        service.close()

    def test_a_world_is_of_one_agent_at_a_time_and_free_when_it_goes(self):
        name = self.create()
        other = connection.create_secure_channel_and_connect(self.address)
        other.send(dm_env_rpc_pb2.JoinWorldRequest(world_name=name))
        with self.assertRaisesRegex(error.DmEnvRpcError, "another connection"):
            self.join(name)
        with self.assertRaisesRegex(error.DmEnvRpcError, "is joined"):
            self._connection.send(dm_env_rpc_pb2.DestroyWorldRequest(world_name=name))
        other.send(dm_env_rpc_pb2.LeaveWorldRequest())
        other.close()
        self.join(name)

    def test_the_program_serves_until_it_is_told_to_end(self):
        program = subprocess.Popen([sys.executable, "-m", "axion.dm_env_rpc", "--listen=127.0.0.1:0", f"--target={self.target}"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)
        address = program.stdout.readline().removeprefix("listening on ").strip()
        agent = connection.create_secure_channel_and_connect(address)
        dm_env_adaptor.create_world(agent, SETTINGS)
        agent.close()
        program.send_signal(signal.SIGTERM)
        self.assertEqual(program.wait(PATIENCE_SECONDS), 0)


def compliance_cases():
    """The suite's cases over this endpoint."""

    class World(Endpoint):
        @property
        def connection(self):
            return self._connection

        def setUp(self):
            super().setUp()
            self._name = self.create()

        @property
        def world_name(self):
            return self._name

    class CreateDestroyWorld(Endpoint, create_destroy_world.CreateDestroyWorld):
        connection = property(lambda self: self._connection)
        required_world_settings = property(lambda self: {"task": tensor_utils.pack_tensor("Hopper-v5")})
        invalid_world_settings = property(lambda self: {"nonsense": tensor_utils.pack_tensor(1)})
        has_multiple_world_support = property(lambda self: True)

    class JoinLeaveWorld(World, join_leave_world.JoinLeaveWorld):
        invalid_join_settings = property(lambda self: {"nonsense": tensor_utils.pack_tensor(1)})

    class ResetWorld(World, reset_world.ResetWorld):
        pass

    class Reset(World, reset.Reset):
        def join_world(self):
            return self.join(self._name)

    class Step(World, step.Step):
        def setUp(self):
            super().setUp()
            self._specs = self.join(self._name)

        specs = property(lambda self: self._specs)

    return CreateDestroyWorld, JoinLeaveWorld, ResetWorld, Reset, Step


if compliance is not None:
    CreateDestroyWorld, JoinLeaveWorld, ResetWorld, Reset, Step = compliance_cases()

if __name__ == "__main__":
    unittest.main()
