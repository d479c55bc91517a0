"""Steps as functions of PyTorch: autograd follows them by `Batch.step_gradient`. Wants the package torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from axion.batch import Batch
from axion.texts import documented

try:
    import torch  # type: ignore[import-not-found, unused-ignore]
except ModuleNotFoundError as error:
    raise ImportError("axion.torch wants PyTorch: pip install torch") from error

_STATE = ("joint_position", "joint_velocity", "activation")


def _numbers(tensor: Any) -> Any:
    return tensor.detach().cpu().to(torch.float64).numpy()


class _Steps(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """The steps as one operation; its tensors are the named inputs, then its results the fields."""

    @staticmethod
    def forward(context: Any, simulator: Simulator, steps: int, names: tuple[str, ...], *tensors: Any) -> Any:
        context.simulator, context.steps, context.names = simulator, steps, names
        context.save_for_backward(*tensors)
        answer = simulator._ask(steps, dict(zip(names, tensors)), outputs=simulator.outputs)
        like = tensors[0] if tensors else torch.empty(0)
        return tuple(torch.as_tensor(np.array(answer.outputs[name]), dtype=like.dtype, device=like.device)
                     for name in simulator.outputs)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        simulator, given = context.simulator, dict(zip(context.names, context.saved_tensors))
        answer = simulator._ask(context.steps, given, inputs=[name for name in given if name in simulator.batch.parameter_shapes],
                                output_gradients={name: _numbers(of) for name, of in zip(simulator.outputs, gradients)})
        found = []
        for name, tensor in given.items():
            by = answer.inputs[name] if name in simulator.batch.parameter_shapes else getattr(answer, name)
            found.append(torch.as_tensor(np.array(by), dtype=tensor.dtype, device=tensor.device).reshape(tensor.shape))
        return (None, None, None, *found)


@documented
class Simulator:
    """Steps of a batch as a function that autograd differentiates, from the start, controls and parameters to fields.

    The steps are those of `Batch.step_gradient`, in float64; tensors that are given keep their type and device. Nothing of
    the batch changes but parameters of worlds that a call is given.

    Parameters
    ----------
    batch : Batch
        The worlds. All of them take part, in order.
    outputs : str or Iterable[str], default ('joint_position', 'joint_velocity')
        Names of the fields that calls return: body_pose, body_velocity, joint_position, joint_velocity, activation,
        sensor_data.
    record_every : int, default 0
        Records are after every that many steps, which divide the steps of a call; 0: one, after the last.
    """

    def __init__(self, batch: Batch, outputs: str | Iterable[str] = ("joint_position", "joint_velocity"),
                 record_every: int = 0) -> None:
        self.batch = batch
        self.outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        self.record_every = record_every

    def __call__(self, control: Any | None = None, steps: int | None = None, **inputs: Any) -> dict[str, Any]:
        """Makes the steps.

        Parameters
        ----------
        control : torch.Tensor, optional
            [n, k, nu] of k steps, or [n, nu] held over the steps. None: the last control, held.
        steps : int, optional
            k; None: as many as `control` has, or 1.
        **inputs : torch.Tensor
            joint_position [n, nq], joint_velocity [n, nv], activation [n, activations]: where the worlds begin; and
            parameters of the worlds by name, such as body_mass [n, nb], of which those that the gradient is wanted of must
            have one.

        Returns
        -------
        dict of str to torch.Tensor
            The fields by name: [n, ...], or [n, records, ...] with record_every.
        """
        given = {name: torch.as_tensor(tensor) for name, tensor in inputs.items()}
        if control is not None:
            given["control"] = torch.as_tensor(control)
        for name in given:
            if name != "control" and name not in _STATE and name not in self.batch.parameter_shapes:
                raise TypeError(f"{name} is neither of {', '.join(_STATE)} nor a parameter of worlds")
        if steps is None:
            steps = given["control"].shape[1] if control is not None and given["control"].dim() == 3 else 1
        results = _Steps.apply(self, steps, tuple(given), *given.values())
        return dict(zip(self.outputs, results))

    def _ask(self, steps: int, given: Mapping[str, Any], **asked: Any) -> Any:
        parameters = {name: _numbers(tensor) for name, tensor in given.items() if name in self.batch.parameter_shapes}
        if parameters:
            self.batch.set_state(parameters=parameters)
        start = {name: _numbers(tensor) for name, tensor in given.items() if name in (*_STATE, "control")}
        return self.batch.step_gradient(steps=steps, record_every=self.record_every, **start, **asked)
