"""Shapes by which bodies touch: of all kinds, from the builder, a URDF or an MJCF, with odd sizes, places, numbers and
names, beside or inside each other. What is accepted is looked for touches, and runs for a few steps: to finite numbers,
with forces that push, or to an error in words. What a file has wrong is refused with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import supple
from supple import Contacts, Model, ModelBuilder
from supple.contact.room import ContactRoom
from supple.errors import ParseError
from supple.integrating.joint_law import LAW
from tests.fuzz.mutations import Rng, one_of
from tests.fuzz.odd_values import NEVER_NUMBERS, NUMBERS, odd_array

NUMBERS_OF = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "hull": 0, "plane": 0, "heights": 2}
KINDS = tuple(NUMBERS_OF)
ODD_TEXTS = ("0", "-1", "nan", "inf", "1e-320", "1e-9", "1e9", "1e300", "", "x", "1 2", "0x1p-3", "1e-4", "1e3")
ODD_SIZES = (1e-9, 1e-6, 1e-4, 1e-3, 1.0, 1e3, 1e6, 1e9)


def attempt(rng: Rng, folder: Path) -> None:
    """A few shapes, on two bodies and the world."""
    make = one_of(rng, [built, built, built, read_urdf, read_mjcf])
    run(make(rng, folder), rng)


def built(rng: Rng, folder: Path) -> Model:
    b = ModelBuilder("shapes", gravity=one_of(rng, [(0, 0, -9.81), (0, 0, 0), (3, 0, -9), (0, 0, 9.81)]))
    for i in range(2):
        b.add_body(f"body{i}", joint="free", mass=float(10 ** rng.uniform(-6, 3)), inertia=(0.01, 0.01, 0.01))
    for i in range(int(rng.integers(1, 6))):
        given = arguments(rng, i)
        if rng.random() < 0.25:
            spoil(rng, given)
        b.add_shape(given.pop("body"), given.pop("kind"), given.pop("size"), **given)
    return b.build()


def arguments(rng: Rng, i: int) -> dict[str, Any]:
    """Good ones of add_shape."""
    kind = one_of(rng, KINDS)
    size = rng.uniform(0.02, 0.2, NUMBERS_OF[kind])
    if rng.random() < 0.2 and len(size):
        size[rng.integers(len(size))] = one_of(rng, ODD_SIZES)
    given: dict[str, Any] = dict(body=one_of(rng, ["body0", "body1", None]), kind=kind, size=size, name=f"shape{i}")
    if kind in ("plane", "heights"):
        given["body"] = None
    if kind == "hull":
        points = rng.normal(size=(int(rng.integers(4, 60)), 3)) * 10 ** rng.uniform(-4, 1)
        given["points"] = points * one_of(rng, [(1, 1, 1), (1, 1, 1e-3), (1, 1, 1e-7), (1, 0, 0)])
    if kind == "heights":
        given["points"] = 0.1 * rng.normal(size=rng.integers(1, 9, 2))
    turn = rng.normal(size=4)
    more: dict[str, Any] = dict(
        position=rng.normal(size=3) * one_of(rng, [0.0, 0.1, 100.0]), rotation=turn / np.linalg.norm(turn),
        friction=one_of(rng, [None, 0.0, 1e-9, 0.5, 10.0, 1e6]), restitution=one_of(rng, [0.0, 0.5, 1.0]),
        margin=one_of(rng, [0.0, 1e-3, 1.0]), group=int(rng.integers(4)), mask=int(rng.integers(4)),
        apart=("shape0",),
    )  # fmt: skip
    return given | {name: x for name, x in more.items() if rng.random() < 0.4}


def spoil(rng: Rng, given: dict[str, Any]) -> None:
    """One of them becomes odd."""
    name = one_of(rng, [x for x in given if x != "body"])
    value = given[name]
    if isinstance(value, np.ndarray) and rng.random() < 0.5:
        given[name] = odd_array(rng, value.shape)
    else:
        given[name] = one_of(rng, [*NUMBERS, *NEVER_NUMBERS, "spheer", ("none",), [1e-320] * 3, [-1.0, 1.0, 1.0]])


def texts(rng: Rng, n: int) -> str:
    """Numbers in a file, one of them perhaps odd."""
    words = [f"{x:.6g}" for x in rng.uniform(0.02, 0.5, n)]
    if rng.random() < 0.3 and n:
        words[rng.integers(n)] = one_of(rng, ODD_TEXTS)
    return " ".join(words)


def read_urdf(rng: Rng, folder: Path) -> Model:
    obj = "".join(f"v {texts(rng, 3)}\n" for _ in range(int(rng.integers(3, 12))))
    (folder / "mesh.obj").write_text(obj)
    shapes = []
    for _ in range(int(rng.integers(1, 4))):
        form = one_of(rng, [
            f'<box size="{texts(rng, 3)}"/>', f'<sphere radius="{texts(rng, 1)}"/>',
            f'<cylinder radius="{texts(rng, 1)}" length="{texts(rng, 1)}"/>',
            f'<capsule radius="{texts(rng, 1)}" length="{texts(rng, 1)}"/>',
            f'<mesh filename="mesh.obj" scale="{texts(rng, 3)}"/>', '<cone radius="1"/>',
        ])  # fmt: skip
        shapes.append(f'<collision><origin xyz="{texts(rng, 3)}"/>\n<geometry>{form}</geometry></collision>')
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    body = "\n".join(shapes)
    return load(folder / "robot.urdf", f'<robot name="r">\n<link name="base">\n{body}\n{inertial}</link></robot>', True)


def read_mjcf(rng: Rng, folder: Path) -> Model:
    rows, columns = rng.integers(1, 4, 2)
    geoms = []
    for _ in range(int(rng.integers(1, 4))):
        kind = one_of(rng, ["sphere", "capsule", "box", "cylinder", "mesh", "hfield", "plane", "ellipsoid"])
        what = {"mesh": 'mesh="m"', "hfield": 'hfield="h"'}.get(kind, f'size="{texts(rng, 3)}"')
        more = f'friction="{texts(rng, 1)}" margin="{texts(rng, 1)}"' if rng.random() < 0.5 else ""
        geoms.append(f'<geom type="{kind}" {what} pos="{texts(rng, 3)}" {more}/>')
    half = len(geoms) // 2
    text = f"""<mujoco><asset><mesh name="m" vertex="{texts(rng, 15)}"/>
<hfield name="h" nrow="{rows}" ncol="{columns}" size="{texts(rng, 4)}" elevation="{texts(rng, rows * columns)}"/>
</asset>
<worldbody>{"".join(geoms[:half])}
<body name="a"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{"".join(geoms[half:])}</body>
</worldbody></mujoco>"""
    return load(folder / "robot.xml", text, False)


def load(path: Path, text: str, floating_base: bool) -> Model:
    path.write_text(text)
    try:
        return supple.load(path, floating_base=floating_base)
    except ParseError as e:
        assert e.line is not None, f"no line: {e}"
        raise


def run(model: Model, rng: Rng) -> None:
    """Where it touches is a matter of finite numbers, and so is where it goes."""
    if not any(x.body >= 0 for x in model.shape_list):
        return
    q = model.neutral()
    for i in np.flatnonzero(model.parent < 0):
        turn = rng.normal(size=4)
        at = model.q_index[i]
        q[at : at + 7] = *(rng.normal(size=3) * one_of(rng, [0.0, 0.05, 0.3])), *(turn / np.linalg.norm(turn))
    contacts = Contacts(ground=one_of(rng, [None, 0.0, "below"]))
    looking = Contacts(ground=None if contacts.ground == "below" else contacts.ground)
    found = ContactRoom(model, np.zeros((0, LAW)), looking).touching(q)
    for name in ("gap", "point", "n", "friction", "restitution"):
        assert np.isfinite(found[name]).all(), name
    assert (np.abs(np.linalg.norm(found["n"], axis=1) - 1) < 1e-9).all(), "a normal that is none"
    v = rng.normal(size=model.nv) * one_of(rng, [0.0, 1.0, 30.0])
    r = supple.simulate(model, q, v, duration=0.02, dt=one_of(rng, [1e-3, 5e-3]), contacts=contacts)
    assert np.isfinite(r.q).all() and np.isfinite(r.v).all()
    for c in r.contacts(-1):
        assert c.force @ c.normal >= -1e-9 * np.linalg.norm(c.force), "a force that pulls"
