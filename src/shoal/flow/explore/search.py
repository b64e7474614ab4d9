"""Search through settings: several at a time, until all are tried, the time is up, or the listener has seen enough.

Settings run in daemon threads, because a kernel cannot be ended from outside: when the search stops, running settings
are asked to stop through their progress reports, and those that do not respond are abandoned. Their results are not
used, since a search that was cut short would give another result on another machine.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from shoal import progress
from shoal.errors import ShoalError
from shoal.flow.explore.grid import Candidate
from shoal.flow.explore.run_setting import Result
from shoal.recipe.recipe import Recipe

now = time.monotonic
_TICK = 0.1  # seconds between looks at the clock and at the listener
_WRITING = 0.05  # share of the time that is kept for the page and the tables

TIME, ASKED = "the time was up", "the search was stopped"


def fitting(costs: Sequence[float], levels: Sequence[int], seconds: float) -> set[int]:
    """Return which settings fit into the time together: coarse ones first, then in their order.

    A setting that does not fit is skipped, so that cheaper ones after it may run. The cheapest of the coarsest always
    runs.

    >>> sorted(fitting([5.0, 1.0, 3.0, 2.0], [0, 1, 0, 1], 9.0))
    [0, 1, 2]
    """
    order = sorted(range(len(costs)), key=lambda at: (levels[at], at))
    found, spent = set(), 0.0
    for at in order:
        if spent + costs[at] <= seconds:
            found.add(at)
            spent += costs[at]
    return found or set(sorted(order, key=lambda at: (levels[at], costs[at]))[:1])


class Trial(NamedTuple):
    """A setting to try, and its estimated time."""

    candidate: Candidate
    seconds: float


class Searched(NamedTuple):
    """The outcome of a search."""

    results: list[Result | ShoalError | None]  #: in the order of the trials; None: not finished
    stopped: str  #: why the search stopped early, or ""


def deadline(seconds: float) -> float:
    """Return the moment at which a search that begins now must stop, so that its page is written in time."""
    return now() + (1 - _WRITING) * seconds


def at_once(try_: Callable[[Recipe], Result], trials: Sequence[Trial], jobs: int, until: float) -> Searched:
    """Try settings, up to `jobs` at once; if none can run, raise the error of the first.

    Coarse settings are tried first, cheap ones first among them. None is begun if its estimate does not fit into the
    remaining time, but one of them always is; past the deadline the search still waits for a first result. The time
    that kernels take to compile, once, extends the deadline.

    Threads suffice: kernels hold no lock, and the table is not copied. Settings are independent, so their results are
    the same for any number of jobs.

    Parameters
    ----------
    try_
        Tries one setting.
    trials
        The settings.
    jobs
        Number of threads.
    until
        The deadline, by :data:`now`.

    Raises
    ------
    Enough
        If the listener has seen enough before any setting has finished.
    """
    progress.stage("Explore")
    search = _Search(try_, trials, until)
    for _ in range(jobs):
        threading.Thread(target=search.work, name=progress.TRIAL, daemon=True).start()
    try:
        for count in search.arrivals(jobs):
            progress.report(count, len(trials))
            if search.left <= 0 and any(isinstance(one, Result) for one in search.found.values()):
                search.stopped = TIME
                break
    except progress.Enough:
        search.stopped = ASKED
        if not any(isinstance(one, Result) for one in search.found.values()):
            raise
    finally:
        search.stop.set()
        search.compiling.close()
    results = [search.found.get(at) for at in range(len(trials))]
    errors = [result for result in results if isinstance(result, ShoalError)]
    if len(errors) == len(search.found):
        raise errors[0]
    unfinished = len(search.found) < len(trials)
    return Searched(results, (search.stopped or TIME) if unfinished else "")


@dataclass(eq=False)
class _Search:
    """The state that the threads of a search share."""

    try_: Callable[[Recipe], Result]
    trials: Sequence[Trial]
    until: float
    stop: threading.Event = field(default_factory=threading.Event)
    stopped: str = ""
    found: dict[int, Result | ShoalError] = field(default_factory=dict)
    _begun: bool = False
    _told: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _arrived: queue.SimpleQueue[Callable[[], bool]] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        trials = self.trials
        order = sorted(range(len(trials)), key=lambda at: (trials[at].candidate.level, trials[at].seconds, at))
        self._waiting = deque(order)
        from shoal.kernels.runtime.compile_clock import CompileTime  # which imports numba

        self.compiling = CompileTime()

    @property
    def left(self) -> float:
        """The remaining seconds. Compilation of kernels, which happens once, does not count."""
        return self.until + self.compiling.seconds - now()

    def arrivals(self, threads: int) -> Iterator[int]:
        """Yield how many settings have finished, whenever one has and at every tick, until all threads have ended."""
        while threads:
            with suppress(queue.Empty):
                threads -= self._arrived.get(timeout=_TICK)()
            yield len(self.found)

    def work(self) -> None:
        """Try settings one after another, in a separate thread."""
        try:
            with progress.listening(_Worker(self.stop, self._said)):
                while (at := self._next()) is not None:
                    begun = now()
                    result = _attempted(self.try_, self.trials[at].candidate)
                    self._arrived.put(self._finished(at, result, now() - begun))
        except progress.Enough:
            pass
        except BaseException as error:  # raised again by the thread that waits
            self._arrived.put(_raising(error))
        self._arrived.put(lambda: True)

    def _next(self) -> int | None:
        """Return the next setting whose estimate fits into the remaining time; None if no setting does."""
        with self._lock:
            while self._waiting and not self.stop.is_set():
                at = self._waiting.popleft()
                if not self._begun or self.trials[at].seconds <= self.left:
                    self._begun = True
                    return at
        return None

    def _said(self, text: str) -> None:
        def say() -> bool:
            if not self._told:
                progress.say(text)
            self._told = True
            return False

        self._arrived.put(say)

    def _finished(self, at: int, result: Result | ShoalError, seconds: float) -> Callable[[], bool]:
        def record() -> bool:
            self.found[at] = result
            name = self.trials[at].candidate.name
            progress.finished(f"[{len(self.found)}/{len(self.trials)}] {name}: {_figures(result)}, {seconds:.1f} s")
            return False

        return record


class _Worker(NamedTuple):
    """Listener of a thread: stops its work once the search has stopped, and passes on that kernels are compiled."""

    stop: threading.Event
    pass_on: Callable[[str], None]

    def stage(self, name: str) -> None:
        """End the work if the search has stopped."""
        if self.stop.is_set():
            raise progress.Enough

    def report(self, done: int, total: int) -> None:
        """End the work if the search has stopped."""
        self.stage("")

    def say(self, text: str) -> None:
        """Pass on that kernels are compiled, which explains a long silence; the rest is about one setting."""
        if text.startswith("compiling"):
            self.pass_on(text)

    def finished(self, text: str) -> None:
        """Ignore parts of a setting."""


def _raising(error: BaseException) -> Callable[[], bool]:
    def again() -> bool:
        raise error

    return again


def _attempted(try_: Callable[[Recipe], Result], candidate: Candidate) -> Result | ShoalError:
    """Try a setting, or return why it cannot run."""
    if candidate.recipe is None:
        assert candidate.fault is not None
        return candidate.fault
    try:
        return try_(candidate.recipe)
    except ShoalError as error:  # of this setting; others may succeed
        return error


def _figures(result: Result | ShoalError) -> str:
    if isinstance(result, ShoalError):
        return "could not be run"
    risk = "" if result.risk != result.risk else f", risk {result.risk:.2f} %"
    return f"loss {result.loss:.2f} %{risk}"
