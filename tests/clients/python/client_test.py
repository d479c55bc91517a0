"""The Python client against a server in this process: what is sent, what comes back, what is raised."""

import pathlib
import threading
import time
import unittest
from unittest import mock

import grpc
import numpy as np
from google.protobuf import duration_pb2
from google.rpc import error_details_pb2

import axion
from axion.retry import Patience
from axion import retry, tensors
from axion.v1 import simulation_pb2, solver_pb2, tensor_pb2
from fake_server import FakeServer, abort


class Tensors(unittest.TestCase):
    def test_reals_keep_their_type_and_come_back_equal(self):
        for dtype in (np.float32, np.float64):
            array = np.arange(24, dtype=dtype).reshape(2, 3, 4)
            tensor = axion.to_tensor(array)
            self.assertEqual(list(tensor.shape), [2, 3, 4])
            back = axion.to_array(tensor)
            self.assertEqual(back.dtype, dtype)
            np.testing.assert_array_equal(back, array)

    def test_layout_and_byte_order_do_not_change_the_values(self):
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        for same in (np.asfortranarray(array), array.astype(">f4"), array[::-1][::-1]):
            self.assertEqual(axion.to_tensor(same).data, array.astype("<f4").tobytes())

    def test_integers_become_float64(self):
        self.assertEqual(axion.to_tensor([1, 2]).dtype, tensor_pb2.DTYPE_FLOAT64)

    def test_scalars_have_no_shape(self):
        tensor = axion.to_tensor(1.5)
        self.assertEqual((list(tensor.shape), len(tensor.data)), ([], 8))
        self.assertEqual(axion.to_array(tensor)[()], 1.5)

    def test_text_is_refused_with_the_name_of_the_field(self):
        with self.assertRaisesRegex(TypeError, "control"):
            axion.to_tensor(["a"], "control")

    def test_array_of_a_message_is_a_view_of_its_bytes(self):
        tensor = axion.to_tensor(np.zeros(3))
        self.assertFalse(axion.to_array(tensor).flags.owndata)

    def test_bytes_that_do_not_fit_the_shape_are_refused(self):
        tensor = tensor_pb2.Tensor(dtype=tensor_pb2.DTYPE_FLOAT32, shape=[3], data=bytes(8))
        with self.assertRaisesRegex(ValueError, "12 bytes, has 8"):
            axion.to_array(tensor)
        with self.assertRaisesRegex(ValueError, "element type"):
            axion.to_array(tensor_pb2.Tensor(shape=[2], data=bytes(8)))

    def test_worlds_are_indices_or_a_mask_but_never_silently_all(self):
        self.assertEqual(tensors.world_indices(None, 4), [])
        self.assertEqual(tensors.world_indices(3, 4), [3])
        self.assertEqual(tensors.world_indices(np.array([False, True, True]), 3), [1, 2])
        with self.assertRaisesRegex(ValueError, "no world"):
            tensors.world_indices(np.array([False, False]), 2)
        with self.assertRaises(TypeError):
            tensors.world_indices([0.5], 4)

    def test_a_mask_of_another_length_than_the_worlds_is_refused(self):
        for mask in (np.ones(3, bool), np.ones(5, bool), np.ones((2, 2), bool), [True, False], True):
            with self.assertRaisesRegex(ValueError, "worlds: a mask of shape .* for 4 worlds"):
                tensors.world_indices(mask, 4)

    def test_snapshots_are_bytes(self):
        self.assertEqual(tensors.snapshot_list(b"ab"), [b"ab"])
        self.assertEqual(tensors.snapshot_list([b"ab", bytearray(b"c")]), [b"ab", b"c"])
        self.assertEqual(tensors.snapshot_list(np.array([b"ab", b"cd"])), [b"ab", b"cd"])
        for wrong in ("ab", [1, 2], np.zeros(3, np.uint8)):
            with self.assertRaisesRegex(TypeError, "snapshot: wants bytes"):
                tensors.snapshot_list(wrong)
        with self.assertRaisesRegex(ValueError, "empty"):
            tensors.snapshot_list([])


class Calls(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(FakeServer())
        self.simulation = self.server.simulation
        self.client = self.enterContext(axion.Client(self.server.target))

    def batch(self, **arguments):
        return self.client.create_batch("models/m", 4, **arguments)

    def test_batch_is_asked_for_with_every_choice(self):
        self.batch(dt=0.01, preset="axion_seed", precision="float64", options={"tolerance": 1e-4, "line_search": False},
                   friction_scale=np.ones(4, np.float32), seed=7, joint_position_noise=0.1, idle_ttl=60)
        request = self.simulation.requests[-1]
        self.assertEqual((request.model, request.world_count, request.dt, request.seed), ("models/m", 4, 0.01, 7))
        self.assertEqual((request.options.preset, request.options.precision), (2, 2))
        self.assertEqual(request.options.tolerance, 1e-4)
        self.assertTrue(request.options.HasField("line_search") and not request.options.line_search)
        self.assertEqual(list(request.overrides.friction_scale.shape), [4])
        self.assertEqual((request.initial_noise.joint_position, request.idle_ttl.seconds), (0.1, 60))

    def test_every_option_has_a_word_or_a_number(self):
        for field in solver_pb2.SolverOptions.DESCRIPTOR.fields:
            if field.enum_type is None:
                choices = {True if field.type == field.TYPE_BOOL else 3: None}
            else:
                prefix = field.enum_type.values[0].name.removesuffix("UNSPECIFIED")
                choices = {value.name.removeprefix(prefix).lower(): value.number for value in field.enum_type.values[1:]}
            for choice, number in choices.items():
                options = axion.solver_options(**{field.name: choice})
                self.assertEqual([given.name for given, _ in options.ListFields()], [field.name])
                if field.enum_type is not None:
                    self.assertEqual(getattr(options, field.name), number, choice)

    def test_every_option_and_choice_is_told_of_in_the_readme(self):
        readme = (pathlib.Path(__file__).resolve().parents[3] / "clients" / "README.md").read_text()
        rows = {row.split("|")[1].strip(): row for row in readme.splitlines() if row.startswith("| `")}
        for field in solver_pb2.SolverOptions.DESCRIPTOR.fields:
            words = []
            if field.enum_type is not None:
                prefix = field.enum_type.values[0].name.removesuffix("UNSPECIFIED")
                words = [value.name.removeprefix(prefix).lower() for value in field.enum_type.values[1:]]
            if field.name == "preset":
                self.assertLessEqual({f"`{word}`" for word in words}, set(rows))
                continue
            for word in words + [field.name]:
                self.assertIn(word, rows[f"`{field.name}`"])

    def test_choices_not_made_are_not_sent(self):
        self.batch()
        request = self.simulation.requests[-1]
        self.assertFalse(request.HasField("dt") or request.HasField("overrides") or request.HasField("idle_ttl"))
        self.assertEqual(request.options.ByteSize(), 0)

    def test_unknown_choices_are_refused_before_they_are_sent(self):
        with self.assertRaisesRegex(ValueError, "'seed' is none of default, axion_seed, velocity"):
            self.batch(preset="seed")
        with self.assertRaisesRegex(TypeError, "'tolerence'"):
            self.batch(options={"tolerence": 1})
        self.assertEqual(self.simulation.requests, [])

    def test_calls_about_worlds_refuse_a_mask_of_another_length(self):
        batch = self.batch()
        sent = len(self.simulation.requests)
        short = np.ones(3, bool)
        for call in (batch.step, batch.reset, batch.get_state, batch.set_state, batch.contacts, batch.world_stats):
            with self.assertRaisesRegex(ValueError, "for 4 worlds"):
                call(worlds=short)
        self.assertEqual(len(self.simulation.requests), sent)

    def test_unknown_names_say_which_there_are(self):
        model = axion.Model(simulation_pb2.Model(keyframes=[{"name": "stand"}, {"name": "sit"}]))
        with self.assertRaisesRegex(KeyError, "'up' is none of stand, sit"):
            model.hold_control("up")
        with self.assertRaisesRegex(TypeError, "'bounce' is none of restitution, contact_stiffness, contact_damping"):
            self.client.create_model(mjcf="", shape_overrides={"ball": {"bounce": 1}})

    def test_step_carries_control_and_returns_outputs_and_outcome(self):
        control = np.random.default_rng(1).normal(size=(2, 3, 2)).astype(np.float32)
        result = self.batch().step(control=control, steps=3, worlds=[1, 3], outputs="control", expected_step=0)
        request = self.simulation.requests[-1]
        self.assertEqual((list(request.world_indices), request.step_count, list(request.outputs)), ([1, 3], 3,
                                                                                                     ["control"]))
        self.assertTrue(request.HasField("expected_step"))
        np.testing.assert_array_equal(result["control"], control)
        np.testing.assert_array_equal(result.time, [0.5, 0.5])
        self.assertEqual(axion.Outcome(int(result.outcome[0])), axion.Outcome.CONVERGED)
        self.assertTrue(result.converged.all())
        with self.assertRaisesRegex(KeyError, "body_pose"):
            result["body_pose"]

    def test_one_row_of_controls_stands_for_all_worlds(self):
        result = self.batch().step(control=[1.0, 2.0])
        np.testing.assert_array_equal(result["control"], [[1.0, 2.0]] * 4)

    def test_absent_control_is_not_sent(self):
        self.batch().step()
        self.assertFalse(self.simulation.requests[-1].HasField("control"))

    def test_refusal_names_the_fields(self):
        violation = error_details_pb2.BadRequest.FieldViolation(field="control", description="shape [4, 3], wants [4, 2]")
        self.simulation.refusal = lambda context: abort(
            context, grpc.StatusCode.INVALID_ARGUMENT, "control is wrong",
            error_details_pb2.ErrorInfo(reason="SHAPE", domain="axion", metadata={"given": "3"}),
            error_details_pb2.BadRequest(field_violations=[violation]))
        with self.assertRaises(axion.InvalidArgumentError) as caught:
            self.batch().step(control=np.zeros((4, 3)))
        error = caught.exception
        self.assertEqual(error.field_violations, (axion.FieldViolation("control", "shape [4, 3], wants [4, 2]"),))
        self.assertEqual((error.reason, error.metadata), ("SHAPE", {"given": "3"}))
        self.assertIn("shape [4, 3], wants [4, 2]", str(error))

    def test_exhausted_limit_says_when_to_try_again(self):
        self.simulation.refusal = lambda context: abort(
            context, grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full",
            error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(nanos=250_000_000)),
            error_details_pb2.QuotaFailure(violations=[error_details_pb2.QuotaFailure.Violation(
                subject="max_queue", description="1024 requests wait")]))
        with self.assertRaises(axion.ResourceExhaustedError) as caught:
            self.batch().step()
        self.assertAlmostEqual(caught.exception.retry_delay, 0.25)
        self.assertEqual(caught.exception.quota_violations, ("max_queue: 1024 requests wait",))

    def test_details_that_cannot_be_read_do_not_hide_the_error(self):
        def refuse(context):
            context.set_trailing_metadata((("grpc-status-details-bin", b"\xff\xff"),))
            context.abort(grpc.StatusCode.NOT_FOUND, "no batches/b")

        self.simulation.refusal = refuse
        with self.assertRaisesRegex(axion.NotFoundError, "no batches/b"):
            self.batch().step()

    def test_an_address_without_a_port_has_axionds_own(self):
        for given, target in (("farm", "farm:8470"), ("192.0.2.1", "192.0.2.1:8470"), ("::1", "[::1]:8470"),
                              ("[fe80::1]", "[fe80::1]:8470")):
            self.assertEqual(axion.Client(given).target, target)
        for target in ("farm:1", "[::1]:1", "dns:farm", "dns:///farm", "unix:/tmp/a", "ipv4:192.0.2.1"):
            self.assertEqual(axion.Client(target).target, target)

    def test_absent_server_is_unavailable(self):
        with FakeServer() as server:
            target = server.target
        with axion.Client(target) as client:
            with self.assertRaises(axion.UnavailableError):
                client.server_info(timeout=60)

    def test_a_step_is_made_again_under_its_id_where_a_server_that_shuts_down_cancels_it(self):
        batch, codes = self.batch(), [grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE]

        def refuse(context):
            if codes:
                context.abort(codes.pop(0), "CANCELLED")

        self.simulation.refusal = refuse
        before = len(self.simulation.requests)
        batch.step()
        self.assertEqual(codes, [])
        ids = {request.request_id for request in self.simulation.requests[before:]}
        self.assertEqual(len(ids), 1)

    def test_a_reset_and_a_state_are_made_again_under_their_id(self):
        batch = self.batch()
        for call in (batch.reset, lambda: batch.set_state(time=[0.0] * batch.world_count), batch.begin_episodes):
            codes = [grpc.StatusCode.UNAVAILABLE]

            def refuse(context):
                if codes:
                    context.abort(codes.pop(0), "away")

            self.simulation.refusal = refuse
            before = len(self.simulation.requests)
            call()
            call()
            ids = [request.request_id for request in self.simulation.requests[before:]]
            self.assertEqual(len(ids), 3)
            self.assertEqual(len(set(ids)), 2)
            self.assertEqual(ids[0], ids[1])
            self.assertNotIn("", ids)

    def test_a_first_call_that_the_fork_of_its_process_has_ended_is_made_again(self):
        class Ended(grpc.RpcError):
            def code(self):
                return grpc.StatusCode.UNAVAILABLE

            def details(self):
                return "Stream removed (sendmsg: Wrong file descriptor generation)"

        self.assertIsNotNone(Patience(60.0).attempts(None).wait_before_another(Ended()))
        self.assertIsNone(Patience(60.0).attempts(0.0).wait_before_another(Ended()))
        self.assertIsNone(Patience(0.0).attempts(None).wait_before_another(Ended()))

    def test_a_wait_for_a_server_says_once_what_it_waits_for_and_when_it_is_over(self):
        class Away(grpc.RpcError):
            def code(self):
                return grpc.StatusCode.UNAVAILABLE

            def details(self):
                return "Connection refused"

        patience = Patience(60.0, "host:1")
        patience.heard()
        with mock.patch.object(retry.time, "sleep"), mock.patch.object(retry.time, "monotonic") as clock:
            clock.return_value = 1000.0
            attempts = patience.attempts(None)
            with self.assertNoLogs("axion"):
                clock.return_value = 1010.0  # the call was long; no caller has waited for a server yet
                attempts.another(Away())
                clock.return_value = 1011.0
                attempts.another(Away())
            with self.assertLogs("axion", "WARNING") as told:
                for _ in range(5):
                    clock.return_value += 2.0
                    attempts.another(Away())
            self.assertEqual(len(told.output), 1)
            self.assertRegex(told.output[0], "waiting for host:1, for 4[0-9] s more at most: Connection refused")
            with self.assertLogs("axion", "WARNING") as told:
                patience.heard()
                patience.heard()
            self.assertEqual(told.output, ["WARNING:axion:host:1 answers again"])

    def test_a_server_that_was_waited_for_in_vain_is_not_waited_for_again_until_it_answers(self):
        class Away(grpc.RpcError):
            def code(self):
                return grpc.StatusCode.UNAVAILABLE

        patience = Patience(60.0)
        patience.heard()
        first = patience.attempts(None)
        self.assertIsNotNone(first.wait_before_another(Away()))
        with mock.patch.object(retry.time, "sleep"), mock.patch.object(retry.time, "monotonic", return_value=time.monotonic() + 61):
            self.assertFalse(first.another(Away()))
        self.assertIsNone(patience.attempts(None).wait_before_another(Away()))
        patience.heard()
        self.assertIsNotNone(patience.attempts(None).wait_before_another(Away()))
        self.assertFalse(patience.attempts(0.0).another(Away()))  # a call's own timeout says nothing of the server
        self.assertIsNotNone(patience.attempts(None).wait_before_another(Away()))

    def test_what_a_closed_client_cancelled_is_not_made_again(self):
        batch, arrived, released = self.batch(), threading.Event(), threading.Event()
        self.addCleanup(released.set)

        def wait(context):
            arrived.set()
            released.wait(30)

        self.simulation.refusal = wait
        before = len(self.simulation.requests)
        errors = []

        def step():
            try:
                batch.step()
            except axion.AxionError as error:
                errors.append(error.code)

        thread = threading.Thread(target=step)
        thread.start()
        self.assertTrue(arrived.wait(30))
        self.client.close()
        thread.join(30)
        self.assertEqual(errors, [grpc.StatusCode.CANCELLED])
        self.assertEqual(len(self.simulation.requests) - before, 1)

    def test_pages_are_joined(self):
        self.simulation.names = [f"batches/{index}" for index in range(5)]
        self.assertEqual([batch.name for batch in self.client.list_batches()], self.simulation.names)

    def test_stream_answers_in_order_with_requests_ahead(self):
        with self.batch().stream() as stream:
            answers = list(stream.map(({"control": [float(i), 0.0], "request_id": str(i)} for i in range(20)),
                                      in_flight=5))
        self.assertEqual([answer.request_id for answer in answers], [str(i) for i in range(20)])
        self.assertEqual(answers[7]["control"][0, 0], 7.0)

    def test_refused_request_ends_the_stream_after_the_answers_before_it(self):
        with self.batch().stream() as stream:
            for request_id in ("first", "refuse", "after"):
                stream.send(request_id=request_id)
            self.assertEqual(stream.receive().request_id, "first")
            with self.assertRaisesRegex(axion.AbortedError, "expected_step 7"):
                stream.receive()

    def test_batch_deletes_itself_even_when_its_block_raises(self):
        with self.assertRaises(ZeroDivisionError):
            with self.batch():
                raise ZeroDivisionError
        self.assertEqual(self.simulation.requests[-1].name, "batches/b")

    def test_lease_is_renewed_in_the_background(self):
        renewed = threading.Event()
        batch = self.batch()
        calls = []

        def counted(*args, **kwargs):
            calls.append(args)
            if len(calls) == 2:
                renewed.set()

        batch.keep_alive = counted
        with batch.kept_alive():
            self.assertTrue(renewed.wait(timeout=20))

    def test_histogram_has_mean_and_quantile(self):
        stats = self.batch().solver_stats()
        self.assertEqual(stats.newton_iterations.mean, 3.75)
        self.assertEqual(stats.newton_iterations.quantile(0.5), 2)
        self.assertEqual(stats.newton_iterations.quantile(1.0), float("inf"))
        self.assertEqual(stats.converged_fraction, 0.75)

    def test_contacts_know_their_world(self):
        contacts = self.batch().contacts(worlds=[4, 9])
        self.assertEqual(contacts.world.tolist(), [4, 9, 9])
        self.assertEqual(contacts.normal.shape, (3, 3))


if __name__ == "__main__":
    unittest.main()
