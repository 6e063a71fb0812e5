"""Captured motion with its derivatives.

Positions are smoothed (a Butterworth low-pass filter run forwards and backwards, without phase shift), interpolated by
splines and differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from supple.errors import StateError
from supple.model.clip import Clip
from supple.model.geometry import rotation_from_quaternion
from supple.model.manifold import layout

Floats = NDArray[np.float64]

DEGREE = 5  #: of the splines: accelerations are then smooth
UNEVEN, ROUNDED = 0.1, 1e-6  #: of a frame: times that are off by more than the first are refused, by less than the
#: second are even


@dataclass(frozen=True)
class Moving:
    """A clip with its velocities and accelerations."""

    clip: Clip
    v: Floats
    a: Floats

    def __repr__(self) -> str:
        return f"<Moving: {self.clip!r}, v {self.v.shape}, a {self.a.shape}>"


def smooth(clip: Clip, cutoff: float = 6.0) -> Clip:
    """Remove frequencies above `cutoff` hertz; quaternions keep unit length, and times become evenly spaced."""
    from scipy.signal import butter, sosfiltfilt

    _enough(clip)
    times = _even(clip)
    if not 0 < cutoff < 0.5 * clip.rate:
        raise StateError(
            f"cutoff must be above 0 and below half the frame rate, {0.5 * clip.rate:g} Hz; not {cutoff!r}"
        )
    try:
        q = sosfiltfilt(butter(2, cutoff, fs=clip.rate, output="sos"), clip.q, axis=0, padlen=min(15, len(clip) - 1))
    except np.linalg.LinAlgError:
        raise StateError(f"cutoff is too low for a filter in float64: {cutoff!r} Hz of {clip.rate:g} Hz") from None
    return replace(clip, times=times, q=clip.model.normalize(q))


def _even(clip: Clip) -> Floats:
    """Evenly spaced times. Where captured ones are off by a part of a frame, that is noise, and filtered as such."""
    t, frame = clip.times, 1.0 / clip.rate
    even = np.linspace(t[0], t[-1], len(t))
    off = np.abs(t - even).max() / frame
    if off > UNEVEN:
        steps = np.diff(t)
        usual = float(np.median(steps))
        i = int(np.abs(steps - usual).argmax())
        raise StateError(
            f"the times of a clip must be evenly spaced: {steps[i]:.4g} s pass from frame {i} to frame {i + 1}, and "
            f"{usual:.4g} s between most others; cut the clip there, or interpolate it to evenly spaced times"
        )
    return t if off < ROUNDED else even


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
