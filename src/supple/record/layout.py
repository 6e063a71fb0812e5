"""The layout of a recording.

The first page is our head (head.py), which points to the index (index.py). The rest is an HDF5 file for other tools,
with these datasets; Supple itself uses the index. Tables grow by rows; blobs are byte strings, most of them JSON.

    about           blob: how it was run, the command, versions, when it began
    given           blob: settings, forces and events, compared when it is resumed (simulating/described.py)
    state           blob: whether it is finished, and what a run needs to continue, except arrays
    checkpoint      blob: the arrays that a run needs to continue: q, v, and what its stepper saved (checkpoint.py)
    arrays          table: where the arrays of models are (models.py), each stored once
    models/table    table: a row per model, indices of arrays
    models/0 ...    the arrays of the first 64 models by name: for other tools
    segments        table: for each stretch between events that changed the state, the index of its model, the number of
                    its states, and the first of them
    states/0 ...    tables of states that have the same coordinates: time, q, v (absent if the method has none),
                    kinetic, potential, and if there are any: error, joint_wrenches, joint_forces (applied, passive
                    and pushed), and active_end and active: the active joints of state i are
                    active[active_end[i-1]:active_end[i]]; touches_end and touches likewise: what touched, each two
                    shapes, gap, point, normal, force and slip
    events          tables: time, and name_end and names, the concatenated characters of all names
"""

from __future__ import annotations

from typing import NamedTuple

TOUCH = 15  #: numbers of a touch
RAGGED = ("active", "touches")  #: columns with any number of rows for a state


class States(NamedTuple):
    """The columns that a table of states has; 0 and False for those that are missing."""

    nq: int
    nv: int
    error: bool
    wrenches: int  #: number of bodies
    active: bool
    forces: int = 0  #: degrees of freedom
    touches: bool = False

    def columns(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """The row shape and the type of each column, by name."""
        out: dict[str, tuple[tuple[int, ...], str]] = {"time": ((), "f8"), "q": ((self.nq,), "f8")}
        out |= {"kinetic": ((), "f8"), "potential": ((), "f8")}
        if self.nv:
            out["v"] = (self.nv,), "f8"
        if self.error:
            out["error"] = (), "f8"
        if self.wrenches:
            out["joint_wrenches"] = (self.wrenches, 6), "f8"
        if self.forces:
            out["joint_forces"] = (3, self.forces), "f8"
        if self.active:
            out |= {"active_end": ((), "i8"), "active": ((), "i8")}
        if self.touches:
            out |= {"touches_end": ((), "i8"), "touches": ((TOUCH,), "f8")}
        return out


#: Tables that every recording has: the shape of a row, and the type.
EVENTS: dict[str, tuple[tuple[int, ...], str]] = {
    "events/time": ((), "f8"),
    "events/name_end": ((), "i8"),
    "events/names": ((), "u1"),
}
SEGMENT = 3  #: columns: model, states, first row
