"""How many operations divide and conquer executes, like counting.py: its passes run on numbers that count."""

from __future__ import annotations

from typing import Any

import numpy as np

from supple.assembly import passes
from supple.assembly.desk import SCRATCH, Desk
from supple.assembly.tables import Tree
from supple.assembly.tree import assemble
from supple.exact import dca
from supple.exact.aba import PATH_ROW
from supple.exact.costs import Cost
from supple.exact.motion import AXIS, Axes
from supple.exact.tables import host_tables
from supple.model.model import Model
from supple.reproduce.counting import Counted, Floats, Hand, as_it_is, count, counted, require, room, tables
from supple.spatial.plain_structs import Checked, read_numbers_as
from supple.spatial.trig import RING


def run(
    model: Model, q: Floats, v: Floats, tau: Floats, wrenches: Floats | None = None, hand: Hand = as_it_is
) -> tuple[Cost, Floats]:
    """Divide and conquer on one state: what it costs, and its result. What is constant of the rigid bodies is not
    counted: it is made once for a model."""
    layout = dca.Layout(model, assemble(model, "balanced"))
    read_numbers_as(Counted)
    t, qdd = _tree(model, layout, hand), room(model.nv)
    w = numbers(SCRATCH)
    external, force = hand(room(6 * model.n_bodies)), hand(room(model.nv))
    d = Desk(
        numbers(layout.size), w, hand(layout.at), hand(layout.joint_at), hand(layout.tail_at),
        hand(counted(np.zeros(12 * layout.n_slots))), hand(layout.told_at), hand(counted(q)), external, force,
        hand(qdd), w,
    )  # fmt: skip
    for module in (passes, dca):
        vars(module)["open_desk"] = lambda desk: desk  # kernels pass on an address; here it is what lies there
    count(lambda: require(dca.rigid_kernel.load()((t, d)) < 0, "every body has an inverse inertia"))
    path, S = hand(room(host_tables(model).n_slots, PATH_ROW)), Axes(hand(room(model.nv, AXIS)), hand(room(RING, 2)))
    pushes = None if wrenches is None else hand(counted(wrenches))
    order, save_at, turns = hand(layout.order), hand(layout.save_at), hand(room(2 * model.n_bodies))

    def all_passes() -> None:
        given = hand(counted(q)), hand(counted(v)), hand(counted(tau)), wrenches is not None, pushes
        dca.forces_on_bodies(tables(model, hand), *given, path, S, external, force, turns, w)
        for start, stop in layout.parts:
            smallest, _ = dca.assemble_nodes(t, d, (t, d), turns, order, start, stop, save_at)
            require(smallest > 0.0, "every pivot is positive")
        for start, stop in reversed(layout.parts):
            dca.accelerate_nodes(t, d, turns, order, start, stop, save_at)

    return count(all_passes), qdd.astype(np.float64)


def _tree(model: Model, layout: dca.Layout, hand: Hand) -> Tree:
    """What open_tree gives a kernel, counting."""
    host = layout.tables
    ints: list[Any] = [hand(row) for row in (*host.ints, *host.body_ints)]
    matrices = (np.ravel(x).view(Checked) for x in (host.to_joint, host.inertia))
    floats = (hand(counted(x)) for x in (host.pitch, host.armature, host.weight))
    return Tree(model.n_bodies, host.assembly.n_nodes, *ints, *matrices, *floats)


def numbers(n: int) -> Any:
    """Memory for n numbers, which count when they are read."""
    return np.zeros(n).view(Checked)
