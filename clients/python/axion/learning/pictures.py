"""What a policy that follows commands does: one picture of six commands, each with the robot at several moments."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

import axion
import axion.gym
from axion.learning.play import body_twist, choice_of
from axion.learning.policy import Policy
from axion.learning.task import TaskChoice
from axion.viewing.raycast import Camera
from axion.viewing.render import Image8, Renderer

# m/s forwards, m/s to the left, rad/s to the left.
SHOWN = ((0.8, 0.0, 0.0), (-0.5, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.0, 0.8), (0.5, 0.0, 0.6), (0.0, 0.0, 0.0))
_SETTLING, _SECONDS, _MOMENTS = 1.0, 3.0, 5   # s before what is shown, s of it, times that the robot is drawn
_WIDTH, _HEIGHT, _CAPTION = 480, 330, 26      # pixels
_HALF = 2.0                                   # m that are seen each way of the place where it began


def walked(client: axion.Client, policy: Policy, choice: TaskChoice, command: Sequence[float],
           seed: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Poses of one world under a command, float64 [t, bodies, 7], the trunk at the origin and heading along x at first; and its mean
    speeds [3], m/s forwards and to the left, rad/s. Fewer poses where it falls."""
    task = choice.server_task(command)
    poses: list[npt.NDArray[np.float64]] = []
    velocities: list[npt.NDArray[np.float64]] = []
    with contextlib.closing(axion.gym.make_vec(task, 1, client=client, autoreset_mode="SameStep")) as envs:
        trunk = list(envs.model.body_names).index(choice.body)
        observation, _ = envs.reset(seed=seed)
        for step in range(round((_SETTLING + _SECONDS) / envs.dt)):
            observation, _, terminated, *_ = envs.step(policy.act(observation))
            if terminated[0] and poses:
                break  # it fell: what comes is another episode
            if step * envs.dt >= _SETTLING:
                state = envs.batch.get_state(["body_pose", "body_velocity"])
                poses.append(np.array(state["body_pose"][0], np.float64))
                velocities.append(np.array(state["body_velocity"][0], np.float64))
    found = np.array(poses)
    speeds = body_twist(found[:, trunk], np.array(velocities)[:, trunk]).mean(axis=0)
    return _from_origin(found, trunk), speeds


def _from_origin(poses: npt.NDArray[np.float64], trunk: int) -> npt.NDArray[np.float64]:
    """The same, moved and turned about the vertical so that the trunk begins at x = y = 0, heading along x."""
    w, x, y, z = poses[0, trunk, 3:]
    half = -0.5 * np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    cosine, sine = np.cos(2 * half), np.sin(2 * half)
    moved = poses.copy()
    start = poses[0, trunk, :2]
    moved[..., 0] = cosine * (poses[..., 0] - start[0]) - sine * (poses[..., 1] - start[1])
    moved[..., 1] = sine * (poses[..., 0] - start[0]) + cosine * (poses[..., 1] - start[1])
    turn = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
    a, b = np.moveaxis(turn, -1, 0), np.moveaxis(poses[..., 3:], -1, 0)
    moved[..., 3:] = np.stack([a[0] * b[0] - a[3] * b[3], a[0] * b[1] - a[3] * b[2], a[0] * b[2] + a[3] * b[1], a[0] * b[3] + a[3] * b[0]],
                              axis=-1)
    return moved


def _captioned(picture: Image8, text: str) -> Image8:
    image = Image.new("RGB", (_WIDTH, _HEIGHT + _CAPTION), (255, 255, 255))
    image.paste(Image.fromarray(picture), (0, _CAPTION))
    ImageDraw.Draw(image).text((8, _CAPTION / 2), text, fill=(20, 20, 20), font=ImageFont.load_default(14), anchor="lm")
    return np.asarray(image)


def draw_commands(client: axion.Client, policy: Policy, path: str | os.PathLike[str], seed: int = 1, dt: float | None = None) -> None:
    """Writes a picture of what a policy does under six commands: each from above and behind, three seconds, the robot at five moments,
    with what was commanded and the mean of what was measured.

    policy: of a robot that follows commands, else ValueError. path: .png. seed: of the world. dt: s, of the steps; None: that of training.
    """
    choice = choice_of(policy, dt)
    if not choice.follows_commands:
        raise ValueError(f"commands: {choice.task} takes none")
    model = client.create_model(path=choice.server_task().model_path())
    camera = Camera(azimuth=0.0, elevation=-50.0, distance=2.3 * _HALF, look_at=(0.3, 0.0, 0.0))
    made: list[Any] = []
    for command in SHOWN:
        poses, speeds = walked(client, policy, choice, command, seed)
        moments = poses[np.linspace(0, len(poses) - 1, _MOMENTS).astype(int)]
        renderer = Renderer(model, _WIDTH, _HEIGHT, camera, spacing=0.0, samples=2)  # one place for all: a robot at several moments
        falls = "   fell" if len(poses) < 0.99 * _SECONDS / (choice.dt * choice.frame_skip) else ""
        told = "told " + " ".join(f"{part:+.1f}" for part in command) + "   did " + " ".join(f"{part:+.2f}" for part in speeds)
        made.append(_captioned(renderer.render(moments), told + "   m/s, m/s, rad/s" + falls))
    rows = [np.concatenate(made[first:first + 3], axis=1) for first in (0, 3)]
    Image.fromarray(np.concatenate(rows, axis=0)).save(path)
