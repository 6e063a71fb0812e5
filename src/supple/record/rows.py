"""The rows of a dataset, read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = 1_000_000  #: read at a time: a file that another process writes changes once a second or so


class Rows:
    """An array in a file, as it was when the file was opened. Indexing it gives what a NumPy array would."""

    def __init__(self, read: Callable[..., Any], name: str, shape: tuple[int, ...], dtype: Any) -> None:
        """read: Recording.read. name: of the dataset, which may have become longer since."""
        self._read, self._name, self.shape, self.dtype = read, name, tuple(shape), np.dtype(dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is Ellipsis or first is None:
            return np.asarray(self)[key]
        which = np.arange(len(self))[first]  # refuses what an array would
        if which.ndim == 0:
            return self._between(int(which), int(which) + 1)[(0, *rest)]
        if isinstance(first, slice) and len(which) and which[-1] - which[0] == len(which) - 1:
            return self._between(int(which[0]), int(which[-1]) + 1)[(slice(None), *rest)]
        rows = np.empty((which.size, *self.shape[1:]), self.dtype)
        for k, i in enumerate(which.flat):
            rows[k] = self._between(int(i), int(i) + 1)[0]
        return rows[(slice(None) if isinstance(first, slice) else np.arange(which.size).reshape(which.shape), *rest)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("what is in a file cannot be an array without being copied")
        return np.asarray(self._between(0, len(self)), dtype)

    def __repr__(self) -> str:
        return f"<{self._name}: {' x '.join(map(str, self.shape))} {self.dtype} in a recording>"

    def _between(self, begin: int, end: int) -> NDArray[Any]:
        rows = np.empty((end - begin, *self.shape[1:]), self.dtype)
        block = max(1, NUMBERS // max(1, int(np.prod(self.shape[1:]))))
        for i in range(begin, end, block):
            j = min(i + block, end)
            rows[i - begin : j - begin] = self._read(lambda h5, i=i, j=j: h5[self._name][i:j])
        return rows
