"""Errors by group of scenes, with the parameters of each method chosen on the other scenes of the group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scipy.stats import binomtest

from stereo_framework.papers.paper import short
from stereo_framework.sweep import Result

if TYPE_CHECKING:
    from pandas import DataFrame

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

Found = Mapping[str, Mapping[str, "DataFrame"]]
"""By group and method a row for each scene: ``error`` in percent, ``setting``, what was chosen, as text, and ``seconds`` of matching."""


def left_out(results: Sequence[Result], *, region: str | None = None) -> dict[str, dict[str, DataFrame]]:
    """For each scene the setting of lowest mean error on the other scenes of its group; on a single scene the first of the grid.

    Parameters
    ----------
    results : sequence of Result
        Of one condition: what differs between a method's results on a scene is what is chosen from.
    region : str, optional
        The pixels that count; default: those of the group.
    """
    from pandas import DataFrame

    found: dict[str, dict[str, DataFrame]] = {}
    for group, (folder, own_region) in GROUPS.items():
        errors: dict[str, dict[str, dict[str, float]]] = {}
        seconds: dict[tuple[str, str, str], float] = {}
        for r in results:
            if r.scene.startswith(folder) and r.error is None:
                chosen, scene = setting(r), short(r.scene)
                by_setting = errors.setdefault(r.method, {}).setdefault(scene, {})
                by_setting[chosen] = r.statistics[f"bad_pixels_{region or own_region}"]
                seconds[r.method, chosen, scene] = r.matching_seconds or 0.0
        for method, by_scene in errors.items():
            table, rows = DataFrame(by_scene), {}
            for scene in table:
                best = table.drop(columns=scene).sum(axis=1).idxmin()
                rows[scene] = {"error": table[scene][best], "setting": best, "seconds": seconds[method, best, scene]}
            found.setdefault(group, {})[method] = DataFrame.from_dict(rows, orient="index")
    return found


def setting(result: Result) -> str:
    """The swept parameters of a result as text; of two parameters of one name the stage is told too."""
    ends = [name.rpartition(".")[2] for name in result.axes]
    names = [end if ends.count(end) == 1 else ".".join(name.split(".")[-2:]) for end, name in zip(ends, result.axes, strict=True)]
    values = [f"{value:g}" if isinstance(value, float) else str(value) for value in result.axes.values()]
    return ", ".join(map(" ".join, zip(names, values, strict=True)))


def fewer(found: Found, method: str, other: str, form: str = "{:.1f} %") -> list[tuple[str, bool]]:
    """Of each group with scenes enough, whether a method has fewer errors than another on so many scenes that chance is ruled out at 5 %.

    `form` writes a mean. The sign test is two-sided, scenes of equal errors left out: nine of ten scenes are enough, and eight of eight.
    """
    cases = []
    for group in JUDGED:
        methods = found.get(group, {})
        if method in methods and other in methods and len(methods[method]) >= LEAST:
            own, theirs = methods[method]["error"], methods[other]["error"]
            better, different = int((own < theirs).sum()), int((own != theirs).sum())
            chance = binomtest(better, different).pvalue if different else 1.0
            means = " and ".join(form.format(one.mean()) for one in (own, theirs))
            figures = f"{means}, fewer on {better} of {len(own)}, p = {chance:.2g}"
            cases.append((f"{method} and {other}, {group}: {figures}", bool(2 * better > different and chance < 0.05)))
    return cases
