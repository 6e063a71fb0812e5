"""Periodic gaits: fixed points of the return map of a walker, and whether they are stable.

The return map takes the state x = (q, v) just after an impact to that just after the next one. The other foot is then
the support: for a mirror-symmetric walker the state is read as if it were the same foot again (joint by joint; a
reversed joint has its axis reversed, and so the sign changes), otherwise two steps make a return. The map does not
depend on where on the way to the touchdown x is: one of its eigenvalues is 0 and is left out; the others describe how
small disturbances grow from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked, whole
from supple.errors import SimulationError, StateError, quoted
from supple.exact.forward import forward_dynamics
from supple.model.model import Model, count
from supple.once import made_once
from supple.walking import tangents
from supple.walking.walkers import Step, Steps, Tolerance, Walker, not_landed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Period = Annotated[int, whole(1, 64)]  #: in steps
Tries = Annotated[int, whole(1, 10_000)]
#: weights of the sixth-order central difference: f(x + k h) - f(x - k h) for k = 1, 2, 3
SIXTH = (45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0)
ROUGH = 1e-6  #: tolerance of the derivative in Newton's method
COARSER = 100.0  #: factor by which the tolerance is increased to estimate the error of eigenvalues


@made_once("walker")
@dataclass(frozen=True)
class Gait:
    """A periodic gait. walker: on it, just after an impact. steps: how many make a period.

    period: seconds per period; step_length: metres per step along the ground; energy_lost: joules per step;
    eigenvalues: of the return map, largest first; eigenvalue_error: their approximate accuracy, from the same
    computation with a hundred times the tolerance. residual: how far the state after a period is from that before.
    """

    walker: Walker
    steps: int
    period: float
    step_length: float
    energy_lost: float
    eigenvalues: NDArray[np.complex128]
    eigenvalue_error: float
    residual: float
    last: Step  #: the last step of the period

    def __repr__(self) -> str:
        kind = "stable" if self.stable else "unstable"
        size = f"{self.period:.10g} s, {self.step_length:.10g} m, {self.energy_lost:.10g} J a step"
        return f"<Gait of {quoted(self.walker.name)}: {kind}, period of {count(self.steps, 'step')}: {size}>"

    def plot(self, path: str | Path | None = None) -> Any:
        """Positions against velocities over a period, as a matplotlib figure; saved if a path is given."""
        from supple.walking.gait_plot import plot

        return plot(self, path)

    @property
    def stable(self) -> bool:
        return bool(np.abs(self.eigenvalues).max() < 1.0)


class ReturnMap:
    """Maps x = (q, v) just after an impact to x after a given number of steps."""

    @checked
    def __init__(self, walker: Walker, steps: Period = 1, tolerance: Tolerance = 1e-13) -> None:
        self.walker, self.steps, self._walk = walker, steps, Steps(walker, tolerance)
        self._n = walker.model.nq
        self.path: list[Step] = []
        self._readings: dict[object, tuple[Ints, Floats]] = {}

    def __call__(self, x: Floats) -> Floats:
        """Raises SimulationError if the walker falls."""
        stance, q, v = self._walk.first, x[: self._n], x[self._n :]
        self.path = []
        for i in range(self.steps):
            step = self._walk.step(stance, q, v)
            if not step.landed:
                raise not_landed(self.walker, step, i + 1)
            self.path.append(step)
            assert stance.next is not None
            stance, (q, v) = stance.next, step.after
        if stance not in self._readings:
            first = self._walk.first.model
            self._readings[stance] = (mirrored if self.steps % 2 else same)(first, stance.model)
        order, signs = self._readings[stance]
        return np.concatenate([signs * q[order], signs * v[order]])

    def jacobian(self, x: Floats, tolerance: float = 1e-13) -> Floats:
        """The derivative of the map at x, with the motion between impacts integrated to a tolerance (tangents.py)."""
        self(x)
        n, walker, pace = self._n, self.walker, self.walker.pace
        J, stance, q, v = np.eye(2 * n), self._walk.first, x[:n], x[n:]
        for step in self.path:
            assert stance.to is not None and stance.next is not None
            try:
                Phi = tangents.motion(step.model, q, v, step.duration, tolerance, pace)
                Phi = tangents.touchdown(step.model, step.feet[1], walker.normal, *step.before, Phi)
                J = tangents.impact(step.model, *step.before, stance.to, step.after) @ Phi @ J
            except np.linalg.LinAlgError:
                raise _singular(walker) from None
            stance, (q, v) = stance.next, step.after
        order, signs = self._readings[stance]
        return np.concatenate([signs[:, None] * J[order], signs[:, None] * J[n + order]])

    def derivative(self, x: Floats, weights: tuple[float, ...] = SIXTH, h: float = 1e-4) -> Floats:
        """The same as the jacobian by central differences of whole steps: less accurate, for comparison."""
        columns = []
        for i in range(len(x)):
            e = np.where(np.arange(len(x)) == i, h, 0.0)
            columns.append(sum(w * (self(x + k * e) - self(x - k * e)) for k, w in enumerate(weights, 1)) / h)
        return np.stack(columns, axis=1)


def eigenvalues(walker: Walker, x: Floats, J: Floats) -> NDArray[np.complex128]:
    """The eigenvalues of a return map's jacobian at x among states just after an impact, with both feet on the ground;
    largest first. (A foot that begins elsewhere makes no difference after a step: one more would be 0.)"""
    n = walker.model.nq
    unit = np.concatenate([np.ones(n), np.full(n, walker.pace)])
    off = np.concatenate([tangents.height(walker.model, walker.feet[1], walker.normal, x[:n]), np.zeros(n)])
    basis = np.linalg.svd(off[None, :])[2][1:]  # of its orthogonal complement
    values = np.linalg.eigvals(basis @ (J * unit[:, None] / unit) @ basis.T)
    return np.asarray(values[np.argsort(-np.abs(values), kind="stable")], dtype=np.complex128)


def same(model: Model, other: Model) -> tuple[Ints, Floats]:
    """The coordinates of the first tree within a tree that stands on the first foot again, and their signs."""
    places = [other.joints[name].q for name in model.joint_names]
    return np.concatenate([np.arange(p.start, p.stop) for p in places]), np.ones(model.nq)


def mirrored(model: Model, other: Model) -> tuple[Ints, Floats]:
    """The same for a tree on its other foot, read as if that were the first; refused if it moves differently there."""
    along = np.einsum("ni,ni->n", model.axis, other.axis)
    alike = np.array_equal(model.joint_type, other.joint_type) and np.abs(np.abs(along) - 1).max() < 1e-9
    if alike:
        signs = np.sign(along)[model.dof_body]
        for q, v, tau in np.random.default_rng(0).standard_normal((3, 3, model.nv)):
            a = forward_dynamics(model, q, v, tau)
            off = a - signs * forward_dynamics(other, signs * q, signs * v, signs * tau)
            alike = alike and bool(np.abs(off).max() < 1e-8 * max(1.0, float(np.abs(a).max())))
    if not alike:
        raise StateError(
            f"{model.name!r} is not its own mirror image: it moves differently on its other foot; use steps=2"
        )
    return np.arange(model.nq), np.asarray(signs)


@checked
def gait(walker: Walker, steps: Period = 1, *, tolerance: Tolerance = 1e-13, most: Tries = 60) -> Gait:
    """The periodic gait near the walker's state, by Newton's method on the return map.

    steps: how many make a period: 1 for a symmetric gait, 2 for one that limps. tolerance: of the integration, of the
    motion and of its derivative. most: the largest number of corrections. Raises SimulationError if the walker falls on
    the way, or no gait is found.
    """
    back = ReturnMap(walker, steps, tolerance)
    x, off = _fixed_point(back, np.concatenate([walker.q, walker.v]), most)
    J = back.jacobian(x, tolerance)
    values = eigenvalues(walker, x, J)
    moved = x + _solved(walker, J, off)
    coarse = eigenvalues(walker, moved, back.jacobian(moved, COARSER * max(tolerance, tangents.FINEST)))
    back(x)
    path, n = back.path, walker.model.nq
    return Gait(
        walker=walker.at(x[:n], x[n:]),
        steps=steps,
        period=sum(s.duration for s in path),
        step_length=float(np.mean([np.linalg.norm(s.travel) for s in path])),
        energy_lost=float(np.mean([s.energy_lost for s in path])),
        eigenvalues=values,
        eigenvalue_error=float(np.abs(values[:, None] - coarse).min(axis=1).max()),
        residual=float(np.abs(off).max()),
        last=path[-1],
    )


@checked
def on_gait(walker: Walker, steps: Period = 1, *, tolerance: Tolerance = 1e-13, most: Tries = 60) -> Walker:
    """The walker in the initial state of the gait near it, as in `gait`."""
    x, _ = _fixed_point(ReturnMap(walker, steps, tolerance), np.concatenate([walker.q, walker.v]), most)
    return walker.at(*np.split(x, 2))


def _fixed_point(back: ReturnMap, x: Floats, most: int) -> tuple[Floats, Floats]:
    """x whose return is x, by Newton's method, up to rounding; and its residual."""
    walker, pace = back.walker, back.walker.pace
    unit = np.where(np.arange(len(x)) < len(x) // 2, 1.0, pace)
    last = np.inf
    for _ in range(most):
        off = back(x) - x
        size = float(np.abs(unit * off).max())
        if size <= 1e-15 or (size < 1e-9 and size >= 0.1 * last):
            return x, off
        last = size
        change = _solved(walker, back.jacobian(x, ROUGH), off)
        x = x + change * min(1.0, 0.2 / float(np.abs(unit * change).max()))
    raise SimulationError(f"walker {walker.name!r}: no gait of {count(back.steps, 'step')} found; begin nearer to one")


def _solved(walker: Walker, J: Floats, off: Floats) -> Floats:
    """(1 - J)^-1 off"""
    try:
        return np.asarray(np.linalg.solve(np.eye(len(off)) - J, off))
    except np.linalg.LinAlgError:
        raise _singular(walker) from None


def _singular(walker: Walker) -> SimulationError:
    return SimulationError(
        f"walker {walker.name!r}: the derivative of its steps cannot be computed, since a matrix is singular up "
        "to rounding; use masses, lengths and gravity of more similar magnitude"
    )


def follow(make: Callable[[float], Walker], values: Iterable[float], steps: int = 1) -> Iterator[tuple[float, Gait]]:
    """A gait continued over a parameter, such as the slope: each search starts from the previous one, stable or not."""
    state: tuple[Floats, Floats] | None = None
    for value in values:
        walker = make(value)
        found = gait(walker if state is None else walker.at(*state), steps)
        state = found.walker.q, found.walker.v
        yield value, found


def settled(walker: Walker, settle: int = 200, keep: int = 32, tolerance: float = 1e-10) -> Floats:
    """(keep, 2) duration and length of steps after a walk long enough to settle: the walker's final behaviour."""
    out = []
    for i, step in enumerate(Steps(walker, tolerance).walk(settle + keep)):
        if not step.landed:
            raise not_landed(walker, step, i + 1)
        if i >= settle:
            out.append((step.duration, float(np.linalg.norm(step.travel))))
    return np.array(out)
