"""Time and progress of compiling kernels.

numba compiles a kernel at its first call, or loads the compiled kernel from the cache.
Stages are timed without this delay, which `working_time` leaves out.
`reporting_compilation_to` reports which kernel is being compiled.

numba reports both activities by events, in the thread that calls the kernel. If another
thread is compiling, the calling thread waits, and this wait lies between the same two
events.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any


class _CompileClock:
    """A clock that runs while at least one of a group of threads compiles a kernel.

    The group consists of a thread and the threads that work for it in a copy of its
    context.

    Attributes
    ----------
    seconds : float
        Time that the clock has run, up to the last call of `note`.
    thread : int
        Identifier of the thread that created the clock.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.thread = threading.get_ident()
        self._open_events = 0
        self._last_change = 0.0
        self._lock = threading.Lock()

    def note(self, begins: bool) -> None:
        """Record that a thread begins or ends to compile a kernel.

        Events may be nested, because a kernel compiles the kernels that it calls.
        """
        with self._lock:
            # The clock may be created while a kernel is compiled. Then it receives the
            # end of an event without its beginning.
            if not begins and self._open_events == 0:
                return
            now = time.perf_counter()
            if self._open_events:
                self.seconds += now - self._last_change
            self._open_events += 1 if begins else -1
            self._last_change = now


_CLOCK: ContextVar[_CompileClock | None] = ContextVar("compile clock", default=None)
_LISTENERS: list[Callable[[str], None]] = []


def working_time() -> float:
    """Return a time in seconds that stands still while kernels are compiled or loaded.

    Kernels count if this thread needs them, or a thread that works for it. Only the
    difference of two calls has a meaning.
    """
    _subscribe_to_numba()
    clock = _CLOCK.get()
    # A run of a sweep has a copy of the context of the thread that started it, but it
    # needs a clock of its own.
    if clock is None or clock.thread != threading.get_ident():
        clock = _CompileClock()
        _CLOCK.set(clock)
    return time.perf_counter() - clock.seconds


@contextlib.contextmanager
def reporting_compilation_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Call the listener whenever numba begins or ends to compile a kernel in the block.

    The argument is the name of the kernel that is being compiled now, or "" if none is.
    Only kernels of this package are reported, and kernels that are loaded from the
    cache are not.
    """
    _subscribe_to_numba()
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def announce_compiling(name: str) -> None:
    """Report to all listeners which kernel is being compiled; "" means none."""
    for listener in list(_LISTENERS):
        listener(name)


@functools.cache
def _subscribe_to_numba() -> None:
    # numba takes long to load, and not every importer of this module needs numba.
    from stereo_framework.kernels.internals import observe_compiler

    # A kernel compiles the kernels that it calls, so several may be open at once.
    open_kernels: list[str] = []

    def note_delay(begins: bool) -> None:
        clock = _CLOCK.get()
        if clock:
            clock.note(begins)

    def report_kernel(begins: bool, function: Callable[..., Any]) -> None:
        # Kernels of a plug-in may have no cache. They would be reported in each
        # process.
        if not str(function.__module__).startswith("stereo_framework."):
            return
        if begins:
            open_kernels.append(function.__qualname__)
        elif open_kernels:
            open_kernels.pop()
        else:
            return
        announce_compiling(open_kernels[-1] if open_kernels else "")

    observe_compiler(note_delay, report_kernel)
