"""Sliders for the joints of a body that is looked at, not simulated.

A slider of a joint whose coordinates add up (revolute, prismatic, screw, universal, cylindrical) is its coordinate; of
another (ball, planar, free) it turns or shifts the body from where it is, about or along an axis of its own frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.errors import printable
from supple.model.joints import JointType
from supple.model.model import Model
from supple.simulating.starting import closed_if_possible

Floats = NDArray[np.float64]

MOST = 60  #: sliders; of a body with more degrees of freedom there are those of the joint that is picked
FROM = (JointType.BALL, JointType.FREE, JointType.PLANAR)  #: moved from where they are
WAYS = {JointType.BALL: ("x", "y", "z"), JointType.PLANAR: ("x", "y", "turn")}
SHIFT = 1.0  #: metres either way, where there are no limits


class Way(NamedTuple):
    """A degree of freedom."""

    label: str
    v: int  #: its number in v,
    q: int  #: and in q, if its coordinate adds up; -1 if not
    low: float
    high: float


def ways(model: Model, joint: int) -> list[Way]:
    """The degrees of freedom of a joint."""
    j = model.joints[joint]  # type: ignore[index]
    kind, body = JointType(model.joint_type[joint]), model.body_names[joint]
    name = printable(body if j.name == f"{body}_joint" else j.name)  # the shorter one, where a file names bodies only
    n = j.v.stop - j.v.start
    if kind in FROM:
        parts = WAYS.get(kind, ("x", "y", "z", "turn x", "turn y", "turn z"))
        turns = [kind == JointType.BALL or part.startswith("turn") for part in parts]
        far = [np.pi if t else SHIFT for t in turns]
        return [Way(f"{name} {p}", j.v.start + k, -1, -far[k], far[k]) for k, p in enumerate(parts)]
    out = []
    for k in range(n):
        angle = kind != JointType.PRISMATIC and not (kind == JointType.CYLINDRICAL and k == 1)
        usual = np.pi if angle else SHIFT
        low, high = float(j.lower[k]), float(j.upper[k])
        low, high = (low if np.isfinite(low) else -usual), (high if np.isfinite(high) else usual)
        label = name if n == 1 else f"{name} {k + 1}"
        out.append(Way(label, j.v.start + k, j.q.start + k, low, max(high, low + 1e-3)))
    return out


class Joints:
    """What was moved by hand stays so, whatever the motion does, until it is let go."""

    def __init__(self, gui: Any, model: Model, changed: Callable[[], None]) -> None:
        self._gui, self._model, self._changed = gui, model, changed
        self._held: dict[int, float] = {}  #: by number in v
        self._sliders: list[tuple[Way, Any]] = []
        self._folder = gui.add_folder("Joints")
        self._shown: int | None = None
        with self._folder:
            release = gui.add_button("Release joints", hint="Back to the pose, or the motion, as it was given.")
            release.on_click(lambda _: self._release())
            if model.nv > MOST:
                self._remark = gui.add_html(
                    f'<p style="font-size:0.875em;font-style:italic;margin:0 0.8em 0.6em 0.8em">{model.nv} degrees of '
                    "freedom: click on a body to move its joint.</p>"
                )
        if model.nv <= MOST:
            for joint in range(model.n_joints):
                self._add(joint)

    def pick(self, body: int | None) -> None:
        """Of a body with very many joints: sliders for this one's."""
        if self._model.nv > MOST and body != self._shown and body is not None:
            self._shown = body
            for _, slider in self._sliders:
                slider.remove()
            self._sliders = []
            self._add(body)

    def applied(self, q: Floats) -> Floats:
        """A position, with what is held; where loops do not allow that, with what was moved last."""
        held, model = dict(self._held), self._model  # which another thread changes
        if not held:
            return q
        by_v = {way.v: way.q for joint in range(model.n_joints) for way in ways(model, joint)}
        move = np.zeros(model.nv)
        for v, value in held.items():
            move[v] = value if by_v[v] < 0 else value - q[by_v[v]]
        last_first = dict.fromkeys(model.joint_names[model.dof_body[v]] for v in reversed(held))
        return closed_if_possible(model, model.integrate(q, move), list(last_first))

    def show(self, q: Floats) -> None:
        """Sliders that are not held, or not where they are held since loops do not allow it, say where joints are."""
        for way, slider in self._sliders:
            if way.q >= 0 and (way.v not in self._held or not self._model.is_tree):
                slider.value = float(np.clip(q[way.q], slider.min, slider.max))

    def _add(self, joint: int) -> None:
        with self._folder:
            for way in ways(self._model, joint):
                now = float(np.clip(self._held.get(way.v, 0.0), round(way.low, 4), round(way.high, 4)))
                step = (way.high - way.low) / 1000.0
                slider = self._gui.add_slider(way.label, round(way.low, 4), round(way.high, 4), round(step, 7), now)
                slider.on_update(self._moved(way))
                self._sliders.append((way, slider))

    def _moved(self, way: Way) -> Callable[[Any], None]:
        def moved(event: Any) -> None:
            if event.client is not None:  # by hand, not by playing
                self._held.pop(way.v, None)  # so that it is the last
                self._held[way.v] = float(event.target.value)
                self._changed()

        return moved

    def _release(self) -> None:
        self._held = {}
        for way, slider in self._sliders:
            if way.q < 0:
                slider.value = 0.0
        self._changed()
