"""Folders of small files, as data sets and people have them."""

import numpy as np

from stereo_framework.io import write_disparity, write_image

CALIB = "cam0=[100 0 16; 0 100 12; 0 0 1]\ncam1=[100 0 16; 0 100 12; 0 0 1]\ndoffs=0\nbaseline=10\nwidth=32\nheight=24\nndisp=9\n"
"""Middlebury's calib.txt of images of 24 rows and 32 columns."""


def write(folder, files):
    """Files by their paths: texts, bytes, maps of floats, images of uint8, or of a single grey; without a content they are none that a reader can read."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if content is None or isinstance(content, str | bytes):
            place.write_bytes(
                content.encode() if isinstance(content, str) else content or b"nothing"
            )
        elif isinstance(content, int) or content.dtype == np.uint8:
            write_image(
                place, np.full((4, 6), content, np.uint8) if isinstance(content, int) else content
            )
        else:
            write_disparity(place, content.astype(np.float32))
