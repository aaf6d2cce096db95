"""Values that hold within a block and the calls that it makes: of this thread alone, unlike global variables."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any


@contextlib.contextmanager
def holding(variable: ContextVar[Any], value: Any) -> Iterator[Any]:
    """Give a context variable a value within the block, which the block gets too; afterwards it has its former value again."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
