"""How many operations divide and conquer executes, like counting.py: its passes run on numbers that count."""

from __future__ import annotations

import numpy as np

from supple.assembly.memory import AssembledBody
from supple.assembly.tree import assemble
from supple.exact import dca
from supple.exact.aba import PATH_ROW
from supple.exact.costs import Cost
from supple.exact.motion import AXIS, Axes
from supple.exact.tables import host_tables
from supple.model.model import Model
from supple.reproduce.counting import Counted, Floats, Hand, as_it_is, count, counted, require, room, tables
from supple.spatial.plain_structs import read_numbers_as
from supple.spatial.references import OK
from supple.spatial.trig import RING


def run(
    model: Model, q: Floats, v: Floats, tau: Floats, wrenches: Floats | None = None, hand: Hand = as_it_is
) -> tuple[Cost, Floats]:
    """Divide and conquer on one state: what it costs, and its result. What is constant of the rigid bodies is not
    counted: it is made once for a model."""
    layout = dca.Layout(model, assemble(model, "balanced"))
    read_numbers_as(Counted)
    made: list[dca.Scratch] = []
    count(lambda: made.append(dca.Scratch(model, layout)))
    (scratch,), qdd = made, np.zeros(model.nv)
    require(scratch.status == OK, "every body has an inverse inertia")
    for each in scratch.bodies:
        each.q, each.qdd = q, qdd
    bodies = [AssembledBody.at(each.address) for each in scratch.bodies]
    path, S = hand(room(host_tables(model).n_slots, PATH_ROW)), Axes(hand(room(model.nv, AXIS)), hand(room(RING, 2)))
    pushes = None if wrenches is None else hand(counted(wrenches))
    order, save_at, turns = hand(layout.order), hand(layout.save_at), hand(room(2 * model.n_bodies))

    def all_passes() -> None:
        given = hand(counted(q)), hand(counted(v)), hand(counted(tau)), wrenches is not None, pushes
        dca.forces_on_bodies(tables(model, hand), *given, path, S, bodies[-1], turns)
        parts = [(body, turns, order, *bounds, save_at) for body, bounds in zip(bodies, layout.parts)]
        for part in parts:
            smallest, _ = dca.assemble_nodes(*part)
            require(smallest > 0.0, "every pivot is positive")
        for part in reversed(parts):
            dca.accelerate_nodes(*part)

    return count(all_passes), qdd
