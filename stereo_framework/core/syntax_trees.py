"""Parsing of Python sources, which several threads may do at the same time."""

import ast
import threading

_LOCK = threading.Lock()
"""Lock of the parser.

In Python 3.11, the parser counts its recursion in a variable that all threads share. If
two threads parse at the same time, it raises a SystemError.
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
        # Importing the file will report the error.
        return None
