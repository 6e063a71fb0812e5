"""The compass of Goswami, Thuilot and Espiau 1996 (GTE): Compass-like biped robot, part I: stability and bifurcation of
passive gaits, INRIA research report 2996; in short in the International Journal of Robotics Research 17, 1998.

Published, of legs of 5 kg with their mass in the middle and a hip of 10 kg: on a slope of 3 degrees the eigenvalues of
the return map have sizes of 0.332, 0.332 and 0.014 (3.44), those of two steps, as the squares of ours are; a step takes
0.735 s and the legs are 2 x 0.271 rad apart when a foot lands (read off figures C.4 and C.5, to 2%). The first doubling
is at 4.37 degrees, the second at 4.9, periods of 8 steps are seen from 5.01 and none from 5.04; at 5.2 it is called
chaotic (4.2). Slopes of figure 10 of 1998: 4.75, 5.00, 5.02 and 5.20 degrees for periods of 2, 4 and 8 steps, and
chaos. (As two public re-implementations quote them; the report itself was not at hand.)
"""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple.scenes import compass
from supple.walking.gaits import gait


def robot(degrees, **more):
    return compass(np.radians(degrees), hip_mass=10.0, leg_mass=5.0, **more)


def test_the_gait_on_three_degrees():
    found = gait(robot(3.0, start="cycle"))
    assert abs(found.period - 0.735) < 0.02 * 0.735 and abs(found.walker.q[1] / 2 - 0.271) < 0.02 * 0.271
    assert np.abs(np.abs(found.eigenvalues) ** 2 - [0.332, 0.332, 0.014]).max() < 0.005


def test_the_first_doubling_is_where_published():
    """An eigenvalue passes -1 within 0.03 degrees of there."""
    before, after = (gait(robot(x, start="cycle")).eigenvalues[0] for x in (4.37, 4.40))
    assert after.real < -1.0 < before.real < -0.95 and before.imag == after.imag == 0.0


@pytest.fixture(scope="module")
def walks():
    """Durations of the last steps, each slope from where the one before has led, angles from the ground kept."""
    walker, out = robot(4.0, start="cycle"), {}
    q, v, last = walker.q, walker.v, 4.0
    for degrees in (4.3, 4.6, 4.75, 4.9, 5.0, 5.02, 5.1, 5.2, 5.25):
        made = supple.walk_many(
            robot(degrees), q[None] + [np.radians(last - degrees), 0.0], v[None], 2000, keep=128, tolerance=1e-10
        )
        out[degrees] = made.durations[0]
        if made.fell[0]:
            out[degrees] = None
        else:
            q, v, last = made.q[0], made.v[0], degrees
    return out


@pytest.mark.parametrize(("degrees", "period"), [(4.3, 1), (4.75, 2), (5.0, 4), (5.02, 8)])
def test_periods_double_as_published(walks, degrees, period):
    """Durations come back after a period to a hundred-thousandth, and not after half of it."""
    x = walks[degrees]
    assert np.abs(x[period:] - x[:-period]).max() < 1e-5
    assert period == 1 or np.abs(x[period // 2 :] - x[: -(period // 2)]).max() > 1e-3


def test_chaos_and_its_end(walks):
    """At 5.2 degrees no period of up to 32 steps, and it walks on; half a tenth of a degree beyond it falls."""
    x = walks[5.2]
    assert min(np.abs(x[p:] - x[:-p]).max() for p in range(1, 33)) > 1e-2
    assert walks[5.25] is None
