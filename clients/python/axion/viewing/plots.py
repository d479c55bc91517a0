"""Plots, points and colours of the viewer's page."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import viser
from viser import uplot

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


def slider(gui: viser.GuiApi, actuator: Any) -> Any:
    """A slider over an actuator's range of control."""
    low, high = ((actuator.control_lower, actuator.control_upper) if actuator.control_limited
                 else (-_SLIDER_SPAN, _SLIDER_SPAN))
    start = float(np.clip(0.0, low, high))
    return gui.add_slider(actuator.name or "actuator", low, high, (high - low) / 200, start)
