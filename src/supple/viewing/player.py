"""A result in a page, with play, pause and scrub."""

from __future__ import annotations

import threading
import time as clock
from typing import Any

from supple.simulating.result import Result
from supple.simulating.state import State
from supple.viewing.growing import LOOKS, Growing
from supple.viewing.joints import Joints
from supple.viewing.panel import Floats, Panel, PlayButton, speed_control
from supple.viewing.plots import Plots
from supple.viewing.reached import motion
from supple.viewing.scenery import Scenery
from supple.viewing.timeline import HOLD, Timeline

RATE = 30.0  #: pictures a second, at most
PLOTS = 0.2  #: seconds between those of the plots, while it plays


class Player:
    """Everything is drawn by one thread, that of `run`; what happens in the page only says what is wanted.

    Of a recording that is still being written there is more and more; a page that is at its end stays there.
    """

    def __init__(self, server: Any, result: Result, rods: Floats | None = None, posed: bool = False) -> None:
        """posed: its joints may be moved, and there is nothing to plot."""
        self.timeline, self._growing = Timeline(result), Growing(result)
        self._wanted = threading.Event()
        self._stopped, self._plotted = False, 0.0
        self._watched = False  #: whether somebody has opened the page: until then, it does not play
        self._frame = 0  #: the one that is drawn
        self._clock = (0.0, 0.0)  #: when playing began, and the time of the run then
        gui, n = server.gui, len(self.timeline)
        self._panel = Panel(server, self.timeline.active is not None, self._wanted.set)
        self._panel.measure, self._panel.about = result.measure or "", result.about
        stage = self._panel.stage
        stage.rods, stage.largest_error = rods, self.timeline.largest_error
        #: while a recording is written, nobody knows how many contacts it will have, nor how strong they will be
        self._so_far = self._growing.goes_on and isinstance(result.about.get("shapes"), list)
        model, known = self.timeline.segments[0].model, (result.forces, result.ground)
        stage.scenery = Scenery.going_on(model, *known, result.others) if self._so_far else Scenery.of(result)
        with gui.add_folder("Timeline") as timeline:
            self._slider = gui.add_slider("frame", 0, max(n - 1, 1), 1, 0, disabled=n < 2)
            self._play = PlayButton(gui, n > 1, self._begin)
            self._loop = gui.add_checkbox("repeat", True)
            self._speed = speed_control(gui, self.timeline.speed)
        timeline.visible = n > 1 or not posed
        self._panel.add_view()
        self._panel.add_body()
        self._joints = Joints(gui, self.timeline.segments[0].model, self._wanted.set) if posed else None
        self._plots: Plots | None = None
        if not posed:
            with gui.add_folder("Plots"):
                units = self.timeline.segments[0].model.units
                self._plots = Plots(gui, curves(self.timeline), units, result.about, result.measure or "")
        self._slider.on_update(lambda event: self._seek(event))
        self._speed.on_update(lambda _: self._begin())
        self._draw(0)
        self._panel.begin(self.timeline.segments[0].model, motion(self.timeline, rods, stage.scenery))
        server.on_client_connect(lambda _: self._opened())

    @property
    def missing(self) -> list[str]:
        """What could not be drawn, and why."""
        return self._panel.stage.missing

    def run(self) -> None:
        """Until stop(), or Ctrl-C."""
        took = 0.0
        try:
            while not self._stopped:
                idle = LOOKS if self._growing.goes_on else None
                asked = self._wanted.wait(max(1e-3, 1.0 / RATE - took) if self._play.playing else idle)
                self._wanted.clear()
                begun = clock.perf_counter()
                self._grow()
                frame = self._due() if self._play.playing else int(self._slider.value)
                if asked or frame != self._frame:
                    self._draw(frame)
                if self._play.playing and self._slider.value != self._frame:  # not after a pause meanwhile
                    self._slider.value = self._frame
                took = clock.perf_counter() - begun
        finally:
            self._growing.close()

    def stop(self) -> None:
        self._stopped = True
        self._wanted.set()

    def _grow(self) -> None:
        """More states, if there are."""
        longer = self._growing.longer()
        if longer is None:
            return
        at_end = self._frame >= len(self.timeline) - 1
        self.timeline.renew(longer)
        last = len(self.timeline) - 1
        self._slider.max, self._slider.disabled = last, last < 1
        self._panel.stage.largest_error = self.timeline.largest_error
        stage = self._panel.stage
        self._panel.cameras.more(motion(self.timeline, stage.rods, stage.scenery))
        if self._plots is not None:
            self._plots.renew(curves(self.timeline), float(self.timeline.times[self._frame]))
        if at_end and not self._play.playing:
            self._slider.value = last

    def _opened(self) -> None:
        """It opens playing: from its beginning for whoever comes first."""
        if self._play.playing and not self._watched:
            self._watched = True
            self._begin()

    def _seek(self, event: Any) -> None:
        if event.client is not None:  # by hand, not by playing
            self._frame_time(int(self._slider.value))
            self._wanted.set()

    def _begin(self) -> None:
        here = int(self._slider.value)
        self._frame_time(0 if here >= len(self.timeline) - 1 else here)
        self._wanted.set()

    def _frame_time(self, frame: int) -> None:
        self._clock = clock.perf_counter(), float(self.timeline.times[frame])

    def _due(self) -> int:
        """The frame to be shown now."""
        if not self._watched:
            return self._frame
        begun, since = self._clock
        times = self.timeline.times
        now = since + (clock.perf_counter() - begun) * float(self._speed.value)
        if now > times[-1]:
            if self._growing.goes_on:  # more is coming
                self._frame_time(len(times) - 1)
            elif not self._loop.value:
                self._play.playing = False
            elif now > times[-1] + HOLD * float(self._speed.value):
                self._frame_time(0)
            now = float(times[-1])
        return self.timeline.at(now)

    def _draw(self, frame: int) -> None:
        t = self.timeline
        now = clock.perf_counter()
        due = now - self._plotted > PLOTS or not self._play.playing
        self._plotted = now if due else self._plotted
        rows = t.touches(frame) if self._so_far else None
        if rows is not None:
            self._panel.stage.scenery.show_contacts(t.segments[0].model, float(t.times[frame]), rows)
        if self._joints is not None:
            self._draw_posed(self._joints, t.state(frame), due)
        else:
            energy = float(t.kinetic[frame] + t.potential[frame])
            self._panel.show(t.state(frame), energy, lambda body: t.wrench(frame, body), lambda: t.contacts(frame))
        if self._plots is not None and due:
            self._plots.show(float(t.times[frame]))
        self._frame = frame

    def _draw_posed(self, joints: Joints, given: State, due: bool) -> None:
        """A pose, with joints that were moved by hand."""
        state = given.replace(q=joints.applied(given.q))
        pose = self._panel.show(state, None)
        joints.pick(self._panel.stage.picked)
        if due:
            joints.show(state.q)
            self._panel.cameras.more(self._panel.stage.reach(pose))


def curves(t: Timeline) -> dict[str, Floats]:
    out = {"time": t.times, "kinetic": t.kinetic, "potential": t.potential, "total": t.kinetic + t.potential}
    if t.error is not None:
        out["error"] = t.error
    if t.active is not None:
        out["active"] = t.active
    return out
