"""Runs: short stretches of a path that divide and conquer assembles joint by joint.

Divided down to single bodies, a path costs an elimination of five pivots and three products of matrices for each joint,
and 3 kB of memory traffic. Up to RUN revolute joints of bodies with nothing absorbed into them are therefore assembled
by the recursion of the articulated-body algorithm [RBDA ch. 7; aba.py], which eliminates one pivot for each and reads
and writes 1.3 kB. It also carries upwards how the force f2 on the bottom handle acts on each body. Everything is along
world axes, except the handles [assembly/nodes.py].

    symbol   what
    IA, pA   articulated inertia and bias force of a body and everything below it in the run, f2 being zero
    L        the force on the body due to f2: rows along world axes, linear first; columns in the bottom handle's basis
    k        L^T S: the force on the joint due to f2; and the acceleration of the bottom handle due to the joint's
    G, c     sums of d k k^T and of d u k over the joints: the acceleration of the bottom handle due to f2, and to the
             joints, if the top body does not accelerate

At the top body IA a1 + pA = f1 + L f2, and a2 = L^T a1 + G f2 + c, so that [QS (1)] has

    Phi1 = IA^-1    Phi12 = Phi1 L    Phi2 = G + L^T Phi1 L    b1 = -Phi1 pA    b2 = L^T b1 + c
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.assembly.elimination import eliminate as eliminate_rows
from supple.assembly.elimination import new_elimination
from supple.assembly.passes import next_joint, stretch_of, told
from supple.assembly.rounding import nothing
from supple.assembly.tables import TreeTables
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM
from supple.exact.aba import BODY_LINES, eliminate
from supple.model.joint_poses import REVOLUTE
from supple.spatial.algebra import (
    Force,
    Mat3,
    Motion,
    Revolute,
    Vec3,
    articulated,
    shift_force,
    shift_inertia,
    shift_motion,
)
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE, dot, entry, fetch, make_six
from supple.spatial.fields import Integer, Number, Six, Value
from supple.spatial.matrices import Mat6, MatrixRows, add_row_products, assign, new_matrix, product_of_rows, zero_rows
from supple.spatial.structs import Struct

Ints = NDArray[np.int64]

LEAST, RUN = 4, 128  #: joints of a run. Longer ones would gain little: the joints themselves take the time


class Run(Struct, align=LINE):
    """A run, and what the downward pass needs of it."""

    first = Integer()  # its bodies
    last = Integer()
    R1 = Value(Mat3)  # rotations of these two
    R2 = Value(Mat3)
    Phi1 = Mat6()  # [QS (1)]
    Phi12 = Mat6()
    b1 = Six()


class RunDof(Struct, align=LINE):
    """The joint of a body in a run, as AbaDof of aba.py."""

    U = Value(Force)
    d = Number()
    u = Number()
    k = Six()


DOF_LINES = RunDof.words // LINE


def find_runs(tables: TreeTables) -> tuple[Ints, NDArray[np.void], NDArray[np.bool_]]:
    """The nodes that are runs; their bodies; and for each node of the tree whether it is inside of one."""
    tree, kind = tables.assembly, tables.assembly.kind
    leaf = kind == LEAF
    other = (kind == LIGHT) | (kind == SUM) | (leaf & ((tree.left >= 0) | (tables.joint[tree.item] != REVOLUTE)))
    before = np.concatenate([[0], np.cumsum(other)])
    last_leaf = np.maximum.accumulate(np.where(leaf, np.arange(len(kind)), 0))
    first, last = tree.item[tree.first], tree.item[last_leaf]
    fits = (kind == JOIN) & (before[1:] == before[tree.first]) & (last - first == tree.joints)
    fits &= (tree.joints >= LEAST) & (tree.joints <= RUN)
    nodes = np.flatnonzero(fits & ~fits[tree.up])
    runs = Run.zeros(len(nodes))
    runs["first"], runs["last"] = first[nodes], last[nodes]
    steps = np.zeros(len(kind) + 1, dtype=np.int64)
    steps[tree.first[nodes]], steps[nodes] = 1, -1
    return nodes, runs, np.cumsum(steps[:-1]) > 0


@helper
def world_motion(R, a):
    """A motion in the basis of a body with rotation R [frames.py], along world axes."""
    return Motion(R @ Vec3(entry(a, 2), entry(a, 3), entry(a, 5)), R @ Vec3(entry(a, 0), entry(a, 1), entry(a, 4)))


@helper
def in_basis(R, lin, ang):
    """A force or motion along world axes, in that basis."""
    lin, ang = lin @ R, ang @ R
    return make_six(lin.x, lin.y, ang.x, ang.y, lin.z, ang.z)


@helper
def start_bottom(R, T):
    """L of the bottom body, of rotation R. T: to the basis of the joint that follows."""
    o, x, y, z = Vec3(0.0, 0.0, 0.0), Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
    return MatrixRows(
        T @ in_basis(R, x, o), T @ in_basis(R, y, o), T @ in_basis(R, z, o),
        T @ in_basis(R, o, x), T @ in_basis(R, o, y), T @ in_basis(R, o, z),
    )  # fmt: skip


@helper
def carry_bottom(L, body, dof):
    """L beyond a joint, about the origin of the body above. Sets the joint's k."""
    z, r, U = body.z, body.r, dof.U
    k = L[3] * z.x + L[4] * z.y + L[5] * z.z
    dof.k = k
    e = k * dof.d
    x, y, w = L[0] - e * U.lin.x, L[1] - e * U.lin.y, L[2] - e * U.lin.z
    return MatrixRows(
        x,
        y,
        w,
        L[3] - e * U.ang.x + w * r.y - y * r.z,
        L[4] - e * U.ang.y + x * r.z - w * r.x,
        L[5] - e * U.ang.z + y * r.x - x * r.y,
    )


@helper
def assemble_run(body, i, run, bodies, dofs):
    """The coefficients of node i, a run. Returns the smallest pivot."""
    tree, first, last = body.tree, run.first, run.last
    smallest, IA, pA = eliminate_run(body, run, bodies, dofs)
    x = new_elimination()
    x.M = linear_first(IA)
    pivot = eliminate_rows(x, 6, False, False)
    X, b = x.Vs, x.Vs @ make_six(pA.lin.x, pA.lin.y, pA.lin.z, pA.ang.x, pA.ang.y, pA.ang.z)
    C, V, Y = stretch_of(body, i), new_matrix(), new_matrix()
    for m in range(6):
        V[m] = in_basis(run.R1, Vec3(X[m, 0], X[m, 1], X[m, 2]), Vec3(X[m, 3], X[m, 4], X[m, 5]))
    C.Phi1 = product_of_rows(V, V, 6)
    C.b1 = b @ V * -1.0
    run.Phi1, run.b1 = C.Phi1, C.b1
    if tree.open[i]:
        L, G, c = start_bottom(run.R2, next_joint(tree, last)), zero_rows(), nothing()
        for m in range(last, first, -1):
            L = carry_bottom(L, bodies[m], dofs[m])
        for m in range(last, first, -1):
            k, d = dofs[m].k, dofs[m].d
            G, c = add_row_products(G, k, k, d), c + k * (d * dofs[m].u)
        assign(Y, X @ L)
        run.Phi12 = product_of_rows(V, Y, 6)
        C.Phi2 = G + product_of_rows(Y, Y, 6)
        C.b2 = c - b @ Y
        if tree.right[tree.up[i]] == i:
            C.Phi_cross = run.Phi12
        else:
            C.Phi_cross = product_of_rows(Y, V, 6)  # Phi21
    return smallest if pivot >= smallest else pivot


@helper
def eliminate_run(body, run, bodies, dofs):
    """The backward pass of aba.py over a run. Returns the smallest D, and IA and pA of the top body."""
    tree, count = body.tree, run.last - run.first + 1
    IA, pA, smallest = articulated(bodies[run.last].I), bodies[run.last].p, 1.0e300
    for b in range(run.last, run.first, -1):
        fetch(bodies, b + count, BODY_LINES)  # of the next run, probably
        fetch(dofs, b + count, DOF_LINES)
        here, above, j = bodies[b], bodies[b - 1], tree.iv[b]
        IA, pA, D = eliminate(IA, pA, Revolute(here.z), dofs[b], body.force[j], tree.armature[j])
        smallest = smallest if smallest <= D else D
        IA, pA = shift_inertia(here.r, IA) + articulated(above.I), shift_force(here.r, pA) + above.p
    return smallest, IA, pA


@helper
def linear_first(I):
    """The rows of an inertia, linear before angular."""
    A, B, M = I.A, I.B, I.M
    return MatrixRows(
        make_six(M.xx, M.xy, M.xz, B.r0.x, B.r1.x, B.r2.x),
        make_six(M.xy, M.yy, M.yz, B.r0.y, B.r1.y, B.r2.y),
        make_six(M.xz, M.yz, M.zz, B.r0.z, B.r1.z, B.r2.z),
        make_six(B.r0.x, B.r0.y, B.r0.z, A.xx, A.xy, A.xz),
        make_six(B.r1.x, B.r1.y, B.r1.z, A.xy, A.yy, A.yz),
        make_six(B.r2.x, B.r2.y, B.r2.z, A.xz, A.yz, A.zz),
    )


@helper
def accelerate_run(body, i, run, bodies, dofs):
    """The accelerations of the joints of node i, a run, given the forces on its handles."""
    tree, f1, f2 = body.tree, told(body, i).f1, told(body, i).f2
    below, count = tree.open[i] != 0, run.last - run.first + 1
    a = f1 @ run.Phi1 + run.b1  # a1 [QS (1)]
    if below:
        a += run.Phi12 @ f2
    A = world_motion(run.R1, a)
    for b in range(run.first + 1, run.last + 1):
        fetch(bodies, b - count, 1)  # of the next run, probably: r and z
        fetch(dofs, b - count, DOF_LINES)
        here, dof = bodies[b], dofs[b]
        u = dof.u
        if below:
            u += dot(dof.k, f2)
        A = shift_motion(here.r, A)
        qdd = (u - A @ dof.U) * dof.d  # [RBDA 7.51]
        A = A + Revolute(here.z) * qdd
        body.qdd[tree.iv[b]] = qdd
