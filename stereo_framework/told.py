"""What a stage tells of work that is done elsewhere, by another program or before, and what it is told meanwhile: to stop."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """Told of one call of a stage.

    Parameters
    ----------
    seconds : float or None
        What the work took, instead of the time that the call took; None: nobody knows.
    memory : float or None
        Most memory that the work needed at a time, in MiB; None: nobody knows.
    messages : str
        What the other program wrote for people.
    """

    seconds: float | None = None
    memory: float | None = None
    messages: str = ""


_HEARD: ContextVar[list[Told] | None] = ContextVar("heard", default=None)


def tell(told: Told) -> None:
    """Tell it to whoever runs the stage; nobody hears it where the stage was called as a plain function."""
    heard = _HEARD.get()
    if heard is not None:
        heard.append(told)


@contextlib.contextmanager
def hearing() -> Iterator[list[Told]]:
    """What is told meanwhile, in this thread."""
    heard: list[Told] = []
    token = _HEARD.set(heard)
    try:
        yield heard
    finally:
        _HEARD.reset(token)


_STOPPED: ContextVar[threading.Event | None] = ContextVar("stopped", default=None)


@contextlib.contextmanager
def stopped_by(event: threading.Event) -> Iterator[None]:
    """Stages that wait for another program, in this thread, wait no longer once the event is set."""
    token = _STOPPED.set(event)
    try:
        yield
    finally:
        _STOPPED.reset(token)


def is_stopped() -> bool:
    """Whether nobody waits any more for what this thread does."""
    event = _STOPPED.get()
    return event is not None and event.is_set()
