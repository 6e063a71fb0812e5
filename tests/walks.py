"""A captured motion that stands on the ground, and then does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import supple

WALK = Path(supple.__file__).parent / "scenes" / "walk.bvh"


def walk_then_fly() -> supple.Clip:
    """The walk of the package with the ground's forces, of which there are none in its second half."""
    clip = supple.motion_loads(supple.load_bvh(WALK)).clip
    assert clip.arrows is not None
    acts = clip.times < clip.times.mean()
    return replace(clip, arrows=replace(clip.arrows, vectors=np.where(acts[:, None, None], clip.arrows.vectors, 0.0)))
