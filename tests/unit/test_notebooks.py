"""What a notebook shows: one short line of everything public, HTML in which names are only names, tables, and plots
that say what they leave out."""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import supple
from supple import scenes
from supple.files.bvh import load_bvh
from supple.model import trees
from supple.model.model import Visual
from supple.model.report import Remark, Report
from supple.rerooting.top_joint import TopJoint
from supple.scenes import walk_bvh
from supple.simulating.result import Result

HOSTILE = "<script>alert(1)</script>\n\x1b[31m\u202e" + 300 * "x"
LONGEST = 250  #: characters of a repr


def arm(name: str = "arm", joint: str = "") -> supple.Model:
    b = supple.ModelBuilder(name)
    for i, kind in enumerate(("revolute", "ball", "prismatic")):
        parent = -1 if i == 0 else i - 1
        names = {"joint_name": f"{joint}{i}"} if joint else {}
        b.add_body(
            f"{name}{i}", parent, kind, mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1), position=(0, 0, -0.5), **names
        )
    return b.build()


def swinging(name: str = "arm", **more: Any) -> Result:
    model = arm(name)
    event = supple.Event(name[:200], lambda s: s.q[0] - 0.05, then=lambda s: s.replace(v=-s.v))
    return supple.simulate(model, model.neutral(), np.ones(model.nv), duration=0.1, dt=0.01, events=[event], **more)


def approximated() -> Result:
    scene = scenes.millipede(2, 3, 6)
    how: dict[str, Any] = {"method": "quasi-statics", "error": 1e-3, "dt": scene.dt, "duration": 5 * scene.dt}
    return supple.simulate(scene.model, scene.q0, forces=scene.all_forces(), **how)


def closed_page() -> supple.Page:
    """As one that was open: test_view_joints.py opens some."""
    page = supple.Page.__new__(supple.Page)
    page._title, page._thread, page.url = HOSTILE, None, ""
    return page


@cache
def objects() -> dict[str, Any]:
    """An object of every public class, with the worst of names where it has any."""
    model, q = arm(HOSTILE), arm(HOSTILE).neutral()
    v = np.ones(model.nv)
    result, scene, walker = swinging(HOSTILE), scenes.millipede(2, 3, 6), scenes.compass()
    ad, qs, clip = scene.adaptive_dynamics(4), scene.quasi_statics(), load_bvh(walk_bvh.FILE)
    loads, tree = supple.motion_loads(clip), trees.humanoid()
    rerooted = supple.reroot(tree, tree.neutral(), body=5, joint="free")
    H = supple.mass_matrix(model, q, sparse=True)
    gait = supple.gait(walker)
    simulation = supple.Simulation(model, q, v)
    made = [
        model.units,
        ad, ad.stats, qs, qs.solve(), model, model.bodies, model.bodies[0], model.joints[1], clip, gait, gait.walker,
        gait.last, supple.Controller(HOSTILE, 1.0, target=np.zeros(3)), supple.Event(HOSTILE, len, then=print),
        result.events[0], supple.Limits(1.0, joints=[HOSTILE] * 50), H, H.pattern, supple.factorize(H), result,
        result[0], simulation, next(iter(simulation.samples())), loads, loads.moving, loads.support,
        supple.poses(model, q), supple.poses(model, q)[0], supple.velocities(model, q, v),
        supple.multipliers(model, q, v)[0], supple.virtual_work(model, q, v), supple.Push(HOSTILE), rerooted,
        supple.Spring(HOSTILE, (0, 0, 0), 1.0), supple.SpringBetween(HOSTILE, HOSTILE, 1.0, pulls_only=True),
        Report(HOSTILE, (Remark(HOSTILE, HOSTILE, 3),) * 200),
        Remark(HOSTILE, HOSTILE), supple.ModelBuilder(HOSTILE), TopJoint.of(model, 0), rerooted.undo(),
        Visual(0, "box", (1, 1, 1), np.zeros(3), np.eye(3), None, HOSTILE, HOSTILE), rerooted.again(tree.neutral()),
        supple.Actuator(HOSTILE, HOSTILE), supple.Arrows((HOSTILE,), np.zeros(1), *np.zeros((2, 1, 1, 3))),
        closed_page(), supple.Controls({HOSTILE: 1.0}), supple.Goal((1, 2, 3), np.eye(3)), supple.Miss(0.1, 0.2),
        supple.Reached(q, False, {HOSTILE: supple.Miss(0.1, 0.2)}, 3), supple.Frame(HOSTILE, 0, np.zeros(3), np.eye(3)),
        supple.impact(tree, tree.neutral(), body=5, joint="ball"), supple.Mobility(1, 5, 3, (HOSTILE,), True),
        supple.Loop(HOSTILE, "fixed", 0, -1, *[np.zeros(3), np.eye(3)] * 2, np.zeros(3), np.zeros(3)),
        supple.Relation(HOSTILE, (HOSTILE,) * 9, (1.0,) * 9),
        supple.Shape(HOSTILE, 0, "box", (1.0, 1.0, 1.0), np.zeros(3), np.eye(3)), supple.Contacts(ground=0.0),
        supple.Contact(HOSTILE, HOSTILE, 0.0, *np.zeros((4, 3))),
        supple.Range(1e-3, 1.0, 10**6, log=True),
        supple.walk_many(walker, walker.q[None], walker.v[None]),
        supple.Failure(3, {HOSTILE: HOSTILE}, HOSTILE),
        supple.sweep(lambda **x: {f"{'x' * 70}{i}": 1 for i in range(9)}, {"a" * 80: [1, 2]}, engine="serial"),
    ]  # fmt: skip
    return {type(x).__name__: x for x in made}


PUBLIC = [name for name in supple.__all__ if inspect.isclass(getattr(supple, name))]
CLASSES = [name for name in PUBLIC if not issubclass(getattr(supple, name), Exception) and name != "Segment"]


@pytest.mark.parametrize("name", CLASSES)
def test_everything_public_says_what_it_is_in_a_short_line(name: str):
    text = repr(objects()[name])
    assert text.isprintable() and len(text) <= LONGEST, text
    assert text.startswith("<") and text.endswith(">") and "object at 0x" not in text


def test_segments_say_what_they_are(tmp_path: Path):
    result = swinging(HOSTILE)
    recorded = swinging(HOSTILE, record=tmp_path / "a.h5")
    for segment in (*result.segments, *recorded.segments):
        assert repr(segment).isprintable() and len(repr(segment)) <= LONGEST and " states, " in repr(segment)
    recorded.close()


class Tags(HTMLParser):
    """The tags of a page, and whether all were closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("what", ["model", "result"])
def test_names_in_html_are_only_names(what: str):
    result = swinging(HOSTILE)
    html = (result.model if what == "model" else result)._repr_html_()
    tags = Tags()
    tags.feed(html)
    assert not tags.open and tags.seen <= {"b", "details", "summary", "pre", "table", "tr", "th", "td"}
    assert "&lt;script&gt;" in html and "\x1b" not in html and "\u202e" not in html


def test_a_result_in_a_notebook_says_what_came_of_it(tmp_path: Path):
    html = swinging()._repr_html_()
    for said in ("Result of", "<th>model</th>", "J at first", "<th>1 event</th>", "<th>segments</th>"):
        assert said in html, said
    adaptive = approximated()
    assert "joints computed" in adaptive._repr_html_() and "certified error at most" in adaptive._repr_html_()


def test_the_molecule_is_in_daltons_and_not_in_kilograms(tmp_path: Path):
    scene = scenes.molecule(20)
    run = supple.simulate(scene.model, scene.q0, method="aba", duration=0.01, dt=0.001, record=tmp_path / "m.h5")
    for model in (scene.model, run.model):  # in memory, and from the recording
        assert model.units == ("Da", "Å", "Da Å²/s²") and repr(model).endswith(" Da>")
        assert " Da" in model.tree() and "kg" not in model.tree() + repr(model) + repr(model.bodies[0])
    assert [ax.get_ylabel() for ax in run.plot().axes] == ["Da Å²/s²", "rad, Å"]
    assert "Da Å²/s² at first" in run._repr_html_() and " J" not in run._repr_html_()
    run.close()
    assert arm().units == ("kg", "m", "J") and repr(arm()).endswith(" kg>")


@pytest.mark.parametrize("said", ["", "Da", ";;;;", HOSTILE, f"{HOSTILE};{HOSTILE};{HOSTILE}"])
def test_units_are_three_short_words_or_those_of_si(said: str):
    b = supple.ModelBuilder("odd")
    b.add_body(mass=1.0, inertia=(1, 1, 1))
    b.remark("units", said)
    model = b.build()
    assert len(model.units) == 3 and repr(model).isprintable() and len(repr(model)) < LONGEST
    assert "<script>" not in model._repr_html_()


# --- tables -----------------------------------------------------------------------------------------------------------


LIBRARIES = ["pandas", "polars"]


def as_array(frame: Any, name: str) -> np.ndarray:
    return np.asarray(frame[name].to_numpy())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_result_is_a_table(library: str, recorded: bool, tmp_path: Path):
    module = pytest.importorskip(library)
    result = swinging(record=tmp_path / "a.h5") if recorded else swinging()
    frame = result.to_frame(library)
    assert isinstance(frame, module.DataFrame)
    q = ["q.arm0_joint", *(f"q.arm1_joint[{i}]" for i in range(4)), "q.arm2_joint"]
    v = ["v.arm0_joint", *(f"v.arm1_joint[{i}]" for i in range(3)), "v.arm2_joint"]
    assert list(frame.columns) == ["time", "kinetic", "potential", *q, *v, "segment"]
    assert np.array_equal(np.column_stack([as_array(frame, x) for x in q]), result.q)
    assert np.array_equal(np.column_stack([as_array(frame, x) for x in v]), result.v)
    assert as_array(frame, "segment").tolist() == [i for i, s in enumerate(result.segments) for _ in range(len(s))]
    one = result.to_frame(library, joints=["arm2_joint"], segment=1)
    assert list(one.columns) == ["time", "kinetic", "potential", "q.arm2_joint", "v.arm2_joint", "segment"]
    assert len(one) == len(result.segments[1])
    result.close()


def test_an_adaptive_run_tells_its_error_and_its_joints():
    pytest.importorskip("pandas")
    result = approximated()
    frame = result.to_frame("pandas")
    assert list(frame.columns[:5]) == ["step", "kinetic", "potential", "error", "active_count"]
    assert as_array(frame, "step").tolist() == [0, 1, 2, 3, 4, 5]
    assert np.array_equal(as_array(frame, "active_count"), result.active_counts)


def test_names_of_columns_are_never_the_same():
    pytest.importorskip("pandas")
    b = supple.ModelBuilder("twins")
    b.add_body("a", -1, "ball", mass=1.0, inertia=(1, 1, 1), joint_name="hip")
    b.add_body("b", "a", mass=1.0, inertia=(1, 1, 1), joint_name="hip[0]")
    model = b.build()
    frame = supple.simulate(model, model.neutral(), duration=0.01, dt=0.01).to_frame()
    assert len(set(frame.columns)) == len(frame.columns) == 3 + model.nq + model.nv


def test_without_a_library_for_tables_the_error_says_the_way_out(monkeypatch: pytest.MonkeyPatch):
    for name in LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(supple.SuppleError, match="pandas or polars: pip install pandas; without it, result"):
        swinging().to_frame()
    with pytest.raises(supple.SuppleError, match="needs polars: pip install polars"):
        swinging().to_frame("polars")


def test_what_is_no_part_of_the_result_is_refused(monkeypatch: pytest.MonkeyPatch):
    result = swinging()
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    with pytest.raises(supple.StateError, match="no joint named 'elbow'"):
        result.to_frame(joints=["elbow"])
    with pytest.raises(supple.StateError, match=r"no segment 7: this result has \d"):
        result.to_frame(segment=7)
    with pytest.raises(supple.SuppleError, match="library"):
        result.to_frame("excel")  # type: ignore[arg-type]


def test_segments_of_models_with_other_coordinates_are_tables_apart(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    one, two = swinging(), supple.simulate(arm("leg"), duration=0.02, dt=0.01)
    both = Result([*one.segments, *two.segments], (), one.about)
    with pytest.raises(supple.StateError, match=r"take one segment at a time, to_frame\(segment=0\)"):
        both.to_frame("pandas")
    assert set(both.to_frame("pandas", segment=2)["segment"]) == {2}


# --- plots ------------------------------------------------------------------------------------------------------------


def printed(figure: Any) -> str:
    from matplotlib.text import Text

    return "\n".join(t.get_text() for t in figure.findobj(Text))


def test_a_plot_says_what_it_leaves_out():
    model = trees.chain(20)
    result = supple.simulate(model, model.neutral(), np.ones(20), duration=0.05, dt=0.01, joint_wrenches=True)
    text = printed(result.plot())
    assert "Not shown: 12 of 20 coordinates (joints=[...] chooses those drawn), velocities (result.v), joint" in text
    assert "18 of 20 coordinates" in printed(result.plot(joints=list(model.joint_names[:2])))
    still = supple.simulate(arm(), duration=0.02, dt=0.01)
    assert "coordinates" not in printed(still.plot())
    assert "error" in printed(approximated().plot())


def test_a_plot_of_a_large_model_says_that_names_are_missing():
    assert "Not shown: the names of 200 bodies" in printed(trees.chain(200).plot())
    assert "Not shown" not in printed(trees.chain(20).plot())
    H = supple.mass_matrix(trees.chain(700), np.zeros(700), sparse=True)
    assert re.search(r"each dot is the largest of about 1\.2 x 1\.2", printed(H.plot()))


def test_all_joints_asked_for_are_drawn():
    loads = supple.motion_loads(load_bvh(walk_bvh.FILE))
    names = list(loads.joints[:6])
    labels = [str(line.get_label()) for line in loads.plot(joints=names).axes[1].lines]
    assert all(any(name.removesuffix("_joint") in label for label in labels) for name in names)
