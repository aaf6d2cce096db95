"""What figures are drawn with: panels and colour bars at screen pixels, without pyplot, so that nothing global is touched and threads
may draw at the same time.

Colours: disparities in viridis, perceptually uniform with rising lightness (nearer is brighter, in grey print too) and
readable by the colour-blind; errors in a red-blue map, red = too near. Neither map holds the grey of what has no value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import DataError, ParameterError
from stereo_framework.figures._shown import new_figure
from stereo_framework.figures.colours import LARGEST_ERROR, eight_bits
from stereo_framework.scene import Disparity, Image

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.text import Text

FONT = 9.0

_NO_VALUE = "0.7"
"""Grey of pixels without a value in colour-coded figures."""

_WIDEST = 1800
"""Screen pixels of a row of panels."""

_DPI = 128
"""A power of two: sizes in inches then give whole screen pixels again without rounding, and images stay sharp."""


def check_image(image: Image, *maps: tuple[str, NDArray]) -> None:
    """Refuse maps of another size than the image's, grey or in colour."""
    check_shapes(("image", image[..., 0] if image.ndim == 3 else image), *maps)


def check_shapes(*maps: tuple[str, NDArray]) -> None:
    """Refuse maps of different size; each comes with its name for the message."""
    first, reference = maps[0]
    for name, values in maps:
        if values.ndim != 2:
            raise DataError(f"{name} has shape {values.shape}; expected (rows, columns)")
        if values.shape != reference.shape:
            a, b = (f"{v.shape[1]}x{v.shape[0]}" for v in (reference, values))
            raise DataError(f"{first} is {a}, {name} is {b}; pictures need both of one size")


class Sheet:
    """A figure of so many screen pixels, on which everything has its place in pixels, y upwards.

    Parameters
    ----------
    width, height : int
    """

    def __init__(self, width: int, height: int):
        size = width / _DPI, height / _DPI
        self.figure = new_figure(photographs=True, figsize=size, dpi=_DPI, facecolor="white")
        self.width, self.height = width, height

    def axes_at(self, x: float, y: float, width: float, height: float) -> Axes:
        """Axes at a place."""
        return self.figure.add_axes((x / self.width, y / self.height, width / self.width, height / self.height))

    def text_at(self, x: float, y: float, text: str, **look: Any) -> Text:
        """A text whose middle is at x."""
        return self.figure.text(x / self.width, y / self.height, text, ha="center", **look)

    def panel_at(self, x: int, y: int, width: int, height: int, title: str = "") -> Axes:
        """A framed panel for an image, with a title above that is shortened in its middle where the panel is too narrow."""
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
        """The scale of a picture's colours; it ends in arrows where values go beyond."""
        bar = self.figure.colorbar(picture, cax=axes, orientation=orientation, extend=extend, extendfrac=0.03)
        bar.set_label(label, fontsize=FONT)
        bar.ax.tick_params(labelsize=FONT)
        bar.outline.set_linewidth(0.5)

    def title_line(self, title: str, height: int) -> None:
        """A line over everything, in the middle of the top `height` pixels; a $ in a scene's name is not a formula."""
        text = self.text_at(self.width / 2, self.height - height / 2, title, va="center", fontsize=FONT + 2, parse_math=False)
        self._shorten(text, self.width)

    def legend(
        self,
        text: str,
        place: Literal["lower right", "lower left", "upper left"],
        anchor: tuple[float, float],
        colour: str | tuple[float, float, float] = _NO_VALUE,
    ) -> None:
        """What a colour means that stands for no value."""
        from matplotlib.patches import Patch

        patch = Patch(facecolor=colour, edgecolor="0.4", linewidth=0.5, label=text)
        self.figure.legend(handles=[patch], loc=place, bbox_to_anchor=anchor, frameon=False, fontsize=FONT, handlelength=1.4)

    def holes_legend(self, maps: Sequence[Disparity], truth: Disparity | None, bottom: int) -> None:
        """What grey means, at the left below the panels, whose lower end is `bottom`; nothing when no pixel is grey."""
        holes = (
            "no estimate" * (not all(np.isfinite(values).all() for values in maps)),
            "truth unknown" * (truth is not None and not np.isfinite(truth).all()),
        )
        if any(holes):
            self.legend(" or\n".join(filter(None, holes)), "upper left", (0.0, bottom / self.height))

    def _shorten(self, text: Text, width: float) -> None:
        """Cut out of the middle of a text until it fits: names of runs differ at their ends."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        renderer = FigureCanvasAgg(self.figure).get_renderer()
        full = text.get_text()
        kept = len(full)
        while kept > 1 and (measured := text.get_window_extent(renderer).width) > width:
            kept = min(kept - 1, int(kept * width / measured))
            text.set_text(f"{full[: (kept + 1) // 2]}…{full[len(full) - kept // 2 :]}")


def panel_size(shape: tuple[int, ...], panels: int) -> tuple[int, int]:
    """Width and height in screen pixels of the panel of an image of this shape when so many panels stand side by side.

    Whole multiples of the image stay sharp; four panels of the usual 320 to 450 columns make a picture 1300 to 1800 wide.
    """
    rows, columns = shape[:2]
    room = _WIDEST // panels
    width = columns * (room // columns) if columns <= room else room
    return width, max(1, round(rows * width / columns))


def draw_image(axes: Axes, image: Image) -> None:
    """An image with intensities 0..255, grey or RGB."""
    axes.imshow(eight_bits(image), cmap="gray", vmin=0, vmax=255, aspect="auto")


def draw_disparity(axes: Axes, disparity: Disparity, shown: tuple[float, float]) -> AxesImage:
    """Disparities in colours that end at `shown`."""
    low, high = map(float, shown)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ParameterError(f"shown: {low:g}..{high:g} is not a range of disparities; expected (minimum, maximum) in pixels")
    # A range of one value would show all that lies above it like the value itself.
    return _draw(axes, disparity, "viridis", low, high if high > low else low + 1)


def draw_difference(axes: Axes, disparity: Disparity, base: Disparity) -> AxesImage:
    """Disparity minus base in the colours of errors."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity has no value either
        difference = disparity - base
    return _draw(axes, difference, "RdBu_r", -LARGEST_ERROR, LARGEST_ERROR)


def _draw(axes: Axes, values: NDArray, colours: str, low: float, high: float) -> AxesImage:
    from matplotlib import colormaps

    colour_map = colormaps[colours].with_extremes(bad=_NO_VALUE)
    # "auto" lets the image fill the axes, which have its aspect ratio already; any other would move them by fractions of a pixel.
    return axes.imshow(np.ma.masked_invalid(values), cmap=colour_map, vmin=low, vmax=high, interpolation="nearest", aspect="auto")


def beyond(maps: Sequence[Disparity], shown: tuple[float, float]) -> str:
    """At which ends of the colours a map goes beyond, in matplotlib's words."""
    finite = np.concatenate([values[np.isfinite(values)] for values in maps])
    below, above = bool((finite < shown[0]).any()), bool((finite > shown[1]).any())
    return ("neither", "min", "max", "both")[below + 2 * above]
