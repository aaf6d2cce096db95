"""Point clouds: coloured points as binary PLY files, which every viewer of point clouds opens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.io._files import PathLike, write_bytes


def write_points(path: PathLike, points: NDArray[np.float32], colours: NDArray[np.uint8]) -> None:
    """Write coloured points as a little-endian binary PLY file.

    Parameters
    ----------
    path : path-like
        A ``.ply`` file.
    points : ndarray, float32, (n, 3)
        x to the right, y down, z away from the camera, in any unit.
    colours : ndarray, uint8, (n, 3)
        Red, green and blue.

    Raises
    ------
    DataError
        The arrays do not fit together, or the file cannot be written.
    """
    if points.ndim != 2 or points.shape[1] != 3 or colours.shape != points.shape:
        raise DataError(f"{path}: points {points.shape} and colours {colours.shape}; expected (n, 3) of both")
    vertices = np.empty(len(points), [("place", "<f4", 3), ("colour", "u1", 3)])
    vertices["place"], vertices["colour"] = points, colours
    properties = [f"property float {axis}" for axis in "xyz"] + [f"property uchar {c}" for c in ("red", "green", "blue")]
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}", *properties, "end_header", ""]
    write_bytes(path, "\n".join(header).encode() + vertices.tobytes())
