"""What a picture shows: the colours that are kept for its curves and bodies cover some of it.

A curve of numbers that are not finite, or that are missing, is drawn as nothing: its colour is then only in the legend.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

LOCK = Path(__file__).parent.parent / "requirements.lock"


def drawn_with() -> bool:
    """Whether Matplotlib is the one that drew the pictures of the documents: others set text differently."""
    locked = re.search(r"^matplotlib==(\d+\.\d+)", LOCK.read_text(), re.MULTILINE)
    assert locked
    try:
        return version("matplotlib").startswith(f"{locked[1]}.")
    except PackageNotFoundError:
        return False


#: For tests that compare pictures with those of the documents.
needs_the_same_matplotlib = pytest.mark.skipif(not drawn_with(), reason="another Matplotlib than that of the lock")
CURVE = 600  #: pixels, at least, of a curve with its markers; a line in a legend has 300 at most


def pixels(path: Path) -> np.ndarray:
    """Red, green and blue, one after the other, from 0 to 255."""
    from matplotlib.image import imread

    return np.rint(255 * np.moveaxis(imread(path)[..., :3], -1, 0)).astype(np.int16)


def covered(picture: np.ndarray, colour: str) -> int:
    """How many pixels have a colour, "#rrggbb"; those at its edges are mixed with others and do not count."""
    wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return int(np.logical_and.reduce([np.abs(x - c) <= 2 for x, c in zip(picture, wanted, strict=True)]).sum())


def lacking(folder: Path, wanted: Mapping[str, Iterable[str]]) -> dict[tuple[str, str], int]:
    """Of pictures and the colours that each is to show: those that are missing, and how little there is of them."""
    out = {}
    for name, colours in wanted.items():
        picture = pixels(folder / name)
        out |= {(name, c): n for c in colours if (n := covered(picture, c)) < CURVE}
    return out
