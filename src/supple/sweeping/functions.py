"""A function as what a sweep runs: its parameters are the sweep's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from inspect import Parameter, signature
from typing import Any

import numpy as np

from supple.arguments import shown
from supple.errors import StateError, quoted

BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class FunctionTarget:
    """batched: the function gets arrays of many runs, and returns arrays with a row for each."""

    def __init__(self, function: Callable[..., Any], batched: bool) -> None:
        self.function, self.batched = function, batched

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "batched": self.batched}

    @property
    def name(self) -> str:
        """Where it is defined: functions are compared by that."""
        what, given = self.function, ""
        if isinstance(what, partial):
            bound = [*map(_said, what.args), *(f"{name}={_said(x)}" for name, x in what.keywords.items())]
            what, given = what.func, f"({', '.join(bound)})"
        name = getattr(what, "__qualname__", type(what).__qualname__)
        return f"{getattr(what, '__module__', '')}.{name}{given}"

    @property
    def units(self) -> dict[str, str]:
        return {}

    @cached_property
    def _parameters(self) -> dict[str, Parameter]:
        try:
            return dict(signature(self.function).parameters)
        except (TypeError, ValueError):
            raise StateError(f"{self.name} does not say which parameters it takes; wrap it in a function") from None

    def takes(self, parameter: str) -> bool:
        known = self._parameters
        if parameter in known:
            return known[parameter].kind in BY_NAME
        return any(p.kind is Parameter.VAR_KEYWORD for p in known.values())

    def is_whole(self, parameter: str) -> bool:
        known = self._parameters.get(parameter)
        return known is not None and known.annotation in (int, "int")

    def accept(self, parameter: str, value: Any) -> Any:
        if not self.takes(parameter):
            from supple.model.model import unknown  # which a worker can do without

            known = [name for name, p in self._parameters.items() if p.kind in BY_NAME]
            raise StateError(f"{self.name}: {unknown('parameter', parameter, known, listed=True)} ({', '.join(known)})")
        value = _plain(parameter, value)
        if self.is_whole(parameter) and isinstance(value, float) and value == np.floor(value):
            return int(value)
        return value

    def check(self, given: set[str]) -> None:
        """Refuse a function that needs more than it is given."""
        for name, p in self._parameters.items():
            if p.kind is Parameter.POSITIONAL_ONLY and p.default is Parameter.empty:
                raise StateError(f"{self.name}: parameters are given by name, and {name} has to be given by its place")
            if p.kind in BY_NAME and p.default is Parameter.empty and name not in given:
                raise StateError(f"{self.name} needs {name}: vary it (over), or give it a value (fixed)")

    def run(self, parameters: dict[str, Any]) -> Any:
        return self.function(**parameters)


def _said(value: Any) -> str:
    """A value that a partial function has, if another process would say it the same way."""
    return shown(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__


def _plain(name: str, value: Any) -> Any:
    """A finite number, text, or a truth value; text that is a number is one."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        value = _read(str(value))
        if isinstance(value, str):
            return _text(name, value)
    if isinstance(value, (int, np.integer)):
        if abs(int(value)) >= 2**63:
            raise StateError(f"{quoted(name)}: {shown(value)} is too large")
        return int(value)
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        return float(value)
    raise StateError(f"{quoted(name)}: values are finite numbers, text, or true or false, not {shown(value)}")


def _read(text: str) -> int | float | str:
    """A number, if it is one."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number == np.floor(number) and abs(number) < 2**53 else number


def _text(name: str, value: str) -> str:
    if "\0" in value or len(value) > 200 or not value.isprintable():
        raise StateError(f"{quoted(name)}: text is at most 200 characters that can be printed, not {shown(value)}")
    return value
