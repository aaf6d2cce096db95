"""The verb ``match``."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress
from stereo_framework.core.errors import ParameterError, StereoFrameworkError

if TYPE_CHECKING:
    from stereo_framework.script import Setting
    from stereo_framework.user_pair import Matched


def match(
    left: Annotated[str | None, typer.Argument()] = None,
    right: Annotated[str | None, typer.Argument()] = None,
    disparity_range: Annotated[
        list[str] | None, typer.Option("--disparities", metavar="A:B")
    ] = None,
    method: str | None = None,
    settings: _shared.Settings = None,
    calibration: Path | None = None,
    cameras: Annotated[str | None, typer.Option(metavar="LEFT,RIGHT")] = None,
    focal: float | None = None,
    baseline: float | None = None,
    rectify: Annotated[list[Path] | None, typer.Option(metavar="FILE|auto")] = None,
    stretch: bool = False,
    image_masks: Annotated[list[Path] | None, typer.Option("--mask")] = None,
    pixel_ranges: Annotated[
        tuple[Path, Path] | None, typer.Option("--ranges", metavar="LOW HIGH")
    ] = None,
    truth: _shared.Truth = None,
    truth_scale: _shared.TruthScale = None,
    truth_unknown: _shared.TruthUnknown = None,
    scale: Annotated[
        float | None, typer.Option(help="Shorter name of --truth-scale: match reads no other map.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    memory: _shared.Memory = None,
    plugin: _shared.Plugins = None,
    example: bool = False,
    json: bool = False,
) -> int:
    """Match two images: a disparity map, a picture and, with a calibration, depth and a point cloud.

    Example: stereo-framework match left.png right.png --disparities 0:64 -o mine

    Parameters
    ----------
    left
        Left image of a rectified pair; or a folder or pattern of left images.
    right
        Right image; or a folder or pattern of right images.
    disparity_range
        Search range in pixels, both ends included, or auto: estimated; for several pairs one, or one each. Ends between the levels of the method are
        widened to the next level. Default: that of --calibration or of a calib.txt beside the image, else auto.
    calibration
        calib.txt of Middlebury or KITTI; OpenCV's YAML or JSON; Q as .npy.
    cameras
        Numbers of the cameras in a calibration of KITTI, such as 2,3; default: by the images' folders (image_2) or colours.
    focal
        Focal length in pixels, instead of a calibration.
    baseline
        Distance of the cameras; depths get its unit.
    rectify
        Rectify the pair first, by this stereo calibration of OpenCV (M1, D1, M2, D2, R, T); twice if it is in two files. auto: without one, by matched points.
    stretch
        Spread intensities over 0..255, both images alike: for 11 bits in files of 16, reflectances and the like.
    image_masks
        Picture that is white where the left image holds data; a second one is of the right image.
    pixel_ranges
        Maps of the smallest and of the largest disparity of each pixel (PFM, npy, 16-bit PNG).
    out
        Folder for the files; default: NAME_match, for the left image's name; of several pairs: matches/NAME.
    method
        A built-in script, or a script's file; default: fine. 'fast' takes a seventh of its time.
    example
        Match the built-in example.
    json
        Print one JSON array instead of a summary.
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

    if (focal is None) != (baseline is None):
        raise ParameterError(
            "a calibration needs both, the focal length in pixels and the baseline"
        )
    by_hand = None if focal is None or baseline is None else (focal, baseline)
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
    alone = _shared.truth_alone(truth, encoding=_truth_encoding(scale, truth_scale, truth_unknown))
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
            _print(matched, record)
    if json:
        _shared.print_json(records)
    return 1 if failed else 0


def _truth_encoding(
    scale: float | None, truth_scale: float | None, truth_unknown: float | None
) -> _shared.Encoding:
    """Return how the file of ``--truth`` is read."""
    if scale is not None and truth_scale is not None:
        message = f"--scale {scale:g} and --truth-scale {truth_scale:g}: both are the scale of --truth; leave out --scale"
        raise ParameterError(message)
    return _shared.Encoding(
        truth_scale=scale if truth_scale is None else truth_scale, truth_unknown=truth_unknown
    )


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


def _record(stem: str, matched: Matched, folder: Path, written: list[str]) -> dict[str, Any]:
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


def _print(matched: Matched, record: dict[str, Any]) -> None:
    from stereo_framework.tables.values import show

    columns, rows = record["size"]
    _shared.say(
        f"{matched.name}: {columns}x{rows} pixels, disparities {matched.search} ({matched.origin})"
    )
    _shared.say(
        f"{matched.method}: {100 * record['estimated']:.1f} % of the pixels have a disparity, both views agree about "
        f"{100 * record['consistent']:.1f} %; {matched.seconds:.2f} s of matching"
    )
    _shared.say(matched.stretched)
    calibration, apart = matched.scene.calibration, matched.vertical_offset
    if matched.rectified:
        how = (
            "too few points to tell how well"
            if apart is None
            else f"matched points lie {apart:.2f} rows apart in the median"
        )
        known = "without a calibration, so that disparities have an unknown offset"
        if calibration is not None:
            known = f"focal length {calibration.focal_length:.1f} pixels, baseline {calibration.baseline:.4g}"
        _shared.say(f"rectified: {how}; {known}")
    if calibration is not None and (depths := matched.points().place[:, 2]).size:
        _shared.say(
            f"depth: {depths.min():.4g} to {depths.max():.4g} in the baseline's unit, {len(depths)} points"
        )
    if measured := record.get("statistics"):
        _shared.say(", ".join(f"{name} {show(value)}" for name, value in measured.items()))
    _shared.say(f"{', '.join(record['files'])} in {record['folder']}")
    if "disparity.png" not in record["files"]:
        _shared.say("disparity.png is left out: it holds disparities from 0 to 255.99")
    _shared.say(
        "see picture.png first; 'stereo-framework match --help' tells what else can be asked for"
    )
