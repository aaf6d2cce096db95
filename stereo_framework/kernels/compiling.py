"""Compiling told apart from computing: the clock by which stages are timed, and who hears that kernels are being compiled.

numba compiles a kernel when it is called for the first time, or loads it from its cache. It tells of both by events in the thread that
calls; the time that a thread waits while another compiles lies between the same events.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")


class Account:
    """How long the threads that work on one thing have been compiling: the time in which at least one of them was."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._busy, self._since = 0, 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """A thread begins to compile, or a kernel that another one calls."""
        with self._lock:
            if self._busy == 0:
                self._since = time.perf_counter()
            self._busy += 1

    def end(self) -> None:
        """It has."""
        with self._lock:
            # Who was compiling when listening began was not seen to begin.
            if self._busy == 0:
                return
            self._busy -= 1
            if self._busy == 0:
                self.seconds += time.perf_counter() - self._since


class _Own(threading.local):
    def __init__(self) -> None:
        self.account = Account()


_OWN = _Own()
_TELL: list[Callable[[], None]] = []


def working_time() -> float:
    """Seconds since some moment, without those in which this thread's kernels were compiled or loaded; differences count."""
    _listen()
    return time.perf_counter() - _OWN.account.seconds


def account() -> Account:
    """That of this thread, for others that work for it."""
    _listen()
    return _OWN.account


def on_account(account: Account, call: Callable[..., _T], *arguments: Any) -> _T:
    """Call something in a thread that works for another one, on whose account it compiles."""
    own, _OWN.account = _OWN.account, account
    try:
        return call(*arguments)
    finally:
        _OWN.account = own


@contextlib.contextmanager
def told(tell: Callable[[], None]) -> Iterator[None]:
    """Within the block `tell` is called once, before the first of our kernels is compiled; loading from the cache is not told."""
    _listen()
    _TELL.append(tell)
    try:
        yield
    finally:
        if tell in _TELL:
            _TELL.remove(tell)


def tell() -> None:
    """Tell who listens that kernels are being compiled, here or in a process that works for this one."""
    while _TELL:
        _TELL.pop()()


@functools.cache
def _listen() -> None:
    # numba loads slowly, and not everything that leads here computes.
    from numba.core import event

    class Locked(event.Listener):
        def on_start(self, event: Any) -> None:
            _OWN.account.begin()

        def on_end(self, event: Any) -> None:
            _OWN.account.end()

    class Compiled(event.Listener):
        def on_start(self, event: Any) -> None:
            # A plug-in's kernels need not be cached: those may be compiled at every use.
            if str(event.data["dispatcher"].py_func.__module__).startswith("stereo_framework."):
                tell()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compiler_lock", Locked())
    event.register("numba:compile", Compiled())
