"""Episodes as a LeRobotDataset of version 3 (https://github.com/huggingface/lerobot): Parquet files with their metadata. Wants the extra
`lerobot`, which is PyArrow alone; what reads them is LeRobot's own package."""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axion.arguments import checked
from axion.texts import documented

if TYPE_CHECKING:
    import gymnasium

_VERSION = "v3.0"
_FILES_IN_A_CHUNK = 1000
_FILE_BYTES = 100 << 20
_EPISODES_AT_ONCE = 100  # of which the metadata is written together
_PATH = "chunk-{chunk_index:03d}/file-{file_index:03d}"
_OWN = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64", "task_index": "int64"}
_QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
_Statistics = dict[str, npt.NDArray[Any]]


def _statistics(values: npt.NDArray[Any]) -> _Statistics:
    """Of an episode's numbers, [frames, ...], over the frames."""
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[:, None] if numbers.ndim == 1 else numbers
    found = {"min": numbers.min(axis=0), "max": numbers.max(axis=0), "mean": numbers.mean(axis=0), "std": numbers.std(axis=0),
             "count": np.array([len(numbers)])}
    return {**found, **{name: np.quantile(numbers, share, axis=0) for name, share in _QUANTILES.items()}}


def _together(one: _Statistics, other: _Statistics) -> _Statistics:
    """Of two sets of frames as one. Quantiles of all cannot be had from quantiles of parts; the outer ones stand in, as in LeRobot."""
    counts = np.array([one["count"][0], other["count"][0]], dtype=np.float64)
    weights = counts / counts.sum()

    def mean(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(weights[0] * a + weights[1] * b)
    middle = mean(one["mean"], other["mean"])
    square = mean(one["std"]**2 + (one["mean"] - middle)**2, other["std"]**2 + (other["mean"] - middle)**2)
    return {"min": np.minimum(one["min"], other["min"]), "max": np.maximum(one["max"], other["max"]), "mean": middle,
            "std": np.sqrt(square), "count": one["count"] + other["count"],
            **{name: (np.minimum if share <= 0.5 else np.maximum)(one[name], other[name]) for name, share in _QUANTILES.items()}}


class _Files:
    """Parquet files of one kind, one after the other, each of at most some size."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._writer: Any = None  # of the file that is written, once there is something
        self.chunk_index = self.file_index = 0

    def begin(self) -> tuple[int, int]:
        """The chunk and the file that what is written next comes to."""
        if self._writer is not None and self._path().stat().st_size >= _FILE_BYTES:
            self.close()
            self.file_index += 1
            if self.file_index == _FILES_IN_A_CHUNK:
                self.chunk_index, self.file_index = self.chunk_index + 1, 0
        return self.chunk_index, self.file_index

    def write(self, table: Any) -> None:
        import pyarrow.parquet as parquet  # type: ignore[import-not-found, import-untyped, unused-ignore]

        if self._writer is None:
            self._path().parent.mkdir(parents=True, exist_ok=True)
            self._writer = parquet.ParquetWriter(self._path(), table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _path(self) -> pathlib.Path:
        return self._folder / (_PATH.format(chunk_index=self.chunk_index, file_index=self.file_index) + ".parquet")


@documented
class LeRobotWriter:
    """Writes episodes as a LeRobotDataset; as a context manager it ends the dataset, whose metadata is written then.

    Parameters
    ----------
    folder : str or path
        Of the dataset; it is made, and must be empty where it is there.
    fps : int
        Frames a second.
    names : Mapping[str, Sequence[str]], optional
        Of the numbers of a feature, for example {"action": ["hip", "knee"]}.
    robot_type : str, optional
        Which robot it is.

    Attributes
    ----------
    episodes : int
        How many have been written.
    frames : int
        Of all of them.

    Raises
    ------
    ImportError
        The extra `lerobot` is not installed.
    OSError
        The folder cannot be made, or is not empty.
    ValueError
        fps is below 1.
    """

    @checked
    def __init__(self, folder: str | os.PathLike[str], fps: int, *, names: Mapping[str, Sequence[str]] | None = None,
                 robot_type: str | None = None) -> None:
        try:
            import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: F401
        except ModuleNotFoundError as error:
            raise ImportError(f"axion.lerobot wants the extra `lerobot` (pip install 'axion-server-client[lerobot]'): {error}") from error
        if fps < 1:
            raise ValueError(f"fps: is {fps}; it must be a whole number from 1 on")
        self._folder, self._fps = pathlib.Path(folder), int(fps)
        self._names, self._robot = {key: list(value) for key, value in (names or {}).items()}, robot_type
        if self._folder.is_dir() and any(self._folder.iterdir()):
            raise FileExistsError(17, "the folder is not empty", os.fspath(folder))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._features: dict[str, dict[str, Any]] = {}
        self._tasks: dict[str, int] = {}
        self._statistics: dict[str, _Statistics] = {}
        self._data, self._meta = _Files(self._folder / "data"), _Files(self._folder / "meta" / "episodes")
        self._rows: list[dict[str, Any]] = []
        self.episodes = self.frames = 0
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<axion.LeRobotWriter of {self._folder}: {self.episodes} episodes, {self.frames} frames>"

    def __enter__(self) -> LeRobotWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @checked
    def add_episode(self, frames: Mapping[str, npt.ArrayLike], task: str) -> None:
        """Writes an episode.

        Parameters
        ----------
        frames : Mapping[str, array_like]
            Features by name, as "observation.state", "action" and "next.reward": [n] or [n, ...] each, the same n. The
            first episode says which there are, of which type and shape; numbers become float32, whole ones int64.
        task : str
            What the robot is to do, in words.

        Raises
        ------
        ValueError
            A feature has a name or a shape that it cannot have, or the dataset is ended; the message begins with its name.
        """
        if self._is_closed:
            raise ValueError("frames: the dataset is ended; make another one")
        arrays = {name: self._feature(name, values) for name, values in frames.items()}
        lengths = {name: len(values) for name, values in arrays.items()}
        count = next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if length != count or count == 0:
                raise ValueError(f"{name}: has {length} frames; all features of an episode have one number, at least 1: {lengths}")
        features = {name: {"dtype": str(values.dtype), "shape": list(values.shape[1:]) or [1], "names": self._names.get(name)}
                    for name, values in arrays.items()}
        self._check(features)
        index = self._tasks.setdefault(task, len(self._tasks))
        arrays.update(timestamp=(np.arange(count) / self._fps).astype(np.float32), frame_index=np.arange(count),
                      episode_index=np.full(count, self.episodes), index=np.arange(self.frames, self.frames + count),
                      task_index=np.full(count, index))
        chunk, file = self._data.begin()
        self._data.write(self._table(arrays))
        statistics = {name: _statistics(values) for name, values in arrays.items()}
        self._rows.append({
            "episode_index": self.episodes, "tasks": [task], "length": count, "data/chunk_index": chunk, "data/file_index": file,
            "dataset_from_index": self.frames, "dataset_to_index": self.frames + count,
            **{f"stats/{name}/{kind}": numbers.tolist() for name, of in statistics.items() for kind, numbers in of.items()}})
        for name, of in statistics.items():
            self._statistics[name] = _together(self._statistics[name], of) if name in self._statistics else of
        self.episodes, self.frames = self.episodes + 1, self.frames + count
        if len(self._rows) >= _EPISODES_AT_ONCE:
            self._write_rows()

    def close(self) -> None:
        """Ends the dataset: writes its metadata. Without an episode there is none."""
        if self._is_closed:
            return
        self._is_closed = True
        self._write_rows()
        self._data.close()
        self._meta.close()
        if self.episodes == 0:
            return
        self._write_tasks()
        told = {name: {kind: numbers.tolist() for kind, numbers in of.items()} for name, of in self._statistics.items()}
        (self._folder / "meta" / "stats.json").write_text(json.dumps(told, indent=4))
        (self._folder / "meta" / "info.json").write_text(json.dumps({
            "codebase_version": _VERSION, "robot_type": self._robot, "fps": self._fps, "total_episodes": self.episodes,
            "total_frames": self.frames, "total_tasks": len(self._tasks), "chunks_size": _FILES_IN_A_CHUNK,
            "data_files_size_in_mb": _FILE_BYTES >> 20, "video_files_size_in_mb": 200, "data_path": f"data/{_PATH}.parquet",
            "video_path": None, "splits": {"train": f"0:{self.episodes}"},
            "features": {**self._features, **{name: {"dtype": dtype, "shape": [1], "names": None} for name, dtype in _OWN.items()}}},
            indent=4))

    def _feature(self, name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
        if name in _OWN or not re.fullmatch(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*", name):
            raise ValueError(f"{name}: is no name of a feature: words with dots between, and none of {', '.join(_OWN)}")
        array = np.asarray(values)
        if array.ndim == 0 or array.dtype.kind not in "fiub" or 0 in array.shape[1:]:
            raise ValueError(f"{name}: must be numbers, [frames] or [frames, ...], not {array.dtype} {list(array.shape)}")
        array = array if array.shape[1:] != (1,) else array[:, 0]
        return array.astype({"f": np.float32, "b": np.bool_}.get(array.dtype.kind, np.int64))

    def _check(self, features: dict[str, dict[str, Any]]) -> None:
        for name, feature in features.items():
            if feature["names"] is not None and len(feature["names"]) != feature["shape"][-1]:
                raise ValueError(f"names: {name} has {len(feature['names'])} names for {feature['shape'][-1]} numbers")
        for name in self._names:
            if name not in features:
                raise ValueError(f"names: there is no feature {name}")
        if not self._features:
            self._features = features
        for name in {**self._features, **features}:
            if features.get(name) != self._features.get(name):
                def form(of: dict[str, Any] | None) -> str:
                    return "absent" if of is None else f"{of['dtype']} {of['shape']}"
                raise ValueError(f"{name}: is {form(features.get(name))}; in the episodes before it is {form(self._features.get(name))}")

    @staticmethod
    def _table(arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
        import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]

        def column(array: npt.NDArray[Any]) -> Any:
            made = pyarrow.array(array.reshape(-1))
            for size in array.shape[:0:-1]:
                made = pyarrow.FixedSizeListArray.from_arrays(made, size)
            return made
        return pyarrow.table({name: column(values) for name, values in arrays.items()})

    def _write_rows(self) -> None:
        import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]

        if not self._rows:
            return
        chunk, file = self._meta.begin()
        rows = [{**row, "meta/episodes/chunk_index": chunk, "meta/episodes/file_index": file} for row in self._rows]
        self._meta.write(pyarrow.Table.from_pylist(rows))
        self._rows.clear()

    def _write_tasks(self) -> None:
        """As pandas writes a table whose index is the task, since pandas reads it."""
        import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]
        import pyarrow.parquet as parquet  # type: ignore[import-not-found, import-untyped, unused-ignore]

        def about(name: str, kind: str, numpy_type: str) -> dict[str, Any]:
            return {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy_type, "metadata": None}
        pandas = {"index_columns": ["task"], "column_indexes": [], "pandas_version": "2.0.0",
                  "columns": [about("task_index", "int64", "int64"), about("task", "unicode", "object")],
                  "creator": {"library": "pyarrow", "version": pyarrow.__version__}}
        table = pyarrow.table({"task_index": pyarrow.array(list(self._tasks.values()), pyarrow.int64()),
                               "task": pyarrow.array(list(self._tasks), pyarrow.string())})
        parquet.write_table(table.replace_schema_metadata({"pandas": json.dumps(pandas)}), self._folder / "meta" / "tasks.parquet")


def record_episodes(envs: gymnasium.vector.VectorEnv[Any, Any, Any], act: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
                    writer: LeRobotWriter, task: str, episodes: int, *, seed: int | None = None) -> None:
    """Lets a policy act in environments, and writes episodes that have ended, in the order of their ends.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        As of axion.gym.make_vec, of any autoreset mode but DISABLED.
    act : callable
        Observations, [num_envs, k], to actions, [num_envs, a].
    writer : LeRobotWriter
        Gets observation.state, action, next.reward and next.done of each frame.
    task : str
        What the robot is to do, in words.
    episodes : int
        How many.
    seed : int, optional
        Of the environments.

    Raises
    ------
    ValueError
        episodes is below 1, or environments do not begin again by themselves.
    """
    if episodes < 1:
        raise ValueError(f"episodes: is {episodes}; it must be 1 or more")
    mode = getattr(envs.metadata.get("autoreset_mode"), "name", "NEXT_STEP")
    if mode == "DISABLED":
        raise ValueError("envs: its autoreset_mode is DISABLED; environments begin again by themselves")
    observations = envs.reset(seed=seed)[0]
    begun: list[list[tuple[Any, ...]]] = [[] for _ in range(envs.num_envs)]
    resets = np.zeros(envs.num_envs, dtype=bool)  # in whose next step no action counts
    while True:
        actions = np.asarray(act(observations))
        after, rewards, terminated, truncated, _ = envs.step(actions)
        ended = terminated | truncated
        for world in np.flatnonzero(~resets):
            begun[world].append((observations[world].copy(), actions[world].copy(), rewards[world], ended[world]))
            if ended[world]:
                columns = [np.stack(column) for column in zip(*begun[world])]
                writer.add_episode(dict(zip(("observation.state", "action", "next.reward", "next.done"), columns)), task)
                begun[world].clear()
                episodes -= 1
                if episodes == 0:
                    return
        resets = ended if mode == "NEXT_STEP" else np.zeros_like(ended)
        observations = after
