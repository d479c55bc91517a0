"""Worlds over the servers of a Fleet, and how they come to be elsewhere when one is lost."""

from __future__ import annotations

import concurrent.futures
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.batch import Batch
from axion.client import Client
from axion.errors import AbortedError, AxionError, NotFoundError, UnavailableError
from axion.fleet_results import FleetResult, FleetTaskResult, joined, joined_fields
from axion.results import Contacts
from axion.task import TaskResult
from axion.tensors import Worlds
from axion.v1 import task_pb2

if TYPE_CHECKING:
    from axion.fleet import Fleet

_Indices = npt.NDArray[np.int64]
_Answer = TypeVar("_Answer")


@dataclasses.dataclass
class Member:
    """A server of the fleet."""

    client: Client
    is_lost: bool = False


class Part:
    """Worlds first to first + count - 1 of a fleet's batch, on one server at a time, and how they came to where they are."""

    def __init__(self, fleet: Fleet, member: Member, first: int, count: int, make: Callable[[Client], Batch],
                 checkpoint_every: int) -> None:
        self._fleet, self.member, self.first, self.count = fleet, member, first, count
        self._make = make
        self._checkpoint_every = checkpoint_every
        self._snapshot: list[bytes] | None = None
        self._asked: list[Callable[[Batch], object]] = []
        self.batch: Batch | None = None
        self._protected(lambda: None)

    def change(self, ask: Callable[[Batch], _Answer]) -> _Answer:
        """The answer to what changes the worlds. The last change is always among those that would be asked again: contacts are of it."""
        if len(self._asked) >= self._checkpoint_every:
            self._snapshot = self._protected(lambda: list(self._here().get_state("snapshot")["snapshot"]))
            self._asked.clear()
        answer = self._protected(lambda: ask(self._here()))
        self._asked.append(ask)
        return answer

    def read(self, ask: Callable[[Batch], _Answer]) -> _Answer:
        """The answer to what changes nothing."""
        return self._protected(lambda: ask(self._here()))

    def _here(self) -> Batch:
        assert self.batch is not None
        return self.batch

    def _protected(self, ask: Callable[[], _Answer]) -> _Answer:
        """Asks, and where the server or its batch is lost, again on another. A server that was started again has lost its batches."""
        is_restored = False
        while True:
            try:
                if self.batch is None:
                    self.batch = self._restored()
                    is_restored = True
                return ask()
            except (UnavailableError, NotFoundError, AbortedError) as error:
                if is_restored and not isinstance(error, UnavailableError):
                    raise  # worlds that were just made are refused
                self.batch = None
                self.member = self._fleet.member_after_loss(self.member, error)

    def _restored(self) -> Batch:
        batch = self._make(self.member.client)
        if self._snapshot is not None:
            batch.set_state(snapshot=self._snapshot)
        for ask in self._asked:
            ask(batch)
        return batch

    def delete(self) -> None:
        """Frees the worlds, where their server is still there."""
        try:
            if self.batch is not None:
                self.batch.delete()
        except AxionError:
            pass  # the lease ends it


class FleetBatch:
    """Worlds over the servers of a Fleet; Fleet.create_batch makes it.

    Arguments and answers are those of Batch, and every call raises UnavailableError when no server is left.

    Parameters
    ----------
    parts : list[Part]
        Its worlds by server.
    world_count : int
        How many there are.

    Attributes
    ----------
    world_count : int
        How many worlds it has.
    dt : float
        Time step, s.
    model : str
        Resource name on the first server.
    task : axion.v1.TaskInfo
        What follows from its task; empty without one.
    """

    def __init__(self, parts: list[Part], world_count: int) -> None:
        self._parts = parts
        self.world_count = world_count
        first = parts[0].read(lambda batch: batch)
        self.dt, self.model = first.dt, first.model
        self.task: task_pb2.TaskInfo = first.task
        self._threads = concurrent.futures.ThreadPoolExecutor(len(parts), "axion-fleet")

    def __repr__(self) -> str:
        places = ", ".join(f"{count} on {target}" for target, count in self.placement.items())
        return f"<axion.FleetBatch of {self.model}: {self.world_count} worlds, {places}, dt {self.dt:g} s>"

    def __len__(self) -> int:
        """Its worlds."""
        return self.world_count

    def __enter__(self) -> FleetBatch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.delete()

    @property
    def placement(self) -> dict[str, int]:
        """dict of str to int : Worlds on each server now, by its target."""
        counts: dict[str, int] = {}
        for part in self._parts:
            counts[part.member.client.target] = counts.get(part.member.client.target, 0) + part.count
        return counts

    def _each(self, worlds: Worlds, ask: Callable[[Part, _Indices | None, _Indices], _Answer]) -> tuple[list[_Answer], list[_Indices]]:
        """Asks each part that has some of the worlds, all at once: part, which of its worlds (None: all), and which rows of the caller's
        these are. Returns the answers and the rows of each."""
        asked = np.array(tensors.world_indices(worlds, self.world_count) or range(self.world_count), dtype=np.int64)
        if len(asked) and (asked.min() < 0 or asked.max() >= self.world_count):
            raise ValueError(f"worlds: must be from 0 to {self.world_count - 1}")
        jobs, rows = [], []
        for part in self._parts:
            row = np.flatnonzero((asked >= part.first) & (asked < part.first + part.count))
            if len(row) == 0:
                continue
            own = asked[row] - part.first
            whole = len(own) == part.count and bool((own == np.arange(part.count)).all())
            jobs.append(self._threads.submit(ask, part, None if whole else own, row))
            rows.append(row)
        return [job.result() for job in jobs], rows

    @staticmethod
    def _of_rows(array: npt.ArrayLike | None, row: _Indices, name: str = "") -> Any:
        """Those of these worlds; one robot's, which stand for all, as they are."""
        if array is None:
            return None
        values = np.asarray(array)
        return values if values.ndim < tensors.WORLD_DIMENSIONS.get(name, 1) else values[row].copy()

    def step(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (), record_every: int = 0,
             worlds: Worlds = None, body_wrench: npt.ArrayLike | None = None) -> FleetResult:
        """Steps worlds on every server at once; see Batch.step.

        Parameters
        ----------
        control : array_like, optional
            Controls: [nu], [n, nu] or [n, steps, nu]. None keeps the last.
        steps : int, default 1
            How many steps.
        outputs : str or Iterable[str], optional
            Names of the fields to return, for example ("body_pose", "joint_velocity"); Model.proto.fields lists them.
        record_every : int, default 0
            0 returns the outputs after the last step; r returns them after every r steps.
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        body_wrench : array_like, optional
            Force (N), then torque about the centre of mass (N m), world frame, held over the steps: [n, nb, 6].

        Returns
        -------
        FleetResult
            The outputs asked for, [n, ...], in the order of worlds asked for.

        Raises
        ------
        AxionError
            A server refuses the call.
        UnavailableError
            No server is left.
        """
        wanted = outputs if isinstance(outputs, str) else tuple(outputs)

        def ask(part: Part, own: _Indices | None, row: _Indices) -> Any:
            mine, wrench = self._of_rows(control, row, "action"), self._of_rows(body_wrench, row, "body_wrench")
            return part.change(lambda batch: batch.step(mine, steps, wanted, record_every, own, body_wrench=wrench))
        answers, rows = self._each(worlds, ask)
        return joined_fields(answers, rows, ("time", "step_index", "outcome"))

    def step_task(self, action: npt.ArrayLike, outputs: str | Iterable[str] = (), worlds: Worlds = None,
                  body_wrench: npt.ArrayLike | None = None) -> FleetTaskResult:
        """Makes one step of the batch's task on every server at once.

        Parameters
        ----------
        action : array_like
            Actions within the bounds of task: [n, actions].
        outputs : str or Iterable[str], optional
            Names of the fields to return, for example ("body_pose", "joint_velocity"); Model.proto.fields lists them.
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        body_wrench : array_like, optional
            Force (N), then torque about the centre of mass (N m), world frame, held over the steps: [n, nb, 6].

        Returns
        -------
        FleetTaskResult
            Observations [n, k], rewards [n], ends [n] and the outputs asked for.

        Raises
        ------
        ValueError
            The actions have another shape.
        AxionError
            A server refuses the call.
        UnavailableError
            No server is left.
        """
        wanted = outputs if isinstance(outputs, str) else tuple(outputs)
        count = self.world_count if worlds is None else len(tensors.world_indices(worlds, self.world_count))
        actions = np.asarray(tensors.of_each_world(action, tensors.WORLD_DIMENSIONS["action"], count))
        if actions.shape != (count, self.task.action_size):
            raise ValueError(f"action: has shape {list(np.shape(action))}; it must be [{count}, {self.task.action_size}]")

        def ask(part: Part, own: _Indices | None, row: _Indices) -> TaskResult:
            mine, wrench = actions[row].copy(), self._of_rows(body_wrench, row, "body_wrench")
            return part.change(lambda batch: batch.step_task(mine, wanted, own, wrench))
        return FleetTaskResult(*self._each(worlds, ask))

    def begin_episodes(self, worlds: Worlds = None, seeds: npt.ArrayLike = (), joint_position: npt.ArrayLike | None = None,
                       joint_velocity: npt.ArrayLike | None = None) -> npt.NDArray[Any]:
        """Begins episodes of the batch's task on every server at once.

        Parameters
        ----------
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        seeds : array_like, optional
            Seeds of the worlds from now on: [n]; none given, their own.
        joint_position : array_like, optional
            In place of the coordinates that the task draws (rad, m): [n, nq].
        joint_velocity : array_like, optional
            In place of the rates that it draws (rad/s, m/s): [n, nv].

        Returns
        -------
        numpy.ndarray
            What is observed first: [n, k].

        Raises
        ------
        ValueError
            There are not as many seeds as worlds.
        AxionError
            A server refuses the call.
        UnavailableError
            No server is left.
        """
        given = np.asarray(seeds, dtype=np.uint64).reshape(-1)
        count = self.world_count if worlds is None else len(tensors.world_indices(worlds, self.world_count))
        if len(given) not in (0, count):
            raise ValueError(f"seeds: has {len(given)} values for {count} worlds")

        def ask(part: Part, own: _Indices | None, row: _Indices) -> npt.NDArray[Any]:
            mine = given[row] if len(given) else given
            position, velocity = (self._of_rows(array, row, "joint_position") for array in (joint_position, joint_velocity))
            return part.change(lambda batch: batch.begin_episodes(own, mine, position, velocity))
        return joined(*self._each(worlds, ask))

    @classmethod
    def _states_of(cls, states: Mapping[str, Any], row: _Indices) -> dict[str, Any]:
        return {name: {key: cls._of_rows(array, row) for key, array in value.items()} if isinstance(value, Mapping) else
                cls._of_rows(value, row, name) for name, value in states.items()}

    def reset(self, worlds: Worlds = None, keyframe: str = "", **states: Any) -> None:
        """Starts worlds again; see Batch.reset.

        Parameters
        ----------
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        keyframe : str, default ''
            At which they start; "" is the initial state.
        **states
            body_pose, joint_position, parameters and so on, as of Batch.reset: [n, ...] each.

        Raises
        ------
        AxionError
            A server refuses the call.
        UnavailableError
            No server is left.
        """
        self._each(worlds, lambda part, own, row: part.change(
            lambda batch: batch.reset(own, keyframe, **self._states_of(states, row))))

    def set_state(self, worlds: Worlds = None, **states: Any) -> None:
        """Sets the state of worlds; see Batch.set_state.

        Parameters
        ----------
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        **states
            body_pose, joint_position, parameters and so on, as of Batch.set_state: [n, ...] each.

        Raises
        ------
        AxionError
            A server refuses the call.
        UnavailableError
            No server is left.
        """
        self._each(worlds, lambda part, own, row: part.change(
            lambda batch: batch.set_state(own, **self._states_of(states, row))))

    def get_state(self, fields: str | Iterable[str] = (), worlds: Worlds = None) -> FleetResult:
        """Reads the state of worlds.

        Parameters
        ----------
        fields : str or Iterable[str], optional
            Names of fields; none are all of them.
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.

        Returns
        -------
        FleetResult
            The fields, [n, ...] each.

        Raises
        ------
        AxionError
            A server refuses the call.
        UnavailableError
            No server is left.
        """
        wanted = fields if isinstance(fields, str) else tuple(fields)
        answers, rows = self._each(worlds, lambda part, own, row: part.read(lambda batch: batch.get_state(wanted, own)))
        return joined_fields(answers, rows, ("time", "step_index"))

    def contacts(self, worlds: Worlds = None) -> Contacts:
        """Reads the contacts of the last step.

        Parameters
        ----------
        worlds : int, sequence of int or mask, optional
            Which worlds, rising; None is all of them.

        Returns
        -------
        Contacts
            The contacts of all these worlds, by columns.

        Raises
        ------
        ValueError
            The worlds do not rise.
        AxionError
            A server refuses the call.
        UnavailableError
            No server is left.
        """
        asked = tensors.world_indices(worlds, self.world_count)
        if asked != sorted(asked):
            raise ValueError("worlds: must rise")

        def ask(part: Part, own: _Indices | None, row: _Indices) -> Contacts:
            found = part.read(lambda batch: batch.contacts(own))
            found.world = (found.world + part.first).astype(np.int32)
            return found
        answers, _ = self._each(worlds, ask)
        whole = object.__new__(Contacts)
        for name in vars(answers[0]):
            setattr(whole, name, np.concatenate([getattr(answer, name) for answer in answers]))
        return whole

    def delete(self) -> None:
        """Frees the worlds on all servers."""
        for part in self._parts:
            part.delete()
        self._threads.shutdown()
