"""The centroidal momentum matrix: momentum = A(q) v [Orin and Goswami 2008], from composite rigid bodies. O(n).

Degree of freedom k alone, at unit velocity, moves the composite body Ic of everything that it carries along its axis s:
column k is the momentum Ic s. It is computed at the body's origin, as in crba.py, and shifted to the reference point.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import choice, take
from supple.exact.call_kernels import ScratchRows
from supple.exact.calls import Algorithm, Q
from supple.exact.crba import CrbaBody, CrbaPath
from supple.exact.energy import center_of_mass
from supple.exact.motion import (
    DOF,
    PRISMATIC,
    REVOLUTE,
    joint_of,
    place,
    turn_ahead,
    turned_inertia,
    unit_mat,
    zero_vec,
)
from supple.model.model import Model
from supple.spatial.algebra import Force, Prismatic, Revolute, shift_force, shift_rigid, z_axis
from supple.spatial.compiler import helper
from supple.spatial.fields import Value
from supple.spatial.structs import Struct

Floats = NDArray[np.float64]
ABOUT = choice("com", "origin")


class Column(Struct):
    """A column of the matrix."""

    h = Value(Force)


column_among = Column.among


@helper
def momentum_columns(m, state, out, work):
    """The columns, one after another, about the world's origin."""
    path, bodies, S = work.path, work.bodies, work.S
    path[0].R, path[0].O = unit_mat(state.q[0]), zero_vec(state.q[0])
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, S, done, b)
        R, r = place(m, b, path[p].R, state.q, S)
        O = path[p].O + r
        path[i].R, path[i].O = R, O
        body = bodies[b]
        body.r, body.z, body.O, body.I = r, z_axis(R), O, turned_inertia(R, m.shapes[b])
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        Ic, O, z = bodies[b].I, bodies[b].O, bodies[b].z
        if m.bodies[b].has_children:
            Ic = Ic + path[i].Ic
        if kind == REVOLUTE:
            column_among(out, 6 * j).h = shift_force(O, Ic @ Revolute(z))
        elif kind == PRISMATIC:
            column_among(out, 6 * j).h = shift_force(O, Ic @ Prismatic(z))
        else:
            for k in range(j, j + DOF[kind]):
                column_among(out, 6 * k).h = shift_force(O, Ic @ S.axes[k].s)
        if m.bodies[b].parent >= 0:
            Ic = shift_rigid(bodies[b].r, Ic)
            if i != p:  # not the last child: later children have already stored theirs there
                Ic = Ic + path[p].Ic
            path[p].Ic = Ic
    return 1.0


COLUMNS = Algorithm(
    "momentum matrix", momentum_columns, ScratchRows(CrbaPath, CrbaBody), (Q, None, None, None), lambda m: (m.nv, 6)
)


def momentum_matrix(model: Model, q: ArrayLike, about: Literal["com", "origin"] = "com") -> Floats:
    """(6, nv) A with A v the momentum of all bodies along world axes, angular first, the angular part about the centre
    of mass (the centroidal momentum matrix) or about the world's origin. A batch of q gives (B, 6, nv)."""
    take("momentum_matrix: about", about, ABOUT)
    A: Floats = np.swapaxes(COLUMNS(model, q, None, None, None), -1, -2).copy()
    if about == "com":
        A[..., :3, :] -= np.cross(center_of_mass(model, q)[..., None], A[..., 3:, :], axis=-2)
    return A
