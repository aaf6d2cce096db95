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
from stereo_framework.figures.saving import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


LARGEST_ERROR = 4.0
"""Pixels of error at the ends of the error colours. The scale is fixed, so that figures can be compared."""

NO_VALUE = 178
"""Grey level of pixels without a value."""

FONT = 9.0
WIDEST = 1800
"""Largest width of a row of pictures, in screen pixels."""

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
    under : ndarray, optional
        The image that a map covers, which is seen where the map has no value.
    """

    title: str
    values: NDArray
    scale: Scale | None = None
    missing: str = ""
    below: str = ""
    under: NDArray | None = None


def disparities(shown: tuple[float, float]) -> Scale:
    """The scale of disparities, which ends at `shown`, in pixels."""
    low, high = map(float, shown)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ParameterError(
            f"shown: {low:g}..{high:g} is not a range of disparities; expected (minimum, maximum) in pixels"
        )
    # With a range of a single value, everything above it would look like the value itself.
    return Scale("disparity (pixels)", low, high if high > low else low + 1)


def difference(title: str, disparity: Disparity, base: Disparity, label: str) -> Panel:
    """Disparity minus base in the colours of errors, whose ends are the same in all figures."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity has no value either
        return Panel(
            title,
            disparity - base,
            Scale(f"{label} (pixels)", -LARGEST_ERROR, LARGEST_ERROR, "RdBu_r"),
        )


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
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    across = max(map(len, rows))
    panels = [panel for row in rows for panel in row if panel]
    sizes = {
        id(panel): panel_size(panel.values.shape, room or WIDEST // across) for panel in panels
    }
    scales = list(dict.fromkeys(panel.scale for panel in panels if panel.scale))
    holes = dict.fromkeys(
        p.missing for p in panels if p.missing and not np.isfinite(p.values).all()
    )
    meanings = [*legend, *([((NO_VALUE,) * 3, " or ".join(holes))] if holes else [])]
    column = max(width for width, _ in sizes.values())
    heading = [_HEADING if any(p and p.title for p in row) else 0 for row in rows]
    height = [max(sizes[id(p)][1] for p in row if p) for row in rows]
    below = [_KEYS if any(p and p.below for p in row) else _GAP for row in rows]
    width = _GAP + across * (column + _GAP)
    # Bars beside each other, as many as there is room for.
    bars = min(len(scales), max(across, width // _NARROWEST))
    width = max(width, _NARROWEST * bars, 320 * bool(meanings))
    bottom = _KEYS * math.ceil(len(scales) / max(bars, 1)) + 38 * bool(meanings)
    top = 40 if title else 4
    tall = bottom + sum(heading) + sum(height) + sum(below) + top
    figure = new_figure(figsize=(width / _DPI, tall / _DPI), dpi=_DPI, facecolor="white")
    FigureCanvasAgg(figure)  # measures all titles with one renderer
    y = tall - top
    for row, head, high, under in zip(rows, heading, height, below, strict=True):
        for i, panel in enumerate(row):
            if panel:
                wide, own = sizes[id(panel)]
                place = _GAP + i * (column + _GAP), y - head - own, wide, own
                axes = figure.add_axes(_shares(place, figure), xticks=[], yticks=[])
                _draw(axes, panel)
                _shorten(
                    axes.set_title(panel.title, fontsize=FONT + 1, pad=5, parse_math=False), wide
                )
                look: dict[str, Any] = {
                    "ha": "center",
                    "va": "top",
                    "fontsize": FONT,
                    "linespacing": 1.4,
                    "parse_math": False,
                }
                if panel.below:
                    figure.text(
                        (place[0] + wide / 2) / width, (place[1] - 8) / tall, panel.below, **look
                    )
        y -= head + high + under
    for i, scale in enumerate(scales):
        line, at = divmod(i, bars)
        share = width // bars
        place = (at * share + share // 8, bottom - 26 - _KEYS * line, share - share // 4, 14)
        _bar(
            figure.add_axes(_shares(place, figure)), [p for p in panels if p.scale == scale], scale
        )
    if meanings:
        from matplotlib.patches import Patch

        patches = [
            Patch(facecolor=f"#{bytes(rgb).hex()}", label=text, edgecolor="0.4", linewidth=0.5)
            for rgb, text in meanings
        ]
        figure.legend(
            handles=patches,
            loc="lower left",
            ncols=len(meanings),
            frameon=False,
            fontsize=FONT,
            handlelength=1.4,
        )
    if title:
        look = {"ha": "center", "va": "center", "fontsize": FONT + 2, "parse_math": False}
        _shorten(figure.text(0.5, 1 - top / 2 / tall, title, **look), width)
    return figure


def _shares(place: tuple[int, int, int, int], figure: Figure) -> tuple[float, float, float, float]:
    """A place in screen pixels, x, y upwards, width and height, as shares of a figure."""
    x, y, width, height = place
    across, up = figure.bbox.size
    return x / across, y / up, width / across, height / up


def _draw(axes: Axes, panel: Panel) -> None:
    """A picture. Lines around it would cover some of the outermost pixels."""
    from matplotlib import colormaps

    axes.spines[:].set_visible(False)
    # "auto" lets an image fill the axes, which have its aspect ratio already; any other would move it by fractions of a pixel.
    image = panel.values if panel.scale is None else panel.under
    if image is not None:
        axes.imshow(eight_bits(image), cmap="gray", vmin=0, vmax=255, aspect="auto")
    if panel.scale is not None:
        colours = colormaps[panel.scale.colours].with_extremes(
            bad=str(NO_VALUE / 255) if image is None else "none"
        )
        ends: dict[str, Any] = {"vmin": panel.scale.low, "vmax": panel.scale.high}
        axes.imshow(
            np.ma.masked_invalid(panel.values),
            cmap=colours,
            interpolation="nearest",
            aspect="auto",
            **ends,
        )


def _bar(axes: Axes, panels: Sequence[Panel], scale: Scale) -> None:
    """The scale of pictures. It has arrows at the ends beyond which there are values."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Normalize

    finite = np.concatenate([p.values[np.isfinite(p.values)] for p in panels])
    beyond = bool((finite < scale.low).any()) + 2 * bool((finite > scale.high).any())
    shown = ScalarMappable(Normalize(scale.low, scale.high), scale.colours)
    extend: Any = ("neither", "min", "max", "both")[beyond]
    bar = Colorbar(axes, shown, orientation="horizontal", extend=extend, extendfrac=0.03)
    bar.set_label(scale.label, fontsize=FONT, labelpad=1)
    axes.tick_params(labelsize=FONT, pad=1)
    bar.outline.set_linewidth(0.5)


def _shorten(text: Text, width: float) -> None:
    """Shorten a text in its middle until it fits, since the names of runs often differ at their ends."""
    full = text.get_text()
    kept = len(full)
    while kept > 1 and (measured := text.get_window_extent().width) > width:
        kept = min(kept - 1, int(kept * width / measured))
        text.set_text(f"{full[: (kept + 1) // 2]}…{full[len(full) - kept // 2 :]}")


def eight_bits(image: Image) -> NDArray[np.uint8]:
    """An image with intensities 0..255 as uint8, of the same shape."""
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def rgb(image: Image) -> NDArray[np.uint8]:
    """An image with intensities 0..255, grey or in colour, as uint8 ``(rows, columns, 3)``."""
    bits = eight_bits(image)
    return bits if bits.ndim == 3 else np.repeat(bits[..., None], 3, axis=2)


def colour_table(name: str) -> NDArray[np.uint8]:
    """The colours of a matplotlib colour map, from its lower to its upper end, uint8 ``(256, 3)``. The figures use ``viridis`` and, for errors, ``RdBu_r``."""
    from matplotlib import colormaps

    return (255 * colormaps[name](np.arange(256))[:, :3] + 0.5).astype(np.uint8)
