"""Virtual work in 32 digits: the same core as virtual_work.py, on numbers of double_double.py.

Where bodies are and how they move is found in float64, as ever: these numbers are right to the last digit or two. What
follows from them has 16 digits to spare. That begins with the force b that zeta takes, which must be that of the very
body whose mobility is used, mass 1 / w, inertia J^-1 and centre of mass c, to the last of the 32 digits: where c is far
off and J large, what b and J would otherwise disagree about counts. Some 15 times slower than float64; digits.py says
when it is worth it.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.aba import without_joint
from supple.exact.calls import CONSTANTS, HEADER, N_SLOTS
from supple.exact.motion import AXIS, DOF, PRISMATIC, REVOLUTE, Axes, joint_of, turn_ahead, world_at_rest
from supple.exact.tables import ALIGNMENT, host_tables, open_tables
from supple.exact.threads import in_parallel
from supple.exact.virtual_work import (
    BODY_ROW,
    C_,
    CONSTANT_ROW,
    DOF_ROW,
    E_,
    F_,
    J_,
    LIGHTNESS,
    P_,
    PATH_ROW,
    TURNING,
    V_,
    VIRTUAL_WORK,
    Z_,
    close_joints,
)
from supple.model.model import Model
from supple.spatial.algebra import Force, Motion, Sym3, Vec3, cross, inverse_sym, rotate_force
from supple.spatial.compiler import helper, kernel
from supple.spatial.double_double import high, make_pair, pairs_at
from supple.spatial.indexing import get, item
from supple.spatial.references import OK, floats_at, ints_at
from supple.spatial.rows import (
    load_force,
    load_mat,
    load_motion,
    load_turned_sym,
    load_vec,
    store_six,
    store_sym,
    store_vec,
)
from supple.spatial.trig import RING

Floats = NDArray[np.float64]


@helper
def wide(x):
    """A vector with all the digits it has."""
    return Vec3(make_pair(x.x, 0.0), make_pair(x.y, 0.0), make_pair(x.z, 0.0))


@helper
def wide_links(m, q, v, has_wrenches, wrenches, path, work, S, constants, wide_work, wide_S):
    """What free_links gives, in 32 digits."""
    world_at_rest(m, q, path)
    done = 0
    for b in range(m.n):
        i, _, kind, j = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, Y = without_joint(m, b, q, v, has_wrenches, wrenches, path, work, S)
        w = get(constants, b, LIGHTNESS)
        s = load_turned_sym(R, constants, b, TURNING)
        x, y = wide(Vec3(s.xx, s.xy, s.xz)), wide(Vec3(s.yy, s.yz, s.zz))
        c, J = wide(Y.h * w), Sym3(x.x, x.y, x.z, y.x, y.y, y.z)
        V, zeta = load_motion(path, i, V_), load_motion(path, i, Z_)
        f = force_of(w, c, J, Motion(wide(V.ang), wide(V.lin)), Motion(wide(zeta.ang), wide(zeta.lin)))
        if has_wrenches:
            push = rotate_force(R @ load_mat(m.outward, b, 0), load_force(wrenches, b, 0))
            f = f - Force(wide(push.ang), wide(push.lin))
        store_vec(wide_work, b, P_, wide(load_vec(work, b, P_)))
        store_vec(wide_work, b, E_, wide(load_vec(work, b, E_)))
        store_six(wide_work, b, F_, f)
        store_vec(wide_work, b, C_, c)
        store_sym(wide_work, b, J_, J)
        if kind != REVOLUTE and kind != PRISMATIC:
            for k in range(j, j + DOF[kind]):
                axis = load_motion(S.rows, k, 0)
                store_six(wide_S.rows, k, 0, Motion(wide(axis.ang), wide(axis.lin)))


@helper
def force_of(w, c, J, V, A):
    """What a body needs to move with V and A, by Newton and Euler at its centre of mass, about its origin."""
    at_c = A.lin + cross(V.ang, V.lin) + cross(A.ang, c) + cross(V.ang, cross(V.ang, c))
    lin = at_c * (1.0 / (V.ang.x * 0.0 + w))
    I, _ = inverse_sym(J, J)
    return Force(I @ A.ang + cross(V.ang, I @ V.ang) + cross(c, lin), lin)


_f1, _f2, _int = types.float64[::1], types.float64[:, ::1], types.int64


@kernel(_int(_int, _f2, _f2, _f2, _f2, _f2, _int, _int, _f1), "virtual work in 32 digits", effort=4, nogil=True)
def extended_kernel(handle, q, v, tau, wrenches, out, first, stop, scratch):
    """States first ... stop - 1, which others have found to be good: qdd and the joints' forces. Returns OK."""
    h = ints_at(handle, (HEADER,))
    m = open_tables(h)
    n, nv, slots = m.n, m.nv, h[N_SLOTS]
    at_work = (scratch.ctypes.data + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    at_path = at_work + 16 * n * BODY_ROW
    at_axes = at_path + 16 * slots * PATH_ROW
    at_dofs = at_axes + 16 * nv * AXIS
    at_out = at_dofs + 16 * nv * DOF_ROW
    at_plain_work = at_out + 16 * (nv + 6 * n)
    at_plain_path = at_plain_work + 8 * n * BODY_ROW
    at_plain_axes = at_plain_path + 8 * slots * PATH_ROW
    at_ring = at_plain_axes + 8 * nv * AXIS
    S = Axes(floats_at(at_plain_axes, (nv, AXIS)), floats_at(at_ring, (RING, 2)))
    path, work = floats_at(at_plain_path, (slots, PATH_ROW)), floats_at(at_plain_work, (n, BODY_ROW))
    constants = floats_at(h[CONSTANTS], (n, CONSTANT_ROW))
    wide_S = Axes(pairs_at(at_axes, (nv, AXIS)), pairs_at(at_axes, (1, 1)))
    wide_work, found = pairs_at(at_work, (n, BODY_ROW)), pairs_at(at_out, (nv + 6 * n,))
    wide_path, dofs = pairs_at(at_path, (slots, PATH_ROW)), pairs_at(at_dofs, (nv, DOF_ROW))
    for state in range(first, stop):
        pushes = floats_at(wrenches[state].ctypes.data, (n, 6))
        has_wrenches = wrenches.shape[1] > 0
        wide_links(m, q[state], v[state], has_wrenches, pushes, path, work, S, constants, wide_work, wide_S)
        close_joints(m, make_pair(0.0, 0.0), v[state], tau[state], found, wide_path, wide_work, wide_S, dofs, constants)
        for k in range(nv + 6 * n):
            out[state, k] = high(item(found, k))
    return OK


def extended(model: Model, q: Floats, v: Floats, tau: Floats, wrenches: Floats) -> Floats:
    """(B, nv + 6 n) accelerations and joint wrenches of a batch, all arguments (B, numbers); no wrenches: (B, 0).

    The states must be good ones, and every body must have mass and inertia.
    """
    work = model._work.get(VIRTUAL_WORK.name) or VIRTUAL_WORK.prepare(model)
    n, nv, slots, size = model.n_bodies, model.nv, host_tables(model).n_slots, len(q)
    numbers = n * BODY_ROW + slots * PATH_ROW + nv * AXIS
    room = 3 * numbers + 2 * nv * DOF_ROW + 2 * (nv + 6 * n) + 2 * RING + ALIGNMENT // 8
    out, run = np.empty((size, nv + 6 * n)), extended_kernel.load()

    def part(bounds: tuple[int, int]) -> int:
        return int(run(work.handle, q, v, tau, wrenches, out, *bounds, np.zeros(room)))

    in_parallel(part, size)
    return out
