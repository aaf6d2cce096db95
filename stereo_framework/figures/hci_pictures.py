"""Pictures of the subsets of the HCI metrics, and of the contribution of every pixel to a metric, over the dimmed reference image.

Subsets are drawn in the manner of figure 3 of Honauer et al. 2015, and metrics in that of its figures 2, 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.scene import Image, Mask
from stereo_framework.evaluation.hci import HCI_METRICS, Score, Subsets
from stereo_framework.figures._drawing import FONT, Sheet, check_image

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EDGE, _FOREGROUND, _BACKGROUND, _NEIGHBOURHOOD = (20, 20, 20), (213, 94, 0), (86, 180, 233), (90, 90, 90)
"""RGB: the orange and the blue of Okabe and Ito's palette, which the colour-blind can distinguish, and a grey that no structure has."""

_GOOD, _BAD = (170, 205, 220), (200, 30, 30)
"""RGB of pixels in metrics that are shares: those that are right, and those that count as wrong."""

_SHOWN: Mapping[str, float] = {
    "hci_fuzziness": 20.0,
    "hci_bumpiness": 2.0,
    "hci_offset": 2.0,
    "hci_misorientation": 45.0,
    "hci_porosity": 3.0,
    "hci_fragmentation": 1.0,
}
"""Values at the end of the colour scale, which are fixed so that pictures of different maps can be compared. All other metrics count pixels."""

_COLOURS = "inferno_r"
_PANEL = 900
"""Largest length of a panel's longer side, in screen pixels. Smaller images are enlarged by whole factors as long as they fit."""


def subsets_figure(image: Image, subsets: Subsets, title: str = "") -> Figure:
    """The pixels on which the metrics are measured, side by side: discontinuities with their bands, planes, and fine structures.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The reference image, intensities 0..255.
    subsets : Subsets
        They are drawn where they are evaluated. Every plane and every structure has a colour of its own.
    title : str

    Raises
    ------
    DataError
        Image and subsets differ in size.
    """
    check_image(image, ("subsets", subsets.evaluated))
    sheet, places = _panels(image.shape, 3, 3, title)
    counted = subsets.evaluated
    grey = _dimmed(image)
    bands = [
        (subsets.background & counted, _BACKGROUND, "background M_b"),
        (subsets.foreground & counted, _FOREGROUND, "foreground M_f"),
        (subsets.edges & counted, _EDGE, "discontinuity M_d"),
    ]
    _show(places[0], _painted(grey, [(mask, colour) for mask, colour, _ in bands]), "depth discontinuities")
    _legend(places[0], [(colour, label) for _, colour, label in bands])
    planes = np.where(counted, subsets.planes, 0)
    share = np.count_nonzero(planes) / planes.size
    _show(places[1], _labelled(grey, planes, 0.65), f"planar surfaces: {_count(planes)}, {share:.0%} of the image")
    _legend(places[1], [(_colour(1), "planes M_p, each in its colour")])
    structures = np.where(counted, subsets.structures, 0)
    beside = _painted(grey, [(subsets.neighbourhood & counted, _NEIGHBOURHOOD)])
    _show(places[2], _labelled(beside, structures, 1.0), f"fine structures: {_count(structures)}")
    _legend(places[2], [(_colour(1), "structures M_s, each in its colour"), (_NEIGHBOURHOOD, "neighbourhood M_n")])
    return sheet.figure


def metrics_figure(
    image: Image, scores: Mapping[str, Score], title: str = "", largest: Mapping[str, float] | None = None
) -> Figure:
    """The contribution of every pixel to metrics, with three metrics in a row; for all nine, the rows are edges, planes and structures.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The reference image, intensities 0..255.
    scores : mapping of str to Score
        The scores that metrics returned, by their names in `HCI_METRICS`.
    title : str
    largest : mapping of str to float, optional
        The value at the end of the colour scale, by metric and in its unit. The colour bar ends in an arrow if the picture goes beyond it.

    Raises
    ------
    DataError
        Image and scores differ in size.
    ParameterError
        There is no such metric.
    """
    for name in scores:
        if name not in HCI_METRICS:
            raise ParameterError(f"no such metric: {name!r}; {nearest(name, HCI_METRICS, kind='metrics')}")
    check_image(image, *(("score", score.picture) for score in scores.values()))
    sheet, places = _panels(image.shape, len(scores), min(3, len(scores)), title)
    grey = _dimmed(image)
    for axes, (name, score) in zip(places, scores.items(), strict=True):
        metric = HCI_METRICS[name]
        value = "nothing to measure" if np.isnan(score.value) else f"{score.value:.3g} {metric.unit}"
        measured = "" if np.isnan(score.coverage) or score.coverage == 1 else f", {score.coverage:.1%} measured"
        told = f"{metric.title} ({metric.symbol}): {value}{measured}"
        high = (largest or {}).get(name) or _SHOWN.get(name)
        if high is None:
            bad = score.picture > 0
            _show(axes, _painted(grey, [(np.isfinite(score.picture), _GOOD), (bad, _BAD)]), told)
            _legend(axes, [(_BAD, metric.title), (_GOOD, f"rest of {metric.subset}")])
        else:
            _show_values(sheet, axes, grey, score.picture, high, told, f"{metric.title} ({metric.unit})")
    return sheet.figure


def _panels(shape: tuple[int, ...], count: int, across: int, title: str) -> tuple[Sheet, list[Axes]]:
    """A figure with so many empty panels in the image's proportions, with room for titles above and bars or legends below."""
    rows, columns = shape[:2]
    scale = _PANEL / max(rows, columns)
    if scale >= 1:
        scale = int(scale)
    width, height = max(round(columns * scale), 1), max(round(rows * scale), 1)
    # Titles and bars need room even if the image is narrow.
    room, gap, above, below = max(width, 420), 14, 30, 74
    top, down = 40 if title else 6, -(-count // across)
    sheet = Sheet(gap + across * (room + gap), top + down * (above + height + below))
    sheet.title_line(title, top)
    places = []
    for i in range(count):
        x = gap + (i % across) * (room + gap) + (room - width) // 2
        y = (down - 1 - i // across) * (above + height + below) + below
        places.append(sheet.panel_at(x, y, width, height))
    return sheet, places


def _show(axes: Axes, rgb: NDArray[np.uint8], title: str) -> None:
    # Averaging keeps thin lines visible in images that are reduced.
    box = axes.get_window_extent()
    width, height = round(box.width), round(box.height)
    shrunk = width < rgb.shape[1]
    axes.imshow(cv2.resize(rgb, (width, height), interpolation=cv2.INTER_AREA if shrunk else cv2.INTER_NEAREST), aspect="auto")
    axes.set_title(title, fontsize=FONT + 1, pad=5, parse_math=False)


def _show_values(sheet: Sheet, axes: Axes, grey: NDArray, values: NDArray, high: float, title: str, label: str) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    measured = np.isfinite(values)
    colours = ScalarMappable(Normalize(0, high), colormaps[_COLOURS])
    rgb = grey.copy()
    rgb[measured] = colours.to_rgba(values[measured], bytes=True)[:, :3]
    _show(axes, rgb, title)
    box = axes.get_window_extent()
    place = sheet.axes_at(box.x0 + 0.1 * box.width, box.y0 - 22, 0.8 * box.width, 12)
    beyond = "max" if (values[measured] > high).any() else "neither"
    bar = sheet.figure.colorbar(colours, cax=place, orientation="horizontal", extend=beyond, extendfrac=0.03)
    bar.set_label(label, fontsize=FONT, labelpad=1)
    bar.ax.tick_params(labelsize=FONT, pad=1)


def _legend(axes: Axes, entries: Sequence[tuple[tuple[int, ...], str]]) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=f"#{bytes(colour).hex()}", edgecolor="0.4", linewidth=0.5, label=label) for colour, label in entries
    ]
    below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": len(patches)}
    axes.legend(handles=patches, frameon=False, fontsize=FONT, handlelength=1.4, **below)


def _dimmed(image: Image) -> NDArray[np.uint8]:
    """The image in light grey, so that colours stand out."""
    grey = image.mean(axis=2) if image.ndim == 3 else image
    light = np.clip(255 - 0.45 * (255 - grey), 0, 255).astype(np.uint8)
    return np.repeat(light[..., None], 3, axis=2)


def _painted(rgb: NDArray[np.uint8], layers: Sequence[tuple[Mask, tuple[int, ...]]]) -> NDArray[np.uint8]:
    rgb = rgb.copy()
    for mask, colour in layers:
        rgb[mask] = colour
    return rgb


def _labelled(rgb: NDArray[np.uint8], labels: NDArray[np.int32], strength: float) -> NDArray[np.uint8]:
    """Labels 1, 2, ... in colours, mixed with the picture below."""
    table = np.array([_colour(i) for i in range(int(labels.max(initial=0)) + 1)], np.float64)
    rgb, inside = rgb.copy(), labels > 0
    rgb[inside] = (1 - strength) * rgb[inside] + strength * table[labels[inside]]
    return rgb


def _colour(label: int) -> tuple[int, ...]:
    """A colour for a label. Successive labels get very different colours, by steps of the golden section around the circle of hues."""
    from matplotlib.colors import hsv_to_rgb

    return tuple(int(v) for v in 255 * hsv_to_rgb(((0.58 + 0.618034 * label) % 1, 0.85, 0.85 - 0.2 * (label % 2))))


def _count(labels: NDArray[np.int32]) -> int:
    return int(np.count_nonzero(np.bincount(labels.ravel(), minlength=1)[1:]))
