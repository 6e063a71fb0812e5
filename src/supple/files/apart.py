"""Readers that are not ours (MuJoCo's compiler, trimesh) work in a process apart, with limits of time and memory.

They crash, hang or fill the memory on files of a few bytes: a body replicated 10^9 times, a model that attaches itself,
a zip archive of zeros. None of that can be known from outside, so it happens in another process, and here is an error.
The process starts while its library is imported here, serves one file after the other, and is replaced when it has
died or grown.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from supple.errors import ParseError, StateError
from supple.reading import LARGEST_FILE

SECONDS = 6.0  #: that a file may take
STARTING = 60.0  #: seconds that the libraries may take to load
MEMORY = 2048.0  #: megabytes

Process = subprocess.Popen[bytes]
Answer = tuple[dict[str, Any], bytes]

WORKER = Path(__file__).with_name("apart_worker.py")
LONGEST = 2**20  #: bytes of the line that heads a reply


class Reader:
    """A process that reads files for this one. answer: the Python file beside this one whose function does it
    (see WORKER); name: of the library that it calls."""

    def __init__(self, answer: str, name: str) -> None:
        self._answer, self._name = Path(__file__).with_name(answer), name
        self._process: Process | None = None
        self._ready = False  # whether it has loaded its libraries
        self._lock = threading.Lock()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def start(self) -> None:
        """Start the process, if it is not running, and do not wait for it."""
        with self._lock:
            self._running()

    def ask(self, file: str, **request: Any) -> tuple[dict[str, Any], bytes]:
        """The reply on a file; a ParseError where the file is refused, or was too much for the process."""
        seconds = _setting("SUPPLE_FILE_SECONDS", SECONDS)
        memory = int(_setting("SUPPLE_FILE_MEMORY", MEMORY) * 2**20)
        whole = dict(request, file=str(Path(file).absolute()), memory=memory, seconds=seconds)
        with self._lock:
            process = self._running()
            if not self._ready:
                reply, _ = self._within(STARTING, _reply, process)
                if "refused" in reply:
                    raise ParseError(f"cannot be read, since {self._name} does not start: {reply['refused']}", file)
                self._ready = True
            reply, data = self._within(seconds, _exchange, process, whole)
        if "refused" in reply:
            raise ParseError(str(reply["refused"]), file, reply.get("line"))
        return reply, data

    def _within(self, seconds: float, step: Callable[..., Answer], process: Process, *args: Any) -> Answer:
        """A step of the conversation; where the process takes longer it is ended, and that is the reply."""
        late = threading.Event()
        timer = threading.Timer(seconds, self._stop, (process, late))
        timer.start()
        try:
            reply, data = step(process, *args)
        except (OSError, ValueError, EOFError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)  # it has died, or will have, and its exit code says of what
            reply, data = {"last": True}, b""
        except BaseException:
            self._discard()
            raise
        finally:
            timer.cancel()
            timer.join()
        if reply.get("last") or late.is_set():
            self._discard()
        return (reply, data) if "bytes" in reply else ({"refused": self._death(process, late.is_set(), seconds)}, b"")

    def close(self) -> None:
        """End the process. Another is started when it is needed."""
        with self._lock:
            self._discard()

    def _running(self) -> Process:
        if self._process is None or self._process.poll() is not None:
            self._discard()
            path = json.dumps([str(Path(p).absolute()) for p in sys.path if p])
            command = [sys.executable, "-I", "-S", str(WORKER), str(self._answer), path]
            few = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=Path(sys.executable).anchor or None,
                    env=os.environ | few,
                )
            except OSError as e:
                raise ParseError(f"the process that reads {self._name} cannot be started: {e}") from None
        return self._process

    def _stop(self, process: Process, late: threading.Event) -> None:
        late.set()
        process.kill()

    def _discard(self) -> None:
        process, self._process, self._ready = self._process, None, False
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                with contextlib.suppress(OSError):  # what was not written yet has nobody to read it
                    stream.close()
            process.wait()

    def _forget(self) -> None:
        """In a process forked from this one: the process that reads belongs to the parent."""
        if self._process is not None:
            self._process.returncode = 0
        self._process, self._ready, self._lock = None, False, threading.Lock()

    def _death(self, process: Process, late: bool, seconds: float) -> str:
        if late or -process.returncode in _signals("SIGXCPU"):
            return f"{self._name} takes more than {seconds:g} s to read it; SUPPLE_FILE_SECONDS=60 would give it 60 s"
        if -process.returncode in _signals("SIGKILL", "SIGABRT"):
            memory = _setting("SUPPLE_FILE_MEMORY", MEMORY)
            return (
                f"{self._name} gave up on it, perhaps for want of memory: it may have {memory:g} MB, and "
                f"SUPPLE_FILE_MEMORY={4 * memory:g} would give it more"
            )
        return f"{self._name} crashed on it (exit code {process.returncode})"


def _exchange(process: Process, request: dict[str, Any]) -> Answer:
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    return _reply(process)


def _reply(process: Process) -> Answer:
    assert process.stdout is not None
    head = process.stdout.readline(LONGEST)
    if not head.endswith(b"\n"):
        raise EOFError
    reply: dict[str, Any] = json.loads(head)
    if reply["bytes"] > LARGEST_FILE:
        return {"refused": f"what is in it is larger than {LARGEST_FILE >> 20} MB", "last": True, "bytes": 0}, b""
    data = process.stdout.read(reply["bytes"])
    if len(data) != reply["bytes"]:
        raise EOFError
    return reply, data


def _signals(*names: str) -> list[int]:
    import signal

    return [int(getattr(signal, name)) for name in names if hasattr(signal, name)]


def _setting(name: str, default: float) -> float:
    text = os.environ.get(name)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e9:
        raise StateError(f"{name} is {text!r}; set it to a number above zero")
    return value
