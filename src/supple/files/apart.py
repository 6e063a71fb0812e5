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
from pathlib import Path
from typing import Any

from supple.errors import ParseError, StateError
from supple.reading import LARGEST_FILE

SECONDS = 6.0  #: that a file may take
MEMORY = 2048.0  #: megabytes

WORKER = Path(__file__).with_name("apart_worker.py")
LONGEST = 2**20  #: bytes of the line that heads a reply


class Reader:
    """A process that reads files for this one. answer: the Python file beside this one whose function does it
    (see WORKER); name: of the library that it calls."""

    def __init__(self, answer: str, name: str) -> None:
        self._answer, self._name = Path(__file__).with_name(answer), name
        self._process: subprocess.Popen[bytes] | None = None
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
        memory = _setting("SUPPLE_FILE_MEMORY", MEMORY)
        whole = dict(request, file=str(Path(file).absolute()), memory=int(memory * 2**20), seconds=seconds)
        with self._lock:
            process, late = self._running(), threading.Event()
            timer = threading.Timer(seconds, self._stop, (process, late))
            timer.start()
            try:
                reply, data = _exchange(process, whole)
            except BaseException as e:
                self._discard()
                if not isinstance(e, (OSError, ValueError, EOFError)):
                    raise
                reply, data = {"refused": self._death(process, late.is_set(), seconds, memory)}, b""
            finally:
                timer.cancel()
            if reply.get("last"):
                self._discard()
        if "refused" in reply:
            raise ParseError(str(reply["refused"]), file, reply.get("line"))
        return reply, data

    def close(self) -> None:
        """End the process. Another is started when it is needed."""
        with self._lock:
            self._discard()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._discard()
            command = [
                sys.executable,
                "-I",
                "-S",
                str(WORKER),
                str(self._answer),
                json.dumps([p for p in sys.path if p]),
            ]
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

    def _stop(self, process: subprocess.Popen[bytes], late: threading.Event) -> None:
        late.set()
        process.kill()

    def _discard(self) -> None:
        process, self._process = self._process, None
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
        self._process, self._lock = None, threading.Lock()

    def _death(self, process: subprocess.Popen[bytes], late: bool, seconds: float, memory: float) -> str:
        if late or -process.returncode in _signals("SIGXCPU"):
            return f"{self._name} takes more than {seconds:g} s to read it; SUPPLE_FILE_SECONDS=60 would give it 60 s"
        if -process.returncode in _signals("SIGKILL", "SIGABRT"):
            return (
                f"{self._name} gave up on it, perhaps for want of memory: it may have {memory:g} MB, and "
                f"SUPPLE_FILE_MEMORY={4 * memory:g} would give it more"
            )
        return f"{self._name} crashed on it (exit code {process.returncode})"


def _exchange(process: subprocess.Popen[bytes], request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    head = process.stdout.readline(LONGEST)
    if not head.endswith(b"\n"):
        raise EOFError
    reply: dict[str, Any] = json.loads(head)
    if reply["bytes"] > LARGEST_FILE:
        return {"refused": f"what is in it is larger than {LARGEST_FILE >> 20} MB", "last": True}, b""
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
