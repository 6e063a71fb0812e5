"""The other end of apart.py: a process that answers requests about files within limits of memory and processor time.

Run as a script, `python -I -S apart_worker.py ANSWER SYS_PATH`, and importing nothing of Supple, so that it starts in
hundredths of a second. ANSWER is a Python file with a function `answer(request)`: a dictionary into a dictionary and
bytes. Requests come as lines of JSON on standard input; a reply is a line of JSON, then as many bytes as it says. A
first reply comes unasked, when everything is loaded.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

GROWN = 300_000_000  #: bytes of memory after which a process is not used again

with contextlib.suppress(ImportError):  # not on Windows
    import resource


def limit(memory: int, seconds: float) -> None:
    """No more address space than that, in bytes, and no more processor time from now on. Where the system can."""
    if "resource" not in globals():
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    wanted = {resource.RLIMIT_AS: memory, resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime + seconds) + 1}
    for what, most in {**wanted, resource.RLIMIT_CORE: 0}.items():
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(what)[1]
            resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def has_grown() -> bool:
    """Whether the files of the past have left much memory behind, so that the next would have less. Where the system
    tells: what getrusage says of a new process is what its parent had."""
    try:
        with open("/proc/self/statm") as sizes:  # noqa: PTH123 (few imports)
            resident = int(sizes.read().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError, NameError):
        return False
    return resident > GROWN


def work(answer: Any, replies: Any) -> None:
    """Answer requests until there are no more."""
    say(replies, {})
    for line in sys.stdin.buffer:
        request = json.loads(line)
        limit(request["memory"], request["seconds"])
        data = b""
        try:
            reply, data = answer(request)
        except MemoryError:
            reply = {"refused": "it takes too much memory"}
        except Exception as e:
            reply = {"refused": f"{type(e).__name__}: {e}"[:2000]}
        last = has_grown()
        say(replies, {**reply, "last": last}, data)
        if last:
            return


def say(replies: Any, reply: dict[str, Any], data: bytes = b"") -> None:
    """Send a reply; the first says that the libraries are loaded."""
    replies.write(json.dumps({**reply, "bytes": len(data)}).encode() + b"\n")
    replies.write(data)
    replies.flush()


def answers_of(path: str, replies: int) -> Any:
    """The function `answer` of a file, whose module knows as REPLIES where replies go."""
    spec = spec_from_file_location("answers", path)
    assert spec is not None and spec.loader is not None
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.REPLIES = replies
    return module.answer


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides what Ctrl-C means
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no reply
    sys.path[:] = json.loads(sys.argv[2])
    try:
        function = answers_of(sys.argv[1], out.fileno())
    except Exception as e:
        say(out, {"refused": f"{type(e).__name__}: {e}"})
        raise
    work(function, out)
    os._exit(0)  # libraries with threads of their own may not end
