"""What public calls usually get: an object of every public class, and a good value for every parameter by its name."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import supple
from supple import scenes

URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial></link><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><limit
lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
BVH = """HIERARCHY
ROOT Hips
{
OFFSET 0 0 0
CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
JOINT LeftFoot
{
OFFSET 0 -90 0
CHANNELS 3 Zrotation Xrotation Yrotation
End Site
{
OFFSET 0 -10 10
}
}
}
MOTION
Frames: 8
Frame Time: 0.02
""" + "\n".join(f"0 {100 + k * k} 0 {k} 0 {2 * k} {3 * k} 0 {k}" for k in range(8))

VECTORS = (
    "force", "point", "torque", "anchor", "eye", "target", "axis", "axis2", "position", "com", "gravity", "normal",
    "forward", "other_point", "other_position",
)  # fmt: skip
FLAGS = (
    "sparse", "split", "strict", "floating_base", "guaranteed", "joint_wrenches", "resume", "overwrite", "progress",
    "check_energy", "trace", "general", "planar", "symmetric", "limits", "puppets", "pulls_only", "joint_forces",
    "springs", "loops", "neighbours", "contacts", "log",
)  # fmt: skip
COUNTS = (
    "count", "steps", "n", "m", "every", "update_every", "levels", "legs", "leg_links", "links", "rows", "columns",
    "group", "mask", "sweeps", "chains",
    "link", "length", "per_node", "spine", "active", "most", "iterations", "attempts", "windows", "width", "height",
)  # fmt: skip
NUMBERS = (
    "error", "stiffness", "damping", "rate", "dt", "duration", "rtol", "atol", "tolerance", "mass", "pitch", "focal",
    "view_angle", "near", "unseen", "resolution", "time", "least", "clearance", "scale", "slope", "hip_mass",
    "leg_mass", "leg_center", "angle", "lower", "upper", "velocity_limit", "effort_limit", "armature", "friction",
    "along", "world", "factor", "acceleration_region", "seconds", "cutoff", "gain", "bias", "rest",
    "weight", "lever", "start", "stop", "offset", "crank", "rod", "speed", "restitution", "margin", "ground", "overlap",
    "sleep",
)  # fmt: skip
OTHER_NUMBERS = {"dt": 2e-3, "duration": 0.01, "tolerance": 1e-8, "factor": 2.0, "seconds": 0.01, "cutoff": 6.0}

WORDS = {
    "point_frame": "body", "form": "ltl", "integrator": "euler", "order": "balanced", "about": "com",
    "hubs": "absorb", "measure": "relative-linkage", "to": "csv", "guard": "hip", "then": "stop", "source": "x",
    "unphysical_inertia": "report", "singular": "report", "subject": "s", "message": "m", "title": "t", "unit": "cm",
    "sex": "female", "where": "middle", "joint_name": "new", "name": "x", "base": "free", "up": "y", "kind": "box",
    "library": "pandas", "quantity": None, "run": 1,
}  # fmt: skip
#: Of some calls, by their last name.
OF_CALL: dict[tuple[str, str], Any] = {
    ("active =", "active"): 2, ("measure =", "measure"): "absolute-joint", ("pin", "moves"): True,
    ("add_body", "joint"): "ball", ("add_body", "parent"): 0, ("add_body", "lower"): -1.0,
    ("add_bodies", "parent"): [0, 1], ("add_bodies", "joint"): ["ball", "revolute"],
    ("add_bodies", "names"): ["u", "w"],
    ("joint_wrenches", "frame"): "parent", ("plot", "values"): np.zeros(25), ("unpack", "values"): np.zeros(25),
    ("solve", "joints"): 2, ("refine", "joints"): 2, ("random_tree", "joints"): ["ball", "revolute"],
    ("Spring", "length"): 0.5, ("spring", "length"): 0.5, ("SpringBetween", "length"): 0.5,
    ("spring_between", "length"): 0.5, ("SpringBetween", "other"): "b", ("spring_between", "other"): 4,
    ("set", "length"): 0.5, ("pendulum", "length"): 2.0, ("compass", "gravity"): 9.81, ("compass", "length"): 1.0,
    ("simplest_walker", "gravity"): 1.0, ("compass", "start"): "table", ("simplest_walker", "start"): "long",
    ("simplest_walker", "slope"): 0.009, ("simplest_walker", "length"): 1.0, ("compass", "slope"): 0.05,
    ("walker_by_contact", "slope"): 0.05,
    ("molecule", "forces"): 1, ("from_parents", "parent"): [-1, 0, 0, 1], ("State", "active_joints"): None,
    ("State", "sleeping"): None,
    ("Clip", "times"): np.arange(4.0), ("Clip", "feet"): (), ("citation", "papers"): "sf", ("gait", "most"): 20,
    ("place", "name"): "link1", ("moving_place", "name"): 1, ("Controller", "most"): 1.0, ("control", "most"): 1.0,
    ("joint_law", "rows"): np.array([[0, 0, 1, 0, 1, 0, np.inf, -np.inf, np.inf, 0, 0.0]]),
    ("add_body", "stiffness"): 0.0, ("add_bodies", "stiffness"): 0.0, ("Actuator", "joint"): "link0_joint",
    ("Controls", "values"): {}, ("controls", "values"): {}, ("add_actuator", "actuator"): supple.Actuator("m", "j"),
    ("Arrows", "names"): ("a",), ("Arrows", "times"): np.arange(4.0), ("Arrows", "points"): np.zeros((4, 1, 3)),
    ("Arrows", "vectors"): np.zeros((4, 1, 3)), ("Arrows", "unit"): "N", ("about", "joint"): "LeftFoot_joint",
    ("close", "other"): None, ("close", "joint"): "ball", ("close", "body"): 0, ("close", "other_rotation"): np.eye(3),
    ("relate", "factors"): {"link0_joint": 1.0}, ("inverse_dynamics", "actuated"): None,
    ("add_shape", "size"): (0.1, 0.2, 0.3), ("add_shape", "points"): None, ("add_shape", "apart"): (),
    ("add_shape", "friction"): 0.5, ("Contacts", "apart"): (), ("Contacts", "friction"): 0.5,
    ("pushes", "count"): 1, ("spring_pendulum", "link"): 0, ("control", "target"): 0.1, ("Controller", "target"): 0.1,
    ("__getitem__", "name"): "result", ("walk_many", "q"): np.array([[-0.3, 0.54]]), ("walk_many", "keep"): 2,
    ("walk_many", "v"): np.array([[-1.1, -0.3]]),
}  # fmt: skip


@cache
def model_of(which: int) -> supple.Model:
    """Models without and with quaternions."""
    if which == 0:
        return supple.trees.chain(5)
    joints = ["free", "ball", "planar", "universal", "prismatic"]
    return supple.trees.from_parents([-1, 0, 0, 1, 3], joint=joints, seed=1)


def instance(name: str, rng: np.random.Generator, folder: Path) -> tuple[Any, supple.Model]:
    """A fresh object of a public class, and the model that it has to do with."""
    model = model_of(int(rng.integers(2)))
    q, v = model.random(rng), 0.1 * rng.standard_normal(model.nv)
    if name in ("AdaptiveDynamics", "Push of it"):
        ad = supple.AdaptiveDynamics(model, q, v, active=3)
        return (ad if name == "AdaptiveDynamics" else ad.apply(2, (0, 0, 1))), model
    if name in ("QuasiStatics", "Approximation"):
        qs = supple.QuasiStatics(model, q)
        qs.apply(4, (0, 0, 1))
        return (qs if name == "QuasiStatics" else qs.solve()), model
    if name in ("TreeMatrix", "Pattern", "Factor"):
        H = supple.mass_matrix(model, q, sparse=True)
        return {"TreeMatrix": H, "Pattern": H.pattern, "Factor": supple.factorize(H)}[name], model
    if name == "ModelBuilder":
        b = supple.ModelBuilder()
        b.add_body("link0", mass=1.0, com=(0.1, 0, 0))
        return b, model
    if name in ("Walker", "Gait"):
        return (scenes.compass() if name == "Walker" else a_gait()), scenes.compass().model
    if name in ("Clip", "Loads"):
        clip = supple.load_bvh(written(folder, "walk.bvh", BVH))
        return (clip if name == "Clip" else supple.motion_loads(clip)), clip.model
    if name == "Sweep":
        return supple.sweep(lambda a: a, {"a": [1, 2]}, engine="serial"), model
    others = {
        "Model": lambda: model,
        "Rerooted": lambda: supple.reroot(model, q, v, body=4, joint="free"),
        "State": lambda: supple.State(0.0, q, v, model),
        "Result": lambda: supple.simulate(model, q, v, duration=0.01, dt=2e-3),
    }
    return others[name](), model


@cache
def a_gait() -> supple.Gait:
    return supple.gait(scenes.compass())


def written(folder: Path, name: str, text: str) -> Path:
    """A file with a text."""
    path = folder / name
    path.write_text(text)
    return path


def recorded(folder: Path) -> Path:
    """A small recording."""
    path = folder / "run.h5"
    if not path.exists():
        supple.simulate(model_of(0), duration=0.006, dt=2e-3, record=path)
    return path


def usual(call: str, name: str, model: supple.Model, rng: np.random.Generator, folder: Path) -> Any:
    """What a parameter of a call usually gets."""
    owner, _, last = call.rpartition(".")
    if (last, name) in OF_CALL:
        return OF_CALL[last, name]
    if name == "saved":
        return instance(owner, np.random.default_rng(3), folder)[0].save()
    if name in ("path", "recording"):
        return _file(last, folder)
    if name in ("parent", "ends"):
        return model.expanded_parent if name == "parent" else None
    if (last, name) == ("Clip", "q"):
        return np.array([model.random(rng) for _ in range(4)])
    for words, value in ((FLAGS, bool(rng.integers(2))), (COUNTS, int(rng.integers(1, 4))), (VECTORS, rng.random(3))):
        if name in words:
            return value
    if name in NUMBERS:
        return OTHER_NUMBERS.get(name, 0.5)
    return WORDS[name] if name in WORDS else _of_model(name, model, rng, folder)


def _file(call: str, folder: Path) -> Path | None:
    if call in ("load_run", "export"):
        return recorded(folder)
    if call == "load_sweep":
        store = folder / "sweep.zarr"
        supple.sweep(lambda a: a, {"a": [1, 2]}, engine="serial", out=store, overwrite=True)
        return store
    texts = {"load": ("r.urdf", URDF), "load_bvh": ("w.bvh", BVH), "save_urdf": ("out.urdf", "")}
    return written(folder, *texts[call]) if call in texts else None


def _of_model(name: str, model: supple.Model, rng: np.random.Generator, folder: Path) -> Any:
    n, nv = model.n_bodies, model.nv
    if name in ("q", "q0", "q1", "qpos", "posture"):
        return model.random(rng)
    if name in ("v", "a", "qvel", "tau", "b", "x"):
        return 0.1 * rng.standard_normal(nv)
    methods = ("aba", "crba", "virtual-work", "dca", "dense", "quasi-statics", "adaptive")
    things = {
        "method": str(rng.choice(methods)),
        "segment": 0, "goals": {model.body_names[-1]: rng.random(3)},
        "model": model, "wrenches": rng.standard_normal((n, 6)), "body": int(rng.integers(n)), "mark": [0], "rng": 1,
        "joint": int(rng.integers(n)), "frame": str(rng.choice(["world", "body"])), "H": 2 * np.eye(nv), "seed": 1,
        "weights": np.ones(n), "velocity_weights": np.ones(n), "events": [supple.Event("e", lambda s: s.q[0])],
        "forces": [supple.Push(0, (0, 0, 1.0))], "record": None, "value": np.zeros(model.joints[0].v.stop),
        "names": None, "joint_names": None, "joints": [0, 1], "feet": ("left foot", "right foot"), "parameters": {},
        "when": lambda s: s.q[0], "direction": 1, "bodies": [0, 1], "rotation": np.eye(3), "inertia": np.eye(3),
        "arrows": None, "controls": None, "control_range": (-1, 1), "force_range": (-1, 1),
        "line": 1, "size": (0.1, 0.1, 0.1), "rgba": (1, 0, 0, 1), "mesh": None, "package_dirs": [folder], "i": 0,
    }  # fmt: skip
    if name in ("clip", "walker"):
        return instance(name.title(), rng, folder)[0]
    if name not in things:
        raise KeyError(f"what does a parameter {name!r} usually get? say so in tests/fuzz/usual_values.py")
    return things[name]
