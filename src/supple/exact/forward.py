"""Forward dynamics by name of method, and the two inertia-matrix methods: CRBA + LTDL, and the dense reference."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import choice, take
from supple.errors import SingularError, StateError
from supple.exact.aba import ABA
from supple.exact.answers import at_rest
from supple.exact.call_kernels import ScratchRows
from supple.exact.calls import TAU, WRENCHES, Algorithm, HostWork, Q, V, refuse_not_finite
from supple.exact.crba import CrbaDof, crba, dense_shape, packed_size
from supple.exact.dca import divide_and_conquer
from supple.exact.digits import BY_MATRIX, compared, keeps_matrix_digits, refuse
from supple.exact.loop_dynamics import with_loops
from supple.exact.ltdl import ltdl, solve_ltdl
from supple.exact.motion import CallState
from supple.exact.rnea import RNEA, rnea
from supple.exact.state_errors import MODEL
from supple.exact.tables import host_tables
from supple.exact.virtual_hubs import accelerations as by_virtual_work
from supple.model.model import Model
from supple.spatial.algebra import Force, Mat3, Motion, RigidInertia, Vec3
from supple.spatial.any_number import number_like
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE, ODD
from supple.spatial.fields import Value
from supple.spatial.structs import Struct

Method = Literal["aba", "crba", "virtual-work", "dca", "dense"]
METHODS: tuple[str, ...] = get_args(Method)
METHOD = choice(*METHODS)
Floats = NDArray[np.float64]


class ForwardPath(Struct, align=LINE):
    """The fields of rnea.py and crba.py, which run in succession."""

    R = Value(Mat3)
    V = Value(Motion)
    A = Value(Motion)
    F = Value(Force)
    O = Value(Vec3)
    Ic = Value(RigidInertia)


class ForwardBody(Struct):
    r = Value(Vec3)
    z = Value(Vec3)
    F = Value(Force)
    O = Value(Vec3)
    I = Value(RigidInertia)


@helper
def crba_ltdl(m, state, qdd, work):
    """qdd = H^-1 (tau - C), H packed and factored in place [SF (1), section 6]."""
    H, tau = work.extra, state.known
    for j in range(m.nv):
        H[j] = number_like(state.q[0], 0.0)  # H is not needed yet: its memory serves as zero accelerations
    rnea(m, CallState(state.q, state.v, H, state.pushed, state.wrenches), qdd, work)  # C
    for j in range(m.nv):
        qdd[j] = tau[j] - qdd[j]
    crba(m, state.q, H, work, False)
    smallest = ltdl(H, m.packing)
    solve_ltdl(H, m.packing, qdd)
    return smallest


def _inverse_D(model: Model, work: HostWork) -> Floats:
    with np.errstate(divide="ignore"):
        return np.reciprocal(work.extra[host_tables(model).pattern.diagonal])


CRBA_LTDL = Algorithm(
    "crba",
    crba_ltdl,
    ScratchRows(ForwardPath, ForwardBody, CrbaDof),
    (Q, V, TAU, WRENCHES),
    lambda m: (m.nv,),
    extra=lambda m: packed_size(m) + m.nv,
    inverse_D=_inverse_D,
    of_trees=True,
)
ALGORITHMS = {"aba": ABA, "crba": CRBA_LTDL}


def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    method: Method = "aba",
) -> Floats:
    """The joint accelerations: qdd with H(q) qdd + C(q, v) = tau.

    q (nq,), v, tau (nv,); wrenches (n_bodies, 6) act on the bodies, each in its body's frame about its origin,
    angular first (see supple.wrench). v, tau or wrenches None means zeros. Any of them may have a leading batch axis;
    the result is (nv,) or (B, nv).

    method:  "aba"    articulated-body algorithm, O(n): the recommended one
             "crba"   mass matrix and its sparse factors: nearly as fast for small or bushy trees
             "virtual-work"  closes one joint after another, O(n): for the forces that joints carry (joint_wrenches)
             "dca"    divide and conquer over a balanced tree, O(log n) deep, O(n) in all: runs on several threads
             "dense"  the unit-vector method and a dense solve, O(n^3): independent of the others, for checking

    "virtual-work" and "dca" lose digits where a light body carries a heavy one, and on paths of many hundred bodies.
    Their results are then compared with those of "aba" and, where they differ, recomputed in 32 digits, some 15 times
    slower; or SingularError names the joint. "crba" and "dense" lose digits where moments of inertia are further apart
    than 1e8, and on paths of more than 200 bodies: they are also compared and recomputed, or refused.

    Loops are kept closed, as far as q and v close them (see close_loops): by "aba" with forces along what loop joints
    forbid, by "crba" with the factors of the tree's mass matrix, by "dense" with all equations at once. "virtual-work"
    and "dca" are for trees.
    """
    v = at_rest(model, v)
    try:
        qdd: Any = model._fast[method](q, v, tau, wrenches)
    except (KeyError, AttributeError, TypeError):  # not called before, or no model or method at all
        qdd = ODD
    if qdd.__class__ is int:
        qdd = _other_way(model, q, v, tau, wrenches, method)
    if method in ("crba", "dense") and model.is_tree and not keeps_matrix_digits(model):
        solve = CRBA_LTDL.general if method == "crba" else _unit_vectors
        return compared(model, f"method {method!r}", solve, (q, v, tau, wrenches), qdd)
    result: NDArray[np.float64] = qdd
    return result


def _other_way(model: Model, q: Any, v: Any, tau: Any, wrenches: Any, method: str) -> Floats:
    """A first call on a model, arguments of any form, or a method without its own kernel."""
    take("model", model, MODEL)
    take("forward_dynamics: method", method, METHOD)
    if not model.is_tree:
        return with_loops(model, q, v, tau, wrenches, method)
    if method in ALGORITHMS:
        try:
            return ALGORITHMS[method].general(model, q, v, tau, wrenches)
        except SingularError:
            if method == "crba" and not keeps_matrix_digits(model):
                ABA.general(model, q, v, tau, wrenches)  # reports what is singular, if anything is
                refuse(model, "method 'crba'", BY_MATRIX, None)
            raise
    if method == "virtual-work":
        return by_virtual_work(model, q, v, tau, wrenches)
    if method == "dca":
        return divide_and_conquer(model, q, v, tau, wrenches)
    return _unit_vectors(model, q, v, tau, wrenches)


def _unit_vectors(model: Model, q: Any, v: Any, tau: Any, wrenches: Any) -> Floats:
    """H column by column, each the inverse dynamics of a unit acceleration, then a dense solve."""
    arrays, size = CRBA_LTDL.arrays(model, (q, v, tau, wrenches))
    if size is not None:
        out = np.empty((size, model.nv))
        for i in range(size):
            try:
                alone = [x if x is None or x.ndim == d else x[i] for x, d in zip(arrays, (1, 1, 1, 2))]
                out[i] = _unit_vectors(model, *alone)
            except (StateError, SingularError) as e:
                raise type(e)(f"state {i} of the batch: {e}") from None
        return out
    dense_shape(model)
    if arrays[2] is not None and not np.isfinite(arrays[2]).all():  # the others are checked below
        refuse_not_finite(model, "tau", arrays[2])
    bias = RNEA.general(model, arrays[0], arrays[1], None, arrays[3])
    at_rest = RNEA.general(model, arrays[0], None, None, None)
    H = RNEA.general(model, arrays[0], None, np.eye(model.nv), None) - at_rest
    force = (np.zeros(model.nv) if arrays[2] is None else arrays[2]) - bias
    try:
        return np.asarray(np.linalg.solve(H.T, force), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise SingularError("the mass matrix is singular; method 'aba' names the joint") from None
