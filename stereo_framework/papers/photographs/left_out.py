"""Errors by group of scenes, with the parameters of each method chosen on the other scenes of the group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pandas import DataFrame, concat
from scipy.stats import binomtest

from stereo_framework.papers.paper import short
from stereo_framework.sweep import Result

GROUPS = {
    "photographs": ("middlebury-v3/", "nonocc"),
    "roads": ("kitti2015/", "all"),
    "Middlebury v2": ("middlebury-v2/", "nonocc"),
    "2002": ("middlebury2001/", "nonocc"),
}
"""The data set of each group of scenes, and the pixels that count: of roads all with truth, since no mask of visible ones is given."""

JUDGED = ("photographs", "roads")
"""The groups with scenes enough for a sign test."""

LEAST = 6
"""With fewer scenes a two-sided sign test cannot rule out chance at 5 %: all on one side have p = 2 / 2^n."""

COLUMNS = ("group", "method", "scene", "setting", "error", "seconds")


def left_out(results: Sequence[Result], *, region: str | None = None) -> DataFrame:
    """A row for each scene and method with the setting of lowest mean error on the other scenes of its group; on a single scene the first of the grid.

    Parameters
    ----------
    results : sequence of Result
        Of one condition: what differs between a method's results on a scene is what is chosen from.
    region : str, optional
        The pixels that count; default: those of the group.

    Returns
    -------
    DataFrame
        ``group``, ``method``, ``scene``, ``setting`` as text, ``error`` in percent, and ``seconds`` of matching.
    """
    rows = [
        (group, r.method, short(r.scene), setting(r), r.statistics[f"bad_pixels_{region or own}"], r.matching_seconds or 0.0)
        for group, (folder, own) in GROUPS.items()
        for r in results
        if r.scene.startswith(folder) and r.error is None
    ]
    chosen = [DataFrame(rows[:0], columns=COLUMNS)]
    for _, own in DataFrame(rows, columns=COLUMNS).groupby(["group", "method"], sort=False):
        table = own.pivot(index="setting", columns="scene", values="error").reindex(own["setting"].unique())
        best = {scene: table.drop(columns=scene).sum(axis=1).idxmin() for scene in table}
        chosen.append(own[own["setting"] == own["scene"].map(best)])
    return concat(chosen[1:] or chosen)


def setting(result: Result) -> str:
    """The swept parameters of a result as text; of two parameters of one name the stage is told too."""
    ends = [name.rpartition(".")[2] for name in result.axes]
    names = [end if ends.count(end) == 1 else ".".join(name.split(".")[-2:]) for end, name in zip(ends, result.axes, strict=True)]
    values = [f"{value:g}" if isinstance(value, float) else str(value) for value in result.axes.values()]
    return ", ".join(map(" ".join, zip(names, values, strict=True)))


def errors_of(found: DataFrame, group: str, method: str) -> DataFrame:
    """The errors of a method on the scenes of a group, by scene."""
    return found[(found["group"] == group) & (found["method"] == method)].set_index("scene")["error"]


def fewer(found: DataFrame, method: str, other: str, form: str = "{:.1f} %") -> Iterator[tuple[str, bool]]:
    """Of each group with scenes enough, whether a method has fewer errors than another on so many scenes that chance is ruled out at 5 %.

    `form` writes a mean. The sign test is two-sided, scenes of equal errors left out: nine of ten scenes are enough, and eight of eight.
    """
    for group in JUDGED:
        own, theirs = (errors_of(found, group, name) for name in (method, other))
        if len(own) >= LEAST and len(theirs):
            better, different = int((own < theirs).sum()), int((own != theirs).sum())
            chance = binomtest(better, different).pvalue if different else 1.0
            means = " and ".join(form.format(one.mean()) for one in (own, theirs))
            figures = f"{means}, fewer on {better} of {len(own)}, p = {chance:.2g}"
            yield f"{method} and {other}, {group}: {figures}", bool(2 * better > different and chance < 0.05)
