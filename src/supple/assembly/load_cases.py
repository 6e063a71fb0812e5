"""Precomputed linear coefficients of a node that moves as a rigid body: AD section 6.2, in a more compact form.

The b, p and eta of such a node depend only on its angular velocity w, through six numbers, and on the forces of its
joints, which are constant. This gives seven load cases:

    m = (wx^2, wy^2, wz^2, wx wy, wy wz, wz wx, 1)        b = B m    p = P m    eta = m.E m        [AD theorem 3]

w is in the frame of the node's top body (for a LIGHT or SUM: of the body that carries it). Accelerations are those of
points: the linear part is the acceleration of the handle's origin. Linear velocities then do not appear (AD's tensors,
which multiply spatial velocities, have 13 times as many entries). Each case has the vectors of a node, and they are
joined as stretches.py joins those of forces. Only E, which combines two cases at a time, is new.

E is stored with the scale of the last case [rounding.py], in which the joints' own forces act and may be in balance.
"""

from __future__ import annotations

from supple.assembly.absorbing import leaf_vectors, light_vectors, lone_vectors, scale_of_lone
from supple.assembly.case_turns import CASES, STILL_CASE, set_turned_cases, turn_absorbed, turn_stretch
from supple.assembly.joint_turns import new_turn_matrices
from supple.assembly.joints import beside, force_in_basis, motion_in_basis, pose_of_joint, turn_of_joint
from supple.assembly.nodes import AbsorbedVectors, StretchVectors
from supple.assembly.passes import (
    absorbed_of,
    branch_of_body,
    branch_of_path,
    joining_of,
    next_joint,
    sides_of_leaf,
    stretch_of,
)
from supple.assembly.poses import compose, pose_at, span_of
from supple.assembly.rounding import join_scale, leaf_scale, light_scale, nothing
from supple.assembly.stretches import join_vectors, no_joint, own_joint, sides_of, weigh_numbers
from supple.spatial.algebra import Force, Motion, Vec3, cross
from supple.spatial.compiler import helper, part
from supple.spatial.cpu import absolute, dot
from supple.spatial.fields import Number, Numbers, Six
from supple.spatial.matrices import Mat6, new_matrix
from supple.spatial.structs import Several, Struct


class StretchLoads(Struct):
    """For a stretch; a rigid body has no p, E or scale."""

    cases = Several(CASES, StretchVectors)
    E = Numbers(CASES * CASES)
    E_scale = Number()


class AbsorbedLoads(Struct):
    """For absorbed branches."""

    cases = Several(CASES, AbsorbedVectors)
    E = Numbers(CASES * CASES)
    E_scale = Number()


class Moved(Struct):
    """For one case: the vector x by which a node moves its parts, S x and p, and R of its joint [`constant`]."""

    x = Six()
    Sx = Six()
    p = Six()
    R = Mat6()


class MovedCases(Struct):
    cases = Several(CASES, Moved)


BODY_LOADS = StretchLoads.offsets["E"]  #: number of words of a rigid body
ABSORBED_LOADS = AbsorbedLoads.words
stretch_loads_among, absorbed_loads_among = StretchLoads.among, AbsorbedLoads.among
new_stretch_loads, new_absorbed_loads, new_cases = StretchLoads.new, AbsorbedLoads.new, MovedCases.new


@helper
def zero_vec():
    return Vec3(0.0, 0.0, 0.0)


# --- forces and accelerations of a rotating body ----------------------------------------------------------------------


@helper
def squares_of(w):
    """m of an angular velocity, without the last entry."""
    return beside(Vec3(w.x * w.x, w.y * w.y, w.z * w.z), Vec3(w.x * w.y, w.y * w.z, w.z * w.x))


@helper
def inward(r, c):
    """w x (w x r) in case c."""
    if c == 0:
        return Vec3(0.0, -r.y, -r.z)
    if c == 1:
        return Vec3(-r.x, 0.0, -r.z)
    if c == 2:
        return Vec3(-r.x, -r.y, 0.0)
    if c == 3:
        return Vec3(r.y, r.x, 0.0)
    if c == 4:
        return Vec3(0.0, r.z, r.y)
    if c == 5:
        return Vec3(r.z, 0.0, r.x)
    return zero_vec()


@helper
def gyroscopic(I, c):
    """w x I w in case c."""
    if c == 0:
        return Vec3(0.0, -I.xz, I.xy)
    if c == 1:
        return Vec3(I.yz, 0.0, -I.xy)
    if c == 2:
        return Vec3(-I.yz, I.xz, 0.0)
    if c == 3:
        return Vec3(I.xz, -I.yz, I.yy - I.xx)
    if c == 4:
        return Vec3(I.zz - I.yy, I.xy, -I.xz)
    if c == 5:
        return Vec3(-I.xy, I.xx - I.zz, I.yz)
    return zero_vec()


@helper
def pulled_inward(tree, b, r, R, c):
    """w x (w x r) in case c, in the basis of body b (or of its joint), whose frame has rotation R."""
    return motion_in_basis(tree, b, Motion(zero_vec(), inward(r, c) @ R))


@helper
def turning_force(tree, b, Y, c):
    """The inertial force on body b in case c."""
    return force_in_basis(tree, b, Force(gyroscopic(Y.I, c) * -1.0, inward(Y.h, c) * -1.0))


# --- nodes ------------------------------------------------------------------------------------------------------------


@helper
def stretch_loads(body, i):
    return stretch_loads_among(body.loads, body.load_at[i])


@helper
def absorbed_loads(body, i):
    return absorbed_loads_among(body.loads, body.load_at[i])


@helper
def share(c):
    """The fraction of the joints' own forces that acts in case c."""
    return 1.0 if c == STILL_CASE else 0.0


@helper
def set_pairs(moved, own, E):
    """E of a node without the contribution of its parts: `constant` of stretches.py, for pairs of cases."""
    for c in range(CASES):
        one = moved.cases[c]
        weigh_numbers(own, one.R)
        for e in range(c + 1):
            other = moved.cases[e]
            a = dot(one.x, other.Sx) + 0.5 * (dot(one.p, other.x) + dot(other.p, one.x))
            for i in range(own.k):
                a += one.R[1, i] * other.R[0, i]
            E[CASES * c + e] = a
            E[CASES * e + c] = a


@helper
def add_pairs(E, other):
    for k in range(CASES * CASES):
        E[k] += other[k]


@helper
def keep(one, x, Sx, p):
    one.x, one.Sx, one.p = x, Sx, p


@part
def join_loads(body, i):
    """The cases of a JOIN [AD theorem 4]."""
    tree = body.tree
    j, l, r = tree.item[i], tree.left[i], tree.right[i]
    a, b, c = stretch_loads(body, l), stretch_loads(body, r), stretch_loads(body, i)
    sides, turn = sides_of(tree, i, True), turn_of_joint(tree, j, body.q, new_turn_matrices())
    R, _ = span_of(body, l)
    S, s = pose_of_joint(tree, j, body.q)
    u, R = R @ s, R @ S  # of the lower part's top body: its displacement by the joint, and its rotation
    seen, D = new_stretch_loads(), new_matrix()
    set_turned_cases(D, R)
    turn_stretch(b, sides.lower, D, seen)
    moved, upper_b, lower_b = new_cases(), nothing(), nothing()
    for case in range(CASES):
        below = seen.cases[case]
        below.b1 = below.b1 - pulled_inward(tree, j, u, R, case)
        own, one = own_joint(tree, j, body.force, share(case)), moved.cases[case]
        joining = joining_of(body, i, own, turn, True)
        x, Sx, p, upper_b, lower_b = join_vectors(joining, a.cases[case], below, c.cases[case], one.R)
        keep(one, x, Sx, p)
    own = own_joint(tree, j, body.force, 1.0)
    set_pairs(moved, own, c.E)
    scale = join_scale(joining_of(body, i, own, turn, True), upper_b, lower_b)
    if sides.upper:
        add_pairs(c.E, a.E)
        scale += a.E_scale
    if sides.lower:
        add_pairs(c.E, seen.E)
        scale += b.E_scale
    c.E_scale = scale


@part
def leaf_loads(body, i):
    """The cases of a LEAF on a path [AD theorem 3, for a rigid body]."""
    tree = body.tree
    b, l = tree.item[i], tree.left[i]
    some, sides, heavy = l >= 0, sides_of_leaf(tree, i, True), tree.heavy[b]
    C, absorbed = stretch_of(body, i), absorbed_of(body, max(l, 0))
    c, under = stretch_loads(body, i), absorbed_loads(body, max(l, 0))
    Y, moved = tree.inertias[b].Y, new_cases()
    for case in range(CASES):
        to, f = c.cases[case], turning_force(tree, b, Y, case)
        x, Sx, p = leaf_vectors(next_joint(tree, b), C, some, absorbed, sides, f, under.cases[case], to)
        keep(moved.cases[case], x, Sx, p)
        if sides.open:
            R, r = pose_at(tree.frames, heavy)
            to.b2 = to.b2 + pulled_inward(tree, heavy, r, R, case)
    if some:
        set_pairs(moved, no_joint(tree, body.force), c.E)
        add_pairs(c.E, under.E)
        c.E_scale = leaf_scale(C, absorbed, under.cases[STILL_CASE].z) + under.E_scale


@part
def light_loads(body, i):
    """The cases of a LIGHT."""
    tree = body.tree
    j, path = tree.item[i], tree.left[i]
    R, r = pose_at(tree.frames, j)
    S, s = pose_of_joint(tree, j, body.q)
    R, r = compose(R, r, S, s)
    if tree.lone[path]:
        lone_loads(body, i, R, r)
        return
    b, c, jointed = stretch_loads(body, path), absorbed_loads(body, i), tree.joints[path] > 0
    turn = turn_of_joint(tree, j, body.q, new_turn_matrices())
    seen, moved, D, beta = new_stretch_loads(), new_cases(), new_matrix(), nothing()
    set_turned_cases(D, R)
    turn_stretch(b, jointed, D, seen)
    for case in range(CASES):
        below = seen.cases[case]
        below.b1 = below.b1 - pulled_inward(tree, j, r, R, case)
        own, one = own_joint(tree, j, body.force, share(case)), moved.cases[case]
        branch = branch_of_path(body, i, own, turn, True)
        _, x, Sx, p, beta = light_vectors(branch, below, c.cases[case], one.R)
        keep(one, x, Sx, p)
    own = own_joint(tree, j, body.force, 1.0)
    set_pairs(moved, own, c.E)
    if jointed:
        add_pairs(c.E, seen.E)
    branch = branch_of_path(body, i, own, turn, True)
    c.E_scale = light_scale(branch, beta) + (b.E_scale if jointed else 0.0)


@helper
def lone_loads(body, i, R, r):
    """The cases of a LIGHT with a single body under it, whose pose is R, r."""
    tree = body.tree
    j, under = tree.item[i], tree.left[tree.left[i]]
    some, turn = under >= 0, turn_of_joint(tree, j, body.q, new_turn_matrices())
    absorbed, I, Y = absorbed_of(body, max(under, 0)), tree.links[j].I, tree.inertias[j].Y
    b, c = absorbed_loads(body, max(under, 0)), absorbed_loads(body, i)
    seen, moved, D = new_absorbed_loads(), new_cases(), new_matrix()
    set_turned_cases(D, R)
    if some:
        turn_absorbed(b, D, seen)
    for case in range(CASES):
        f = nothing()  # its own force, in the cases of the frame above
        if case < 6:
            for k in range(6):
                f += turning_force(tree, j, Y, k) * D[k, case]
        a = pulled_inward(tree, j, r, R, case)
        z = a @ I - f
        if some:
            z += a @ absorbed.I
        own, one = own_joint(tree, j, body.force, share(case)), moved.cases[case]
        lone = branch_of_body(body, i, own, turn, True)
        _, x, Sx, p = lone_vectors(lone, z, a, seen.cases[case], c.cases[case], one.R)
        keep(one, x, Sx, p)
    own = own_joint(tree, j, body.force, 1.0)
    set_pairs(moved, own, c.E)
    sizes, scale = nothing(), 0.0
    if some:
        add_pairs(c.E, seen.E)
        sizes, scale = absolute(b.cases[STILL_CASE].z), b.E_scale
    c.E_scale = scale + scale_of_lone(branch_of_body(body, i, own, turn, True), sizes)


@helper
def sum_loads(body, i):
    """The cases of a SUM: all numbers add."""
    loads, at, tree = body.loads, body.load_at, body.tree
    l, r, c = at[tree.left[i]], at[tree.right[i]], at[i]
    for k in range(ABSORBED_LOADS):
        loads[c + k] = loads[l + k] + loads[r + k]


# --- the linear coefficients of a node that moves as a rigid body -----------------------------------------------------


@helper
def pair_sum(E, m):
    """m.E m"""
    total = E[CASES * STILL_CASE + STILL_CASE]
    for c in range(6):
        x = 2.0 * E[CASES * STILL_CASE + c]
        for e in range(6):
            x += E[CASES * c + e] * m[0, e]
        total += x * m[0, c]
    return total


@helper
def square_sum(E, m):
    """An upper bound of m.E m without cancellation between cases: E is positive semidefinite."""
    total = E[CASES * STILL_CASE + STILL_CASE]
    for c in range(6):
        total += E[(CASES + 1) * c] * m[0, c] * m[0, c]
    return CASES * total


@helper
def evaluate_stretch(body, i, velocity, a):
    """b, p and eta of a stretch whose top body has angular velocity `velocity`, relative to its acceleration a (that of
    its origin, and its angular acceleration)."""
    tree = body.tree
    C, l, m = stretch_of(body, i), stretch_loads(body, i), new_matrix()
    m[0] = squares_of(velocity)
    still = l.cases[STILL_CASE]
    b1, b2 = still.b1, still.b2
    for c in range(6):
        b1, b2 = b1 + l.cases[c].b1 * m[0, c], b2 + l.cases[c].b2 * m[0, c]
    C.b1 = b1 - motion_in_basis(tree, tree.top[i], a)
    if tree.open[i]:
        R, r = span_of(body, i)
        lin = a.lin + cross(a.ang, r) + cross(velocity, cross(velocity, r))
        C.b2 = b2 - motion_in_basis(tree, tree.after[i], Motion(a.ang @ R, lin @ R))
    if tree.joints[i] > 0:
        p1, p2 = still.p1, still.p2
        for c in range(6):
            p1, p2 = p1 + l.cases[c].p1 * m[0, c], p2 + l.cases[c].p2 * m[0, c]
        C.p1, C.p2 = p1, p2
        C.eta, C.eta_scale = pair_sum(l.E, m), square_sum(l.E, m) + l.E_scale


@helper
def evaluate_absorbed(body, i, velocity, a):
    """z, p and e of a LIGHT or SUM, on a body of angular velocity `velocity`, relative to its acceleration a."""
    tree = body.tree
    C, l, m = absorbed_of(body, i), absorbed_loads(body, i), new_matrix()
    m[0] = squares_of(velocity)
    a0 = motion_in_basis(tree, tree.top[i], a) if tree.top[i] >= 0 else beside(a.ang, a.lin)
    z, p = l.cases[STILL_CASE].z, l.cases[STILL_CASE].p
    for c in range(6):
        z, p = z + l.cases[c].z * m[0, c], p + l.cases[c].p * m[0, c]
    Pa = a0 @ C.P
    C.z = z + a0 @ C.I
    C.p = p + Pa * 2.0
    C.e = pair_sum(l.E, m) + dot(p, a0) + dot(Pa, a0)
    C.e_scale = 2.0 * (square_sum(l.E, m) + l.E_scale + dot(C.P_scale, a0 * a0))
