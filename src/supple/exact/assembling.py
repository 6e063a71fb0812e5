"""Positions in which loops are closed, and how many degrees of freedom remain there.

close_loops finds the position nearest to a given one, q0. Steps

    dq = -G^+ phi

close the loops [closure.py], by the least motion where rows are redundant. Then others move back towards q0 as far as
the loops allow, each followed by steps that close them again:

    dq = s p        p = (1 - G^+ G) d        d = q0 - q, in the coordinates of velocities at q

(of planar and free joints, d has how far the body is from where it was and by which angle it is turned, so that |d| is
a distance whose gradient is -d).
The length s is that of Barzilai and Borwein, p.p / p.(p - p') for p' after a step with s = 1: where loops curve, s = 1
may lead away. Where loops do not close, it is tried again from positions around q0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import Positive, checked
from supple.errors import StateError
from supple.exact.answers import at_rest
from supple.exact.closure import Closure, Gaps, closure, gaps
from supple.exact.front_builder import n_rows
from supple.exact.kinematics import POSES
from supple.exact.loop_dynamics import row_names
from supple.exact.loop_tables import extent
from supple.exact.responses import closing_motion, closing_velocities
from supple.exact.row_scales import RANK
from supple.exact.with_loops import dependent_rows
from supple.model import manifold
from supple.model.geometry import rotation_from_quaternion
from supple.model.model import Model, count

Floats = NDArray[np.float64]

CLOSED = 1e-12  #: metres and radians, times the size of the model: loops that are open by no more are closed
ROUNDING = 1e-15  #: of the lengths of all bodies together: that of the position of the last one in a chain of them
LARGE = 100.0  #: coordinates whose rounding is seen: gaps may be larger in proportion
STEPS, PATIENCE = 200, 20  #: at most; and how many may pass without success
FURTHER = 5  #: steps after which loops are closed as well as numbers can tell
DENSE = 4_000_000  #: entries of G up to which dense matrices are used
KICKS = 0.0, 0.05, 0.1, 0.2, 0.4  #: how far from the given position it is tried, in radians and metres
LARGEST_STEP = 0.5  #: radians and metres (times the size of the model) that a joint moves at most in a step
#: A row counts if more than this share of what tells rows apart is left of it; less after a step that did not help.
FIRST_SHARE, STUCK, STRICTER = 0.03, 0.5, 0.1
NEAREST = 1e-9  #: how near to the nearest position is near enough
SHORTEST, SAME = 1e-3, 1e-12  #: part of a step below which it is not shortened; relative errors of distances


@checked
def close_loops(model: Model, q: ArrayLike, tolerance: Positive | None = None) -> Floats:
    """The position nearest to q in which all loops are closed: nearer than all others around it. Of mechanisms with
    thousands of rows, one near it: by steps that are the least motion in the metric of the mass matrix.

    tolerance: how far a loop may stay open, in metres and radians; by default as far as rounding requires. Raises
    StateError, which names the loops and the gap that is left, if none is found: then the loops cannot be closed, or q
    is too far from where they can.
    """
    start = _one_state(model, q)
    least = closed_to(model, start) if tolerance is None else tolerance
    if model.is_tree:
        return start
    if n_rows(model) * model.nv > DENSE:
        return _by_steps(model, start, least)
    rng, left = np.random.default_rng(0), []
    for size in KICKS:
        here, rows = _nearest(model, model.integrate(start, size * rng.normal(size=model.nv)), start, least)
        if np.abs(rows.phi).max() <= least:
            return _closed_further(model, here, rows) if tolerance is None else here
        left.append(rows)
    _refuse_open(model, min(left, key=lambda rows: float(np.abs(rows.phi).max())))


def _by_steps(model: Model, q: Floats, least: float) -> Floats:
    """A position near q with all loops closed, by steps of least motion in the metric of the mass matrix."""
    rows, share = gaps(model, q), FIRST_SHARE
    for _ in range(STEPS):
        gap = np.abs(rows.phi).max()
        if gap <= least:
            return q
        step = closing_motion(model, q, share)
        part = 1.0 / max(1.0, float(np.abs(step).max(initial=0.0)) / _longest(model, rows))
        while True:
            there = model.integrate(q, part * step)
            found = gaps(model, there)
            if np.linalg.norm(found.phi) < (1.0 - 0.1 * part) * np.linalg.norm(rows.phi) or part < SHORTEST:
                break
            part *= 0.5
        q, rows = there, found
        share *= STRICTER if np.abs(rows.phi).max() > STUCK * gap else 1.0
    _refuse_open(model, rows)


def _nearest(model: Model, here: Floats, start: Floats, least: float) -> tuple[Floats, Closure]:
    """The position nearest to `start` to which steps from `here` lead; its loops may be open, if the steps go no
    further."""
    here, rows, share = _closed(model, here, least, FIRST_SHARE)
    length, along = 1.0, np.zeros(model.nv)
    for _ in range(STEPS):
        back = _way_back(model, here, start)
        along, last = back - _inverse(model, rows, share) @ (rows.G @ back), along
        if np.abs(rows.phi).max() > least or np.abs(along).max(initial=0.0) <= NEAREST:
            break
        bend = float(last @ (last - along))
        length = length * float(last @ last) / bend if bend > 0.0 else 1.0
        before = float(np.linalg.norm(back))
        longest = LARGEST_STEP * size_of(model) / float(np.abs(along).max())
        while (length := min(length, longest)) > SHORTEST:
            there, found, _ = _closed(model, model.integrate(here, length * along), least, share)
            distance = float(np.linalg.norm(_way_back(model, there, start)))
            if np.abs(found.phi).max() <= least and distance <= before * (1.0 + SAME):
                break
            length *= 0.5
        else:
            break
        here, rows = there, found
    return here, rows


def _way_back(model: Model, here: Floats, start: Floats) -> Floats:
    """From here to the start, in the coordinates of velocities here."""
    out, at = model.difference(here, start), manifold.layout(model)
    if at.free_p.size:
        R = rotation_from_quaternion(here[at.free_q])
        out[at.free_lin] = np.einsum("...ji,...j->...i", R, start[at.free_p] - here[at.free_p])
    if at.planar_q.size:
        x, y, c, s = here[at.planar_q].T
        dx, dy = start[at.planar_q[:, 0]] - x, start[at.planar_q[:, 1]] - y
        out[at.planar_v[:, :2]] = np.stack([c * dx + s * dy, c * dy - s * dx], axis=-1)
    return out


def _closed(model: Model, here: Floats, least: float, share: float) -> tuple[Floats, Closure, float]:
    """The position to which steps that close loops lead from `here`, the rows there, and the share that counts."""
    rows, before = closure(model, here), np.inf
    for step in range(STEPS):
        gap = float(np.abs(rows.phi).max())
        if gap <= least:
            break
        if step % PATIENCE == 0:
            if gap > 0.9 * before:
                break
            before = gap
        here, rows = _moved(model, here, rows, -_inverse(model, rows, share) @ rows.phi)
        share *= STRICTER if np.abs(rows.phi).max() > max(STUCK * gap, least) else 1.0
    return here, rows, share


def _closed_further(model: Model, here: Floats, rows: Closure) -> Floats:
    """Steps as long as they help: the smaller the gap is, the better redundant rows are told from others
    [row_scales.py]."""
    for _ in range(FURTHER):
        there = model.integrate(here, -_inverse(model, rows, FIRST_SHARE) @ rows.phi)
        found = closure(model, there)
        if not np.abs(found.phi).max() < 0.5 * np.abs(rows.phi).max():
            break
        here, rows = there, found
    return here


@checked
def close_velocities(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Floats:
    """The velocities nearest to v (None: at rest) that keep loops closed: those after an impact that closes the rows,
    so that the kinetic energy does not grow. The loops are closed at q."""
    here = _one_state(model, q)
    speeds = np.array(manifold.checked("v", at_rest(model, v), model.nv))
    if speeds.ndim != 1 or not np.isfinite(speeds).all():
        raise StateError(f"v must be {model.nv} finite numbers")
    return speeds if model.is_tree else speeds + closing_velocities(model, here, speeds)


def _one_state(model: Model, q: ArrayLike) -> Floats:
    arrays, size = POSES.arrays(model, (q, None, None, None))
    if size is not None:
        raise StateError("one position at a time: q has a batch")
    POSES.general(model, arrays[0], None, None, None)  # explains what is wrong with it, if anything is
    return np.array(arrays[0])


def size_of(model: Model) -> float:
    """The length of its longest body, in metres; at least one."""
    return max(1.0, extent(model))


def closed_gap(model: Model) -> float:
    """The gap, in metres and radians, up to which loops are closed: what rounding explains in long chains."""
    return CLOSED * size_of(model) + ROUNDING * float(np.linalg.norm(model.position, axis=1).sum())


def closed_to(model: Model, q: Floats) -> float:
    """How far loops may be open at q and count as closed, by rounding: metres and radians."""
    return closed_gap(model) * (1.0 + float(np.abs(q).max(initial=0.0)) / LARGE)


def _longest(model: Model, rows: Closure | Gaps) -> float:
    """How far a joint moves at most in a step; further where relations, which are linear, want it."""
    related = np.abs(rows.phi[len(rows.phi) - len(model.relation_list) :]).max(initial=0.0)
    return max(LARGEST_STEP * size_of(model), float(related))


def _moved(model: Model, q: Floats, rows: Closure, step: Floats) -> tuple[Floats, Closure]:
    """The next position: a shorter step if the whole one does not help."""
    gap = float(np.linalg.norm(rows.phi))
    part = 1.0 / max(1.0, float(np.abs(step).max(initial=0.0)) / _longest(model, rows))
    while True:
        there = model.integrate(q, part * step)
        found = closure(model, there)
        if np.linalg.norm(found.phi) <= (1.0 - 0.1 * part) * gap or part < SHORTEST:
            return there, found
        part *= 0.5


def _refuse_open(model: Model, rows: Closure | Gaps) -> NoReturn:
    names, gaps = row_names(model), np.abs(rows.phi)
    worst = names[int(np.argmax(gaps))]
    others = [name for name in dict.fromkeys(n for n, x in zip(names, gaps) if x > 0.01 * gaps.max()) if name != worst]
    mine = np.array([name == worst for name in names])
    slides, turns = rows.f[:, 3:].any(axis=1), rows.f[:, :3].any(axis=1)
    kinds = (" m", slides), (" rad", turns & ~slides), ("", ~slides & ~turns)
    each = [(float(np.linalg.norm(gaps[mine & which])), unit) for unit, which in kinds]
    left = " and ".join(f"{gap:.3g}{unit}" for gap, unit in each if gap > 0.0)
    together = f" together with {' and '.join(others[:3])}" if others else ""
    alone = "its factors and offset" if worst.startswith("relation") else "where its joint's frames are"
    check = "whether they contradict each other" if others else alone
    raise StateError(
        f"{worst} cannot be closed from here{together}: {left} of its gap is left; begin from a q in which it is "
        f"nearly closed, or check {check}"
    )


def _scale(model: Model, rows: Closure) -> Floats:
    """What makes rows of G comparable."""
    return rows.scale(model, np.linalg.norm(rows.G, axis=1))


def _inverse(model: Model, rows: Closure, share: float) -> Floats:
    scale = _scale(model, rows)
    return np.asarray(np.linalg.pinv(rows.G * scale[:, None], rcond=max(RANK, share * rows.least)) * scale)


@dataclass(frozen=True)
class Mobility:
    """How a mechanism can move at a position."""

    degrees: int  #: of freedom that remain
    rows: int  #: directions that loops and relations forbid, redundant ones included
    redundant: int  #: how many of those follow from others
    overconstrained: tuple[str, ...]  #: the loops and relations that redundant rows belong to
    singular: bool  #: whether it has more freedom here than at positions nearby

    def __repr__(self) -> str:
        more = f", {self.redundant} redundant" if self.redundant else ""
        singular = ", singular" if self.singular else ""
        return f"<Mobility: {count(self.degrees, 'degree')} of freedom, {count(self.rows, 'row')}{more}{singular}>"


NEARLY = 1e-6  #: gaps, times the size of the model, that are closed first
APART = 1e-7  #: singular values of rows of unit length that are smaller belong to redundant rows
NEARBY = 1e-3  #: how far from a position others are tried, in radians and metres


@checked
def mobility(model: Model, q: ArrayLike) -> Mobility:
    """The degrees of freedom that loops leave at a position in which they are closed.

    A position is singular if some rows that are independent nearby depend on each other there: the mechanism can then
    change from one kind of motion to another, or a joint cannot be moved by the others.
    """
    here = _one_state(model, q)
    if np.abs(gaps(model, here).phi).max(initial=0.0) > NEARLY * size_of(model):
        raise StateError("the loops are open at this q: close_loops gives a position in which they are closed")
    here = close_loops(model, here)
    if n_rows(model) * model.nv > DENSE:
        return _mobility_by_fronts(model, here)
    rows = closure(model, here)
    U, s, Vt = np.linalg.svd(rows.G * _scale(model, rows)[:, None])
    rank = int(np.count_nonzero(s > APART))
    names, left = row_names(model), np.abs(U[:, rank:]).max(axis=1, initial=0.0)
    involved = dict.fromkeys(name for name, x in zip(names, left) if x > 1e-6)
    return Mobility(
        model.nv - rank, len(names), len(names) - rank, tuple(involved), _rank_nearby(model, here, Vt[rank:].T) > rank
    )


def _mobility_by_fronts(model: Model, q: Floats) -> Mobility:
    """The same for many loops: rows that depend on others are found where they are eliminated, along fronts. Of rows
    that depend on each other, only those that were eliminated last are named."""
    rng, redundant, rows = np.random.default_rng(0), dependent_rows(model, q), n_rows(model)
    names, nearby, even = row_names(model), [], _with_even_joints(model)
    for _ in range(3):
        v = close_velocities(even, q, rng.normal(size=model.nv))
        try:
            nearby.append(len(dependent_rows(model, close_loops(model, model.integrate(q, NEARBY * v)))))
        except StateError:
            continue
    involved = dict.fromkeys(names[r] for r in redundant if 0 <= r < rows)
    singular = min(nearby, default=len(redundant)) < len(redundant)
    return Mobility(model.nv - rows + len(redundant), rows, len(redundant), tuple(involved), singular)


def _with_even_joints(model: Model) -> Model:
    """The same mechanism with armatures beside which masses do not matter: velocities that are closed in the metric of
    its mass matrix are the nearest. In that of its own, light joints of a long chain may have to turn very far."""
    lengths = size_of(model) + float(np.linalg.norm(model.position, axis=1).sum())
    largest = float(model.mass.sum()) * lengths**2 + float(np.abs(model.inertia).sum()) + float(model.armature.sum())
    return replace(model, armature=np.full(model.nv, 1e3 * largest))


def _rank_nearby(model: Model, q: Floats, N: Floats) -> int:
    """The largest rank of the rows at a few positions nearby."""
    rng, most = np.random.default_rng(0), 0
    for _ in range(3):
        try:
            there = close_loops(model, model.integrate(q, NEARBY * (N @ rng.normal(size=N.shape[1]))))
        except StateError:
            continue
        rows = closure(model, there)
        s = np.linalg.svd(rows.G * _scale(model, rows)[:, None], compute_uv=False)
        most = max(most, int(np.count_nonzero(s > APART)))
    return most
