"""What the paper's figures draw: metrics pixel by pixel and the subsets on which they are measured (Figures 2 to 5), and charts of several methods.

The charts are stacked bars (Figure 7), radar charts (Figure 9) and histograms (Figure 12).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pandas import DataFrame

from stereo_framework.core.scene import Image, Mask
from stereo_framework.evaluation.hci import HCI_METRICS, Score, Subsets
from stereo_framework.figures._chart_style import (
    FONT,
    LINE,
    handle,
    legend_beside,
    longest,
    new_chart,
    plain_axes,
    styles,
)
from stereo_framework.figures.grid import Panel, Scale, check_image, colour_table, grid_figure, rgb
from stereo_framework.tables.scores import Scores
from stereo_framework.tables.words import metric_name, short_names, unit

Colour = tuple[int, int, int]
"""Red, green and blue, 0..255."""

EDGE, FOREGROUND, BACKGROUND, NEIGHBOURHOOD = (
    (20, 20, 20),
    (213, 94, 0),
    (86, 180, 233),
    (90, 90, 90),
)
"""The orange and the blue of Okabe and Ito's palette, which the colour-blind can distinguish, and greys that no structure has."""

GOOD, BAD = (170, 205, 220), (200, 30, 30)
"""Colours of pixels in metrics that are shares: those that are right, and those that count as wrong."""

LARGEST = {
    "D_fuz": 20.0,
    "P_bump": 2.0,
    "P_off": 2.0,
    "P_orient": 45.0,
    "F_por": 3.0,
    "F_frag": 1.0,
}
"""Values at the end of the colours, which are fixed so that pictures of different maps can be compared. All other metrics count pixels."""


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
    planes, structures = (
        np.where(counted, labels, 0) for labels in (subsets.planes, subsets.structures)
    )
    surfaces, details = (len(np.unique(labels[labels > 0])) for labels in (planes, structures))
    bands = [
        (BACKGROUND, subsets.background),
        (FOREGROUND, subsets.foreground),
        (EDGE, subsets.edges),
    ]
    near = _painted(image, [(NEIGHBOURHOOD, subsets.neighbourhood & counted)])
    panels = [
        Panel(
            "depth discontinuities",
            _painted(image, [(colour, mask & counted) for colour, mask in bands]),
        ),
        Panel(
            f"planes M_p: {surfaces}, {np.mean(planes > 0):.0%} of the image",
            _in_hues(planes, _painted(image, [])),
        ),
        Panel(f"fine structures M_s: {details}", _in_hues(structures, near)),
    ]
    names = ("background M_b", "foreground M_f", "discontinuity M_d", "neighbourhood M_n")
    return grid_figure(
        [panels],
        title,
        legend=list(zip((*(c for c, _ in bands), NEIGHBOURHOOD), names, strict=True)),
    )


def metrics_figure(image: Image, scores: Mapping[str, Score], title: str = "") -> Figure:
    """The contribution of every pixel to metrics, three metrics in a row, each with its value and how much of its subset was measured.

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
    panels, legend = list[Panel](), list[tuple[Colour, str]]()
    for name, score in scores.items():
        metric = HCI_METRICS[name]
        value = (
            "nothing to measure" if np.isnan(score.value) else f"{score.value:.3g} {metric.unit}"
        )
        value += (
            ""
            if np.isnan(score.coverage) or score.coverage == 1
            else f", {score.coverage:.1%} measured"
        )
        if metric.symbol in LARGEST:
            scale = Scale(f"{metric.title} ({metric.unit})", 0, LARGEST[metric.symbol], "inferno_r")
            panels.append(
                Panel(
                    metric_name(name), score.picture, scale, below=value, under=_painted(image, [])
                )
            )
        else:
            layers = [(GOOD, np.isfinite(score.picture)), (BAD, score.picture > 0)]
            panels.append(Panel(metric_name(name), _painted(image, layers), below=value))
            legend = [(GOOD, "right"), (BAD, "wrong")]
    return grid_figure([panels[i : i + 3] for i in range(0, len(panels), 3)], title, legend=legend)


def _painted(image: Image, layers: Sequence[tuple[Colour, Mask]]) -> NDArray[np.uint8]:
    """The image in light grey, so that colours stand out, and pixels in colours over it, later ones over earlier ones."""
    found = rgb(255 - 0.45 * (255 - (image.mean(axis=2) if image.ndim == 3 else image)))
    for colour, mask in layers:
        found[mask] = colour
    return found


def _in_hues(labels: NDArray[np.integer], picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Labelled pixels in hues. Steps of the golden section around the circle of hues: successive labels get very different ones."""
    hues = colour_table("hsv")[(256 * (0.618034 * labels % 1)).astype(int)]
    return np.where(labels[..., None] > 0, 0.7 * hues + 0.3 * picture, picture).astype(np.uint8)


COLOURS = (
    *("#08519c", "#4292c6", "#9ecae1"),  # edges: blues
    *("#a63603", "#f16913", "#fdae6b"),  # planes: oranges
    *("#252525", "#737373", "#bdbdbd"),  # fine structures: greys
)
"""Colours of the nine metrics. The colour-blind can distinguish the hues, and the shades remain different in grey print."""

_MARK = "#d55e00"


def shares_of_worst(found: Scores) -> DataFrame:
    """Mean scores by method and metric as shares of the worst method's, 0..1, lower is better; a missing score is 1.

    Notes
    -----
    The paper does not say how its charts make scores comparable.
    """
    means = DataFrame({name: found.of(name).means for name in found.metrics}, found.methods)
    return means.div(means.max().replace(0, 1)).fillna(1.0)


def footnote(found: Scores, how: str, *remarks: str) -> str:
    """What one must know to read these scores: `how` the scenes are combined, what is missing, and the protocol."""
    short = [short_names(found.scenes)[scene] for scene in found.scenes]
    scenes = (
        f"{len(short)} scenes ({', '.join(short)})"
        if 1 < len(short) <= 4
        else f"{len(short)} scenes"
    )
    over = f"{how} {scenes}" if len(short) > 1 else f"scene {short[0]}"
    return "; ".join([over, *remarks, *found.notes, f"protocol {found.protocol}"])


def stacked_bars_figure(found: Scores, weights: Mapping[str, float]) -> Figure:
    """A bar for each method, stacked from its weighted scores, the best method at the top.

    Parameters
    ----------
    found : Scores
    weights : mapping of str to float
        By metric; 1 where nothing is given.

    Notes
    -----
    Honauer et al. 2015, Figure 7. The length of a bar is the weighted mean of the scores, each as a share of the worst method's.
    """
    shares = np.array([weights.get(name, 1.0) for name in found.metrics])
    parts = shares_of_worst(found) * (shares / shares.sum())
    parts = parts.loc[parts.sum(axis=1).sort_values(kind="stable").index]
    legend = [
        metric_name(n) + ("" if w == 1 else f" × {w:g}")
        for n, w in zip(found.metrics, shares, strict=True)
    ]
    height = max(0.28 * len(parts) + 0.6, LINE * (len(legend) + 2)) + 0.4
    below = footnote(found, "means over", "each score as a share of the worst method's")
    figure = new_chart(4.0 + longest(found.methods), longest(legend) + 0.6, height, "", below)
    axes, left, places = figure.add_subplot(), np.zeros(len(parts)), range(len(parts))
    for name, label in zip(parts, legend, strict=True):
        colour = COLOURS[list(HCI_METRICS).index(str(name))]
        bars = axes.barh(
            places, parts[name], 0.72, left, color=colour, edgecolor="white", label=label
        )
        left = left + parts[name].to_numpy()
    axes.bar_label(bars, [f" {total:.2f}" for total in left], fontsize=FONT - 1)
    plain_axes(axes, x="weighted score (0 = perfect, 1 = the worst in everything)")
    axes.set_yticks(places, parts.index, parse_math=False)
    axes.set(xlim=(0, 1.1), ylim=(len(parts) - 0.4, -0.6))
    axes.spines["left"].set_visible(False)
    legend_beside(figure, axes.get_legend_handles_labels()[0])
    return figure


def radar_figure(found: Scores) -> Figure:
    """Two radar charts, one of ranks and one of scores. The closer to the centre, the better.

    Notes
    -----
    Honauer et al. 2015, Figure 9. Ranks are means over the scenes. The area within a line has no meaning of its own, since it depends on the order of the metrics.
    """
    count, symbols = len(found.methods), [HCI_METRICS[name].symbol for name in found.metrics]
    looks = list(styles([(method,) for method in found.methods], joined=True).values())
    inside, beside = 2 * (2.7 + 2 * longest(symbols)), longest(found.methods) + 0.9
    height = max(3.1, LINE * count) + 0.4
    figure = new_chart(
        inside, beside, height, "", footnote(found, "means over", "the further in, the better")
    )
    angles = 2 * np.pi * np.arange(len(symbols) + 1) / len(symbols)
    ranks = np.stack([found.of(name).average_ranks for name in found.metrics], axis=1)
    panels = (
        (f"rank, 1 = best of {count}", ranks, count),
        ("score, 1 = the worst method's", shares_of_worst(found).to_numpy(), 1),
    )
    for i, (title, values, end) in enumerate(panels, 1):
        axes = figure.add_subplot(
            1, 2, i, projection="polar", theta_offset=np.pi / 2, theta_direction=-1
        )
        for row, look in zip(values, looks, strict=True):
            axes.plot(angles, [*row, row[0]], clip_on=False, zorder=3, **look)
        axes.set_xticks(angles[:-1], symbols, fontsize=FONT, parse_math=False)
        axes.set_ylim(0, end)
        axes.tick_params(axis="x", pad=8)
        axes.tick_params(axis="y", labelsize=FONT - 1)
        axes.grid(color="0.85", linewidth=0.6)
        axes.set_title(title, fontsize=FONT, pad=14)
    legend_beside(
        figure, [handle(look, method) for look, method in zip(looks, found.methods, strict=True)]
    )
    return figure


def histogram_figure(found: Scores, method: str) -> Figure:
    """A histogram for each metric, with the scores of one method marked: a line for each scene.

    Notes
    -----
    Honauer et al. 2015, Figure 12. Every pair of scene and method counts once. There are 12 bins of equal width from 0 to the largest score.
    """
    columns = min(len(found.metrics), 3)
    rows = math.ceil(len(found.metrics) / columns)
    figure = new_chart(columns * 2.7, 1.7, rows * 1.75 + 0.4, "", footnote(found, "scores on"))
    for j, name in enumerate(found.metrics):
        axes, values = figure.add_subplot(rows, columns, j + 1), found.of(name).values
        marked = values[found.methods.index(method)]
        axes.hist(
            values.ravel(),
            12,
            range=(0, np.nanmax(values)),
            color="0.75",
            edgecolor="white",
            linewidth=0.5,
        )
        axes.vlines(
            marked[np.isfinite(marked)],
            0,
            1,
            _MARK,
            linewidth=1.2,
            transform=axes.get_xaxis_transform(),
        )
        plain_axes(axes, metric_name(name), unit(name), "" if j % columns else "scores")
    legend_beside(figure, [handle({"color": _MARK, "linewidth": 1.2}, "on a scene")], method)
    return figure
