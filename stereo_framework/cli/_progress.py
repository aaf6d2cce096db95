"""Show the progress of long work on the error stream, and handle interrupts.

`Progress` shows what a command computes: as a bar on a terminal, and otherwise as a
line every few seconds. `interruptible` and `continuable` end a command after Ctrl-C or
SIGTERM.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from stereo_framework.cli._shared import as_typed
from stereo_framework.kernels.compiling import reporting_compilation_to
from stereo_framework.kernels.progress import (
    duration_text,
    reporting_iterations_to,
    reporting_steps_to,
)

COMPILING = (
    "compiling the method: this takes up to half a minute, or some minutes on a busy machine; "
    "it happens only before the first use, and reported times exclude it"
)
"""Line that is printed when the first kernel is compiled."""
EVERY_SECONDS = 5.0
"""Seconds between two lines of progress, if the error stream is no terminal."""


@dataclass(frozen=True)
class _Loop:
    """A loop that is running.

    Parameters
    ----------
    done, total : int
        Number of rounds that are done, and of all rounds.
    start : float
        Time at which the loop began, as `time.monotonic` gives it.
    """

    done: int
    total: int
    start: float

    def time_left(self) -> str:
        """Return the time left; empty before the first round is done."""
        if not self.done:
            return ""
        seconds_per_round = (time.monotonic() - self.start) / self.done
        return f"about {duration_text(seconds_per_round * (self.total - self.done))} left"


@dataclass(frozen=True)
class _Start:
    """The beginning of the computation.

    Parameters
    ----------
    time : float
        Time of the beginning, as `time.monotonic` gives it.
    count : int
        Number of results that an earlier run had computed.
    """

    time: float
    count: int


class Progress:
    """Display of the progress of a command, within a ``with`` block.

    The display shows the number of results, the speed, and the time left. It also shows
    the stage that is computed, the rounds of its loops, and whether kernels are
    compiled.

    Parameters
    ----------
    total : int
        Number of all results, also of an earlier run. The caller adds finished
        results to the attribute ``count``, and sets it to the number of earlier results
        before the work begins.
    things : str
        Plural noun for the results.
    """

    def __init__(self, total: int, things: str = "runs"):
        self._stack = contextlib.ExitStack()
        self.total = total
        self.things = things
        self.count = 0
        self._start: _Start | None = None

        # The thread that made this object may let other threads compute. `_work` has a
        # description of the present work of each thread. `_loops` has the running loops
        # of each thread, by the noun for one round.
        self._home_thread = threading.get_ident()
        self._latest_thread = self._home_thread
        self._work: dict[int, str] = {}
        self._loops: dict[int, dict[str, _Loop]] = {}

        self._kernel = ""
        self._compiled_kernels = set[str]()
        self._console: Any = None
        self._ended = threading.Event()

    def __enter__(self) -> Progress:
        # The stack ends these registrations when the block ends.
        self._stack.enter_context(reporting_compilation_to(self._note_kernel))
        self._stack.enter_context(reporting_steps_to(self.watch))
        self._stack.enter_context(reporting_iterations_to(self._note_round))
        self._console = _console_with_bars()
        if self._console is None:
            self._start_lines()
        else:
            self._start_bar()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    # --- events -----------------------------------------------------------------------

    def watch(self, doing: str) -> None:
        """Note the work that the calling thread begins.

        The first call starts the clock. Results that were counted before it do not
        influence the speed, because an earlier run computed them.

        Parameters
        ----------
        doing : str
            Name of a scene and of a stage, such as ``"Teddy: census"``, or a
            description of other work, such as ``"writing files"``.
        """
        if self._start is None:
            self._start = _Start(time.monotonic(), self.count)
        self._latest_thread = threading.get_ident()
        self._work[self._latest_thread] = self._description(doing)

    def _description(self, doing: str) -> str:
        """Return the text that shows some work."""
        scene, colon, stage = doing.rpartition(": ")
        if not colon:
            return doing
        if self.total > 1:
            return f"{scene}: stage {stage}"
        # A single result has a single scene, so the name of the scene adds nothing.
        return f"stage {stage}"

    def _note_round(self, thread: int, done: int, total: int, noun: str) -> None:
        """Note how many rounds of a loop are done; the first call has ``done`` 0.

        Parameters
        ----------
        thread : int
            Number of the thread that runs the loop.
        done, total : int
            Number of rounds that are done, and of all rounds. The loop is over if they
            are equal.
        noun : str
            Singular noun for a round. The running loops of a thread have different
            nouns.
        """
        loops = self._loops.setdefault(thread, {})
        if done == total:
            loops.pop(noun, None)
            return
        start = loops[noun].start if noun in loops else time.monotonic()
        loops[noun] = _Loop(done, total, start)
        self._latest_thread = thread

    def _note_kernel(self, kernel: str) -> None:
        """Note the kernel that is compiled now; an empty name ends the compilation."""
        self._kernel = kernel
        if not kernel:
            return
        if not self._compiled_kernels:
            self._print(COMPILING)
        self._compiled_kernels.add(kernel)

    # --- texts ------------------------------------------------------------------------

    def rate(self) -> str:
        """Return the speed and the time left; empty before a result is computed."""
        if self._start is None or self.count <= self._start.count:
            return ""
        speed = (self.count - self._start.count) / self._seconds()
        if speed >= 1:
            speed_text = f"{speed:.3g} {self.things}/s"
        else:
            thing = self.things[:-1]
            speed_text = f"{1 / speed:.3g} s a {thing}"
        seconds_left = (self.total - self.count) / speed
        return f"{speed_text}, about {duration_text(seconds_left)} left"

    @property
    def doing(self) -> str:
        """Return the present work: the stage, the rounds of its loops, the compilation."""
        home_work = self._work.get(self._home_thread, "")
        parts = [self._work.get(self._latest_thread) or home_work]
        for noun, loop in self._running_loops().items():
            parts.append(f"{noun} {loop.done + 1} of {loop.total}")
        if self._kernel:
            # The names of the kernels are private, so they are counted instead.
            parts.append(f"compiling function {len(self._compiled_kernels)}")
        return _joined(parts)

    @property
    def left(self) -> str:
        """Return the time left of the outermost loop; empty if it is unknown."""
        loop = self._outermost_loop()
        return "" if loop is None else loop.time_left()

    def _running_loops(self) -> dict[str, _Loop]:
        """Return the loops that are shown, by their nouns, the outermost one first.

        Loops of the home thread may wait for other threads. Therefore they come first,
        in the order in which they began, and the loops of the thread of the latest
        event follow. If both threads have a loop with the same noun, the loop of the
        latest event takes the place of the loop of the home thread.
        """
        home_loops = self._loops.get(self._home_thread, {})
        latest_loops = self._loops.get(self._latest_thread, {})
        return home_loops | latest_loops

    def _outermost_loop(self) -> _Loop | None:
        """Return the outermost running loop, or None if no loop is running."""
        return next(iter(self._running_loops().values()), None)

    def _seconds(self) -> float:
        """Return the seconds since the clock was started."""
        return 0.0 if self._start is None else time.monotonic() - self._start.time

    # --- display ----------------------------------------------------------------------

    def _print(self, line: str) -> None:
        """Print a line above the bar, or between the lines of progress."""
        if self._console is None:
            _print_line(line)
        else:
            self._console.print(line)

    def _start_bar(self) -> None:
        """Draw the bar at the bottom of the terminal until the work ends."""
        from rich.live import Live

        live = Live(get_renderable=self._bar_line, console=self._console, transient=True)
        self._stack.callback(live.stop)
        # If no thread can be started, the bar does not move, and the work goes on.
        with contextlib.suppress(RuntimeError):
            live.start()

    def _bar_line(self) -> Any:
        """Return the present work, the bar, and the time, as a terminal shows them."""
        from rich.columns import Columns
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        loop = self._outermost_loop()
        counted = ""
        if self.total > 1:
            done, total = self.count, self.total
            counted = f"{self.count}/{self.total}"
        elif loop is not None:
            done, total = loop.done, loop.total
        else:
            # A bar without an end moves to and fro.
            done, total = self.count, None

        speed_text = self.rate() or self.left
        words = f"{counted} {_clock(self._seconds())} {speed_text}"
        bar = ProgressBar(total, done, width=40, pulse=total is None)
        return Columns([Text(self.doing), bar, Text(words.strip())])

    def _start_lines(self) -> None:
        """Start the thread that prints a line every few seconds."""
        thread = threading.Thread(target=self._print_lines, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # If no thread can be started, the work goes on without these lines.
            return
        # The thread ends before the results are printed, so that no line of progress
        # appears between them. Callbacks run in reverse order: the event comes first.
        self._stack.callback(thread.join)
        self._stack.callback(self._ended.set)

    def _print_lines(self) -> None:
        """Print a line every few seconds until the work ends."""
        while not self._ended.wait(EVERY_SECONDS):
            work = _joined([self.doing, self.left])
            if self.total == 1 and work and self._start is not None:
                _print_line(f"{work}, {duration_text(self._seconds())} so far")
            elif self.total > 1 and self.count < self.total:
                _print_line(self._line_of_several_results(work))

    def _line_of_several_results(self, work: str) -> str:
        """Return the number of results, the speed and the present work in one line."""
        count = f"{self.count} of {self.total} {self.things} done"
        line = _joined([count, self.rate()])
        return f"{line} ({work})" if work else line


def _console_with_bars() -> Any:
    """Return a console that draws bars on the error stream, or None if none can be drawn.

    A terminal that cannot move its cursor (TERM=dumb) gets lines, as a file does.
    """
    if not sys.stderr.isatty():
        return None

    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_interactive else None


def _print_line(line: str) -> None:
    """Print a line to the error stream.

    The line and its end are written at once, because other threads write there too.
    """
    print(f"{line}\n", end="", file=sys.stderr, flush=True)


def _print_in_handler(line: str) -> None:
    """Print a line to the error stream from a handler of signals.

    The handler may interrupt a write to the same stream, so it must not use its buffer.
    """
    with contextlib.suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), f"{line}\n".encode(errors="backslashreplace"))


def _joined(parts: list[str]) -> str:
    """Join the texts that are not empty by commas."""
    return ", ".join([part for part in parts if part])


def _clock(seconds: float) -> str:
    """Return a time as minutes and seconds, such as 2:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


# --- interrupts -----------------------------------------------------------------------


def ending(interrupt: KeyboardInterrupt) -> tuple[str, int]:
    """Return the word for an interrupt in a message, and the exit status.

    An interrupt is Ctrl-C (SIGINT) or SIGTERM. The system and batch queues send SIGTERM
    to end a program.

    Parameters
    ----------
    interrupt : KeyboardInterrupt
        Its argument is the number of the signal; without an argument it is SIGINT.

    Returns
    -------
    word : str
        "interrupted" or "terminated", for a message.
    status : int
        128 plus the number of the signal, which is the convention of shells.
    """
    number = interrupt.args[0] if interrupt.args else signal.SIGINT
    word = "terminated" if number == signal.SIGTERM else "interrupted"
    return word, 128 + number


@contextlib.contextmanager
def interruptible(first_words: str = "") -> Iterator[Callable[[], None]]:
    """Raise KeyboardInterrupt for SIGINT and SIGTERM within the block.

    Python ignores an exception that a signal handler raises in a callback of a weak
    reference, and libraries run many such callbacks. Therefore the block gets a
    function that raises KeyboardInterrupt again if there was an interrupt. In another
    thread than the main one, signals are left as they are, and the function does
    nothing.

    Parameters
    ----------
    first_words : str
        Line that is printed as soon as the first interrupt comes.
    """
    signals: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        if first_words and not signals:
            _print_in_handler(first_words)
        signals.append(number)
        check()

    def check() -> None:
        if signals:
            raise KeyboardInterrupt(signals[-1])

    # Python allows handlers of signals in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    # signal.signal sets a handler and returns the former one.
    former_handlers = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield check
    finally:
        for number, handler in former_handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def continuable(progress: Progress, things: str, out: Path | None) -> Iterator[Callable[..., None]]:
    """Show the progress of the block, and end the program after an interrupt.

    The block gets a function that adds a number of finished results, by default 1, to
    the progress. After an interrupt, a message gives the number of finished results and
    explains how to continue.

    Parameters
    ----------
    progress : Progress
    things : str
        Plural noun for the stored results. ``progress.things`` is the noun for the
        computations.
    out : Path or None
        Folder in which the results are stored; None: they are not stored.
    """
    message = (
        f"interrupt received: no more {progress.things} begin, and those in progress "
        "end first, which may take a minute"
    )
    if out is not None:
        message += f"; finished {things} are kept"
    try:
        with progress, interruptible(message) as check:

            def add_finished(number: int = 1) -> None:
                progress.count += number
                check()

            yield add_finished
    except KeyboardInterrupt as interrupt:
        if out is None:
            hint = f"nothing was stored; --out DIR keeps {things}"
        else:
            hint = as_typed(f"the same command continues from {out}")
        word, status = ending(interrupt)
        finished = f"{progress.count} of {progress.total} {things}"
        print(f"{word} after {finished}; {hint}", file=sys.stderr)
        sys.exit(status)
