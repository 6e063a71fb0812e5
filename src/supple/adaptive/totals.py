"""The total acceleration of a node, from what it is told: the sum of qdd^2 over its joints [QS (8)], and its scale
[assembly/rounding.py]."""

from __future__ import annotations

from supple.assembly.passes import absorbed_of, stretch_of
from supple.assembly.tree import JOIN, LEAF
from supple.spatial.compiler import helper
from supple.spatial.sixes import dot, six


@helper
def total(t, d, i):
    """A(i), and its scale."""
    told = d.told_at[i]
    if t.kind[i] in (JOIN, LEAF):
        C, f1 = stretch_of(d, i), six(d.told, told)
        a = C.eta + dot(f1 @ C.Psi1 + C.p1, f1)  # [QS (8)]
        scale = C.eta_scale + dot(C.Psi1_scale, f1 * f1)
        if t.open[i]:
            f2 = six(d.told, told + 6)
            a += dot(f2 @ C.Psi2 + C.p2, f2)
            scale += dot(C.Psi2_scale, f2 * f2)
            if t.right[t.up[i]] == i:  # Psi_cross is Psi12
                a += 2.0 * dot(f1 @ C.Psi_cross, f2)
            else:
                a += 2.0 * dot(f2 @ C.Psi_cross, f1)
    else:
        C, x = absorbed_of(d, i), six(d.told, told)
        a = C.e + dot(x @ C.P + C.p, x)
        scale = C.e_scale + dot(C.P_scale, x * x)
    return max(a, 0.0), scale
