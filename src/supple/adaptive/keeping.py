"""The state that adaptive dynamics goes back to when a step fails: the last one whose energies were looked at."""

from __future__ import annotations

from supple.adaptive.ledger import LOOK, look
from supple.adaptive.store import (
    DROPPED,
    DUE,
    KEPT_REMOVED,
    KEPT_TIME,
    OPEN,
    REMOVED,
    TIME,
    UNCHECKED,
    WAYS,
    WORST,
    open_reduced,
    open_store,
)
from supple.exact.motion import DOF
from supple.exact.tables import IV, KIND
from supple.model.joints import NQ
from supple.spatial.compiler import helper

UNWATCHED = 4  # a way of a run (steps.py has the others): energy may grow


@helper
def keep_joint(t, x, s, j):
    nq = x.q.shape[0]
    kind, iq, iv = t.joint[j], t.iq[j], t.iv[j]
    for k in range(iq, iq + NQ[kind]):
        s.kept[k] = x.q[k]
    for k in range(iv, iv + DOF[kind]):
        s.kept[nq + k] = x.v[k]


@helper
def keep_state(t, m, x, s):
    """Of all joints that have moved since the last one was kept."""
    for b in range(m.n):
        keep_joint(t, x, s, s.joints[b])
    for k in range(s.counts[DROPPED]):
        keep_joint(t, x, s, s.dropped[k])
    s.counts[DROPPED] = 0
    s.numbers[KEPT_TIME] = s.numbers[TIME]
    s.numbers[KEPT_REMOVED] = s.numbers[REMOVED]


@helper
def fastest(m, s, x):
    """The joint that moves fastest, or whose velocity is not a number."""
    worst, most = 0, -1.0
    for b in range(m.n):
        iv = m.bodies[b, IV]
        for k in range(iv, iv + DOF[m.bodies[b, KIND]]):
            v = abs(x.v[k])
            if not v <= most:
                worst, most = s.joints[b], v
                if v != v:
                    return worst
    return worst


@helper
def is_unstable(t, store):
    """Look at the accounts, if it is time to: before an update, after so many steps, and after a change of forces. A
    state that passes is kept."""
    s = open_store(store)
    if not (s.counts[DUE] <= 0 or s.counts[UNCHECKED] >= LOOK or s.numbers[OPEN] == 0.0):
        return False
    grows, _ = look(store)
    grows = grows and not s.counts[WAYS] & UNWATCHED
    m, x = open_reduced(store)
    if grows:
        s.counts[WORST] = fastest(m, s, x)
    else:
        keep_state(t, m, x, s)
    return grows
