"""Collection of messages about damaged image files.

Many decoders read a damaged image and only report the damage.
"""

import contextlib
import contextvars
from collections.abc import Iterator

_MESSAGES: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar(
    "damage messages", default=None
)


@contextlib.contextmanager
def collecting_damage() -> Iterator[list[str]]:
    """Collect messages about damaged files in a `with` block.

    Blocks may be nested. An outer block also receives the messages of inner blocks.
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

    Outside all `collecting_damage` blocks, the message is dropped.
    """
    messages = _MESSAGES.get()
    if messages is not None:
        messages.append(message)
