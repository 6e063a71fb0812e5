"""What public calls take, checked in one place: by their signatures.

    @checked
    def walk(walker: Walker, steps: Count = 10, *, tolerance: float = 1e-11, trace: bool = True) -> list[Step]: ...

The annotation of a parameter says what it takes. A checked function gets what is given in the form of the right column,
or refuses it: the message names the function and the parameter, what is wanted and what was given.

    float                a finite number, no boolean              float
    int                  a whole number; 3.0 is one               int
    bool                 True or False                            bool
    str                  text without zero characters             as given
    str | Path           the path of a file; any os.PathLike      as given, or as text
    str | int            a name or a number; 3.0 is none          str or int
    ArrayLike, Floats    real numbers, Fraction and int of any    C-contiguous float64; not copied if it is that
                         size among them: not complex, text or
                         Decimal, no masked entries
    Literal[...]         one of these                             as given
    Sequence[x]          several of x                             a list (a tuple where tuple[...] is said)
    a class; Callable    an instance; something to call           as given
    x | y                either                                   of the first that fits
    Any                  anything: the function sees for itself   as given

The aliases below (Positive, Count, ...) are narrower. `take` is the same for a single value, where the decorator's
microsecond counts. The hottest calls check in compiled code (exact/call_kernels.py).
"""

from __future__ import annotations

import collections.abc as abc
import math
import os
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import MISSING, fields
from decimal import Decimal
from difflib import get_close_matches
from functools import cache, partial, wraps
from inspect import Parameter, getattr_static, signature
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.errors import ModelError, StateError, SuppleError
from supple.once import made_once

_FLOAT64 = np.dtype(np.float64)
MOST = 10**8  #: of what is given as a list,
UNSIZED = 10**6  #: or does not say how many it has: it may have no end

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


class Kind(NamedTuple):
    """What an argument may be: in words, and as a function that gives it in our form or raises an exception."""

    wanted: str
    form: Callable[[Any], Any]
    each: str | None = None  #: of a list: what is wanted of each


class Unfit(TypeError):
    """What was given, in better words than its repr."""


def take(name: str, value: Any, kind: Kind, error: type[SuppleError] = StateError) -> Any:
    """A value in our form; refused if it is not of the kind."""
    try:
        return kind.form(value)
    except Exception as e:  # whatever __float__, __array__, __eq__ and the like of foreign objects raise
        raise _refusal(e, name, value, kind, error) from None


def as_floats(name: str, value: Any) -> NDArray[np.float64]:
    """An array of real numbers."""
    out: NDArray[np.float64] = take(name, value, REALS)
    return out


def _refusal(e: Exception, name: str, value: Any, kind: Kind, error: type[SuppleError]) -> Exception:
    if isinstance(e, SuppleError):
        return e
    given = str(e) if isinstance(e, Unfit) else shown(value)
    return error(f"{name} must be {kind.wanted}, not {given}")


# --- saying what was given ------------------------------------------------------------------------------------------

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 80


def shown(value: Any) -> str:
    """A value in a message: one short line."""
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape} of {value.dtype}"
    try:
        text = " ".join(_short.repr(value).split())
    except Exception:  # of an integer with too many digits, or of an object whose own repr fails
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 120 else text[:117] + "..."


# --- the kinds ------------------------------------------------------------------------------------------------------


def real(value: Any) -> float:
    """A single real number as a float; NaN and infinities are some."""
    if value.__class__ is float:
        number: float = value
        return number
    value = _single(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    return float(value)


def _single(value: Any) -> Any:
    """What an array without dimensions holds; all else is as it was."""
    alone = isinstance(value, np.ndarray) and not value.ndim and not np.ma.is_masked(value)
    return value.item() if alone else value


def number(
    wanted: str = "a finite number", least: float = -math.inf, most: float = math.inf, *, above: bool = False,
    infinite: bool = False,
) -> Kind:  # fmt: skip
    """A number from `least` to `most`; above: more than the least. infinite: infinities may be among them."""
    low = math.nextafter(least, math.inf) if above or (least == -math.inf and not infinite) else least
    high = most if infinite else min(most, sys.float_info.max)

    def form(value: Any) -> float:
        x: float = value if value.__class__ is float else real(value)
        if not low <= x <= high:
            raise ValueError
        return x

    return Kind(wanted, form)


def whole(least: int | None = None, most: int | None = None) -> Kind:
    """A whole number, from `least` to `most`."""
    between = "" if least is None else f" >= {least}" if most is None else f" from {least} to {most}"

    def form(value: Any) -> int:
        x = value if value.__class__ is int else _as_whole(_single(value))
        if x is None or (least is not None and x < least) or (most is not None and x > most):
            raise ValueError
        return int(x)

    return Kind(f"a whole number{between}", form)


def _as_whole(value: Any) -> int | None:
    """Integers beyond 2^53 are no floats, and are whole all the same."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return int(value) if real(value) == int(value) else None


def reals(value: Any) -> NDArray[np.float64]:
    """Any array-like of real numbers as C-contiguous, aligned float64."""
    if value.__class__ is np.ndarray and value.dtype is _FLOAT64:
        flags = value.flags
        if flags.c_contiguous and flags.aligned:
            plain: NDArray[np.float64] = value
            return plain
    inside = isinstance(value, (list, tuple)) and np.ma.MaskedArray in set(map(type, value))
    if np.ma.is_masked(value) or (inside and any(map(np.ma.is_masked, value))):
        raise Unfit("one with masked entries: fill them with numbers first (x.filled(...))")
    raw = np.asarray(value)
    if raw.dtype.kind not in "fiub":
        if raw.size and raw.dtype.kind != "O":
            raise Unfit(_of_dtype(value, raw))
        raw = _floats(value, raw) if raw.size else raw.astype(np.float64)
    if not (raw.dtype == np.float64 and raw.flags.c_contiguous):
        memory.require(raw.size, f"a copy of an array of shape {raw.shape} as float64", "give less at once")
    out = np.asarray(raw, dtype=np.float64, order="C")
    return out if out.flags.aligned else out.copy()


def _floats(value: Any, raw: NDArray[Any]) -> NDArray[np.float64]:
    """Of objects each of which is a real number as Python sees it: a Fraction, an int of more than 64 bits."""
    if raw.size > UNSIZED:
        raise Unfit(f"one of {raw.size:,} objects: make numbers of them first (np.array(x, dtype=float))")
    for x in raw.flat:
        if not isinstance(x, Real):
            hint = ": give float(x) of each" if isinstance(x, Decimal) else ""
            raise Unfit(f"one with {shown(x)} in it{hint}" if raw.ndim else shown(value))
    try:
        return np.array([float(x) for x in raw.flat]).reshape(raw.shape)
    except OverflowError:
        raise Unfit("one with a number in it that is too large for float64") from None


def _of_dtype(value: Any, raw: NDArray[Any]) -> str:
    return f"an array of dtype {raw.dtype}" if isinstance(value, np.ndarray) else shown(value)


def _triple(value: Any) -> NDArray[np.float64]:
    out = reals(value)
    if out.shape != (3,) or not np.isfinite(out).all():
        raise ValueError
    return out


def _row(value: Any) -> NDArray[np.float64]:
    out = np.atleast_1d(reals(value))
    if out.ndim != 1 or not out.size or not np.isfinite(out).all():
        raise ValueError
    return out


def _whole_numbers(value: Any) -> NDArray[np.int64]:
    raw = np.asarray(value)
    if np.ma.is_masked(value) or (raw.dtype.kind not in "iu" and raw.size):
        raise Unfit(_of_dtype(value, raw))
    memory.require(raw.size, f"a copy of an array of shape {raw.shape}", "give less at once")
    out = raw.astype(np.int64)
    if (out != raw).any():
        raise ValueError
    return out


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    value.encode()  # no half of a surrogate pair, which no file can hold
    return value


def _path(value: Any) -> str | Path:
    if isinstance(value, os.PathLike) and not isinstance(value, Path):
        value = os.fsdecode(value)
    if not isinstance(value, (str, Path)) or "\0" in str(value):
        raise TypeError
    # Names of files are bytes, and not all are UTF-8; file systems have none of more than 255.
    if not str(value) or any(len(os.fsencode(part)) > 255 for part in Path(value).parts):
        raise ValueError
    return value  # type: ignore[no-any-return]


def _name_or_number(value: Any) -> str | int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    return _text(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError
    return bool(value)


def function(count: int | None = None) -> Kind:
    """Something to call, with so many arguments."""

    def form(value: Any) -> Any:
        if not callable(value):
            raise TypeError
        with suppress(ValueError):  # what is not written in Python may not say what it takes
            if count is not None and not isinstance(value, type):
                signature(value).bind(*[None] * count)
        return value

    return Kind("a function" if count is None else f"a function of {count} argument{'s'[: count != 1]}", form)


def _none(value: Any) -> None:
    if value is not None:
        raise TypeError


def choice(*options: Any) -> Kind:
    """One of some words or whole numbers."""
    listed = [repr(x) for x in options]
    wanted = " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)

    def form(value: Any) -> Any:
        if isinstance(value, str):
            if value in options:
                return value
            near = get_close_matches(value[:100], [x for x in options if isinstance(x, str)], n=1)
            raise Unfit(shown(value) + (f" (did you mean {near[0]!r}?)" if near else ""))
        x = whole().form(value)
        if x not in options:
            raise ValueError
        return x

    return Kind(wanted, form)


def instance(kind: type) -> Kind:
    """An instance of a class."""
    name = kind.__name__
    module = kind.__module__.partition(".")[0]

    def form(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return Kind(f"a {module}.{name}" if module != "builtins" else f"a {name}", form)


def several(one: Kind | None, length: int | None = None, as_tuple: bool = False) -> Kind:
    """A list, tuple, array or the like of values of one kind."""
    many = "values" if one is None else f"values, each {one.wanted}"
    each = None if one is None or length is not None else one.wanted

    def form(value: Any) -> Any:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, (Iterable, np.ndarray)):
            raise TypeError
        if isinstance(value, Sized) and len(value) > MOST:
            raise Unfit(f"one of {len(value):,} values (at most {MOST:,})")
        given = value if isinstance(value, Sized) else list(islice(value, UNSIZED + 1))
        if given is not value and len(given) > UNSIZED:
            raise Unfit(f"an iterator over more than {UNSIZED:,} values (make a list of it)")
        out = [x if one is None else one.form(x) for x in given]
        if length is not None and len(out) != length:
            raise ValueError
        return tuple(out) if as_tuple else out

    return Kind(f"a list of {'' if length is None else f'{length} '}{many}", form, each)


def either(kinds: Sequence[Kind]) -> Kind:
    """Of the first kind that fits; None, where it is among them, without asking the others."""
    if len(kinds) == 1:
        return kinds[0]
    forms, optional = tuple(kind.form for kind in kinds if kind is not NONE), NONE in kinds

    def form(value: Any) -> Any:
        if value is None and optional:
            return None
        better = None
        for of_kind in forms:
            try:
                return of_kind(value)
            except Unfit as e:
                better = e
            except SuppleError:
                raise
            except Exception:  # of another kind, perhaps
                continue
        raise better or TypeError

    return Kind(_in_words(kinds), form)


def _in_words(kinds: Sequence[Kind]) -> str:
    """Single values, then lists of them or of others, None at last."""
    single = [kind.wanted for kind in kinds if kind.each is None and kind is not NONE]
    lists = ["a list of them" if [k.each] == single else k.wanted for k in kinds if k.each is not None]
    none = [kind.wanted for kind in kinds if kind is NONE]
    said = " or ".join([*single, *lists])
    return f"{said}, or {none[0]}" if none else said


def _seeded(value: Any) -> np.random.Generator:
    if value is not None and not isinstance(value, np.random.Generator):
        value = whole(0).form(value)
    return np.random.default_rng(value)


FINITE = number()
POSITIVE = number("a positive number", 0.0, above=True)
NOT_NEGATIVE = number("a finite number >= 0", 0.0)
NOT_NEGATIVE_OR_INFINITE = number("a number >= 0", 0.0, infinite=True)
SECONDS = number("a positive number of seconds", 0.0, above=True)
REALS = Kind("an array of real numbers", reals)
ARRAY = Kind("an array", np.asarray)  #: of whatever it holds
TRIPLE = Kind("three finite numbers", _triple)
ROW = Kind("one finite number or a list of them", _row)
WHOLE_NUMBERS = Kind("an array of whole numbers", _whole_numbers)
FLAG = Kind("True or False", _flag)
TEXT = Kind("text", _text)
NAME_OR_NUMBER = Kind("a name or a number", _name_or_number)
PATH = Kind("the path of a file", _path)
NONE = Kind("None", _none)
SEED = Kind("a seed (a whole number >= 0), a numpy.random.Generator, or None", _seeded)

Positive = Annotated[float, POSITIVE]
NotNegative = Annotated[float, NOT_NEGATIVE]
Seconds = Annotated[float, SECONDS]
Count = Annotated[int, whole(1)]  #: of things, one at least
Whole = Annotated[int, whole(0)]
Share = Annotated[float, number("a number from 0 to 1", 0.0, 1.0)]
Reals = Annotated[ArrayLike, REALS]
Triple = Annotated[ArrayLike, TRIPLE]
Vector = Annotated[NDArray[np.float64], TRIPLE]  #: the same, for what keeps it
Row = Annotated[ArrayLike, ROW]
WholeNumbers = Annotated[ArrayLike, WHOLE_NUMBERS]
Seed = Annotated[np.random.Generator | int | None, SEED]

# --- from annotations to kinds --------------------------------------------------------------------------------------

#: What annotations mean that typing would take apart, or that are too wide.
_MEANINGS = {"ArrayLike": Reals, "Floats": Reals, "Ints": WholeNumbers}
_PLAIN = {float: FINITE, int: whole(), bool: FLAG, str: TEXT, Path: PATH, NoneType: NONE}


def kind_of(hint: Any) -> Kind | None:
    """What an annotation allows; None: anything."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return next((x for x in hint.__metadata__ if isinstance(x, Kind)), None) or kind_of(parts[0])
    if origin in (Union, UnionType):
        together = []
        for both, kind in (({str, Path}, PATH), ({str, int}, NAME_OR_NUMBER)):
            if both <= set(parts):
                together, parts = [kind], tuple(x for x in parts if x not in both)
        kinds = [*together, *map(kind_of, parts)]
        return None if None in kinds else either([k for k in kinds if k is not None])
    if origin is Literal:
        return choice(*parts)
    if origin is abc.Callable:
        return function(len(parts[0]) if isinstance(parts[0], list) else None)
    if origin in (abc.Sequence, abc.Iterable, list):
        return several(kind_of(parts[0]))
    if origin is tuple:
        return several(kind_of(parts[0]), None if parts[1:] == (...,) else len(parts), as_tuple=True)
    known = _PLAIN.get(hint)
    if known is not None or hint is Any or isinstance(hint, TypeVar):
        return known
    what = origin or hint
    return instance(what) if isinstance(what, type) else None


class Plan(NamedTuple):
    """What a function takes, by place and by name. The last of each is for what has neither."""

    places: tuple[tuple[str, Kind | None], ...]
    more: tuple[str, Kind | None]
    names: dict[str, Kind | None]
    other: Kind | None
    unsaid: dict[str, Any]  #: of a dataclass: what its fields are in our form if nothing is given


def plan_of(function: Callable[..., Any], of: Any) -> Plan:
    """From the signature of a function, and the annotations of itself or of a dataclass that it makes."""
    hints = get_type_hints(of, localns=_MEANINGS, include_extras=True)
    parameters = signature(function).parameters.values()
    kinds = {p.name: kind_of(hints[p.name]) if p.name in hints else None for p in parameters}
    more: tuple[str, Kind | None] = ("", None)
    names, other = dict(kinds), None
    for p in parameters:
        if p.kind is Parameter.VAR_POSITIONAL:
            more = p.name, names.pop(p.name)
        elif p.kind is Parameter.VAR_KEYWORD:
            other = names.pop(p.name)
            if get_origin(hints.get(p.name)) is Unpack:
                allowed = get_type_hints(get_args(hints[p.name])[0], localns=_MEANINGS, include_extras=True)
                names |= {name: kind_of(hint) for name, hint in allowed.items()}
                other = None
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    places = tuple((p.name, kinds[p.name]) for p in parameters if p.kind in by_place)
    return Plan(places, more, names, other, _unsaid(of, kinds) if isinstance(of, type) else {})


def _unsaid(of: Any, kinds: Mapping[str, Kind | None]) -> dict[str, Any]:
    out = {}
    for field in fields(of):
        kind = kinds.get(field.name)
        if field.init and field.default is not MISSING and kind is not None:
            out[field.name] = kind.form(field.default)
            if isinstance(out[field.name], np.ndarray):
                out[field.name].flags.writeable = False  # several will have it
    return out


def checked_as(error: type[SuppleError]) -> Callable[[F], F]:
    """`checked`, with errors of another class."""

    def decorate(function: F) -> F:
        if isinstance(function, type):
            function.__init__ = _checked(function.__init__, function, error)  # type: ignore[misc]
            return made_once(fields(function)[0].name)(function)  # type: ignore[arg-type,type-var]
        return _checked(function, function, error)  # type: ignore[return-value]

    return decorate


def checked(function: F) -> F:
    """A function, or a dataclass, that refuses what its annotations do not allow."""
    return checked_as(StateError)(function)


checked_model = checked_as(ModelError)


def _checked(function: Callable[..., Any], of: Any, error: type[SuppleError]) -> Callable[..., Any]:
    plan = cache(lambda: plan_of(function, of))  # made at the first call, when all names are there

    def refusal(e: Exception, name: str, x: Any, kind: Kind | None, given: tuple[Any, ...]) -> Exception:
        makes = function.__name__ == "__init__"
        caller = type(given[0]).__name__ if makes else function.__name__
        return e if kind is None else _refusal(e, f"{caller}: {name}", x, kind, error)

    @wraps(function)
    def refusing(*given: Any, **named: Any) -> Any:
        places, more, names, other, unsaid = plan()
        if len(given) > len(places):
            places += (more,) * (len(given) - len(places))
        args: list[Any] = []
        try:
            for (_, kind), x in zip(places, given):
                args.append(x if kind is None else kind.form(x))
        except Exception as e:
            name, kind = places[len(args)]
            raise refusal(e, name, given[len(args)], kind, given) from None
        name = ""
        try:
            for name, x in named.items():
                kind = names.get(name, other)
                if kind is not None:
                    named[name] = kind.form(x)
        except Exception as e:
            raise refusal(e, name, named[name], names.get(name, other), given) from None
        if unsaid:
            said = {name for name, _ in places[: len(given)]}
            named = {name: x for name, x in unsaid.items() if name not in said} | named
        return function(*args, **named)

    return refusing


def read_only(**instead: str) -> Callable[[C], C]:
    """A class whose properties that cannot be set say so, and what to do instead."""

    def decorate(kind: C) -> C:
        for name in dir(kind):
            part = getattr_static(kind, name)
            if isinstance(part, property) and part.fset is None:
                way = instead.get(name, "it follows from the rest")
                setattr(kind, name, part.setter(partial(_refuse_setting, name, way)))
        return kind

    return decorate


class ReadOnly(StateError, AttributeError):
    """An attribute that cannot be set: ours, and what Python raises."""


def _refuse_setting(name: str, way: str, of: Any, value: Any) -> None:
    raise ReadOnly(f"{name} of {type(of).__name__} cannot be set: {way}")
