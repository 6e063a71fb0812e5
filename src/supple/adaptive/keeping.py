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
from supple.spatial.indexing import get, item, set_item

UNWATCHED = 4  # a way of a run (steps.py has the others): energy may grow


@helper
def keep_joint(t, x, s, j):
    nq = x.q.shape[0]
    kind, iq, iv = item(t.joint, j), item(t.iq, j), item(t.iv, j)
    for k in range(iq, iq + NQ[kind]):
        set_item(s.kept, k, item(x.q, k))
    for k in range(iv, iv + DOF[kind]):
        set_item(s.kept, nq + k, item(x.v, k))


@helper
def keep_state(t, m, x, s):
    """Of all joints that have moved since the last one was kept."""
    for b in range(m.n):
        keep_joint(t, x, s, item(s.joints, b))
    for k in range(item(s.counts, DROPPED)):
        keep_joint(t, x, s, item(s.dropped, k))
    set_item(s.counts, DROPPED, 0)
    set_item(s.numbers, KEPT_TIME, item(s.numbers, TIME))
    set_item(s.numbers, KEPT_REMOVED, item(s.numbers, REMOVED))


@helper
def fastest(m, s, x):
    """The joint that moves fastest, or whose velocity is not a number."""
    worst, most = 0, -1.0
    for b in range(m.n):
        iv = get(m.bodies, b, IV)
        for k in range(iv, iv + DOF[get(m.bodies, b, KIND)]):
            v = abs(item(x.v, k))
            if not v <= most:
                worst, most = item(s.joints, b), v
                if v != v:
                    return worst
    return worst


@helper
def is_unstable(t, store):
    """Look at the accounts, if it is time to: before an update, after so many steps, and after a change of forces. A
    state that passes is kept."""
    s = open_store(store)
    if not (item(s.counts, DUE) <= 0 or item(s.counts, UNCHECKED) >= LOOK or item(s.numbers, OPEN) == 0.0):
        return False
    grows, _ = look(store)
    grows = grows and not item(s.counts, WAYS) & UNWATCHED
    m, x = open_reduced(store)
    if grows:
        set_item(s.counts, WORST, fastest(m, s, x))
    else:
        keep_state(t, m, x, s)
    return grows
