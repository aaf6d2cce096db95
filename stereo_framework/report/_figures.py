"""Figures of disparity maps, built without pyplot, so that nothing global is touched and threads may draw at the same time.

Colours: disparities in viridis, perceptually uniform with rising lightness (nearer is brighter, in grey print too) and
readable by the colour-blind; errors in a red-blue map, red = too near. Neither map holds the grey of what has no value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import ParameterError
from stereo_framework.scene import Disparity, Image

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_NO_VALUE = "0.7"
"""Grey of pixels without a value in colour-coded figures."""

_LARGEST_ERROR = 4.0
"""Pixels at the ends of the overview's error colours: one fixed scale, so that overviews can be compared."""

_SHORTEST = 200
"""Screen pixels that the frame around a small or narrow image keeps, so that bar and labels have room."""

_DPI = 128
"""A power of two: sizes in inches then give whole screen pixels again without rounding, and images stay sharp."""

_FONT = 9.0


def disparity_figure(disparity: Disparity, shown: tuple[float, float], title: str) -> Figure:
    """A disparity map with axes and a colour bar in pixels; see `pictures.disparity_picture`."""
    rows, columns = disparity.shape
    factor = max(1, round(640 / max(rows, columns)))
    width, height = columns * factor, rows * factor
    left, right, bottom, top = 76, 118, 60, 40 if title else 16
    frame_width, frame_height = max(width, _SHORTEST), max(height, _SHORTEST)
    figure = _figure(left + frame_width + right, bottom + frame_height + top)
    axes = _axes(figure, left + (frame_width - width) // 2, bottom + (frame_height - height) // 2, width, height)
    picture = _draw_disparity(axes, disparity, shown)
    axes.spines[:].set_visible(False)  # they and the ticks would cover some of the outermost pixels
    picture.set_zorder(3)
    axes.tick_params(labelsize=_FONT)
    axes.set_xlabel("x (pixels)", fontsize=_FONT)
    axes.set_ylabel("y (pixels)", fontsize=_FONT)
    bar = _axes(figure, left + frame_width + 20, bottom, 22, frame_height)
    _colour_bar(figure, picture, bar, "disparity (pixels)", _beyond([disparity], shown), "vertical")
    _title(figure, title, top)
    if not np.isfinite(disparity).all():
        _legend(figure, "no estimate", "lower right", (1.0, 0.0))
    return figure


def overview_figure(
    image: Image, disparity: Disparity, shown: tuple[float, float], truth: Disparity | None, title: str
) -> Figure:
    """Reference image, truth, disparity and error side by side; see `pictures.overview`."""
    maps = [("disparity", disparity)] if truth is None else [("truth", truth), ("disparity", disparity)]
    panels = len(maps) + (1 if truth is None else 2)
    rows, columns = disparity.shape
    # Whole multiples stay sharp; four panels of the usual 320 to 450 columns make a picture 1300 to 1800 wide.
    room = 1800 // panels
    width = columns * (room // columns) if columns <= room else room
    height = max(1, round(rows * width / columns))
    gap, bottom, top = 12, 84, 68 if title else 36
    figure = _figure(gap + panels * (width + gap), bottom + height + top)
    places = [_axes(figure, gap + i * (width + gap), bottom, width, height) for i in range(panels)]
    for axes in places:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(linewidth=0.5, color="0.5")
    _panel_title(places[0], "reference image")
    levels = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    places[0].imshow(levels, cmap="gray", vmin=0, vmax=255, aspect="auto")
    for axes, (name, values) in zip(places[1:], maps, strict=False):
        _panel_title(axes, name)
        picture = _draw_disparity(axes, values, shown)
    bar_bottom, bar_height, inset = bottom - 26, 14, width // 12
    bar = _axes(figure, gap + width + gap + inset, bar_bottom, len(maps) * (width + gap) - gap - 2 * inset, bar_height)
    _colour_bar(figure, picture, bar, "disparity (pixels)", _beyond([values for _, values in maps], shown), "horizontal")
    if truth is not None:
        _panel_title(places[3], "error: disparity − truth")
        with np.errstate(invalid="ignore"):  # infinity minus infinity has no value either
            error = disparity - truth
        picture = _draw(places[3], error, "RdBu_r", -_LARGEST_ERROR, _LARGEST_ERROR)
        bar = _axes(figure, gap + 3 * (width + gap) + inset, bar_bottom, width - 2 * inset, bar_height)
        _colour_bar(figure, picture, bar, "disparity error (pixels)", "both", "horizontal")
    _title(figure, title, 36)
    holes = (
        "no estimate" * (not np.isfinite(disparity).all()),
        "truth unknown" * (truth is not None and not np.isfinite(truth).all()),
    )
    if any(holes):
        _legend(figure, " or ".join(filter(None, holes)), "upper left", (0.0, bottom / _pixels(figure)[1]))
    return figure


def _figure(width: int, height: int) -> Figure:
    """An empty figure of so many screen pixels."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI, facecolor="white")


def _pixels(figure: Figure) -> tuple[float, float]:
    return figure.bbox.width, figure.bbox.height


def _axes(figure: Figure, x: int, y: int, width: int, height: int) -> Axes:
    """Axes at a place given in screen pixels, y upwards."""
    across, up = _pixels(figure)
    return figure.add_axes((x / across, y / up, width / across, height / up))


def _draw_disparity(axes: Axes, disparity: Disparity, shown: tuple[float, float]) -> AxesImage:
    low, high = map(float, shown)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ParameterError(f"shown: {low:g}..{high:g} is no range of disparities; expected (minimum, maximum) in pixels")
    # A range of one value would show all that lies above it like the value itself.
    return _draw(axes, disparity, "viridis", low, high if high > low else low + 1)


def _draw(axes: Axes, values: NDArray, colours: str, low: float, high: float) -> AxesImage:
    from matplotlib import colormaps

    colour_map = colormaps[colours].with_extremes(bad=_NO_VALUE)
    # "auto" lets the image fill the axes, which have its aspect ratio already; any other would move them by fractions of a pixel.
    return axes.imshow(np.ma.masked_invalid(values), cmap=colour_map, vmin=low, vmax=high, interpolation="nearest", aspect="auto")


def _beyond(maps: Sequence[Disparity], shown: tuple[float, float]) -> str:
    """At which ends of the colours a map goes beyond, in matplotlib's words."""
    finite = np.concatenate([values[np.isfinite(values)] for values in maps])
    below, above = bool((finite < shown[0]).any()), bool((finite > shown[1]).any())
    return {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[below, above]


def _colour_bar(
    figure: Figure, picture: AxesImage, axes: Axes, label: str, extend: str, orientation: Literal["vertical", "horizontal"]
) -> None:
    bar = figure.colorbar(picture, cax=axes, orientation=orientation, extend=extend, extendfrac=0.03)
    bar.set_label(label, fontsize=_FONT)
    bar.ax.tick_params(labelsize=_FONT)
    bar.outline.set_linewidth(0.5)


def _title(figure: Figure, title: str, height: int) -> None:
    """A line over everything, in the middle of the top `height` pixels; a $ in a scene's name is not a formula."""
    up = _pixels(figure)[1]
    figure.text(0.5, 1 - height / 2 / up, title, ha="center", va="center", fontsize=_FONT + 2, parse_math=False)


def _panel_title(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=_FONT + 1, pad=5)


def _legend(figure: Figure, text: str, place: Literal["lower right", "upper left"], anchor: tuple[float, float]) -> None:
    from matplotlib.patches import Patch

    patch = Patch(facecolor=_NO_VALUE, edgecolor="0.4", linewidth=0.5, label=text)
    figure.legend(handles=[patch], loc=place, bbox_to_anchor=anchor, frameon=False, fontsize=_FONT, handlelength=1.4)
