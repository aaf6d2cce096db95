"""What docstrings say about parameters: descriptions in the JSON Schema, help on the command line."""

import inspect
import re
from collections.abc import Callable
from typing import Any


def summary(documented: Callable[..., Any]) -> str:
    """First line of a docstring; empty where there is none."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def parameter_texts(function: Callable[..., Any]) -> dict[str, str]:
    """What a numpydoc docstring says about each parameter, in one line each.

    Parameters
    ----------
    function : callable

    Returns
    -------
    dict of str to str
        By name; ``a, b : float`` gives both the same text.
    """
    found: dict[str, list[str]] = {}
    names: list[str] = []
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)",
        inspect.getdoc(function) or "",
        re.DOTALL | re.MULTILINE,
    )
    for line in section[1].splitlines() if section else ():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif line.strip():
            for name in names:
                found.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines) for name, lines in found.items()}
