"""A recording that is being written while it is looked at."""

from __future__ import annotations

import time as clock
from contextlib import suppress
from pathlib import Path

from supple.errors import RecordingError
from supple.record.opening import in_use
from supple.simulating.result import Result
from supple.simulating.run import load_run

LOOKS = 1.0  #: seconds between two looks at a file: its writer commits as often


class Growing:
    """Opens a recording again when there is more of it. Ends when nobody writes it any more."""

    def __init__(self, result: Result) -> None:
        self._path = None if result.recording is None else Path(result.recording)
        self._states = len(result)
        self._opened: Result | None = None
        self._looked = clock.perf_counter()
        self.goes_on = self._path is not None and "stopped" in result.about and in_use(self._path)

    def longer(self) -> Result | None:
        """The recording, if it has grown since it was asked for last; asked for sooner, it has not."""
        if not self.goes_on or self._path is None or clock.perf_counter() - self._looked < LOOKS:
            return None
        self._looked = clock.perf_counter()
        written = in_use(self._path)  # before it is read: what is written afterwards is not missed
        with suppress(RecordingError, OSError):  # in the middle of a commit: another time
            found = load_run(self._path)
            self.goes_on = written
            if len(found) <= self._states:
                found.close()
                return None
            self.close()
            self._opened, self._states = found, len(found)
            return found
        return None

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
