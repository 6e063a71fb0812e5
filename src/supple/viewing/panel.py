"""The part of the page's panel that recordings and live runs share: where it is, colours, a body's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.measures import said as in_words
from supple.errors import printable
from supple.exact.answers import Poses
from supple.model.model import Model, count
from supple.simulating.contacts import Contact, force_on
from supple.simulating.names import error_name, progress_unit, when
from supple.simulating.sleeping import bodies_of
from supple.simulating.sleeping import said as in_trees
from supple.simulating.state import State
from supple.viewing.camera import first_look
from supple.viewing.cameras import Cameras
from supple.viewing.colours import MEANING, entries, legend
from supple.viewing.stage import ON_PHONES, Stage

Floats = NDArray[np.float64]

CLICK = "Click on a body to see its numbers."
SPEEDS = (1e-9, 1e9)  #: between which a page may choose
PROGRESS = {"s": "time", "steps": "progress"}  #: what it is called, by its unit
CELL = "padding:0.1em 0.5em 0.1em 0;vertical-align:top"  #: of a table: its style


class Panel:
    """changed: called, from another thread, when what is drawn must be drawn anew."""

    def __init__(self, server: Any, chooses: bool, changed: Callable[[], None]) -> None:
        """chooses: whether the method chose joints."""
        self.server, self._changed = server, changed
        self.stage = Stage(server, self.pick)
        self.picked: str | None = None  #: the name of a body: its number changes with the root
        self._part: tuple[str, str] | None = None  #: by what it was found: "shape" or "frame", and its name
        self._unknown = False  #: whether the name that was given last is no body's
        self.measure = ""  #: what the error is measured in
        self.about: Mapping[str, Any] = {}  #: of the run: what its progress is counted in
        self.refused = ""  #: what the page asked for last, and why it cannot be had
        server.gui.add_html(ON_PHONES)
        self._said = server.gui.add_html("")
        self._chooses = chooses

    def add_view(self) -> None:
        """How it is drawn: colours, and whether at all."""
        gui = self.server.gui
        with gui.add_folder("View"):
            options = ("active", "error", "own") if self._chooses else ("own",)
            self._by = gui.add_dropdown(
                "colour by", options, initial_value=options[0], hint="; ".join(MEANING.values())
            )
            self._legend = gui.add_html("")
            self.cameras = Cameras(self.server, gui)
            self._shown = gui.add_checkbox("show links", True)
        self._by.on_update(lambda _: self._changed())
        self._shown.on_update(lambda _: self._changed())

    def add_body(self) -> None:
        """Where a body's numbers are shown."""
        gui = self.server.gui
        with gui.add_folder("Body"):
            self._name = gui.add_text(
                "name", "", hint="click on a body, or write its name or number, or one of its shapes"
            )
            self._numbers = gui.add_html(remark(CLICK))
        self._name.on_update(lambda _: self._find())

    def begin(self, model: Model, points: Floats) -> None:
        """The light, the ground and the first view of a motion that reaches so far."""
        back = first_look(model, points)
        self.stage.set_scene(model, points, back)
        self.cameras.begin(points, back)

    def pick(self, body: int) -> None:
        model = self.stage.model
        if model is not None:
            self.picked = self._name.value = model.body_names[body]
            self._unknown, self._part = False, None
        self._changed()

    def show(
        self,
        state: State,
        energy: float | None,
        joint_wrench: Callable[[int], Floats | None] | None = None,
        contacts: Callable[[], Sequence[Contact]] | None = None,
    ) -> Poses:
        """Draw a state, and say its numbers. contacts: asked for only if a body is picked."""
        stage = self.stage
        stage.by = self._by.value
        if stage.visible != self._shown.value:
            stage.visible = self._shown.value
        picked, model = self.picked, state.model  # which another thread may change meanwhile
        stage.picked = None if picked is None or picked not in model.bodies else model.bodies[picked].index
        pose = stage.show(state)
        by = stage.by if state.active_joints is not None else "own"
        sleeps, selected = state.sleeping is not None, stage.picked is not None
        self._legend.content = legend(entries(by, sleeps, stage.acts, selected))
        self._said.content = said(state, energy, self.measure, self.refused, self.about)
        if stage.picked is not None and not self._unknown:
            wrench = None if joint_wrench is None else joint_wrench(stage.picked)
            touching = () if contacts is None else contacts()
            self._numbers.content = numbers(state, stage.picked, pose, wrench, touching, self._part)
        self.cameras.moved(centre_of(model, pose) if stage.picked is None else pose.position[stage.picked])
        return pose

    def _find(self) -> None:
        model, name = self.stage.model, self._name.value.strip()
        if model is None:
            return
        self._unknown = False
        if not name:
            self.picked, self._part, self._numbers.content = None, None, remark(CLICK)
            self._changed()
            return
        found, part = place_of(model, name)
        if found is None or found < 0:
            self._unknown = True  # said until another name is given, also while the run plays
            why = f"There is no body, shape or frame {name!r}." if part is None else f"{name!r} is fixed to the world."
            self._numbers.content = remark(why)
        elif (model.body_names[found], part) != (self.picked, self._part):
            self.picked, self._part = model.body_names[found], part
            self._changed()


class PlayButton:
    """Says what a click on it would do."""

    def __init__(self, gui: Any, playing: bool, then: Callable[[], None]) -> None:
        """then: called when it was clicked on."""
        self._button, self._then = gui.add_button(""), then
        self.playing = playing
        self._button.on_click(self._clicked)

    @property
    def playing(self) -> bool:
        return self._playing

    @playing.setter
    def playing(self, value: bool) -> None:
        from viser import Icon

        self._playing = value
        self._button.label = "Pause" if value else "Play"
        self._button.icon = Icon.PLAYER_PAUSE if value else Icon.PLAYER_PLAY

    def _clicked(self, event: Any) -> None:
        self.playing = not self.playing
        self._then()


def speed_control(gui: Any, now: float, more: str = "") -> Any:
    return gui.add_number("speed", now, min=SPEEDS[0], max=SPEEDS[1], hint=f"seconds of the run in a second{more}")


def said(
    state: State, energy: float | None, measure: str = "", refused: str = "", about: Mapping[str, Any] | None = None
) -> str:
    """A state in a few words, as HTML."""
    rows = {PROGRESS[progress_unit(about or {})]: when(state.time, about or {})}
    if energy is not None:
        rows["energy"] = f"{energy:.6g} {state.model.units.energy}"
    if state.active_joints is not None:
        rows["active joints"] = f"{len(state.active_joints)} of {state.model.n_joints}"
    if state.sleeping is not None:
        rows["asleep"] = in_trees(state.model, state.sleeping)
    if state.error is not None:
        rows[error_name(measure)] = in_words(state.error, measure)
    if refused:
        rows["refused"] = refused
    return _table(rows)


def place_of(model: Model, name: str) -> tuple[int | None, tuple[str, str] | None]:
    """The body of a name or number, or of one of its shapes or frames: its index (-1 is the world, None nothing), and
    what has that name if it is not the body."""
    if name in model.bodies:
        return model.bodies[name].index, None
    if name in model.shapes:
        return model.shapes[name].body, ("shape", name)
    if name in model.frames:
        return model.frames[name].body, ("frame", name)
    number = int(name) if name.isascii() and name.isdecimal() else -1
    return (number if 0 <= number < model.n_bodies else None), None


def numbers(
    state: State,
    body: int,
    pose: Poses,
    wrench: Floats | None,
    contacts: Sequence[Contact] = (),
    part: tuple[str, str] | None = None,
) -> str:
    """What is known of a body, as HTML. part: its shape or frame that was asked for, and the name of that."""
    model, joint = state.model, state.model.joints[body]  # type: ignore[index]
    parent = int(model.parent[body])
    rows = {
        **({part[0]: part[1]} if part else {}),
        "body": f"{model.body_names[body]}, number {body}",
        "on": "the world" if parent < 0 else model.body_names[parent],
        "joint": f"{joint.name}, {joint.type}",
        "mass": f"{model.mass[body]:.6g} {model.units.mass}",
        "position": _list(pose.position[body]) + " m",
        "q": _list(state.q[joint.q]),
        "v": _list(state.v[joint.v]),
    }
    if state.active_joints is not None:
        sleeps = state.sleeping is not None and bodies_of(model, state.sleeping)[body]
        rows["now"] = "asleep" if sleeps else "active" if body in state.active_joints else "rigid"
    if wrench is not None:
        rows["joint carries"] = f"moment {_list(wrench[:3])} Nm, force {_list(wrench[3:])} N"
    force, number = force_on(model.body_names[body], contacts)
    if number:
        rows["contact force"] = f"{np.linalg.norm(force):.4g} N in {count(number, 'contact')}: {_list(force)} N"
    return _table(rows)


def centre_of(model: Model, pose: Poses) -> Floats:
    """The centre of mass; of bodies without one, their middle."""
    at = pose.position + np.einsum("nij,nj->ni", pose.rotation, model.com)
    total = float(model.mass.sum())
    return np.asarray(model.mass @ at / total if total > 0.0 else pose.position.mean(axis=0))


def remark(text: str) -> str:
    """A sentence, as HTML."""
    return f'<p style="font-size:0.875em;font-style:italic;margin:0 0.8em 0.6em 0.8em">{_plain(text)}</p>'


def _table(rows: dict[str, str]) -> str:
    cells = "".join(
        f'<tr><td style="{CELL};white-space:nowrap;width:7em">{_plain(name)}</td>'
        f'<td style="{CELL};overflow-wrap:anywhere">{_plain(value)}</td></tr>'
        for name, value in rows.items()
    )
    look = "border-collapse:collapse;width:100%;font-size:0.875em"
    return f'<div style="padding:0 0.8em 0.6em 0.8em"><table style="{look}"><tbody>{cells}</tbody></table></div>'


def _plain(text: str) -> str:
    """Text that is nothing but text in a page: the names in it come from files and from whoever writes them."""
    return escape(printable(text))


def _list(x: Floats) -> str:
    return ", ".join(f"{value:.4g}" for value in x)
