"""The command ``match``."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress
from stereo_framework.core.errors import NOTE, ParameterError, StereoFrameworkError

if TYPE_CHECKING:
    from stereo_framework.script import Setting
    from stereo_framework.user_pair import MatchResult


def match(
    left: Annotated[str | None, typer.Argument(metavar="LEFT")] = None,
    right: Annotated[str | None, typer.Argument(metavar="RIGHT")] = None,
    disparity_range: Annotated[
        list[str] | None, typer.Option("--disparities", metavar="MIN:MAX")
    ] = None,
    method: str | None = None,
    settings: _shared.Settings = None,
    calibration: Path | None = None,
    cameras: Annotated[str | None, typer.Option(metavar="LEFT,RIGHT")] = None,
    focal_length: float | None = None,
    baseline: float | None = None,
    rectify: Annotated[list[Path] | None, typer.Option(metavar="FILE|auto")] = None,
    stretch: bool = False,
    image_masks: Annotated[list[Path] | None, typer.Option("--mask")] = None,
    pixel_ranges: Annotated[
        tuple[Path, Path] | None, typer.Option("--ranges", metavar="MIN MAX")
    ] = None,
    truth: _shared.Truth = None,
    truth_scale: _shared.TruthScale = None,
    truth_unknown: _shared.TruthUnknown = None,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    memory: _shared.Memory = None,
    plugin: _shared.Plugins = None,
    example: bool = False,
    json: bool = False,
) -> int:
    """Compute a disparity map for a stereo pair.

    The command writes the disparity map, a picture of it (picture.png), a confidence map,
    and a status map that explains missing estimates. The confidence is minus the difference
    between the left and right disparity maps in pixels, so 0 is the best value. With a
    calibration the command also writes a depth map of all estimates, and a point cloud
    without the pixels at which both disparity maps differ by more than 1 pixel.

    Example: stereo-framework match --example

    Example: stereo-framework match left.png right.png --disparities 0:64 -o mine

    Parameters
    ----------
    left
        Left image of a rectified pair, or a folder or quoted pattern of left images.
    right
        Right image, or a folder or quoted pattern of right images.
    disparity_range
        Search range in pixels, including both ends, such as 0:64, or auto to estimate it. The method may widen the range to its next level. Several pairs have one
        range, or one range each if the option is repeated. Default: the range in --calibration or in a calib.txt next to the image, otherwise auto.
    calibration
        Calibration of the rectified pair, which adds depth and a point cloud: calib.txt of Middlebury or KITTI, YAML or JSON of OpenCV, or the matrix Q as .npy.
    cameras
        Numbers of the left and right camera in a calibration of KITTI, such as 2,3. Default: the numbers that the folders (image_2) or the colours of the images imply.
    focal_length
        Focal length in pixels, if there is no calibration file.
    baseline
        Distance between the cameras. Depth has the same unit.
    rectify
        Rectify the pair before matching, with a stereo calibration of OpenCV (M1, D1, M2, D2, R, T). Repeat the option if the calibration consists of two files.
        auto: rectify with matched points and without a calibration.
    stretch
        Rescale the intensities of both images together to 0..255. Use it if the images look almost black, such as 11-bit data in 16-bit files.
    image_masks
        Image that is white where the left image is valid. A second mask is that of the right image.
    pixel_ranges
        Two maps with the minimum and the maximum disparity of each pixel (PFM, NPY or 16-bit PNG).
    out
        Output folder. Default: LEFT_match for one pair, matches/LEFT for several pairs; LEFT is the name of the left image.
    method
        Built-in method or script file. Default: fine. The method fast takes a seventh of its time and has more errors.
    example
        Match a built-in stereo pair. No images are needed.
    json
        Print a JSON array instead of a summary.
    """
    from stereo_framework.datasets import load_scene
    from stereo_framework.evaluation import find_reading_errors
    from stereo_framework.evaluation.evaluate import statistics_of
    from stereo_framework.script import load
    from stereo_framework.sweep.identity import code_digest
    from stereo_framework.user_pair.kernel_warmup import compile_in_second_process
    from stereo_framework.user_pair.match_result import check_folder
    from stereo_framework.user_pair.matching import DEFAULT
    from stereo_framework.user_pair.matching import match as match_pair
    from stereo_framework.user_pair.pairs import check_mask_order, pairs
    from stereo_framework.user_pair.tile_cache import remove_tiles

    if (focal_length is None) != (baseline is None):
        raise ParameterError(
            "a calibration needs both, the focal length in pixels and the baseline"
        )
    by_hand = None if focal_length is None or baseline is None else (focal_length, baseline)
    if calibration is not None and by_hand:
        raise ParameterError(
            "a calibration was given, and a focal length and a baseline besides; give one or the other"
        )
    given: dict[str, Any] = {
        "calibration": calibration or by_hand,
        "stretch": stretch,
        "ranges": pixel_ranges,
    }
    given |= dict(zip(("left_mask", "right_mask"), image_masks or (), strict=False))
    given |= {"cameras": _shared.camera_numbers(cameras)}
    # The word auto was made an absolute path, as are all paths of the command.
    by_points = list(map(_shared.as_typed, rectify or [])) == ["auto"]
    given |= {"rectify": "auto" if by_points else rectify or None}
    if example and (left is not None or disparity_range or any(given.values())):
        raise ParameterError(
            "--example brings its own images and their range; leave out what belongs to others"
        )
    if not example and (left is None or right is None):
        raise ParameterError("two images are needed: match LEFT RIGHT; or see 'match --example'")
    if image_masks and len(image_masks) > 2:
        raise ParameterError(
            f"--mask: {len(image_masks)} masks; give that of the left image and, after it, that of the right one"
        )
    check_mask_order(image_masks or [])
    # A plug-in of the script may change the current folder.
    start = Path.cwd()
    script = load(method or DEFAULT, overrides=settings or [], plugins=plugin or [])
    options: dict[str, Any] = given | {"method": script.only, "memory": memory}
    planes = load_scene("synthetic/planes") if example else None
    found: Mapping[str, Any] = (
        {"planes": (planes.reference, planes.match)} if planes else pairs(str(left), str(right))
    )
    ranges: list[Any] = [_ends(script.only, text) for text in disparity_range or []]
    if planes and planes.search:
        ranges = [(planes.search.minimum, planes.search.maximum)]
    if len(ranges) not in (0, 1, len(found)):
        raise ParameterError(
            f"--disparities: {len(ranges)} ranges for {len(found)} pairs; give one, or one for each"
        )
    many = len(found) > 1
    if many and truth is not None:
        raise ParameterError(f"--truth is that of one pair, and there are {len(found)}")
    encoding = _shared.Encoding(truth_scale=truth_scale, truth_unknown=truth_unknown)
    alone = _shared.truth_alone(truth, encoding=encoding)
    records, failed = [], False
    for i, (stem, (one, other)) in enumerate(found.items()):
        default = Path("matches" if many else f"{stem}_match")
        folder = out or _shared.absolute_path(default, start)
        if many:
            folder /= stem
        try:
            check_folder(folder)
            parts = folder / "parts" / code_digest(script.plugins)
            warm = (
                compile_in_second_process()
                if method in (None, DEFAULT)
                else contextlib.nullcontext()
            )
            with Progress(1) as progress, warm:
                span = ranges[i % len(ranges)] if ranges else None
                matched = match_pair(one, other, span, parts=parts, **options)
                progress.watch("writing files")
                written = matched.save(folder)
                remove_tiles(parts)
        except StereoFrameworkError as error:
            if not many:
                raise
            failed = True
            records.append({"pair": stem, "error": str(error)})
            _shared.tell("error", f"{stem}: {error}")
            continue
        records.append(record := _record(stem, matched, folder, written))
        if alone is not None:
            scene, protocol, remedies = alone
            record["statistics"] = statistics_of(matched.disparity, scene, protocol)
            _shared.tell(
                "warning",
                *find_reading_errors(
                    matched.disparity, scene, matched.search, is_external=False, remedies=remedies
                ),
            )
        if not json:
            _print(matched, record, is_example=example)
    if json:
        _shared.print_json(records)
    return 1 if failed else 0


def _ends(setting: Setting, text: str) -> tuple[float, float] | Literal["auto"]:
    """Return the ends of a search range as the user typed them, or "auto".

    Raises
    ------
    ParameterError
        The text is no range, or the method cannot search it. The message gives the option.
    """
    from stereo_framework.user_pair.matching import requested_range

    if text == "auto":
        return "auto"
    ends = _shared.disparities(text)
    requested_range(setting, ends, f"--disparities {text}")
    return ends


def _record(stem: str, matched: MatchResult, folder: Path, written: list[str]) -> dict[str, Any]:
    import numpy as np

    return {
        "pair": stem,
        "method": matched.method,
        "size": list(matched.disparity.shape[::-1]),
        "disparities": [matched.search.minimum, matched.search.maximum],
        "range": matched.origin,
        "vertical_offset": matched.vertical_offset,
        "estimated": float(np.isfinite(matched.disparity).mean()),
        "consistent": float(matched.sure.mean()),
        "seconds": matched.seconds,
        "warnings": list(matched.warnings),
        "folder": _shared.as_typed(folder),
        "files": written,
        "error": None,
    }


def _print(matched: MatchResult, record: dict[str, Any], *, is_example: bool) -> None:
    """Print the summary of a pair: its results, their place and the next step."""
    from stereo_framework.tables.values import show

    notes = [remark for remark in matched.warnings if remark.startswith(NOTE)]
    _shared.say(*_summary(matched, record), matched.stretched, *notes)
    if matched.rectified:
        _shared.say(_rectification(matched))
    if depth := _depth(matched):
        _shared.say(depth)
    if statistics := record.get("statistics"):
        _shared.say(", ".join(f"{name} {show(value)}" for name, value in statistics.items()))

    folder = record["folder"]
    _shared.say(f"results: {_shared.listed(record['files'])} are in {folder}")
    if "disparity.png" not in record["files"]:
        message = (
            "disparity.png was not written, because it can store only disparities from 0 to 255.99"
        )
        _shared.say(message)
    _shared.say(
        f"next step: open {Path(folder) / 'picture.png'}, which shows the left image and its disparity map"
    )
    if is_example:
        _shared.say(
            "to match your own images: stereo-framework match left.png right.png --out results/mine"
        )


def _summary(matched: MatchResult, record: Mapping[str, Any]) -> list[str]:
    """Return a line about the pair and a line about its disparity map."""
    columns, rows = record["size"]
    search = matched.search
    ends = f"{search.minimum:g} to {search.maximum:g} pixels"
    unit = "pixel" if search.step == 1 else "pixels"
    step = f"{search.step:g} {unit}"
    estimated = 100 * record["estimated"]
    consistent = 100 * record["consistent"]
    return [
        (
            f"{record['pair']}: {columns}x{rows} pixels, "
            f"search range {ends} ({matched.origin}), in steps of {step}"
        ),
        (
            f"method {matched.method}: {estimated:.1f} % of the pixels have a disparity, "
            f"and the left and right disparity maps agree at {consistent:.1f} %; "
            f"matching took {matched.seconds:.2f} s"
        ),
    ]


def _rectification(matched: MatchResult) -> str:
    """Return a line about the rows of the rectified pair and about its calibration."""
    if matched.vertical_offset is None:
        accuracy = "there are too few matched points to measure the accuracy"
    else:
        offset = matched.vertical_offset
        accuracy = f"the median vertical offset of matched points is {offset:.2f} rows"
    calibration = matched.scene.calibration
    if calibration is None:
        cameras = "without a calibration, disparities have an unknown offset"
    else:
        focal_length = f"{calibration.focal_length:.1f} pixels"
        cameras = f"focal length {focal_length}, baseline {calibration.baseline:.4g}"
    return f"rectified: {accuracy}; {cameras}"


def _depth(matched: MatchResult) -> str:
    """Return a line about the depths; it is empty without a calibration or without points."""
    if matched.scene.calibration is None:
        return ""
    depths = matched.points().position[:, 2]
    if not depths.size:
        return ""
    ends = f"{depths.min():.4g} to {depths.max():.4g}"
    return f"depth: {ends} in the unit of the baseline; the point cloud has {len(depths)} points"
