"""The passive walker of Stepien, Polanski and Wojciechowski 2012 (RR), section 8: a compass biped on a slope.

Oracle: a two-link model of point masses, with its own equations of motion from Lagrange's function, its own impact from
angular momenta, integrated by SciPy. Reference numbers of the periodic gait (g = 9.81) were computed independently, to
12 digits; nine are promised.
"""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import solve_ivp

import supple
from supple.reproduce import rr
from supple.reproduce import rr_measure as measure
from supple.scenes import compass
from supple.scenes.compass import AXIS, SLOPE
from supple.simulating.gaits import follow, settled
from supple.simulating.walking import leg_angles, walk

MH, ML, L, D, G = 2.0, 1.0, 1.0, 0.5, 9.81


# --- the oracle: angles from the vertical, counter-clockwise, (stance, swing) --------------------------------------


def points(theta, w):
    """Positions and velocities of the hip and the two leg masses; the stance foot is the origin."""
    e, de = np.stack([-np.sin(theta), np.cos(theta)]), np.stack([-np.cos(theta), -np.sin(theta)]) * w
    hip, v_hip = L * e[:, 0], L * de[:, 0]
    places = [(MH, hip, v_hip), (ML, D * e[:, 0], D * de[:, 0])]
    return places + [(ML, hip - (L - D) * e[:, 1], v_hip - (L - D) * de[:, 1])]


def inertia(theta):
    c = (L - D) * L * np.cos(theta[0] - theta[1])
    return np.array([[MH * L**2 + ML * D**2 + ML * L**2, -ML * c], [-ML * c, ML * (L - D) ** 2]])


def acceleration(theta, w):
    s = ML * L * (L - D) * np.sin(theta[0] - theta[1])
    bias = np.array([-s * w[1] ** 2, s * w[0] ** 2])
    pull = G * np.array([(MH * L + ML * D + ML * L) * np.sin(theta[0]), -ML * (L - D) * np.sin(theta[1])])
    return np.linalg.solve(inertia(theta), pull - bias)


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def after_impact(theta, w):
    """Angular momenta about the new foot, and of the old stance leg about the hip, are kept."""
    masses = points(theta, w)
    hip = masses[0][1]
    foot = hip - L * np.array([-np.sin(theta[1]), np.cos(theta[1])])
    total = sum(m * cross(p - foot, v) for m, p, v in masses)
    leg = cross(masses[1][1] - hip, ML * masses[1][2])
    new = theta[::-1]

    def momenta(u):
        masses = points(new, u)
        return np.array([
            sum(m * cross(p, v) for m, p, v in masses),
            cross(masses[2][1] - masses[0][1], ML * masses[2][2]),
        ])  # fmt: skip

    columns = np.stack([momenta(np.array([1.0, 0.0])), momenta(np.array([0.0, 1.0]))], axis=1)
    return new, np.linalg.solve(columns, [total, leg])


def oracle_step(theta, w, slope=SLOPE):
    def touch(t, y):
        return y[0] + y[1] + 2 * slope if y[0] < -slope - 0.02 else 1.0

    touch.terminal, touch.direction = True, -1
    out = solve_ivp(lambda t, y: [*y[2:], *acceleration(y[:2], y[2:])], (0, 3), [*theta, *w], method="DOP853",
                    rtol=1e-13, atol=1e-13, events=touch)  # fmt: skip
    return out.t[-1], out.y[:2, -1], out.y[2:, -1]


# --- ours --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cycle():
    return supple.gait(compass())


def angles(model, q, v, support):
    """Angles and rates of the stance and swing legs."""
    order = [model.bodies[x].index for x in ([support, "left" if support == "right" else "right"])]
    R = supple.poses(model, q).rotation[order]
    w = supple.velocities(model, q, v, "world")[order]
    return np.arctan2(-R[:, 0, 2], R[:, 2, 2]), -w[:, 1]


def test_reference_numbers_to_nine_digits(cycle):
    theta, w = angles(cycle.walker.model, cycle.walker.q, cycle.walker.v, "right")
    np.testing.assert_allclose(theta, [0.2186991452342, -0.3234991452342], rtol=0, atol=1e-10)
    np.testing.assert_allclose(w, [-1.0925221563191, -0.3770191899223], rtol=0, atol=1e-10)
    (q, v) = cycle.last.before
    theta, w = angles(cycle.last.model, q, v, "right")
    relative = np.array([theta[0], theta[1] - theta[0], w[0], w[1] - w[0]])
    np.testing.assert_allclose(
        relative, [-0.3234991452342, 0.5421982904683, -1.4946381785016, -0.3117265586672], rtol=0, atol=1e-10
    )
    assert abs(cycle.period - 0.7343791047951) < 1e-10
    assert abs(cycle.step_length - 0.5355811990826) < 1e-10
    np.testing.assert_allclose(cycle.last.kinetic, [2.8817081390948, 1.7809628233107], rtol=0, atol=1e-10)
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
    theta, w = angles(walker.model, walker.q, walker.v, "right")
    for step in walk(walker, 4, trace=False):
        time, theta, w = oracle_step(theta, w)
        support = step.feet[0].split()[0]
        ours = angles(step.model, *step.before, support)
        assert abs(step.duration - time) < 1e-9
        np.testing.assert_allclose(ours, [theta, w], rtol=0, atol=1e-9)
        theta, w = after_impact(theta, w)


def test_impact_equals_conservation_of_angular_momentum():
    """RR (23), corrected, at poses and rates of all kinds."""
    rng = np.random.default_rng(1)
    standing = compass()
    for _ in range(20):
        q, v = rng.uniform(-0.6, 0.6, 2), rng.standard_normal(2)
        theta, w = angles(standing.model, q, v, "right")
        hit = supple.impact(standing.model, q, v, body="left foot", axis=AXIS)
        new, u = after_impact(theta, w)
        np.testing.assert_allclose(angles(hit.model, hit.q, hit.v, "left"), [new, u], rtol=0, atol=1e-12)
        before, after = (sum(0.5 * m * (x @ x) for m, _, x in points(*s)) for s in ((theta, w), (new, u)))
        assert abs(hit.energy_lost - (before - after)) < 1e-12 and hit.energy_lost >= 0


def test_energy_is_constant_between_impacts(cycle):
    for step in walk(cycle.walker, 3):
        kinetic, potential = step.energies()
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
    assert drawn == {f"rr-{x}.png" for x in ("figure-10", "figure-11", "strip", "slopes", "capture", "cost")}
    assert all((tmp_path / f).stat().st_size > 10_000 for f in drawn)
    text = (tmp_path / "rr.md").read_text(encoding="utf-8")
    for wanted in (*drawn, "0.7343791048", "0.5355811991", "1.1007453158", "-0.200438950 +0.544173700 i", "-0.3236"):
        assert wanted in text
    assert "4 of 4 agree" in text and "steady gait" in screen.getvalue()


def test_promises_are_kept_to_rounding():
    for seed in range(5):
        p = measure.promises(8, 100 + seed)
        assert max(p[:5]) < 1e-12 and p.motion < 1e-8
    model = measure.any_body(80, 3)
    assert set(model.joint_type.tolist()) == set(range(1, 10)), "every joint type is among them"


def test_cost_is_measured_by_size():
    c = measure.cost(measure.SHAPES["chain"], (3, 6), 0.0)
    assert c.sizes == (3, 6) and min(c.reroot + c.step + c.first) > 0
