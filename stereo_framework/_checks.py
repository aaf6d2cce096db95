"""Checks of stages' parameters, for callers that no script has checked. `parameter` is the dotted name, as in ``box.size``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stereo_framework.errors import DataError, ParameterError, nearest


def check_count(parameter: str, value: int, least: int = 1) -> None:
    """Refuse a window without a pixel, no iteration at all, a negative seed."""
    if value < least:
        raise ParameterError(f"{parameter}: {value!r} is not a whole number >= {least}")


def check_not_negative(parameter: str, value: float) -> None:
    """Refuse a number below 0, and what is no number."""
    if not value >= 0:
        raise ParameterError(f"{parameter}: {value!r} is not a number >= 0")


def check_positive(parameter: str, value: float) -> None:
    """Refuse 0 and numbers below, and what is no number."""
    if not value > 0:
        raise ParameterError(f"{parameter}: {value!r} is not a number > 0")


def check_choice(parameter: str, value: str, legal: Iterable[str]) -> None:
    """Refuse a value that is not one of the legal ones."""
    if value not in legal:
        raise ParameterError(f"{parameter}: {value!r} is not legal; {nearest(value, legal)}")


def check_size(stage: str, disparity: Any, **maps: Any) -> None:
    """Refuse an image, a status map or costs of another size than the disparities, which kernels would read beyond the end of."""
    for name, array in maps.items():
        if array.shape[:2] != disparity.shape:
            raise DataError(f"{stage}: {name} has shape {array.shape}; {disparity.shape} fits the disparities")
