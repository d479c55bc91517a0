"""What is under the pointer of a browser that looks at the viewer's page: its name is written there, and with Alt held down it is
dragged.

viser outlines a shape that can be clicked, but tells its program of clicks alone. So the page gets a few lines of script that
write where the pointer is into a field of text, which is not shown, and the ray through that point is followed here.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import viser

from axion.model import Model
from axion.viewing import geometry
from axion.viewing.geometry import Floats

_PULL = 6.0         # rad/s, of what is dragged on its spring: a twentieth of a second between frames is short beside it
_FIELD = "pointer"  # with which the value of the field of text begins
# A picture of one point, which is not shown, runs it whenever the page is made, as when its panel is folded out again.
_SCRIPT = f"""<img alt='' style='display: none' src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=' onload="
const field = [...document.querySelectorAll('input')].find(each => each.value.startsWith('{_FIELD} '));
if (!field) return;
let row = field;
while (!row.parentElement.contains(this)) row = row.parentElement;
row.style.display = 'none';
const write = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
const tell = where => {{
  const value = '{_FIELD} ' + where;
  if (field.value === value) return;
  write.call(field, value);
  field.dispatchEvent(new Event('input', {{bubbles: true}}));
}};
const place = (event, canvas) => {{
  const box = canvas.getBoundingClientRect();
  return [2 * (event.clientX - box.left) / box.width - 1, 1 - 2 * (event.clientY - box.top) / box.height, box.width / box.height]
    .map(number => number.toFixed(4)).join(' ');
}};
window.pointerListeners?.abort();
window.pointerListeners = new AbortController();
const listen = (kind, act) => document.addEventListener(kind, act, {{capture: true, signal: window.pointerListeners.signal}});
let dragged = null;
listen('pointerdown', event => {{
  if (!event.altKey || event.button || !event.target.matches('canvas[data-engine]')) return;
  dragged = event.target;
  event.stopImmediatePropagation();
  event.preventDefault();
  tell(place(event, dragged) + ' held');
}});
listen('pointermove', event => {{
  if (dragged) {{
    event.stopImmediatePropagation();
    return tell(place(event, dragged) + ' held');
  }}
  tell(event.buttons || !event.target.matches('canvas[data-engine]') ? 'away' : place(event, event.target));
}});
for (const end of ['pointerup', 'pointercancel']) listen(end, () => {{
  if (dragged) tell('away');
  dragged = null;
}});
document.documentElement.onpointerleave = () => dragged || tell('away');
">"""


@dataclasses.dataclass(frozen=True)
class Hit:
    """What a ray meets first: a shape, in which of the worlds that are shown, and where, [3] m on the page."""

    shape: geometry.Shape
    row: int
    point: Floats


@dataclasses.dataclass
class Held:
    """What a pointer drags: a body, by a point [3] of its frame, which stays as far from the camera, m, as it was."""

    row: int
    body: int
    point: Floats
    depth: float
    target: Floats               # [3] m on the page
    seen: tuple[float, Floats] | None = None  # when and where in the world the point was last, s and [3] m
    velocity: Floats = dataclasses.field(default_factory=lambda: np.zeros(3))  # of the point between what was seen, m/s

    def wrench(self, model: Model, pose: npt.ArrayLike, time: float, place: Floats) -> Floats:
        """What draws the point to where the pointer is: a spring and its critical damper.

        Parameters
        ----------
        model : Model
            Of the worlds.
        pose : array_like
            Of the body, [7].
        time : float
            Of that pose, s.
        place : numpy.ndarray
            Where the world's origin is on the page, [3] m.

        Returns
        -------
        numpy.ndarray
            Force, N, and torque about the body's centre of mass, N m: [6].
        """
        stands = np.asarray(pose, np.float64)
        rotation, com = geometry.rotation_matrices(stands[3:]), model.proto.bodies[self.body].center_of_mass
        point = rotation @ self.point + stands[:3]
        if self.seen is not None and time != self.seen[0]:
            self.velocity = (point - self.seen[1]) / (time - self.seen[0]) if time > self.seen[0] else np.zeros(3)
        if self.seen is None or time != self.seen[0]:
            self.seen = time, point
        pull = _PULL**2 * (self.target - place - point) - 2 * _PULL * self.velocity
        force = carried_mass(model, self.body) * pull
        return np.concatenate([force, np.cross(rotation @ (self.point - [com.x, com.y, com.z]), force)])


def carried_mass(model: Model, body: int) -> float:
    """Mass of a body and of all that hangs on it by joints that close no loop, kg."""
    carried, reached = {body}, -1
    while len(carried) != reached:
        reached = len(carried)
        carried |= {joint.child for joint in model.proto.joints if joint.parent in carried and not joint.closes_loop}
    return float(sum(model.proto.bodies[index].mass for index in carried))


def first_hit(planes: Sequence[geometry.Shape], placed: Sequence[tuple[geometry.Shape, Any, Floats]], origin: Floats,
              direction: Floats) -> Hit | None:
    """What a ray from a point [3] along a unit vector [3] meets first.

    Parameters
    ----------
    planes : sequence of Shape
        They hide what is behind them.
    placed : sequence of (Shape, handle, quaternion)
        Shapes with a mesh; the handle on the page has positions, rotations and sizes, a row for each world.
    origin, direction : numpy.ndarray
        Of the ray, [3] each.

    Returns
    -------
    Hit or None
        None where it meets a plane, or nothing.
    """
    reach, found = np.inf, None
    for plane in planes:
        towards = float(direction @ plane.rotation[:, 2])
        distance = float((plane.position - origin) @ plane.rotation[:, 2]) / towards if towards < 0 else np.inf
        reach = min(reach, distance) if distance > 0 else reach
    for shape, handle, _ in placed:
        assert shape.mesh is not None
        middles = np.asarray(handle.batched_positions, np.float64) - origin
        along = middles @ direction
        aside = np.linalg.norm(middles - along[:, None] * direction, axis=1)
        shown = np.asarray(handle.batched_scales).reshape(len(middles), -1)[:, 0] > 0
        for row in np.flatnonzero(shown & (aside <= shape.radius) & (along > -shape.radius) & (along - shape.radius < reach)):
            rotation = geometry.rotation_matrices(handle.batched_wxyzs[row])
            distance = _distance(shape.mesh, -middles[row] @ rotation, direction @ rotation)
            if distance < reach:
                reach, found = distance, Hit(shape, int(row), origin + distance * direction)
    return found


def _distance(mesh: geometry.Mesh, origin: Floats, direction: Floats) -> float:
    """How far a ray goes until it meets a triangle, by Möller's and Trumbore's test; infinity where it meets none."""
    corners = mesh.vertices[mesh.faces]
    edge, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(direction, other)
    volume = np.einsum("ij,ij->i", edge, across)
    from_corner = origin - corners[:, 0]
    turned = np.cross(from_corner, edge)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("ij,ij->i", from_corner, across) / volume
        v = turned @ direction / volume
        distance = np.einsum("ij,ij->i", other, turned) / volume
        met = (u >= 0) & (v >= 0) & (u + v <= 1) & (distance > 0)
    return float(distance[met].min(initial=np.inf))


def ray_through(camera: Any, x: float, y: float, aspect: float) -> tuple[Floats, Floats]:
    """The ray from a camera through a point of the picture, which reaches from -1 to 1 to the right and upwards.

    Parameters
    ----------
    camera : viser.CameraHandle
        It looks along z of its frame, and y of that is down.
    x, y : float
        The point.
    aspect : float
        Width of the picture over its height.

    Returns
    -------
    tuple of numpy.ndarray
        A point [3] and a unit vector [3].
    """
    height = np.tan(0.5 * camera.fov)
    direction = geometry.rotation_matrices(camera.wxyz) @ np.array([x * height * aspect, -y * height, 1.0])
    return np.asarray(camera.position, np.float64), direction / np.linalg.norm(direction)


class Pointers:
    """Writes the name of what is under the pointer of each browser.

    Parameters
    ----------
    server : viser.ViserServer
        Of the page.
    shapes : sequence of Shape
        All that there are.
    placed : sequence of (Shape, handle, quaternion)
        Those with a mesh, as first_hit wants them.
    name : callable
        Of a shape, in which of the worlds that are shown.
    lock : threading.RLock
        Of what the page shows.
    """

    def __init__(self, server: viser.ViserServer, shapes: Sequence[geometry.Shape],
                 placed: Sequence[tuple[geometry.Shape, Any, Floats]], name: Callable[[geometry.Shape, int], str],
                 lock: threading.RLock) -> None:
        self._planes = [shape for shape in shapes if shape.mesh is None]
        self._placed, self._name, self._lock = placed, name, lock
        self.shift: Floats = np.zeros(3)  # of the planes on the page, m
        self._fields: dict[int, tuple[viser.ClientHandle, Any, Any]] = {}
        self.held: dict[int, Held] = {}  # by the index of the browser
        server.on_client_connect(self._come)
        server.on_client_disconnect(self._go)

    def _come(self, client: viser.ClientHandle) -> None:
        field = client.gui.add_text(_FIELD, f"{_FIELD} away")
        client.gui.add_html(_SCRIPT)
        label = client.scene.add_label("/pointer", "", visible=False, anchor="bottom-center")
        with self._lock:
            self._fields[client.client_id] = client, field, label
        field.on_update(lambda _: self.look(client.client_id))
        client.camera.on_update(lambda _: self.look(client.client_id))

    def _go(self, client: viser.ClientHandle) -> None:
        with self._lock:
            self._fields.pop(client.client_id, None)
            self.held.pop(client.client_id, None)

    def look_all(self) -> None:
        """Looks again at what is under every pointer: worlds have moved."""
        for index in list(self._fields):
            self.look(index)

    def look(self, index: int) -> None:
        """Looks at what is under the pointer of the browser of this index."""
        with self._lock:
            if index not in self._fields:
                return
            client, field, label = self._fields[index]
            self._drag(index, client, field.value)
            hit = None if index in self.held else self._under(client, field.value)
            label.visible = hit is not None
            if hit is not None:
                label.text, label.position = self._name(hit.shape, hit.row), hit.point

    def _drag(self, index: int, client: viser.ClientHandle, told: str) -> None:
        ray = self._ray(client, told)
        if ray is None or not told.endswith(" held"):
            self.held.pop(index, None)
            return
        origin, direction = ray
        ahead = geometry.rotation_matrices(client.camera.wxyz)[:, 2]
        held = self.held.get(index)
        if held is None:
            hit = self._under(client, told)
            if hit is None or hit.shape.frame < 0:
                return
            self.held[index] = held = Held(hit.row, hit.shape.frame, hit.point, float((hit.point - origin) @ ahead), hit.point)
            held.point = self._in_frame(hit.row, hit.shape, hit.point)
        held.target = origin + direction * (held.depth / float(direction @ ahead))

    def _in_frame(self, row: int, shape: geometry.Shape, point: Floats) -> Floats:
        """A point of the page in the frame of the body of a shape."""
        handle, = (handle for placed, handle, _ in self._placed if placed is shape)
        in_mesh = (point - np.asarray(handle.batched_positions, np.float64)[row]) @ geometry.rotation_matrices(handle.batched_wxyzs[row])
        return np.asarray(shape.rotation @ in_mesh + shape.position, dtype=np.float64)

    @staticmethod
    def _ray(client: viser.ClientHandle, told: str) -> tuple[Floats, Floats] | None:
        try:
            x, y, aspect = (float(number) for number in told.split()[1:4])
        except ValueError:  # it is away, or somebody wrote into the field
            return None
        return ray_through(client.camera, x, y, aspect) if np.isfinite([x, y, aspect]).all() else None

    def _under(self, client: viser.ClientHandle, told: str) -> Hit | None:
        ray = self._ray(client, told)
        if ray is None:
            return None
        planes = [dataclasses.replace(plane, position=plane.position + self.shift) for plane in self._planes]
        return first_hit(planes, self._placed, *ray)
