"""Compiling told apart from computing: the clock by which stages are timed, and who hears that kernels are being compiled.

numba compiles a kernel when it is called for the first time, or loads it from its cache. It tells of both by events in the thread that
calls; the time that a thread waits while another compiles lies between the same events.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any


class Account:
    """How long the threads that work on one thing have been compiling: the time in which at least one of them was."""

    def __init__(self) -> None:
        self.seconds, self.thread = 0.0, threading.get_ident()
        self._busy, self._since = 0, 0.0
        self._lock = threading.Lock()

    def note(self, begins: bool) -> None:
        """Note that a thread begins, or ends, to compile a kernel, perhaps within another one that calls it."""
        with self._lock:
            # Who was compiling when listening began was not seen to begin.
            if not begins and self._busy == 0:
                return
            now = time.perf_counter()
            self.seconds += now - self._since if self._busy else 0
            self._busy, self._since = self._busy + (1 if begins else -1), now


_ACCOUNT: ContextVar[Account | None] = ContextVar("account", default=None)
_LISTENERS: list[Callable[[str], None]] = []


def working_time() -> float:
    """Seconds since some moment, without those in which kernels were compiled or loaded for this thread, by itself or by those that work for it.

    Differences count.
    """
    _listen()
    account = _ACCOUNT.get()
    # Whose context was copied, as for a run of a sweep, keeps an account of his own.
    if account is None or account.thread != threading.get_ident():
        account = Account()
        _ACCOUNT.set(account)
    return time.perf_counter() - account.seconds


@contextlib.contextmanager
def compiling_announced_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Within the block, call the listener with the name of each of our kernels that begins to be compiled, and with "" when it is compiled.

    Kernels that are loaded from the cache are not announced.
    """
    _listen()
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def announce_compiling(name: str) -> None:
    """Announce which kernel is being compiled, here or in a process that works for this one; "": none any more."""
    for listener in list(_LISTENERS):
        listener(name)


@functools.cache
def _listen() -> None:
    # numba loads slowly, and not everything that leads here computes.
    from stereo_framework.kernels.internals import listen

    # A kernel compiles those that it calls.
    opened: list[str] = []

    def locked(begins: bool) -> None:
        if account := _ACCOUNT.get():
            account.note(begins)

    def compiling(begins: bool, function: Callable[..., Any]) -> None:
        # A plug-in's kernels need not be cached: those may be compiled at every use.
        if not str(function.__module__).startswith("stereo_framework.") or not (begins or opened):
            return
        opened[:] = [*opened, function.__qualname__] if begins else opened[:-1]
        announce_compiling(opened[-1] if opened else "")

    listen(locked, compiling)
