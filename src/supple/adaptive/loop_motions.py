"""The motions that loops leave to a hybrid body: its response to random momenta, H v = p + G^T x with G v = 0.

A joint that one such response does not move is *stuck*: no motion moves it. As many responses as are independent are
all motions.
"""

from __future__ import annotations

from supple.adaptive.hybrid_fronts import goes_by_fronts
from supple.adaptive.hybrid_rows import hold_rows, read_rows
from supple.adaptive.momenta import momenta
from supple.adaptive.reduced import joint_passes, without_joints
from supple.adaptive.reduced_tree import open_reduced
from supple.exact.aba import accelerate_joints, eliminate_joints
from supple.exact.front_rows import tell_rows
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper

STILL = 1e-8  #: of a random velocity: joints of which loops leave no more are stuck


@helper
def swap_with_gain(m, x):
    """Exchange x.v and x.gain."""
    for b in range(m.n):
        for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            v = x.v[k]
            x.v[k] = x.gain[k]
            x.gain[k] = v


@helper
def shake(hybrid, m, x, draw):
    """The response to the momenta of random velocities, into x.qdd: the first, and further ones with the same factors.
    Overwrites x.gain and x.momentum."""
    held = hybrid.closing
    for b in range(m.n):
        for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            some = (k + 1 + draw * 7919) * 0x9E3779B1 >> 8 & 0xFFFFF
            x.gain[k] = (0.5 + some / 2097152.0) * (1.0 if some & 1 else -1.0)
    swap_with_gain(m, x)
    momenta(hybrid)
    swap_with_gain(m, x)
    without_joints(hybrid, False, False, False)  # momenta has changed the bodies' forces
    if draw == 0 or goes_by_fronts(hybrid):
        if hybrid.n_loop_rows > 0:
            read_rows(hybrid, False)
            for r in range(held.loops.n_rows):
                held.loops.rows[r].g = 0.0
            tell_rows(held, 1.0)
        joint_passes(hybrid, False)
        return
    eliminate_joints(m, x.zeros, x.momentum, x.work)
    if hybrid.n_loop_rows > 0:
        hold_rows(hybrid)
    accelerate_joints(m, x.zeros, x.qdd, x.work)


@helper
def find_stuck(hybrid):
    """Mark the joints of the hybrid body that cannot move. Returns how many."""
    m, x = open_reduced(hybrid)
    held = hybrid.closing
    for j in range(hybrid.body.tree.n):
        held.stuck[j] = 0
    if hybrid.n_loop_rows == 0:
        return 0
    shake(hybrid, m, x, 0)
    count = 0
    for b in range(m.n):
        most = 0.0
        for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            most = max(most, abs(x.qdd[k]))
        if most <= STILL:
            held.stuck[hybrid.joints[b]] = 1
            count += 1
    return count


@helper
def find_motions(hybrid, dofs, n, motions, pivots):
    """All motions of the hybrid body, as they move n of its degrees of freedom: rows of `motions`, n numbers each, all
    with a one in their pivot, where the others have zeros. Returns how many there are."""
    m, x = open_reduced(hybrid)
    for rank in range(n):
        shake(hybrid, m, x, rank)
        at, best = n * rank, 0
        for c in range(n):
            motions[at + c] = x.qdd[dofs[c]]
        for i in range(rank):
            clear_at(motions, n, i, rank, pivots[i])
        for c in range(n):
            if abs(motions[at + c]) > abs(motions[at + best]):
                best = c
        size = motions[at + best]
        if not abs(size) > STILL:
            return rank
        for c in range(n):
            motions[at + c] /= size
        pivots[rank] = best
        for i in range(rank):
            clear_at(motions, n, rank, i, best)
    return n


@helper
def clear_at(motions, n, i, k, c):
    """Subtract as much of motion i from motion k as leaves nothing of it at place c."""
    t = motions[n * k + c] / motions[n * i + c]
    for e in range(n):
        motions[n * k + e] -= t * motions[n * i + e]
    motions[n * k + c] = 0.0
