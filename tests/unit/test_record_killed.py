"""kill -9 at random instants: the recording reads, its run goes on, and gives the bits of one that nobody killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import supple
from recorded import CASES, equal, same
from supple.record.head import LENGTH, read_head

KILLS = {"march": 10, "function": 5, "adaptive": 5, "events for ever": 5, "quasi-statics": 5, "adaptive dynamics": 5}
STEPS = 100_000  #: more than are ever made

# What the page cache has outlives a process: nothing needs to reach the disk here.
SERVER = """
import os, sys
import h5py, scipy.integrate, supple  # once for all children
from recorded import CASES
from supple.record import journal, recorder
from supple.simulating import drivers
journal.os.fsync = lambda file: None
recorder.SECONDS = drivers.SECONDS = 0.0
loaded = set()
for line in sys.stdin:
    name, steps, path = line.rstrip().split("\t")
    model, how = CASES[name]
    how = {"dt": 1e-3, "check_energy": False} | how
    if name not in loaded:  # compiled code, too
        supple.simulate(model, duration=20 * how["dt"], **how)
        loaded.add(name)
    child = os.fork()
    if child == 0:
        supple.simulate(model, duration=int(steps) * how["dt"], record=path, resume=True, **how)
        os._exit(1)
    print(child, flush=True)
    os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    """A process that begins runs, or goes on with them, as its children, and says who they are."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"SUPPLE_THREADS": "1", "PYTHONPATH": paths}
    words = [sys.executable, "-c", SERVER]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def commits(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as f:
        head = read_head(f.read(LENGTH))
    return 0 if head is None else head.generation


def alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists() if Path("/proc").exists() else True


@pytest.mark.parametrize("name", KILLS)
def test_kill_9_at_random_instants(name, server, tmp_path):
    """The instant is some time after some commit. What is read is compared when the whole is known."""
    path, rng, seen = tmp_path / "run.h5", np.random.default_rng(), []
    for _ in range(KILLS[name]):
        print(name, STEPS, path, sep="\t", file=server.stdin, flush=True)
        child, until = int(server.stdout.readline()), commits(path) + int(rng.integers(1, 4))
        while commits(path) < until:
            assert alive(child)
            time.sleep(0.0005)
        time.sleep(float(rng.uniform(0.0, 0.01)))
        os.kill(child, signal.SIGKILL)
        while Path("/proc").exists() and alive(child):  # until it is gone it holds its lock
            time.sleep(0.0005)
        seen.append(supple.load_run(path))
    model, how = CASES[name]
    how = {"dt": 1e-3, "check_energy": False} | how
    duration = (seen[-1].final.time / how["dt"] + 20) * how["dt"]
    whole = supple.simulate(model, duration=duration, **how)
    for r in seen:
        assert "not finished" in r.about["stopped"] and len(r.segments) <= len(whole.segments)
        for mine, theirs in zip(r.segments, whole.segments):
            same(mine, theirs)
        r.close()
    assert len(seen[-1]) > len(seen[0])
    equal(supple.simulate(model, duration=duration, record=path, resume=True, **how), whole)
