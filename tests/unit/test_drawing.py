"""Pictures of models, matrices and results: that they are drawn, and that what is in them is right."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

import supple
from pictures import CURVE, lacking
from supple import scenes
from supple.drawing import ORANGE, new_figure, saved
from supple.drawing.layout import TOO_MANY, lanes
from supple.errors import StateError, SuppleError
from supple.model import parents, trees

SHAPES = {
    "chain": parents.chain(30),
    "binary": parents.balanced_binary(6),
    "comb": parents.side_branches(20, 3, 2),
    "random": parents.random(80, 3, along=0.3),
    "forest": parents.random(60, 5, world=0.2),
}


def segments(parent: np.ndarray) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """The lines across (lane, from, to) and down (depth, from, to) of a drawing, those to the same child together."""
    depth, lane = lanes(parent)
    across = [(lane[i], depth[i] - 1, depth[i]) for i in range(len(parent))]
    down = [(depth[i] - 1, lane[p], lane[i]) for i, p in enumerate(parent) if p >= 0 and lane[p] != lane[i]]
    return across, down


@pytest.mark.parametrize("shape", SHAPES)
def test_no_two_bodies_are_drawn_in_one_place(shape: str):
    parent = SHAPES[shape]
    depth, lane = lanes(parent)
    assert len(set(zip(depth.tolist(), lane.tolist()))) == len(parent)
    assert all(depth[i] == (1 if p < 0 else depth[p] + 1) for i, p in enumerate(parent))
    across, _ = segments(parent)
    assert len(set(across)) == len(across)


@pytest.mark.parametrize("shape", ["binary", "random", "forest"])
def test_lines_cross_nowhere_where_there_is_room(shape: str):
    across, down = segments(SHAPES[shape])
    for x, low, high in down:
        inside = [(y, a, b) for y, a, b in across if low < y < high and a < x < b]
        assert not inside
    for (x, a, b), (y, c, d) in combinations(down, 2):
        assert x != y or a == c or max(a, c) >= min(b, d)  # from one parent, or apart


def test_short_branches_along_a_spine_take_few_lanes():
    parent = parents.side_branches(1000, 4, 2)
    depth, lane = lanes(parent)
    assert lane.max() <= TOO_MANY * np.bincount(depth).max()
    assert len(set(zip(depth.tolist(), lane.tolist()))) == len(parent)


def test_a_few_bodies_are_named_and_many_are_a_shape(tmp_path):
    few = trees.humanoid()
    figure = few.plot(tmp_path / "few.svg", mark=[3])
    said = {text.get_text() for text in figure.axes[0].texts}
    assert set(few.body_names) <= said and f"{few.joint_names[3]}, revolute" in said
    assert "<svg" in (tmp_path / "few.svg").read_text()
    many = trees.side_branches(300)
    figure = many.plot(tmp_path / "many.png", mark=[5, 6])
    assert not figure.axes[0].texts and len(figure.axes) == 2
    lines = figure.axes[0].collections[0]
    assert len(lines.get_segments()) == many.n_bodies
    assert len({tuple(c) for c in lines.get_colors()}) == 2
    assert (tmp_path / "many.png").read_bytes().startswith(b"\x89PNG")


def test_matrices_and_factors_show_where_they_are_not_zero():
    model = trees.humanoid()
    H = supple.mass_matrix(model, model.random(0), sparse=True)
    for thing, dense in ((H, H.dense()), (supple.factorize(H), np.tril(H.dense()))):
        shown = thing.plot().axes[0].images[0].get_array()
        assert np.array_equal(~np.ma.getmaskarray(np.ma.masked_invalid(shown)), dense != 0)
    large = supple.mass_matrix(trees.side_branches(500), np.zeros(1000), sparse=True)
    assert large.plot().axes[0].images[0].get_array().shape == (600, 600)
    with pytest.raises(StateError, match="take one of them"):
        supple.mass_matrix(model, np.stack([model.neutral()] * 2), sparse=True).plot()


def test_quasi_statics_shows_its_reach_and_its_accelerations(tmp_path):
    qs = scenes.millipede(4, 3, 12).quasi_statics()
    found = qs.solve()
    reach = qs.plot(tmp_path / "reach.png").axes[0].lines[0]
    assert reach.get_ydata()[-1] == len(found.joints) and (np.diff(reach.get_ydata()) >= 0).all()
    order, place = found.plot().axes
    assert np.allclose(order.lines[0].get_ydata(), np.abs(found.accelerations), equal_nan=True)
    assert place.lines[0].get_xdata().tolist() == found.dofs.tolist()
    assert (tmp_path / "reach.png").exists()


def test_adaptive_dynamics_shows_its_active_joints():
    ad = scenes.pendulum(120).adaptive_dynamics(10)
    ad.run(0.01, dt=1e-3)
    colours = ad.plot().axes[0].collections[0].get_colors()
    assert len(ad.active_joints) == 10 and len(np.unique(colours, axis=0)) == 2


def test_a_gait_shows_itself():
    found = supple.gait(scenes.compass())
    left, right = found.plot().axes
    assert len(left.get_legend().get_texts()) == 2
    assert right.lines[1].get_xdata().tolist() == found.eigenvalues.real.tolist()


def test_a_curve_without_numbers_is_seen_to_lack(tmp_path):
    """Of what other tests look at: a legend alone does not make a curve."""
    for name, y in (("full.png", [1.0, 3.0, 2.0]), ("empty.png", [np.nan] * 3)):
        figure = new_figure(5, 3)
        axes = figure.subplots()
        axes.plot([0, 1, 2], y, marker="o", color=ORANGE, label="a curve")
        axes.legend()
        saved(figure, tmp_path / name)
    lacks = lacking(tmp_path, {"full.png": [ORANGE], "empty.png": [ORANGE]})
    assert lacks.keys() == {("empty.png", ORANGE)} and 0 < lacks["empty.png", ORANGE] < CURVE / 2


def test_missing_matplotlib_is_said_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (lambda: new_figure(1, 1), trees.chain(3).plot):
        with pytest.raises(SuppleError, match=r"pip install 'supple\[figures\]'"):
            draw()


def test_a_backend_that_does_not_exist_is_said_in_a_sentence(tmp_path):
    """Which matplotlib reads when it is imported, though nothing here needs one; others are not even loaded."""
    backend = "\x1b[31m"
    draws = """
import supple
from supple.commands.run import _drawable
from supple.drawing import new_figure
from pathlib import Path
for draw in (lambda: new_figure(1, 1), supple.trees.chain(3).plot, supple.trees.chain(3000).plot,
             lambda: _drawable(Path("x.png"))):
    try:
        draw()
        print("drawn")
    except supple.SuppleError as e:
        print(e)
"""
    env = os.environ | {"MPLBACKEND": backend, "PYTHONPATH": os.pathsep.join(sys.path), "MPLCONFIGDIR": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", draws], env=env, capture_output=True, text=True, check=True).stdout
    way = f"the environment variable MPLBACKEND is {backend!r}, which it does not know: unset it"
    assert said.splitlines() == [f"figures need matplotlib, which does not start: {way}"] * 4
    env["MPLBACKEND"] = "module://nobody_has_this"
    done = subprocess.run([sys.executable, "-c", draws], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[:3] == ["drawn"] * 3
