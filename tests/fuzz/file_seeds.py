"""Files that are right, and the odd parts that mutations put into them."""

from __future__ import annotations

import base64
import json
import struct

from supple.scenes import walk_bvh

ODD_NUMBERS = [
    "0", "-0", "1e308", "-1e308", "1e400", "1e-320", "nan", "-inf", "inf", "1e60", "1e30", "-1", "1e-9", "0x10",
    "1_000", "\u00b2", "\u0663", "9" * 5000, "0." + "0" * 400 + "1", "2147483648", "-9223372036854775809", "1,5", "1e",
    "",
]  # fmt: skip
ODD_NAMES = ["world", "base", "root_joint", "a", "\U0001f916", "![x](http://127.0.0.1/)", "<b>", "a/b", "é", "x" * 3000]
ODD_FILES = ["../../../etc/passwd", "/dev/zero", "/dev/stdin", "package://..//x", "http://127.0.0.1/y", "a.stl", "."]

#: What is put among bytes.
ODD = [x.encode() for x in ODD_NUMBERS] + [
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1b[31m", b"\x1b]0;x\x07", b"\xe2\x80\xae", b"\r\n", b"\r",
    b"\n" * 50, b" " * 500, b"<", b">", b'"', b"'", b"&lt;", b"&#27;", b"&x;", b"<!--", b"-->", b"<![CDATA[", b"]]>",
    b"<?x ?>", b"{", b"}", b"[", b"]", b"=", b"#", b"//", b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>",
    b"{" * 2000, b"[" * 2000, b"<a>" * 400, b"\xc3", b"\xed\xa0\x80", b"\x85", b"\xe2\x80\xa8", b"\xff" * 8,
    b"\x7f\xff\xff\xff",
]  # fmt: skip

# --- URDF ----------------------------------------------------------------------------------------------------

INERTIAL = (
    '<inertial><origin xyz="0 0 -0.2" rpy="0.1 0 0.3"/><mass value="1.5"/>'
    '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.02" iyz="0" izz="0.004"/></inertial>'
)


def leg(side: str) -> str:
    """A hip, a knee and an ankle with their joints."""
    links = "".join(
        f'<link name="{side}_{part}">{INERTIAL}<visual><origin xyz="0 0 -0.2" rpy="0 0 0"/><geometry>'
        f'<capsule radius="0.04" length="0.4"/></geometry><material name="steel"/></visual>'
        f'<collision><geometry><cylinder radius="0.04" length="0.4"/></geometry></collision></link>'
        for part in ("thigh", "shank", "foot")
    )
    joint = (
        '<joint name="{0}_{1}" type="{2}"><parent link="{3}"/><child link="{0}_{4}"/>'
        '<origin xyz="0 0.1 -0.4" rpy="0 0 0"/><axis xyz="{5}"/>'
        '<limit lower="-1.5" upper="1.5" effort="80" velocity="12"/><dynamics damping="0.2" friction="0.1"/></joint>'
    )
    rows = (
        ("hip", "revolute", "pelvis", "thigh", "1 0 0"),
        ("knee", "revolute", f"{side}_thigh", "shank", "0 1 0"),
        ("ankle", "continuous", f"{side}_shank", "foot", "0 1 0"),
    )
    return links + "".join(joint.format(side, *row) for row in rows)


WALKER = (
    '<?xml version="1.0"?>\n<robot name="walker"><material name="steel"><color rgba="0.6 0.6 0.7 1"/></material>'
    f'<link name="pelvis">{INERTIAL}<visual><geometry><mesh filename="package://walker/pelvis.stl" scale="1 1 1"/>'
    f'</geometry></visual></link>{leg("left")}{leg("right")}<gazebo reference="pelvis"><mu1>0.2</mu1></gazebo>'
    '<transmission name="t"><joint name="left_hip"/></transmission></robot>'
)
FINGER = (
    f'<link name="finger{{0}}">{INERTIAL}<visual name="f"><geometry><box size="0.01 0.02 0.05"/></geometry><material '
    'name="m{0}"><color rgba="1 0 {0} 1"/><texture filename="t.png"/></material></visual></link>'
    '<joint name="slide{0}" type="prismatic"><parent link="palm"/><child link="finger{0}"/><axis xyz="0 1 0"/>'
    '<limit lower="0" upper="0.04" effort="10" velocity="1"/>{1}</joint>'
)
MIMIC = '<mimic joint="slide0" multiplier="-1"/>'
GRIPPER = (
    '<robot name="gripper" xmlns:xacro="http://ros.org/wiki/xacro"><link name="palm"/>'
    + "".join(FINGER.format(i, more) for i, more in enumerate(["", MIMIC, '<calibration rising="0"/>']))
    + '<link name="tip"/><joint name="tool" type="fixed"><parent link="finger0"/><child link="tip"/></joint>'
    f'<link name="puck">{INERTIAL}</link><joint name="table" type="planar"><parent link="palm"/><child link="puck"/>'
    f'</joint><link name="ball">{INERTIAL}</link><joint name="fly" type="floating"><parent link="palm"/>'
    '<child link="ball"/></joint></robot>'
)
HAND = (
    f'<robot name="hand"><link name="palm">{INERTIAL}</link>'
    + "".join(
        f'<link name="tip{i}">{INERTIAL}</link><joint name="bend{i}" type="{kind}"><parent link="palm"/>'
        f'<child link="tip{i}"/><axis xyz="0 1 0"/>{mimic}</joint>'
        for i, (kind, mimic) in enumerate(
            [
                ("continuous", ""),
                ("continuous", '<mimic joint="bend0" multiplier="1.05" offset="0.72"/>'),
                ("continuous", '<mimic joint="bend1" multiplier="-2"/>'),
                ("prismatic", '<mimic joint="bend2" multiplier="0" offset="0.1"/>'),
                ("continuous", '<mimic joint="bend5" offset="-0.1"/>'),
                ("fixed", '<mimic joint="bend0"/>'),
            ]
        )
    )
    + "</robot>"
)
URDF = [WALKER.encode(), GRIPPER.encode(), HAND.encode()]
URDF_TAGS = [
    "robot", "link", "joint", "inertial", "mass", "inertia", "origin", "parent", "child", "axis", "limit", "dynamics",
    "mimic", "visual", "geometry", "mesh", "box", "material", "color", "odd", "{http://ros.org/wiki/xacro}macro",
]  # fmt: skip
URDF_VALUES = [x for x in ODD_NUMBERS if x] + ODD_NAMES + ODD_FILES + [
    "1 2", "1 2 3", "0 0 0", "1e60 0 0", "1e-200 0 0", "pelvis", "left_foot", "knee", "fixed", "floating", "prismatic",
    "revolute", "continuous", "planar", "bend0", "bend1", "bend2", "bend3", "slide1", "fly",
    "table", "${x}", "$(find x)/y", " ", "1 2 3 4",
]  # fmt: skip

# --- MJCF ----------------------------------------------------------------------------------------------------

ARM = """<mujoco model="arm"><compiler angle="radian" autolimits="true"/><option timestep="0.002" gravity="0 0 -9.81"/>
<default><joint damping="0.5" armature="0.01"/><geom density="900" rgba="0.7 0.7 0.7 1"/>
<default class="finger"><joint range="0 0.04" type="slide"/></default></default>
<asset><material name="grid" rgba="0.2 0.3 0.4 1"/>
<texture name="t" type="2d" builtin="checker" width="8" height="8"/></asset>
<worldbody><light pos="0 0 3"/><geom name="floor" type="plane" size="2 2 0.1" material="grid"/>
<body name="shoulder" pos="0 0 0.5"><joint name="yaw" axis="0 0 1" range="-3 3"/><joint name="pitch" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/><site name="mark" pos="0.1 0 0" size="0.01"/>
<body name="elbow" pos="0.3 0 0" euler="0 0.2 0"><joint name="bend" axis="0 1 0" ref="0.1" stiffness="2" springref="0.2"
frictionloss="0.3"/>
<geom type="box" size="0.1 0.03 0.03" pos="0.1 0 0"/><inertial pos="0.1 0 0" mass="0.8" diaginertia="0.01 0.01 0.01"/>
<body name="wrist" pos="0.2 0 0"><joint name="roll" type="ball"/><geom type="ellipsoid" size="0.03 0.02 0.04"/>
<body name="left" childclass="finger"><joint name="l" axis="0 1 0"/><geom type="sphere" size="0.01"/></body>
<body name="right" childclass="finger"><joint name="r" axis="0 -1 0"/><geom type="cylinder" size="0.01 0.02"/></body>
</body></body></body>
<body name="cube" pos="1 0 0.1"><freejoint name="free"/><geom type="box" size="0.05 0.05 0.05" mass="0.2"/></body>
</worldbody><contact><exclude body1="shoulder" body2="elbow"/></contact>
<equality><joint joint1="l" joint2="r"/></equality><tendon><fixed name="f"><joint joint="l" coef="1"/></fixed></tendon>
<actuator><motor joint="yaw" ctrlrange="-1 1"/><position joint="bend" kp="10" kv="1" gear="2" forcerange="-9 5"/>
<velocity name="turn" joint="pitch" kv="3"/><motor joint="roll" gear="1 0 0"/></actuator>
<sensor><jointpos joint="yaw"/><accelerometer site="mark"/></sensor>
<keyframe><key qpos="0 0 0 1 0 0 0 0 0 1 0 0.1 1 0 0 0"/></keyframe></mujoco>"""
LINK = '<body name="b{0}" pos="0 0 -0.2"><joint type="{1}" axis="0 1 0"/><geom size="0.05"/>'
KINDS = ("hinge", "hinge", "ball", "slide", "hinge")
CHAIN = (
    "<mujoco><worldbody>"
    + "".join(LINK.format(i, kind) for i, kind in enumerate(KINDS))
    + "</body>" * 5
    + "</worldbody></mujoco>"
)
LINKAGE = """<mujoco><compiler angle="radian"/><worldbody>
<body name="crank"><joint name="turn" axis="0 1 0" ref="0.2"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
<body name="rod" pos="0.3 0 0"><joint name="bend" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.8 0 0"
size="0.02"/><site name="end" pos="0.8 0 0"/><body name="tool" pos="0.4 0 0.1"><geom size="0.03"/></body></body></body>
<body name="slide" pos="1.1 0 0"><joint name="slip" type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1"/>
<site name="pin" quat="1 0 1 0"/></body><body name="held" pos="0 1 0"><freejoint/><geom size="0.1" mass="1"/></body>
<body name="hand" mocap="true" pos="0 1 0"/></worldbody>
<tendon><fixed name="f"><joint joint="turn" coef="1"/></fixed><fixed name="g"><joint joint="slip" coef="2"/></fixed>
</tendon><equality><connect name="pinned" site1="end" site2="pin" solref="0.005 1"/>
<connect body1="tool" body2="held" anchor="0.1 0 0" active="false"/><connect body1="rod" anchor="0.8 0 0"/>
<weld name="grip" body1="held" body2="hand" relpose="0 0 0.1 1 0 0 0" anchor="0 0 1" torquescale="0.5"/>
<weld site1="end" site2="pin" torquescale="0"/><joint joint1="turn" joint2="slip" polycoef="0.1 2 0 0 0"/>
<joint joint1="slip" polycoef="0.1 0 0 0 0"/><joint joint1="turn" joint2="bend" polycoef="0 1 0.5 0 0"/>
<tendon tendon1="f" tendon2="g"/></equality></mujoco>"""
MJCF = [ARM.encode(), CHAIN.encode(), LINKAGE.encode()]


def beside(part: str) -> bytes:
    """A part that does not belong among bodies, put beside them."""
    return f"</worldbody>{part}<worldbody>".encode()


#: What makes MuJoCo compute: COUNT is a number between 1 and 10^4.
MJCF_PARTS = [
    b'<replicate count="COUNT" offset="0.1 0 0"><body><joint/><geom size="0.1"/></body></replicate>',
    b'<replicate count="10" euler="0 0 1"><replicate count="COUNT"><geom size="0.1"/></replicate></replicate>',
    b'<flexcomp name="x" type="grid" count="COUNT 3 1" spacing="0.1 0.1 0.1" dim="2" radius="0.01"/>',
    b'<composite type="cable" curve="s" count="COUNT 1 1" size="1"><geom type="capsule" size="0.01"/></composite>',
    beside('<asset><mesh name="m" builtin="supersphere" params="COUNT 1 1"/></asset>')
    + b'<geom type="mesh" mesh="m"/>',
    beside('<asset><hfield name="h" nrow="COUNT" ncol="COUNT" size="1 1 1 1"/></asset>'),
    beside('<asset><texture name="u" type="cube" builtin="gradient" width="COUNT" height="COUNT"/></asset>'),
    beside('<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>') + b'<geom type="mesh" mesh="m"/>',
    beside('<size memory="COUNTM" nuserdata="COUNT" nuser_body="COUNT" nkey="COUNT"/>'),
    beside('<include file="input.xml"/>'),
    beside('<asset><model name="self" file="input.xml"/></asset>') + b'<attach model="self" prefix="p"/>',
    beside('<asset><mesh file="nowhere.stl"/></asset>') + b'<frame pos="1 0 0"><geom size="1"/></frame>',
    beside('<extension><plugin plugin="mujoco.pid"/></extension>'),
    b'<camera name="c" resolution="COUNT COUNT"/>' + beside('<sensor><rangefinder camera="c"/></sensor>'),
]
MJCF_TAGS = [
    "mujoco", "worldbody", "body", "joint", "geom", "site", "inertial", "default", "frame", "replicate", "freejoint",
    "camera", "compiler", "option", "size", "asset", "mesh", "actuator", "motor", "sensor", "equality", "weld",
    "connect", "tendon", "odd",
]  # fmt: skip
MJCF_VALUES = [x for x in ODD_NUMBERS if x] + ODD_NAMES + [
    "1 2", "1 2 3", "0 0 0", "0 0 0 0", "1 0 0 0", "1e-9 0 0", "hinge", "ball", "free", "slide", "mesh", "capsule",
    "ellipsoid", "true", "false", "auto", "yaw", "elbow", "shoulder", "finger", "disable", "enable", "1e10 1e10 1e10",
    "turn", "slip", "end", "pin", "held", "hand", "0 1 0 0 0", "0.1 2", "1e9 1 0 0 0", "0 1e-300 0 0 0",
]  # fmt: skip

# --- BVH -----------------------------------------------------------------------------------------------------

_LINES = walk_bvh.text().split("\n")
_MOTION = _LINES.index("MOTION")
SHORT = "\n".join([*_LINES[: _MOTION + 1], "Frames: 4", *_LINES[_MOTION + 2 : _MOTION + 7], ""])
DENSE = """HIERARCHY
ROOT a{OFFSET 0 0 0
CHANNELS 6 Xposition Yposition Zposition Yrotation Xrotation Zrotation
JOINT b{OFFSET 0 10 0
CHANNELS 1 Xrotation
JOINT c{OFFSET 0 10 0}JOINT d{OFFSET 5 5 0
CHANNELS 2 Zrotation Xrotation
End Site{OFFSET 1 1 1}}}}
MOTION
Frames: 2
Frame Time: 0.01
1 2 3 4 5 6 7 8 9
9 8 7 6 5 4 3 2 1
"""
BVH = [SHORT.encode(), DENSE.encode()]
BVH_WORDS = [x.encode() for x in ODD_NUMBERS] + [
    b"HIERARCHY", b"ROOT", b"JOINT", b"End Site", b"OFFSET", b"CHANNELS", b"MOTION", b"Frames:", b"Frame Time:", b"{",
    b"}", b"#", b"Xrotation", b"xrotation", b"Zposition", b"Hips", b"LeftFoot", b"JOINT x\n{", b"} }", b"\x1b[2J",
    b"\xe9", b"\0",
]  # fmt: skip

# --- TOML ----------------------------------------------------------------------------------------------------

TOML = [
    b'scene = "molecule"\nduration = 2.0\nforce = ["atom17: 0, 0, 1"]\nactive = 10\n\n[set]\njoints = 200\n',
    b'scene = "arm.urdf"\ndt = 1e-3\nlimits = 1e4\nat = ["elbow=0.3"]\ntorque = ["yaw=1"]\njoint-wrenches = true\n',
    b'scene = "chain"\nset = { joints = 4 }\nrtol = 1e-6\natol = 1e-9\nintegrator = "rk45"\nevery = 10\n',
]
TOML_WORDS = [x.encode() for x in ODD_NUMBERS] + [
    b"[set]", b"[[set]]", b"[a.b.c]", b"scene", b"dt", b"=", b"true", b"1979-05-27T07:32:00Z", b"{a=1}", b"[[1],[2]]",
    b'"""', b"'''", b'"\\u0000"', b"set.joints", b"a." * 300 + b"b", b"0b101", b"0o7", b"joints", b"inf", b"-nan", b"[",
    b'"', b"0x" + b"f" * 5000,
]  # fmt: skip

# --- meshes --------------------------------------------------------------------------------------------------

CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
TRIANGLES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def binary_stl() -> bytes:
    """A tetrahedron, as the seeds below are."""
    rows = [struct.pack("<12fH", 0, 0, 1, *(float(x) for i in t for x in CORNERS[i]), 0) for t in TRIANGLES]
    return b"made by hand".ljust(80) + struct.pack("<I", len(rows)) + b"".join(rows)


def gltf(inline: bool) -> tuple[dict[str, object], bytes]:
    """A scene of one mesh, and its numbers."""
    data = b"".join(struct.pack("<3f", *c) for c in CORNERS) + b"".join(struct.pack("<3I", *t) for t in TRIANGLES)
    where = {"uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()} if inline else {}
    scene: dict[str, object] = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"children": [1]}, {"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
                      {"bufferView": 1, "componentType": 5125, "count": 12, "type": "SCALAR"}],
        "bufferViews": [{"buffer": 0, "byteOffset": at, "byteLength": 48} for at in (0, 48)],
        "buffers": [{"byteLength": len(data), **where}],
    }  # fmt: skip
    return scene, data


def glb() -> bytes:
    """The same in one binary file."""
    scene, data = gltf(inline=False)
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body


_VERTICES = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS)
_FACES = "".join(f"f {a + 1}//1 {b + 1}//1 {c + 1}//1\n" for a, b, c in TRIANGLES)
OBJ = f"mtllib a.mtl\no part\n{_VERTICES}vn 0 0 1\nusemtl red\n{_FACES}"
_ROWS = "".join(f"{x} {y} {z}\n" for x, y, z in CORNERS) + "".join(f"3 {a} {b} {c}\n" for a, b, c in TRIANGLES)
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 4\n"
    f"property list uchar int vertex_indices\nend_header\n{_ROWS}"
)
OFF = f"OFF\n4 4 0\n{_ROWS}"
DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit name="cm" meter="0.01"/>
</asset><library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#pa" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="v">
<input semantic="POSITION" source="#p"/></vertices><triangles count="2">
<input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3</p></triangles></mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s">
<node id="n"><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""
MESHES = {
    ".stl": binary_stl(), ".obj": OBJ.encode(), ".ply": PLY.encode(), ".off": OFF.encode(), ".dae": DAE.encode(),
    ".glb": glb(), ".gltf": json.dumps(gltf(inline=True)[0], indent=1).encode(),
}  # fmt: skip
MESH_WORDS = [x.encode() for x in ODD_NUMBERS] + [
    b"f", b"v", b"vt", b"usemtl", b"mtllib", b"/dev/zero", b"1/2/3", b"-1//-1", b"element", b"vertex", b"4000000000",
    b"list", b'"count": 2147483648,', b'"uri": "/dev/zero",', b'"children": [0, 0, 0],', b"<node>", b"</node>", b"#g",
    b"3 0 1 2", b"#",
]  # fmt: skip
