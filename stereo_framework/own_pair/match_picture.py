"""The picture that every match saves with its map. It is drawn with OpenCV, since loading matplotlib takes longer than matching a small pair."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Image
from stereo_framework.figures.colours import rgb
from stereo_framework.figures.grid import WIDEST, panel_size

_GAP, _TOP, _BOTTOM, _BAR = 12, 60, 64, 14
"""Screen pixels: the gap between the panels, the room above and below them, and the height of the colour scale."""
_NO_ESTIMATE = (178, 178, 178)
_INK = (0, 0, 0)
_TICKS = 8
"""Largest number of labels at the colour scale."""


def picture(image: Image, disparity: Disparity, shown: tuple[float, float], title: str) -> NDArray[np.uint8]:
    """The reference image beside the map in colours, with a colour scale.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate (grey).
    shown : (float, float)
        Disparities in pixels at the ends of the colour scale. Disparities beyond it have the colour of the end.
    title : str
        Characters other than ASCII are shown as question marks.

    Returns
    -------
    ndarray, uint8, (rows, columns, 3)
        Red, green and blue.
    """
    import cv2

    width, height = panel_size(disparity.shape, WIDEST // 2)
    sheet = np.full((_TOP + height + _BOTTOM, 3 * _GAP + 2 * width, 3), 255, np.uint8)
    low, high = shown
    place = (np.nan_to_num(disparity) - low) / (high - low)
    mapped = _colours(np.rint(255 * np.clip(place, 0, 1)).astype(np.uint8))
    mapped[~np.isfinite(disparity)] = _NO_ESTIMATE
    lefts = _GAP, 2 * _GAP + width
    for left, panel in zip(lefts, (rgb(image), mapped), strict=True):
        # Large images shrink by means over areas, small ones grow without new values.
        way = cv2.INTER_AREA if width < disparity.shape[1] else cv2.INTER_NEAREST
        sheet[_TOP : _TOP + height, left : left + width] = cv2.resize(panel, (width, height), interpolation=way)
    _write(sheet, title, sheet.shape[1] // 2, 24, 0.6)
    for left, name in zip(lefts, ("reference image", "disparity (pixels)"), strict=True):
        _write(sheet, name, left + width // 2, _TOP - 9, 0.5)
    bar_left, bar_width, bar_top = lefts[1] + width // 12, width - 2 * (width // 12), _TOP + height + 12
    scale = np.linspace(0, 255, bar_width).round().astype(np.uint8)
    sheet[bar_top : bar_top + _BAR, bar_left : bar_left + bar_width] = _colours(scale[None])
    step = _step(high - low)
    for value in step * np.arange(math.ceil(low / step), math.floor(high / step) + 1):
        x = bar_left + round((value - low) / (high - low) * (bar_width - 1))
        sheet[bar_top + _BAR : bar_top + _BAR + 5, x] = _INK
        _write(sheet, f"{value:g}", x, bar_top + _BAR + 20, 0.5)
    if not np.isfinite(disparity).all():
        sheet[bar_top : bar_top + _BAR, _GAP : _GAP + 2 * _BAR] = _NO_ESTIMATE
        cv2.putText(
            sheet, "no estimate", (2 * _GAP + 2 * _BAR, bar_top + _BAR - 2), cv2.FONT_HERSHEY_SIMPLEX, 0.5, _INK, 1, cv2.LINE_AA
        )
    return sheet


def _colours(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Viridis, whose lightness rises: nearer is brighter."""
    import cv2

    return np.ascontiguousarray(cv2.applyColorMap(values, cv2.COLORMAP_VIRIDIS)[..., ::-1])


def _step(span: float) -> float:
    """The step from one label of the scale to the next: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(span / _TICKS))
    return next(factor * power for factor in (1, 2, 5, 10) if span / (factor * power) <= _TICKS)


def _write(sheet: NDArray[np.uint8], text: str, middle: int, baseline: int, size: float) -> None:
    """Write a line of text centred at a column; a text that is too long is shortened in its middle until it fits."""
    import cv2

    font, kept = cv2.FONT_HERSHEY_SIMPLEX, len(text)
    line = text
    while (wide := cv2.getTextSize(line, font, size, 1)[0][0]) > sheet.shape[1] and kept > 1:
        kept -= 1
        line = f"{text[: (kept + 1) // 2]}...{text[len(text) - kept // 2 :]}"
    left = min(max(middle - wide // 2, 0), sheet.shape[1] - wide)
    cv2.putText(sheet, line, (left, baseline), font, size, _INK, 1, cv2.LINE_AA)
