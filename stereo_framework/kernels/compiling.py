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
        """Note that a thread begins to compile a kernel, perhaps within another one that calls it."""
        with self._lock:
            if self._busy == 0:
                self._since = time.perf_counter()
            self._busy += 1

    def end(self) -> None:
        """Note that a thread has compiled what it began."""
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
_LISTENERS: list[Callable[[str], None]] = []


def working_time() -> float:
    """Seconds since some moment, without those in which this thread's kernels were compiled or loaded; differences count."""
    _listen()
    return time.perf_counter() - _OWN.account.seconds


def account() -> Account:
    """The account of this thread, for other threads that work for it."""
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


def start_numba() -> None:
    """Let numba load what it otherwise loads with the first kernel, where something else can be done meanwhile."""
    # Numba's own, which another version may not have.
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.registry import cpu_target

        # What another thread compiles meanwhile needs the same tables.
        with global_compiler_lock:
            cpu_target.typing_context.refresh()
            cpu_target.target_context.refresh()


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
        def __init__(self) -> None:
            # A kernel compiles those that it calls.
            self.open: list[str] = []

        def on_start(self, event: Any) -> None:
            if name := self.ours(event):
                self.open.append(name)
                announce_compiling(name)

        def on_end(self, event: Any) -> None:
            if self.ours(event) and self.open:
                self.open.pop()
                announce_compiling(self.open[-1] if self.open else "")

        def ours(self, event: Any) -> str:
            """The kernel's name; a plug-in's kernels need not be cached: those may be compiled at every use."""
            function = event.data["dispatcher"].py_func
            return function.__qualname__ if str(function.__module__).startswith("stereo_framework.") else ""

    event.register("numba:compiler_lock", Locked())
    event.register("numba:compile", Compiled())
