"""What an MJCF says and acts otherwise here, or not at all, is in the report by name; what acts alike is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import supple  # noqa: E402
from supple.model.model import Model  # noqa: E402

INERTIAL = '<inertial mass="1" pos=".1 .2 .3" diaginertia=".1 .2 .25"/>'
SILENT = 'contype="0" conaffinity="0"'


def write(
    folder: Path, joint: str = "", body: str = "", inside: str = "", more: str = "", second: str = "", option: str = ""
) -> Path:
    """Two bodies, on joints 'j' and 'k': with these attributes of the first joint and body, and these elements."""
    path = folder / "robot.xml"
    kind = "" if "type=" in joint else 'type="hinge" axis="0 1 0"'
    path.write_text(
        f'<mujoco><compiler angle="radian"/>{option}<worldbody><body name="a" {body}>'
        f'<joint name="j" {kind} {joint}/>{INERTIAL}{inside}'
        f'<body name="b" pos="0 .1 .5"><joint name="k" axis="1 1 0" {second}/>{INERTIAL}</body></body></worldbody>'
        f"{more}</mujoco>"
    )
    return path


def said(model: Model) -> list[tuple[str, str]]:
    return [(r.subject, r.message) for r in model.report]


FREE, BALL, SLIDE = 'type="free"', 'type="ball"', 'type="slide"'
TENDON = '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
MESH = '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
TEXTURE = '<asset><texture name="t" type="skybox" builtin="flat" width="4" height="24"/></asset>'
EQUALITY = '<equality><joint joint1="k" joint2="j"/></equality>'
GEOM = f'<geom name="g" size=".1" {SILENT} %s/>'
HIT = '<geom name="g" size=".1" %s/>'

#: How a file is written, the subject of its only remark, and words of that
TABLE = [
    (dict(joint=f'{FREE} frictionloss="2"'), "frictionloss", ("joint 'j'", "frictionloss 2")),
    (dict(joint='frictionloss="2" solreffriction=".1 1"'), "friction solver", ("solreffriction",)),
    (dict(joint='frictionloss="2" solimpfriction=".5 .6 .1"'), "friction solver", ("solimpfriction",)),
    (dict(joint=f'{FREE} armature="5"'), "armature", ("joint 'j'", "armature 5", "free")),
    (dict(joint=f'{FREE} stiffness="3"'), "stiffness", ("joint 'j'", "spring of 3")),
    (dict(joint=f'{BALL} stiffness="3"'), "stiffness", ("joint 'j'", "spring of 3")),
    (dict(joint=f'{BALL} range="0 1"'), "range", ("joint 'j'", "ball")),
    (dict(joint='range="-1 1"'), "range", ("joint 'j'", "supple.Limits")),
    (dict(joint=f'{SLIDE} range="-1 1"'), "range", ("joint 'j'", "supple.Limits")),
    (dict(joint='range="-1 1" solreflimit=".1 1"'), "range", ("solreflimit",)),
    (dict(joint='range="-1 1" solimplimit=".5 .6 .1"'), "range", ("solimplimit",)),
    (dict(joint='range="-1 1" margin=".1"'), "range", ("margin",)),
    (dict(joint='range="-1 1"', option='<option><flag limit="disable"/></option>'), "range", ("switches limits off",)),
    (dict(joint='actuatorfrcrange="-1 4"'), "actuatorfrcrange", ("joint 'j'",)),
    (dict(joint='ref=".5"'), "qpos0", ("joint 'j'", "[0.5]", "neutral")),
    (dict(joint=FREE, body='pos="0 0 1"'), "qpos0", ("joint 'j'", "[0.0, 0.0, 1.0, 1.0")),
    (dict(joint=FREE, body='quat="0 1 0 0"'), "qpos0", ("joint 'j'", "[0.0, 0.0, 0.0, 0.0, 1.0")),
    (dict(body='gravcomp="1"'), "gravcomp", ("body 'a'",)),
    (dict(joint='user="1"', more='<size nuser_jnt="1"/>'), "user", ("joint 'j'",)),
    (dict(body='user="1"', more='<size nuser_body="1"/>'), "user", ("body 'a'",)),
    (dict(inside=HIT % 'condim="4"'), "contact", ("geom 'g'", "sliding friction only")),
    (dict(inside='<geom name="g" type="ellipsoid" size=".1 .2 .3"/>'), "collision", ("geom 'g'", "touches nothing")),
    (dict(inside=HIT % 'solref=".1 1" solimp=".5 .6 .1" solmix="2" priority="1"'), "contact", ("solref", "solmix")),
    (dict(inside=GEOM % 'group="4"'), "geom", ("geom 'g'", "group 4")),
    (dict(inside='<site name="s" size=".1"/>'), "site", ("site 's'", "not drawn")),
    (dict(inside='<camera name="c"/>'), "camera", ("camera 'c'",)),
    (dict(inside='<light name="l"/>'), "light", ("light 'l'",)),
    (dict(inside=f'<geom name="g" type="mesh" mesh="m" {SILENT}/>', more=MESH), "mesh", ("geom 'g'",)),
    (dict(more='<asset><material name="m" specular="1"/></asset>'), "material", ("material 'm'",)),
    (dict(more=TEXTURE), "texture", ("texture 't'",)),
    (dict(joint=BALL, more='<actuator><motor name="m" joint="j"/></actuator>'), "actuator", ("'m'", "hinge or slide")),
    (dict(more='<actuator><damper name="d" joint="j" kv="2" ctrlrange="0 1"/></actuator>'), "actuator", ("'d'", "tau")),
    (dict(more='<actuator><intvelocity name="i" joint="j" kp="2" actrange="0 1"/></actuator>'), "actuator",
     ("'i'", "activation")),
    (dict(more='<actuator><general name="g" joint="j" biastype="affine" biasprm="0 4 0"/></actuator>'), "actuator",
     ("'g'", "grows")),
    (dict(joint='actuatorfrcrange="-4 4"', more='<actuator><motor name="m" joint="j"/><motor name="n" joint="j"/>'
          '</actuator>'), "actuator", ("actuator 'm', 'n'", "together")),
    (dict(more=TENDON), "tendon", ("tendon 't'",)),
    (dict(more=EQUALITY), "hard equality", ("'equality0'", "exactly", "solref")),
    (dict(more='<equality><weld name="e" body1="a"/></equality>'), "hard equality", ("equality 'e'", "torquescale")),
    (dict(more='<equality><connect name="e" body1="b" anchor="0 0 0"/></equality>'), "hard equality", ("'e'",)),
    (dict(more='<equality><joint name="e" joint1="j" joint2="k" polycoef="0 1 2 0 0"/></equality>'), "equality",
     ("equality 'e'", "linear", "polycoef")),
    (dict(more='<equality><joint name="e" joint1="j" joint2="k" active="false"/></equality>'), "idle equality",
     ("equality 'e'", "active")),
    (dict(inside='<body name="c"/>', more='<equality><weld name="e" body1="a" body2="c"/></equality>'),
     "idle equality", ("equality 'e'", "holds nothing")),
    (dict(inside=HIT % "", more='<contact><pair name="p" geom1="g" geom2="g"/></contact>'), "contact",
     ("'p'", "one rigid body")),
    (dict(option='<option><flag filterparent="disable"/></option>'), "option", ("filterparent", "neighbours=True")),
    (dict(more='<sensor><jointpos name="s" joint="j"/></sensor>'), "sensor", ("sensor 's'",)),
    (dict(more='<keyframe><key name="home" qpos="1 2"/></keyframe>'), "keyframe", ("keyframe 'home'",)),
    (dict(more='<custom><numeric name="n" data="1"/></custom>'), "numeric", ("numeric 'n'",)),
    (dict(more='<custom><text name="n" data="x"/></custom>'), "text", ("text 'n'",)),
    (dict(more='<custom><tuple name="n"><element objtype="body" objname="a"/></tuple></custom>'), "tuple", ("'n'",)),
    (dict(more='<statistic extent="3"/>'), "statistic", ("<statistic>",)),
    (dict(more='<size nuserdata="3"/>'), "size", ("<size>",)),
    (dict(more='<visual><map znear=".1"/></visual>'), "visual", ("visual map znear",)),
    (dict(more='<visual><global fovy="30"/></visual>'), "visual", ("visual global fovy",)),
    (dict(option='<option density="1"/>'), "fluid", ("density",)),
    (dict(option='<option viscosity="1"/>'), "fluid", ("viscosity",)),
    (dict(option='<option wind="1 0 0"/>'), "fluid", ("wind",)),
    (dict(option='<option timestep=".01"/>'), "option", ("timestep = 0.01", "dt")),
    (dict(option='<option integrator="implicit"/>'), "option", ("integrator",)),
    (dict(option='<option solver="CG"/>'), "option", ("solver",)),
    (dict(option='<option cone="elliptic"/>'), "option", ("cone",)),
    (dict(option='<option impratio="2"/>'), "option", ("impratio",)),
    (dict(option='<option iterations="7"/>'), "option", ("iterations = 7",)),
    (dict(option='<option tolerance="1e-3"/>'), "option", ("tolerance",)),
    (dict(option='<option o_margin=".1"/>'), "option", ("o_margin",)),
    (dict(option='<option magnetic="1 0 0"/>'), "option", ("magnetic",)),
    (dict(option='<option><flag eulerdamp="disable"/></option>'), "option", ('flag eulerdamp="disable"',)),
    (dict(option='<option><flag warmstart="disable"/></option>'), "option", ('flag warmstart="disable"',)),
    (dict(option='<option><flag energy="enable"/></option>'), "option", ('flag energy="enable"',)),
    (dict(option='<option><flag override="enable"/></option>'), "option", ('flag override="enable"',)),
]  # fmt: skip


@pytest.mark.parametrize(("how", "subject", "words"), TABLE, ids=[str(how) for how, _, _ in TABLE])
def test_what_is_otherwise_is_said_by_name(tmp_path, how, subject, words):
    model = supple.load(write(tmp_path, **how))
    (about,) = [message for about, message in said(model) if about == subject]
    assert all(word in about for word in words), about
    also = {subject, "size"} if "nuser_" in str(how) else {subject}
    assert {about for about, _ in said(model)} == also


@pytest.mark.parametrize(
    ("how", "subject", "word"),
    [
        (dict(joint='stiffness="1 2 3"'), "stiffness", "stiffnesspoly [2.0, 3.0]"),
        (dict(joint='damping="1 2 3"'), "dampingpoly", "dampingpoly [2.0, 3.0]"),
        (dict(inside=HIT % 'surfacevel="1 0 0 0 0 0"'), "contact", "surfacevel"),
    ],
)
def test_what_only_newer_versions_of_mujoco_know(tmp_path, how, subject, word):
    path = write(tmp_path, **how)
    try:
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        pytest.skip("this MuJoCo does not know it")
    assert any(word in r.message for r in supple.load(path).report.about(subject))


#: What acts alike in both: nothing is said
TAME = {
    "nothing": {},
    "damping": dict(joint='damping="2"'),
    "damping of a free joint": dict(joint=f'{FREE} damping="2"'),
    "damping of a ball joint": dict(joint=f'{BALL} damping="2"'),
    "armature": dict(joint='armature="2"'),
    "armature of a slide": dict(joint=f'{SLIDE} armature="2"'),
    "armature of a ball joint": dict(joint=f'{BALL} armature="2"'),
    "anchor": dict(joint='pos="1 2 3"', body='pos="1 2 3" quat="1 2 3 4"'),
    "effort": dict(joint='actuatorfrcrange="-4 4"'),
    "friction": dict(joint='frictionloss="2"', second='frictionloss=".5"'),
    "friction of a ball joint": dict(joint=f'{BALL} frictionloss="2"'),
    "a spring": dict(joint='stiffness="3" springref=".2" ref=".1"', second='stiffness="4"'),
    "the spring of a slide": dict(joint=f'{SLIDE} stiffness="3" springref=".2"'),
    "a spring with a damper": dict(joint='springdamper=".1 1"'),
    "a motor": dict(more='<actuator><motor joint="j" gear="3" ctrlrange="-.5 .5"/></actuator>'),
    "motors": dict(more='<actuator><motor joint="j" gear="-3" forcerange="-.1 2"/><motor joint="j"/></actuator>'),
    "a position servo": dict(
        joint='ref=".1"', more='<actuator><position joint="j" kp="9" kv=".3" gear="-2" forcerange="-1 4"/></actuator>'
    ),
    "a velocity servo": dict(
        joint=f'{SLIDE} actuatorfrcrange="-1 4"', more='<actuator><velocity joint="j" kv="9" gear="1.5"/></actuator>'
    ),
    "an actuator of general form": dict(
        more='<actuator><general joint="k" gainprm="3" biastype="affine" biasprm="1 -2 -.5"/></actuator>'
    ),
    "actuators that are switched off": dict(
        more='<actuator><motor joint="j"/></actuator>', option='<option><flag actuation="disable"/></option>'
    ),
    "a group of actuators that is switched off": dict(
        more='<actuator><motor joint="j" group="2"/></actuator>', option='<option actuatorgroupdisable="2"/>'
    ),
    "controls that are not clamped": dict(
        more='<actuator><motor joint="j" ctrlrange="-.1 .1"/></actuator>',
        option='<option><flag clampctrl="disable"/></option>',
    ),
    "friction that is switched off": dict(
        joint='frictionloss="2"', option='<option><flag frictionloss="disable"/></option>'
    ),
    "constraints that are switched off": dict(
        joint='frictionloss="2"',
        inside=HIT % "",
        more='<equality><joint joint1="j" joint2="k"/></equality>',
        option='<option><flag constraint="disable"/></option>',
    ),
    "damping that is switched off": dict(joint='damping="2"', option='<option><flag damper="disable"/></option>'),
    "a spring that is switched off": dict(joint='stiffness="2"', option='<option><flag spring="disable"/></option>'),
    "gravity that is switched off": dict(body='gravcomp="1"', option='<option><flag gravity="disable"/></option>'),
    "gravity": dict(option='<option gravity="1 2 3"/>'),
    "contacts that are switched off": dict(inside=HIT % "", option='<option><flag contact="disable"/></option>'),
    "a geom": dict(inside=GEOM % 'mass="3" pos="1 1 1" friction="2 1 1"'),
    "a site": dict(inside='<site name="s" pos="1 1 1"/>'),
    "a body without joints": dict(inside=f'<body pos="1 0 0">{INERTIAL}</body>'),
    "two joints": dict(inside='<joint name="l" axis="1 0 0" pos="0 0 1" damping="1" armature=".5"/>'),
}


def acting(model: Model, theirs, controls: np.ndarray) -> dict[str, float]:
    """Controls of the actuators that we have."""
    names = [theirs.actuator(i).name or f"actuator{i}" for i in range(theirs.nu)]
    return {name: x for name, x in zip(names, controls.tolist()) if name in model.actuators}


def accelerations(model: Model, path: Path, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ours and MuJoCo's, in MuJoCo's coordinates, at a random state."""
    theirs, rng = mujoco.MjModel.from_xml_path(str(path)), np.random.default_rng(seed)
    q, v = model.random(rng), 3 * rng.standard_normal(model.nv)
    v += 0.5 * np.sign(v)  # all joints slip: the slopes of dry friction differ
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = supple.to_mujoco(model, q, v)
    controls = 2 * rng.standard_normal(theirs.nu)
    data.ctrl[:] = controls
    mujoco.mj_forward(theirs, data)
    a = supple.forward_dynamics(model, q, v, supple.joint_forces(model, q, v, acting(model, theirs, controls)))
    for joint in (model.joints[i] for i in range(model.n_joints)):
        if joint.type == "free":  # the rate of the velocity in the world's frame
            lin, ang = slice(joint.v.start, joint.v.start + 3), slice(joint.v.start + 3, joint.v.stop)
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, data.qpos[joint.q.start + 3 : joint.q.stop])
            a[lin] = R.reshape(3, 3) @ (a[lin] + np.cross(v[ang], v[lin]))
    return a, data.qacc.copy()


@pytest.mark.parametrize("name", TAME)
def test_what_acts_alike_is_not_remarked_upon(tmp_path, name):
    path = write(tmp_path, **TAME[name])
    model = supple.load(path)
    assert {subject for subject, _ in said(model)} <= {"qpos0", "actuatorfrcrange"}
    for seed in range(3):
        ours, theirs = accelerations(model, path, seed)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


#: Subjects of what changes accelerations; the others are about looks, data and MuJoCo's solver
ACTING = {
    "actuator", "tendon", "equality", "hard equality", "contact", "flex", "plugin", "stiffness", "frictionloss",
    "armature", "range", "gravcomp", "fluid", "dampingpoly",
}  # fmt: skip
PIECES = {
    "joint": ('damping="1.5"', 'armature=".5"', 'frictionloss="2"', 'stiffness="5"', 'user="1"', 'margin=".1"'),
    "second": ('damping="1.5"', 'armature=".5"', 'frictionloss="2"', 'stiffness="5"', 'range="-.1 .1"', 'ref=".3"'),
    "body": ('gravcomp="1"', 'pos="1 2 3"', 'quat="1 2 3 4"'),
    "inside": (GEOM % 'mass="2"', HIT % 'mass=".5"', '<site/>', '<camera/>'),
    "more": (TENDON, TENDON.replace('"t"', '"t" stiffness="50"'), '<sensor><jointpos joint="k"/></sensor>',
             '<actuator><position joint="k" kp="20"/></actuator>', EQUALITY, '<keyframe><key/></keyframe>'),
    "option": ('gravity="1 2 3"', 'density="1000"', 'viscosity="10"', 'wind="1 2 3"', 'timestep=".1"', 'solver="CG"'),
}  # fmt: skip
FLAGS = ("damper", "spring", "gravity", "contact", "frictionloss", "equality", "constraint", "limit", "actuation")


def test_accelerations_are_mujocos_where_nothing_is_remarked_upon(tmp_path):
    """Files put together at random: whenever they accelerate otherwise, something that acts is in the report."""
    rng = np.random.default_rng(5)
    quiet = otherwise = 0
    for case in range(300):
        how = {part: [x for x in some if rng.random() < 0.12] for part, some in PIECES.items()}
        kind = str(rng.choice([FREE, BALL, SLIDE, 'type="hinge"']))
        fits = [x for x in how["joint"] if x != 'user="1"']
        flags = " ".join(f'{flag}="disable"' for flag in FLAGS if rng.random() < 0.1)
        path = write(
            tmp_path,
            joint=f"{kind} {' '.join(fits)}",
            second=" ".join(how["second"]),
            body=" ".join(how["body"]),
            inside="".join(how["inside"]),
            more="".join(x for x in how["more"] if kind not in (FREE, BALL) or "j\"" not in x),
            option=f"<option {' '.join(how['option'])}><flag {flags}/></option>",
        )  # fmt: skip
        try:
            mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue  # two tendons of one name
        model = supple.load(path)
        a, b = accelerations(model, path, case)
        same = np.allclose(a, b, rtol=1e-8, atol=1e-8 * np.abs(b).max())
        acting = ACTING & {subject for subject, _ in said(model)}
        assert same or acting, path.read_text()
        quiet += not acting
        otherwise += not same
    assert quiet > 40 and otherwise > 80, (quiet, otherwise)


#: What becomes of every array of a compiled model. A version of MuJoCo that has more fails the test below.
USED = """
    body: parentid jntadr jntnum pos quat mass ipos iquat inertia gravcomp mocapid user
    jnt: type axis pos bodyid dofadr qposadr limited range actfrclimited actfrcrange stiffness stiffnesspoly
    solref solimp margin user
    dof: damping dampingpoly armature frictionloss solref solimp
    geom: type size pos quat rgba group matid bodyid contype conaffinity fluid user condim priority friction solmix
    solref solimp margin gap adhesion surfacevel
    site: pos quat bodyid type size rgba matid user
    mat: rgba emission specular shininess reflectance metallic roughness texrepeat texuniform
    eq: type objtype obj1id obj2id active0 data solref solimp
"""
NO_REMARK = """
    body: rootid weldid dofnum dofadr treeid geomnum geomadr simple sameframe subtreemass invweight0 margin contype
    conaffinity bvhadr bvhnum plugin
    jnt: group plasticadr springyield actgravcomp actuatorid
    dof: bodyid jntid parentid treeid Madr simplenum invweight0 M0 length
    geom: dataid sameframe aabb rbound castshadow plugin
    site: group sameframe dataid
    mat: texid
"""


def test_no_part_of_a_compiled_model_is_forgotten():
    """NO_REMARK: derived by the compiler, of the viewer alone, or without effect where something else that is remarked
    upon is missing (springyield without stiffness, actgravcomp without gravcomp, texid without a texture)."""
    known = set()
    for text in (USED, NO_REMARK):
        prefix = ""
        for word in text.split():
            prefix = word[:-1] if word.endswith(":") else prefix
            known.add(f"{prefix}_{word}")
    prefixes = ("body_", "jnt_", "dof_", "geom_", "site_", "mat_", "eq_")
    fields = {name for name in dir(mujoco.MjModel) if name.startswith(prefixes)}
    assert len(fields) > 80 and fields - known == set()
