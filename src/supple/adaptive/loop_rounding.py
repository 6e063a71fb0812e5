"""What rounding may have done to the accelerations of a body with loops, which are those of fronts [loop_choice.py].

The accelerations a and the forces x along rows are put into the equations of motion and of rows:

    tau - S.f + G^T x - armature a        g - G a

What is left of these, and u times the magnitudes of their terms (u: the unit roundoff), with pseudo-random signs, are
forces and accelerations of rows under which the body with its loops closed, at rest, accelerates by as much as a may be
wrong; SAFETY times as much, and at least LEAST u times a, is allowed for, as in whole_body.py. An error of x is without
effect, as loops take up whatever acts along their rows. Rows that depend on others need not agree with them, by as much
as velocities are not quite those that loops allow, in the middle of a step: the signs of what is left of rows vary,
too, so that it is seen what another choice among the rows would change.

Magnitudes are those of forces, of their moments about joints, and of accelerations by velocities, which add up along
the tree even where they cancel each other.

**Nearly singular positions.** Which rows depend on others is decided by what the gap explains
[exact/row_scales.py]. If it is another matter with the smallest remainder that float64 can tell, the accelerations
depend on that decision, and nothing is certified.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.choose import joint_metric
from supple.adaptive.loop_choice import push_whole, state_of_all
from supple.adaptive.memory import CURRENT, HybridBody
from supple.adaptive.momenta import across
from supple.adaptive.reduced import zero
from supple.adaptive.regions import find_piece
from supple.adaptive.whole_body import LEAST, SAFETY, UNIT, along, other_signs
from supple.assembly.poses import pose_at
from supple.exact.aba import joint_force
from supple.exact.call_kernels import no_wrenches
from supple.exact.closure import along as along_row
from supple.exact.front_rows import prepare_state
from supple.exact.front_solution import collect, load_forces, load_nothing, solve_fronts
from supple.exact.fronts import factor_fronts
from supple.exact.motion import CallState, joint_of
from supple.exact.row_scales import RANK
from supple.exact.with_loops import front_scratch
from supple.integrating.push_law import length, push_size
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.spatial.algebra import Motion, shift_force, shift_motion
from supple.spatial.compiler import helper, kernel


@helper
def move_bodies(m, v, a, held, mech, work):
    """The forces that bodies need for accelerations a, in place of their bias forces, and the magnitudes of terms."""
    path, bodies, g = work.path, work.bodies, length(m.gravity)
    path[0].A = path[0].V = Motion(zero(), zero())
    held.accelerations[mech.loops.n_motions - 1].A = path[0].A
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        r, z, up = bodies[b].r, bodies[b].z, m.bodies[b].parent
        V = shift_motion(r, path[p].V) + across(kind, z, work.S, j, v)
        A = shift_motion(r, path[p].A) + across(kind, z, work.S, j, a)
        path[i].V, path[i].A = V, A
        w = length(V.ang)
        held.shaken[b] = (held.shaken[up] if up >= 0 else g) + w * (length(V.lin) + w * length(r))
        held.turned[b] = (held.turned[up] if up >= 0 else 0.0) + w * w
        I, bias = mech.nodes[mech.node_of[b]].I, bodies[b].p
        f = I @ A
        about = max(I.I.xx, I.I.yy, I.I.zz)
        held.weight[b] = length(bias.lin) + length(f.lin) + I.m * held.shaken[b] + length(I.h) * held.turned[b]
        held.moment[b] = length(bias.ang) + length(f.ang) + length(I.h) * held.shaken[b] + about * held.turned[b]
        bodies[b].p = bias + f
        if mech.loops.captured[b] >= 0:
            held.accelerations[mech.loops.captured[b]].A = A


@helper
def hold_bodies(m, x, held, mech, work):
    """Add the forces x along rows of loop joints, and the magnitudes of pushes."""
    loops = mech.loops
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            for side in range(2):
                b, row = loop.ends[side].body, loops.rows[r]
                if b >= 0:
                    force = x[m.nv + r] if side == 1 else -x[m.nv + r]
                    f = shift_force(row.P - loops.motions[loop.ends[side].motion].P, row.f) * force
                    work.bodies[b].p = work.bodies[b].p - f
                    held.weight[b] += length(f.lin)
                    held.moment[b] += length(f.ang)


@helper
def weigh_pushes(hybrid, held):
    """Add the magnitudes of pushes, which may cancel each other."""
    tree = hybrid.body.tree
    for x in range(hybrid.n_pushes):
        i = hybrid.push_leaf[x]
        rb, _, r = find_piece(hybrid, CURRENT, i)
        S, o = pose_at(hybrid.world, rb)
        size, moment = push_size(hybrid.pushes[x], S @ r + o)
        held.weight[tree.item[i]] += size
        held.moment[tree.item[i]] += moment


@helper
def relate_joints(m, x, held, loops):
    """The forces of relations on joints, into `found`."""
    for j in range(m.nv):
        held.found[j] = 0.0
    for i in range(loops.n_terms):
        term = loops.terms[i]
        held.found[term.iv] += term.factor * x[m.nv + term.row]


@helper
def left_of_joints(m, v, a, held, work):
    """What is left of the equations of joints, and what rounding may hide of it, into `probe`."""
    path, bodies, S = work.path, work.bodies, work.S
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        f = bodies[b].p
        if m.bodies[b].has_children:
            f = f + path[i].pA
        weight, moment = held.weight[b], held.moment[b]
        for k in range(j, j + DOF[kind]):
            carried = moment if kind == REVOLUTE else weight
            if kind != REVOLUTE and kind != PRISMATIC:
                s = S.axes[k].s
                carried = length(s.ang) * moment + length(s.lin) * weight
            armature = m.dofs[k].armature
            if armature == math.inf:  # locked
                held.probe[k] = 0.0
                continue
            own, other = joint_force(m, held.tau, v, k), held.found[k]
            noise = abs(held.tau[k]) + abs(own) + abs(other) + carried + armature * abs(a[k])
            sign = 1.0 if (k * k + 3 * k >> 2) & 1 else -1.0
            left = own + other - along(kind, bodies[b].z, S, k, f) - armature * a[k]
            held.probe[k] = left + sign * UNIT * noise
        up = m.bodies[b].parent
        if up >= 0:
            held.weight[up] += weight
            held.moment[up] += moment + length(bodies[b].r) * weight
            f = shift_force(bodies[b].r, f)
            if i != p:  # not the last child: later children have already stored theirs there
                f = f + path[p].pA
            path[p].pA = f


@helper
def left_of_rows(a, held, loops):
    """What is left of the accelerations g of rows, into left_g, and the magnitudes of its terms, into size_g."""
    for r in range(loops.n_rows):
        held.left_g[r] = loops.rows[r].g
        held.size_g[r] = abs(loops.rows[r].g)
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            for side in range(2):
                row, end = loops.rows[r], loops.motions[loop.ends[side].motion]
                d = row.P - end.P
                part = along_row(row.f, shift_motion(d, held.accelerations[loop.ends[side].motion].A))
                held.left_g[r] -= part if side == 1 else -part
                w = length(end.V.ang)
                speed = w * (length(end.V.lin) + w * length(d))
                held.size_g[r] += abs(part) + abs(along_row(row.f, shift_motion(d, end.zeta))) + speed
    for i in range(loops.n_terms):
        term = loops.terms[i]
        part = term.factor * a[term.iv]
        held.left_g[term.row] -= part
        held.size_g[term.row] += abs(part)


@helper
def norm(hybrid, x):
    """The root of the acceleration metric of all joints."""
    tree, total = hybrid.body.tree, 0.0
    for j in range(tree.n):
        total += joint_metric(x, tree.weight, tree, tree.node_of[j])
    return math.sqrt(total)


@helper
def response(hybrid, m, mech, work):
    """The accelerations, in all, of the body at rest under the forces `probe`, whose rows accelerate by their g."""
    held = hybrid.closing
    load_nothing(mech)
    load_forces(m, CallState(hybrid.body.q, hybrid.reduced.zero_v, held.probe, False, no_wrenches()), mech, work)
    solve_fronts(mech)
    collect(m, mech, held.found, work)
    return norm(hybrid, held.found)


@helper
def is_clear(hybrid, m, mech, work):
    """Whether as many rows depend on others, whatever tells them apart."""
    redundant = mech.redundant
    if redundant == 0 or mech.least <= RANK:
        return True
    state = state_of_all(hybrid)
    prepare_state(m, state, mech, work)
    push_whole(hybrid, mech, work)
    mech.least = RANK
    factor_fronts(mech)
    return mech.redundant == redundant


@kernel(types.float64(HybridBody.type), "rounding of accelerations with loops", effort=2, nogil=True)
def find_rounding(hybrid):
    """By how much `wanted` may be wrong: the root of the acceleration metric of that. After accelerate_whole, at the
    same velocities."""
    held = hybrid.closing
    m, work, a, v = held.call.model, front_scratch(held.call), held.wanted, hybrid.v
    mech = work.hubs[0]
    move_bodies(m, v, a, held, mech, work)
    hold_bodies(m, a, held, mech, work)
    weigh_pushes(hybrid, held)
    relate_joints(m, a, held, mech.loops)
    left_of_joints(m, v, a, held, work)
    left_of_rows(a, held, mech.loops)
    most, rows = 0.0, mech.loops.n_rows
    for r in range(rows):
        held.size_g[r] *= UNIT if r & 1 else -UNIT
    for draw in range(held.draws + (1 if mech.redundant else 0)):
        if draw > 0:
            other_signs(held.probe, m.nv, draw)
            other_signs(held.size_g, rows, draw)
            other_signs(held.left_g, rows, draw)
        for r in range(rows):
            mech.loops.rows[r].g = held.left_g[r] + held.size_g[r]
        most = max(most, response(hybrid, m, mech, work))
    floor = max(SAFETY * most, LEAST * UNIT * norm(hybrid, a))
    return floor if is_clear(hybrid, m, mech, work) else math.inf
