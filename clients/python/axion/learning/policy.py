"""Small neural networks in NumPy, with their gradients, and policies made of one: what ppo.py trains and play_policy.py plays."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Network:
    """A perceptron with tanh between its layers and none after the last.

    Parameters
    ----------
    sizes
        Inputs, hidden layers, outputs.
    generator
        Draws the first weights: orthogonal, sqrt(2) in hidden layers, `last_gain` in the last.
    dtype
        Of parameters and results.

    `parameters` and `gradient` hold all weights in one array each, [k], of which the layers are views, so that an optimiser has one
    array to change.
    """

    def __init__(self, sizes: Sequence[int], generator: np.random.Generator | None = None, last_gain: float = 1.0,
                 dtype: npt.DTypeLike = np.float32) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        count = sum((inputs + 1) * outputs for inputs, outputs in zip(self.sizes, self.sizes[1:]))
        self.parameters, self.gradient = np.zeros(count, dtype), np.zeros(count, dtype)
        self._layers, self._slopes = self._views(self.parameters), self._views(self.gradient)
        self._values: list[Array] = []
        if generator is not None:
            for index, (weights, _) in enumerate(self._layers):
                weights[:] = (last_gain if index == len(self._layers) - 1 else np.sqrt(2)) * _orthogonal(weights.shape, generator)

    def _views(self, whole: Array) -> list[tuple[Array, Array]]:
        """Weights [inputs, outputs] and biases [outputs] of each layer, as parts of one array."""
        found, at = [], 0
        for inputs, outputs in zip(self.sizes, self.sizes[1:]):
            middle, end = at + inputs * outputs, at + (inputs + 1) * outputs
            found.append((whole[at:middle].reshape(inputs, outputs), whole[middle:end]))
            at = end
        return found

    def __call__(self, inputs: Array) -> Array:
        """Outputs [n, outputs] of inputs [n, inputs]."""
        value = np.asarray(inputs, self.parameters.dtype)
        self._values = [value]
        for index, (weights, bias) in enumerate(self._layers):
            value = value @ weights + bias
            if index < len(self._layers) - 1:
                np.tanh(value, out=value)
            self._values.append(value)
        return value

    def backward(self, slope: Array) -> None:
        """Fills `gradient` for the inputs of the last call, of a loss whose derivative by the outputs is `slope` [n, outputs]."""
        slope = np.asarray(slope, self.parameters.dtype)
        for index in reversed(range(len(self._layers))):
            into_weights, into_bias = self._slopes[index]
            np.matmul(self._values[index].T, slope, out=into_weights)
            slope.sum(axis=0, out=into_bias)
            if index > 0:
                slope = slope @ self._layers[index][0].T
                slope *= 1 - self._values[index] ** 2


def _orthogonal(shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """A matrix with orthonormal columns or rows, whichever are fewer."""
    tall = generator.standard_normal((max(shape), min(shape)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))
    return q if shape[0] >= shape[1] else q.T


@dataclasses.dataclass
class Normaliser:
    """Mean and variance of what was seen, and numbers made of mean 0 and variance 1 by them, within +-10."""

    mean: npt.NDArray[np.float64]
    variance: npt.NDArray[np.float64]
    count: float = 1e-4

    @classmethod
    def of_size(cls, size: int) -> Normaliser:
        """One that has seen nothing."""
        return cls(np.zeros(size), np.ones(size))

    def see(self, values: Array) -> None:
        """Takes values [n, size] into account."""
        count, mean, variance = len(values), values.mean(axis=0, dtype=np.float64), values.var(axis=0, dtype=np.float64)
        whole, difference = self.count + count, mean - self.mean
        self.variance = (self.variance * self.count + variance * count + difference ** 2 * self.count * count / whole) / whole
        self.mean, self.count = self.mean + difference * count / whole, whole

    def __call__(self, values: Array) -> npt.NDArray[np.float32]:
        """Values [..., size] normalised."""
        return np.clip((values - self.mean) / np.sqrt(self.variance + 1e-8), -10, 10).astype(np.float32)


class Policy:
    """What to do: a normal distribution of actions about the network's output, whose spread does not depend on the state.

    Parameters
    ----------
    network : Network
        From normalised observations [n, k] to actions [n, a], in which -1 and 1 are the ends of what has an effect.
    normaliser : Normaliser
        Of observations.
    lower : Array
        The lower of those ends, in the task's own units: [a].
    upper : Array
        The upper of them: [a].
    about : dict[str, Any]
        What was trained, and how, for who finds the file.

    Attributes
    ----------
    middle, half : numpy.ndarray
        An action of the network is `half` times it from `middle`, in the task's units: [a] each.
    log_deviation : numpy.ndarray
        Logarithm of the spread of the network's actions: [a].
    """

    def __init__(self, network: Network, normaliser: Normaliser, lower: Array, upper: Array, about: dict[str, Any]) -> None:
        finite = np.isfinite(lower) & np.isfinite(upper)
        self.network, self.normaliser, self.about = network, normaliser, about
        self.lower, self.upper = np.asarray(lower, np.float32), np.asarray(upper, np.float32)
        self.middle = np.where(finite, (self.lower + self.upper) / 2, 0).astype(np.float32)
        self.half = np.where(finite, (self.upper - self.lower) / 2, 1).astype(np.float32)
        self.log_deviation = np.full(network.sizes[-1], -0.7, network.parameters.dtype)

    def __repr__(self) -> str:
        return f"<axion.learning.Policy: {' - '.join(map(str, self.network.sizes))}, of {self.about.get('task', 'no task that is known')}>"

    def actions(self, raw: Array) -> npt.NDArray[np.float32]:
        """Converts actions of the network to the task's units.

        Parameters
        ----------
        raw : Array
            [n, a].

        Returns
        -------
        numpy.ndarray
            Float32 [n, a], within the ends.
        """
        made: npt.NDArray[np.float32] = np.clip(self.middle + self.half * raw, self.lower, self.upper).astype(np.float32)
        return made

    def act(self, observations: Array) -> npt.NDArray[np.float32]:
        """Finds the most likely actions.

        Parameters
        ----------
        observations : Array
            [n, k].

        Returns
        -------
        numpy.ndarray
            Float32 [n, a], in the task's units.
        """
        return self.actions(self.network(self.normaliser(observations)))

    def save(self, path: pathlib.Path) -> None:
        """Writes all of it to an .npz, without pickles.

        Parameters
        ----------
        path : pathlib.Path
            Where to.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        np.savez(path, sizes=np.array(self.network.sizes), parameters=self.network.parameters, mean=self.normaliser.mean,
                 variance=self.normaliser.variance, lower=self.lower, upper=self.upper, log_deviation=self.log_deviation,
                 about=np.array(json.dumps(self.about)))

    @classmethod
    def load(cls, path: pathlib.Path) -> Policy:
        """Reads a policy that save wrote.

        Parameters
        ----------
        path : pathlib.Path
            Where it is.

        Returns
        -------
        Policy
            The policy.

        Raises
        ------
        OSError
            The file cannot be read.
        ValueError
            It is something else.
        """
        try:
            opened = np.load(path, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: is no policy, which is an .npz file that axion train writes") from error
        if not isinstance(opened, np.lib.npyio.NpzFile):
            raise ValueError(f"{path}: is an array and no policy, which is an .npz file that axion train writes")
        with opened as held:
            missing = {"sizes", "parameters", "mean", "variance", "lower", "upper", "log_deviation", "about"} - set(held.files)
            if missing:
                raise ValueError(f"{path}: is no policy; it lacks {', '.join(sorted(missing))}")
            network = Network([int(size) for size in held["sizes"]], dtype=held["parameters"].dtype)
            if held["parameters"].shape != network.parameters.shape:
                raise ValueError(f"{path}: parameters: {held['parameters'].size} numbers, but its sizes want {network.parameters.size}")
            network.parameters[:] = held["parameters"]
            made = cls(network, Normaliser(held["mean"], held["variance"]), held["lower"], held["upper"], json.loads(str(held["about"])))
            made.log_deviation[:] = held["log_deviation"]
        return made
