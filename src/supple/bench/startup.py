"""What a fresh process waits for: the import, and the first call with compiled code in the cache."""

from __future__ import annotations

import subprocess
import sys

from supple.bench.rows import Row
from supple.errors import SuppleError

IMPORT, FIRST_CALL = 0.3, 0.5  #: seconds

_IMPORT = """
import time
start = time.perf_counter()
import supple
print(time.perf_counter() - start)
"""

_FIRST_CALL = """
import time
import supple
builder = supple.ModelBuilder()
builder.add_body(axis=(0, 1, 0), mass=1.0, com=(0, 0, -1))
model = builder.build()
start = time.perf_counter()
supple.forward_dynamics(model, [0.1], [0.0])
print(time.perf_counter() - start)
"""


def rows(repeats: int) -> list[Row]:
    """The least of several fresh processes. The first call includes importing Numba, which waits for it."""
    _seconds(_FIRST_CALL)  # fills the cache
    return [
        Row("import supple", min(_seconds(_IMPORT) for _ in range(repeats)), "s", floor=IMPORT),
        Row(
            "first call of a later process",
            min(_seconds(_FIRST_CALL) for _ in range(repeats)),
            "s",
            floor=FIRST_CALL,
        ),
    ]


def _seconds(program: str) -> float:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode:
        raise SuppleError(f"a fresh process failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)
