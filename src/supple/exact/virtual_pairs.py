"""Virtual work with a matrix for every pair of joints on a link: VW section 4 without splitting.

    symbol   what
    W_kk'    K_k^T M_kk' K_k', M the block of Phi^-1 of joints k and k' on one link
    S_bk     relative acceleration at joint b for a force at joint k [VW (39)]; its transpose is kept
    G_k      sum over k' of W_kk' S_bk'^T, over the joints closed before b on the same link

    n        force on the child at the stage when its siblings are closed, then final
    a        acceleration of a link beyond zeta

Everything else is as in virtual_work.py. W, S^T and G are 6x6 matrices in a vector of numbers [blocks.py].

Two joints couple if they are on one link: S_bk = -Phi_b(o_b, o_k) where k is on b itself, +Phi_L(o_b, o_k) where both
are on b's parent L; Phi_L(d, e) is how link L alone moves at d under a force at e. Closing joint b [ERRATA of VW (43)]:

    V_b = Phi_b + Phi_L - sum S_bk W_kk' S_bk'^T           W_kk' += G_k W_b G_k'^T,   W_kb = -G_k W_b
    y_b = free relative acceleration + sum S_bk n_k         n_k   -= G_k n_b

Symmetric matrices are symmetrised at every step; only one of W_kk' and W_k'k is stored. A joint with t others on its
link costs O(t^2), so n of them on one link cost O(n^3) (the paper sums them to O(n^2)), and O(n^2) memory. If no link
has more than three joints, the cost is O(n): virtual_hubs.py ensures that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.exact.aba import AbaDof
from supple.exact.call_kernels import ScratchRows
from supple.exact.calls import TAU, WRENCHES, Algorithm, Q, V
from supple.exact.motion import joint_of, zero_vec
from supple.exact.tables import Wrench
from supple.exact.virtual_work import (
    LinkConstants,
    LinkPath,
    close_joint,
    constants_of,
    free_links,
    mobility_of,
    refuse_degenerate,
    response_of,
)
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.model.model import Model
from supple.model.topology import n_children
from supple.spatial.algebra import (
    Force,
    Inertia,
    Motion,
    Sym3,
    Vec3,
    cross_mobility,
    dot,
    matrix,
    shift_force,
    shift_motion,
    transpose,
)
from supple.spatial.any_number import number_like, smaller
from supple.spatial.blocks import (
    BLOCK,
    apply,
    apply_transposed,
    fill,
    load_symmetric,
    multiply_add,
    store_blocks,
    symmetrise,
    transpose_into,
)
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE
from supple.spatial.fields import Integer, Number, Value
from supple.spatial.structs import Struct

ST, G, GT, H, PER_JOINT = range(5)  #: matrices of scratch for each joint on a link: S^T, G, G^T, G W_b


class PairBody(Struct, align=LINE):
    """A link, and the joint above it, as in virtual_work.py."""

    r = Value(Vec3)
    z = Value(Vec3)
    p = Value(Force)
    c = Value(Vec3)
    J = Value(Sym3)
    W = Value(Inertia)
    left = Number()
    n = Value(Force)  # on the link at the stage when its siblings are closed, then final
    a = Value(Motion)  # acceleration beyond zeta
    given = Value(Motion)  # motion of the parent, alone, at this joint under its own joint's force


class Hub(Struct):
    """The joints on a link; the last row belongs to no link, and ends the table."""

    start = Integer()  # where its joints begin among `child`
    first = Integer()  # number of pairs before its own
    child = Integer()  # not of the link of this row: the children of all links, sorted by link
    place = Integer()  # index of the link's own joint among those on its parent


wrench_among = Wrench.among


@helper
def pair(hub, k, l):
    """Where the matrix of the k-th and the l-th joint on a link begins, and its strides: W_kl is stored for k >= l."""
    if k >= l:
        return BLOCK * (hub.first + k * (k + 1) // 2 + l), 6, 1
    return BLOCK * (hub.first + l * (l + 1) // 2 + k), 1, 6


@helper
def couple(link, first, last, r, own, work):
    """The effect of the closed joints first ... last-1 on a link on a joint at r on it: S^T and G of each go to
    scratch, the sum of S W S^T to its first matrix; returns the sum of S n. (With Phi for S, whatever its sign.)"""
    x, bodies, hubs = work.extra, work.bodies, work.hubs
    w, c, J, hub = work.constants[link].w, bodies[link].c, bodies[link].J, hubs[link]
    e = r - c
    zero = c.x * 0.0
    o = Vec3(zero, zero, zero)
    y = Motion(o, o)
    fill(x, own, zero)
    for k in range(first, last):
        at, child = own + BLOCK * (1 + PER_JOINT * (k - first)), bodies[hubs[hub.start + k].child]
        store_blocks(x, at + BLOCK * ST, cross_mobility(w, J, child.r - c, e))
        fill(x, at + BLOCK * G, zero)
        ang, lin = apply_transposed(x, at + BLOCK * ST, child.n)
        y = y + Motion(ang, lin)
    for k in range(first, last):
        at = own + BLOCK * (1 + PER_JOINT * (k - first))
        for l in range(first, last):
            block, down, across = pair(hub, k, l)
            multiply_add(x, block, down, across, own + BLOCK * (1 + PER_JOINT * (l - first) + ST), at + BLOCK * G)
        multiply_add(x, at + BLOCK * ST, 1, 6, at + BLOCK * G, own)
    return y


@helper
def close_into(link, place, last, W, f, own, work):
    """Joint `place` on a link is closed, with W and force f: update the joints place+1 ... last-1."""
    x, hubs, hub = work.extra, work.hubs, work.hubs[link]
    zero = f.lin.x * 0.0
    mine, _, _ = pair(hub, place, place)
    store_blocks(x, mine, (matrix(W.A), W.B, transpose(W.B), matrix(W.M)))
    for k in range(place + 1, last):
        at, child = own + BLOCK * (1 + PER_JOINT * (k - place - 1)), work.bodies[hubs[hub.start + k].child]
        block, _, _ = pair(hub, k, place)
        fill(x, at + BLOCK * H, zero)
        multiply_add(x, at + BLOCK * G, 6, 1, mine, at + BLOCK * H)
        for i in range(BLOCK):
            x[block + i] = x[at + BLOCK * H + i] * -1.0  # W_kb = -G_k W_b
        transpose_into(x, at + BLOCK * G, at + BLOCK * GT)
        ang, lin = apply(x, at + BLOCK * G, f)
        child.n = child.n - Force(ang, lin)  # n_k -= G_k n_b
        for l in range(place + 1, k + 1):
            block, _, _ = pair(hub, k, l)
            other = own + BLOCK * (1 + PER_JOINT * (l - place - 1))
            multiply_add(x, at + BLOCK * H, 6, 1, other + BLOCK * GT, block)  # W_kk' += G_k W_b G_k'^T
        symmetrise(x, block)  # the last one, W_kk


@helper
def pairs(m, state, out, work):
    """qdd, followed by the six numbers of every joint's force, about its body's origin, and the smallest of the
    quantities that must be positive."""
    free_links(m, state, work)
    smallest = close_pairs(m, state, work)
    finish_pairs(m, state.q[0], out, work)
    out[m.nv + 6 * m.n] = smallest
    return number_like(state.q[0], 1.0)


@helper
def close_pairs(m, state, work):
    """Path 1."""
    bodies, constants, hubs, x = work.bodies, work.constants, work.hubs, work.extra
    own = BLOCK * hubs[m.n].first  # after all pairs
    smallest, o = number_like(state.q[0], np.inf), zero_vec(state.q[0])
    for b in range(m.n - 1, -1, -1):
        parent, place, body = m.bodies[b].parent, hubs[b].place, bodies[b]
        r = body.r
        V, y = mobility_of(body, constants[b], o), response_of(body, constants[b], o, body.p * -1.0)
        kids = hubs[b + 1].start - hubs[b].start
        if kids > 0:
            y = y - couple(b, 0, kids, o, own, work)
            V = V - load_symmetric(x, own)
        last = 0
        if parent >= 0:
            above, w = bodies[parent], constants[parent]
            V = V + mobility_of(above, w, r)
            y = y - response_of(above, w, r, above.p * -1.0)
            last = hubs[parent + 1].start - hubs[parent].start
            if place + 1 < last:
                y = y + couple(parent, place + 1, last, r, own, work)
                V = V - load_symmetric(x, own)
        W, f, left = close_joint(m, b, V, y, state.known, state.v, work)
        smallest = smaller(left, smallest)
        body.n = f
        if parent >= 0:
            close_into(parent, place, last, W, f, own, work)
    return smallest


@helper
def finish_pairs(m, number, out, work):
    """Path 2."""
    bodies, constants, hubs, x = work.bodies, work.constants, work.hubs, work.extra
    o = zero_vec(number)
    for b in range(m.n):
        _, _, kind, j = joint_of(m, b)
        body, parent, hub, f = bodies[b], m.bodies[b].parent, hubs[b], bodies[b].n
        kids = hubs[b + 1].start - hub.start
        for k in range(kids):
            child = bodies[hubs[hub.start + k].child]
            child.given = response_of(body, constants[b], child.r, f)
        t = f - body.p
        for k in range(kids):
            child = bodies[hubs[hub.start + k].child]
            n = child.n
            for l in range(kids):  # n_c - sum M_cc' S_bc'^T n_b [ERRATA of VW (47)]
                block, down, _ = pair(hub, k, l)
                given = bodies[hubs[hub.start + l].child].given
                ang, lin = apply(x, block, given) if down == 6 else apply_transposed(x, block, given)
                n = n + Force(ang, lin)
            child.n = n
            t = t - shift_force(child.r, n)
        a = response_of(body, constants[b], o, t)  # [VW (48)]
        body.a = a
        if parent >= 0:
            a = a - shift_motion(body.r, bodies[parent].a)
        z = body.z
        if kind == REVOLUTE:  # [VW (53)]
            out[j] = dot(z, a.ang)
        elif kind == PRISMATIC:
            out[j] = dot(z, a.lin)
        else:
            for k in range(j, j + DOF[kind]):
                s = work.S.axes[k].s
                length = dot(s.ang, s.ang) + dot(s.lin, s.lin)
                out[k] = (dot(s.ang, a.ang) + dot(s.lin, a.lin)) / length
        wrench_among(out, m.nv + 6 * b).f = f


def hubs_of(model: Model) -> NDArray[np.void]:
    """(n + 1,) Hub of every body."""
    n = model.n_bodies
    count = n_children(model.parent)[1:]
    out = Hub.zeros(n + 1)
    out["start"][1:] = np.cumsum(count)
    out["first"][1:] = np.cumsum(count * (count + 1) // 2)
    children = np.argsort(model.parent, kind="stable")[int((model.parent < 0).sum()) :]
    out["child"][: len(children)] = children
    out["place"][children] = np.arange(len(children)) - out["start"][model.parent[children]]
    return out


def scratch_of(model: Model) -> int:
    """Numbers for every pair of joints on a link, and for the joints on one of them."""
    count = n_children(model.parent)[1:]
    most = int(count.max(initial=0))
    size = BLOCK * (int((count * (count + 1) // 2).sum()) + 1 + PER_JOINT * most)
    memory.require(size, f"a matrix for every pair of joints on a link (here up to {most:,})", "use hubs='absorb'")
    return size


PAIRS = Algorithm(
    "virtual-work by pairs",
    pairs,
    ScratchRows(LinkPath, PairBody, AbaDof, LinkConstants, Hub),
    (Q, V, TAU, WRENCHES),
    lambda m: (m.nv + 6 * m.n_bodies + 1,),
    extra=scratch_of,
    constants=constants_of,
    hubs=hubs_of,
    refuse=refuse_degenerate,
)
