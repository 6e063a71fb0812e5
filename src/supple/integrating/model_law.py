"""The forces that a model's own springs, dry friction and actuators exert at its joints, as rows of joint_law.py.

    spring     stiffness (rest - q)
    friction   -F v / v_s while |v| < v_s, the slip speed; beyond it -F or F, against the motion: Coulomb's law, with
               a slope instead of a step
    actuator   gain u + bias - stiffness q - damping v, within its force_range (Actuator); u is its control

A joint that sticks creeps: under a load f < F it moves at v_s f / F. The slip speed is SLIP, or more where the joint is
so light that friction would stop it from there within less than STICK seconds: v_s = max(SLIP, STICK F / M), with M the
inertia that the joint feels in the neutral position while its parent is held (D of the articulated-body algorithm). So
explicit steps of up to about 2 STICK stop such a joint; where they do not, because it is lighter in another posture or
on a light parent, or because they are longer, steps become implicit (friction.py). A joint of MuJoCo's creeps at about
the same speed, by its default solimp and solref.

These forces act in simulate and AdaptiveDynamics; forward_dynamics and its relatives take tau, and know damping only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import FINITE, as_floats, checked, shown, take
from supple.errors import StateError
from supple.exact.aba import ABA
from supple.exact.calls import HostWork
from supple.integrating.joint_law import by_name, law_kernel, new_rows
from supple.integrating.states import checked_state
from supple.model.model import Model, count, unknown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLIP = 1e-3  #: rad/s, or m/s
STICK = 1e-3  #: seconds


@checked
def joint_forces(model: Model, q: ArrayLike, v: ArrayLike | None = None, controls: Any = None) -> Floats:
    """(nv,) the forces that the model's own springs, dry friction and actuators exert at its joints in a state, which
    act in runs: what forward_dynamics needs as tau to accelerate alike. Damping is not among them: it is known there.

    controls: of the actuators, by name, or one number for each; zero by default. q and v may have a leading batch axis,
    which controls have not; the result is then (B, nv).
    """
    x, u = as_floats("q", q), None if v is None else as_floats("v", v)
    if x.ndim == 2 or (u is not None and u.ndim == 2):
        return _of_batch(model, x, u, controls)
    x, u = checked_state(model, x, u)
    actuation = Actuation(model)
    servos, tau = actuation.at(actuation.controls({} if controls is None else controls))
    law_kernel.load()(np.concatenate([passive_rows(model), servos]).reshape(-1), x, u, tau)
    return tau


def _of_batch(model: Model, q: Floats, v: Floats | None, controls: Any) -> Floats:
    v = np.zeros(model.nv) if v is None else v
    sizes = [len(x) for x in (q, v) if x.ndim == 2]
    if len({*sizes}) > 1:
        raise StateError(f"q and v are of {sizes[0]} and {sizes[1]} states: a batch has one number of them")
    each_q, each_v = (x if x.ndim == 2 else [x] * sizes[0] for x in (q, v))
    forces = [joint_forces(model, x, u, controls) for x, u in zip(each_q, each_v)]
    return np.array(forces).reshape(-1, model.nv)


def passive_rows(model: Model) -> Floats:
    """(k, LAW) springs and dry friction of all joints; kept with the model."""
    return model._kept(passive_rows, lambda: _passive_rows(model))


def _passive_rows(model: Model) -> Floats:
    springs, rubbing = np.flatnonzero(model.stiffness), np.flatnonzero(model.friction)
    rows = new_rows(model, np.concatenate([springs, rubbing]))
    law = by_name(rows)
    pull, drag = law[: len(springs)], law[len(springs) :]
    pull["stiffness"], pull["rest"] = model.stiffness[springs], model.rest[pull["coordinate"].astype(np.int64)]
    if len(rubbing):
        drag["most"] = model.friction[rubbing]
        drag["damper"] = model.friction[rubbing] / slip_speeds(model)[rubbing]
    rows.flags.writeable = False
    return rows


def slip_speeds(model: Model) -> Floats:
    """(nv,) the speeds below which dry friction holds rather than drags."""
    work = HostWork(ABA, model)
    work.run(model.neutral(), np.zeros(model.nv), None, None)
    d = work.dofs["d"]  # 1 / D
    inverse = np.where(np.isfinite(d) & (d > 0.0), d, 0.0)
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(STICK * model.friction * inverse, SLIP, np.finfo(float).max))


def law_energy(rows: Floats, q: Floats) -> Floats:
    """(B,) the energy stored in the springs and walls of a law at positions q (B, nq).

    That of a spring limited to a force F is k d^2 / 2 up to d = F / k, and F (|d| - F / 2k) beyond.
    """
    law = by_name(rows)
    x = q[:, law["coordinate"].astype(np.int64)]
    beyond = np.maximum(law["lower"] - x, 0.0) + np.maximum(x - law["upper"], 0.0)
    k, far = law["stiffness"], np.abs(x - law["rest"])
    with np.errstate(divide="ignore", invalid="ignore"):
        linear = np.where(k > 0.0, np.minimum(far, law["most"] / k), 0.0)
    return np.asarray((k * linear * (far - 0.5 * linear) + 0.5 * law["wall"] * beyond**2).sum(axis=1))


class Actuation:
    """The actuators of a model, for any controls."""

    def __init__(self, model: Model) -> None:
        self._nv, parts = model.nv, model.actuator_list
        self.names = tuple(a.name for a in parts)
        self._dof = np.array([model.joints[a.joint].v.start for a in parts], dtype=np.int64)
        self._k, self._d, self._gain, self._bias = (
            np.array([getattr(a, name) for a in parts], dtype=np.float64)
            for name in ("stiffness", "damping", "gain", "bias")
        )
        self._controls, self._forces = (
            np.array([getattr(a, name) for a in parts], dtype=np.float64).reshape(-1, 2).T
            for name in ("control_range", "force_range")
        )
        self._servo = (self._k > 0.0) | (self._d > 0.0)
        self._rows = new_rows(model, self._dof[self._servo])

    def controls(self, values: Any) -> Floats:
        """One control for each actuator: from numbers in their order, or by name, zero for those not named."""
        n = len(self.names)
        if isinstance(values, Mapping):
            at = {name: i for i, name in enumerate(self.names)}
            out = np.zeros(n)
            for name, value in values.items():
                if name not in at:
                    raise StateError(unknown("actuator", str(name), self.names))
                out[at[name]] = take(f"the control of actuator {name!r}", value, FINITE)
            return out
        out = as_floats("controls", values)
        if out.shape != (n,) or not np.isfinite(out).all():
            raise StateError(f"controls are {count(n, 'finite number')}, one for each actuator, not {shown(values)}")
        return out

    @property
    def _center(self) -> Floats:
        """c of each force_range."""
        least, most = self._forces
        limited = np.isfinite(most)
        return np.asarray(0.5 * (np.where(limited, least, 0.0) + np.where(limited, most, 0.0)))

    def energy(self, rows: Floats, q: Floats) -> Floats:
        """(B,) the energy stored in servos with stiffness, whose rows these are, at positions q (B, nq).

        With d the distance from where the servo exerts no force, that of its row is k (d + c/k)^2 / 2 where its force
        is not limited, and the constant force c adds -c d: together, c^2 / 2k more than k d^2 / 2.
        """
        law, c = by_name(rows), self._center[self._servo]
        k = np.where((law["stiffness"] > 0.0) & (c != 0.0), law["stiffness"], np.inf)
        x = q[:, law["coordinate"].astype(np.int64)]
        constant = np.where(k < np.inf, -c * (x - law["rest"] - c / k) - 0.5 * c * c / k, 0.0)
        return law_energy(rows, q) + constant.sum(axis=1)

    def at(self, controls: Floats) -> tuple[Floats, Floats]:
        """Rows of a law, of all servos, and constant forces (nv,).

        force_range need not be symmetric, as the law's `most` is: with its centre c and half width h,
        clip(f, c - h, c + h) = c + clip(f - c, -h, h).
        """
        least, most = self._forces
        limited, center = np.isfinite(most), self._center
        servo, rows, constant = self._servo, self._rows.copy(), np.zeros(self._nv)
        law, k, d = by_name(rows), self._k[servo], self._d[servo]
        law["stiffness"], law["damper"] = k, d
        law["most"] = np.where(limited, 0.5 * most - 0.5 * least, np.inf)[servo]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            drive = self._gain * np.clip(controls, *self._controls) + self._bias
            pull = (drive - center)[servo]
            law["rest"] = np.where(k > 0.0, pull / k, 0.0)
            law["rate"] = np.where(k > 0.0, 0.0, pull / d)
            drive[servo] += law["rest"] + law["rate"]
        if not np.isfinite(drive).all():
            raise StateError(
                f"the control of actuator {self.names[np.flatnonzero(~np.isfinite(drive))[0]]!r} is too large"
            )
        np.add.at(constant, self._dof, np.where(servo, center, np.clip(drive, least, most)))
        return rows, constant
