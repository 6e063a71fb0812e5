"""No kernel reads or writes beside its arrays. Compiled code does not look, so others do.

The cores of all algorithms, and all of quasi-statics and adaptive dynamics, run as the Python they are written in, on
arrays that refuse every index below zero or beyond the end (cores fail where a number is read that nobody wrote, too).
What is around cores, and the kernels that are not made of one, run compiled with bounds checked, in a process with a
fresh cache; little is optimised there, for that takes the compiler most of its time. The random forest has every joint
type.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from adaptive_runs import adaptive_runs
from drawn import near

IN_PYTHON = """
import gc
import numpy as np
from checked import hand
from oracle import MOVING, random_model
from supple.commands.compile import import_kernels
from supple.exact import dca_memory
from supple.exact.calls import Algorithm
from supple.model import trees
from supple.reproduce import counting, counting_dca

for bad in (-1, 3, (0, 2), (0, -1)):
    try:
        hand(np.zeros((3, 2)))[bad]
    except IndexError:
        continue
    raise AssertionError("indices are not checked")

import_kernels()  # imports every module of kernels
algorithms = {x.name: x for x in gc.get_objects() if isinstance(x, Algorithm)}
rng = np.random.default_rng(10)
model = random_model(rng, 18, MOVING, world=0.2)
assert len(set(model.joint_type)) == len(MOVING)
bush = random_model(rng, 12, ("revolute", "ball"), chain=0.0, world=0.0)
for m in (model, bush, trees.chain(10)):
    q, (v, x) = m.random(rng), rng.standard_normal((2, m.nv))
    w = rng.standard_normal((m.n_bodies, 6))
    found = {name: counting.run(a, m, q, v, x, w)[1] for name, a in algorithms.items()}
    found["dca"] = counting_dca.run(m, q, v, x, w)[1]
    for name in {"aba", "crba", "virtual work", "virtual-work by pairs", "unit-vector", "dca"} & set(found):
        np.testing.assert_allclose(found[name][: m.nv], found["aba"], rtol=1e-7, atol=1e-7, err_msg=name)
    dca_memory.MANY, many = 2, dca_memory.MANY  # in large bodies, stretches of revolute joints are runs
    found = counting_dca.run(m, q, v, x, w)[1], found["aba"]
    np.testing.assert_allclose(*found, rtol=1e-7, atol=1e-7)
    dca_memory.MANY = many
print(*algorithms, sep="\\n")
"""

ADAPTIVE = """
import sys
import numpy as np
from checked import arrays_at_addresses
arrays_at_addresses()
from adaptive_runs import adaptive_runs
np.savez(sys.argv[1], *adaptive_runs())
"""

COMPILED = """
import numpy as np
import supple
from oracle import MOVING, random_model
from supple.reproduce.counting import matrix_over

rng = np.random.default_rng(7)
model = random_model(rng, 40, MOVING, world=0.2)
q = np.array([model.random(rng) for _ in range(5)])
v = rng.standard_normal((5, model.nv))
np.testing.assert_allclose(supple.poses(model, q).position[3], supple.poses(model, q[3]).position, atol=1e-12)
H = matrix_over(model.expanded_parent)
for form in ("ltdl", "ltl"):
    factor = supple.factorize(H, model.expanded_parent, form=form)
    np.testing.assert_allclose(factor.solve(H @ v[0]), v[0], rtol=1e-7, atol=1e-7)
    factor.refactorize(H)
    factor.mul_L(factor.solve_L(v[0])), factor.mul_Lt(factor.solve_Lt(v[0]))
for frame in ("world", "body"):
    supple.jacobian(model, q, 20, frame=frame)
print("bounds kept")
"""


def run(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path]), **environment}
    done = subprocess.run([sys.executable, "-c", script, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def test_no_core_goes_beside_its_arrays():
    ran = run(IN_PYTHON, NUMBA_DISABLE_JIT="1").stdout.splitlines()
    assert {"aba", "crba", "rnea", "virtual work", "virtual-work by pairs", "unit-vector", "poses"} < set(ran)


def test_adaptive_methods_stay_within_their_arrays_and_compute_what_they_do_compiled(tmp_path: Path):
    file = tmp_path / "found.npz"
    run(ADAPTIVE, str(file), NUMBA_DISABLE_JIT="1")
    with np.load(file) as found:
        for plain, compiled in zip(found.values(), adaptive_runs(), strict=True):
            near(plain, compiled, 1e-9)


def test_no_compiled_index_is_out_of_bounds(tmp_path: Path):
    done = run(COMPILED, NUMBA_BOUNDSCHECK="1", NUMBA_OPT="1", SUPPLE_CACHE_DIR=str(tmp_path))
    assert "bounds kept" in done.stdout
    assert "compiling" in done.stderr  # the cache was fresh, so the checks were really compiled in
