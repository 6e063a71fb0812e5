"""Impacts: a body meets the ground and stays there, without bounce or slip [RR 8.5, in general form].

Nothing but the new support acts during the impact, so the momentum along every direction in which the tree can move
about it is conserved: for the compass, the angular momenta about the new foot and about the hip [RR (23), corrected:
that of the former stance leg]. With H the mass matrix of the re-rooted tree in its pose,

    H v+ = p-,    p-_j = sum over bodies of J_j^T (I_b V_b),  V_b as they were before, and armature_j v_j

which is forward dynamics with the momentum of each body as a wrench on it. O(n). The old support is released. Joints
that close loops to the world, or to another tree, stay and exert impulses, too: the support's own is then the wrench
of its joint in the same forward dynamics.

A body that is not held (joint="free") gets an impulse lam at the point, by the law of contact/solvers/cone.py: u_n
becomes -e u_n, and friction is within its cone. With W the response of the point to impulses there, u+ = u- + W lam.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import NotNegative, Triple, checked
from supple.contact.shape_tables import ROUGHEST
from supple.contact.solvers.blow import one_impulse
from supple.contact.solvers.impacts import ROUNDING, SOFTER
from supple.errors import SimulationError, StateError, quoted
from supple.exact.energy import kinetic_energy, momentum
from supple.exact.forward import forward_dynamics
from supple.exact.joint_wrenches import joint_wrenches
from supple.exact.kinematics import poses, velocities
from supple.model.joints import JointName, JointType
from supple.model.model import Model, listed
from supple.model.shapes import FRACTION
from supple.once import made_once
from supple.rerooting.reroot import Rerooted, reroot
from supple.rerooting.top_joint import TopJoint
from supple.simulating.state import checked_state

Floats = NDArray[np.float64]


@made_once("model")
@dataclass(frozen=True)
class Impact:
    """The tree on its new support, just after the impact.

    energy_lost: of kinetic energy, joules. impulse: (3,) of the support, N s, along world axes; if loops lead to other
    supports, those exert impulses besides, which are the smallest where they are not unique.
    """

    model: Model
    q: Floats
    v: Floats
    energy_lost: float
    impulse: Floats
    rerooted: Rerooted

    def __repr__(self) -> str:
        what = f"{self.energy_lost:.6g} J lost, impulse {listed(self.impulse)} N s"
        body = self.rerooted.number[self.rerooted.chain[-1]]
        return f"<Impact on {quoted(self.model.body_names[body])} of {quoted(self.model.name)}: {what}>"


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
    restitution: Annotated[float, FRACTION] = 0.0,
    **more: Any,
) -> Impact:
    """The body meets the world at a point and is attached to it from then on, by the joint; velocities jump.

    Arguments are those of reroot. Motion that the joint does not allow is lost; the motion that it allows follows from
    the conservation of momentum. Joints that were on the path to the old support move freely in the impact.

    normal: of the ground, outwards: an impulse that would pull the body towards it is refused. friction: of the ground,
    Coulomb's coefficient: an impulse outside the friction cone is refused, too, since the body would slip.

    With joint="free", a normal and friction, the ground does not hold the body: it bounces with the restitution, from 0
    to 1, and slips as far as friction lets it; coefficients above 1,000 count as 1,000, as in runs with contacts. Where
    friction would then add energy, restitution is halved until it does not.
    """
    if normal is None and (friction is not None or restitution > 0.0):
        raise StateError("impact: friction and restitution need the normal of the ground")
    q, v = checked_state(model, q, v)
    new = reroot(model, q, body=body, point=point, joint=joint, **more)
    ground = None if normal is None else _Ground(_axes(normal), friction, restitution)
    momenta, rotors = momenta_before(model, q, v, new)
    v_after = velocities_from(new, new.q, momenta, rotors)
    if ground is not None and _is_free(joint):
        v_after, impulse = _after_a_blow(new, v_after, ground)
    elif restitution > 0.0:
        raise StateError("impact: a body that bounces is not held by a joint; give joint='free', or no restitution")
    elif model.is_tree:
        impulse = momentum(new.model, new.q, v_after)[3:] - momentum(model, q, v)[3:]
    else:
        impulse = _of_the_support(new, momenta, rotors)
    lost = kinetic_energy(model, q, v) - kinetic_energy(new.model, new.q, v_after)
    root = int(new.chain[0])
    dropped = model.joints[root].v  # the rotor energy of the removed joint is lost
    lost -= 0.5 * float(np.sum(model.armature[dropped] * v[dropped] ** 2))
    if ground is not None and not _is_free(joint):
        _refuse_impulse(ground, impulse, model.body_names[int(new.chain[-1])])
    return Impact(new.model, new.q, v_after, float(lost), impulse, new)


class _Ground(NamedTuple):
    """What is hit. axes: (3, 3) its normal and two directions across."""

    axes: Floats
    friction: float | None
    restitution: float


def _axes(normal: ArrayLike) -> Floats:
    n = np.asarray(normal, dtype=np.float64)
    largest = np.abs(n).max()
    if not largest > 0:
        raise StateError("impact: normal has no direction")
    n = n / largest  # whose length overflows no number
    n /= np.linalg.norm(n)
    t = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    t /= np.linalg.norm(t)
    return np.array([n, t, np.cross(n, t)])


def _is_free(joint: str | TopJoint) -> bool:
    return joint == "free" or (isinstance(joint, TopJoint) and joint.shape.kind == JointType.FREE)


def _of_the_support(new: Rerooted, momenta: Floats, rotors: Floats) -> Floats:
    """The impulse of the new support, if loops may lead to others."""
    top = int(new.number[new.chain[-1]])
    acting, at_rest = (
        joint_wrenches(new.model, new.q, tau=tau, wrenches=pushes, joint=top)
        for tau, pushes in ((rotors, momenta), (None, None))
    )
    return np.asarray(acting[3:] - at_rest[3:])


def _after_a_blow(new: Rerooted, v: Floats, ground: _Ground) -> tuple[Floats, Floats]:
    """v+ of a tree on a free root, whose origin is the point that is hit, and the impulse; v before that."""
    if ground.friction is None:
        raise StateError("impact: a body that is not held needs the friction of the ground: give friction=..., or 0")
    model, q, root = new.model, new.q, int(new.number[new.chain[-1]])
    linear = slice(model.joints[root].v.start, model.joints[root].v.start + 3)
    # rows along the axes of the ground: velocities at the point from those of the root, forces there likewise
    at_root = ground.axes @ np.asarray(poses(model, q).rotation)[root]
    pushes, unit = np.zeros((4, model.n_bodies, 6)), model.total_mass  # which is N s: gravity is small beside it
    pushes[:3, root, 3:] = unit * at_root
    still = np.zeros((4, model.nv))
    response = forward_dynamics(model, np.tile(q, (4, 1)), still, still, pushes)
    response = response[:3] - response[3]  # without gravity
    u = at_root @ v[linear]
    if not u[0] < 0.0:
        raise SimulationError(
            f"{model.body_names[root]!r} leaves the ground there with {u[0]:.4g} m/s, and does not meet it"
        )
    W = response[:, linear] @ at_root.T
    bounce, impulse = ground.restitution, np.zeros(3)
    for attempt in range(SOFTER + 1):
        impulse = one_impulse(W, u + [bounce * u[0], 0.0, 0.0], min(ground.friction, ROUGHEST))
        if impulse @ ((1.0 + ROUNDING) * u + 0.5 * W @ impulse) <= 0.0:
            break
        bounce = 0.5 * bounce if attempt + 1 < SOFTER else 0.0
    return np.asarray(v + impulse @ response), np.asarray(unit * impulse @ ground.axes)


def _refuse_impulse(ground: _Ground, impulse: Floats, body: str) -> None:
    """Refuse what the ground cannot do."""
    along, *across_it = ground.axes @ impulse
    across, friction = float(np.linalg.norm(across_it)), ground.friction
    slack = 1e-9 * float(np.linalg.norm(impulse))
    if along < -slack:
        raise SimulationError(
            f"the ground would have to pull {body!r} with {-along:.4g} N s to stop it: it leaves the ground, and does "
            "not meet it"
        )
    if friction is not None and across > friction * along + slack:
        raise SimulationError(
            f"{body!r} would slip: stopping it takes {across:.4g} N s across the ground, and friction allows "
            f"{friction * along:.4g} N s; joint='free' lets it slip"
        )


def velocities_after(model: Model, q: Floats, v: Floats, new: Rerooted, new_q: Floats) -> Floats:
    """v+ of the re-rooted tree at new_q, from the motion of the old one."""
    return velocities_from(new, new_q, *momenta_before(model, q, v, new))


def velocities_from(new: Rerooted, new_q: Floats, momenta: Floats, rotors: Floats) -> Floats:
    """v+ of the re-rooted tree at new_q, from the momenta before."""
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
