"""What divide and conquer and virtual work find has its digits, or is found in another way, or is refused.

Both subtract and invert mobilities, and lose digits with the square of how far moments of inertia are apart: with a
dummy link of 0.1 g that carries a robot, all of them. Articulated bodies add inertias and lose next to none.

    apart    the largest moment of inertia, mass or armature at the longest lever, over the least of any body about any
             axis: a number of the model, found once
    below FEW_LOST    results are right to 1e-9 or so in any state, and returned as they are
    above it          they are compared with what articulated bodies and inverse dynamics say (NEAR); where they differ,
                      joints are closed in 32 digits (extended.py); where accelerations differ, too (FAR), there is
                      no telling which are right, and SingularError says why

Lengths that a sliding joint can reach have no bound: with one amid the tree, `apart` is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from supple.errors import SingularError
from supple.exact.aba import ABA
from supple.exact.extended import extended
from supple.exact.rnea import WITH_WRENCHES
from supple.model.joints import JointType
from supple.model.model import Model

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Arguments = list[Floats | None]  #: q, v, tau, wrenches as Algorithm.arrays gives them

FEW_LOST = 1e4  #: moments of inertia so far apart cost virtual work seven digits, divide and conquer five
NEAR, FAR = 1e-9, 1e-6  #: of the largest acceleration or wrench
_SLIDING = [JointType.PRISMATIC, JointType.SCREW, JointType.CYLINDRICAL, JointType.PLANAR, JointType.FREE]


def keeps_digits(model: Model) -> bool:
    """Whether few digits can be lost, whatever the state."""
    return _known(model, "keeps digits", lambda: _apart(model) <= FEW_LOST)


def has_mobilities(model: Model) -> bool:
    """Whether every body has mass, and inertia about every axis."""
    return _known(
        model, "has mobilities", lambda: bool((model.mass > 0).all() and (np.linalg.eigvalsh(model.inertia) > 0).all())
    )


def _known(model: Model, what: str, find: Callable[[], bool]) -> bool:
    """A property of a model, found once."""
    found: bool | None = model._work.get(what)
    return found if found is not None else model._work.setdefault(what, find())


def _apart(model: Model) -> float:
    inner = model.parent >= 0
    if not has_mobilities(model) or np.isin(model.joint_type[inner], _SLIDING).any():
        return np.inf
    moments = np.linalg.eigvalsh(model.inertia)
    lever = max(_square(model.com), _square(model.position[inner]))
    armature = float(model.armature.max(initial=0.0))
    return max(float(model.mass.max()) * lever, float(moments.max()), armature) / float(moments.min())


def _square(x: Floats) -> float:
    """The length of the longest of some vectors, squared."""
    return float(np.einsum("ij,ij->i", x, x).max(initial=0.0))


def settled(model: Model, method: str, arguments: Arguments, size: int | None, found: Floats) -> Floats:
    """The results of a method, with a leading axis for batches, (nv,) or, with joint wrenches, (nv + 6 n,): those that
    have lost digits are found again, or refused. NaN stands for what the method could not find."""
    if size == 0:
        return found
    nv, count = model.nv, 1 if size is None else size
    rows = found.reshape(count, -1)
    q, v, _, wrenches = arguments
    wanted = a = ABA(model, *arguments)  # says what is wrong with a state that has no answer
    if rows.shape[1] > nv:
        wanted = WITH_WRENCHES(model, q, v, a, wrenches)
        wanted[..., :nv] = a
    wanted = wanted.reshape(count, -1)
    bad = ~(_near(rows[:, :nv], wanted[:, :nv], NEAR) & _near(rows[:, nv:], wanted[:, nv:], NEAR))
    if bad.any():
        which = np.flatnonzero(bad)
        few = [_rows(model, i, x, which) for i, x in enumerate(arguments)]
        if has_mobilities(model):
            rows[which] = extended(model, *few)[:, : rows.shape[1]]
        far = ~_near(rows[which, :nv], wanted[which, :nv], FAR)
        if far.any():
            far[far] = ~_balanced(model, [x[far] for x in few], rows[which[far], :nv], wanted[which[far], :nv])
        if far.any():
            refuse(model, method, None if size is None else int(which[far][0]))
    return found


def _near(found: Floats, wanted: Floats, share: float, floor: Floats | float = 0.0) -> Bools:
    """Row by row, whether all is within a share of the largest, or of a larger number."""
    with np.errstate(invalid="ignore", over="ignore"):  # NaN is not near
        off, scale = np.abs(found - wanted).max(axis=1, initial=0.0), np.abs(wanted).max(axis=1, initial=0.0)
        near: Bools = off <= share * np.maximum(scale, floor)
    return near


def _balanced(model: Model, given: list[Floats], found: Floats, wanted: Floats) -> Bools:
    """Whether accelerations are within FAR of what weight and velocity, and wrenches with them, would cause alone:
    where forces balance, what is left of them is small."""
    q, v, _, pushes = given
    wrenches = pushes.reshape(len(pushes), -1, 6) if pushes.shape[1] else None
    alone = np.maximum(np.abs(ABA(model, q, v, None, None)), np.abs(ABA(model, q, v, None, wrenches)))
    return _near(found, wanted, FAR, alone.max(axis=1, initial=0.0))


def _rows(model: Model, argument: int, x: Floats | None, which: NDArray[np.int64]) -> Floats:
    """(states, numbers) of an argument for some states of a batch."""
    if x is None:
        return np.zeros((len(which), model.nv if argument < 3 else 0))
    some = x[which] if x.ndim > (1, 1, 1, 2)[argument] else np.broadcast_to(x, (len(which), *x.shape))
    return np.ascontiguousarray(some).reshape(len(which), -1)


def refuse(model: Model, method: str, state: int | None) -> NoReturn:
    """Say which bodies are so different that digits go."""
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
        "With bodies so different, what is found in 32 digits is not what articulated bodies find in 16. Give the "
        "lighter one more mass and inertia, or its joint armature; method='aba' makes no such comparison"
    )


def _apartness(a: Floats, b: Floats) -> Floats:
    """The larger over the smaller, of numbers that may be zero."""
    tiny = np.finfo(np.float64).tiny
    ratio = np.clip(np.maximum(a, tiny) / np.maximum(b, tiny), tiny, 1 / tiny)
    return np.maximum(ratio, 1 / ratio)


def _size(mass: float, moment: float) -> str:
    return f"{mass:.3g} kg, least moment of inertia {moment:.3g} kg m2"
