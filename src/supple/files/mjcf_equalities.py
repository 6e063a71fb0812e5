"""MuJoCo's equality constraints as loop joints and relations, held exactly.

    connect     a ball joint between two points: of two bodies, or two sites
    weld        a fixed joint between a frame of each; a ball joint if torquescale is 0, which leaves rotations free
    joint       q1 - ref1 = a0 + a1 (q2 - ref2), where ref is qpos0; without a second joint q1 - ref1 = a0

Joints with higher terms (a2 ...), tendons and flexes have no counterpart. What is given for bodies is in the compiled
model as data: connect has a point on each body, weld a point on the second, and where that is on the first (relpose).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.files.mjcf_flags import switched_off
from supple.model.builder import ModelBuilder

Floats = NDArray[np.float64]


class Place(NamedTuple):
    """A frame on one of MuJoCo's bodies. quaternion: w, x, y, z."""

    body: int
    position: Floats
    quaternion: Floats


class Bodies(NamedTuple):
    """Where MuJoCo's bodies are in ours. number: the builder's; origin: MuJoCo's in our frame; carrier: the body with
    joints, or the world, to which it is fixed."""

    number: Sequence[int | None]
    origin: Floats
    carrier: Sequence[int]


class Equalities:
    """The equalities of a compiled model: `held` are loops and relations of a builder; why the others are not, by
    their numbers, `not_used`; and those that the file does not ask for, or that hold nothing, `idle`."""

    def __init__(self, mujoco: ModuleType, m: Any, names: Sequence[str], joints: Sequence[str]) -> None:
        self.m, self._names, self._joints = m, names, joints
        self._kind = {name: int(kind) for name, kind in mujoco.mjtEq.__members__.items()}
        self._site = int(mujoco.mjtObj.mjOBJ_SITE)
        self.held: list[int] = []
        self.not_used: dict[int, str] = {}
        self.idle: dict[int, str] = {}
        self._numbers = [] if switched_off(mujoco, m, "EQUALITY") else range(m.neq)

    def leave_out(self, why: str) -> None:
        """None of them."""
        self.not_used = dict.fromkeys(self._numbers, why)

    def add(self, builder: ModelBuilder, bodies: Bodies) -> None:
        for i in self._numbers:
            kind = int(self.m.eq_type[i])
            if not self.m.eq_active0[i]:
                self.idle[i] = 'active="false" in the file, and left out'
            elif kind == self._kind["mjEQ_JOINT"]:
                self._relate(i, builder)
            elif kind in (self._kind["mjEQ_CONNECT"], self._kind["mjEQ_WELD"]):
                self._close(i, builder, bodies)
            else:
                self.not_used[i] = "constraints of tendons and flexes do not act"

    def _relate(self, i: int, builder: ModelBuilder) -> None:
        m, (one, two) = self.m, (int(self.m.eq_obj1id[i]), int(self.m.eq_obj2id[i]))
        constant, slope, *higher = m.eq_data[i, :5].tolist()
        if two >= 0 and any(higher):
            self.not_used[i] = "only linear relations of joints are held, and its polycoef has higher terms"
            return
        factors, offset = {self._joints[one]: 1.0}, constant + self._reference(one)
        if two >= 0 and slope != 0.0:
            factors[self._joints[two]] = -slope
            offset -= slope * self._reference(two)
        builder.relate(factors, offset, self._names[i])
        self.held.append(i)

    def _reference(self, joint: int) -> float:
        return float(self.m.qpos0[self.m.jnt_qposadr[joint]])

    def _close(self, i: int, builder: ModelBuilder, bodies: Bodies) -> None:
        one, two = self._places(i)
        if bodies.carrier[one.body] == bodies.carrier[two.body]:
            self.idle[i] = "holds nothing: its bodies do not move relative to each other"
            return
        free = int(self.m.eq_type[i]) == self._kind["mjEQ_CONNECT"] or self.m.eq_data[i, 10] == 0.0
        ends = [
            (bodies.number[x.body], x.position + bodies.origin[x.body], np.roll(x.quaternion, -1)) for x in (one, two)
        ]
        (body, position, rotation), (other, other_position, other_rotation) = ends
        builder.close(
            body, other, "ball" if free else "fixed", name=self._names[i], position=position, rotation=rotation,
            other_position=other_position, other_rotation=other_rotation,
        )  # fmt: skip
        self.held.append(i)

    def _places(self, i: int) -> tuple[Place, Place]:
        """The frames that coincide where it holds."""
        m, data = self.m, self.m.eq_data[i]
        one, two = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        if int(m.eq_objtype[i]) == self._site:
            return self._site_place(one), self._site_place(two)
        whole = np.array([1.0, 0.0, 0.0, 0.0])
        if int(m.eq_type[i]) == self._kind["mjEQ_CONNECT"]:
            return Place(one, data[:3], whole), Place(two, data[3:6], whole)
        return Place(one, data[3:6], data[6:10]), Place(two, data[:3], whole)

    def _site_place(self, site: int) -> Place:
        m = self.m
        return Place(int(m.site_bodyid[site]), m.site_pos[site], m.site_quat[site])
