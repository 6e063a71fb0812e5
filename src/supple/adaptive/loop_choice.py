"""The forces of loops on the fully articulated body, for the choice of joints: with them as external forces its
accelerations, from the assembly tree, are those that loops allow.

They are found for all joints at once, along fronts [exact/fronts.py]: an update is O(n) where a body has loops, and
steps between updates are not. Locked joints have infinite armatures, which leave nothing of their motion.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced import own_force
from supple.adaptive.reduced_tree import open_reduced
from supple.assembly.joints import force_in_basis
from supple.exact.call_kernels import no_wrenches
from supple.exact.front_rows import prepare_state, tell_rows
from supple.exact.front_solution import collect_forces, load_forces, solve_fronts
from supple.exact.fronts import factor_fronts
from supple.exact.motion import CallState
from supple.exact.with_loops import front_scratch
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, shift_force
from supple.spatial.compiler import helper, kernel


@kernel(types.float64(HybridBody.type), "loops of the articulated body", effort=3, nogil=True)
def prepare_loops(hybrid):
    """Factor the fully articulated body at the current state, without its pushes. Returns the smallest pivot."""
    _, x = open_reduced(hybrid)
    held = hybrid.closing
    m, work = held.call.model, front_scratch(held.call)
    mech = work.hubs[0]
    for j in range(m.nv):
        m.dofs[j].armature = held.armature[j]
        held.tau[j] = own_force(hybrid, x, j, x.v[j])
    state = CallState(x.q, x.v, held.tau, False, no_wrenches())
    prepare_state(m, state, mech, work)
    tell_rows(mech, 1.0)
    load_forces(m, state, mech, work)
    return factor_fronts(mech)


@helper
def push_whole(hybrid, b, f):
    """A push on body b, along world axes and about its origin."""
    work = front_scratch(hybrid.closing.call)
    mech = work.hubs[0]
    node = mech.nodes[mech.node_of[b]]
    node.f = node.f - f


@kernel(types.void(HybridBody.type), "forces of loops on the articulated body", effort=2, nogil=True)
def add_loop_forces(hybrid):
    """Add the forces of loops to the external forces of the bodies at their ends, and those of relations to the forces
    of their joints."""
    body, tree, held = hybrid.body, hybrid.body.tree, hybrid.closing
    _, x = open_reduced(hybrid)
    m, mech = held.call.model, front_scratch(held.call).hubs[0]
    solve_fronts(mech)
    collect_forces(m, mech, held.found)
    loops = mech.loops
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            for side in range(2):
                b, row = loop.ends[side].body, loops.rows[r]
                if b >= 0:
                    end, force = loops.motions[loop.ends[side].motion], held.found[m.nv + r]
                    f = shift_force(row.P - end.P, row.f) * (force if side == 1 else -force)
                    f = force_in_basis(tree, b, Force(f.ang @ end.R, f.lin @ end.R))  # R^T f
                    body.external[b].f = body.external[b].f + f
    for i in range(loops.n_terms):
        j = held.term_joint[i]
        b = held.row_of_joint[j]
        if not (b < hybrid.n_joints and hybrid.joints[b] == j):
            body.force[tree.iv[j]] = own_force(hybrid, x, tree.iv[j], 0.0)
    for i in range(loops.n_terms):
        term = loops.terms[i]
        body.force[term.iv] += term.factor * held.found[m.nv + term.row]
