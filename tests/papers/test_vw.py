"""VW: the reproduction of its figures, its statements on cost by exact counts, and the reference for accuracy."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import supple
from pictures import lacking
from supple.costs.matrices import Cost
from supple.errors import SuppleError
from supple.reproduce import vw, vw_figures, vw_measure, vw_methods
from supple.reproduce import vw_reference as reference
from supple.reproduce.counting import counts
from supple.reproduce.vw_measure import Times, crossing, growth

# --- operations, exactly --------------------------------------------------------------------------------------------


STARS = range(3, 8)


@pytest.fixture(scope="module")
def counted():
    """All that is counted here, by one process."""
    names = [f"{kind}:{n}" for kind, sizes in (("star", STARS), ("chain", (2, 4, 8, 12, 16))) for n in sizes]
    return counts([*names, "ball-chain:8", "ball-chain:16"], "supple.reproduce.vw_counts")


def totals(counted, method, kind="star", sizes=STARS):
    return np.array([counted[f"{kind}:{n}"][method].total() for n in sizes])


def test_without_splitting_n_joints_on_a_link_cost_n_cubed(counted):
    """VW section 4 says n²: that is what one joint more costs, not all of them."""
    cost = totals(counted, "pairs")
    assert (np.diff(cost, 3) == 6 * 216).all()  # (1 + 1/2) n³/3 products of 6x6 matrices, 216 m and a each


@pytest.mark.parametrize("method", ["split", "virtual work", "ABA", "DCA"])
def test_with_splitting_or_absorbing_they_cost_n(counted, method):
    cost = totals(counted, method)
    assert (np.diff(cost, 2) == 0).all() and (np.diff(cost) > 0).all()


def test_absorbing_costs_less_than_splitting(counted):
    assert (2 * totals(counted, "virtual work") < totals(counted, "split")).all()


def test_every_link_of_a_chain_costs_the_same(counted):
    for method, most in (("virtual work", 1500), ("ABA", 600)):
        a, b, c = totals(counted, method, "chain", (4, 8, 12))
        assert b - a == c - b
        assert (c - b) / 4 < most  # operations a joint; more would be a slip somewhere
    matrix = totals(counted, "CRBA + LTDL", "chain", (4, 8, 12))
    assert matrix[2] - matrix[1] > matrix[1] - matrix[0]


def test_divide_and_conquer_costs_a_chain_so_much_a_joint(counted):
    """A body, a joint, and a node that joins two stretches: the more nodes have two handles, the more a joint costs."""
    cost = totals(counted, "DCA", "chain", (4, 8, 12))
    each = np.diff(cost) / 4
    assert (each > 2000).all() and (each < 3500).all()  # about seven products of 6x6 matrices
    assert (each > 3 * np.diff(totals(counted, "ABA", "chain", (4, 8, 12))) / 4).all()
    # five forbidden directions, a pivot each (on the world, with its root); sines and cosines once (there, twice)
    for n in (4, 8, 12):
        dca = counted[f"chain:{n}"]["DCA"]
        assert (dca.div, dca.sqrt, dca.sincos) == (5 * n, 5, n + 1)


def test_virtual_work_depends_on_links_more_than_on_degrees_of_freedom(counted):
    ratio = {m: counted["ball-chain:8"][m].total() / counted["chain:8"][m].total() for m in ("virtual work", "ABA")}
    assert 1 < ratio["virtual work"] < 1.5 < ratio["ABA"]


def test_counting_refuses_bodies_it_does_not_know():
    with pytest.raises(SuppleError, match="no system 'snake'"):
        counts(["snake:3"], "supple.reproduce.vw_counts")


# --- times ----------------------------------------------------------------------------------------------------------


def test_growth_is_the_slope_of_the_larger_half():
    n = [1, 2, 4, 8, 16, 32]
    assert growth(n, [5.0, 5.0, 5.0, 8.0**2, 16.0**2, 32.0**2]) == pytest.approx(2.0)
    assert growth(n, [1.0, 2.0, 4.0, 8.0, np.nan, np.nan]) == pytest.approx(1.0)


def test_crossings():
    small = Times((1, 2), (3, 6), {"a": (3.0, 2.0), "b": (1.0, 2.0)})
    large = Times((3, 4, 5), (9, 12, 15), {"a": (2.0, 2.0, np.nan), "b": (3.0, 4.0, 5.0)})
    assert crossing([small, large], "a", "b") == (9, 12)
    assert crossing([small], "a", "b") == (None, 6)
    assert crossing([large], "a", "b") == (9, 12)


def test_all_methods_are_timed_on_what_they_get_right(monkeypatch):
    monkeypatch.setattr(vw_measure, "shortest", lambda call, budget, least: float(len(call())))
    found = vw_measure.times(vw_methods.star, (2, 4), list(vw_methods.METHODS), 0.1, most={"pairs": 2})
    assert found.dof == (9, 15)
    assert found.seconds["ABA"] == (9.0, 15.0)
    assert found.seconds["pairs"][0] == 9 + 6 * 3 + 1 and np.isnan(found.seconds["pairs"][1])
    assert found.seconds["split"] == (9 + 6 * 3 + 1, 15 + 6 * 7 + 1)  # 5 links and 2 pieces more
    monkeypatch.setattr(vw_measure, "AGREEMENT", 0.0)
    with pytest.raises(SuppleError, match="its time would mean nothing"):
        vw_measure.times(vw_methods.star, (4,), ["pairs"], 0.1)


# --- the reference --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", ["revolute", "ball"])
def test_the_reference_solves_the_equations_of_motion_in_extended_precision(joint):
    model = supple.trees.from_parents([-1, 0, 1, 1, 3, 0], joint=joint, seed=2)
    q, v, tau = vw_measure.state(model)
    exact = reference.forward_dynamics(model, q, v, tau)
    assert exact.accelerations.dtype == np.longdouble
    columns = np.eye(model.nv, dtype=np.longdouble)
    bias, _ = reference.inverse_dynamics(model, q, v, 0 * columns[0])
    H = np.array([reference.inverse_dynamics(model, q, v, e)[0] - bias for e in columns])
    np.testing.assert_allclose(H.astype(float), supple.mass_matrix(model, q), atol=1e-13)
    left = H @ exact.accelerations + bias - tau
    assert np.abs(left).max() < 1e-17 * (np.abs(H).sum(axis=1).max() * np.abs(exact.accelerations).max())
    ours = supple.joint_wrenches(model, q, v, tau, frame="world", method="aba")
    np.testing.assert_allclose(ours, exact.wrenches.astype(float), atol=1e-11)


def test_the_reference_knows_a_pendulum():
    builder = supple.ModelBuilder()
    builder.add_body("rod", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.125))
    rod = builder.build()
    angle = 0.75
    (a,), _ = reference.forward_dynamics(rod, np.array([angle]), np.array([3.0]), np.zeros(1))
    g = -np.longdouble(rod.gravity[2])
    assert abs(a + 2 * g * np.sin(np.longdouble(angle)) * 0.5 / 0.75) < 1e-17


def test_the_reference_refuses_joints_it_does_not_know():
    model = supple.trees.chain(2, joint="universal")
    with pytest.raises(SuppleError, match="revolute and ball joints only"):
        reference.forward_dynamics(model, model.neutral(), np.zeros(4), np.zeros(4))


def test_errors_of_virtual_work_grow_with_the_square_of_lightness():
    """Where that term outweighs the linear one, from ratios of about 10^4. Rounding is what it is: a factor of 10."""
    errors = [vw_measure.median([vw_measure.light_links(r, s) for s in range(11)]) for r in (1, 10**4, 10**6)]
    found = np.array([e["virtual work"].accelerations for e in errors])
    assert found[0] < 1e-11
    assert 1e4 / 10 < found[2] / found[1] < 1e4 * 10
    assert all(e["ABA"].accelerations < 1e-13 for e in errors)


# --- as a whole -----------------------------------------------------------------------------------------------------


def test_run_writes_tables_and_figures(tmp_path, monkeypatch, counted):
    monkeypatch.setattr(vw, "counts", lambda names, module: {name: counted[name] for name in names})
    monkeypatch.setattr(vw_measure, "shortest", lambda call, budget, least: (call(), 1e-6)[1])
    for name, sizes in (("CHAIN_6", (2, 3, 5)), ("STAR_7", (2, 3, 4)), ("LONG_CHAINS", (2, 4)), ("LARGE_STARS", (4, 8)),
                        ("COUNTED_CHAINS", (2, 4, 16)), ("COUNTED_STARS", (3, 5, 7)), ("LENGTHS", (2, 4, 8)),
                        ("RATIOS", (1, 10, 100)), ("BRANCHES", (4, 8)), ("ROBOT", 16)):  # fmt: skip
        monkeypatch.setattr(vw, name, sizes)
    screen = io.StringIO()
    vw.run(tmp_path, quick=True, console=Console(file=screen, width=130))
    figures = {p.name for p in tmp_path.glob("*.png")}
    colour = {name: look[0] for name, look in vw_figures.LOOKS.items()}
    last = [colour["CRBA + LTDL"]]  # under this clock the others are behind it
    all_sizes = [colour[name] for name in ("virtual work", "pairs", "split", "ABA", "CRBA + LTDL")]
    shown = {
        "vw-figure-6.png": last,
        "vw-figure-7.png": last,
        "vw-operations.png": all_sizes,
        "vw-accuracy.png": all_sizes,
    }
    assert figures == shown.keys() and not lacking(tmp_path, shown)
    text = (tmp_path / "vw.md").read_text(encoding="utf-8")
    for wanted in (
        *figures,
        *vw_methods.METHODS,
        "**DCA**",
        "| DCA |",
        "growth, theirs",
        "at most 2",
        "stretched chains",
    ):
        assert wanted in text
    wrong = [line for line in text.splitlines() if "✗" in line and "faster than unit vectors" not in line]
    assert len(wrong) == 1 and "without splitting" in wrong[0]  # the n² of section 4; times are made up here


def test_claims_are_judged_by_numbers():
    def cost(*totals):
        return {n: {name: Cost(m=x) for name, x in zip(("virtual work", "split", "pairs"), row)} for n, row in totals}

    held = cost((2, (2, 2, 4)), (4, (4, 4, 16)), (8, (8, 8, 64)), (16, (16, 16, 256)))
    assert [c.holds for c in vw.claims(held, held)] == [True] * 7
    broken = cost((2, (4, 4, 8)), (4, (16, 16, 64)), (8, (64, 64, 512)), (16, (256, 256, 4096)))
    assert [c.holds for c in vw.claims(broken, broken)] == [False] * 3 + [True] * 4
