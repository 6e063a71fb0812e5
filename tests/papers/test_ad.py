"""AD [Redon, Galoppo and Lin 2005] reproduced: its worked example, Figure 6, and the run as a whole on small bodies."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest
from rich.console import Console

import supple
from pictures import lacking
from supple import scenes
from supple.drawing import new_figure
from supple.reproduce import ad, ad_crowd, ad_figures, ad_promise, ad_theirs
from supple.reproduce import ad_measure as measure
from supple.reproduce.report import Report


def test_run_writes_tables_and_figures(tmp_path, monkeypatch) -> None:
    for name, value in (("LINKS", 60), ("SPRING_LINKS", 20), ("PEOPLE", (2, 2)), ("LOOKS", 12), ("REST", 4.0),
                        ("DURATION", 0.12), ("EARLIER", 0.06), ("COUNTED", 6)):  # fmt: skip
        monkeypatch.setattr(ad, name, value)
    monkeypatch.setattr(ad_crowd, "SECONDS", 0.01)
    screen = io.StringIO()
    ad.run(tmp_path, quick=True, console=Console(file=screen, width=110))
    a, b, c, d, *_ = ad_figures.SHADES
    bodies = [ad_figures.RIGID, ad_figures.ACTIVE]
    shown = {
        "ad-figure-1.png": bodies[1:],
        "ad-figure-5.png": bodies,
        "ad-figure-6.png": bodies,
        "ad-table-1.png": [a, b, c],
        "ad-errors.png": [a, b, c, d],
        "ad-energy.png": [a, b, c],
        "ad-promise.png": list(ad_promise.COLOURS),
    }
    drawn = {p.name for p in tmp_path.glob("*.png")}
    assert drawn == shown.keys() and not lacking(tmp_path, shown)
    text = (tmp_path / "ad.md").read_text(encoding="utf-8")
    for wanted in (*drawn, "Table 1", "theirs, over their DCA", "removed by stopping", "carried, near", "every 400"):
        assert wanted in text
    assert "in f/m | 0.25 | 0.2500 | ✓" in text
    assert "stopping joints never adds energy | yes | yes | ✓" in text
    assert "What the paper concludes" in screen.getvalue()
    assert "operations of DCA, as a multiple of those of ABA (6 hinges)" in text
    assert re.search(r"crowd with \d+% .*not counted: the paper prints no number", text)


def test_what_the_quick_form_shows_moves(tmp_path, monkeypatch) -> None:
    """Figure 5's pendulum falls, and Figure 1's people are pushed away, as far as in the full form."""
    moved = {}

    def strips(scene, runs, looks, remarks):
        moved.update({c: float(measure.distance(scene, r.q[-1], r.q[0])) for c, r in runs.items()})
        return new_figure(1, 1)

    monkeypatch.setattr(ad_figures, "strips", strips)
    for name, value in (("LINKS", 12), ("LOOKS", 4), ("EARLIER", 0.001)):
        monkeypatch.setattr(ad, name, value)
    with Report("ad", "AD", tmp_path, True, Console(file=io.StringIO())) as report:
        ad.pendulum(report, quick=True)
    assert len(moved) == 4 and min(moved.values()) > 0.5  # metres, of 3


def test_missing_matplotlib_is_said_first(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(supple.SuppleError, match=r"pip install 'supple\[figures\]'"):
        ad.run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("force, mass", [(1.0, 1.0), (-3.0, 0.7)])
def test_figure_4(force: float, mass: float) -> None:
    """Exactly, f/m on the second link alone; held together, f/(4m) on the four links after J1."""
    found = measure.figure_4(force, mass)
    alone = force / mass
    np.testing.assert_allclose(found["exactly"], [0, alone, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found["J1 kept"], [0, *4 * [alone]], atol=1e-12)
    np.testing.assert_allclose(found["recomputed"], [0, *4 * [alone / 4]], atol=1e-12)


def off_at_rest(link: int | None) -> tuple[float, float]:
    """How far five fixed joints and five chosen ones are from where all come to rest."""
    scene = scenes.spring_pendulum(link=link)
    runs = ad.figure_6(scene, 15.0)
    assert len(runs["c"].joints[-1]) == len(runs["d"].joints[-1]) == 5 < len(runs["b"].joints[-1]) == 50
    c, d = (float(measure.distance(scene, runs[x].q[-1], runs["b"].q[-1])) for x in "cd")
    return c, d


def test_figure_6_joints_chosen_are_better_than_joints_fixed_breadth_first() -> None:
    fixed, chosen = off_at_rest(None)
    assert 0 < chosen < 0.5 * fixed


def test_figure_6_also_where_the_spring_pulls_other_links() -> None:
    """Not all: 25 hangs on a joint that breadth-first has, and is better off with it. But most, and on average."""
    off = np.array([off_at_rest(link) for link in (4, 11, 18, 25, 39, 46)])
    assert (off[:, 1] <= off[:, 0]).sum() >= 5
    assert off[:, 1].mean() < 0.8 * off[:, 0].mean()


def test_figure_6_comes_to_rest_where_forces_are_in_balance() -> None:
    """All joints active: gravity and the spring leave no joint any acceleration."""
    scene = scenes.spring_pendulum(10)
    q = ad.figure_6(scene, 60.0)["b"].q[-1]
    still, first = (
        supple.mass_matrix(scene.model, x)
        @ supple.forward_dynamics(scene.model, x, np.zeros(10), None, scene.wrenches(x))
        for x in (q, scene.q0)
    )
    assert np.abs(still).max() < 1e-3 * np.abs(first).max()


def test_breadth_first_meets_joints_by_halves() -> None:
    order = measure.breadth_first(supple.trees.chain(16))
    assert sorted(order) == list(range(16)) and order[0] == 0
    assert order[1] == 8 and set(order[2:4]) == {4, 12}


def test_exact_steps_are_those_of_all_joints() -> None:
    scene = scenes.pendulum(30, planar=True, damping=0.0)
    ours = measure.run(scene.adaptive_dynamics(), 1e-4, 4, 50)
    exact = measure.exactly(scene.model, scene.q0, 1e-4, range(4), 50)
    np.testing.assert_allclose(ours.q, exact, atol=1e-11)
    assert np.abs(exact[-1] - exact[0]).max() > 1e-3
    np.testing.assert_allclose(ours.energy, ours.energy[0], atol=1e-3)


def test_more_joints_are_nearer_to_the_exact_motion() -> None:
    """Figure 5, a quarter of a second of it."""
    scene = scenes.pendulum(planar=True, damping=0.0)
    exact = measure.exactly(scene.model, scene.q0, 2e-4, range(1), 1250)[-1]
    off = [
        float(measure.distance(scene, measure.run(scene.adaptive_dynamics(count), 2e-4, 1, 1250).q[-1], exact))
        for count in (1, 20, 100)
    ]
    assert off[0] > 10 * off[1] > 100 * off[2]


def test_weights_of_the_crowd_are_inertias_over_squares_of_distances() -> None:
    """The integral of r^2 about a joint's origin is never less than the inertia about its axis, which is on the
    diagonal of the mass matrix, nor far more: people are not that thin."""
    scene = scenes.crowd(1, 1)
    model = scene.model
    x = supple.poses(model, scene.q0).position
    weights = ad_crowd.carried(scene) * ((x - np.array(ad_crowd.CAMERA)) ** 2).sum(axis=1)
    assert weights[0] == pytest.approx(model.total_mass)
    about = np.diag(supple.mass_matrix(model, scene.q0))[model.v_index[1:]]
    assert (about <= weights[1:] * (1 + 1e-9)).all() and (weights[1:] < 1e3 * about).all()


def test_the_paper_s_times_grow_with_joints_and_with_forces() -> None:
    """What was typed in: Table 1 is monotonous but for noise, and full steps are slower than all but one."""
    t = np.array([ad_theirs.TABLE_1[count] for count in ad_theirs.FORCES])
    assert t.shape == (6, 6) and (np.diff(t, axis=1) > 0).all() and (t[-1] > t[0]).all()
    assert len(ad_theirs.SHARES) == 6 and (np.diff(ad_theirs.SHARES) > 0).all()
