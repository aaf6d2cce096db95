"""Match two images with a good method, an estimated search range and all checks, without having to think about them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from stereo_framework.confidence import left_right_consistency
from stereo_framework.core.arguments import AnyNumber, checked
from stereo_framework.core.errors import ParameterError, warn
from stereo_framework.core.file_damage import collecting_damage
from stereo_framework.core.parameters import Positive
from stereo_framework.core.scene import Calibration, Disparity, Image, Mask, Scene, SearchRange
from stereo_framework.core.search import SearchArgument, are_ends
from stereo_framework.datasets import pair_scene
from stereo_framework.engine.tiling import fitted
from stereo_framework.io import PathLike, StereoCalibration, read_stereo_calibration
from stereo_framework.script import Setting, load
from stereo_framework.user_pair.calibrations import calibration_of_pair
from stereo_framework.user_pair.intensities import find_intensity_problems, stretched
from stereo_framework.user_pair.match_result import CONFIDENCE, MatchResult
from stereo_framework.user_pair.rectify import rectified, rectified_by_points
from stereo_framework.user_pair.search_range import find_pair_problems, looked_at
from stereo_framework.user_pair.tile_cache import match_or_read

_AN_IMAGE = "the path of an image, or an image as a numpy array"

DEFAULT = "fine"
"""The method that is used if none is given."""


@checked(
    left=_AN_IMAGE,
    right=_AN_IMAGE,
    method="a file, the name of a built-in script, a mapping or a Setting",
)
def match(
    left: PathLike | Image,
    right: PathLike | Image,
    disparities: SearchArgument | Literal["auto"] | None = None,
    *,
    method: str | Path | Mapping[str, Any] | Setting = DEFAULT,
    calibration: PathLike | Calibration | tuple[AnyNumber, AnyNumber] | None = None,
    cameras: tuple[int, int] | None = None,
    rectify: PathLike | Sequence[PathLike] | StereoCalibration | Literal["auto"] | None = None,
    stretch: bool = False,
    left_mask: PathLike | Mask | None = None,
    right_mask: PathLike | Mask | None = None,
    ranges: tuple[PathLike, PathLike] | tuple[Disparity, Disparity] | None = None,
    memory: Positive | None = None,
    parts: str | Path | None = None,
    **parameters: Any,
) -> MatchResult:
    """Match a rectified pair of images, or one that is rectified first.

    Parameters
    ----------
    left, right : path-like or ndarray, uint8, uint16 or float, (rows, columns) or (rows, columns, 3)
        Two files or two arrays, intensities 0..255; those of 16 bits are divided by 257. The left image is the reference. Photographs are turned by
        their EXIF orientation, as programs show them; masks, ranges and calibrations must be those of the upright images.
    disparities : (float, float), SearchRange or "auto", optional
        Smallest and largest disparity in pixels, both included, or "auto" to estimate them.
        Ends between the levels of the method are widened to the next level outside them.
        Default: the bounds in the calibration file, or in a calib.txt beside the left image,
        or an estimate if there are none.
    method : str, path-like, mapping or Setting
        Name of a built-in script, file of a script, or script as a mapping, each with
        exactly one setting. A setting of a loaded script is also allowed.
    calibration : path-like, Calibration or (float, float), optional
        The file of a calibration: Middlebury's ``calib.txt``, KITTI's, or OpenCV's YAML or JSON with ``Q`` or ``P1`` and ``P2``. Or the focal length in
        pixels and the distance of the cameras, in the unit that depths should have.
    cameras : (int, int), optional
        Numbers of the left and right camera in a calibration file of KITTI: 0 and 1 are grey, 2 and 3 take colour images. Default: those in the names
        of the images' folders (``image_2``), else by the colours of the images.
    rectify : path-like, sequence of path-like, StereoCalibration or "auto", optional
        The stereo calibration of a pair that is not rectified, in one file or in two, as OpenCV's stereo_calib writes them. The pair is then rectified
        first, and its calibration follows from this one. Disparities are those of the rectified pair. "auto": without any calibration, by points that are found
        in both images (`rectified_by_points`).
    stretch : bool
        Spread the intensities over 0..255, in the same way in both images.
    left_mask, right_mask : path-like or ndarray, bool, (rows, columns), optional
        True, or white in a file, where the image holds data.
    ranges : two path-like or two ndarray, float32, (rows, columns), optional
        Maps of the smallest and of the largest disparity of each pixel of the left image; NaN = no limit.
    memory : float, optional
        Bytes that cost volumes may take. Default: four fifths of what is free. Large pairs, and those that need more, are matched in `tiles`.
    parts : path-like, optional
        Folder in which the estimate of each tile is kept, so that a call that was stopped goes on with the tiles that are left.
    **parameters
        Of the method's stages, by address or by name alone, as in `Pipeline.having`.

    Returns
    -------
    MatchResult
        ``.disparity``, ``.confidence``, ``.status``, ``.depth()``, ``.points()``, ``.save(folder)``.

    Raises
    ------
    DataError
        A file is missing or damaged, or the images differ in size.
    ParameterError
        A file and an array were given together, there are two calibrations, or the method has several settings.

    Warns
    -----
    ResultWarning
        Reasons to doubt the map, each with the cure, as in `MatchResult.warnings`.

    Examples
    --------
    >>> from stereo_framework import load_scene, match
    >>> scene = load_scene("synthetic/planes")
    >>> found = match(scene.reference, scene.match, (0, 30), method="sgbm")
    >>> found.disparity.shape, found.search.maximum
    ((240, 320), 30)
    """
    setting = method if isinstance(method, Setting) else load(method).only
    pipeline = setting.pipeline.having(**parameters)
    requested = None
    if disparities is not None and not _is_auto(disparities):
        requested = requested_range(setting, disparities, "disparities")

    masks: dict[str, Any] = {"left_mask": left_mask, "right_mask": right_mask}
    masks |= dict(zip(("low", "high"), ranges or (), strict=False))
    with collecting_damage() as damage:
        scene, stretch_note = _scene(left, right, requested, masks), ""
        if stretch:
            scene, stretch_note = stretched(scene)
        scene, remarks = _calibrated(scene, calibration, rectify, cameras)
        if disparities is not None or rectify is not None:
            # A calib.txt next to the images may contain another range.
            scene = replace(scene, search=requested)

        method_step = setting.search.get("step", scene.search.step if scene.search else 1)
        pipeline.check_step(method_step)
        searched, sparse, estimated = looked_at(scene)
    search = own_search(setting, searched)
    origin = "from the calibration"
    if estimated:
        origin = f"estimated from {sparse.along_rows.size} matched points and a coarse pass"
    elif requested is not None:
        origin = _origin(disparities, search)

    if all(step.stage.name != CONFIDENCE for step in pipeline.steps):
        pipeline = pipeline.having(
            confidence=[pipeline.in_slot("confidence"), left_right_consistency]
        )
    method_of_pair = fitted(pipeline, scene.reference.shape[:2], search, memory)
    if method_of_pair is not pipeline:
        origin = f"{origin}; in tiles, each searched at the disparities of the reduced pair"
    solve = None if parts is None else functools.partial(match_or_read, folder=Path(parts))
    result = method_of_pair.estimate(scene, search, solve=solve)

    rectified_first = rectify is not None
    problems_of_map = find_pair_problems(
        sparse, search, result.disparity, estimated=estimated, rectified=rectified_first
    )
    warnings = dict.fromkeys(
        [*remarks, *find_intensity_problems(scene), *problems_of_map, *result.warnings]
    )
    warn(warnings)
    # The reader has given the warnings about damage already. Files that another thread has
    # read are known to the scene only.
    warnings = dict.fromkeys([*damage, *scene.damage, *warnings])
    return MatchResult(
        scene,
        setting.method,
        result,
        origin,
        tuple(warnings),
        sparse.vertical_offset,
        rectified_first,
        stretch_note,
    )


def _is_auto(disparities: Any) -> bool:
    """Return whether the search range is to be estimated; an array is not compared."""
    return isinstance(disparities, str) and disparities == "auto"


def _calibrated(
    scene: Scene, calibration: Any, rectify: Any, cameras: tuple[int, int] | None
) -> tuple[Scene, list[str]]:
    """Return the scene with its calibration: the given one, or that of the rectified pair.

    The second result are remarks about the calibration.

    Raises
    ------
    ParameterError
        Both a calibration and a rectification are given.
    """
    if rectify is not None:
        if calibration is not None:
            raise ParameterError(
                "rectify computes the calibration of the rectified pair; leave out the other one"
            )
        return _rectified(scene, rectify), []

    known, levels, remarks = calibration_of_pair(calibration, scene, cameras)
    if levels is not None:
        scene = replace(scene, search=SearchRange(0, levels - 1))
    return replace(scene, calibration=known), remarks


def requested_range(setting: Setting, ends: Any, source: str) -> SearchRange:
    """Return the search range that a user requests, widened to the grid of the method's step.

    Parameters
    ----------
    setting : Setting
        Its script may give the step. Default: 1 pixel.
    ends : SearchRange, or sequence of two or three float
        Minimum, maximum and possibly the step, in pixels. A `SearchRange` is returned unchanged.
    source : str
        Argument or option that gives the range, for messages.

    Returns
    -------
    SearchRange
        Range with the requested ends, or the nearest ends outside them that lie on the grid.

    Raises
    ------
    ParameterError
        The ends are not numbers, the maximum is not above the minimum, or there are too many
        levels between them.
    """
    if isinstance(ends, SearchRange) or not are_ends(ends):
        return SearchRange.of(ends)
    minimum, maximum, *steps = ends
    step = setting.search.get("step", steps[0] if steps else 1)
    try:
        return SearchRange.covering(minimum, maximum, step)
    except ParameterError as error:
        message = str(error).replace("search.", "").removeprefix("search: ")
        raise ParameterError(f"{source}: {message}") from None


def _origin(ends: Any, search: SearchRange) -> str:
    """Describe the origin of a search range that the user gave, and whether it was widened.

    Parameters
    ----------
    ends : SearchRange, or sequence of float
        Range that the user gave.
    search : SearchRange
        Range that is searched.
    """
    if isinstance(ends, SearchRange):
        minimum, maximum = ends.minimum, ends.maximum
    else:
        minimum, maximum = ends[:2]
    if search.minimum < minimum or search.maximum > maximum:
        return f"given as {minimum:g}:{maximum:g} and widened to the grid of the step"
    return "given"


def own_search(run: Setting, search: SearchRange) -> SearchRange:
    """Return a search range with the step and the bounds of a setting of a script.

    Bounds that the setting does not give are widened to the grid of the setting's step.

    Raises
    ------
    ParameterError
        The setting's minimum is not below the maximum of `search`, or its maximum is not above
        the minimum of `search`.
    """
    minimum = run.search.get("minimum", search.minimum)
    maximum = run.search.get("maximum", search.maximum)
    step = run.search.get("step", search.step)
    if not minimum < maximum:
        message = (
            f"method {run.method}: its search range from {minimum:g} to {maximum:g} is empty, because the method limits "
            f"{search.minimum:g}:{search.maximum:g}; remove search.minimum and search.maximum from the method, or change the range"
        )
        raise ParameterError(message)
    return SearchRange.covering(minimum, maximum, step, search.direction)


def _scene(left: Any, right: Any, search: SearchRange | None, masks: Mapping[str, Any]) -> Scene:
    arrays = isinstance(left, np.ndarray)
    if arrays != isinstance(right, np.ndarray):
        raise ParameterError(
            "left and right: one is an array and one is a file; give two of a kind"
        )
    return (
        replace(Scene.from_images(left, right, **masks), search=search)
        if arrays
        else pair_scene(left, right, search, **masks, upright=True)
    )


def _rectified(scene: Scene, by: Any) -> Scene:
    if isinstance(by, str) and by == "auto":
        return rectified_by_points(scene)
    if not isinstance(by, StereoCalibration):
        by = read_stereo_calibration([by] if isinstance(by, str | Path) else by)
    return rectified(scene, by)
