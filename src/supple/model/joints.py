"""The joint types: their names, their coordinates, and their rest and random positions.

The frame of a joint is fixed to the parent body (position and rotation given there); the body's own frame
coincides with it at the neutral position. Layouts are Pinocchio's:

    type         q                        v                                    motion of the body
    revolute     angle                    rate                                 about `axis`
    continuous   angle, no limits         rate                                 about `axis`
    prismatic    displacement             rate                                 along `axis`
    screw        angle                    rate                                 about `axis`, `pitch` metres per radian
    cylindrical  angle, displacement      rates                                about and along `axis`
    universal    angle 1, angle 2         rates                                about `axis`, then perpendicular `axis2`
    planar       x, y, cos, sin           x, y and turning rate, body's frame  in the plane normal to `axis`
    ball         quaternion (x, y, z, w)  angular velocity, body's frame       any rotation
    free         x, y, z, quaternion      linear, angular, body's frame        any motion
    fixed        nothing                  nothing                              none: merged into its parent
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, get_args

JointName = Literal[
    "fixed", "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "ball", "free", "continuous"
]

JOINT_NAMES: tuple[str, ...] = get_args(JointName)


class JointType(IntEnum):
    """What the kernels branch on. They treat a continuous joint as a revolute one."""

    FIXED = 0
    REVOLUTE = 1
    PRISMATIC = 2
    SCREW = 3
    CYLINDRICAL = 4
    UNIVERSAL = 5
    PLANAR = 6
    BALL = 7
    FREE = 8
    CONTINUOUS = 9

    @property
    def nq(self) -> int:
        return NQ[self]

    @property
    def nv(self) -> int:
        return NV[self]


#              fixed rev prism screw cyl univ planar ball free cont
NQ: tuple[int, ...] = (0, 1, 1, 1, 2, 2, 4, 4, 7, 1)
NV: tuple[int, ...] = (0, 1, 1, 1, 2, 2, 3, 3, 6, 1)

#: The position of the unit vector within a joint's q, and its length: (first, length).
UNIT_PART: dict[JointType, tuple[int, int]] = {
    JointType.PLANAR: (2, 2),
    JointType.BALL: (0, 4),
    JointType.FREE: (3, 4),
}

#: The joints whose axis is meaningful.
HAS_AXIS = frozenset(
    {
        JointType.REVOLUTE,
        JointType.CONTINUOUS,
        JointType.PRISMATIC,
        JointType.SCREW,
        JointType.CYLINDRICAL,
        JointType.UNIVERSAL,
        JointType.PLANAR,
    }
)
