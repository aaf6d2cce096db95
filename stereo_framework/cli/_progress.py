"""How far something that takes long is, for people: a bar on a terminal, a line every few seconds elsewhere; and Ctrl-C, and being asked to end, that are not lost."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stereo_framework.cli._shared import as_typed
from stereo_framework.kernels.compiling import compiling_announced_to
from stereo_framework.kernels.counting import announced_to, rounds_counted_by

COMPILING = (
    "compiling the method: this happens only before its first use, and reported times exclude it"
)
"""Line that is printed when the first kernel is compiled."""
EVERY_SECONDS = 5.0
"""How often progress is told where it cannot be drawn."""


class Progress(contextlib.ExitStack):
    """How far a sweep is, or what a single result waits for: stage, round of its loop, time left; once that kernels are compiled, and which.

    Parameters
    ----------
    total : int
        Results in all. Whoever computes adds those that are there to ``count``.
    things : str
        What they are, in the plural.
    """

    def __init__(self, total: int, things: str = "runs"):
        super().__init__()
        self.total, self.things, self.count = total, things, 0
        self._began: tuple[float, int] | None = None
        self._doing: dict[int, str] = {}
        self._loops: dict[int, dict[str, tuple[int, int, float]]] = {}
        self._home = self._latest = threading.get_ident()
        self._kernel, self._kernels = "", set[str]()
        self._console: Any = None
        self._ended = threading.Event()

    def __enter__(self) -> Progress:
        self.enter_context(compiling_announced_to(self._compiling))
        self.enter_context(announced_to(self.watch))
        self.enter_context(rounds_counted_by(self._loop))
        self._console = _console_with_bars()
        if self._console is None:
            self._start_lines()
        else:
            self._start_bar(self._console)
        return self

    def _start_bar(self, console: Any) -> None:
        """Draw the bar at the bottom of the terminal until the work ends."""
        from rich.live import Live

        bar = Live(get_renderable=self._bar, console=console, transient=True)
        self.callback(bar.stop)
        # If the system starts no thread, the bar does not move, and the work goes on.
        with contextlib.suppress(RuntimeError):
            bar.start()

    def _start_lines(self) -> None:
        """Start the thread that prints a line every few seconds."""
        thread = threading.Thread(target=self._tell, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # If the system starts no thread, the work goes on without these lines.
            return
        # No line comes late, between those of the results.
        self.callback(thread.join)
        self.callback(self._ended.set)

    def watch(self, doing: str) -> None:
        """Note the work that this thread begins.

        Results that were counted before the first call were computed by an earlier run.

        Parameters
        ----------
        doing : str
            A stage after the name of its scene, such as ``"planes: box"``, or words for
            other work.
        """
        if self._began is None:
            self._began = time.monotonic(), self.count
        self._latest = threading.get_ident()
        scene, colon, stage = doing.rpartition(": ")
        if not colon:
            self._doing[self._latest] = doing
        elif self.total > 1:
            self._doing[self._latest] = f"{scene}: stage {stage}"
        else:
            # A single result has a single scene, so the name of the scene adds nothing.
            self._doing[self._latest] = f"stage {stage}"

    def rate(self) -> str:
        """Speed and time left in words; empty while nothing can be said."""
        if self._began is None or self.count <= self._began[1]:
            return ""
        speed = (self.count - self._began[1]) / (time.monotonic() - self._began[0])
        left = (
            f"{speed:.3g} {self.things}/s"
            if speed >= 1
            else f"{1 / speed:.3g} s a {self.things[:-1]}"
        )
        return f"{left}, about {_duration((self.total - self.count) / speed)} left"

    @property
    def doing(self) -> str:
        """Return the present work: the stage, the rounds of its loops, the compilation."""
        parts = [self._doing.get(self._latest) or self._doing.get(self._home, "")]
        parts += [f"{noun} {done + 1} of {count}" for noun, (done, count, _) in self._present()]
        if self._kernel:
            # The names of the kernels are private, so they are counted instead.
            parts.append(f"compiling function {len(self._kernels)}")
        return ", ".join(filter(None, parts))

    @property
    def left(self) -> str:
        """How long the outermost loop still takes; empty while nothing can be said."""
        for _, (done, count, began) in self._present()[:1]:
            return (
                f"about {_duration((time.monotonic() - began) * (count - done) / done)} left"
                if done
                else ""
            )
        return ""

    def _present(self) -> list[tuple[str, tuple[int, int, float]]]:
        """The loops of what was heard last, the outermost first: what a round is, rounds done and in all, when it began.

        Around them are those of the thread that shows all this, which may have others work for it.
        """
        return list((self._loops.get(self._home, {}) | self._loops.get(self._latest, {})).items())

    def _loop(self, thread: int, done: int, count: int, what: str) -> None:
        loops = self._loops.setdefault(thread, {})
        if done == count:
            loops.pop(what, None)
        else:
            loops[what] = done, count, loops[what][2] if what in loops else time.monotonic()
            self._latest = thread

    def _compiling(self, kernel: str) -> None:
        if kernel and not self._kernels:
            _say(COMPILING) if self._console is None else self._console.print(COMPILING)
        self._kernel = kernel
        self._kernels |= {kernel} - {""}

    def _bar(self) -> Any:
        """What stands on a terminal at this moment."""
        from rich.columns import Columns
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        loops = (
            [(done, count) for _, (done, count, _) in self._present()] if self.total == 1 else []
        )
        done, end = [*loops, (self.count, self.total if self.total > 1 else None)][0]
        counted = f"{self.count}/{self.total}" if self.total > 1 else ""
        seconds = time.monotonic() - self._began[0] if self._began else 0
        words = f"{counted} {seconds // 60:.0f}:{seconds % 60:02.0f} {self.rate() or self.left}"
        # A bar without an end moves to and fro.
        return Columns(
            [
                Text(self.doing),
                ProgressBar(end, done, width=40, pulse=end is None),
                Text(words.strip()),
            ]
        )

    def _tell(self) -> None:
        """Print a line every few seconds until the work ends."""
        while not self._ended.wait(EVERY_SECONDS):
            doing = ", ".join(filter(None, [self.doing, self.left]))
            if self.total == 1 and doing and self._began is not None:
                _say(f"{doing}, {_duration(time.monotonic() - self._began[0])} so far")
            elif self.total > 1 and self.count < self.total:
                _say(self._line_of_several_results(doing))

    def _line_of_several_results(self, doing: str) -> str:
        """Return the number of results, the speed and the present work in one line."""
        parts = [f"{self.count} of {self.total} {self.things} done", self.rate()]
        line = ", ".join(filter(None, parts))
        return f"{line} ({doing})" if doing else line


def _console_with_bars() -> Any:
    """Return a console that draws bars on the error stream, or None if none can be drawn.

    A terminal that cannot move its cursor (TERM=dumb) gets lines, as a file does.
    """
    if not sys.stderr.isatty():
        return None

    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_interactive else None


def _say(line: str) -> None:
    """Write a line to the error stream in one piece with its end, since others write there too."""
    print(f"{line}\n", end="", file=sys.stderr, flush=True)


def _say_in_handler(line: str) -> None:
    """Write a line to the error stream from a handler of signals.

    The handler may interrupt a write to the same stream, so it must not use its buffer.
    """
    with contextlib.suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), f"{line}\n".encode(errors="backslashreplace"))


def _duration(seconds: float) -> str:
    """A time to wait, as one says it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def ending(interrupt: KeyboardInterrupt) -> tuple[str, int]:
    """What happened, for the user, and the exit status that shells know it by: 128 and the number of the signal.

    SIGTERM, by which the system or a batch queue asks the program to end, is an interrupt as Ctrl-C is.
    """
    number = next(iter(interrupt.args), signal.SIGINT)
    return "terminated" if number == signal.SIGTERM else "interrupted", 128 + number


@contextlib.contextmanager
def interruptible(first_words: str = "") -> Iterator[Callable[[], None]]:
    """Interrupts as usual; and a check that raises KeyboardInterrupt if one came that nobody saw.

    Python drops an exception that is raised while it clears weak references, which libraries do all the time.

    Parameters
    ----------
    first_words : str
        Line that is printed as soon as the first interrupt comes.
    """
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        if first_words and not came:
            _say_in_handler(first_words)
        came.append(number)
        check()

    def check() -> None:
        if came:
            raise KeyboardInterrupt(came[-1])

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield check
        return
    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def continuable(progress: Progress, things: str, out: Path | None) -> Iterator[Callable[..., None]]:
    """Work of which parts are counted by what is given. An interrupt says how many there are and how to go on, and ends the program."""

    def count(more: int = 1) -> None:
        progress.count += more
        check()

    try:
        words = f"interrupt received: no more {progress.things} begin, and those in progress end first, which may take a minute"
        if out is not None:
            words += f"; finished {things} are kept"
        with progress, interruptible(words) as check:
            yield count
    except KeyboardInterrupt as error:
        hint = (
            as_typed(f"the same command continues from {out}")
            if out
            else f"nothing was stored; --out DIR keeps {things}"
        )
        word, status = ending(error)
        print(
            f"{word} after {progress.count} of {progress.total} {things}; {hint}", file=sys.stderr
        )
        sys.exit(status)
