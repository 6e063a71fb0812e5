"""MuJoCo's actuators as ours (Actuator), where they act on a hinge or slide by a law that ours have.

MuJoCo's force is gain ctrl + bias0 + bias1 l + bias2 l' (gaintype "fixed", biastype "none" or "affine"), limited to
forcerange, with the length l = gear q of the joint; the joint feels gear times that. In the joint's own coordinates:
gear gain, gear bias0, -gear^2 bias1, -gear^2 bias2. Motors, position and velocity servos are all of this kind.
`actuatorfrcrange` of a joint limits the sum of its actuators: where there is one, it narrows force_range.
"""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from typing import Any

import numpy as np

from supple.files.mjcf_flags import switched_off
from supple.model.actuators import ANY, Actuator

SLIDE, HINGE = 2, 3  #: mjtJoint


class Actuators:
    """The actuators of a compiled model: `ours`, and why the others are not, by their numbers."""

    def __init__(self, mujoco: ModuleType, m: Any, names: list[str], joints: list[str]) -> None:
        self.mujoco, self.m = mujoco, m
        self._count = len(m.actuator_trntype)
        self.ours: dict[int, Actuator] = {}
        self.not_used: dict[int, str] = {}
        if switched_off(mujoco, m, "ACTUATION"):
            return
        clamped = not switched_off(mujoco, m, "CLAMPCTRL")
        at_joint = Counter(int(m.actuator_trnid[i, 0]) for i in range(self._count) if self._on_joint(i))
        for i in range(self._count):
            why = self._obstacle(i, at_joint)
            if why:
                self.not_used[i] = why
            elif not self._disabled(i):
                self.ours[i] = self._actuator(i, names[i], joints, clamped)

    def _on_joint(self, i: int) -> bool:
        kind = self.mujoco.mjtTrn
        joint = int(self.m.actuator_trntype[i]) in (int(kind.mjTRN_JOINT), int(kind.mjTRN_JOINTINPARENT))
        return joint and int(self.m.jnt_type[self.m.actuator_trnid[i, 0]]) in (SLIDE, HINGE)

    def _disabled(self, i: int) -> bool:
        """By <option actuatorgroupdisable=...>."""
        group = int(self.m.actuator_group[i])
        return 0 <= group <= 30 and bool(int(self.m.opt.disableactuator) >> group & 1)

    def _obstacle(self, i: int, at_joint: Counter[int]) -> str:
        """What of an actuator has no counterpart here, if anything."""
        m, mj = self.m, self.mujoco
        if not self._on_joint(i):
            return "it does not act on a hinge or slide"
        if m.actuator_dyntype[i] != int(mj.mjtDyn.mjDYN_NONE):
            return "it has an activation of its own"
        plain = m.actuator_gaintype[i] == int(mj.mjtGain.mjGAIN_FIXED)
        plain &= m.actuator_biastype[i] in (int(mj.mjtBias.mjBIAS_NONE), int(mj.mjtBias.mjBIAS_AFFINE))
        if not plain or m.actuator_plugin[i] >= 0:
            return "its force is not that of a motor, a position or a velocity servo"
        _, stiffness, damping = self._bias(i)
        if stiffness < 0 or damping < 0:
            return "its force grows with the position or the velocity"
        for what in ("armature", "damping", "dampingpoly", "delay"):
            if np.any(getattr(m, f"actuator_{what}", np.zeros(self._count))[i]):
                return f"its {what} does not act"
        joint = int(m.actuator_trnid[i, 0])
        if m.jnt_actfrclimited[joint] and at_joint[joint] > 1:
            return "actuatorfrcrange limits it together with others"
        return ""

    def _bias(self, i: int) -> tuple[float, float, float]:
        """A force, and stiffness and damping, along the actuator's length."""
        if self.m.actuator_biastype[i] == int(self.mujoco.mjtBias.mjBIAS_NONE):
            return 0.0, 0.0, 0.0
        force, by_length, by_rate = self.m.actuator_biasprm[i, :3].tolist()
        return force, 0.0 - by_length, 0.0 - by_rate

    def _actuator(self, i: int, name: str, joints: list[str], clamped: bool) -> Actuator:
        m = self.m
        gear, gain, joint = float(m.actuator_gear[i, 0]), float(m.actuator_gainprm[i, 0]), int(m.actuator_trnid[i, 0])
        bias, stiffness, damping = self._bias(i)
        least, most = ANY
        if m.actuator_forcelimited[i]:
            least, most = sorted(gear * x for x in m.actuator_forcerange[i].tolist())
        if m.jnt_actfrclimited[joint]:
            low, high = m.jnt_actfrcrange[joint].tolist()
            least, most = (min(max(x, low), high) for x in (least, most))
        controls = m.actuator_ctrlrange[i] if clamped and m.actuator_ctrllimited[i] else ANY
        return Actuator(
            name,
            joints[joint],
            gain=gear * gain,
            stiffness=gear * gear * stiffness,
            damping=gear * gear * damping,
            bias=gear * bias,
            control_range=(float(controls[0]), float(controls[1])),
            force_range=(least, most),
        )
