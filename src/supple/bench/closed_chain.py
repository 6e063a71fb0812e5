"""Quasi-statics of a long closed chain under one force, beside exact steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import supple
from supple.bench.measure import agree, minima
from supple.bench.rows import Row

Floats = NDArray[np.float64]

LINKS, ERROR, DT = 50_000, 2.0**-19, 1e-3
FASTER = (30.0, 80.0)  #: times as fast as an exact step: floor, aim


def closed_chain(links: int) -> tuple[supple.Model, Floats]:
    """A plane chain of hinges, at a position in which a pin between its last link and the world closes it: it turns at
    random, and its second half is its first one turned by half a turn."""
    tree = supple.trees.chain(links, general=False, gravity=(0.0, 0.0, 0.0))
    end, none, one = tree.position[-1], np.zeros(3), np.eye(3)
    pin = supple.Loop("pin", "revolute", -1, links - 1, none, one, end, one, tree.axis[0], none)
    half = np.random.default_rng(0).uniform(-1.0, 1.0, links // 2)
    half += (np.pi - half.sum()) / len(half)
    return replace(tree, loop_list=(pin,)), np.concatenate([half, half])


def rows(quick: bool) -> list[Row]:
    model, q = closed_chain(LINKS)
    rest = np.zeros(model.nv)
    where: dict[str, Any] = dict(force=(0.3, 0.0, 1.0), point=(0.0, 0.0, -0.5))
    W = supple.wrench(model, LINKS // 3, q=q, **where)
    qs = supple.QuasiStatics(model, q, ERROR)
    qs.apply(LINKS // 3, **where)
    exact = supple.forward_dynamics(model, q, rest, None, W)
    agree("quasi-statics at error 0 and forward dynamics", qs.solve(error=0.0).dense(), exact, 1e-9)
    agree("quasi-statics and forward dynamics", qs.solve().dense(), exact, ERROR)
    calls: dict[str, Any] = {
        "exact": lambda: model.integrate(q, supple.forward_dynamics(model, q, rest, None, W), 0.5 * DT**2),
        "step": lambda: qs.step(DT),
    }
    best = minima(calls, 10 if quick else 50)
    return [
        Row("a step", best["step"], "s", best["exact"], "exact step", *FASTER),
        Row("joints computed", float(qs.reach()), ""),
    ]
