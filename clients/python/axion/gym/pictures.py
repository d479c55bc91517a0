"""Pictures of environments, for Gymnasium's render_mode "rgb_array"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gymnasium
import numpy as np
import numpy.typing as npt

from axion.batch import Batch
from axion.fleet_batch import FleetBatch
from axion.model import Model

if TYPE_CHECKING:
    from axion.viewing.raycast import Camera

RENDER_MODES = ["rgb_array"]


def followed_body(model: Model) -> str | None:
    """The body that a camera is to move with: that of the first joint, where no actuator acts on it; None where the robot is held at a
    place, or driven along a rail."""
    proto = model.proto
    driven = {actuator.joint for actuator in proto.actuators if not actuator.HasField("tendon") and not actuator.HasField("site")}
    if not proto.joints or proto.joints[0].position_count == 0 or 0 in driven or proto.joints[0].child < 0:
        return None
    return str(model.body_names[proto.joints[0].child])


class Pictures:
    """Draws the worlds of a batch, a picture each, with axion.Renderer.

    A camera of None moves with followed_body, where there is one, as far off as shows all of the robot at first. Raises
    gymnasium.error.DependencyNotInstalled without the extra `view`, ValueError for a number of pixels or a camera out of range,
    TypeError for what is no camera.
    """

    def __init__(self, model: Model, width: int, height: int, camera: Camera | None) -> None:
        try:
            from axion.viewing.raycast import Camera as FreeCamera
            from axion.viewing.render import Renderer
        except ImportError as error:
            raise gymnasium.error.DependencyNotInstalled(
                f"render_mode 'rgb_array' wants the extra `view` (pip install 'axion-server-client[view]'): {error}") from error
        if camera is not None and not isinstance(camera, FreeCamera):
            raise TypeError(f"camera: wants Camera or None, not {camera!r}"[:200])
        self._renderer = Renderer(model, width, height, camera or FreeCamera(track=followed_body(model)), samples=1)

    def of(self, batch: Batch | FleetBatch) -> tuple[npt.NDArray[np.uint8], ...]:
        """All worlds as they stand: uint8 [height, width, 3] each. AxionError where the batch is gone."""
        mocaps = len(self._renderer.model.proto.mocaps) > 0
        state = batch.get_state(("body_pose", "mocap_pose") if mocaps else ("body_pose",))
        return tuple(self._renderer.render(state["body_pose"][world], mocap_pose=state["mocap_pose"][world] if mocaps else None)
                     for world in range(len(state["body_pose"])))


def checked_mode(render_mode: str | None) -> str | None:
    """Gymnasium's render_mode; ValueError where there are no such pictures."""
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise ValueError(f"render_mode: {render_mode!r} is none of {', '.join(RENDER_MODES)}; axion.view shows worlds in a browser")
    return render_mode


def picture_metadata(step_seconds: float) -> dict[str, object]:
    """What Gymnasium's metadata say of pictures: "render_modes", and "render_fps", at which a movie plays as fast as the worlds."""
    return {"render_modes": list(RENDER_MODES), "render_fps": max(1, round(1 / step_seconds))}


def pictures_of(model: Model, render_mode: str | None, width: int, height: int, camera: Camera | None) -> Pictures | None:
    """What draws, made before there is an episode, so that what it lacks is told then; None without a render_mode."""
    return None if render_mode is None else Pictures(model, width, height, camera)


def drawn(envs: object, pictures: Pictures | None, batch: Batch | FleetBatch) -> tuple[npt.NDArray[np.uint8], ...] | None:
    """Worlds, uint8 [height, width, 3] each; or None and a warning, as Gymnasium has it, where there is no render_mode."""
    if pictures is None:
        gymnasium.logger.warn(f"render() of {envs} without a render_mode: there are pictures with render_mode='rgb_array'")
        return None
    return pictures.of(batch)
