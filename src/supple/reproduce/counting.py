"""How many operations the algorithms execute, found by running their own source on numbers that count.

The kernels are generic in the type of their numbers: with the compiler disabled (NUMBA_DISABLE_JIT=1) they
are plain Python, and run on `Counted`. That takes a process of its own, which counts() starts:

    >>> counts(["humanoid"])["humanoid"]["ltdl"]      # doctest: +SKIP
    Cost(m=..., a=..., div=30, sqrt=0, sincos=0)

or, by hand, `NUMBA_DISABLE_JIT=1 python -m supple.reproduce.counting humanoid chain:30`, which prints JSON.

What counts: every +, -, *, / and square root of which at least one side is data; products with a zero or a
one that the code does not know to be one (the world's rotation, an axis read from memory) are executed, so
they count. Changes of sign and comparisons do not. Sines and cosines count as pairs.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.assembly import elimination, joints
from supple.costs import matrices as costs
from supple.costs.matrices import Cost
from supple.errors import SuppleError
from supple.exact import ltdl as factors
from supple.exact import motion
from supple.exact.aba import ABA
from supple.exact.call_kernels import Scratch
from supple.exact.calls import Algorithm, HostWork
from supple.exact.crba import PACKED
from supple.exact.forward import CRBA_LTDL
from supple.exact.packing import Packing
from supple.exact.rnea import RNEA
from supple.exact.tables import Tables, Wrench, host_tables
from supple.exact.treematrix import Pattern
from supple.model import trees
from supple.model.joint_poses import Axis
from supple.model.model import Model
from supple.reproduce import sf_listings
from supple.spatial.addresses import address_of
from supple.spatial.held import Held
from supple.spatial.plain_structs import Checked, Table, read_numbers_as
from supple.spatial.structs import Struct
from supple.spatial.trig import RING, Turn

Floats = NDArray[np.float64]

SYSTEMS: dict[str, Callable[..., Model]] = {
    "humanoid": trees.humanoid,
    "humanoid-chain": trees.humanoid_chain,
    "chain": trees.chain,
    "side-branches": trees.side_branches,
    "binary": trees.balanced_binary,
    "grid": trees.spanning_grid,
}


class Counted(float):
    """A number that counts what is done with it."""

    tally: dict[str, int] = {}


def _counting(name: str, kind: str) -> Callable[[Any, Any], Any]:
    plain = getattr(float, name)

    def operation(x: Any, y: Any) -> Any:
        out = plain(x, y)
        if out is NotImplemented:
            return out
        Counted.tally[kind] += 1
        return Counted(out)

    return operation


for _name, _kind in (("add", "a"), ("sub", "a"), ("mul", "m"), ("truediv", "div")):
    setattr(Counted, f"__{_name}__", _counting(f"__{_name}__", _kind))
    setattr(Counted, f"__r{_name}__", _counting(f"__r{_name}__", _kind))
Counted.__neg__ = lambda x: Counted(float.__neg__(x))  # type: ignore[method-assign]


def _sqrt(x: float) -> Counted:
    Counted.tally["sqrt"] += 1
    return Counted(math.sqrt(x))


def _cos(x: float) -> Counted:
    """A cosine, and the sine that is always wanted with it."""
    Counted.tally["sincos"] += 1
    return Counted(math.cos(x))


def _sincos_ring(q: Any, index: Any, first: int, stop: int, ring: Any) -> None:
    for k in range(first, stop):
        Counted.tally["sincos"] += 1
        turn, x = ring[k % RING], q[index[k]]
        turn.sin, turn.cos = math.sin(x), math.cos(x)


def counted(x: ArrayLike) -> NDArray[Any]:
    """The same numbers, counting; made from plain floats, since NumPy's would answer for themselves."""
    array = np.asarray(x, dtype=np.float64)
    out = np.empty(array.size, dtype=object)
    out[:] = [Counted(v) for v in array.ravel().tolist()]
    return out.reshape(array.shape)


def count(function: Callable[..., Any], *arguments: Any) -> Cost:
    """What a call of a helper costs."""
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise SuppleError("operations can be counted only where the compiler is disabled: use counts()")
    for module in (factors, elimination, joints):
        vars(module)["math"] = SimpleNamespace(sqrt=_sqrt, cos=_cos, sin=lambda x: Counted(math.sin(x)))
    vars(motion)["sincos_ring"] = _sincos_ring
    read_numbers_as(Counted)
    Counted.tally = dict.fromkeys((f.name for f in dataclasses.fields(Cost)), 0)
    function(*arguments)
    return Cost(**Counted.tally)


# --- factors ------------------------------------------------------------------------------------------------


def matrix_over(parent: ArrayLike, seed: int = 0) -> Floats:
    """A symmetric positive-definite matrix with a tree's zeros and no others."""
    pattern = Pattern(parent)
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.1, 1.0, pattern.size)
    H = pattern.unpack(values)
    i = np.arange(pattern.n)
    H[i, i] = H.sum(axis=1)
    return H


def of_factors(parent: ArrayLike) -> dict[str, Cost]:
    """Every row of SF Table 1: the kernels, and for factorizing also the paper's listings, word for word."""
    p, H = Pattern(parent), matrix_over(parent)
    packing = Packing.at(p._packing.address)
    b = np.random.default_rng(1).standard_normal(p.n)
    out: dict[str, Cost] = {}
    out["ltdl listed"] = count(sf_listings.ltdl, counted(H), p.parent.tolist())
    out["ltl listed"] = count(sf_listings.ltl, counted(H), p.parent.tolist(), _sqrt)
    out["ltdl solve listed"] = count(sf_listings.solve_ltdl, counted(H), p.parent.tolist(), counted(b))
    for form in costs.FORMS:
        a = checked(np.concatenate([p.pack(H), np.zeros(p.n)]))
        out[form] = count(getattr(factors, form), a, packing)
        unit = form == "ltdl"
        x, y = checked(b), checked(np.zeros(p.n))
        if unit:
            out["ltdl solve"] = count(factors.solve_ltdl, a, packing, x)
        else:
            half = count(factors.solve_Lt, a, packing, x, False)
            out["ltl solve"] = half + count(factors.solve_L, a, packing, x, False)
        order = np.arange(p.n) if p.order is None else p.order
        require(np.allclose(H[np.ix_(order, order)] @ x.astype(float), b), f"{form} solves")
        out[f"{form} L x"] = count(factors.mul_L, a, packing, x, y, unit)
        out[f"{form} L^T x"] = count(factors.mul_Lt, a, packing, x, y, unit)
        out[f"{form} L^-1 x"] = count(factors.solve_L, a, packing, x, unit)
        out[f"{form} L^-T x"] = count(factors.solve_Lt, a, packing, x, unit)
    return out


# --- dynamics -----------------------------------------------------------------------------------------------


def checked(x: ArrayLike) -> Any:
    """A copy in memory that refuses indices below zero or beyond the end, and whose numbers count when they are
    read."""
    return np.array(x, dtype=np.float64).view(Checked)


def tables(model: Model) -> Any:
    """The model as kernels see it."""
    return Tables.at(host_tables(model).address)


def table(struct: type[Struct] | None, rows: NDArray[Any] | Held) -> Any:
    """Structs as kernels see them."""
    if struct is None:
        return None
    return Table(struct, rows.address, 1) if isinstance(rows, Held) else Table(struct, address_of(rows), len(rows))


def scratch(algorithm: Algorithm, work: HostWork) -> Scratch:
    """What a core works with; what is read before it is written is not a number."""
    for array in work.scratch:
        array.view(np.float64)[:] = np.nan
    rows, call = algorithm.rows, work.call
    return Scratch(
        table(rows.path, work.path),
        table(rows.bodies, work.bodies),
        table(rows.dofs, work.dofs),
        motion.Axes(table(Axis, work.axes), table(Turn, work.ring)),
        work.extra.view(Checked),
        table(rows.constants, call.constants),
        table(rows.hubs, call.hubs),
        math.prod(work.shape),
    )


def state(q: ArrayLike, v: ArrayLike, x: ArrayLike, wrenches: Floats | None) -> motion.CallState:
    """What a core is given."""
    pushes = None if wrenches is None else wrenches.reshape(-1).view(Wrench.dtype)
    return motion.CallState(
        checked(q), checked(v), checked(x), pushes is not None, None if pushes is None else table(Wrench, pushes)
    )


def run(
    algorithm: Algorithm, model: Model, q: Floats, v: Floats, x: Floats, wrenches: Floats | None = None
) -> tuple[Cost, Floats]:
    """An algorithm's core on one state: what it costs, and its result."""
    work = HostWork(algorithm, model)
    out = checked(np.full(math.prod(work.shape), np.nan))
    given = state(q, v, x, wrenches)
    cost = count(algorithm.core, tables(model), given, out, scratch(algorithm, work))
    return cost, np.array(out, dtype=np.float64)


def of_dynamics(model: Model) -> dict[str, Cost]:
    """RNEA (for C), CRBA, ABA, and all of forward dynamics by the mass matrix."""
    rng = np.random.default_rng(0)
    q, v, tau = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    out = {}
    out["rnea"], C = run(RNEA, model, q, v, np.zeros(model.nv))
    out["crba"], H = run(PACKED, model, q, v, tau)
    out["aba"], qdd = run(ABA, model, q, v, tau)
    out["forward dynamics"], again = run(CRBA_LTDL, model, q, v, tau)
    require(np.allclose(qdd, again, rtol=1e-8), "both ways give the same accelerations")
    dense = host_tables(model).pattern.unpack(H)
    require(np.allclose(dense @ qdd + C, tau, atol=1e-8), "H qdd + C = tau")
    return out


def require(truth: Any, what: str) -> None:
    """A count is worth nothing if the numbers counted were wrong."""
    if not truth:
        raise SuppleError(f"counting operations: it is not so that {what}")


# --- in a process of its own --------------------------------------------------------------------------------


def system(name: str, known: Mapping[str, Callable[..., Model]]) -> Model:
    """A model by its kind and size, as in chain:30."""
    kind, _, size = name.partition(":")
    if kind not in known:
        raise SuppleError(f"no system {kind!r}; there are {', '.join(known)}, with a size as in chain:30")
    return known[kind](*([int(size)] if size else []))


def of_system(name: str) -> dict[str, Cost]:
    model = system(name, SYSTEMS)
    return of_factors(model.expanded_parent) | of_dynamics(model)


def counts(systems: Sequence[str], module: str = __name__) -> dict[str, dict[str, Cost]]:
    """What a module counts on each of the systems, in a process without the compiler: here, what SF is about."""
    command = [sys.executable, "-m", module, *systems]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SuppleError(f"counting operations failed: {done.stderr.strip().splitlines()[-1:]}")
    raw = json.loads(done.stdout)
    return {name: {what: Cost(**x) for what, x in costs.items()} for name, costs in raw.items()}


def answer(systems: Sequence[str], of: Callable[[str], dict[str, Cost]]) -> None:
    """What such a process prints."""
    result = {name: of(name) for name in systems}
    plain = {name: {what: dataclasses.asdict(x) for what, x in costs.items()} for name, costs in result.items()}
    print(json.dumps(plain, indent=1))


if __name__ == "__main__":
    answer(sys.argv[1:] or ["humanoid", "humanoid-chain"], of_system)
