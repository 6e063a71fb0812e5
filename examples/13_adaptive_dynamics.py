"""A pendulum of 300 links falls, and only some of its joints move: the body chooses which, anew every 20 steps."""

import time

import numpy as np

import supple
from supple import scenes

scene = scenes.pendulum(300, planar=True, damping=0.0)
dt, duration = 2e-4, 0.4


def fall(active):
    body = supple.AdaptiveDynamics(scene.model, scene.q0, active=active)
    body.run(20 * dt, dt)  # loads what is compiled
    start = time.perf_counter()
    body.run(duration - 20 * dt, dt)
    return body, (time.perf_counter() - start) / (duration / dt)


exact, seconds = fall(300)
print(f"all 300 joints: {1e6 * seconds:6.1f} µs a step")
off = {}
for active in (100, 50, 20, 1):
    body, seconds = fall(active)
    (_, x), (_, wanted) = body.poses(), exact.poses()
    off[active] = np.linalg.norm(x - wanted, axis=1).max()
    print(
        f"{active:4d} of them:    {1e6 * seconds:6.1f} µs a step, {1e3 * off[active]:7.2f} mm off at most, "
        f"{body.stats.energy_removed:.1e} J removed by stopping joints"
    )
assert off[100] < off[20] < off[1]

# Forces, springs and pinned joints work as on any body; a step costs as much as what moves, not as the body has.
chain = supple.AdaptiveDynamics(supple.trees.chain(20_000), active=50)
chain.apply(15_000, force=(0.0, 0.0, 50.0))
chain.pin(19_999)  # always free to move
stats = chain.run(0.01, dt=1e-4)
print(f"a chain of 20,000: {stats.active_count} joints move, the last among them: {19_999 in chain.active_joints}")
