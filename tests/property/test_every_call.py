"""Every public call with usual arguments, in processes that are not usual: it answers, or refuses in words.

Without the compiler most of what is called cannot run; on a thread with a stack of 256 KiB, everything can.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import supple
from tests.fuzz.arguments import Call, calls, inspect, usual

STATES = ("q", "v", "a", "tau", "wrenches", "q0", "q1")  #: what may be a batch
SIZE = 40  #: of a batch: enough for several threads


def make(call: Call, batched: bool, folder: Path) -> Any:
    """One call: what it needs, and all that belongs to states, one or many."""
    rng = np.random.default_rng(1)
    function, model = call.get(rng, folder)
    given, named = [], {}
    for p in call.parameters:
        if p.kind is p.VAR_KEYWORD or (p.default is not p.empty and p.name not in STATES):
            continue
        value = usual(call.name, p.name, model, rng, folder)
        if batched and p.name in STATES and value is not None:
            value = np.stack([value] * SIZE)
        if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL):
            given.append(value)
        else:
            named[p.name] = value
    result = function(*given, **named)
    return repr(list(itertools.islice(result, 50)) if inspect.isgenerator(result) else result)


def takes_batches(call: Call) -> bool:
    return any(p.name in STATES for p in call.parameters)


def make_all() -> Counter[str]:
    """How many calls answered and how many refused. Anything else is raised."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    once = [(call, False) for call in calls()]
    for call, batched in [*once, *((call, True) for call, _ in once if takes_batches(call))]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            try:
                make(call, batched, Path(folder))
                counts["answered"] += 1
            except supple.SuppleError as e:
                counts["refused: NUMBA_DISABLE_JIT" if "NUMBA_DISABLE_JIT" in str(e) else "refused"] += 1
            except IndexError:
                if not call.name.endswith("__getitem__"):  # which says so to whoever iterates
                    raise
    return counts


def in_a_small_thread() -> Counter[str]:
    """The same on a thread with a stack of 256 KiB. (NumPy overruns 32, Python itself 64 when it imports.)"""
    out: list[Counter[str]] = []
    threading.stack_size(2**18)
    thread = threading.Thread(target=lambda: out.append(make_all()))
    thread.start()
    thread.join()
    return out[0]


def counted(function: str, **environment: str) -> Counter[str]:
    """In a process of its own: it might crash."""
    here = Path(__file__).parent.parent
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), str(here.parent), *sys.path])} | environment
    script = f"from tests.property.test_every_call import {function}; print(dict({function}()))"
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return Counter(eval(done.stdout.splitlines()[-1]))


def test_without_the_compiler():
    counts = counted("make_all", NUMBA_DISABLE_JIT="1")
    assert counts["answered"] > 80 and counts["refused: NUMBA_DISABLE_JIT"] > 80


def test_on_a_thread_with_a_small_stack():
    assert counted("in_a_small_thread")["answered"] > 200
