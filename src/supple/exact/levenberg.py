"""Levenberg-Marquardt steps within bounds, along which some rows are held.

    minimise |J d + e|^2 + m |d|^2    subject to G d = 0, down <= d <= up

e is a residual at q, J its derivative, and m the damping, which is reduced after a step that helped and raised after
one that did not. The rows G are held by a weight in the same least-squares problem; whoever moves q by d brings it back
to where they hold exactly.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

Floats = NDArray[np.float64]
Room = tuple[Floats, Floats]  #: how far each column may move, down (negative) and up

LEAST, MOST = 1e-14, 1e8  #: damping, relative to the largest column of J
STUCK = 1e-12  #: relative decrease of the squared error below which steps no longer help
FLAT = 1e-8  #: |J^T e| over |J| |e| below which the squared error is smallest
HELD = 1e5  #: the weight of rows that are held, of unit length, relative to the largest column of J


class Task(Protocol):
    """What is to become small."""

    def residual(self, q: Floats) -> Floats: ...

    def matrix(self, q: Floats) -> Floats:
        """The derivative of the residual by the columns that may move."""

    def held(self, q: Floats) -> Floats:
        """Rows along which they may not, each of unit length or shorter."""

    def room(self, q: Floats) -> Room: ...

    def moved(self, q: Floats, d: Floats) -> Floats | None:
        """q after the columns have moved; None if that is impossible."""

    def is_done(self, q: Floats, error: float) -> bool: ...


def minimised(task: Task, q: Floats, iterations: int) -> tuple[Floats, float, int]:
    """The best position from q on, its squared error, and the number of steps."""
    e = task.residual(q)
    error, damping = float(e @ e), 1e-3
    for taken in range(iterations):
        if task.is_done(q, error):
            return q, error, taken
        J, G, room = task.matrix(q), task.held(q), task.room(q)
        size = float(np.einsum("ij,ij->j", J, J).max(initial=0.0))
        if np.abs(free_part(G, -J.T @ e, room)).max(initial=0.0) <= FLAT * np.sqrt(size * (e @ e)):
            return q, error, taken
        rows = np.concatenate([HELD * np.sqrt(size) * G, J])
        wanted = np.concatenate([np.zeros(len(G)), e])
        better = None
        while damping < MOST:
            trial = task.moved(q, _bounded(rows, wanted, np.sqrt(damping * size), room))
            if trial is not None:
                e_trial = task.residual(trial)
                new = float(e_trial @ e_trial)
                if new < error * (1.0 - STUCK):
                    better = trial, e_trial, new
                    break
            damping *= 8.0
        if better is None:  # no step helps: a minimum
            return q, error, taken
        q, e, error = better
        damping = max(0.125 * damping, LEAST)
    return q, error, iterations


def free_part(A: Floats, d: Floats, room: Room) -> Floats:
    """The part of d along which the rows A do not change, and which the bounds allow."""
    down, up = room
    free = np.ones(len(d), dtype=bool)
    while True:
        out, rows = np.zeros(len(d)), A[:, free]
        out[free] = d[free] - np.linalg.pinv(rows, rcond=1e-9) @ (rows @ d[free])
        blocked = free & (((out < 0.0) & (down == 0.0)) | ((out > 0.0) & (up == 0.0)))
        if not blocked.any():
            return out
        free &= ~blocked


def _bounded(J: Floats, e: Floats, damping: float, room: Room) -> Floats:
    """d that minimises |J d + e|^2 + |damping d|^2 within its bounds."""
    A = np.concatenate([J, damping * np.eye(J.shape[1])])
    b = np.concatenate([-e, np.zeros(J.shape[1])])
    d: Floats = np.linalg.lstsq(A, b, rcond=None)[0]
    down, up = room
    if ((d >= down) & (d <= up)).all():
        return d
    held = up - down <= 0.0
    d = np.zeros(len(d))
    d[~held] = lsq_linear(A[:, ~held], b, (down[~held], up[~held]), method="bvls").x
    return d
