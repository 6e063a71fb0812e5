"""`supple bench exact`: one call from Python, batches, large bodies, and starting up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Console

import supple
from supple import robots
from supple.bench import large, startup
from supple.bench.measure import agree, minima
from supple.bench.peers import Mujoco, PeerState, Pinocchio
from supple.bench.rows import Row
from supple.files import load_quietly

#: Times faster than the peer: (floor, aim).
ABA_PINOCCHIO, ABA_MUJOCO = (2.1, 2.5), (1.6, 2.0)
RNEA_PINOCCHIO = CRBA_PINOCCHIO = (2.0, 2.5)
LTDL_PINOCCHIO = (2.0, 2.0)
BATCH_PINOCCHIO = {1: (8.0, 8.0), 2: (14.0, 14.0)}  # by threads

BATCH = 4096
CASES = (("Panda", robots.PANDA, False), ("Talos, floating base", robots.TALOS, True))


def groups(console: Console, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    pin, mujoco = peer(console, "pinocchio", "pin"), peer(console, "mujoco", "mujoco")
    for name, robot, floating_base in CASES:
        file = robots.find(robot)
        if file is None:
            console.print(f"{name} is left out: pip install example-robot-data brings its file")
            continue
        state = PeerState(load_quietly(file, floating_base=floating_base, loops=False))
        pinocchio = None if pin is None else Pinocchio(pin, file, floating_base, state)
        yield (
            f"One call: {name}",
            _one_call(state, pinocchio, mujoco and Mujoco(mujoco, state), 20 if quick else 100),
        )
        if floating_base and pinocchio is not None:
            yield (
                f"Batch of {BATCH} states, a state: {name}",
                _batch(state.model, pinocchio, 3 if quick else 40),
            )
    yield "Large bodies: ABA", large.aba(quick)
    yield "Large bodies: sparse mass matrix", large.factors(quick)
    yield "Starting up, compiled code in the cache", startup.rows(3 if quick else 7)


def peer(console: Console, module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        console.print(f"{module} is not installed: no comparison with it (pip install {package})", highlight=False)
        return None


def _one_call(state: PeerState, pinocchio: Pinocchio | None, mujoco: Mujoco | None, rounds: int) -> list[Row]:
    model, q, v, tau, a = state.model, state.q, state.v, state.tau, state.a
    fd, rnea, crba, factorize = (
        supple.forward_dynamics,
        supple.inverse_dynamics,
        supple.mass_matrix,
        supple.factorize,
    )
    H, pattern = crba(model, q), supple.Pattern(model.expanded_parent)
    factor = factorize(H, pattern)
    refactorize, packed = factorize(H, pattern).refactorize, crba(model, q, sparse=True).values
    calls: dict[str, Callable[[], Any]] = {
        "ABA": lambda: fd(model, q, v, tau),
        "RNEA": lambda: rnea(model, q, v, a),
        "CRBA": lambda: crba(model, q),
        "LTDL new factor": lambda: factorize(H, pattern),
        "LTDL in place": lambda: refactorize(H),
        "LTDL packed": lambda: refactorize(packed),
    }
    rows = []
    if pinocchio is not None:
        L, D = pinocchio.factor()
        agree("ABA and pin.aba", fd(model, q, v, tau), pinocchio.acceleration())
        agree("RNEA and pin.rnea", rnea(model, q, v, a), pinocchio.force())
        agree("CRBA and pin.crba", H, pinocchio.mass_matrix())
        agree("LTDL and pin.cholesky.decompose", factor.L, L)
        agree("LTDL and pin.cholesky.decompose", factor.D, D)
        calls |= _pinocchio_calls(pinocchio, q, v, a)
    if mujoco is not None:
        agree("ABA and mj_forward", fd(model, q, v, tau), mujoco.acceleration())
        agree("RNEA and mj_inverse", tau, mujoco.force())
        m, d, mj = mujoco.model, mujoco.data, mujoco.mujoco
        calls |= {"mj_forward": lambda: mj.mj_forward(m, d), "mj_inverse": lambda: mj.mj_inverse(m, d)}
    best = minima(calls, rounds)
    pairs = (
        ("ABA", ("pin.aba", "pin.aba (world)"), ABA_PINOCCHIO),
        ("ABA", ("mj_forward",), ABA_MUJOCO),
        ("RNEA", ("pin.rnea",), RNEA_PINOCCHIO),
        ("RNEA", ("mj_inverse",), (None, None)),
        ("CRBA", ("pin.crba", "pin.crba (world)"), CRBA_PINOCCHIO),
        ("LTDL new factor", ("pin.cholesky",), (None, None)),  # Pinocchio's writes into what is there
        ("LTDL in place", ("pin.cholesky",), LTDL_PINOCCHIO),
        ("LTDL packed", ("pin.cholesky",), LTDL_PINOCCHIO),
    )
    for ours, peers, (floor, aim) in pairs:
        measured = {peer: best[peer] for peer in peers if peer in best}
        if measured:
            fastest = min(measured, key=measured.__getitem__)
            rows.append(Row(ours, best[ours], "s", measured[fastest], fastest, floor, aim))
    return rows or [Row(name, best[name], "s") for name in calls]


def _pinocchio_calls(peer: Pinocchio, q: Any, v: Any, a: Any) -> dict[str, Callable[[], Any]]:
    """Pinocchio's algorithms; where it has two conventions for its frames, both."""
    pin, model, data, tau = peer.pin, peer.model, peer.data, peer.tau
    local, world = peer.conventions
    return {
        "pin.aba": lambda: pin.aba(model, data, q, v, tau, local),
        "pin.aba (world)": lambda: pin.aba(model, data, q, v, tau, world),
        "pin.rnea": lambda: pin.rnea(model, data, q, v, a),
        "pin.crba": lambda: pin.crba(model, data, q, local),
        "pin.crba (world)": lambda: pin.crba(model, data, q, world),
        "pin.cholesky": lambda: pin.cholesky.decompose(model, data),
    }


def _batch(model: supple.Model, peer: Pinocchio, rounds: int) -> list[Row]:
    """Many states at once, beside a loop over Pinocchio in its faster convention."""
    rng = np.random.default_rng(1)
    q = np.array([model.random(rng) for _ in range(BATCH)])
    v, tau = rng.standard_normal((2, BATCH, model.nv))
    undamped = tau - model.damping * v

    def loop(convention: Any) -> Any:
        aba, m, d = peer.pin.aba, peer.model, peer.data
        return [aba(m, d, q[i], v[i], undamped[i], convention) for i in range(BATCH)]

    agree(
        "ABA on a batch and a loop over pin.aba",
        supple.forward_dynamics(model, q, v, tau),
        loop(peer.conventions[0]),
    )
    calls: dict[str, Callable[[], Any]] = {f"{c}": lambda c=c: loop(c) for c in peer.conventions}  # type: ignore[misc]
    rows = []
    for threads, (floor, aim) in BATCH_PINOCCHIO.items():
        supple.set_threads(threads)
        best = minima(calls | {"ours": lambda: supple.forward_dynamics(model, q, v, tau)}, rounds)
        theirs = min(best[name] for name in calls)
        name = f"ABA, {threads} thread{'s' if threads > 1 else ''}"
        rows.append(Row(name, best["ours"] / BATCH, "s", theirs / BATCH, "pin loop", floor, aim))
    return rows
