"""The subsets of the HCI metrics (Figure 3), and the contribution of every pixel to metrics (Figures 2, 4 and 5), over the dimmed reference image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image, Mask
from stereo_framework.evaluation.hci import HCI_METRICS, Score, Subsets
from stereo_framework.figures.grid import FONT, check_image
from stereo_framework.figures.saving import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGE, FOREGROUND, BACKGROUND, NEIGHBOURHOOD = (20, 20, 20), (213, 94, 0), (86, 180, 233), (90, 90, 90)
"""RGB: the orange and the blue of Okabe and Ito's palette, which the colour-blind can distinguish, and a grey that no structure has."""

GOOD, BAD = (170, 205, 220), (200, 30, 30)
"""RGB of pixels in metrics that are shares: those that are right, and those that count as wrong."""

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

Layer = tuple[Mask, tuple[int, ...], str]
"""Pixels, their colour as RGB, and what they are."""


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
    grey, counted = dimmed(image), subsets.evaluated
    planes, structures = (np.where(counted, labels, 0) for labels in (subsets.planes, subsets.structures))
    bands = [
        (subsets.background & counted, BACKGROUND, "background M_b"),
        (subsets.foreground & counted, FOREGROUND, "foreground M_f"),
        (subsets.edges & counted, EDGE, "discontinuity M_d"),
    ]
    near = [(subsets.neighbourhood & counted, NEIGHBOURHOOD, "neighbourhood M_n")]
    figure, axes = _sheet(image, 3, title)
    _draw(axes[0], "depth discontinuities", _painted(grey, bands), bands)
    share = f"{np.mean(planes > 0):.0%} of the image"
    each = [(planes > 0, colour(1), "planes M_p, each in its colour")]
    _draw(axes[1], f"planar surfaces: {_count(planes)}, {share}", _labelled(grey, planes, 0.65), each)
    each = [(structures > 0, colour(1), "structures M_s, each in its colour"), *near]
    _draw(axes[2], f"fine structures: {_count(structures)}", _labelled(_painted(grey, near), structures, 1.0), each)
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
    grey, (figure, places) = dimmed(image), _sheet(image, len(scores), title)
    for axes, (name, score) in zip(places, scores.items(), strict=True):
        metric = HCI_METRICS[name]
        value = "nothing to measure" if np.isnan(score.value) else f"{score.value:.3g} {metric.unit}"
        measured = "" if np.isnan(score.coverage) or score.coverage == 1 else f", {score.coverage:.1%} measured"
        told = f"{metric.title} ({metric.symbol}): {value}{measured}"
        if name in LARGEST:
            _draw(axes, told, grey)
            values, label = np.ma.masked_invalid(score.picture), f"{metric.title} ({metric.unit})"
            drawn = axes.imshow(values, cmap="inferno_r", vmin=0, vmax=LARGEST[name], interpolation="nearest")
            beyond = "max" if (values > LARGEST[name]).any() else "neither"
            figure.colorbar(drawn, ax=axes, orientation="horizontal", label=label, extend=beyond, aspect=40)
        else:
            layers = [(np.isfinite(score.picture), GOOD, f"rest of {metric.subset}"), (score.picture > 0, BAD, metric.title)]
            _draw(axes, told, _painted(grey, layers), layers)
    return figure


def _sheet(image: Image, count: int, title: str) -> tuple[Figure, list[Axes]]:
    """A figure with so many places for pictures of one size, three in a row."""
    rows, columns = math.ceil(count / 3), min(3, count)
    size = _WIDTH * columns, rows * (_WIDTH * image.shape[0] / image.shape[1] + 1) + 0.4
    figure = new_figure(figsize=size, layout="constrained", facecolor="white")
    figure.suptitle(title, fontsize=FONT + 2, parse_math=False)
    return figure, [figure.add_subplot(rows, columns, 1 + i, xticks=[], yticks=[]) for i in range(count)]


def _draw(axes: Axes, title: str, picture: NDArray[np.uint8], layers: Sequence[Layer] = ()) -> None:
    """A picture with what its colours mean."""
    from matplotlib.patches import Patch

    axes.imshow(picture)
    axes.set_title(title, fontsize=FONT, parse_math=False)
    if layers:
        patches = [Patch(facecolor=f"#{bytes(rgb).hex()}", label=meaning) for _, rgb, meaning in layers]
        axes.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False, fontsize=FONT - 1)


def dimmed(image: Image) -> NDArray[np.uint8]:
    """The image in light grey, so that colours stand out."""
    grey = image.mean(axis=2) if image.ndim == 3 else image
    light = np.clip(255 - 0.45 * (255 - grey), 0, 255).astype(np.uint8)
    return np.repeat(light[..., None], 3, axis=2)


def _painted(under: NDArray[np.uint8], layers: Sequence[Layer]) -> NDArray[np.uint8]:
    """An image with pixels in colours, later ones over earlier ones."""
    painted = under.copy()
    for mask, rgb, _ in layers:
        painted[mask] = rgb
    return painted


def _labelled(under: NDArray[np.uint8], labels: NDArray[np.int32], strength: float) -> NDArray[np.uint8]:
    """An image with labels 1, 2, ... in colours that are mixed with it."""
    colours = np.array([colour(i) for i in range(int(labels.max(initial=0)) + 1)])
    mixed = (1 - strength) * under + strength * colours[labels]
    return np.where(labels[..., None] > 0, mixed, under).astype(np.uint8)


def colour(label: int) -> tuple[int, ...]:
    """RGB of a label. Successive labels get very different colours, by steps of the golden section around the circle of hues."""
    from matplotlib.colors import hsv_to_rgb

    return tuple(int(v) for v in 255 * hsv_to_rgb(((0.58 + 0.618034 * label) % 1, 0.85, 0.85 - 0.2 * (label % 2))))


def _count(labels: NDArray[np.int32]) -> int:
    return len(np.unique(labels[labels > 0]))
