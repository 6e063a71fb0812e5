"""A net of stiff threads between knots, hung by two corners: loops beside each other, as many as wanted."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked
from supple.model.builder import ModelBuilder
from supple.model.parents import room
from supple.scenes.linkages import bar
from supple.scenes.scene import NO_PUSHES, Scene, Some

Floats = NDArray[np.float64]

KNOT: dict[str, Any] = dict(mass=0.02, inertia=(2e-6,) * 3)  #: a ball of 3 cm
THREAD = 0.05, 0.01  #: kilograms, and metres across
FOLD = 0.1 * pi  #: how far the threads of the first row rise and fall at first, in radians
LENGTH = 0.25  #: of a thread, in metres


@checked
def net(width: Some = 9, height: Some = 7) -> Scene:
    """Knots in `height` rows of `width`, each joined to its neighbours by threads of 0.25 m with ball joints at both
    ends. It is held level, folded like a fan so that it is narrower than its threads are long, and let go: it hangs by
    the two corners of its first row. A net of width 2 is a ladder."""
    room(n_bodies(width, height))
    b = ModelBuilder("net")
    b.add_body("knot 0 0", None, "ball", **KNOT)
    for i in range(height):
        for j in range(width):
            if i or j:
                _hang(b, i, j)
    if width > 1:
        corner = sum(_along(j, True) for j in range(1, width))
        b.close(None, f"knot 0 {width - 1}", "ball", name="other corner", position=corner)
    model = b.build()
    rods = np.zeros((model.n_bodies, 2, 3))
    for k, name in enumerate(model.body_names):
        if name.startswith("thread"):
            _, _, column, *across = name.split()
            rods[k, 1] = _along(int(column), bool(across))
    return Scene(model, model.neutral(), NO_PUSHES, 1e-3, rods, duration=4.0)


def n_bodies(width: int, height: int) -> int:
    """Knots and threads."""
    return 3 * width * height - width - height


def _hang(b: ModelBuilder, i: int, j: int) -> None:
    """A knot on the thread from the row before, and one across that closes a loop; in the first row, from its left."""
    across = i == 0
    at = _along(j, across)
    before = f"knot 0 {j - 1}" if across else f"knot {i - 1} {j}"
    thread = f"thread {i} {j}" + " across" * across
    b.add_body(thread, before, "ball", **bar(at, *THREAD))
    b.add_body(f"knot {i} {j}", thread, "ball", position=at, **KNOT)
    if i and j:
        at = _along(j, True)
        b.add_body(f"thread {i} {j} across", f"knot {i} {j - 1}", "ball", **bar(at, *THREAD))
        b.close(f"thread {i} {j} across", f"knot {i} {j}", "ball", name=f"loop {i} {j}", position=at)


def _along(j: int, across: bool) -> Floats:
    """From the beginning of a thread to its end: the folds are those of the first row."""
    if not across:
        return np.array([0.0, LENGTH, 0.0])
    return LENGTH * np.array([cos(FOLD), 0.0, sin(FOLD) if j % 2 else -sin(FOLD)])
