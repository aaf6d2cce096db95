"""Time measurement and progress reports for the compilation of kernels.

When a kernel is called for the first time, numba compiles it or loads its machine code
from the cache on disk. The run times of stages exclude this delay, because the clock of
`working_time` stops meanwhile. `reporting_compilation_to` reports the name of the
kernel that is being compiled.

numba signals the beginning and the end of each delay by an event in the thread that
calls the kernel. If this thread must wait because another thread is compiling, the
delay between the two events includes the waiting time.
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

    Helper threads compute rows of images for the thread that created the clock. They
    run in copies of its context, and therefore share its clock. The clock runs while at
    least one of these threads compiles a kernel.

    Attributes
    ----------
    seconds : float
        Total time that the clock has run, up to the last call of `note`.
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

        A second beginning may come before the first end, because numba also compiles
        the kernels that a kernel calls.
        """
        with self._lock:
            # If the clock was created during a compilation, only the end of this
            # compilation is recorded. An end without a beginning is ignored.
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
"""Names of the kernels that numba is compiling now.

While numba compiles a kernel, it also compiles the kernels that this kernel calls. The
kernel whose compilation began last is at the end of the list.
"""


def working_time() -> float:
    """Return the time in seconds, by a clock that stops while kernels are compiled.

    The clock also stops while numba loads a kernel from the cache. It stops for kernels
    that the calling thread or one of its helper threads calls. To time a computation,
    subtract the results of two calls; a single result has no meaning.
    """
    _subscribe_to_numba()
    clock = _CLOCK.get()
    # Each run of a sweep has a copy of the context of the thread that started the
    # sweep. The copy contains the clock of that thread, but each run needs a new clock.
    if clock is None or clock.thread != threading.get_ident():
        clock = _CompileClock()
        _CLOCK.set(clock)
    return time.perf_counter() - clock.seconds


@contextlib.contextmanager
def reporting_compilation_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Call a listener when numba begins or ends compiling a kernel during the block.

    The call is ``listener(kernel_name)`` with the name of the kernel that is being
    compiled now. The name is "" if no kernel is being compiled. Kernels of other
    packages and kernels that numba loads from the cache are not reported.
    """
    _subscribe_to_numba()
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def announce_compiling(name: str) -> None:
    """Report the name of the kernel that is being compiled to all listeners.

    The name "" means that no kernel is being compiled.
    """
    for listener in list(_LISTENERS):
        listener(name)


def _run_clock_of_thread(begins: bool) -> None:
    """Start or stop the clock of this thread when a delay by numba begins or ends."""
    clock = _CLOCK.get()
    if clock:
        clock.note(begins)


def _report_kernel(begins: bool, function: Callable[..., Any]) -> None:
    """Update `_OPEN_KERNELS` when a compilation begins or ends, and report the kernel.

    After the end of a compilation, the kernel whose compilation continues is reported.
    """
    # Kernels of plug-ins are ignored. Without a cache, they are compiled by every
    # process, and would be reported each time.
    if not str(function.__module__).startswith("stereo_framework."):
        return

    if begins:
        _OPEN_KERNELS.append(function.__qualname__)
    elif _OPEN_KERNELS:
        _OPEN_KERNELS.pop()
    else:
        # This compilation began before this module subscribed to the events of numba.
        return
    announce_compiling(_OPEN_KERNELS[-1] if _OPEN_KERNELS else "")


@functools.cache
def _subscribe_to_numba() -> None:
    """Connect the clocks and the listeners of this module with the events of numba.

    The first call lasts for the whole process. Further calls have no effect, because
    the result of the function is cached.
    """
    # numba is imported here, because its import takes long, and some programs import
    # this module without using a kernel.
    from stereo_framework.kernels.internals import observe_compiler

    observe_compiler(_run_clock_of_thread, _report_kernel)
