"""What SF could not print for this machine: times of sparse and dense factorizations, and how accurate they
are.

Times are the smallest of several: what the machine can do, not what else it was doing. The dense rivals of
the sparse LTDL are our own LTDL told that the matrix is dense (lambda(i) = i - 1), which differs from the
sparse one in nothing but the parent array, and NumPy's Cholesky (LAPACK's blocked one). All run on one
thread; LAPACK learns that only when it is loaded, so its times are taken in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.costs import matrices as costs
from supple.errors import SuppleError
from supple.exact.crba import mass_matrix
from supple.exact.factor import factorize
from supple.exact.forward import Method, forward_dynamics
from supple.exact.treematrix import Pattern, TreeMatrix
from supple.model import parents, trees
from supple.model.model import Model
from supple.reproduce import sf_listings

Floats = NDArray[np.float64]


def shortest(function: Callable[[], object], budget: float = 0.15, least: int = 5) -> float:
    """Seconds a call takes at best: at least `least` samples, more while the budget in seconds lasts."""
    function()
    start = time.perf_counter()
    function()
    calls = max(1, round(100e-6 / max(time.perf_counter() - start, 1e-7)))  # a sample lasts at least 100 us
    best, samples, end = np.inf, 0, time.perf_counter() + budget
    while samples < least or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - start) / calls)
        samples += 1
    return best


@dataclass(frozen=True)
class Timing:
    """Seconds to factorize one mass matrix."""

    n: int
    sparse: float
    dense_ltdl: float
    predicted: float  #: dense over sparse, by D1 + 2 D2


def time_cholesky(sizes: Sequence[int], budget: float = 0.15) -> dict[int, float]:
    """Seconds that numpy.linalg.cholesky takes on one thread, by n."""
    libraries = ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB_MAXIMUM")
    environment = {**os.environ, **{f"{name}_NUM_THREADS": "1" for name in libraries}}
    command = [sys.executable, "-m", "supple.reproduce.sf_measure", str(budget), *map(str, sizes)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SuppleError(f"timing LAPACK failed: {done.stderr.strip().splitlines()[-1:]}")
    return dict(zip(sizes, json.loads(done.stdout)))


def main(budget: float, sizes: Sequence[int]) -> None:
    """Print the times of time_cholesky."""
    out = []
    for n in sizes:
        A = np.random.default_rng(n).standard_normal((n, n))
        out.append(shortest(partial(np.linalg.cholesky, A @ A.T + n * np.eye(n)), budget))
    print(json.dumps(out))


def time_factorization(model: Model, budget: float = 0.15) -> Timing:
    H = mass_matrix(model, model.random(0), sparse=True)
    full = H.dense()
    chain = Pattern(parents.chain(model.nv))
    as_dense = TreeMatrix(chain, chain.pack(full))
    factor, dense_factor = factorize(H), factorize(as_dense)
    lam, line = model.expanded_parent, chain.parent
    cost = [costs.D1(x) + 2 * costs.D2(x) for x in (line, lam)]
    return Timing(
        model.nv,
        shortest(lambda: factor.refactorize(H.values), budget),
        shortest(lambda: dense_factor.refactorize(as_dense.values), budget),
        cost[0] / cost[1],
    )


#: Shapes of SF Table 2 as models, and sizes close to powers of two.
SHAPES: dict[str, tuple[Callable[[int], Model], tuple[int, ...]]] = {
    "unbranched": (trees.chain, (15, 31, 63, 127, 255, 511, 1023)),
    "short side branches": (trees.side_branches, (8, 16, 32, 64, 128, 256, 512)),
    "balanced tree": (trees.balanced_binary, (4, 5, 6, 7, 8, 9, 10)),
    "spanning grid": (trees.spanning_grid, (4, 6, 8, 11, 16, 23, 32)),
}


def time_dynamics(model: Model, budget: float = 0.15) -> dict[str, float]:
    """Seconds for forward dynamics by the mass matrix and by the articulated-body algorithm."""
    rng = np.random.default_rng(0)
    q, v, tau = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    methods: tuple[Method, ...] = ("crba", "aba")
    return {m: shortest(partial(forward_dynamics, model, q, v, tau, method=m), budget) for m in methods}


# --- accuracy -----------------------------------------------------------------------------------------------


#: The measures of error, by name: what they are.
MEASURES = {
    "residual": "|product - H| / |H|, Frobenius norms",
    "scaled residual": "the same after scaling H to a unit diagonal: no heavy joint drowns the others",
    "solution": "|x - exact| / |exact| of H x = b, b random",
}
#: Ours, and the paper's own listing, which divides where ours multiplies by reciprocals; their rival.
METHODS = {"ltdl": "our LTDL", "ltl": "our LTL", "listed": "LTDL as listed"}
RIVAL = "cholesky"


@dataclass(frozen=True)
class Accuracy:
    """Relative errors for one matrix: errors[measure][method]."""

    density: float
    errors: dict[str, dict[str, float]]


def accuracy(H: TreeMatrix, rng: np.random.Generator) -> Accuracy:
    """Products and differences are formed in extended precision: only the errors of the methods are seen."""
    dense = H.dense()
    wide = dense.astype(np.longdouble)
    b = rng.standard_normal(len(dense))
    G: NDArray[Any] = np.linalg.cholesky(dense)
    products: dict[str, NDArray[Any]] = {RIVAL: _wide(G) @ _wide(G.T)}
    found: dict[str, Floats] = {RIVAL: np.linalg.solve(G.T, np.linalg.solve(G, b))}
    forms: tuple[Literal["ltdl", "ltl"], ...] = ("ltdl", "ltl")
    for form in forms:
        factor = factorize(H, form=form)
        L = _wide(factor.L)
        products[form], found[form] = (L.T * factor.D) @ L, factor.solve(b)
    listed, found["listed"] = dense.copy(), b.copy()
    sf_listings.ltdl(listed, H.parent.tolist())
    sf_listings.solve_ltdl(listed, H.parent.tolist(), found["listed"])
    L = np.tril(_wide(listed), -1) * (dense != 0) + np.eye(len(dense))
    products["listed"] = (L.T * np.diag(listed)) @ L
    exact = _wide(found["ltdl"])
    for _ in range(6):  # iterative refinement: each round gains the digits that a solution has
        exact = exact + factor.solve((b - wide @ exact).astype(np.float64))
    scale = 1 / np.sqrt(np.diag(wide))
    scale = scale[:, None] * scale
    errors = {
        "residual": {m: _relative(x, wide) for m, x in products.items()},
        "scaled residual": {m: _relative(x * scale, wide * scale) for m, x in products.items()},
        "solution": {m: _relative(x, exact) for m, x in found.items()},
    }
    return Accuracy(H.density, errors)


def _wide(x: NDArray[Any]) -> NDArray[Any]:
    return x.astype(np.longdouble)


def _relative(x: NDArray[Any], exact: NDArray[Any]) -> float:
    return float(np.sqrt(np.sum((x - exact) ** 2) / np.sum(exact**2)))


def sample(i: int, n: int = 48) -> TreeMatrix:
    """The mass matrix of the i-th random tree in a random position: bushes to chains, every 4th a chain."""
    rng = np.random.default_rng(i)
    along = rng.uniform() ** 0.5 if i % 4 else 1.0
    parent = parents.random(n, rng, along, world=0.1 * rng.uniform() if along < 0.5 else 0.0)
    model = trees.from_parents(parent, seed=rng)
    return mass_matrix(model, model.random(rng), sparse=True)


class Bin(NamedTuple):
    """Samples of like density: how many, the rival's median error, the quartiles of ours over the rival's."""

    low: float
    high: float
    size: int
    rival: float
    quartiles: tuple[float, float, float]


EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.999, 1.0)  #: the last bin is the dense matrices


def in_bins(samples: Sequence[Accuracy], measure: str, method: str, edges: Sequence[float] = EDGES) -> list[Bin]:
    density = np.array([s.density for s in samples])
    ours = np.array([s.errors[measure][method] for s in samples])
    rival = np.array([s.errors[measure][RIVAL] for s in samples])
    out = []
    for low, high in pairwise(edges):
        here = (density > low) & (density <= high)
        if here.any():
            a, b, c = np.quantile(ours[here] / rival[here], (0.25, 0.5, 0.75)).tolist()
            out.append(Bin(low, high, int(here.sum()), float(np.median(rival[here])), (a, b, c)))
    return out


if __name__ == "__main__":
    main(float(sys.argv[1]), [int(n) for n in sys.argv[2:]])
