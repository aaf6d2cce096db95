"""Pictures in rows: images and maps at whole screen pixels, with titles, the scales of their colours, and what other colours mean.

Disparities are drawn in viridis, which is perceptually uniform with rising lightness (nearer is brighter, also in grey print) and readable by the
colour-blind. Errors are drawn in a red-blue colour map, red = too near. Neither of them contains the grey of pixels without a value.

Figures are made without pyplot, so that nothing global is changed and threads may draw at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.scene import Disparity, Image
from stereo_framework.figures.colours import LARGEST_ERROR, NO_VALUE, eight_bits
from stereo_framework.figures.saving import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

FONT = 9.0
WIDEST = 1800
"""Largest width of a row of pictures, in screen pixels."""

_NO_VALUE = (NO_VALUE,) * 3
"""RGB of pixels without a value."""

_GAP, _HEADING, _KEYS = 12, 30, 74
"""Screen pixels between pictures, above one with a title, and below one with a colour bar, a legend or lines of text."""

_NARROWEST = 240
"""Screen pixels that a colour bar with its numbers needs."""

_DPI = 128
"""A power of two, so that sizes in inches convert back to whole screen pixels without rounding, and images stay sharp."""


@dataclass(frozen=True)
class Scale:
    """The colours of the values of maps: what they are, with the unit, and the values at their ends."""

    label: str
    low: float
    high: float
    colours: str = "viridis"


@dataclass(frozen=True, eq=False)
class Panel:
    """A picture.

    Parameters
    ----------
    title : str
    values : ndarray
        An image with intensities 0..255, grey or RGB; or a map, (rows, columns), in the colours of its scale.
    scale : Scale, optional
        Of a map.
    missing : str
        What it means that a map has no value; its pixels are grey.
    below : str
        Lines of text.
    """

    title: str
    values: NDArray
    scale: Scale | None = None
    missing: str = ""
    below: str = ""


def disparities(shown: tuple[float, float]) -> Scale:
    """The scale of disparities, which ends at `shown`, in pixels."""
    low, high = map(float, shown)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ParameterError(f"shown: {low:g}..{high:g} is not a range of disparities; expected (minimum, maximum) in pixels")
    # With a range of a single value, everything above it would look like the value itself.
    return Scale("disparity (pixels)", low, high if high > low else low + 1)


def difference(title: str, disparity: Disparity, base: Disparity, label: str) -> Panel:
    """Disparity minus base in the colours of errors, whose ends are the same in all figures."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity has no value either
        return Panel(title, disparity - base, Scale(f"{label} (pixels)", -LARGEST_ERROR, LARGEST_ERROR, "RdBu_r"))


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


def panel_size(shape: tuple[int, ...], room: int) -> tuple[int, int]:
    """Width and height, in screen pixels, of a picture for which there is so much room: enlarged by a whole factor, so that it stays sharp, or reduced."""
    rows, columns = shape[:2]
    width = columns * (room // columns) if columns <= room else room
    return width, max(1, round(rows * width / columns))


def grid_figure(
    rows: Sequence[Sequence[Panel | None]],
    title: str = "",
    *,
    room: int | None = None,
    legend: Sequence[tuple[tuple[int, ...], str]] = (),
) -> Figure:
    """Draw pictures in rows; None leaves a place empty.

    Parameters
    ----------
    rows : sequence of sequence of Panel or None
    title : str
    room : int, optional
        Screen pixels for the width of a picture; default: as many as `WIDEST` leaves to each.
    legend : sequence of (tuple of int, str)
        RGB of further colours and what they mean.
    """
    across = max(map(len, rows))
    panels = [panel for row in rows for panel in row if panel]
    sizes = {id(panel): panel_size(panel.values.shape, room or WIDEST // across) for panel in panels}
    scales = list(dict.fromkeys(panel.scale for panel in panels if panel.scale))
    holes = dict.fromkeys(p.missing for p in panels if p.missing and not np.isfinite(p.values).all())
    meanings = [*legend, *([(_NO_VALUE, " or ".join(holes))] if holes else [])]
    column = max(width for width, _ in sizes.values())
    heading = [_HEADING if any(p and p.title for p in row) else 0 for row in rows]
    height = [max(sizes[id(p)][1] for p in row if p) for row in rows]
    below = [_KEYS if any(p and p.below for p in row) else _GAP for row in rows]
    bottom, top = 74 * bool(scales) + 38 * bool(meanings), 40 if title else 4
    sheet = _Sheet(
        max(_GAP + across * (column + _GAP), _NARROWEST * len(scales), 320 * bool(meanings)),
        bottom + sum(heading) + sum(height) + sum(below) + top,
    )
    y = sheet.height - top
    for row, head, tall, under in zip(rows, heading, height, below, strict=True):
        for i, panel in enumerate(row):
            if panel:
                width, own = sizes[id(panel)]
                sheet.draw(panel, _GAP + i * (column + _GAP), y - head - own, width, own)
        y -= head + tall + under
    for i, scale in enumerate(scales):
        share = sheet.width // len(scales)
        place = (i * share + share // 8, bottom - 26, share - share // 4, 14)
        sheet.bar([p for p in panels if p.scale == scale], scale, place)
    if meanings:
        from matplotlib.patches import Patch

        look: dict[str, Any] = {"edgecolor": "0.4", "linewidth": 0.5}
        patches = [Patch(facecolor=_hex(colour), label=text, **look) for colour, text in meanings]
        sheet.figure.legend(
            handles=patches, loc="lower left", ncols=len(meanings), frameon=False, fontsize=FONT, handlelength=1.4
        )
    if title:
        sheet.shorten(sheet.text(sheet.width / 2, sheet.height - top / 2, title, va="center", fontsize=FONT + 2), sheet.width)
    return sheet.figure


def _hex(colour: tuple[int, ...]) -> str:
    return f"#{bytes(colour).hex()}"


class _Sheet:
    """A figure of a given size in screen pixels, on which parts are placed at pixel coordinates, with y upwards."""

    def __init__(self, width: int, height: int):
        size = width / _DPI, height / _DPI
        self.figure = new_figure(figsize=size, dpi=_DPI, facecolor="white")
        self.width, self.height = width, height

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """New axes at a place."""
        return self.figure.add_axes((x / self.width, y / self.height, width / self.width, height / self.height))

    def text(self, x: float, y: float, text: str, **look: Any) -> Text:
        """A text that is centred at x. A $ in the name of a scene does not begin a formula."""
        return self.figure.text(x / self.width, y / self.height, text, ha="center", parse_math=False, **look)

    def draw(self, panel: Panel, x: int, y: int, width: int, height: int) -> None:
        """A picture with its title and the text below it."""
        axes = self.axes(x, y, width, height)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)  # they would cover some of the outermost pixels
        # "auto" lets an image fill the axes, which have its aspect ratio already; any other would move it by fractions of a pixel.
        if panel.scale is None:
            axes.imshow(eight_bits(panel.values), cmap="gray", vmin=0, vmax=255, aspect="auto")
        else:
            from matplotlib import colormaps

            colours = colormaps[panel.scale.colours].with_extremes(bad=_hex(_NO_VALUE))
            ends: dict[str, Any] = {"vmin": panel.scale.low, "vmax": panel.scale.high}
            axes.imshow(np.ma.masked_invalid(panel.values), cmap=colours, interpolation="nearest", aspect="auto", **ends)
        self.shorten(axes.set_title(panel.title, fontsize=FONT + 1, pad=5, parse_math=False), width)
        if panel.below:
            self.text(x + width / 2, y - 8, panel.below, va="top", fontsize=FONT, linespacing=1.4)

    def bar(self, panels: Sequence[Panel], scale: Scale, place: tuple[int, int, int, int]) -> None:
        """The scale of pictures. It has arrows at the ends beyond which there are values."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        finite = np.concatenate([p.values[np.isfinite(p.values)] for p in panels])
        beyond = bool((finite < scale.low).any()) + 2 * bool((finite > scale.high).any())
        bar = self.figure.colorbar(
            ScalarMappable(Normalize(scale.low, scale.high), scale.colours),
            cax=self.axes(*place),
            orientation="horizontal",
            extend=("neither", "min", "max", "both")[beyond],
            extendfrac=0.03,
        )
        bar.set_label(scale.label, fontsize=FONT, labelpad=1)
        bar.ax.tick_params(labelsize=FONT, pad=1)
        bar.outline.set_linewidth(0.5)

    def shorten(self, text: Text, width: float) -> None:
        """Shorten a text in its middle until it fits, since the names of runs often differ at their ends."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        renderer = FigureCanvasAgg(self.figure).get_renderer()
        full = text.get_text()
        kept = len(full)
        while kept > 1 and (measured := text.get_window_extent(renderer).width) > width:
            kept = min(kept - 1, int(kept * width / measured))
            text.set_text(f"{full[: (kept + 1) // 2]}…{full[len(full) - kept // 2 :]}")
