"""No public call, however misused, ends the interpreter: it works, or raises an error of Supple's own."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import supple

SCRIPT = Path(__file__).parent.parent / "misusing.py"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("target", "rounds"), [("models", 150), ("factors", 800), ("steppers", 300)])
def test_wrong_arrays(target, rounds, seed):
    """Done, or refused by an error of ours."""
    lines = misused(target, seed, rounds)
    wrong = [f"{what} {why}" for what, why in pairwise(lines) if why.startswith("WRONG")]
    assert not wrong, "\n".join(wrong[:5])


def test_changes_of_root_put_together_by_hand():
    """Of arrays that nobody is expected to make: NumPy may refuse them, too."""
    misused("rerooted", 0, 200)


def misused(target, seed, rounds):
    """What a child says that is given wrong arrays; it must end as it should."""
    command = [sys.executable, "-W", "ignore", str(SCRIPT), target, str(seed), str(rounds)]
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
    factor.values.shape = (-1, 1)  # of a view: the factor's own array stays as it is
    factor.values.dtype = np.int64
    np.testing.assert_array_equal(factor.solve([1.0, 2.0]), [1.0, 2.0])
