"""The simplest walker of Garcia, Chatterjee, Ruina and Coleman 1998 (GCRC): its gaits, their stability and scaling, and
its basin of attraction.

Oracle: the paper's two equations of motion and its impact, by Taylor series of degree 28 in long double; eigenvalues by
differences of order 6 of that. Published: the gait of long period is stable up to a slope of 0.0151 (GCRC 5.1; 0.015 in
the abstract), and doubles its period there; beyond about 0.019 there is no walking (5.3). On small slopes theta goes as
0.970956 gamma^(1/3) in periods of 3.812092, or 0.943976 gamma^(1/3) and pi in the gait of short period (A.2). Garcia's
own program for the paper has the gaits at a slope of 0.009 "to 1e-10", and their eigenvalues, below. Chaos is between
slopes of 0.01839 and 0.0189, and nothing is stable beyond 0.019, in figure 1 of Kurz and Stergiou 2007, Journal of
NeuroEngineering and Rehabilitation 4:30. The basin of attraction, by cell mapping, is "a small, thin area", and "not
directly related to the stability of the cyclic motion": Schwab and Wisse 2001, DETC2001/VIB-21363, the abstract.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import supple
from supple.scenes import simplest_walker
from supple.walking.gaits import gait
from supple.walking.many import walk_many
from supple.walking.walkers import events, walk
from two_links import SIXTH

REAL = np.longdouble
DEGREE = 26
#: theta, theta' at a slope of 0.009, and eigenvalues by differences: three digits of the first pair are right
PUBLISHED = {
    "long": ((0.20031090049483, -0.19983247291764), (-0.19120868949940 + 0.55633363687106j,)),
    "short": ((0.19393736960624, -0.20386692731962), (4.000, 0.459)),
}


# --- the oracle ------------------------------------------------------------------------------------------------------


def series(theta, w, phi, u, slope):
    """Taylor coefficients of theta and phi."""
    T, P, s, c, S, C, x, dT, dP = np.zeros((9, DEGREE + 2), dtype=REAL)
    T[:2], P[:2] = (theta, w), (phi, u)
    s[0], c[0], S[0], C[0] = np.sin(theta - slope), np.cos(theta - slope), np.sin(phi), np.cos(phi)

    def product(a, b, k):
        return a[: k + 1] @ b[k::-1]

    for k in range(DEGREE):
        dT[k], dP[k] = (k + 1) * T[k + 1], (k + 1) * P[k + 1]
        x[k] = product(dT, dT, k) - c[k]
        T[k + 2] = s[k] / ((k + 1) * (k + 2))  # theta'' = sin(theta - gamma)
        P[k + 2] = (s[k] + product(x, S, k)) / ((k + 1) * (k + 2))  # phi'' = theta'' + (theta'^2 - cos) sin(phi)
        s[k + 1], c[k + 1] = product(dT, c, k) / REAL(k + 1), -product(dT, s, k) / REAL(k + 1)
        S[k + 1], C[k + 1] = product(dP, C, k) / REAL(k + 1), -product(dP, S, k) / REAL(k + 1)
    return T, P


def value(a, t):
    f, rate = REAL(0), REAL(0)
    for x in a[::-1]:
        rate, f = rate * t + f, f * t + x
    return f, rate


def returned(x, slope):
    """theta and theta' just after the next impact, and the time until then. The foot is above the ground ahead where
    phi < 2 theta < 0."""
    theta, w = x
    phi, u, t, h = 2 * theta, w * (1 - np.cos(2 * theta)), REAL(0), REAL(1) / 8
    while t < 12:
        T, P = series(theta, w, phi, u, slope)
        (a, da), (b, db) = value(T, h), value(P, h)
        if t > 0 and a < 0 and phi - 2 * theta < 0 <= b - 2 * a:
            z = h / 2
            for _ in range(9):
                (a, da), (b, db) = value(T, z), value(P, z)
                z -= (b - 2 * a) / (db - 2 * da)
            a, da = value(T, z)
            return np.array([-a, np.cos(2 * a) * da]), t + z
        theta, w, phi, u, t = a, da, b, db, t + h
    raise AssertionError("it fell")


def jacobian(x, slope):
    h, J = REAL(2) ** -16, np.zeros((2, 2))
    for j in range(2):
        e = np.where(np.arange(2) == j, h, REAL(0))
        J[:, j] = sum(w * (returned(x + k * e, slope)[0] - returned(x - k * e, slope)[0]) for k, w in SIXTH) / h
    return J


# --- ours ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cycle():
    return gait(simplest_walker())


def angles(walker):
    """theta, theta', phi, phi'"""
    return walker.q[0] + walker.parameters["slope"], walker.v[0], walker.q[1], walker.v[1]


@pytest.mark.parametrize("start", PUBLISHED)
def test_gaits_are_the_published_ones(start):
    found = gait(simplest_walker(0.009, start))
    state, eigenvalues = PUBLISHED[start]
    np.testing.assert_allclose(angles(found.walker)[:2], state, rtol=0, atol=3e-10)
    np.testing.assert_allclose(found.eigenvalues[: len(eigenvalues)], eigenvalues, rtol=0, atol=5e-3)


def test_the_gait_of_long_period_gives_back_what_it_gets(cycle):
    theta, w, phi, u = angles(cycle.walker)
    np.testing.assert_allclose([phi, u], [2 * theta, w * (1 - np.cos(2 * theta))], rtol=0, atol=1e-14)
    assert abs(cycle.energy_lost - cycle.step_length * np.sin(0.009)) < 1e-14, "what the slope gives, the impact takes"
    assert cycle.residual < 1e-13 and cycle.stable


@pytest.mark.parametrize(("slope", "start"), [(0.009, "long"), (0.001, "long"), (0.018, "long"), (0.004, "short")])
def test_fixed_points_and_eigenvalues_are_those_of_the_papers_equations(slope, start):
    found = gait(simplest_walker(slope, start))
    x = np.array(angles(found.walker)[:2], dtype=REAL)
    back, time = returned(x, REAL(slope))
    assert np.abs(back - x).max() < 1e-12 and abs(found.period - time) < 1e-11
    wanted = np.linalg.eigvals(jacobian(x, REAL(slope)))
    off = np.abs(found.eigenvalues[:2, None] - wanted).min(axis=1).max()
    assert off < 1e-10 and found.eigenvalue_error < 1e-9
    assert abs(found.eigenvalues[2]) < 1e-12, "after an impact the swing leg's rate follows from the other's"


def sloped(slope):
    """What differs of a walker on another slope."""
    along = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    return {"normal": np.array([np.sin(slope), 0.0, np.cos(slope)]), "forward": along}


def test_the_gait_loses_its_stability_where_published():
    """An eigenvalue passes -1 between slopes of 0.015 and 0.0152; beyond, a gait of two steps is stable."""
    assert gait(simplest_walker(0.015)).stable
    steep = gait(simplest_walker(0.0152))
    assert not steep.stable and steep.eigenvalues[0].real < -1 and steep.eigenvalues[0].imag == 0
    walker = simplest_walker(0.016)
    late = walk(walker.at(walker.q, 1.001 * walker.v), 120, trace=False)[-1].after  # on the first foot again
    limp = gait(walker.at(*late), steps=2)
    one, two = walk(limp.walker, 2, trace=False)
    assert limp.stable and abs(one.duration - two.duration) > 1e-2


def test_chaos_and_its_end_are_where_published():
    """Slopes rise slowly; periods of up to 32 steps are looked for in the last 128."""
    walker, seen = simplest_walker(0.017), {}
    q, v = walker.q, 1.001 * walker.v
    for slope in np.arange(0.017, 0.0196, 1e-4).round(4).tolist():
        here = replace(walker, **sloped(slope))
        made = walk_many(here, q[None], v[None], 600, keep=128, tolerance=1e-10)
        x = made.durations[0]
        if made.fell[0]:
            seen[slope] = "falls"
            continue
        again = [p for p in range(1, 33) if np.abs(x[p:] - x[:-p]).max() < 1e-4]
        seen[slope], (q, v) = again[0] if again else "chaos", (made.q[0], made.v[0])
        q = q - [1e-4, 0.0]  # the same angles from the ground, on the next slope
    assert seen[0.017] == 2 and seen[0.018] == 4
    first = min(slope for slope, what in seen.items() if what == "chaos")
    assert abs(first - 0.01839) < 2e-4 and abs(min(s for s, what in seen.items() if what == "falls") - 0.019) < 2e-4


def test_the_basin_is_small_and_thin_and_stability_does_not_tell_its_size():
    """Of three slopes, the gait on the second is the most stable one, and the basin on the first the largest."""
    share, size = [], []
    for slope in (0.004, 0.009, 0.014):
        walker = simplest_walker(slope)
        a, w = (x.ravel() for x in np.meshgrid(np.linspace(0.08, 0.32, 80), np.linspace(-0.36, -0.06, 80)))
        q, v = np.stack([a - slope, 2 * a], axis=1), np.stack([w, w * (1 - np.cos(2 * a))], axis=1)
        inside = ~walk_many(walker, q, v, 30).fell
        box = np.ptp(a[inside]) / 0.24 * np.ptp(w[inside]) / 0.30
        assert inside.mean() < 0.1 * box, "thin"
        share.append(inside.mean())
        size.append(np.abs(gait(walker).eigenvalues).max())
    assert 0.02 > share[0] > share[1] > share[2] > 0.003 and size[1] < min(size[0], size[2])


@pytest.mark.parametrize(("start", "wanted", "period"), [("long", 0.970956, 3.812092), ("short", 0.943976, np.pi)])
def test_small_slopes_scale_as_published(start, wanted, period):
    found = gait(simplest_walker(1e-6, start))
    assert abs(angles(found.walker)[0] / 1e-2 - wanted) < 5e-5 and abs(found.period - period) < 3e-4
    assert found.stable == (start == "long")


def test_it_walks_on_both_feet_alike_and_in_a_simulation(cycle):
    """Feet of 2^-50 of the hip's mass keep their digits on either leg."""
    steps = walk(cycle.walker, 4, trace=False, tolerance=1e-12)
    np.testing.assert_allclose([s.duration for s in steps], cycle.period, rtol=0, atol=1e-10)
    how = dict(integrator="dop853", rtol=1e-11, atol=1e-11, dt=0.1, events=events(cycle.walker))
    run = supple.simulate(cycle.walker.model, cycle.walker.q, cycle.walker.v, duration=3.5 * cycle.period, **how)
    ends = [s.times[-1] for s in run.segments[:3]]
    np.testing.assert_allclose(ends, cycle.period * np.arange(1, 4), rtol=0, atol=1e-8)


def test_units_may_be_chosen():
    """Angles do not depend on mass, length and gravity; times go with the root of length over gravity."""
    one, other = gait(simplest_walker()), gait(simplest_walker(hip_mass=70.0, length=0.9, gravity=9.81))
    np.testing.assert_allclose(one.walker.q, other.walker.q, rtol=0, atol=1e-12)
    assert abs(other.period - one.period * np.sqrt(0.9 / 9.81)) < 1e-11
    np.testing.assert_allclose(one.eigenvalues[:2], other.eigenvalues[:2], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(slope=0.0), "slope must be a number from 1e-08 to 0.05"),
        (dict(slope=0.2), "slope must be a number from 1e-08 to 0.05"),
        (dict(start="middle"), "start must be 'long' or 'short'"),
        (dict(length=0.0), "length must be a positive number"),
    ],
)
def test_what_has_no_gait_is_refused(arguments, message):
    with pytest.raises(supple.StateError, match=message):
        simplest_walker(**arguments)
