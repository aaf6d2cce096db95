"""A reader: disparity maps of a file format, known by the ending of their names."""

import numpy as np

import stereo_framework as sf


@sf.reader(".mine", kind="disparity")
def mine(path):
    """The map in a file: float32 (rows, columns), in pixels, NaN = no estimate. With kind="image": uint8 or float32, 0..255."""
    return np.loadtxt(path, dtype=np.float32, ndmin=2)
