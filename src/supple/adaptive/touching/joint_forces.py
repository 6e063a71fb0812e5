"""Joint forces of a hybrid body in a part of a step with contact: linear in the velocity at its end, as implicit.py has
them for whole bodies.

The slopes of the forces are added to the armatures of joints while a part is solved.
"""

from __future__ import annotations

from supple.adaptive.reduced import first_law
from supple.adaptive.touching.memory import touching_of
from supple.integrating.implicit import LIMIT
from supple.integrating.joint_law import LAW, law_among, law_line
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper


@helper
def line_through_beginning(hybrid, m, x):
    """Linearizes joint forces about the velocities at the beginning of a part."""
    if hybrid.n_rows == 0:
        return
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            row = first_law(hybrid, j)
            while row > 0:
                touching_of(hybrid).through[row - 1] = x.v[j]
                row = hybrid.controlled[x.nv + row - 1]


@helper
def line_up(hybrid, m, x, h):
    """The forces of active joints, linear in the velocity at the end of a part of length h: their values in x.drive,
    and their slopes in armatures [implicit.py]."""
    armature, touching = hybrid.body.tree.armature, touching_of(hybrid)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            force, slopes, row = hybrid.controls[j], h * m.dofs[j].damping, first_law(hybrid, j)
            while row > 0:
                law, u = law_among(hybrid.controls, x.nv + LAW * (row - 1)), touching.through[row - 1]
                f, stiffness, damper, piece = law_line(law, x.q[int(law.coordinate)] + h * u, u)
                slope = damper + h * stiffness
                force += f + slope * (u - x.v[j])
                slopes += h * slope
                touching.pieces[row - 1] = piece
                row = hybrid.controlled[x.nv + row - 1]
            x.drive[j] = force
            m.dofs[j].armature = armature[j] + slopes


@helper
def reline(hybrid, m, x, h):
    """Linearizes joint forces about the velocities at the end, where these are on another piece of their law than
    assumed. Returns whether there are any."""
    touching, found = touching_of(hybrid), False
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            row, u = first_law(hybrid, j), touching.end[j]
            while row > 0:
                law, through = law_among(hybrid.controls, x.nv + LAW * (row - 1)), touching.through[row - 1]
                piece = law_line(law, x.q[int(law.coordinate)] + h * u, u)[3]
                engages = abs(touching.pieces[row - 1]) < LIMIT <= abs(piece)
                slope = law.damper + h * law.stiffness
                if engages or (abs(touching.pieces[row - 1]) < LIMIT and slope * abs(u - through) > 0.1 * law.most):
                    touching.through[row - 1], found = u, True
                row = hybrid.controlled[x.nv + row - 1]
    return found


@helper
def restore_armatures(hybrid, m):
    """Restores the armatures of the model."""
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            m.dofs[j].armature = hybrid.body.tree.armature[j]
