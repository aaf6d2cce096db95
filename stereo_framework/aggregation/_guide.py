"""Images that guide an aggregation."""

from __future__ import annotations

import numpy as np

from stereo_framework.errors import DataError
from stereo_framework.scene import Image
from stereo_framework.volume import CostVolume


def check_guides(volume: CostVolume, **images: Image) -> None:
    """Refuse images that are neither uint8 nor float32, neither grey nor in colour, or of another size than the volume."""
    rows, columns = volume.costs.shape[:2]
    for name, image in images.items():
        if image.dtype not in (np.uint8, np.float32):
            raise DataError(f"{name} image: {image.dtype} intensities; expected uint8 or float32 in 0..255")
        if image.shape not in ((rows, columns), (rows, columns, 3)):
            raise DataError(f"{name} image: shape {image.shape}; ({rows}, {columns}) or ({rows}, {columns}, 3) fits the volume")
