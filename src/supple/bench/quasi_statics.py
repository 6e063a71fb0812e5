"""`supple bench quasi-statics`: divide and conquer beside our ABA, and steps of quasi-statics beside both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import Console

import supple
from supple import scenes
from supple.assembly.tree import assemble
from supple.bench.measure import agree, minima
from supple.bench.peers import PeerState
from supple.bench.rows import Row
from supple.exact.dca import _layout, assemble_kernel
from supple.scenes import Scene
from supple.scenes.molecule import pushes

NODE = 300.0  #: nanoseconds to assemble a joint, at most
SLOWER = (3.5, 3.0)  #: times as long as the ABA, at most, and aim; with one to check the result, as for any long body
ERROR = 2.0**-19
#: Forces on the last atoms: (floor, aim) against divide and conquer, and against the ABA.
FASTER: dict[int, tuple[tuple[float, float], tuple[float, float]]] = {
    1: ((150.0, 350.0), (100.0, 150.0)),
    1000: ((8.0, 17.5), (5.0, 7.0)),
}
#: Where the tree does not pay, a step takes at most 1.5 of the ABA's.
WHOLE = (0.67, 1.0)
HELD, STEPS = (100, 1000, 5000), 200  #: links of chains that motors hold; steps of which the mean is taken
LARGEST, PLACES = 1_000_000, 8
GROWTH, BUILD, BYTES = 2.0, 10.0, 4096.0  #: of a step, seconds to build a tree, bytes a node: at most


def groups(console: Console, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    yield "Divide and conquer", [*_assembly(quick), *_chain(50_000, 5 if quick else 30)]
    scene = scenes.molecule()
    console.print("A molecule of 50,000 joints, relative joint error 2^-19; all on one thread.\n", highlight=False)
    for forces in FASTER:
        rows = _molecule(scene.with_pushes(pushes(scene.model, forces)), FASTER[forces], 5 if quick else 30)
        yield f"A step of a molecule, {_atoms(forces)}", rows
    anywhere = scene.with_pushes(pushes(scene.model, 1000, "spread"))
    anywhere_rows = _molecule(anywhere, ((None, None), WHOLE), 3 if quick else 8)
    yield "A step of a molecule, forces on 1,000 atoms anywhere", anywhere_rows
    held = [_held(n, 50 if quick else STEPS) for n in HELD]
    yield "A step of a chain that motors hold against gravity, pushed lightly", held
    if not quick:
        yield f"Molecule of {LARGEST:,} joints, one force", _large(scene)


def _atoms(count: int) -> str:
    return "one force" if count == 1 else f"forces on its last {count:,} atoms"


def _assembly(quick: bool) -> list[Row]:
    """The pass that assembles, alone, on a chain of 1,024."""
    n = 1024
    state = PeerState(supple.trees.chain(n))
    model, q, out = state.model, state.q, np.empty(n)
    supple.forward_dynamics(model, q, state.v, state.tau, method="dca")  # fills in the forces
    layout = _layout(model, "balanced")
    (scratch,) = layout.kept
    body, kernel, bounds = scratch.bodies[-1], assemble_kernel.load(), layout.parts[-1]
    body.q, body.qdd = q, out
    passes = scratch.passes[-1].address
    best = minima({"assembly": lambda: kernel(passes, *bounds)}, 20 if quick else 200)
    return [Row("assembly, chain of 1,024", 1e9 * best["assembly"] / n, "ns/joint", floor=NODE)]


def _chain(n: int, rounds: int) -> list[Row]:
    """All of forward dynamics, times as long as the ABA."""
    state = PeerState(supple.trees.chain(n))
    model, arguments = state.model, (state.q, state.v, state.tau)

    def dca(threads: int) -> Any:
        supple.set_threads(threads)
        return supple.forward_dynamics(model, *arguments, method="dca")

    calls: dict[str, Callable[[], Any]] = {
        "ABA": lambda: supple.forward_dynamics(model, *arguments),
        "1": lambda: dca(1),
        "2": lambda: dca(2),
    }
    agree("divide and conquer and the ABA", dca(1), calls["ABA"]())
    best = minima(calls, rounds)
    return [
        Row(f"chain of {n:,}, one thread", best["1"] / best["ABA"], "x ABA", floor=SLOWER[0], aim=SLOWER[1]),
        Row(f"chain of {n:,}, two threads", best["2"] / best["ABA"], "x ABA"),
        Row(f"ABA, chain of {n:,}", 1e9 * best["ABA"] / n, "ns/joint"),
    ]


def _molecule(scene: Scene, wanted: Any, rounds: int) -> list[Row]:
    """A step beside one of divide and conquer and one of the ABA, least times and medians, with what it did."""
    supple.set_threads(1)
    model, q, v = scene.model, scene.q0, np.zeros(scene.model.nv)
    W = scene.pushes.wrenches(model, q)
    qs = scene.quasi_statics(ERROR)
    exact = supple.forward_dynamics(model, q, v, None, W)
    agree("quasi-statics at error 0 and the ABA", qs.solve(error=0.0).dense(), exact)
    qs.error = ERROR  # forgets that solution
    # full steps get a little torque at every joint: far from the forces their numbers would become so small that
    # processors are ten times slower with them, which would flatter us
    tau = 1e-3 * np.random.default_rng(0).standard_normal(model.nv)
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        "DCA": (lambda: supple.forward_dynamics(model, q, v, tau, W, method="dca"), 1),
        "ABA": (lambda: supple.forward_dynamics(model, q, v, tau, W), 1),
        "step": (lambda: qs.step(scene.step_of("quasi-statics")), 10 if wanted else 1),
    }
    times = _turns(calls, rounds)
    rows = []
    for name, pick in (("least", np.min), ("median", np.median)):
        t = {what: float(pick(x)) for what, x in times.items()}
        for i, peer in enumerate(("DCA", "ABA")):
            floor, aim = wanted[i] if wanted else (None, None)
            rows.append(Row(f"{name} time", t["step"], "s", t[peer], peer, floor, aim))
    rows.append(Row("joints computed", float(qs._solver.memory.n_computed), ""))
    rows.append(Row("nodes renewed", float(qs._solver.memory.n_touched), ""))
    return rows


def _held(n: int, steps: int) -> Row:
    """The mean over steps, tries of the tree among them."""
    model = supple.trees.chain(n, seed=2)
    q, rest = model.random(2), np.zeros(model.nv)
    tau = supple.inverse_dynamics(model, q, rest, rest)
    tau[n // 2] += 1e-6 * np.abs(tau).max()
    qs = supple.QuasiStatics(model, q, ERROR)
    for joint in range(n):
        qs.torque(joint, tau[model.joints[joint].v])
    qs.step(1e-4)

    def exact() -> None:
        model.integrate(q, supple.forward_dynamics(model, q, rest, tau), 1e-8)

    times = [_turns({"ABA": (exact, 5), "step": (lambda: qs.step(1e-4), 5)}, steps // 5) for _ in range(3)]
    ours, theirs = (min(float(np.mean(t[name])) for t in times) for name in ("step", "ABA"))
    return Row(f"mean time, {n:,} links", ours, "s", theirs, "exact step", *WHOLE)


def _turns(calls: Mapping[str, tuple[Callable[[], Any], int]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every call, the candidates taking turns, each so many times in a round."""
    out: dict[str, list[float]] = {name: [] for name in calls}
    for call, _ in calls.values():
        call()
    for _ in range(rounds):
        for name, (call, times) in calls.items():
            for _ in range(times):
                start = time.perf_counter()
                call()
                out[name].append(time.perf_counter() - start)
    return out


def _large(small: Scene) -> list[Row]:
    """One force on a million joints, beside 50,000: the mean over some atoms, since some lie deeper than others."""
    large = scenes.molecule(LARGEST)
    model = large.model
    start = time.perf_counter()
    assembly = assemble(model)
    tree = time.perf_counter() - start
    start = time.perf_counter()
    qs = supple.QuasiStatics(model, large.q0, ERROR)
    build = time.perf_counter() - start
    few, joints_few = _step_anywhere(supple.QuasiStatics(small.model, small.q0, ERROR), small.dt)
    many, joints_many = _step_anywhere(qs, small.dt)
    return [
        Row(f"a step, {LARGEST:,} / {small.model.n_bodies:,} joints", many / few, "x", floor=GROWTH),
        Row("a step", many, "s"),
        Row(f"joints computed, of {LARGEST:,}", joints_many, ""),
        Row(f"joints computed, of {small.model.n_bodies:,}", joints_few, ""),
        Row("the assembly tree, built", tree, "s", floor=BUILD),
        Row("and all coefficients", build, "s"),
        Row("memory", _bytes(qs) / assembly.n_nodes, "B/node", floor=BYTES),
    ]


def _step_anywhere(qs: supple.QuasiStatics, dt: float) -> tuple[float, float]:
    """The median seconds of a step under one force, and the joints it computes: the mean over some atoms."""
    rng = np.random.default_rng(0)
    seconds, joints = [], []
    for body in rng.integers(0, qs.model.n_bodies, PLACES).tolist():
        push = qs.apply(body, force=rng.standard_normal(3), point=(0.5, 0.0, 0.0))
        times = _turns({"step": (lambda: qs.step(dt), 100)}, 1)["step"]
        seconds.append(float(np.median(times)))
        joints.append(int(qs._solver.memory.n_computed))
        push.remove()
    return float(np.mean(seconds)), float(np.mean(joints))


def _bytes(qs: supple.QuasiStatics) -> float:
    """All that a QuasiStatics keeps, the tables of its tree among it; what is seen from several sides counts once."""
    memory, tables = qs._solver.memory, qs._solver.tables
    structs = (memory, memory.body, tables.tree)
    held = [*vars(tables).values(), *vars(tables.assembly).values(), *(x for s in structs for x in s.arrays)]
    arrays = [x if x.base is None else x.base for x in held if isinstance(x, np.ndarray)]
    return float(sum({id(x): x.nbytes for x in arrays if isinstance(x, np.ndarray)}.values()))
