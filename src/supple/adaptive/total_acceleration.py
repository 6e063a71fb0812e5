"""The total acceleration of a node, from its inputs: the sum of qdd^2 over its joints [QS (8)], weighted [AD (7)],
and its scale [assembly/rounding.py]."""

from __future__ import annotations

from supple.assembly.passes import absorbed_of, stretch_of, told
from supple.assembly.tree import JOIN, LEAF
from supple.spatial.compiler import helper
from supple.spatial.cpu import dot


@helper
def total_acceleration(body, i):
    """A(i), and its scale."""
    tree = body.tree
    here = told(body, i)
    if tree.kind[i] in (JOIN, LEAF):
        C, f1 = stretch_of(body, i), here.f1
        a = C.eta + dot(f1 @ C.Psi1 + C.p1, f1)  # [QS (8)]
        scale = C.eta_scale + dot(C.Psi1_scale, f1 * f1)
        if tree.open[i]:
            f2 = here.f2
            a += dot(f2 @ C.Psi2 + C.p2, f2)  # [QS (8)]
            scale += dot(C.Psi2_scale, f2 * f2)
            if tree.right[tree.up[i]] == i:  # Psi_cross is Psi12
                a += 2.0 * dot(f1 @ C.Psi_cross, f2)  # [QS (8)]
            else:
                a += 2.0 * dot(f2 @ C.Psi_cross, f1)  # [QS (8)]
    else:
        C, x = absorbed_of(body, i), here.f1
        a = C.e + dot(x @ C.P + C.p, x)  # [QS (8)] in inertia form
        scale = C.e_scale + dot(C.P_scale, x * x)
    return max(a, 0.0), scale
