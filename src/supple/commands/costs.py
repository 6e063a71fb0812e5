"""What the methods of forward dynamics cost on a model: by formula, in operations; and measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from supple.commands.console import say
from supple.costs import matrices as costs
from supple.costs.kernels import how_many, kernel_costs, written
from supple.errors import SuppleError
from supple.exact.forward import Method, forward_dynamics
from supple.model.joints import NV
from supple.model.model import Model
from supple.simulating.starting import closed_if_possible

if TYPE_CHECKING:
    from rich.console import Console

METHODS: tuple[Method, ...] = ("aba", "crba", "virtual-work", "dca")
FACTORS_UP_TO = 20_000_000  #: entries of the mass matrix beyond which its methods are not timed
ROUNDS = 20

Row = tuple[str, str, str]  #: what, its formula, its number of operations on this model


def ours(model: Model) -> list[Row]:
    """What our kernels execute, method by method."""
    found = kernel_costs(model)
    rows = [(method, written(model, method), str(cost)) for method, cost in found.items()]
    return [*rows, ("dca", "4 to 5 times aba on chains, 2.5 on stars; shared among threads", "")]


def published(model: Model) -> list[Row]:
    """What the best published implementations execute [SF]."""
    bodies, dofs = model.parent, model.expanded_parent
    dof, floating = np.array(NV)[model.joint_type], costs.floating_bases(model)
    total = costs.forward_dynamics(bodies, dof, floating)
    kinds = "D0a (32m + 43a) + D1a (20m + 12a) + D0b (47m + 58a) + D1b (24m + 18a) - D0c (18m + 21a) - D1c (12m + 8a)"
    rows = [
        ("mass matrix, CRBA", kinds, str(costs.crba(bodies, floating))),  # (20) (21)
        ("its factors, LTDL", "D1 div + D2 (m + a)", str(costs.factorization(dofs))),  # Table 1
        ("solving with them", "n div + 2 D1 (m + a)", str(costs.back_substitution(dofs))),  # Table 1
        (
            "inverse dynamics",
            "(93n - 69) m + (81n - 66) a, 7m + 13a more if it floats, 4m + 8a more a branch",
            str(costs.rnea(bodies, floating)),
        ),  # section 6
        ("crba", "the four together, divisions as multiplications", str(total)),
    ]
    if len(floating) == 1 and (bodies < 0).sum() == 1:  # the only case whose cost is published
        formula = "(224n - 30) m + (205n - 37) a, n without the floating base; 66m + 57a more a branch"
        rows.append(("aba", formula, str(costs.aba(bodies))))
    return rows


def timed(model: Model) -> dict[str, float]:
    """The least seconds that a call of each method took on this machine, quickest first; without those that refuse the
    model."""
    from supple.bench.measure import minima

    rng = np.random.default_rng(0)
    q, v = closed_if_possible(model, model.random(rng)), rng.standard_normal(model.nv)
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
    """The formulas with this model's numbers; then times, or else what the formulas let expect."""
    say(console, "\n[bold]What a call of forward_dynamics costs[/]: multiplications (m), additions (a), divisions")
    _table(console, ours(model))
    if not model.is_tree:
        say(console, "  of the tree alone: what its loops cost is not counted; --timings measures it")
    split = costs.split(model.parent, costs.floating_bases(model))
    numbers = {"n": model.n_bodies, "D0": costs.D0(model.expanded_parent), **how_many(model), **split._asdict()}
    say(console, f"  with {', '.join(f'{name} = {value:,}' for name, value in numbers.items())}")
    say(console, "\n[bold]Published[/], of Denavit-Hartenberg frames and hinges (Featherstone 2005), to compare:")
    _table(console, published(model))
    if time:
        _show_times(console, model)
        return
    found = kernel_costs(model)
    least = min(found, key=lambda method: found[method].total())
    say(
        console,
        f"\nThe fastest, by operations, is method {least!r}. --timings measures all of them on this machine.",
    )


def _show_times(console: Console, model: Model) -> None:
    times = timed(model)
    if not times:
        say(console, "\nNo method of forward dynamics takes this model: see the problems above.")
        return
    say(console, "\n[bold]Forward dynamics on this machine[/], microseconds a call:")
    for method, seconds in times.items():
        say(console, f"  {method:14s} {1e6 * seconds:10.2f}")
    for method in METHODS:
        if method not in times:
            say(console, f"  {method:14s}    not possible with this model, or too large")
    say(console, f"  The fastest is method {next(iter(times))!r}.")


def _table(console: Console, rows: list[Row]) -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="right", min_width=max(len(number) for _, _, number in rows))
    for name, formula, number in rows:
        table.add_row(f"  {name}", formula, number)
    console.print(table, markup=False, highlight=False)
