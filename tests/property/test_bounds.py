"""Every kernel once with bounds checked, in a process of its own with a fresh cache.

Indices are not checked in normal runs; here a wrong one is an IndexError. The random forest has every joint type.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import numpy as np
import supple
from oracle import MOVING, random_model
from supple.exact.unit_vectors import UNIT_VECTORS

rng = np.random.default_rng(7)
model = random_model(rng, 40, MOVING, world=0.2)
assert len(set(model.joint_type)) == len(MOVING)
q = np.array([model.random(rng) for _ in range(5)])
v, x = rng.standard_normal((2, 5, model.nv))
w = rng.standard_normal((5, model.n_bodies, 6))
for method in ("aba", "crba", "virtual-work", "dense"):
    many = supple.forward_dynamics(model, q, v, x, w, method=method)
    one = supple.forward_dynamics(model, q[3], v[3], x[3], w[3], method=method)
    np.testing.assert_allclose(many[3], one, rtol=1e-8, atol=1e-8)
for hubs in ("absorb", "split"):
    np.testing.assert_allclose(
        supple.virtual_work(model, q[3], v[3], x[3], w[3], hubs).accelerations, one, rtol=1e-8, atol=1e-8
    )
np.testing.assert_allclose(UNIT_VECTORS(model, q[3], v[3], x[3], w[3]), one, rtol=1e-8, atol=1e-8)
supple.joint_wrenches(model, q[0], v[0], x[0], w[0], method="aba")
H = supple.mass_matrix(model, q[0])
for form in ("ltdl", "ltl"):
    factor = supple.factorize(supple.mass_matrix(model, q[0], sparse=True), form=form)
    np.testing.assert_allclose(factor.solve(H @ v[0]), v[0], rtol=1e-7, atol=1e-7)
    factor.refactorize(H)
    factor.mul_L(factor.solve_L(v[0])), factor.mul_Lt(factor.solve_Lt(v[0]))
supple.poses(model, q), supple.poses(model, q[0])
for frame in ("world", "body"):
    supple.velocities(model, q[0], v[0], frame), supple.accelerations(model, q[0], v[0], x[0], frame)
    supple.jacobian(model, q, 20, frame=frame)
supple.kinetic_energy(model, q[0], v[0])
print("bounds kept")
"""


def test_no_index_is_out_of_bounds(tmp_path):
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "SUPPLE_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "bounds kept" in done.stdout
    assert "compiling" in done.stderr  # the cache was fresh, so the checks were really compiled in
