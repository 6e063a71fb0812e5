"""Wrenches on bodies in a step: those in its middle, where forces act if it is not divided.

In shorter parts, and where forces act earlier, bodies have other orientations. Wrenches keep their directions in the
world, so that the impulse of a push is that of its force, and springs between bodies keep their momentum, however the
step is divided.
"""

from __future__ import annotations

from numba import types

from supple.contact.steps.finishing import move_by
from supple.contact.steps.landing import Landing, move_bodies
from supple.integrating.stages import place_stage, slope_of
from supple.spatial.algebra import rotate_force, transpose
from supple.spatial.compiler import helper, kernel


@helper
def go_halfway(landing, h):
    """Moves q and v from q0 and v0 to the middle of a step of length h."""
    step, landing.placed = landing.implicit.body.step, 0
    place_stage(step, 0, 0.0)
    move_by(step.model, step, slope_of(step, 0), step.v, 0.5 * h)


@kernel(types.void(Landing.type, types.float64), "where forces act in a step")
def move_halfway(landing, h):
    """go_halfway, for Python."""
    go_halfway(landing, h)


@kernel(types.void(Landing.type, types.float64), "pushes of a step")
def hold_pushes(landing, h):
    """Keeps the wrenches of a step of length h from q0 and v0 along world axes."""
    step, implicit = landing.implicit.body.step, landing.implicit
    go_halfway(landing, h)
    m = step.model
    move_bodies(m, step.q, step.v, landing.placing)
    for b in range(m.n):
        R = landing.scene.bodies[b].R @ m.outward[b].R
        landing.pushes[b].f = rotate_force(R, implicit.wrenches[b].f)


@helper
def aim_pushes(landing):
    """The wrenches along the axes of bodies as they are placed."""
    implicit = landing.implicit
    m = implicit.body.step.model
    for b in range(m.n if implicit.pushed else 0):
        R = landing.scene.bodies[b].R @ m.outward[b].R
        implicit.wrenches[b].f = rotate_force(transpose(R), landing.pushes[b].f)
