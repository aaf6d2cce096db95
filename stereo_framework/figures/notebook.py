"""Pictures of scenes, estimates and results, and plots of statistics, for notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import as_array, checked
from stereo_framework.core.errors import ParameterError, warn
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.scene import Scene
from stereo_framework.figures.disparity_figures import shown_range, side_by_side_figure
from stereo_framework.figures.grid import Panel, disparities, eight_bits, grid_figure
from stereo_framework.figures.plots import plot_figure
from stereo_framework.io import PathLike
from stereo_framework.script.report import read_report
from stereo_framework.sweep.result import Result, changed_maps_warning
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.results import of_each_protocol, stored
from stereo_framework.tables.tables import shown_statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDEST, _ACROSS = 960, 4
"""Width of a row of pictures, in screen pixels, and how many stand in it."""


@checked()
def show(*things: Any, disparities: tuple[float, float] | None = None, **named: Any) -> Figure:
    """Show pictures side by side: of scenes, estimates, results, maps and images.

    An estimate and the scene that it was made of, and nothing else, are shown with the truth and the error, where they are known.

    Parameters
    ----------
    *things : Scene, Estimate, Result, or ndarray
        For a scene its reference image is shown; for an estimate or result, or an array of floats with two dimensions, the disparity map. Other arrays
        are images: uint8 or bool, ``(rows, columns)`` or ``(rows, columns, 3)``, intensities 0..255.
    disparities : (float, float), optional
        Disparities in pixels at the ends of the colour scale, which all maps share. Default: the search range of the first thing that has one,
        otherwise the smallest and the largest disparity that are shown.
    **named
        Further things, under their names as titles.

    Returns
    -------
    Figure

    Raises
    ------
    ParameterError
        There is nothing to show, or something has no picture.

    Examples
    --------
    >>> from stereo_framework import load_scene, show
    >>> scene = load_scene("synthetic/planes")
    >>> figure = show(scene, truth=scene.truth)
    """
    if (
        len(things) == 2
        and not named
        and isinstance(things[0], Estimate)
        and isinstance(things[1], Scene)
    ):
        match, scene = things
        shown = shown_range(match.disparity, scene)
        return side_by_side_figure(
            scene.reference, {"disparity": match.disparity}, shown, scene.truth, scene.name
        )
    given = [*((_name(thing), thing) for thing in things), *named.items()]
    if not given:
        raise ParameterError(
            "show: nothing to show; give scenes, estimates, results, maps or images"
        )
    searches = (
        search for _, thing in given if (search := getattr(thing, "search", None)) is not None
    )
    known = next(((search.minimum, search.maximum) for search in searches), None)
    return _figure(
        [(title, _picture(title, thing)) for title, thing in given], disparities or known
    )


@checked(results="the folder of a run, or what run returned")
def plot(
    results: PathLike | Iterable[Result],
    x: str | Sequence[str],
    y: str | Sequence[str] | None = None,
    series: str | Sequence[str] = (),
    *,
    panels: str | Sequence[str] = (),
    **options: Any,
) -> Figure:
    """Plot curves of statistics.

    The statistics are averaged over all parameters that are neither on the horizontal
    axis nor in series nor in panels, and the footnote describes this average.

    Parameters
    ----------
    results : path-like, or iterable of Result
        The folder of a run, or the results that `run` returned.
    x : str or sequence of str
        The horizontal axis: a parameter, an axis of the sweep, ``scene`` or ``method``.
    y : str or sequence of str, optional
        Statistics. Default: the first of the usual statistics that the results have.
    series : str or sequence of str
        Keys of the curves. Each combination of their values has a curve.
    panels : str or sequence of str
        Keys of the panels. Each combination of their values has a panel.
    **options
        ``x_scale``, ``y_scale``, ``spread``, ``title``, ``labels``, ``where``: as under
        ``plots`` in a script's report.

    Returns
    -------
    Figure

    Raises
    ------
    ParameterError
        No result has the requested values, or the results have several protocols.
    ScriptError
        An option is wrong.
    """
    if isinstance(results, str | os.PathLike):
        result_set = stored(results)
    else:
        result_set = ResultSet(results)
    statistics = y or shown_statistics(result_set)[:1]
    keys = {"x": x, "y": statistics, "series": series, "panels": panels}
    entry = {key: names for key, names in keys.items() if names} | options
    try:
        [plot_entry] = read_report({"plots": {"plot": entry}}).plots
    except RecursionError:
        message = (
            "plot: an option is nested too deeply, or contains itself; expected the options of "
            "plots in a report"
        )
        raise ParameterError(message) from None
    shown = ResultSet()
    for _, results_of_protocol in of_each_protocol(result_set, plot_entry.where, plot_entry.y):
        shown += results_of_protocol
    return plot_figure(plot_entry, shown)


def _name(thing: Any) -> str:
    """The default title of a thing."""
    for attribute in ("method", "name"):
        if isinstance(name := getattr(thing, attribute, None), str):
            return name
    return "disparity" if hasattr(thing, "disparity") else ""


def _picture(title: str, thing: Any) -> NDArray:
    """What is drawn for a thing: an image, or a disparity map, which is an array of floats with two dimensions."""
    if isinstance(thing, Scene):
        return eight_bits(thing.reference)
    if isinstance(thing, Result) and (changed := thing.changed_files()):
        warn([changed_maps_warning(changed)])
    found = as_array(getattr(thing, "disparity", thing), f"show: {title or type(thing).__name__}")
    is_picture = (
        isinstance(found, np.ndarray)
        and found.ndim in (2, 3)
        and found.size
        and found.dtype.kind in "biuf"
    )
    if not is_picture:
        raise ParameterError(
            f"show: {title or type(thing).__name__} has no picture; expected a scene, match, result, map or image"
        )
    return np.where(found, np.uint8(255), np.uint8(0)) if found.dtype == bool else found


def _figure(pictures: Sequence[tuple[str, NDArray]], shown: tuple[float, float] | None) -> Figure:
    """Images and maps in rows; `shown` are the ends of the maps' colours, by default their smallest and largest value."""
    maps = [array for _, array in pictures if _is_map(array)]
    known = np.concatenate([np.empty(0), *(values[np.isfinite(values)] for values in maps)])
    scale = disparities(
        shown or ((float(known.min()), float(known.max())) if known.size else (0.0, 1.0))
    )
    panels = [
        Panel(title, array, scale if _is_map(array) else None, "no value")
        for title, array in pictures
    ]
    across = min(_ACROSS, len(panels))
    rows = [panels[i : i + across] for i in range(0, len(panels), across)]
    return grid_figure(rows, room=min(400, _WIDEST // across))


def _is_map(array: NDArray) -> bool:
    return array.ndim == 2 and array.dtype.kind == "f"
