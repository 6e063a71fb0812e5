"""The colours of bodies, and what they mean.

They are colours as they are seen: in a page, in exported pages, in pictures and in legends alike. What a page must be
told so that they are is in light.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.simulating.sleeping import bodies_of
from supple.simulating.state import State

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

Rgb = tuple[int, int, int]
ACTIVE: Rgb = (226, 74, 14)  #: reserved: of bodies whose joints are computed, and of nothing else in the page
PICKED: Rgb = (190, 20, 170)  #: reserved in the same way: of the body that was clicked on
FORCE: Rgb = (44, 70, 200)  #: reserved: of arrows that push,
CONTACT_FORCE: Rgb = (124, 24, 132)  #: of those of contacts,
TORQUE: Rgb = (0, 128, 168)  #: of rings that turn,
SPRING: Rgb = (34, 139, 58)  #: and of springs
RIGID: Rgb = (120, 138, 160)  #: of those that move with their parents
ASLEEP: Rgb = (50, 76, 98)  #: of those of trees that sleep
PLAIN: Rgb = (150, 165, 182)  #: where no method chose joints, and the file says no colour
GROUND: Rgb = (190, 190, 190)  #: what does not move
PLANE: Rgb = (233, 233, 230)  #: the ground that bodies stand on
ANCHOR: Rgb = (84, 84, 84)  #: where something hangs on the world
EXACT, WORST = np.array([38, 70, 140]), np.array([232, 215, 70])  #: of the error: none, the largest of the run

By = Literal["active", "error", "own"]
MEANING: dict[str, str] = {
    "active": "orange: the joint is active; grey: it is rigid; dark: the whole tree is asleep",
    "error": "blue: active; towards yellow: treated as zero, the larger the error of the whole (log scale)",
    "own": "the file's own colours",
}


class Entry(NamedTuple):
    """A colour, or two between which others are, and what it means; no colour: a remark."""

    text: str
    colour: Rgb | None
    to: Rgb | None = None


ACTS: dict[str, Rgb] = {"force": FORCE, "torque": TORQUE, "spring": SPRING, "anchor": ANCHOR, "vector": FORCE}


def entries(by: str, sleeps: bool = False, acts: Iterable[Entry] = (), picked: bool = False) -> list[Entry]:
    """What is to be said of the colours in a picture. sleeps: whether trees may. acts: what is to be said of what is
    around bodies."""
    out: list[Entry] = []
    if by == "active":
        out += [Entry("active", ACTIVE), Entry("rigid", RIGID), *([Entry("asleep", ASLEEP)] if sleeps else ())]
    elif by == "error":
        out += [Entry("active", _rgb(EXACT)), Entry("treated as zero, by the error", _rgb(EXACT), _rgb(WORST))]
    return [*out, *([Entry("picked", PICKED)] if picked else ()), *acts]


def legend(shown: list[Entry]) -> str:
    """The same as HTML."""
    return patches(*((_paper(e), e.text) for e in shown)) if shown else ""


def patches(*shown: tuple[str, str]) -> str:
    """Patches of colour and what they mean, in a line of HTML."""
    text = "".join(
        f'<span style="margin-right:1.2em;display:inline-block">{paper} {escape(meaning)}</span>'
        for paper, meaning in shown
    )
    return f'<div style="font-size:0.8em;padding:0 0.8em 0.6em 0.8em">{text}</div>'


def patch(colour: str | tuple[int, ...], width: int = 12) -> str:
    paper = colour if isinstance(colour, str) else f"rgb{tuple(colour)}"
    return f'<span style="display:inline-block;width:{width}px;height:10px;background:{paper}"></span>'


def _paper(e: Entry) -> str:
    if e.colour is None:
        return ""
    return patch(e.colour) if e.to is None else patch(f"linear-gradient(90deg, rgb{e.colour}, rgb{e.to})", 60)


def _rgb(colour: Ints) -> Rgb:
    r, g, b = (int(x) for x in colour)
    return r, g, b


def paint(by: By, state: State, largest: float) -> Bytes | None:
    """(n, 3) the colours of bodies at a state; None: their own. largest: the error that is drawn as the worst."""
    if by == "own" or state.active_joints is None:
        return None
    out = np.empty((state.model.n_bodies, 3), dtype=np.uint8)
    out[:] = RIGID if by == "active" else shade(state.error, largest)
    if by == "active" and state.sleeping is not None:
        out[bodies_of(state.model, state.sleeping)] = ASLEEP
    out[state.active_joints] = ACTIVE if by == "active" else EXACT
    return out


def shade(error: float | None, largest: float, decades: float = 6.0) -> Bytes:
    """The colour of an error, on a logarithmic scale below the largest."""
    if error is None or not error > 0 or not largest > 0:
        return EXACT.astype(np.uint8)
    at = np.clip(1.0 + np.log10(error / largest) / decades, 0.0, 1.0)
    return np.asarray(np.round(EXACT + at * (WORST - EXACT)), dtype=np.uint8)
