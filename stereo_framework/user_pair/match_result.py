"""The result of the everyday way: a disparity map with everything that follows from it, and the files in which it is saved."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework import io
from stereo_framework.confidence import left_right_consistency
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, escape_controls
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.former_names import report_attributes
from stereo_framework.core.scene import Disparity, Image, Mask, Scene, SearchRange
from stereo_framework.figures.grid import NO_VALUE, rgb
from stereo_framework.io.disparity import KITTI_SCALE
from stereo_framework.io.orientation import UPRIGHT, orientation_of
from stereo_framework.io.tiff import write_float_tiff

CONFIDENCE = left_right_consistency.__name__
"""The measure of confidence that decides which pixels are sure. It is added to methods that do not have it."""

_UNSURE = -1.0
"""Confidence below which a disparity counts as unsure: a difference between both views of more than one pixel."""

_STATUS_GREYS = np.array([255, 64, 128, 192, 0], np.uint8)
"""Grey levels of ``status.png``: matched, occluded, mismatched, filled, invalid."""

_FILES = (
    *(
        "disparity.pfm",
        "disparity.png",
        "disparity.tiff",
        "picture.png",
        "confidence.pfm",
        "status.png",
    ),
    *("depth.tiff", "points.ply", "rectified.yml"),
    *("left_rectified.png", "right_rectified.png", "left_rectified.tiff", "right_rectified.tiff"),
)

_WIDEST = 1800
_SCALE = 44
"""Rows below the panels, for the scale of the colours."""


def check_folder(folder: Path) -> None:
    """Raise DataError if a folder cannot be one, or holds a file of the user with a name under which a match may write one, such as an image that is matched."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise DataError(f"{folder}: is no folder, or lies in none: {there} is a file")
    with io.output_folder(folder):
        for name in _FILES:
            io.check_replaceable(folder / name)


@report_attributes
class PointCloud(NamedTuple):
    """Coloured points. `position` is float32 (n, 3), with x to the right, y down and z away from the camera; `colour` is uint8 (n, 3), RGB."""

    position: NDArray[np.float32]
    colour: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class MatchResult:
    """A disparity map of a pair, and everything that follows from it.

    Parameters
    ----------
    scene : Scene
        The images and, if it is known, the calibration.
    method : str
    result : Estimate
        The result of the method.
    origin : str
        Where the search range comes from.
    warnings : tuple of str
        Reasons to doubt the map, each with the cure. Texts that begin with "note: " are
        no doubts, and the user has to do nothing.
    vertical_offset : float or None
        Median vertical distance of sparse matches, in pixels; None if there are too few of them.
    rectified : bool
        Whether the images were rectified before matching, so that they are saved too.
    stretched : str
        A line about how the intensities were spread; empty if they were not.
    """

    scene: Scene
    method: str
    result: Estimate
    origin: str
    warnings: tuple[str, ...]
    vertical_offset: float | None
    rectified: bool
    stretched: str

    def __repr__(self) -> str:
        return f"MatchResult({self.name!r}, {self.method!r}, {self.result!r})"

    @property
    def name(self) -> str:
        """The name of the pair, which is that of its reference image."""
        return escape_controls(Path(self.scene.frames[self.scene.reference_index].name).stem)

    @property
    def disparity(self) -> Disparity:
        """Pixels, float32 ``(rows, columns)``, NaN = no estimate."""
        return self.result.disparity

    @property
    def confidence(self) -> NDArray[np.float32]:
        """How sure each pixel is, float32 ``(rows, columns)``, higher = surer: minus the difference between the disparities of both views, in pixels."""
        return self.result.confidence[CONFIDENCE]

    @property
    def status(self) -> NDArray[np.uint8]:
        """Values of `Status`, ``(rows, columns)``."""
        return self.result.status

    @property
    def search(self) -> SearchRange:
        """The search range that was used."""
        return self.result.search

    @property
    def seconds(self) -> float:
        """Seconds that matching took, without reading files and compiling kernels."""
        return sum(self.result.seconds.values())

    @property
    def sure(self) -> Mask:
        """The pixels about which both views agree to within a pixel, bool ``(rows, columns)``."""
        return np.isfinite(self.disparity) & (self.confidence >= _UNSURE)

    def depth(self) -> NDArray[np.float32]:
        """Depth in the unit of the baseline, float32 ``(rows, columns)``; NaN where there is no estimate or the depth is infinite.

        Raises
        ------
        DataError
            The pair has no calibration.
        """
        calibration = self.scene.calibration
        if calibration is None:
            raise DataError(
                "depth needs a calibration: --calibration FILE, or --focal-length PIXELS and --baseline LENGTH"
            )
        shifted = self.disparity + np.float32(calibration.doffs)
        front = shifted > 0
        depth = calibration.focal_length * calibration.baseline / np.where(front, shifted, 1)
        return np.where(front, depth, np.nan).astype(np.float32)

    def points(self) -> PointCloud:
        """The sure pixels as points in the unit of the baseline, seen from the reference camera.

        Raises
        ------
        DataError
            The pair has no calibration.
        """
        depth, calibration = self.depth(), self.scene.calibration
        assert calibration is not None, "without one there is no depth"
        rows, columns = depth.shape
        y, x = np.nonzero(self.sure & np.isfinite(depth))
        column, row = calibration.center or ((columns - 1) / 2, (rows - 1) / 2)
        z = depth[y, x]
        position = np.stack(
            [
                (x - column) * z / calibration.focal_length,
                (y - row) * z / calibration.focal_length,
                z,
            ],
            axis=1,
        )
        return PointCloud(position.astype(np.float32), rgb(self.scene.reference)[y, x])

    @checked()
    def save(self, folder: io.PathLike) -> list[str]:
        """Write the map and everything that follows from it to a folder.

        Parameters
        ----------
        folder : path-like
            It is made if it is missing. Files that an earlier match wrote there are replaced.

        Returns
        -------
        list of str
            The names of the files:

            - ``disparity.pfm``, in pixels.
            - ``disparity.png``, 16 bits, 256 grey levels a pixel, 0 = no estimate. A disparity less than a pixel below 0 becomes 0; if another one does not
              fit, the file is left out.
            - ``confidence.pfm``, in pixels, from minus the width of the search range
              (worst) to 0 (best), and ``confidence_NAME.pfm`` for each further measure
              of the method.
            - ``status.png``: grey 255 matched, 192 filled, 128 mismatched, 64 occluded, 0 invalid.
            - ``picture.png``.
            - If the reference image is a GeoTIFF: ``disparity.tiff``, float32.
            - With a calibration: ``depth.tiff`` with all estimates, and ``points.ply``
              without those about which the views disagree by more than a pixel.
            - If the pair was rectified: ``left_rectified.png`` and ``right_rectified.png``, transparent where no camera saw anything, or, for images of more
              than 8 bits, ``.tiff`` files of floats with NaN there; and their calibration, ``rectified.yml``.

            TIFF files keep the GeoTIFF tags of a reference image that was not rectified and not turned.

        Raises
        ------
        DataError
            The folder cannot be written, or holds files with these names that were not written by a match.
        """
        folder = Path(folder)
        check_folder(folder)
        names = []
        with io.output_folder(folder):
            for name, write, *contents in (*self._maps(), *self._rectified()):
                write(folder / name, *contents)
                names.append(name)
        return names

    def _maps(self) -> Iterator[tuple[Any, ...]]:
        """The files of the map: names, what writes them, and what it is given."""
        path = Path(self.scene.frames[self.scene.reference_index].name)
        as_stored = path.is_file() and orientation_of(path) == UPRIGHT and not self.rectified
        tags = io.geo_tags(path) if as_stored else ()
        write_tagged = functools.partial(io.write_disparity, tags=tags)
        yield "disparity.pfm", io.write_disparity, self.disparity
        # Smoothing may take disparities a little below the range; they are moved to its end.
        within = np.where(
            (self.disparity < 0) & (self.disparity > -1), np.float32(0), self.disparity
        )
        if not ((within < 0) | (within * KITTI_SCALE > np.iinfo(np.uint16).max)).any():
            yield "disparity.png", io.write_disparity, within
        if tags:
            yield "disparity.tiff", write_tagged, self.disparity
        known = self.disparity[np.isfinite(self.disparity)]
        # The colours end at the extremes of the map, except one percent at either end.
        low, high = (
            np.percentile(known, [1, 99])
            if known.size
            else (self.search.minimum, self.search.maximum)
        )
        shown = float(low), float(max(high, low + 1))
        yield "picture.png", io.write_image, picture(self.scene.reference, self.disparity, shown)
        yield "confidence.pfm", io.write_pfm, self.confidence
        yield "status.png", io.write_image, _STATUS_GREYS[self.status]
        for measure in sorted(self.result.confidence.keys() - {CONFIDENCE}):
            yield f"confidence_{measure}.pfm", io.write_pfm, self.result.confidence[measure]
        if self.scene.calibration is not None:
            yield "depth.tiff", write_tagged, self.depth()
            yield "points.ply", io.write_points, *self.points()

    def _rectified(self) -> Iterator[tuple[Any, ...]]:
        """The files of a rectified pair."""
        sides = (
            ("left_rectified", self.scene.reference_index),
            ("right_rectified", self.scene.match_index),
        )
        for name, index in sides if self.rectified else ():
            image, valid = self.scene.image(index), self.scene.valid(index)
            if image.dtype == np.uint8:
                yield f"{name}.png", io.write_image, image, valid
                continue
            samples = image.astype(np.float32)  # as they were matched, to the last digit
            if valid is not None:
                samples[~valid] = np.nan
            yield f"{name}.tiff", write_float_tiff, samples
        if self.rectified and self.scene.calibration is not None:  # by points alone there is none
            yield (
                "rectified.yml",
                io.write_opencv_calibration,
                self.scene.calibration,
                self.disparity.shape,
            )


def picture(image: Image, disparity: Disparity, shown: tuple[float, float]) -> NDArray[np.uint8]:
    """The reference image beside the map in colours; below the map the scale of the colours, with the disparities at its ends.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate (grey).
    shown : (float, float)
        Disparities in pixels at the ends of the scale. Disparities beyond it have the colour of the end.

    Returns
    -------
    ndarray, uint8, (rows, columns, 3)
        Red, green and blue.
    """
    import cv2

    low, high = shown
    mapped = _colours((np.nan_to_num(disparity) - low) / (high - low))
    mapped[~np.isfinite(disparity)] = NO_VALUE
    both = np.hstack([rgb(image), mapped])
    wanted = _WIDEST / both.shape[1]
    # Large images shrink by means over areas; small ones grow by a whole factor, which needs no new values.
    factor = int(wanted) or wanted
    both = cv2.resize(
        both,
        None,
        fx=factor,
        fy=factor,
        interpolation=cv2.INTER_NEAREST if wanted >= 1 else cv2.INTER_AREA,
    )
    middle, width = both.shape[1] // 2, both.shape[1] - both.shape[1] // 2
    below = np.full((_SCALE, both.shape[1], 3), 255, np.uint8)
    below[6:20, middle:] = _colours(np.linspace(0, 1, width)[None])
    for text, place in ((f"{low:.1f}", 0.0), ("disparity (pixels)", 0.5), (f"{high:.1f}", 1.0)):
        room = width - cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)[0][0]
        cv2.putText(
            below,
            text,
            (middle + int(place * room), 38),
            cv2.FONT_HERSHEY_SIMPLEX,
            0.5,
            (0, 0, 0),
            1,
            cv2.LINE_AA,
        )
    return np.vstack([both, below])


def _colours(shares: NDArray) -> NDArray[np.uint8]:
    """Viridis, whose lightness rises: nearer is brighter."""
    import cv2

    values = np.rint(255 * np.clip(shares, 0, 1)).astype(np.uint8)
    return np.ascontiguousarray(cv2.applyColorMap(values, cv2.COLORMAP_VIRIDIS)[..., ::-1])
