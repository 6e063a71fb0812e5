"""Every scene runs to its end as `supple run` runs it, by every method that it allows; people stay where they hang.

Scenes of ten thousands of bodies are run with few; `supple run` was tried with all of them.
"""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple import scenes
from supple.contact.ground import lowest_point
from supple.contact.room import ContactRoom
from supple.contact.settings import contacts_of
from supple.integrating.joint_law import LAW
from supple.request import Request
from supple.scenes.crowd import SPACING
from supple.scenes.skeleton import skeleton
from supple.simulating.dynamics import EXACT
from supple.simulating.run import follow
from supple.viewing import shapes
from supple.viewing.batch import with_world

FEW = {
    "millipede": {"legs": 8, "leg_links": 3, "spine": 20},
    "molecule": {"joints": 60},
    "crowd": {"rows": 1, "columns": 1},
    "falling-crowd": {"rows": 1, "columns": 1},
    "pile": {"chains": 3, "links": 4},
    "rope": {"links": 20},
    "net": {"width": 3, "height": 3},
}
LINKAGES = (
    "four-bar-chain",
    "andrews",
    "bricard",
    "flyball",
    "slider-crank",
    "net",
    "chain-drive",
)  #: test_linkages.py runs them for long
OF_TREES = ("virtual-work", "dca")
#: They begin with velocities, or have a motor that is a function.
MOVING = ("four-bar-chain", "andrews", "flyball")
WALKERS = ("compass", "simplest-walker")  #: their legs are point masses
INVERTING = ("virtual-work", "dca")  #: need the inverse of every body's inertia


def run(name: str, method: str | None = None, **asked):
    request = Request(scene=name, method=method, **({"set": FEW.get(name, {})} | asked))
    return follow(request.simulation())


@pytest.mark.parametrize("name", scenes.NAMES)
def test_scenes_run_to_their_end_with_their_defaults(name: str):
    scene = scenes.NAMES[name](**FEW.get(name, {}))
    end = min(scene.duration, 0.6) if name in LINKAGES else scene.duration
    r = run(name, every=20, duration=end)
    assert r.about["method"] == scene.method != "quasi-statics"
    assert r.times[-1] == pytest.approx(end) and r.progress_unit == "s" and "stopped" not in r.about
    moved = [np.abs(s.q - s.q[0]).max() for s in r.segments]
    assert max(moved) > 0.05


@pytest.mark.parametrize("method", [*EXACT, "adaptive", "quasi-statics"])
@pytest.mark.parametrize("name", scenes.NAMES)
def test_scenes_run_by_every_method_that_they_allow(name: str, method: str):
    """Thirty steps, of a pendulum of 30 links."""
    if name in scenes.TOUCHES and method not in ("aba", "adaptive"):
        with pytest.raises(supple.StateError, match=f"'{method}' does not support contact, which {name} has"):
            run(name, method)
        return
    if name in WALKERS and method not in EXACT:
        with pytest.raises(supple.StateError, match="takes no events"):
            run(name, method)
        return
    if name in (*WALKERS, "walker-by-contact") and method in (*INVERTING, "adaptive"):
        with pytest.raises(supple.SuppleError, match=r"body '(right|left)'.* has no inertia"):
            run(name, method)
        return
    if name in LINKAGES and method in OF_TREES:
        with pytest.raises(supple.SuppleError, match=r"is for trees, and this model has loops|at rest: leave v out"):
            run(name, method, steps=1)
        return
    if (name, method) == ("andrews", "adaptive"):
        with pytest.raises(supple.StateError, match=r"does not take <function motor"):
            run(name, method, steps=1)
        return
    if name in MOVING and method == "quasi-statics":
        with pytest.raises(supple.SuppleError, match=r"at rest: leave v out|does not take"):
            run(name, method, steps=1)
        return
    few = {"set": {"links": 30}} if name == "pendulum" else {}
    r = run(name, method, steps=30, every=10, **few)
    assert np.isfinite(r.segments[-1].q).all() and r.times[-1] == pytest.approx(30 * r.about["dt"])
    if method == "quasi-statics":
        assert r.progress_unit == r.about["progress_unit"] == "steps"
        np.testing.assert_allclose(r.progress, np.arange(0, 31, 10))
        assert "0 to 30 steps" in repr(r) and "certified error at most" in repr(r)


@pytest.mark.parametrize("name", scenes.NAMES)
def test_scenes_keep_their_ground_where_one_is_asked_for_or_say_what_else_to_run(name: str):
    scene = scenes.NAMES[name](**FEW.get(name, {}))
    assert (scene.contacts is not None) == (name in scenes.TOUCHES)
    for asked in ("ground", "contacts"):
        request = Request(scene=name, set=FEW.get(name, {}), **{asked: True})
        if name in scenes.TOUCHES and asked == "ground" and scene.contacts.ground is None:
            with pytest.raises(supple.StateError, match=f"{name} has its own ground, and takes no floor"):
                request.simulation()
        elif name in scenes.TOUCHES:
            plain = Request(scene=name, set=FEW.get(name, {})).simulation()
            assert repr(request.simulation().contacts) == repr(plain.contacts)
        else:
            instead = scenes.TOUCHING.get(name, "one that has some: falling-crowd, pile")
            with pytest.raises(supple.StateError, match=f"of {name} have no shapes .* leave --{asked} .*{instead}"):
                request.simulation()


def test_quasi_static_scenes_move_steadily():
    """A thousand steps by default: enough to see, and no jump."""
    for name in ("bicycle-chain", "pendulum", "spring-pendulum", "millipede", "molecule", "crowd", "chain-drive"):
        r = run(name, "quasi-statics")
        assert len(r) == 1001 and r.progress[-1] == 1000
        step = np.abs(np.diff(r.q, axis=0)).max()
        assert np.abs(r.q[-1] - r.q[0]).max() > 0.05 and step < 0.3, name


def test_the_pendulum_loses_what_its_dampers_take():
    """E(0) - E(t) is the integral of d v^2 over time, until its end turns back, too quickly for a sum of samples."""
    r = run("pendulum", duration=1.2)
    power = (r.model.damping * r.v**2).sum(axis=1)
    taken = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(r.times) * (power[1:] + power[:-1]))])
    falls = r.potential[0] - r.potential.min()
    np.testing.assert_allclose(r.energy[0] - r.energy, taken, atol=1e-4 * falls)
    assert falls > 40.0 and np.abs(r.q[:, 0] - r.q[0, 0]).max() > 2.0


def test_the_pendulum_s_energy_never_grows():
    r = run("pendulum", "aba", duration=3.0, every=10)
    assert r.times[-1] == 3.0
    assert (np.diff(r.energy) < 1e-2).all()


@pytest.fixture(scope="module")
def crowd() -> tuple[scenes.Scene, supple.Result]:
    scene = scenes.crowd(3, 3)
    how = dict(scene.adaptive) | {"dt": scene.dt, "duration": scene.duration, "every": 50, "method": scene.method}
    return scene, supple.simulate(scene.model, scene.q0, forces=scene.all_forces(), **how)


def places(scene: scenes.Scene, q) -> np.ndarray:
    """(people, bodies, 2, 3) both ends of all bodies."""
    R, x = supple.poses(scene.model, q)
    ends = np.einsum("nij,nkj->nki", R, scene.rods) + x[:, None]
    return ends.reshape(-1, len(skeleton().names), 2, 3)


def test_everybody_in_the_crowd_stays_in_the_picture(crowd):
    """... within arm's reach of where they stand, upright, for the whole of the default duration."""
    scene, r = crowd
    home = places(scene, scene.q0)[:, 0, 0]
    head = skeleton().names.index("head")
    for state in r:
        x = places(scene, state.q)
        assert (np.abs(x - home[:, None, None]) < 2.0).all()
        assert (np.linalg.norm(x[:, 0, 0] - home, axis=1) < SPACING / 2).all()
        assert (x[..., 2] > -0.5).all() and (x[:, head, 1, 2] > 1.2).all()


def test_nobody_in_the_crowd_is_frozen(crowd):
    """In every second everybody's pelvis and hands move, though only a twentieth of the joints may."""
    scene, r = crowd
    hands = [i for i, name in enumerate(skeleton().names) if name.endswith("palm")]
    seconds = [[places(scene, s.q) for s in r if k <= s.time <= k + 1] for k in range(int(scene.duration))]
    for frames in map(np.array, seconds):
        pelvis = np.ptp(frames[:, :, 0, 0], axis=0).max(axis=1)
        hand = np.ptp(frames[:, :, hands, 1], axis=0).max(axis=(1, 2))
        assert (pelvis > 2e-3).all() and (hand > 5e-3).all()


def test_free_roots_are_always_active_and_do_not_count(crowd):
    scene, r = crowd
    roots, budget = np.flatnonzero(scene.model.parent < 0), scene.adaptive["active"]
    for s in r.segments:
        for i in range(len(s)):
            active = s.active_joints(i)
            assert np.isin(roots, active).all() and len(active) <= budget + len(roots)
    assert max(r.active_counts) == budget + len(roots)
    ad = scene.adaptive_dynamics(0)
    ad.run(0.01, 1e-3)
    assert ad.active == 0 and ad.active_joints.tolist() == roots.tolist()
    ad.pin(int(roots[0]), False)
    assert ad.active_joints.tolist() == roots[1:].tolist()
    ad.pin(int(roots[0]), None)
    ad.run(0.01, 1e-3)
    assert ad.active_joints.tolist() == roots.tolist()
    assert scene.adaptive_dynamics([5]).active_joints.tolist() == [5]  # a list is all that moves


def test_a_shorter_last_step_is_a_step():
    """Quasi-statics over 10.4 steps: eleven, wherever they are counted; and a picture of no joints says nothing."""
    r = supple.simulate(supple.trees.chain(3), [0.1, 0.2, 0.3], duration=0.0104, dt=1e-3, method="quasi-statics")
    np.testing.assert_array_equal(r.progress, np.arange(12))
    assert r.span == "0 to 11 steps" and "11 steps" in repr(r)
    pytest.importorskip("pandas")
    assert r.to_frame("pandas")["step"].tolist() == list(range(12))
    pytest.importorskip("matplotlib")
    r.plot(joints=[])  # warnings are errors in tests


@pytest.mark.parametrize("seed", range(3))
def test_nobody_of_the_falling_crowd_begins_inside_himself_or_the_floor(seed: int) -> None:
    scene = scenes.falling_crowd(8, 10, seed)
    contacts = contacts_of(scene.contacts, scene.model, scene.q0)
    assert contacts is not None and not ContactRoom(scene.model, np.zeros((0, LAW)), contacts).overlaps(scene.q0)


@pytest.mark.parametrize("seed", range(3))
def test_no_chain_of_a_pile_begins_inside_another(seed: int) -> None:
    scene = scenes.pile(seed=seed)
    contacts = contacts_of(scene.contacts, scene.model, scene.q0)
    assert contacts is not None and not ContactRoom(scene.model, np.zeros((0, LAW)), contacts).overlaps(scene.q0)


def test_a_robot_is_drawn_by_the_shapes_on_which_it_stands():
    """Feet are boxes, and nothing is drawn as a rod; its round limbs have as many sides as cylinders."""
    pytest.importorskip("trimesh")
    run = Request(scene="standing-robot").simulation()
    assert run.rods is None
    made, _ = shapes.batches(run.model, supple.poses(run.model, run.cursor.q), run.rods)
    foot = run.model.body_index("left ankle roll")
    (sole,) = [b for b in made if foot in b.body]
    assert sole.kind == "solid" and len(sole.vertices) == 8
    limbs = [b for b in made if run.model.body_index("left knee") in b.body]
    assert len(limbs) == 1 and len(np.unique(np.round(np.arctan2(*limbs[0].vertices.T[:2]), 6))) >= 24
    assert not [b for b in made if b.kind == "rod"]


def test_people_are_drawn_as_wide_as_they_touch():
    """By their contact shapes, although their scene says rods; limbs that are as slender share a mesh. Bodies without
    shapes are rods, and so is the leg of which only a foot touches."""
    pytest.importorskip("trimesh")
    scene = scenes.falling_crowd(2, 2)
    model, pose = scene.model, supple.poses(scene.model, scene.q0)
    made, _ = shapes.batches(model, pose, scene.rods)
    limbs = [b for b in made if b.kind == "capsule"]
    assert len(limbs) <= 12 < sum(map(len, limbs)) and max(map(len, limbs)) >= 4
    corners = np.concatenate([b.corners(*with_world(pose)) for b in made if b.kind in ("capsule", "solid")])
    assert corners[:, 2].min() == pytest.approx(lowest_point(model, scene.q0), abs=2e-3)
    for shape in (s for s in model.shape_list if s.kind == "capsule"):
        (k,) = [(b, i) for b in limbs for i in np.flatnonzero(b.body == shape.body)]
        np.testing.assert_allclose(k[0].scale[k[1]], (2 * shape.size[0], 2 * shape.size[0], shape.size[1]))
    shaped = {s.body for s in model.shape_list}
    assert {int(i) for b in made if b.kind in ("rod", "ball") for i in b.body} == {*range(model.n_bodies)} - shaped
    b = supple.ModelBuilder("leg")
    b.add_body("leg", joint="free", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.1))
    b.add_shape("leg", "sphere", 0.05, (0.0, 0.0, -1.0))
    leg = b.build()
    foot, rod = shapes.batches(leg, supple.poses(leg, leg.neutral()), np.array([[(0.0, 0.0, 0.0), (0.0, 0.0, -1.0)]]))[
        0
    ]
    assert (foot.kind, rod.kind, rod.scale[0, 2]) == ("solid", "rod", 1.0)
