"""A few of the random scenes of tests/random_scenes.py, judged at every step."""

from __future__ import annotations

import numpy as np
import pytest

from supple import Contacts
from tests.law_of_contact import Judge, Verdict
from tests.random_scenes import judge_scene, scene, stack


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_the_law_of_contact_holds_at_every_step_of_random_scenes(seed: int) -> None:
    """Impulses push, friction is in its cone and against the slip, nothing overlaps or passes its limit, and energy
    does not rise, as docs/algorithms/contact.md has it."""
    verdict = Verdict()
    for number in range(5):
        judge_scene(seed, number, verdict, duration=0.4)
    assert not verdict.refused and verdict.steps > 300
    assert verdict.pull == 0.0 and verdict.cone < 1e-14
    assert verdict.fault < 1e-5 and verdict.differ < 1e-11
    assert max(verdict.overlap) < 1e-3 and max(verdict.beyond) < 5e-4 and verdict.unseen < 1e-4
    assert max(verdict.rise) < 1e-3


def test_light_links_between_heavy_ones_gain_no_energy() -> None:
    """A link of 2 g between 65 kg and 0.1 kg turns at up to 1,000 rad/s, and needs parts of steps that are shorter than
    those that are halved because of overlap."""
    verdict = Verdict()
    judge_scene(3, 68, verdict)
    assert not verdict.refused and verdict.rough == 0
    assert max(verdict.rise) < 1e-3 and max(verdict.total) < 1e-3


def test_touches_that_close_in_the_step_after_a_blow_keep_the_law() -> None:
    """Impulses are found more than once then, and so are touches that were set aside."""
    verdict = Verdict()
    judge_scene(0, 124, verdict)
    assert not verdict.refused and verdict.fault < 1e-5 and verdict.differ < 1e-11


@pytest.mark.parametrize("friction", [1e-12, 100.0, 1e3])
def test_the_law_of_contact_holds_however_smooth_or_rough_bodies_are(friction: float) -> None:
    """Friction of 1,000 stands for bodies that never slide: cones are so flat that normal forces hardly matter beside
    friction, but shapes must not sink into each other, and a solution is found."""
    verdict = Verdict()
    for number in (6, 12, 19, 20, 22):
        model, q, v, h = scene(5, number)
        Judge(model, q, v, Contacts(friction=friction), verdict, f"scene {number}").run(0.4, h)
    assert not verdict.refused and verdict.steps > 300
    assert verdict.pull == 0.0 and verdict.cone < 1e-14
    assert verdict.fault < 1e-5 and verdict.differ < 1e-11
    assert max(verdict.overlap) < 1e-3 and max(verdict.beyond) < 5e-4 and verdict.unseen < 1e-4


def test_a_judged_stack_stands() -> None:
    assert float(stack(50).split("at most ")[1].split()[0]) < 0.1


def test_the_judge_sees_what_is_wrong() -> None:
    """Overlap, by both searches, and a rise of energy."""
    verdict = Verdict()
    judge = judge_scene(0, 1, verdict, duration=0.05)
    root = judge.model.q_index[0]
    judge.q = judge.q.copy()
    judge.q[root + 2] -= 5.0
    judge._judge_places()
    judge._look_again(judge.q, np.zeros(0, dtype=judge.room.found.dtype))
    assert judge.overlap > 1.0 and verdict.unseen > 1.0
