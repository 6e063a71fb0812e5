"""Inverse dynamics: the joint forces that produce accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import several, take
from supple.exact.loop_dynamics import actuated_forces
from supple.exact.rnea import RNEA
from supple.exact.state_errors import MODEL
from supple.model.model import Model
from supple.spatial.cpu import ODD


def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    actuated: Sequence[str | int] | None = None,
) -> NDArray[np.float64]:
    """The joint forces that produce accelerations a: tau = H(q) a + C(q, v), damping and armature included.

    v or a None means zeros.

    q (nq,), v, a (nv,); wrenches (n_bodies, 6) act on the bodies, each in its body's frame about its origin, angular
    first. Any of them may have a leading batch axis; the result is (nv,) or (B, nv).

    actuated: of a model with loops, the joints that have motors, by name or index. The other joints get no force; these
    get the smallest forces that produce a, while loop joints carry what they must. Without it every joint has a motor,
    and loop joints carry nothing. One state, no batch.
    """
    if actuated is not None:
        take("model", model, MODEL)
        joints = take("inverse_dynamics: actuated", actuated, several(None))
        return actuated_forces(model, q, v, a, wrenches, joints)
    try:
        tau: Any = model._fast["rnea"](q, v, a, wrenches)
    except (KeyError, AttributeError):  # not called before, or no model
        tau = ODD
    if tau.__class__ is int:
        return RNEA.general(model, q, v, a, wrenches)
    result: NDArray[np.float64] = tau
    return result


def bias_force(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, wrenches: ArrayLike | None = None
) -> NDArray[np.float64]:
    """C(q, v): the joint forces that keep accelerations at zero, against gravity, velocity, damping and wrenches.

    v None means at rest: the force of gravity. Shapes as in inverse_dynamics.
    """
    return RNEA(model, q, v, None, wrenches)
