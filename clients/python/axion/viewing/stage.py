"""What the viewer's page shows of worlds: their shapes and marks, each world in its place."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import viser

from axion.model import Model
from axion.viewing import geometry
from axion.viewing.plots import add_ground, add_shape, color_bytes, show_points
from axion.viewing.source import Moment


@dataclasses.dataclass(frozen=True)
class Shown:
    """What of a moment is shown."""

    row: int               # of the chosen world among those of the page
    is_alone: bool         # the other worlds are hidden
    is_followed: bool      # it stays in the middle
    contacts: bool         # of all worlds that are shown
    joint_axes: bool       # of the chosen one,
    centers_of_mass: bool  # likewise,
    names: bool            # likewise


class Stage:
    """Shapes and marks of a page.

    Parameters
    ----------
    server : viser.ViserServer
        Of the page.
    model : Model
        Of the worlds.
    worlds : sequence of int
        Their indices in the batch. They stand on a grid.
    dt : float
        s, of a step: forces are impulses divided by it.
    spacing : float, optional
        m between worlds; None: as far as they reach.
    """

    def __init__(self, server: viser.ViserServer, model: Model, worlds: Sequence[int], dt: float, spacing: float | None) -> None:
        self._model, self._worlds, self._dt = model, list(worlds), dt
        scene = server.scene
        scene.set_up_direction("+z")
        bodies = [[p.x, p.y, p.z, 1, 0, 0, 0] for p in (body.pose.position for body in model.proto.bodies)]
        rest = geometry.frame_poses(model, np.array(bodies).reshape(1, -1, 7))[0]
        detail = int(np.clip(48 / np.sqrt(len(worlds)), 6, 16))
        self.shapes = geometry.shapes_of(model, detail)
        reach = np.subtract(*reversed(geometry.world_bounds(self.shapes, rest)))
        spacing = spacing if spacing is not None else 1.3 * float(max(reach[:2]))
        low, high = geometry.scene_bounds(self.shapes, rest)
        self.size = float(np.linalg.norm(high - low))
        self.offsets = geometry.grid_offsets(len(worlds), spacing)
        self.shift = np.zeros(3)  # of all that is shown, m, so that what is followed stays where it is
        self.grounds: list[tuple[geometry.Shape, Any]] = []
        self.meshes: list[tuple[geometry.Shape, Any, npt.NDArray[np.float64]]] = []
        for index, shape in enumerate(self.shapes):
            wxyz = geometry.quaternion_of(shape.rotation)
            if shape.mesh is None:
                self.grounds.append((shape, add_ground(scene, f"/ground/{index}", shape, wxyz, self.size)))
                continue
            handle = add_shape(scene, f"/shapes/{index} {shape.name}", shape, shape.mesh, wxyz, self.offsets)
            self.meshes.append((shape, handle, wxyz))
        away = 1.1 * (np.linalg.norm(self.offsets.max(0) - self.offsets.min(0)) + self.size)
        self.middle = 0.5 * (low + high)
        server.initial_camera.look_at = self.middle
        server.initial_camera.position = self.middle + away * np.array([0.5, -0.55, 0.33])
        radius = 0.006 * self.size
        none = np.zeros((1, 2, 3), np.float32)
        arrows: dict[str, Any] = {"shaft_radius": radius, "head_radius": 2.4 * radius, "head_length": 6 * radius, "visible": False}
        self.forces = scene.add_arrows("/contacts/forces", none, color_bytes(geometry.FORCE_COLOR), **arrows)
        self.points = scene.add_point_cloud("/contacts/points", none[0], color_bytes(geometry.CONTACT_COLOR), point_size=3 * radius,
                                            point_shape="circle", precision="float32", visible=False)
        self.axes = scene.add_arrows("/joints", none, (0, 0, 0), **arrows)
        self.masses = scene.add_point_cloud("/masses", none[0], color_bytes(geometry.MASS_COLOR), point_size=4 * radius,
                                            point_shape="circle", precision="float32", visible=False)
        self.labels = [scene.add_label(f"/names/{body.name or i}", body.name, visible=False, anchor="bottom-center")
                       for i, body in enumerate(model.proto.bodies)]

    def draw(self, moment: Moment, shown: Shown) -> None:
        """Shows a moment.

        Parameters
        ----------
        moment : Moment
            Of these worlds.
        shown : Shown
            What of it.
        """
        frames = geometry.frame_poses(self._model, moment.body_pose, moment.mocap_pose)
        rotations = geometry.rotation_matrices(frames[..., 3:])
        row = shown.row
        self._move_to(self._centers(frames[row], rotations[row]) + self.offsets[row], shown.is_followed)
        seen = (np.arange(len(self._worlds)) == row) | (not shown.is_alone)
        scales = seen.astype(np.float32)
        for shape, handle, wxyz in self.meshes:
            if not np.array_equal(handle.batched_scales, scales):
                handle.batched_scales = scales
            if shape.frame < 0:
                continue
            poses = frames[:, shape.frame]
            handle.batched_positions = (rotations[:, shape.frame] @ shape.position + poses[:, :3] + self._places).astype(np.float32)
            handle.batched_wxyzs = geometry.quaternion_products(poses[:, 3:], wxyz).astype(np.float32)
        self._draw_bodies(frames[row], rotations[row], self._places[row], shown)
        self._draw_contacts(moment, seen, shown.contacts)

    @property
    def _places(self) -> geometry.Floats:
        """Where the origins of the worlds are shown: [n, 3] m."""
        return self.offsets + self.shift

    def _centers(self, pose: geometry.Floats, rotations: geometry.Floats) -> geometry.Floats:
        """Centres of mass of a world's bodies: [nb, 3] m."""
        bodies = [(body.center_of_mass.x, body.center_of_mass.y, body.center_of_mass.z) for body in self._model.proto.bodies]
        centers: geometry.Floats = np.einsum("bij,bj->bi", rotations[:len(bodies)], np.array(bodies).reshape(-1, 3))
        return centers + pose[:len(bodies), :3]

    def _move_to(self, centers: geometry.Floats, follows: bool) -> None:
        """Moves all that is shown so that the chosen world's centre of mass is in the middle, if it is followed."""
        masses = np.array([body.mass for body in self._model.proto.bodies])
        shift = np.zeros(3)
        if follows and masses.sum() > 0:
            shift[:2] = (self.middle - masses @ centers / masses.sum())[:2]
        if np.array_equal(shift, self.shift):
            return
        self.shift = shift
        for shape, ground in self.grounds:
            ground.position = shape.position + shift
        for shape, handle, _ in self.meshes:
            if shape.frame < 0:
                handle.batched_positions = (shape.position + self._places).astype(np.float32)

    def _draw_bodies(self, pose: geometry.Floats, rotations: geometry.Floats, offset: geometry.Floats, shown: Shown) -> None:
        middles = self._centers(pose, rotations) + offset
        show_points(self.masses, middles, shown.centers_of_mass)
        for label, middle in zip(self.labels, middles):
            label.visible = shown.names
            if shown.names:
                label.position = middle
        segments, colors = [], []
        for _, child, anchor, vectors in geometry.joint_frames(self._model) if shown.joint_axes else []:
            start = pose[child, :3] + rotations[child] @ anchor + offset
            shades = geometry.AXIS_COLORS if len(vectors) > 1 else geometry.AXIS_COLORS[2:]
            segments += [(start, start + 0.12 * self.size * (rotations[child] @ vector)) for vector in vectors]
            colors += [color_bytes(shade) for shade, _ in zip(shades, vectors)]
        if segments:
            self.axes.colors = np.array(colors, np.uint8)
        show_points(self.axes, np.array(segments), bool(segments))

    def _draw_contacts(self, moment: Moment, seen: npt.NDArray[np.bool_], wanted: bool) -> None:
        rows = {world: row for row, world in enumerate(self._worlds)}
        of = np.array([rows[int(world)] for world in moment.contacts.world], int) if moment.contacts is not None else np.zeros(0, int)
        shown = seen[of]
        if not wanted or moment.contacts is None or not shown.any():
            self.points.visible = self.forces.visible = False
            return
        starts = moment.contacts.point.reshape(-1, 3)[shown] + self._places[of[shown]]
        weight = sum(body.mass for body in self._model.proto.bodies) * float(np.linalg.norm(self._model.gravity))
        forces = geometry.forces_on_a(moment.contacts, self._dt)[shown] * (0.5 * self.size / weight if weight > 0 else 0.0)
        lengths = np.linalg.norm(forces, axis=1)
        forces *= np.minimum(1.0, 2 * self.size / np.maximum(lengths, 1e-12))[:, None]
        show_points(self.points, starts, True)
        long = lengths > 0.01 * self.size
        show_points(self.forces, np.stack([starts, starts + forces], 1)[long], bool(long.any()))
