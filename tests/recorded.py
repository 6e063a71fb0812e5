"""Runs of every kind to record and resume, and results compared bit by bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import supple
from supple import scenes
from supple.simulating.result import Segment

MODEL = supple.trees.random_tree(6, seed=2)


def equal(a: supple.Result, b: supple.Result) -> None:
    """Two results, bit by bit."""
    assert len(a.segments) == len(b.segments) and a.events == b.events
    for x, y in zip(a.segments, b.segments):
        assert len(x) == len(y)
        same(x, y)


def same(x: Segment, y: Segment) -> None:
    """The states of a segment, bit by bit, and as many of another."""
    for name in ("times", "q", "v", "kinetic", "potential", "error", "active_counts"):
        a, b = getattr(x, name), getattr(y, name)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b)[: len(x)])
    for i in {0, len(x) // 2, len(x) - 1}:
        np.testing.assert_array_equal(x.active_joints(i), y.active_joints(i))


def bouncing(restitution: float = 0.7) -> tuple[supple.Model, dict[str, object]]:
    b = supple.ModelBuilder("ball")
    b.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=1.0)
    floor = supple.Event("floor", lambda s: s.q[0], -1, lambda s: s.replace(v=-restitution * s.v))
    return b.build(), {"q": [1.0], "events": [floor]}


def kicked() -> dict[str, object]:
    """A fall with events at one instant, and others every few steps, some of which change the speed."""

    def speed(factor: float) -> Callable[[supple.State], supple.State]:
        return lambda s: s.replace(v=factor * s.v)

    def wave(s: supple.State) -> float:
        return float(np.sin(100 * s.q[0]) + 1e3) - 1e3  # which rounding makes uncertain near zero

    events = [supple.Event("slower", wave, -1, speed(0.9)), supple.Event("passed", wave)]
    return {"q": [1.0], "events": [*events, supple.Event("faster", wave, 1, speed(1.1))]}


def pulled_chain() -> tuple[supple.Model, dict[str, object]]:
    scene = scenes.molecule(400, forces=3, where="spread")
    pull = [
        supple.Push(int(b), force=f, point=p)
        for b, f, p in zip(scene.pushes.bodies, scene.pushes.forces, scene.pushes.points)
    ]
    rope = supple.SpringBetween(20, 300, 0.01, length=1.0)
    dt = scene.step_of("quasi-statics")
    return scene.model, {"q": scene.q0, "forces": [*pull, rope], "method": "quasi-statics", "error": 1e-3, "dt": dt}


CHAIN = supple.trees.chain(40)
CASES = {
    "march": (MODEL, {"q": MODEL.random(0), "every": 7}),
    "crba": (MODEL, {"q": MODEL.random(0), "method": "crba", "integrator": "semi-implicit"}),
    "adaptive": (MODEL, {"q": MODEL.random(0), "integrator": "dop853", "dt": 3e-3}),
    "function": (MODEL, {"q": MODEL.random(0), "tau": lambda t, q, v: np.sin(t) - 0.1 * v}),
    "events": bouncing(),
    "events, adaptive": (bouncing()[0], bouncing()[1] | {"integrator": "dop853", "dt": 0.01}),
    "events for ever": bouncing(1.0),
    "events together": (bouncing()[0], kicked()),
    "events together, adaptive": (bouncing()[0], kicked() | {"integrator": "dop853", "dt": 0.003}),
    "quasi-statics": pulled_chain(),
    "adaptive dynamics": (
        CHAIN,
        {
            "q": CHAIN.random(0),
            "method": "adaptive",
            "active": 6,
            "update_every": 5,
            "dt": 3e-4,
            "forces": [
                supple.Push(39, force=(0, 1, 0.5)),
                supple.Spring(5, (0, 0, 0), 3.0),
                supple.SpringBetween(8, 31, 2.0, damping=0.1, length=0.2),
            ],
        },
    ),
}


def numbers(n: int) -> tuple[np.ndarray, ...]:
    """n made-up states of MODEL."""
    rng = np.random.default_rng(n)
    return np.arange(n) * 0.1, rng.random((n, MODEL.nq)), rng.random((n, MODEL.nv)), rng.random(n), rng.random(n)


def checkpoint(n: int) -> dict[str, object]:
    return {"time": float(n), "step": n, "h": 0.1, "seen": [], "before": None, "over": None, "failed": None}
