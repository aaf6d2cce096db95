"""Progress of long computations.

A long computation calls `announce_step` when a step begins, and iterates over `counted`
in its outer loops. Code that shows progress, such as the command line, installs
callbacks with `reporting_steps_to` and `reporting_iterations_to`. The callbacks are
stored in context variables. A callback therefore applies only to the thread that
installed it, and to threads that run in a copy of its context. If no callback is
installed, nothing is reported.
"""

import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

IterationCallback = Callable[[int, int, str], None]
"""Signature of the callback that a loop calls: ``callback(done, count, unit)``.

At the end of the loop, `done` equals `count`.
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

    The previous value is restored when the block ends. Other threads are not affected.
    """
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def reporting_steps_to(listener: Callable[[str], None]) -> AbstractContextManager[Any]:
    """Call ``listener(step_name)`` for each step that begins inside the block.

    The listener runs in the thread of the computation.
    """
    return temporarily_set(_STEP_LISTENER, listener)


def announce_step(name: str) -> None:
    """Report the beginning of a step, such as a stage, to the current listener."""
    _STEP_LISTENER.get()(name)


def reporting_iterations_to(
    listener: Callable[[int, int, int, str], None],
) -> AbstractContextManager[Any]:
    """Report the iterations of loops inside the block to a listener.

    The call is ``listener(thread_id, done, count, unit)``, where `thread_id` identifies
    the thread of the computation.
    """
    return temporarily_set(_ITERATION_LISTENER, listener)


def iteration_callback() -> IterationCallback:
    """Return the callback for the iterations of a loop; any thread may call it.

    A new thread does not inherit context variables. Therefore a loop gets the callback
    before it starts threads, and all of them report to the same listener.
    """
    return functools.partial(_ITERATION_LISTENER.get(), threading.get_ident())


def counted(count: int, unit: str) -> Iterator[int]:
    """Iterate over ``range(count)``, and report each iteration to the listener.

    Parameters
    ----------
    count : int
        Number of iterations.
    unit : str
        Name of one iteration, in the singular, such as "iteration", "sweep" or "strip".

    Yields
    ------
    int
        0 to ``count - 1``.

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
