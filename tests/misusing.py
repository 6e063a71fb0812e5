"""Wrong arrays for everything that hands arrays on to compiled code, in a process that may crash of it.

    python tests/misusing.py SEED TARGET=ROUNDS ...

Run by property/test_misuse.py. Says what it is about to do, so that a crash has a name, and of what was neither done
nor refused by an error of Supple's own: WRONG, and why.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import supple
from supple.integrating.joint_law import controller_rows

WILD = (10**8, -(10**8), 2**62, -1, 0, 1, 7, 10**6)
ODD = (np.nan, np.inf, -1e300, 1e300, -1.0, 7.0, 1e8)
NO_ARRAYS = (None, "text", 3.5, [], [[1], [2, 3]], {}, np.empty((0, 0)), -1)
TYPES = (np.float32, np.int8, np.uint64, complex, object, str)


class Wrong:
    """Makes arrays that are not quite what they should be."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one_of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def __call__(self, right: Any) -> Any:
        x = np.array(right)
        flat = x.reshape(-1)
        what = int(self.rng.integers(12))
        if what < 5 and x.size and x.dtype.kind in "if":  # one entry, all else as it was
            out = flat.astype(np.int64) if x.dtype.kind == "i" else flat.copy()
            out[self.rng.integers(x.size)] = self.one_of(*(WILD if x.dtype.kind == "i" else ODD))
            return out.reshape(x.shape)
        ways: dict[int, Callable[[], Any]] = {
            5: lambda: self.rng.permutation(flat).reshape(x.shape),
            6: lambda: flat[: x.size // 2],
            7: lambda: np.concatenate([flat, flat]),
            8: lambda: x.astype(self.one_of(*TYPES)) if x.dtype.kind in "if" else x,
            9: lambda: x[..., None],
            10: lambda: np.asfortranarray(x)[..., ::-1] if x.ndim else x,
        }
        return ways[what]() if what in ways else self.one_of(*NO_ARRAYS)


def use(model: supple.Model) -> None:
    """Every way into compiled code that a model has."""
    q, v = model.random(0), np.zeros(model.nv)
    for method in ("aba", "crba", "virtual-work", "dca"):
        supple.forward_dynamics(model, q, v, method=method)  # type: ignore[arg-type]
    supple.forward_dynamics(model, np.tile(q, (40, 1)), np.tile(v, (40, 1)))
    supple.poses(model, q), supple.inverse_dynamics(model, q, v, v), supple.jacobian(model, q, 0)
    supple.QuasiStatics(model, q).step(1e-3)
    supple.AdaptiveDynamics(model, q, active=2).step(1e-3)
    supple.reroot(model, q, body=model.n_bodies - 1, joint="free")


def models(wrong: Wrong) -> tuple[Callable[[], Any], Any]:
    model = supple.trees.chain(6)
    names = [f.name for f in dataclasses.fields(model) if f.init]
    some = wrong.rng.choice(names, wrong.rng.integers(1, 4), replace=False)
    changes = {name: wrong(getattr(model, name)) for name in some}
    return lambda: use(dataclasses.replace(model, **changes)), changes


def factors(wrong: Wrong) -> tuple[Callable[[], Any], Any]:
    n = 12
    parent = np.array([int(wrong.rng.integers(-1, i)) for i in range(n)])
    pattern, H, b = supple.Pattern(parent), np.eye(n), np.ones(n)
    good = supple.factorize(H, pattern)
    form, x, other, values = wrong.one_of("ltdl", "ltl", "other", None, []), wrong(b), wrong(H), wrong(good.values)
    tree, ends, packed = wrong(parent), wrong(np.arange(1, n + 1)), wrong(good.values[: pattern.size])

    def made() -> None:
        factor = supple.Factor(pattern, values, form)
        factor.refactorize(H)
        factor.solve(b), factor.mul_L(b), factor.L, factor.D, factor.logdet()

    def matrix() -> None:
        m = supple.TreeMatrix(pattern, packed)
        m.dense(), m @ b, supple.factorize(m, form=form).solve(b)

    call, *what = wrong.one_of(
        (lambda: supple.factorize(H, supple.Pattern(tree, ends=ends)).solve(b), "Pattern", tree, ends),
        (made, "Factor", values, form),
        (matrix, "TreeMatrix", packed, form),
        (lambda: good.refactorize(other), "refactorize", other),
        (lambda: (good.solve(x), good.mul_Lt(x), good.solve_L(x)), "solve", x),
        (lambda: supple.factorize(other, tree, form), "factorize", other, tree, form),
        (lambda: (pattern.pack(other), pattern.unpack(packed)), "pack", other, packed),
    )
    return call, what


def steppers(wrong: Wrong) -> tuple[Callable[[], Any], Any]:
    model = supple.trees.chain(8)
    body: Any = wrong.one_of(supple.QuasiStatics, supple.AdaptiveDynamics)(model, error=1e-3)
    body.apply(7, force=(0, 0, 1))
    body.step(1e-3)
    saved = {name: wrong(x) if wrong.rng.random() < 0.4 else x for name, x in body.save().items()}
    q, three, each, rows = (wrong(x) for x in (model.neutral(), np.ones(3), np.arange(8), controller_rows(model, 3, 1)))
    ways = [
        (lambda: body.restore(saved), "restore", saved),
        (lambda: body.set_state(q), "set_state", q),
        (lambda: body.apply(7, force=three, point=three), "apply", three),
        (lambda: body.poses(each), "poses", each),
        (lambda: type(body)(model, order=each).step(1e-3), "order", each),
        (lambda: body.torque(3, three), "torque", three),
    ]
    if isinstance(body, supple.AdaptiveDynamics):
        ways += [
            (lambda: body.joint_law(rows), "joint_law", rows),
            (lambda: body.set_weights(each, three), "set_weights", each, three),
            (lambda: supple.AdaptiveDynamics(model, active=each), "active", each),  # type: ignore[list-item]
        ]
    call, *what = wrong.one_of(*ways)

    def and_go_on() -> None:
        try:
            call()
        finally:
            for _ in range(20):
                body.step(1e-3)

    return and_go_on, (type(body).__name__, *what)


def rerooted(wrong: Wrong) -> tuple[Callable[[], Any], Any]:
    model = supple.trees.chain(6)
    good = supple.reroot(model, model.neutral(), body=4, joint="free")
    name = wrong.one_of("number", "chain", "shift", "q", "_of_q", "_of_v")
    value = wrong(getattr(good, name))
    other = dataclasses.replace(good, **{name: value})
    call = wrong.one_of(other.undo, lambda: other.again(model.neutral()), lambda: other.forces(np.zeros(6)))
    return call, (name, value)


TARGETS = {"models": models, "factors": factors, "steppers": steppers, "rerooted": rerooted}


def main(target: str, seed: int, rounds: int) -> None:
    wrong = Wrong(seed)
    for number in range(rounds):
        call, what = TARGETS[target](wrong)
        print(f"{target} {number}: {what!r}".replace("\n", " ")[:600], flush=True)
        try:
            call()
        except supple.SuppleError:
            pass
        except Exception as e:
            print(f"WRONG {type(e).__name__}: {e}".replace("\n", " "), flush=True)
    gc.collect()


if __name__ == "__main__":
    for asked in sys.argv[2:]:
        target, _, rounds = asked.partition("=")
        main(target, int(sys.argv[1]), int(rounds))
    print("done", flush=True)
