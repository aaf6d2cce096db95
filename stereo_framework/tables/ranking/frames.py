"""Ranks of the methods in a DataFrame of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.tables.values import better

if TYPE_CHECKING:
    import pandas


def rank(frame: pandas.DataFrame, *statistics: str, by: str | Sequence[str] = "method") -> pandas.DataFrame:
    """Average ranks of methods, and their means.

    Parameters
    ----------
    frame : DataFrame
        Of `results`, or the ``frame`` of a run.
    *statistics : str
        Columns of it, such as ``bad_pixels_nonocc``.
    by : str or sequence of str
        What makes a method: ``"method"``, or several columns for the settings of a sweep, ``["method", "aggregation.box.size"]``.

    Returns
    -------
    DataFrame
        By method, the best first: ``average_rank`` over all scenes and statistics, where 1 is best and equal scores share the better rank; a missing
        score is last. Beside it the mean of each statistic over the scenes, missing where a scene lacks it.

    Raises
    ------
    ParameterError
        There is no such column, it is not known whether lower or higher is better, or two results of a method are of one scene.

    Notes
    -----
    The ranks of Middlebury's tables, averaged over columns; `rank` on the command line also gives groups, ties and their uncertainty.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"scene": list("aabb"), "method": ["x", "y"] * 2, "bad_pixels_all": [1.0, 2.0, 3.0, 3.0]})
    >>> rank(frame, "bad_pixels_all")["average_rank"].to_dict()
    {'x': 1.0, 'y': 1.5}
    """
    keys = [by] if isinstance(by, str) else list(by)
    for name in (*statistics, *keys):
        if name not in frame:
            raise ParameterError(f"{name!r}: no result has it; {nearest(name, map(str, frame))}")
    for name in statistics:
        if not better(name):
            raise ParameterError(f"{name!r}: neither lower nor higher is better; methods cannot be ranked by it")
    if not statistics:
        raise ParameterError("rank: by what? Name a statistic, such as bad_pixels_nonocc")
    if (twice := frame.duplicated(["scene", *keys])).any():
        first = frame[twice].iloc[0]
        told = ", ".join(f"{key}={first[key]}" for key in keys)
        raise ParameterError(f"{first['scene']}: two results of {told}; name what tells them apart in by")
    table = frame.set_index([*keys, "scene"])[list(statistics)].unstack("scene").dropna(axis="columns", how="all")
    ranks = [
        column.rank(method="min", ascending=better(name) == "lower", na_option="bottom") for (name, _), column in table.items()
    ]
    found = table.T.groupby(level=0, sort=False).mean().T.where(table.T.notna().groupby(level=0, sort=False).all().T)
    found.insert(0, "average_rank", sum(ranks) / len(ranks))
    return found.sort_values("average_rank", kind="stable")
