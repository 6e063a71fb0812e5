"""The loop that has a sweep run: bundles out, results in, nothing lost.

Runs are bundled so that a bundle takes a quarter of a second; what a bundle has not made after a second goes back, so
that runs that are suddenly slow are neither one worker's alone nor late in the store. If a process dies, the bundles
that were under way are suspect: each is made again alone, a half at a time if it kills its process again, until the run
that does it is known; that run is a recorded failure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import SweepError
from supple.sweeping.engines import Engine, Gone, Serial, died
from supple.sweeping.outcomes import Outcome, failure
from supple.sweeping.plan import Plan
from supple.sweeping.table import Table
from supple.sweeping.work import Batch, Parcel, Work, do, do_here, parcel

BUNDLE = 0.25  #: seconds
LARGEST = 4096  #: runs of a bundle
AHEAD = 2  #: bundles for each worker
LOOK = 0.2  #: seconds between two looks at the clock
DEATHS = 2  #: of processes with one run alone, before that run is a failure

Ints = NDArray[np.int64]


@dataclass
class Bundle:
    runs: Ints
    deaths: int = 0  #: of processes in which it was alone
    suspect: bool = False  #: of having killed its process
    told: bool = False  #: sent with all that a worker needs to know

    def halves(self) -> list[Bundle]:
        half = len(self.runs) // 2
        return [Bundle(self.runs[:half], suspect=True), Bundle(self.runs[half:], suspect=True)]


class Driver:
    """batch: runs of a batch; None: they are made one by one."""

    def __init__(self, plan: Plan, work: Work, table: Table, engine: Engine, batch: int | None) -> None:
        self._plan, self._work, self._table, self._engine = plan, work, table, engine
        self._batch = batch
        self._parcel: Parcel | None = None if isinstance(engine, Serial) else parcel(work)
        self._seconds: float | None = None  #: of a run
        self._suspects: deque[Bundle] = deque()
        self._again: deque[Bundle] = deque()
        self._left = self._bundles(table.missing)
        self._pending: dict[Future[Any], Bundle] = {}
        self.halted = False

    def halt(self) -> None:
        """Begin no more runs."""
        self.halted = True

    def run(self, look: Callable[[], None]) -> None:
        """Until all runs have a result, or it is halted. look: called now and then."""
        while not self.halted and (self._fill() or self._pending or self._reopened()):
            done, _ = wait(self._pending, LOOK, FIRST_COMPLETED)
            try:
                self._engine.check()
                came = [future for future in self._pending if future in done]  # in the order of the runs
                for future in sorted(came, key=lambda f: f.exception() is not None):
                    self._take(future)
            except Gone:
                self._lost()
            if getattr(self._table, "due", False):
                self._table.flush()
            look()
        for future in self._pending:
            future.cancel()

    def _reopened(self) -> bool:
        """Whether runs that were done are to be made again: they are, when all others are."""
        again, self._table.reopened = self._table.reopened, False
        if again:
            self._left = self._bundles(self._table.missing)
        return again

    def _fill(self) -> bool:
        """Submit what there is to do; whether there was any."""
        alone = bool(self._suspects) or any(b.suspect for b in self._pending.values())
        most = 1 if alone else AHEAD * self._engine.workers
        some = False
        while len(self._pending) < most and (bundle := self._next()) is not None:
            try:
                self._submit(bundle)
                some = True
            except Gone:
                self._again.appendleft(bundle)
                self._lost()
                return True
        return some

    def _next(self) -> Bundle | None:
        for waiting in (self._suspects, self._again):
            if waiting:
                return waiting.popleft()
        return next(self._left, None)

    def _submit(self, bundle: Bundle) -> None:
        columns = {name: x.tolist() for name, x in self._plan.columns(bundle.runs).items()}
        if self._parcel is None:
            future = self._engine.submit(do_here, self._work, columns)
        else:
            future = self._engine.submit(do, self._parcel_of(bundle), columns)
        self._pending[future] = bundle

    def _parcel_of(self, bundle: Bundle) -> Parcel:
        """What is large is sent to those who ask for it."""
        assert self._parcel is not None
        return self._parcel._replace(content=None) if self._parcel.is_large and not bundle.told else self._parcel

    def _bundles(self, missing: Ints) -> Iterator[Bundle]:
        if self._batch is not None:
            yield from self._batches(missing)
            return
        at = 0
        while at < len(missing):
            size = self._size(len(missing) - at)
            yield Bundle(missing[at : at + size])
            at += size

    def _batches(self, missing: Ints) -> Iterator[Bundle]:
        """Always the same ones, so that results do not depend on who computes them: whole even if some are known."""
        assert self._batch is not None
        for number in np.unique(missing // self._batch).tolist():
            yield Bundle(np.arange(number * self._batch, min((number + 1) * self._batch, self._plan.size)))

    def _size(self, left: int) -> int:
        if self._seconds is None:
            return 1
        wanted = int(BUNDLE / max(self._seconds, 1e-7))
        fair = -(-left // (2 * AHEAD * self._engine.workers))
        return max(1, min(wanted, fair, LARGEST))

    def _take(self, future: Future[Any]) -> None:
        bundle, e = self._pending.get(future), future.exception()
        if bundle is None:
            return  # given up, with others
        if e is None:
            del self._pending[future]
            self._keep(bundle, future.result())
        elif isinstance(e, Gone):
            raise e
        elif died(e):
            self._died(future, whole=type(e).__name__ != "KilledWorker")
        else:
            hint = "; put what the function uses into a module that they can import" if "__main__" in str(e) else ""
            raise SweepError(f"the workers cannot run this: {failure(e)}{hint}") from None

    def _keep(self, bundle: Bundle, came: list[Outcome] | Batch | None) -> None:
        if came is None:
            bundle.told = True
            self._again.append(bundle)
            return
        seconds = came.seconds if isinstance(came, Batch) else sum(o.seconds for o in came)
        each = seconds / (len(bundle.runs) if isinstance(came, Batch) else len(came))
        self._seconds = each if self._seconds is None else 0.5 * (self._seconds + each)
        if isinstance(came, Batch):
            if came.values is not None:
                self._table.put_batch(int(bundle.runs[0]), came.values)
                return
            came = [Outcome(None, came.message, 0.0)] * len(bundle.runs)
        self._table.put(bundle.runs.tolist(), came)
        if len(came) < len(bundle.runs):
            self._again.append(Bundle(bundle.runs[len(came) :]))

    def _lost(self) -> None:
        """Nothing that is under way will come back."""
        self._again.extend(self._pending.values())
        self._pending.clear()
        self._table.flush()
        self._engine.restore()

    def _died(self, future: Future[Any], whole: bool) -> None:
        """A process died. whole: and with it all that was under way."""
        if whole:
            bundles = list(self._pending.values())
            self._pending.clear()
            self._table.flush()
            self._engine.restore()
        else:
            bundles = [self._pending.pop(future)]
        for bundle in bundles:
            bundle.suspect = True
        if len(bundles) > 1:
            self._suspects.extend(bundles)
        else:
            self._judge(bundles[0])

    def _judge(self, bundle: Bundle) -> None:
        """It was alone in a process that died."""
        bundle.deaths += 1
        if len(bundle.runs) > 1 and self._batch is None:
            self._suspects.extendleft(bundle.halves())
        elif bundle.deaths < DEATHS:
            self._suspects.appendleft(bundle)
        else:
            said = "its process died: it was killed, or ran out of memory, or crashed"
            self._table.put(bundle.runs.tolist(), [Outcome(None, said, 0.0)] * len(bundle.runs))
