"""Collada meshes as convex hulls: what the viewer draws is what touches, and bad files are errors with a line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import supple
from supple import robots
from supple.errors import ParseError
from supple.files.mesh_corners import corners_in
from supple.files.mesh_triangles import answer

POINTS = "0 0 0  1 0 0  0 2 0  0 0 3  9 9 9  -8 0 0  -9 0 0"  # the last three are of no face
GEOMETRY = """<geometry id="g"><mesh><source id="p"><float_array id="f" count="21">{points}</float_array>
<technique_common><accessor source="#f" count="7" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<source id="n"><float_array id="nf" count="3">0 0 1</float_array><technique_common><accessor source="#nf" count="1"
stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor>
</technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>{faces}
<lines count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>5 6</p></lines></mesh></geometry>"""
INPUTS = '<input semantic="NORMAL" source="#n" offset="0"/><input semantic="VERTEX" source="#v" offset="1"/>'
TRIANGLES = f'<triangles count="2">{INPUTS}<p>0 0 0 1 0 2 0 0 0 1 0 3</p></triangles>'
POLYLIST = f'<polylist count="1">{INPUTS}<vcount>4</vcount><p>0 0 0 1 0 2 0 3</p></polylist>'
STRIPS = f'<tristrips count="1">{INPUTS}<p>0 0 0 1 0 2 0 3</p></tristrips>'
SHOWN = '<node><instance_geometry url="#g"/></node>'
NESTED = """<node><rotate>0 0 1 90</rotate><translate>1 0 0</translate>
<node><scale>1 2 3</scale><instance_node url="#l"/></node>
<node><matrix>0 -1 0 4  1 0 0 5  0 0 1 6  0 0 0 1</matrix><instance_geometry url="#g"/></node></node>"""
IDENTITY = "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1"


def dae(nodes: str = SHOWN, faces: str = TRIANGLES, points: str = POINTS, unit: str = "1") -> str:
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="{unit}"/><up_axis>Y_UP</up_axis></asset>
<library_geometries>{GEOMETRY.format(points=points, faces=faces)}</library_geometries>
<library_nodes><node id="l"><translate>0 0 1</translate><instance_geometry url="#g"/></node></library_nodes>
<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def drawn(path: Path) -> np.ndarray:
    """The corners of what trimesh reads, as the viewer does."""
    reply, data = answer({"file": str(path), "most_faces": 10**7})
    out, at = [], 0
    for corners, faces, _ in reply["parts"]:
        out.append(np.frombuffer(data, np.float64, 3 * corners, at).reshape(-1, 3))
        at += 24 * (corners + faces)
    return np.concatenate(out)


def extents(points: np.ndarray) -> np.ndarray:
    """How far points reach in many directions: alike if and only if their hulls are."""
    return np.max(points @ np.random.default_rng(0).normal(size=(3, 200)), axis=0)


@pytest.mark.parametrize("faces", [TRIANGLES, POLYLIST])
@pytest.mark.parametrize("unit", ["1", "0.01"])
@pytest.mark.parametrize("nodes", [SHOWN, NESTED])
def test_corners_are_those_that_are_drawn(tmp_path: Path, nodes: str, unit: str, faces: str) -> None:
    pytest.importorskip("collada")
    path = tmp_path / "a.dae"
    path.write_text(dae(nodes, faces, unit=unit))
    wanted = extents(drawn(path))
    np.testing.assert_allclose(extents(corners_in(path)), wanted, atol=1e-6 * np.abs(wanted).max())  # of 32-bit numbers


def test_nodes_place_what_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "a.DAE"
    path.write_text(dae(NESTED, STRIPS, unit="0.1"))
    box = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    one = (box + (0, 0, 1)) * (1, 2, 3)
    two = box @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + (4, 5, 6)
    wanted = 0.1 * (np.concatenate([one, two]) + (1, 0, 0)) @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    found = corners_in(path)
    assert {tuple(x) for x in found.round(9) + 0.0} == {tuple(x) for x in wanted.round(9) + 0.0}


URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="a.dae" scale="2 1 1"/></geometry></collision></link></robot>"""


def robot(folder: Path, text: str) -> supple.Model:
    (folder / "a.dae").write_text(text)
    (folder / "robot.urdf").write_text(URDF)
    return supple.load(folder / "robot.urdf", floating_base=True)


def test_a_collision_mesh_is_a_hull(tmp_path: Path) -> None:
    model = robot(tmp_path, dae())
    (shape,) = model.shape_list
    assert shape.kind == "hull" and shape.points is not None
    assert np.ptp(shape.points, axis=0).tolist() == [2, 2, 3] and not model.report


TWICE = "".join(f'<node id="n{k}">{f"""<instance_node url="#n{k - 1}"/>""" * 10}</node>' for k in range(1, 12))
HOLLOW = dae().replace('<instance_visual_scene url="#s"/>', "")
BAD = {
    "empty": ("", "file is empty"),
    "cut": (dae()[:900], r"a\.dae:\d+: not well-formed"),
    "other XML": ("<svg/>", "<svg> is not the root"),
    "no scene": (dae().replace("<scene>", "<other>").replace("</scene>", "</other>"), "<scene> is missing"),
    "a scene of nothing": (HOLLOW, "the Collada file has no corners"),
    "no faces": (dae(faces=""), "the Collada file has no corners"),
    "lines alone": (dae(faces="<triangles count='0'>" + INPUTS + "</triangles>"), "the Collada file has no corners"),
    "not a number": (dae(points=POINTS.replace("3", "nan")), r"a\.dae:4: <float_array>.* not finite"),
    "letters": (dae(points=POINTS.replace("3", "x")), r"a\.dae:4: <float_array>.* not a number"),
    "flat": (dae(points=POINTS.replace("3", "0")), "no volume"),
    "too few points": (dae(points="0 0 0 1 0 0"), r"a\.dae:\d+: <triangles>.* no corner 3: 2 are given"),
    "negative corner": (dae(faces=TRIANGLES.replace("0 3", "0 -3")), r"a\.dae:\d+: <triangles>.* no corner -3"),
    "no whole number": (dae(faces=TRIANGLES.replace("0 3", "0 .5")), r"a\.dae:\d+: <triangles>.* whole numbers"),
    "a huge number": (dae(faces=TRIANGLES.replace("0 3", f"0 {10**30}")), r"a\.dae:\d+: <triangles>.* whole numbers"),
    "no positions": (dae().replace('"POSITION"', '"OTHER"'), r"a\.dae:\d+: <vertices>.* POSITION"),
    "no vertices": (dae().replace('source="#v"', 'source="#w"'), r"a\.dae:\d+: <input>.* no <vertices> '#w'"),
    "no such array": (dae().replace('"#f"', '"#h"'), r"a\.dae:\d+: <accessor>.* no <float_array> '#h'"),
    "no stride": (dae().replace('count="7" stride="3"', ""), r"a\.dae:\d+: <accessor>.* stride of at least 3"),
    "no such geometry": (dae(SHOWN.replace("#g", "#h")), r"a\.dae:\d+: <instance_geometry>.* no <geometry> '#h'"),
    "another file": (dae('<node><instance_node url="b.dae#n"/></node>'), r"a\.dae:\d+: .* no <node> 'b.dae#n'"),
    "a node in itself": (dae('<node id="a"><node><instance_node url="#a"/></node></node>'), "contains itself"),
    "10^11 nodes": (dae(SHOWN.replace("<node>", '<node id="n0">') + TWICE), "more than 100,000 nodes"),
    "a short matrix": (dae(SHOWN.replace("<node>", "<node><matrix>1 0</matrix>")), r"<matrix>.* 16 numbers, not 2"),
    "an endless matrix": (dae(SHOWN.replace("<node>", f"<node><matrix>{IDENTITY[:-1]}inf</matrix>")), "not finite"),
    "a skew": (dae(SHOWN.replace("<node>", "<node><skew>1 0 0 0 1 0 0</skew>")), "<skew>.* not supported"),
    "a skin": (dae('<node><instance_controller url="#c"/></node>'), "skeleton is not supported"),
    "a huge scale": (dae(SHOWN.replace("<node>", "<node><scale>1e200 1e200 1e200</scale>")), "within 1e"),
    "more than there are numbers": (
        dae(SHOWN.replace("<node>", "<node>" + "<scale>1e200 1e200 1e200</scale>" * 2)),
        "corner 1 of .* is not finite",
    ),
    "a huge unit": (dae(unit="1e30"), "within 1e"),
    "Python's numbers": (dae(points="0 0 0 1_0 0 0 0 1 0 0 0 1"), "not a number"),
    "Python's whole numbers": (
        dae(faces=f'<triangles count="1">{INPUTS}<p>0 0 1 0 2 1_0</p></triangles>'),
        "not whole",
    ),
    "a unit of nothing": (dae(unit="0"), r"a\.dae:3: unit 'u': meter must be above zero"),
    "a negative unit": (dae(unit="-1"), r"a\.dae:3: unit 'u': meter must be above zero"),
    "no unit": (dae(unit="x"), r"a\.dae:3: unit 'u': meter holds 'x'"),
    "entities": ("<!DOCTYPE COLLADA [<!ENTITY a 'b'>]>" + dae()[21:], r"a\.dae:1: .* entities"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_are_errors_with_the_line(tmp_path: Path, what: str) -> None:
    text, words = BAD[what]
    with pytest.raises(ParseError, match=rf"robot\.urdf:3: .*'a\.dae': .*{words}") as e:
        robot(tmp_path, text)
    assert e.value.line == 3


def test_a_geometry_in_many_places_does_not_fill_the_memory(tmp_path: Path) -> None:
    many = "0 0 0 1 0 0 0 1 0 0 0 1 " * 2000
    faces = f'<triangles count="1">{INPUTS}<p>{" ".join(f"0 {k}" for k in range(8000))}</p></triangles>'
    (tmp_path / "a.dae").write_text(dae(SHOWN * 90_000, faces, many))
    tracemalloc.start()
    with pytest.raises(ParseError, match="more than 5,000,000 corners"):
        corners_in(tmp_path / "a.dae")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 500e6


ROBOTS = {
    "icub_description/robots/icub_reduced.urdf": 28,
    "kinova_description/robots/kinova.urdf": 11,
    "romeo_description/urdf/romeo_small.urdf": 20,
    "borinot_description/urdf/borinot_flying_arm_2.urdf": 3,
    "hextilt_description/urdf/hextilt_flying_arm_5.urdf": 7,
}


@pytest.mark.skipif(robots.folder() is None, reason="needs example-robot-data")
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_with_collada_meshes_have_shapes(name: str) -> None:
    file = robots.find(name)
    assert file is not None
    model = supple.load(file, floating_base=True, package_dirs=[file.parents[4]])
    assert [s.kind for s in model.shape_list] == ["hull"] * ROBOTS[name]


@pytest.mark.skipif(robots.folder() is None, reason="needs example-robot-data")
def test_meshes_of_robots_are_as_they_are_drawn() -> None:
    pytest.importorskip("collada")
    base = robots.folder()
    assert base is not None
    files = sorted((base / "icub_description").rglob("icub_simple*.dae"))
    files += sorted((base / "romeo_description").rglob("*Hip*.dae"))
    files += sorted((base / "tiago_description").rglob("*_collision.dae")) + sorted(base.rglob("W1.DAE"))
    assert len(files) > 30
    for path in files:
        theirs = drawn(path)
        error = np.abs(extents(corners_in(path)) - extents(theirs)).max()
        assert error < 1e-6 * np.ptp(theirs, axis=0).max(), path.name
