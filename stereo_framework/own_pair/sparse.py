"""Sparse matches of a pair: a few hundred points that are found anywhere in both images. They show whether what dense matching assumes is true."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image, Mask

_FEATURES = 2000
_LARGEST = 1000
"""Length in pixels of the longer side of the images in which features are looked for; larger images are reduced."""

_RATIO = 0.75
"""Largest distance of a descriptor to its match, as a share of the distance to the second best one (0.8 in Lowe 2004, section 7.1)."""

ENOUGH = 20
"""Smallest number of sparse matches from which conclusions are drawn."""

_SAME_ROW = 1.5
"""Largest difference, in pixels, between the rows of matched points of a rectified pair, in the images in which they were found."""


@dataclass(frozen=True, eq=False)
class SparseMatches:
    """Points that were found in both images.

    Parameters
    ----------
    here, there : ndarray, float32, (n, 2)
        Column and row of each point in the reference and in the match image, pixels.
    size : float
        By how much the images are larger than those in which the points were found.
    """

    here: NDArray[np.float32]
    there: NDArray[np.float32]
    size: float

    @property
    def disparity(self) -> NDArray[np.float32]:
        """Column in the reference image minus column in the match image, pixels."""
        return self.here[:, 0] - self.there[:, 0]

    @property
    def vertical(self) -> NDArray[np.float32]:
        """Row in the match image minus row in the reference image, pixels."""
        return self.there[:, 1] - self.here[:, 1]

    @property
    def vertical_offset(self) -> float | None:
        """Median vertical distance of the points in both images, in pixels; None if there are too few of them."""
        return float(np.median(np.abs(self.vertical))) if self.vertical.size >= ENOUGH else None

    @cached_property
    def along_rows(self) -> NDArray[np.float32]:
        """Disparities, in pixels and ascending, of the points that lie in the same row of both images and have others with similar disparities.

        Chance matches have no such company.
        """
        found = np.sort(self.disparity[np.abs(self.vertical) <= _SAME_ROW * self.size])
        if found.size < 4:
            return found[:0]
        # A point has company if at least two others lie within a hundredth of the whole spread.
        near = max(2 * self.size, 0.01 * float(found[-1] - found[0]))
        company = np.searchsorted(found, found + near, "right") - np.searchsorted(found, found - near, "left")
        return found[company > 2]


Valid = tuple[Mask | None, Mask | None]
"""The pixels of the reference and of the match image that hold data; None if all do."""


def sparse_matches(reference: Image, match: Image, valid: Valid = (None, None)) -> SparseMatches:
    """Match SIFT features of the two images. Both features of a match must be each other's best one, and clearly better than the second best.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    valid : (ndarray or None, ndarray or None), bool, (rows, columns)
        The pixels of the two images that hold data; None = all.

    Returns
    -------
    SparseMatches
        Without points if the images have nothing in common.

    Notes
    -----
    Lowe 2004.
    """
    import cv2

    size = max(1.0, max(reference.shape[:2]) / _LARGEST)
    sift = cv2.SIFT.create(nfeatures=_FEATURES)
    points, descriptors = [], []
    for image, known in zip((reference, match), valid, strict=True):
        grey = np.rint(np.clip(image if image.ndim == 2 else image.mean(axis=2), 0, 255)).astype(np.uint8)
        small = grey if size == 1 else cv2.resize(grey, None, fx=1 / size, fy=1 / size, interpolation=cv2.INTER_AREA)
        mask = None if known is None else cv2.resize(known.astype(np.uint8), small.shape[::-1], interpolation=cv2.INTER_NEAREST)
        found, described = sift.detectAndCompute(small, mask)
        points.append(np.array([p.pt for p in found], np.float32).reshape(-1, 2))
        descriptors.append(described)
    nothing = np.empty((0, 2), np.float32)
    if min(map(len, points)) < 2:
        return SparseMatches(nothing, nothing, size)
    forth = _best(descriptors[0], descriptors[1])
    back = _best(descriptors[1], descriptors[0])
    mutual = [(i, j) for i, j in forth.items() if back.get(j) == i]
    if not mutual:
        return SparseMatches(nothing, nothing, size)
    # A pixel of the reduced image has its middle in that of the pixels that it was made of.
    here, there = (
        np.float32(size) * (found[which] + np.float32(0.5)) - np.float32(0.5)
        for found, which in zip(points, np.array(mutual).T, strict=True)
    )
    return SparseMatches(here, there, size)


def _best(these: NDArray[np.float32], those: NDArray[np.float32]) -> dict[int, int]:
    import cv2

    two = cv2.BFMatcher(cv2.NORM_L2).knnMatch(these, those, k=2)
    return {first.queryIdx: first.trainIdx for first, second in two if first.distance < _RATIO * second.distance}
