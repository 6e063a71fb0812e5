"""What the physics of a file loses, in a line; remarks in groups."""

from __future__ import annotations

import pytest

import supple
from supple.files.lost import PHYSICS, groups, left_out
from supple.model.report import Remark


def test_remarks_that_say_the_same_are_a_group():
    same = [Remark("mimic", f"<mimic> of joint 'j{i}': follows joint 'k' by {i}.5 in the file", i) for i in range(9)]
    other = Remark("limit", 'joint "it\'s": of no use', 3)
    three, alone = groups([*same[:3], other])
    assert three.count == 3 and three.names == ("j0", "j1", "j2")
    assert three.shown() == "3 x <mimic> of joint …: follows joint … by … in the file: j0, j1, j2"
    assert alone.shown() == str(other) == 'line 3: joint "it\'s": of no use'
    (nine,) = groups(same)
    assert nine.shown().endswith("j0, j1, j2, j3, j4, j5 and 3 more")
    assert nine.shown(everything=True).endswith("j6, j7, j8")
    assert groups([]) == []


def test_names_of_elements_are_not_taken_for_numbers():
    first, second = groups([Remark("a", "joint 'x2': 3 of 'y'"), Remark("a", "joint3 'x2': 3 of 'y'")])
    assert first.count == second.count == 1


@pytest.mark.parametrize("subject", [*PHYSICS, "camera"])
def test_a_line_says_what_changes_the_physics(subject):
    b = supple.ModelBuilder()
    b.add_body("a", mass=1.0, com=(1, 0, 0))
    b.remark(subject, "something")
    said = left_out(b.build())
    assert said == ([PHYSICS[subject]] if PHYSICS.get(subject) else [])


def test_limits_are_among_it():
    b = supple.ModelBuilder()
    b.add_body("a", mass=1.0, com=(1, 0, 0), lower=-1.0)
    assert "joint limits" in left_out(b.build())[0]
