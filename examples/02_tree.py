"""Trees of up to 100,000 joints: forward dynamics takes a fraction of a microsecond a joint at any size."""

import time

import numpy as np

import supple

rng = np.random.default_rng(0)
for n in (1_000, 10_000, 100_000):
    tree = supple.trees.branching(n, 1.5)
    q = tree.random(rng)
    v, wanted = rng.standard_normal((2, tree.nv))
    tau = supple.inverse_dynamics(tree, q, v, wanted)

    seconds = np.inf
    for _ in range(5):
        start = time.perf_counter()
        a = supple.forward_dynamics(tree, q, v, tau)
        seconds = min(seconds, time.perf_counter() - start)

    assert np.allclose(a, wanted, rtol=1e-6, atol=1e-6)
    print(f"{n:>7,} joints: {1e3 * seconds:7.2f} ms, {1e9 * seconds / n:4.0f} ns a joint")
