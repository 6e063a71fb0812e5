"""What a run says when its steps diverge (integrating/divergence.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from supple.errors import SimulationError
from supple.exact.inverse import inverse_dynamics
from supple.integrating.divergence import FAR, STILL, furthest, reach, turns
from supple.simulating.dynamics import Dynamics
from supple.simulating.state import State
from supple.simulating.stiffness import stiffest


def diverged(f: Dynamics, now: State, good: State, dt: float, integrator: str) -> SimulationError:
    """The error of a run that diverges. now: the last state that could be computed; good: the last good one."""
    return _too_fast(now, good, remedy(f, good, dt, integrator))


def diverged_own(now: State, good: State, dt: float) -> SimulationError:
    """The same, of a method with its own steps."""
    advice = f"Steps of {dt:g} s are too long, or a force is too stiff: use a smaller dt, or method 'aba'"
    return _too_fast(now, good, advice)


def _too_fast(now: State, good: State, advice: str) -> SimulationError:
    model = now.model
    dof = furthest(model, now.v)
    joint = model.joint_names[int(model.dof_body[dof])]
    unit = "rad/s" if turns(model)[dof] else f"{model.units.length}/s"
    speed = f"{abs(float(now.v[dof])):.3g} {unit}"
    what = f"at time {now.time:.6g} s joint {joint!r} moves at {speed}, which no force explains"
    if now.time == good.time:
        what = f"the step from time {now.time:.6g} s leads to numbers too large for float64"
    text = f"the run diverged: {what}; the last good state, at {good.time:.6g} s, is kept. {advice}"
    return SimulationError(text, now.time, joint, good)


def last_steady(states: Sequence[State], dt: float) -> State:
    """Of the last states of a run that cannot go on: the last one, or, if joints are FAR there, the last before they
    became faster and faster."""
    size = [float(np.abs(s.v / reach(s.model)).max(initial=0.0)) * dt for s in states]
    last = len(states) - 1
    if size[last] > FAR:
        while last > 0 and size[last] > STILL and size[last - 1] < size[last]:
            last -= 1
    return states[last]


def energy_grew(f: Dynamics, state: State, last: State, dt: float, integrator: str) -> SimulationError:
    """The error of a run whose energy grows; names the joint whose motion has most of it."""
    model = state.model
    H_v = inverse_dynamics(model, state.q, None, state.v) - inverse_dynamics(model, state.q, None, None)
    joint = model.joint_names[int(model.dof_body[int(np.argmax(state.v * H_v))])]
    return SimulationError(
        f"the run diverged: energy grows although nothing supplies any, at time {state.time:.6g} s, most of it at "
        f"joint {joint!r}. {remedy(f, last, dt, integrator)}",
        state.time,
        joint,
        last,
    )


def remedy(f: Dynamics, good: State, dt: float, integrator: str) -> str:
    """What to do about a run that diverges from a state, and is not done already."""
    if integrator == "dop853":
        return "The tolerances of integrator 'dop853' are too loose: use a smaller rtol and atol"
    too_long = f"Steps of {dt:g} s are too long for integrator {integrator!r}"
    if integrator == "implicit":
        return f"{too_long}, which is implicit in dampers, springs and limits of joints only: use a smaller dt"
    stiff = stiffest(f.model, f.forces.law, good.q)
    if stiff is not None and stiff.too_stiff(dt):
        how = "integrator 'implicit'" + ("" if f.method == "aba" else " and method 'aba'")
        return f"{too_long}, since {stiff}: use {how}, or a smaller dt"
    fixed = f.contacts is not None  # contacts need steps of fixed length
    better = [repr(x) for x in ("rk4", "dop853") if x != integrator and not (fixed and x == "dop853")]
    return f"{too_long}: use a smaller dt" + (f", or integrator {' or '.join(better)}" if better else "")
