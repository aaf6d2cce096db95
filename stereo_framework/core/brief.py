"""Short words for objects that are or hold arrays."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def brief(kind: type[T]) -> type[T]:
    """Let objects of a dataclass print types and shapes of the arrays that they hold, instead of all numbers; what is None, False or empty is left out."""

    def shown(self: Any) -> str:
        values = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        told = (f"{name}={in_short(value)}" for name, value in values if not (value is None or _is_empty(value)))
        return f"{kind.__name__}({', '.join(told)})"

    kind.__repr__ = shown  # type: ignore[method-assign]
    return kind


def in_short(value: Any) -> str:
    """An array as ``float32 (20, 30)``, anything else as it prints, in one line, its middle left out where that is long."""
    if hasattr(value, "dtype") and value.shape:
        return f"{'a masked array of ' * isinstance(value, np.ma.MaskedArray)}{value.dtype} {value.shape}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {in_short(item)}" for name, item in value.items()) + "}"
    if isinstance(value, tuple | list) and any(isinstance(item, np.ndarray) for item in value):
        return f"{'a list of ' * isinstance(value, list)}({', '.join(map(in_short, value))})"
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:90]} ... {text[-90:]}"


def _is_empty(value: Any) -> bool:
    return value is False or (isinstance(value, tuple | dict) and not value)
