"""Mass, centre and inertia of what collides, and places in stages: parts of usd.py in NumPy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"


def rotation_of(quaternion: Sequence[float]) -> Floats:
    """The matrix of a quaternion w, x, y, z of any length above zero."""
    w, x, y, z = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def quaternion_of(rotation: Floats) -> list[float]:
    """The quaternion w, x, y, z of a rotation, w >= 0."""
    trace = float(np.trace(rotation))
    squares = np.array([1 + trace, *(1 + 2 * rotation[i, i] - trace for i in range(3))]) / 4
    most = int(np.argmax(squares))
    if most == 0:
        parts = [squares[0], *((rotation[k, j] - rotation[j, k]) / 4 for j, k in ((1, 2), (2, 0), (0, 1)))]
    else:
        i, j, k = most - 1, most % 3, (most + 1) % 3
        parts = [0.0] * 4
        parts[0], parts[most] = (rotation[k, j] - rotation[j, k]) / 4, squares[most]
        parts[j + 1], parts[k + 1] = (rotation[i, j] + rotation[j, i]) / 4, (rotation[i, k] + rotation[k, i]) / 4
    values = np.array(parts, dtype=float) / math.sqrt(squares[most])
    return [float(value) for value in (values if values[0] >= 0 else -values) / np.linalg.norm(values)]


@dataclasses.dataclass(frozen=True)
class Place:
    """A frame in another: rotation [3, 3] and position [3], m."""

    rotation: Floats
    position: Floats

    def __matmul__(self, inner: Place) -> Place:
        return Place(self.rotation @ inner.rotation, self.position + self.rotation @ inner.position)

    def inverse(self) -> Place:
        return Place(self.rotation.T, -self.rotation.T @ self.position)


HERE = Place(np.eye(3), np.zeros(3))


@dataclasses.dataclass(frozen=True)
class Mass:
    """kg, centre of mass [3] (m), and inertia about it [3, 3] (kg m^2), in one frame."""

    mass: float
    center: Floats
    inertia: Floats

    def seen_from(self, place: Place) -> Mass:
        """In the frame that the own one has this place in."""
        return Mass(self.mass, place.position + place.rotation @ self.center, place.rotation @ self.inertia @ place.rotation.T)

    def scaled_to(self, mass: float) -> Mass:
        """Of the same form and another mass."""
        return Mass(mass, self.center, self.inertia * (mass / self.mass))


def _steiner(mass: float, way: Floats) -> Floats:
    return mass * (way @ way * np.eye(3) - np.outer(way, way))


def sum_of(parts: Sequence[Mass]) -> Mass:
    """All as one."""
    mass = sum(part.mass for part in parts)
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
    return Mass(mass, center, sum((part.inertia + _steiner(part.mass, part.center - center) for part in parts), np.zeros((3, 3))))


def solid(kind: str, size: Sequence[float]) -> Mass:
    """Of density 1, at its own centre, along z: a box (half extents), ellipsoid (semi-axes), cylinder or capsule (radius, half length)."""
    if kind == "box":
        x, y, z = size
        mass, square = 8 * x * y * z, np.array([x, y, z])**2 / 3
    elif kind in ("ellipsoid", "sphere"):
        x, y, z = size if kind == "ellipsoid" else (size[0],) * 3
        mass, square = 4 / 3 * math.pi * x * y * z, np.array([x, y, z])**2 / 5
    else:
        radius, half = size[:2]
        ends = 4 / 3 * math.pi * radius**3 if kind == "capsule" else 0.0
        middle = 2 * math.pi * radius**2 * half
        mass = middle + ends
        across = (middle * radius**2 / 4 + ends * radius**2 / 5) / mass
        # A half sphere has its centre at 3/8 of its radius.
        along = (middle * half**2 / 3 + ends * (radius**2 / 5 + half**2 + 3 / 4 * half * radius)) / mass
        square = np.array([across, across, along])
    return Mass(mass, np.zeros(3), mass * np.diag(square.sum() - square))


def solid_of_mesh(points: Floats, triangles: npt.NDArray[np.int64]) -> Mass | None:
    """Of density 1, of a closed surface, whichever way round its triangles go; None for one that encloses nothing or has holes.

    Tetrahedra of each triangle and the origin, with their second moments (Tonon 2004).
    """
    a, b, c = (points[triangles[:, k]] for k in range(3))
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    volume = float(volumes.sum())
    areas = np.cross(b - a, c - a)
    if abs(volume) < 1e-15 or np.linalg.norm(areas.sum(axis=0)) > 1e-4 * np.linalg.norm(areas, axis=1).sum():
        return None
    sums = a + b + c
    center = (volumes[:, None] * sums).sum(axis=0) / (4 * volume)
    corners = np.stack([a, b, c])
    second = np.einsum("i,kij,kil->jl", volumes, corners, corners) + np.einsum("i,ij,il->jl", volumes, sums, sums)
    second = second / 20 * np.sign(volume)
    moments = second - abs(volume) * np.outer(center, center)
    return Mass(abs(volume), center, np.trace(moments) * np.eye(3) - moments)


def triangles_of(counts: Sequence[int], indices: Sequence[int]) -> npt.NDArray[np.int64]:
    """Of faces with so many corners each, one after the other: [n, 3]."""
    made, at = [], 0
    for count in counts:
        made += [(indices[at], indices[at + k], indices[at + k + 1]) for k in range(1, count - 1)]
        at += count
    return np.array(made, dtype=np.int64).reshape(-1, 3)
