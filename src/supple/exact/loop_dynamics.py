"""Dynamics of bodies with loops by every method, and the forces that loop joints carry.

    H a + C = tau + G^T x        G a = g        [closure.py]

"aba" is with_loops.py. "crba" takes the sparse factors of the tree's mass matrix [SF section 6], H = L^T L: with
rows E a = h that are independent of each other, in place of G a = g, and B = L^-T E^T, forces along them are given by
B^T B x = h - E H^-1 (tau - C). "dense" does the same with a dense factor, independent of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ModelError, SingularError, StateError, quoted
from supple.exact.closure import Closure, closure, gaps
from supple.exact.crba import dense_shape, mass_matrix
from supple.exact.factor import factorize
from supple.exact.front_builder import SMALL
from supple.exact.kinematics import poses
from supple.exact.rnea import RNEA, WITH_WRENCHES
from supple.exact.smallest_forces import smallest_forces
from supple.exact.with_loops import WITH_FORCES, WITH_LOOPS
from supple.model.model import Model

Floats = NDArray[np.float64]

Solver = Callable[[Floats], Floats]

RANK = 1e-10  #: motions of actuated joints that are smaller, for a unit motion that loops allow, are none
UNMET, ROUNDING = 1e-8, 1e-13  #: parts of forces that may be missing: of those needed, and of those found
TIMES = 3  #: that forces along rows are solved for: from what is left of h after the last time


def with_loops(model: Model, q: Any, v: Any, tau: Any, wrenches: Any, method: str) -> Floats:
    """Forward dynamics of a model with loops."""
    if method == "aba":
        return WITH_LOOPS(model, q, v, tau, wrenches)
    if method not in ("crba", "dense"):
        raise ModelError(
            f"method {method!r} is for trees, and this model has loops: use 'aba', 'crba' or 'dense'; or read the file "
            "without loops, by load(..., loops=False) or --no-loops"
        )
    arrays, size = WITH_LOOPS.arrays(model, (q, v, tau, wrenches))
    solve = _by_factors if method == "crba" else _at_once
    if size is None:
        return solve(model, *arrays)
    out = np.empty((size, model.nv))
    for i in range(size):
        try:
            out[i] = solve(model, *WITH_LOOPS._state(model, arrays, i))
        except (StateError, SingularError) as e:
            raise type(e)(f"state {i} of the batch: {e}") from None
    return out


def _parts(model: Model, q: Any, v: Any, tau: Any, wrenches: Any) -> tuple[Closure, Floats]:
    """The rows of loops, and tau - C."""
    bias = RNEA.general(model, q, v, None, wrenches)
    if tau is not None and not np.isfinite(tau).all():
        raise StateError("tau has a number that is not finite")
    return closure(model, q, v), (np.zeros(model.nv) if tau is None else tau) - bias


def _at_once(model: Model, q: Any, v: Any, tau: Any, wrenches: Any) -> Floats:
    dense_shape(model)
    rows, force = _parts(model, q, v, tau, wrenches)
    try:
        half = np.linalg.cholesky(mass_matrix(model, q))
    except np.linalg.LinAlgError:
        raise SingularError("the mass matrix is singular; method 'aba' names the joint") from None
    return _held(model, rows, force, lambda b: np.linalg.solve(half, b), lambda b: np.linalg.solve(half.T, b))


def _by_factors(model: Model, q: Any, v: Any, tau: Any, wrenches: Any) -> Floats:
    rows, force = _parts(model, q, v, tau, wrenches)
    factor = factorize(mass_matrix(model, q, sparse=True), form="ltl")  # H = L^T L
    return _held(model, rows, force, factor.solve_Lt, factor.solve_L)


def _held(model: Model, rows: Closure, force: Floats, first: Solver, second: Solver) -> Floats:
    """The accelerations under forces tau - C by which loops stay closed: H^-1 is `second` after `first`. Where masses
    are far apart, what still opens loops is undone again."""
    E, h = independent(model, rows)
    a = second(first(force))
    B = first(E.T)
    _, R = np.linalg.qr(B)
    for _ in range(TIMES):
        x = np.linalg.solve(R, np.linalg.solve(R.T, h - E @ a))
        a = a + second(B @ x)
    return a


def independent(model: Model, rows: Closure) -> tuple[Floats, Floats]:
    """(k, nv), (k,) E and h: G a = g is E a = h, and the rows of E are orthonormal. Rows depend on each other by their
    lengths, whatever the masses are."""
    scale = rows.scale(model, np.linalg.norm(rows.G, axis=1))
    U, s, Vt = np.linalg.svd(rows.G * scale[:, None], full_matrices=False)
    kept = s > rows.least
    return Vt[kept], (U[:, kept].T @ (scale * rows.g)) / s[kept]


def loop_wrenches(model: Model, q: Floats, forces: Floats) -> Floats:
    """(n_loops, 6) the wrench that each loop joint exerts on `other`, from the forces along all rows: along the
    world's axes, about the origin of `other` (the world's, if that is the world)."""
    rows, origins = gaps(model, q), np.vstack([poses(model, q).position, np.zeros(3)])
    out, first = np.zeros((len(model.loop_list), 6)), 0
    for i, loop in enumerate(model.loop_list):
        mine = slice(first, first + loop.rows)
        out[i] = forces[mine] @ rows.f[mine]
        out[i, :3] += np.cross(rows.P[first] - origins[loop.other], out[i, 3:])
        first += loop.rows
    return out


def on_bodies(model: Model, q: Floats, carried: Floats) -> Floats:
    """(n_bodies, 6) what loop joints exert on bodies: each in its body's frame about its origin, as `wrenches`."""
    pose = poses(model, q)
    out = np.zeros((model.n_bodies, 6))
    for loop, w in zip(model.loop_list, carried):
        at = np.zeros(3) if loop.other < 0 else pose.position[loop.other]
        for body, sign in ((loop.other, 1.0), (loop.body, -1.0)):
            if body >= 0:
                moment = w[:3] + np.cross(at - pose.position[body], w[3:])
                R = pose.rotation[body]
                out[body] += sign * np.concatenate([R.T @ moment, R.T @ w[3:]])
    return out


def carried_by_joints(model: Model, q: Any, v: Any, tau: Any, wrenches: Any) -> Floats:
    """(..., n_bodies + n_loops, 6) the wrenches that joints carry, those of loop joints last."""
    arrays, size = WITH_FORCES.arrays(model, (q, v, tau, wrenches))
    if size is None:
        return _carried(model, *arrays)
    return np.array([_carried(model, *WITH_FORCES._state(model, arrays, i)) for i in range(size)])


def _carried(model: Model, q: Any, v: Any, tau: Any, wrenches: Any) -> Floats:
    found = WITH_FORCES.general(model, q, v, tau, wrenches)
    a, forces = found[: model.nv], found[model.nv :]
    mechanism = WITH_FORCES.work(model).call.hubs
    if len(forces) > SMALL and mechanism.redundant:  # with fewer rows, they are the smallest
        forces = smallest_forces(model, q, forces, mechanism.least)
    loops = loop_wrenches(model, q, forces)
    pushed = on_bodies(model, q, loops) + (0.0 if wrenches is None else wrenches)
    joints = WITH_WRENCHES(model, q, v, a, pushed)[model.nv :].reshape(model.n_bodies, 6)
    return np.vstack([joints, loops])


def actuated_forces(model: Model, q: Any, v: Any, a: Any, wrenches: Any, actuated: Sequence[str | int]) -> Floats:
    """The smallest forces of some joints that produce accelerations a, with loops closed; zero at all others.

    N^T S^T tau = N^T (H a + C), where the columns of N are the velocities that loops allow [VW (5)].
    """
    arrays, size = RNEA.arrays(model, (q, v, a, wrenches))
    if size is not None:
        raise StateError("inverse_dynamics with `actuated` takes one state, not a batch")
    needed = RNEA.general(model, *arrays)
    columns = np.unique([k for joint in actuated for k in np.r_[model.joints[joint].v]]).astype(np.int64)
    rows = closure(model, *map(np.asarray, arrays[:1] if arrays[1] is None else arrays[:2]))
    _refuse_opening(model, rows, arrays[2])
    N = allowed(model, rows)
    out = np.zeros(model.nv)
    U, s, Vt = np.linalg.svd(N[columns], full_matrices=False)
    moves = s > RANK  # of one: what is less is how far rounding moves a joint that loops hold
    out[columns] = U[:, moves] @ (Vt[moves] @ (N.T @ needed) / s[moves])
    left = N.T @ (needed - out)
    largest, found, needs = (np.abs(x).max(initial=0.0) for x in (left, out, needed))
    if largest > UNMET * needs + ROUNDING * found:
        worst = model.joint_names[int(model.dof_body[int(np.argmax(np.abs(N @ left)))])]
        raise StateError(
            f"the actuated joints cannot produce these accelerations: a motion of joint {worst!r} that loops allow is "
            "beyond them; actuate more joints"
        )
    return out


def _refuse_opening(model: Model, rows: Closure, a: Floats | None) -> None:
    """Refuse accelerations that loops forbid."""
    a = np.zeros(model.nv) if a is None else a
    opens = np.abs(rows.G @ a - rows.g)
    usual = float(np.linalg.norm(model.gravity)) + (np.abs(rows.G) @ np.abs(a) + np.abs(rows.g)).max(initial=0.0)
    if opens.max(initial=0.0) > 1e-6 * usual:
        worst = int(np.argmax(opens))
        raise StateError(
            f"these accelerations open {row_names(model)[worst]}, by {opens[worst]:.3g} (m/s^2 or rad/s^2): no forces "
            "of joints produce them; forward_dynamics gives some that keep it closed"
        )


def allowed(model: Model, rows: Closure) -> Floats:
    """(nv, k) an orthonormal basis of the velocities with G v = 0."""
    _, s, Vt = np.linalg.svd(rows.G * rows.scale(model, np.linalg.norm(rows.G, axis=1))[:, None])
    return np.asarray(Vt[np.count_nonzero(s > rows.least) :].T)


def row_names(model: Model) -> list[str]:
    """What each row of closure belongs to."""
    return [f"loop {quoted(x.name)}" for x in model.loop_list for _ in range(x.rows)] + [
        f"relation {quoted(x.name)}" for x in model.relation_list
    ]
