"""The motion metrics' weights [AD section 5.2]: what a joint's acceleration and velocity count for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.assembly.tables import unit_weights
from supple.errors import StateError
from supple.model.joints import NV
from supple.model.model import Model

Floats = NDArray[np.float64]
#: A joint's weight: a number, a symmetric positive definite matrix, or a function of its position that gives one.
Weight = float | Sequence[Sequence[float]] | Floats | Callable[[Floats], Any]
Weights = Mapping[str, Weight] | Sequence[float] | Floats | None


class WeightTable:
    """The weights of all joints, as the kernels have them: k x k numbers for each."""

    def __init__(self, model: Model, weights: Weights, q: Floats) -> None:
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
                    self._set(j, weight)
        else:
            numbers = np.asarray(weights, dtype=np.float64)
            if numbers.shape != (model.n_bodies,):
                raise StateError(
                    f"weights are one number for each of the {model.n_bodies} joints, or a dictionary by joint names; "
                    f"not of shape {numbers.shape}"
                )
            if not (np.isfinite(numbers).all() and (numbers > 0).all()):
                j = int(np.flatnonzero(~(np.isfinite(numbers) & (numbers > 0)))[0])
                raise _not_positive(model, j, numbers[j])
            self.values *= np.repeat(numbers, self._dof**2)
        self.follow(q, np.array(list(self.functions), dtype=np.int64))

    def follow(self, q: Floats, joints: NDArray[np.int64]) -> None:
        """The weights that depend on position, of these joints, at q."""
        for j in joints:
            function = self.functions.get(int(j))
            if function is not None:
                self._set(int(j), function(q[self._model.joints[int(j)].q]))

    def _set(self, j: int, weight: Any) -> None:
        k, at = int(self._dof[j]), int(self._begin[j])
        try:
            matrix = np.asarray(weight, dtype=np.float64)
        except (TypeError, ValueError):
            raise _not_positive(self._model, j, weight) from None
        if matrix.ndim == 0:
            matrix = matrix * np.eye(k)
        if matrix.shape != (k, k):
            raise StateError(
                f"the weight of joint {self._model.joint_names[j]!r} must be a number or a {k} x {k} matrix, not of "
                f"shape {matrix.shape}"
            )
        symmetric = np.allclose(matrix, matrix.T)
        if not (np.isfinite(matrix).all() and symmetric and (np.linalg.eigvalsh(matrix) > 0).all()):
            raise _not_positive(self._model, j, weight)
        self.values[at : at + k * k] = matrix.reshape(-1)


def _not_positive(model: Model, j: int, weight: Any) -> StateError:
    return StateError(
        f"the weight of joint {model.joint_names[j]!r} must be positive (a matrix: symmetric and positive definite), "
        f"not {weight!r}"
    )
