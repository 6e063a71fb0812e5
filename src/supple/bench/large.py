"""Large bodies: time and memory a joint of forward dynamics, and a mass matrix without its zeros."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import supple
from supple.bench.measure import agree, minima
from supple.bench.rows import Row

NS_PER_JOINT, BYTES_PER_BODY = 150.0, 1000.0  #: at most
SIZES, LARGEST = (1_000, 10_000, 50_000), 1_000_000
LEVELS = 15  #: of the balanced binary tree: 32,767 joints

SHAPES: dict[str, Callable[[int], supple.Model]] = {
    "chain": lambda n: supple.trees.chain(n),
    "tree": lambda n: supple.trees.branching(n, 2),
}


def aba(quick: bool) -> list[Row]:
    """Forward dynamics of chains and binary trees; inverse dynamics has to give the forces back first."""
    rows = []
    sizes = SIZES if quick else (*SIZES, LARGEST)
    for n in sizes:
        for shape, make in SHAPES.items():
            model = make(n)
            seconds = _seconds_of_aba(model, max(20, min(200, 2_000_000 // n)))
            rows.append(Row(f"{shape} of {n:,} joints", 1e9 * seconds / n, "ns/joint", floor=NS_PER_JOINT))
            scratch = sum(x.nbytes for x in model._work["aba"].scratch) / n
    rows.append(Row(f"scratch, {shape} of {n:,}", scratch, "B/body", floor=BYTES_PER_BODY))
    return rows


def _seconds_of_aba(model: supple.Model, rounds: int) -> float:
    rng = np.random.default_rng(0)
    q = model.random(rng)
    v, a = rng.standard_normal((2, model.nv))
    tau = supple.inverse_dynamics(model, q, v, a)
    found = supple.forward_dynamics(model, q, v, tau)
    agree("the force of accelerations and of those found", supple.inverse_dynamics(model, q, v, found), tau)
    return minima({"aba": lambda: supple.forward_dynamics(model, q, v, tau)}, rounds)["aba"]


def factors(quick: bool) -> list[Row]:
    """The mass matrix of a balanced binary tree, its factors, and a solution with them."""
    model = supple.trees.balanced_binary(LEVELS)
    q, b = model.random(0), np.random.default_rng(0).standard_normal(model.nv)
    H = supple.mass_matrix(model, q, sparse=True)
    factor = supple.factorize(H)
    agree("b and H times the solution", H @ factor.solve(b), b)
    best = minima(
        {
            "mass matrix": lambda: supple.mass_matrix(model, q, sparse=True),
            "factorize": lambda: supple.factorize(H),
            "solve": lambda: factor.solve(b),
        },
        5 if quick else 40,
    )
    rows = [Row(f"{name}, {model.nv:,} joints", seconds, "s") for name, seconds in best.items()]
    stored, n2 = float(H.pattern.nnz), float(model.nv) ** 2
    return [*rows, Row("numbers stored", stored, "", n2, "n^2")]
