"""The accelerations of the fully articulated body with its loops closed, by which joints are chosen: of all joints at
once, along fronts [exact/fronts.py]. So an update is O(n) where a body has loops; steps between updates are not.

Locked joints have infinite armatures, which leave nothing of their motion.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.articulated import push_on_body
from supple.adaptive.memory import CURRENT, HybridBody
from supple.adaptive.reduced import own_force, without_joints
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.regions import find_piece
from supple.assembly.poses import pose_at
from supple.exact.call_kernels import no_wrenches
from supple.exact.front_rows import prepare_state, tell_rows
from supple.exact.front_solution import collect, collect_forces, load_forces, solve_fronts
from supple.exact.fronts import factor_fronts
from supple.exact.motion import CallState
from supple.exact.with_loops import front_scratch
from supple.spatial.algebra import Force
from supple.spatial.compiler import helper, kernel


@helper
def state_of_all(hybrid):
    """The current state of all joints, under their own forces."""
    _, x = open_reduced(hybrid)
    held = hybrid.closing
    m = held.call.model
    for j in range(m.nv):
        m.dofs[j].armature = held.armature[j]
        held.tau[j] = own_force(hybrid, x, j, x.v[j])
    return CallState(x.q, x.v, held.tau, False, no_wrenches())


@helper
def push_whole(hybrid, mech, work):
    """Add the pushes, and further forces on bodies, to their bias forces."""
    tree = hybrid.body.tree
    for x in range(hybrid.n_pushes):
        b = tree.item[hybrid.push_leaf[x]]
        _, f = push_on_body(hybrid, x)
        node = mech.nodes[mech.node_of[b]]
        node.f = work.bodies[b].p = work.bodies[b].p - f
    for x in range(hybrid.n_outer):
        outer = hybrid.outer[x]
        rb, R, _ = find_piece(hybrid, CURRENT, tree.leaf_of[outer.body])
        S, _ = pose_at(hybrid.world, rb)
        R = S @ R
        node = mech.nodes[mech.node_of[outer.body]]
        f = Force(R @ outer.f.ang, R @ outer.f.lin)
        node.f = work.bodies[outer.body].p = work.bodies[outer.body].p - f


@kernel(types.float64(HybridBody.type), "accelerations of the articulated body with loops", effort=3, nogil=True)
def accelerate_whole(hybrid):
    """The accelerations of all joints, and the forces along all rows, into `wanted`. Returns the smallest pivot."""
    held = hybrid.closing
    m, work = held.call.model, front_scratch(held.call)
    mech = work.hubs[0]
    without_joints(hybrid, True, True, True)
    state = state_of_all(hybrid)
    prepare_state(m, state, mech, work)
    push_whole(hybrid, mech, work)
    tell_rows(mech, 1.0)
    smallest = factor_fronts(mech)
    load_forces(m, state, mech, work)
    solve_fronts(mech)
    collect(m, mech, held.wanted, work)
    collect_forces(m, mech, held.wanted)
    return smallest
