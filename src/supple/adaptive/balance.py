"""The scale of forces in balance, where the totals of nodes contain only small sums of them [assembly/rounding.py].

Each is the square of the accelerations that the terms of a sum would cause on their own: weights of bodies that hang
straight, pushes and springs on one body, and the forces of one joint. Added to the scale of the total acceleration of
all joints.
"""

from __future__ import annotations

from supple.adaptive.memory import CURRENT
from supple.adaptive.regions import find_piece
from supple.adaptive.total_acceleration import total_acceleration
from supple.assembly.joints import force_in_basis
from supple.assembly.passes import absorbed_of, closing_of, stretch_of
from supple.assembly.poses import pose_at
from supple.integrating.joint_law import LAW, law_among, law_size
from supple.integrating.push_law import length, push_size
from supple.spatial.algebra import Force, Vec3
from supple.spatial.compiler import helper
from supple.spatial.cpu import absolute, dot, make_six
from supple.spatial.matrices import new_matrix


@helper
def weight_scale(body, gravity):
    """The scale of weights: the squared accelerations that gravity would cause along the other axes. Of a chain that
    hangs straight, no weight turns a joint, other than by rounding."""
    g = length(gravity)
    x = make_six(0.0, 0.0, 0.0, g, g, g)
    return dot(absorbed_of(body, body.tree.n_nodes - 1).P_scale, x * x)


@helper
def sizes_in_basis(tree, b, size, moment):
    """The magnitudes of a force on body b, and of its moment, in every direction of its adapted basis."""
    return absolute(force_in_basis(tree, b, Force(Vec3(moment, moment, moment), Vec3(size, size, size))))


@helper
def largest_product(A, x):
    """Upper bound of A x, given the magnitudes of x."""
    return make_six(
        dot(absolute(A[0]), x), dot(absolute(A[1]), x), dot(absolute(A[2]), x),
        dot(absolute(A[3]), x), dot(absolute(A[4]), x), dot(absolute(A[5]), x),
    )  # fmt: skip


@helper
def strain(body, b, f):
    """The scale of forces of these magnitudes on body b: what they would cause at its joint."""
    tree, scale, sizes = body.tree, 0.0, new_matrix()
    sizes[0] = f
    i, k, closing = tree.leaf_of[b], 6 - tree.forbidden[b], closing_of(body, tree.node_of[b])
    for l in range(k):
        r = 0.0
        if tree.lone[i]:  # through G, the inverse of the joint's own inertia
            for e in range(k):
                r += abs(closing.rows[l].G[e]) * sizes[0, 6 - k + e]
        else:  # U Phi
            r = dot(absolute(closing.rows[l].U), largest_product(stretch_of(body, i).Phi1, f))
        scale += 4.0 * tree.weight[tree.iw[b] + k * l + l] * r * r
    return scale


@helper
def push_scale(hybrid):
    """The scale of pushes and springs on the bodies of a HybridBody, whose poses are recorded."""
    body, tree, scale = hybrid.body, hybrid.body.tree, 0.0
    for x in range(hybrid.n_pushes):
        i = hybrid.push_leaf[x]
        b = tree.item[i]
        rb, _, r = find_piece(hybrid, CURRENT, i)
        S, o = pose_at(hybrid.world, rb)
        size, moment = push_size(hybrid.pushes[x], S @ r + o)
        scale += strain(body, b, sizes_in_basis(tree, b, size, moment))
    return scale


@helper
def drive_scale(hybrid):
    """The scale of springs, controllers and limits of joints: of every term on its own."""
    body, tree, scale = hybrid.body, hybrid.body.tree, 0.0
    for row in range(hybrid.n_rows):
        law = law_among(hybrid.controls, body.nv + LAW * row)
        dof = int(law.dof)
        j, size = hybrid.dof_joint[dof], law_size(law, body.q[int(law.coordinate)], hybrid.v[dof])
        k, closing = 6 - tree.forbidden[j], closing_of(body, tree.node_of[j])
        for l in range(k if size > 0.0 else 0):  # not for limits that are far away
            r = closing.rows[l].G[dof - tree.iv[j]] * size
            scale += 4.0 * tree.weight[tree.iw[j] + k * l + l] * r * r
    return scale


@helper
def scale_of_all(hybrid):
    """The scale of the total acceleration of all joints of a HybridBody."""
    body = hybrid.body
    _, scale = total_acceleration(body, body.tree.n_nodes - 1)
    return scale + weight_scale(body, hybrid.gravity) + push_scale(hybrid) + drive_scale(hybrid)
