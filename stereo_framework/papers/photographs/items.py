"""The six experiments: tables and charts of errors by group of scenes, and what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from stereo_framework.datasets import load_scene
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures._curves import Line, Mark, Panel, curves_figure
from stereo_framework.figures.distributions import distributions_figure
from stereo_framework.papers.comparison import plain_table
from stereo_framework.papers.paper import Context, Outcome, drawn
from stereo_framework.papers.photographs.claims import COLUMNS, GROUPS, JUDGED, errors_of, left_out
from stereo_framework.papers.photographs.ranked_dots import ranked_dots_figure
from stereo_framework.script import load
from stereo_framework.sweep import Result

_MADE_HERE = ("fine", "fast", "planes", "half_planes", "plane_paths", "ad_field")
"""What begins like this was made with these scenes in view: it gets a star."""

_CHANGES = {"exposure": 1, "gamma": 1, "vignetting": 0, "noise": 0}
"""What of an image is changed, with the values that change nothing."""

_PLAIN, _ABSENT = "as it is", "no scene is there"
_NOTE = "Percent of bad pixels, off by more than 1 pixel, in the mean of the scenes; of roads all pixels with truth, else visible ones. * was made on these scenes."
_DRAWN = ("truth", "equiangular", "parabola", "half_parabola", "planes")
"""What the histograms of fractions show; whole and half levels have one or two fractions."""

_BINS = 16
"""Of a pixel, in which fractions of disparities are counted."""


def costs(context: Context) -> Outcome:
    """Costs with windows and with paths."""
    return _compared(context, "costs", "matching costs")


def light(context: Context) -> Outcome:
    """The same costs with one image changed."""
    photographs = GROUPS["photographs"][0]
    results = [*(r for r in context.run("costs") if r.scene.startswith(photographs)), *context.run("costs_changed")]
    lights = {name: left_out([r for r in results if _light(r) == name]) for name in dict.fromkeys(map(_light, results))}
    if len(lights) < 2:
        return Outcome([], absent="no photographs are there")
    means = {name: _means(found)["photographs"] for name, found in lights.items()}
    plain = lights[_PLAIN]
    rows = [
        [_starred(m), *(own[m] for own in means.values()), errors_of(plain, "photographs", m).get("ArtL")]
        for m in means[_PLAIN].index
    ]
    header = ["cost and what follows", *lights, "ArtL alone"]
    note = f"{_NOTE} One image was changed: a factor, an exponent, the share that corners lose, grey levels of noise. ArtL's images were lit differently."
    table = plain_table("Errors on photographs by change", header, rows, ".1f", note, lower=header)
    return Outcome([table], data={"lights": lights})


def aggregation(context: Context) -> Outcome:
    """Ways of aggregation, each with its best size."""
    return _compared(context, "aggregation", "aggregation of one cost")


def optimizers(context: Context) -> Outcome:
    """Optimizers of one cost, each with its best penalties."""
    return _compared(context, "optimizers", "optimization of one cost")


def sub_pixel(context: Context) -> Outcome:
    """RMS errors of the pixels that are right to a pixel, and how their fractions are distributed."""
    results = [r for r in context.run("sub_pixel", maps=True) if r.error is None]
    errors, fractions = [], dict[tuple[str, str], list[NDArray[np.float32]]]()
    [protocol] = load("photographs/sub_pixel").settings[0].protocols
    for r in results:
        group, region = next((name, region) for name, (folder, region) in GROUPS.items() if r.scene.startswith(folder))
        scene = load_scene(r.scene, data=context.data)
        assert scene.truth is not None
        assert r.disparity is not None
        near = region_masks(scene, protocol)[region] & (np.abs(r.disparity - scene.truth) <= 1)
        rms = float(np.sqrt(np.mean(np.square(r.disparity[near] - scene.truth[near], dtype=np.float64))))
        errors.append((group, r.method, r.scene, rms))
        for name, disparity in ((r.method, r.disparity), ("truth", scene.truth)):
            fractions.setdefault((group, name), []).append(_fraction(disparity[near]))
    found = DataFrame(errors, columns=["group", "method", "scene", "error"])
    means = _means(found)
    # The other scenes' truth is in whole pixels or eighths.
    fine = [group for group in JUDGED if group in means]
    rows = [
        [_starred(m), *own, *(_locking(fractions[group, str(m)], fractions[group, "truth"]) for group in fine)]
        for m, own in means.iterrows()
    ]
    header = ["method", *(f"{group}: RMS (px)" for group in means), *(f"{group}: locking (%)" for group in fine)]
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
    figure = distributions_figure(shown, 1 / _BINS, title="Fractions of disparities") if shown else None
    pictures = [drawn("sub_pixel", figure, "histograms of fractions")] if figure else []
    return Outcome([table, *pictures], data={"found": found if errors else None}, absent=_ABSENT)


def post_processing(context: Context) -> Outcome:
    """Errors of all pixels with each step left out."""
    return _compared(context, "post_processing", "steps left out, all pixels counted", region="all")


def methods(context: Context) -> Outcome:
    """Whole methods, and their errors over seconds."""
    outcome, panels = _compared(context, "methods", "whole methods"), []
    found = outcome.data.get("found", DataFrame(columns=COLUMNS))
    for i, (group, own) in enumerate(found[found["group"].isin(JUDGED)].groupby("group", sort=False)):
        times = own.groupby("method")[["seconds", "error"]].mean()
        curves = tuple(Line((_starred(m),), (Mark(*point),)) for m, *point in times.itertuples())
        panels.append(Panel(0, i, str(group), "seconds a pair", "bad pixels (%)", curves))
    names = {curve.series: str(*curve.series) for panel in panels for curve in panel.curves}
    figure = curves_figure(panels, names, x_scale="log", title="Errors over time") if panels else None
    return replace(outcome, blocks=[*outcome.blocks, *([drawn("methods_time", figure, "errors over time")] if figure else [])])


def _compared(context: Context, name: str, title: str, *, region: str | None = None) -> Outcome:
    """The results of a script: a row for each method, a chart, and what is asked."""
    found = left_out(context.run(name), region=region)
    if not len(found):
        return Outcome([], absent=_ABSENT)
    means, seconds, chosen, note = _means(found), f"seconds, {found['group'].iloc[0]}", "chosen for most scenes", _NOTE
    first = means.columns[0]
    means = means[means[first].notna()].sort_values(first, kind="stable")
    own = found[found["group"] == first].groupby("method")
    shown, lower = means.rename(index=_starred, columns=str), [*means, seconds]
    shown[seconds] = [own.get_group(m)["seconds"].mean() for m in means.index]
    if found["setting"].any():
        shown[chosen] = [own.get_group(m)["setting"].value_counts(sort=False).idxmax() or "-" for m in means.index]
        note += f" Parameters: the best of a small grid on the other scenes of the group, never on the scene itself; the grid stands in configs/photographs/{name}.yaml."
    forms = [{seconds: ".2g"}.get(column, ".1f") for column in ("method", *shown)]
    table = plain_table(f"Errors: {title}", ["method", *shown], shown.itertuples(), forms, note, lower=lower)
    values = {g: {_starred(m): errors_of(found, g, m).tolist() for m in means.index} for g in means}
    picture = drawn(name, ranked_dots_figure(values, "bad pixels (%)", title.capitalize()), title)
    return Outcome([table, picture], data={"found": found}, absent=_ABSENT)


def _means(found: DataFrame) -> DataFrame:
    """The mean errors of methods over the scenes of each group."""
    means = found.groupby(["group", "method"], sort=False)["error"].mean().unstack("group")
    return means.loc[found["method"].unique(), found["group"].unique()]


def _starred(method: Any) -> str:
    return f"{method}*" if method.startswith(_MADE_HERE) else method


def _light(result: Result) -> str:
    """What was changed, as text."""
    of = {name: result.axes.get(f"preprocessing.radiometric_change.{name}", plain) for name, plain in _CHANGES.items()}
    return ", ".join(f"{name} {value:g}".replace(" 0.", " .") for name, value in of.items() if value != _CHANGES[name]) or _PLAIN


def _fraction(disparity: NDArray) -> NDArray[np.float32]:
    """What a disparity is above a whole pixel; just below one, as many bins are centred on 0, it is a little below 0."""
    found: NDArray[np.float32] = (disparity - np.floor(disparity + 0.5 / _BINS)).astype(np.float32)
    return found


def _locking(found: Sequence[NDArray], truth: Sequence[NDArray]) -> float:
    """Percent of the fractions that lie in other bins than the truth's do, in the mean of the scenes."""

    def shares(fractions: NDArray) -> NDArray:
        return np.bincount(np.rint(_BINS * fractions).astype(int) % _BINS, minlength=_BINS) / max(fractions.size, 1)

    return 50 * mean(float(np.abs(shares(own) - shares(true)).sum()) for own, true in zip(found, truth, strict=False))
