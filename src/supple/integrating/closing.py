"""Loops in a run: closed at its beginning, and after every step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.errors import SimulationError, StateError
from supple.exact.assembling import NEARLY, closed_gap, closed_to, size_of
from supple.exact.closure import gaps
from supple.exact.loop_dynamics import row_names
from supple.exact.with_loops import WITH_LOOPS
from supple.integrating.projecting import CLOSED as IS_CLOSED
from supple.integrating.projecting import LARGE, LARGEST, LOST, REFUSED, Projector
from supple.model.model import Model
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]

SHARE = 0.1  #: of the gap up to which loops are closed: what steps aim at


def projector(model: Model) -> Projector:
    """That of the loops of a model, as far as they are to be closed in runs."""
    return Projector(model, SHARE * closed_gap(model))


class Closing(Pointing):
    """Brings states back to where the loops of a model are closed."""

    _pointers = ("_project",)

    def __init__(self, model: Model) -> None:
        self._model = model
        self._point()

    def _point(self) -> None:
        self._project = projector(self._model)

    def __call__(self, time: float, state: Pair) -> Pair:
        if not (np.isfinite(state[0]).all() and np.isfinite(state[1]).all()):
            return state  # reported as divergence
        q, v, status = self._project(*state)
        if status == LOST:
            WITH_LOOPS.general(self._model, *state, None, None)  # names the joint that moves no mass
        if status != IS_CLOSED:
            gap, row = self._project.left
            raise SimulationError(
                f"at time {time:.6g} s: {row_names(self._model)[row]} breaks open: a gap of {gap:.3g} (metres or "
                "radians) cannot be closed; use shorter steps, or check whether the mechanism can move this way",
                time,
            )
        return q, v


def is_closed(model: Model, q: Floats) -> bool:
    """Whether loops are closed as far as steps close them [projecting.py]."""
    least = SHARE * closed_gap(model) * (1.0 + min(float(np.abs(q).max(initial=0.0)), LARGEST) / LARGE)
    return float(np.abs(gaps(model, q).phi).max()) <= REFUSED * least


def closed_at_first(model: Model, q: Floats, v: Floats) -> Pair:
    """The state from which a run begins, or goes on after an event: refused if loops are open, or opened by
    velocities."""
    if model.is_tree:
        return q, v
    rows, names = gaps(model, q, v), row_names(model)
    least = NEARLY * size_of(model)  # also a second
    speed = rows.rate
    if np.abs(rows.phi).max() > least:
        worst = int(np.argmax(np.abs(rows.phi)))
        raise StateError(
            f"{names[worst]} is open by {abs(rows.phi[worst]):.3g} (metres or radians) in this state; "
            "supple.close_loops(model, q) gives a position in which it is closed"
        )
    if np.abs(speed).max() > least:
        worst = int(np.argmax(np.abs(speed)))
        raise StateError(
            f"{names[worst]} is opened by the velocities of this state, by {abs(speed[worst]):.3g} m/s or rad/s; "
            "supple.close_velocities(model, q, v) gives velocities that keep it closed"
        )
    return Closing(model)(0.0, (q, v))


def kept_closed(model: Model, q: Floats, v: Floats) -> Pair:
    """The same for steppers that close loops themselves: a state that they have closed is not changed by a bit. Near
    positions where rows depend on each other, they leave some of the velocities that open loops: a share of all."""
    if model.is_tree:
        return q, v
    rows, least = gaps(model, q, v), 100.0 * closed_to(model, q)
    still = np.abs(rows.rate).max() <= NEARLY * size_of(model) * (1.0 + np.abs(v).max(initial=0.0))
    if still and np.abs(rows.phi).max() <= least:
        return q, v
    return closed_at_first(model, q, v)
