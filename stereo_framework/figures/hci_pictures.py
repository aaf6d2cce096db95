"""Pictures of the subsets of the HCI metrics, and of the contribution of every pixel to a metric, over the dimmed reference image.

Subsets are drawn in the manner of figure 3 of Honauer et al. 2015, and metrics in that of its figures 2, 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.scene import Image, Mask
from stereo_framework.evaluation.hci import HCI_METRICS, Score, Subsets
from stereo_framework.figures.grid import Panel, Scale, check_image, grid_figure

if TYPE_CHECKING:
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
    counted, grey = subsets.evaluated, _dimmed(image)
    planes, structures = (np.where(counted, labels, 0) for labels in (subsets.planes, subsets.structures))
    bands = [
        (subsets.background & counted, _BACKGROUND, "background M_b"),
        (subsets.foreground & counted, _FOREGROUND, "foreground M_f"),
        (subsets.edges & counted, _EDGE, "discontinuity M_d"),
    ]
    share = np.count_nonzero(planes) / planes.size
    beside = _painted("", grey, [(subsets.neighbourhood & counted, _NEIGHBOURHOOD, "neighbourhood M_n")])
    panels = [
        _painted("depth discontinuities", grey, bands),
        Panel(
            f"planar surfaces: {_count(planes)}, {share:.0%} of the image",
            _labelled(grey, planes, 0.65),
            legend=[(_colour(1), "planes M_p, each in its colour")],
        ),
        Panel(
            f"fine structures: {_count(structures)}",
            _labelled(beside.values, structures, 1.0),
            legend=[(_colour(1), "structures M_s, each in its colour"), *beside.legend],
        ),
    ]
    return grid_figure([panels], title, room=_room(image), apart=True)


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
    grey = _dimmed(image)
    panels = []
    for name, score in scores.items():
        metric = HCI_METRICS[name]
        value = "nothing to measure" if np.isnan(score.value) else f"{score.value:.3g} {metric.unit}"
        measured = "" if np.isnan(score.coverage) or score.coverage == 1 else f", {score.coverage:.1%} measured"
        told = f"{metric.title} ({metric.symbol}): {value}{measured}"
        high = (largest or {}).get(name) or _SHOWN.get(name)
        if high is None:
            layers = [(np.isfinite(score.picture), _GOOD, f"rest of {metric.subset}"), (score.picture > 0, _BAD, metric.title)]
            panels.append(_painted(told, grey, layers))
        else:
            scale = Scale(f"{metric.title} ({metric.unit})", 0, high, "inferno_r")
            panels.append(Panel(told, score.picture, scale, under=grey))
    return grid_figure([panels[i : i + 3] for i in range(0, len(panels), 3)], title, room=_room(image), apart=True)


def _room(image: Image) -> int:
    return max(1, _PANEL * image.shape[1] // max(image.shape[:2]))


def _dimmed(image: Image) -> NDArray[np.uint8]:
    """The image in light grey, so that colours stand out."""
    grey = image.mean(axis=2) if image.ndim == 3 else image
    light = np.clip(255 - 0.45 * (255 - grey), 0, 255).astype(np.uint8)
    return np.repeat(light[..., None], 3, axis=2)


def _painted(title: str, under: NDArray[np.uint8], layers: Sequence[tuple[Mask, tuple[int, ...], str]]) -> Panel:
    """An image with pixels in colours, later ones over earlier ones, and what they mean."""
    rgb = under.copy()
    for mask, colour, _ in layers:
        rgb[mask] = colour
    return Panel(title, rgb, legend=[(colour, meaning) for _, colour, meaning in layers])


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
