"""Episodes as a LeRobotDataset, read by PyArrow as the format says; with axiond where it is there; see axiond_case.py. Wants the extra
`lerobot`."""

import importlib.util
import json
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np

from axion import lerobot
from axiond_case import AxiondCase

HAS_ARROW = importlib.util.find_spec("pyarrow") is not None
if HAS_ARROW:
    import pyarrow.parquet as parquet


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "set"

    def read(self):
        """(info, stats, tasks, rows of episodes, columns of all frames), with the invariants of the format."""
        meta = self.folder / "meta"
        info, stats = (json.loads((meta / name).read_text()) for name in ("info.json", "stats.json"))
        tasks = parquet.read_table(meta / "tasks.parquet")
        files = sorted((meta / "episodes").glob("chunk-*/file-*.parquet"))
        episodes = [row for path in files for row in parquet.read_table(path).to_pylist()]
        frames = {name: [] for name in info["features"]}
        at = 0
        for number, row in enumerate(episodes):
            self.assertEqual((row["episode_index"], row["dataset_from_index"], row["dataset_to_index"]), (number, at, at + row["length"]))
            at += row["length"]
            where = {"chunk_index": row["data/chunk_index"], "file_index": row["data/file_index"]}
            found = parquet.read_table(self.folder / info["data_path"].format(**where), filters=[("episode_index", "==", number)])
            self.assertEqual(set(found.column_names), set(info["features"]))
            self.assertEqual(found["index"].to_pylist(), list(range(row["dataset_from_index"], row["dataset_to_index"])))
            self.assertEqual(found["frame_index"].to_pylist(), list(range(row["length"])))
            np.testing.assert_allclose(found["timestamp"].to_pylist(), np.arange(row["length"]) / info["fps"], rtol=1e-6)
            for name in frames:
                frames[name] += found[name].to_pylist()
                kind = {"float32": "float", "bool": "bool", "int64": "int64"}[info["features"][name]["dtype"]]
                for size in info["features"][name]["shape"][::-1] if info["features"][name]["shape"] != [1] else []:
                    kind = f"fixed_size_list<element: {kind}>[{size}]"
                self.assertEqual(str(found.schema.field(name).type).replace("item: ", "element: "), kind)
        self.assertEqual((info["codebase_version"], info["total_episodes"], info["total_frames"], info["total_tasks"], info["splits"]),
                         ("v3.0", len(episodes), at, len(tasks), {"train": f"0:{len(episodes)}"}))
        return info, stats, dict(zip(tasks["task"].to_pylist(), tasks["task_index"].to_pylist())), episodes, frames


@unittest.skipUnless(HAS_ARROW, "the extra `lerobot` is not installed")
class Datasets(Folder):
    def episode(self, seed, count):
        rng = np.random.default_rng(seed)
        return {"observation.state": rng.normal(size=(count, 3)), "action": rng.normal(size=(count, 2)).astype(np.float32),
                "next.reward": rng.normal(size=count), "next.done": np.arange(count) == count - 1, "observation.grid": rng.integers(
                    0, 9, (count, 4, 5)), "mode": np.full((count, 1), seed)}

    def test_frames_statistics_and_tasks_are_what_was_written(self):
        given = [self.episode(seed, count) for seed, count in ((0, 5), (1, 1), (2, 8))]
        with lerobot.LeRobotWriter(self.folder, 50, names={"action": ["hip", "knee"]}, robot_type="leg") as writer:
            for episode, task in zip(given, ("walk", "jump", "walk")):
                writer.add_episode(episode, task)
            self.assertEqual((writer.episodes, writer.frames), (3, 14))
        info, stats, tasks, episodes, frames = self.read()
        self.assertEqual((info["fps"], info["robot_type"]), (50, "leg"))
        self.assertEqual(info["features"]["action"], {"dtype": "float32", "shape": [2], "names": ["hip", "knee"]})
        self.assertEqual(info["features"]["observation.grid"], {"dtype": "int64", "shape": [4, 5], "names": None})
        self.assertEqual(info["features"]["mode"]["shape"], [1])
        self.assertEqual(tasks, {"walk": 0, "jump": 1})
        self.assertEqual([row["tasks"] for row in episodes], [["walk"], ["jump"], ["walk"]])
        self.assertEqual(frames["task_index"], [0] * 5 + [1] + [0] * 8)
        for name in given[0]:
            whole = np.concatenate([episode[name] for episode in given])
            np.testing.assert_allclose(np.array(frames[name]).reshape(whole.shape), whole, rtol=1e-6, err_msg=name)
            found = {kind: np.array(value).reshape(whole.shape[1:]) for kind, value in stats[name].items() if kind != "count"}
            for kind, expected in (("mean", whole.mean(axis=0)), ("std", whole.std(axis=0)), ("min", whole.min(axis=0)),
                                   ("max", whole.max(axis=0))):
                np.testing.assert_allclose(found[kind], expected, atol=1e-6, err_msg=(name, kind))
            self.assertEqual(stats[name]["count"], [14])
        np.testing.assert_allclose(episodes[2]["stats/action/q50"], np.median(given[2]["action"], axis=0), rtol=1e-6)
        of_parts = [np.quantile(episode["action"], 0.9, axis=0) for episode in given]
        np.testing.assert_allclose(stats["action"]["q90"], np.max(of_parts, axis=0), rtol=1e-6)

    def test_large_datasets_have_several_files_and_chunks(self):
        with mock.patch.object(lerobot, "_FILE_BYTES", 1 << 20), mock.patch.object(lerobot, "_FILES_IN_A_CHUNK", 2), \
                mock.patch.object(lerobot, "_EPISODES_AT_ONCE", 2), lerobot.LeRobotWriter(self.folder, 10) as writer:
            for seed in range(7):
                writer.add_episode({"action": np.random.default_rng(seed).normal(size=(100_000, 4))}, "sit")
        files = sorted(str(path.relative_to(self.folder)) for path in self.folder.glob("data/*/*"))
        self.assertGreater(len(files), 2)
        self.assertEqual(files[:3], [f"data/{name}.parquet" for name in ("chunk-000/file-000", "chunk-000/file-001", "chunk-001/file-000")])
        _, _, _, episodes, frames = self.read()
        self.assertEqual((len(episodes), len(frames["action"])), (7, 700_000))

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(ValueError, "fps: is 0"):
            lerobot.LeRobotWriter(self.folder, 0)
        with self.assertRaisesRegex(TypeError, "fps: wants int"):
            lerobot.LeRobotWriter(self.folder, 2.5)
        with lerobot.LeRobotWriter(self.folder, 10, names={"action": ["a", "b"]}) as writer:
            for frames, text in (({"timestamp": [1.0]}, "timestamp: is no name of a feature"), ({"a/b": [1.0]}, "a/b: is no name"),
                                 ({"action": ["x"]}, "action: must be numbers"), ({"action": np.zeros((3, 0))}, "action: must be numbers"),
                                 ({"action": np.zeros((3, 2)), "b": np.zeros(2)}, "b: has 2 frames"),
                                 ({"action": np.zeros((0, 2))}, "action: has 0 frames"),
                                 ({"action": np.zeros((3, 3))}, "names: action has 2"),
                                 ({"b": np.zeros(3)}, "names: there is no feature action")):
                with self.assertRaisesRegex(ValueError, f"^{text}"):
                    writer.add_episode(frames, "sit")
            writer.add_episode({"action": np.zeros((3, 2))}, "sit")
            for frames, text in (({"action": np.zeros((3, 2), int)}, r"action: is int64 \[2\]; in the episodes before it is float32 \[2\]"),
                                 ({"action": np.zeros((3, 2)), "b": np.zeros(3)},
                                  r"b: is float32 \[1\]; in the episodes before it is absent")):
                with self.assertRaisesRegex(ValueError, text):
                    writer.add_episode(frames, "sit")
        self.assertEqual(self.read()[0]["total_episodes"], 1)
        with self.assertRaisesRegex(ValueError, "the dataset is ended"):
            writer.add_episode({"action": np.zeros((3, 2))}, "sit")
        with self.assertRaises(FileExistsError):
            lerobot.LeRobotWriter(self.folder, 10)


@unittest.skipUnless(HAS_ARROW and importlib.util.find_spec("gymnasium"), "the extras `lerobot` and `gym` are not installed")
class Environments(Folder, AxiondCase):
    def test_episodes_are_those_that_the_environments_had(self):
        import axion.gym

        for mode in ("NextStep", "SameStep"):
            with self.subTest(mode=mode):
                self.setUp()
                envs = axion.gym.make_vec("Hopper-v5", 3, client=self.client, autoreset_mode=mode)
                seen, rng = [], np.random.default_rng(4)

                def act(observations, seen=seen, rng=rng):
                    seen.append((observations.copy(), rng.uniform(-1, 1, (3, 3)).astype(np.float32)))
                    return seen[-1][1]
                with lerobot.LeRobotWriter(self.folder, 125) as writer:
                    lerobot.record_episodes(envs, act, writer, "hop", 5, seed=3)
                envs.close()
                info, _, tasks, episodes, frames = self.read()
                self.assertEqual((info["total_episodes"], tasks), (5, {"hop": 0}))
                ends = np.cumsum([row["length"] for row in episodes]) - 1
                self.assertEqual(np.flatnonzero(frames["next.done"]).tolist(), ends.tolist())
                # The first episode to end began in one of the worlds with the first observation, and goes on frame by frame.
                first = [world for world in range(3) if np.array_equal(seen[0][0][world], np.float32(frames["observation.state"][0]))]
                self.assertEqual(len(first), 1)
                for frame in range(episodes[0]["length"]):
                    np.testing.assert_array_equal(np.float32(frames["observation.state"][frame]), seen[frame][0][first[0]])
                    np.testing.assert_array_equal(np.float32(frames["action"][frame]), seen[frame][1][first[0]])

    def test_mistakes_are_named(self):
        import axion.gym

        envs = axion.gym.make_vec("Hopper-v5", 1, client=self.client, autoreset_mode="Disabled")
        with lerobot.LeRobotWriter(self.folder, 125) as writer:
            for episodes, text in ((0, "episodes: is 0"), (1, "envs: its autoreset_mode is DISABLED")):
                with self.assertRaisesRegex(ValueError, text):
                    lerobot.record_episodes(envs, lambda observations: observations, writer, "hop", episodes)
        envs.close()


@unittest.skipIf(HAS_ARROW, "the extra `lerobot` is installed")
class WithoutArrow(Folder):
    def test_the_extra_is_named(self):
        with self.assertRaisesRegex(ImportError, r"axion.lerobot wants the extra `lerobot` \(pip install '.*\[lerobot\]'\)"):
            lerobot.LeRobotWriter(self.folder, 10)
        self.assertFalse(self.folder.exists())


if __name__ == "__main__":
    unittest.main()
