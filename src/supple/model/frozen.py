"""Immutable arrays.

NumPy refuses to write to a read-only array, but allows setting its shape, dtype and strides, after which kernels would
read beyond its end. So an object keeps its arrays private, and returns a new view on each access.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=NDArray[Any])


def frozen(x: NDArray[Any]) -> NDArray[Any]:
    """The same numbers, C-contiguous, in memory that cannot be written to: flags.writeable = True is refused, too."""
    base: Any = x
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, bytes) and x.flags.c_contiguous:
        return x
    return np.ndarray(x.shape, x.dtype, x.tobytes())


def kept(x: NDArray[Any]) -> NDArray[Any]:
    """The same, for an object to keep: a separate view, which is not the `base` of views made from it."""
    return frozen(x)[...]


class FrozenArray:
    """An attribute that is a kept array, or None: each access returns a new view."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        try:
            x = owner.__dict__[self._name]
        except KeyError:
            raise AttributeError(f"this {type(owner).__name__} has no {self._name}: it was never made") from None
        return x[...] if x.__class__ is np.ndarray else x

    def __set__(self, owner: Any, x: Any) -> None:
        """Called by the `__init__` of a frozen dataclass."""
        owner.__dict__[self._name] = x


def frozen_arrays(*names: str) -> Callable[[type], Any]:
    """Class decorator: attributes of these names are FrozenArrays."""

    def decorate(kind: type) -> Any:
        for name in names:
            setattr(kind, name, FrozenArray(name))
        return kind

    return decorate


class frozen_property(Generic[T]):
    """An array that is computed on first access, and kept; each access returns a view."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find, self._name, self.__doc__ = find, find.__name__, find.__doc__

    def __get__(self, owner: Any, kind: Any = None) -> T:
        if owner is None:
            return self  # type: ignore[return-value]
        found: Any = owner.__dict__.get(self._name)
        if found is None:
            found = owner.__dict__.setdefault(self._name, kept(self._find(owner)))  # another thread may be first
        view: T = found[...]
        return view

    def __set__(self, owner: Any, x: Any) -> NoReturn:
        raise AttributeError(f"{self._name} of a {type(owner).__name__} is found out, and cannot be set")
