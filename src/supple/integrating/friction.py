"""Dry friction in explicit steps.

The friction of a joint is a damper of limited force F (model_law.py), with a slope d at rest. In a step of length h it
changes the joint's velocity by up to h F times the joint's entry of H^-1, which depends on the posture and on all other
bodies. If that is more than the slip speed, explicit steps do not stop the joint: friction throws it to the other side,
at every stage and every step, however slow it was. It *jumps* if its force changes by more than half of F between two
evaluations that follow each other, as it may also do where a joint starts or stops to slide. Then

    exact runs       take this step by the implicit integrator (implicit.py) instead
    adaptive runs    take it again, with the armatures h F / |v| of implicit.py at the joints

by which the joint loses a part of its velocity in every step, until it is slower than its slip speed. In adaptive
dynamics, friction at a joint that is slower than this is always implicit.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.integrating.joint_law import LAW, by_name, law_among
from supple.spatial.addresses import vector
from supple.spatial.compiler import helper, kernel

Floats = NDArray[np.float64]


@helper
def is_friction(law):
    """Whether a row is dry friction: a damper of limited force, to rest, and nothing else."""
    return law.most < math.inf and law.damper > 0.0 and law.stiffness == 0.0 and law.rate == 0.0


@helper
def jumps(law, u, w):
    """Whether the friction of a row jumps between the velocities u and w."""
    f, g = law.damper * u, law.damper * w
    f, g = min(max(f, -law.most), law.most), min(max(g, -law.most), law.most)
    return abs(f - g) > 0.5 * law.most


@helper
def friction_jumps(laws, size, u, w):
    """Whether some friction of a law, a flat array of `size` numbers, jumps between velocities u and w."""
    for k in range(0, size, LAW):
        law = law_among(laws, k)
        if is_friction(law) and jumps(law, u[int(law.dof)], w[int(law.dof)]):
            return True
    return False


@helper
def brake(law, u, sliding):
    """The slope of a friction's force at velocity u: that of the line through zero. sliding: also where its force is
    limited; otherwise zero there."""
    speed = abs(u) * law.damper
    if speed <= law.most:
        return law.damper
    return law.damper * (law.most / speed) if sliding else 0.0


_vector = types.float64[::1]


@kernel(types.boolean(_vector, _vector, _vector), "jumps of friction")
def jumps_kernel(law, u, w):
    return friction_jumps(law, law.shape[0], vector(u), vector(w))


def friction_rows(rows: Floats) -> Floats:
    """Those rows (k, LAW) of a law that are dry friction."""
    law = by_name(rows)
    limited = (law["most"] < np.inf) & (law["damper"] > 0.0) & (law["stiffness"] == 0.0) & (law["rate"] == 0.0)
    return rows[limited]
