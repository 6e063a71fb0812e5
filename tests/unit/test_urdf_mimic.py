"""Joints of URDF files that mimic others: as relations, refused with their line, and written again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import supple
from robots import robot
from supple.errors import ParseError
from supple.files.lost import left_out
from supple.files.urdf_mimic import written
from supple.model.loops import Relation

INERTIAL = (
    '<inertial><origin xyz=".1 .2 .3"/><mass value="2"/><inertia ixx=".3" iyy=".2" izz=".4" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)


def write(folder: Path, *mimics: str, kinds: dict[str, str] | None = None) -> Path:
    """Joints 'a' to 'd' in a row, in lines 2 to 5, with these elements in them."""
    lines, up = ['<robot name="r"><link name="base"/>'], "base"
    for name, mimic in zip("abcd", [*mimics, "", "", "", ""]):
        kind = (kinds or {}).get(name, "continuous")
        axis = '<axis xyz="0 1 0"/>' if kind not in ("fixed", "floating") else ""
        ends = f'<parent link="{up}"/><child link="{name}link"/><origin xyz=".5 0 0"/>{axis}'
        lines.append(
            f'<link name="{name}link">{INERTIAL}</link><joint name="{name}" type="{kind}">{ends}{mimic}</joint>'
        )
        up = f"{name}link"
    path = folder / "robot.urdf"
    path.write_text("\n".join([*lines, "</robot>"]))
    return path


def relations(model: supple.Model) -> dict[str, tuple[dict[str, float], float]]:
    return {x.name: (dict(zip(x.joints, x.factors)), x.offset) for x in model.relation_list}


def test_a_follower_is_at_its_multiple(tmp_path: Path) -> None:
    model = supple.load(write(tmp_path, "", '<mimic joint="a" multiplier="-2.5" offset="0.3"/>'))
    assert relations(model) == {"b": ({"b": 1.0, "a": 2.5}, 0.3)} and not model.report
    q = supple.close_loops(model, model.random(1))
    assert q[1] == pytest.approx(-2.5 * q[0] + 0.3, abs=1e-12)
    assert model.mobility(q).degrees == 3


def test_numbers_that_are_not_given(tmp_path: Path) -> None:
    assert relations(supple.load(write(tmp_path, '<mimic joint="c"/>'))) == {"a": ({"a": 1.0, "c": -1.0}, 0.0)}


def test_followers_of_followers(tmp_path: Path) -> None:
    """d = 2 c, c = -b + 1, b = 3 a: whoever comes first in the file."""
    model = supple.load(
        write(tmp_path, '<mimic joint="b" multiplier="2"/>', '<mimic joint="c" multiplier="-1" offset="1"/>',
              '<mimic joint="d" multiplier="3"/>')
    )  # fmt: skip
    a, b, c, d = supple.close_loops(model, model.random(2))
    assert (a, b, c) == pytest.approx((2 * b, 1 - c, 3 * d), abs=1e-12)
    assert len(model.relation_list) == 3


@pytest.mark.parametrize("kind", ["fixed", "continuous"])
def test_what_follows_nothing_is_held(tmp_path: Path, kind: str) -> None:
    """A fixed joint is at zero, and so is any joint times zero."""
    mimic = (
        '<mimic joint="b" multiplier="0" offset="0.4"/>' if kind == "continuous" else '<mimic joint="b" offset="0.4"/>'
    )
    model = supple.load(write(tmp_path, mimic, kinds={"b": kind}))
    assert relations(model) == {"a": ({"a": 1.0}, 0.4)}
    assert supple.forward_dynamics(model, supple.close_loops(model, model.neutral()))[0] == pytest.approx(0, abs=1e-12)
    assert [r.subject for r in model.report] == ["fixed mimic"] * (kind == "fixed")
    assert left_out(model) == []


@pytest.mark.parametrize(
    ("mimics", "kinds", "line", "said"),
    [
        (['<mimic joint="a"/>'], {}, 2, "follows itself"),
        (['<mimic joint="b"/>', '<mimic joint="a"/>'], {}, 2, "'a' follows itself by way of 'b'"),
        (["", '<mimic joint="d"/>', '<mimic joint="b"/>', '<mimic joint="c"/>'], {}, 3, "follows itself by way of"),
        (['<mimic joint="b"/>'], {"a": "floating"}, 2, "floating joint has more than one coordinate"),
        (['<mimic joint="b"/>'], {"a": "planar"}, 2, "planar joint has more than one coordinate"),
        (["", '<mimic joint="a"/>'], {"a": "planar"}, 3, "cannot follow joint 'a'"),
        (["", '<mimic joint="a"/>'], {"a": "floating"}, 3, "cannot follow joint 'a'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(tmp_path: Path, mimics, kinds, line, said) -> None:
    path = write(tmp_path, *mimics, kinds=kinds)
    with pytest.raises(ParseError, match=f"robot.urdf:{line}: .*{said}.*loops=False"):
        supple.load(path)
    assert supple.load(path, loops=False).is_tree


@pytest.mark.parametrize(
    ("mimic", "said"),
    [
        ("<mimic/>", "'joint' is missing"),
        ('<mimic joint=" "/>', "'joint' is empty"),
        ('<mimic joint="b" multiplier="x"/>', "not a finite number"),
        ('<mimic joint="b" offset="nan"/>', "not a finite number"),
        ('<mimic joint="b" multiplier="1e90"/>', "too large"),
        ('<mimic joint="b"/><mimic joint="c"/>', "a second <mimic>"),
    ],
)
def test_what_is_not_well_written_is_refused(tmp_path: Path, mimic: str, said: str) -> None:
    with pytest.raises(ParseError, match=f"robot.urdf:2: .*{said}"):
        supple.load(write(tmp_path, mimic))


def test_a_leader_that_is_not_there(tmp_path: Path) -> None:
    """As some robots have it: reported, in one line, too; refused if strict."""
    path = write(tmp_path, '<mimic joint="e"/>', '<mimic joint="c"/>')
    model = supple.load(path)
    (remark,) = model.report.about("free mimic")
    assert remark.line == 2 and "'e'" in remark.message and list(relations(model)) == ["b"]
    assert left_out(model) == ["mimic joints, which move on their own"]
    with pytest.raises(ParseError, match=r"robot.urdf:2: .*no joint named 'e'"):
        supple.load(path, strict=True)


def test_without_loops_there_is_the_tree_alone(tmp_path: Path, caplog) -> None:
    path = write(tmp_path, '<mimic joint="b"/>', '<mimic joint="c"/>')
    model = supple.load(path, loops=False)
    assert model.is_tree and [r.line for r in model.report.about("free mimic")] == [2, 3]
    (line,) = caplog.messages
    assert "mimic joints, which move on their own" in line
    caplog.clear()
    assert not supple.load(path).is_tree and not caplog.messages


def test_many_followers_in_a_row_take_no_time(tmp_path: Path) -> None:
    """5000 joints, each of which follows the next: no recursion."""
    n = 5000
    path = tmp_path / "long.urdf"
    mimics = [f'<mimic joint="j{i + 1}"/>' for i in range(n - 1)] + [""]
    joints = (
        f'<link name="l{i + 1}">{INERTIAL}</link><joint name="j{i}" type="continuous"><parent link="l{i}"/>'
        f'<child link="l{i + 1}"/>{mimic}</joint>'
        for i, mimic in enumerate(mimics)
    )
    path.write_text(f'<robot name="r"><link name="l0"/>{"".join(joints)}</robot>')
    model = supple.load(path)
    assert len(model.relation_list) == n - 1
    assert len(written(model.relation_list, model.joint_names)[0]) == n - 1


# --- writing --------------------------------------------------------------------------------------


def arm(*names: str) -> supple.ModelBuilder:
    builder = supple.ModelBuilder("arm")
    for i, name in enumerate(names):
        builder.add_body(f"{name}link", i - 1 if i else None, "revolute", joint_name=name, mass=1.0, inertia=(1, 1, 1))
    return builder


def there_and_back(model: supple.Model, path: Path) -> tuple[supple.Model, list[str]]:
    report = supple.save_urdf(model, path)
    return supple.load(path), [r.message for r in report.about("relation")]


def allowed(model: supple.Model, seed: int = 0) -> np.ndarray:
    """A position of the arm in which its relations hold."""
    return supple.close_loops(model, model.random(seed))


def test_relations_of_pairs_come_back(tmp_path: Path) -> None:
    builder = arm("a", "b", "c", "d")
    builder.relate({"b": 1.0, "a": -0.1}, 0.7)
    builder.relate({"c": 2.0, "a": 3.0, "d": 0.0}, 1.0)
    model, lost = there_and_back(builder.build(), tmp_path / "arm.urdf")
    assert not lost
    assert relations(model) == {"b": ({"b": 1.0, "a": -0.1}, 0.7), "c": ({"c": 1.0, "a": 1.5}, 0.5)}


def test_robots_with_mimic_joints_come_back(tmp_path: Path) -> None:
    for name in ("panda.urdf", "talos_full_v2.urdf"):
        model = supple.load(robot(name))
        back, lost = there_and_back(model, tmp_path / "out.urdf")
        assert not lost and relations(back) == relations(model) != {}


def test_whoever_follows_two_is_followed_instead(tmp_path: Path) -> None:
    """b follows a, and b follows c: then c follows b."""
    builder = arm("a", "b", "c")
    builder.relate({"b": 1.0, "a": -2.0})
    builder.relate({"b": 1.0, "c": -4.0}, 1.0)
    built = builder.build()
    model, lost = there_and_back(built, tmp_path / "arm.urdf")
    assert not lost and set(relations(model)) in ({"b", "c"}, {"a", "b"})
    np.testing.assert_allclose(supple.close_loops(model, allowed(built)), allowed(built), atol=1e-11)


def test_a_joint_that_is_held_comes_back(tmp_path: Path) -> None:
    builder = arm("a", "b", "c")
    builder.relate({"b": 2.0}, 1.0)
    builder.relate({"b": 1.0, "a": 1.0})
    built = builder.build()
    model, lost = there_and_back(built, tmp_path / "arm.urdf")
    assert not lost
    np.testing.assert_allclose(supple.close_loops(model, model.random(3))[:2], [-0.5, 0.5], atol=1e-11)


def test_what_mimic_cannot_say_is_said(tmp_path: Path) -> None:
    builder = arm("a", "b", "c")
    builder.relate({"a": 1.0, "b": 1.0, "c": 1.0}, name="sum")
    builder.relate({"a": 1.0, "b": -1.0}, name="one")
    builder.relate({"b": 1.0, "c": -1.0}, name="two")
    builder.relate({"c": 1.0, "a": -1.0}, name="three")  # by which c would follow itself
    builder.relate({"c": 1e-70, "a": 1.0}, name="huge")
    model, (lost,) = there_and_back(builder.build(), tmp_path / "arm.urdf")
    assert all(repr(name) in lost for name in ("sum", "three", "huge")) and "'one'" not in lost
    assert len(model.relation_list) == 2 and lost in (tmp_path / "arm.urdf").read_text()


@pytest.mark.parametrize("seed", range(30))
def test_random_relations_come_back_or_are_said(tmp_path: Path, seed: int) -> None:
    """What is written, and what is said not to be, together allow the same velocities."""
    rng, names = np.random.default_rng(seed), "abcdefg"
    builder, given = arm(*names), []
    for k in range(int(rng.integers(1, 7))):
        some = rng.choice(list(names), int(rng.choice([1, 2, 2, 2, 3])), replace=False)
        given.append(Relation(f"r{k}", tuple(map(str, some)), tuple(rng.choice([-2.0, -1.0, 0.5, 1.0], len(some)))))
        builder.relate(dict(zip(given[-1].joints, given[-1].factors)), name=f"r{k}")
    built = builder.build()
    model, lost = there_and_back(built, tmp_path / "arm.urdf")
    rest = [x for x in given if lost and repr(x.name) in lost[0]]

    def rows(some) -> np.ndarray:
        out = np.zeros((len(some), len(names)))
        for row, x in zip(out, some):
            row[[names.index(j) for j in x.joints]] = x.factors
        return out

    assert len(model.relation_list) == len(given) - len(rest)
    before, after = rows(given), np.vstack([rows(model.relation_list), rows(rest)])
    rank = np.linalg.matrix_rank
    assert rank(before) == rank(after) == rank(np.vstack([before, after]))
    followers = [x.name for x in model.relation_list]
    assert len(followers) == len(set(followers))
