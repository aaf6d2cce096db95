"""The questions of 2002, asked of photographs and roads: ``stereo-framework reproduce photographs --plugin benchmarks/photographs.py [--quick]``.

Six experiments on the scripts of ``configs/photographs``: errors by group of scenes, with the parameters of each method chosen on the other scenes of the group; tables, charts, and what
is asked of them, whose words and rules stand in ``photographs.yaml``. What came out: ``docs/photographs.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from numpy.typing import NDArray
from pandas import DataFrame, Series, concat
from scipy.stats import binomtest

from stereo_framework.datasets import load_scene
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures._chart_style import longest, new_chart, plain_axes
from stereo_framework.figures._curves import Line, Mark, Panel, curves_figure
from stereo_framework.figures.plots import distributions_figure
from stereo_framework.papers import add_paper
from stereo_framework.papers.claim import Cases
from stereo_framework.papers.comparison import plain_table
from stereo_framework.papers.paper import Context, Outcome, drawn, paper_of, short
from stereo_framework.script import load
from stereo_framework.sweep import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = {
    "photographs": ("middlebury-v3/", "nonocc"),
    "roads": ("kitti2015/", "all"),
    "Middlebury v2": ("middlebury-v2/", "nonocc"),
    "2002": ("middlebury2001/", "nonocc"),
}
"""The data set of each group of scenes, and the pixels that count.

KITTI has no mask of the non-occluded pixels, so all its pixels with truth count.
"""

JUDGED = ("photographs", "roads")
"""The groups with scenes enough for a sign test."""

LEAST = 6
"""With fewer scenes a two-sided sign test cannot rule out chance at 5 %: all on one side have p = 2 / 2^n."""

COLUMNS = ("group", "method", "scene", "setting", "error", "seconds")

_MADE_HERE = ("fine", "fast", "planes", "half_planes", "plane_paths", "ad_field")
"""What begins like this was made with these scenes in view: it gets a star."""

_CHANGES = {"exposure": 1, "gamma": 1, "vignetting": 0, "noise": 0}
"""What of an image is changed, with the values that change nothing."""

_PLAIN, _ABSENT = "as it is", "no scene is there"
_NOTE = "Percent of bad pixels, off by more than 1 pixel, in the mean of the scenes; of roads all pixels with truth, else non-occluded ones. * was made on these scenes."
_DRAWN = ("truth", "equiangular", "parabola", "half_parabola", "planes")
"""What the histograms of fractions show; whole and half levels have one or two fractions."""

_BINS = 16
"""Of a pixel, in which fractions of disparities are counted."""

_WIDTH, _LINE = 2.1, 0.21
"""Of a panel of dots and of a method's line in it, in inches."""


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
        (
            group,
            r.method,
            short(r.scene),
            setting(r),
            r.statistics[f"bad_pixels_{region or own}"],
            r.matching_seconds or 0.0,
        )
        for group, (folder, own) in GROUPS.items()
        for r in results
        if r.scene.startswith(folder) and r.error is None
    ]
    chosen = [DataFrame(rows[:0], columns=COLUMNS)]
    for _, own in DataFrame(rows, columns=COLUMNS).groupby(["group", "method"], sort=False):
        table = own.pivot(index="setting", columns="scene", values="error").reindex(
            own["setting"].unique()
        )
        best = {scene: table.drop(columns=scene).sum(axis=1).idxmin() for scene in table}
        chosen.append(own[own["setting"] == own["scene"].map(best)])
    return concat(chosen[1:] or chosen)


def setting(result: Result) -> str:
    """The swept parameters of a result as text; of two parameters of one name the stage is told too."""
    ends = [name.rpartition(".")[2] for name in result.axes]
    names = [
        end if ends.count(end) == 1 else ".".join(name.split(".")[-2:])
        for end, name in zip(ends, result.axes, strict=True)
    ]
    values = [
        f"{value:g}" if isinstance(value, float) else str(value) for value in result.axes.values()
    ]
    return ", ".join(map(" ".join, zip(names, values, strict=True)))


def errors_of(found: DataFrame, group: str, method: str) -> Series:
    """The errors of a method on the scenes of a group, by scene."""
    return found[(found["group"] == group) & (found["method"] == method)].set_index("scene")[
        "error"
    ]


def fewer(
    found: DataFrame, method: str, other: str, form: str = "{:.1f} %"
) -> Iterator[tuple[str, bool]]:
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
            yield (
                f"{method} and {other}, {group}: {figures}",
                bool(2 * better > different and chance < 0.05),
            )


def light(context: Context) -> Outcome:
    """The same costs with one image changed."""
    photographs = GROUPS["photographs"][0]
    results = [
        *(r for r in context.run("costs") if r.scene.startswith(photographs)),
        *context.run("costs_changed"),
    ]
    lights = {
        name: left_out([r for r in results if _light(r) == name])
        for name in dict.fromkeys(map(_light, results))
    }
    if len(lights) < 2:
        return Outcome([], absent="no photographs are there")
    means = {name: _means(found)["photographs"] for name, found in lights.items()}
    plain = lights[_PLAIN]
    rows = [
        [
            _starred(m),
            *(own[m] for own in means.values()),
            errors_of(plain, "photographs", m).get("ArtL"),
        ]
        for m in means[_PLAIN].index
    ]
    header = ["cost and what follows", *lights, "ArtL alone"]
    note = f"{_NOTE} One image was changed: a factor, an exponent, the share that corners lose, grey levels of noise. ArtL's images were lit differently."
    table = plain_table("Errors on photographs by change", header, rows, ".1f", note, lower=header)
    return Outcome([table], data={"lights": lights})


def sub_pixel(context: Context) -> Outcome:
    """RMS errors of the pixels that are right to a pixel, and how their fractions are distributed."""
    results = [r for r in context.run("sub_pixel", maps=True) if r.error is None]
    errors, fractions = [], dict[tuple[str, str], list[NDArray[np.float32]]]()
    [protocol] = load("photographs/sub_pixel").protocols
    for r in results:
        group, region = next(
            (name, region)
            for name, (folder, region) in GROUPS.items()
            if r.scene.startswith(folder)
        )
        scene = load_scene(r.scene, data=context.data)
        assert scene.truth is not None
        assert r.disparity is not None
        near = region_masks(scene, protocol)[region] & (np.abs(r.disparity - scene.truth) <= 1)
        rms = float(
            np.sqrt(np.mean(np.square(r.disparity[near] - scene.truth[near], dtype=np.float64)))
        )
        errors.append((group, r.method, r.scene, rms))
        for name, disparity in ((r.method, r.disparity), ("truth", scene.truth)):
            fractions.setdefault((group, name), []).append(_fraction(disparity[near]))
    found = DataFrame(errors, columns=["group", "method", "scene", "error"])
    means = _means(found)
    # The other scenes' truth is in whole pixels or eighths.
    fine = [group for group in JUDGED if group in means]
    rows = [
        [
            _starred(m),
            *own,
            *(_locking(fractions[group, str(m)], fractions[group, "truth"]) for group in fine),
        ]
        for m, own in means.iterrows()
    ]
    header = [
        "method",
        *(f"{group}: RMS (px)" for group in means),
        *(f"{group}: locking (%)" for group in fine),
    ]
    note = (
        "RMS error of the pixels that are right to a pixel, in the mean of the scenes. Locking: what share of them would have to move to another sixteenth "
        "of a pixel for their fractions to be distributed as the truth's are. * was made on these scenes."
    )
    forms = ["", *[".3f"] * len(means.columns), *[".0f"] * len(fine)]
    table = plain_table("Between the levels", header, rows, forms, note, lower=header)
    shown = {
        f"{group}: fraction of disparity (px)": {
            m: np.concatenate(fractions[group, m]) for m in _DRAWN if (group, m) in fractions
        }
        for group in fine
    }
    figure = (
        distributions_figure(shown, 1 / _BINS, title="Fractions of disparities") if shown else None
    )
    pictures = [drawn("sub_pixel", figure, "histograms of fractions")] if figure else []
    return Outcome([table, *pictures], data={"found": found if errors else None}, absent=_ABSENT)


def methods(context: Context) -> Outcome:
    """Whole methods, and their errors over seconds."""
    outcome, panels = _compared("methods", "whole methods", context), []
    found = outcome.data.get("found", DataFrame(columns=COLUMNS))
    for i, (group, own) in enumerate(
        found[found["group"].isin(JUDGED)].groupby("group", sort=False)
    ):
        times = own.groupby("method")[["seconds", "error"]].mean()
        curves = tuple(Line((_starred(m),), (Mark(*point),)) for m, *point in times.itertuples())
        panels.append(Panel(0, i, str(group), "seconds a pair", "bad pixels (%)", curves))
    names = {curve.series: str(*curve.series) for panel in panels for curve in panel.curves}
    figure = (
        curves_figure(panels, names, x_scale="log", title="Errors over time") if panels else None
    )
    return replace(
        outcome,
        blocks=[
            *outcome.blocks,
            *([drawn("methods_time", figure, "errors over time")] if figure else []),
        ],
    )


def _compared(name: str, title: str, context: Context, *, region: str | None = None) -> Outcome:
    """The results of a script: a row for each method, a chart, and what is asked."""
    found = left_out(context.run(name), region=region)
    if not len(found):
        return Outcome([], absent=_ABSENT)
    means, seconds, chosen, note = (
        _means(found),
        f"seconds, {found['group'].iloc[0]}",
        "chosen for most scenes",
        _NOTE,
    )
    first = means.columns[0]
    means = means[means[first].notna()].sort_values(first, kind="stable")
    own = found[found["group"] == first].groupby("method")
    shown, lower = means.rename(index=_starred, columns=str), [*means, seconds]
    shown[seconds] = [own.get_group(m)["seconds"].mean() for m in means.index]
    if found["setting"].any():
        shown[chosen] = [
            own.get_group(m)["setting"].value_counts(sort=False).idxmax() or "-"
            for m in means.index
        ]
        note += f" Parameters: the best of a small grid on the other scenes of the group, never on the scene itself; the grid stands in configs/photographs/{name}.yaml."
    forms = [{seconds: ".2g"}.get(column, ".1f") for column in ("method", *shown)]
    table = plain_table(
        f"Errors: {title}", ["method", *shown], shown.itertuples(), forms, note, lower=lower
    )
    values = {g: {_starred(m): errors_of(found, g, m).tolist() for m in means.index} for g in means}
    picture = drawn(name, ranked_dots_figure(values, "bad pixels (%)", title.capitalize()), title)
    return Outcome([table, picture], data={"found": found}, absent=_ABSENT)


costs = partial(_compared, "costs", "matching costs")
aggregation = partial(_compared, "aggregation", "aggregation of one cost")
optimizers = partial(_compared, "optimizers", "optimization of one cost")
post_processing = partial(
    _compared, "post_processing", "steps left out, all pixels counted", region="all"
)


def ranked_dots_figure(
    groups: Mapping[str, Mapping[str, Sequence[float]]], x_label: str, title: str = ""
) -> Figure:
    """Draw the mean of each method as a dot and its values as small rings, lower values to the left.

    Parameters
    ----------
    groups : mapping of str to mapping of str to sequence of float
        By the title of a panel and by method the values. The first panel's methods stand in this order from above.
    x_label : str
        With the unit; the same for all panels.
    title : str
    """
    methods = list(next(iter(groups.values())))
    figure = new_chart(
        _WIDTH * len(groups) + longest(methods), 0, 0.9 + _LINE * len(methods), title
    )
    for i, (name, values) in enumerate(groups.items()):
        axes = figure.add_subplot(1, len(groups), i + 1)
        for y, method in enumerate(methods):
            own = values.get(method, ())
            axes.plot(
                own,
                [y] * len(own),
                "o",
                markersize=3,
                markerfacecolor="none",
                markeredgecolor="0.6",
                markeredgewidth=0.6,
            )
            if len(own):
                axes.plot(sum(own) / len(own), y, "o", markersize=5, color="#0072b2")
        axes.set_ylim(len(methods) - 0.5, -0.5)
        axes.set_yticks(
            range(len(methods)), methods if i == 0 else [""] * len(methods), parse_math=False
        )
        axes.set_xlim(left=0)
        axes.grid(axis="y", color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
        plain_axes(axes, name, x_label)
    return figure


def _means(found: DataFrame) -> DataFrame:
    """The mean errors of methods over the scenes of each group."""
    means = found.groupby(["group", "method"], sort=False)["error"].mean().unstack("group")
    return means.loc[found["method"].unique(), found["group"].unique()]


def _starred(method: Any) -> str:
    return f"{method}*" if method.startswith(_MADE_HERE) else method


def _light(result: Result) -> str:
    """What was changed, as text."""
    of = {
        name: result.axes.get(f"preprocessing.radiometric_change.{name}", plain)
        for name, plain in _CHANGES.items()
    }
    return (
        ", ".join(
            f"{name} {value:g}".replace(" 0.", " .")
            for name, value in of.items()
            if value != _CHANGES[name]
        )
        or _PLAIN
    )


def _fraction(disparity: NDArray) -> NDArray[np.float32]:
    """What a disparity is above a whole pixel; just below one, as many bins are centred on 0, it is a little below 0."""
    found: NDArray[np.float32] = (disparity - np.floor(disparity + 0.5 / _BINS)).astype(np.float32)
    return found


def _locking(found: Sequence[NDArray], truth: Sequence[NDArray]) -> float:
    """Percent of the fractions that lie in other bins than the truth's do, in the mean of the scenes."""

    def shares(fractions: NDArray) -> NDArray:
        return np.bincount(np.rint(_BINS * fractions).astype(int) % _BINS, minlength=_BINS) / max(
            fractions.size, 1
        )

    return 50 * mean(
        float(np.abs(shares(own) - shares(true)).sum())
        for own, true in zip(found, truth, strict=False)
    )


# --- What is asked, by the names in ``photographs.yaml``; of errors by group, method and scene -------------------------


def _before(
    methods: Sequence[str], others: Sequence[str], form: str = "{:.1f} %"
) -> Callable[[DataFrame], Cases]:
    """The judge of whether each of these methods has fewer errors than each of the others."""
    return lambda found: [
        case for one in methods for other in others for case in fewer(found, one, other, form)
    ]


def census_instead_of_differences(found: DataFrame) -> Cases:
    for after in ("window", "paths"):
        yield from fewer(found, f"census_{after}", f"ad_truncated_{after}")


def _in_light(lights: Mapping[str, DataFrame], light: str, method: str, other: str) -> Cases:
    return (
        (f"{light}: {figures}", holds) for figures, holds in fewer(lights[light], method, other)
    )


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
        yield (
            f"{group}: {half:.3f} px at half, {quarter:.3f} px at quarter pixels",
            quarter > 0.95 * half,
        )


def every_step_helps(found: DataFrame) -> Cases:
    for name in ("sgm", "fine"):
        for without in sorted(m for m in found["method"].unique() if m.startswith(f"{name}_no_")):
            yield from fewer(found, name, without)


shiftable_best = _before(["shiftable"], ["box", "binomial", "diffusion", "membrane"])
weights_instead_of_windows = _before(["guided_filter", "support_weights"], ["shiftable"])
graph_cuts_best = _before(["expansion"], ["dynamic_programming", "scanline"])
two_dimensions_best = _before(
    ["belief_propagation", "trw_s", "expansion"],
    ["winner_take_all", "dynamic_programming", "scanline"],
)
paths_instead_of_graph_cuts = _before(["semi_global_8"], ["expansion"])
planes_instead_of_levels = _before(
    ["plane_paths"], ["belief_propagation", "trw_s", "expansion", "semi_global_8"]
)
fit_always_helps = _before(["parabola", "equiangular"], ["whole"], "{:.3f} px")
planes_nearest = _before(["planes"], ["half_parabola"], "{:.3f} px")
shiftable_good_choice = _before(["ssd"], ["census", "sgm", "bm"])
global_ahead = _before(["sgm"], ["ssd", "dp", "so"])

add_paper(
    paper_of(
        "photographs",
        yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")),
        globals(),
    )
)
