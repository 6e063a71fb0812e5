"""The errors of adaptive dynamics, in words."""

from __future__ import annotations

from supple.adaptive.steps import NOT_FINITE
from supple.contact.outcomes import words_for_unsolved
from supple.errors import SimulationError, SingularError
from supple.exact.loop_dynamics import row_names
from supple.model.model import Model
from supple.spatial.held import Held


def singular(model: Model, body: int | None) -> SingularError:
    where = "a body" if body is None else f"body {model.body_names[body]!r}"
    return SingularError(
        f"{where}, with what is joined to it, has no inertia in some direction, or too little for float64 to resolve "
        "next to what it carries; give it mass and inertia"
    )


def too_few_digits(model: Model, worst: tuple[int, float, float]) -> SingularError:
    """worst: of LightBodies."""
    body, own, carried = worst
    return SingularError(
        "guaranteed=True takes accelerations from the assembly tree, which has too few digits here: body "
        f"{model.body_names[body]!r} has a moment of inertia of {own:.3g} kg m^2 and carries up to {carried:.3g} kg "
        "m^2 (a mass times the square of the longest lever); leave guaranteed out, or use simulate(method='aba')"
    )


def unstable(model: Model, memory: Held, ended: int, dt: float) -> SimulationError:
    """A run that ended NOT_FINITE or UNSTABLE. memory: its HybridBody, before the kept state is restored."""
    joint = model.joint_names[int(memory.worst)]
    if ended == NOT_FINITE:
        what = f"the velocity of joint {joint!r} is no longer finite"
    else:
        grown = memory.grown + memory.lent
        rest = max(0.0, memory.there - grown)
        what = f"energy grows without work being done, by {grown:.3g} J from {rest:.3g} J (fastest: joint {joint!r})"
    return SimulationError(
        f"the run diverged: at time {memory.time:.6g} s {what}: the step of {dt:g} s is too long, or a force too "
        f"stiff; the state of time {memory.kept_time:.6g} s is kept"
    )


def broken(model: Model, memory: Held, dt: float) -> SimulationError:
    """A run that ended BROKEN. memory: as above."""
    loops = memory.closing
    return SimulationError(
        f"at time {memory.time:.6g} s: {row_names(model)[loops.worst]} breaks open: a gap of {loops.left:.3g} (metres "
        f"or radians) cannot be closed; use shorter steps than {dt:g} s, or let more joints move; the state of time "
        f"{memory.kept_time:.6g} s is kept"
    )


def unsolved(memory: Held, dt: float) -> SimulationError:
    """A run whose touches could not be solved. memory: as above."""
    touching = memory.touching
    return SimulationError(
        f"at time {memory.time:.6g} s {words_for_unsolved(touching.scene.n, touching.fault)}; use shorter steps than "
        f"{dt:g} s, a larger Contacts(tolerance=...), or less friction; the state of time {memory.kept_time:.6g} s is "
        "kept"
    )
