"""What sets the state of the worlds of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.batch_reads import BatchReads
from axion.calls import nothing
from axion.tensors import Snapshots, Worlds
from axion.v1 import state_pb2


def _seeds(seeds: npt.ArrayLike) -> list[int]:
    return [int(seed) for seed in np.asarray(seeds, dtype=np.uint64).reshape(-1)]


class BatchWrites(BatchReads):
    """The part of Batch that sets states; n, nb, nq, nv and nu are as there. One robot's numbers, without the dimension of the
    worlds, stand for each of them."""

    def begin_episodes(self, worlds: Worlds = None, seeds: npt.ArrayLike = (), joint_position: npt.ArrayLike | None = None,
                       joint_velocity: npt.ArrayLike | None = None, timeout: float | None = None) -> npt.NDArray[Any]:
        """Begins episodes of the batch's task.

        Parameters
        ----------
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        seeds : array_like, optional
            Seeds of the worlds from now on, whose first episodes begin: [n]. None given: the next episodes of the
            seeds that they have.
        joint_position : array_like, optional
            In place of the coordinates that the task draws (rad, m): [n, nq].
        joint_velocity : array_like, optional
            In place of the rates that it draws (rad/s, m/s): [n, nv].
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        numpy.ndarray
            What is observed first: [n, k].

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        indices = self._indices(worlds)
        return self._ask("Reset", state_pb2.ResetRequest(
            request_id=self._request_id(), batch=self.name, world_indices=indices,
            state=self._state_update(indices, None, joint_position=joint_position, joint_velocity=joint_velocity),
            seeds=_seeds(seeds)), lambda answer: tensors.to_array(answer.task.observation), timeout)

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
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        keyframe : str, default ''
            At which they start; "" is the initial state.
        seeds : array_like, optional
            Seeds that drive the batch's initial noise, if it has one: [n].
        body_pose : array_like, optional
            Poses of the bodies, x y z (m) and quaternion w x y z: [n, nb, 7]. Quaternions are normalised by the
            server.
        body_velocity : array_like, optional
            Velocities of the bodies, linear of the centre of mass (m/s), then angular (rad/s), world frame: [n, nb,
            6].
        joint_position : array_like, optional
            Coordinates of the joints (rad, m), which place the bodies by the joint tree: [n, nq]. Give body_* or
            joint_*, not both.
        joint_velocity : array_like, optional
            Their rates (rad/s, m/s): [n, nv].
        time : array_like, optional
            Simulated time, s: [n].
        snapshot : bytes or sequence of bytes, optional
            get_state("snapshot")["snapshot"] of any worlds of the same model, precision, dt and options, [n] or one
            for all; nothing else may be given with it. The worlds go on with the bits of those that it was taken of.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.
        activation : array_like, optional
            Activations of actuators, held within their ranges: [n, activations].
        parameters : Mapping[str, array_like], optional
            Numbers that these worlds have in place of the model's from now on, by name: [n, ...] of the shape that
            parameter_shapes gives.
        mocap_pose : array_like, optional
            Where the mocap bodies stand, x y z (m) and quaternion w x y z: [n, mocap bodies, 7]. None leaves them
            where they are; Model.proto.mocaps names them.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        indices = self._indices(worlds)
        return self._ask("Reset", state_pb2.ResetRequest(
            request_id=self._request_id(), batch=self.name, world_indices=indices, keyframe=keyframe,
            state=self._state_update(indices, snapshot, parameters, body_pose=body_pose, body_velocity=body_velocity,
                                     joint_position=joint_position, joint_velocity=joint_velocity, time=time,
                                     activation=activation, mocap_pose=mocap_pose),
            seeds=_seeds(seeds)), nothing, timeout)

    def set_state(self, worlds: Worlds = None, body_pose: npt.ArrayLike | None = None,
                  body_velocity: npt.ArrayLike | None = None, joint_position: npt.ArrayLike | None = None,
                  joint_velocity: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None,
                  snapshot: Snapshots | None = None, timeout: float | None = None,
                  activation: npt.ArrayLike | None = None,
                  parameters: Mapping[str, npt.ArrayLike] | None = None,
                  mocap_pose: npt.ArrayLike | None = None) -> None:
        """Sets the state of worlds; what is None keeps its value.

        Parameters
        ----------
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        body_pose : array_like, optional
            Poses of the bodies, x y z (m) and quaternion w x y z: [n, nb, 7]. Quaternions are normalised by the
            server.
        body_velocity : array_like, optional
            Velocities of the bodies, linear of the centre of mass (m/s), then angular (rad/s), world frame: [n, nb,
            6].
        joint_position : array_like, optional
            Coordinates of the joints (rad, m), which place the bodies by the joint tree: [n, nq]. Give body_* or
            joint_*, not both.
        joint_velocity : array_like, optional
            Their rates (rad/s, m/s): [n, nv].
        time : array_like, optional
            Simulated time, s: [n].
        snapshot : bytes or sequence of bytes, optional
            get_state("snapshot")["snapshot"] of any worlds of the same model, precision, dt and options, [n] or one
            for all; nothing else may be given with it. The worlds go on with the bits of those that it was taken of.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.
        activation : array_like, optional
            Activations of actuators, held within their ranges: [n, activations].
        parameters : Mapping[str, array_like], optional
            Numbers that these worlds have in place of the model's from now on, by name: [n, ...] of the shape that
            parameter_shapes gives.
        mocap_pose : array_like, optional
            Where the mocap bodies stand, x y z (m) and quaternion w x y z: [n, mocap bodies, 7]. None leaves them
            where they are; Model.proto.mocaps names them.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.

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
