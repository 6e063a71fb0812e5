"""Scenes: how many bodies there are, how they hang together, that seeds give the same scene again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import supple
from supple import scenes
from supple.model.topology import depths
from supple.scenes.molecule import BOND, SIDE_BONDS, pushes

QUASI_STATIC = ("bicycle-chain", "millipede", "molecule")  #: the scenes of QS; those of AD have a file of their own


def test_scenes_need_no_import_of_their_own():
    """Like everything else in supple; in a process of its own, where nobody has imported them."""
    code = "import supple; print(supple.scenes.pendulum(3).model.n_bodies)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "3"


@pytest.mark.parametrize("name", QUASI_STATIC)
def test_a_scene_is_a_model_a_position_and_forces(name: str):
    scene = scenes.NAMES[name]()
    n = scene.model.n_bodies
    assert n == {"bicycle-chain": 30, "millipede": 13_000, "molecule": 50_000}[name]
    assert scene.q0.shape == (n,) and scene.model.nv == n and (scene.model.parent == -1).sum() == 1
    assert not scene.model.gravity.any() and scene.dt > 0 and scene.rods.shape == (n, 2, 3)
    assert len(scene.pushes) == 1 and scene.pushes.forces.shape == scene.pushes.points.shape == (1, 3)
    again = scenes.NAMES[name]()
    np.testing.assert_array_equal(again.q0, scene.q0)
    np.testing.assert_array_equal(again.model.position, scene.model.position)
    np.testing.assert_array_equal(again.pushes.forces, scene.pushes.forces)


@pytest.mark.parametrize("name", QUASI_STATIC)
def test_rods_meet(name: str):
    """Where a rod begins, another one passes or ends: what is drawn hangs together."""
    small = {"bicycle-chain": (9,), "millipede": (6, 4, 9), "molecule": (200,)}[name]
    scene = scenes.NAMES[name](*small)
    R, x = supple.poses(scene.model, scene.q0)
    ends = np.einsum("nij,nkj->nki", R, scene.rods) + x[:, None]
    for i, p in enumerate(scene.model.parent.tolist()):
        if p < 0:
            continue
        a, b = ends[p]
        length = np.linalg.norm(b - a)
        gap = min(np.linalg.norm(e - np.array([a, b]), axis=1).min() for e in ends[i])
        gap = min(gap, *(np.linalg.norm(e - 0.5 * (a + b)) for e in ends[i]))
        assert gap <= 0.2 * max(length, BOND if name == "molecule" else 0.0) + 1e-9


def test_the_chain_lies_in_a_plane():
    scene = scenes.bicycle_chain(12)
    x = supple.poses(scene.model, scene.model.random(3)).position
    assert np.abs(x[:, 1]).max() == 0.0
    np.testing.assert_allclose(np.linalg.norm(np.diff(x, axis=0), axis=1), 12.7e-3)


def test_the_millipede_has_legs_in_pairs_along_a_spine():
    model = scenes.millipede(8, 3, 20).model
    assert model.n_bodies == 20 + 8 * 3
    names = model.body_names
    hips = [names[model.parent[model.body_index(f"leg{i}_0")]] for i in range(8)]
    assert hips[0::2] == hips[1::2] and len(set(hips)) == 4 and all(h.startswith("spine") for h in hips)
    for i in range(8):
        assert [names[model.parent[model.body_index(f"leg{i}_{j}")]] for j in (1, 2)] == [f"leg{i}_0", f"leg{i}_1"]
    y = supple.poses(model, scenes.millipede(8, 3, 20).q0).position[:, 1]
    feet = np.array([y[model.body_index(f"leg{i}_2")] - y[model.body_index(hips[i])] for i in range(8)])
    assert (feet[0::2] > 0).all() and (feet[1::2] < 0).all()
    with pytest.raises(supple.StateError, match="do not fit"):
        scenes.millipede(9, 2, 4)


def test_the_molecule_is_a_backbone_with_short_side_groups():
    scene = scenes.molecule(3000, seed=5)
    model = scene.model
    children = np.bincount(model.parent[1:], minlength=3000)
    assert children.max() == 2
    depth = depths(model.parent)
    assert depth.max() > 3000 / (1 + SIDE_BONDS)
    size = model.subtree_end - np.arange(3000)
    branching = np.flatnonzero(children == 2)
    side = branching + 1  # a side group follows its atom
    assert (model.parent[side] == branching).all() and (size[side] <= SIDE_BONDS).all()


def test_bonds_are_as_long_and_as_bent_as_bonds():
    scene = scenes.molecule(500)
    parent = scene.model.parent
    x = supple.poses(scene.model, scene.q0).position
    bond = x[1:] - x[parent[1:]]
    np.testing.assert_allclose(np.linalg.norm(bond, axis=1), BOND)
    i = np.flatnonzero(parent > 0)
    cosine = np.sum(bond[i - 1] * bond[parent[i] - 1], axis=1) / BOND**2
    np.testing.assert_allclose(np.degrees(np.arccos(-cosine)), 109.5, atol=1e-9)


def test_turning_about_a_bond_keeps_its_atoms():
    scene = scenes.molecule(50)
    q = scene.q0.copy()
    q[20] += 1.0
    before, after = (supple.poses(scene.model, s).position for s in (scene.q0, q))
    np.testing.assert_allclose(after[: 20 + 1], before[: 20 + 1], atol=1e-12)


def test_seeds_and_places_of_forces():
    one, other = scenes.molecule(300, seed=1), scenes.molecule(300, seed=2)
    assert (one.q0 != other.q0).all() and not np.array_equal(one.model.parent, other.model.parent)
    patch, end, spread = (pushes(one.model, 50, where) for where in ("middle", "end", "spread"))
    assert (np.diff(patch.bodies) == 1).all() and patch.bodies[0] == 125
    assert end.bodies.tolist() == list(range(250, 300))
    assert len(set(spread.bodies)) == 50 and np.ptp(spread.bodies) > 100
    r = np.linalg.norm(patch.points, axis=1)
    np.testing.assert_allclose(0.4 * one.model.mass[patch.bodies] * r**2, one.model.inertia[patch.bodies, 0, 0])
    with pytest.raises(supple.StateError, match="middle"):
        pushes(one.model, 5, "midle")  # type: ignore[arg-type]
    with pytest.raises(supple.StateError, match="300 atoms"):
        pushes(one.model, 301)


@pytest.mark.parametrize("bad", [0, -3, 2.5])
def test_sizes_that_make_no_sense_are_refused(bad):
    for make in (scenes.bicycle_chain, scenes.molecule, scenes.millipede):
        with pytest.raises(supple.StateError, match="whole number"):
            make(bad)


@pytest.mark.parametrize("name", QUASI_STATIC)
def test_smallest(name: str):
    scene = scenes.NAMES[name](*{"millipede": (1, 1, 1)}.get(name, (1,)))
    assert np.isfinite(scene.quasi_statics().solve().total)


def test_forces_as_wrenches_are_those_of_quasi_statics():
    scene = scenes.molecule(300, forces=20)
    W = scene.pushes.wrenches(scene.model, scene.q0)
    a = supple.forward_dynamics(scene.model, scene.q0, np.zeros(300), None, W)
    np.testing.assert_allclose(scene.quasi_statics().solve(error=0.0).dense(), a, atol=1e-11 * np.abs(a).max())


@pytest.mark.parametrize(("name", "slope", "duration"), [("compass", 0.04, 1.0), ("simplest walker", 0.01, 5.0)])
def test_a_walker_is_a_scene_with_events(name, slope, duration):
    scene = scenes.NAMES[name.replace(" ", "-")](slope=slope)
    assert scene.model.name == name and scene.method == "aba" and [e.direction for e in scene.events] == [-1, -1]
    R, x = supple.poses(scene.model, scene.q0)
    ends = np.einsum("nij,nkj->nki", R, scene.rods) + x[:, None]
    np.testing.assert_allclose(ends[0, 1], ends[1, 1], atol=1e-12)  # both legs end at the hip
    np.testing.assert_allclose(ends[:, 0, 2], -np.tan(slope) * ends[:, 0, 0], atol=1e-12)  # and stand on the slope
    run = supple.simulate(scene.model, scene.q0, scene.v0, duration=duration, dt=scene.dt, events=scene.events)
    assert len(run.segments) == 2


@pytest.mark.parametrize("name", scenes.NAMES)
def test_a_scene_has_as_many_bodies_as_is_told_before(name: str):
    rng = np.random.default_rng(5)
    for _ in range(3):
        a, b, c = (int(x) for x in rng.integers(1, 7, 3))
        given = {
            "bicycle-chain": {"links": a}, "millipede": {"legs": a, "leg_links": b, "spine": 4 + c},
            "molecule": {"joints": a}, "pendulum": {"links": a}, "spring-pendulum": {"links": a},
            "crowd": {"rows": 1 + a % 2, "columns": 1 + b % 2}, "compass": {}, "simplest-walker": {},
            "four-bar-chain": {"windows": a}, "flyball": {"springs": a % 2 == 0}, "andrews": {}, "bricard": {},
            "slider-crank": {}, "net": {"width": a, "height": b}, "chain-drive": {"links": 20 + 2 * a},
            "falling-crowd": {"rows": 1 + a % 2, "columns": 1 + b % 2}, "pile": {"chains": a, "links": b},
            "rope": {"links": a}, "standing-robot": {}, "walker-by-contact": {"steps": a},
        }[name]  # fmt: skip
        assert scenes.n_bodies(name, given) == scenes.NAMES[name](**given).model.n_bodies
    usual = {"crowd": 17_800, "falling-crowd": 17_800, "millipede": 13_000, "molecule": 50_000, "compass": 2}
    assert name not in usual or scenes.n_bodies(name, {}) == usual[name]


def test_a_scene_that_is_stepped_by_hand_has_its_motors():
    """All forces that last, not only pushes and springs: without its motors, this robot collapses."""
    scene = scenes.standing_robot()
    robot = scene.adaptive_dynamics(active=11)
    robot.run(0.5, scene.dt)
    run = supple.simulate(scene.model, scene.q0, duration=0.5, dt=scene.dt, method="adaptive", active=11,
                          forces=scene.all_forces(), contacts=scene.contacts)  # fmt: skip
    np.testing.assert_array_equal(robot.q, run.q[-1])
    assert robot.q[2] > 0.7
    with pytest.raises(supple.StateError, match="does not take <Controller"):
        scene.quasi_statics()


@pytest.mark.parametrize("name", scenes.TOUCHES)
def test_shapes_have_names_by_which_they_can_be_told(name: str):
    few = {"falling-crowd": {"rows": 1, "columns": 1}, "pile": {"chains": 2, "links": 3}}.get(name, {})
    model = scenes.NAMES[name](**few).model
    assert not [x.name for x in model.shape_list if x.name.startswith("shape")]
