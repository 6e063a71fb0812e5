"""How many operations divide and conquer executes, like counting.py: its passes run on numbers that count."""

from __future__ import annotations

import numpy as np

from supple.assembly.memory import AssembledBody
from supple.assembly.tree import assemble
from supple.costs.matrices import Cost
from supple.exact import dca
from supple.exact.dca_memory import DcaScratch, Forces, Layout, Passes
from supple.model.model import Model
from supple.reproduce.counting import Floats, count, require, state
from supple.spatial.cpu import OK


def run(model: Model, q: Floats, v: Floats, tau: Floats, wrenches: Floats | None = None) -> tuple[Cost, Floats]:
    """Divide and conquer on one state: what it costs, and its result. What is constant of the rigid bodies is not
    counted: it is made once for a model."""
    layout = Layout(model, assemble(model, "balanced"))
    made: list[DcaScratch] = []
    count(lambda: made.append(DcaScratch(model, layout)))
    (scratch,), qdd = made, np.zeros(model.nv)
    require(scratch.status == OK, "every body has an inverse inertia")
    for each in scratch.bodies:
        each.q, each.qdd = q, qdd

    def all_passes() -> None:
        forces, body = Forces.at(scratch.forces.address), AssembledBody.at(scratch.bodies[-1].address)
        dca.forces_on_bodies(forces, state(q, v, tau, wrenches), body)
        parts = [(Passes.at(passes.address), *bounds) for passes, bounds in zip(scratch.passes, layout.parts)]
        for part in parts:
            smallest, _ = dca.assemble_nodes(*part)
            require(smallest > 0.0, "every pivot is positive")
        for part in reversed(parts):
            dca.accelerate_nodes(*part)

    return count(all_passes), qdd
