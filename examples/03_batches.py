"""Many states at once: every call takes a leading batch axis, and runs on all cores and SIMD registers."""

import time

import numpy as np

import supple

model = supple.trees.humanoid()
rng = np.random.default_rng(0)
B = 4096
q = np.array([model.random(rng) for _ in range(B)])
v, tau = rng.standard_normal((2, B, model.nv))

a = supple.forward_dynamics(model, q, v, tau)  # (B, nq), (B, nv) -> (B, nv)
assert np.allclose(a[7], supple.forward_dynamics(model, q[7], v[7], tau[7]))

start = time.perf_counter()
supple.forward_dynamics(model, q, v, tau)
print(f"{B} states of {model}: {1e6 * (time.perf_counter() - start) / B:.2f} µs a state")

# Anything without the batch axis is the same for all states: here one push on the torso of all of them.
push = supple.wrench(model, "torso", force=(0, 0, 300), frame="body")
pushed = supple.forward_dynamics(model, q, v, tau, wrenches=push)
print("a push of 300 N changes accelerations by up to", np.abs(pushed - a).max())

# One small step in time for all of them; quaternions are moved as rotations.
q = model.integrate(q, v, dt=1e-3)
v = v + 1e-3 * a
print("energies after a step:", supple.kinetic_energy(model, q, v)[:3], "...")

supple.set_threads(1)  # batches on one core from here on
