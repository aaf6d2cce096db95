"""Figures 2 to 5: what our methods make of edges, planes and fine structures, pixel by pixel, and the subsets on which that is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import cv2
import numpy as np
from pandas import DataFrame

from stereo_framework.core.scene import Disparity, Image, Mask
from stereo_framework.evaluation.hci import HCI_METRICS, Score, Subsets
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.figures.grid import FONT, check_image
from stereo_framework.figures.saving import new_figure
from stereo_framework.page.page import Block, Text
from stereo_framework.papers.comparison import compared, plain_table, published_table
from stereo_framework.papers.hci2015.claims import COLUMNS
from stereo_framework.papers.hci2015.scores import FOLDER, dense, measured, results
from stereo_framework.papers.paper import Context, Outcome, painted, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGE, FOREGROUND, BACKGROUND, NEIGHBOURHOOD = "#141414", "#d55e00", "#56b4e9", "#5a5a5a"
"""The orange and the blue of Okabe and Ito's palette, which the colour-blind can distinguish, and a grey that no structure has."""

GOOD, BAD = "#aacddc", "#c81e1e"
"""Colours of pixels in metrics that are shares: those that are right, and those that count as wrong."""

LARGEST = {"D_fuz": 20.0, "P_bump": 2.0, "P_off": 2.0, "P_orient": 45.0, "F_por": 3.0, "F_frag": 1.0}
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
        if metric.symbol in LARGEST:
            values = np.ma.masked_invalid(score.picture)
            drawn = axes.imshow(values, cmap="inferno_r", vmin=0, vmax=LARGEST[metric.symbol], interpolation="nearest")
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


def figure3(context: Context) -> Outcome:
    """The subsets of three scenes."""
    blocks = []
    for scene in context.scenes([f"{FOLDER}{name}" for name in ("Pipes", "Playroom", "Adirondack")]):
        name, figure = short(scene.name), subsets_figure(scene.reference, hci_subsets(scene), short(scene.name))
        description = f"subsets of {name}: discontinuities, planes, fine structures"
        blocks.append(painted(f"figure3_{name}", figure, description, name))
    return Outcome(blocks)


def _metrics(item: str, name: str, columns: Sequence[str], methods: Sequence[str], context: Context) -> Outcome:
    """A row of pictures for each of these methods that has a map of a scene."""
    blocks: list[Block] = []
    maps = {r.method: r.disparity for r in results(context) if r.scene == FOLDER + name}
    for scene, truth in context.truths([FOLDER + name]):
        for method in methods:
            if (disparity := maps.get(method)) is not None:
                found = {COLUMNS[c]: HCI_METRICS[COLUMNS[c]].measure(disparity, truth, hci_subsets(scene)) for c in columns}
                figure = metrics_figure(scene.reference, found, f"{name}, {method}")
                description = f"{', '.join(columns)} of {method} on {name}, pixel by pixel"
                blocks.append(painted(f"{item}_{name}_{method}", figure, description, f"{name}, {method}"))
    return Outcome(blocks or [Text(f"{name} is not among the scenes that were run.")])


figure2 = partial(_metrics, "figure2", "Adirondack", ("D_fat", "D_thin", "D_fuz"), ("window", "so", "gc", "sgbm"))
figure4 = partial(_metrics, "figure4", "PlaytableP", ("P_bump", "P_off", "P_orient"), ("window", "window_subpixel", "gc", "sgbm"))
figure5_pictures = partial(_metrics, "figure5", "Pipes", ("F_por", "F_frag", "F_fat"), ("window", "ssd", "bp", "sgbm"))


def figure5(context: Context) -> Outcome:
    """Porosity, fragmentation and detail fattening on Pipes: published and ours, and ours by the equations as printed."""
    published, names, found = published_table("hci2015", "figure5"), ["RMS", "F_por", "F_frag", "F_fat"], results(context)
    rows = [[f"{m} (published)", *(published.rows[name][m] for name in names), None, None] for m in published.columns]
    maps = [r.disparity for r in found if r.scene == f"{FOLDER}Pipes"]
    for scene, truth in context.truths([f"{FOLDER}Pipes"]):
        for disparity, own in zip(maps, measured(found, "Pipes")[names].itertuples(), strict=True):
            assert disparity is not None, "maps were asked for"
            rows.append([*own, *as_printed(disparity, truth, hci_subsets(scene))])
    header = ["method", *names, "equation 10 as printed", "equation 11 as printed"]
    table = plain_table("Pipes: published methods and ours", header, rows)
    ours = measured(dense(found), "Pipes")
    unmeasured = compared(published, {}, "the algorithm's map is not to be had")
    return Outcome([table], unmeasured, {"scores": DataFrame(published.rows)}, {"scores": ours if len(ours) else None})


def as_printed(disparity: Disparity, truth: Disparity, subsets: Subsets) -> tuple[float, float]:
    """Porosity and fragmentation by equations 10 and 11 as they are printed; a structure of which nothing is found adds nothing to the latter."""
    from scipy.ndimage import distance_transform_edt

    structures = np.where(subsets.evaluated, subsets.structures, 0)
    with np.errstate(invalid="ignore"):
        found = (structures > 0) & (np.abs(disparity - truth) <= subsets.parameters.structure_tolerance.of(truth.shape[1]))
    labels = np.unique(structures[structures > 0])
    if not len(labels):
        return float("nan"), float("nan")
    distance = distance_transform_edt(~found) if found.any() else np.full(truth.shape, np.hypot(*truth.shape))
    pieces = [cv2.connectedComponents((found & (structures == label)).view(np.uint8), connectivity=8)[0] - 1 for label in labels]
    return float(np.mean(np.log1p(distance[structures > 0]))), float(np.mean([1 - 1 / max(count, 1) for count in pieces]))
