"""Accuracy of methods other than articulated bodies: results that lost digits are recomputed otherwise, or refused.

Divide and conquer and virtual work subtract and invert mobilities, and lose digits with the square of the ratio of
moments of inertia: with a dummy link of 0.1 g that carries a robot, all of them. The articulated-body algorithm adds
inertias and loses almost none.

    spread    the largest moment of inertia, mass or armature at the longest lever, over the smallest of any body about
              any axis
    apart     the same, times bodies / FEW, if there are more and paths fork
    unlike    the largest ratio of two bodies' masses, smallest moments of inertia or largest ones, times bodies
    both small (FEW_LOST, ALIKE), and no path long (LONG): results are right to 1e-7 or so in any state, and returned
                 unchanged
    otherwise    they are compared with articulated bodies and inverse dynamics (NEAR); where they differ, joints are
                 closed in 32 digits (extended.py); where accelerations differ, too (FAR), it is impossible to tell
                 which are right, and SingularError says why

Methods that form the mass matrix lose as many digits as `spread` has, and on deep trees as the cube of the depth: up to
SPREAD and DEEP they are right to 1e-7. Beyond that, they are compared with articulated bodies; where they differ, they
are refined by the residual of inverse dynamics, and refused if that does not help.

These numbers belong to the model, and are computed once. Lengths that a sliding joint can reach are unbounded: with one
in the middle of the tree, `apart` is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from supple.errors import SingularError
from supple.exact.aba import ABA
from supple.exact.extended import extended
from supple.exact.kinematics import poses
from supple.exact.rnea import RNEA, WITH_WRENCHES
from supple.model.joints import SLIDES
from supple.model.model import Model
from supple.model.topology import depths, n_children

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Arguments = list[Floats | None]  #: q, v, tau, wrenches as Algorithm.arrays gives them
Given = tuple[Any, Any, Any, Any]  #: the same as a user gives them
Solver = Callable[..., Floats]  #: accelerations, from a model and these

FEW_LOST, FEW = 1e4, 12  #: moments of inertia this far apart cost virtual work seven digits in trees of a few bodies
SPREAD, DEEP = 1e8, 200  #: within these the mass matrix has six digits and one or two to spare; bodies on a path
REFINEMENTS = 3
ALIKE = 3e4  #: errors grow with the square of the ratio between bodies, and of their number: up to 3e-8 at this product
NEAR, FAR = 1e-9, 1e-6  #: relative to the largest acceleration or wrench
MANY = 100  #: bodies, above which NEAR grows with their number, like the rounding error of articulated bodies
LONG = 500  #: bodies; longer stretched chains of similar bodies cost divide and conquer nine digits
BALANCED, ROUNDING = 1e-10, 1e-13  #: residual of balanced forces: relative to those that bearings hold, and to others
_SLIDES = np.array(SLIDES)


def keeps_digits(model: Model) -> bool:
    """Whether few digits can be lost in any state."""
    return _known(
        model, "keeps digits", lambda: not is_long(model) and _apart(model) <= FEW_LOST and _unlike(model) <= ALIKE
    )


def is_long(model: Model) -> bool:
    """Whether paths are so long that rounding accumulates, however similar the bodies are."""
    return _known(model, "is long", lambda: bool(depths(model.parent).max(initial=0) > LONG))


def keeps_matrix_digits(model: Model) -> bool:
    """Whether the mass matrix is accurate enough in any state."""
    return _known(
        model, "keeps matrix digits", lambda: _spread(model) <= SPREAD and depths(model.parent).max(initial=0) <= DEEP
    )


def has_mobilities(model: Model) -> bool:
    """Whether every body has mass, and inertia about every axis."""
    return _known(
        model, "has mobilities", lambda: bool((model.mass > 0).all() and (np.linalg.eigvalsh(model.inertia) > 0).all())
    )


def _known(model: Model, what: str, find: Callable[[], bool]) -> bool:
    """A property of a model, computed once."""
    return model._kept((_known, what), find)


def _apart(model: Model) -> float:
    inner = model.parent >= 0
    if not has_mobilities(model) or _SLIDES[model.joint_type[inner]].any():
        return np.inf
    forks = n_children(model.parent)[1:].max(initial=0) > 1
    return _spread(model) * (max(1.0, _largest_tree(model) / FEW) if forks else 1.0)


def _spread(model: Model) -> float:
    moments = np.linalg.eigvalsh(model.inertia)
    lever = max(_square(model.com), _square(model.position[model.parent >= 0]))
    largest = max(float(model.mass.max()) * lever, float(moments.max()), float(model.armature.max(initial=0.0)))
    least = float(moments.min())
    return largest / least if least > 0.0 else np.inf


def _unlike(model: Model) -> float:
    moments = np.linalg.eigvalsh(model.inertia)
    ratio = max(float(x.max() / x.min()) for x in (model.mass, moments[:, 0], moments[:, 2]))
    return ratio * _largest_tree(model)


def _largest_tree(model: Model) -> int:
    """The largest number of bodies on one joint of the world."""
    return int((model.subtree_end - np.arange(model.n_bodies)).max(initial=0))


def _square(x: Floats) -> float:
    """The squared length of the longest of some vectors."""
    return float(np.einsum("ij,ij->i", x, x).max(initial=0.0))


def settled(model: Model, method: str, arguments: Arguments, size: int | None, found: Floats) -> Floats:
    """The results of a method, with a leading axis for batches, (nv,) or, with joint wrenches, (nv + 6 n,): those that
    have lost digits are recomputed, or refused. NaN stands for what the method could not compute."""
    if size == 0:
        return found
    nv, count = model.nv, 1 if size is None else size
    rows = found.reshape(count, -1)
    q, v, _, wrenches = arguments
    wanted = a = ABA(model, *arguments)  # reports what is wrong with a state that has no answer
    if rows.shape[1] > nv:
        wanted = WITH_WRENCHES(model, q, v, a, wrenches)
        wanted[..., :nv] = a
    wanted = wanted.reshape(count, -1)
    near = min(FAR, NEAR * max(1.0, model.n_bodies / MANY))
    bad = ~(_near(rows[:, :nv], wanted[:, :nv], near) & _near(rows[:, nv:], wanted[:, nv:], near))
    if bad.any():
        which = np.flatnonzero(bad)
        few = [_rows(model, i, x, which) for i, x in enumerate(arguments)]
        if has_mobilities(model):
            rows[which] = extended(model, *few)[:, : rows.shape[1]]
        else:
            rows[which, nv:] = wanted[which, nv:]
        bad[which] = _far(model, few, rows[which, :nv], wanted[which, :nv])
        if rows.shape[1] > nv and not is_long(model):  # where inverse dynamics, summed up from the leaves, loses digits
            share = FAR / 2  # within FAR along the axes of any frame, which changes numbers by up to sqrt(3)
            bad[which] |= ~_near(rows[which, nv:], wanted[which, nv:], share, _carried(model, few))
    if bad.any():
        refuse(model, method, IN_32_DIGITS, None if size is None else int(np.flatnonzero(bad)[0]))
    return found


def compared(model: Model, method: str, solve: Solver, given: Given, found: Floats) -> Floats:
    """Accelerations by a method that forms the mass matrix: those that agree with articulated bodies, if necessary
    after refinement by their residual in the equations of motion; otherwise refused."""
    arguments, size = ABA.arrays(model, given)
    if size == 0:
        return found
    wanted = ABA(model, *arguments)
    q, v, tau, wrenches = arguments
    for left in range(REFINEMENTS, -1, -1):
        rows, right = found.reshape(-1, model.nv), wanted.reshape(-1, model.nv)
        which = np.flatnonzero(~_near(rows, right, FAR))
        if len(which) == 0:
            break
        if left:
            rest = (0.0 if tau is None else tau) - RNEA(model, q, v, found, wrenches)
            found = found + solve(model, q, v, RNEA(model, q, v, None, wrenches) + rest, wrenches)
            continue
        far = which[
            _far(model, [_rows(model, i, x, which) for i, x in enumerate(arguments)], rows[which], right[which])
        ]
        if len(far):
            refuse(model, method, BY_MATRIX, None if size is None else int(far[0]))
    return found


def _far(model: Model, given: list[Floats], found: Floats, wanted: Floats) -> Bools:
    """Row by row, whether accelerations differ from those of articulated bodies, other than by balance of forces."""
    far = ~_near(found, wanted, FAR)
    if far.any():
        far[far] = ~_balanced(model, [x[far] for x in given], found[far], wanted[far])
    return far


def _carried(model: Model, given: list[Floats]) -> Floats:
    """(states,) an upper bound of joint wrenches, whose rounding error remains where forces balance or bodies fall
    freely: from the forces on all bodies, whatever the directions."""
    q, v, tau, pushes = given
    moment, force = _on_bodies(model, q, v, pushes.reshape(len(pushes), -1, 6) if pushes.shape[1] else None)
    sizes = moment.sum(axis=(1, 2)) + force.sum(axis=(1, 2)) + np.abs(tau).sum(axis=1)
    return np.asarray(BALANCED / FAR * sizes, dtype=np.float64)


def _near(found: Floats, wanted: Floats, share: float, floor: Floats | float = 0.0) -> Bools:
    """Row by row, whether everything is within a fraction of the largest, or of a larger number."""
    with np.errstate(invalid="ignore", over="ignore"):  # NaN is not near
        off, scale = np.abs(found - wanted).max(axis=1, initial=0.0), np.abs(wanted).max(axis=1, initial=0.0)
        near: Bools = off <= share * np.maximum(scale, floor)
    return near


def _balanced(model: Model, given: list[Floats], found: Floats, wanted: Floats) -> Bools:
    """Whether accelerations are within FAR of what weight, velocity and wrenches would cause alone, or within rounding
    of what forces of their size would cause in other directions: where forces balance, their residual is small.
    """
    q, v, tau, pushes = given
    wrenches = pushes.reshape(len(pushes), -1, 6) if pushes.shape[1] else None
    scale = np.maximum(np.abs(ABA(model, q, v, None, None)), np.abs(ABA(model, q, v, None, wrenches)))
    moment, force = _on_bodies(model, q, v, wrenches)
    rng, still, shape = np.random.default_rng(0), np.zeros_like(v), (model.n_bodies, 3)
    for _ in range(3):  # the same forces in other directions: whatever the posture, they do not balance in all of them
        f = force * _directions(rng, shape)
        through = np.concatenate([np.cross(model.com, f), f], axis=-1)
        about = np.concatenate([moment * _directions(rng, shape), f], axis=-1)
        turned = tau * rng.choice([-1.0, 1.0], model.nv)
        scale = np.maximum(scale, BALANCED / FAR * np.abs(ABA(model, q, still, None, through)))
        # torques and moments that would turn light links fast, but do not: their rounding error remains
        scale = np.maximum(scale, ROUNDING / FAR * np.abs(ABA(model, q, still, turned, about)))
    return _near(found, wanted, FAR, scale.max(axis=1, initial=0.0))


def _on_bodies(model: Model, q: Floats, v: Floats, wrenches: Floats | None) -> tuple[Floats, Floats]:
    """(states, n, 1) twice: magnitudes of the moments, about bodies' origins, and of the forces on each body due to
    weight, motion and wrenches, whatever their directions."""
    carried = WITH_WRENCHES(model, q, v, np.zeros_like(v), None)[:, model.nv :].reshape(len(q), -1, 6)
    r, inner = poses(model, q).position, np.flatnonzero(model.parent >= 0)
    carried[..., :3] += np.cross(r, carried[..., 3:])  # about the world's origin
    by_body = np.moveaxis(carried, 1, 0)
    own = by_body.copy()
    np.subtract.at(own, model.parent[inner], by_body[inner])  # a body passes on what it does not take up
    own = np.moveaxis(own, 0, 1)
    weight = (model.mass * np.linalg.norm(model.gravity))[:, None]
    moment = _lengths(own[..., :3] - np.cross(r, own[..., 3:])) + weight * _lengths(model.com)
    force = _lengths(own[..., 3:]) + weight
    if wrenches is not None:
        moment, force = moment + _lengths(wrenches[..., :3]), force + _lengths(wrenches[..., 3:])
    return moment, force


def _lengths(x: Floats) -> Floats:
    return np.asarray(np.linalg.norm(x, axis=-1, keepdims=True), dtype=np.float64)


def _directions(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    x = rng.standard_normal(shape)
    return np.asarray(x / _lengths(x), dtype=np.float64)


def _rows(model: Model, argument: int, x: Floats | None, which: NDArray[np.int64]) -> Floats:
    """(states, numbers) of an argument for some states of a batch."""
    if x is None:
        return np.zeros((len(which), model.nv if argument < 3 else 0))
    some = x[which] if x.ndim > (1, 1, 1, 2)[argument] else np.broadcast_to(x, (len(which), *x.shape))
    return np.ascontiguousarray(some).reshape(len(which), -1)


IN_32_DIGITS = "With bodies so different, what is found in 32 digits is not what articulated bodies find in 16"
BY_MATRIX = "With so many bodies, or so different ones, the mass matrix has too few digits for the lighter ones"


def refuse(model: Model, method: str, why: str, state: int | None) -> NoReturn:
    """Report which bodies differ so much that digits are lost."""
    where = "" if state is None else f"state {state} of the batch: "
    sums, least = np.append(0.0, np.cumsum(model.mass)), np.linalg.eigvalsh(model.inertia)[:, 0].astype(np.float64)
    carried, up = sums[model.subtree_end] - sums[:-1], model.parent
    differ = np.maximum(_apartness(carried, model.mass[up]), _apartness(least, least[up]))
    b = int(np.argmax(np.where(up < 0, 0.0, differ)))
    p = int(up[b])
    holder = "the world" if p < 0 else f"body {model.body_names[p]!r} ({_size(model.mass[p], least[p])})"
    raise SingularError(
        f"{where}{method} cannot close joint {model.joint_names[b]!r} with six digits: {holder} carries body "
        f"{model.body_names[b]!r} ({_size(model.mass[b], least[b])}; {carried[b]:.3g} kg with all that it carries). "
        f"{why}. Give the lighter one more mass and inertia, or its joint armature; method='aba' makes no such "
        "comparison"
    )


def _apartness(a: Floats, b: Floats) -> Floats:
    """The larger over the smaller of two numbers that may be zero."""
    tiny = np.finfo(np.float64).tiny
    ratio = np.clip(np.maximum(a, tiny) / np.maximum(b, tiny), tiny, 1 / tiny)
    return np.maximum(ratio, 1 / ratio)


def _size(mass: float, moment: float) -> str:
    return f"{mass:.3g} kg, least moment of inertia {moment:.3g} kg m2"
