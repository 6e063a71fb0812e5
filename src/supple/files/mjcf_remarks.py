"""What a compiled MuJoCo model holds that ours does not use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from supple.model.builder import ModelBuilder

#: Counters of mjModel, what they count, and why it matters.
COUNTED = (
    ("nu", "actuator", "give joint forces as tau"),
    ("ntendon", "tendon", "its forces and limits do not act"),
    ("neq", "equality", "the constraint does not act"),
    ("npair", "contact", "bodies pass through each other"),
    ("nexclude", "exclude", "there are no contacts to exclude"),
    ("nsensor", "sensor", "nothing is measured"),
    ("nmocap", "mocap", "the body is fixed"),
    ("nflex", "flex", "soft bodies are left out"),
    ("nskin", "skin", "it is not drawn"),
    ("nplugin", "plugin", "it does not act"),
    ("ncam", "camera", "there is no camera"),
    ("nlight", "light", "there is no light"),
    ("ntex", "texture", "it is not drawn"),
    ("nkey", "keyframe", "set q and v instead"),
    ("nnumeric", "numeric", "custom data"),
    ("ntext", "text", "custom data"),
    ("ntuple", "tuple", "custom data"),
)

BALL = 1  # mjtJoint

FLUID = ("density", "viscosity", "wind")


def remark_unused(m: Any, builder: ModelBuilder, joint_names: Sequence[str]) -> None:
    """One remark for each kind of thing unused, with how many there are; one for each joint with a spring."""
    for counter, subject, reason in COUNTED:
        if getattr(m, counter):
            builder.remark(subject, f"{getattr(m, counter)} x {subject}, not used: {reason}")
    colliding = int(np.count_nonzero(m.geom_contype | m.geom_conaffinity))
    if colliding:
        builder.remark("contact", f"{colliding} geoms could collide; here bodies pass through each other")
    if m.body_gravcomp.any():
        builder.remark("gravcomp", f"gravcomp of {np.count_nonzero(m.body_gravcomp)} bodies does not act")
    _remark_joints(m, builder, joint_names)
    _remark_options(m, builder)


def _remark_joints(m: Any, builder: ModelBuilder, names: Sequence[str]) -> None:
    for j in _where(m.jnt_stiffness):
        builder.remark("stiffness", f"joint {names[j]!r}: the spring of {m.jnt_stiffness[j]:g} does not act")
    for what, per_joint in (("stiffnesspoly", True), ("dampingpoly", False)):
        polynomial = getattr(m, f"{'jnt' if per_joint else 'dof'}_{what}", np.zeros((0, 2)))  # newer than MuJoCo 3.2
        for i in _where(polynomial.any(axis=1)):
            j = i if per_joint else int(m.dof_jntid[i])
            builder.remark(what, f"joint {names[j]!r}: {what} {polynomial[i].tolist()} does not act")
    for j in _where(m.jnt_limited.astype(bool) & (m.jnt_type == BALL)):
        builder.remark("range", f"joint {names[j]!r}: the range of a ball joint is not used")
    lopsided = m.jnt_actfrclimited.astype(bool) & (m.jnt_actfrcrange[:, 0] != -m.jnt_actfrcrange[:, 1])
    for j in _where(lopsided):
        builder.remark("actuatorfrcrange", f"joint {names[j]!r}: a range not symmetric about zero is not used")


def _where(flags: Any) -> list[int]:
    found: list[int] = np.flatnonzero(flags).tolist()
    return found


def _remark_options(m: Any, builder: ModelBuilder) -> None:
    for what in FLUID:
        if np.any(getattr(m.opt, what)):
            builder.remark("fluid", f"option {what}: the forces of a medium do not act")
    default = type(m.opt)()
    for what in dir(default):
        if what.startswith("_") or what in (*FLUID, "gravity"):
            continue
        value = getattr(m.opt, what)
        if not np.array_equal(value, getattr(default, what)):
            shown = np.asarray(value).tolist()
            builder.remark("option", f"option {what} = {shown}: MuJoCo's own solver settings are not used")
