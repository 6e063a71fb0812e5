"""Fuzz Supple for a while: hostile files, recordings, journals, cached code, odd arguments and shapes.

    python -m tests.fuzz                                 every target, a minute each
    python -m tests.fuzz files --seconds 600 --seed 7    one target, ten minutes, other inputs
    python -m tests.fuzz files --only 1234               one input again, in this process, with its traceback

Every input either works or is refused by an error of Supple's own. Anything else is a finding: another exception,
a crash, no answer within ten seconds, or more than 2 GB of memory. Findings are kept in out/fuzz, named by target,
seed and number; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.fuzz.target import TARGETS, attempt_of, source

PATIENCE = 10.0  #: seconds that an input may take
STARTING = 120.0  #: seconds that a process may take to start: it may compile kernels
MEMORY = 2e9  #: bytes that an input may take


class Watched:
    """A process that tries inputs of a target, watched from outside."""

    def __init__(self, target: str, seed: int, first: int, findings: Path, folder: str) -> None:
        """folder: for all that it writes and does not live to remove."""
        self.number = first
        self.name = f"{target} --seed {seed}"
        self._report = findings / f"{target}-{seed}"
        self.started = False
        command = [sys.executable, "-m", "tests.fuzz.worker", target, str(seed), str(first), str(findings)]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        where = os.environ | {"TMPDIR": folder}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=where)
        self.lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line.strip())
        self.lines.put("ended")

    def next(self) -> str:
        """What the process says next, or how it failed: 'hung', 'too much memory', 'died: ...'."""
        limit = time.monotonic() + (PATIENCE if self.started else STARTING)
        while time.monotonic() < limit:
            try:
                line = self.lines.get(timeout=0.1)
            except queue.Empty:
                if self._memory() > MEMORY:
                    return self.end("too much memory")
                continue
            if line == "ended":
                return self.end(f"died: exit code {self.process.wait()}")
            if line.startswith("begin "):
                self.number, self.started = int(line.split()[1]), True
            else:
                return line
        return self.end("hung")

    def keep(self, outcome: str) -> None:
        """Of an input that it did not survive."""
        self._report.with_name(f"{self._report.name}-{self.number}.txt").write_text(outcome)

    def _memory(self) -> float:
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0.0  # it has just ended, or this system does not tell
        return 4096.0 * pages

    def end(self, how: str) -> str:
        """Kill it: how that came about, and what it said at last."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        with self.errors:
            self.errors.seek(0)
            said = self.errors.read()[-2000:].decode(errors="replace")
        return f"{how}\n{said}" if said else how


def fuzz(target: str, seed: int, seconds: float, findings: Path) -> Counter[str]:
    """Try inputs of one target for a time; how many were accepted, refused and found wanting."""
    with tempfile.TemporaryDirectory(prefix="supple-fuzz-", ignore_cleanup_errors=True) as folder:
        return _fuzz(partial(Watched, target, seed, findings=findings, folder=folder), seconds)


def _fuzz(start: Callable[[int], Watched], seconds: float) -> Counter[str]:
    """start: a process that begins with the input of a number."""
    counts: Counter[str] = Counter()
    end, watched = time.monotonic() + seconds, start(0)
    try:
        while not counts or time.monotonic() < end:
            outcome = watched.next()
            word = outcome.split()[0]
            counts[word] += 1
            if word in ("accepted", "refused"):
                continue
            print(f"  {watched.name} --only {watched.number}: {outcome}", flush=True)
            if word != "found":
                watched.keep(outcome)
                watched = start(watched.number + 1)
    finally:
        watched.end("")
    return counts


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n\n")[0])
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET", help=f"any of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to try each target (60)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other inputs (0)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="try this one input, here")
    chosen = parser.parse_args()
    if unknown := set(chosen.targets) - set(TARGETS):
        parser.error(f"there is no target {sorted(unknown)[0]!r}; there are {', '.join(TARGETS)}")
    targets = chosen.targets or TARGETS
    if chosen.only is not None:
        for target in targets:
            with tempfile.TemporaryDirectory() as folder:
                attempt_of(target)(source(target, chosen.seed, chosen.only), Path(folder))
        return 0
    findings = Path("out/fuzz")
    findings.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for target in targets:
        counts = fuzz(target, chosen.seed, chosen.seconds, findings)
        good = counts["accepted"] + counts["refused"]
        wrong += sum(counts.values()) - good
        print(
            f"{target}: {sum(counts.values()):,} inputs in {chosen.seconds:.0f} s: {counts['accepted']:,} accepted, "
            f"{counts['refused']:,} refused, {sum(counts.values()) - good} findings",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
