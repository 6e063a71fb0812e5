"""The passive walker of Stepien, Polanski and Wojciechowski 2012 (RR), section 8: a compass biped on a slope.

Oracle: a two-link model of point masses, with its own equations of motion and impact (tests/two_links.py), integrated
by SciPy. Reference numbers of the periodic gait (g = 9.81) were computed independently, to 12 digits; nine are
promised.
"""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import supple
from pictures import lacking
from supple.capture import plot as capture_plot
from supple.reproduce import rr, rr_figures
from supple.reproduce import rr_measure as measure
from supple.scenes import compass
from supple.scenes.compass import AXIS, SLOPE
from supple.walking.gaits import follow, on_gait, settled
from supple.walking.walkers import leg_angles, walk
from two_links import TwoLinks, two_link_state

G = 9.81
LINKS = TwoLinks()


# --- ours --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cycle():
    return supple.gait(compass())


def test_reference_numbers_to_nine_digits(cycle):
    theta, w = np.split(two_link_state(cycle.walker.model, cycle.walker.q, cycle.walker.v, "right"), 2)
    np.testing.assert_allclose(theta, [0.2186991452342, -0.3234991452342], rtol=0, atol=1e-10)
    np.testing.assert_allclose(w, [-1.0925221563191, -0.3770191899223], rtol=0, atol=1e-10)
    (q, v) = cycle.last.before
    theta, w = np.split(two_link_state(cycle.last.model, q, v, "right"), 2)
    relative = np.array([theta[0], theta[1] - theta[0], w[0], w[1] - w[0]])
    np.testing.assert_allclose(
        relative, [-0.3234991452342, 0.5421982904683, -1.4946381785016, -0.3117265586672], rtol=0, atol=1e-10
    )
    assert abs(cycle.period - 0.7343791047951) < 1e-10
    assert abs(cycle.step_length - 0.5355811990826) < 1e-10
    np.testing.assert_allclose(cycle.last.impact_kinetic, [2.8817081390948, 1.7809628233107], rtol=0, atol=1e-10)
    assert abs(cycle.energy_lost - 1.1007453157841) < 1e-10
    assert abs(cycle.energy_lost - 4 * G * cycle.step_length * np.sin(SLOPE)) < 1e-10
    wanted = [-0.200438950250 + 0.544173700417j, -0.200438950250 - 0.544173700417j, 0.131519332314]
    np.testing.assert_allclose(cycle.eigenvalues, wanted, rtol=0, atol=1e-9)
    assert cycle.stable and cycle.residual < 1e-12


def test_table_1_is_near_the_gait():
    """2e-4 with the g of 9.8 that its source must have used, 7e-4 with 9.81; a walk from it stays on its feet."""
    for g, near in ((9.8, 2.5e-4), (9.81, 8e-4)):
        q, v = supple.gait(compass(gravity=g)).last.before
        found = np.array([q[0], -q[1], v[0], -v[1]])
        assert np.abs(found - [-0.3236, 0.5424, -1.4939, -0.3117]).max() < near
    steps = walk(compass(), 40)
    assert all(s.landed for s in steps) and abs(steps[-1].duration - 0.7343791) < 1e-6


def test_steps_equal_the_two_link_model():
    walker = compass()
    y = two_link_state(walker.model, walker.q, walker.v, "right")
    for step in walk(walker, 4, trace=False):
        end, time, y = LINKS.step(y, walker.clearance, walker.least, latest=3.0)
        ours = two_link_state(step.model, *step.before, step.feet[0].split()[0])
        assert end == "touched" and abs(step.duration - time) < 1e-9
        np.testing.assert_allclose(ours, y, rtol=0, atol=1e-9)
        y = LINKS.after_impact(y)


def test_impact_equals_conservation_of_angular_momentum():
    """RR (23), corrected, at poses and rates of all kinds."""
    rng = np.random.default_rng(1)
    standing = compass()
    for _ in range(20):
        q, v = rng.uniform(-0.6, 0.6, 2), rng.standard_normal(2)
        before = two_link_state(standing.model, q, v, "right")
        hit = supple.impact(standing.model, q, v, body="left foot", axis=AXIS)
        after = LINKS.after_impact(before)
        np.testing.assert_allclose(two_link_state(hit.model, hit.q, hit.v, "left"), after, rtol=0, atol=1e-12)
        lost = LINKS.kinetic(before) - LINKS.kinetic(after)
        assert abs(hit.energy_lost - lost) < 1e-12 and hit.energy_lost >= 0


#: over one parameter: from the reference gait to the last value, where eigenvalues are compared
SWEEPS = {
    "heavy legs": dict(leg_mass=np.geomspace(1, 100, 6)),
    "heavy hip": dict(leg_mass=np.linspace(1, 0.5, 6), slope=np.full(6, 0.02)),
    "mass near the hip": dict(leg_center=np.linspace(0.5, 0.95, 5)),
    "mass in the feet": dict(leg_center=np.linspace(0.5, 0.0, 12), slope=np.full(12, 0.02)),
    "large and slow": dict(length=np.full(1, 40.0), gravity=np.full(1, 1.6)),
}


@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
def test_eigenvalues_are_exact_whatever_the_masses(sweep):
    """To 1e-8 promised, 1e-10 kept; the error that is stated covers the one measured."""
    walker = compass()
    for values in zip(*sweep.values()):
        near, pace = walker, walker.pace
        walker = compass(**dict(zip(sweep, map(float, values))))
        walker = on_gait(walker.at(near.q, near.v * pace / walker.pace))
    found = supple.gait(walker)
    y = two_link_state(walker.model, walker.q, walker.v, "right")
    wanted = TwoLinks.of(walker.parameters).eigenvalues(y, 0.03 * walker.pace)
    off = np.abs(found.eigenvalues[:, None] - wanted).min(axis=1).max()
    assert off < 1e-10 and found.eigenvalue_error < 1e-9
    assert off < found.eigenvalue_error + 2e-12, "the oracle's own error is about 1e-12"


@pytest.mark.parametrize("feet", [1e-3, 1e-5, 1e-6, 1e-9, 1e-13, 0.0])
def test_eigenvalues_of_light_feet(feet):
    """A fixed step of differences was 1e-5 off here: the return map bends within thousandths of a radian."""
    walker = compass(slope=0.009, hip_mass=1.0, leg_mass=feet, leg_center=0.0, gravity=1.0)
    found = supple.gait(walker.at([0.1913, 0.4006], [-0.1998, -0.0158]))
    y = two_link_state(walker.model, found.walker.q, found.walker.v, "right")
    wanted = TwoLinks.of(walker.parameters).eigenvalues(y, 0.05)
    assert np.abs(found.eigenvalues[:, None] - wanted).min(axis=1).max() < 1e-10
    steps = walk(found.walker, 4, trace=False, tolerance=1e-12)
    assert np.ptp([s.duration for s in steps]) < 1e-9, "on either leg"


def test_energy_is_constant_between_impacts(cycle):
    for step in walk(cycle.walker, 3):
        kinetic, potential = step.kinetic, step.potential
        total = kinetic + potential
        assert len(total) > 30 and np.abs(total - total[0]).max() < 1e-9


def test_phase_portrait_closes(cycle):
    """Figure 10: after two steps a leg is back where it began."""
    one, two = walk(cycle.walker, 2)
    first, last = leg_angles(one, ("left", "right"))[0], leg_angles(two, ("left", "right"))[-1]
    np.testing.assert_allclose(first, last, atol=1e-9)


def test_the_gait_doubles_its_period_on_steeper_slopes():
    """The eigenvalue of largest magnitude passes -1; beyond, walks settle to steps that alternate."""
    found = dict(follow(lambda slope: compass(slope=slope), np.linspace(SLOPE, 0.085, 8)))
    largest = [g.eigenvalues[0] for g in found.values()]
    assert abs(largest[0]) < 1 < abs(largest[-1]) and abs(largest[-1].imag) < 1e-9 and largest[-1].real < -1
    steep = list(found.values())[-1].walker
    durations = settled(steep.at(steep.q, 1.001 * steep.v), 150, 4)[:, 0]
    assert abs(durations[0] - durations[2]) < 1e-5 < 1e-3 < abs(durations[0] - durations[1])
    late = walk(steep.at(steep.q, 1.001 * steep.v), 150, trace=False)[-1].after  # on the first foot again
    limp = supple.gait(steep.at(*late), steps=2)
    assert limp.stable and abs(limp.period - durations[:2].sum()) < 1e-5


# --- the reproduction ------------------------------------------------------------------------------------------------


def test_run_writes_tables_and_figures(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(rr, "SLOPES", 5)
    monkeypatch.setattr(rr, "SIZES", (5, 10, 20, 40, 80, 160, 320, 640))
    screen = io.StringIO()
    rr.run(tmp_path, quick=True, console=Console(file=screen, width=110))
    drawn = {p.name for p in tmp_path.glob("*.png")}
    blue, red, green = rr_figures.BLUE, rr_figures.RED, rr_figures.GREEN
    shown = {
        "rr-figure-10.png": [blue, red],
        "rr-figure-11.png": [blue, red],
        "rr-strip.png": [blue, red],
        "rr-slopes.png": [blue, green],
        "rr-capture.png": capture_plot.COLOURS[:3],
        "rr-cost.png": [blue, green],
    }
    assert drawn == shown.keys() and not lacking(tmp_path, shown)
    text = (tmp_path / "rr.md").read_text(encoding="utf-8")
    for wanted in (*drawn, "0.7343791048", "0.5355811991", "1.1007453158", "-0.200438950 +0.544173700 i", "-0.3236"):
        assert wanted in text
    assert "4 of 4 hold." in text and "steady gait" in screen.getvalue()


def test_promises_are_kept_to_rounding():
    for seed in range(5):
        p = measure.promises(8, 100 + seed)
        assert max(p[:5]) < 1e-12 and p.motion < 1e-8
    model = measure.any_body(80, 3)
    assert set(model.joint_type.tolist()) == set(range(1, 10)), "every joint type is among them"


def test_cost_is_measured_by_size():
    c = measure.cost(measure.SHAPES["chain"], (3, 6), 0.0)
    assert c.sizes == (3, 6) and min(c.reroot + c.step + c.first) > 0
