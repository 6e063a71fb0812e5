"""Changing the root of a moving body on the fly [Stepien, Polanski, Wojciechowski 2012 (RR)].

The bodies between the old root and the new one form the chain of inversion c_0 ... c_k: there parents become children,
and the joint between two of them now moves the one that was the parent. Everything else keeps its place in the tree.

    E, t      tree rotation and offset of a joint, as the body that owns it (its parent) sees them
    s         the new origin of a chain body, relative to the old one: bodies keep their axes, origins move to the
              joint they now use, which for c_m is that of c_(m+1) [RR (10)]; everything fixed to a body moves by -s
    J         the pose across a joint, J' = E J^-1 E^T that across the reversed one

A reversed joint has its axes reversed, S' = -E S, and so keeps its coordinates, with their limits, motors and
recordings. (RR keeps the axis and changes the sign of q: the same motion.) The two angles of a universal joint change
places. Rotations without an axis cannot be kept that way: for a ball joint R' = E R^T E^T, w' = -E R w, for planar and
free joints also p' = -E R^T p, u' = -E (R u + p x R w), and accelerations like velocities.

New indices: a tour around the tree that begins at the new root, so that subtrees off the chain keep their order.
O(n) for copying the columns; everything else is O(length of the chain).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import Triple, as_floats, checked_model
from supple.errors import ModelError, StateError, quoted
from supple.exact.tables import inherit
from supple.model.joints import JointName
from supple.model.manifold import check_units, checked
from supple.model.model import Model
from supple.model.report import Report
from supple.once import made_once
from supple.rerooting.chain import End, chain_end
from supple.rerooting.reversal import (
    TOGETHER,
    Columns,
    Reordered,
    Together,
    moved,
    moved_loop,
    relations_kept,
    renumber,
)
from supple.rerooting.top_joint import NewJoint, TopJoint, fit, top_joint

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RerootedState(NamedTuple):
    """q, v and a of a model with another root; v and a are None if they were not given."""

    q: Floats
    v: Floats | None
    a: Floats | None

    def __repr__(self) -> str:
        given = [f"{name} {x.shape}" for name, x in zip("qva", self) if x is not None]
        return f"<RerootedState: {', '.join(given)}>"


@made_once("model")
@dataclass(frozen=True)
class Rerooted:
    """A model with another root, and its state. v and a are None if they were not given.

    number: (n,) the new index of each old body. shift: (n, 3) its new origin in its old frame (axes are the same).
    chain: the old indices of the bodies from the old root to the new one. top: the joint that held the old root.
    """

    model: Model
    q: Floats
    v: Floats | None
    a: Floats | None
    number: Ints
    shift: Floats
    chain: Ints
    top: TopJoint
    _old: Model
    _old_q: Floats
    _new_top: TopJoint
    _of_q: Ints
    _of_v: Ints

    def __repr__(self) -> str:
        old, new = (self._old.body_names[int(self.chain[i])] for i in (0, -1))
        return f"<Rerooted from {quoted(old)} to {quoted(new)}: {self.model!r}>"

    def undo(self, q: ArrayLike | None = None, v: ArrayLike | None = None, a: ArrayLike | None = None) -> Rerooted:
        """Back to the old root, its place and its joint: the old model, in this state or one that the new model has
        reached since. Angles of its joint return in the turn that they were in, unless its limits exclude that."""
        if q is None and not (v is None and a is None):
            raise StateError("undo takes v and a of a state together with its q")
        state = (self.q, self.v, self.a) if q is None else (q, v, a)
        q, v, a = _checked_state(self.model, *state)
        place, order = int(self.number[self.chain[-1]]), np.argsort(self.number)
        _, end = chain_end(self.model, int(self.number[self.chain[0]]), q, v, a)
        shift = -self.shift[order]
        bare = replace(
            self,
            model=self._old,
            q=q,
            v=None,
            a=None,
            number=order,
            shift=shift,
            chain=self.number[self.chain[::-1]],
            top=TopJoint.of(self.model, place, q),
            _old=self.model,
            _old_q=q,
            _new_top=self.top,
            _of_q=_inverse(self._of_q, self._old.nq, self.model.joints[place].q),  # type: ignore[index]
            _of_v=_inverse(self._of_v, self._old.nv, self.model.joints[place].v),  # type: ignore[index]
        )
        return bare._in(q, v, a, end, self.top, end.p + end.R @ shift[bare.chain[-1]])

    def again(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> RerootedState:
        """The same change of root in another state of the old model: q, v and a of the new one, which stays the same.

        The new joint is assumed to be at the current position of the body's point: on ground that is the same
        everywhere, the result is the motion as seen from there.
        """
        model, body = self._old, int(self.chain[-1])
        q, v, a = _checked_state(model, q, v, a)
        _, end = chain_end(model, body, q, v, a)
        origin = end.p + end.R @ self.shift[body]
        return self._carry(q, v, a, end, replace(self._new_top, position=origin), origin)

    def _carry(
        self, q: Floats, v: Floats | None, a: Floats | None, end: End, top: TopJoint, origin: Floats
    ) -> RerootedState:
        """A state of the old model in coordinates of the new one, with a given top joint."""
        check_units(self._old, q, self.chain)
        together = self._together(q)
        out = RerootedState(q[self._of_q], *(None if x is None else x[self._of_v] for x in (v, a)))
        for joints in together:
            joints.position(q, out.q)
            for x, to in ((v, out.v), (a, out.a)):
                if x is not None and to is not None:
                    joints.velocity(x, to)
        body = int(self.chain[-1])
        fit(self._old.body_names[body], top, end, origin, self.model.joints[int(self.number[body])], *out)
        return out

    def _in(self, q: Floats, v: Floats | None, a: Floats | None, end: End, top: TopJoint, origin: Floats) -> Rerooted:
        """The same change of root, with the resulting state."""
        state = self._carry(q, v, a, end, top, origin)
        return replace(self, q=state.q, v=state.v, a=state.a)

    def _together(self, q: Floats) -> list[Together]:
        old, now = self.chain[1:], self.number[self.chain[:-1]]
        kinds = self._old.joint_type[old]
        groups = [(kind, kinds == kind) for kind in TOGETHER if (kinds == kind).any()]
        return [Together.of(kind, self._old, self.model, old[some], now[some], q) for kind, some in groups]

    def wrenches(self, wrenches: ArrayLike) -> Floats:
        """External wrenches on the old bodies (n_bodies, 6), for the new ones: the same forces about new origins."""
        w, n = as_floats("wrenches", wrenches), len(self.number)
        if w.shape[-2:] != (n, 6) or w.ndim > 3:
            raise StateError(f"wrenches has shape {w.shape}; expected ({n}, 6), or (B, {n}, 6) for a batch")
        if not np.isfinite(w).all():
            raise StateError("wrenches has a number that is not finite")
        out = np.empty_like(w)
        out[..., self.number, :3] = w[..., :3] - np.cross(self.shift, w[..., 3:])
        out[..., self.number, 3:] = w[..., 3:]
        return out

    def forces(self, tau: ArrayLike) -> Floats:
        """Joint forces of the old model, for the new one; none at its new top joint."""
        tau = checked("tau", tau, self._old.nv)
        out: Floats = tau[..., self._of_v]
        for joints in self._together(self._old_q):
            joints.force(tau, out)
        out[..., self.model.joints[int(self.number[self.chain[-1]])].v] = 0.0
        return out


@checked_model
def reroot(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    body: str | int,
    point: Triple | None = None,
    joint: JointName | TopJoint = "revolute",
    axis: Triple | None = None,
    axis2: Triple | None = None,
    pitch: float = 0.0,
    position: Triple | None = None,
    rotation: ArrayLike | None = None,
    joint_name: str | None = None,
) -> Rerooted:
    """The same bodies in the same state, with `body` attached to the world by a new joint at `point`.

    body: its name or index, or the name of a frame on it.
    point: in the world; it becomes the origin of the body's frame, whose axes stay unchanged. By default the origin of
    the body or frame named.
    joint, axis, axis2, pitch: of the new joint, as in ModelBuilder.add_body. axis is along the body's axes; by default
    it is that of the joint that held the body (z if that has none). Or a TopJoint, such as `.top` of an earlier result.
    position, rotation: the new joint's frame in the world. By default at `point`, rotated so that q = 0 is the pose in
    which all joints are neutral [RR (18)]; for a free joint, the world's own frame. To begin with q = 0 instead, give
    the body's current rotation.
    The joint that held the old root is removed, with its limits, damping, armature, spring and actuators; the new one
    takes its name unless joint_name is given. All other joints keep theirs. Other trees of a forest are left unchanged.

    Raises StateError if the new joint cannot represent the body's pose, velocity or acceleration.
    """
    body, local = _place(model, body)
    q, v, a = _checked_state(model, q, v, a)
    chain, end = chain_end(model, body, q, v, a)
    g = end.p + end.R @ local if point is None else np.asarray(point)
    root = int(chain[0])
    if not isinstance(joint, TopJoint):
        joint = top_joint(model, body, NewJoint(joint, axis, axis2, pitch, position, rotation), g, end.B)
    top = replace(joint, name=joint_name or joint.name or model.joint_names[root])
    shift = np.zeros((model.n_bodies, 3))
    shift[chain[:-1]] = model.position[chain[1:]]
    shift[body] = end.R.T @ (g - end.p)  # RR (13), (14)

    number, order, ends = renumber(model, chain)
    columns = Columns(model, chain, shift, number, order, top)
    if top.name != model.joint_names[root] and top.name in model.joint_names:
        raise ModelError(f"there is a joint named {top.name!r} already; give another joint_name")
    joint_names: Sequence[str] = Reordered(model.joint_names, columns.users)
    if top.name != model.joint_names[root]:
        joint_names = (*joint_names[: columns.place], top.name, *joint_names[columns.place + 1 :])
    new = Model._of(
        name=model.name,
        gravity=model.gravity,
        subtree_end=ends,
        origin=(model.origin + shift)[order],
        **columns.arrays,
        body_names=Reordered(model.body_names, order),
        joint_names=joint_names,
        frame_list=moved(model.frame_list, number, shift),
        visuals=moved(model.visuals, number, shift),
        actuator_list=columns.actuators,
        loop_list=tuple(moved_loop(x, number, shift) for x in model.loop_list),
        relation_list=relations_kept(model, root),
        report=Report(model.report.source, (*model.report.remarks, *columns.remarks)),
        shape_list=moved(model.shape_list, number, shift),
    )
    inherit(new, model, order, number[chain])
    of = columns.of_q, columns.of_v
    old_top = TopJoint.of(model, root, q)
    return Rerooted(new, q, None, None, number, shift, chain, old_top, model, q, top, *of)._in(q, v, a, end, top, g)


def _place(model: Model, name: str | int) -> tuple[int, Floats]:
    """The named body, or the body that carries the named frame, and the place on it."""
    place = model.place(name)
    if place.body < 0:
        raise ModelError(f"frame {name!r} is fixed to the world, which is no body that could be the root")
    return place.body, place.position


def _inverse(of: Ints, n: int, top: slice) -> Ints:
    """Where n old coordinates come from in the new ones; removed ones have no source: entry 0 is used for them."""
    out, kept = np.zeros(n, dtype=np.int64), np.ones(len(of), dtype=bool)
    kept[top] = False
    out[of[kept]] = np.flatnonzero(kept)
    return out


def _checked_state(
    model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None
) -> tuple[Floats, Floats | None, Floats | None]:
    v, a = (None if x is None else _of_one_state(name, x, model.nv) for name, x in (("v", v), ("a", a)))
    return _of_one_state("q", q, model.nq), v, a


def _of_one_state(name: str, x: ArrayLike, n: int) -> Floats:
    out = np.array(checked(name, x, n), order="C")
    if out.ndim != 1:
        raise StateError(f"{name} has shape {out.shape}; a root is changed in one state, expected ({n},)")
    return out
