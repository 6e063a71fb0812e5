"""Helpers as the Python they are written in: compiled, they have no entry for Python."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import pytest
from numba.core.dispatcher import Dispatcher


def as_python(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> SimpleNamespace:
    """The modules' functions as plain Python, also where they call each other."""
    out = {}
    for module in modules:
        helpers = {name: f.py_func for name, f in vars(module).items() if isinstance(f, Dispatcher)}
        for name, f in helpers.items():
            monkeypatch.setattr(module, name, f)
        out |= helpers
    return SimpleNamespace(**out)
