"""The user's own scenes: a ``scene.yaml`` beside the images, or two image files.

A ``scene.yaml``; only ``frames`` is needed, file names are relative to its folder::

    frames: [left.png, right.png]       # from left to right; or {file: left.png, position: 0.5, mask: valid.png}
    reference: 0                        # indices of frames
    match: 1
    search: {minimum: 0, maximum: 64}   # pixels, both ends included; and step; low and high: maps as truth's; without it 0 to
                                        # ndisp - 1 of a Middlebury calib.txt that lies beside the reference image
    truth: {file: truth.png, scale: 4, unknown: 0}  # or only a file name; match_truth likewise
    masks: {nonocc: nonocc.png}         # white counts; outside of one called evaluated nothing does
    calibration: {focal_length: 994.978, baseline: 193.001, doffs: 31.086}
    border: 0                           # pixels that are not evaluated

A frame's mask is white where the image holds data; an image's alpha channel and NaN in a float image (PFM, npy) say the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.errors import DataError, DataWarning, ParameterError, harmless
from stereo_framework.core.scene import EVALUATED, Disparity, Frame, Image, Mask, Scene, Search
from stereo_framework.datasets.scene_schema import TruthEntry, check
from stereo_framework.io import (
    PathLike,
    check_file,
    read_alpha,
    read_any_calibration,
    read_disparity,
    read_image,
    read_mask,
)
from stereo_framework.io.yaml_text import read_yaml

FILE_NAME = "scene.yaml"


def load(path: PathLike) -> Scene:
    """Load the scene that a ``scene.yaml`` describes; its files are read on first use.

    Parameters
    ----------
    path : path-like
        The file, or the folder that holds it.

    Raises
    ------
    DataError
        The file or one that it names is missing, or it has errors: one line for each.
    """
    file = Path(path)
    if file.is_dir():
        file /= FILE_NAME
    folder = file.parent
    entry = check(read_yaml(file), str(file))

    def truth(entry: TruthEntry) -> Callable[[], Disparity]:
        return _truth(folder / entry.file, scale=entry.scale, unknown=entry.unknown, minimum=entry.minimum)

    truths = {}
    if entry.truth:
        truths[entry.reference, entry.match] = truth(entry.truth)
    if entry.match_truth:
        truths[entry.match, entry.reference] = truth(entry.match_truth)
    for mask in entry.masks.values():
        check_file(folder / mask)
    ranges = {}
    if entry.search and (entry.search.low or entry.search.high):
        low, high = (truth(limit) if limit else None for limit in (entry.search.low, entry.search.high))
        ranges[entry.reference, entry.match] = partial(_limits, low, high)
    search = None
    try:
        if entry.search:
            search = Search(entry.search.minimum, entry.search.maximum, entry.search.step)
        else:
            search = _range_beside(folder / entry.frames[entry.reference].file)
        frames = []
        for i, f in enumerate(entry.frames):
            position, shown = i if f.position is None else f.position, folder / f.mask if f.mask else None
            frames.append(_frame(folder / f.file, position, shown, search if i == entry.reference else None))
        return Scene(
            _name(folder if file.name == FILE_NAME else file.with_suffix("")),
            tuple(frames),
            entry.reference,
            entry.match,
            search,
            truths,
            {name: partial(read_mask, folder / mask) for name, mask in entry.masks.items()},
            entry.calibration,
            entry.border,
            ranges=ranges,
        )
    except ParameterError as error:
        raise DataError(f"{file}: {error}") from None


def pair_scene(
    left: PathLike,
    right: PathLike,
    search: Search | tuple[float, float] | None = None,
    *,
    truth: PathLike | None = None,
    truth_scale: float | None = None,
    truth_unknown: int | None = 0,
    left_mask: PathLike | None = None,
    right_mask: PathLike | None = None,
    low: PathLike | None = None,
    high: PathLike | None = None,
    mask: PathLike | None = None,
) -> Scene:
    """A scene of two image files; the left one is the reference.

    Parameters
    ----------
    left, right : path-like
        Images. Pixels that an alpha channel makes transparent, that have the value of a TIFF's nodata tag, or that are NaN in a float image (PFM, npy,
        TIFF) hold no data.
    search : Search or (float, float), optional
        Disparity range in pixels, both ends included. Default: what the calib.txt beside the left image says, if there is one.
    truth : path-like, optional
        Disparity map of the left image, see `read_disparity`.
    truth_scale, truth_unknown
        Its scale and its value for unknown, if it is a grey picture.
    left_mask, right_mask : path-like, optional
        Pictures that are white where the image holds data.
    low, high : path-like, optional
        Maps of the smallest and largest disparity of each pixel of the left image, see `read_disparity`; unknown = no limit.
    mask : path-like, optional
        Picture that is white where the left image is evaluated, under every protocol.

    Raises
    ------
    DataError
        One of the files is missing.
    """
    truths = {} if truth is None else {(0, 1): _truth(Path(truth), scale=truth_scale, unknown=truth_unknown)}
    limits = [None if limit is None else _truth(Path(limit)) for limit in (low, high)]
    ranges = {(0, 1): partial(_limits, *limits)} if any(limits) else {}
    left, right = Path(left), Path(right)
    masks = [None if mask is None else Path(mask) for mask in (left_mask, right_mask)]
    # The folder tells apart pairs whose files have the same names.
    name = harmless("/".join(filter(None, (left.resolve().parent.name, f"{left.stem}-{right.stem}"))))
    search = (search if isinstance(search, Search) else Search(*search)) if search is not None else _range_beside(left)
    frames = _frame(left, 0, masks[0], search), _frame(right, 1, masks[1])
    shown = {} if mask is None else {EVALUATED: partial(read_mask, mask)}
    if mask is not None:
        check_file(mask)
    return Scene(name, frames, search=search, truths=truths, ranges=ranges, masks=shown)


def _range_beside(image: Path) -> Search | None:
    """The search range from a Middlebury calib.txt beside an image; None if there is none."""
    calib = image.parent / "calib.txt"
    if not calib.is_file():
        return None
    _, ndisp = read_any_calibration(calib)
    return None if ndisp is None else Search(0, ndisp - 1)


def _frame(path: Path, position: float, mask: Path | None, search: Search | None = None) -> Frame:
    check_file(path)
    if mask is not None:
        check_file(mask)
    return Frame(str(path), partial(_image, path, search), position, partial(_valid, path, mask))


def _image(path: Path, search: Search | None) -> Image:
    """Read an image; for the reference frame, its declared range of disparities is checked."""
    image = read_image(path)
    if search is not None:
        try:
            doubt = search.check_width(image.shape[1])
        except ParameterError as error:
            raise DataError(f"{path}: {error}") from None
        if doubt:
            warnings.warn(f"{path}: {doubt}", DataWarning, stacklevel=2)
    return image


def _valid(path: Path, mask: Path | None) -> Mask | None:
    """The pixels that an image's alpha channel and its mask leave; None if there is neither."""
    alpha, given = read_alpha(path), None if mask is None else read_mask(mask)
    if alpha is None or given is None:
        return given if alpha is None else alpha
    if alpha.shape != given.shape:
        raise DataError(f"{mask}: is {given.shape[1]}x{given.shape[0]}, its image {path} is {alpha.shape[1]}x{alpha.shape[0]}")
    return alpha & given


def _limits(load_low: Callable[[], Disparity] | None, load_high: Callable[[], Disparity] | None) -> tuple[Disparity, Disparity]:
    """The smallest and largest disparity of each pixel; either may be missing, which means no limit."""
    low, high = (None if load is None else load() for load in (load_low, load_high))
    known = next(limit for limit in (low, high) if limit is not None)
    nothing = np.full_like(known, np.nan)
    return nothing if low is None else low, nothing if high is None else high


def _truth(path: Path, **encoding: Any) -> Callable[[], Disparity]:
    check_file(path)
    return partial(read_disparity, path, **encoding)


def _name(path: Path) -> str:
    """A scene name that can also name a result folder: the path as given, without its root and upward steps."""
    parts = [part for part in path.parts if part not in (path.anchor, "..")]
    return harmless("/".join(parts) or path.resolve().name or "scene")
