"""A check that maps and images have one size, for calls that do not come from a pipeline, which checks them itself."""

from __future__ import annotations

from numpy.typing import NDArray

from stereo_framework.errors import DataError
from stereo_framework.scene import Disparity


def check_size(stage: str, disparity: Disparity, **maps: NDArray) -> None:
    """Refuse an image, a status map or costs of another size than the disparities: kernels would read beyond their end.

    Raises
    ------
    DataError
        One of `maps` has other rows or columns.
    """
    for name, array in maps.items():
        if array.shape[:2] != disparity.shape:
            raise DataError(f"{stage}: {name} has shape {array.shape}; {disparity.shape} fits the disparities")
