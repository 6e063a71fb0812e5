"""Many runs: a pendulum over a grid of settings, samples with seeds, and a basin of attraction in batches."""

import numpy as np

import supple
from supple import scenes

# A scene over a grid, on all cores; the store can be read while it grows, and resumed.
swings = supple.sweep(
    "pendulum",
    {"angle": "0.2:2:5", "damping": [0.0, 0.5]},
    fixed={"links": 2, "duration": 0.5, "dt": 0.01, "integrator": "rk4"},
    out="swings.zarr",
    overwrite=True,
)
print(swings)
lost = -swings["energy_change"]
print("energy lost with damping:", np.round(lost[:, 1], 3), swings.units["energy_change"])
assert (abs(lost[:, 0]) < 1e-4).all() and (lost[:, 1] > 0).all()


# A function over samples, each with three seeds; one that fails is recorded, and the others go on.
def noisy(gain, delay, seed):
    if gain * delay > 1.5:
        raise ValueError("the loop is unstable")
    return {"error": np.random.default_rng(seed).normal(1.0 / gain, delay)}


found = supple.sweep(
    noisy, {"gain": supple.Range(0.5, 50.0, log=True), "delay": "0.01:0.2"}, samples=32, repeats=3, engine="serial"
)
print(found)
print(found.failures[0])


# Many states at once: how many steps the simplest walker makes before it falls.
def steps(angle, rate):
    walker = scenes.simplest_walker(0.009)
    q = np.stack([angle - 0.009, 2 * angle], axis=1)
    v = np.stack([rate, rate * (1 - np.cos(2 * angle))], axis=1)
    return {"steps": supple.walk_many(walker, q, v, 20).steps}


basin = supple.sweep(steps, {"angle": "0.15:0.25:40", "rate": "-0.25:-0.15:40"}, batch=800, engine="serial")
print(f"of {len(basin):,} states {(basin['steps'] == 20).sum()} walk on, {(basin['steps'] == 0).sum()} fall at once")
