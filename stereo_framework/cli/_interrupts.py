"""Ctrl-C, and being asked to end, that are not lost."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from stereo_framework.cli._progress import Progress


class Terminated(KeyboardInterrupt):
    """The system, or a batch queue, asks the program to end: as Ctrl-C, with another exit status."""


def ending(interrupt: KeyboardInterrupt) -> tuple[str, int]:
    """What happened, for the user, and the exit status that shells know it by: 128 and the number of the signal."""
    terminated = isinstance(interrupt, Terminated)
    return ("terminated", 128 + signal.SIGTERM) if terminated else ("interrupted", 128 + signal.SIGINT)


_KINDS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Interrupts as usual; and a check that raises KeyboardInterrupt if one came that nobody saw.

    Python drops an exception that is raised while it clears weak references, which libraries do all the time.
    """
    came: list[type[KeyboardInterrupt]] = []

    def interrupt(number: int, frame: object) -> None:
        came.append(_KINDS[signal.Signals(number)])
        raise came[-1]

    def check() -> None:
        if came:
            raise came[-1]

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield check
        return
    before = {number: signal.signal(number, interrupt) for number in _KINDS}
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
        with progress, interruptible() as check:
            yield count
    except KeyboardInterrupt as error:
        hint = f"the same command continues from {out}" if out else f"nothing was stored; --out DIR keeps {things}"
        word, status = ending(error)
        print(f"{word} after {progress.count} of {progress.total} {things}; {hint}", file=sys.stderr)
        sys.exit(status)
