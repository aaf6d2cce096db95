"""The parts that figures are drawn with: panels, colour bars and legends whose places are given in screen pixels.

Figures are made without pyplot, so that nothing global is changed and threads may draw at the same time.

Disparities are drawn in viridis, which is perceptually uniform with rising lightness (nearer is brighter, also in grey print) and readable by the
colour-blind. Errors are drawn in a red-blue colour map, red = too near. Neither of them contains the grey of pixels without a value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.scene import Disparity, Image
from stereo_framework.figures._shown import new_figure
from stereo_framework.figures.colours import LARGEST_ERROR, eight_bits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.text import Text

FONT = 9.0

_NO_VALUE = "0.7"
"""Grey of pixels without a value in colour-coded figures."""

_WIDEST = 1800
"""Largest width of a row of panels, in screen pixels."""

_DPI = 128
"""A power of two, so that sizes in inches convert back to whole screen pixels without rounding, and images stay sharp."""


def check_image(image: Image, *maps: tuple[str, NDArray]) -> None:
    """Refuse maps that differ in size from the image, which may be grey or in colour."""
    check_shapes(("image", image[..., 0] if image.ndim == 3 else image), *maps)


def check_shapes(*maps: tuple[str, NDArray]) -> None:
    """Refuse maps of different sizes. Each map is given with its name, for the message."""
    first, reference = maps[0]
    for name, values in maps:
        if values.ndim != 2:
            raise DataError(f"{name} has shape {values.shape}; expected (rows, columns)")
        if values.shape != reference.shape:
            a, b = (f"{v.shape[1]}x{v.shape[0]}" for v in (reference, values))
            raise DataError(f"{first} is {a}, {name} is {b}; pictures need both of one size")


class Sheet:
    """A figure of a given size in screen pixels, on which parts are placed at pixel coordinates, with y upwards.

    Parameters
    ----------
    width, height : int
    """

    def __init__(self, width: int, height: int):
        size = width / _DPI, height / _DPI
        self.figure = new_figure(photographs=True, figsize=size, dpi=_DPI, facecolor="white")
        self.width, self.height = width, height

    def axes_at(self, x: float, y: float, width: float, height: float) -> Axes:
        """New axes at a place."""
        return self.figure.add_axes((x / self.width, y / self.height, width / self.width, height / self.height))

    def text_at(self, x: float, y: float, text: str, **look: Any) -> Text:
        """A text that is centred at x."""
        return self.figure.text(x / self.width, y / self.height, text, ha="center", **look)

    def panel_at(self, x: int, y: int, width: int, height: int, title: str = "") -> Axes:
        """A framed panel for an image, with a title above, which is shortened in its middle if the panel is too narrow."""
        axes = self.axes_at(x, y, width, height)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(linewidth=0.5, color="0.5")
        if title:
            self._shorten(axes.set_title(title, fontsize=FONT + 1, pad=5, parse_math=False), width)
        return axes

    def colour_bar(
        self,
        picture: AxesImage,
        axes: Axes,
        label: str,
        *,
        extend: str = "both",
        orientation: Literal["vertical", "horizontal"] = "horizontal",
    ) -> None:
        """The colour scale of a picture. `extend` says at which ends it has arrows, because values go beyond."""
        bar = self.figure.colorbar(picture, cax=axes, orientation=orientation, extend=extend, extendfrac=0.03)
        bar.set_label(label, fontsize=FONT)
        bar.ax.tick_params(labelsize=FONT)
        bar.outline.set_linewidth(0.5)

    def title_line(self, title: str, height: int) -> None:
        """A title line at the top, centred in the uppermost `height` pixels. A $ in the name of a scene does not begin a formula."""
        text = self.text_at(self.width / 2, self.height - height / 2, title, va="center", fontsize=FONT + 2, parse_math=False)
        self._shorten(text, self.width)

    def legend(
        self,
        text: str,
        place: Literal["lower right", "lower left", "upper left"],
        anchor: tuple[float, float],
        colour: str | tuple[float, float, float] = _NO_VALUE,
    ) -> None:
        """A legend for a colour that stands for missing values."""
        from matplotlib.patches import Patch

        patch = Patch(facecolor=colour, edgecolor="0.4", linewidth=0.5, label=text)
        self.figure.legend(handles=[patch], loc=place, bbox_to_anchor=anchor, frameon=False, fontsize=FONT, handlelength=1.4)

    def holes_legend(self, maps: Sequence[Disparity], truth: Disparity | None, bottom: int) -> None:
        """A legend that explains grey, at the left below the panels, whose lower end is `bottom`; none if no pixel is grey."""
        holes = (
            "no estimate" * (not all(np.isfinite(values).all() for values in maps)),
            "truth unknown" * (truth is not None and not np.isfinite(truth).all()),
        )
        if any(holes):
            self.legend(" or\n".join(filter(None, holes)), "upper left", (0.0, bottom / self.height))

    def _shorten(self, text: Text, width: float) -> None:
        """Shorten a text in its middle until it fits, since the names of runs often differ at their ends."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        renderer = FigureCanvasAgg(self.figure).get_renderer()
        full = text.get_text()
        kept = len(full)
        while kept > 1 and (measured := text.get_window_extent(renderer).width) > width:
            kept = min(kept - 1, int(kept * width / measured))
            text.set_text(f"{full[: (kept + 1) // 2]}…{full[len(full) - kept // 2 :]}")


def panel_size(shape: tuple[int, ...], panels: int) -> tuple[int, int]:
    """Width and height, in screen pixels, of the panel for an image of this shape if so many panels stand side by side.

    Images are enlarged by whole factors, so that they stay sharp; four panels with the usual 320 to 450 columns make a picture 1300 to 1800 pixels wide.
    """
    rows, columns = shape[:2]
    room = _WIDEST // panels
    width = columns * (room // columns) if columns <= room else room
    return width, max(1, round(rows * width / columns))


def draw_image(axes: Axes, image: Image) -> None:
    """Draw an image with intensities 0..255, grey or RGB."""
    axes.imshow(eight_bits(image), cmap="gray", vmin=0, vmax=255, aspect="auto")


def draw_disparity(axes: Axes, disparity: Disparity, shown: tuple[float, float]) -> AxesImage:
    """Draw disparities in colours whose scale ends at `shown`."""
    low, high = map(float, shown)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ParameterError(f"shown: {low:g}..{high:g} is not a range of disparities; expected (minimum, maximum) in pixels")
    # With a range of a single value, everything above it would look like the value itself.
    return _draw(axes, disparity, "viridis", low, high if high > low else low + 1)


def draw_difference(axes: Axes, disparity: Disparity, base: Disparity) -> AxesImage:
    """Draw disparity minus base in the colours of errors."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity has no value either
        difference = disparity - base
    return _draw(axes, difference, "RdBu_r", -LARGEST_ERROR, LARGEST_ERROR)


def _draw(axes: Axes, values: NDArray, colours: str, low: float, high: float) -> AxesImage:
    from matplotlib import colormaps

    colour_map = colormaps[colours].with_extremes(bad=_NO_VALUE)
    # "auto" lets the image fill the axes, which have its aspect ratio already; any other would move them by fractions of a pixel.
    return axes.imshow(np.ma.masked_invalid(values), cmap=colour_map, vmin=low, vmax=high, interpolation="nearest", aspect="auto")


def beyond(maps: Sequence[Disparity], shown: tuple[float, float]) -> str:
    """At which ends of the colour scale maps have values beyond it, in the words of matplotlib."""
    finite = np.concatenate([values[np.isfinite(values)] for values in maps])
    below, above = bool((finite < shown[0]).any()), bool((finite > shown[1]).any())
    return ("neither", "min", "max", "both")[below + 2 * above]
