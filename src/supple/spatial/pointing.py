"""Objects that tell kernels where their arrays are: copied and pickled with the arrays, not with the addresses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn

from supple.errors import StateError


class Pointing(ABC):
    """Records the addresses of its arrays for kernels, in `_point`. Copies and pickles contain everything except
    `_pointers`, and record the addresses of their own arrays.

    Arrays shared by two such objects are also shared by their copies, if both are copied together.
    """

    _pointers: ClassVar[tuple[str, ...]] = ()  #: attributes that _point makes

    @abstractmethod
    def _point(self) -> None:
        """Record all addresses."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name not in self._pointers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._point()


class Unmoved:
    """An object that kernels know by its address, and that a model keeps. A copy refers to that of its own model."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise StateError(f"{type(self).__name__} is not copied or pickled: it is scratch of a model, which can be")
