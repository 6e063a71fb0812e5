"""The state that adaptive dynamics returns to when a step fails: the last one whose energies were checked."""

from __future__ import annotations

from supple.adaptive.ledger import LOOK, look
from supple.adaptive.reduced_tree import open_reduced
from supple.model.joint_poses import DOF
from supple.model.joints import NQ
from supple.spatial.compiler import helper

UNWATCHED = 4  # a mode of a run (steps.py has the others): energy may grow


@helper
def keep_joint(hybrid, x, j):
    tree = hybrid.body.tree
    kind, iq, iv = tree.joint[j], tree.iq[j], tree.iv[j]
    for k in range(iq, iq + NQ[kind]):
        hybrid.kept_q[k] = x.q[k]
    for k in range(iv, iv + DOF[kind]):
        hybrid.kept_v[k] = x.v[k]


@helper
def keep_state(hybrid, m, x):
    """Keep the state of all joints that have moved since it was last kept."""
    for b in range(m.n):
        keep_joint(hybrid, x, hybrid.joints[b])
    for k in range(hybrid.n_dropped):
        keep_joint(hybrid, x, hybrid.dropped[k])
    hybrid.n_dropped = 0
    hybrid.kept_time = hybrid.time
    hybrid.kept_removed = hybrid.removed


@helper
def fastest(m, hybrid, x):
    """The fastest joint, or one whose velocity is not a number."""
    worst, most = 0, -1.0
    for b in range(m.n):
        iv = m.bodies[b].iv
        for k in range(iv, iv + DOF[m.bodies[b].kind]):
            v = abs(x.v[k])
            if not v <= most:
                worst, most = hybrid.joints[b], v
                if v != v:
                    return worst
    return worst


@helper
def is_unstable(hybrid):
    """Check the energy balance when due: before an update, after a number of steps, and after a change of forces. A
    state that passes is kept."""
    if not (hybrid.due <= 0 or hybrid.unchecked >= LOOK or hybrid.accounts_open == 0.0):
        return False
    grows, _ = look(hybrid)
    grows = grows and not hybrid.ways & UNWATCHED
    m, x = open_reduced(hybrid)
    if grows:
        hybrid.worst = fastest(m, hybrid, x)
    else:
        keep_state(hybrid, m, x)
    return grows
