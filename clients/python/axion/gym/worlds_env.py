"""What environments over the worlds of one batch have in common, wherever the task is computed."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv

from axion.batch import Batch
from axion.client import Client
from axion.errors import NotFoundError
from axion.fleet import Fleet
from axion.fleet_batch import FleetBatch
from axion.gym.pictures import checked_mode, drawn, picture_metadata, pictures_of
from axion.model import Model
from axion.texts import documented

if TYPE_CHECKING:
    from axion.viewing.raycast import Camera

_Array = npt.NDArray[Any]
_Bools = npt.NDArray[np.bool_]
_Answer = tuple[_Array, npt.NDArray[np.float64], _Bools, _Bools, dict[str, Any]]


class WorldsVectorEnv(VectorEnv[_Array, npt.NDArray[np.float32], _Array]):
    """Worlds of one batch as environments; a subclass begins episodes and steps their task.

    Parameters
    ----------
    num_envs : int
        Worlds.
    client : Client or Fleet, optional
        Of the server, or a Fleet of servers; without it the environment connects and closes itself.
    target : str, optional
        "host:port" of the server, without client.
    autoreset_mode : AutoresetMode or str
        NEXT_STEP, SAME_STEP or DISABLED, as gymnasium.vector.AutoresetMode says.
    pictures : tuple
        render_mode, width, height and camera.
    """

    def __init__(self, num_envs: int, client: Client | Fleet | None, target: str | None, autoreset_mode: AutoresetMode | str,
                 pictures: tuple[str | None, int, int, Camera | None]) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs: is {num_envs}; it must be at least 1")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.render_mode = checked_mode(pictures[0])
        self._own_client = Client(target) if client is None else None
        opened = client if client is not None else self._own_client
        assert opened is not None
        try:
            self.model = self._create_model(opened)
            self._pictures = pictures_of(self.model, self.render_mode, *pictures[1:])
            self.batch: Batch | FleetBatch = self._create_batch(opened)
        except BaseException:
            self._close_client()
            raise
        self._ended = np.zeros(num_envs, dtype=bool)
        self._has_begun = False

    def _create_model(self, client: Client | Fleet) -> Model:
        """Of the task's file."""
        raise NotImplementedError

    def _create_batch(self, client: Client | Fleet) -> Batch | FleetBatch:
        """The worlds."""
        raise NotImplementedError

    def _begin(self, mask: _Bools, seeds: list[int | None]) -> _Array:
        """Begins episodes in some worlds, each with a seed that it has from now on or its own; what is observed in all."""
        raise NotImplementedError

    def _advance(self, action: _Array, starting: _Bools) -> _Answer:
        """One action; worlds that are starting have ended with the one before."""
        raise NotImplementedError

    def _describe(self, dt: float, low: npt.ArrayLike, high: npt.ArrayLike, size: int, dtype: Any) -> None:
        """What users ask of environments: seconds of a step, ranges of actions [nu], how much is observed."""
        self.dt = dt
        self.metadata = {"autoreset_mode": self.autoreset_mode, **picture_metadata(dt)}
        self.single_action_space = gymnasium.spaces.Box(np.array(low, dtype=np.float32), np.array(high, dtype=np.float32), dtype=np.float32)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), dtype)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)

    @documented
    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: dict[str, Any] | None = None) -> tuple[_Array, dict[str, Any]]:
        """Begins episodes.

        Returns
        -------
        tuple[numpy.ndarray, dict[str, Any]]
            Observations [num_envs, k], and infos.

        Raises
        ------
        ValueError
            There are not so many seeds, or the mask is none.
        gymnasium.error.ClosedEnvironmentError
            The environments are closed.
        """
        self._check_open()
        seeds: list[int | None] = list(seed or [None] * self.num_envs) if not isinstance(seed, int) else [
            seed + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed: has {len(seeds)} numbers for {self.num_envs} environments")
        mask = np.ones(self.num_envs, dtype=bool)
        if options is not None and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
                raise ValueError(f"options['reset_mask']: must be {self.num_envs} booleans, one of them true")
        observations = self._begin(mask, seeds)
        self._ended[mask], self._has_begun = False, True
        return observations, {}

    @documented
    def step(self, actions: npt.NDArray[np.float32]) -> _Answer:
        """Steps every world with its action.

        Returns
        -------
        tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray, numpy.ndarray, dict[str, Any]]
            Observations [num_envs, k], rewards, terminations and truncations [num_envs], and infos.

        Raises
        ------
        ValueError
            The actions have another shape, or are not finite.
        gymnasium.error.ResetNeeded
            There was no reset yet, or, with DISABLED, a world has ended and was not reset.
        gymnasium.error.ClosedEnvironmentError
            The environments are closed.
        """
        self._check_open()
        if not self._has_begun:
            raise gymnasium.error.ResetNeeded("the environments have not been reset; call reset before the first step")
        action = np.asarray(actions)
        if action.shape != self.action_space.shape:
            raise ValueError(f"actions: have shape {list(action.shape)}; it must be {list(self.action_space.shape or ())}")
        starting = self._ended.copy()
        if starting.any() and self.autoreset_mode is AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded(f"world {int(np.flatnonzero(starting)[0])} has ended and was not reset")
        return self._advance(action, starting)

    def _tell_final(self, infos: dict[str, Any], rows: npt.NDArray[Any], observations: _Array) -> None:
        """Adds what was observed last of episodes that have ended in these worlds, and their infos so far, as Gymnasium's vector
        environments do."""
        ended = np.zeros(self.num_envs, dtype=bool)
        ended[rows] = True
        final = np.full(self.num_envs, None, dtype=object)
        for row, observation in zip(rows, observations):
            final[row] = np.array(observation)
        infos.update(final_info=dict(infos), _final_info=ended, final_obs=final, _final_obs=ended)

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the environments are closed; make new ones")

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """Draws every world as it stands.

        Returns
        -------
        tuple of numpy.ndarray, or None
            Uint8 [height, width, 3] each; None, and a warning, without a render_mode.
        """
        return drawn(self, self._pictures, self.batch)

    def close_extras(self, **kwargs: Any) -> None:
        """Deletes the batch, if the server still has it, and ends the connection where it is the environment's own.

        Parameters
        ----------
        **kwargs
            Gymnasium's; not used.
        """
        try:
            with contextlib.suppress(NotFoundError):
                self.batch.delete()
        finally:
            self._close_client()

    def _close_client(self) -> None:
        if self._own_client is not None:
            self._own_client.close()
