"""What a ``scene.yaml`` may contain: records whose annotations say what is legal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import MinLen

from stereo_framework.core.errors import DataError, nearest
from stereo_framework.core.parameters import (
    NonNegativeInt,
    Words,
    describe,
    parameter_faults,
    parameters_of,
    spelled,
    with_defaults,
)
from stereo_framework.core.scene import Calibration


@dataclass(frozen=True)
class FrameEntry:
    """One image, its place along the baseline, and a mask of the pixels that hold data: white ones."""

    file: str
    position: float | None = None
    mask: str | None = None


@dataclass(frozen=True)
class TruthEntry:
    """A disparity map and its encoding, as in `read_disparity`."""

    file: str
    scale: float | None = None
    unknown: int | None = 0
    minimum: float = 0


@dataclass(frozen=True)
class SearchEntry:
    """Disparities in pixels, both ends included, and maps of the smallest and largest disparity of each pixel."""

    minimum: float
    maximum: float
    step: float = 1
    low: TruthEntry | None = None
    high: TruthEntry | None = None


@dataclass(frozen=True)
class SceneEntry:
    """The whole file."""

    frames: Annotated[list[FrameEntry], MinLen(2), Words("a list of two images or more, from left to right")]
    reference: int = 0
    match: int = 1
    search: SearchEntry | None = None
    truth: TruthEntry | None = None
    match_truth: TruthEntry | None = None
    masks: Annotated[dict[str, str], Words("a mapping of names to files")] = field(default_factory=dict)
    calibration: Calibration | None = None
    border: NonNegativeInt = 0


_PARTS: Mapping[str, type] = {
    "frames": FrameEntry,
    "search": SearchEntry,
    "truth": TruthEntry,
    "match_truth": TruthEntry,
    "low": TruthEntry,
    "high": TruthEntry,
    "calibration": Calibration,
}


def check(content: Any, path: str) -> SceneEntry:
    """The checked content of a ``scene.yaml``.

    Raises
    ------
    DataError
        One line for each error: the file, the key, what is wrong, and what is legal.
    """
    if not isinstance(content, dict):
        given = "nothing" if content is None else type(content).__name__
        raise DataError(f"{path}: holds {given}; expected keys: {', '.join(parameters_of(SceneEntry))}")
    found: dict[str, str] = {}
    entry = _record(SceneEntry, content, "", found)
    if found:
        raise DataError("\n".join(f"{path}: {place}: {fault}" for place, fault in found.items()))
    return entry


def _record(kind: type, value: Any, place: str, found: dict[str, str]) -> Any:
    """The record that a mapping stands for; errors are added to `found`, by their place in the file."""
    legal = parameters_of(kind)
    if isinstance(value, str) and "file" in legal:
        value = {"file": value}
    if not isinstance(value, dict):
        found[place.rstrip(".")] = f"{spelled(value)}: expected {'a file name or ' * ('file' in legal)}keys: {', '.join(legal)}"
        return None
    made = {}
    for key, item in value.items():
        part, where = _PARTS.get(key) if key in legal else None, f"{place}{key}"
        if part and isinstance(item, list):
            made[key] = [_record(part, one, f"{where}.{i}.", found) for i, one in enumerate(item)]
        else:
            made[key] = _record(part, item, f"{where}.", found) if part and item is not None else item
    wrong = parameter_faults(kind, made)
    for key in wrong:
        # An error takes one line, whatever the key contains.
        where = f"{place}{key if key.isprintable() else repr(key)}"
        if key not in legal:
            found[where] = f"unknown key; {nearest(key, legal, kind='keys')}"
        elif key not in value:
            found[where] = "is missing"
        elif not any((one + ".").startswith(f"{where}.") for one in found):
            found[where] = f"{spelled(value[key])} is not {describe(legal[key].annotation)}"
    return None if wrong else kind(**{key: checked for key, checked in with_defaults(kind, made).items() if key in made})
