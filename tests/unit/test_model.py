"""Model: parts by name, slices of q and v, the expanded parent array, text, positions, copies."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle

import numpy as np
import pytest

import supple
from supple.errors import ModelError
from supple.model import parents
from supple.model.joints import NQ, NV, JointType

SOLID = dict(mass=1.0, inertia=(1.0, 1.0, 1.0))
SIZES = dict(revolute=(1, 1), prismatic=(1, 1), screw=(1, 1), cylindrical=(2, 2), universal=(2, 2), planar=(4, 3),
             ball=(4, 3), free=(7, 6), continuous=(1, 1))  # fmt: skip
MOVING = list(SIZES)


def every_joint():
    """One body on each type of joint, a chain, named after its joint; a tool fixed to the last."""
    b = supple.ModelBuilder("zoo")
    for k, kind in enumerate(MOVING):
        b.add_body(kind, k - 1, kind, axis2=(1, 0, 0), joint_name=f"{kind} joint", **SOLID)
    b.add_body("tool", MOVING[-1], "fixed")
    return b.build()


@pytest.fixture
def zoo():
    return every_joint()


# --- parts by name --------------------------------------------------------------------------------------------------


def test_slices(zoo):
    """q and v are cut into consecutive pieces, each as long as its joint's type says."""
    at_q = at_v = 0
    for kind in MOVING:
        joint = zoo.joints[f"{kind} joint"]
        nq, nv = SIZES[kind]
        assert joint.type == kind and joint.name == f"{kind} joint"
        assert joint.q == slice(at_q, at_q + nq) and joint.v == slice(at_v, at_v + nv)
        assert (NQ[JointType[kind.upper()]], NV[JointType[kind.upper()]]) == (nq, nv)
        at_q, at_v = at_q + nq, at_v + nv
        assert len(joint.lower) == len(joint.upper) == nq
    assert (zoo.nq, zoo.nv, zoo.n_bodies, zoo.n_joints) == (at_q, at_v, 9, 9)


def test_parts_by_name_and_number(zoo):
    assert zoo.bodies["ball"].index == zoo.bodies[zoo.bodies["ball"].index].index == MOVING.index("ball")
    assert zoo.bodies[np.int64(2)].name == MOVING[2]
    assert zoo.bodies["ball"].parent == zoo.bodies["ball"].index - 1
    assert zoo.bodies["ball"].mass == 1.0
    assert zoo.body_index("free") == zoo.body_index(MOVING.index("free")) == MOVING.index("free")
    assert zoo.frames["tool"].body == 8
    assert list(zoo.bodies) == MOVING and len(zoo.bodies) == 9
    assert "ball" in zoo.bodies and "tool" not in zoo.bodies and "tool" in zoo.frames
    assert [b.name for b in zoo.bodies.values()] == MOVING
    assert zoo.bodies.get("ball").name == "ball" and zoo.bodies.get("bal") is None and zoo.bodies.get(99, "x") == "x"


@pytest.mark.parametrize(
    ("look_up", "message"),
    [
        (lambda m: m.bodies["bal"], "no body named 'bal'; did you mean 'ball'"),
        (lambda m: m.joints["bal joint"], "no joint named 'bal joint'; did you mean 'ball joint'"),
        (lambda m: m.frames["tol"], "no frame named 'tol'; did you mean 'tool'"),
        (lambda m: m.bodies["zzz"], "no body named 'zzz'; there are 9 of them"),
        (lambda m: m.bodies[9], "there is no body 9: this model has 9, numbered from 0"),
        (lambda m: m.joints[-1], "there is no joint -1"),
        (lambda m: m.body_index("plannar"), "no body named 'plannar'; did you mean 'planar'"),
        (lambda m: m.bodies[1.5], "a body is asked for by its name or number, not by 1.5"),
        (lambda m: m.joints[None], "a joint is asked for by its name or number, not by None"),
    ],
)
def test_unknown_parts(zoo, look_up, message):
    with pytest.raises(ModelError, match=message):
        look_up(zoo)


# --- degrees of freedom ---------------------------------------------------------------------------------------------


def test_expanded_parent_by_hand():
    """A free base with a revolute and a ball joint on it, a universal on the ball: a joint of k is a chain of k."""
    b = supple.ModelBuilder()
    b.add_body("base", None, "free", **SOLID)
    b.add_body("hinge", "base", "revolute", **SOLID)
    b.add_body("ball", "base", "ball", **SOLID)
    b.add_body("fork", "ball", "universal", axis2=(1, 0, 0), **SOLID)
    b.add_body("alone", None, "planar", **SOLID)
    model = b.build()
    assert model.expanded_parent.tolist() == [-1, 0, 1, 2, 3, 4, 5, 5, 7, 8, 9, 10, -1, 12, 13]
    assert model.dof_body.tolist() == [0] * 6 + [1] + [2] * 3 + [3] * 2 + [4] * 3


def test_expanded_parent_is_that_of_the_arrays():
    for seed in range(5):
        model = supple.trees.random_tree(30, seed, world=0.1)
        dof = [JointType(int(k)).nv for k in model.joint_type]
        np.testing.assert_array_equal(model.expanded_parent, parents.expanded(model.parent, dof))
        np.testing.assert_array_equal(model.dof_body, np.repeat(np.arange(30), dof))


# --- text -----------------------------------------------------------------------------------------------------------


def test_repr(zoo):
    assert repr(zoo) == "<Model 'zoo': 9 bodies, nq=23, nv=20, 9 kg>"
    b = supple.ModelBuilder("two")
    b.add_body("a", mass=0.25, inertia=(1, 1, 1))
    assert repr(b.build()) == "<Model 'two': 1 body, nq=1, nv=1, 0.25 kg>"
    b.add_body("b", **SOLID)
    assert repr(b.build()) == "<Model 'two': 2 bodies in 2 trees, nq=2, nv=2, 1.25 kg>"
    assert repr(zoo.frames) == "<1 frame: tool>"
    assert repr(zoo.bodies) == "<9 bodies: revolute, prismatic, screw, cylindrical, universal, planar, ...>"


def test_tree():
    b = supple.ModelBuilder("arm")
    b.add_body("base", **SOLID)
    b.add_body("left", "base", "prismatic", joint_name="slide", mass=2.5, inertia=(1, 1, 1))
    b.add_body("right", "base", "ball", **SOLID)
    b.add_body("other", **SOLID)
    model = b.build()
    assert model.tree().splitlines() == [
        "arm",
        "├ base  [base_joint: revolute]  1 kg",
        "│ ├ left  [slide: prismatic]  2.5 kg",
        "│ └ right  [right_joint: ball]  1 kg",
        "└ other  [other_joint: revolute]  1 kg",
    ]
    assert model.tree(most=2).splitlines()[-1] == "... and 2 more"


# --- positions ------------------------------------------------------------------------------------------------------


def test_neutral(zoo):
    q = zoo.neutral()
    for kind in MOVING:
        expected = {"planar": [0, 0, 1, 0], "ball": [0, 0, 0, 1], "free": [0, 0, 0, 0, 0, 0, 1]}
        assert q[zoo.joints[f"{kind} joint"].q].tolist() == expected.get(kind, [0] * SIZES[kind][0])
    np.testing.assert_array_equal(zoo.normalize(q), q)


def test_random_has_unit_parts(zoo):
    for seed in range(50):
        q = zoo.random(seed)
        np.testing.assert_allclose(zoo.normalize(q), q, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(q, zoo.random(seed))
    assert not np.array_equal(zoo.random(0), zoo.random(1))
    assert not np.array_equal(zoo.random(), zoo.random())
    rng = np.random.default_rng(0)
    assert not np.array_equal(zoo.random(rng), zoo.random(rng))


def test_random_keeps_limits():
    """Two-sided, one-sided on either side and far off, none; and as good as none: the largest float64."""
    largest = np.finfo(float).max
    limits = [(-0.1, 0.2), (5.0, np.inf), (-np.inf, -5.0), (-np.inf, np.inf), (-largest, largest), (1.0, 1.0)]
    b = supple.ModelBuilder()
    for lower, upper in limits:
        b.add_body(None, joint="revolute", lower=lower, upper=upper, **SOLID)
    b.add_body("slide", joint="cylindrical", lower=(-0.5, 2), upper=(0.5, 3), **SOLID)
    model = b.build()
    samples = np.array([model.random(seed) for seed in range(200)])
    assert ((samples >= model.lower) & (samples <= model.upper)).all()
    low, high = samples.min(axis=0), samples.max(axis=0)
    assert low[0] < -0.09 and high[0] > 0.18  # all of the range is used
    for free in (3, 4):
        assert -np.pi <= low[free] < -3 and 3 < high[free] <= np.pi
    assert (low[5], high[5]) == (1.0, 1.0)


def test_random_reaches_of_each_type(zoo):
    """Angles in ±π, displacements in ±1."""
    samples = np.array([zoo.random(seed) for seed in range(300)])
    reach = np.abs(samples).max(axis=0)
    for kind, expected in (("revolute", [np.pi]), ("continuous", [np.pi]), ("prismatic", [1]), ("screw", [np.pi]),
                           ("cylindrical", [np.pi, 1]), ("universal", [np.pi] * 2), ("planar", [1] * 4),
                           ("ball", [1] * 4), ("free", [1] * 7)):  # fmt: skip
        of = reach[zoo.joints[f"{kind} joint"].q]
        assert (of <= expected).all() and (of >= 0.9 * np.array(expected)).all(), kind


# --- copies ---------------------------------------------------------------------------------------------------------


def make_copies(model):
    return {"copy": copy.copy(model), "deepcopy": copy.deepcopy(model), "pickle": pickle.loads(pickle.dumps(model))}


@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle"])
def test_copies(how):
    """A copy works after the original, whose scratch compiled code knows by address, is gone."""
    model = every_joint()
    q, v = model.random(0), np.ones(model.nv)
    expected = supple.forward_dynamics(model, q, v)
    assert "zoo" in repr(model) and model.joints["ball joint"] and model.bodies["ball"]  # what is kept for later, too
    other = make_copies(model)[how]
    for f in dataclasses.fields(model):
        x, y = getattr(model, f.name), getattr(other, f.name)
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, y)
            assert not y.flags.writeable
    assert other._work is not model._work
    del model
    gc.collect()
    for _ in range(3):
        spoil = [np.full(k, np.nan) for k in range(1, 400)]  # where freed memory would be used again
        np.testing.assert_array_equal(supple.forward_dynamics(other, q, v), expected)
        del spoil
    assert other.frames["tool"].position.flags.writeable is False


def test_replace():
    """A model with other gravity is another model: nothing prepared for the first is used."""
    model = every_joint()
    q, zero = model.random(0), np.zeros(model.nv)
    assert np.abs(supple.bias_force(model, q)).max() > 1
    floating = dataclasses.replace(model, gravity=np.zeros(3))
    np.testing.assert_array_equal(supple.bias_force(floating, q), zero)
    assert np.abs(supple.bias_force(model, q)).max() > 1


def test_one_body_or_joint_may_be_different():
    model = supple.trees.chain(4)
    heavier = model.with_body(2, mass=3.0, inertia=(1.0, 2.0, 2.5)).with_joint(1, damping=0.5, lower=-1.0)
    assert heavier.mass[2] == 3.0 and heavier.damping[1] == 0.5 and heavier.lower[1] == -1.0
    np.testing.assert_array_equal(heavier.inertia[2], np.diag([1.0, 2.0, 2.5]))
    np.testing.assert_array_equal(np.delete(heavier.mass, 2), np.delete(model.mass, 2))
    assert model.damping[1] == 0.0
    q, v = model.random(0), np.ones(4)
    assert not np.allclose(supple.forward_dynamics(heavier, q, v), supple.forward_dynamics(model, q, v))


def test_each_number_of_a_joint_and_gravity_may_be_different():
    """One call each, by name, and it acts: in accelerations, or in a run."""
    model = supple.trees.chain(3, general=False)
    q, v = np.array([0.3, 0.2, -0.4]), np.ones(3)
    plain = supple.simulate(model, q, v, duration=0.05, forces=[supple.Limits(1e3)]).final.q
    changes = [
        model.with_gravity((0, 0, -1.62)), model.with_body("link1", mass=2.0), model.with_body(1, com=(0.1, 0.2, 0.3)),
        *(model.with_joint("link1_joint", **{name: x}) for name, x in (
            ("damping", 0.5), ("armature", 0.3), ("friction", 0.2), ("stiffness", 4.0), ("upper", 0.1),
            ("lower", 0.5))),
        model.with_joint(1, stiffness=4.0, rest=0.7),
    ]  # fmt: skip
    found = [supple.simulate(m, q, v, duration=0.05, forces=[supple.Limits(1e3)]).final.q for m in changes]
    for i, one in enumerate(found):
        assert np.abs(one - plain).max() > 1e-5, i
        assert all(np.abs(one - other).max() > 1e-7 for other in found[:i])
    np.testing.assert_array_equal(model.gravity, [0, 0, -9.81])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.with_gravity(-9.81), r"gravity must be three numbers, \(0, 0, -9.81\), not of shape \(\)"),
        (lambda m: m.with_gravity((0, 0, np.nan)), "gravity"),
        (lambda m: m.with_body(0, weight=1.0), "has no 'weight' that can be changed: there are mass, com, inertia"),
        (lambda m: m.with_body(0, mass=-1.0), "mass"),
        (lambda m: m.with_body(0, mass=(1.0, 2.0)), "has shape"),
        (lambda m: m.with_body(0, inertia=1.0), "has shape"),
        (lambda m: m.with_body("hnd", mass=1.0), "no body named 'hnd'"),
        (lambda m: m.with_joint(0, damping="x"), "damping of joint"),
        (lambda m: m.with_joint(0, damping=np.nan), "damping"),
        (lambda m: m.with_joint(0, lower=(1, 2)), "has shape"),
    ],
)
def test_what_a_body_or_joint_cannot_be(change, message):
    with pytest.raises(ModelError, match=message):
        change(supple.trees.chain(3))
