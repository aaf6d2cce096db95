"""How far a long computation is: whoever listens within a block is told what begins, and by loops of each of their rounds."""

import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

CountRounds = Callable[[int, int, str], None]
"""``count_rounds(done, count, what)``: so many rounds of a loop are done; all of them when it is over."""

_TOLD = contextvars.ContextVar[Callable[[str], None]]("told", default=lambda _: None)
_LISTENER = contextvars.ContextVar[Callable[[int, int, int, str], None]](
    "listener", default=lambda *_: None
)


@contextlib.contextmanager
def holding(variable: contextvars.ContextVar[Any], value: Any) -> Iterator[Any]:
    """Give a context variable a value within the block, which the block gets too: in this thread alone, unlike a global one, and its former value afterwards."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def announced_to(listener: Callable[[str], None]) -> AbstractContextManager[Any]:
    """Within the block, call ``listener(what)``, in the thread that computes, whenever something begins, such as a step of a pipeline."""
    return holding(_TOLD, listener)


def announce(what: str) -> None:
    """Tell whoever listens what begins to be computed."""
    _TOLD.get()(what)


def rounds_counted_by(
    listener: Callable[[int, int, int, str], None],
) -> AbstractContextManager[Any]:
    """Within the block, loops call ``listener(thread, done, count, what)``; `thread` is the number of the thread that computes."""
    return holding(_LISTENER, listener)


def round_counter() -> CountRounds:
    """What a loop calls, from any thread, so that whoever listens here hears of its rounds."""
    return functools.partial(_LISTENER.get(), threading.get_ident())


def counted(count: int, what: str) -> Iterator[int]:
    """``range(count)`` for a loop that takes long: whoever listens hears of each round.

    Parameters
    ----------
    count : int
    what : str
        One round, in the singular: ``iteration``, ``sweep``, ``strip``.

    Examples
    --------
    >>> with rounds_counted_by(lambda thread, done, count, what: print(f"{done} of {count} {what}s done")):
    ...     sum(counted(2, "round"))
    0 of 2 rounds done
    1 of 2 rounds done
    2 of 2 rounds done
    1
    """
    count_rounds = round_counter()
    try:
        for i in range(count):
            count_rounds(i, count, what)
            yield i
    finally:
        count_rounds(count, count, what)
