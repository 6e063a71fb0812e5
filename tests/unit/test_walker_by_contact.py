"""A walker that contact and friction alone hold walks as one whose root changes does; a rimless wheel rolls as its
closed form says."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple import scenes
from supple.scenes.walker_by_contact import footfalls


def strides(dt: float) -> np.ndarray:
    """(k, 2) length and duration of two steps, from the fourth on."""
    scene = scenes.walker_by_contact(steps=9)
    r = supple.simulate(scene.model, scene.q0, scene.v0, duration=6.5, dt=dt, contacts=scene.contacts)
    times, places = footfalls(r)
    assert len(times) == 9 and (np.diff(np.sign(places[:, 1])) != 0).all()  # one foot after the other
    far = np.hypot(places[:, 0], places[:, 2])
    return np.array([(far[-1] - far[-5]) / 2, (times[-1] - times[-5]) / 2])


def test_contact_alone_finds_the_gait_of_changing_roots_as_steps_become_short():
    """Of order one, as steps with contact are: errors are halved with the step, and extrapolation has hardly any."""
    gait = supple.gait(scenes.compass(start="cycle"))
    coarse, fine = strides(2e-3), strides(1e-3)
    length = 2 * gait.step_length
    assert abs(fine[0] - length) < 4e-3 * length and abs(fine[1] - 2 * gait.period) < 2e-3
    assert fine[0] - length == pytest.approx(0.5 * (coarse[0] - length), rel=0.05)
    assert 2 * fine[0] - coarse[0] == pytest.approx(length, rel=1e-4)


def test_a_rimless_wheel_rolls_at_the_speed_of_its_closed_form():
    """[McGeer 1990] Of a wheel of spokes an angle 2 a apart, with its mass m at the hub but for J: at a spoke's impact
    the angular velocity becomes eta = (J + m l^2 cos 2a) / (J + m l^2) of what it was, and from spoke to spoke gravity
    adds 4 m g l sin a sin gamma / (J + m l^2) to its square: it settles at eta^2 / (1 - eta^2) of that."""
    a, slope, l, m, J, g = np.pi / 8, 0.16, 0.5, 2.0, 0.05, 9.81
    b = supple.ModelBuilder("wheel", gravity=(g * np.sin(slope), 0.0, -g * np.cos(slope)))
    b.add_body("wheel", joint="planar", axis=(0.0, -1.0, 0.0), mass=m, inertia=(J, J, J))
    b.add_shape(None, "plane")
    for k in range(8):
        at = l * np.array([np.sin(2 * a * k), 0.0, np.cos(2 * a * k)])
        b.add_shape("wheel", "sphere", (1e-6,), at, restitution=1e-9)
    wheel, about = b.build(), J + m * l * l
    eta, gain = (J + m * l * l * np.cos(2 * a)) / about, 4 * m * g * l * np.sin(a) * np.sin(slope) / about
    settled = eta * np.sqrt(gain / (1 - eta**2))
    q, v = np.array([0.0, l + 1e-6, 1.0, 0.0]), 1.3 * settled * np.array([l, 0.0, -1.0])
    off = []
    for dt in (2e-3, 1e-3):
        r = supple.simulate(wheel, q, v, duration=4.0, dt=dt, contacts=True)
        rate = -r.v[:, 2]
        falls = np.flatnonzero(np.diff(rate) < -0.1 * settled)
        assert len(falls) > 8
        np.testing.assert_allclose(rate[falls[3:] + 1] / rate[falls[3:]], eta, atol=5 * dt)
        off.append(rate[falls[-3:] + 1].mean() / settled - 1.0)
    assert abs(off[1]) < 1e-3 and abs(off[1]) < 0.5 * abs(off[0])
