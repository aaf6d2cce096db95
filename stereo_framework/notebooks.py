"""How objects show themselves in a notebook. Pictures are made by `figures.notebook`, on a floor above theirs, which is looked up when somebody looks."""

from __future__ import annotations

import importlib
from typing import Any


def drawing() -> Any:
    """What draws objects of all floors."""
    return importlib.import_module("stereo_framework.figures.notebook")


def tables() -> Any:
    """What asks results, for lists of them on a floor below."""
    return importlib.import_module("stereo_framework.tables.results")


class Shown:
    """An object that a notebook shows with pictures or as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        text: str = drawing().html(self)
        return text
