"""Supple: articulated rigid bodies of any size, exactly or as exactly as asked.

    import supple

    model = supple.load("robot.urdf")
    a = supple.forward_dynamics(model, model.neutral(), v, tau)

The public names are listed once, in __init__.pyi, which type checkers and editors read as well. They are loaded when
first used: importing supple is quick, and compiling waits until something is computed.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:  # noqa: PTH123 (importing pathlib takes longer)
    #: The module of each public name, from the stub's lines `from supple.module import Name as Name`.
    _MODULE_OF = {line[3]: line[1] for line in map(str.split, _stub) if line[:1] == ["from"]}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'supple' has no attribute {name!r}")
    module = _import_module(_MODULE_OF[name])
    value = vars(module)[name] if name in vars(module) else _import_module(f"{module.__name__}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
