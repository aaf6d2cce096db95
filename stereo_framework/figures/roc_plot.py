"""Plots of ROC curves: error rate over sparsity rate, both axes logarithmic as in Kostliva, Cech & Sara 2007."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.evaluation.roc import Curve, Point, minimal_points, roc_curve
from stereo_framework.figures._chart_style import legend_beside, new_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHIFT = 0.001
"""The axes of the paper show log(x + 0.001), so that the rate 0 has a place on them."""

_TICKS = (0, 0.001, 0.01, 0.1, 1)

_MARKERS = "osD^vPX*<>"


def roc_figure(
    methods: Mapping[str, Sequence[Point]],
    *,
    boundary: Sequence[Point] | Curve | None = None,
    cases: Mapping[str, Curve] | None = None,
    title: str = "",
) -> Figure:
    """Draw the ROC curves of several methods, with their feasibility boundary highlighted.

    Parameters
    ----------
    methods : mapping of str to sequence of Point
        All settings of every method. The ROC set of a method is drawn with markers and joined by its curve; its other settings are pale.
    boundary : sequence of Point or Curve, optional
        Drawn as a broad band behind the curves. Default: none.
    cases : mapping of str to Curve, optional
        Further curves by name, drawn in black, such as the worst and the best case over scenes. Default: none.
    title : str

    Notes
    -----
    The dotted line is the zero-algorithm, 1 - x, in which every curve ends.
    """
    from matplotlib import colormaps

    figure = new_chart(5.4, 1.8, 4.8, title)
    axes = figure.add_subplot()
    _log_axes(axes)
    line = np.linspace(0, 1, 2001)
    axes.plot(line, 1 - line, ":", color="0.5", linewidth=1, label="zero-algorithm")
    if boundary is not None:
        curve = boundary if isinstance(boundary, Curve) else roc_curve(boundary)
        axes.plot(
            *_path(curve),
            color="0.8",
            linewidth=8,
            solid_capstyle="round",
            label="feasibility boundary",
            zorder=1,
        )
    colours = colormaps["tab10"].colors  # type: ignore[attr-defined]
    for i, (name, points) in enumerate(methods.items()):
        colour, marker = colours[i % len(colours)], _MARKERS[i % len(_MARKERS)]
        best = minimal_points(points)
        for shown, alpha, size in ((points, 0.25, 3), (best, 1.0, 5)):
            rates = np.array([p.rates for p in shown]).reshape(-1, 2)
            axes.plot(
                *rates.T,
                marker,
                color=colour,
                alpha=alpha,
                markersize=size,
                markeredgewidth=0,
                zorder=3,
                clip_on=False,
            )
        axes.plot(*_path(roc_curve(best)), color=colour, linewidth=1.3, zorder=2)
        axes.plot([], [], color=colour, marker=marker, markersize=5, linewidth=1.3, label=name)
    for (name, curve), dashes in zip((cases or {}).items(), ("--", "-.", "-"), strict=False):
        axes.plot(*_path(curve), dashes, color="black", linewidth=1.5, label=name, zorder=4)
    # The legend stands outside, since every corner of the axes may hold results.
    legend_beside(figure, axes.get_legend_handles_labels()[0])
    return figure


def _log_axes(axes: Axes) -> None:
    def forward(rate: NDArray) -> NDArray:
        # Matplotlib also asks for margins below 0, which only need some place.
        return np.log10(np.maximum(np.asarray(rate, float) + _SHIFT, _SHIFT / 10))

    def backward(place: NDArray) -> NDArray:
        return 10 ** np.asarray(place, float) - _SHIFT

    axes.set_xscale("function", functions=(forward, backward))
    axes.set_yscale("function", functions=(forward, backward))
    # A margin of 3 % beyond 0 and 1 in the logarithm.
    margin = 10 ** (0.03 * np.log10(1 / _SHIFT))
    limits = (_SHIFT / margin - _SHIFT, (1 + _SHIFT) * margin - _SHIFT)
    minor = [k * 10.0**e for e in (-3, -2, -1) for k in range(2, 10)]
    axes.set(xlim=limits, ylim=limits, xlabel="sparsity rate", ylabel="error rate")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(_TICKS, [f"{t:g}" for t in _TICKS])
        axis.set_ticks(minor, minor=True)
    axes.grid(linewidth=0.4, color="0.9")
    axes.set_axisbelow(True)


def _path(curve: Curve) -> tuple[NDArray, NDArray]:
    """The points of a curve as a line. Pieces of slope -1 get many points, because the axes bend them; jumps are vertical."""
    x, y = [], []
    for left, right, start, end in zip(
        curve.x[:-1], curve.x[1:], curve.start, curve.end, strict=True
    ):
        part = np.linspace(0, 1, 2 if start == end else 200)
        x.append(left + part * (right - left))
        y.append(start + part * (end - start))
    return np.concatenate(x), np.concatenate(y)
