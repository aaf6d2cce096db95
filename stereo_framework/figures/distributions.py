"""Histograms of the values of maps, as curves that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError
from stereo_framework.figures._curves import Line, Mark, Panel, curves_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def distributions_figure(panels: Mapping[str, Mapping[str, NDArray]], bin_width: float, *, title: str = "") -> Figure:
    """Draw a panel for each quantity and in it a curve for each map: percent of the map's values by bin.

    Parameters
    ----------
    panels : mapping of str to mapping of str to ndarray
        By the quantity with its unit, such as ``"error (px)"``, and by the name of the curve. Arrays may have any shape; values that are not finite are left out.
    bin_width : float
        Width of the bins in the unit of the quantity. Bins are centred on its multiples.
    title : str

    Raises
    ------
    ParameterError
        No map has a value.

    Notes
    -----
    As the histograms in Figure 15 of Scharstein & Szeliski (2002).
    """
    drawn = [
        Panel(0, i, "", quantity, "pixels (%)", tuple(Line((name,), _marks(values, bin_width)) for name, values in maps.items()))
        for i, (quantity, maps) in enumerate(panels.items())
    ]
    if not any(curve.points for panel in drawn for curve in panel.curves):
        raise ParameterError("distributions: no map has a value to draw")
    names = dict.fromkeys(name for maps in panels.values() for name in maps)
    return curves_figure(drawn, {(name,): name for name in names}, title=title, footnote=f"bins of {bin_width:g}")


def _marks(values: NDArray, width: float) -> tuple[Mark, ...]:
    bins = np.rint(values[np.isfinite(values)] / width).astype(int)
    if not bins.size:
        return ()
    counts = np.bincount(bins - bins.min())
    return tuple(Mark((bins.min() + i) * width, 100 * count / bins.size) for i, count in enumerate(counts.tolist()))
