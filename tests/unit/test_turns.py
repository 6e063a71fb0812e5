"""Several threads on one body, and forked processes: nothing crashes or hangs, and numbers are those of some order."""

from __future__ import annotations

import copy
import multiprocessing
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import supple
from supple.errors import StateError
from supple.exact import threads as pool

MODEL = supple.trees.chain(300)
Q = MODEL.random(0)

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def hasty():
    """Threads that are interrupted all the time."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def at_once(f, count=8):
    """f(k) on as many threads, begun together."""
    gate = threading.Barrier(count)

    def one(k):
        gate.wait()
        return f(k)

    with ThreadPoolExecutor(count) as executor:
        return list(executor.map(one, range(count)))


def quasi_statics():
    qs = supple.QuasiStatics(MODEL, Q, error=1e-6)
    qs.apply(299, force=(0, 0, 1))
    return qs


def dynamics():
    ad = supple.AdaptiveDynamics(MODEL, Q, active=40)
    ad.apply(299, force=(0, 0, 1))
    return ad


@pytest.mark.parametrize("make", [quasi_statics, dynamics])
def test_steps_by_eight_threads(make, hasty):
    """Whoever takes a step: it is the next one."""
    one, two = make(), make()
    at_once(lambda k: [one.step(1e-4) for _ in range(20)])
    for _ in range(160):
        two.step(1e-4)
    np.testing.assert_array_equal(one.q, two.q)
    assert one.time == two.time


@pytest.mark.parametrize("make", [quasi_statics, dynamics])
def test_everything_at_once(make, hasty):
    """Some threads step, others change forces and settings, look, copy and save. All numbers stay finite."""
    body = make()
    begun = body.save()
    pushes = [body.apply(290 + k, force=(0, 0, 0.1)) for k in range(8)]

    def use(k):
        rng = np.random.default_rng(k)
        for i in range(15):
            what = int(rng.integers(9))
            if what < 3:
                body.step(1e-5)
            elif what == 3:
                pushes[k].set(force=rng.standard_normal(3))
            elif what == 4:
                body.apply(int(rng.integers(300)), torque=rng.standard_normal(3)).remove()
            elif what == 5:
                body.torque(int(rng.integers(300)), rng.standard_normal())
            elif what == 6:
                assert np.isfinite(body.poses([0, 299]).position).all()
            elif what == 7:
                assert body.save().keys() == begun.keys() and repr(body)
            elif i % 5 == 0:
                other = copy.copy(body)
                other.step(1e-5)
                assert np.isfinite(other.q).all()

    at_once(use)
    assert np.isfinite(body.q).all()
    body.step(1e-5)


def test_any_time_solutions_by_two_threads(hasty):
    """Each goes on from what the other has left."""
    qs = quasi_statics()
    exact = qs.solve(0.0).dense()

    def refine(k):
        for found in qs.refine(error=1e-9, joints=40):
            assert np.isfinite(found.accelerations).all()
        return qs.solve(1e-9).dense()

    for found in at_once(refine, 2):
        np.testing.assert_allclose(found, exact, atol=1e-6 * np.abs(exact).max())


def test_a_factor_by_eight_threads(hasty):
    """Solutions are of the one matrix or of the other, never of half of each."""
    H = supple.mass_matrix(MODEL, Q) + np.eye(300)
    factor, b = supple.factorize(H, MODEL.expanded_parent), np.ones(300)
    x = factor.solve(b)

    def use(k):
        for i in range(40):
            if k % 2:
                factor.refactorize(H if i % 2 else 2 * H)
            else:
                y = factor.solve(b)
                assert min(np.abs(y - x).max(), np.abs(y - 0.5 * x).max()) <= 1e-9 * np.abs(x).max()

    at_once(use)


def test_orders_of_assembly_by_eight_threads(hasty):
    """Tables of assemblies are kept with the model, a few of them."""
    model = supple.trees.chain(20)
    rng = np.random.default_rng(0)
    orders = rng.random((8, 20))

    def use(k):
        return [supple.QuasiStatics(model, order=orders[(k + i) % 8]).solve(0.0).total for i in range(8)]

    totals = np.array(at_once(use))
    np.testing.assert_allclose(totals, totals[0, 0], rtol=1e-9)


def test_dca_by_eight_threads(hasty):
    """One of them has the scratch that is kept; the others make their own."""
    v = np.zeros(300)
    expected = supple.forward_dynamics(MODEL, Q, v, method="dca")
    for found in at_once(lambda k: [supple.forward_dynamics(MODEL, Q, v, method="dca") for _ in range(10)]):
        for x in found:
            np.testing.assert_array_equal(x, expected)


# --- forks ----------------------------------------------------------------------------------------------------------


def in_child(f):
    """What f gives in a forked child; None if it takes more than a minute."""
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=lambda: answers.put(f()))
    child.start()
    child.join(60)
    hung = child.is_alive()
    if hung:
        child.kill()
        child.join()
    assert not hung and child.exitcode == 0
    return answers.get()


@forks
def test_batches_in_a_forked_child(monkeypatch):
    """The threads of the parent's pool are not there."""
    monkeypatch.setattr(pool, "_threads", 2)
    q, v = np.tile(Q, (64, 1)), np.zeros((64, 300))
    expected = supple.forward_dynamics(MODEL, q, v)  # the parent has a pool now
    assert in_child(lambda: np.array_equal(supple.forward_dynamics(MODEL, q, v), expected))
    assert in_child(lambda: in_child(lambda: np.array_equal(supple.forward_dynamics(MODEL, q, v), expected)))


@forks
@pytest.mark.parametrize("make", [quasi_statics, dynamics])
def test_bodies_in_a_forked_child(make):
    """Go on there as here."""
    body = make()
    body.step(1e-4)

    def go_on():
        body.step(1e-4)
        return body.q.tobytes()

    there = in_child(go_on)
    assert there == go_on()


@forks
def test_a_body_that_another_thread_uses_while_the_process_forks():
    """Is half changed in the child, which says so instead of waiting for ever; it can be used in the parent."""
    body, taken, done = quasi_statics(), threading.Event(), threading.Event()

    def hold():
        with body._lock:
            taken.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()

    def use():
        try:
            body.step(1e-4)
        except StateError as e:
            return str(e)
        return "stepped"

    said = in_child(use)
    done.set()
    holder.join()
    assert said.startswith("another thread was using this when the process was forked") and use() == "stepped"


# --- how many threads -----------------------------------------------------------------------------------------------

#: In a fork for each value of SUPPLE_THREADS: a single state, then a batch.
BATCH = """
import os, sys, numpy as np, supple
from supple.exact import threads
model = supple.trees.chain(3)
supple.forward_dynamics(model, model.neutral(), np.zeros(3))  # imports what each of them needs
for given in sys.argv[1:]:
    if os.fork() == 0:
        os.environ["SUPPLE_THREADS"] = given
        print(supple.forward_dynamics(model, model.neutral(), np.zeros(3)).shape)
        try:
            print(threads.threads(), supple.forward_dynamics(model, np.zeros((64, 3)), np.zeros((64, 3))).shape)
        except supple.StateError as e:
            print(e)
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""
GIVEN = {
    "3": r"3 \(64, 3\)",
    "0": rf"{os.cpu_count()} \(64, 3\)",
    "": rf"{os.cpu_count()} \(64, 3\)",
    "abc": "SUPPLE_THREADS must be a whole number from 1 to 1024, not 'abc'",
    "-1": "SUPPLE_THREADS must be a whole number from 1 to 1024, not '-1'",
    "1e9": "SUPPLE_THREADS must be a whole number from 1 to 1024, not '1e9'",
    "9" * 5000: "SUPPLE_THREADS must be a whole number from 1 to 1024, not '9+[.]{3}9+'",
    "1000000000": "SUPPLE_THREADS must be a whole number from 1 to 1024, not 1000000000",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_the_environment_says_how_many_threads():
    """Or a batch says that it does not; single states need none."""
    env = {name: value for name, value in os.environ.items() if name != "SUPPLE_THREADS"}
    out = subprocess.run([sys.executable, "-c", BATCH, *GIVEN], env=env, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    lines = out.stdout.splitlines()
    assert lines[::2] == ["(3,)"] * len(GIVEN)
    for batch, said in zip(lines[1::2], GIVEN.values(), strict=True):
        assert re.fullmatch(said, batch)


@pytest.mark.parametrize("count", [0, -3, 2.5, "many", None, True, 10**9, np.inf])
def test_odd_numbers_of_threads_are_refused(count):
    before = pool.threads()
    with pytest.raises(StateError, match="the number of threads must be a whole number"):
        supple.set_threads(count)
    assert pool.threads() == before
