"""What happens when a foot lands, compiled: the change of root and the impact [RR 8.5], as impacts.py has them.

The new support joint is revolute; its angle is the rotation of the foot's body about it. All other joints keep their
coordinates (rerooting/reroot.py). The momenta of the bodies before are wrenches on the new tree, H v+ = p-, and what
gravity does there is subtracted.
"""

from __future__ import annotations

from math import atan2
from typing import Any

import numpy as np

from supple.errors import StateError
from supple.exact.aba import ABA, aba, aba_scratch
from supple.exact.call_kernels import Call, no_wrenches, scratch_opener
from supple.exact.kinematics import MOVING, VELOCITIES, place_world
from supple.exact.motion import CallState, joint_of, move, turn_ahead, zero_vec
from supple.exact.tables import Wrench
from supple.model.joints import JointType
from supple.model.manifold import PLAIN
from supple.rerooting.reroot import Rerooted
from supple.spatial import fields
from supple.spatial.algebra import Force, Mat3, Motion, Vec3, cross, rotate_motion, transpose
from supple.spatial.compiler import helper
from supple.spatial.fields import Address, Integer, Integers, Number, Value
from supple.spatial.held import Held
from supple.spatial.structs import Link, Struct, Table

wrenches_at = Wrench.table
moving_scratch, _ = scratch_opener(MOVING)


class Landed(Struct):
    """A body of the old tree, and its place in the new one."""

    mass = Number()
    com = Value(Vec3)
    inertia = Value(Mat3)
    shift = Value(Vec3)  # its new origin
    number = Integer()  # its new number


class Landing(Struct):
    """From a tree to the one with the other root."""

    motion = Link(Call)  # of the old tree
    aba = Link(Call)  # of the new one
    bodies = Table(Landed)
    root = Integer()  # the body that becomes the root
    top = Integer()  # its coordinate in the new tree
    turn = Value(Mat3)  # of the new joint's frame
    axis = Value(Vec3)  # of the new joint
    source = Integers()  # (nv,) where coordinates come from
    armature = fields.Floats()  # (nv,)
    momenta = Address()  # (n, 6) a Wrench for each new body
    rotors = fields.Floats()  # (nv,) momenta of the joints' own
    still = fields.Floats()  # (nv,) zeros
    fallen = fields.Floats()  # (nv,)


@helper
def land(x, q, v, new_q, new_v):
    """From q and v at a touchdown to new_q and new_v after the impact. Returns whether the mass matrix is regular."""
    R, nv = _carry_momenta(x, q, v), x.aba.model.nv
    for j in range(nv):
        new_q[j] = q[x.source[j]]
        x.rotors[j] = x.armature[x.source[j]] * v[x.source[j]]
    new_q[x.top], x.rotors[x.top] = _angle(x, R), 0.0
    m, work = x.aba.model, aba_scratch(x.aba)
    D = aba(m, CallState(new_q, x.still, x.rotors, True, wrenches_at(x.momenta)), new_v, work)
    smallest = aba(m, CallState(new_q, x.still, x.still, False, no_wrenches()), x.fallen, work)
    for j in range(nv):
        new_v[j] -= x.fallen[j]
    return min(D, smallest) > 0.0


@helper
def _carry_momenta(x, q, v):
    """p-: the momentum of each body in its frame, about its new origin. Returns the rotation of the new root."""
    call = x.motion
    m, work, momenta = call.model, moving_scratch(call), wrenches_at(x.momenta)
    path, S, zero = work.path, work.S, zero_vec(q[0])
    place_world(q[0], path[0])
    path[0].V = Motion(zero, zero)
    done, found = 0, path[0].R
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, _, V, _ = move(m, b, path[p].R, path[p].V, q, v, S)
        path[i].R, path[i].V = R, V
        own, body = R @ m.outward[b].R, x.bodies[b]
        V = rotate_motion(transpose(own), V)
        linear = (V.lin + cross(V.ang, body.com)) * body.mass
        angular = body.inertia @ V.ang + cross(body.com - body.shift, linear)
        momenta[body.number].f = Force(angular, linear)
        if b == x.root:
            found = own
    return found


@helper
def _angle(x, R):
    """Of a body with this rotation: T^T R is one about the new joint's axis."""
    A = transpose(x.turn) @ R
    sine = x.axis.x * (A.r2.y - A.r1.z) + x.axis.y * (A.r0.z - A.r2.x) + x.axis.z * (A.r1.x - A.r0.y)
    return atan2(0.5 * sine, 0.5 * (A.r0.x + A.r1.y + A.r2.z - 1.0))


def landing(to: Rerooted) -> Held:
    """The struct of a change of root."""
    old, new, top = to._old, to.model, to._new_top
    root = int(to.chain[-1])
    if top.shape.kind != JointType.REVOLUTE or not np.isin(old.joint_type, PLAIN).all():
        raise StateError(f"{old.name!r}: walks of many states are for support joints that are revolute")
    bodies: Any = Landed.zeros(old.n_bodies)
    bodies["mass"], bodies["com"], bodies["shift"] = old.mass, old.com, to.shift
    bodies["inertia"], bodies["number"] = old.inertia.reshape(-1, 9), to.number
    zeros = {name: np.zeros(new.nv) for name in ("rotors", "still", "fallen")}
    out: Held = Landing.of(
        motion=VELOCITIES["body"].work(old).call, aba=ABA.work(new).call, bodies=bodies, root=root,
        top=new.joints[int(to.number[root])].q.start, turn=top.rotation.reshape(9), axis=top.shape.axis,
        source=np.ascontiguousarray(to._of_v), armature=old.armature, momenta=np.zeros((new.n_bodies, 6)), **zeros,
    )  # fmt: skip
    return out
