"""The joint types, each declared once: everything else that depends on the type of a joint follows from KINDS, and
from how it moves (joint_poses.py, compiled; joint_motion.py, the inverse).

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

from dataclasses import dataclass
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


#: Directions of a frame, in the order of spatial vectors: rotations about its axes, translations along them.
DIRECTIONS = ("ax", "ay", "az", "lx", "ly", "lz")


@dataclass(frozen=True)
class JointKind:
    """A joint type. Directions are those of the body's frame as it is inside kernels (kernel_frames.py): `axis` is z
    there; if there are two axes, `axis` is x and `axis2` z."""

    forbidden: str  #: directions, in the order of the adapted basis of assembly/frames.py
    allowed: str  #: in the order of the velocities
    axes: int = 1  #: how many of `axis`, `axis2` it has
    angles: int = 0  #: how many of its coordinates, the first ones, are angles that are added
    pitched: bool = False  #: a rotation about z also moves by `pitch` along it
    unit: tuple[int, int] | None = None  #: the unit vector within q: its position and length; None: coordinates add
    one: int = 0  #: where the unit vector is 1 at the neutral position
    swaps: bool = False  #: its two motions do not commute: they change places when the joint is reversed
    urdf: str | None = None  #: what URDF calls it, if it has it
    urdf_split: tuple[str, str] | None = None  #: the two joints that URDF has in its place, about its axes in turn
    mujoco: str | None = None  #: what MuJoCo calls it

    @property
    def nv(self) -> int:
        return len(self.allowed.split())

    @property
    def nq(self) -> int:
        return self.nv + (self.unit is not None)  # a unit vector has one number more than degrees of freedom

    @property
    def turns(self) -> bool:
        return "a" in self.allowed

    @property
    def slides(self) -> bool:
        return "l" in self.allowed or self.pitched


KINDS: dict[JointType, JointKind] = {
    JointType.FIXED: JointKind("lx ly lz ax ay az", "", axes=0, urdf="fixed"),
    JointType.REVOLUTE: JointKind("lx ly ax ay lz", "az", angles=1, urdf="revolute", mujoco="mjJNT_HINGE"),
    JointType.CONTINUOUS: JointKind("lx ly ax ay lz", "az", angles=1, urdf="continuous", mujoco="mjJNT_HINGE"),
    JointType.PRISMATIC: JointKind("lx ly ax ay az", "lz", urdf="prismatic", mujoco="mjJNT_SLIDE"),
    JointType.SCREW: JointKind("lx ly ax ay lz", "az", angles=1, pitched=True),
    JointType.CYLINDRICAL: JointKind("lx ly ax ay", "az lz", angles=1, urdf_split=("revolute", "prismatic")),
    JointType.UNIVERSAL: JointKind(  # of the frame between its two rotations
        "lx ly lz ay", "ax az", axes=2, angles=2, swaps=True, urdf_split=("revolute", "revolute")
    ),
    JointType.PLANAR: JointKind("lz ax ay", "lx ly az", unit=(2, 2), one=2, urdf="planar"),
    JointType.BALL: JointKind("lx ly lz", "ax ay az", axes=0, unit=(0, 4), one=3, mujoco="mjJNT_BALL"),
    JointType.FREE: JointKind(
        "", "lx ly lz ax ay az", axes=0, unit=(3, 4), one=6, urdf="floating", mujoco="mjJNT_FREE"
    ),
}

# By the number of a type, for kernels and for columns of a model.
_EACH = tuple(KINDS[JointType(k)] for k in range(len(JointType)))
NQ: tuple[int, ...] = tuple(kind.nq for kind in _EACH)
NV: tuple[int, ...] = tuple(kind.nv for kind in _EACH)
#: As kernels see it: a continuous joint is a revolute one.
IN_KERNELS: tuple[int, ...] = tuple(
    int(JointType.REVOLUTE if t == JointType.CONTINUOUS else t) for t in sorted(JointType)
)
ANGLES: tuple[int, ...] = tuple(kind.angles for kind in _EACH)
AXES: tuple[int, ...] = tuple(kind.axes for kind in _EACH)
SLIDES: tuple[bool, ...] = tuple(kind.slides for kind in _EACH)
SWAPS: tuple[bool, ...] = tuple(kind.swaps for kind in _EACH)
PITCHED: tuple[bool, ...] = tuple(kind.pitched for kind in _EACH)

#: The position of the unit vector within a joint's q, and its length: (first, length).
UNIT_PART: dict[JointType, tuple[int, int]] = {t: kind.unit for t, kind in KINDS.items() if kind.unit is not None}
