"""Arguments that are nothing of what a call wants: refused by their names, before anything is sent. See axiond_case.py."""

import asyncio
import inspect
import math
import threading
import unittest

import numpy as np

import axion
import axion.aio
from axiond_case import AxiondCase

SCENE = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/><body name="arm" pos="0 0 1">
  <joint name="shoulder" axis="0 1 0"/><geom name="rod" type="capsule" fromto="0 0 0 .4 0 0" size=".05"/></body></worldbody>
  <actuator><motor joint="shoulder"/></actuator></mujoco>"""


class Odd:
    def __repr__(self):
        return "Odd()"


WRONG = [Odd(), [[1], [1, 2]], 1j, b"\xff", {1: 2}, {"a", 3}, np.zeros((7, 3, 2)), np.full(3, np.nan), np.array([Odd()]), "\ud800"]
# What each of them makes no sense for; arrays of some shapes are right for some.
SCALARS = {"steps": 1.5, "record_every": "1", "expected_step": 2 ** 63, "world_count": 2 ** 31, "seed": -1, "page_size": "x",
           "timeout": math.nan,
           "dt": "0.01", "rate": "fast", "request_id": 7, "display_name": 1.5, "keyframe": 3, "mass_matrix": "no", "contacts": 2,
           "keep_visuals": "yes", "file_folders": "folder", "shape_overrides": {"a": 1}, "idle_ttl": math.inf, "stream_ttl": math.nan,
           "seeds": [1.5], "ignored_bodies": 3, "pairs": ["ab"], "frames": [1], "worlds": [2 ** 31],
           "outputs": ["time", 3], "fields": 3, "checkpoint_every": "often"}
ELSEWHERE = {"mjcf", "urdf", "scene", "path", "task", "choices", "client_choices", "arguments"}   # looked at by what reads them
NEEDED = {"create_model": {"mjcf": SCENE}, "cast_rays": {"origin": [[0, 0, 1]], "direction": [[0, 0, -1]]},
          "distances": {"pairs": [(0, 1)]},
          "get_batch": {"name": "batches/0"}, "get_model": {"name": "models/0"}, "restore_snapshot": {"snapshot": "snapshots/0"},
          "delete_snapshot": {"snapshot": "snapshots/0"}}


class Arguments(AxiondCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.client.create_model(mjcf=SCENE)
        cls.batch = cls.client.create_batch(cls.model, 3)
        cls.fleet = cls.enterClassContext(axion.Fleet([cls.target]))
        cls.spread = cls.fleet.create_batch(cls.fleet.create_model(mjcf=SCENE), 3, shares=[1])

    def calls(self, of):
        """Calls of an object and their parameters, with what else they want."""
        for name in sorted(dir(of)):
            others = ("close", "client", "member_after_loss", "begin_episodes", "begin_groups", "step_task", "answer", "frames")
            if name.startswith("_") or name in others or not callable(getattr(of, name)):
                continue
            call = getattr(of, name)
            needed = dict(NEEDED.get(name, {}))
            if name in ("create_batch", "delete_model", "get_scene", "measure"):
                needed["model"] = self.model
            if name == "create_batch":
                needed["world_count"] = 3
            for parameter in inspect.signature(call).parameters.values():
                if parameter.name not in ELSEWHERE and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                    yield call, name, needed, parameter.name

    def refused(self, of, asked):
        """Asks with each wrong argument; what is refused otherwise than by its name, before anything is sent, or not at all."""
        found, count = [], 0
        for call, name, needed, parameter in self.calls(of):
            for wrong in [*([SCALARS[parameter]] if parameter in SCALARS else []), *WRONG]:
                if isinstance(wrong, np.ndarray) and parameter not in SCALARS and wrong.dtype != object:
                    continue   # the server knows the shapes
                if (parameter, type(wrong)) in (("snapshot", bytes), ("ignored_bodies", set)):
                    continue   # which may be one, or names of bodies
                if parameter == "parameters" or (name in ("delete_model",) and parameter == "model"):
                    wrong = Odd()
                count += 1
                try:
                    asked(call, {**needed, parameter: wrong})
                    found.append(f"{name}({parameter}={wrong!r}): taken")
                except (TypeError, ValueError) as error:
                    if not str(error).startswith(f"{parameter}"):
                        found.append(f"{name}({parameter}={wrong!r}): {error!r}")
                except Exception as error:
                    found.append(f"{name}({parameter}={wrong!r}): {error!r}")
        self.assertGreater(count, 50)
        return found

    def test_every_argument_is_refused_by_its_name(self):
        state = self.batch.get_state()
        for of in (self.batch, self.client, self.spread, self.fleet):
            self.assertEqual(self.refused(of, lambda call, arguments: call(**arguments)), [], type(of))
        after = self.batch.get_state()
        for field in state:
            np.testing.assert_array_equal(after[field], state[field])

    def test_what_is_awaited_refuses_likewise(self):
        async def ask(call, arguments):
            found = call(**arguments)
            if inspect.isasyncgen(found):
                await anext(found)
            elif inspect.isawaitable(found):
                await found

        async def all_of():
            async with axion.aio.Client(self.target) as client:
                batch = await client.get_batch(self.batch.name)
                loop = asyncio.get_running_loop()
                for of in (client, batch):
                    found = await loop.run_in_executor(None, self.refused, of, lambda *asked: asyncio.run_coroutine_threadsafe(
                        ask(*asked), loop).result())
                    self.assertEqual(found, [], type(of))
        asyncio.run(all_of())

    def test_a_time_beyond_all_clocks_is_waited_for(self):
        for timeout in (1e30, 10 ** 30, math.inf, threading.TIMEOUT_MAX * 2):
            self.assertEqual(len(self.batch.get_state("time", timeout=timeout)["time"]), 3)

    def test_episodes_of_a_batch_without_a_task_are_refused_and_its_worlds_go_on(self):
        for batch in (self.batch, self.spread):
            batch.step(steps=4)
            before = batch.get_state()
            with self.assertRaisesRegex(ValueError, "has no task"):
                batch.begin_episodes()
            after = batch.get_state()
            for field in before:
                np.testing.assert_array_equal(after[field], before[field])

    def test_what_stands_for_a_number_or_a_word_is_taken(self):
        self.batch.step(steps=np.int64(2), outputs=(word for word in ("time",)), timeout=np.float32(60), record_every=np.uint8(1))
        self.client.create_batch(self.model, np.int32(2), np.float64(0.01), idle_ttl=np.int64(5)).delete()
        hits = self.batch.cast_rays([[0, 0, 1]], [[0, 0, -1]], heading_only=np.bool_(False), body=np.int64(0))
        self.assertEqual(hits.distance.shape, (3, 1))

    def test_streams_of_a_closed_client_and_calls_of_a_deleted_batch_of_a_fleet_say_so(self):
        client = axion.Client(self.target)
        batch = client.get_batch(self.batch.name)
        client.close()
        for call in (lambda: next(batch.watch()), lambda: batch.stream().__enter__(), lambda: client._download("sha256:" + 64 * "0")):
            with self.assertRaisesRegex(ValueError, "is closed; make another one"):
                call()
        batch = self.fleet.create_batch(self.fleet.create_model(mjcf=SCENE), 2, shares=[1])
        batch.delete()
        for call in (batch.step, batch.get_state, batch.reset):
            with self.assertRaisesRegex(ValueError, "is deleted"):
                call()

    def test_a_fleet_of_what_is_no_text_is_refused(self):
        for wrong in (b"localhost:1", 1, None, [1]):
            with self.assertRaisesRegex(TypeError, r"targets: wants str or Iterable\[str\]"):
                axion.Fleet(wrong)


if __name__ == "__main__":
    unittest.main()
