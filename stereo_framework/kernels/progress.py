"""Progress reports of long computations.

A long computation calls `announce_step` when a step begins. Long loops iterate over
`counted`. To show the progress, a program installs listeners with `reporting_steps_to`
and `reporting_iterations_to`.

Listeners are stored in context variables. Threads report to a listener only if their
context contains the listener.
"""

import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

IterationCallback = Callable[[int, int, str], None]
"""Function that a loop calls at each iteration to report its progress.

The call is ``callback(done, count, unit)``, for example ``callback(3, 8, "sweep")``
after 3 of 8 sweeps. The last call has ``done`` equal to ``count``, even if the loop
ends early.
"""

_STEP_LISTENER = contextvars.ContextVar[Callable[[str], None]](
    "step listener", default=lambda _: None
)
_ITERATION_LISTENER = contextvars.ContextVar[Callable[[int, int, int, str], None]](
    "iteration listener", default=lambda *_: None
)


@contextlib.contextmanager
def temporarily_set(variable: contextvars.ContextVar[Any], value: Any) -> Iterator[Any]:
    """Set a context variable for the duration of a ``with`` block, and yield the value.

    The value is set in the present thread only. At the end of the block, the previous
    value is restored.
    """
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def reporting_steps_to(listener: Callable[[str], None]) -> AbstractContextManager[Any]:
    """Call ``listener(step_name)`` for each step that begins inside the block.

    The call takes place in the thread that runs the step.
    """
    return temporarily_set(_STEP_LISTENER, listener)


def announce_step(name: str) -> None:
    """Report the beginning of a step, such as "census", to the listener."""
    _STEP_LISTENER.get()(name)


def reporting_iterations_to(
    listener: Callable[[int, int, int, str], None],
) -> AbstractContextManager[Any]:
    """Report the iterations of loops inside the block to a listener.

    The call is ``listener(thread_id, done, count, unit)``, for example
    ``listener(140, 3, 8, "sweep")`` after 3 of 8 sweeps in thread 140.
    """
    return temporarily_set(_ITERATION_LISTENER, listener)


def iteration_callback() -> IterationCallback:
    """Return a function that reports the iterations of a loop to the listener.

    Call `iteration_callback` before a loop starts threads, because new threads do not
    inherit the listener. All threads may share the returned function.
    """
    return functools.partial(_ITERATION_LISTENER.get(), threading.get_ident())


def counted(count: int, unit: str) -> Iterator[int]:
    """Iterate over ``range(count)``, and report each iteration to the listener.

    Parameters
    ----------
    count : int
        Number of iterations.
    unit : str
        Singular noun for an iteration, such as "strip".

    Yields
    ------
    int
        Index of the iteration, from 0 to ``count - 1``.

    Examples
    --------
    >>> def show(thread_id, done, count, unit):
    ...     print(f"{done} of {count} {unit}s done")
    >>> with reporting_iterations_to(show):
    ...     sum(counted(2, "round"))
    0 of 2 rounds done
    1 of 2 rounds done
    2 of 2 rounds done
    1
    """
    callback = iteration_callback()
    try:
        for i in range(count):
            callback(i, count, unit)
            yield i
    finally:
        callback(count, count, unit)


def duration_text(seconds: float) -> str:
    """Return a duration in whole seconds, minutes or hours, rounded for reading.

    Examples
    --------
    >>> duration_text(12.4), duration_text(200), duration_text(9000)
    ('12 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
