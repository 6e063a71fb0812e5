"""Divergence: steps that no longer follow the forces, by which joints become faster and faster.

Every step knows `off`, how much the velocities that it computes depend on where in the step the forces are looked at:

    Runge-Kutta 4     h (a_4 - a_1), of its last and first stage
    Euler             4 times the change of velocity minus that of the step before
    implicit          4 (v2 - v1), of its halves and its whole

A step is *rough* if off is larger than the velocity itself, at some joint: it does not resolve the motion there. A
damper or spring that is too stiff for the step makes every step rough, as do forces that throw a joint about; an
impact, a switched force or a motion that starts makes a few of them rough. However fast a joint may be, steps are
smooth while its acceleration changes little.

Steps diverge if COUNT of them in a row are rough and some joint, where they are, is FAR: it moves by a radian, or by
the size of the largest body, in a single step. The last good state is that before the first of them. Motions slower
than STILL of that are never rough.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.model.joints import KINDS
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.addresses import vector
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integer
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing
from supple.spatial.structs import Struct

Floats = NDArray[np.float64]

COUNT = 8  #: rough steps in a row
FAR = 1.0  #: radians, or sizes of the largest body, in a step
STILL = 1e-3  #: of FAR
NEVER = 1 << 62
WEIGHT = 4.0  #: of differences between changes of velocity


class Growth(Struct):
    """What is remembered of a run's steps."""

    nq = Integer()
    nv = Integer()
    fast = fields.Floats()  # (nv,) the speeds that are FAR in a step
    last = fields.Floats()  # (nv,) change of velocity in the last step
    known = Integer()  # whether there was a last step
    q = fields.Floats()  # the state before the first rough step
    v = fields.Floats()
    rough = Integer()  # how many rough steps there were since, up to now
    count = Integer()  # how many are divergence


@helper
def change_into(growth, v0, v1, off):
    """off of an Euler step. The first one is in doubt only where it alone makes a joint FAR."""
    for j in range(growth.nv):
        change = v1[j] - v0[j]
        expected = growth.last[j] if growth.known else 0.0 if abs(change) > growth.fast[j] else change
        off[j] = WEIGHT * (change - expected)
        growth.last[j] = change
    growth.known = 1


@helper
def note_step(growth, q0, v0, v1, off):
    """Remember a step from q0, v0 to v1. Returns whether the steps diverge."""
    rough = far = False
    for j in range(growth.nv):
        speed, fast = max(abs(v0[j]), abs(v1[j])), growth.fast[j]
        if not abs(off[j]) <= max(speed, STILL * fast):
            rough, far = True, far or not speed <= fast
    if not rough:
        growth.rough = 0
        return False
    if growth.rough == 0:
        for i in range(growth.nq):
            growth.q[i] = q0[i]
        for j in range(growth.nv):
            growth.v[j] = v0[j]
    growth.rough += 1
    return far and growth.rough >= growth.count


_vector = types.float64[::1]


@kernel(types.boolean(Growth.type, _vector, _vector, _vector, _vector, types.boolean), "divergence")
def growth_kernel(growth, q0, v0, v1, off, euler):
    if euler:
        change_into(growth, vector(v0), vector(v1), vector(off))
    return note_step(growth, vector(q0), vector(v0), vector(v1), vector(off))


class Steadiness(Pointing):
    """Follows the steps of a run of length dt, until they diverge."""

    _pointers = ("growth", "_note")

    def __init__(self, model: Model, dt: float) -> None:
        self._model, self._dt = model, dt
        self._point()

    def _point(self) -> None:
        m = self._model
        self.growth: Held = Growth.of(
            nq=m.nq, nv=m.nv, fast=reach(m) / self._dt, last=np.zeros(m.nv), q=np.zeros(m.nq), v=np.zeros(m.nv),
            count=COUNT,
        )  # fmt: skip
        self._note = growth_kernel.load()

    def mind(self, diverging: bool) -> None:
        """Whether steps that diverge are reported, rather than followed for as long as there are numbers."""
        self.growth.count = COUNT if diverging else NEVER

    def note(self, q0: Floats, v0: Floats, v1: Floats, off: Floats | None) -> bool:
        """Remember a step; None: off of an Euler step. Returns whether the steps diverge."""
        euler = off is None
        return bool(self._note(self.growth.address, q0, v0, v1, np.empty_like(v0) if off is None else off, euler))

    @property
    def rough(self) -> int:
        """How many of the last steps were rough, without a smooth one between."""
        return int(self.growth.rough)

    @property
    def good(self) -> tuple[Floats, Floats]:
        """q and v before the first of them."""
        return self.growth.q.copy(), self.growth.v.copy()


def furthest(model: Model, v: Floats) -> int:
    """The degree of freedom that moves furthest, relative to its reach."""
    return int(np.argmax(np.abs(v) / reach(model)))


def reach(model: Model) -> Floats:
    """(nv,) how far each degree of freedom goes in a step that is FAR: a radian, or the size of the largest body."""
    return FAR * np.where(turns(model), 1.0, body_size(model))


def turns(model: Model) -> NDArray[np.bool_]:
    """(nv,) which degrees of freedom are rotations."""
    out = np.zeros(model.nv, dtype=bool)
    for kind, joint in KINDS.items():
        first = model.v_index[model.joint_type == kind]
        for k, direction in enumerate(joint.allowed.split()):
            out[first + k] = direction[0] == "a"
    return out


def body_size(model: Model) -> float:
    """The largest distance of a joint or a centre of mass from its body's joint, or radius of gyration; 1 if all are
    zero."""
    moments = np.maximum(np.trace(model.inertia, axis1=1, axis2=2), 0.0)
    gyration = np.sqrt(moments / np.where(model.mass > 0.0, model.mass, np.inf))
    sizes = [np.linalg.norm(x, axis=1).max(initial=0.0) for x in (model.position[model.parent >= 0], model.com)]
    return float(max(*sizes, gyration.max(initial=0.0))) or 1.0
