"""How many operations each method executes (counting.py), in a process of its own: python -m ... star:12 chain:32."""

from __future__ import annotations

import sys

import numpy as np

from supple.costs.matrices import Cost
from supple.reproduce import counting_dca
from supple.reproduce.counting import answer, require, run, system
from supple.reproduce.vw_methods import DCA, METHODS, OF_HUBS, SYSTEMS


def of_system(name: str) -> dict[str, Cost]:
    """The cost of every method on a system; where no link has many joints, those for hubs are left out."""
    model, out, found = system(name, SYSTEMS), {}, {}
    rng = np.random.default_rng(0)
    q, v, tau = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    for what, method in METHODS.items():
        if "star" in name or what not in OF_HUBS:
            out[what], found[what] = run(method.algorithm, method.of(model), q, v, tau)
    out[DCA], found[DCA] = counting_dca.run(model, q, v, tau)
    for what, accelerations in found.items():
        require(np.allclose(accelerations[: model.nv], found["ABA"], rtol=1e-6), f"{what} finds the accelerations")
    return out


if __name__ == "__main__":
    answer(sys.argv[1:], of_system)
