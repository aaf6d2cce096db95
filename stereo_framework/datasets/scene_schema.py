"""What a ``scene.yaml`` may contain: models whose fields say what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pydantic
from annotated_types import MinLen

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ScriptError
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.other_frames import baseline_fault
from stereo_framework.core.parameters import NonNegativeInt, Positive, as_yaml
from stereo_framework.io import read_bytes
from stereo_framework.io.disparity import FORMAT_MARKER, Unknown
from stereo_framework.io.locations import Faults
from stereo_framework.io.yaml_text import parse


class _Entry(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        """A mapping of known keys; a text stands for an entry that names a file and nothing else."""
        allowed = cls.model_fields
        if isinstance(value, str) and "file" in allowed:
            return {"file": value}
        if not isinstance(value, dict):
            raise ValueError(
                f"{as_yaml(value)}: expected {'a file name or ' * ('file' in allowed)}keys: {', '.join(allowed)}"
            )
        if unknown_keys := [key for key in value if key not in allowed]:
            key = unknown_keys[0]
            place = cls.__name__.removesuffix("Entry").lower()
            remedy = new_or_nearest("scene_keys", place, key, allowed, kind="keys")
            raise ValueError(f"unknown key {as_yaml(key)}; {remedy}")
        return value


class FrameEntry(_Entry):
    """An image, the position and time of its camera, and a mask of its valid pixels.

    The key ``position`` gives the position along the baseline in any unit. The key
    ``baseline`` gives it as a share of the baseline of the pair, which is 0 at the
    reference frame and 1 at the match frame. White pixels of the mask contain data.
    """

    file: str
    position: float | None = None
    baseline: float | None = None
    time: float = 0.0
    mask: str | None = None

    @pydantic.model_validator(mode="after")
    def _check_one_place(self) -> FrameEntry:
        if self.position is not None and self.baseline is not None:
            raise ValueError(
                "a frame has both position and baseline; give one of the two, because each "
                "states the place of the camera"
            )
        fault = "" if self.baseline is None else baseline_fault(self.baseline)
        if fault:
            raise ValueError(fault)
        return self

    @property
    def has_place(self) -> bool:
        """Return whether the entry states the place of the camera."""
        return self.position is not None or self.baseline is not None


class TruthEntry(_Entry):
    """A disparity map and its encoding, as in `read_disparity`."""

    file: str
    disparity_scale: float | None = None
    unknown: float | None = None
    disparity_offset: float = 0

    @property
    def marker(self) -> Unknown:
        """The value for unknown: that of the format without the key, none if it is null."""
        return self.unknown if "unknown" in self.model_fields_set else FORMAT_MARKER


class SearchEntry(_Entry):
    """Disparities in pixels, both ends included, and maps of the smallest and largest disparity of each pixel."""

    minimum: float
    maximum: float
    step: float = 1
    low: TruthEntry | None = None
    high: TruthEntry | None = None


class CalibrationEntry(_Entry):
    """As `core.scene.Calibration`."""

    focal_length: Positive
    baseline: Positive
    doffs: float = 0.0


class SceneEntry(_Entry):
    """The whole file."""

    frames: Annotated[list[FrameEntry], MinLen(2)]
    reference: int = 0
    match: int = 1
    search: SearchEntry | None = None
    truth: TruthEntry | None = None
    match_truth: TruthEntry | None = None
    masks: dict[str, str] = pydantic.Field(default_factory=dict)
    calibration: CalibrationEntry | None = None
    border: NonNegativeInt = 0
    upright: bool = False

    @pydantic.model_validator(mode="after")
    def check_matched_frames(self) -> SceneEntry:
        """Refuse indices without a frame, and baselines that contradict the pair.

        Baselines are shares of the baseline of the pair. Therefore, the reference frame
        has the baseline 0 and the match frame has the baseline 1.
        """
        last = len(self.frames) - 1
        for name, index, expected in (("reference", self.reference, 0), ("match", self.match, 1)):
            if not 0 <= index <= last:
                raise ValueError(f"{name} {index} is not one of its frames 0..{last}")
            baseline = self.frames[index].baseline
            if baseline is not None and baseline != expected:
                raise ValueError(
                    f"frames[{index}].baseline: {baseline:g}; frame {index} is the {name} frame, "
                    f"whose baseline is {expected}; remove the key, or set the key {name} to "
                    "another frame"
                )
        self._check_places()
        return self

    def _check_places(self) -> None:
        """Refuse places of the cameras that are given for some frames only.

        The baselines of the reference frame and of the match frame are 0 and 1, even if
        the file does not contain them. A position has a meaning only if the positions
        of both frames of the pair are given in the same unit.
        """
        with_place = [i for i, frame in enumerate(self.frames) if frame.has_place]
        if not with_place:
            return
        for index, frame in enumerate(self.frames):
            if not frame.has_place and index not in (self.reference, self.match):
                raise ValueError(
                    f"frames[{index}]: the place of the camera is missing, but "
                    f"frames[{with_place[0]}] states its place; write the position or the "
                    "baseline of this frame, too, or remove both keys from all frames if the "
                    "cameras are evenly spaced"
                )
        self._check_positions_of_pair()

    def _check_positions_of_pair(self) -> None:
        """Refuse positions of frames if the position of a frame of the pair is missing."""
        with_position = [i for i, frame in enumerate(self.frames) if frame.position is not None]
        if not with_position:
            return
        for index in (self.reference, self.match):
            if self.frames[index].position is None:
                raise ValueError(
                    f"frames[{index}]: the position of this frame of the pair is missing, but "
                    f"frames[{with_position[0]}] has a position; write the position of the "
                    "frame in the same unit, or baselines instead of positions"
                )


def read_entry(file: Path) -> SceneEntry:
    """The checked content of a ``scene.yaml``.

    Raises
    ------
    DataError
        One line for each fault: the file and the location in it, what is wrong, and what is allowed.
    """
    faults = Faults()
    root = parse(read_bytes(file, limits.TEXT), str(file), faults)
    try:
        if root is not None:
            try:
                entry = SceneEntry.model_validate(root.data)
            except pydantic.ValidationError as error:
                for fault in error.errors(include_url=False):
                    faults.add(root.location_of(fault["loc"]), _words(fault))
        faults.raise_if_any()
    except ScriptError as error:
        raise DataError("\n".join(error.faults)) from None
    return entry


def _words(fault: Any) -> str:
    """What pydantic found, in a line."""
    if fault["type"] == "missing":
        return "is missing"
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    return f"{as_yaml(fault['input'])}: {fault['msg'][0].lower()}{fault['msg'][1:]}"
