"""Who sleeps in a run, as results and recordings say it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import scenes
from supple.simulating.sleeping import bodies_of, said

PILE = scenes.pile(3, 4)
HOW: dict[str, Any] = dict(method="adaptive", contacts=PILE.contacts, dt=PILE.dt)


def test_results_and_recordings_say_who_sleeps(tmp_path: Path) -> None:
    """The same as the method itself, at every state, while one after the other falls asleep."""
    how: Any = dict(active=8, duration=6.0, every=25, **HOW)
    ad = supple.AdaptiveDynamics(PILE.model, PILE.q0, active=8, contacts=PILE.contacts)
    run = supple.simulate(PILE.model, PILE.q0, record=tmp_path / "run.h5", **how)
    kept = supple.simulate(PILE.model, PILE.q0, **how)
    counts = set()
    for in_file, in_memory in zip(run, kept):
        while ad.time < in_file.time - 0.5 * PILE.dt:
            ad.step(PILE.dt)
        assert in_file.sleeping is not None and in_memory.sleeping is not None
        assert in_file.sleeping.tolist() == in_memory.sleeping.tolist() == ad.sleeping.tolist()
        counts.add(len(ad.sleeping))
    assert {0, 1, 2} <= counts, counts


@pytest.mark.parametrize(
    "how",
    [
        {"method": "aba", "contacts": PILE.contacts},
        {"method": "adaptive", "active": 6},
        {"method": "adaptive", "contacts": PILE.contacts, "active": ["chain 0 1_joint"]},
        {"method": "adaptive", "contacts": PILE.contacts, "active": ["chain 0 1_joint", "chain 0 0_joint"]},
    ],
    ids=["exact", "without contacts", "a list without roots", "a list"],
)
def test_nobody_is_said_to_sleep_where_nobody_can(how: dict[str, Any], tmp_path: Path) -> None:
    supple.simulate(PILE.model, PILE.q0, duration=0.01, dt=PILE.dt, record=tmp_path / "run.h5", **how).close()
    assert [state.sleeping for state in supple.load_run(tmp_path / "run.h5")] == [None] * 6


def test_what_is_fixed_to_the_world_never_sleeps() -> None:
    b = supple.ModelBuilder("lever")
    b.add_body("lever", axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))
    b.add_shape("lever", "sphere", (0.05,), (0.4, 0, 0))
    run = supple.simulate(b.build(), method="adaptive", active=1, contacts=supple.Contacts(ground=-0.2), duration=1.0)
    assert len(run.contacts(-1)) == 1 and run.final.sleeping is None


def test_a_tree_sleeps_with_all_of_its_bodies() -> None:
    model = PILE.model
    mine = bodies_of(model, np.array([4]))
    assert np.flatnonzero(mine).tolist() == [4, 5, 6, 7]
    assert not bodies_of(model, np.zeros(0, dtype=np.int64)).any()
    assert bodies_of(model, np.array([0, 4, 8])).all()
    assert [said(model, np.array(roots, dtype=np.int64)) for roots in ([], [4], [0, 4, 8])] == [
        "0 of 3 trees", "1 of 3 trees", "everything",
    ]  # fmt: skip
