"""A chain of 10,000 links pulled at one of them: how few joints matter, and how sure we are of it."""

import numpy as np

import supple

chain = supple.trees.chain(10_000, gravity=(0.0, 0.0, 0.0))
q = chain.random(0)
pull = dict(force=(0.0, 0.0, 1.0))

for error in (2.0**-3, 2.0**-11, 2.0**-19):
    qs = supple.QuasiStatics(chain, q, error=error)
    qs.apply(5_000, **pull)
    found = qs.solve()
    print(f"error {error:.1e}: {len(found.joints):3d} joints computed, certified error {found.error:.1e}")

exact = supple.forward_dynamics(chain, q, np.zeros(chain.nv), wrenches=supple.wrench(chain, 5_000, q=q, **pull))
worst = np.abs(found.dense() - exact).max() / np.abs(exact).max()
print(f"compared with all joints computed, the last is off by {worst:.1e} of the largest acceleration")
assert worst <= found.error

for _ in range(100):
    qs.step(1e-2)
_, (where,) = qs.poses([5_000])
print(f"after 100 steps the link has moved by {np.linalg.norm(where - supple.poses(chain, q).position[5_000]):.3f} m")
