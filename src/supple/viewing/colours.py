"""The colours of bodies."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

Rgb = tuple[int, int, int]
ACTIVE: Rgb = (255, 40, 0)  #: reserved: of bodies whose joints are computed, and of nothing else in the page
RIGID: Rgb = (120, 138, 160)  #: of those that move with their parents
PLAIN: Rgb = (150, 165, 182)  #: where no method chose joints, and the file says no colour
GROUND: Rgb = (190, 190, 190)  #: what does not move
EXACT, WORST = np.array([38, 70, 140]), np.array([240, 225, 70])  #: of the error: none, the largest of the run

By = Literal["active", "error", "own"]
MEANING: dict[str, str] = {
    "active": "orange: the joint is computed; grey: it is rigid",
    "error": "blue: computed; towards yellow: taken for zero, the larger the error of the whole (log scale)",
    "own": "the file's own colours",
}


def legend(by: str) -> str:
    """What colours mean, as HTML."""
    if by == "own":
        return ""
    if by == "active":
        return patches((patch(_seen(ACTIVE)), "computed"), (patch(_seen(RIGID)), "rigid"))
    exact, worst = _seen(EXACT), _seen(WORST)
    ramp = patch(f"linear-gradient(90deg, {_css(exact)}, {_css(worst)})", 60)
    return patches((patch(exact), "computed"), (ramp, "taken for zero, by the error"))


def patches(*entries: tuple[str, str]) -> str:
    """Patches of colour and what they mean, in a line of HTML."""
    text = "".join(f'<span style="margin-right:1.2em">{shown} {meaning}</span>' for shown, meaning in entries)
    return f'<div style="font-size:0.8em;padding:0 0.8em 0.6em 0.8em">{text}</div>'


def patch(colour: str | tuple[int, ...], width: int = 12) -> str:
    paper = colour if isinstance(colour, str) else _css(colour)
    return f'<span style="display:inline-block;width:{width}px;height:10px;background:{paper}"></span>'


def _seen(colour: ArrayLike) -> tuple[int, ...]:
    """As a body of that colour looks in the page, which takes it for an amount of light."""
    return tuple(np.round(255 * (np.asarray(colour) / 255) ** (1 / 2.2)).astype(int).tolist())


def _css(colour: tuple[int, ...]) -> str:
    return f"rgb{tuple(int(x) for x in colour)}"


def paint(by: By, n: int, active: Ints | None, error: float | None, largest: float) -> Bytes | None:
    """(n, 3) the colours of bodies at a state; None: their own. largest: the error that is drawn as the worst."""
    if by == "own" or active is None:
        return None
    out = np.empty((n, 3), dtype=np.uint8)
    out[:] = RIGID if by == "active" else shade(error, largest)
    out[active] = ACTIVE if by == "active" else EXACT
    return out


def shade(error: float | None, largest: float, decades: float = 6.0) -> Bytes:
    """The colour of an error, on a logarithmic scale below the largest."""
    if error is None or not error > 0 or not largest > 0:
        return EXACT.astype(np.uint8)
    at = np.clip(1.0 + np.log10(error / largest) / decades, 0.0, 1.0)
    return np.asarray(np.round(EXACT + at * (WORST - EXACT)), dtype=np.uint8)
