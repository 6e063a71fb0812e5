"""Robots from files and into files: load, save_urdf, and the state as MuJoCo lays it out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from supple.arguments import Triple, checked_as
from supple.errors import ParseError
from supple.files.bvh import load_bvh
from supple.files.lost import say_left_out
from supple.files.mjcf import load_mjcf
from supple.files.mujoco_state import from_mujoco, to_mujoco
from supple.files.urdf import load_urdf
from supple.files.urdf_writer import save_urdf, to_urdf
from supple.files.xml import root_tag
from supple.model.model import Model

__all__ = ["from_mujoco", "load", "load_bvh", "load_mjcf", "load_urdf", "save_urdf", "to_mujoco", "to_urdf"]

RECORDINGS = (".h5", ".hdf5")
SUPPORTED = "supported are URDF (.urdf, or .xml around <robot>), MJCF (.xml around <mujoco>) and BVH (.bvh)"


@checked_as(ParseError)
def load(
    path: str | Path,
    floating_base: bool = False,
    gravity: Triple | None = None,
    *,
    package_dirs: Sequence[str | Path] | None = None,
    strict: bool = False,
    loops: bool = True,
) -> Model:
    """Read a robot from a URDF or MJCF file, or the skeleton of a BVH file (load_bvh also reads its motion). What the
    file says and the model does not use is in model.report; what of that changes how it moves is said in one line, by
    logging.getLogger("supple").

    floating_base: put the robot on a free joint named "root_joint" instead of fixing it to the world.
    gravity: instead of the file's (MJCF) or (0, 0, -9.81) (URDF, which has none).
    package_dirs: folders in which meshes named package://... are looked for (URDF).
    strict: refuse inertias no real body has, joints that move no inertia, and joints that mimic one that is not there,
    instead of reporting them.
    loops: read what closes loops, such as mimic joints (URDF) and equalities (MJCF). False leaves it out, which gives
    the tree alone; some algorithms are for trees.
    """
    model = load_quietly(path, floating_base, gravity, package_dirs=package_dirs, strict=strict, loops=loops)
    say_left_out(model)
    return model


def load_quietly(
    path: str | Path,
    floating_base: bool = False,
    gravity: ArrayLike | None = None,
    *,
    package_dirs: Sequence[str | Path] | None = None,
    strict: bool = False,
    loops: bool = True,
) -> Model:
    """`load` without the line."""
    suffix = Path(path).suffix.lower()
    if suffix == ".bvh":
        return load_bvh(path, gravity=gravity).model
    if suffix in RECORDINGS:
        raise ParseError(
            "a recording, not a robot: use `supple view` or `supple export` (supple.load_run in Python)", str(path)
        )
    if suffix not in (".urdf", ".xml"):
        raise ParseError(f"the suffix {suffix!r} is not known; {SUPPORTED}", str(path))
    tag = "robot" if suffix == ".urdf" else root_tag(path)
    if tag == "robot":
        return load_urdf(path, floating_base, gravity, package_dirs=package_dirs, strict=strict, loops=loops)
    if tag == "mujoco":
        return load_mjcf(path, floating_base, gravity, strict=strict, loops=loops)
    raise ParseError(f"the outermost element is <{tag}>; {SUPPORTED}", str(path))
