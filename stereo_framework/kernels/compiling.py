"""Time measurement and progress reports for the compilation of kernels.

numba compiles a kernel at its first call, or loads the kernel from the cache on disk.
The run times of stages exclude this delay, because the clocks `working_time` and
`processor_time` stop meanwhile. `reporting_compilation_to` reports the name of the
current kernel.

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

    Helper threads run in a copy of the thread's context, so the events of numba in all
    these threads reach one clock. The clock runs while at least one of the threads
    compiles a kernel.

    Attributes
    ----------
    seconds : float
        Compile time in seconds, up to the last call of `note`.
    processor_correction : float
        Seconds that are added to the processor time of the thread that created the
        clock. The processor time of helper threads and external programs increases the
        correction. The processor time of the compilation decreases the correction.
    thread : int
        Identifier of the thread that created the clock.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.processor_correction = 0.0
        self.thread = threading.get_ident()
        self._open_events = 0
        self._last_change = 0.0
        self._starts_of_threads: dict[int, list[float]] = {}
        self._lock = threading.Lock()

    def note(self, begins: bool) -> None:
        """Record that a thread begins (True) or ends (False) compiling a kernel.

        Compilations may be nested, because a kernel may call another kernel.
        """
        with self._lock:
            # If no event is open, the compilation began before the clock was created.
            if not begins and self._open_events == 0:
                return
            now = time.perf_counter()
            if self._open_events:
                self.seconds += now - self._last_change
            self._open_events += 1 if begins else -1
            self._last_change = now
            self._subtract_compile_time(begins)

    def add_processor_seconds(self, seconds: float) -> None:
        """Add the processor time of a helper thread or of an external program."""
        with self._lock:
            self.processor_correction += seconds

    def _subtract_compile_time(self, begins: bool) -> None:
        """Subtract the processor time of this thread when its compilation ends.

        A thread that only waits for the compilation in another thread uses no processor
        time. Therefore the elapsed time of a compilation must not be subtracted.
        """
        starts = self._starts_of_threads.setdefault(threading.get_ident(), [])
        if begins:
            starts.append(time.thread_time())
            return
        # The list is empty if the compilation began before the clock was created.
        if not starts:
            return
        start = starts.pop()
        # The time of a nested compilation is part of the time of the outermost one.
        if not starts:
            self.processor_correction -= time.thread_time() - start


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
    return time.perf_counter() - _clock_of_thread().seconds


def processor_time() -> float:
    """Return the processor time of this thread, without the compilation of kernels.

    The time is in seconds. To measure a computation, subtract the results of two calls.
    The time includes the kernels that helper threads compute for this thread (see
    `over_rows`), and the external programs that `add_processor_time` counts. The work
    of other runs of a sweep is not included, because each run has its own thread.

    The processor time that the compilation of kernels takes in this thread and in its
    helper threads is subtracted. Otherwise, only the first run with a kernel would
    contain this time.

    The time does not include threads and processes that a library or a stage has
    started, such as the threads of OpenCV. The package cannot determine to which of
    several runs such a thread belongs.
    """
    _subscribe_to_numba()
    return time.thread_time() + _clock_of_thread().processor_correction


def add_processor_time(seconds: float) -> None:
    """Add the processor time of an external program to the time of this thread."""
    _clock_of_thread().add_processor_seconds(seconds)


def adding_processor_time(kernel: Callable[[int, int], object]) -> Callable[[int, int], None]:
    """Return a kernel that adds its processor time to the time of the present thread.

    Call `adding_processor_time` before a helper thread is started. The helper thread
    then calls the returned kernel in a copy of the context.
    """
    clock = _clock_of_thread()

    def counted_kernel(start_row: int, stop_row: int) -> None:
        start = time.thread_time()
        try:
            kernel(start_row, stop_row)
        finally:
            clock.add_processor_seconds(time.thread_time() - start)

    return counted_kernel


def _clock_of_thread() -> _CompileClock:
    """Return the clock of this thread, and create the clock at the first call."""
    clock = _CLOCK.get()
    # The runs of a sweep inherit the context of the sweep's thread, including its
    # clock. However, each run needs a new clock.
    if clock is None or clock.thread != threading.get_ident():
        clock = _CompileClock()
        _CLOCK.set(clock)
    return clock


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
