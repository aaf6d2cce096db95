"""Parse Python sources, even if several threads parse sources at the same time."""

import ast
import threading

_LOCK = threading.Lock()
"""Lock that a thread holds while the thread parses a source.

In Python 3.11, the parser counts the depth of its recursion in a variable that all
threads share. If two threads parse at the same time, the parser may raise a
SystemError.
"""


def parse_source(source: bytes) -> ast.Module | None:
    """Return the syntax tree of a Python source, or None if it is not valid Python.

    Parameters
    ----------
    source : bytes
        Content of a Python file.
    """
    try:
        with _LOCK:
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # This error needs no report, because an import of the file reports the error.
        return None
