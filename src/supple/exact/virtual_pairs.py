"""Virtual work with a matrix for every pair of joints on a link: VW section 4 without splitting.

    symbol   what                                                                            kept in
    r, z, b, c, J, w   as in virtual_work.py                                                 work, constants
    W_kk'    K_k^T M_kk' K_k', M the block of Phi^-1 of joints k and k' on one link           scratch
    S_bk     relative acceleration at joint b for a force at joint k [VW (39)]                scratch: its transpose
    G_k      sum over k' of W_kk' S_bk'^T, over the joints closed before b on the same link   scratch
    n        force on the child at the stage when its siblings are closed, then final         work N_
    a        acceleration of a link beyond zeta                                               work A_

Two joints couple if they are on one link: S_bk = -Phi_b(o_b, o_k) where k is on b itself, +Phi_L(o_b, o_k) where both
are on b's parent L; Phi_L(d, e) is how link L alone moves at d under a force at e. Closing joint b [ERRATA of VW (43)]:

    V_b = Phi_b + Phi_L - sum S_bk W_kk' S_bk'^T           W_kk' += G_k W_b G_k'^T,   W_kb = -G_k W_b
    y_b = free relative acceleration + sum S_bk n_k         n_k   -= G_k n_b

What is symmetric is made so at every step; of W_kk' and W_k'k one is kept. A joint with t others on its link costs
O(t^2), so n of them on one link O(n^3) (the paper sums them to O(n^2)), and O(n^2) memory. Where no link has more than
three joints, O(n): virtual_hubs.py sees to that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.exact.calls import TAU, WRENCHES, Algorithm, Q, V
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, joint_of, zero_vec
from supple.exact.tables import PARENT
from supple.exact.virtual_work import (
    B_,
    BODY_ROW,
    C_,
    CONSTANT_ROW,
    DOF_ROW,
    E_,
    F_,
    J_,
    LIGHTNESS,
    P_,
    PATH_ROW,
    close_joint,
    constants_of,
    free_links,
    mobility_of,
    refuse_degenerate,
    response_of,
)
from supple.model.model import Model
from supple.model.topology import n_children
from supple.spatial.algebra import (
    Force,
    Motion,
    Vec3,
    cross_mobility,
    dot,
    matrix,
    shift_force,
    shift_motion,
    transpose,
)
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
from supple.spatial.indexing import get, item, set_item
from supple.spatial.lanes import number_like, smaller
from supple.spatial.rows import load_force, load_motion, load_sym, load_vec, set_six, store_six

N_, A_, Z_ = B_, B_ + 6, B_ + 12  # in the room that virtual_work.py has for mobilities
START, FIRST, KID, PLACE, TABLE_ROW = 0, 1, 2, 3, 4
ST, G, GT, H, PER_JOINT = range(5)  #: matrices of scratch for each joint on a link: S^T, G, G^T, G W_b


@helper
def pair(tables, link, k, l):
    """Where the matrix of the k-th and the l-th joint on a link begins, and its steps: W_kl is kept for k >= l."""
    first = get(tables, link, FIRST)
    if k >= l:
        return BLOCK * (first + k * (k + 1) // 2 + l), 6, 1
    return BLOCK * (first + l * (l + 1) // 2 + k), 1, 6


@helper
def couple(link, first, last, r, own, x, work, constants, tables):
    """What the closed joints first ... last-1 on a link do to a joint at r on it: S^T and G of each go to scratch, the
    sum of S W S^T to its first matrix; returns the sum of S n. (With Phi for S, whatever its sign.)"""
    w, c, J = get(constants, link, LIGHTNESS), load_vec(work, link, C_), load_sym(work, link, J_)
    start, e = get(tables, link, START), r - c
    zero = c.x * 0.0
    o = Vec3(zero, zero, zero)
    y = Motion(o, o)
    fill(x, own, zero)
    for k in range(first, last):
        at, child = own + BLOCK * (1 + PER_JOINT * (k - first)), get(tables, start + k, KID)
        store_blocks(x, at + BLOCK * ST, cross_mobility(w, J, load_vec(work, child, P_) - c, e))
        fill(x, at + BLOCK * G, zero)
        ang, lin = apply_transposed(x, at + BLOCK * ST, load_force(work, child, N_))
        y = y + Motion(ang, lin)
    for k in range(first, last):
        at = own + BLOCK * (1 + PER_JOINT * (k - first))
        for l in range(first, last):
            block, down, across = pair(tables, link, k, l)
            multiply_add(x, block, down, across, own + BLOCK * (1 + PER_JOINT * (l - first) + ST), at + BLOCK * G)
        multiply_add(x, at + BLOCK * ST, 1, 6, at + BLOCK * G, own)
    return y


@helper
def close_into(link, place, last, W, f, own, x, work, tables):
    """Joint `place` on a link is closed, with W and force f: what that does to the joints place+1 ... last-1."""
    start = get(tables, link, START)
    zero = f.lin.x * 0.0
    mine, _, _ = pair(tables, link, place, place)
    store_blocks(x, mine, (matrix(W.A), W.B, transpose(W.B), matrix(W.M)))
    for k in range(place + 1, last):
        at, child = own + BLOCK * (1 + PER_JOINT * (k - place - 1)), get(tables, start + k, KID)
        block, _, _ = pair(tables, link, k, place)
        fill(x, at + BLOCK * H, zero)
        multiply_add(x, at + BLOCK * G, 6, 1, mine, at + BLOCK * H)
        for i in range(BLOCK):
            set_item(x, block + i, item(x, at + BLOCK * H + i) * -1.0)  # W_kb = -G_k W_b
        transpose_into(x, at + BLOCK * G, at + BLOCK * GT)
        ang, lin = apply(x, at + BLOCK * G, f)
        store_six(work, child, N_, load_force(work, child, N_) - Force(ang, lin))
        for l in range(place + 1, k + 1):
            block, _, _ = pair(tables, link, k, l)
            other = own + BLOCK * (1 + PER_JOINT * (l - place - 1))
            multiply_add(x, at + BLOCK * H, 6, 1, other + BLOCK * GT, block)  # W_kk' += G_k W_b G_k'^T
        symmetrise(x, block)  # the last one, W_kk


@helper
def pairs(m, q, v, tau, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    """qdd, and after it the six numbers of every joint's force, about its body's origin, and the smallest of what must
    be positive."""
    x, constants, tables = extra.scratch, extra.constants, extra.tables
    free_links(m, q, v, has_wrenches, wrenches, path, work, S, constants)
    own = BLOCK * get(tables, m.n, FIRST)  # behind all pairs
    smallest, o = number_like(q[0], np.inf), zero_vec(q[0])
    for b in range(m.n - 1, -1, -1):  # path 1
        parent, place = get(m.bodies, b, PARENT), get(tables, b, PLACE)
        r, z = load_vec(work, b, P_), load_vec(work, b, E_)
        V, y = mobility_of(b, o, work, constants), response_of(b, o, load_force(work, b, F_) * -1.0, work, constants)
        kids = get(tables, b + 1, START) - get(tables, b, START)
        if kids > 0:
            y = y - couple(b, 0, kids, o, own, x, work, constants, tables)
            V = V - load_symmetric(x, own)
        last = 0
        if parent >= 0:
            V = V + mobility_of(parent, r, work, constants)
            y = y - response_of(parent, r, load_force(work, parent, F_) * -1.0, work, constants)
            last = get(tables, parent + 1, START) - get(tables, parent, START)
            if place + 1 < last:
                y = y + couple(parent, place + 1, last, r, own, x, work, constants, tables)
                V = V - load_symmetric(x, own)
        W, f, left = close_joint(m, b, z, V, y, tau, v, S, dofs, work)
        smallest = smaller(left, smallest)
        store_six(work, b, N_, f)
        if parent >= 0:
            close_into(parent, place, last, W, f, own, x, work, tables)

    for b in range(m.n):  # path 2
        _, _, kind, j = joint_of(m, b)
        parent, start, f = get(m.bodies, b, PARENT), get(tables, b, START), load_force(work, b, N_)
        kids = get(tables, b + 1, START) - start
        for k in range(kids):
            child = get(tables, start + k, KID)
            store_six(work, child, Z_, response_of(b, load_vec(work, child, P_), f, work, constants))
        t = f - load_force(work, b, F_)
        for k in range(kids):
            child = get(tables, start + k, KID)
            n = load_force(work, child, N_)
            for l in range(kids):  # n_c - sum M_cc' S_bc'^T n_b [ERRATA of VW (47)]
                block, down, _ = pair(tables, b, k, l)
                z = load_motion(work, get(tables, start + l, KID), Z_)
                ang, lin = apply(x, block, z) if down == 6 else apply_transposed(x, block, z)
                n = n + Force(ang, lin)
            store_six(work, child, N_, n)
            t = t - shift_force(load_vec(work, child, P_), n)
        a = response_of(b, o, t, work, constants)  # [VW (48)]
        store_six(work, b, A_, a)
        if parent >= 0:
            a = a - shift_motion(load_vec(work, b, P_), load_motion(work, parent, A_))
        z = load_vec(work, b, E_)
        if kind == REVOLUTE:  # [VW (53)]
            set_item(out, j, dot(z, a.ang))
        elif kind == PRISMATIC:
            set_item(out, j, dot(z, a.lin))
        else:
            for k in range(j, j + DOF[kind]):
                s = load_motion(S.rows, k, 0)
                length = dot(s.ang, s.ang) + dot(s.lin, s.lin)
                set_item(out, k, (dot(s.ang, a.ang) + dot(s.lin, a.lin)) / length)
        set_six(out, m.nv + 6 * b, f)
    set_item(out, m.nv + 6 * m.n, smallest)
    return number_like(q[0], 1.0)


def tables_of(model: Model) -> NDArray[np.int64]:
    """(n + 1, 4) where the joints on a link begin among KID, how many pairs there are before its own; the joints by
    links; the place of a joint among those on its parent."""
    n = model.n_bodies
    count = n_children(model.parent)[1:]
    out = np.zeros((n + 1, TABLE_ROW), dtype=np.int64)
    out[1:, START] = np.cumsum(count)
    out[1:, FIRST] = np.cumsum(count * (count + 1) // 2)
    kids = np.argsort(model.parent, kind="stable")[int((model.parent < 0).sum()) :]
    out[: len(kids), KID] = kids
    out[kids, PLACE] = np.arange(len(kids)) - out[model.parent[kids], START]
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
    PATH_ROW,
    BODY_ROW,
    DOF_ROW,
    (Q, V, TAU, WRENCHES),
    lambda m: (m.nv + 6 * m.n_bodies + 1,),
    extra=scratch_of,
    constants=constants_of,
    constant_row=CONSTANT_ROW,
    tables=tables_of,
    table_row=TABLE_ROW,
    refuse=refuse_degenerate,
)
