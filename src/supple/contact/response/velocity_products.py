"""Velocity products of a part of a step, at other velocities than those of its beginning.

The linear velocities of free and planar joints are in body axes, which rotate during the part. Velocities at the end
are given in the axes of the beginning, as the rows of touches are, and transformed when the part is done: so wheels
roll, and momentum is conserved. Inertias and factors of the mass matrix are those of the beginning; only the pass of
forces is repeated.
"""

from __future__ import annotations

from supple.exact.aba import joint_force
from supple.exact.jacobians import axis_along
from supple.exact.motion import joint_motion, joint_of, world_at_rest
from supple.exact.rnea import rigid_force
from supple.model.joint_poses import DOF, with_moving_axes
from supple.model.moving import FREE, PLANAR, rotation_at, set_triple, triple
from supple.spatial.algebra import crm, cross, rotate_force, shift_force, shift_motion, transpose
from supple.spatial.compiler import helper

# --- axes of free and planar joints -----------------------------------------------------------------------------------


@helper
def turn_with(m, middle, h, end, first, last):
    """end += h w x v, for the linear velocities of free and planar joints of bodies `first` to `last`: `end` is in the
    axes of the beginning."""
    for b in range(first, last):
        kind, j = m.bodies[b].kind, m.bodies[b].iv
        if kind == FREE:
            set_triple(end, j, triple(end, j) + cross(triple(middle, j + 3), triple(middle, j)) * h)
        elif kind == PLANAR:
            w = h * middle[j + 2]
            end[j], end[j + 1] = end[j] - w * middle[j + 1], end[j + 1] + w * middle[j]


@helper
def turn_back_joint(m, b, q, after, v):
    """Transforms the velocities of the joint of body b to the axes of the end."""
    kind, j, k = m.bodies[b].kind, m.bodies[b].iv, m.bodies[b].iq
    if kind == FREE:
        w = rotation_at(q, k + 3) @ triple(v, j)
        set_triple(v, j, transpose(rotation_at(after, k + 3)) @ w)
    elif kind == PLANAR:
        c = after[k + 2] * q[k + 2] + after[k + 3] * q[k + 3]
        s = after[k + 3] * q[k + 2] - after[k + 2] * q[k + 3]
        v[j], v[j + 1] = c * v[j] + s * v[j + 1], c * v[j + 1] - s * v[j]


@helper
def turn_back(m, q, after, v):
    """The same for all joints."""
    for b in range(m.n):
        turn_back_joint(m, b, q, after, v)


# --- bias forces ------------------------------------------------------------------------------------------------------


@helper
def bias_force(m, b, R, v, work):
    """V and zeta [aba.py] of a body at velocities v, in `path`. Returns V, and the bias force p without pushes."""
    i, p, kind, j = joint_of(m, b)
    path, here = work.path, work.bodies[b]
    moved = joint_motion(m, b, R, v, work.S)
    V = shift_motion(here.r, path[p].V) + moved
    zeta = shift_motion(here.r, path[p].zeta) + with_moving_axes(kind, crm(V, moved), work.S.axes, j, v)
    path[i].V, path[i].zeta = V, zeta
    return V, rigid_force(here.I, V.ang, zeta.ang, zeta.lin + cross(V.ang, V.lin))


@helper
def bias_forces(scene, state, work, first, last):
    """The bias forces of bodies `first` to `last`, with pushes."""
    m = scene.model
    work.path[0].zeta = world_at_rest(m, state.q[0], work.path[0])
    for b in range(first, last):
        R = scene.bodies[b].R
        _, f = bias_force(m, b, R, state.v, work)
        if state.pushed:
            f = f - rotate_force(R @ m.outward[b].R, state.wrenches[b].f)
        work.bodies[b].p = f


@helper
def lift_biases(m, v, tau, work, first, last):
    """u of the degrees of freedom of bodies `first` to `last`: the backward pass for forces only, with the present
    factors."""
    path, bodies, dofs = work.path, work.bodies, work.dofs
    for b in range(last - 1, first - 1, -1):
        i, p, kind, j = joint_of(m, b)
        f = bodies[b].p + path[i].pA if m.bodies[b].has_children else bodies[b].p
        for k in range(j + DOF[kind] - 1, j - 1, -1):
            dof = dofs[k]
            dof.u = joint_force(m, tau, v, k) - axis_along(kind, bodies[b].z, work.S, k) @ f
            f = f + dof.U * (dof.u * dof.d)
        if m.bodies[b].parent >= 0:
            f = shift_force(bodies[b].r, f)
            path[p].pA = f + path[p].pA if i != p else f
