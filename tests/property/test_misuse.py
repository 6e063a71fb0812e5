"""No public call, however misused, ends the interpreter: it works, or raises an error of Supple's own."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import supple

SCRIPT = Path(__file__).parent.parent / "misusing.py"


def test_wrong_arrays():
    """Done, or refused by an error of ours."""
    lines = misused(0, "models=150", "factors=800", "steppers=300")
    wrong = [f"{what} {why}" for what, why in pairwise(lines) if why.startswith("WRONG")]
    assert not wrong, "\n".join(wrong[:5])


def test_changes_of_root_put_together_by_hand():
    """Of arrays that nobody is expected to make: NumPy may refuse them, too."""
    misused(0, "rerooted=200")


def misused(seed, *rounds):
    """What a child says that is given wrong arrays; it must end as it should."""
    command = [sys.executable, "-W", "ignore", str(SCRIPT), str(seed), *rounds]
    out = subprocess.run(command, capture_output=True, text=True)
    lines = out.stdout.splitlines()
    ended = f"ended by {out.returncode} at {lines[-1:]}: {out.stderr[-2000:]}"
    assert out.returncode == 0 and lines[-1] == "done", ended
    return lines


def everything(model):
    """Arrays that can be reached from a model, a pattern and a body, and are not to be written to."""
    pattern = supple.Pattern([-1, 0, 0, 1])
    qs = supple.QuasiStatics(model)
    names = ("parent", "order", "packed_parent", "depth", "starts", "diagonal", "ends")
    return {
        **{f.name: getattr(model, f.name) for f in dataclasses.fields(model)},
        **{name: getattr(model, name) for name in ("expanded_parent", "dof_body")},
        **{f"pattern.{name}": getattr(pattern, name) for name in names},
        **{f"pattern.entries {i}": x for i, x in enumerate(pattern.entries)},
        "a frame": model.frame_list[0].position,
        "a part": model.bodies[1].com,
        "q": qs.q,
    }


def test_nobody_writes_to_what_kernels_trust():
    """Not even whoever asks NumPy to allow it."""
    builder = supple.ModelBuilder()
    builder.add_body("a", mass=1.0, inertia=(1, 1, 1))
    builder.add_body("b", "a", mass=1.0, inertia=(1, 1, 1))
    builder.add_frame("tool", "b", (0, 0, 1))
    model = builder.build()
    again = supple.reroot(model, model.neutral(), body="b").model
    for name, x in [*everything(model).items(), *everything(again).items()]:
        if not isinstance(x, np.ndarray) or not x.size:
            continue
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0
        if name != "q":  # a view of what the body moves: whoever insists moves it
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                x.setflags(write=True)


def test_nobody_replaces_what_kernels_trust():
    model = supple.trees.chain(3)
    pattern = supple.Pattern([-1, 0])
    factor, qs, ad = supple.factorize(np.eye(2), pattern), supple.QuasiStatics(model), supple.AdaptiveDynamics(model)
    matrix = supple.TreeMatrix(pattern, np.zeros(pattern.size))
    for owner, name in (
        (model, "parent"), (pattern, "starts"), (pattern, "parent"), (factor, "pattern"), (factor, "values"),
        (factor, "form"), (matrix, "values"), (matrix, "pattern"), (qs, "model"), (qs, "q"), (ad, "model"), (ad, "v"),
    ):  # fmt: skip
        with pytest.raises(AttributeError):
            setattr(owner, name, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5
        factor.values.shape = (-1, 1)  # of a view: the factor's own array stays as it is
        factor.values.dtype = np.int64
    np.testing.assert_array_equal(factor.solve([1.0, 2.0]), [1.0, 2.0])


def changed_forms(x):
    """Every way in which NumPy lets anybody set the form of an array that cannot be written to."""
    for name, value in (("dtype", np.int8), ("shape", (-1, 1)), ("strides", (0,) * x.ndim), ("dtype", np.float32)):
        with contextlib.suppress(AttributeError, TypeError, ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            setattr(x, name, value)


def test_nobody_sets_the_form_of_what_kernels_trust():
    """Of the arrays themselves, or of what they are views of: the next one who asks has them as they were."""
    builder = supple.ModelBuilder()
    builder.add_body("a", mass=1.0, inertia=(1, 1, 1))
    builder.add_body("b", "a", mass=1.0, inertia=(1, 1, 1))
    builder.add_frame("tool", "b", (0, 0, 1))
    model = builder.build()
    before = {name: np.array(x) for name, x in everything(model).items() if isinstance(x, np.ndarray)}
    for x in everything(model).values():
        while isinstance(x, np.ndarray):
            changed_forms(x)
            x = x.base
    for name, x in everything(model).items():
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, before[name], name, strict=True)
    q, v = model.random(0), np.ones(2)
    expected = supple.forward_dynamics(supple.reroot(model, q, body="a").undo().model, q, v)
    for method in ("aba", "crba", "virtual-work", "dca", "dense"):
        np.testing.assert_allclose(supple.forward_dynamics(model, q, v, method=method), expected, rtol=1e-9)


def test_patterns_whose_arrays_were_given_another_form():
    """One that was in use, and one that was not; rows in depth-first order, and not."""
    for parent in ([-1, 0, 1], [-1, 0, 0, 1]):
        for used in (False, True):
            H = supple.TreeMatrix(supple.Pattern(parent), np.zeros(supple.Pattern(parent).size))
            H.values[H.pattern.diagonal] = 2.0
            if used:
                supple.factorize(H).solve(np.ones(len(parent)))
            for name in ("parent", "order", "packed_parent", "depth", "starts", "diagonal", "ends"):
                if getattr(H.pattern, name) is not None:
                    changed_forms(getattr(H.pattern, name))
            for x in H.pattern.entries:
                changed_forms(x)
            np.testing.assert_allclose(supple.factorize(H).solve(np.ones(len(parent))), 0.5)
            np.testing.assert_allclose(H @ np.ones(len(parent)), 2.0)


def test_what_is_never_changed_is_made_once():
    model, big = supple.trees.chain(3), supple.trees.chain(400)
    fields = {f.name: getattr(big, f.name) for f in dataclasses.fields(big) if f.init}
    supple.forward_dynamics(model, model.neutral(), np.zeros(3), method="dca")
    pattern, frame = supple.Pattern([-1, 0]), model.place(1)
    matrix, factor = supple.TreeMatrix(pattern, np.zeros(pattern.size)), supple.factorize(np.eye(2), pattern)
    other = supple.Pattern(np.arange(400) - 1)
    clip, event = supple.Clip(model, np.arange(2.0), np.zeros((2, 3))), supple.Event("e", lambda state: state.time)
    rerooted, limits = supple.reroot(model, model.neutral(), body=1), supple.Limits(1.0)
    for again in (
        lambda: model.__init__(**fields),
        lambda: model.__setstate__(big.__getstate__()),
        lambda: copy.deepcopy(model).__init__(**fields),
        lambda: pattern.__init__(np.arange(400) - 1),
        lambda: matrix.__init__(other, np.zeros(other.size)),
        lambda: factor.__init__(other, np.zeros(other.size + 400), "ltl"),
        lambda: frame.__init__("x", 10**9, np.zeros(3), np.eye(3)),
        lambda: model.bodies.__init__("body", (), None),
        lambda: clip.__init__(big, np.arange(2.0), np.zeros((2, 400))),
        lambda: event.__init__("f", lambda state: 0.0),
        lambda: rerooted.__init__(**{f.name: getattr(rerooted, f.name) for f in dataclasses.fields(rerooted)}),
        lambda: limits.__init__(2.0),
    ):
        with pytest.raises(supple.StateError, match="is made already, and never changed: make another one"):
            again()
    for method in ("aba", "crba", "virtual-work", "dca"):
        supple.forward_dynamics(model, model.neutral(), np.zeros(3), method=method)
    np.testing.assert_array_equal(factor.solve(np.ones(2)), 1.0)


def test_what_could_not_be_made_has_no_fields():
    """Or kernels would follow what was refused."""
    model = supple.Model.__new__(supple.Model)
    fields = {f.name: getattr(supple.trees.chain(3), f.name) for f in dataclasses.fields(model) if f.init}
    with pytest.raises(supple.ModelError):
        model.__init__(**{**fields, "q_index": np.array([0, 1, 10**9])})
    assert not vars(model)
