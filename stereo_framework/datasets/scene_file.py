"""The user's own scenes: a ``scene.yaml`` beside the images, which `new_scene` begins, or two image files.

A ``scene.yaml``; only ``frames`` is needed, file names are relative to its folder::

    frames: [left.png, right.png]       # from left to right; or {file: left.png, position: 0.5, mask: valid.png}
    reference: 0                        # indices of frames
    match: 1
    search: {minimum: 0, maximum: 64}   # pixels, both ends included; and step; low and high: maps as truth's; without it 0 to
                                        # ndisp - 1 of a Middlebury calib.txt that lies beside the reference image
    truth: {file: truth.png, disparity_scale: 4, unknown: 0}  # or only a file name; match_truth likewise
    masks: {nonocc: nonocc.png}         # white counts; outside of one called evaluated nothing does
    calibration: {focal_length: 994.978, baseline: 193.001, doffs: 31.086}
    border: 0                           # pixels that are not evaluated
    upright: false                      # true turns photographs by their EXIF orientation; truth and masks are then those of the upright image

A frame's mask is white where the image holds data; an image's alpha channel and NaN in a float image (PFM, npy) say the same.
"""

import itertools
import math
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from stereo_framework.core.arguments import AnyNumber, checked
from stereo_framework.core.errors import (
    DataError,
    DataWarning,
    ParameterError,
    escape_controls,
    warn,
)
from stereo_framework.core.frames import size_ratio
from stereo_framework.core.scene import (
    EVALUATED,
    Calibration,
    Disparity,
    Frame,
    Image,
    Scene,
    SearchRange,
)
from stereo_framework.core.search import SearchArgument
from stereo_framework.io import (
    PathLike,
    check_file,
    read_any_calibration,
    read_disparity,
    read_image,
    read_mask,
    registered_suffixes,
    write_bytes,
)
from stereo_framework.io.disparity import FORMAT_MARKER, Unknown
from stereo_framework.io.images import ENDINGS
from stereo_framework.io.orientation import UPRIGHT, orientation_of
from stereo_framework.io.paired_names import left_and_right, natural_order

FILE_NAME = "scene.yaml"

_Load = Callable[[], Any]

_AN_IMAGE = "the path of an image; Scene.from_images takes arrays"


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
    from stereo_framework.datasets.scene_schema import (  # on use: it brings pydantic
        FrameEntry,
        read_entry,
    )

    file = Path(path)
    if file.is_dir():
        file /= FILE_NAME
    folder, entry = file.parent, read_entry(file)
    pair, given = (entry.reference, entry.match), entry.search

    def map_in(entry: Any) -> _Load | None:
        return entry and _map(
            folder / entry.file,
            disparity_scale=entry.disparity_scale,
            unknown=entry.marker,
            disparity_offset=entry.disparity_offset,
        )

    def own_position(index: int) -> float:
        position = entry.frames[index].position
        return index if position is None else position

    def frame(index: int, own: FrameEntry) -> Frame:
        position = own_position(index)
        if own.baseline is not None:
            origin = own_position(entry.reference)
            position = origin + own.baseline * (own_position(entry.match) - origin)
        own_search = search if index == pair[0] else None
        return _frame(
            folder / own.file,
            position,
            own.mask and folder / own.mask,
            own_search,
            upright=entry.upright,
            time=own.time,
        )

    truths = {pair: map_in(entry.truth), pair[::-1]: map_in(entry.match_truth)}
    try:
        if given:
            search: SearchRange | None = SearchRange(given.minimum, given.maximum, given.step)
        else:
            search = _range_beside(folder / entry.frames[pair[0]].file, upright=entry.upright)
        return Scene(
            name_of_file(file),
            tuple(map(frame, itertools.count(), entry.frames)),
            *pair,
            search,
            {pair: load for pair, load in truths.items() if load},
            {name: _file(read_mask, folder / mask) for name, mask in entry.masks.items()},
            Calibration(**entry.calibration.model_dump()) if entry.calibration else None,
            entry.border,
            ranges=_ranges(pair, map_in(given.low), map_in(given.high)) if given else {},
        )
    except ParameterError as error:
        raise DataError(f"{file}: {error}") from None


@checked(left=_AN_IMAGE, right=_AN_IMAGE)
def pair_scene(
    left: PathLike,
    right: PathLike,
    search: SearchArgument | None = None,
    *,
    truth: PathLike | None = None,
    truth_scale: AnyNumber | None = None,
    truth_unknown: Unknown = FORMAT_MARKER,
    left_mask: PathLike | None = None,
    right_mask: PathLike | None = None,
    low: PathLike | None = None,
    high: PathLike | None = None,
    mask: PathLike | None = None,
    upright: bool = False,
) -> Scene:
    """A scene of two image files; the left one is the reference.

    Parameters
    ----------
    left, right : path-like
        Images. Pixels that an alpha channel makes transparent, that have the value of a TIFF's nodata tag, or that are NaN in a float image (PFM, npy,
        TIFF) hold no data.
    search : SearchRange or (float, float), optional
        Disparity range in pixels, both ends included. Default: what the calib.txt beside the left image says, if there is one.
    truth : path-like, optional
        Disparity map of the left image, see `read_disparity`.
    truth_scale, truth_unknown
        Its scale and its value for unknown, as `read_disparity` takes them.
    left_mask, right_mask : path-like, optional
        Pictures that are white where the image holds data.
    low, high : path-like, optional
        Maps of the smallest and largest disparity of each pixel of the left image, see `read_disparity`; unknown = no limit.
    mask : path-like, optional
        Picture that is white where the left image is evaluated, under every protocol.
    upright : bool
        Turn photographs by their EXIF orientation, as `match` does. Maps and masks are then those of the upright image. By default images are as stored,
        because the ground truth of a data set belongs to the stored pixels.

    Raises
    ------
    DataError
        One of the files is missing.
    """
    left = Path(left)
    right = Path(right)
    # The folder tells apart pairs whose files have the same names.
    name = escape_controls(
        "/".join(filter(None, (left.resolve().parent.name, f"{left.stem}-{right.stem}")))
    )
    search = _range_beside(left, upright=upright) if search is None else SearchRange.of(search)
    return Scene(
        name,
        (
            _frame(left, 0, left_mask, search, upright=upright),
            _frame(right, 1, right_mask, upright=upright),
        ),
        search=search,
        truths={}
        if truth is None
        else {(0, 1): _map(truth, disparity_scale=truth_scale, unknown=truth_unknown)},
        ranges=_ranges((0, 1), *(None if limit is None else _map(limit) for limit in (low, high))),
        masks={} if mask is None else {EVALUATED: _file(read_mask, mask)},
    )


def _file(read: Callable[..., Any], path: PathLike, **how: Any) -> _Load:
    """Return a function that reads a file.

    Raises
    ------
    DataError
        The file is missing.
    """
    check_file(path)
    # The file is read later, when a method may have changed the current folder.
    return partial(read, Path(path).absolute(), **how)


_map = partial(_file, read_disparity)


def _range_beside(image: Path, *, upright: bool = False) -> SearchRange | None:
    """Return the search range from a Middlebury calib.txt beside an image.

    If the file states another size than that of the image, the range is scaled. None if
    there is no such file, or if the image was not just resized.
    """
    calib = image.parent / "calib.txt"
    if not calib.is_file():
        return None
    calibration, ndisp = read_any_calibration(calib)
    if ndisp is None:
        return None
    if calibration.size is None or not image.is_file():
        return SearchRange(0, ndisp - 1)
    rows, columns = read_image(image, upright=upright).shape[:2]
    ratio = size_ratio(calibration.size, (columns, rows))
    if ratio == 1:
        return SearchRange(0, ndisp - 1)

    sizes = f"{calib}: is for images of {calibration.size[0]}x{calibration.size[1]} pixels, and {image.name} has {columns}x{rows}"
    if ratio is None:
        warn([f"{sizes}; no resizing explains that, so its ndisp is not used"], DataWarning)
        return None
    largest = max(1, math.ceil((ndisp - 1) * ratio - 1e-9))
    message = (
        f"{sizes}, so its range of disparities, 0 to {ndisp - 1}, was scaled to 0 to {largest}"
    )
    warn([message], DataWarning)
    return SearchRange(0, largest)


def _image(path: Path, search: SearchRange | None, *, upright: bool = False) -> Image:
    """Read an image, without pixels that hold no data; for the reference frame, its declared range of disparities is checked."""
    image = read_image(path, masked=True, upright=upright)
    if search is not None:
        try:
            doubt = search.check_width(image.shape[1])
        except ParameterError as error:
            raise DataError(f"{path}: {error}") from None
        if doubt:
            warn([f"{path}: {doubt}"], DataWarning)
    return image


def _frame(
    path: Path,
    position: float,
    mask: PathLike | None,
    search: SearchRange | None = None,
    *,
    upright: bool = False,
    time: float = 0.0,
) -> Frame:
    load_mask = None if mask is None else _file(read_mask, mask, upright=upright)
    load_image = _file(_image, path, search=search, upright=upright)
    return Frame(str(path), load_image, position, load_mask, time)


def _ranges(
    pair: tuple[int, int], low: _Load | None, high: _Load | None
) -> dict[tuple[int, int], _Load]:
    """The smallest and largest disparity of each pixel of a frame towards another; either may be missing, which means no limit."""
    return {pair: partial(_limits, low, high)} if low or high else {}


def _limits(load_low: _Load | None, load_high: _Load | None) -> tuple[Disparity, Disparity]:
    low, high = (None if load is None else load() for load in (load_low, load_high))
    nothing = np.full_like(high if low is None else low, np.nan)
    return nothing if low is None else low, nothing if high is None else high


def name_of_file(file: Path) -> str:
    """Return the name of the scene that a scene file describes."""
    return name_of_path(file.parent if file.name == FILE_NAME else file.with_suffix(""))


def name_of_path(path: Path) -> str:
    """Return the name of a scene at a path, which can also name a folder of results.

    The name is the path as it is given, without its root and without upward steps.
    """
    parts = [part for part in path.parts if part not in (path.anchor, "..")]
    return escape_controls("/".join(parts) or path.resolve().name or "scene")


_NO_IMAGE = re.compile(r"(disp|depth|truth|gt|mask|nonocc|confidence)", re.IGNORECASE)
"""Names of pictures that are not images of the pair."""

_UPRIGHT = "\n# The photographs are turned by their EXIF orientation, so truth and masks are those of the upright images.\nupright: true\n"

_TEXT = Path(__file__).with_name("new_scene.txt")
"""What is written, with names in braces that are filled in."""


def new_scene(folder: Path, estimate: Callable[[Scene], SearchRange]) -> Path:
    """Write a ``scene.yaml`` for two images in a folder: left and right, or the first two by name, such as im0 and im1.

    Parameters
    ----------
    folder : Path
        A folder with two or more images, and perhaps a Middlebury calib.txt.
    estimate : callable
        Gives the search range of a scene that has none.

    Returns
    -------
    Path
        The new file.

    Raises
    ------
    DataError
        There is a scene.yaml already, there are fewer than two images or several pairs, or they do not make a scene.
    """
    file, endings = folder / FILE_NAME, (*ENDINGS, *registered_suffixes("image"))
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    if os.path.lexists(file):
        raise DataError(f"{file}: exists already; delete it to have a new one written")
    files = [path for path in folder.iterdir() if path.suffix.lower() in endings and path.is_file()]
    files.sort(key=lambda path: natural_order(path.name))
    images = [path for path in files if not _NO_IMAGE.search(path.stem)]
    if len(images) < 2:
        raise DataError(
            f"{folder}: holds {len(images)} images that may be of a pair; a scene needs two; allowed endings: {', '.join(endings)}"
        )
    left, right = _left_and_right(folder, images)
    pair = pair_scene(left, right, upright=True)
    _ = pair.match  # both are of one size
    search = pair.search or estimate(pair)
    text = _TEXT.read_text(encoding="utf-8").format(
        folder=escape_controls(str(folder)),
        frames=yaml.safe_dump(
            [left.name, right.name], default_flow_style=True, allow_unicode=True
        ).strip(),
        source="from calib.txt" if pair.search else "estimated from the images",
        low=search.minimum,
        high=search.maximum,
        upright=_UPRIGHT if any(orientation_of(path) != UPRIGHT for path in (left, right)) else "",
    )
    write_bytes(file, text.encode())
    return file


def _left_and_right(folder: Path, images: Sequence[Path]) -> tuple[Path, Path]:
    """Return the left and the right image of a folder.

    Raises
    ------
    DataError
        The names show several pairs, or a left and a right image that are no pair.
    """
    by_name = {path.stem: path for path in images}
    sides = left_and_right(list(by_name))
    if sides is None:
        return images[0], images[1]
    left_names, right_names = sides
    pair_keys = [key for key in left_names if key in right_names]
    if len(pair_keys) == 1:
        return by_name[left_names[pair_keys[0]]], by_name[right_names[pair_keys[0]]]
    if pair_keys:
        message = (
            f"{folder}: holds {len(pair_keys)} pairs, such as {left_names[pair_keys[0]]} and "
            f"{left_names[pair_keys[1]]}; a scene needs the images of one pair: move each pair into a folder of its own"
        )
    else:
        left_name = next(iter(left_names.values()))
        right_name = next(iter(right_names.values()))
        message = (
            f"{folder}: the names do not show a pair: the left image is {left_name} and the right image is {right_name}; "
            "give both the same number or the same other words"
        )
    raise DataError(message)
