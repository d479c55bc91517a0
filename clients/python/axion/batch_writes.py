"""What sets the state of the worlds of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.arguments import checked
from axion.batch_reads import BatchReads
from axion.calls import nothing
from axion.tensors import Snapshots, Worlds
from axion.texts import documented_call
from axion.v1 import state_pb2


def _seeds(seeds: npt.ArrayLike) -> list[int]:
    values = tensors.as_array(seeds, "seeds").reshape(-1)
    if values.size > 0 and not all(isinstance(seed, (int, np.integer)) and 0 <= seed < 1 << 64 for seed in values.tolist()):
        raise ValueError(f"seeds: must be whole numbers from 0 to 2**64 - 1, not {seeds!r}"[:200])
    return [int(seed) for seed in values.tolist()]


class BatchWrites(BatchReads):
    """The part of Batch that sets states; n, nb, nq, nv and nu are as there. One robot's numbers, without the dimension of the
    worlds, stand for each of them."""

    @documented_call
    @checked
    def begin_episodes(self, worlds: Worlds = None, seeds: npt.ArrayLike = (), joint_position: npt.ArrayLike | None = None,
                       joint_velocity: npt.ArrayLike | None = None, timeout: float | None = None) -> npt.NDArray[Any]:
        """Begins episodes of the batch's task.

        Parameters
        ----------
        seeds : array_like, optional
            Seeds of the worlds from now on, whose first episodes begin: [n]. None given: the next episodes of the
            seeds that they have.
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
            The batch has no task, or a seed is no whole number from 0 to 2**64 - 1.
        """
        if not self.proto.HasField("task"):
            raise ValueError("begin_episodes: the batch has no task; Client.create_batch(task=...) gives it one")
        indices = self._indices(worlds)
        return self._ask("Reset", state_pb2.ResetRequest(
            request_id=self._request_id(), batch=self.name, world_indices=indices,
            state=self._state_update(indices, None, joint_position=joint_position, joint_velocity=joint_velocity),
            seeds=_seeds(seeds)), lambda answer: tensors.to_array(answer.task.observation), timeout)

    @documented_call
    @checked
    def begin_groups(self, worlds: Worlds = None, seeds: npt.ArrayLike = (), timeout: float | None = None) -> dict[str, npt.NDArray[Any]]:
        """Begins episodes as begin_episodes does, and answers both groups of observations.

        Parameters
        ----------
        seeds : array_like, optional
            As of begin_episodes: [n].

        Returns
        -------
        dict of str to numpy.ndarray
            "policy" [n, k] is what the task's `observation` is of, "critic" [n, p] its `privileged_observation`.

        Raises
        ------
        ValueError
            The batch has no task, or a seed is no whole number from 0 to 2**64 - 1.
        """
        request = state_pb2.ResetRequest(request_id=self._request_id(), batch=self.name, world_indices=self._indices(worlds),
                                         seeds=_seeds(seeds))
        if not self.proto.HasField("task"):
            raise ValueError("begin_groups: the batch has no task; Client.create_batch(task=...) gives it one")

        def groups(answer: state_pb2.ResetResponse) -> dict[str, npt.NDArray[Any]]:
            policy, task = tensors.to_array(answer.task.observation), answer.task
            return {"policy": policy, "critic": (tensors.to_array(task.privileged_observation) if task.HasField("privileged_observation")
                                                 else np.zeros((len(policy), 0), policy.dtype))}
        return self._ask("Reset", request, groups, timeout)

    @documented_call
    @checked
    def reset(self, worlds: Worlds = None, keyframe: str = "", seeds: npt.ArrayLike = (),
              body_pose: npt.ArrayLike | None = None, body_velocity: npt.ArrayLike | None = None,
              joint_position: npt.ArrayLike | None = None, joint_velocity: npt.ArrayLike | None = None,
              time: npt.ArrayLike | None = None, snapshot: Snapshots | None = None,
              timeout: float | None = None, activation: npt.ArrayLike | None = None,
              parameters: Mapping[str, npt.ArrayLike] | None = None,
              mocap_pose: npt.ArrayLike | None = None) -> None:
        """Starts worlds again.

        At the initial state or a keyframe, with the given states on top, or as snapshots say. Clears warm starts and
        outcomes.

        Parameters
        ----------
        keyframe : str, default ''
            At which they start; "" is the initial state.
        seeds : array_like, optional
            Seeds that drive the batch's initial noise, if it has one: [n].
        """
        indices = self._indices(worlds)
        return self._ask("Reset", state_pb2.ResetRequest(
            request_id=self._request_id(), batch=self.name, world_indices=indices, keyframe=keyframe,
            state=self._state_update(indices, snapshot, parameters, body_pose=body_pose, body_velocity=body_velocity,
                                     joint_position=joint_position, joint_velocity=joint_velocity, time=time,
                                     activation=activation, mocap_pose=mocap_pose),
            seeds=_seeds(seeds)), nothing, timeout)

    @documented_call
    @checked
    def set_state(self, worlds: Worlds = None, body_pose: npt.ArrayLike | None = None,
                  body_velocity: npt.ArrayLike | None = None, joint_position: npt.ArrayLike | None = None,
                  joint_velocity: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None,
                  snapshot: Snapshots | None = None, timeout: float | None = None,
                  activation: npt.ArrayLike | None = None,
                  parameters: Mapping[str, npt.ArrayLike] | None = None,
                  mocap_pose: npt.ArrayLike | None = None) -> None:
        """Sets the state of worlds; what is None keeps its value.

        Examples
        --------
        >>> now = batch.get_state("snapshot", worlds=[3])["snapshot"][0]
        >>> plans.set_state(snapshot=now)  # another batch: every world branches from here
        """
        indices = self._indices(worlds)
        return self._ask("SetState", state_pb2.SetStateRequest(
            request_id=self._request_id(), batch=self.name, world_indices=indices,
            state=self._state_update(indices, snapshot, parameters, body_pose=body_pose, body_velocity=body_velocity,
                                     joint_position=joint_position, joint_velocity=joint_velocity, time=time,
                                     activation=activation, mocap_pose=mocap_pose)), nothing, timeout)
