"""Summaries and parameter descriptions from docstrings, for help pages and schemas."""

import inspect
import re
from collections.abc import Callable
from typing import Any

_PARAMETERS_SECTION = re.compile(
    r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.DOTALL | re.MULTILINE
)
"""Pattern of the section "Parameters" of a docstring."""


def summary(documented: Callable[..., Any]) -> str:
    """Return the first line of the docstring of a function or class.

    The result is empty if the object has no docstring.
    """
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def parameter_descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Return the descriptions of the parameters in a numpydoc docstring.

    Parameters
    ----------
    function : callable
        Function or class with a docstring.

    Returns
    -------
    dict of str to str
        One-line descriptions, by parameter name. In ``a, b : float``, both parameters
        get the same description.
    """
    section = _PARAMETERS_SECTION.search(inspect.getdoc(function) or "")
    if section is None:
        return {}

    description_lines: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section[1].splitlines():
        if not line.strip():
            continue
        is_indented = line[0].isspace()
        if is_indented:
            for name in names:
                description_lines.setdefault(name, []).append(line.strip())
        else:
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
    return {name: " ".join(lines) for name, lines in description_lines.items()}
