"""Poses and velocities of the reduced bodies of a hybrid body, as contacts need them: without accelerations, which are
needed when joints are chosen [reduced.py]."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced import turn_rigid, without_joints, zero
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.memory import touching_of
from supple.assembly.joints import identity
from supple.assembly.poses import pose_at, set_pose
from supple.exact.motion import joint_of, move, turn_ahead, world_at_rest
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Motion, z_axis
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import WIDTH


@helper
def place_bodies(hybrid):
    """Copies poses and velocities of reduced bodies to the scene; after without_joints with note."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    touching.tables.n = m.n
    for b in range(m.n):
        R, P = pose_at(hybrid.world, b + 1)
        V, body = hybrid.moves[b + 1], touching.scene.bodies[b]
        body.R, body.P, body.V = R, P, Motion(R @ V.w, R @ V.v)


@helper
def kinetic_energy(m, v, b, I, V):
    """The kinetic energy of a reduced body with inertia I and velocity V, with the armature of its joint."""
    kinetic, j = 0.5 * (V @ (I @ V)), m.bodies[b].iv
    for k in range(j, j + DOF[m.bodies[b].kind]):
        kinetic += 0.5 * m.dofs[k].armature * v[k] * v[k]
    return kinetic


@kernel(types.void(HybridBody.type, types.int64, types.int64), "poses of reduced trees", effort=2, nogil=True)
def place_trees(hybrid, first, last):
    """Places reduced bodies `first` to `last`, which are whole trees, at the present q and v. It is a kernel because
    poses and energies must have the same bits wherever it is called: contraction differs between inlined copies."""
    m, x = open_reduced(hybrid)
    touching, done = touching_of(hybrid), m.bodies[first].angle // WIDTH * WIDTH  # sines are found in the same groups
    path, bodies, S = x.work.path, x.work.bodies, x.work.S
    world_at_rest(m, 0.0, path[0])
    path[0].X = zero()
    for b in range(first, last):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, x.q, S, done, b)
        R, r, V, _ = move(m, b, path[p].R, path[p].V, x.q, x.v, S)
        X, Y = path[p].X + r, turn_rigid(R, m.shapes[b].I)
        path[i].R, path[i].V, path[i].X = R, V, X
        bodies[b].r, bodies[b].z, bodies[b].I = r, z_axis(R), Y
        touching.kinetic[b] = kinetic_energy(m, x.v, b, Y, V)
        set_pose(hybrid.world, b + 1, R, X)
        frame, body = hybrid.moves[b + 1], touching.scene.bodies[b]
        frame.w, frame.v = V.ang @ R, V.lin @ R
        body.R, body.P, body.V = R, X, V


@helper
def sum_kinetic(hybrid):
    """The kinetic energy of all reduced bodies, which place_trees has placed."""
    m, _ = open_reduced(hybrid)
    touching, total = touching_of(hybrid), 0.0
    for b in range(m.n):
        total += touching.kinetic[b]
    return total


@kernel(types.void(HybridBody.type), "poses of the hybrid body", effort=2, nogil=True)
def place_here(hybrid):
    """Places all reduced bodies at the present q and v."""
    if hybrid.n_loop_rows > 0:
        without_joints(hybrid, True, False, True)
        place_bodies(hybrid)
    else:
        m, _ = open_reduced(hybrid)
        touching_of(hybrid).tables.n = m.n
        set_pose(hybrid.world, 0, identity(), zero())
        hybrid.moves[0].w, hybrid.moves[0].v = zero(), zero()
        place_trees(hybrid, 0, m.n)
        hybrid.kinetic = sum_kinetic(hybrid)
    touching_of(hybrid).foreseen = 0
