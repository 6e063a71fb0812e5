"""What benchmarks measure, how they make figures of it and judge them; how fast anything is is never tested."""

from __future__ import annotations

import io
import json
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from supple import scenes
from supple.bench import contact, dynamics, measure, virtual_work
from supple.bench import run as runner
from supple.bench.measure import agree
from supple.bench.rows import ABOVE_AIM, ABOVE_FLOOR, BELOW_FLOOR, Row
from supple.errors import SuppleError
from supple.exact import threads


def test_results_that_differ_are_not_timed():
    agree("twins", [1.0, 2.0], [1.0, 2.0 + 1e-11])
    with pytest.raises(SuppleError, match=r"strangers: results differ by 0\.5"):
        agree("strangers", [1.0, 2.0], [0.0, 2.0])
    agree("strangers", [1.0, 2.0], [0.0, 2.0], within=0.6)
    with pytest.raises(SuppleError, match="nan"):
        agree("nothing", [np.nan], [1.0])


def test_marks_are_those_of_ratios_or_of_costs():
    """With a peer theirs / ours is judged, larger being better; without one ours, less being better."""
    assert Row("x", 2.9, "x", floor=3.0).mark == ABOVE_AIM
    assert Row("x", 3.1, "x", floor=3.0).mark == BELOW_FLOOR
    for theirs, mark in ((11.9, BELOW_FLOOR), (12.0, ABOVE_FLOOR), (19.9, ABOVE_FLOOR), (20.0, ABOVE_AIM)):
        row = Row("x", 2.0, "s", theirs, "peer", 6.0, 10.0)
        assert row.ratio == theirs / 2.0 and row.mark == mark
    assert Row("x", 2.0, "s", 4.0, "peer").mark is None


def test_the_least_time_of_a_call_counts(monkeypatch):
    """Over rounds in which candidates take turns, each block of calls divided by how many they are."""
    cost, noise, order = {"slow": 3e-4, "quick": 1e-6}, iter([1.0, 1.0, 9.0, 7.0, 2.0, 2.5, 4.0, 3.0]), []

    def timed(call, number):
        name = call()
        order.append((name, number))
        return cost[name] * number * next(noise)

    monkeypatch.setattr(measure.timeit, "timeit", timed)
    best = measure.minima({name: lambda name=name: name for name in cost}, 3)
    assert best == pytest.approx({"slow": 2.0 * cost["slow"], "quick": 2.5 * cost["quick"]})
    assert order == [("slow", 1), ("quick", 1), *[("slow", 6), ("quick", 2000)] * 3]  # 2 ms of calls in a block


def figures(name, tmp_path, quick=True):
    """What a benchmark writes to its file: the rows by title, and by what they are of."""
    file = tmp_path / "figures.json"
    screen = io.StringIO()
    runner.run([name], Console(file=screen, width=100), quick, file)
    groups = json.loads(file.read_text())["groups"]
    for rows in groups.values():
        for row in rows:
            assert row["what"] in screen.getvalue()
    return {title: {(row["what"], row["peer"]): row for row in rows} for title, rows in groups.items()}


def test_virtual_work_is_measured_by_the_joint_and_beside_the_aba(tmp_path, monkeypatch):
    """Under a clock for which a call takes its place in the list in microseconds, times the square of the joints."""
    monkeypatch.setattr(virtual_work, "SIZES", (10, 20))
    monkeypatch.setattr(virtual_work, "LARGEST", 40)
    monkeypatch.setattr(virtual_work, "BRANCHES", 8)
    chains = iter([10, 20, 40])

    def by_place(calls, rounds):
        n = next(chains) if "aba" in calls else 1
        return {name: (call(), 1e-6 * n**2 * place)[1] for place, (name, call) in enumerate(calls.items(), start=1)}

    monkeypatch.setattr(virtual_work, "minima", by_place)
    beside, joint, star = figures("virtual-work", tmp_path, quick=False).values()
    for n in (10, 20, 40):
        row = beside[f"chain of {n}", None]
        assert row["ours"] == pytest.approx(2.0) and row["floor"] == 3.0 and row["mark"] == ABOVE_AIM
        assert joint[f"chain of {n}", None]["ours"] == pytest.approx(1e9 * 2e-6 * n**2 / n)  # nanoseconds a joint
    assert joint["a joint of 40 / of 10", None]["ours"] == pytest.approx(4.0)
    assert star["absorbed", None]["ours"] == pytest.approx(2e-6)
    assert star["split into pieces", None]["ours"] == pytest.approx(3e-6)
    assert star["a matrix for every pair, 8 joints", None]["ours"] > 0.0


def test_steps_of_adaptive_dynamics_are_compared_with_full_ones(tmp_path, monkeypatch):
    """Under a clock that goes one second a reading: every slice then takes one, and a step as much as its length
    says."""
    monkeypatch.setattr(dynamics, "SIZES", {"pendulum": (30,), "crowd": (1, 2, 0, False), "molecule": (400,)})
    monkeypatch.setattr(dynamics, "PENDULUM", {1: dynamics.PENDULUM[1], 10: dynamics.PENDULUM[20]})
    monkeypatch.setattr(dynamics, "WARM", 40)
    monkeypatch.setattr(dynamics, "time", SimpleNamespace(thread_time=count().__next__))
    monkeypatch.setattr(threads, "_threads", threads._threads)  # the benchmark sets it
    pendulum, crowd, molecule = figures("dynamics", tmp_path).values()
    steps = {"1 active": 200, "10 active": 20}
    full = {"DCA": 1, "ABA": 4}
    for (what, peer), row in pendulum.items():
        if peer is not None:
            assert row["ours"] == pytest.approx(1 / steps[what]) and row["theirs"] == pytest.approx(1 / full[peer])
            assert row["ratio"] == pytest.approx(steps[what] / full[peer])
    assert pendulum["1 active", "DCA"]["aim"] == 250.0 and pendulum["1 active", "DCA"]["mark"] == ABOVE_FLOOR
    assert pendulum["all active", None]["ours"] == pytest.approx(1 / 20)  # in steps of divide and conquer
    assert crowd["5%: 2 roots + 7", "ABA"]["ratio"] == pytest.approx(1 / 1)  # 9 of 178 joints
    assert crowd["roots alone", "ABA"]["ratio"] == pytest.approx(1 / 1)
    assert molecule["100 active", "ABA"]["ratio"] == pytest.approx(40 / 1)


def test_of_each_slice_the_least_time_counts(monkeypatch):
    """Two candidates of two slices, three rounds; a slow slice of one round is not made up for by a quick one."""
    durations = iter([5.0, 1.0, 3.0, 3.0, 2.0, 9.0, 4.0, 2.0, 7.0, 7.0, 6.0, 6.0])
    readings = iter(x for duration in durations for x in (0.0, duration))
    monkeypatch.setattr(dynamics, "time", SimpleNamespace(thread_time=readings.__next__))
    order = []
    stretches = {
        name: dynamics.Stretch(lambda name=name: order.append(name), lambda: None, steps, 2)
        for name, steps in (("a", 10), ("b", 1))
    }
    assert dynamics._least(stretches, 3) == {"a": (2.0 + 1.0) / 2 / 10, "b": (3.0 + 2.0) / 2 / 1}
    assert order == ["a", "b"] * 3


def test_stretches_of_adaptive_dynamics_start_where_they_started_before():
    stretch = dynamics._adaptive(scenes.crowd(1, 1, puppets=False), 20, 40)
    ends = []
    for _ in range(2):
        stretch.start()
        ends.append(stretch.go())
    assert ends[0].active_count == ends[1].active_count == 20 + 1  # the root does not count
    assert ends[0].acceleration_error == ends[1].acceleration_error > 0


def test_mujocos_people_at_rest_sleep_only_where_they_may() -> None:
    """A person alone, who lies still: within the time that the benchmark of contact gives MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    scene = scenes.falling_crowd(1, 1)
    body = contact._pushed(scene)
    body.run(6.0, scene.dt)
    assert body.sleeping.tolist() == [0]
    peers = contact._peers(mujoco, contact._full(scene, body), contact.SETTLES)
    assert all(np.isfinite(x.window(body.q.copy(), body.v.copy())) for x in peers.values())
    assert [x.asleep for x in peers.values()] == [0, 1]
