"""The picture that every match saves with its map. It is drawn with OpenCV, since loading matplotlib takes longer than matching a small pair."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Image
from stereo_framework.figures.grid import NO_VALUE, rgb

_WIDEST = 1800
_SCALE = 44
"""Rows below the panels, for the scale of the colours."""


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
    both = cv2.resize(both, None, fx=factor, fy=factor, interpolation=cv2.INTER_NEAREST if wanted >= 1 else cv2.INTER_AREA)
    middle, width = both.shape[1] // 2, both.shape[1] - both.shape[1] // 2
    below = np.full((_SCALE, both.shape[1], 3), 255, np.uint8)
    below[6:20, middle:] = _colours(np.linspace(0, 1, width)[None])
    for text, place in ((f"{low:.1f}", 0.0), ("disparity (pixels)", 0.5), (f"{high:.1f}", 1.0)):
        room = width - cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)[0][0]
        cv2.putText(below, text, (middle + int(place * room), 38), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 0, 0), 1, cv2.LINE_AA)
    return np.vstack([both, below])


def _colours(shares: NDArray) -> NDArray[np.uint8]:
    """Viridis, whose lightness rises: nearer is brighter."""
    import cv2

    values = np.rint(255 * np.clip(shares, 0, 1)).astype(np.uint8)
    return np.ascontiguousarray(cv2.applyColorMap(values, cv2.COLORMAP_VIRIDIS)[..., ::-1])
