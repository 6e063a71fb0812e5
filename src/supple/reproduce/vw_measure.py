"""What VW measures, times against degrees of freedom, and what it left for later: how accurate the methods are.

All methods are compiled, called the same way (exact/calls.py) and take turns; of each the smallest time counts. Errors
are relative to the largest number of the true result, which extended precision gives (vw_reference.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.errors import SuppleError
from supple.exact.forward import Method, forward_dynamics
from supple.exact.joint_wrenches import joint_wrenches
from supple.exact.virtual_hubs import Hubs, as_found, split_hubs
from supple.exact.virtual_pairs import PAIRS
from supple.model import trees
from supple.model.model import Model
from supple.reproduce import vw_reference as reference
from supple.reproduce.sf_measure import shortest
from supple.reproduce.vw_methods import METHODS, OF_HUBS

Floats = NDArray[np.float64]
State = tuple[Floats, Floats, Floats]

TURNS = 5  #: that each method gets, in which it may take its best time
AGREEMENT = 1e-4  #: pairs of joints on light links lose digits: what is timed need not be more accurate than this


def state(model: Model, seed: int = 0) -> State:
    """q, v and tau, drawn at random."""
    rng = np.random.default_rng(seed)
    return model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)


# --- times ----------------------------------------------------------------------------------------------------------


class Times(NamedTuple):
    """Seconds of each method on bodies of one shape, by size."""

    sizes: tuple[int, ...]
    dof: tuple[int, ...]
    seconds: dict[str, tuple[float, ...]]


def times(
    make: Callable[[int], Model], sizes: Sequence[int], methods: Sequence[str], budget: float,
    tracked: Callable[[Sequence[int]], Iterable[int]] = iter, most: Mapping[str, int] | None = None,
) -> Times:  # fmt: skip
    """Seconds of a call; sizes and methods take turns, so that a busy moment of the machine spoils one turn of each.

    budget: seconds for each size and method. most: sizes beyond which a method is left out (NaN).
    """
    models = [make(size) for size in sizes]
    calls = {
        (i, name): _call(name, models[i])
        for i, size in enumerate(sizes)
        for name in methods
        if size <= (most or {}).get(name, size)
    }
    best = {(i, name): np.nan for i in range(len(sizes)) for name in methods}
    for _ in tracked(range(TURNS)):
        for which, call in calls.items():
            best[which] = np.fmin(best[which], shortest(call, budget / TURNS, least=1))
    seconds = {name: tuple(float(best[i, name]) for i in range(len(sizes))) for name in methods}
    return Times(tuple(sizes), tuple(m.nv for m in models), seconds)


def _call(name: str, model: Model) -> Callable[[], Floats]:
    """One method's forward dynamics of a model, once it has been found right."""
    q, v, tau = state(model)
    call: Callable[[], Floats] = partial(METHODS[name].algorithm, METHODS[name].of(model), q, v, tau, None)
    truth = forward_dynamics(model, q, v, tau)
    difference = np.abs(call()[: model.nv] - truth).max() / np.abs(truth).max()
    if not difference <= AGREEMENT:
        raise SuppleError(f"{name} on {model!r} is off by {difference:.2g}: its time would mean nothing")
    return call


def growth(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent with which values grow with sizes: a straight line through the logarithms of the larger half."""
    x, y = np.log(sizes), np.log(values)
    known = np.flatnonzero(np.isfinite(y))
    half = known[min(len(known) // 2, len(known) - 2) :]
    return float(np.polyfit(x[half], y[half], 1)[0])


def crossing(measured: Iterable[Times], ours: str, theirs: str) -> tuple[int | None, int]:
    """The degrees of freedom from which on one method takes less time than another, if it does; and the last at which
    both were timed."""
    both: dict[int, tuple[float, float]] = {}
    for times in measured:
        for dof, a, b in zip(times.dof, times.seconds[ours], times.seconds[theirs]):
            if np.isfinite(a) and np.isfinite(b):
                before = both.get(dof, (np.inf, np.inf))
                both[dof] = min(a, before[0]), min(b, before[1])
    slower = max((dof for dof, (a, b) in both.items() if not a < b), default=-1)
    return min((dof for dof in both if dof > slower), default=None), max(both)


# --- accuracy -------------------------------------------------------------------------------------------------------

#: As readers know them, and as forward_dynamics does.
ACCURATE: dict[str, Method] = {"virtual work": "virtual-work", "ABA": "aba", "CRBA + LTDL": "crba"}


class Errors(NamedTuple):
    accelerations: float
    wrenches: float


def errors(model: Model, q: Floats, v: Floats, tau: Floats) -> dict[str, Errors]:
    """Of every method; wrenches of those that do not give them come from inverse dynamics. Of virtual work, what it
    finds in float64, before anything is made of lost digits."""
    exact = reference.forward_dynamics(model, q, v, tau)
    out = {}
    for name, method in ACCURATE.items():
        if method == "virtual-work":
            a, carried = _as_found(model, q, v, tau, "absorb")
        else:
            a = forward_dynamics(model, q, v, tau, method=method)
            carried = joint_wrenches(model, q, v, tau, frame="world", method=method)
        out[name] = Errors(_relative(a, exact.accelerations), _relative(carried, exact.wrenches))
    return out


def _as_found(model: Model, q: Floats, v: Floats, tau: Floats, hubs: Hubs) -> tuple[Floats, Floats]:
    flat = as_found(model, [q, v, tau, None], hubs)
    return flat[: model.nv], flat[model.nv : -1].reshape(-1, 6)


def _relative(found: Floats, exact: NDArray[Any]) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def median(samples: Sequence[dict[str, Errors]]) -> dict[str, Errors]:
    return {name: Errors(*np.median([s[name] for s in samples], axis=0).tolist()) for name in samples[0]}


def random_chain(n: int, seed: int) -> dict[str, Errors]:
    """Random links in a random coil."""
    model = trees.chain(n, seed=seed)
    return errors(model, *state(model, seed))


def straight_chain(n: int, seed: int) -> dict[str, Errors]:
    """Rods stretched out in one line, their hinges across one another by turns."""
    model = trees.chain(n, general=False, skew=np.pi / 2)
    _, v, tau = state(model, seed)
    return errors(model, model.neutral(), v, tau)


def light_links(ratio: int, seed: int) -> dict[str, Errors]:
    """Eight links, every other one lighter by the ratio."""
    model = trees.chain(8, seed=seed, link_mass=np.where(np.arange(8) % 2, 1.0, 1.0 / ratio))
    return errors(model, *state(model, seed))


CHAINS: dict[str, Callable[[int, int], dict[str, Errors]]] = {
    "random chains": random_chain,
    "stretched chains": straight_chain,
    "light links": light_links,
}

HUBS = {
    "absorbed": "as Supple does it",
    "split, absorbed": "the same after splitting: hubs='split'",
    "pairs": "the paper without splitting: hubs='pairs'",
    "split, pairs": "the paper with splitting",
}


def hub_errors(branches: int, seed: int, most_pairs: int = 128) -> dict[str, Errors]:
    """A star, by what is done about its hub."""
    model = trees.from_parents([-1] + [0] * branches, joint="ball", seed=seed)
    q, v, tau = state(model, seed)
    exact, split = reference.forward_dynamics(model, q, v, tau), split_hubs(model)
    flat = PAIRS(split.model, q, v, tau, None)
    found: dict[str, tuple[Floats, Floats]] = {
        "absorbed": _as_found(model, q, v, tau, "absorb"),
        "split, absorbed": _as_found(model, q, v, tau, "split"),
        "split, pairs": (flat[: model.nv], flat[model.nv : -1].reshape(-1, 6)[split.bodies]),
    }
    if branches <= most_pairs:
        found["pairs"] = _as_found(model, q, v, tau, "pairs")
    out = dict.fromkeys(HUBS, Errors(np.nan, np.nan))
    return out | {
        name: Errors(_relative(a, exact.accelerations), _relative(w, exact.wrenches)) for name, (a, w) in found.items()
    }


def methods_for(branched: bool) -> list[str]:
    return [name for name in METHODS if branched or name not in OF_HUBS]
