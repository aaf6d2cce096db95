"""What may stand in a ``scene.yaml``: the models that check it. Imported on use, for pydantic takes its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from stereo_framework.errors import DataError, nearest


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class FrameEntry(_Entry):
    """One image, its place along the baseline, and a mask of the pixels that hold data: white ones."""

    file: str
    position: float | None = None
    mask: str | None = None


class TruthEntry(_Entry):
    """A disparity map and its encoding, as in `read_disparity`."""

    file: str
    scale: float | None = None
    unknown: int | None = 0
    minimum: float = 0


class CalibrationEntry(_Entry):
    """Focal length and doffs in pixels; depths come out in the baseline's unit."""

    focal_length: Annotated[float, Field(gt=0)]
    baseline: Annotated[float, Field(gt=0)]
    doffs: float = 0.0


def _file(value: Any) -> Any:
    """A bare file name stands for an entry with that file."""
    return {"file": value} if isinstance(value, str) else value


Truth = Annotated[TruthEntry | None, BeforeValidator(_file)]


class SearchEntry(_Entry):
    """Disparities in pixels, both ends included, and maps of the smallest and largest disparity of each pixel."""

    minimum: float
    maximum: float
    step: float = 1
    low: Truth = None
    high: Truth = None


class SceneEntry(_Entry):
    """The whole file."""

    frames: Annotated[list[Annotated[FrameEntry, BeforeValidator(_file)]], Field(min_length=2)]
    reference: int = 0
    match: int = 1
    search: SearchEntry | None = None
    truth: Truth = None
    match_truth: Truth = None
    masks: dict[str, str] = Field(default_factory=dict)
    calibration: CalibrationEntry | None = None
    border: Annotated[int, Field(ge=0)] = 0


_PARTS: dict[str, type[_Entry]] = {
    "frames": FrameEntry,
    "search": SearchEntry,
    "truth": TruthEntry,
    "match_truth": TruthEntry,
    "calibration": CalibrationEntry,
}


def check(content: Any, path: str) -> SceneEntry:
    """The checked content of a ``scene.yaml``.

    Raises
    ------
    DataError
        One line for each fault: the file, the key, what is wrong, what is legal.
    """
    if not isinstance(content, dict):
        found = "nothing" if content is None else type(content).__name__
        raise DataError(f"{path}: holds {found}; expected keys: {', '.join(SceneEntry.model_fields)}")
    try:
        return SceneEntry.model_validate(content)
    except ValidationError as error:
        raise DataError("\n".join(f"{path}: {fault}" for fault in _faults(error))) from None


def _faults(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False):
        *place, key = fault["loc"]
        where = ".".join(map(str, fault["loc"]))
        if fault["type"] == "extra_forbidden":
            legal = (_PARTS[str(place[0])] if place else SceneEntry).model_fields
            yield f"{where}: unknown key; {nearest(str(key), legal, kind='keys')}"
        elif fault["type"] == "missing":
            yield f"{where}: is missing"
        elif fault["type"] == "model_type":
            part = _PARTS[str((*place, key)[0])]
            name = "a file name or " if "file" in part.model_fields else ""
            yield f"{where}: {fault['input']!r}: expected {name}keys: {', '.join(part.model_fields)}"
        else:
            yield f"{where}: {fault['input']!r}: {fault['msg'][0].lower()}{fault['msg'][1:]}"
