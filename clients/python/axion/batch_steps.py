"""What steps the worlds of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from axion import results, tensors
from axion.batch_writes import BatchWrites
from axion.task import TaskResult
from axion.tensors import Worlds
from axion.v1 import simulation_pb2


class BatchCalls(BatchWrites):
    """All that is asked of worlds, wherever they are."""

    def step(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (),
             record_every: int = 0, worlds: Worlds = None, expected_step: int | None = None,
             body_wrench: npt.ArrayLike | None = None, request_id: str = "",
             timeout: float | None = None, mocap_pose: npt.ArrayLike | None = None) -> results.StepResult:
        """Steps worlds.

        Parameters
        ----------
        control : array_like, optional
            Controls (rad, m, N or N m as the actuator says): [nu] for every world alike, [n, nu] held over the steps,
            or [n, steps, nu] one row a step. None keeps the last, zero at first.
        steps : int, default 1
            How many steps.
        outputs : str or Iterable[str], optional
            Names of the fields to return, for example ("body_pose", "joint_velocity"); Model.proto.fields lists them.
        record_every : int, default 0
            0 returns the outputs after the last step, [n, ...]; r returns them after every r steps, [n, steps / r,
            ...].
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        expected_step : int, optional
            Step index that every world must be at.
        body_wrench : array_like, optional
            Force (N), then torque about the centre of mass (N m), world frame, held over the steps: [n, nb, 6].
        request_id : str, default ''
            A repeated one gets the first answer again and steps nothing, so that a retry is safe. Without one a
            client that retries makes one.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.
        mocap_pose : array_like, optional
            Where the mocap bodies stand, x y z (m) and quaternion w x y z: [n, mocap bodies, 7]. None leaves them
            where they are; Model.proto.mocaps names them.

        Returns
        -------
        StepResult
            The outputs asked for, [n, ...] or [n, records, ...], and the outcome of each world.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        AbortedError
            A world is not at expected_step.
        TypeError
            An array is not of real numbers.
        ValueError
            An array has no such shape.
        """
        request = self.step_request(control, steps, outputs, record_every, worlds, expected_step, body_wrench,
                                    request_id, mocap_pose)
        return self._ask("Step", request, results.StepResult, timeout)

    def step_task(self, action: npt.ArrayLike, outputs: str | Iterable[str] = (), worlds: Worlds = None,
                  body_wrench: npt.ArrayLike | None = None, request_id: str = "", timeout: float | None = None) -> TaskResult:
        """Makes one step of the batch's task.

        Parameters
        ----------
        action : array_like
            Actions within the bounds of Batch.task: [n, actions].
        outputs : str or Iterable[str], optional
            Names of the fields to return, for example ("body_pose", "joint_velocity"); Model.proto.fields lists them.
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        body_wrench : array_like, optional
            Force (N), then torque about the centre of mass (N m), world frame, held over the steps: [n, nb, 6].
        request_id : str, default ''
            A repeated one gets the first answer again and steps nothing, so that a retry is safe. Without one a
            client that retries makes one.
        timeout : float, optional
            Seconds after which the call is given up; None waits for its answer.

        Returns
        -------
        TaskResult
            Observations [n, k], rewards [n], ends [n] and the outputs asked for.

        Raises
        ------
        AxionError
            The server refuses the call, which then has changed nothing, or cannot be reached.
        """
        request = self.step_request(None, 1, outputs, 0, worlds, None, body_wrench, request_id)
        request.ClearField("step_count")
        rows = tensors.of_each_world(action, tensors.WORLD_DIMENSIONS["action"], len(request.world_indices) or self.world_count)
        request.action.CopyFrom(tensors.to_tensor(rows, "action"))
        return self._ask("Step", request, TaskResult, timeout)
