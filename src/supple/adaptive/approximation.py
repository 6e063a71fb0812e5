"""The result of quasi-statics: accelerations of some joints, and the error of leaving out the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.measures import of_quasi_statics, percent, said
from supple.model.joints import NV
from supple.model.model import Model
from supple.spatial.held import Held

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Approximation:
    """Accelerations of some joints, with all others treated as zero, and the error of this [QS section 4.1]."""

    joints: Ints  #: the numbers of the computed joints, in the order of computation
    dofs: Ints  #: the indices of their accelerations in v
    accelerations: Floats  #: one number for each of dofs
    bounds: tuple[float, float]  #: the error is between these, rounding included
    total: float  #: of all joints, computed or not: the root of the sum of squares of their accelerations
    nv: int
    measure: str  #: the measure of the error: relative, or with its unit
    #: Whether all joints were solved at once, because the assembly tree would not have been accurate, or not faster;
    #: those not in `joints` are then small enough to be treated as zero.
    whole: bool = False

    @property
    def error(self) -> float:
        """Upper bound of the error, in `measure`. It exceeds the error requested only where float64 cannot resolve
        accelerations that well: near balance, when all digits of large forces cancel."""
        return self.bounds[1]

    def __repr__(self) -> str:
        low, high = self.bounds
        size = f"{len(self.joints):,} joints computed of a body with nv={self.nv:,}{', all at once' * self.whole}"
        least = percent(low) if self.measure.startswith("relative") else f"{low:.3g}"
        return f"<Approximation: {size}, error from {least} to {said(high, self.measure)}, |qdd| = {self.total:.4g}>"

    def plot(self, path: str | Path | None = None) -> Any:
        """Plot the computed accelerations, as a matplotlib figure; saved if a path is given."""
        from supple.drawing import accelerations, saved

        return saved(accelerations.accelerations(repr(self)[1:-1], self.dofs, self.accelerations), path)

    def dense(self) -> Floats:
        """(nv,) all accelerations, including zeros."""
        out = np.zeros(self.nv)
        out[self.dofs] = self.accelerations
        return out


def approximation_of(qs: Held, model: Model, measure: str, whole: bool) -> Approximation:
    """The last solution of a QuasiStaticBody."""
    joints = qs.computed[: qs.n_computed].copy()
    count = np.array(NV)[model.joint_type[joints]]
    dofs = np.repeat(model.v_index[joints] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
    accelerations, total = qs.body.qdd[dofs], float(np.sqrt(qs.root))
    return Approximation(
        joints, dofs, accelerations, (qs.low, qs.high), total, model.nv, of_quasi_statics(measure), whole
    )
