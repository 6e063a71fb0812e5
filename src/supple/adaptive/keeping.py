"""The state that adaptive dynamics goes back to when a step fails: the last one whose energies were looked at."""

from __future__ import annotations

from supple.adaptive.ledger import LOOK, look
from supple.adaptive.store import (
    CURRENT,
    DROPPED,
    DUE,
    FORM,
    KEPT_TIME,
    OPEN,
    SEEN,
    TIME,
    UNCHECKED,
    WORST,
    open_reduced,
    open_store,
)
from supple.exact.motion import DOF
from supple.exact.tables import IV, KIND
from supple.model.joints import NQ
from supple.spatial.compiler import helper
from supple.spatial.indexing import get, item, set_item
from supple.spatial.references import call_at


@helper
def copy_joint(t, x, s, j, back):
    """The state of a joint, to the kept one or back."""
    nq = x.q.shape[0]
    kind, iq, iv = item(t.joint, j), item(t.iq, j), item(t.iv, j)
    for k in range(iq, iq + NQ[kind]):
        if back:
            set_item(x.q, k, item(s.kept, k))
        else:
            set_item(s.kept, k, item(x.q, k))
    for k in range(iv, iv + DOF[kind]):
        if back:
            set_item(x.v, k, item(s.kept, nq + k))
        else:
            set_item(s.kept, nq + k, item(x.v, k))


@helper
def copy_state(t, m, x, s, back):
    """Of all joints that have moved since the state was kept, to it or back."""
    for b in range(m.n):
        copy_joint(t, x, s, item(s.joints, b), back)
    for k in range(item(s.counts, DROPPED)):
        copy_joint(t, x, s, item(s.dropped, k), back)


@helper
def go_back(t, desk, store):
    """To the state kept, in the region that was active before an update began. (If joints have been stopped since, all
    has yet to be assembled.)"""
    m, x = open_reduced(store)
    s = open_store(store)
    copy_state(t, m, x, s, True)
    for k in range(item(s.counts, SEEN)):
        i = item(s.seen, k)
        set_item(s.flags, i, item(s.flags, i) & CURRENT)
    call_at(item(s.links, FORM), desk, store, CURRENT, 0)


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
    grows = look(store)
    m, x = open_reduced(store)
    if grows:
        set_item(s.counts, WORST, fastest(m, s, x))
    else:
        copy_state(t, m, x, s, False)
        set_item(s.counts, DROPPED, 0)
        set_item(s.numbers, KEPT_TIME, item(s.numbers, TIME))
    return grows
