"""One law for models, however they are made: what ModelBuilder refuses, no copy, change or recording brings in."""

from __future__ import annotations

import dataclasses
import pickle
from contextlib import suppress

import numpy as np
import pytest

import supple
from supple.errors import ModelError, SuppleError
from supple.model.physical import MERGED_SLACK, unphysical

SOUND = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "com": (0.1, 0.0, 0.0)}


def built(how="refuse", **body):
    b = supple.ModelBuilder("m")
    b.add_body("root", joint="free", **SOUND)
    b.add_body("arm", "root", axis=(0, 0, 1), **SOUND | body)
    return b.build(unphysical_inertia=how, singular=how)


def replaced(model, body, change):
    """By dataclasses.replace instead of with_body."""
    arrays = {name: getattr(model, name).copy() for name in change}
    for name, x in change.items():
        arrays[name][model.body_index(body)] = np.diag(x) if name == "inertia" and np.shape(x) == (3,) else x
    return dataclasses.replace(model, **arrays)


CHANGES = [
    {"inertia": -0.05 * np.eye(3)},
    {"inertia": (1.0, 1.0, 5.0)},
    {"mass": 0.0, "inertia": np.zeros((3, 3))},
    {"mass": 0.0, "inertia": (1.0, 1.0, 0.0)},
    {"inertia": np.zeros((3, 3)), "com": (0.0, 0.0, 1.0)},
    {"mass": -1.0},
    {"mass": np.inf},
    {"com": (np.nan, 0.0, 0.0)},
    {"inertia": np.diag([1.0, 1.0, 1e70])},
    {"inertia": np.eye(3) + np.eye(3, k=1)},
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("how", [supple.Model.with_body, replaced])
def test_what_the_builder_refuses_is_refused_in_its_words(change, how):
    with pytest.raises(ModelError) as wanted:
        built(**change)
    with pytest.raises(ModelError) as said:
        how(built(), "arm", **change) if how is supple.Model.with_body else how(built(), "arm", change)
    assert str(said.value) == str(wanted.value) and "'arm'" in str(said.value)


@pytest.mark.parametrize("change", [{"com": 0.1}, {"mass": (1.0,)}, {"inertia": 0.1}, {"com": (0.1, 0.2)}])
def test_the_shapes_of_a_body(change):
    with pytest.raises(ModelError, match="of body 'arm' has shape"):
        built().with_body("arm", **change)


def said(make, *args, **named):
    """What an error says; nothing if there is none."""
    try:
        make(*args, **named)
    except SuppleError as e:
        return str(e)
    return ""


def test_random_inertias_are_judged_alike():
    """Principal moments around the bounds, in any direction: with_body, replace and the builder agree."""
    rng, model, seen = np.random.default_rng(0), built(), set()
    for _ in range(300):
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        I = R @ np.diag(rng.uniform(-0.1, 1.0, 3) * 10.0 ** rng.integers(-3, 3)) @ R.T
        I = 0.5 * (I + I.T)
        wanted = said(built, inertia=I)
        assert said(model.with_body, "arm", inertia=I) == wanted
        assert said(replaced, model, "arm", {"inertia": I}) == wanted
        seen.add(wanted == "")
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("joint", "message"),
    [({"damping": -1.0}, "damping must be"), ({"lower": 2.0, "upper": 1.0}, "lower limit 2 is above the upper 1"),
     ({"velocity_limit": -1.0}, "velocity_limit must not be negative"), ({"rest": np.inf}, "rest must be finite"),
     ({"effort_limit": np.nan}, "effort_limit is not a number")],
)  # fmt: skip
def test_numbers_of_joints_are_judged_alike(joint, message):
    whole = {name: built().joints["arm_joint"].v if len(getattr(built(), name)) == 7 else 7 for name in joint}
    for make in (
        lambda: built(**joint),
        lambda: built().with_joint("arm_joint", **joint),
        lambda: dataclasses.replace(built(), **{n: np.append(getattr(built(), n)[:-1], joint[n]) for n in whole}),
    ):
        with pytest.raises(ModelError, match=f"^joint 'arm_joint': {message}"):
            make()


def test_armature_that_is_needed_cannot_be_taken_away():
    model = built(mass=0.0, inertia=(0, 0, 0), armature=0.1)
    with pytest.raises(ModelError, match="'arm' and everything beyond it has no mass"):
        model.with_joint("arm_joint", armature=0.0)


def test_what_was_reported_stays_and_nothing_worse_comes(tmp_path):
    """Copies, pickles and changes elsewhere keep it; other numbers are refused; a repair is not forgotten."""
    for trouble in ({"inertia": (1.0, 1.0, 5.0)}, {"mass": 0.0, "inertia": (0.0, 0.0, 0.0)}):
        model = built("report", **trouble)
        assert len(model.report) == 1
        for other in (
            dataclasses.replace(model, name="n"),
            pickle.loads(pickle.dumps(model)),
            model.with_body("root", mass=2.0).with_gravity((0, 0, 0)).with_joint("arm_joint", damping=1.0),
        ):
            assert other.report == model.report
            np.testing.assert_array_equal(other.inertia, model.inertia)
        for worse in ({"inertia": (1.0, 1.0, 6.0)}, {"inertia": -np.eye(3)}):
            for change in (supple.Model.with_body, lambda m, b, **x: replaced(m, b, x)):
                with pytest.raises(ModelError, match="body 'arm': no real body"):
                    change(model, "arm", **worse)
        repaired = model.with_body("arm", **SOUND)
        assert not repaired.report
        with pytest.raises(ModelError, match="'arm'"):
            replaced(repaired, "arm", trouble)


def test_a_recording_with_a_negative_inertia_is_refused(tmp_path):
    """Written by somebody else's program; one whose report has it is read."""
    path, q = tmp_path / "run.h5", built().neutral()
    for how, wrong in (("report", False), ("refuse", True)):
        good = built(how, **({} if wrong else {"inertia": (1.0, 1.0, 5.0)}))
        fields = good.__getstate__()
        if wrong:
            fields["inertia"] = np.stack([np.eye(3), np.diag([-0.05, -0.05, 0.1])])
        model = supple.Model._of(**fields)
        with suppress(SuppleError):  # which reads it, when it has been written
            supple.simulate(model, q, duration=0.01, dt=1e-3, record=path, overwrite=True)
        if wrong:
            with pytest.raises(SuppleError, match="'arm': no real body"):
                supple.load_run(path).model  # noqa: B018
        else:
            assert supple.load_run(path).model.report == good.report


def test_bodies_merged_at_fixed_joints_stay_what_they_are():
    """An unphysical body on a fixed joint may make its carrier unphysical, with another name and other moments."""
    b = supple.ModelBuilder()
    b.add_body("carrier", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.add_body("tool", "carrier", "fixed", mass=1.0, inertia=(1.0, 1.0, 5.0))
    model = b.build(unphysical_inertia="report")
    assert ["carrier" in str(x) for x in model.report] == [False, True]
    assert dataclasses.replace(model, name="other").report == model.report


def test_merging_physical_bodies_is_physical():
    """The bound that MERGED_SLACK is derived from, at its worst: rods along all axes, each as far off as is allowed."""
    b = supple.ModelBuilder()
    b.add_body("carrier", mass=1.0, inertia=(1.0, 1.0, 0.0))
    for i in range(3):
        moments = np.full(3, 1.0)
        moments[i] = -0.99e-5
        b.add_body(f"rod{i}", "carrier", "fixed", mass=0.0, inertia=moments)
    model = b.build()
    assert not unphysical(model.body_names, model.inertia, MERGED_SLACK)
    dataclasses.replace(model, name="other")
