"""Errors by group of scenes, with the parameters of each method chosen on the other scenes of the group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

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

Axes = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Chosen:
    """What a method has on a scene with the parameters that are best on the others of its group.

    Parameters
    ----------
    error : float
        Percent of bad pixels.
    axes : tuple
        The parameters and their values.
    seconds : float
        What matching took.
    """

    error: float
    axes: Axes
    seconds: float


Found = Mapping[str, Mapping[str, Mapping[str, Chosen]]]
"""By group, method and scene."""


def left_out(results: Sequence[Result], *, region: str | None = None) -> dict[str, dict[str, dict[str, Chosen]]]:
    """For each scene the setting of lowest mean error on the other scenes of its group; on a single scene the first of the grid.

    Parameters
    ----------
    results : sequence of Result
        Of one condition: what differs between a method's results on a scene is what is chosen from.
    region : str, optional
        The pixels that count; default: those of the group.
    """
    found: dict[str, dict[str, dict[str, Chosen]]] = {}
    for group, (folder, own_region) in GROUPS.items():
        table: dict[str, dict[Axes, dict[str, Chosen]]] = {}
        for r in results:
            if r.scene.startswith(folder) and r.error is None:
                axes = tuple(r.axes.items())
                one = Chosen(r.statistics[f"bad_pixels_{region or own_region}"], axes, r.matching_seconds or 0.0)
                table.setdefault(r.method, {}).setdefault(axes, {})[short(r.scene)] = one
        for method, settings in table.items():
            for scene in next(iter(settings.values())):
                best = min(settings.values(), key=lambda own: sum(c.error for name, c in own.items() if name != scene))
                found.setdefault(group, {}).setdefault(method, {})[scene] = best[scene]
    return found


def mean_error(chosen: Mapping[str, Chosen]) -> float:
    """The mean over scenes, in percent."""
    return mean(c.error for c in chosen.values())


def setting(chosen: Mapping[str, Chosen]) -> str:
    """The parameters that were chosen for most scenes, as text."""
    [(axes, _)] = Counter(c.axes for c in chosen.values()).most_common(1)
    last = [name.rpartition(".")[2] for name, _ in axes]
    # Of two parameters of one name the stage is told too.
    names = [end if last.count(end) == 1 else ".".join(name.split(".")[-2:]) for end, (name, _) in zip(last, axes, strict=True)]
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, (_, value) in zip(names, axes, strict=True)
    )


def fewer(found: Found, method: str, other: str, form: str = "{:.1f} %") -> list[tuple[str, bool]]:
    """Of each group with scenes enough, whether a method has fewer errors than another on so many scenes that chance is ruled out at 5 %.

    `form` writes a mean. The sign test is two-sided, scenes of equal errors left out: nine of ten scenes are enough, and eight of eight.
    """
    cases = []
    for group in JUDGED:
        own, theirs = (found.get(group, {}).get(name) for name in (method, other))
        if own and theirs and len(own) >= LEAST:
            signs = [own[scene].error < theirs[scene].error for scene in own if own[scene].error != theirs[scene].error]
            chance = binomtest(sum(signs), len(signs)).pvalue if signs else 1.0
            means = " and ".join(form.format(mean_error(one)) for one in (own, theirs))
            figures = f"{means}, fewer on {sum(signs)} of {len(own)}, p = {chance:.2g}"
            cases.append((f"{method} and {other}, {group}: {figures}", bool(2 * sum(signs) > len(signs) and chance < 0.05)))
    return cases
