"""Worlds in a browser, over viser: one page that the package brings along, so that it works without a network."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import viser

from axion.errors import AxionError, NotFoundError
from axion.viewing import geometry
from axion.viewing.labels import STATISTICS, names_of
from axion.viewing.movie import Recorder
from axion.viewing.plots import empty_plot, plot_lines, quietly, slider
from axion.viewing.pointer import Pointers
from axion.viewing.source import Moment, model_of, moments
from axion.viewing.stage import Shown, Stage
from axion.watch import Watch

if TYPE_CHECKING:
    from axion.batch import Batch

_MOST_SHOWN = 64           # worlds that are shown where nobody says which
_PLOT_POINTS = 300         # of a curve
_PLOT_SECONDS = 0.2        # between updates of the plots
_LINES = 8                 # of a plot


class Viewer:
    """A page that shows worlds of a batch, at `url`; axion.view makes it.

    It looks on while somebody else steps: it renews no lease and what it shows costs who steps at most a fiftieth.
    Its buttons step and reset the batch, for whoever has it alone. close() ends it, as does leaving it as a context
    manager.

    Parameters
    ----------
    batch : Batch
        Anybody's.
    worlds : sequence of int, optional
        Which; None: the first 64.
    host : str, default '127.0.0.1'
        Where the page is served.
    port : int, default 8080
        Likewise; another free port where that one is taken.
    rate : float, default 30.0
        Frames a second at most.
    spacing : float, optional
        m between worlds on the grid; None: as far as they reach.

    Raises
    ------
    ValueError
        The worlds or the rate make no sense.
    """

    def __init__(self, batch: Batch, worlds: Sequence[int] | None = None, host: str = "127.0.0.1", port: int = 8080,
                 rate: float = 30.0, spacing: float | None = None) -> None:
        self.batch, self.model = batch, model_of(batch)
        self.worlds = list(range(min(batch.world_count, _MOST_SHOWN))) if worlds is None else [int(world) for world in worlds]
        if not self.worlds or min(self.worlds) < 0 or max(self.worlds) >= batch.world_count or len(set(self.worlds)) < len(self.worlds):
            raise ValueError(f"worlds: {self.worlds} are not distinct worlds of the {batch.world_count}")
        if not 0 < rate <= 1000:
            raise ValueError(f"rate: {rate} frames a second is not above 0 and at most 1000")
        self._rate = rate
        self._lock = threading.RLock()  # of what the page shows
        self._ended, self._renewed = threading.Event(), threading.Event()
        self._watch: Watch | None = None
        self._moment: Moment | None = None
        self._history: deque[tuple[float, npt.NDArray[Any], Any]] = deque(maxlen=_PLOT_POINTS)
        self._plotted = 0.0
        self._was_dragged = False  # worlds keep the forces of what was dragged
        with quietly():
            self._server = viser.ViserServer(host=host, port=port, label=f"Axion: {batch.name}", verbose=False)
        self.url = f"http://{host}:{self._server.get_port()}"
        self._recorder: Recorder | None = None
        self._stage = Stage(self._server, self.model, self.worlds, batch.dt, spacing)
        for shape, handle, _ in self._stage.meshes:
            handle.on_click(self._on_click(shape))
        self._pointers = Pointers(self._server, self._stage.shapes, self._stage.meshes, self._name_of, self._lock)
        self._make_page()
        self._threads = [threading.Thread(target=run, name=f"axion-view-{run.__name__}", daemon=True)
                         for run in (self._look, self._drive)]
        for thread in self._threads:
            thread.start()

    def __repr__(self) -> str:
        return f"<axion.Viewer {self.url}: {len(self.worlds)} worlds of {self.batch.name}>"

    def _repr_html_(self) -> str:
        """The page in a notebook, which a browser of this machine shows."""
        return f'<a href="{self.url}" target="_blank">{self.url}</a><br><iframe src="{self.url}" width="100%" height="480"></iframe>'

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the batch is gone or the viewer is closed.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most; None waits on.

        Returns
        -------
        bool
            False if that time passed first.
        """
        return self._ended.wait(timeout)

    def run(self, steps: bool) -> None:
        """Steps the batch from here, at the speed of the page's slider, or no more.

        Parameters
        ----------
        steps : bool
            Whether it is stepped.
        """
        self._runs.value = steps

    def follow(self, follows: bool) -> None:
        """Keeps the chosen world in the middle of the page wherever it goes, or leaves the page where it is.

        Parameters
        ----------
        follows : bool
            Whether it is kept there.
        """
        self._follows.value = follows

    def close(self) -> None:
        """Takes the page away; the batch stays."""
        self._ended.set()
        self._look_anew()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(10)
        with quietly():
            self._server.stop()

    def _on_click(self, shape: geometry.Shape) -> Callable[[Any], None]:
        def chosen(event: Any) -> None:
            self._world.value = str(self.worlds[event.instance_index or 0])
            event.client.add_notification("chosen", self._name_of(shape, event.instance_index or 0), auto_close_seconds=4)
        return chosen

    def _name_of(self, shape: geometry.Shape, row: int) -> str:
        body = geometry.frame_names(self.model)[shape.frame] if shape.frame >= 0 else "world"
        return f"world {self.worlds[row]}, body {body or '(no name)'}, shape {shape.name or '(no name)'}"

    def _draw(self, moment: Moment) -> None:
        row = self.worlds.index(int(self._world.value))
        shown = Shown(row, self._shows_one.value, self._follows.value, self._shows_contacts.value, self._shows_joints.value,
                      self._shows_masses.value, self._shows_names.value)
        with self._server.atomic():
            self._stage.draw(moment, shown)
            self._told.content = (f"**t** {moment.time[row]:.3f} s · **step** {moment.step_index[row]}"
                                  + (f" · {moment.dropped} frames dropped" if moment.dropped else ""))
            self._pointers.shift = self._stage.shift
            self._pointers.look_all()

    # ---- The page ----

    def _make_page(self) -> None:
        gui = self._server.gui
        self._told = gui.add_markdown("waits for the first frame")
        with gui.add_folder("Run"):
            self._freezes = gui.add_checkbox("freeze the picture", False, hint="The worlds go on.")
            self._runs: Any = gui.add_checkbox("step from here", False, hint="For a batch that nobody else steps.")
            self._speed = gui.add_slider("speed", 0.01, 2.0, 0.01, 1.0, hint="Simulated seconds a second.")
            self._button("single step", lambda: self._step(1))
            keyframes = ["(initial state)", *self.model.keyframes]
            self._keyframe = gui.add_dropdown("start at", keyframes, initial_value=keyframes[1 if len(keyframes) > 1 else 0])
            self._button("reset all worlds", self._reset)
        with gui.add_folder("Show"):
            self._world: Any = gui.add_dropdown("world", [str(world) for world in self.worlds])
            self._shows_one = self._choice("only this world")
            self._follows = self._choice("follow this world")
            self._shows_contacts = self._choice("contacts and forces", anew=True)
            self._shows_joints = self._choice("joint axes")
            self._shows_masses = self._choice("centres of mass")
            self._shows_names = self._choice("names")
            self._world.on_update(lambda _: self._chosen())
        self._make_plots(gui)
        if self.model.control_count:
            with gui.add_folder("Actuators", expand_by_default=False):
                self._uses_sliders = gui.add_checkbox("apply to steps from here", False)
                self._sliders = [slider(gui, actuator) for actuator in self.model.proto.actuators]
        with gui.add_folder("Record", expand_by_default=False):
            self._format = gui.add_dropdown("format", ["mp4", "gif", "mcap"])
            self._record_button = gui.add_button("record")
            self._record_button.on_click(self._on_record)

    def _make_plots(self, gui: viser.GuiApi) -> None:
        sizes = {info.name: int(np.prod(info.shape, dtype=int)) for info in self.batch.proto.fields}
        fields = [name for name in sizes if name not in ("body_pose", "step_index", "time", "outcome") and sizes[name]]
        with gui.add_folder("Plots"):
            self._field = gui.add_dropdown("field", fields)
            self._first = gui.add_number("from number", 0, min=0, step=1, hint=f"{_LINES} numbers of it are drawn.")
            self._statistic = gui.add_dropdown("solver", STATISTICS)
            self._field_plot, self._solver_plot = empty_plot(gui), empty_plot(gui)
            self._field.on_update(lambda _: self._look_anew())
            self._statistic.on_update(lambda _: self._history.clear())

    def _button(self, label: str, act: Callable[[], None]) -> None:
        def pressed(event: Any) -> None:
            try:
                act()
            except AxionError as error:
                self._tell(event.client, error)
        self._server.gui.add_button(label).on_click(pressed)

    def _choice(self, label: str, anew: bool = False) -> Any:
        box = self._server.gui.add_checkbox(label, False)
        box.on_update(lambda _: self._look_anew() if anew else self._redraw())
        return box

    def _tell(self, client: viser.ClientHandle | None, error: Exception) -> None:
        for each in [client] if client is not None else list(self._server.get_clients().values()):
            each.add_notification(type(error).__name__, str(error), color="red")

    def _chosen(self) -> None:
        self._history.clear()
        self._redraw()

    def _redraw(self) -> None:
        with self._lock:
            if self._moment is not None:
                self._draw(self._moment)

    def _plot(self, moment: Moment) -> None:
        row = self.worlds.index(int(self._world.value))
        if self._field.value not in moment.fields:
            return  # it was asked for before another field was chosen
        values = np.asarray(moment.fields[self._field.value][row], np.float64).reshape(-1)
        statistic = getattr(moment.statistics, self._statistic.value)[row] if moment.statistics is not None else 0.0
        if self._history and (moment.time[row] < self._history[-1][0] or len(self._history[-1][1]) != len(values)):
            self._history.clear()  # it was reset, or shows something else
        self._history.append((float(moment.time[row]), values, float(statistic)))
        if len(self._history) < 2 or time.monotonic() < self._plotted + _PLOT_SECONDS:
            return
        self._plotted = time.monotonic()
        times = np.array([at for at, _, _ in self._history])
        curves = np.stack([numbers for _, numbers, _ in self._history], 1)
        first = int(np.clip(self._first.value, 0, max(0, len(curves) - 1)))
        names = names_of(self.model, self._field.value, len(curves))[first:first + _LINES]
        plot_lines(self._field_plot, times, curves[first:first + _LINES], names)
        plot_lines(self._solver_plot, times, np.array([[value for _, _, value in self._history]]), [self._statistic.value])

    # ---- What happens ----

    def _look_anew(self) -> None:
        """The stream of frames has to show something else."""
        self._history.clear()
        self._renewed.set()
        if self._watch is not None:
            self._watch.close()

    @contextlib.contextmanager
    def _watching(self) -> Iterator[Iterator[Moment]]:
        stream = moments(self.batch, self.worlds, [self._field.value], self._rate, self._shows_contacts.value)
        with stream as (watch, frames):
            self._watch = watch
            yield frames

    def _look(self) -> None:
        while not self._ended.is_set():
            self._renewed.clear()
            try:
                with self._watching() as frames:
                    for moment in frames:
                        if self._ended.is_set() or self._renewed.is_set():
                            break
                        if not self._freezes.value:
                            self._take(moment)
            except NotFoundError as error:
                self._told.content = f"**{self.batch.name} is gone.** {error.message}"
                self._ended.set()
            except AxionError as error:
                self._told.content = f"**no frames:** {error.message}"
                self._ended.wait(1.0)

    def _take(self, moment: Moment) -> None:
        with self._lock:
            self._moment = moment
            self._draw(moment)
            self._plot(moment)
            if self._recorder is not None:
                self._recorder.take(moment, self._stage.shift)

    def _control(self) -> npt.NDArray[np.float64] | None:
        if not self.model.control_count or not self._uses_sliders.value:
            return None
        return np.array([float(slider.value) for slider in self._sliders])

    def _dragged(self) -> npt.NDArray[np.float64] | None:
        """Forces and torques of what pointers drag, [world_count, nb, 6]; zeros once they have let go, None where none did."""
        with self._lock:
            moment, bodies = self._moment, self.model.body_count
            held = [each for each in self._pointers.held.values() if each.body < bodies]
            if moment is None or not (held or self._was_dragged):
                return None
            wrench = np.zeros((self.batch.world_count, bodies, 6))
            for each in held:
                place = self._stage.offsets[each.row] + self._stage.shift
                wrench[self.worlds[each.row], each.body] += each.wrench(self.model, moment.body_pose[each.row, each.body],
                                                                       float(moment.time[each.row]), place)
            self._was_dragged = bool(held)
            return wrench

    def _step(self, count: int) -> None:
        self.batch.step(control=self._control(), steps=count, body_wrench=self._dragged())

    def _reset(self) -> None:
        name = self._keyframe.value
        self.batch.reset(keyframe="" if name == "(initial state)" else name)

    def _drive(self) -> None:
        """Steps while that is wanted, as fast as the slider says and the server can."""
        owed, last = 0.0, time.monotonic()
        while not self._ended.wait(0.25 * min(1 / self._rate, 0.1)):
            now = time.monotonic()
            owed, last = min(owed + (now - last) * self._speed.value / self.batch.dt, 0.25 / self.batch.dt), now
            if not self._runs.value:
                owed = 0.0
            elif owed >= 1:
                try:
                    self._step(int(owed))
                    owed -= int(owed)
                except AxionError as error:
                    self._runs.value = False
                    self._tell(None, error)

    def _on_record(self, event: Any) -> None:
        with self._lock:
            recorder, self._recorder = self._recorder, None
            if recorder is None:
                camera = event.client.camera
                self._recorder = Recorder(self.model, self.worlds, self.batch.dt, self._stage.offsets, self._rate)
                self._recorder.look(camera.position, camera.look_at, camera.fov, self._shows_contacts.value)
                self._record_button.label = "stop and save"
                return
        self._record_button.label, self._record_button.disabled = "rendering", True
        try:
            name, content = recorder.movie(self._format.value)
            event.client.send_file_download(name, content)
        except ValueError as error:
            self._tell(event.client, error)
        finally:
            self._record_button.label, self._record_button.disabled = "record", False


def view(batch: Batch, worlds: Sequence[int] | None = None, *, host: str = "127.0.0.1", port: int = 8080, rate: float = 30.0,
         spacing: float | None = None) -> Viewer:
    """Shows worlds of a batch in a browser.

    Whoever reaches the page can step and reset the batch.

    Parameters
    ----------
    batch : Batch
        Anybody's.
    worlds : sequence of int, optional
        Which; None: the first 64. They stand on a grid.
    host : str, default '127.0.0.1'
        Where the page is served.
    port : int, default 8080
        Likewise; another free port where that one is taken.
    rate : float, default 30.0
        Frames a second at most.
    spacing : float, optional
        m between worlds; None: as far as they reach.

    Returns
    -------
    Viewer
        The page, whose `url` says where it is.

    Raises
    ------
    ValueError
        The worlds or the rate make no sense.
    AxionError
        The batch is gone.
    """
    return Viewer(batch, worlds, host, port, rate, spacing)
