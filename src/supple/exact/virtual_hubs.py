"""Links with many joints in virtual work: absorbed, kept in pairs, or split [VW section 4].

VW couples every two joints on a link (virtual_pairs.py), which costs O(k^3) for k of them, and therefore splits: a
link with n > 3 joints is cut into n - 2 pieces, each with 1/(n - 2) of its mass, inertia and load, connected by fixed
joints, so that none has more than three. The total cost is then O(n), with up to twice as many links.

Neither is necessary. The coupling of joints b and k on link L goes through that link, S_bk = X_b Phi_L X_k^T, so the
effect on a joint of those closed before it is a single 6x6 matrix, sum X_k^T W_kk' X_k': virtual_work.py includes it in
the link's mobility and discards the pairs. That is also more accurate: digits are lost in proportion to how much
lighter a link is than what it carries (with pairs, to its square), and pieces are lighter than links. `supple reproduce
vw` shows both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import checked
from supple.errors import SingularError
from supple.exact.answers import at_rest
from supple.exact.digits import keeps_digits, settled
from supple.exact.virtual_pairs import PAIRS, hubs_of
from supple.exact.virtual_work import VIRTUAL_WORK, WITH_WRENCHES, constants_of
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.topology import n_children

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Hubs = Literal["absorb", "split", "pairs"]


class Split(NamedTuple):
    """A model whose links have at most three joints, and how its bodies correspond to the original ones."""

    model: Model
    bodies: Ints  #: (n_bodies,) the index of each body of the original; for a link that was cut, of its first piece
    owner: Ints  #: (pieces and all,) the body of the original that each body is, or is a piece of
    share: Floats  #: and the fraction of it


def split_hubs(model: Model) -> Split:
    """The same mechanism with links of n > 3 joints cut into n - 2 pieces, joined by fixed joints [VW section 4].

    Of the joints on a link with k children, c_1 ... c_k, the first piece has that to the parent and c_1, piece j has
    c_j, the last one c_k-1 and c_k. q, v and tau stay unchanged. The world is not a link, and is never cut.
    """
    parent, hubs = model.parent, hubs_of(model)
    count, place = n_children(parent)[1:], hubs["place"][:-1]
    siblings = np.where(parent < 0, 0, count[parent])
    cut = siblings >= 3
    before = cut & (place >= 1) & (place < siblings - 1)  # a piece is inserted before these
    group = np.arange(len(parent) + 1) + np.append(0, np.cumsum(before))  # where a body, with such a piece, begins
    bodies = group[:-1] + before
    pieces = bodies[before] - 1
    owner = np.empty(int(group[-1]), dtype=np.int64)
    owner[bodies], owner[pieces] = np.arange(len(parent)), parent[before]
    share = 1.0 / np.maximum(1, count - 1)[owner]

    # Parents: the first piece is the link itself; piece j comes before c_j, and its parent is piece j - 1.
    link = np.where(parent < 0, -1, bodies[parent])
    earlier = bodies[hubs["child"][hubs["start"][parent] + np.maximum(place - 1, 0)]] - 1  # the piece before c_j-1
    holder = np.where(before, bodies - 1, np.where(cut & (place > 0), earlier, link))
    up = np.empty_like(owner)
    up[bodies], up[pieces] = holder, np.where(place == 1, link, earlier)[before]

    changed = {name: getattr(model, name)[owner] for name in _OF_BODIES}
    changed["parent"] = up
    changed["subtree_end"] = group[model.subtree_end[owner]]
    for name, value in _OF_FIXED.items():
        changed[name][pieces] = value
    for name in ("q_index", "v_index"):  # a piece has no coordinates: its indices are those of the body after it
        changed[name][pieces] = getattr(model, name)[before]
    changed["mass"] *= share
    changed["inertia"] *= share[:, None, None]
    changed |= {"frame_list": (), "visuals": ()}
    for name in ("body_names", "joint_names"):
        changed[name] = _names(getattr(model, name), owner, pieces, place[before] + 1)
    out = Model._of(**(model.__getstate__() | changed))  # with fixed joints, which only our own models may have
    vars(out)["expanded_parent"] = model.expanded_parent  # degrees of freedom are connected as before
    return Split(out, bodies, owner, share)


def _names(old: Sequence[str], owner: Ints, pieces: Ints, numbers: Ints) -> tuple[str, ...]:
    ends = dict(zip(pieces.tolist(), numbers.tolist()))
    return tuple(f"{old[b]}, piece {ends[i]}" if i in ends else old[b] for i, b in enumerate(owner.tolist()))


_OF_BODIES = (
    "parent", "subtree_end", "joint_type", "q_index", "v_index", "position", "rotation", "axis", "axis2", "pitch",
    "mass", "com", "inertia",
)  # fmt: skip
_OF_FIXED = {"joint_type": int(JointType.FIXED), "position": 0.0, "rotation": np.eye(3)}


# --- calls ----------------------------------------------------------------------------------------------------------


class VirtualWork(NamedTuple):
    """Results of virtual work; with a leading axis for batches."""

    accelerations: Floats  #: (nv,)
    wrenches: Floats  #: (n_bodies, 6) what each joint exerts on its child, about the child's origin, along world axes

    def __repr__(self) -> str:
        return f"<VirtualWork: accelerations {self.accelerations.shape}, wrenches {self.wrenches.shape}>"


@checked
def virtual_work(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    hubs: Hubs = "absorb",
) -> VirtualWork:
    """Accelerations and joint wrenches together, by the principle of virtual work [VW].

    Arguments as in forward_dynamics. hubs: how links with many joints are treated; results are the same.

        "absorb"  every joint that is closed changes its link's mobility: O(n), used by forward_dynamics
        "split"   the same after links with more than three joints are cut into pieces [VW section 4]: O(n)
        "pairs"   a matrix for every pair of joints on a link [VW section 4 without splitting]: O(k^3) for k of them

    The last two are for comparison with the paper: they take longer, and lose digits on links that are light compared
    with what they carry, as pieces of links are. Where digits are lost, results are compared with those of other
    methods and recomputed in 32 digits, or refused (SingularError).
    """
    model._require_tree("virtual_work")
    flat = solved(model, q, at_rest(model, v), tau, wrenches, hubs)
    return VirtualWork(flat[..., : model.nv], flat[..., model.nv :].reshape(*flat.shape[:-1], model.n_bodies, 6))


def accelerations(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, wrenches: ArrayLike | None = None
) -> Floats:
    """forward_dynamics by virtual work. Where digits are safe, later calls go straight to the kernel."""
    if not keeps_digits(model):
        return solved(model, q, v, tau, wrenches, "absorb", forces=False)
    try:
        found = VIRTUAL_WORK.general(model, q, v, tau, wrenches)
    except SingularError:
        return solved(model, q, v, tau, wrenches, "absorb", forces=False)
    model._fast["virtual-work"] = model._fast[VIRTUAL_WORK.name]
    return found


def solved(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, wrenches: ArrayLike | None, hubs: Hubs,
           forces: bool = True) -> Floats:  # fmt: skip
    """(nv + 6 n,) accelerations and, if requested, joint wrenches, all to full accuracy."""
    arrays, size = VIRTUAL_WORK.arrays(model, (q, v, tau, wrenches))
    n = model.nv + 6 * model.n_bodies * forces
    try:
        flat = as_found(model, arrays, hubs)
        keep = hubs == "absorb" and keeps_digits(model) and bool((flat[..., -1] > 0).all())
        found = np.ascontiguousarray(flat[..., :n])
    except SingularError:  # the results are not even numbers
        keep, found = False, np.full((n,) if size is None else (size, n), np.nan)
        constants_of(model)  # refuses bodies without mass or inertia
    return found if keep else settled(model, "virtual work", arrays, size, found)


def as_found(model: Model, arrays: list[Floats | None], hubs: Hubs) -> Floats:
    """(nv + 6 n + 1,) the uncorrected results of a treatment; last, a number that is not positive if few digits are
    left."""
    if hubs != "split":
        return (PAIRS if hubs == "pairs" else WITH_WRENCHES)(model, *arrays)
    split = model._kept(split_hubs, lambda: split_hubs(model))
    q, v, tau, wrenches = arrays
    if wrenches is not None:
        wrenches = np.ascontiguousarray(wrenches[..., split.owner, :] * split.share[:, None])
    flat = WITH_WRENCHES(split.model, q, v, tau, wrenches)
    carried = flat[..., model.nv : -1].reshape(*flat.shape[:-1], split.model.n_bodies, 6)[..., split.bodies, :]
    return np.concatenate([flat[..., : model.nv], carried.reshape(*flat.shape[:-1], -1), flat[..., -1:]], axis=-1)
