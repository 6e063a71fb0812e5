"""Generated models and their parent arrays, and ModelBuilder.add_bodies, which makes them."""

from __future__ import annotations

import dataclasses
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

from supple.errors import ModelError
from supple.model import parents, trees
from supple.model.builder import ModelBuilder
from supple.model.joints import JOINT_NAMES, JointType
from supple.model.model import Model
from supple.model.topology import depth_first, depths, n_children


def same(a: Model, b: Model) -> None:
    """Every array and name of two models."""
    for f in dataclasses.fields(Model):
        x, y = getattr(a, f.name), getattr(b, f.name)
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, y, err_msg=f.name)
        elif f.name in ("body_names", "joint_names"):
            assert x == y


# --- parent arrays ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_branching_by_one_is_a_chain(n: int) -> None:
    np.testing.assert_array_equal(parents.branching(n, 1), parents.chain(n))


def test_branching_is_what_it_says() -> None:
    for factor in (1.0, 1.3, 1.5, 2, 2.7, 5):
        i = np.arange(60)
        np.testing.assert_array_equal(parents.branching(60, factor), np.floor((i - 1) / factor))
    np.testing.assert_array_equal(parents.branching(7, 2) + 1, [0, 1, 1, 2, 2, 3, 3])  # SF Tree 1


@pytest.mark.parametrize(("length", "per_node"), [(1, 1), (2, 1), (1, 2), (3, 2), (0, 1), (1, 0)])
def test_side_branches(length: int, per_node: int) -> None:
    m = 5
    parent = parents.side_branches(m, length, per_node)
    assert len(parent) == m * (1 + length * per_node)
    main = np.arange(m) * (1 + length * per_node)
    np.testing.assert_array_equal(parent[main], [-1, *main[:-1]])
    has_side = length * per_node > 0
    children = n_children(parent)[1:][main]
    np.testing.assert_array_equal(children, [1 + (per_node if has_side else 0)] * 4 + [per_node if has_side else 0])
    assert depths(parent).max() == m + (length if has_side else 0)


@pytest.mark.parametrize("levels", [1, 2, 3, 6])
def test_balanced_binary(levels: int) -> None:
    d = depths(parents.balanced_binary(levels))
    np.testing.assert_array_equal(np.bincount(d)[1:], 2 ** np.arange(levels))


@pytest.mark.parametrize("m", [1, 2, 5, 9])
def test_spanning_grid_takes_shortest_paths(m: int) -> None:
    i, j = np.divmod(np.arange(m * m), m)
    parent = parents.spanning_grid(m)
    np.testing.assert_array_equal(depths(parent), 1 + i + j)
    steps = np.abs(i[1:] - i[parent[1:]]) + np.abs(j[1:] - j[parent[1:]])
    assert (steps == 1).all()  # every joint joins neighbours on the grid


@pytest.mark.parametrize(
    "parent", [parents.chain(9), parents.side_branches(4, 2, 3), parents.spanning_grid(5), parents.humanoid()]
)
def test_numbered_depth_first_where_said(parent: np.ndarray) -> None:
    np.testing.assert_array_equal(depth_first(parent), np.arange(len(parent)))


def test_random_parents_come_first_and_chances_hold() -> None:
    parent = parents.random(20_000, 3, along=0.3, world=0.2)
    assert (parent < np.arange(20_000)).all() and parent.min() == -1
    assert abs((parent < 0).mean() - 0.2) < 0.02
    assert abs((parent == np.arange(-1, 19_999)).mean() - 0.24) < 0.02
    assert (parents.random(100, 1) == parents.random(100, 1)).all()
    assert (parents.random(100, 1, along=1.0) == parents.chain(100)).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: parents.chain(0),
        lambda: parents.chain(2.5),  # type: ignore[arg-type]
        lambda: parents.branching(3, 0.5),
        lambda: parents.branching(3, float("nan")),
        lambda: parents.side_branches(0),
        lambda: parents.side_branches(2, -1),
        lambda: parents.expanded([-1, 0], [1, 0]),
        lambda: parents.expanded([-1, 0], [1]),
        lambda: trees.from_parents([0]),
        lambda: trees.from_parents([[-1]]),
        lambda: trees.from_parents([-1, 2, 0]),
    ],
)
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(ModelError):
        wrong()


# --- models -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("general", [True, False])
@pytest.mark.parametrize(
    ("make", "parent"),
    [
        (lambda **o: trees.chain(6, **o), parents.chain(6)),
        (lambda **o: trees.branching(20, 2.5, **o), parents.branching(20, 2.5)),
        (lambda **o: trees.side_branches(4, 2, 2, **o), parents.side_branches(4, 2, 2)),
        (lambda **o: trees.side_branches(3, 0, **o), parents.chain(3)),
        (lambda **o: trees.balanced_binary(4, **o), parents.balanced_binary(4)),
        (lambda **o: trees.spanning_grid(4, **o), parents.spanning_grid(4)),
        (lambda **o: trees.spanning_grid(1, **o), parents.spanning_grid(1)),
        (lambda **o: trees.from_parents([-1, 0, -1, 1], **o), np.array([-1, 0, -1, 1])),
    ],
)
def test_models_have_the_shape_of_their_parent_arrays(make, parent: np.ndarray, general: bool) -> None:
    model = make(general=general)
    order = depth_first(parent)  # the model's numbering
    number = np.empty(len(order) + 1, dtype=int)
    number[order], number[-1] = np.arange(len(order)), -1
    np.testing.assert_array_equal(model.parent, number[parent[order]])
    assert list(model.body_names) == [f"link{i}" for i in order]


def test_rods_hang_straight_down_and_siblings_apart() -> None:
    model = trees.chain(4, general=False, link_length=0.5, link_mass=2.0)
    np.testing.assert_array_equal(model.position, [[0, 0, 0]] + [[0, 0, -0.5]] * 3)
    np.testing.assert_array_equal(model.rotation, np.broadcast_to(np.eye(3), (4, 3, 3)))
    assert model.total_mass == 8.0
    binary = trees.balanced_binary(3, general=False)
    directions = {tuple(np.round(R @ [0, 0, -1], 9)) for R in binary.rotation[1:]}
    assert directions == {(0.5, 0.0, -0.866025404), (-0.5, 0.0, -0.866025404)}  # 30 degrees to either side


def test_general_geometry_is_general_and_repeatable() -> None:
    a, b, c = trees.chain(30), trees.chain(30), trees.chain(30, seed=1)
    same(a, b)
    assert not np.array_equal(a.rotation, c.rotation)
    assert np.abs(a.rotation).min() > 1e-4 and np.abs(a.inertia).min() > 1e-9 and np.abs(a.axis).min() > 1e-4
    np.testing.assert_allclose(np.linalg.norm(a.position[1:], axis=1), 1.0)


def test_taper_scales_length_and_mass() -> None:
    model = trees.chain(5, general=False, taper=0.5)
    np.testing.assert_allclose(model.position[1:, 2], [-1, -0.5, -0.25, -0.125])
    np.testing.assert_allclose(model.mass, 0.125 ** np.arange(5))


@pytest.mark.parametrize("joint", [j for j in JOINT_NAMES if j != "fixed"])
def test_any_joint_type(joint) -> None:
    for general in (True, False):
        model = trees.side_branches(3, joint=joint, general=general)
        assert set(model.joint_type) == {JointType[joint.upper()]}
    mixed = trees.chain(3, joint=["revolute", "ball", joint])
    assert mixed.joints["link2_joint"].type == joint
    floating = trees.chain(3, base="free", joint=joint)
    assert floating.joint_type[0] == JointType.FREE and (floating.joint_type[1:] == JointType[joint.upper()]).all()


def test_humanoid_and_its_chain() -> None:
    for general in (True, False):
        model, chain = trees.humanoid(general), trees.humanoid_chain(general)
        for m in (model, chain):
            assert (m.n_bodies, m.nv, m.nq) == (25, 30, 31)
            assert m.joint_type[0] == JointType.FREE and (m.joint_type[1:] == JointType.REVOLUTE).all()
        np.testing.assert_array_equal(np.flatnonzero(model.parent == 0), [1, 7, 13, 19])
        np.testing.assert_array_equal(chain.parent, np.arange(-1, 24))
    assert model.bodies["left_leg6"].index == 18
    np.testing.assert_array_equal(model.position[[1, 7]], [[0, 0.2, 0], [0, -0.2, 0]])


def test_random_tree_draws_joints() -> None:
    model = trees.random_tree(300, 5, world=0.1)
    assert set(model.joint_type) == {JointType[j.upper()] for j in trees.ALL_JOINTS}
    assert (model.parent < 0).sum() > 10
    same(model, trees.random_tree(300, 5, world=0.1))
    only = trees.random_tree(50, 5, ("ball", "prismatic"), general=False)
    assert set(only.joint_type) == {JointType.BALL, JointType.PRISMATIC}


def test_gravity_and_name() -> None:
    model = trees.chain(2, gravity=(0, 0, -1.62), name="on the moon")
    assert model.name == "on the moon" and model.gravity[2] == -1.62


def test_builds_in_linear_time() -> None:
    """... and memory: sixteen times the bodies take about sixteen times the lines of Python and the bytes at most;
    quadratic growth would be 256 times."""

    def lines(n: int) -> int:
        count = 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal count
            count += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            trees.branching(n, 1.5)
        finally:
            sys.settrace(before)
        return count

    def peak(n: int) -> int:
        tracemalloc.start()
        try:
            trees.branching(n, 1.5)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert lines(32_000) < 16 * 1.5 * lines(2_000)
    assert peak(32_000) < 16 * 1.5 * peak(2_000)


# --- add_bodies ---------------------------------------------------------------------------------------------


def test_add_bodies_is_add_body_many_times() -> None:
    rng = np.random.default_rng(0)
    n = 40
    parent = parents.random(n, rng, world=0.1)
    joint = [str(rng.choice(JOINT_NAMES)) for _ in range(n)]
    axis = rng.standard_normal((n, 3))
    corners = rng.standard_normal((n, 6, 3))
    columns = dict(
        axis=axis,
        axis2=np.cross(axis, rng.standard_normal((n, 3))),
        pitch=rng.uniform(-1, 1, n),
        position=rng.standard_normal((n, 3)),
        rotation=trees.chain(n).rotation,
        mass=rng.uniform(0.5, 2, n),
        com=rng.standard_normal((n, 3)),
        inertia=np.sum(corners**2, axis=(1, 2))[:, None, None] * np.eye(3)
        - np.einsum("nki,nkj->nij", corners, corners),
        lower=rng.uniform(-2, -1, n),
        upper=rng.uniform(1, 2, n),
        velocity_limit=rng.uniform(1, 2, n),
        effort_limit=rng.uniform(1, 2, n),
        damping=rng.uniform(0, 1, n),
        armature=rng.uniform(0, 1, n),
        friction=rng.uniform(0, 1, n),
    )
    one, many, both = ModelBuilder(), ModelBuilder(), ModelBuilder()
    for i in range(n):
        assert one.add_body(None, int(parent[i]), joint[i], **{k: x[i] for k, x in columns.items()}) == i
    assert many.add_bodies(parent, joint, **columns) == range(n)
    for i in range(10):
        both.add_body(None, int(parent[i]), joint[i], **{k: x[i] for k, x in columns.items()})
    part = {k: x[10:30] for k, x in columns.items()}
    assert both.add_bodies(parent[10:30], joint[10:30], **part) == range(10, 30)
    for i in range(30, n):
        both.add_body(None, int(parent[i]), joint[i], **{k: x[i] for k, x in columns.items()})
    assert len(both) == len(many) == len(one) == n
    same(one.build(), many.build())
    same(one.build(), both.build())
    same(many.build(), many.build())  # a builder may build twice


def test_add_bodies_one_value_for_all_and_names() -> None:
    b = ModelBuilder()
    b.add_body("base", joint="free", mass=1, inertia=(1, 1, 1), lower=[-1] * 7, upper=[1] * 7)
    quaternion = (0.5, 0.5, 0.5, 0.5)
    b.add_bodies([0, 1, 1], "ball", names=["x", "y", "z"], rotation=quaternion, mass=2, inertia=np.eye(3))
    model = b.build()
    assert list(model.body_names) == ["base", "x", "y", "z"] and list(model.joint_names)[1] == "x_joint"
    np.testing.assert_array_equal(model.parent, [-1, 0, 1, 1])
    np.testing.assert_allclose(model.rotation[2], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)
    np.testing.assert_array_equal(model.mass, [1, 2, 2, 2])
    assert model.lower[0] == -1 and model.lower[7] == -np.inf


def test_add_bodies_copies_what_it_is_given() -> None:
    mass, parent = np.ones(3), np.arange(-1, 2)
    b = ModelBuilder()
    b.add_bodies(parent, mass=mass, com=(0, 1, 0))
    mass[:], parent[:] = 0, -1
    model = b.build()
    assert model.total_mass == 3 and model.parent[2] == 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (dict(mass=[1, 1, np.nan]), "body 'body2': mass is nan"),
        (dict(mass=[1, -1, 1]), "body 'body1': mass is -1"),
        (dict(mass=[1, 1]), r"mass has shape \(2,\)"),
        (dict(com=np.ones((3, 2))), r"com has shape \(3, 2\)"),
        (dict(position="far"), "position must be numbers"),
        (dict(inertia=[1, 1, 1]), "inertia has shape"),
        (dict(inertia=np.diag([1, 1, 5.0])), "no real body"),
        (dict(inertia=np.triu(np.ones((3, 3)))), "not symmetric"),
        (dict(rotation=2 * np.eye(3)), "body 'body0'.*not a rotation"),
        (dict(rotation=-np.eye(3)), "not a rotation"),
        (dict(rotation=[[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 2]]), "body 'body2'.*unit length"),
        (dict(rotation=np.full((3, 3), np.nan)), "not finite"),
        (dict(axis=np.zeros(3)), "no direction"),
        (dict(names=["a", "b"]), "names has 2 entries for 3"),
        (dict(names=["a", "b", "a"]), "two bodies are called 'a'"),
        (dict(names=["a", "", "c"]), "at least one character"),
        (dict(joint=["revolute", "revolut", "ball"]), "body 'body1': no joint type named 'revolut'"),
        (dict(joint="universal"), "needs axis2"),
        (dict(damping=-1.0), "damping must be finite"),
        (dict(lower=1.0, upper=-1.0), "lower limit"),
        (dict(parent=[-1, 0, 3]), "parent of 'body2'"),
        (dict(parent=[-1, 2, 1]), "each other's parents"),
        (dict(parent=[-1.0, 0.0, 1.0]), "array of whole numbers"),
        (dict(parent=[[-1, 0, 1]]), "one-dimensional"),
    ],
)
def test_add_bodies_checks_as_add_body_does(columns: dict, message: str) -> None:
    good = dict(parent=[-1, 0, 1], mass=1.0, com=(0.0, 1.0, 0.0))
    with pytest.raises(ModelError, match=message):
        b = ModelBuilder()
        b.add_bodies(**(good | columns))
        b.build()


def test_add_bodies_of_none_adds_none() -> None:
    b = ModelBuilder()
    assert b.add_bodies(np.empty(0, dtype=int)) == range(0)
    with pytest.raises(ModelError, match="at least one body"):
        b.build()
