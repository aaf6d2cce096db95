"""Time measurement and progress reports for the compilation of kernels.

numba compiles a kernel at its first call, or loads the kernel from the cache on disk.
The run times of stages exclude this delay, because `working_time` stops meanwhile.
`reporting_compilation_to` reports the name of the current kernel.

numba sends an event at the beginning and at the end of each delay. The delay includes
the time that a thread waits for the compilation in another thread.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any


class _CompileClock:
    """A clock that measures how long a thread and its helper threads compile kernels.

    Helper threads run in a copy of the thread's context, so all threads share one
    clock. The clock runs while at least one thread compiles a kernel.

    Attributes
    ----------
    seconds : float
        Compile time in seconds, up to the last call of `note`.
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
        """Record that a thread begins (True) or ends (False) compiling a kernel.

        Compilations may be nested, because a kernel may call another kernel.
        """
        with self._lock:
            # The compilation began before the clock was created.
            if not begins and self._open_events == 0:
                return
            now = time.perf_counter()
            if self._open_events:
                self.seconds += now - self._last_change
            self._open_events += 1 if begins else -1
            self._last_change = now


_CLOCK: ContextVar[_CompileClock | None] = ContextVar("compile clock", default=None)
_LISTENERS: list[Callable[[str], None]] = []

_OPEN_KERNELS: list[str] = []
"""Stack of the names of the kernels that numba is compiling.

Compilations are nested if a kernel calls another kernel.
"""


def working_time() -> float:
    """Return the time in seconds, by a clock that stops while kernels are compiled.

    To time a computation, subtract the results of two calls. The clock also stops while
    numba loads a kernel from the cache, and while a helper thread compiles.
    """
    _subscribe_to_numba()
    clock = _CLOCK.get()
    # The runs of a sweep inherit the context of the sweep's thread, including its
    # clock. However, each run needs a new clock.
    if clock is None or clock.thread != threading.get_ident():
        clock = _CompileClock()
        _CLOCK.set(clock)
    return time.perf_counter() - clock.seconds


@contextlib.contextmanager
def reporting_compilation_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Call a listener when numba begins or ends compiling a kernel during the block.

    The call is ``listener(name)`` with the name of the current kernel. The name is ""
    after the end of a compilation. Only kernels of this package are reported. Loading
    a kernel from the cache is not reported.
    """
    _subscribe_to_numba()
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def announce_compiling(name: str) -> None:
    """Send the name of the current kernel to all listeners.

    The name "" means that no kernel is being compiled.
    """
    for listener in list(_LISTENERS):
        listener(name)


def _run_clock_of_thread(begins: bool) -> None:
    """Start or stop the clock of this thread."""
    clock = _CLOCK.get()
    if clock:
        clock.note(begins)


def _report_kernel(begins: bool, function: Callable[..., Any]) -> None:
    """Report the current kernel when a compilation begins or ends."""
    # Kernels of plug-ins are ignored. Without a cache, every process compiles and
    # reports these kernels again.
    if not str(function.__module__).startswith("stereo_framework."):
        return

    if begins:
        _OPEN_KERNELS.append(function.__qualname__)
    elif _OPEN_KERNELS:
        _OPEN_KERNELS.pop()
    else:
        # The compilation began before this module received events.
        return
    announce_compiling(_OPEN_KERNELS[-1] if _OPEN_KERNELS else "")


@functools.cache
def _subscribe_to_numba() -> None:
    """Subscribe to the compilation events of numba, once per process."""
    # Importing numba takes long, and some programs never use a kernel.
    from stereo_framework.kernels.internals import observe_compiler

    observe_compiler(_run_clock_of_thread, _report_kernel)
