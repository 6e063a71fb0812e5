"""How stiff the joints of a model are under their forces: whether explicit steps of a given length are stable.

Dampers D and springs K of joints (diagonal matrices, at their largest: limits count as if they were engaged) make the
accelerations H^-1 (-D v - K x), which decay and oscillate at rates up to

    r = max(rho(H^-1 D), sqrt(rho(H^-1 K)))

with rho the largest eigenvalue, found by power iteration with the articulated-body algorithm: O(n) each. With loops,
H^-1 is what accelerates joints while they stay closed. Steps of h
with Runge-Kutta 4 are stable while h r < 2.78. Where D and K act on the same joint, the rate may be less than r, by a
factor of two at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.exact.aba import ABA
from supple.exact.calls import HostWork
from supple.exact.tables import host_tables
from supple.exact.with_loops import WITH_LOOPS
from supple.integrating.joint_law import steepest
from supple.model.model import Model

Floats = NDArray[np.float64]

STABLE = 2.5  #: of h r for Runge-Kutta 4, which is stable up to 2.78: inertias change along the way
ITERATIONS, PRECISION = 40, 1e-3  #: of the power iteration


class Stiffness(NamedTuple):
    """The fastest rate, the joint that has it, and what causes it there."""

    rate: float  #: 1/s
    joint: str
    cause: str  #: "damping" or "stiffness"

    @property
    def longest(self) -> float:
        """The longest steps with Runge-Kutta 4, in seconds."""
        return STABLE / self.rate

    def too_stiff(self, dt: float) -> bool:
        """For steps of dt."""
        return self.rate * dt > STABLE

    def __str__(self) -> str:
        return f"the {self.cause} of joint {self.joint!r} needs steps below {self.longest:.2g} s with integrator 'rk4'"


def stiffest(model: Model, law: Floats, q: Floats) -> Stiffness | None:
    """Of a model's damping and a law of joints, at a position; None if nothing is stiff or damped there."""
    K, D = steepest(law, model.nv)
    found = [("damping", D + model.damping, 1.0), ("stiffness", K, 0.5)]
    rates = [(*_largest(model, q, x, power), cause) for cause, x, power in found if x.any()]
    if not rates:
        return None
    rate, dof, cause = max(rates)
    return Stiffness(rate, model.joint_names[int(model.dof_body[dof])], cause) if rate > 0.0 else None


def _largest(model: Model, q: Floats, x: Floats, power: float) -> tuple[float, int]:
    """rho(H^-1 diag(x))^power, and the degree of freedom that moves most, by what it contributes."""
    work = HostWork(ABA if model.is_tree else WITH_LOOPS, model)
    work.call.model = host_tables(model).tables.but(gravity=np.zeros(3))
    largest, still = float(x.max()), np.zeros(model.nv)
    root = np.sqrt(x / largest)
    y, rate = root * np.random.default_rng(0).standard_normal(model.nv), 0.0
    y /= np.linalg.norm(y)
    for _ in range(ITERATIONS):
        a = work.run(q, still, root * y, None)  # with sqrt(x) H^-1 sqrt(x), which is symmetric
        if a.__class__ is int or not np.isfinite(a).all():
            return 0.0, 0  # a singular model, of which the run itself will tell
        z = root * a
        last, rate = rate, float(y @ z)
        size = float(np.linalg.norm(z))
        if not 0.0 < size < np.inf:
            return 0.0, 0
        y = z / size
        if abs(rate - last) <= PRECISION * rate:
            break
    return rate**power * largest**power, int(np.argmax(np.abs(y)))
