"""What closes loops: joints besides those of the tree, and linear relations between joint coordinates.

A loop joint allows the same motion as a joint of its type in the tree: between the joint's frame, which is fixed to
`body`, and a frame fixed to `other` that coincides with it at the neutral position. A ball joint holds a point of one
body to a point of the other, a fixed joint welds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import FINITE, TEXT, shown, take
from supple.errors import ModelError, quoted, short
from supple.model import checks
from supple.model.frozen import frozen_arrays, kept
from supple.model.geometry import as_vector
from supple.model.joints import AXES, JOINT_NAMES, NV, JointType
from supple.once import made_once

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNIT = 2.0**-50  #: by which lengths of unit vectors are not one: those stay as they are, in copies to the last bit
VECTORS = ("position", "other_position", "axis", "axis2")
MATRICES = ("rotation", "other_rotation")


@made_once("body")
@frozen_arrays(*VECTORS, *MATRICES)
@dataclass(frozen=True, eq=False)
class Loop:
    """A joint that closes a loop: model.loops["coupler"]. Bodies are given by index, the world is -1."""

    name: str
    joint: str  #: its type
    body: int
    other: int
    position: Floats  #: of the joint's frame in the frame of `body`
    rotation: Floats
    other_position: Floats  #: of the frame that moves along, in the frame of `other`
    other_rotation: Floats
    axis: Floats  #: unit vector in the joint's frame
    axis2: Floats
    pitch: float = 0.0

    @property
    def _type(self) -> JointType:
        return JointType[self.joint.upper()]

    @property
    def rows(self) -> int:
        """How many directions of motion it forbids."""
        return 6 - NV[self._type]

    def __eq__(self, other: object) -> bool:
        return type(other) is Loop and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__
        )

    def described(self, bodies: Sequence[str]) -> str:
        """In a line, with the names of its bodies."""
        one, two = ("the world" if i < 0 else short(bodies[i]) for i in (self.body, self.other))
        return f"{one} to {two}  [{short(self.name)}: {self.joint}]"

    def __repr__(self) -> str:
        return f"<Loop {quoted(self.name)}: {self.joint} between bodies {self.body} and {self.other}>"


@dataclass(frozen=True)
class Relation:
    """A linear relation between joint coordinates, a gear for instance: the sum of factors[i] q[joints[i]] is
    `offset`. The joints are given by name; each has one coordinate."""

    name: str
    joints: tuple[str, ...]
    factors: tuple[float, ...]
    offset: float = 0.0

    @property
    def rows(self) -> int:
        return 1

    def described(self, bodies: Sequence[str]) -> str:
        """In a line."""
        return f"{self._equation(short)}  [{short(self.name)}: relation]"

    def _equation(self, named: Callable[[str], str]) -> str:
        """Its first two terms, the first without a plus, and factors of one left out."""
        terms = "".join(f" {_factor(c)}{named(j)}" for c, j in zip(self.factors[:2], self.joints))
        more = " + ..." if len(self.joints) > 2 else ""
        return f"{terms.removeprefix(' + ').removeprefix(' ')}{more} = {self.offset:.4g}"

    def __repr__(self) -> str:
        return f"<Relation {quoted(self.name)}: {self._equation(quoted)}>"


def _factor(c: float) -> str:
    """The sign of a factor, and what else it has."""
    size = "" if abs(c) == 1.0 else f"{abs(c):.4g} "
    return f"{'-' if c < 0.0 else '+'} {size}"


def relation(name: str, factors: Mapping[str, Any], offset: float) -> Relation:
    """A relation from the factors of joints by name."""
    what = f"relation {shown(name)}"
    if not isinstance(factors, Mapping) or not factors:
        raise ModelError(f"{what}: give the factor of each joint by its name, {{'wheel': 1, 'pinion': -3}}")
    numbers = [take(f"{what}: the factor of {shown(joint)}", x, FINITE, ModelError) for joint, x in factors.items()]
    return Relation(
        take("the name of a relation", name, TEXT, ModelError),
        tuple(take(f"{what}: a joint's name", joint, TEXT, ModelError) for joint in factors),
        tuple(map(float, numbers)),
        float(take(f"{what}: offset", offset, FINITE, ModelError)),
    )


def _axes(x: Loop, what: str) -> tuple[Floats, Floats]:
    """The axes of a loop joint as unit vectors; zeros where its type has none."""
    out = np.zeros((2, 3))
    vectors = [as_vector(f"{name} of {what}", getattr(x, name)) for name in ("axis", "axis2")]
    for i, (name, vector) in enumerate(zip(("axis", "axis2"), vectors[: AXES[x._type]])):
        length = np.linalg.norm(vector)
        if not length > 1e-9:
            raise ModelError(f"{what}: {name} {vector.tolist()} has no direction")
        out[i] = vector if abs(length - 1.0) <= UNIT else vector / length
    if AXES[x._type] == 2 and abs(out[0] @ out[1]) > 1e-6:
        raise ModelError(f"{what}: the two axes of a {x.joint} joint must be perpendicular")
    return out[0], out[1]


def valid_loops(given: Sequence[Any], joint_names: Sequence[str]) -> tuple[Loop, ...]:
    """Loops whose bodies exist and whose numbers are sound. There is a joint for each body."""
    if not given:
        return ()
    names = [getattr(x, "name", None) for x in given]
    checks.unique("loop", names)
    for name in set(names).intersection(joint_names):
        raise ModelError(f"a loop and a joint are both called {name!r}: names must differ; rename one of them")
    return tuple(_valid_loop(x, len(joint_names)) for x in given)


def _valid_loop(x: Any, n: int) -> Loop:
    if not isinstance(x, Loop):
        raise ModelError(f"loop_list has {shown(x)}, which is no Loop")
    what = f"loop {x.name!r}"
    if not isinstance(x.joint, str) or x.joint not in JOINT_NAMES or x.joint == "free":
        known = ", ".join(name for name in JOINT_NAMES if name != "free")
        raise ModelError(f"{what}: {shown(x.joint)} is not a joint that closes a loop; there are {known}")
    for body in (x.body, x.other):
        if not isinstance(body, (int, np.integer)) or not -1 <= body < n:
            raise ModelError(f"{what} is at body {body!r}, and there are {n}, numbered from 0; the world is -1")
    if x.body == x.other:
        itself = "the world" if x.body < 0 else f"body {x.body}"
        raise ModelError(f"{what} connects {itself} to itself: a loop joint connects two bodies")
    axis, axis2 = _axes(x, what)
    p, R = checks.poses([x.position, x.other_position], [x.rotation, x.other_rotation], lambda i: what)
    pitch = take(f"pitch of {what}", x.pitch, FINITE, ModelError)
    for name, value in (("position", p[0]), ("other_position", p[1]), ("pitch", np.array(pitch))):
        if not (np.abs(value) <= checks.LARGEST).all():
            raise ModelError(f"{what}: {name} is too large for anything real: {value.tolist()}")
    return replace(
        x, position=kept(p[0]), other_position=kept(p[1]), rotation=kept(R[0]), other_rotation=kept(R[1]),
        axis=kept(axis), axis2=kept(axis2), pitch=float(pitch), body=int(x.body), other=int(x.other),
    )  # fmt: skip


def valid_relations(given: Sequence[Any], joint_names: Sequence[str], kinds: Ints) -> tuple[Relation, ...]:
    """Relations between joints that exist and have one coordinate each."""
    checks.unique("relation", [getattr(x, "name", None) for x in given])
    numbers = {name: i for i, name in enumerate(joint_names)} if given else {}
    for x in given:
        if not isinstance(x, Relation):
            raise ModelError(f"relation_list has {shown(x)}, which is no Relation")
        if not any(x.factors):
            raise ModelError(f"relation {x.name!r}: all factors are zero, so that it relates nothing")
        for joint in x.joints:
            if joint not in numbers:
                raise ModelError(f"relation {x.name!r}: there is no joint {joint!r}")
            kind = JointType(int(kinds[numbers[joint]]))
            if kind not in checks.SINGLE:
                raise ModelError(
                    f"relation {x.name!r}: joint {joint!r} is {kind.name.lower()}; a relation is between joints with "
                    "one coordinate: revolute, continuous, prismatic and screw ones"
                )
    return tuple(given)
