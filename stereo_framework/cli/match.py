"""The command ``match``."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress
from stereo_framework.core.errors import NOTE, ParameterError, StereoFrameworkError

if TYPE_CHECKING:
    from stereo_framework.core.scene import Image, Scene
    from stereo_framework.evaluation import Protocol
    from stereo_framework.evaluation.sanity import Remedies
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
    and a status map that explains missing estimates. The confidence is minus the
    difference between the left and right disparity maps in pixels, so 0 is the best
    value. With a calibration the command also writes a depth map of all estimates, and
    a point cloud without the pixels at which both disparity maps differ by more than 1
    pixel.

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
    from stereo_framework.script import load
    from stereo_framework.user_pair.matching import DEFAULT

    inputs = _inputs(
        calibration=_calibration(calibration, focal_length, baseline),
        cameras=cameras,
        rectify=rectify,
        stretch=stretch,
        image_masks=image_masks or [],
        pixel_ranges=pixel_ranges,
    )
    _refuse_missing_images(
        left, right, is_example=example, has_inputs=bool(disparity_range) or any(inputs.values())
    )
    # A plug-in of the script may change the current folder.
    start = Path.cwd()
    script = load(method or DEFAULT, overrides=settings or [], plugins=plugin or [])
    pairs = _example_pair() if example else _pairs(str(left), str(right))
    _set_ranges(pairs, script.only, disparity_range or [])
    _set_folders(pairs, out, start)
    if len(pairs) > 1 and truth is not None:
        raise ParameterError(f"--truth is that of one pair, and there are {len(pairs)}")
    encoding = _shared.Encoding(truth_scale=truth_scale, truth_unknown=truth_unknown)

    job = _Job(
        is_default=method in (None, DEFAULT),
        options={**inputs, "method": script.only, "memory": memory},
        ground_truth=_shared.truth_alone(truth, encoding=encoding),
    )
    records = []
    for pair in pairs:
        record, matched = _match_or_report(pair, job, is_only_pair=len(pairs) == 1)
        records.append(record)
        if matched is not None and not json:
            _print(matched, record, is_example=example)
    if json:
        _shared.print_json(records)
    return 1 if any(record["error"] for record in records) else 0


def _refuse_missing_images(
    left: str | None, right: str | None, *, is_example: bool, has_inputs: bool
) -> None:
    """Refuse a command line without two images, and --example with images."""
    if is_example and (left is not None or has_inputs):
        raise ParameterError(
            "--example brings its own images and their range; leave out what belongs to others"
        )
    if not is_example and (left is None or right is None):
        raise ParameterError("two images are needed: match LEFT RIGHT; or see 'match --example'")


@dataclass
class _Pair:
    """A pair of images to match.

    Parameters
    ----------
    stem : str
        Name of the pair.
    left, right : path or image
    ends : (float, float) or "auto", optional
        Search range that the user gives.
    folder : Path
        Folder of the results.
    """

    stem: str
    left: Path | Image
    right: Path | Image
    ends: tuple[float, float] | Literal["auto"] | None = None
    folder: Path = Path()


@dataclass(frozen=True)
class _Job:
    """The method and the options with which all pairs are matched.

    Parameters
    ----------
    is_default : bool
        Whether the method is the default method.
    options : mapping
        Arguments of `user_pair.matching.match`.
    ground_truth : (Scene, Protocol, Remedies), optional
        The scene of --truth, as `_shared.truth_alone` returns it.
    """

    is_default: bool
    options: Mapping[str, Any]
    ground_truth: tuple[Scene, Protocol, Remedies] | None


def _calibration(
    file: Path | None, focal_length: float | None, baseline: float | None
) -> Path | tuple[float, float] | None:
    """Return the calibration of a command line: a file, or focal length and baseline.

    Raises
    ------
    ParameterError
        One of both numbers is missing, or there are two calibrations.
    """
    if (focal_length is None) != (baseline is None):
        raise ParameterError(
            "a calibration needs both, the focal length in pixels and the baseline"
        )
    if focal_length is None or baseline is None:
        return file
    if file is not None:
        raise ParameterError(
            "a calibration was given, and a focal length and a baseline besides; give one or the other"
        )
    return focal_length, baseline


def _inputs(
    *,
    calibration: Path | tuple[float, float] | None,
    cameras: str | None,
    rectify: Sequence[Path] | None,
    stretch: bool,
    image_masks: Sequence[Path],
    pixel_ranges: tuple[Path, Path] | None,
) -> dict[str, Any]:
    """Return the options about the images as arguments of `user_pair.matching.match`.

    Raises
    ------
    ParameterError
        There are more than two masks, the masks are exchanged, or the cameras are no
        pair.
    """
    from stereo_framework.user_pair.pairs import check_mask_order

    if len(image_masks) > 2:
        raise ParameterError(
            f"--mask: {len(image_masks)} masks; give that of the left image and, after it, that of the right one"
        )
    check_mask_order(image_masks)
    # The word auto was made an absolute path, as are all paths of the command.
    is_auto = [_shared.as_typed(path) for path in rectify or []] == ["auto"]
    inputs: dict[str, Any] = {
        "calibration": calibration,
        "stretch": stretch,
        "ranges": pixel_ranges,
        "cameras": _shared.camera_numbers(cameras),
        "rectify": "auto" if is_auto else rectify or None,
    }
    for name, mask in zip(("left_mask", "right_mask"), image_masks, strict=False):
        inputs[name] = mask
    return inputs


def _example_pair() -> list[_Pair]:
    """Return the built-in pair with its search range."""
    from stereo_framework.datasets import load_scene

    planes = load_scene("synthetic/planes")
    assert planes.search is not None, "the built-in scene has a search range"
    ends = planes.search.minimum, planes.search.maximum
    return [_Pair("planes", planes.reference, planes.match, ends)]


def _pairs(left: str, right: str) -> list[_Pair]:
    """Return the pairs of images that two files, folders or patterns stand for."""
    from stereo_framework.user_pair.pairs import pairs

    return [_Pair(stem, *files) for stem, files in pairs(left, right).items()]


def _set_ranges(pairs: Sequence[_Pair], setting: Setting, texts: Sequence[str]) -> None:
    """Give each pair its search range.

    Parameters
    ----------
    pairs : sequence of _Pair
    setting : Setting
        The method.
    texts : sequence of str
        The values of --disparities.

    Raises
    ------
    ParameterError
        A text is no range that the method can search, or their number is wrong.
    """
    ranges = [_ends(setting, text) for text in texts]
    if not ranges:
        return
    if len(ranges) not in (1, len(pairs)):
        raise ParameterError(
            f"--disparities: {len(ranges)} ranges for {len(pairs)} pairs; give one, or one for each"
        )
    if len(ranges) == 1:
        ranges *= len(pairs)
    for pair, ends in zip(pairs, ranges, strict=True):
        pair.ends = ends


def _set_folders(pairs: Sequence[_Pair], out: Path | None, start: Path) -> None:
    """Give each pair the folder of its results.

    Parameters
    ----------
    pairs : sequence of _Pair
    out : Path, optional
        Folder that the user names. Several pairs have folders of their own in it.
    start : Path
        Folder in which the command was started.
    """
    for pair in pairs:
        if len(pairs) == 1:
            pair.folder = out or _shared.absolute_path(Path(f"{pair.stem}_match"), start)
        else:
            parent = out or _shared.absolute_path(Path("matches"), start)
            pair.folder = parent / pair.stem


def _match_or_report(
    pair: _Pair, job: _Job, *, is_only_pair: bool
) -> tuple[dict[str, Any], MatchResult | None]:
    """Match a pair, and return its record for --json and its result.

    If one of several pairs fails, its error is printed, and there is no result.

    Raises
    ------
    StereoFrameworkError
        The only pair fails.
    """
    try:
        matched, written = _match_pair(pair, job)
    except StereoFrameworkError as error:
        if is_only_pair:
            raise
        _shared.tell("error", f"{pair.stem}: {error}")
        return {"pair": pair.stem, "error": str(error)}, None
    record = _record(pair.stem, matched, pair.folder, written)
    if job.ground_truth is not None:
        record["statistics"] = _statistics(matched, job.ground_truth)
    return record, matched


def _match_pair(pair: _Pair, job: _Job) -> tuple[MatchResult, list[str]]:
    """Match a pair and write the results; return also the names of the files."""
    from stereo_framework.user_pair.kernel_warmup import compile_in_second_process
    from stereo_framework.user_pair.match_result import check_folder
    from stereo_framework.user_pair.matching import match as match_pair
    from stereo_framework.user_pair.tile_cache import remove_tiles

    check_folder(pair.folder)
    parts = pair.folder / "parts" / "tiles"
    warmup = compile_in_second_process() if job.is_default else contextlib.nullcontext()
    with Progress(1) as progress, warmup:
        matched = match_pair(pair.left, pair.right, pair.ends, parts=parts, **job.options)
        progress.watch("writing files")
        written = matched.save(pair.folder)
        remove_tiles(parts)
    return matched, written


def _statistics(
    matched: MatchResult, ground_truth: tuple[Scene, Protocol, Remedies]
) -> dict[str, float]:
    """Return the error statistics of a map, and print warnings about its reading."""
    from stereo_framework.evaluation import find_reading_errors
    from stereo_framework.evaluation.evaluate import statistics_of

    scene, protocol, remedies = ground_truth
    statistics = statistics_of(matched.disparity, scene, protocol)
    errors = find_reading_errors(
        matched.disparity, scene, matched.search, is_external=False, remedies=remedies
    )
    _shared.tell("warning", *errors)
    return statistics


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
    from stereo_framework.sweep.value_text import cell_text

    notes = [remark for remark in matched.warnings if remark.startswith(NOTE)]
    _shared.say(*_summary(matched, record), matched.stretched, *notes)
    if matched.rectified:
        _shared.say(_rectification(matched))
    if depth := _depth(matched):
        _shared.say(depth)
    if statistics := record.get("statistics"):
        _shared.say(", ".join(f"{name} {cell_text(value)}" for name, value in statistics.items()))

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
