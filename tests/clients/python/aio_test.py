"""The client for asyncio against axiond: the same answers as the blocking client's, many calls at once."""

import asyncio
import inspect
import unittest

import numpy as np

import axion
import axion.aio
from axiond_case import ROOT, AxiondCase
from axiond_process import PATIENCE_SECONDS

QUADRUPED = ROOT / "clients" / "examples" / "models" / "quadruped.xml"


class Surface(unittest.TestCase):
    def test_it_offers_every_call_of_the_blocking_client_but_what_only_threads_need(self):
        def public(kind):
            return {name for name, value in inspect.getmembers(kind) if not name.startswith("_") and callable(value)}

        self.assertEqual(public(axion.Client) - public(axion.aio.Client), {"wait_until_ready"})
        self.assertEqual(public(axion.Batch) - public(axion.aio.Batch), {"stream", "kept_alive"})
        self.assertEqual(axion.aio.Batch.step.__doc__, axion.Batch.step.__doc__)


class Calls(AxiondCase):
    def run_with_client(self, scenario):
        async def run():
            async with axion.aio.Client(self.target) as client:
                return await scenario(client)

        return asyncio.run(asyncio.wait_for(run(), PATIENCE_SECONDS))

    def test_steps_have_the_bits_of_the_blocking_client(self):
        async def scenario(client):
            model = await client.create_model(path=QUADRUPED)
            async with await client.create_batch(model, 3) as batch:
                self.assertEqual(len(batch), 3)
                self.assertIn(f"{batch.name}: 3 worlds", repr(batch))
                await batch.reset(keyframe="stand")
                result = await batch.step(control=model.hold_control("stand"), steps=50, outputs=["body_pose"])
                contacts = await batch.contacts([1])
                return result, contacts.contact_count, (await batch.solver_stats()).world_steps, batch.name

        result, contact_count, world_steps, name = self.run_with_client(scenario)
        model = self.client.create_model(path=QUADRUPED)
        with self.client.create_batch(model, 3) as batch:
            batch.reset(keyframe="stand")
            same = batch.step(control=model.hold_control("stand"), steps=50, outputs=["body_pose"])
            np.testing.assert_array_equal(result["body_pose"], same["body_pose"])
            np.testing.assert_array_equal(result.outcome, same.outcome)
            self.assertEqual(contact_count.tolist(), batch.contacts([1]).contact_count.tolist())
        self.assertEqual(world_steps, 150)
        with self.assertRaises(axion.NotFoundError):  # it was deleted at the end of the context
            self.client.get_batch(name)

    def test_calls_of_many_batches_are_under_way_at_once(self):
        async def scenario(client):
            model = await client.create_model(path=QUADRUPED)
            batches = await asyncio.gather(*(client.create_batch(model, 1) for _ in range(8)))
            results = await asyncio.gather(*(batch.step(steps=i + 1) for i, batch in enumerate(batches)))
            names = {batch.name for batch in await client.list_batches(page_size=3)}
            self.assertLessEqual({batch.name for batch in batches}, names)
            await asyncio.gather(*(batch.delete() for batch in batches))
            return [int(result.step_index[0]) for result in results]

        self.assertEqual(self.run_with_client(scenario), list(range(1, 9)))

    def test_names_in_queries_are_asked_of_the_model(self):
        async def scenario(client):
            async with await client.create_batch(await client.create_model(path=QUADRUPED), 1) as batch:
                with self.assertRaisesRegex(KeyError, "body: 'tail' is none of"):
                    await batch.cast_rays([[0, 0, 3.0]], [[0, 0, -1.0]], body="tail")
                motion = await batch.dynamics([("trunk", [0, 0, 0])])
                return [(await batch.dynamics([(0, [0, 0, 0])])).jacobian, motion.jacobian]

        by_index, by_name = self.run_with_client(scenario)
        np.testing.assert_array_equal(by_index, by_name)

    def test_refusals_name_their_field(self):
        async def scenario(client):
            model = await client.create_model(path=QUADRUPED)
            async with await client.create_batch(model, 1) as batch:
                with self.assertRaises(axion.InvalidArgumentError) as caught:
                    await batch.step(steps=-1)
                self.assertEqual(caught.exception.field_violations[0].field, "step_count")
                with self.assertRaisesRegex(axion.InvalidArgumentError, "rate"):
                    async for _ in batch.watch(rate=-1):
                        pass

        self.run_with_client(scenario)

    def test_frames_come_while_somebody_steps(self):
        async def scenario(client):
            model = await client.create_model(path=QUADRUPED)
            async with await client.create_batch(model, 1) as batch:
                async def train():
                    while True:
                        await batch.step()

                trainer = asyncio.create_task(train())
                seen = []
                async for frame in batch.watch(rate=200):
                    seen.append(int(frame.state.step_index[0]))
                    if len(seen) == 5:
                        break
                trainer.cancel()
                await asyncio.gather(trainer, return_exceptions=True)
                return seen

        seen = self.run_with_client(scenario)
        self.assertEqual(seen, sorted(set(seen)))


if __name__ == "__main__":
    unittest.main()
