"""Generated models: chains, trees of every shape, a humanoid. The shapes alone, as arrays, are in parents.py.

Two kinds of geometry:

    general=True    no special structure: random directions and rotations, masses and inertias of solid boxes
    general=False   square rods that hang along -z at the neutral position, joints about y, siblings fanned

Bodies are called link0, link1, ... in the order of the parent array; the model numbers them depth first.

    >>> from supple.model import trees
    >>> trees.chain(3, general=False)
    <Model 'chain': 3 bodies, nq=3, nv=3, 3 kg>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import Count, Positive, Seed, Share, Triple, Whole, WholeNumbers, checked_model
from supple.errors import ModelError
from supple.model import parents as parents
from supple.model.builder import GRAVITY, ModelBuilder
from supple.model.geometry import rotation_about, rotation_from_quaternion
from supple.model.joints import KINDS, JointName
from supple.model.model import Model
from supple.model.topology import depths

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The joints that random_tree draws from: every one that moves.
ALL_JOINTS: tuple[JointName, ...] = tuple(t.name.lower() for t, kind in KINDS.items() if kind.nv)  # type: ignore[misc]

_WIDTH = 0.1  #: of a rod, as a fraction of its length
_FAN = np.pi / 3  #: between siblings


class Links(TypedDict, total=False):
    """Options of every generated model.

    joint: one type for all joints, or one per body
    base: another type for the joints to the world ("free" lets the tree float)
    link_length, link_mass: metres and kilograms, one number or one per body; masses vary by half if general
    taper: each link is longer than its parent by this factor, and its mass scales with the cube
    skew: the angle about the rod's own axis from one joint to the next; with pi/2 a chain bends both ways
    """

    joint: JointName | Sequence[JointName]
    base: JointName
    link_length: ArrayLike
    link_mass: ArrayLike
    taper: Positive
    skew: float
    general: bool
    gravity: Triple
    name: str


class Options(Links, total=False):
    """Further options of most models. seed: of the general geometry."""

    seed: Seed


@checked_model
def chain(n: Count, **options: Unpack[Options]) -> Model:
    """An unbranched chain of n bodies."""
    return _built("chain", parents.chain(n), options)


@checked_model
def branching(n: Count, factor: parents.Factor, **options: Unpack[Options]) -> Model:
    """Body i is a child of body floor((i-1)/factor), as in spatial_v2's autoTree; a factor of 1 gives a chain."""
    return _built("branching", parents.branching(n, factor), options)


@checked_model
def side_branches(m: Count, length: Whole = 1, per_node: Whole = 1, **options: Unpack[Options]) -> Model:
    """A chain of m bodies with short branches at each of them [SF Figure 4a]; n = 2m by default.

    length: how many bodies a branch has; per_node: how many branches each body of the chain has.
    """
    parent = parents.side_branches(m, length, per_node)
    turn = np.zeros((m, len(parent) // m))
    if turn.shape[1] > 1:
        turn[:, 1::length] = np.pi / 2 + 2 * np.pi * np.arange(per_node) / per_node
    return _built("side branches", parent, options, turn=turn.ravel())


@checked_model
def balanced_binary(levels: parents.Levels, **options: Unpack[Options]) -> Model:
    """A balanced binary tree [SF Figure 4b] of 2^levels - 1 bodies."""
    return _built("balanced binary tree", parents.balanced_binary(levels), options)


@checked_model
def spanning_grid(m: Count, **options: Unpack[Options]) -> Model:
    """A spanning tree of a square grid, by shortest paths from a corner [SF Figure 4c]; n = m^2."""
    parent, turn = parents.spanning_grid(m), np.zeros((m, m))
    turn[:, 1:2] = np.pi / 2  # the rows of the comb stand off its spine
    return _built("spanning grid", parent, options, turn=turn.ravel())


@checked_model
def random_tree(
    n: Count,
    seed: Seed = 0,
    joints: Sequence[JointName] = ALL_JOINTS,
    *,
    along: Share = 0.5,
    world: Share = 0.0,
    **options: Unpack[Links],
) -> Model:
    """A random tree, or forest; each joint is drawn from `joints`, unless `joint` is given.

    Probabilities: `world` to be a child of the world, else `along` of the previous body, else of any earlier body.
    """
    if not joints:
        raise ModelError("joints must be a list of joint types, at least one")
    rng = np.random.default_rng(seed)
    parent = parents.random(n, rng, along, world)
    drawn = [joints[i] for i in rng.integers(0, len(joints), n).tolist()]
    return _built("random tree", parent, {"joint": drawn, **options, "seed": rng})


@checked_model
def from_parents(parent: WholeNumbers, **options: Unpack[Options]) -> Model:
    """A model over any parent array (parents first, -1 is the world)."""
    return _built("tree", parents.first_parents(parent), options)


_TORSO, _LIMB = (0.6, 30.0), (0.15, 2.0)  # length and mass
_LIMBS = ("left_arm", "right_arm", "left_leg", "right_leg")
_SOCKETS = ((0.0, 0.2, 0.0), (0.0, -0.2, 0.0), (0.0, 0.1, -0.6), (0.0, -0.1, -0.6))  # of general=False


@checked_model
def humanoid(general: bool = True, seed: Seed = 0, gravity: Triple = GRAVITY) -> Model:
    """A floating torso with four limbs of six revolute joints: 25 bodies, 30 degrees of freedom [SF 6]."""
    parent = parents.humanoid()
    names = ["torso", *(f"{limb}{k}" for limb in _LIMBS for k in range(1, 7))]
    options = _of_humanoid(general, seed, gravity)
    position = None
    if not general:
        position = np.full((25, 3), np.nan)
        position[1::6] = _SOCKETS
    return _built("humanoid", parent, options, names=names, turn=np.zeros(25), position=position)


@checked_model
def humanoid_chain(general: bool = True, seed: Seed = 0, gravity: Triple = GRAVITY) -> Model:
    """The same links in a row, floating at one end: the "equivalent unbranched chain" of SF section 6."""
    names = ["torso", *(f"link{i}" for i in range(1, 25))]
    return _built("humanoid chain", parents.chain(25), _of_humanoid(general, seed, gravity), names=names)


def _of_humanoid(general: bool, seed: Seed, gravity: ArrayLike) -> Options:
    length, mass = np.array([_TORSO, *[_LIMB] * 24]).T
    return {
        "base": "free", "link_length": length, "link_mass": mass, "skew": np.pi / 2,
        "general": general, "seed": seed, "gravity": gravity,
    }  # fmt: skip


# --- geometry -----------------------------------------------------------------------------------------------


def _built(
    name: str,
    parent: Ints,
    options: Options,
    *,
    names: list[str] | None = None,
    turn: Floats | None = None,
    position: Floats | None = None,
) -> Model:
    """turn: angles of rods relative to their parents; position: explicit positions of joints, where not NaN."""
    n = len(parent)
    joint = options.get("joint", "revolute")
    if "base" in options:
        each: Sequence[JointName] = [joint] * n if isinstance(joint, str) else joint
        if len(each) != n:
            raise ModelError(f"joint has {len(each)} entries for {n} bodies")
        joint = [options["base"] if p < 0 else j for p, j in zip(parent.tolist(), each)]
    with np.errstate(over="ignore"):  # the result is checked like any model
        size = options.get("taper", 1.0) ** (depths(parent) - 1.0)
        length, mass = (_each("link_length", options, n) * size, _each("link_mass", options, n) * size**3)
    if options.get("general", True):
        columns = _general(parent, length, mass, np.random.default_rng(options.get("seed", 0)))
    else:
        skew = options.get("skew", 0.0)
        columns = _rods(parent, length, mass, skew, _fan(parent) if turn is None else turn)
    roots = np.flatnonzero(parent < 0)
    columns["position"][roots] = np.arange(len(roots))[:, None] * [2.0 * length.max(), 0.0, 0.0]
    if position is not None:
        columns["position"] = np.where(np.isnan(position), columns["position"], position)
    b = ModelBuilder(options.get("name", name), options.get("gravity", GRAVITY))
    b.add_bodies(parent, joint, names=names or [f"link{i}" for i in range(n)], **columns)
    return b.build()


def _each(what: Literal["link_length", "link_mass"], options: Options, n: int) -> Floats:
    """An option that is one number, or one per body."""
    x = np.asarray(options.get(what, 1.0))
    if x.shape not in ((), (n,)) or not (np.isfinite(x) & (x >= 0)).all():
        raise ModelError(f"{what} must be one number, or one for each of {n} bodies, finite and >= 0")
    return x


def _rods(parent: Ints, length: Floats, mass: Floats, skew: float, turn: Floats) -> dict[str, Any]:
    n, width = len(parent), _WIDTH * length
    along = np.zeros((n, 3))
    along[:, 2] = -length
    inertia = np.zeros((n, 3, 3))
    inertia[:, 0, 0] = inertia[:, 1, 1] = mass * (length**2 + width**2) / 12
    inertia[:, 2, 2] = mass * width**2 / 6
    return dict(
        axis=(0.0, 1.0, 0.0),
        axis2=(1.0, 0.0, 0.0),
        pitch=_WIDTH,
        position=along[parent],
        rotation=rotation_about([0.0, 0.0, 1.0], skew) @ rotation_about([0.0, 1.0, 0.0], turn),
        mass=mass,
        com=0.5 * along,
        inertia=inertia,
    )


def _fan(parent: Ints) -> Floats:
    """The angles of siblings: evenly spaced and symmetric about straight ahead."""
    order = np.argsort(parent, kind="stable")
    count = np.bincount(parent + 1)
    place = np.empty(len(parent))
    place[order] = np.arange(len(parent)) - (np.cumsum(count) - count)[parent[order] + 1]
    of = count[parent + 1]
    angles: Floats = (place - 0.5 * (of - 1)) * np.minimum(_FAN, 2 * np.pi / of)
    return np.where(parent < 0, 0.0, angles)


def _general(parent: Ints, length: Floats, mass: Floats, rng: np.random.Generator) -> dict[str, Any]:
    n = len(parent)
    tip = _directions(rng.standard_normal((n, 3)))
    axis = _directions(rng.standard_normal((n, 3)))
    mass = mass * rng.uniform(0.5, 1.5, n)
    box = length[:, None] * np.column_stack([rng.uniform(_WIDTH, 3 * _WIDTH, (n, 2)), np.ones(n)])
    moments = (np.sum(box**2, axis=1, keepdims=True) - box**2) * mass[:, None] / 12
    R = rotation_from_quaternion(rng.standard_normal((n, 4)))
    return dict(
        axis=axis,
        axis2=np.cross(axis, tip),
        pitch=rng.uniform(-_WIDTH, _WIDTH, n),
        # siblings sit around the parent's tip, not all at one point
        position=length[parent, None] * _directions(tip[parent] + 0.3 * rng.standard_normal((n, 3))),
        rotation=rotation_from_quaternion(rng.standard_normal((n, 4))),
        mass=mass,
        com=length[:, None] * (0.5 * tip + 0.1 * rng.standard_normal((n, 3))),
        inertia=(R * moments[:, None, :]) @ R.transpose(0, 2, 1),
    )


def _directions(x: Floats) -> Floats:
    out: Floats = x / np.linalg.norm(x, axis=1, keepdims=True)
    return out
