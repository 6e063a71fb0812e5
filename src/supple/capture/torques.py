"""Captured motion to joint moments and ground reaction [RR section 7.1].

The motion (motion.py) takes a wrench from the ground: the sum of all forces and moments on the body, by inverse
dynamics of the free tree. The feet that stand (support.py) carry it; inverse dynamics with their wrenches acting there
then yields the moments of all joints, as in a tree that is re-rooted to the foot, and leaves nothing to the pelvis.
Without them, that wrench would have to come from nowhere, and the legs would carry nothing.

Who carries how much. With F the force, p the centre of pressure and M the moment about it, foot k, whose sole has its
centre at c_k, carries w_k F and w_k M at p_k = c_k + (p - sum w c). The shares w, not negative, sum up to one and bring
sum w c as near to p as they can; where several do, they are those nearest to equal shares. Of two feet, each has the
more the nearer the centre of pressure is to it, measured along the line between them. Since sum w p_k = p, the feet's
forces and moments are together what the ground gives. Motion alone does not tell more: how hard two feet press against
each other, say, is not in it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from supple.arguments import Positive, Triple, checked
from supple.capture.motion import Moving, differentiate, smooth
from supple.capture.support import NONE, Support, find_support, phases, sole_points
from supple.errors import StateError, printable, quoted
from supple.exact.answers import Poses
from supple.exact.inverse import inverse_dynamics
from supple.exact.kinematics import poses
from supple.model.clip import Arrows, Clip
from supple.model.joints import JointType
from supple.model.model import Model, unknown
from supple.once import made_once

Floats = NDArray[np.float64]

LOADED = 0.02  #: of the weight: below this, the ground carries nothing, and there is no centre of pressure
EVEN = 1e-4  #: weight of equal shares against the distance to the centre of pressure, over that between the feet
SOLE = 0.06  #: metres around the line from ankle to toe that count as sole
STRONGEST = 5.0  #: N m per kilogram of body mass: no human joint gives more
HINGES = (JointType.REVOLUTE, JointType.CONTINUOUS)


@made_once("moving")
@dataclass(frozen=True)
class Loads:
    """Joint moments and ground reaction over time.

    joints: names of all joints of the tree except its root. moments: (frames, joints, 3) the moment that each exerts on
    the body that it moves (and its negative on that body's parent), N m, along the axes of that body, positive as a
    right-handed screw; of revolute and ball joints. power: (frames, joints) W, positive where the joint puts energy in.
    reaction: (frames, 3) the ground's force on the body, N, along world axes, z being up; moment: (frames, 3) its
    moment about `point` (frames, 3) on the ground, N m; zero if no foot stands.
    shares: (frames, feet) of the load that each foot carries. pressure: (frames, 2) the centre of pressure, x and y;
    foot_pressure: (frames, feet, 2) that of each foot; nan where the ground, or the foot, carries nothing.
    supported, pelvis: (frames, joints) magnitude of the torque (or force) of each joint, with the ground's force acting
    at the feet, and without it; residual: (frames,) the force that would come from nowhere without it.
    """

    moving: Moving
    support: Support
    joints: tuple[str, ...]
    moments: Floats
    power: Floats
    reaction: Floats
    moment: Floats
    point: Floats
    shares: Floats
    pressure: Floats
    foot_pressure: Floats
    supported: Floats
    pelvis: Floats
    residual: Floats

    def __repr__(self) -> str:
        clip = self.clip
        steps = sum(phase.foot != NONE for phase in phases(self.support.foot))
        size = f"{len(self.joints)} joints, {len(clip)} frames, {steps} times on a foot"
        return f"<Loads of {quoted(clip.model.name)}: {size}>"

    @property
    def times(self) -> Floats:
        """(frames,) seconds."""
        return self.moving.clip.times

    @cached_property
    def clip(self) -> Clip:
        """The smoothed motion, with the ground's forces as arrows."""
        return replace(self.moving.clip, arrows=self.arrows)

    @cached_property
    def arrows(self) -> Arrows:
        """The ground's force at each foot, where it acts."""
        ground = np.full((*self.foot_pressure.shape[:2], 1), self.support.ground)
        at = np.concatenate([np.nan_to_num(self.foot_pressure), ground], axis=2)
        return Arrows(self.moving.clip.feet, self.times, at, self.shares[..., None] * self.reaction[:, None], "N")

    @checked
    def about(self, joint: str, axis: Triple, frame: Literal["world", "body"] = "world") -> Floats:
        """(frames,) the moment of a joint about an axis, of the world or of the body that it moves, with its sign."""
        if joint not in self.joints:
            raise StateError(unknown("joint", joint, self.joints))
        e, clip = _unit(axis), self.moving.clip
        moments = self.moments[:, self.joints.index(joint)]
        if frame == "world":
            R = poses(clip.model, clip.q).rotation[:, clip.model.joints[joint].index]
            moments = np.einsum("fij,fj->fi", R, moments)
        return np.asarray(moments @ e)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What no person could do: pull at the ground, press beside a foot, or exert more than STRONGEST at a joint."""
        return tuple(_warnings(self))

    @checked
    def plot(self, path: str | Path | None = None, joints: Sequence[str] | None = None) -> Any:
        """The ground's reaction and joint moments over time, as a matplotlib figure, saved if a path is given. joints:
        by name; by default those of the first leg."""
        from supple.capture.plot import plot_loads

        return plot_loads(self, joints, path)


@checked
def motion_loads(clip: Clip, cutoff: Positive = 6.0) -> Loads:
    """Joint moments and ground reaction of a captured motion, smoothed to `cutoff` hertz. What no person could do is in
    `.warnings`, and is said by logging.getLogger("supple")."""
    found = loads(differentiate(smooth(clip, cutoff)))
    for text in found.warnings:
        logging.getLogger("supple").warning("%s", printable(f"{clip.model.name}: {text}"))
    return found


def loads(moving: Moving, support: Support | None = None) -> Loads:
    """Inverse dynamics of every frame, with the feet that stand and, for comparison, without."""
    clip, model = moving.clip, moving.clip.model
    if model.joint_type[0] != JointType.FREE or (model.parent < 0).sum() != 1:
        raise StateError(
            f"the ground carries a body that is free to move: the first joint of {quoted(model.name)}, "
            f"{model.joint_names[0]!r}, must be free, and all other bodies depend on it"
        )
    support = find_support(moving) if support is None else support
    if not clip.feet or support.down.shape != (len(clip), len(clip.feet)):
        raise StateError(f"a support says of {len(clip)} frames which of the {len(clip.feet)} feet stand: `down`")
    joints = tuple(model.joint_names[i] for i in range(1, model.n_joints))
    P, top = poses(model, clip.q), model.joints[0].v  # type: ignore[index]
    bare = inverse_dynamics(model, clip.q, moving.v, moving.a)
    stands: NDArray[np.bool_] = np.asarray(support.down.any(axis=1))
    force = np.einsum("fij,fj->fi", P.rotation[:, 0], bare[:, top][:, :3])
    torque = np.einsum("fij,fj->fi", P.rotation[:, 0], bare[:, top][:, 3:])
    centers = np.stack([sole_points(model, P, foot).mean(axis=1) for foot in clip.feet], axis=1)
    point = np.zeros((len(clip), 3))
    point[stands, :2] = np.nanmean(np.where(support.down[..., None], centers, np.nan)[stands], axis=1)
    point[stands, 2] = support.ground
    reaction = np.where(stands[:, None], force, 0.0)
    moment = np.where(stands[:, None], torque + np.cross(P.position[:, 0] - point, force), 0.0)
    carried = _Ground(reaction, moment, point, centers, support.down, LOADED * _weight(model))
    tau = inverse_dynamics(model, clip.q, moving.v, moving.a, carried.wrenches(model, P, clip.feet))
    return Loads(
        moving,
        support,
        joints,
        _moments(model, tau, joints),
        _each(model, tau * moving.v, joints, lambda x: x.sum(axis=1)),
        reaction,
        moment,
        point,
        carried.shares,
        carried.pressure,
        carried.foot_pressure,
        _sizes(model, tau, joints),
        _sizes(model, bare, joints),
        np.linalg.norm(bare[:, top][:, :3], axis=1),
    )


class _Ground:
    """The ground's force, moment about a point, and who carries how much of it (see above)."""

    def __init__(
        self, force: Floats, moment: Floats, point: Floats, centers: Floats, down: NDArray[np.bool_], least: float
    ) -> None:
        self.force, self.down = force, down
        loaded = (force[:, 2] > least) & down.any(axis=1)
        up = np.where(loaded, force[:, 2], 1.0)[:, None]
        arm = np.where(loaded[:, None], np.stack([-moment[:, 1], moment[:, 0]], axis=1) / up, 0.0)
        p = point[:, :2] + arm
        self.pressure = np.where(loaded[:, None], p, np.nan)
        self.shares = shares(centers, p, down)
        self._at = centers + (p - (self.shares[..., None] * centers).sum(axis=1))[:, None]
        carries = loaded[:, None] & (self.shares > 0)
        self.foot_pressure = np.where(carries[..., None], self._at, np.nan)
        self._height = point[:, 2]
        away = np.concatenate([arm, np.zeros((len(arm), 1))], axis=1)
        self._moment = moment - np.cross(away, force)  # about p

    def wrenches(self, model: Model, P: Poses, feet: Sequence[str]) -> Floats:
        """(frames, n_bodies, 6) on the feet, about the origins of their bodies and along their axes."""
        out = np.zeros((len(self.force), model.n_bodies, 6))
        for k, foot in enumerate(feet):
            body = model.body_index(foot)
            at = np.concatenate([self._at[:, k], self._height[:, None]], axis=1)
            f, n = (self.shares[:, k, None] * x for x in (self.force, self._moment))
            n = n + np.cross(at - P.position[:, body], f)
            out[:, body] += np.einsum("fji,fkj->fki", P.rotation[:, body], np.stack([n, f], axis=1)).reshape(-1, 6)
        return out


def shares(centers: Floats, p: Floats, down: NDArray[np.bool_]) -> Floats:
    """(frames, feet) of the load, for centres of soles (frames, feet, 2), where the centre of pressure is at p (frames,
    2)."""
    out = np.zeros(down.shape)
    for pattern in np.unique(down, axis=0):
        if not pattern.any():
            continue
        rows = (down == pattern).all(axis=1)
        c, x = centers[rows][:, pattern], p[rows]
        w = _balanced(c, x)
        if c.shape[1] > 2:
            for i in np.flatnonzero((w < 0.0).any(axis=1)).tolist():
                w[i] = _nearest(c[i], x[i])
        w = np.maximum(w, 0.0)
        out[np.ix_(rows, pattern)] = w / w.sum(axis=1, keepdims=True)
    return out


def _balanced(c: Floats, p: Floats) -> Floats:
    """w = 1/k + C (C^T C)^+ (p - mean), C being the centres less their mean: shares, possibly negative, that bring sum
    w c nearest to p, and of these the nearest to equal ones."""
    mean = c.mean(axis=1, keepdims=True)
    inverse = np.linalg.pinv((c - mean).transpose(0, 2, 1))
    return np.asarray(1.0 / c.shape[1] + np.einsum("fij,fj->fi", inverse, p - mean[:, 0]))


def _nearest(c: Floats, p: Floats) -> Floats:
    """The same without negative ones. Minimise |Y u|^2 + (1 - sum u)^2 over u >= 0, the columns of Y being c - p. With
    u = s w and sum w = 1 this is s^2 |Y w|^2 + (1 - s)^2, so u is a multiple of the shares that minimise |Y w|. A small
    |u|^2 chooses among them. It tells which feet carry something; the shares follow from these feet alone."""
    from scipy.optimize import nnls

    Y = (c - p).T / max(float(np.abs(c - c.mean(axis=0)).max()), np.finfo(float).tiny)
    k = len(c)
    A = np.concatenate([Y, np.ones((1, k)), EVEN * np.eye(k)])
    u = nnls(A, np.concatenate([np.zeros(2), np.ones(1), np.zeros(k)]))[0]
    carry = u > 0.0
    w = np.zeros(k)
    w[carry] = _balanced(c[None, carry], p[None])[0]
    return w


def _unit(axis: Triple) -> Floats:
    e = np.asarray(axis)
    size = float(np.abs(e).max())
    if size == 0.0:
        raise StateError("the axis (0, 0, 0) has no direction: give one, such as (0, 1, 0)")
    e = e / size
    return np.asarray(e / np.linalg.norm(e))


def _weight(model: Model) -> float:
    return model.total_mass * float(np.linalg.norm(model.gravity))


def _moments(model: Model, tau: Floats, joints: Sequence[str]) -> Floats:
    """(frames, joints, 3) along the axes of the bodies that they move; zero where a joint has other coordinates."""
    out = np.zeros((len(tau), len(joints), 3))
    for k, name in enumerate(joints):
        part = model.joints[name]
        kind = model.joint_type[part.index]
        if kind in HINGES:
            out[:, k] = tau[:, part.v] * part.axis
        elif kind == JointType.BALL:
            out[:, k] = tau[:, part.v]
    return out


def _each(model: Model, x: Floats, joints: Sequence[str], of: Any) -> Floats:
    """(frames, joints) a number for each joint from its part of x (frames, nv)."""
    return np.stack([of(x[:, model.joints[name].v]) for name in joints], axis=1)


def _sizes(model: Model, tau: Floats, joints: Sequence[str]) -> Floats:
    return _each(model, tau, joints, lambda x: np.linalg.norm(x, axis=1))


def _warnings(found: Loads) -> list[str]:
    clip, model = found.moving.clip, found.moving.clip.model
    P = poses(model, clip.q)
    out = []
    pulled = found.reaction[:, 2] < -LOADED * _weight(model)
    if pulled.any():
        out.append(f"the ground would have to pull, by up to {-found.reaction[:, 2].min():.0f} N{_when(pulled)}")
    for k, foot in enumerate(clip.feet):
        beyond = _beyond(sole_points(model, P, foot), found.foot_pressure[:, k])
        if (beyond > 0).any():
            far = f"by up to {100 * np.nanmax(beyond):.0f} cm"
            out.append(f"the centre of pressure leaves {foot}, {far}{_when(beyond > 0)}")
    most = STRONGEST * model.total_mass
    for k, name in enumerate(found.joints):
        size = np.linalg.norm(found.moments[:, k], axis=1)
        if (size > most).any():
            out.append(
                f"{name} would have to exert up to {size.max():.0f} N m{_when(size > most)}; no human joint exerts "
                f"more than {STRONGEST:g} N m per kilogram, {most:.0f} N m here"
            )
    return out


def _beyond(points: Floats, p: Floats) -> Floats:
    """(frames,) how far p (frames, 2) is from the lines between the first of some points (frames, points, 2) and the
    others, beyond SOLE; not positive within, nan if there is no p."""
    heel, toes = points[:, :1], points[:, 1:]
    d, x = toes - heel, p[:, None] - heel
    s = np.clip((d * x).sum(axis=2) / np.maximum((d * d).sum(axis=2), 1e-12), 0.0, 1.0)
    return np.asarray(np.linalg.norm(x - s[..., None] * d, axis=2).min(axis=1) - SOLE)


def _when(flags: NDArray[np.bool_]) -> str:
    rows = np.flatnonzero(flags)
    return f" (in {len(rows)} of {len(flags)} frames, first in frame {rows[0]})"
