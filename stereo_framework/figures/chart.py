"""The door for charts of one's own: ``@chart``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import ParameterError, describe_exception
from stereo_framework.core.registry import Registry
from stereo_framework.figures._chart_style import new_chart
from stereo_framework.sweep.result_set import ResultSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[..., Any]
F = TypeVar("F", bound=Draw)

CHARTS: Registry[Draw] = Registry("chart", {})
"""Charts that plug-ins brought, by name."""


@checked()
def chart(title: str) -> Callable[[F], F]:
    """Register a function that draws results: the page of a run shows it.

    Parameters
    ----------
    title : str
        Above the chart.

    Returns
    -------
    callable
        A decorator for a function of axes of matplotlib and a DataFrame of results, as `results` gives it; the function is returned as it is. It names
        the axes with their units.

    Raises
    ------
    ParameterError
        Another module has a chart of this title.

    Examples
    --------
    >>> from stereo_framework import chart
    >>> @chart("Time and errors")
    ... def time_and_errors(axes, frame):
    ...     axes.scatter(frame["seconds"], frame["bad_pixels_nonocc"])
    ...     axes.set(xlabel="seconds", ylabel="bad pixels (%)")
    """
    return CHARTS.decorator(title)


def chart_figure(title: str, results: ResultSet) -> Figure:
    """Draw a chart of a plug-in.

    Raises
    ------
    ParameterError
        The function of the plug-in failed. The message names the place.
    """
    figure = new_chart(6.4, 0, 4.0, title)
    try:
        CHARTS[title](figure.add_subplot(), results.frame)
    except (Exception, SystemExit) as error:  # Plug-ins may raise anything.
        raise ParameterError(
            describe_exception(error, CHARTS[title], f"chart {title!r}")
        ) from error
    return figure
