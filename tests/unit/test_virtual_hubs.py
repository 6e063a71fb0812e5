"""Links with many joints: cutting them into pieces, pairs of joints, and what none of them can do."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from oracle import random_model
from supple import memory
from supple.exact.virtual_hubs import as_found, split_hubs
from supple.exact.virtual_pairs import hubs_of, scratch_of
from supple.model.joints import JointType
from supple.model.topology import n_children, subtree_ends
from supple.reproduce import vw_reference as reference

HUBS = ("absorb", "split", "pairs")


def star(branches, joint="ball", **options):
    """A link on the world with so many others on it."""
    return supple.trees.from_parents([-1] + [0] * branches, joint=joint, **options)


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.random(rng), *rng.standard_normal((2, model.nv)), rng.standard_normal((model.n_bodies, 6))


def difference(ours, theirs):
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


# --- cutting --------------------------------------------------------------------------------------------------------


def test_a_link_with_five_children_becomes_four_pieces():
    model = star(5)
    split = split_hubs(model)
    new = split.model
    #                     hub 1  2p 2  3p 3  4p 4  5
    assert new.parent.tolist() == [-1, 0, 0, 2, 2, 4, 4, 6, 6]
    assert split.bodies.tolist() == [0, 1, 3, 5, 7, 8]
    assert split.owner.tolist() == [0, 1, 0, 2, 0, 3, 0, 4, 5]
    assert split.share.tolist() == [0.25, 1, 0.25, 1, 0.25, 1, 0.25, 1, 1]
    assert new.body_names[:4] == ("link0", "link1", "link0, piece 2", "link2")
    np.testing.assert_allclose(new.mass[[0, 2, 4, 6]], model.mass[0] / 4)
    np.testing.assert_allclose(new.inertia[[0, 2, 4, 6]], [model.inertia[0] / 4] * 4)
    assert (new.joint_type[[2, 4, 6]] == JointType.FIXED).all()
    assert not new.position[[2, 4, 6]].any() and (new.rotation[[2, 4, 6]] == np.eye(3)).all()
    assert (new.com[[2, 4, 6]] == model.com[0]).all()


def test_links_with_three_joints_and_the_world_are_left_alone():
    for parent in ([-1, 0, 1, 2], [-1, 0, 0, 1, 1, 2, 2], [-1, -1, -1, -1, -1], [-1]):
        model = supple.trees.from_parents(parent)
        split = split_hubs(model)
        assert split.model.n_bodies == model.n_bodies
        np.testing.assert_array_equal(split.model.parent, model.parent)
        np.testing.assert_array_equal(split.bodies, np.arange(model.n_bodies))
        np.testing.assert_array_equal(split.model.mass, model.mass)


@pytest.mark.parametrize("seed", range(12))
def test_a_split_model_is_the_same_mechanism(seed):
    """Shallow forests with several hubs: at most three joints a link, as many pieces as the paper says, a consistent
    depth-first numbering, and the same dynamics by methods that know nothing of virtual work."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 40, chain=0.1, world=[0.0, 0.1, 0.3][seed % 3])
    split = split_hubs(model)
    new, count = split.model, n_children(model.parent)[1:]
    assert (count >= 3).any()
    assert n_children(new.parent)[1:].max() <= 2  # and the one to the parent
    assert new.n_bodies - model.n_bodies == np.maximum(count + 1 - 3, 0).sum()
    assert new.n_bodies <= 2 * model.n_bodies
    assert (new.parent < np.arange(new.n_bodies)).all()
    np.testing.assert_array_equal(new.subtree_end, subtree_ends(new.parent))
    np.testing.assert_allclose(new.total_mass, model.total_mass)
    q, v, tau, wrenches = state(model, seed)
    shares = wrenches[split.owner] * split.share[:, None]
    for method in ("aba", "crba"):
        ours = supple.forward_dynamics(new, q, v, tau, shares, method)
        assert difference(ours, supple.forward_dynamics(model, q, v, tau, wrenches, method)) < 1e-11
    at = supple.poses(new, q).position[split.bodies]
    assert difference(at, supple.poses(model, q).position) < 1e-13
    forces = supple.inverse_dynamics(new, q, v, tau, shares)
    assert difference(forces, supple.inverse_dynamics(model, q, v, tau, wrenches)) < 1e-12


# --- pairs ----------------------------------------------------------------------------------------------------------


def test_joints_on_links():
    hubs = hubs_of(supple.trees.from_parents([-1, 0, 1, 1, 0, 0, -1]))
    assert hubs["start"].tolist() == [0, 3, 5, 5, 5, 5, 5, 5]  # where the joints on each link begin ...
    assert hubs["child"][:5].tolist() == [1, 4, 5, 2, 3]  # ... among these
    assert hubs["first"].tolist() == [0, 6, 9, 9, 9, 9, 9, 9]  # pairs before those of each link
    assert hubs["place"][:7].tolist() == [0, 0, 0, 1, 1, 2, 0]


#: Relative to the largest. Pieces of a hub are lighter than what they carry, by as much as there are of them, which
#: costs as many digits; pairs of joints on one link lose as many again, since what the link does alone comes in twice.
#: Nine of them are promised: where they are gone, joints are closed in 32 digits.
LIMITS = {"absorb": 1e-12, "pairs": 2e-9, "split": 2e-9}


@pytest.mark.parametrize("branches", [4, 16, 64])
@pytest.mark.parametrize("joint", ["ball", "revolute", "free"])
def test_hubs(branches, joint):
    model = star(branches, joint, seed=branches)
    q, v, tau, wrenches = state(model, branches)
    a = supple.forward_dynamics(model, q, v, tau, wrenches)
    carried = supple.joint_wrenches(model, q, v, None, wrenches, "world", a=a)
    for hubs, limit in LIMITS.items():
        ours = supple.virtual_work(model, q, v, tau, wrenches, hubs)
        assert difference(ours.accelerations, a) < limit
        assert difference(ours.wrenches, carried) < limit


def test_a_hub_of_hubs_on_a_floating_base():
    parent = np.array([-1, *[0] * 6, *np.repeat(np.arange(1, 7), 6)])
    model = supple.trees.from_parents(parent, joint="universal", base="free", seed=3)
    q, v, tau, wrenches = state(model)
    a = supple.forward_dynamics(model, q, v, tau, wrenches)
    for hubs in HUBS:
        assert difference(supple.virtual_work(model, q, v, tau, wrenches, hubs).accelerations, a) < 1e-9


def test_a_star_of_a_thousand_branches():
    """Whole, and cut into 999 pieces, each a thousandth of what it carries in mass and less in inertia: that is six
    digits, and they are noticed. Scratch grows with the links, that of pairs with their square."""
    model = star(1000, "revolute")
    q, v, tau, _ = state(model)
    a = supple.forward_dynamics(model, q, v, tau)
    assert difference(supple.virtual_work(model, q, v, tau).accelerations, a) < 1e-12
    assert 1e-9 < difference(as_found(model, [q, v, tau, None], "split")[: model.nv], a) < 1e-5
    assert difference(supple.virtual_work(model, q, v, tau, hubs="split").accelerations, a) < 2e-9
    split = split_hubs(model).model
    assert split.n_bodies == 1001 + 998
    assert scratch_of(split) < 36 * 2 * split.n_bodies < 36 * 1000 * 500 < scratch_of(model)


def test_a_chain_of_ten_thousand():
    """Wrenches are compared with those of extended precision: handing forces down ten thousand links, as inverse
    dynamics does, loses more digits than virtual work."""
    model = supple.trees.chain(10_000)
    q, v, tau, _ = state(model)
    a, exact = supple.forward_dynamics(model, q, v, tau), reference.forward_dynamics(model, q, v, tau)
    for hubs in HUBS:
        ours = supple.virtual_work(model, q, v, tau, hubs=hubs)
        assert difference(ours.accelerations, a) < 1e-10
        assert difference(ours.wrenches, exact.wrenches) < 1e-9
    handed_down = supple.joint_wrenches(model, q, v, tau, frame="world", method="aba")
    assert 1e-9 < difference(handed_down, exact.wrenches) < 1e-6


def test_pairs_that_would_not_fit_are_refused_in_words(monkeypatch):
    model = star(300)
    monkeypatch.setattr(memory, "physical_memory", lambda: 10_000_000)
    q, v, *_ = state(model)
    with pytest.raises(supple.ModelError, match=r"a matrix for every pair .* up to 300\) would take .* hubs='absorb'"):
        supple.virtual_work(model, q, v, hubs="pairs")
    supple.virtual_work(model, q, v, hubs="split")


def test_batches_whose_scratch_would_not_fit_are_refused_in_words(monkeypatch):
    model = star(20)
    q, v, *_ = state(model)
    supple.virtual_work(model, q, v, hubs="pairs")
    monkeypatch.setattr(memory, "physical_memory", lambda: 200_000)
    with pytest.raises(supple.ModelError, match="one state at a time"):
        supple.virtual_work(model, [q, q], v, hubs="pairs")


# --- what has no answer -----------------------------------------------------------------------------------------------


def two_links(masses, inertias, joint="ball"):
    builder, parent = supple.ModelBuilder(), None
    for i, (m, I) in enumerate(zip(masses, inertias)):
        parent = builder.add_body(f"body{i}", parent, joint, axis=(0, 1, 0), position=(0, 0, -1), mass=m,
                                  com=(0.1, 0, -0.5), inertia=(I, I, I), joint_name=f"joint{i}")  # fmt: skip
    return builder.build(singular="report")


@pytest.mark.parametrize("hubs", HUBS)
@pytest.mark.parametrize("joint", ["ball", "revolute"])
@pytest.mark.parametrize(
    ("masses", "inertias"),
    [((1, 1), (0.1, 1e-200)), ((1, 1), (1e-200, 0.1)), ((1, 1e-320), (0.1, 0.1)), ((1e-20, 1), (1e-20, 0.1)),
     ((1, 1, 1), (1, 1e-200, 1)), ((1e30, 1, 1e30), (1e30, 1, 1e30))],
)  # fmt: skip
def test_degenerate_constraints_are_named(hubs, joint, masses, inertias):
    """Bodies so different that nothing is left of a joint's mobility: a name, not NaN."""
    model = two_links(masses, inertias, joint)
    q, v, tau, _ = state(model)
    named = r"(cannot close|is singular:) joint 'joint\d' .*body 'body\d'"  # the second where ABA has no answer either
    with pytest.raises(supple.SingularError, match=named):
        supple.virtual_work(model, q, v, tau, hubs=hubs)
    with pytest.raises(supple.SingularError, match="state 0 of the batch: .*" + named):
        supple.virtual_work(model, [q, q], v, tau, hubs=hubs)


@pytest.mark.parametrize("hubs", HUBS)
def test_bodies_without_inertia_are_named(hubs):
    model = two_links((1, 0), (0.1, 0.0))
    with pytest.raises(supple.SingularError, match=r"body 'body1' has no mass.*method='aba'"):
        supple.virtual_work(model, model.neutral(), np.zeros(model.nv), hubs=hubs)
    model = two_links((1, 1), (0.1, 0.0))
    with pytest.raises(supple.SingularError, match=r"body 'body1' has no inertia about some axis"):
        supple.joint_wrenches(model, model.neutral(), method="virtual-work")
    assert np.isfinite(supple.joint_wrenches(model, model.neutral())).all()


def test_numbers_too_large_are_no_fault_of_the_body():
    model = star(5)
    q, v, *_ = state(model)
    with pytest.raises(supple.StateError, match="too large for float64"):
        supple.virtual_work(model, q, 1e200 * v)
