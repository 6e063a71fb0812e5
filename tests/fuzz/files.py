"""Files of every kind that Supple reads: robots (URDF, MJCF), motions (BVH), settings (TOML) and meshes.

Each begins as a file that is right and is then changed: elements and lines are moved, repeated, nested and renamed,
numbers replaced by odd ones, bytes flipped and cut. A few are no files at all, but pipes, devices and folders. What is
accepted must be a model of finite numbers that can be shown and written.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np

import supple
from supple.errors import ParseError
from supple.files.mesh_corners import KINDS as KINDS_OF_HULLS
from supple.files.mesh_corners import corners_in
from supple.model.shapes import sound_points
from supple.request import Request
from supple.viewing.solids import _mesh
from tests.fuzz import file_seeds as seeds
from tests.fuzz.mutations import Rng, change_bytes, change_lines, change_tree, one_of

os.environ.setdefault("SUPPLE_FILE_SECONDS", "3")  # so that files which take all the time they may do not take it all


def attempt(rng: Rng, folder: Path) -> None:
    """Make one file and read it."""
    kind = rng.choice(list(KINDS), p=[0.3, 0.3, 0.2, 0.1, 0.1])
    make, suffixes, read = KINDS[str(kind)]
    path = folder / f"input{one_of(rng, suffixes)}"
    if rng.random() < 0.01:
        no_file(rng, path)
    else:
        path.write_bytes(make(rng, path.suffix))
    read(rng, path)


# --- making ------------------------------------------------------------------------------------------------


def urdf(rng: Rng, suffix: str) -> bytes:
    return changed_xml(rng, one_of(rng, seeds.URDF), seeds.URDF_VALUES, seeds.URDF_TAGS)


def mjcf(rng: Rng, suffix: str) -> bytes:
    data = one_of(rng, seeds.MJCF)
    if rng.random() < 0.1:
        data = data.replace(b"</worldbody>", one_of(rng, seeds.MJCF_PARTS) + b"</worldbody>", 1)
        data = data.replace(b"COUNT", str(int(10 ** rng.uniform(0, 4))).encode())
    return changed_xml(rng, data, seeds.MJCF_VALUES, seeds.MJCF_TAGS)


def bvh(rng: Rng, suffix: str) -> bytes:
    data = one_of(rng, seeds.BVH)
    if rng.random() < 0.7:
        data = change_lines(rng, data, seeds.BVH_WORDS)
    return change_bytes(rng, data, seeds.ODD) if rng.random() < 0.5 else data


def toml(rng: Rng, suffix: str) -> bytes:
    data = one_of(rng, seeds.TOML)
    if rng.random() < 0.7:
        data = change_lines(rng, data, seeds.TOML_WORDS)
    return change_bytes(rng, data, seeds.ODD) if rng.random() < 0.5 else data


def mesh(rng: Rng, suffix: str) -> bytes:
    data = seeds.MESHES[suffix]
    if suffix in (".obj", ".ply", ".dae", ".gltf", ".off") and rng.random() < 0.5:
        data = change_lines(rng, data, seeds.MESH_WORDS)
    return change_bytes(rng, data, seeds.ODD)


def changed_xml(rng: Rng, data: bytes, values: list[str], tags: list[str]) -> bytes:
    if rng.random() < 0.75:
        data = change_tree(rng, data, values, tags)
    return change_bytes(rng, data, seeds.ODD) if rng.random() < 0.35 else data


def no_file(rng: Rng, path: Path) -> None:
    """Something else in a file's place."""
    what = one_of(rng, ["pipe", "folder", "socket", "loop", "zero", "null", "nothing", "empty", "sparse", "tty"])
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(str(path))
    elif what in ("zero", "null", "tty"):
        path.symlink_to(f"/dev/{what}")
    elif what == "loop":
        path.symlink_to(path)
    elif what == "empty":
        path.touch()
    elif what == "sparse":
        path.touch()
        os.truncate(path, 10**12)


# --- reading -----------------------------------------------------------------------------------------------


def read_robot(rng: Rng, path: Path) -> None:
    how = {"floating_base": 0.3, "strict": 0.2, "loops": 0.8}
    model = supple.load(path, **{name: bool(rng.random() < share) for name, share in how.items()})
    check_model(model)
    check_loops(rng, model)


def read_motion(rng: Rng, path: Path) -> None:
    clip = supple.load_bvh(path, up=one_of(rng, ["y", "z"]))
    check_model(clip.model)
    assert clip.q.shape == (len(clip), clip.model.nq) and np.isfinite(clip.q).all()


def read_settings(rng: Rng, path: Path) -> None:
    Request().over(path)


def read_mesh(rng: Rng, path: Path) -> None:
    if path.suffix in KINDS_OF_HULLS and rng.random() < 0.5:
        points = sound_points("a mesh", "hull", corners_in(path))
        assert points is not None and len(points) >= 4 and np.isfinite(points).all()
        return
    made = _mesh(str(path))
    if isinstance(made, str):
        raise ParseError(made)
    for part in made:
        assert np.isfinite(part.vertices).all() and 0 <= part.faces.min() <= part.faces.max() < len(part.vertices)


def check_model(model: supple.Model) -> None:
    """Finite numbers, parents first; it can be shown and written."""
    assert (model.parent < np.arange(model.n_bodies)).all()
    for numbers in (model.position, model.rotation, model.axis, model.mass, model.com, model.inertia, model.gravity):
        assert np.isfinite(numbers).all()
    assert (model.lower <= model.upper).all()
    repr(model), str(model.report), model.tree(), model.neutral()
    for visual in model.visuals:
        assert np.isfinite(visual.position).all() and np.isfinite(visual.rotation).all()


def check_loops(rng: Rng, model: supple.Model) -> None:
    """What closes loops is of finite numbers, and shown; a position in which it is closed is one, or there is none."""
    for loop in model.loop_list:
        assert np.isfinite([loop.position, loop.other_position, *loop.rotation, *loop.other_rotation]).all()
        repr(loop)
    for relation in model.relation_list:
        assert np.isfinite([*relation.factors, relation.offset]).all()
        repr(relation)
    if model.is_tree or model.nv > 30 or rng.random() < 0.7:
        return
    q = supple.close_loops(model, model.neutral())
    assert np.isfinite(q).all() and model.mobility(q).degrees <= model.nv


Make = Callable[[Rng, str], bytes]
Read = Callable[[Rng, Path], None]

#: How a kind of file is made, what its names end in, and who reads it.
KINDS: dict[str, tuple[Make, list[str], Read]] = {
    "urdf": (urdf, [".urdf", ".xml"], read_robot),
    "bvh": (bvh, [".bvh"], read_motion),
    "toml": (toml, [".toml"], read_settings),
    "mjcf": (mjcf, [".xml"], read_robot),
    "mesh": (mesh, list(seeds.MESHES), read_mesh),
}
