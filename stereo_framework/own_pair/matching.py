"""Match two images with a good method, an estimated search range and all checks, without having to think about them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from stereo_framework.confidence import left_right_consistency
from stereo_framework.core.errors import ParameterError, warn
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Calibration, Disparity, Image, Mask, Scene, Search
from stereo_framework.datasets import pair_scene
from stereo_framework.engine.memory import fitted
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.io import PathLike, StereoCalibration, read_any_calibration, read_stereo_calibration
from stereo_framework.own_pair.intensities import intensity_doubt, stretched
from stereo_framework.own_pair.kept_parts import kept_match
from stereo_framework.own_pair.matched import CONFIDENCE, Matched
from stereo_framework.own_pair.rectify import rectified
from stereo_framework.own_pair.rectify_by_points import rectified_by_points
from stereo_framework.own_pair.search_range import doubts, looked_at
from stereo_framework.script import Setting, load

DEFAULT = "fine"
"""The method that is used if none is given."""


def match(
    left: PathLike | Image,
    right: PathLike | Image,
    disparities: tuple[float, float] | Literal["auto"] | None = None,
    *,
    method: str | Path | Mapping[str, Any] = DEFAULT,
    calibration: PathLike | Calibration | None = None,
    focal_length: float | None = None,
    baseline: float | None = None,
    rectify: PathLike | Sequence[PathLike] | StereoCalibration | Literal["auto"] | None = None,
    stretch: bool = False,
    left_mask: PathLike | Mask | None = None,
    right_mask: PathLike | Mask | None = None,
    ranges: tuple[PathLike, PathLike] | tuple[Disparity, Disparity] | None = None,
    plugins: Sequence[str | Path] = (),
    overrides: Sequence[str] = (),
    memory: float | None = None,
    parts: Path | None = None,
    watch: Callable[[str], None] | None = None,
    **parameters: Any,
) -> Matched:
    """Match a rectified pair of images, or one that is rectified first.

    Parameters
    ----------
    left, right : path-like or ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Two files or two arrays, intensities 0..255. The left image is the reference.
    disparities : (float, float) or "auto", optional
        Smallest and largest disparity in pixels, both included, or "auto" to estimate them. Default: the bounds in the calibration file, or an
        estimate if it has none.
    method : str, path-like or mapping
        The name of a shipped script, the file of a script, or a script itself. It must have exactly one setting.
    calibration : path-like or Calibration, optional
        A calibration, or the file of one: Middlebury's ``calib.txt``, KITTI's, or OpenCV's YAML, XML or JSON with ``Q`` or ``P1`` and ``P2``.
    focal_length, baseline : float, optional
        Instead of a calibration: the focal length in pixels, and the distance of the cameras in the unit that depths should have.
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
    plugins : sequence of str or Path, optional
        Plug-ins of the script that lie outside its folder.
    overrides : sequence of str, optional
        ``key.path=value`` over the script's, as on the command line.
    memory : float, optional
        Bytes that cost volumes may take. Default: four fifths of what is free. Large pairs, and those that need more, are matched in `tiles`.
    parts : Path, optional
        Folder where tiles are kept, so that a call that was killed goes on with those that are left; whoever calls removes it.
    watch : callable, optional
        Called with a text that says what begins to be computed.
    **parameters
        Of the method's stages, by address or by name alone, as in `Pipeline.having`.

    Returns
    -------
    Matched
        ``.disparity``, ``.confidence``, ``.status``, ``.depth``, ``.points``, ``.save(folder)``, ``.plot()``.

    Raises
    ------
    DataError
        A file is missing or damaged, or the images differ in size.
    ParameterError
        A file and an array were given together, a calibration is incomplete, or the method has several settings.

    Warns
    -----
    ResultWarning
        Reasons to doubt the map, each with the cure, as in `Matched.warnings`.

    Examples
    --------
    >>> from stereo_framework import load_scene, match
    >>> scene = load_scene("synthetic/planes")
    >>> found = match(scene.reference, scene.match, (0, 30), method="sgbm")
    >>> found.disparity.shape, found.search.maximum
    ((240, 320), 30)
    """
    arrays = [isinstance(image, np.ndarray) for image in (left, right)]
    if arrays[0] != arrays[1]:
        raise ParameterError("left and right: one is an array and one is a file; give two of a kind")
    masks: dict[str, Any] = {"left_mask": left_mask, "right_mask": right_mask}
    masks |= dict(zip(("low", "high"), ranges or (None, None), strict=True))
    if arrays[0]:
        scene = Scene.from_images(left, right, None if disparities == "auto" else disparities, **masks)  # type: ignore[arg-type]
    else:
        search = None if disparities is None or disparities == "auto" else Search(*disparities)
        scene = pair_scene(left, right, search, **masks)  # type: ignore[arg-type]
        # A calib.txt beside the images may have given a range that is not wanted here.
        scene = replace(scene, search=search) if disparities == "auto" or rectify is not None else scene
    ends = None
    if stretch:
        scene, ends = stretched(scene)
    origin = "given"
    if rectify == "auto":
        scene = rectified_by_points(scene)
    elif rectify is not None:
        if any(given is not None for given in (calibration, focal_length, baseline)):
            raise ParameterError("rectify computes the calibration of the rectified pair; leave out the other one")
        paths = [rectify] if isinstance(rectify, str | os.PathLike) else rectify
        cameras = paths if isinstance(paths, StereoCalibration) else read_stereo_calibration(paths)
        scene = rectified(scene, cameras)
    else:
        found, levels = _calibration(calibration, focal_length, baseline, colour=scene.reference.ndim == 3)
        if disparities is None:
            scene = scene if levels is None else replace(scene, search=Search(0, levels - 1))
            # A calib.txt beside the images may have given the range, too.
            origin = "of the calibration" if scene.search is not None else origin
        scene = replace(scene, calibration=found)
    own: dict[str, Any] = {
        "plugins": plugins,
        "overrides": overrides,
        "memory": memory,
        "parts": parts,
        "watch": watch,
        **parameters,
    }
    matched = match_scene(scene, method, origin=origin, was_rectified=rectify is not None, **own)
    return replace(matched, stretched=ends)


def match_scene(
    scene: Scene,
    method: str | Path | Mapping[str, Any] = DEFAULT,
    *,
    origin: str = "of the scene",
    plugins: Sequence[str | Path] = (),
    overrides: Sequence[str] = (),
    memory: float | None = None,
    parts: Path | None = None,
    watch: Callable[[str], None] | None = None,
    was_rectified: bool = False,
    **parameters: Any,
) -> Matched:
    """Match the frame pair of a scene as `match` does. If the scene has no search range, one is estimated.

    Parameters
    ----------
    scene : Scene
    method : str, path-like or mapping
        As in `match`.
    origin : str
        Where the scene's search range comes from.
    plugins, overrides, memory, parts, watch, **parameters
        As in `match`.
    was_rectified : bool
        Whether the images of the scene were rectified, so that they are saved too.
    """
    run = single(method, plugins, overrides)
    tell = watch or (lambda doing: None)
    search, sparse, estimated = looked_at(scene, tell)
    if estimated:
        origin = f"estimated from {sparse.along_rows.size} matched points and a coarse pass"
    search = own_search(run, search)
    pipeline = _with_confidence(run.pipeline.having(**parameters))
    whole, pipeline = pipeline, fitted(pipeline, Pair.of(scene, search), memory)
    if pipeline is not whole:
        origin = f"{origin}; in tiles, each where a small map shows something"
    solve = None
    if parts is not None and pipeline.in_slot("scheme"):
        parts.parents[1].mkdir(parents=True, exist_ok=True)
        solve = functools.partial(kept_match, folder=parts)
    result = pipeline.matched(scene, search, watch=lambda step: tell(step.stage.name), solve=solve)
    dark = intensity_doubt(scene)
    found = doubts(sparse, search, result.disparity, estimated=estimated, rectified=was_rectified)
    warnings = dict.fromkeys([*([dark] if dark else []), *found, *result.warnings])
    warn(warnings)
    return Matched(scene, run.method, result, origin, tuple(warnings), sparse.vertical_offset, was_rectified)


def own_search(run: Setting, search: Search) -> Search:
    """A search with what the setting of a script says of it: its step, and bounds where it has any."""
    given: dict[str, Any] = {key: value for key, value in run.search.items() if key != "truth_margin"}
    return replace(search, **given)


def single(method: str | Path | Mapping[str, Any], plugins: Sequence[str | Path] = (), overrides: Sequence[str] = ()) -> Setting:
    """The one setting of a script; `plugins` and `overrides` as in `match`.

    Raises
    ------
    ScriptError
        There is no such script, or it has faults.
    ParameterError
        The script has several settings.
    """
    return load(method, plugins=plugins, overrides=overrides).only


def _with_confidence(pipeline: Pipeline) -> Pipeline:
    """The method, with the measure of confidence that `Matched` needs."""
    if any(step.stage.name == CONFIDENCE for step in pipeline.steps):
        return pipeline
    return pipeline.having(confidence=[pipeline.in_slot("confidence"), left_right_consistency])


def _calibration(
    given: PathLike | Calibration | None, focal_length: float | None, baseline: float | None, *, colour: bool
) -> tuple[Calibration | None, int | None]:
    """The calibration and, if a file says so, how many disparities there are."""
    halves = [length for length in (focal_length, baseline) if length is not None]
    if given is not None and halves:
        raise ParameterError("a calibration was given, and a focal length or a baseline besides; give one or the other")
    if len(halves) == 1:
        raise ParameterError("a calibration needs both, the focal length in pixels and the baseline")
    if focal_length is not None and baseline is not None:
        for name, value in (("focal length", focal_length), ("baseline", baseline)):
            if not 0 < value < np.inf:
                raise ParameterError(f"the {name} {value:g} is not a number above 0")
        return Calibration(focal_length, baseline), None
    if given is None or isinstance(given, Calibration):
        return given, None
    return read_any_calibration(given, colour=colour)
