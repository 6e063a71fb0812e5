"""The derivative of a walker's step with respect to its initial state, accurate up to rounding, for any masses.

Inverse dynamics tau(q, v, a) is of second degree in v; in each angle of q it is of second degree in its sine and
cosine, in each displacement a polynomial of second degree. So central differences need not be small: those in v are
exact with any spacing, and three pairs of positions, far apart, give the derivative of sin q, sin 2q and q exactly.
Quantities that are not such functions, an acceleration or a velocity after an impact, are differentiated as solutions
of equations that are. The remaining errors are rounding, and the error of the integration.

    motion      H da = - (dtau/dq) dq - (dtau/dv) dv,   Phi' = d(v, a)/d(q, v) Phi, integrated along with the motion
    touchdown   the instant changes by dt = - (dh/dq dq) / h', and the state there by a further (v, a) dt  [saltation]
    impact      H(q+) dv+ = dp - (dH v+),   p the momenta before (impacts.py)

For joints with additive coordinates, as strides are.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.exact.forward import forward_dynamics
from supple.exact.inverse import inverse_dynamics
from supple.exact.kinematics import poses
from supple.model.joints import PITCHED
from supple.model.model import Model
from supple.rerooting.reroot import Rerooted
from supple.walking.impacts import momenta_before

Floats = NDArray[np.float64]

FINEST = 3e-14  #: the finest tolerance that rounding allows


class Rule(NamedTuple):
    """Differences that give a derivative exactly: sum of weights f(q + steps)."""

    steps: Floats
    weights: Floats


@cache
def _rule(screws: bool) -> Rule:
    """For functions of second degree in an angle's sine and cosine, or in a displacement; or, for a screw, in both."""
    x = (0.4 if screws else 0.8) * np.arange(1, 8 if screws else 4)
    exact = [(np.sin(x), 1.0), (np.sin(2 * x), 2.0), (x, 1.0)]
    if screws:
        exact += [(x * np.cos(x), 1.0), (x * np.cos(2 * x), 1.0), (x**2 * np.sin(x), 0.0), (x**2 * np.sin(2 * x), 0.0)]
    weights = np.linalg.solve(2 * np.array([f for f, _ in exact]), [rate for _, rate in exact])
    return Rule(np.concatenate([x, -x]), np.concatenate([weights, -weights]))


def _rule_of(model: Model) -> Rule:
    return _rule(bool(np.array(PITCHED)[model.joint_type].any()))


def around(model: Model, q: Floats) -> Floats:
    """(m, n) the positions at which a function is needed for its derivative at q."""
    n = len(q)
    return np.asarray((q + np.eye(n)[:, None, :] * _rule_of(model).steps[:, None]).reshape(-1, n))


def derivative(model: Model, values: Floats) -> Floats:
    """(k, n) from a function's values (m, k) around a position."""
    rule = _rule_of(model)
    return np.asarray(np.einsum("s,nsk->kn", rule.weights, values.reshape(model.nv, len(rule.steps), -1)))


def acceleration(model: Model, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """a, and (n, 2 n) its derivatives with respect to q and v."""
    n, still = model.nv, np.zeros((model.nv + 1, model.nv))
    a = forward_dynamics(model, q, v)
    apart = max(float(np.abs(v).max()), 1e-3) * np.eye(n)
    near = around(model, q)
    m = len(near)
    Q = np.concatenate([near, np.tile(q, (3 * n + 1, 1))])
    V = np.concatenate([np.tile(v, (m, 1)), v + apart, v - apart, still])
    A = np.concatenate([np.tile(a, (m + 2 * n, 1)), np.eye(n), still[:1]])
    tau = inverse_dynamics(model, Q, V, A)
    by_q, (more, less, H) = derivative(model, tau[:m]), tau[m:-1].reshape(3, n, n)
    by_v = (more - less).T / (2 * apart[0, 0])
    return a, -np.linalg.solve((H - tau[-1]).T, np.hstack([by_q, by_v]))


def motion(model: Model, q: Floats, v: Floats, duration: float, tolerance: float, pace: float) -> Floats:
    """(2 n, 2 n) Phi: the derivative of the state after a time with respect to that before. pace: time scale in
    seconds."""
    from scipy.integrate import solve_ivp

    n = model.nv
    unit = np.concatenate([np.ones(n), np.full(n, pace)])  # velocities are measured in angles per pace

    def rate(_: float, y: Floats) -> Floats:
        x, Phi = y[: 2 * n] / unit, y[2 * n :].reshape(2 * n, 2 * n)
        a, by = acceleration(model, x[:n], x[n:])
        change = np.concatenate([Phi[n:] / pace, pace * (by / unit) @ Phi])
        return np.concatenate([x[n:], pace * a, change.ravel()])

    tolerance = max(tolerance, FINEST)
    start = np.concatenate([q, pace * v, np.eye(2 * n).ravel()])
    out = solve_ivp(rate, (0.0, duration), start, method="DOP853", rtol=tolerance, atol=tolerance)
    Phi = out.y[2 * n :, -1].reshape(2 * n, 2 * n)
    return np.asarray(Phi * unit / unit[:, None])


def height(model: Model, foot: str, normal: Floats, q: Floats) -> Floats:
    """(n,) the derivative of the height of a frame with respect to q."""
    places = poses(model, around(model, q))[foot].position
    return np.asarray(derivative(model, places @ normal)[0])


def impact(model: Model, q: Floats, v: Floats, new: Rerooted, after: tuple[Floats, Floats]) -> Floats:
    """(2 n, 2 n) the derivative of the state just after an impact with respect to that before. after: that state
    itself."""
    n = model.nv
    new_q, new_v = after

    def lacking(q: Floats, new_q: Floats, v: Floats, u: Floats) -> Floats:
        """H(q+) u - p(q, v), one row each."""
        momenta, rotors = momenta_before(model, q, v, new)
        still = np.zeros_like(new_q)
        with_u = inverse_dynamics(new.model, new_q, still, np.ascontiguousarray(np.broadcast_to(u, v.shape)), momenta)
        return np.asarray(with_u - inverse_dynamics(new.model, new_q, still, still) - rotors)

    Q = around(model, q)
    turned = np.array([new.again(x).q for x in Q])
    shift = (turned - new_q + np.pi) % (2 * np.pi) - np.pi  # of an angle in the range from -pi to pi
    by_q = derivative(model, lacking(Q, turned, np.tile(v, (len(Q), 1)), new_v))
    by_v = lacking(np.tile(q, (n, 1)), np.tile(new_q, (n, 1)), np.eye(n), np.zeros(n)).T
    nothing = np.zeros((n, n))
    H = lacking(np.tile(q, (n, 1)), np.tile(new_q, (n, 1)), nothing, np.eye(n)).T
    change = -np.linalg.solve(H, np.hstack([by_q, by_v]))
    return np.concatenate([np.hstack([derivative(model, shift), nothing]), change])


def touchdown(model: Model, foot: str, normal: Floats, q: Floats, v: Floats, Phi: Floats) -> Floats:
    """(2 n, 2 n) Phi of a motion that ends when a foot lands, with q and v, from that after a given time."""
    n = model.nv
    by = height(model, foot, normal, q)
    return np.asarray(Phi - np.outer(np.concatenate([v, forward_dynamics(model, q, v)]), by @ Phi[:n]) / (by @ v))
