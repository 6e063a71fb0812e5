"""What the methods of forward dynamics cost on a model: counted by the paper's formulas, and timed on request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from supple.errors import SuppleError
from supple.exact import costs
from supple.exact.forward import Method, forward_dynamics
from supple.model.joints import NV
from supple.model.model import Model

if TYPE_CHECKING:
    from rich.console import Console

METHODS: tuple[Method, ...] = ("aba", "crba", "virtual-work", "dca")
FACTORS_UP_TO = 20_000_000  #: entries of the mass matrix beyond which its methods are not timed
ROUNDS = 20


def counted(model: Model) -> list[tuple[str, str, str]]:
    """Rows of a table: what, its formula, its number of operations on this model [SF]."""
    bodies, dofs = model.parent, model.expanded_parent
    dof, floating = np.array(NV)[model.joint_type], costs.floating_bases(model)
    total = costs.forward_dynamics(bodies, dof, floating)
    rows = [
        ("mass matrix, CRBA", "D0a (32m + 43a) + D1a (20m + 12a) + ...", str(costs.crba(bodies, floating))),  # (20)
        ("its factors, LTDL", "D1 div + D2 (m + a)", str(costs.factorization(dofs))),  # Table 1
        ("solving with them", "n div + 2 D1 (m + a)", str(costs.back_substitution(dofs))),  # Table 1
        ("inverse dynamics", "(93n - 69) m + (81n - 66) a + ...", str(costs.rnea(bodies, floating))),  # section 6
        ('method "crba"', "all of these", str(total)),
    ]
    if len(floating) == 1 and (bodies < 0).sum() == 1:  # the only case whose cost is published
        rows.append(('method "aba"', "(224n - 30) m + (205n - 37) a + ...", str(costs.aba(bodies))))
    else:
        rows.append(('method "aba"', "O(n)", ""))
    return [*rows, ('method "virtual-work"', "O(n)", ""), ('method "dca"', "O(n), on several threads", "")]


def timed(model: Model) -> dict[str, float]:
    """The least seconds that a call of each method took on this machine, quickest first; without those that refuse the
    model."""
    from supple.bench.measure import minima

    rng = np.random.default_rng(0)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    calls: dict[str, Callable[[], Any]] = {}
    for method in METHODS:
        if method == "crba" and model.nv + costs.D1(model.expanded_parent) > FACTORS_UP_TO:
            continue
        try:
            forward_dynamics(model, q, v, None, None, method)
        except SuppleError:
            continue
        calls[method] = partial(forward_dynamics, model, q, v, None, None, method)
    return dict(sorted(minima(calls, ROUNDS).items(), key=lambda row: row[1]))


def show_costs(console: Console, model: Model, time: bool) -> None:
    from rich.table import Table

    sums = ((f"D{i}", f(model.expanded_parent)) for i, f in enumerate((costs.D0, costs.D1, costs.D2)))
    console.print(
        "\n[bold]What it costs[/], in operations of the best published implementations (Featherstone 2005):",
        highlight=False,
    )
    table = Table(show_header=False, box=None)
    for name, formula, number in counted(model):
        table.add_row(name, formula, number)
    console.print(table, markup=False)
    text = ", ".join(f"{name} = {value}" for name, value in sums)
    console.print(f"  n = {model.n_bodies} bodies, nv = {model.nv}; over degrees of freedom {text}", highlight=False)
    if not time:
        console.print("  --time measures every method here.", highlight=False)
        return
    times = timed(model)
    if not times:
        console.print("  No method of forward dynamics takes this model: see the problems above.")
        return
    console.print("\n[bold]Forward dynamics on this machine[/], microseconds a call:", highlight=False)
    for method, seconds in times.items():
        console.print(f"  {method:14s} {1e6 * seconds:10.2f}", highlight=False, markup=False)
    console.print(f"  The quickest is method {next(iter(times))!r}.", highlight=False)
