"""What nodes know of themselves, as structs: the equations are in coefficients.py."""

from __future__ import annotations

from supple.spatial.fields import Number, Six
from supple.spatial.matrices import Mat6
from supple.spatial.structs import Struct


class Stretch(Struct):
    """A stretch of a path, of its two handles [QS (1), (8)]. `cross`: the rows of its principal handle."""

    Phi1 = Mat6()  # a1 = Phi1 f1 + Phi12 f2 + b1 [QS (1)]
    Phi2 = Mat6()
    Phi_cross = Mat6()  # Phi12 or Phi21
    b1 = Six()
    b2 = Six()
    Psi1 = Mat6()  # A = f1.Psi1 f1 + 2 f2.Psi21 f1 + f2.Psi2 f2 + p1.f1 + p2.f2 + eta [QS (8)]
    Psi2 = Mat6()
    Psi_cross = Mat6()
    p1 = Six()
    p2 = Six()
    eta = Number()
    eta_scale = Number()  # [rounding.py]
    Psi1_scale = Six()
    Psi2_scale = Six()
