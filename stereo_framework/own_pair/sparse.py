"""Sparse matches of a pair: a few hundred points that are found anywhere in both images. They show whether what dense matching assumes is true."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Scene

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
        found = np.sort((self.here - self.there)[np.abs(self.vertical) <= _SAME_ROW * self.size, 0])
        if found.size < 4:
            return found[:0]
        # A point has company if at least two others lie within a hundredth of the whole spread.
        near = max(2 * self.size, 0.01 * float(found[-1] - found[0]))
        company = np.searchsorted(found, found + near, "right") - np.searchsorted(found, found - near, "left")
        return found[company > 2]


def sparse_matches(scene: Scene) -> SparseMatches:
    """Match SIFT features of the two images of a scene's pair, without any if they have nothing in common.

    Both features of a match must be each other's best one, and clearly better than the second best (Lowe 2004).
    """
    import cv2

    size = max(1.0, max(scene.reference.shape[:2]) / _LARGEST)
    sift = cv2.SIFT.create(nfeatures=_FEATURES)
    points, descriptors = [], []
    for index in (scene.reference_index, scene.match_index):
        image, valid = scene.image(index), scene.valid(index)
        grey = np.rint(np.clip(image if image.ndim == 2 else image.mean(axis=2), 0, 255)).astype(np.uint8)
        small = grey if size == 1 else cv2.resize(grey, None, fx=1 / size, fy=1 / size, interpolation=cv2.INTER_AREA)
        mask = None if valid is None else cv2.resize(valid.astype(np.uint8), small.shape[::-1], interpolation=cv2.INTER_NEAREST)
        found, described = sift.detectAndCompute(small, mask)
        # A pixel of the reduced image has its middle in that of the pixels that it was made of.
        half = np.float32(0.5)
        points.append(np.float32(size) * (np.array([p.pt for p in found], np.float32).reshape(-1, 2) + half) - half)
        descriptors.append(described)
    mutual = np.empty((0, 2), int)
    if min(map(len, points)) >= 2:
        forth, back = _best(*descriptors), _best(*reversed(descriptors))
        mutual = np.array([(i, j) for i, j in forth.items() if back.get(j) == i], int).reshape(-1, 2)
    return SparseMatches(points[0][mutual[:, 0]], points[1][mutual[:, 1]], size)


def _best(these: NDArray[np.float32], those: NDArray[np.float32]) -> dict[int, int]:
    import cv2

    two = cv2.BFMatcher(cv2.NORM_L2).knnMatch(these, those, k=2)
    return {first.queryIdx: first.trainIdx for first, second in two if first.distance < _RATIO * second.distance}
