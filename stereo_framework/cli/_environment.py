"""Checks of environment variables whose wrong values would stop a library."""

import os
import re
import warnings

from stereo_framework.core.errors import ParameterError, short
from stereo_framework.kernels.cores import count_in_variable

_NUMBA_WARNING = "Environment variable '(NUMBA_[A-Z_]+)' is defined but its associated value '(.*?)' could not be parsed"
"""Pattern for the beginning of numba's warning about a variable.

numba gives the warning, with a traceback, when it is imported.
"""

_NUMBA_THREADS = "NUMBA_NUM_THREADS"
_OPENMP_THREADS = "OMP_NUM_THREADS"
_BACKEND = "MPLBACKEND"

_USUAL_BACKENDS = (
    "agg",
    "cairo",
    "pdf",
    "pgf",
    "ps",
    "svg",
    "template",
    "webagg",
    "nbagg",
    "tkagg",
    "qtagg",
    "qt5agg",
    "gtk3agg",
)
"""Common backends. For these, matplotlib need not be imported to check the name."""


def check_environment() -> None:
    """Refuse values that would stop numba or matplotlib, perhaps only after a long run.

    Raises
    ------
    ParameterError
        The value of a variable is wrong. The message names the variable.
    """
    # The warning becomes an error in whichever module numba is imported.
    warnings.filterwarnings("error", _NUMBA_WARNING, RuntimeWarning)

    numba_threads = os.environ.get(_NUMBA_THREADS)
    if numba_threads is not None and not _is_above_zero(numba_threads):
        message = _variable_message(_NUMBA_THREADS, numba_threads, "is not a whole number above 0")
        raise ParameterError(message)
    openmp_threads = os.environ.get(_OPENMP_THREADS)
    # OpenMP ignores an empty variable.
    if openmp_threads and count_in_variable(openmp_threads) is None:
        message = _variable_message(
            _OPENMP_THREADS, openmp_threads, "is not a whole number above 0"
        )
        raise ParameterError(message)

    backend = os.environ.get(_BACKEND, "")
    if backend and backend.lower() not in _USUAL_BACKENDS and not backend.startswith("module://"):
        _check_backend(backend)


def numba_message(error: Exception) -> str | None:
    """Describe numba's warning about a variable in one line; None for other errors."""
    match = re.match(_NUMBA_WARNING, str(error), re.DOTALL)
    if match is None or not isinstance(error, RuntimeWarning):
        return None
    return _variable_message(match[1], match[2], "cannot be read by numba")


def _is_above_zero(text: str) -> bool:
    try:
        return int(text) > 0
    except ValueError:
        return False


def _check_backend(backend: str) -> None:
    """Refuse a backend that matplotlib does not know.

    matplotlib reads the variable when it is imported, and raises ValueError.
    """
    try:
        import matplotlib  # noqa: F401  The import itself is the check.
    except ValueError as error:
        message = _variable_message(_BACKEND, backend, "is not a backend of matplotlib")
        raise ParameterError(message) from error


def _variable_message(name: str, value: str, fault: str) -> str:
    return f"the environment variable {name}: {short(value, 40)!r} {fault}; correct the value or unset the variable"
