"""The rows of the hybrid body along fronts of the whole body, where many joints move [exact/fronts.py].

Eliminated at the world all at once [hybrid_rows.py], n rows over N active degrees of freedom cost n^2 N. Along the
fronts of a spanning tree they cost what they do in exact dynamics, O(size of the body) where loops are short, however
few joints move: these keep their inertias, all others have infinite armatures. The cheaper way is taken.

Forces along rows change accelerations a by those of a body at rest, by which rows accelerate as they still have to:

    H da = G^T x        G da = g - G a
"""

from __future__ import annotations

import math

from supple.exact.call_kernels import no_wrenches
from supple.exact.closure import along
from supple.exact.front_rows import prepare_state, tree_axis
from supple.exact.front_solution import collect, collect_forces, load_nothing, solve_fronts
from supple.exact.fronts import factor_fronts
from supple.exact.motion import CallState, joint_of
from supple.exact.row_scales import reach_of
from supple.exact.with_loops import front_scratch
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Motion, Vec3, dot, shift_motion
from supple.spatial.compiler import helper

MISSING = 1e-3  #: of what rows have to accelerate: more than this must not be left ...
ROUNDING = 1e-11  #: ... unless it is less than this of what the bodies at their ends do


@helper
def is_cheaper(held):
    """Whether fronts are the cheaper way."""
    n = float(held.front.n)
    return held.fronts_cost < n * n * held.front.stride


@helper
def goes_by_fronts(hybrid):
    """Whether rows are eliminated along fronts: where that is cheaper, until they misjudge some."""
    return hybrid.closing.by_fronts and not hybrid.misjudged


@helper
def factor_by_fronts(hybrid, m, x):
    """Factor the whole body, of which only active joints move, at the current position."""
    held = hybrid.closing
    whole, work = held.call.model, front_scratch(held.call)
    mech = work.hubs[0]
    for j in range(whole.nv):
        whole.dofs[j].armature = math.inf
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            whole.dofs[j].armature = m.dofs[j].armature
    prepare_state(whole, CallState(x.q, x.zeros, x.zeros, False, no_wrenches()), mech, work)
    mech.least = held.least
    factor_fronts(mech)
    held.redundant = mech.redundant


@helper
def accelerate_ends(m, x, held, held_by_loops):
    """The accelerations, beyond zeta, of joints and of bodies at ends of loops, if loops exerted no forces.
    held_by_loops: those that they cause are added."""
    path, loops, o = x.work.path, held.loops, Vec3(0.0, 0.0, 0.0)
    path[0].A = Motion(o, o)
    held.accelerations[loops.n_motions - 1].A = Motion(o, o)
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(x.work.bodies[b].r, path[p].A)
        for k in range(j, j + DOF[kind]):
            dof = x.work.dofs[k]
            x.qdd[k] = x.qdd[k] + held.found[k] if held_by_loops else (dof.u - A @ dof.U) * dof.d
            A = A + tree_axis(kind, k, b, x.work) * x.qdd[k]
        path[i].A = A
        if loops.captured[b] >= 0:
            held.accelerations[loops.captured[b]].A = A


@helper
def still_missing(x, held):
    """How much rows have to accelerate beyond x.qdd, into `numbers`. Returns the largest, and what of it may be
    rounding."""
    for r in range(held.loops.n_rows):
        held.numbers[r] = held.loops.rows[r].g
    loops, size = held.loops, 0.0
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            for side in range(2):
                row, end = loops.rows[r], loop.ends[side].motion
                a = along(row.f, shift_motion(row.P - loops.motions[end].P, held.accelerations[end].A))
                held.numbers[r] -= a if side == 1 else -a
                size = max(size, abs(a) / reach_of(loops, r))
    for i in range(loops.n_terms):
        term = loops.terms[i]
        a = term.factor * x.qdd[term.iv]
        held.numbers[term.row] -= a
        size = max(size, abs(a))
    most = 0.0
    for r in range(loops.n_rows):
        most = max(most, abs(held.numbers[r]) / reach_of(loops, r))
    return most, held.rounding + ROUNDING * size


@helper
def rounding_of(loops, moving):
    """What may be rounding of how bodies at ends of loops accelerate by themselves; moving: of how they move."""
    most, size = 0.0, loops.size * loops.size
    for i in range(loops.n_motions):
        a = loops.motions[i].V if moving else loops.motions[i].zeta
        most = max(most, dot(a.ang, a.ang) + dot(a.lin, a.lin) / size)
    return ROUNDING * math.sqrt(most)


@helper
def respond_by_fronts(held):
    """The accelerations by which rows move as `numbers` say, into found. Returns the energy that velocities of this
    size would have."""
    whole, work, energy = held.call.model, front_scratch(held.call), 0.0
    mech = work.hubs[0]
    for r in range(mech.loops.n_rows):
        mech.loops.rows[r].g = 0.0
    for r in range(held.loops.n_rows):
        mech.loops.rows[held.from_row[r]].g = held.numbers[r]
    load_nothing(mech)
    solve_fronts(mech)
    collect(whole, mech, held.found, work)
    collect_forces(whole, mech, held.found)
    for r in range(held.loops.n_rows):
        energy += 0.5 * held.numbers[r] * held.found[whole.nv + held.from_row[r]]
    return energy


@helper
def hold_by_fronts(m, x, held):
    """Change the forces u of joints to those with which rows accelerate as their g says. Returns whether they do: where
    joints that are rigid make many rows depend on each other, fronts, each of which sees few of them, may misjudge
    which. Rounding along rows that do depend on others stays, whoever judges them."""
    accelerate_ends(m, x, held, False)
    needed, rounding = still_missing(x, held)
    respond_by_fronts(held)
    accelerate_ends(m, x, held, True)
    left, _ = still_missing(x, held)
    if not left <= max(MISSING * needed, rounding):
        return False
    path, o = x.work.path, Vec3(0.0, 0.0, 0.0)
    path[0].A = Motion(o, o)
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(x.work.bodies[b].r, path[p].A)
        for k in range(j, j + DOF[kind]):
            dof = x.work.dofs[k]
            dof.u = x.qdd[k] / dof.d + A @ dof.U
            A = A + tree_axis(kind, k, b, x.work) * x.qdd[k]
        path[i].A = A
    return True
