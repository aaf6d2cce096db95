"""Convert statistics and parameter values to the texts that tables show."""

import math
from collections.abc import Mapping
from typing import Any

from stereo_framework.evaluation.protocols import shortest
from stereo_framework.sweep.missing import MISSING

_NO_LABELS: Mapping[str, str] = {}


def cell_text(value: Any) -> str:
    """Format a measured value for a table cell, with a suitable number of digits.

    The text is "-" if the value is missing or is a number that is not finite.

    Examples
    --------
    >>> cell_text(12.345), cell_text(0.0123), cell_text(12345.6), cell_text(True)
    ('12.35', '0.012', '12346', 'true')
    >>> cell_text(None), cell_text(MISSING), cell_text(float("nan"))
    ('-', '-', '-')
    """
    # If a table of scores has no column for scenes, the names of its scenes are empty.
    if value is None or value is MISSING or value == "":
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        return "-"
    if abs(value) >= 10_000:
        return f"{value:.0f}"
    if 0 < abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}"


def setting_text(value: Any) -> str:
    """Format the value of a parameter or axis for a table or figure.

    The text of a number has all digits of the number, without zeros at the end. The
    text of the value null is "none".

    Examples
    --------
    >>> setting_text(20.0), setting_text(None), setting_text(MISSING)
    ('20', 'none', '-')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        return shortest(value)
    return cell_text(value)


def key_value_text(key: str, value: Any, labels: Mapping[str, str] = _NO_LABELS) -> str:
    """Format a key and its value as a text, such as ``truncation=5``.

    If the value is a text, the function returns the value without the key. If the value
    is `MISSING`, the function returns an empty text.

    Parameters
    ----------
    key : str
        Name of a property of results, such as ``method`` or the address of a parameter.
    value : object
        Value of the property.
    labels : mapping of str to str
        Labels that replace some of the returned texts. The keys are the replaced texts.

    Examples
    --------
    >>> key_value_text("matching_cost.birchfield_tomasi", True)
    'birchfield_tomasi=true'
    >>> key_value_text("matching_cost", "census", {"census": "CT"})
    'CT'
    """
    if value is MISSING or value == "":
        return ""
    text = setting_text(value)
    if not isinstance(value, str):
        name = key.rpartition(".")[2]
        text = f"{name}={text}"
    return labels.get(text, text)


def method_text(method: str, axes: Mapping[str, Any]) -> str:
    """Format the name of a method with the values of its axes.

    Examples
    --------
    >>> method_text("window", {"aggregation.box.size": 9})
    'window (aggregation.box.size=9)'
    >>> method_text("window", {})
    'window'
    """
    values = ", ".join([f"{name}={setting_text(value)}" for name, value in axes.items()])
    return f"{method} ({values})" if values else method


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in ``1 result`` or ``2 results``."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
