"""Captured motion to joint torques and ground reaction [RR section 7.1].

Positions are smoothed (a Butterworth low-pass filter run forwards and backwards, without phase shift), interpolated by
splines and differentiated; the supporting foot is determined from heights and speeds; the tree is re-rooted to that
foot, frame by frame, and inverse dynamics then yields the ground reaction at the root and the torques of all joints.
With the root left at the pelvis, the same forces would have to come from nowhere, and the legs would carry nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.arguments import Positive, checked
from supple.errors import StateError, quoted
from supple.exact.kinematics import poses, velocities
from supple.exact.rnea import inverse_dynamics
from supple.model.clip import Clip
from supple.model.geometry import rotation_from_quaternion
from supple.model.manifold import layout
from supple.model.model import Model
from supple.once import made_once
from supple.rerooting.reroot import reroot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEGREE = 5  #: of the splines: accelerations are then smooth
NONE = -1  #: no foot stands


@dataclass(frozen=True)
class Moving:
    """A clip with its velocities and accelerations."""

    clip: Clip
    v: Floats
    a: Floats

    def __repr__(self) -> str:
        return f"<Moving: {self.clip!r}, v {self.v.shape}, a {self.a.shape}>"


@dataclass(frozen=True)
class Support:
    """Which foot stands at each frame (NONE: no foot does), and how high the ground is."""

    foot: Ints
    ground: float

    def __repr__(self) -> str:
        times = sum(phase.foot != NONE for phase in phases(self.foot))
        return f"<Support: {len(self.foot)} frames, {times} times on a foot, ground at {self.ground:.4g} m>"


def smooth(clip: Clip, cutoff: float = 6.0) -> Clip:
    """Remove frequencies above `cutoff` hertz; quaternions keep unit length."""
    from scipy.signal import butter, sosfiltfilt

    _enough(clip)
    if not 0 < cutoff < 0.5 * clip.rate:
        raise StateError(
            f"cutoff must be above 0 and below half the frame rate, {0.5 * clip.rate:g} Hz; not {cutoff!r}"
        )
    try:
        q = sosfiltfilt(butter(2, cutoff, fs=clip.rate, output="sos"), clip.q, axis=0, padlen=min(15, len(clip) - 1))
    except np.linalg.LinAlgError:
        raise StateError(f"cutoff is too low for a filter in float64: {cutoff!r} Hz of {clip.rate:g} Hz") from None
    return Clip(clip.model, clip.times, clip.model.normalize(q), clip.feet)


def differentiate(clip: Clip) -> Moving:
    """Velocities and accelerations from splines through the frames.

    For a quaternion, w = 2 vec(n* n') and w' = 2 vec(n* n''), n being the normalised spline.
    """
    from scipy.interpolate import make_interp_spline

    _enough(clip)
    model, at = clip.model, layout(clip.model)
    if at.planar_q.size:
        raise StateError("captured motion has no planar joints")
    spline = make_interp_spline(clip.times, clip.q, k=DEGREE)
    q, d, dd = clip.q, spline(clip.times, 1), spline(clip.times, 2)
    v, a = np.zeros((2, len(clip), model.nv))
    v[:, at.plain_v], a[:, at.plain_v] = d[:, at.plain_q], dd[:, at.plain_q]
    for quaternions, to in ((at.ball_q, at.ball_v), (at.free_q, at.free_ang)):
        n, first, second = q[:, quaternions], d[:, quaternions], dd[:, quaternions]
        v[:, to] = 2 * _vector(n, first)
        growth = np.sum(n * first, axis=-1, keepdims=True)
        a[:, to] = 2 * _vector(n, second) - 2 * growth * v[:, to]
    R = rotation_from_quaternion(q[:, at.free_q])
    w, lin = v[:, at.free_ang], np.einsum("...ji,...j->...i", R, d[:, at.free_p])
    v[:, at.free_lin] = lin
    a[:, at.free_lin] = np.einsum("...ji,...j->...i", R, dd[:, at.free_p]) - np.cross(w, lin)
    return Moving(clip, v, a)


def _vector(n: Floats, x: Floats) -> Floats:
    """The vector part of n* x."""
    return np.asarray(n[..., 3:] * x[..., :3] - x[..., 3:] * n[..., :3] - np.cross(n[..., :3], x[..., :3]))


def _enough(clip: Clip) -> None:
    if len(clip) <= DEGREE:
        raise StateError(f"{len(clip)} frames are too few to differentiate; at least {DEGREE + 1} are needed")


def soles(model: Model, foot: str) -> list[tuple[int, Floats]]:
    """The points of a foot that can touch the ground: the ends of its bodies and those below, or else their origins."""
    first = model.body_index(foot)
    below = range(first, int(model.subtree_end[first]))
    ends = [(f.body, f.position) for f in model.frame_list if f.body in below and f.name.endswith("/end")]
    return ends or [(i, np.zeros(3)) for i in below]


def find_support(moving: Moving, height: float = 0.04, speed: float = 0.8) -> Support:
    """The foot that stands: near the ground, and slow; if both qualify, the one that stood first.

    height: metres above the lowest point that any foot reaches; speed: metres per second.
    """
    clip = moving.clip
    if not clip.feet:
        raise StateError("the clip does not say which bodies are feet: give it `feet`, their names")
    P, V = poses(clip.model, clip.q), velocities(clip.model, clip.q, moving.v).spatial
    low, slow = np.empty((2, len(clip), len(clip.feet)))
    for k, foot in enumerate(clip.feet):
        points = []
        for body, r in soles(clip.model, foot):
            arm = P.rotation[:, body] @ r
            moves = V[:, body, 3:] + np.cross(V[:, body, :3], arm)
            points.append((P.position[:, body, 2] + arm[:, 2], np.linalg.norm(moves, axis=1)))
        heights, speeds = (np.array(x) for x in zip(*points))
        lowest = heights.argmin(axis=0)
        low[:, k], slow[:, k] = heights.min(axis=0), speeds[lowest, np.arange(len(clip))]
    ground = float(low.min())
    down = (low - ground < height) & (slow < speed)
    standing = np.full(len(clip), NONE, dtype=np.int64)
    now = NONE
    for i in range(len(clip)):
        if now == NONE or not down[i, now]:
            now = int(np.argmin(np.where(down[i], slow[i], np.inf))) if down[i].any() else NONE
        standing[i] = now
    return Support(standing, ground)


class Phase(NamedTuple):
    """A run of frames in which one foot stands."""

    foot: int
    first: int
    stop: int


@made_once("moving")
@dataclass(frozen=True)
class Loads:
    """Torques and ground reaction over time, with the root at the support and left at the pelvis.

    joints: names of all joints of the tree except its root. supported, pelvis: (frames, joints) magnitude of the torque
    (or force) of each; reaction: (frames, 3) the ground's force on the body, N, along world axes; moment: (frames, 3)
    its moment about the point below the foot, `point` (frames, 3); zero if no foot stands.
    residual: (frames,) the force at the pelvis that comes from nowhere if the root is left there.
    """

    moving: Moving
    support: Support
    joints: tuple[str, ...]
    supported: Floats
    pelvis: Floats
    reaction: Floats
    moment: Floats
    point: Floats
    residual: Floats

    def __repr__(self) -> str:
        clip = self.moving.clip
        steps = sum(phase.foot != NONE for phase in phases(self.support.foot))
        size = f"{len(self.joints)} joints, {len(clip)} frames, {steps} times on a foot"
        return f"<Loads of {quoted(clip.model.name)}: {size}>"

    @checked
    def plot(self, path: str | Path | None = None, joints: Sequence[str] | None = None) -> Any:
        """The ground's reaction and joint torques over time, as a matplotlib figure, saved if a path is given. joints:
        by name; by default those of the first leg."""
        from supple.capture.plot import plot_loads

        return plot_loads(self, joints, path)

    @cached_property
    def pressure(self) -> Floats:
        """(frames, 2) the centre of pressure on the ground, x and y; nan where the ground carries nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            fz = np.where(self.reaction[:, 2] > 1.0, self.reaction[:, 2], np.nan)
            arm = np.stack([-self.moment[:, 1], self.moment[:, 0]], axis=1) / fz[:, None]
        return np.asarray(self.point[:, :2] + arm)


def phases(foot: Ints) -> list[Phase]:
    cuts = [0, *(np.flatnonzero(np.diff(foot)) + 1).tolist(), len(foot)]
    return [Phase(int(foot[i]), i, j) for i, j in pairwise(cuts)]


@checked
def motion_loads(clip: Clip, cutoff: Positive = 6.0) -> Loads:
    """Joint torques and ground reaction of a captured motion, smoothed to `cutoff` hertz: all of the above combined."""
    return loads(differentiate(smooth(clip, cutoff)))


def loads(moving: Moving, support: Support | None = None) -> Loads:
    """Inverse dynamics of every frame, on the foot that stands and, for comparison, on the pelvis."""
    clip, model = moving.clip, moving.clip.model
    support = find_support(moving) if support is None else support
    tau = inverse_dynamics(model, clip.q, moving.v, moving.a)
    top = model.joints[0]
    joints = tuple(model.joint_names[i] for i in range(1, model.n_joints))
    pelvis = _sizes(model, tau, joints)
    supported, point = pelvis.copy(), np.zeros((len(clip), 3))
    reaction, moment = np.zeros((2, len(clip), 3))
    P = poses(model, clip.q)
    for phase in phases(support.foot):
        if phase.foot == NONE:
            continue
        rows = slice(phase.first, phase.stop)
        body = model.body_index(clip.feet[phase.foot])
        # about the point of the ground below the foot when the phase begins
        below = np.array([*P.position[phase.first, body, :2], support.ground])
        frames = list(zip(clip.q[rows], moving.v[rows], moving.a[rows]))
        new = reroot(model, *frames[0], body=body, point=below, joint="free")
        states = [new.again(*frame) for frame in frames]
        q, v, a = (np.array([s[k] for s in states]) for k in range(3))
        found = inverse_dynamics(new.model, q, v, a)
        supported[rows] = _sizes(new.model, found, joints)
        R = P.rotation[rows, body]
        reaction[rows] = np.einsum("fij,fj->fi", R, found[:, :3])
        at = P.position[rows, body] + R @ new.shift[body]
        flat = np.array([1.0, 1.0, 0.0]) * at + [0.0, 0.0, support.ground]
        moment[rows] = np.einsum("fij,fj->fi", R, found[:, 3:6]) + np.cross(at - flat, reaction[rows])
        point[rows] = flat
    residual = np.linalg.norm(tau[:, top.v][:, :3], axis=1)
    return Loads(moving, support, joints, supported, pelvis, reaction, moment, point, residual)


def _sizes(model: Model, tau: Floats, joints: Sequence[str]) -> Floats:
    parts = [model.joints[name].v for name in joints]
    return np.stack([np.linalg.norm(tau[:, part], axis=1) for part in parts], axis=1)
