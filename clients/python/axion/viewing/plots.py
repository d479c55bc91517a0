"""Plots, shapes, points and colours of the viewer's page."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import viser
from viser import uplot

from axion.viewing import geometry

_SLIDER_SPAN = 1.0         # of an actuator without limits, each way
_COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")


def quietly() -> contextlib.AbstractContextManager[Any]:
    """While it lasts the page's server, which has a banner of its own, prints nothing: programs read JSON there."""
    return contextlib.redirect_stdout(io.StringIO())


def empty_plot(gui: viser.GuiApi) -> Any:
    """A plot over time without lines."""
    return gui.add_uplot((np.zeros(2), np.zeros(2)), (uplot.Series(label="t"), uplot.Series(label="")),
                         scales={"x": uplot.Scale(time=False)}, aspect=1.6)


def plot_lines(plot: Any, times: npt.NDArray[np.float64], curves: npt.NDArray[np.float64], names: Sequence[str]) -> None:
    """Shows curves [names, t] over times [t], s."""
    if [series["label"] for series in plot.series[1:]] != list(names):  # a plot is made anew for other series
        plot.series = (uplot.Series(label="t, s"),
                       *(uplot.Series(label=name, stroke=color, width=1.5) for name, color in zip(names, _COLORS)))
    plot.data = (times, *(np.ascontiguousarray(curve) for curve in curves))


def show_points(handle: Any, points: npt.NDArray[Any], visible: bool) -> None:
    """Moves points [n, ..., 3] where they are visible."""
    handle.visible = visible
    if visible:
        handle.points = points.astype(np.float32)


def color_bytes(color: Sequence[float]) -> tuple[int, int, int]:
    """A colour as the page wants it: its lights are bright, and would leave pastels of what is told as it is."""
    red, green, blue = (int(round(255 * part ** 2.2)) for part in color)
    return red, green, blue


def add_ground(scene: viser.SceneApi, name: str, shape: geometry.Shape, wxyz: geometry.Floats, size: float) -> Any:
    """Adds a plane without end, with squares that suit worlds of this size, m."""
    square = geometry.ground_square(size)
    return scene.add_grid(name, infinite_grid=True, cell_size=square, section_size=5 * square, wxyz=wxyz, position=shape.position,
                          plane_color=(225, 228, 232), plane_opacity=1.0, shadow_opacity=0.3, fade_distance=60 * size)


def add_shape(scene: viser.SceneApi, name: str, shape: geometry.Shape, mesh: geometry.Mesh, wxyz: geometry.Floats,
              offsets: geometry.Floats) -> Any:
    """Adds a shape once for each world, which stand at `offsets` [n, 3]."""
    count = len(offsets)
    return scene.add_batched_meshes_simple(
        name, mesh.vertices.astype(np.float32), mesh.faces.astype(np.uint32),
        batched_wxyzs=np.tile(wxyz, (count, 1)).astype(np.float32), batched_positions=(shape.position + offsets).astype(np.float32),
        batched_scales=np.ones(count, np.float32), batched_colors=color_bytes(shape.color),
        opacity=shape.opacity if shape.opacity < 1 else None, lod="off")


def slider(gui: viser.GuiApi, actuator: Any) -> Any:
    """A slider over an actuator's range of control."""
    low, high = ((actuator.control_lower, actuator.control_upper) if actuator.control_limited
                 else (-_SLIDER_SPAN, _SLIDER_SPAN))
    start = float(np.clip(0.0, low, high))
    return gui.add_slider(actuator.name or "actuator", low, high, (high - low) / 200, start)
