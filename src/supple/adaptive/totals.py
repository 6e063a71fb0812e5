"""The total acceleration of a node, from what it is told: the sum of qdd^2 over its joints [QS (8)], and its scale
[assembly/rounding.py]."""

from __future__ import annotations

from supple.assembly.coefficients import (
    BOT_SCALE,
    CONSTANT,
    CONSTANT_SCALE,
    ETA,
    LINEAR,
    PB,
    PT,
    QUADRATIC,
    QUADRATIC_SCALE,
    SBOT,
    SCALE,
    SCROSS,
    STOP,
    TOP_SCALE,
)
from supple.assembly.tree import JOIN, LEAF
from supple.assembly.turning import times
from supple.spatial.compiler import helper
from supple.spatial.indexing import item
from supple.spatial.sixes import dot, six


@helper
def total(t, d, i):
    """A(i), and its scale."""
    o, told = item(d.at, i), item(d.told_at, i)
    kind = item(t.kind, i)
    x = six(d.told, told)
    if kind in (JOIN, LEAF):
        a = item(d.out, o + ETA) + dot(times(d.told, told, d.out, o + STOP) + six(d.out, o + PT), x)
        scale = item(d.out, o + SCALE) + dot(six(d.out, o + TOP_SCALE), x * x)
        if item(t.open, i):
            y = six(d.told, told + 6)
            a += dot(times(d.told, told + 6, d.out, o + SBOT) + six(d.out, o + PB), y)
            scale += dot(six(d.out, o + BOT_SCALE), y * y)
            if item(t.right, item(t.up, i)) == i:  # rows of the top handle
                a += 2.0 * dot(times(d.told, told, d.out, o + SCROSS), y)
            else:
                a += 2.0 * dot(times(d.told, told + 6, d.out, o + SCROSS), x)
    else:
        a = item(d.out, o + CONSTANT) + dot(times(d.told, told, d.out, o + QUADRATIC) + six(d.out, o + LINEAR), x)
        scale = item(d.out, o + CONSTANT_SCALE) + dot(six(d.out, o + QUADRATIC_SCALE), x * x)
    return max(a, 0.0), scale
