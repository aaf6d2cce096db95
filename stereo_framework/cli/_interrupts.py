"""Ctrl-C that is not lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Interrupts as usual; and a check that raises KeyboardInterrupt if one came that nobody saw.

    Python drops an exception that is raised while it clears weak references, which libraries do all the time.
    """
    came = threading.Event()

    def interrupt(number: int, frame: object) -> None:
        came.set()
        raise KeyboardInterrupt

    def check() -> None:
        if came.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield check
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
