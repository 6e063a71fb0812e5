"""Objects that tell kernels where their arrays are: copied and pickled with the arrays, not with the addresses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn

from supple.errors import StateError


class Pointing(ABC):
    """Writes addresses of its arrays down for kernels, in `_point`. Copies and pickles take all along but what is in
    `_pointers`, and write the addresses of their own arrays down.

    Arrays that two such objects share are shared by their copies too, if both are copied at once.
    """

    _pointers: ClassVar[tuple[str, ...]] = ()  #: attributes that _point makes

    @abstractmethod
    def _point(self) -> None:
        """Write down where everything is."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name not in self._pointers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._point()


class Unmoved:
    """What kernels know by its address, and a model keeps for itself. Whoever is copied finds that of its own model."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise StateError(f"{type(self).__name__} is not copied or pickled: it is scratch of a model, which can be")
