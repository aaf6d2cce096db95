"""How far a long computation is: loops tell whoever listens of each of their rounds."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable, Iterator

Tell = Callable[[int, int, str], None]
"""``tell(done, count, what)``: so many rounds of a loop are done; all of them when it is over."""

_LISTENER: contextvars.ContextVar[Callable[[int, int, int, str], None] | None] = contextvars.ContextVar("listener", default=None)


@contextlib.contextmanager
def listening(listener: Callable[[int, int, int, str], None]) -> Iterator[None]:
    """Let ``listener(thread, done, count, what)`` hear of loops in this context; `thread` is the number of the thread that computes."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def is_heard() -> bool:
    """Whether somebody listens here."""
    return _LISTENER.get() is not None


def teller() -> Tell:
    """What tells whoever listens here, from any thread."""
    listener = _LISTENER.get()
    return _nobody if listener is None else functools.partial(listener, threading.get_ident())


def _nobody(done: int, count: int, what: str) -> None:
    pass


def counted(count: int, what: str) -> Iterator[int]:
    """``range(count)`` for a loop that takes long: whoever listens hears of each round.

    Parameters
    ----------
    count : int
    what : str
        One round, in the singular: ``iteration``, ``sweep``, ``slab``.

    Examples
    --------
    >>> with listening(lambda thread, done, count, what: print(f"{done} of {count} {what}s done")):
    ...     sum(counted(2, "round"))
    0 of 2 rounds done
    1 of 2 rounds done
    2 of 2 rounds done
    1
    """
    tell = teller()
    try:
        for i in range(count):
            tell(i, count, what)
            yield i
    finally:
        tell(count, count, what)
