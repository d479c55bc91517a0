"""Pictures of triangles by rays, on the processor: a sun with shadows, a ground without end, edges smoothed.

Embree finds what each ray meets; light and colours are NumPy's. No window system, no OpenGL and no driver takes part, so
that pictures come out on any server, container or test machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from embreex import rtcore_scene  # type: ignore[import-untyped, unused-ignore]
from embreex.mesh_construction import TriangleMesh  # type: ignore[import-untyped, unused-ignore]

from axion.viewing.geometry import Floats, Ints, Mesh

_SUN = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])
_SKY_LOW, _SKY_HIGH = np.array([0.93, 0.95, 0.98]), np.array([0.62, 0.74, 0.88])
_GROUND_LIGHT, _GROUND_DARK = np.array([0.80, 0.82, 0.84]), np.array([0.70, 0.73, 0.76])
_AMBIENT, _DIFFUSE, _SHINE = 0.42, 0.62, 0.16


@dataclasses.dataclass(frozen=True)
class Camera:
    """A free camera, by MuJoCo's convention: it looks at a point from a distance.

    Parameters
    ----------
    azimuth : float, default 135.0
        deg, of the direction of sight about z; 0 looks along x, 90 along y.
    elevation : float, default -22.0
        deg, of the direction of sight above the horizon; negative looks down.
    distance : float, optional
        m; None for what shows everything.
    look_at : tuple[float, float, float], optional
        m: [3]; None for the middle of what is shown.
    track : str, optional
        Name of a body that the point of sight moves with; look_at is then relative to it.
    field_of_view : float, default 40.0
        deg, of the height of the picture.
    """

    azimuth: float = 135.0
    elevation: float = -22.0
    distance: float | None = None
    look_at: tuple[float, float, float] | None = None
    track: str | None = None
    field_of_view: float = 40.0

    def axes(self) -> tuple[Floats, Floats, Floats]:
        """Computes where forward, right and up are.

        Returns
        -------
        tuple of numpy.ndarray
            Three unit vectors [3].
        """
        azimuth, elevation = np.radians([self.azimuth, self.elevation])
        forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
        right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
        return forward, right, np.cross(right, forward)


@dataclasses.dataclass(frozen=True)
class Surface:
    """A mesh with its colour, red, green and blue from 0 to 1. is_mark: seen through what is not, and without a shadow."""

    mesh: Mesh
    color: tuple[float, float, float]
    is_mark: bool = False


@dataclasses.dataclass(frozen=True)
class Ground:
    """A plane without end: a point of it [3], its unit normal [3], the size of its squares, m."""

    point: Floats
    normal: Floats
    square: float = 0.5


@dataclasses.dataclass(frozen=True)
class _Triangles:
    """What rays meet, with the normals [f, 3, 3] at corners and the colour [f, 3] of each."""

    scene: rtcore_scene.EmbreeScene
    normals: Floats
    colors: Floats

    @staticmethod
    def of(surfaces: Sequence[Surface]) -> _Triangles | None:
        kept = [surface for surface in surfaces if len(surface.mesh.faces)]
        if not kept:
            return None
        scene = rtcore_scene.EmbreeScene()
        corners = np.concatenate([surface.mesh.vertices[surface.mesh.faces] for surface in kept])
        TriangleMesh(scene, corners.astype(np.float32))
        colors = np.repeat(np.array([surface.color for surface in kept], np.float64),
                           [len(surface.mesh.faces) for surface in kept], axis=0)
        return _Triangles(scene, np.concatenate([surface.mesh.normals[surface.mesh.faces] for surface in kept]), colors)


class Picture:
    """What rays see of surfaces and grounds, from a point along the axes of a camera."""

    def __init__(self, surfaces: Sequence[Surface], grounds: Sequence[Ground]) -> None:
        self._grounds = grounds
        self._solid = _Triangles.of([surface for surface in surfaces if not surface.is_mark])
        self._marks = _Triangles.of([surface for surface in surfaces if surface.is_mark])

    def seen(self, eye: Floats, forward: Floats, right: Floats, up: Floats, field_of_view: float, width: int, height: int,
             samples: int) -> npt.NDArray[np.uint8]:
        """The picture: uint8 [height, width, 3]. samples: rays of a pixel, across and down."""
        columns, rows = width * samples, height * samples
        scale = np.tan(np.radians(field_of_view) / 2)
        x = (2 * (np.arange(columns) + 0.5) / columns - 1) * scale * width / height
        y = (1 - 2 * (np.arange(rows) + 0.5) / rows) * scale
        out = np.empty((height, width, 3), np.uint8)
        band = max(1, (1 << 19) // (columns * samples))  # rows of pixels at once, so that memory stays small
        for first in range(0, height, band):
            last = min(height, first + band)
            part = y[first * samples:last * samples]
            rays = forward + x[None, :, None] * right + part[:, None, None] * up
            rays = rays.reshape(-1, 3)
            rays /= np.linalg.norm(rays, axis=1, keepdims=True)
            colors = self._colors_of(eye, rays).reshape(last - first, samples, width, samples, 3).mean((1, 3))
            out[first:last] = np.clip(colors * 255 + 0.5, 0, 255).astype(np.uint8)
        return out

    def _colors_of(self, eye: Floats, rays: Floats) -> Floats:
        reach = np.full(len(rays), np.inf)
        up = np.clip(rays[:, 2], 0, 1)[:, None] ** 0.6
        colors = _SKY_LOW * (1 - up) + _SKY_HIGH * up
        for ground in self._grounds:
            self._draw_ground(ground, eye, rays, reach, colors)
        if self._solid is not None:
            self._draw_triangles(self._solid, eye, rays, reach, colors)
        if self._marks is not None:
            self._draw_triangles(self._marks, eye, rays, np.full(len(rays), np.inf), colors, shaded=False)
        return colors

    def _draw_ground(self, ground: Ground, eye: Floats, rays: Floats, reach: Floats, colors: Floats) -> None:
        towards = rays @ ground.normal
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = ((ground.point - eye) @ ground.normal) / towards
        hit = np.flatnonzero((distance > 0) & (distance < reach) & (towards < 0))
        if not len(hit):
            return
        points = eye + distance[hit, None] * rays[hit]
        helper = np.array([1.0, 0, 0]) if abs(ground.normal[0]) < 0.9 else np.array([0, 1.0, 0])
        across = helper - (helper @ ground.normal) * ground.normal
        across /= np.linalg.norm(across)
        along = np.cross(ground.normal, across)
        squares = np.floor(points @ across / ground.square) + np.floor(points @ along / ground.square)
        made = np.where((squares % 2 == 0)[:, None], _GROUND_LIGHT, _GROUND_DARK)
        lit = _AMBIENT + _DIFFUSE * np.clip(ground.normal @ _SUN, 0, 1) * self._sunlit(points, ground.normal[None, :])
        made = made * lit[:, None]
        far = np.clip(distance[hit] / (60 * ground.square) - 0.4, 0, 1)[:, None]  # squares smaller than a pixel are haze
        colors[hit] = made * (1 - far) + colors[hit] * far
        reach[hit] = distance[hit]

    def _draw_triangles(self, triangles: _Triangles, eye: Floats, rays: Floats, reach: Floats, colors: Floats,
                        shaded: bool = True) -> None:
        found = triangles.scene.run(np.broadcast_to(eye, rays.shape).astype(np.float32), rays.astype(np.float32), output=1)
        hit = np.flatnonzero((found["primID"] >= 0) & (found["tfar"] < reach))
        if not len(hit):
            return
        faces: Ints = found["primID"][hit].astype(np.int64)
        u, v = found["u"][hit, None].astype(np.float64), found["v"][hit, None].astype(np.float64)
        corners = triangles.normals[faces]
        normals = corners[:, 0] * (1 - u - v) + corners[:, 1] * u + corners[:, 2] * v
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        sight = rays[hit]
        normals = np.where((np.einsum("ij,ij->i", normals, sight) > 0)[:, None], -normals, normals)  # seen from within
        points = eye + found["tfar"][hit, None] * sight
        facing = np.clip(normals @ _SUN, 0, 1)
        if shaded:
            facing = facing * self._sunlit(points, normals)
        sky = 0.75 + 0.25 * normals[:, 2]
        mirrored = np.clip(np.einsum("ij,j->i", sight - 2 * np.einsum("ij,ij->i", sight, normals)[:, None] * normals, _SUN), 0, 1)
        light = (_AMBIENT * sky + _DIFFUSE * facing)[:, None]
        colors[hit] = triangles.colors[faces] * light * 1.05 + (_SHINE * mirrored ** 24 * (facing > 0))[:, None]
        reach[hit] = found["tfar"][hit]

    def _sunlit(self, points: Floats, normals: Floats) -> Floats:
        """1 where the sun reaches a point, 0 in shadow."""
        if self._solid is None:
            return np.ones(len(points))
        start = (points + 1e-4 * normals * (1 + np.abs(points).max(1, keepdims=True))).astype(np.float32)
        blocked = self._solid.scene.run(start, np.broadcast_to(_SUN, start.shape).astype(np.float32), query="OCCLUDED")
        return np.asarray(np.where(np.asarray(blocked) == 0, 0.0, 1.0), dtype=np.float64)
