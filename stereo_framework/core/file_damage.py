"""Damage that decoders report while the images of a scene are read."""

import contextlib
import contextvars
from collections.abc import Iterator

_MESSAGES: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar(
    "damage messages", default=None
)


@contextlib.contextmanager
def collecting_damage() -> Iterator[list[str]]:
    """Collect the messages about damage of files that are read in the block.

    If the block is nested in another such block, both blocks receive the messages.
    """
    messages: list[str] = []
    outer_messages = _MESSAGES.get()
    token = _MESSAGES.set(messages)
    try:
        yield messages
    finally:
        _MESSAGES.reset(token)
        if outer_messages is not None:
            outer_messages.extend(messages)


def report_damage(message: str) -> None:
    """Add a message about a damaged file to the innermost `collecting_damage` block.

    Outside such a block, the message is dropped.
    """
    messages = _MESSAGES.get()
    if messages is not None:
        messages.append(message)
