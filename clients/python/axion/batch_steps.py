"""What steps the worlds of a batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy.typing as npt

from axion import results, tensors
from axion.batch_writes import BatchWrites
from axion.task import TaskResult
from axion.tensors import Worlds
from axion.texts import documented_call


class BatchCalls(BatchWrites):
    """All that is asked of worlds, wherever they are."""

    @documented_call
    def step(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (),
             record_every: int = 0, worlds: Worlds = None, expected_step: int | None = None,
             body_wrench: npt.ArrayLike | None = None, request_id: str = "",
             timeout: float | None = None, mocap_pose: npt.ArrayLike | None = None) -> results.StepResult:
        """Steps worlds.

        Returns
        -------
        StepResult
            The outputs asked for, [n, ...] or [n, records, ...], and the outcome of each world.

        Raises
        ------
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

    @documented_call
    def step_task(self, action: npt.ArrayLike, outputs: str | Iterable[str] = (), worlds: Worlds = None,
                  body_wrench: npt.ArrayLike | None = None, request_id: str = "", timeout: float | None = None) -> TaskResult:
        """Makes one step of the batch's task.

        Parameters
        ----------
        action : array_like
            Actions within the bounds of Batch.task: [n, actions].

        Returns
        -------
        TaskResult
            Observations [n, k], rewards [n], ends [n] and the outputs asked for.
        """
        request = self.step_request(None, 1, outputs, 0, worlds, None, body_wrench, request_id)
        request.ClearField("step_count")
        rows = tensors.of_each_world(action, tensors.WORLD_DIMENSIONS["action"], len(request.world_indices) or self.world_count, "action")
        request.action.CopyFrom(tensors.to_tensor(rows, "action"))
        return self._ask("Step", request, TaskResult, timeout)
