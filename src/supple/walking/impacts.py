"""Impacts: a body meets the ground and stays there, without bounce or slip [RR 8.5, in general form].

Nothing but the new support acts during the impact, so the momentum along every direction in which the tree can move
about it is conserved: for the compass, the angular momenta about the new foot and about the hip [RR (23), corrected:
that of the former stance leg]. With H the mass matrix of the re-rooted tree in its pose,

    H v+ = p-,    p-_j = sum over bodies of J_j^T (I_b V_b),  V_b as they were before, and armature_j v_j

which is forward dynamics with the momentum of each body as a wrench on it. O(n). The old support is released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import NotNegative, Triple, checked
from supple.errors import SimulationError, StateError, quoted
from supple.exact.energy import kinetic_energy, momentum
from supple.exact.forward import forward_dynamics
from supple.exact.kinematics import velocities
from supple.model.joints import JointName
from supple.model.model import Model, listed
from supple.once import made_once
from supple.rerooting.reroot import Rerooted, reroot
from supple.rerooting.top_joint import TopJoint
from supple.simulating.state import checked_state

Floats = NDArray[np.float64]


@made_once("model")
@dataclass(frozen=True)
class Impact:
    """The tree on its new support, just after the impact.

    energy_lost: of kinetic energy, joules. impulse: (3,) of the support, N s, along world axes.
    """

    model: Model
    q: Floats
    v: Floats
    energy_lost: float
    impulse: Floats
    rerooted: Rerooted

    def __repr__(self) -> str:
        what = f"{self.energy_lost:.6g} J lost, impulse {listed(self.impulse)} N s"
        return f"<Impact on {quoted(self.model.body_names[0])} of {quoted(self.model.name)}: {what}>"


@checked
def impact(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    body: str | int,
    point: Triple | None = None,
    joint: JointName | TopJoint = "revolute",
    normal: Triple | None = None,
    friction: NotNegative | None = None,
    **more: Any,
) -> Impact:
    """The body meets the world at a point and is attached to it from then on, by the joint; velocities jump.

    Arguments are those of reroot. Motion that the joint does not allow is lost; the motion that it allows follows from
    the conservation of momentum. Joints that were on the path to the old support move freely in the impact.

    normal: of the ground, outwards: an impulse that would pull the body towards it is refused. friction: of the ground,
    Coulomb's coefficient: an impulse beyond it, with which the body would slip, is refused, too. Bodies that slip or
    bounce are simulated with contacts (supple.Contacts).
    """
    if friction is not None and normal is None:
        raise StateError("impact: friction needs the normal of the ground")
    new = reroot(model, q, body=body, point=point, joint=joint, **more)
    q, v = checked_state(model, q, v)
    v_after = velocities_after(model, q, v, new, new.q)
    lost = kinetic_energy(model, q, v) - kinetic_energy(new.model, new.q, v_after)
    root = int(new.chain[0])
    dropped = model.joints[root].v  # the rotor energy of the removed joint is lost
    lost -= 0.5 * float(np.sum(model.armature[dropped] * v[dropped] ** 2))
    impulse = momentum(new.model, new.q, v_after)[3:] - momentum(model, q, v)[3:]
    if normal is not None:
        _refuse_impulse(impulse, np.asarray(normal, dtype=np.float64), friction, new.model.body_names[0])
    return Impact(new.model, new.q, v_after, float(lost), impulse, new)


def _refuse_impulse(impulse: Floats, normal: Floats, friction: float | None, body: str) -> None:
    """Refuse what the ground cannot do."""
    length = np.linalg.norm(normal)
    if not length > 0:
        raise StateError("impact: normal has no direction")
    along = float(impulse @ normal / length)
    across = float(np.linalg.norm(impulse - along * normal / length))
    slack = 1e-9 * float(np.linalg.norm(impulse))
    if along < -slack:
        raise SimulationError(
            f"the ground would have to pull {body!r} with {-along:.4g} N s to stop it: it leaves the ground, and does "
            "not meet it"
        )
    if friction is not None and across > friction * along + slack:
        raise SimulationError(
            f"{body!r} would slip: stopping it takes {across:.4g} N s across the ground, and friction allows "
            f"{friction * along:.4g} N s; simulate(..., contacts=supple.Contacts(...)) lets it slip"
        )


def velocities_after(model: Model, q: Floats, v: Floats, new: Rerooted, new_q: Floats) -> Floats:
    """v+ of the re-rooted tree at new_q, from the motion of the old one."""
    momenta, rotors = momenta_before(model, q, v, new)
    still = np.zeros(new.model.nv)
    at_rest = forward_dynamics(new.model, new_q, still)  # the effect of gravity there
    out: Floats = forward_dynamics(new.model, new_q, still, rotors, momenta) - at_rest
    return out


def momenta_before(model: Model, q: Floats, v: Floats, new: Rerooted) -> tuple[Floats, Floats]:
    """For the old tree, in the new one's order: the momentum of each body in its frame, about its new origin, and of
    each joint's rotor. (About the old origin first, that of a light foot would be swamped by a heavy hip's.)"""
    V = velocities(model, q, v, "body").spatial
    w = V[..., :3]
    linear = model.mass[:, None] * (V[..., 3:] + np.cross(w, model.com))
    angular = np.einsum("nij,...nj->...ni", model.inertia, w) + np.cross(model.com - new.shift, linear)
    momenta = np.empty_like(V)
    momenta[..., new.number, :] = np.concatenate([angular, linear], axis=-1)
    return momenta, new.forces(model.armature * v)
