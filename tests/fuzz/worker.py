"""One process that tries inputs of one target, one after the other, and says before each which it is.

Run by `python -m tests.fuzz`, which watches it: what hangs, takes too much memory or dies is known by its number.
Lines on standard output: `begin N`, `accepted`, `refused`, `found <file>`.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from supple.errors import SuppleError
from tests.fuzz.target import attempt_of, source


def work(target: str, seed: int, first: int, findings: Path) -> None:
    """Try inputs for ever, beginning with number `first`."""
    attempt = attempt_of(target)
    warnings.simplefilter("ignore")
    for number in itertools.count(first):
        say(f"begin {number}")
        folder = Path(tempfile.mkdtemp(prefix="supple-fuzz-"))
        try:
            attempt(source(target, seed, number), folder)
            say("accepted")
        except SuppleError:
            say("refused")
        except Exception:
            report = findings / f"{target}-{seed}-{number}.txt"
            report.write_text(traceback.format_exc())
            say(f"found {report.name}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def say(line: str) -> None:
    """A line for the process that watches, at once. Inputs may print what they like: it has a stream of its own."""
    OUT.write(line + "\n")
    OUT.flush()


if __name__ == "__main__":
    OUT = sys.stdout
    sys.stdout = sys.stderr
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
