"""The effect on bodies and joints of reversing the chain between two roots. See reroot.py for the symbols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from supple.errors import ModelError
from supple.model.frozen import frozen, kept
from supple.model.geometry import rotation_from_quaternion, rotation_to_z
from supple.model.joints import NQ, NV, SWAPS, UNIT_PART, JointType
from supple.model.loops import Loop, Relation
from supple.model.model import Frame, Model, Visual
from supple.model.report import Remark
from supple.model.valid import OF_Q, OF_V
from supple.rerooting.placement import Placement, Reversal, columns_of, fill
from supple.rerooting.top_joint import UNLIMITED, TopJoint
from supple.spatial.held import Held

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T", Frame, Visual)

_NQ, _NV = np.asarray(NQ), np.asarray(NV)
PLANAR, BALL, FREE = JointType.PLANAR, JointType.BALL, JointType.FREE
TOGETHER = tuple(UNIT_PART)  #: joints whose coordinates change together when reversed; all others keep each one
_TOGETHER, _SWAPS = np.isin(np.arange(len(NQ)), TOGETHER), np.array(SWAPS)


def renumber(model: Model, chain: Ints) -> tuple[Ints, Ints, Ints]:
    """The new index of each body, the body with each new index, and the new ends of subtrees.

    A tour around the tree that begins at the new root c_k: c_k with its subtree; c_(k-1) with the children that came
    after c_k; ... c_0 with those after c_1; then, on the way back, the children that came before.
    """
    n, root, end = model.n_bodies, int(chain[0]), model.subtree_end
    stop = int(end[root])
    last = int(chain[-1])
    # c_m comes right before the successor of the subtree of c_(m+1)
    first = np.insert(np.arange(last, stop), end[chain[:0:-1]] - last, chain[-2::-1])
    before = np.delete(np.arange(root, last), chain[:-1] - root)
    order = np.concatenate([np.arange(root), first, before, np.arange(stop, n)])
    number = np.empty(n, dtype=np.int64)
    number[order] = np.arange(n)
    ends = number + (end - np.arange(n))  # subtrees off the chain stay intact
    # c_m's subtree now ends at the first of the children that preceded c_(m+1) on bodies further down the chain
    begun = np.searchsorted(before, chain[1:])
    ends[chain[-1]] = stop
    ends[chain[:-1]] = stop - (len(before) - begun)
    return number, order, ends[order]


class Columns:
    """The arrays of the new model. of_q, of_v: the sources of its coordinates in the old q and v (those of the new top
    joint have none: entry 0 is used for them)."""

    def __init__(self, model: Model, chain: Ints, shift: Floats, number: Ints, order: Ints, top: TopJoint) -> None:
        self.model, self.top = model, top
        up, down, last = chain[:-1], chain[1:], int(chain[-1])
        to = number[up]  # joint down[m] is now used by the body of new index to[m]
        self.place = int(number[last])
        self.users = order.copy()  # whose joint each body uses; the new top joint counts as the old one's
        self.users[to], self.users[self.place] = down, chain[0]
        kinds = model.joint_type[self.users]
        kinds[self.place] = top.shape.kind
        nq, nv = _NQ[kinds], _NV[kinds]
        q_index, v_index = nq.cumsum() - nq, nv.cumsum() - nv
        kind = model.joint_type[down]
        two = to[_SWAPS[kind]]
        self.of_q = self._sources(model.q_index, q_index, nq, two)
        self.of_v = self._sources(model.v_index, v_index, nv, two)
        parent = number[model.parent[order]]
        parent[model.parent[order] < 0] = -1
        parent[to], parent[self.place] = number[down], -1

        wide = {name: np.empty(getattr(model, name).shape) for name in Placement.fields}
        reversal: Held = Reversal.of(
            n=model.n_bodies, order=order, users=self.users, shift=shift, old=columns_of(model), **wide
        )
        fill()(reversal.address)
        for name in ("position", "axis", "axis2"):
            wide[name] += 0.0  # no negative zeros in printed output
        for name, x in dict(position=top.position, rotation=top.rotation, axis=top.shape.axis).items():
            wide[name][self.place] = x
        wide["axis2"][self.place] = top.shape.axis2
        pitch = model.pitch[self.users]
        pitch[self.place] = top.shape.pitch
        self.arrays: dict[str, Any] = dict(
            wide,
            parent=parent,
            joint_type=kinds,
            q_index=q_index,
            v_index=v_index,
            pitch=pitch,
            mass=model.mass[order],
        )
        self.remarks: list[Remark] = []
        for name, x in TopJoint.of(model, int(chain[0])).limits.items():
            if (x != UNLIMITED[name]).any():
                self._remark(chain[:1], "is gone with the old root", name)
        root = model.joint_names[int(chain[0])]
        self.actuators = tuple(x for x in model.actuator_list if x.joint != root)
        if len(self.actuators) < len(model.actuator_list):
            self._remark(chain[:1], "is gone with the old root", "actuators")
        together = _TOGETHER[kind]
        self._limits(down[together], to[together], kind[together])

    def _sources(self, old: Ints, new: Ints, count: Ints, two: Ints) -> Ints:
        at = old[self.users]
        total = int(new[-1] + count[-1])
        if total > len(at) or count.min() != 1:
            at = (at - new).repeat(count) + np.arange(total)
        first = int(new[self.place])
        at[first : first + int(count[self.place])] = 0
        at[new[two]] += 1
        at[new[two] + 1] -= 1
        return at

    def _limits(self, old: Ints, new: Ints, kind: Ints) -> None:
        """Limits, damping and the like follow their joint; for joints that change all coordinates together (given by
        old and new indices, and kinds), as far as possible."""
        for names, at, which, counts in (
            (OF_Q, self.of_q, "q_index", NQ),
            (OF_V, self.of_v, "v_index", NV),
        ):
            begin = int(self.arrays[which][self.place])
            top = slice(begin, begin + counts[self.top.shape.kind])
            groups = [(k, kind == k) for k in TOGETHER if (kind == k).any()]
            places = [(k, old[some], _range(self.arrays[which][new[some]], counts[k])) for k, some in groups]
            for name in names:
                out = getattr(self.model, name)[at]
                out[top] = self.top.limits.get(name, UNLIMITED[name])
                for k, bodies, here in places:
                    values = out[here]
                    if (values == UNLIMITED[name]).all():
                        continue
                    if name in ("damping", "armature"):
                        _check_directions(self.model, bodies, name, k, values)
                    else:
                        lost = (values != UNLIMITED[name]).any(axis=1)
                        self._remark(bodies[lost], "is reversed", name)
                        out[here] = UNLIMITED[name]
                self.arrays[name] = out

    def _remark(self, bodies: Ints, why: str, what: str) -> None:
        names = (self.model.joint_names[int(i)] for i in bodies)
        self.remarks += [Remark("reroot", f"joint {name!r} {why}, and without its {what}") for name in names]


def _check_directions(model: Model, bodies: Ints, name: str, kind: JointType, values: Floats) -> None:
    """Refuse values whose meaning would change when the joint is reversed."""
    bad = values.any(axis=1)
    if kind == BALL:
        bad &= (values != values[:, :1]).any(axis=1)
    if bad.any():
        raise ModelError(
            f"joint {model.joint_names[int(bodies[bad][0])]!r}: the {name} of a {kind.name.lower()} joint acts along "
            "the axes of the body it moves, and cannot follow when the joint is reversed; set it to 0"
            + " or to one value for all three"
            * (kind == BALL)
        )


def moved(parts: Sequence[T], number: Ints, shift: Floats) -> tuple[T, ...]:
    """Frames or shapes on their bodies, relative to the bodies' new origins."""
    if not parts:
        return ()
    body = np.array([part.body for part in parts])
    at, position = np.maximum(body, 0), np.array([part.position for part in parts])
    places = frozen(position - shift[at])
    rows = zip(parts, number[at].tolist(), places)
    return tuple(part if part.body < 0 else _placed(part, i, place) for part, i, place in rows)


def _placed(part: T, body: int, position: Floats) -> T:
    """The same as dataclasses.replace in a fifth of the time: a robot has a hundred frames and shapes."""
    out: T = object.__new__(type(part))
    vars(out).update(vars(part), body=body, position=position)
    return out


def moved_loop(loop: Loop, number: Ints, shift: Floats) -> Loop:
    """The same joint between the same bodies, relative to their new origins."""
    ends: dict[str, Any] = {}
    for body, position in (("body", "position"), ("other", "other_position")):
        i = getattr(loop, body)
        if i >= 0:
            ends |= {body: int(number[i]), position: kept(getattr(loop, position) - shift[i])}
    return replace(loop, **ends)


def relations_kept(model: Model, root: int) -> tuple[Relation, ...]:
    """The relations between coordinates, which keep their values; refused if one is of the joint that is removed."""
    gone = model.joint_names[root]
    for x in model.relation_list:
        if gone in x.joints:
            raise ModelError(f"relation {x.name!r} is of joint {gone!r}, which is removed with the old root")
    return model.relation_list


class Reordered(Sequence[str]):
    """Names in another order, looked up on access: most of ten thousand never are."""

    def __init__(self, names: Sequence[str], order: Ints) -> None:
        again = isinstance(names, Reordered)
        self._names: Sequence[str] = names._names if again else names  # type: ignore[attr-defined]
        self._order: Ints = names._order[order] if again else order  # type: ignore[attr-defined]

    def __getitem__(self, i: Any) -> Any:
        at = self._order[i]
        return self._names[at] if at.ndim == 0 else tuple(map(self._names.__getitem__, at.tolist()))

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[str]:
        return map(self._names.__getitem__, self._order.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def turn(E: Floats, x: Floats) -> Floats:
    """(k, 3, 3) matrices times (..., k, 3) vectors."""
    return np.asarray(np.einsum("kij,...kj->...ki", E, x))


@dataclass(frozen=True)
class Together:
    """Reversed joints of one of the kinds in TOGETHER, and the map of their coordinates; R and p of each in some
    state."""

    kind: JointType
    q_from: Ints
    v_from: Ints
    q_to: Ints
    v_to: Ints
    E: Floats
    planes: Floats  #: (k, 3, 3) the axes of planar joints' planes, and their normals, as columns
    new_planes: Floats
    R: Floats
    p: Floats

    @classmethod
    def of(cls, kind: JointType, model: Model, new: Model, old: Ints, now: Ints, q: Floats) -> Together:
        """old, now: the indices of the joints in the old model and in the new one. q: of the old one."""
        planes = new_planes = np.empty((0, 3, 3))
        if kind == PLANAR:
            planes, new_planes = rotation_to_z(model.axis[old]), rotation_to_z(new.axis[now])
        q_from, v_from = _range(model.q_index[old], kind.nq), _range(model.v_index[old], kind.nv)
        q_to, v_to = _range(new.q_index[now], kind.nq), _range(new.v_index[now], kind.nv)
        none = np.zeros((len(old), 3))
        bare = cls(kind, q_from, v_from, q_to, v_to, model.rotation[old], planes, new_planes, model.rotation[old], none)
        return bare.at(q)

    def at(self, q: Floats) -> Together:
        """The same joints in another state of the old model."""
        x, planes, p = q[self.q_from], self.planes, self.p
        if self.kind == PLANAR:
            c, s = (x[:, 2:] / np.linalg.norm(x[:, 2:], axis=1, keepdims=True)).T
            R = planes.copy()
            R[:, :, 0], R[:, :, 1] = (
                c[:, None] * planes[:, :, 0] + s[:, None] * planes[:, :, 1],
                c[:, None] * planes[:, :, 1] - s[:, None] * planes[:, :, 0],
            )
            R = R @ planes.transpose(0, 2, 1)
            p = x[:, :1] * planes[:, :, 0] + x[:, 1:2] * planes[:, :, 1]
        else:
            R = rotation_from_quaternion(x[:, -4:])
            if self.kind == FREE:
                p = x[:, :3]
        return replace(self, R=R, p=p)

    def position(self, q: Floats, out: Floats) -> None:
        """R' = E R^T E^T, p' = -E R^T p."""
        x = q[self.q_from]
        if self.kind != BALL:
            p = -turn(self.E, turn(self.R.transpose(0, 2, 1), self.p))
        if self.kind == PLANAR:  # its axis is reversed, its angle is not
            out[self.q_to] = np.concatenate([turn(self.new_planes.transpose(0, 2, 1), p)[:, :2], x[:, 2:]], axis=1)
            return
        out[self.q_to[:, -4:-1]], out[self.q_to[:, -1]] = -turn(self.E, x[:, -4:-1]), x[:, -1]
        if self.kind == FREE:
            out[self.q_to[:, :3]] = p

    def velocity(self, v: Floats, out: Floats) -> None:
        """w' = -E R w, u' = -E (R u + p x R w); accelerations likewise."""
        w = self._back(self._angular(v))
        if self.kind == BALL:
            out[..., self.v_to] = w
        else:
            self._put(out, w, self._back(self._linear(v)) + np.cross(turn(self.E, self.p), w))

    def force(self, tau: Floats, out: Floats) -> None:
        """f' = -E R f, n' = -E (R n + p x R f): the same force on the other body, about the other's origin."""
        n = self._back(self._angular(tau))
        if self.kind == BALL:
            out[..., self.v_to] = n
        else:
            f = self._back(self._linear(tau))
            self._put(out, n + np.cross(turn(self.E, self.p), f), f)

    def _back(self, x: Floats) -> Floats:
        return -turn(self.E, turn(self.R, x))

    def _angular(self, v: Floats) -> Floats:
        x = v[..., self.v_from]
        return np.asarray(x[..., 2:] * self.planes[:, :, 2] if self.kind == PLANAR else x[..., -3:])

    def _linear(self, v: Floats) -> Floats:
        x = v[..., self.v_from]
        if self.kind == PLANAR:
            return np.asarray(x[..., :1] * self.planes[:, :, 0] + x[..., 1:2] * self.planes[:, :, 1])
        return np.asarray(x[..., :3])

    def _put(self, out: Floats, w: Floats, u: Floats) -> None:
        if self.kind == PLANAR:
            to = self.new_planes.transpose(0, 2, 1)
            out[..., self.v_to] = np.concatenate([turn(to, u)[..., :2], turn(to, w)[..., 2:]], axis=-1)
        else:
            out[..., self.v_to[:, :3]], out[..., self.v_to[:, 3:]] = u, w


def _range(first: Ints, count: int) -> Ints:
    return np.asarray(first[:, None] + np.arange(count))
