"""Where the reduced bodies of a hybrid body are, and how they move, for touches: their accelerations are not needed, as
they are when joints are chosen [reduced.py]."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced import turn_rigid, without_joints, zero
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_memory import touching_of
from supple.assembly.joints import identity
from supple.assembly.poses import pose_at, set_pose
from supple.exact.motion import joint_of, move, turn_ahead, world_at_rest
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Motion, z_axis
from supple.spatial.compiler import helper, kernel


@helper
def place_parts(hybrid):
    """Reduced bodies as the scene's, after without_joints with note."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    touching.tables.n = m.n
    for b in range(m.n):
        R, P = pose_at(hybrid.world, b + 1)
        V, body = hybrid.moves[b + 1], touching.scene.bodies[b]
        body.R, body.P, body.V = R, P, Motion(R @ V.w, R @ V.v)


@helper
def place_tree(hybrid):
    """The same at once, of a tree."""
    m, x = open_reduced(hybrid)
    touching, done, kinetic = touching_of(hybrid), 0, 0.0
    path, bodies, S = x.work.path, x.work.bodies, x.work.S
    touching.tables.n = m.n
    world_at_rest(m, 0.0, path[0])
    path[0].X = zero()
    set_pose(hybrid.world, 0, identity(), zero())
    hybrid.moves[0].w, hybrid.moves[0].v = zero(), zero()
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        done = turn_ahead(m, x.q, S, done, b)
        R, r, V, _ = move(m, b, path[p].R, path[p].V, x.q, x.v, S)
        X, Y = path[p].X + r, turn_rigid(R, m.shapes[b].I)
        path[i].R, path[i].V, path[i].X = R, V, X
        bodies[b].r, bodies[b].z, bodies[b].I = r, z_axis(R), Y
        kinetic += 0.5 * (V @ (Y @ V))
        for k in range(j, j + DOF[kind]):
            kinetic += 0.5 * m.dofs[k].armature * x.v[k] * x.v[k]
        set_pose(hybrid.world, b + 1, R, X)
        frame, body = hybrid.moves[b + 1], touching.scene.bodies[b]
        frame.w, frame.v = V.ang @ R, V.lin @ R
        body.R, body.P, body.V = R, X, V
    hybrid.kinetic = kinetic


@kernel(types.void(HybridBody.type), "places of the hybrid body", effort=2, nogil=True)
def place_here(hybrid):
    """Reduced bodies at the present q and v."""
    if hybrid.n_loop_rows > 0:
        without_joints(hybrid, True, False, True)
        place_parts(hybrid)
    else:
        place_tree(hybrid)
    touching_of(hybrid).foreseen = 0
