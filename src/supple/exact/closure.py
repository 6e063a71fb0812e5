"""How far loops are from being closed, and the rows by which they constrain velocities and accelerations.

A loop joint is between a frame A on `body` and a frame B on `other`. Let V_J = V_B - V_A be the velocity of B relative
to A, about the origin P of B and along world axes. The joint forbids one row for each direction in model/joints.py:

    symbol   what
    K        K V_J = 0: the forbidden directions, as unit forces on `other` at P; the opposite ones act on `body`
    phi      how far the loop is open along them, in metres and radians; where it is closed, phi' = K V_J
    g        K (A_B - A_A) = K (V_B x V_J) keeps it closed: A_B - A_A is S q'' + V_B x V_J at such a joint. g is what is
             left for joints to add to zeta, the accelerations of bodies if no joint accelerated
    G        (rows, nv) K V_J = G v

The first axis of a universal joint is fixed to A, the second to B: its fourth row is about their common perpendicular.
A relation between coordinates is a row of factors in G, with g = 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple import memory
from supple.exact.call_kernels import call_at
from supple.exact.jacobians import axis_of
from supple.exact.kinematics import POSES, place_world, placed_scratch
from supple.exact.loop_tables import Loops, groups, loop_tables
from supple.exact.motion import joint_of, move, turn_ahead, unit_mat, zero_vec
from supple.exact.row_scales import least_remainder, reach_of
from supple.model.joint_poses import DOF, SCREW, UNIVERSAL
from supple.model.joints import DIRECTIONS, KINDS, NV, JointType
from supple.model.model import Model
from supple.spatial.addresses import vector
from supple.spatial.algebra import (
    Force,
    Motion,
    Vec3,
    crm,
    cross,
    dot,
    shift_force,
    shift_motion,
    transpose,
    x_axis,
    y_axis,
    z_axis,
)
from supple.spatial.compiler import helper, kernel
from supple.spatial.held import Held

Floats = NDArray[np.float64]

#: By type: the forbidden directions, rotations about x, y, z then translations along them.
FORBIDDEN = tuple(
    tuple(k for k, name in enumerate(DIRECTIONS) if name in KINDS[JointType(t)].forbidden.split()) + (-1,) * NV[t]
    for t in range(len(JointType))
)
NOISE = 1e-11  #: radians, or parts of the size of the model, by which rows of G are longer than rounding
SMALL = 1e-9  #: sine of an angle whose direction is not determined


@helper
def rotation_between(R):
    """The rotation vector of R: its axis times its angle."""
    w = Vec3(R.r2.y - R.r1.z, R.r0.z - R.r2.x, R.r1.x - R.r0.y) * 0.5  # axis times sine
    sine, cosine = math.sqrt(dot(w, w)), 0.5 * (R.r0.x + R.r1.y + R.r2.z - 1.0)
    if sine > SMALL:
        out = w * (math.atan2(sine, cosine) / sine)
    elif cosine > 0.0:
        out = w
    else:  # half a turn: R + 1 = 2 a a^T
        x, y, z = R.r0.x + 1.0, R.r1.y + 1.0, R.r2.z + 1.0
        if x >= y and x >= z:
            a = Vec3(x, R.r1.x, R.r2.x)
        elif y >= z:
            a = Vec3(R.r0.y, y, R.r2.y)
        else:
            a = Vec3(R.r0.z, R.r1.z, z)
        out = a * (math.pi / math.sqrt(dot(a, a)))
    return out


@helper
def tilt_between(a, b, x):
    """The rotation vector that turns the unit vector a to b by the shortest way; x is perpendicular to b."""
    w = cross(a, b)
    sine = math.sqrt(dot(w, w))
    if sine > SMALL:
        w = w * (math.atan2(sine, dot(a, b)) / sine)
    elif dot(a, b) < 0.0:
        w = x * math.pi
    return w


@helper
def turned_about(R_A, R_B, along, pitch):
    """The angle by which B is rotated about its z axis relative to A. If it advances by `pitch` a radian, the full
    turns are those of the distance `along`."""
    c, s = dot(x_axis(R_A), x_axis(R_B)), dot(y_axis(R_A), x_axis(R_B))
    angle = math.atan2(s, c)
    if pitch != 0.0:
        angle += 2.0 * math.pi * np.rint((along / pitch - angle) / (2.0 * math.pi))
    return angle


class MovingFrame(NamedTuple):
    """A frame along world axes: its rotation and position, the velocity of its origin, and the acceleration if no
    joint accelerated."""

    R: Any
    P: Any
    V: Any
    zeta: Any


@helper
def frame_at(loops, end):
    """The frame at the end of a loop."""
    body = loops.motions[end.motion]
    r = body.R @ end.p
    return MovingFrame(body.R @ end.R, body.P + r, shift_motion(r, body.V), shift_motion(r, body.zeta))


@helper
def find_rows(loops):
    """The rows of all loop joints, from the motions of their bodies."""
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        loop_rows(loop, frame_at(loops, loop.ends[0]), frame_at(loops, loop.ends[1]), loops.rows)


@helper
def loop_rows(loop, A, B, rows):
    """The rows of a loop joint between two frames."""
    kind, pitch = loop.kind, loop.pitch
    d = B.P - A.P
    V_A, zeta_A = shift_motion(d, A.V), shift_motion(d, A.zeta)
    V_J = Motion(B.V.ang - V_A.ang, B.V.lin - V_A.lin)
    x, y, z = x_axis(B.R), y_axis(B.R), z_axis(B.R)
    x_A, o = x_axis(A.R), Vec3(0.0, 0.0, 0.0)
    c = crm(B.V, V_J)
    if kind == UNIVERSAL:
        c = c - crm(V_J, Motion(x_A * dot(V_J.ang, x_A), o))  # the first axis moves with A
        y = turn = cross(z, x_A)
    elif FORBIDDEN[kind][2] == 2:  # all rotations
        turn = B.R @ rotation_between(transpose(A.R) @ B.R)  # the same along B's axes as along A's
    else:
        turn = tilt_between(z_axis(A.R), z, x)
    for i in range(6 - DOF[kind]):
        k = FORBIDDEN[kind][i]
        if k < 3:
            e = x if k == 0 else (y if k == 1 else z)
            f, phi = Force(e, o), dot(x_A, z) if kind == UNIVERSAL else dot(e, turn)
        else:
            # along A's axes, so that phi' = K V_J also where it is open
            e = x_A if k == 3 else (y_axis(A.R) if k == 4 else z_axis(A.R))
            f, phi = Force(o, e), dot(e, d)
            if kind == SCREW and k == 5:
                f = Force(z * -pitch, e)
                phi -= pitch * turned_about(A.R, B.R, phi, pitch)
        row = rows[loop.row + i]
        row.f, row.P, row.phi, row.rate = f, B.P, phi, along(f, V_J)
        row.g = along(f, c) - along(f, B.zeta) + along(f, zeta_A)


@helper
def along(f, a):
    """The motion a along a unit force."""
    return dot(f.ang, a.ang) + dot(f.lin, a.lin)


@helper
def move_ends(m, q, v, loops, work):
    """R, P, V and zeta (without gravity) of all bodies at ends of loops; R, P, V of every body, too."""
    path, bodies, S = work.path, work.bodies, work.S
    place_world(q[0], path[0])
    o = zero_vec(q[0])
    path[0].V = path[0].A = Motion(o, o)
    hold_world(loops, path[0].A)
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r, V, c = move(m, b, path[p].R, path[p].V, q, v, S)
        P, zeta = path[p].P + r, shift_motion(r, path[p].A) + c
        path[i].R, path[i].P, path[i].V, path[i].A = R, P, V, zeta
        bodies[b].R, bodies[b].P, bodies[b].V = R, P, V
        if loops.captured[b] >= 0:
            end = loops.motions[loops.captured[b]]
            end.R, end.P, end.V, end.zeta = R, P, V, zeta


@helper
def hold_world(loops, zeta):
    """The motion of the world, as an end of loops."""
    o, world = Vec3(0.0, 0.0, 0.0), loops.motions[loops.n_motions - 1]
    world.R, world.P, world.V, world.zeta = unit_mat(0.0), o, Motion(o, o), zeta


@helper
def find_relations(loops, q, v):
    """phi, its rate and g of relations between coordinates."""
    for i in range(loops.n_terms):
        row = loops.rows[loops.terms[i].row]
        row.phi, row.rate, row.g = -loops.sums[loops.terms[i].row], 0.0, 0.0
    for i in range(loops.n_terms):
        term = loops.terms[i]
        row = loops.rows[term.row]
        row.phi += term.factor * q[term.iq]
        row.rate += term.factor * v[term.iv]


@helper
def add_columns(m, work, at, row, sign, G):
    """Add to a row of G how a body's point moves along it, for each degree of freedom."""
    b = at
    while b >= 0:
        j, f = m.bodies[b].iv, shift_force(row.P - work.bodies[b].P, row.f)
        for k in range(j, j + DOF[m.bodies[b].kind]):
            G[k] += sign * along(f, axis_of(m, work, b, k))
        b = m.bodies[b].parent


@helper
def widest_gap(loops):
    """The largest phi, lengths being measured by the size of the model."""
    most = 0.0
    for r in range(loops.n_rows):
        most = max(most, abs(loops.rows[r].phi) / reach_of(loops, r))
    return most


_f1, _f2 = types.float64[::1], types.float64[:, ::1]


@kernel(types.void(types.int64, Loops.type, _f1, _f1, _f2, _f2, _f1), "closure of loops")
def _closure(handle, loops, q, v, out, G, least):
    """phi, g, its rate, f and P of every row into out (rows, 12); G (rows, nv), unless it has no rows; and the least
    remainder that tells rows apart."""
    call = call_at(handle)
    m, work = call.model, placed_scratch(call)
    move_ends(m, vector(q), vector(v), loops, work)
    find_rows(loops)
    find_relations(loops, vector(q), vector(v))
    least[0] = least_remainder(widest_gap(loops))
    for k in range(loops.n_rows):
        row = loops.rows[k]
        out[k, 0], out[k, 1], out[k, 2] = row.phi, row.g, row.rate
        for c in range(3):
            out[k, 3 + c], out[k, 6 + c], out[k, 9 + c] = row.f.ang[c], row.f.lin[c], row.P[c]
    if G.shape[0] == 0:
        return
    G[:] = 0.0
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for k in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            add_columns(m, work, loop.ends[0].body, loops.rows[k], -1.0, G[k])
            add_columns(m, work, loop.ends[1].body, loops.rows[k], 1.0, G[k])
    for i in range(loops.n_terms):
        G[loops.terms[i].row, loops.terms[i].iv] += loops.terms[i].factor


class Closure(NamedTuple):
    """The rows of all loops at a state: those of loop joints in their order, then those of relations, divided by their
    largest factor."""

    phi: Floats  #: (rows,) how far loops are open: metres, radians
    G: Floats  #: (rows, nv) G v is how fast they open
    g: Floats  #: (rows,) they stay closed if G a = g
    f: Floats  #: (rows, 6) unit forces along rows of loop joints, on `other`, along world axes, moment first
    P: Floats  #: (rows, 3) where they act
    least: float  #: rows of which less remains depend on others [row_scales.py]
    reach: Floats  #: (rows,) the size of the model for rows that slide, one for others

    def scale(self, model: Model, lengths: Floats) -> Floats:
        """What makes rows of these lengths, of G or of another matrix that has a row for each of its rows, comparable:
        as long as they are in G, where the longest of each loop, and each relation, is of unit length. Rows out of the
        plane of a plane linkage, and all rows of a second hinge on the same axis, are nothing but rounding there."""
        own = np.linalg.norm(self.G, axis=1)
        counts, moves = groups(model), own / self.reach
        first = np.cumsum(counts) - counts
        most = np.repeat(np.maximum.reduceat(moves, first), counts) if len(counts) else moves
        kept = (most > NOISE) & (lengths > 0.0)
        out: Floats = np.divide(moves, most * lengths, out=np.zeros_like(lengths), where=kept)
        return out


class Gaps(NamedTuple):
    """How far loops are open at a state, row by row as in Closure; no matrices."""

    phi: Floats  #: (rows,) metres, radians
    rate: Floats  #: (rows,) how fast they open
    f: Floats  #: (rows, 6)
    P: Floats  #: (rows, 3)


def closure(model: Model, q: Floats, v: Floats | None = None) -> Closure:
    """The rows at a state, which is valid."""
    n = loops_of(model).n_rows
    # G, and the factors that callers make of it
    memory.require(8 * n * model.nv, f"the {n:,} rows of all loops over {model.nv:,} joints", "use fewer loops")
    G = np.empty((n, model.nv))
    out, least = _found(model, q, v, G)
    reach = np.where(out[:, 6:9].any(axis=1), loops_of(model).size, 1.0)
    return Closure(out[:, 0], G, out[:, 1], out[:, 3:9], out[:, 9:], least, reach)


def gaps(model: Model, q: Floats, v: Floats | None = None) -> Gaps:
    """The gaps at a state, which is valid: O(n)."""
    out, _ = _found(model, q, v, np.empty((0, model.nv)))
    return Gaps(out[:, 0], out[:, 2], out[:, 3:9], out[:, 9:])


def loops_of(model: Model) -> Held:
    """The loops of a model, and memory for one state."""
    loops: Held = model._kept(closure, lambda: loop_tables(model))
    return loops


def _found(model: Model, q: Floats, v: Floats | None, G: Floats) -> tuple[Floats, float]:
    loops = loops_of(model)
    out, least = np.empty((loops.n_rows, 12)), np.empty(1)
    v = np.zeros(model.nv) if v is None else v
    _closure.load()(POSES.work(model).handle, loops.address, q, v, out, G, least)
    return out, float(least[0])
