"""MJCF -> ModelBuilder, through MuJoCo's own compiler: defaults, includes and inferred inertias are its.

What corresponds to what
  - A MuJoCo body is the body of the same name; one without joints is merged and stays as a frame.
    Sites are frames.
  - A body with k joints is a chain of k bodies: all but the last are massless and named "body/joint".
  - Our body frames sit on the joint. Where the last joint of a MuJoCo body has an anchor (`pos`) off the
    body's origin, our body is shifted to it, not turned; the frame "body/frame" is where MuJoCo's is.
  - q is qpos up to the order of quaternions (`to_mujoco`): a joint's `ref` is in the placement, not lost.
  - A hinge without limits is "continuous".
  - Springs and dry friction of joints are the model's; actuators too, where they are ours (mjcf_actuators.py).
  - Equalities are loop joints and relations, where they can be (mjcf_equalities.py).
MuJoCo compiles in a process apart (apart.py): what makes it crash, hang or fill the memory is an error here. It opens
the files an MJCF names (includes, meshes, textures), wherever they are; pipes and devices among them are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.errors import ModelError, ParseError
from supple.files.apart import Reader
from supple.files.mjcf_actuators import Actuators
from supple.files.mjcf_collisions import add_shapes
from supple.files.mjcf_equalities import Bodies, Equalities
from supple.files.mjcf_flags import switched_off
from supple.files.mjcf_references import check_references, refuse_missing
from supple.files.mjcf_remarks import Names, remark_elements, remark_unused
from supple.files.urdf import ROOT_JOINT
from supple.files.xml import root_tag
from supple.model.builder import ModelBuilder
from supple.model.geometry import rotation_about, rotation_from_quaternion
from supple.model.joints import JointName
from supple.model.model import Model

Floats = NDArray[np.float64]

COMPILER = Reader("mjcf_compile.py", "MuJoCo")

#: mjtJoint, mjtGeom: what the numbers in the compiled model mean.
FREE, BALL, SLIDE, HINGE = range(4)
SHAPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
N_DOF = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}

#: MuJoCo's viewer hides geoms of higher groups: by custom those are for collisions only.
LAST_SHOWN_GROUP = 2


def load_mjcf(
    path: str | Path,
    floating_base: bool = False,
    gravity: ArrayLike | None = None,
    *,
    strict: bool = False,
    loops: bool = True,
) -> Model:
    """Read an MJCF file. What it says and the model does not use is in model.report.

    floating_base: put the one top-level body, if it is fixed, on a free joint named "root_joint".
    strict: refuse inertias no real body has and joints that move no inertia, instead of reporting them.
    loops: read equalities; otherwise they are left out.
    """
    file = str(path)
    tag = root_tag(path)
    if tag != "mujoco":
        raise ParseError(f"not an MJCF, whose outermost element is <mujoco>, not <{tag}>", file)
    m = _compile(file)
    if gravity is None:
        gravity = np.zeros(3) if switched_off(_mujoco(), m, "GRAVITY") else m.opt.gravity
    builder = ModelBuilder(_model_name(m) or Path(path).stem, gravity, file)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers that are too large, which are refused
            return _translated(m, builder, file, floating_base, strict, loops)
    except ParseError:
        raise
    except ModelError as e:
        raise ParseError(str(e), file) from None
    except UnicodeDecodeError as e:
        raise ParseError(f"a name is not UTF-8: {e.object!r}", file) from None


def _translated(m: Any, builder: ModelBuilder, file: str, floating_base: bool, strict: bool, loops: bool) -> Model:
    """The model of a compiled one."""
    translation = _Translation(m, builder)
    freed = _body_to_free(m, builder) if floating_base else None
    translation.add_bodies(freed)
    translation.add_frames()
    translation.add_visuals()
    if not switched_off(_mujoco(), m, "CONTACT"):
        add_shapes(m, builder, translation.geom_names, translation.number, translation.origin, file)
    equalities = translation.add_equalities(freed, loops)
    remark_unused(_mujoco(), m, builder, translation.names, translation.add_actuators(), equalities)
    remark_elements(file, builder)
    policy = "refuse" if strict else "report"
    return builder.build(unphysical_inertia=policy, singular=policy)


def _mujoco() -> ModuleType:
    try:
        import mujoco
    except ImportError:
        raise ModelError("reading MJCF needs MuJoCo: pip install 'supple[mjcf]'") from None
    return mujoco  # type: ignore[no-any-return]


def _compile(file: str) -> Any:
    COMPILER.start()  # while the package is imported
    mujoco = _mujoco()
    check_references(file)
    reply, data = COMPILER.ask(file)
    if "error" in reply:
        message = " ".join(str(reply["error"]).split())
        lines = re.findall(r"\b[Ll]ine(?: number=)? ?(\d{1,9})\b", message)
        missing = None if lines else re.search(r"Error opening file '(.*)'", message)
        if missing:
            refuse_missing(file, missing[1])
        line = int(lines[-1]) if lines else None  # the last is of the file itself; 0: of one that it includes
        refused = "a file that it includes" if line == 0 else "it"
        raise ParseError(f"MuJoCo refuses {refused}: {message}", file, line or None)
    try:
        return mujoco.MjModel.from_binary_path("compiled.mjb", {"compiled.mjb": data})
    except (ValueError, RuntimeError, mujoco.FatalError) as e:
        raise ParseError(f"MuJoCo cannot read what it compiled: {e}", file) from None


def _model_name(m: Any) -> str:
    return bytes(m.names).split(b"\0", 1)[0].decode(errors="replace")


def _body_to_free(m: Any, builder: ModelBuilder) -> int | None:
    """The body a floating base is put under; None if it floats already."""
    top = np.flatnonzero(m.body_parentid[1:] == 0) + 1
    if len(top) != 1:
        raise ModelError(f"floating_base=True needs exactly one top-level body; there are {len(top)}")
    b = int(top[0])
    if m.body_jntnum[b] == 0:
        if m.body_pos[b].any() or abs(m.body_quat[b, 0]) != 1:
            builder.remark("floating base", "where the file puts the base is not used; put it into q")
        return b
    if m.jnt_type[m.body_jntadr[b]] == FREE:
        builder.remark("floating base", "the top-level body is on a free joint already; none is added")
        return None
    raise ModelError("floating_base=True needs a top-level body without joints, or on a free one")


class _Translation:
    """One compiled model on its way into a builder.

    number[b]: the builder's number of MuJoCo's body b (None for the world);
    origin[b]: where MuJoCo's body b is in our body's frame, whose axes are the same.
    """

    def __init__(self, m: Any, builder: ModelBuilder) -> None:
        obj = _mujoco().mjtObj
        self.m, self.builder = m, builder
        self.damped, self.sprung, self.rubbing = (
            not switched_off(_mujoco(), m, flag) for flag in ("DAMPER", "SPRING", "FRICTIONLOSS")
        )
        self.number: list[int | None] = [None] * m.nbody
        self.origin = np.zeros((m.nbody, 3))
        self.body_names = self._names(obj.mjOBJ_BODY, [f"body{b}" for b in range(m.nbody)])
        owner = [self.body_names[b] for b in m.jnt_bodyid]
        self.joint_names = self._names(obj.mjOBJ_JOINT, [f"{name}_joint" for name in owner])
        self.site_names = self._names(obj.mjOBJ_SITE, [f"site{s}" for s in range(m.nsite)])
        self.geom_names = self._names(obj.mjOBJ_GEOM, [f"geom{g}" for g in range(m.ngeom)])
        motors = self._names(obj.mjOBJ_ACTUATOR, [f"actuator{i}" for i in range(len(m.actuator_trntype))])
        equal = self._names(obj.mjOBJ_EQUALITY, [f"equality{i}" for i in range(m.neq)])
        self.names = Names(self.body_names, self.joint_names, self.geom_names, self.site_names, motors, equal)

    def _names(self, kind: Any, fallback: Sequence[str]) -> list[str]:
        """The names MuJoCo has for a kind of thing; what has none gets the fallback, made unique."""
        name_of = _mujoco().mj_id2name
        given = [name_of(self.m, kind, i) for i in range(len(fallback))]
        used = {name for name in given if name}
        out = []
        for name, other in zip(given, fallback):
            if not name:
                name = _unused(other, used)
                used.add(name)
            out.append(str(name))
        return out

    def add_bodies(self, freed: int | None) -> None:
        """freed: the body to put on the free joint of a floating base."""
        m = self.m
        bodies, all_joints = set(self.body_names), set(self.joint_names)
        for b in range(1, m.nbody):
            up = int(m.body_parentid[b])
            parent = self.number[up]
            P, A = m.body_pos[b] + self.origin[up], rotation_from_quaternion(_xyzw(m.body_quat[b]))
            joints = range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b])
            for j in joints[:-1]:
                name = _unused(f"{self.body_names[b]}/{self.joint_names[j]}", bodies)
                joint, P = self._joint(j, P, A)
                parent, A = self.builder.add_body(name, parent, **joint), np.eye(3)
            if b == freed:
                joint, P = dict(joint="free", joint_name=ROOT_JOINT), np.zeros(3)
            elif not joints:
                name = _unused(f"{self.body_names[b]}_joint", all_joints)
                joint, P = dict(joint="fixed", joint_name=name, position=P, rotation=A), np.zeros(3)
            else:
                joint, P = self._joint(joints[-1], P, A)
            self.origin[b] = P
            R = rotation_from_quaternion(_xyzw(m.body_iquat[b]))
            self.number[b] = self.builder.add_body(
                self.body_names[b],
                parent,
                mass=float(m.body_mass[b]),
                com=m.body_ipos[b] + P,
                inertia=R @ np.diag(m.body_inertia[b]) @ R.T,
                **joint,
            )

    def _joint(self, j: int, P: Floats, A: Floats) -> tuple[dict[str, Any], Floats]:
        """A joint as add_body's arguments, and where MuJoCo's body is in our body on it.

        P, A: MuJoCo's body before this joint moves it, in the frame of our parent.
        """
        m = self.m
        kind, axis = int(m.jnt_type[j]), m.jnt_axis[j].copy()
        dof = slice(m.jnt_dofadr[j], m.jnt_dofadr[j] + N_DOF[kind])
        reference = float(m.qpos0[m.jnt_qposadr[j]])
        anchor = m.jnt_pos[j].copy()
        name: JointName
        if kind == FREE:
            name, anchor, position, rotation = "free", np.zeros(3), np.zeros(3), np.eye(3)
        elif kind == BALL:
            name, position, rotation = "ball", P + A @ anchor, A
        elif kind == SLIDE:
            name, anchor, position, rotation = "prismatic", np.zeros(3), P - A @ (reference * axis), A
        else:
            name = "revolute" if m.jnt_limited[j] else "continuous"
            position, rotation = P + A @ anchor, A @ rotation_about(axis, -reference)
        joint = dict(
            joint=name,
            joint_name=self.joint_names[j],
            position=position,
            rotation=rotation,
            axis=axis,
            damping=self.damped * m.dof_damping[dof],
            armature=m.dof_armature[dof].copy(),
            friction=self.rubbing * (kind != FREE) * m.dof_frictionloss[dof],
        )
        if kind in (SLIDE, HINGE) and self.sprung:
            joint |= dict(stiffness=float(m.jnt_stiffness[j]), rest=float(m.qpos_spring[m.jnt_qposadr[j]]))
        if m.jnt_limited[j] and kind in (SLIDE, HINGE):
            joint |= dict(lower=float(m.jnt_range[j, 0]), upper=float(m.jnt_range[j, 1]))
        if m.jnt_actfrclimited[j] and -m.jnt_actfrcrange[j, 0] == m.jnt_actfrcrange[j, 1]:
            joint |= dict(effort_limit=float(m.jnt_actfrcrange[j, 1]))
        return joint, -anchor

    def add_frames(self) -> None:
        """MuJoCo's body frames where ours are elsewhere, and sites."""
        m = self.m
        taken = {self.body_names[b] for b in range(m.nbody) if m.body_jntnum[b] == 0}
        for b in np.flatnonzero(self.origin.any(axis=1)):
            name = _unused(f"{self.body_names[b]}/frame", taken)
            taken.add(name)
            self.builder.add_frame(name, self.number[b], self.origin[b])
        for s in range(m.nsite):
            on, name = int(m.site_bodyid[s]), self.site_names[s]
            name = _unused(name if name not in taken else f"{name}/site", taken)
            taken.add(name)
            at = m.site_pos[s] + self.origin[on]
            self.builder.add_frame(name, self.number[on], at, _xyzw(m.site_quat[s]))

    def add_actuators(self) -> dict[int, str]:
        """Returns why those that do not act do not, by number."""
        found = Actuators(_mujoco(), self.m, list(self.names.actuators), self.joint_names)
        for actuator in found.ours.values():
            self.builder.add_actuator(actuator)
        return found.not_used

    def add_equalities(self, freed: int | None, loops: bool) -> Equalities:
        """freed: as in add_bodies. loops: otherwise they are left out."""
        m, taken = self.m, {*self.joint_names, ROOT_JOINT}
        names = []
        for name in self.names.equalities:  # which differ from each other, and now from those of joints, too
            names.append(_unused(name, taken))
            taken.add(names[-1])
        out = Equalities(_mujoco(), m, names, self.joint_names)
        if not loops:
            out.leave_out("loops=False")
            return out
        carrier = list(range(m.nbody))
        for b in range(1, m.nbody):
            if m.body_jntnum[b] == 0 and b != freed:
                carrier[b] = carrier[int(m.body_parentid[b])]
        out.add(self.builder, Bodies(self.number, self.origin, carrier))
        return out

    def add_visuals(self) -> None:
        m = self.m
        for g in range(m.ngeom):
            name = self.geom_names[g]
            kind = SHAPES[m.geom_type[g]] if m.geom_type[g] < len(SHAPES) else "other"
            if m.geom_group[g] > LAST_SHOWN_GROUP:
                self.builder.remark("geom", f"geom {name!r}: not drawn; MuJoCo hides group {m.geom_group[g]}")
                continue
            if kind == "hfield" and m.geom_contype[g] | m.geom_conaffinity[g]:
                continue  # drawn as the shape that bodies touch
            if kind in ("hfield", "other"):
                what = "a height field that nothing touches" if kind == "hfield" else "a distance field"
                self.builder.remark("geom", f"geom {name!r}: {what} is not drawn")
                continue
            if kind == "mesh":
                self.builder.remark("mesh", f"geom {name!r}: the compiled model does not say which file it is")
            b = int(m.geom_bodyid[g])
            at = m.geom_pos[g] + self.origin[b]
            size, rgba = _size(kind, m.geom_size[g]), _colour(m, g)
            self.builder.add_visual(self.number[b], kind, size, at, _xyzw(m.geom_quat[g]), rgba, None, name)


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    return name


def _xyzw(q: Floats) -> Floats:
    return np.roll(q, -1)


def _size(kind: str, half: Floats) -> tuple[float, ...]:
    """MuJoCo's half sizes as a Visual's sizes."""
    x, y, z = half.tolist()
    if kind in ("capsule", "cylinder"):
        return x, 2 * y
    if kind == "sphere":
        return (x,)
    if kind == "ellipsoid":
        return x, y, z
    if kind == "mesh":
        return 1.0, 1.0, 1.0
    return (2 * x, 2 * y) if kind == "plane" else (2 * x, 2 * y, 2 * z)


def _colour(m: Any, g: int) -> tuple[float, float, float, float]:
    """A geom's own colour; its material's where it has none, which MuJoCo marks by the default grey."""
    own, material = m.geom_rgba[g], int(m.geom_matid[g])
    by_material = material >= 0 and np.array_equal(own, np.array([0.5, 0.5, 0.5, 1.0]))
    r, g_, b, a = (m.mat_rgba[material] if by_material else own).tolist()
    return r, g_, b, a
