"""The light of a page, and what colour a body must have so that it looks as wanted in that light.

viser's page takes a mesh's colour for the share of light that it reflects, adds up the light of all lamps, and bends
the sum as films do (ACES, as in three.js) before it becomes a colour on the screen. A dot keeps the colour that it has,
and so does a legend. So that all of these look alike, `reflecting` goes that way backwards, for a side of a body that
has as much light as USUAL.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

SKY, UNDER = 2.2, (160, 160, 160)  #: light from all sides, and its colour from below
LAMPS = (("sun", (0.6, 0.75, 0.8), 1.2), ("lamp", (-0.8, 0.1, 0.4), 0.35))  #: to the left, up and back: how strong
USUAL = 0.72  #: the light on a side that faces the eye, as a share of what a white sheet would need to be all lit

# ACES, with three.js's fit: colour -> INTO colour -> bent -> OUT of it.
EXPOSED = 1.0 / 0.6
INTO = np.array([[0.59719, 0.35458, 0.04823], [0.07600, 0.90834, 0.01566], [0.02840, 0.13383, 0.83777]])
OUT = np.array([[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]])
BENT = (0.0245786, -0.000090537, 0.983729, 0.4329510, 0.238081)  #: (x (x + a) + b) / (x (c x + d) + e)


def reflecting(seen: Bytes) -> Bytes:
    """(..., 3) the colours of meshes that look like these; the nearest that there is, if none does."""
    share = np.asarray(seen, dtype=np.float64) / 255.0
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    bent = np.clip(light @ np.linalg.inv(OUT).T, 0.0, 0.98)
    a, b, c, d, e = BENT
    # bent = (x^2 + a x + b) / (c x^2 + d x + e), solved for x
    two, one, none = 1.0 - bent * c, a - bent * d, b - bent * e
    x = (-one + np.sqrt(np.maximum(one * one - 4.0 * two * none, 0.0))) / (2.0 * two)
    share = (x @ np.linalg.inv(INTO).T) / (EXPOSED * USUAL)
    return np.asarray(np.round(255.0 * np.clip(share, 0.0, 1.0)), dtype=np.uint8)


def add_lights(scene: Any, back: Floats) -> None:
    """From all sides, and from the left behind whoever looks. back: towards the eye.

    viser's own light is a picture all around, which without a graphics card takes longer than all else; shadows would
    draw everything several times.
    """
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    scene.add_light_hemisphere("/light/sky", ground_color=UNDER, intensity=SKY, position=(0.0, 0.0, 1.0))
    level = np.array([back[0], back[1], 0.0])
    level /= np.linalg.norm(level) or 1.0
    axes = np.stack([np.cross(level, (0.0, 0.0, 1.0)), (0.0, 0.0, 1.0), level])
    for name, side, intensity in LAMPS:
        at = tuple(np.array(side) @ axes)
        scene.add_light_directional(f"/light/{name}", intensity=intensity, position=at, cast_shadow=False)
