"""The compass biped as a two-link model of point masses: its own equations, impact and touchdown, for comparison.

Angles (stance, swing) count from the vertical, counter-clockwise, as in RR. From Lagrange's function and angular
momenta; what belongs to the swing leg is divided by its mass, so that a leg of no mass is the limit. In NumPy's long
double where the numbers given are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853, solve_ivp

import supple

A, B = DOP853.A.astype(np.longdouble), DOP853.B.astype(np.longdouble)
#: f(x + k h) - f(x - k h) over h for k = 1, 2, 3: a derivative of order 6
SIXTH = tuple(zip((1, 2, 3), np.array([45, -9, 1], dtype=np.longdouble) / 60))


class TwoLinks(NamedTuple):
    slope: float = 0.0524
    hip: float = 2.0
    leg: float = 1.0
    length: float = 1.0
    center: float = 0.5  #: of a leg's mass, above its foot, as a share of the length
    g: float = 9.81

    @classmethod
    def of(cls, p: dict[str, Any]) -> TwoLinks:
        """Of a walker's parameters."""
        return cls(p["slope"], p["hip_mass"], p["leg_mass"], p["length"], p["leg_center"], p["gravity"])

    def acceleration(self, y):
        l, d = self.length, self.center * self.length
        e, apart = l - d, y[0] - y[1]
        c, s = np.cos(apart), np.sin(apart)
        m11 = self.hip * l**2 + self.leg * (d**2 + l**2)
        b1 = self.g * (self.hip * l + self.leg * (d + l)) * np.sin(y[0]) + self.leg * l * e * s * y[3] ** 2
        b2 = -self.g * np.sin(y[1]) - l * s * y[2] ** 2
        return _solve(m11, -self.leg * l * e * c, -l * c, e, b1, b2)

    def rate(self, y):
        return np.array([y[2], y[3], *self.acceleration(y)])

    def after_impact(self, y):
        """Angular momenta about the new foot, and of the old stance leg about the hip, are kept."""
        l, d = self.length, self.center * self.length
        e, c, w = l - d, np.cos(y[1] - y[0]), y[2:]
        total = self.hip * l * l * w[0] * c + self.leg * d * (w[0] * (l * c - e) + l * w[0] * c - e * w[1])
        m11 = self.hip * l**2 + self.leg * (d**2 + l**2 - e * l * c)
        return np.array([y[1], y[0], *_solve(m11, self.leg * (e * e - l * e * c), -l * c, e, total, -d * w[0])])

    def kinetic(self, y):
        l, d = self.length, self.center * self.length
        e, w, u = l - d, y[2], y[3]
        swing = (l * w) ** 2 + (e * u) ** 2 - 2 * l * e * w * u * np.cos(y[0] - y[1])
        return 0.5 * (self.hip * (l * w) ** 2 + self.leg * ((d * w) ** 2 + swing))

    def height(self, y):
        """Of the swing foot, above the slope."""
        return self.length * (np.cos(y[0] + self.slope) - np.cos(y[1] + self.slope))

    def ahead(self, y):
        return self.length * (np.sin(y[1] + self.slope) - np.sin(y[0] + self.slope))

    def hip_height(self, y):
        return self.length * np.cos(y[0] + self.slope)

    def step(self, y, clearance, least, latest, longest=np.inf):
        """How a step ends ("touched", "fell", "late"), when, and the state there."""

        def foot(t, y):
            return self.height(y)

        def fall(t, y):
            return self.hip_height(y) - least

        foot.direction = fall.direction = -1
        fall.terminal = True
        out = solve_ivp(lambda t, y: self.rate(y), (0, latest), y, method="DOP853", rtol=1e-12, atol=1e-12,
                        events=(foot, fall), max_step=longest)  # fmt: skip
        for t, state in zip(out.t_events[0], out.y_events[0]):
            if self.ahead(state) > clearance:
                return "touched", t, state
        return ("fell" if out.status == 1 else "late"), out.t[-1], out.y[:, -1]

    # --- in long double: one step of a gait, from just after an impact to just after the next -------------------------

    def returned(self, y, h):
        """By the Runge-Kutta method of order 8 with steps of a fixed length."""
        while True:
            new = self._advanced(y, h)
            if self.height(y) > 0 >= self.height(new) and self.ahead(new) > 0.01 * self.length:
                break
            y = new
        x = h * self.height(y) / (self.height(y) - self.height(new))
        for _ in range(6):
            new = self._advanced(y, x)
            across = np.sin(new[:2] + self.slope) * new[2:]
            x = x - self.height(new) / (self.length * (across[1] - across[0]))
        return self.after_impact(self._advanced(y, x))

    def _advanced(self, y, h):
        K = np.zeros((12, 4), dtype=np.longdouble)
        for i in range(12):
            K[i] = self.rate(y + h * (A[i, :i] @ K[:i]))
        return y + h * (B @ K)

    def eigenvalues(self, y, h, apart=2.0**-15):
        """Of the return map among states with both feet on the ground, by differences in long double."""
        exact = TwoLinks(*(np.longdouble(x) for x in self))
        section = np.asarray(y, dtype=np.longdouble)[[0, 2, 3]]

        def back(x):
            return exact.returned(np.array([x[0], -2 * exact.slope - x[0], x[1], x[2]]), h)[[0, 2, 3]]

        J = np.zeros((3, 3))
        for j in range(3):
            e = np.where(np.arange(3) == j, np.longdouble(apart), 0)
            J[:, j] = sum(w * (back(section + k * e) - back(section - k * e)) for k, w in SIXTH) / e[j]
        return np.linalg.eigvals(J)


def two_link_state(model, q, v, support):
    """(4,) of a compass that stands on a leg: angles and rates of the stance and swing legs."""
    order = [model.bodies[x].index for x in (support, "left" if support == "right" else "right")]
    R, w = supple.poses(model, q).rotation[order], supple.velocities(model, q, v).spatial[order]
    return np.concatenate([np.arctan2(-R[:, 0, 2], R[:, 2, 2]), -w[:, 1]])


def _solve(a, b, c, d, x, y):
    det = a * d - b * c
    return (x * d - b * y) / det, (a * y - c * x) / det
