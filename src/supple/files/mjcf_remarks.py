"""What a compiled MuJoCo model says and ours does not do, or does differently, by the names of its elements.

A remark is given for whatever is not as MuJoCo has it by default and would act, be drawn or be measured there. What the
file itself switches off (<flag contact="disable"/>) is not missed. tests/unit/test_mjcf_remarks.py has a list of all
that a compiled model holds, and where each is used, remarked upon, or why it needs no remark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

from supple.files.mjcf_collisions import connected, frictions, touching, unsupported, usable
from supple.files.mjcf_equalities import Equalities
from supple.files.mjcf_flags import switched_off
from supple.files.xml import children, read_bytes, safe_options, tag_of
from supple.model.builder import ModelBuilder

MOST_NAMES = 40  #: in one remark
FREE, BALL = 0, 1  #: mjtJoint
CURVED = "coordinates of ball and free joints do not add"


class Kind(NamedTuple):
    """A kind of element that nothing here corresponds to."""

    counter: str  #: of mjModel
    object: str  #: of mjtObj
    subject: str
    reason: str
    flag: str = ""  #: that switches it off


ABSENT = (
    Kind("ntendon", "TENDON", "tendon", "its forces, inertia and limits do not act"),
    Kind("nsensor", "SENSOR", "sensor", "nothing is measured", "SENSOR"),
    Kind("nflex", "FLEX", "flex", "the forces and contacts of soft bodies do not act"),
    Kind("nskin", "SKIN", "skin", "it is not drawn"),
    Kind("nplugin", "PLUGIN", "plugin", "it does not act"),
    Kind("ncam", "CAMERA", "camera", "there is no camera"),
    Kind("nlight", "LIGHT", "light", "there is no light"),
    Kind("ntex", "TEXTURE", "texture", "it is not drawn"),
    Kind("nkey", "KEY", "keyframe", "set q and v instead"),
    Kind("nnumeric", "NUMERIC", "numeric", "custom data"),
    Kind("ntext", "TEXT", "text", "custom data"),
    Kind("ntuple", "TUPLE", "tuple", "custom data"),
)

#: Attributes that only say how contacts and limits of joints are, by their names in the compiled model.
OF_CONTACTS = (
    "priority", "solmix", "solref", "solimp", "adhesion", "surfacevel",
)  # fmt: skip
OF_LIMITS = {"solref": "solreflimit", "solimp": "solimplimit", "margin": "margin"}
OF_FRICTION = {"solref": "solreffriction", "solimp": "solimpfriction"}
DRAWN = {
    "mat": ("emission", "specular", "shininess", "reflectance", "metallic", "roughness", "texrepeat", "texuniform"),
    "site": ("type", "size", "rgba", "matid"),
}
FLUID = ("density", "viscosity", "wind")
OPTIONS = {
    "timestep": "steps are as long as the run's dt",
    "integrator": "a run has its own integrator",
    "magnetic": "there are no magnetometers",
}
FLAGS = {"FILTERPARENT": "bodies connected by a joint touch only with Contacts(neighbours=True)"}
#: Flags that are followed, or switch off what does not act here in any case.
FOLLOWED = (
    "GRAVITY", "DAMPER", "PASSIVE", "SPRING", "CONTACT", "EQUALITY", "FRICTIONLOSS", "CONSTRAINT", "SENSOR",
    "ACTUATION", "CLAMPCTRL",
)  # fmt: skip

#: The defaults of every kind of element, as this version of MuJoCo has them.
PLAIN = """<mujoco><asset><material name="m"/></asset>
<worldbody><body><joint/><geom size="1"/><site/></body></worldbody></mujoco>"""


class Names(NamedTuple):
    """Of a model's parts, one for each."""

    bodies: Sequence[str]
    joints: Sequence[str]
    geoms: Sequence[str]
    sites: Sequence[str]
    actuators: Sequence[str]
    equalities: Sequence[str]


def remark_unused(
    mujoco: ModuleType, m: Any, builder: ModelBuilder, names: Names, idle: dict[int, str], equalities: Equalities
) -> None:
    """All remarks on what is in a file and not in our model, or otherwise.

    idle: why actuators do not act, by number.
    """
    remarks = _Remarks(mujoco, m, builder, names)
    remarks.give(idle)
    remarks.equalities(equalities)


class _Remarks:
    def __init__(self, mujoco: ModuleType, m: Any, builder: ModelBuilder, names: Names) -> None:
        self.mujoco, self.m, self.builder, self.names = mujoco, m, builder, names
        self.plain = mujoco.MjModel.from_xml_string(PLAIN)

    def give(self, idle: dict[int, str]) -> None:
        for kind in ABSENT:
            count = getattr(self.m, kind.counter, 0)
            if count and not (kind.flag and self.off(kind.flag)):
                self.say(kind.subject, kind.subject, self.named(kind.object, count), f"not used: {kind.reason}")
        for why, which in _by_reason(idle).items():
            names = [self.names.actuators[i] for i in which]
            self.say("actuator", "actuator", names, f"does not act: {why}; give joint forces as tau")
        self.springs()
        self.friction()
        self.limits()
        self.start()
        self.bodies()
        self.contacts()
        self.looks()
        self.options()

    def equalities(self, found: Equalities) -> None:
        names = self.names.equalities
        for why, which in _by_reason(found.not_used).items():
            self.say("equality", "equality", [names[i] for i in which], f"does not act: {why}")
        for why, which in _by_reason(found.idle).items():
            self.say("idle equality", "equality", [names[i] for i in which], why)
        hard = "held exactly; in MuJoCo it gives way, as solref, solimp and torquescale say, which are not used"
        self.say("hard equality", "equality", [names[i] for i in found.held], hard)

    # --- parts of joints ------------------------------------------------------------------------------

    def springs(self) -> None:
        m = self.m
        if not self.off("SPRING"):
            stiff = m.jnt_stiffness != 0
            curved = stiff & ((m.jnt_type == FREE) | (m.jnt_type == BALL))
            self.joints("stiffness", curved, lambda j: f"the spring of {m.jnt_stiffness[j]:g} does not act: {CURVED}")
            for name in ("stiffnesspoly", "springyield"):
                self.unlike_ours(name, stiff)
        if not self.off("DAMPER"):
            poly = self.by_joint(self.field("dof_dampingpoly", m.nv))
            self.joints("dampingpoly", poly.any(axis=1), lambda j: f"dampingpoly {poly[j].tolist()} does not act")
        armature = self.by_joint(m.dof_armature[:, None])[:, 0]
        self.joints(
            "armature",
            (m.jnt_type == FREE) & (armature != 0),
            lambda j: (
                f"armature {armature[j]:g} of a free joint resists the rate of v in the body's frame; in MuJoCo that "
                "of the velocity in the world's, which differs while the body turns"
            ),
        )

    def unlike_ours(self, name: str, stiff: Any) -> None:
        """On a property of springs that ours do not have."""
        values = np.atleast_2d(self.field(f"jnt_{name}", self.m.njnt).T).T
        self.joints("stiffness", stiff & values.any(axis=1), lambda j: f"{name} {values[j].tolist()} does not act")

    def friction(self) -> None:
        if self.off("FRICTIONLOSS"):
            return
        loss = self.by_joint(self.m.dof_frictionloss[:, None])[:, 0]
        free = self.m.jnt_type == FREE
        self.joints(
            "frictionloss", free & (loss != 0), lambda j: f"frictionloss {loss[j]:g} of a free joint does not act"
        )
        other = self.others("dof", OF_FRICTION)
        if other:
            reason = f"frictionloss acts with the slope that MuJoCo has by default{other}"
            self.joints("friction solver", ~free & (loss != 0), lambda j: reason)

    def limits(self) -> None:
        m, limited = self.m, self.m.jnt_limited.astype(bool)
        lopsided = m.jnt_actfrclimited.astype(bool) & (m.jnt_actfrcrange[:, 0] != -m.jnt_actfrcrange[:, 1])
        reason = "actuatorfrcrange is not symmetric about zero: it limits actuators, and is no effort_limit"
        self.joints("actuatorfrcrange", lopsided, lambda j: reason)
        if self.off("LIMIT"):
            reason = "its range is kept, though the file switches limits off"
            self.joints("range", limited & (m.jnt_type != BALL), lambda j: reason)
            return
        self.joints("range", limited & (m.jnt_type == BALL), lambda j: "the range of a ball joint is not used")
        reason = f"its range acts only in runs with contacts or supple.Limits{self.others('jnt', OF_LIMITS)}"
        self.joints("range", limited & (m.jnt_type != BALL), lambda j: reason)

    def start(self) -> None:
        """Where MuJoCo begins, and model.neutral() is not: bodies on free joints, and joints with `ref`."""
        m = self.m
        for j in _where(m.jnt_type != BALL):
            at = int(m.jnt_qposadr[j])
            first = m.qpos0[at : at + (7 if m.jnt_type[j] == FREE else 1)].tolist()
            if first != ([0, 0, 0, 1, 0, 0, 0] if m.jnt_type[j] == FREE else [0]):
                what = (
                    f"the file begins at qpos {first}, where model.neutral() does not: supple.from_mujoco converts it"
                )
                self.say("qpos0", "joint", [self.names.joints[j]], what)

    # --- bodies, geoms, sites ---------------------------------------------------------------------------

    def bodies(self) -> None:
        m, names = self.m, self.names
        mocap = _where(m.body_mocapid >= 0)
        self.say("mocap", "mocap body", [names.bodies[b] for b in mocap], "fixed where the file puts it")
        lifted = _where(m.body_gravcomp) if m.opt.gravity.any() and not self.off("GRAVITY") else []
        self.say("gravcomp", "body", [names.bodies[b] for b in lifted], "gravcomp does not act")
        parts = (("body", names.bodies), ("jnt", names.joints), ("geom", names.geoms), ("site", names.sites))
        for prefix, named in parts:
            data = getattr(m, f"{prefix}_user")
            word = {"jnt": "joint"}.get(prefix, prefix)
            self.say("user", word, [named[i] for i in _where(data.any(axis=1))], "user data are not used")

    def contacts(self) -> None:
        m = self.m
        found = touching(m)
        if self.off("CONTACT"):
            return
        self.pairs()
        if not found:
            return
        for g in found:
            why = unsupported(m, g)
            if why is not None:
                self.say("collision", "geom", [self.names.geoms[g]], why)
        names = [self.names.geoms[g] for g in found]
        changed = [what for what in OF_CONTACTS if self.differs("geom", what, found)]
        if changed:
            self.say("contact", "geom", names, f"touch rigidly, whatever their {', '.join(changed)}")
        _, rubbing = frictions(m, usable(m))
        what = "condim 1, but friction with other geoms of condim 1, too; MuJoCo has none there"
        self.say("contact", "geom", [self.names.geoms[g] for g in rubbing], what)
        if (m.geom_condim[found] > 3).any():
            self.say("contact", "geom", names, "have sliding friction only: none against rolling and spinning")

    def pairs(self) -> None:
        """A <pair> lets its geoms touch whatever their masks and bodies; here these decide."""
        m = self.m
        names = self.named("PAIR", m.npair)
        group, mask = m.geom_contype, m.geom_conaffinity
        a, b = m.pair_geom1, m.pair_geom2
        body_a, body_b = m.geom_bodyid[a], m.geom_bodyid[b]
        excluded = np.isin([_signature(*x) for x in zip(body_a, body_b)], m.exclude_signature)
        reasons = (
            (((group[a] & mask[b]) | (group[b] & mask[a])) == 0, "contype and conaffinity keep its geoms apart"),
            (excluded, "<exclude> keeps its geoms apart"),
            (m.body_weldid[body_a] == m.body_weldid[body_b], "its geoms are parts of one rigid body"),
            (connected(m, a, b), "a joint connects its bodies, which touch only with Contacts(neighbours=True)"),
        )
        left = np.ones(m.npair, dtype=bool)
        for which, why in reasons:
            self.say("contact", "pair", [names[i] for i in _where(left & which)], f"does not act: {why}")
            left &= ~which
        self.say("contact", "pair", [names[i] for i in _where(left)], "its own parameters do not act: its geoms' do")

    def looks(self) -> None:
        m = self.m
        materials = self.named("MATERIAL", m.nmat)
        shiny = [i for i in range(m.nmat) if any(self.differs("mat", what, [i]) for what in DRAWN["mat"])]
        self.say("material", "material", [materials[i] for i in shiny], "drawn in its colour, and plain")
        sites = [s for s in range(m.nsite) if any(self.differs("site", what, [s]) for what in DRAWN["site"])]
        self.say("site", "site", [self.names.sites[s] for s in sites], "a frame; its shape is not drawn")
        for part in ("global_", "headlight", "map", "quality", "rgba", "scale"):
            for what in _changed(getattr(m.vis, part), getattr(self.plain.vis, part)):
                self.builder.remark("visual", f"visual {part.strip('_')} {what}: for MuJoCo's own viewer")

    # --- options ----------------------------------------------------------------------------------------

    def options(self) -> None:
        m = self.m
        shapes = _where(m.geom_fluid[:, 0])
        for what in FLUID:
            if np.any(getattr(m.opt, what)):
                self.builder.remark("fluid", f"option {what}: the forces of a medium do not act")
        if any(np.any(getattr(m.opt, what)) for what in FLUID):
            self.say("fluid", "geom", [self.names.geoms[g] for g in shapes], "fluidshape does nothing")
        for what in _changed(m.opt, self.plain.opt):
            if what in ("disableflags", "enableflags"):
                self.flags(what, "mjDSBL_" if what == "disableflags" else "mjENBL_")
            elif what not in (*FLUID, "gravity", "disableactuator"):
                reason = OPTIONS.get(what, "MuJoCo's own solver settings are not used")
                value = np.asarray(getattr(m.opt, what)).tolist()
                self.builder.remark("option", f"option {what} = {value}: {reason}")

    def flags(self, which: str, prefix: str) -> None:
        able = "disable" if which == "disableflags" else "enable"
        bits = getattr(self.mujoco, "mjtDisableBit" if able == "disable" else "mjtEnableBit")
        for name, bit in bits.__members__.items():
            if name.startswith(prefix) and int(bit) & getattr(self.m.opt, which):
                flag = name.removeprefix(prefix)
                if able == "enable" or flag not in (*FOLLOWED, "LIMIT"):
                    why = FLAGS.get(flag, "of MuJoCo's own solver; not used")
                    self.builder.remark("option", f'flag {flag.lower()}="{able}": {why}')

    # --- saying it --------------------------------------------------------------------------------------

    def off(self, flag: str) -> bool:
        return switched_off(self.mujoco, self.m, flag)

    def named(self, kind: str, count: int) -> list[str]:
        """The names MuJoCo has for things of a kind; a number for one that has none."""
        name_of, kind = self.mujoco.mj_id2name, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind}")
        return [name_of(self.m, kind, i) or str(i) for i in range(count)]

    def say(self, subject: str, word: str, names: Sequence[str], what: str) -> None:
        """One remark on all elements of the names, if there are any."""
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            self.builder.remark(subject, f"{word} {', '.join(map(repr, names[:MOST_NAMES]))}{more}: {what}")

    def joints(self, subject: str, which: Any, what: Callable[[int], str]) -> None:
        """A remark on all joints of which the same is to be said."""
        said: dict[str, list[str]] = {}
        for j in _where(which):
            said.setdefault(what(j), []).append(self.names.joints[j])
        for text, names in said.items():
            self.say(subject, "joint", names, text)

    # --- comparing --------------------------------------------------------------------------------------

    def field(self, name: str, rows: int) -> Any:
        """One that older versions of MuJoCo have not."""
        return getattr(self.m, name, np.zeros((rows, 1)))

    def by_joint(self, rows: Any) -> Any:
        """Of rows for each degree of freedom those of joints: its degrees all have the same in a file."""
        return rows[self.m.jnt_dofadr]

    def differs(self, prefix: str, what: str, rows: Sequence[int] | Any) -> bool:
        """Whether an attribute of some elements is not the default."""
        mine = getattr(self.m, f"{prefix}_{what}", None)
        return mine is not None and bool(np.any(mine[rows] != getattr(self.plain, f"{prefix}_{what}")[0]))

    def others(self, prefix: str, attributes: dict[str, str]) -> str:
        """Attributes that belong to something, and are not the default anywhere."""
        found = [word for what, word in attributes.items() if self.differs(prefix, what, slice(None))]
        return f" ({', '.join(found)} not used)" if found else ""


def remark_elements(file: str, builder: ModelBuilder) -> None:
    """On elements that leave no trace in a compiled model."""
    try:
        root = etree.fromstring(read_bytes(file), etree.XMLParser(**safe_options()))
    except (etree.XMLSyntaxError, ValueError):  # MuJoCo reads what is not quite XML
        return
    for tag in sorted({tag_of(child) for child in children(root)} & {"statistic", "size"}):
        builder.remark(tag, f"<{tag}>: sizes of MuJoCo's memory, viewer and solver; not used")


def _by_reason(reasons: dict[int, str]) -> dict[str, list[int]]:
    """The numbers that have the same reason."""
    out: dict[str, list[int]] = {}
    for i, why in reasons.items():
        out.setdefault(why, []).append(i)
    return out


def _signature(one: int, two: int) -> int:
    """Of two bodies, as <exclude> is kept in a compiled model."""
    return (min(int(one), int(two)) << 16) + max(int(one), int(two))


def _where(flags: Any) -> list[int]:
    found: list[int] = np.flatnonzero(flags).tolist()
    return found


def _changed(mine: Any, plain: Any) -> Iterable[str]:
    """The names of fields that two structures do not have the same."""
    for name in dir(plain):
        if not name.startswith("_") and not np.array_equal(getattr(mine, name), getattr(plain, name)):
            yield name
