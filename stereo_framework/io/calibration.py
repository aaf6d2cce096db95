"""Middlebury's ``calib.txt``, which ETH3D shares."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from stereo_framework.errors import DataError
from stereo_framework.io._files import PathLike, read_bytes
from stereo_framework.scene import Calibration

_ENTRY = re.compile(r"(\w+)\s*=\s*(\[[^\]]*\]|[^\s\[\]]+)")


@dataclass(frozen=True)
class CalibrationFile:
    """What a ``calib.txt`` says.

    Parameters
    ----------
    calibration : Calibration
        Focal length of cam0 in pixels, baseline in mm, doffs in pixels.
    width, height : int
        Image size in pixels.
    ndisp : int
        A conservative bound: disparities lie in 0..ndisp-1.
    isint : bool
        Whether the truth is accurate to whole pixels only.
    vmin, vmax : int or None
        Tight bounds of the disparities, for display; not to be used by methods.
    """

    calibration: Calibration
    width: int
    height: int
    ndisp: int
    isint: bool = False
    vmin: int | None = None
    vmax: int | None = None


def read_calibration(path: PathLike) -> CalibrationFile:
    """Read a Middlebury ``calib.txt``; spaces and line breaks between entries are free.

    Raises
    ------
    DataError
        The file is missing, lacks an entry, or an entry is no number.
    """
    entries = dict(_ENTRY.findall(read_bytes(path).decode("latin-1")))
    missing = [key for key in ("cam0", "doffs", "baseline", "width", "height", "ndisp") if key not in entries]
    if missing:
        raise DataError(f"{path}: no entry {', '.join(missing)}; expected Middlebury's calib.txt")

    def number(key: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise DataError(f"{path}: {key}: {text!r} is not a number")
        return value

    def whole(key: str) -> int:
        value = number(key, entries[key])
        if value != int(value):
            raise DataError(f"{path}: {key}: {entries[key]} is not a whole number")
        return int(value)

    camera = [number("cam0", text) for text in re.split(r"[\s;,]+", entries["cam0"].strip("[] \t\r\n"))]
    if len(camera) != 9:
        raise DataError(f"{path}: cam0 has {len(camera)} numbers; expected the 9 of [f 0 cx; 0 f cy; 0 0 1]")
    calibration = Calibration(camera[0], number("baseline", entries["baseline"]), number("doffs", entries["doffs"]))
    return CalibrationFile(
        calibration,
        width=whole("width"),
        height=whole("height"),
        ndisp=whole("ndisp"),
        isint="isint" in entries and bool(whole("isint")),
        vmin=whole("vmin") if "vmin" in entries else None,
        vmax=whole("vmax") if "vmax" in entries else None,
    )
