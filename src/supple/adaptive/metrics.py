"""The weights of the motion metrics [AD section 5.2]: those of a joint's acceleration and velocity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import NONE, REALS, as_floats, either, instance, shown
from supple.assembly.tables import unit_weights
from supple.errors import StateError
from supple.model.joints import NV
from supple.model.model import Model

Floats = NDArray[np.float64]
#: A joint's weight: a number, a symmetric positive definite matrix, or a function of its position that returns one.
Weight = float | Sequence[Sequence[float]] | Floats | Callable[[Floats], Any]
Weights = Annotated[Mapping[str, Weight] | Sequence[float] | Floats | None, either([instance(Mapping), REALS, NONE])]


class WeightTable:
    """The weights of all joints in the form used by the kernels: k x k numbers for each. Those that are functions of
    position are 1 before `follow`."""

    def __init__(self, model: Model, weights: Weights) -> None:
        self._model = model
        self._dof = np.array(NV)[model.joint_type]
        self._begin = np.cumsum(self._dof**2) - self._dof**2
        self.values = unit_weights(self._dof)
        self.functions: dict[int, Callable[[Floats], Any]] = {}  #: of joints whose weight depends on their position
        if weights is None:
            return
        if isinstance(weights, Mapping):
            for name, weight in weights.items():
                j = model.joints[name].index
                if callable(weight):
                    self.functions[j] = weight
                else:
                    self._put(j, self._checked(j, weight))
        else:
            numbers = as_floats("weights", weights)
            if numbers.shape != (model.n_bodies,):
                raise StateError(
                    f"weights are one number for each of the {model.n_bodies} joints, or a dictionary by joint names; "
                    f"not of shape {numbers.shape}"
                )
            if not (np.isfinite(numbers).all() and (numbers > 0).all()):
                j = int(np.flatnonzero(~(np.isfinite(numbers) & (numbers > 0)))[0])
                raise _not_positive(model, j, numbers[j])
            self.values *= np.repeat(numbers, self._dof**2)

    def follow(self, q: Floats, joints: NDArray[np.int64] | None = None) -> None:
        """Evaluate the position-dependent weights at q, for these joints or all. If one is invalid, none changes."""
        some = self.functions.keys() if joints is None else self.functions.keys() & set(joints.tolist())
        found = [(j, self._checked(j, self.functions[j](q[self._model.joints[j].q].copy()))) for j in sorted(some)]  # type: ignore[index]
        for j, matrix in found:
            self._put(j, matrix)

    def norm(self, x: Floats) -> float:
        """The root of the sum of x.A x over joints, with A their weights; x: (nv,)."""
        total = 0.0
        for k in np.unique(self._dof[self._dof > 0]):
            joints, entries = np.flatnonzero(self._dof == k), np.arange(k * k)
            A = self.values[self._begin[joints, None] + entries].reshape(-1, k, k)
            y = x[self._model.v_index[joints, None] + entries[:k]]
            total += float(np.einsum("ji,jik,jk->", y, A, y))
        return float(np.sqrt(total))

    def _put(self, j: int, matrix: Floats) -> None:
        at = int(self._begin[j])
        self.values[at : at + matrix.size] = matrix.reshape(-1)

    def _checked(self, j: int, weight: Any) -> Floats:
        """A joint's weight as a matrix."""
        k = int(self._dof[j])
        matrix: Floats = as_floats(f"the weight of joint {self._model.joint_names[j]!r}", weight)
        if matrix.ndim == 0:
            matrix = np.diag(np.full(k, matrix))
        if matrix.shape != (k, k):
            raise StateError(
                f"the weight of joint {self._model.joint_names[j]!r} must be a number or a {k} x {k} matrix, not of "
                f"shape {matrix.shape}"
            )
        symmetric = np.isfinite(matrix).all() and np.allclose(matrix, matrix.T)
        if not (symmetric and (np.linalg.eigvalsh(matrix) > 0).all()):
            raise _not_positive(self._model, j, weight)
        return matrix


class Metrics:
    """The two metrics: the joints' weights of accelerations, A, and of velocities, V. given: as the user gave them, and
    `source` if something else did."""

    def __init__(self, model: Model, weights: Weights, velocity_weights: Weights, source: str = "") -> None:
        self.given, self.source = (weights, velocity_weights), source
        self.acceleration, self.velocity = WeightTable(model, weights), WeightTable(model, velocity_weights)
        self.vary = bool(self.acceleration.functions or self.velocity.functions)  #: whether any depend on positions

    def follow(self, q: Floats, joints: NDArray[np.int64] | None = None) -> None:
        """Evaluate the position-dependent weights at q, for these joints or all."""
        self.acceleration.follow(q, joints)
        self.velocity.follow(q, joints)


def _not_positive(model: Model, j: int, weight: Any) -> StateError:
    return StateError(
        f"the weight of joint {model.joint_names[j]!r} must be positive (a matrix: symmetric and positive definite), "
        f"not {shown(weight)}"
    )
