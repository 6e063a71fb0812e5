"""A run in a page while it goes on, with sliders for what may be changed."""

from __future__ import annotations

import threading
import time as clock
from collections import deque
from typing import Any

import numpy as np

from supple.adaptive.dynamics import AdaptiveDynamics
from supple.adaptive.measures import said
from supple.adaptive.quasistatics import QuasiStatics
from supple.errors import SuppleError
from supple.exact.kinematics import poses
from supple.simulating.contacts import Contact, contacts_from
from supple.simulating.described import other_forces
from supple.simulating.events import Happened
from supple.simulating.simulation import Sample, Simulation
from supple.simulating.sleeping import asleep
from supple.simulating.state import State
from supple.viewing.panel import Floats, Panel, PlayButton, remark, speed_control
from supple.viewing.plots import POINTS, Plots
from supple.viewing.reached import around
from supple.viewing.scenery import Scenery
from supple.viewing.timeline import fit_speed

RATE, PLOTS = 20.0, 0.5  #: pictures a second, at most; seconds between those of the plots
LATE = 1.0  #: seconds by which it may be late; beyond, it cannot keep up, and makes no haste afterwards
LOOKS = 0.5  #: seconds between two looks at where the camera is
DECADES = {"relative": (-9.0, 0.0), "other": (-9.0, 6.0)}  #: of the error's slider
WEIGH = "weigh joints by on-screen motion"
MOST_FORCE = 3.0  #: of the force's slider, as a multiple of what was asked for


def _scenery(run: Simulation) -> Scenery:
    """What acts on a run."""
    model, others = run.model, other_forces(run.given)
    if run.contacts is None:
        return Scenery(run.forces, run.ground, others=others)
    return Scenery.going_on(model, run.forces, run.ground, others)


class Wishes:
    """What sliders were moved to, and the run does not know yet. Any thread leaves them: that of each page."""

    def __init__(self) -> None:
        self._lock, self._left = threading.Lock(), dict[str, float]()

    def leave(self, name: str, value: float) -> None:
        with self._lock:
            self._left.pop(name, None)  # what was moved last comes last
            self._left[name] = value

    def take(self) -> list[tuple[str, float]]:
        with self._lock:
            left, self._left = self._left, {}
        return list(left.items())


class Live:
    """Shown every sample of a run (follow(run, watch=live.look)), it draws, waits, and hands on what the page asks for.

    All that touches the run happens in `look`, in the run's own thread, between two steps.
    """

    def __init__(self, server: Any, run: Simulation, rods: Floats | None = None) -> None:
        self.server, self.run = server, run
        run.cursor.watched = True
        self._wishes = Wishes()
        self._redraw = False
        self._history: deque[tuple[float, ...]] = deque(maxlen=POINTS)
        self._plots: Plots | None = None
        self._drawn = self._plotted = self._looked = 0.0
        self._camera: Floats | None = None  #: the one that the weights are for
        self._clock = (0.0, 0.0)  #: an instant, and the time of the run then
        self._anew = True  #: whether these are no more to be relied on
        gui = server.gui
        self._panel = Panel(server, run.stepper is not None, self._again)
        self._panel.measure, self._panel.about = str(run.settings.get("error_measure", "")), run.settings
        self._panel.stage.rods = rods
        self._panel.stage.scenery = _scenery(run)
        with gui.add_folder("Run"):
            self._play = PlayButton(gui, True, self._begin)
            self._speed = speed_control(gui, fit_speed(run.grid.end), ", at most")
            self._add_sliders(gui)
        self._panel.add_view()
        self._panel.add_body()
        self._plots_here = gui.add_folder("Plots")
        self._speed.on_update(lambda _: self._begin())
        model = run.cursor.model
        pose = self._panel.stage.show(run.cursor.state)
        self._panel.begin(model, around(model, self._panel.stage.reach(pose), pose))

    @property
    def missing(self) -> list[str]:
        """What could not be drawn, and why."""
        return self._panel.stage.missing

    def wait_for_page(self) -> None:
        """Until somebody has opened the page."""
        while not self.server.get_clients():
            clock.sleep(0.05)

    def look(self, sample: Sample) -> None:
        """A sample of the run: drawn, and not left before it is due; then the run goes on, as the page asks."""
        now = clock.perf_counter()
        self._note(sample)
        if now - self._drawn >= 1.0 / RATE or self._redraw:
            self._draw(sample, now)
        time = float(sample.piece.times[-1])
        while not self.run.cursor.halt:
            self._hand_on()
            if self._redraw:
                self._draw(sample, clock.perf_counter())
            now = clock.perf_counter()
            if self._anew or not self._play.playing:
                self._anew, self._clock = not self._play.playing, (now, time)
            left = self._clock[0] + (time - self._clock[1]) / float(self._speed.value) - now
            if self._play.playing and left <= 0.0:
                self._anew = left < -LATE
                break
            clock.sleep(min(left, 0.02) if self._play.playing else 0.02)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _add_sliders(self, gui: Any) -> None:
        stepper, n = self.run.stepper, self.run.model.n_joints
        chooses = isinstance(stepper, AdaptiveDynamics) and not stepper.fixed
        if chooses and not stepper.guaranteed:
            now = len(stepper.active_joints) if stepper.active is None else min(stepper.active, n)
            self._slider("active", gui.add_slider("active joints", 0, n, 1, now))
        if chooses or isinstance(stepper, QuasiStatics):
            low, high = DECADES["relative" if "relative" in stepper.measure else "other"]
            now = np.log10(stepper.error) if stepper.error else low
            hint = f"of what may be left out, not a number of joints: {stepper.error_measure}; -2 is 1%, if relative"
            error = gui.add_slider("error, log 10", low, high, 0.1, float(np.clip(round(now, 1), low, high)), hint=hint)
            self._slider("error", error)
            allowed = gui.add_html("" if stepper.error is None else _allowed(stepper.error, stepper.error_measure))

            @error.on_update
            def _(_: Any) -> None:
                allowed.content = _allowed(10.0 ** float(error.value), stepper.error_measure)

        if self.run.has_pushes:
            self._slider("force", gui.add_slider("force", 0.0, MOST_FORCE, 0.05, 1.0, hint="times what was asked for"))
        self._follow = None
        if chooses:
            self._follow = gui.add_checkbox(
                WEIGH, False, hint="the joints that move most in this picture, in pixels, are the active ones"
            )

    def _slider(self, name: str, slider: Any) -> None:
        def moved(event: Any) -> None:
            self._wishes.leave(name, float(slider.value))

        slider.on_update(moved)

    def _hand_on(self) -> None:
        """What the page asks for, to the run; what the run refuses is said, and does not end it."""
        try:
            for name, value in self._wishes.take():
                self._panel.refused = ""
                self._steer(name, value)
            if self._follow is not None and clock.perf_counter() - self._looked > LOOKS:
                self._looked = clock.perf_counter()
                self._follow_camera(self.run.stepper)
        except SuppleError as e:
            self._panel.refused, self._redraw = str(e), True

    def _steer(self, name: str, value: float) -> None:
        stepper = self.run.stepper
        if name == "active":
            stepper.active = int(value)
            self._steered(f"{int(value)} active joints")
        elif name == "error":
            stepper.error = 10.0**value
            self._steered(f"error {stepper.error:.3g}")
        else:
            self.run.scale_pushes(value)
            self._steered(f"force x {value:g}")

    def _follow_camera(self, ad: AdaptiveDynamics) -> None:
        """Weights for the camera that was moved last, if it is not the one they are for."""
        assert self._follow is not None
        cameras = [client.camera for client in self.server.get_clients().values()]
        if not self._follow.value or not cameras:
            if self._camera is not None:
                ad.set_weights(*(self.run.settings.get(name) for name in ("weights", "velocity_weights")))
                self._camera = None
                self._steered("weights of its own")
                self._panel.measure = ad.error_measure
            return
        camera = max(cameras, key=lambda c: float(c.update_timestamp))
        here = np.array([*camera.position, *camera.look_at, camera.fov, camera.aspect, camera.image_height])
        if self._camera is None or not np.array_equal(here, self._camera):
            up = np.tan(0.5 * camera.fov)
            whole = 2.0 * np.arctan(up * np.hypot(1.0, camera.aspect))  # of a cone around the picture
            focal = 0.5 * camera.image_height / up
            ad.look_from(camera.position, camera.look_at, focal=focal, view_angle=min(whole, 3.0))
            if self._camera is None:
                self._steered("weights of a camera")
            self._camera, self._panel.measure = here, ad.error_measure

    def _steered(self, how: str) -> None:
        """From now on the run is not the one that was asked for: it remembers, and its recording says so."""
        self.run.steered = True
        self.run.events.append(Happened(how, self.run.cursor.time))

    def _note(self, sample: Sample) -> None:
        p = sample.piece
        kinetic, potential = float(sample.kinetic[-1]), float(sample.potential[-1])
        row = {"time": float(p.times[-1]), "kinetic": kinetic, "potential": potential, "total": kinetic + potential}
        if p.error is not None:
            row["error"] = float(p.error[-1])
            self._panel.stage.largest_error = max(self._panel.stage.largest_error, row["error"])
        if p.active is not None:
            row["active"] = float(len(p.active[-1]))
        self._names = tuple(row)
        self._history.append(tuple(row.values()))

    def _draw(self, sample: Sample, now: float) -> None:
        self._redraw, self._drawn = False, now
        self._panel.stage.push_scale = self.run.push_scale
        if sample.piece.touches is not None:
            last = float(sample.piece.times[-1])
            self._panel.stage.scenery.show_contacts(self.run.model, last, sample.piece.touches[-1])
        wrench = sample.joint_wrenches
        carried = None if wrench is None else (lambda body: wrench[-1, body])
        energy = float(sample.kinetic[-1] + sample.potential[-1])
        self._panel.show(self._state(sample), energy, carried, lambda: _contacts(self.run, sample))
        if now - self._plotted > PLOTS and len(self._history) > 1:
            self._plotted = now
            curves = dict(zip(self._names, np.array(self._history).T))
            if self._plots is None:
                with self._plots_here:
                    how = self.run.settings
                    self._plots = Plots(self.server.gui, curves, self.run.model.units, how, self._panel.measure)
            self._plots.renew(curves, self._history[-1][0])
            self._panel.cameras.more(self._panel.stage.reach(poses(sample.piece.model, sample.piece.q[-1])))

    def _state(self, sample: Sample) -> State:
        """The one at the end of a sample, and who sleeps there."""
        state = sample.piece.state(-1)
        return state.replace(sleeping=asleep(self.run.settings, state.model, state.active_joints))

    def _again(self) -> None:
        self._redraw = True

    def _begin(self) -> None:
        """The clock anew, from the next look on."""
        self._anew = True


def _contacts(run: Simulation, sample: Sample) -> list[Contact]:
    """What touches at the end of a sample."""
    touches = sample.piece.touches
    names = run.shape_names
    return [] if touches is None or names is None else contacts_from(touches[-1], names, sample.piece.model)


def _allowed(error: float, measure: str) -> str:
    """What a slider of errors says, in words, as HTML."""
    return remark(f"at most {said(error, measure)}")
