"""What the <flag> elements of an MJCF switch off."""

from __future__ import annotations

from types import ModuleType
from typing import Any

WITH_CONSTRAINTS = ("CONTACT", "EQUALITY", "FRICTIONLOSS", "LIMIT")  #: off where <flag constraint="disable"/>


def switched_off(mujoco: ModuleType, m: Any, flag: str) -> bool:
    """Whether <flag ...="disable"/> is in the file. MuJoCo before 3.3.6 has one flag for springs and dampers."""
    flags = [flag] + ["CONSTRAINT"] * (flag in WITH_CONSTRAINTS) + ["PASSIVE"] * (flag in ("SPRING", "DAMPER"))
    bits = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", 0) for name in flags)
    return any(int(bit) & m.opt.disableflags for bit in bits)
