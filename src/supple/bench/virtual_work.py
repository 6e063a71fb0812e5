"""`supple bench virtual-work`: beside our own articulated-body algorithm, and what links with many joints cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console

import supple
from supple.bench.measure import agree, minima
from supple.bench.peers import PeerState
from supple.bench.rows import Row
from supple.exact.virtual_hubs import as_found

SLOWER = 3.0  #: than the ABA, at most
SIZES, LARGEST = (1_000, 10_000, 50_000), 1_000_000
BRANCHES, FEWER = 1_000, 100  #: of a star; where only pairs are measured
DIGITS = 1e-5  #: pieces of a link are lighter than what they carry, which costs digits


def groups(console: Console, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    sizes = SIZES if quick else (*SIZES, LARGEST)
    seconds = {n: _chain(n) for n in sizes}
    rows = [
        Row(f"chain of {n:,}", best["virtual-work"] / best["aba"], "x", floor=SLOWER) for n, best in seconds.items()
    ]
    yield "Virtual work, times as long as the articulated-body algorithm", rows
    rows = [Row(f"chain of {n:,}", 1e9 * best["virtual-work"] / n, "ns/joint") for n, best in seconds.items()]
    first, last = (seconds[n]["virtual-work"] / n for n in (sizes[0], sizes[-1]))
    rows.append(Row(f"a joint of {sizes[-1]:,} / of {sizes[0]:,}", last / first, "x"))
    yield "Virtual work, time a joint", rows
    yield f"One link with {BRANCHES:,} ball joints, accelerations and wrenches", _star(quick)


def _chain(n: int) -> dict[str, float]:
    """Seconds of both methods."""
    state = PeerState(supple.trees.chain(n))
    model, q, v, tau = state.model, state.q, state.v, state.tau
    calls: dict[str, Callable[[], Any]] = {
        "aba": lambda: supple.forward_dynamics(model, q, v, tau),
        "virtual-work": lambda: supple.forward_dynamics(model, q, v, tau, method="virtual-work"),
    }
    agree(f"virtual work and ABA on a chain of {n:,}", calls["virtual-work"](), calls["aba"]())
    return minima(calls, max(20, min(200, 2_000_000 // n)))


def _star(quick: bool) -> list[Row]:
    state = PeerState(supple.trees.from_parents([-1] + [0] * BRANCHES, joint="ball"))
    model, arguments = state.model, (state.q, state.v, state.tau)
    calls: dict[str, Callable[[], Any]] = {
        "ABA, then inverse dynamics": lambda: supple.joint_wrenches(model, *arguments, frame="world", method="aba"),
        "absorbed": lambda: supple.virtual_work(model, *arguments),
        "split into pieces": lambda: as_found(model, [*arguments, None], "split"),
    }
    a = supple.forward_dynamics(model, *arguments)
    agree("absorption and ABA on a star", calls["absorbed"]().accelerations, a)
    agree("splitting and ABA on a star", calls["split into pieces"]()[: model.nv], a, DIGITS)
    rows = [Row(name, seconds, "s") for name, seconds in minima(calls, 5 if quick else 40).items()]
    branches = FEWER if quick else BRANCHES
    return [*rows, Row(f"a matrix for every pair, {branches:,} joints", _seconds_of_pairs(branches), "s")]


def _seconds_of_pairs(branches: int) -> float:
    """Of one call, which is long enough to be sure of."""
    state = PeerState(supple.trees.from_parents([-1] + [0] * branches, joint="ball"))
    arguments = state.model, state.q, state.v, state.tau
    small = supple.trees.chain(2)
    supple.virtual_work(small, small.neutral(), [0.0, 0.0], hubs="pairs")  # compiled, or loaded
    start = time.perf_counter()
    found = as_found(state.model, [state.q, state.v, state.tau, None], "pairs")
    seconds = time.perf_counter() - start
    agree("pairs and ABA on a star", found[: state.model.nv], supple.forward_dynamics(*arguments), DIGITS)
    return seconds
