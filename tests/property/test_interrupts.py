"""Ctrl-C at any line of any public call: what comes after it neither crashes nor computes anything else than a body
that was made anew."""

from __future__ import annotations

import copy
import gc
import sys

import numpy as np
import pytest

import supple
from supple.model import trees

MODEL = trees.chain(12, seed=1)
Q = MODEL.random(0)
TRIES = 25


def quasi_static():
    qs = supple.QuasiStatics(MODEL, Q, error=1e-3)
    return qs, lambda: qs.set_state(Q)


def adaptive():
    ad = supple.AdaptiveDynamics(MODEL, Q, active=4, update_every=2)
    return ad, lambda: ad.set_state(Q)


def use(body):
    """Calls that replace arrays, of other sizes each time."""
    pushes = [body.apply(i % 12, force=(0.0, 0.1, 0.0)) for i in range(40)]
    body.step(1e-4)
    for push in pushes[5:]:
        push.remove()
    body.step(1e-4)
    body.spring(3, anchor=(0.0, 0.0, 0.0), stiffness=1.0).remove()
    between = body.spring_between(3, 7, 1.0)
    body.step(1e-4)
    between.remove()
    copy.copy(body).step(1e-4)
    if isinstance(body, supple.AdaptiveDynamics):
        body.control(5, stiffness=1.0)
        body.active = 5
        body.pin(2)
        body.pin(2, None)
        body.set_weights({2: 2.0})
        body.set_weights()
        body.active = 4
    for push in pushes[:5]:
        push.remove()


def lines_until(call, line):
    """Run a call, interrupted as it reaches that line of Supple's own. Returns how many of them it ran."""
    ran = 0

    def trace(frame, event, argument):
        nonlocal ran
        if "/supple/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            ran += 1
            if ran == line:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return ran


@pytest.mark.parametrize("made", [quasi_static, adaptive])
def test_an_interrupt_at_any_line_spoils_nothing(made):
    rng = np.random.default_rng(0)
    twin, _ = made()
    for _ in range(3):
        twin.step(1e-3)
    use(made()[0])  # compiles
    body, _ = made()
    lines = lines_until(lambda: use(body), -1)
    gc.freeze()  # what is there before stays: looking through it each time would take most of the test
    for line in rng.integers(1, lines, TRIES).tolist():
        body, begin_again = made()
        lines_until(lambda body=body: use(body), line)
        junk = [np.full(480, np.nan) for _ in range(20)]  # where freed arrays were
        gc.collect()
        for push in list(body._pushes.acting):
            push.remove()
        if made is adaptive:
            body.control(5, stiffness=0.0)
            body.pin(2, None)
            body.set_weights()
            body.active = 4
        begin_again()
        for _ in range(3):
            body.step(1e-3)
        np.testing.assert_allclose(body.q, twin.q, rtol=0, atol=1e-12, err_msg=f"interrupted at line {line}")
        del junk


def test_a_body_made_anew_is_of_its_new_model():
    for made in (supple.QuasiStatics, supple.AdaptiveDynamics):
        body = made(trees.chain(3))
        push = body.apply(1, force=(1.0, 0.0, 0.0))
        body.step(1e-3)
        body.__init__(MODEL, Q)
        body.step(1e-3)
        other = made(MODEL, Q)
        other.step(1e-3)
        np.testing.assert_array_equal(body.q, other.q)
        with pytest.raises(supple.StateError):
            push.remove()
