"""Errors by group of scenes, with the parameters of each method chosen on the other scenes of the group, and the judges of what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pandas import DataFrame, Series, concat
from scipy.stats import binomtest

from stereo_framework.papers.claim import Cases
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


def errors_of(found: DataFrame, group: str, method: str) -> Series:
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


# --- What is asked, by the names in ``paper.yaml``; of errors by group, method and scene -------------------------------


def _before(methods: Sequence[str], others: Sequence[str], form: str = "{:.1f} %") -> Callable[[DataFrame], Cases]:
    """The judge of whether each of these methods has fewer errors than each of the others."""
    return lambda found: [case for one in methods for other in others for case in fewer(found, one, other, form)]


def census_instead_of_differences(found: DataFrame) -> Cases:
    for after in ("window", "paths"):
        yield from fewer(found, f"census_{after}", f"ad_truncated_{after}")


def _in_light(lights: Mapping[str, DataFrame], light: str, method: str, other: str) -> Cases:
    return ((f"{light}: {figures}", holds) for figures, holds in fewer(lights[light], method, other))


def census_in_changed_light(lights: Mapping[str, DataFrame]) -> Cases:
    for light in lights:
        yield from _in_light(lights, light, "census_paths", "ad_truncated_paths")


def information_at_gamma(lights: Mapping[str, DataFrame]) -> Cases:
    return fewer(lights["gamma 1.5"], "mutual_information_paths", "census_paths")


def light_before_differences(lights: Mapping[str, DataFrame]) -> Cases:
    for light in ("exposure .6", "vignetting .6"):
        for name in ("ad_bilateral_paths", "ad_field_paths"):
            yield from _in_light(lights, light, name, "ad_paths")


def half_pixels_adequate(found: DataFrame) -> Cases:
    means = found.groupby(["group", "method"], sort=False)["error"].mean().unstack(sort=False)
    for group, half, quarter in means[["half_parabola", "quarter_parabola"]].itertuples():
        yield f"{group}: {half:.3f} px at half, {quarter:.3f} px at quarter pixels", quarter > 0.95 * half


def every_step_helps(found: DataFrame) -> Cases:
    for name in ("sgm", "fine"):
        for without in sorted(m for m in found["method"].unique() if m.startswith(f"{name}_no_")):
            yield from fewer(found, name, without)


shiftable_best = _before(["shiftable"], ["box", "binomial", "diffusion", "membrane"])
weights_instead_of_windows = _before(["guided_filter", "support_weights"], ["shiftable"])
graph_cuts_best = _before(["expansion"], ["dynamic_programming", "scanline"])
two_dimensions_best = _before(
    ["belief_propagation", "trw_s", "expansion"], ["winner_take_all", "dynamic_programming", "scanline"]
)
paths_instead_of_graph_cuts = _before(["semi_global_8"], ["expansion"])
planes_instead_of_levels = _before(["plane_paths"], ["belief_propagation", "trw_s", "expansion", "semi_global_8"])
fit_always_helps = _before(["parabola", "equiangular"], ["whole"], "{:.3f} px")
planes_nearest = _before(["planes"], ["half_parabola"], "{:.3f} px")
shiftable_good_choice = _before(["ssd"], ["census", "sgm", "bm"])
global_ahead = _before(["sgm"], ["ssd", "dp", "so"])
