"""Virtual work in 32 digits: the same core as virtual_work.py, on numbers of double_double.py.

Positions and velocities of bodies are computed in float64, as usual, and are right to the last digit or two. What
follows from them has 16 digits to spare. That begins with the force b that zeta requires. It must be that of exactly
the body whose mobility is used, with mass 1 / w, inertia J^-1 and centre of mass c, to the last of the 32 digits: where
c is far off and J large, any disagreement between b and J matters. Some 15 times slower than float64; digits.py decides
when it is worthwhile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.exact.aba import AbaDof, without_joint
from supple.exact.call_kernels import BATCH, Scratch, call_at, row_of
from supple.exact.motion import Axes, CallState, joint_of, turn_ahead, turned_split, world_at_rest
from supple.exact.tables import ALIGNMENT, Wrench, host_tables
from supple.exact.threads import in_parallel
from supple.exact.virtual_work import VIRTUAL_WORK, LinkBody, LinkConstants, LinkPath, close_joints
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE, Axis
from supple.model.model import Model
from supple.spatial.addresses import float_vector
from supple.spatial.algebra import Force, Motion, Sym3, Vec3, cross, inverse_sym, rotate_force
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import OK
from supple.spatial.double_double import high, make_pair, pair_type, pair_vector
from supple.spatial.trig import RING, Turn

Floats = NDArray[np.float64]

wide_path_at, wide_bodies_at = LinkPath.table_of(pair_type), LinkBody.table_of(pair_type)
wide_dofs_at, wide_axes_at = AbaDof.table_of(pair_type), Axis.table_of(pair_type)
path_at, bodies_at, constants_at = LinkPath.table, LinkBody.table, LinkConstants.table
dofs_at, axes_at, ring_at, wrenches_at = AbaDof.table, Axis.table, Turn.table, Wrench.table
PATH, BODY, DOF_WORDS, AXIS, TURNS = LinkPath.words, LinkBody.words, AbaDof.words, Axis.words, RING * Turn.words


@helper
def wide(x):
    """A vector widened to 32 digits, exactly."""
    return Vec3(make_pair(x.x, 0.0), make_pair(x.y, 0.0), make_pair(x.z, 0.0))


@helper
def wide_motion(x):
    return Motion(wide(x.ang), wide(x.lin))


@helper
def wide_links(m, state, work, to):
    """The results of free_links, from `work` in float64, into scratch of 32 digits."""
    world = work.path[0]
    world.zeta = world_at_rest(m, state.q[0], world)
    done = 0
    for b in range(m.n):
        i, _, kind, j = joint_of(m, b)
        done = turn_ahead(m, state.q, work.S, done, b)
        R, I = without_joint(m, b, state, work)
        w = work.constants[b].w
        s = turned_split(R, work.constants[b])
        x, y = wide(Vec3(s.xx, s.xy, s.xz)), wide(Vec3(s.yy, s.yz, s.zz))
        c, J = wide(I.h * w), Sym3(x.x, x.y, x.z, y.x, y.y, y.z)
        f = force_of(w, c, J, wide_motion(work.path[i].V), wide_motion(work.path[i].zeta))
        if state.pushed:
            push = rotate_force(R @ m.outward[b].R, state.wrenches[b].f)
            f = f - Force(wide(push.ang), wide(push.lin))
        body, found = to.bodies[b], work.bodies[b]
        body.r, body.z, body.p, body.c, body.J = wide(found.r), wide(found.z), f, c, J
        if kind != REVOLUTE and kind != PRISMATIC:
            for k in range(j, j + DOF[kind]):
                to.S.axes[k].s = wide_motion(work.S.axes[k].s)


@helper
def force_of(w, c, J, V, A):
    """The force that moves a body with V and A, by Newton and Euler at its centre of mass, about its origin."""
    at_c = A.lin + cross(V.ang, V.lin) + cross(A.ang, c) + cross(V.ang, cross(V.ang, c))
    lin = at_c * (1.0 / (V.ang.x * 0.0 + w))
    I, _ = inverse_sym(J, J)
    return Force(I @ A.ang + cross(V.ang, I @ V.ang) + cross(c, lin), lin)


@kernel(BATCH, "virtual work in 32 digits", effort=4, nogil=True)
def extended_kernel(handle, given, out, first, stop, scratch):
    """States first ... stop - 1, which have already been checked: qdd and the joints' forces. Returns OK."""
    q, v, tau, wrenches = given
    call = call_at(handle)
    m = call.model
    n, nv, slots, n_out = m.n, m.nv, call.n_slots, m.nv + 6 * m.n
    constants = constants_at(call.constants)
    at_bodies = (scratch.ctypes.data + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    at_path = at_bodies + 16 * n * BODY
    at_axes = at_path + 16 * slots * PATH
    at_dofs = at_axes + 16 * nv * AXIS
    at_out = at_dofs + 16 * nv * DOF_WORDS
    at_plain_bodies = at_out + 16 * n_out
    at_plain_path = at_plain_bodies + 8 * n * BODY
    at_plain_axes = at_plain_path + 8 * slots * PATH
    at_ring = at_plain_axes + 8 * nv * AXIS
    found, ring, none = pair_vector(at_out), ring_at(at_ring), float_vector(at_out, 0)
    S, wide_S = Axes(axes_at(at_plain_axes), ring), Axes(wide_axes_at(at_axes), ring)
    work = Scratch(path_at(at_plain_path), bodies_at(at_plain_bodies), dofs_at(0), S, none, constants, 0, n_out)
    wide_work = Scratch(
        wide_path_at(at_path), wide_bodies_at(at_bodies), wide_dofs_at(at_dofs), wide_S, none, constants, 0, n_out
    )
    for s in range(out.shape[0]):
        pushes, pushed = wrenches_at(wrenches.ctypes.data + 8 * s * wrenches.shape[1]), wrenches.shape[1] > 0
        state = CallState(row_of(q, s), row_of(v, s), row_of(tau, s), pushed, pushes)
        wide_links(m, state, work, wide_work)
        close_joints(m, make_pair(0.0, 0.0), state.v, state.known, found, wide_work)
        for k in range(n_out):
            out[s, k] = high(found[k])
    return OK


def extended(model: Model, q: Floats, v: Floats, tau: Floats, wrenches: Floats) -> Floats:
    """(B, nv + 6 n) accelerations and joint wrenches of a batch, all arguments (B, numbers); no wrenches: (B, 0).

    The states must be valid, and every body must have mass and inertia.
    """
    work = VIRTUAL_WORK.work(model)
    n, nv, slots, size = model.n_bodies, model.nv, host_tables(model).n_slots, len(q)
    numbers = n * BODY + slots * PATH + nv * AXIS
    room = 3 * numbers + 2 * nv * DOF_WORDS + 2 * (nv + 6 * n) + TURNS + ALIGNMENT // 8
    out, run = np.empty((size, nv + 6 * n)), extended_kernel.load()

    def part(bounds: tuple[int, int]) -> int:
        return int(run(work.handle, (q, v, tau, wrenches), out, *bounds, np.zeros(room)))

    in_parallel(part, size)
    return out
