"""The calibration of the user's pair: KITTI's cameras, and the size of the images."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.frames import size_ratio
from stereo_framework.core.scene import Calibration, Image, Scene
from stereo_framework.io import StereoCalibration, kitti_cameras, read_any_calibration
from stereo_framework.io.orientation import orientation_of

if TYPE_CHECKING:
    from stereo_framework.io import PathLike

Cameras = tuple[int, int]

GREY_CAMERAS: Cameras = (0, 1)
COLOUR_CAMERAS: Cameras = (2, 3)
"""Left and right camera of KITTI's car."""

OFF_CENTRE = 0.2
"""Distance of a principal point from the middle of the image, as a share of the width or
height, from which on a calibration is taken for one of images of another size."""

_EQUAL = 1e-4
"""Relative difference of depths below which two pairs of cameras are taken for equal."""


def calibration_of_pair(
    source: Any, scene: Scene, cameras: Cameras | None = None
) -> tuple[Calibration | None, int | None, list[str]]:
    """Return the calibration of a pair, in pixels of its images.

    Parameters
    ----------
    source : path-like, Calibration, (float, float) or None
        The user's calibration: a file, or focal length and baseline.
    scene : Scene
        The pair.
    cameras : (int, int), optional
        Numbers of KITTI's cameras, if the user gave them.

    Returns
    -------
    calibration : Calibration or None
    levels : int or None
        Number of disparities, if the file bounds them.
    remarks : list of str
        Doubts about the calibration, each with its remedy.

    Raises
    ------
    DataError
        The file cannot be read, or was made with images of another shape.
    ParameterError
        The focal length or the baseline is not above 0, or `cameras` was given although
        the calibration is not a file of KITTI.
    """
    is_file = source is not None and not isinstance(source, Calibration | tuple)
    available = kitti_cameras(source) if is_file else None
    if cameras is not None and available is None:
        message = "cameras: only calibration files of KITTI hold several pairs of cameras; leave the cameras out"
        raise ParameterError(message)
    if not is_file:
        number_calibration, remarks = _calibration_without_file(source, scene)
        return number_calibration, None, remarks

    remarks = []
    if available is not None and cameras is None:
        cameras, remarks = _cameras_of_images(source, scene, available)
    calibration, levels = read_any_calibration(source, cameras=cameras)
    ratio, more_remarks = _ratio(str(source), calibration, scene)
    remarks += more_remarks
    if ratio != 1:
        calibration = replace(calibration.scaled(ratio), size=image_size(scene.reference))
        levels = None if levels is None else scaled_levels(levels, ratio)
    return calibration, levels, remarks


def _calibration_without_file(
    source: Calibration | tuple[float, float] | None, scene: Scene
) -> tuple[Calibration | None, list[str]]:
    """Return a calibration that was given as numbers, and remarks.

    A calibration of Python that was read from a file states a size, too. Another shape is
    no error there, because a caller may have cropped the images on purpose.
    """
    if source is None:
        return None, []
    if isinstance(source, tuple):
        for name, value in zip(("focal length", "baseline"), source, strict=True):
            if not 0 < value < np.inf:
                raise ParameterError(f"the {name} {value:g} is not a number above 0")
        return Calibration(*source), []
    actual = image_size(scene.reference)
    if source.size is None or source.size == actual:
        return source, []
    sizes = _sizes("the calibration", source.size, scene.frames[scene.reference_index].name, actual)
    ratio = size_ratio(source.size, actual)
    if ratio is None:
        return source, [
            f"{sizes}; it was taken as it is, which is right only if the images were cropped; {_REMEDY}"
        ]
    scaled = replace(source.scaled(ratio), size=actual)
    return scaled, [f"{sizes}, so its pixels were multiplied by {ratio:.4g}; {_REMEDY}"]


def image_size(image: Image) -> tuple[int, int]:
    """Return the columns and rows of an image."""
    return image.shape[1], image.shape[0]


def scaled_levels(levels: int, ratio: float) -> int:
    """Return the number of disparities 0, 1, ... that covers a range of resized images."""
    return int(np.ceil((levels - 1) * ratio - 1e-9)) + 1


def _cameras_of_images(
    path: PathLike, scene: Scene, available: list[int]
) -> tuple[Cameras, list[str]]:
    """Return KITTI's cameras that took a pair, with a remark if they were guessed.

    The names of the images' folders show them. Colours show the colour cameras. Grey
    images can be those of the grey cameras or converted ones.
    """
    frames = [scene.frames[index].name for index in (scene.reference_index, scene.match_index)]
    from_folders = [_camera_of_folder(Path(frame)) for frame in frames]
    if from_folders[0] is not None and from_folders[1] is not None:
        return (from_folders[0], from_folders[1]), []
    complete = [pair for pair in (GREY_CAMERAS, COLOUR_CAMERAS) if set(pair) <= set(available)]
    in_colour = _is_in_colour(scene.reference) or _is_in_colour(scene.match)
    guess = COLOUR_CAMERAS if in_colour else GREY_CAMERAS
    if in_colour or len(complete) != 2:
        return (complete[0] if len(complete) == 1 else guess), []

    depths = {}
    for pair in complete:
        calibration, _ = read_any_calibration(path, cameras=pair)
        depths[pair] = calibration.focal_length * calibration.baseline
    change = depths[COLOUR_CAMERAS] / depths[GREY_CAMERAS] - 1
    if abs(change) < _EQUAL:
        return guess, []
    direction = "smaller" if change < 0 else "larger"
    remark = (
        f"{path}: holds KITTI's grey cameras 0 and 1 and its colour cameras 2 and 3; the images are grey and their folders are not "
        f"called image_0 to image_3, so cameras 0 and 1 are assumed; if cameras 2 and 3 took the pair, depths are "
        f"{100 * abs(change):.2g} % {direction}: choose them with --cameras 2,3"
    )
    return guess, [remark]


def _camera_of_folder(image: Path) -> int | None:
    """Return the number of KITTI's camera in the name of an image's folder."""
    for folder in image.absolute().parent.parts[::-1]:
        if match := re.fullmatch(r"image_0?([0-3])", folder):
            return int(match[1])
        if match := re.fullmatch(r"colored_([01])", folder):
            return int(match[1]) + COLOUR_CAMERAS[0]
    return None


def _is_in_colour(image: Image) -> bool:
    """Return whether the channels of an image differ; grey images can have three, too."""
    return image.ndim == 3 and bool((image != image[..., :1]).any())


def _ratio(source: str, calibration: Calibration, scene: Scene) -> tuple[float, list[str]]:
    """Return by which factor the images are larger than those of a calibration file."""
    name = scene.frames[scene.reference_index].name
    actual = image_size(scene.reference)
    remarks = _orientation_remarks(source, scene)
    if calibration.size is None:
        return 1.0, remarks + _center_remarks(source, calibration, name, actual)
    ratio = checked_ratio(source, calibration.size, actual, name)
    if ratio != 1:
        remarks.append(
            f"{_sizes(source, calibration.size, name, actual)}, so its pixels and its ndisp were multiplied by {ratio:.4g}; {_REMEDY}"
        )
    return ratio, remarks


_REMEDY = "if the images were not resized as a whole, give a calibration of these images"


def checked_ratio(
    source: str, stated: tuple[int, int], actual: tuple[int, int], name: str
) -> float:
    """Return by which factor an image is larger than a calibration states.

    Raises
    ------
    DataError
        Columns and rows differ by different factors, as after cropping or turning.
    """
    ratio = size_ratio(stated, actual)
    if ratio is not None:
        return ratio
    message = (
        f"{_sizes(source, stated, name, actual)}; no resizing of the whole image explains that; "
    )
    if size_ratio(stated, actual[::-1]) is not None and orientation_of(name) != 1:
        message += (
            "the image was turned upright by its EXIF orientation, and the calibration is that of the stored image: calibrate upright "
            "images, or remove the orientation from both files, as 'exiftool -Orientation= FILE' does"
        )
    else:
        message += "give a calibration of these images, or --focal-length and --baseline"
    raise DataError(message)


def _sizes(source: str, stated: tuple[int, int], name: str, actual: tuple[int, int]) -> str:
    return f"{source}: is for images of {stated[0]}x{stated[1]} pixels, and {name} has {actual[0]}x{actual[1]}"


def _orientation_remarks(source: str, scene: Scene) -> list[str]:
    """Return a remark if an image was turned, which a calibration cannot show."""
    names = [scene.frames[index].name for index in (scene.reference_index, scene.match_index)]
    turned = [name for name in names if orientation_of(name) != 1]
    if not turned:
        return []
    return [
        f"{source}: {turned[0]} was turned upright by its EXIF orientation; the calibration must be that of the upright images"
    ]


def _center_remarks(
    source: str, calibration: Calibration, name: str, actual: tuple[int, int]
) -> list[str]:
    """Return a remark if the principal point does not fit the size of the image."""
    if calibration.center is None:
        return []
    column, row = calibration.center
    distance = max(abs(column / actual[0] - 0.5), abs(row / actual[1] - 0.5))
    if distance <= OFF_CENTRE:
        return []
    remark = (
        f"{source}: the principal point, column {column:g} and row {row:g}, lies far from the middle of {name}, which has "
        f"{actual[0]}x{actual[1]} pixels; if the calibration was made with images of another size, depths are wrong: "
        "give a calibration of these images"
    )
    return [remark]


def fitted_stereo(
    cameras: StereoCalibration, size: tuple[int, int], name: str
) -> tuple[StereoCalibration, str]:
    """Return the calibration of cameras in pixels of resized images, and a remark.

    Raises
    ------
    DataError
        The calibration states a size of another shape.
    """
    if cameras.size is None:
        return cameras, ""
    source = "the calibration given with --rectify"
    ratio = checked_ratio(source, cameras.size, size, name)
    if ratio == 1:
        return cameras, ""
    scale = np.diag([ratio, ratio, 1.0])
    fitted = replace(cameras, left=scale @ cameras.left, right=scale @ cameras.right, size=size)
    return (
        fitted,
        f"{_sizes(source, cameras.size, name, size)}, so it was multiplied by {ratio:.4g}; {_REMEDY}",
    )
