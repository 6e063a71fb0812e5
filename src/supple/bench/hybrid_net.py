"""Adaptive dynamics of a net of which some joints move, beside exact steps."""

from __future__ import annotations

import time

import numpy as np

import supple
from supple import scenes
from supple.bench.rows import Row

MOVING = (5, 10, 20, 40)  #: joints; and all of them
STEPS = 100


def rows(quick: bool) -> list[Row]:
    """Mean times over the first steps, in which a net begins to fall: the least of a few runs."""
    scene, runs = scenes.net(), 1 if quick else 3
    model, dt = scene.model, scene.dt
    exact = min(_exact(scene) for _ in range(runs))
    found = []
    for moving in (*MOVING, model.n_bodies):
        ours = np.inf
        for _ in range(runs):
            ad = supple.AdaptiveDynamics(model, scene.q0, active=moving)
            ad.step(dt)
            begun = time.perf_counter()
            for _ in range(STEPS):
                ad.step(dt)
            ours = min(ours, (time.perf_counter() - begun) / STEPS)
        found.append(Row(f"{moving} of {model.n_bodies} joints", ours, "s", exact, "RK4, exact"))
    return found


def _exact(scene: scenes.Scene) -> float:
    supple.simulate(scene.model, scene.q0, duration=scene.dt, dt=scene.dt)
    begun = time.perf_counter()
    supple.simulate(scene.model, scene.q0, duration=STEPS * scene.dt, dt=scene.dt)
    return (time.perf_counter() - begun) / STEPS
