"""Quasi-statics of a whole body with loops at once: accelerations and the forces of loops by fronts [exact/fronts.py].

The forces then act on the tree like all others, and rounding errors are found as without loops [whole_body.py]: only
the response to what is left of the equations of motion is that of a body with loops. An error of the forces is then
without effect, as it should be: loops take up whatever acts along their rows. Accelerations by which loops would open,
all that those of a mechanism that cannot move consist of, are part of what is left. Where the response does not undo
them, rows were left out because they seem to depend on others [exact/row_scales.py]. If they do not, other
accelerations are the true ones: those with all rows of which more is left than the gap and rounding explain, which are
then found, too. How far away they are is part of the error, so that it is a bound whichever are true.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.loop_forces import LoopForces, find_rates, find_sizes, hold_bodies, hold_joints
from supple.adaptive.memory import QuasiStaticBody
from supple.adaptive.momenta import across
from supple.adaptive.whole_body import SAFETY, UNIT, note_amplification, other_signs, zero
from supple.exact.call_kernels import call_at, no_wrenches
from supple.exact.closure import widest_gap
from supple.exact.front_rows import prepare_state, tell_rows
from supple.exact.front_solution import collect, collect_forces, load_forces, load_nothing, solve_fronts
from supple.exact.fronts import factor_fronts
from supple.exact.motion import CallState, joint_of
from supple.exact.with_loops import front_scratch
from supple.spatial.algebra import Motion, shift_motion
from supple.spatial.compiler import helper, kernel

TOLD = 1e-14  #: accelerations along rows, compared with their terms, that are more than rounding
FINEST, BY_GAP = 1e-12, 30.0  #: rows of which more remains may count, and more than so many times the gap


@kernel(types.float64(types.int64, QuasiStaticBody.type, LoopForces.type), "quasi-statics, loops of the whole body")
def whole_loops_kernel(handle, qs, held):
    """The accelerations of all joints with loops closed, under the pushes that whole_kernel has noted, and the forces
    of loops, which then act on bodies and joints. handle: of WITH_LOOPS. Returns the smallest D."""
    body, call = qs.body, call_at(handle)
    m, work = call.model, front_scratch(call)
    mech = work.hubs[0]
    state = CallState(body.q, held.still, held.own, False, no_wrenches())
    prepare_state(m, state, mech, work)
    for x in range(qs.n_pushed):
        node = mech.nodes[mech.node_of[qs.pushed[x]]]
        node.f = node.f - qs.pulls[x].pushes
    tell_rows(mech, 1.0)
    smallest = factor_fronts(mech)
    load_forces(m, state, mech, work)
    solve_fronts(mech)
    collect(m, mech, qs.closed, work)
    collect_forces(m, mech, qs.closed)
    for r in range(mech.loops.n_rows):
        held.x[r] = qs.closed[m.nv + r]
    hold_bodies(mech.loops, held)
    hold_joints(body, held)
    for k in range(held.n_bodies):
        qs.pulls[held.bodies[k].pushed].loops = held.bodies[k].f
    qs.left_open = 0.0
    return smallest


@helper
def move_ends(m, loops, qdd, work):
    """The accelerations of bodies at the ends of loops, under those of all joints; without gravity, which moves all
    bodies."""
    path, bodies, rest = work.path, work.bodies, Motion(zero(), zero())
    path[0].A = loops.motions[loops.n_motions - 1].zeta = rest
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(bodies[b].r, path[p].A) + across(kind, bodies[b].z, work.S, j, qdd)
        path[i].A = A
        if loops.captured[b] >= 0:
            loops.motions[loops.captured[b]].zeta = A


@helper
def leaves_open(m, mech, response, held, work):
    """Whether a response leaves some of the accelerations g along rows."""
    loops, found = mech.loops, False
    move_ends(m, loops, response, work)
    find_rates(loops, response, held)
    for r in range(loops.n_rows):
        found = found or abs(loops.rows[r].g - held.y[r]) > TOLD * held.size[r]
    return found


@helper
def with_all_rows(m, qs, mech, held, work):
    """How far away accelerations are, into qs.noise, with which all rows that may count hold."""
    prepare_state(m, CallState(qs.body.q, held.still, held.still, False, no_wrenches()), mech, work)
    mech.least = min(mech.least, max(FINEST, BY_GAP * widest_gap(mech.loops)))
    factor_fronts(mech)
    for r in range(mech.loops.n_rows):
        mech.loops.rows[r].g = held.kept[r]
    load_nothing(mech)
    solve_fronts(mech)
    collect(m, mech, qs.noise, work)


@kernel(types.void(types.int64, QuasiStaticBody.type, LoopForces.type, types.int64), "quasi-statics, probes of loops")
def probe_loops_kernel(handle, qs, held, draws):
    """The response to the forces qs.probe, and to what opens loops, after whole_loops_kernel; the largest for several
    choices of signs."""
    call = call_at(handle)
    m, work = call.model, front_scratch(call)
    mech, most, squares = work.hubs[0], 0.0, 0.0
    move_ends(m, mech.loops, qs.closed, work)
    find_rates(mech.loops, qs.closed, held)
    find_sizes(mech.loops, qs.closed, held)
    for r in range(mech.loops.n_rows):
        held.kept[r] = held.y[r]
    for r in range(mech.loops.n_rows):
        held.change[r] = (1.0 if r & 1 else -1.0) * UNIT * held.size[r]
    for draw in range(draws):
        if draw > 0:
            other_signs(qs.probe, m.nv, draw)
            other_signs(held.change, mech.loops.n_rows, draw)
        for r in range(mech.loops.n_rows):
            mech.loops.rows[r].g = held.kept[r] + held.change[r]
        load_nothing(mech)
        load_forces(m, CallState(qs.body.q, held.still, qs.probe, False, no_wrenches()), mech, work)
        solve_fronts(mech)
        collect(m, mech, qs.noise, work)
        total = 0.0
        for j in range(m.nv):
            most, total = max(most, abs(qs.noise[j])), total + qs.noise[j] * qs.noise[j]
        squares = max(squares, total)
    if mech.redundant and leaves_open(m, mech, qs.noise, held, work):
        with_all_rows(m, qs, mech, held, work)
        for j in range(m.nv):
            far = abs(qs.noise[j]) / SAFETY  # there is no luck in it
            most, squares = max(most, far), squares + far * far
    note_amplification(qs, most, squares)
