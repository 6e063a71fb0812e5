"""The worked examples of the documents, step by step in fractions, beside the pages and the library."""

from __future__ import annotations

import re
import runpy
from fractions import Fraction as F
from pathlib import Path

import numpy as np

import supple
from pictures import needs_the_same_matplotlib

ROOT = Path(__file__).parents[2]
G = F(98, 10)


def rods(n: int) -> supple.Model:
    b = supple.ModelBuilder("rods", gravity=(0, -9.8, 0))
    for i in range(n):
        b.add_body(f"rod {i}", i - 1, position=(2 * (i > 0), 0, 0), mass=3, com=(1, 0, 0), inertia=(1, 1, 1))
    return b.build()


def of(*rows: tuple[object, ...]) -> np.ndarray:
    return np.array([[F(x) for x in row] for row in rows], dtype=object)  # type: ignore[arg-type]


def vector(*x: object) -> np.ndarray:
    return np.array([F(v) for v in x], dtype=object)  # type: ignore[arg-type]


INERTIA = of((4, 0, 3), (0, 3, 0), (3, 0, 3))
X = of((1, 0, 0), (0, 1, 0), (2, 0, 1))  #: motions at a rod's left end, seen at its right end
MOBILITY = of((1, 0, -1), (0, F(1, 3), 0), (-1, 0, F(4, 3)))
HINGE = vector(1, 0, 0)


def test_articulated_bodies():
    p = INERTIA @ vector(0, 0, G)
    U, D, u = INERTIA @ HINGE, HINGE @ INERTIA @ HINGE, -HINGE @ p
    felt, held = INERTIA - np.outer(U, U) / D, p + U * u / D
    assert (felt == of((0, 0, 0), (0, 3, 0), (0, 0, F(3, 4)))).all() and (held == vector(0, 0, F(735, 100))).all()
    whole, force = INERTIA + X.T @ felt @ X, p + X.T @ held
    assert (whole == of((7, 0, F(9, 2)), (0, 6, 0), (F(9, 2), 0, F(15, 4)))).all()
    assert (force == vector(F(441, 10), 0, F(3675, 100))).all()
    first = -force[0] / whole[0, 0]
    second = (u - U @ (X @ (HINGE * first))) / D
    assert (first, second) == (F(-63, 10), F(84, 10))
    for method in ("aba", "crba", "virtual-work", "dca", "dense"):
        a = supple.forward_dynamics(rods(2), [0, 0], [0, 0], method=method)  # type: ignore[arg-type]
        np.testing.assert_allclose(a, [float(first), float(second)], rtol=1e-12)


def test_virtual_work():
    assert (of((1, 0, 0), (0, 1, 0), (0, 0, 1)) == INERTIA @ MOBILITY).all()
    across = MOBILITY + X @ MOBILITY @ X.T
    assert (across == np.diag(vector(2, F(2, 3), F(8, 3)))).all()
    W = np.diag(vector(0, F(3, 2), F(3, 8)))  # its inverse, the hinge eliminated
    left = MOBILITY - MOBILITY @ X.T @ W @ X @ MOBILITY
    assert (left == of((F(5, 8), 0, F(-3, 4)), (0, F(1, 6), 0), (F(-3, 4), 0, F(7, 6)))).all()
    whole = of((7, 0, F(9, 2)), (0, 6, 0), (F(9, 2), 0, F(15, 4)))
    assert (left @ whole == of((1, 0, 0), (0, 1, 0), (0, 0, 1))).all()
    rigid = whole @ vector(0, 0, G)
    carried = rigid - whole @ HINGE * rigid[0] / whole[0, 0]
    assert (rigid == vector(F(441, 10), 0, F(3675, 100))).all() and (carried == vector(0, 0, F(84, 10))).all()
    a = X @ MOBILITY @ carried
    assert (a == vector(F(-84, 10), 0, F(-56, 10))).all() and (W @ a == vector(0, 0, F(-21, 10))).all()
    found = supple.virtual_work(rods(2), [0, 0], [0, 0])
    np.testing.assert_allclose(found.wrenches[:, 4], [8.4, -2.1], rtol=1e-12)


def test_divide_and_conquer():
    top, bottom = of((1, -1), (-1, F(4, 3))), of((1, 1), (1, F(4, 3)))
    across = of((1, -1), (1, F(-2, 3)))  # Phi_21
    stages = []
    for _ in range(2):
        M = bottom + top
        assert M[0, 1] == 0
        W = np.diag(vector(0, 1 / M[1, 1]))
        stages.append((across, W))
        top, bottom, across = (
            top - across.T @ W @ across,
            bottom - across @ W @ across.T,
            across @ W @ across,
        )
        if len(stages) == 1:
            assert (top == of((F(5, 8), F(-3, 4)), (F(-3, 4), F(7, 6)))).all()
            assert (bottom == of((F(5, 8), F(3, 4)), (F(3, 4), F(7, 6)))).all()
            assert (across == of((F(-3, 8), F(1, 4)), (F(-1, 4), F(1, 6)))).all()
    assert (top == of((F(67, 112), F(-41, 56)), (F(-41, 56), F(97, 84)))).all()
    first = G / top[1, 1]

    def at_joint(level: int, f1: F, f2: F) -> F:
        phi, W = stages[level]
        return (W @ (phi @ vector(0, f1) - phi.T @ vector(0, f2)))[1]

    third = at_joint(1, first, F(0))
    forces = [first, at_joint(0, first, -third), third, at_joint(0, third, F(0))]
    rest = np.zeros(4)
    carried = supple.joint_wrenches(rods(4), rest, rest, frame="world", method="dca")
    np.testing.assert_allclose(carried[:, 4], [float(f) for f in forces], rtol=1e-9)
    page = (ROOT / "docs/algorithms/divide-and-conquer.md").read_text()
    assert all(f"{float(f):.3f}" in page for f in forces)
    a = supple.forward_dynamics(rods(4), rest, rest, method="dca")
    assert np.isclose(a[0], float(top[0, 1] * first)) and f"{a[0]:.3f}" in page


@needs_the_same_matplotlib
def test_the_figures_are_those_of_their_script(tmp_path: Path):
    from matplotlib.image import imread

    drawn = runpy.run_path(str(ROOT / "docs/draw/by_hand.py"))
    drawn["main"](tmp_path)
    for name in drawn["FIGURES"]:
        kept, new = imread(ROOT / f"docs/pictures/{name}.png"), imread(tmp_path / f"{name}.png")
        assert kept.shape == new.shape and np.abs(kept - new).mean() < 0.01, (
            f"{name} is stale: run docs/draw/by_hand.py"
        )
    source = (ROOT / "docs/draw/by_hand.py").read_text()
    for page, numbers in (
        ("articulated-body", ("7.35", "44.1", "6.3", "8.4", "12.6")),
        ("virtual-work", ("36.75", "2.1")),
    ):
        text = (ROOT / f"docs/algorithms/{page}.md").read_text()
        assert all(re.search(rf"\b{number}\b", source) and number in text for number in numbers)
