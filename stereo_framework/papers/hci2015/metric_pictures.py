"""The subsets of the HCI metrics (Figure 3), and the contribution of every pixel to metrics (Figures 2, 4 and 5), over the dimmed reference image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stereo_framework.core.scene import Image, Mask
from stereo_framework.evaluation.hci import HCI_METRICS, Score, Subsets
from stereo_framework.figures.grid import FONT, check_image
from stereo_framework.figures.saving import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGE, FOREGROUND, BACKGROUND, NEIGHBOURHOOD = "#141414", "#d55e00", "#56b4e9", "#5a5a5a"
"""The orange and the blue of Okabe and Ito's palette, which the colour-blind can distinguish, and a grey that no structure has."""

GOOD, BAD = "#aacddc", "#c81e1e"
"""Colours of pixels in metrics that are shares: those that are right, and those that count as wrong."""

LARGEST: Mapping[str, float] = {
    "hci_fuzziness": 20.0,
    "hci_bumpiness": 2.0,
    "hci_offset": 2.0,
    "hci_misorientation": 45.0,
    "hci_porosity": 3.0,
    "hci_fragmentation": 1.0,
}
"""Values at the end of the colours, which are fixed so that pictures of different maps can be compared. All other metrics count pixels."""

_WIDTH = 5.0
"""Of a picture, in inches."""


def subsets_figure(image: Image, subsets: Subsets, title: str = "") -> Figure:
    """The pixels on which the metrics are measured, where they are evaluated: discontinuities with their bands, planes, and fine structures.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The reference image, intensities 0..255.
    subsets : Subsets
    title : str

    Raises
    ------
    DataError
        Image and subsets differ in size.
    """
    check_image(image, ("subsets", subsets.evaluated))
    counted = subsets.evaluated
    planes, structures = (np.where(counted, labels, 0) for labels in (subsets.planes, subsets.structures))
    surfaces, details = (len(np.unique(labels[labels > 0])) for labels in (planes, structures))
    share = f"{np.mean(planes > 0):.0%} of the image"
    titles = ["depth discontinuities", f"planes M_p: {surfaces}, {share}", f"fine structures M_s: {details}"]
    figure, (first, second, third) = _sheet(image, titles, title)
    bands = {
        "background M_b": (subsets.background, BACKGROUND),
        "foreground M_f": (subsets.foreground, FOREGROUND),
        "discontinuity M_d": (subsets.edges, EDGE),
    }
    _paint(first, {name: (mask & counted, colour) for name, (mask, colour) in bands.items()})
    _paint(third, {"neighbourhood M_n": (subsets.neighbourhood & counted, NEIGHBOURHOOD)})
    for axes, labels in ((second, planes), (third, structures)):
        # Steps of the golden section around the circle of hues: successive labels get very different ones.
        hues = np.ma.masked_array(0.618034 * labels % 1, labels == 0)
        axes.imshow(hues, cmap="hsv", vmin=0, vmax=1, alpha=0.7, interpolation="nearest")
    return figure


def metrics_figure(image: Image, scores: Mapping[str, Score], title: str = "") -> Figure:
    """The contribution of every pixel to metrics, three metrics in a row.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The reference image, intensities 0..255.
    scores : mapping of str to Score
        What metrics returned, by their names in `HCI_METRICS`.
    title : str

    Raises
    ------
    DataError
        Image and scores differ in size.
    """
    check_image(image, *(("score", score.picture) for score in scores.values()))
    figure, places = _sheet(image, [_told(name, score) for name, score in scores.items()], title)
    for axes, (name, score) in zip(places, scores.items(), strict=True):
        metric = HCI_METRICS[name]
        if name in LARGEST:
            values = np.ma.masked_invalid(score.picture)
            drawn = axes.imshow(values, cmap="inferno_r", vmin=0, vmax=LARGEST[name], interpolation="nearest")
            label = f"{metric.title} ({metric.unit})"
            figure.colorbar(drawn, ax=axes, orientation="horizontal", label=label, extend="max", aspect=40)
        else:
            rest, wrong = np.isfinite(score.picture), score.picture > 0
            _paint(axes, {f"rest of {metric.subset}": (rest, GOOD), metric.title: (wrong, BAD)})
    return figure


def _told(name: str, score: Score) -> str:
    """A metric, its value, and how much of its subset was measured."""
    metric = HCI_METRICS[name]
    value = "nothing to measure" if np.isnan(score.value) else f"{score.value:.3g} {metric.unit}"
    measured = "" if np.isnan(score.coverage) or score.coverage == 1 else f", {score.coverage:.1%} measured"
    return f"{metric.title} ({metric.symbol}): {value}{measured}"


def _sheet(image: Image, titles: Sequence[str], title: str) -> tuple[Figure, list[Axes]]:
    """The image in light grey, so that colours stand out, once for each title, three in a row."""
    rows, columns = math.ceil(len(titles) / 3), min(3, len(titles))
    size = _WIDTH * columns, rows * (_WIDTH * image.shape[0] / image.shape[1] + 1) + 0.4
    figure = new_figure(figsize=size, layout="constrained", facecolor="white")
    figure.suptitle(title, fontsize=FONT + 2, parse_math=False)
    grey, places = image.mean(axis=2) if image.ndim == 3 else image, []
    for i, name in enumerate(titles):
        places.append(figure.add_subplot(rows, columns, 1 + i, xticks=[], yticks=[]))
        places[i].imshow(255 - 0.45 * (255 - grey), cmap="gray", vmin=0, vmax=255)
        places[i].set_title(name, fontsize=FONT, parse_math=False)
    return figure, places


def _paint(axes: Axes, layers: Mapping[str, tuple[Mask, str]]) -> None:
    """Pixels in colours, later ones over earlier ones, with what these mean."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    for mask, colour in layers.values():
        axes.imshow(mask[..., None] * np.array(to_rgba(colour)), interpolation="nearest")
    patches = [Patch(facecolor=colour, label=name) for name, (_, colour) in layers.items()]
    axes.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False, fontsize=FONT - 1)
