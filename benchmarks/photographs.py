"""The questions of Scharstein and Szeliski (2002), asked of photographs and roads.

``stereo-framework reproduce photographs --plugin benchmarks/photographs.py [--quick]``
runs the experiments that ``photographs.yaml`` lists, with the scripts of
``configs/photographs``. It writes tables of errors by group of scenes, charts, and
verdicts on sentences. The settings of a method on a scene are chosen on the other
scenes of its group. ``photographs.yaml`` contains the sentences and their rules. The
results are in ``docs/photographs.md``.

The sign tests of `stereo_framework.papers.sign_tests` on the scenes of
`DECIDING_GROUPS` give the verdict on a sentence:

- It holds if all comparisons are significantly for it.
- It does not hold if at least one comparison is significantly against it after Holm's
  correction.
- Otherwise it is not decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from numpy.typing import NDArray
from pandas import DataFrame, Series, concat

from stereo_framework.core.scene import Scene
from stereo_framework.datasets import load_scene
from stereo_framework.evaluation import Protocol
from stereo_framework.evaluation.disparity_error import rms_error
from stereo_framework.evaluation.protocols import resolve
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures._chart_style import longest, new_chart, plain_axes
from stereo_framework.figures._curves import Line, Mark, Panel, curves_figure
from stereo_framework.figures.plots import distributions_figure
from stereo_framework.page.page import Picture
from stereo_framework.papers import add_paper
from stereo_framework.papers.claim import Cases
from stereo_framework.papers.comparison import plain_table
from stereo_framework.papers.paper import Context, Outcome, drawn, paper_of, short
from stereo_framework.papers.sign_tests import PairedComparison, cases_of_sign_tests
from stereo_framework.script import load
from stereo_framework.sweep import Result
from stereo_framework.tables.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Group:
    """A group of scenes.

    Parameters
    ----------
    folder : str
        Beginning of the names of its scenes.
    region : str
        The pixels that count, a region of the protocol.
    threshold : int
        Pixels; larger errors are bad. This threshold decides about sentences and
        settings.
    """

    folder: str
    region: str
    threshold: int = 1

    def statistic(self, region: str | None = None, threshold: int | None = None) -> str:
        """Return the name of the statistic of bad pixels; default: the group's own."""
        counted_region = region or self.region
        limit = threshold or self.threshold
        # The statistic of the first threshold, 1 pixel, has no number in its name.
        return f"bad_pixels_{counted_region}" if limit == 1 else f"bad{limit}_{counted_region}"


GROUPS = {
    "photographs": Group("middlebury-v3/", "nonocc"),
    "roads": Group("kitti2015/", "all", threshold=3),
    "Middlebury v2": Group("middlebury-v2/", "nonocc"),
    "2002": Group("middlebury2001/", "nonocc"),
}
"""The groups of scenes.

The framework reads no mask of the non-occluded pixels of KITTI, so all pixels of KITTI
with ground truth count. Its threshold is that of its benchmark: at 1 pixel the errors
depend more on the calibration of its cameras than on the method, as
``docs/notes/chain.md`` measures.
"""

ROADS_AT_1_PX = "roads, 1 px"
"""The column of roads at the threshold of the other groups, which decides nothing."""

DECIDING_GROUPS = ("photographs", "roads")
"""The groups with enough scenes for a sign test."""

GROUPS_WITH_FINE_TRUTH = DECIDING_GROUPS
"""The groups whose ground truth has fine fractions of a pixel, for pixel locking.

The ground truth of the other groups has steps of whole pixels or of eighths.
"""

SUB_PIXEL_GROUPS = ("photographs",)
"""The groups that decide about errors below a pixel.

The calibration of KITTI's cameras shifts its ground truth by up to a pixel, while the
methods of this experiment differ by a few tenths of a pixel. So roads are shown only.
"""

COLUMNS = ("group", "method", "scene", "setting", "error", "error_at_1_px", "seconds")

ALLOWED_LOSS = 0.05
"""Half pixels are adequate if their error is larger by at most this share.

Their error is compared with the error of quarter pixels.
"""

TEXTURED_PROTOCOL = {"base": "taxonomy2002", "name": "textured", "border": 0}
"""The protocol that defines textured pixels as the paper of 2002 does."""

RMS_FORMATS = {"mean_format": "{:.3f} px", "difference_format": "{:.3f} px"}
"""Arguments of `PairedComparison` that print RMS errors in pixels."""

_MADE_ON_THESE_SCENES = ("fine", "fast", "planes", "half_planes", "plane_paths", "ad_field")
"""Beginnings of the names of methods that were developed or tuned on these scenes.

Tables mark these methods with a star.
"""

_RADIOMETRIC_CHANGE = "preprocessing.radiometric_change."
"""Beginning of the axes that change an image and are no settings of a method."""

_UNCHANGED = {"exposure": 1, "gamma": 1, "vignetting": 0, "noise": 0}
"""The parameters of the radiometric change, with the values that change nothing."""

_AS_IT_IS = "as it is"
_NO_SCENES = "no scene is there"
_STAR = "* was made on these scenes."
_DEFINITION_OF_BAD = (
    "Percent of bad pixels in the mean of the scenes. Pixels are bad if their disparity is off by "
    "more than 1 pixel, on roads by more than 3 pixels."
)
_NOTE = (
    f"{_DEFINITION_OF_BAD} On roads all pixels with ground truth count, otherwise non-occluded "
    f"pixels. {_STAR}"
)
_NOTE_ON_ALL_PIXELS = f"{_DEFINITION_OF_BAD} All pixels with ground truth count. {_STAR}"
_HOW_CHOSEN = (
    "For each scene, the setting is chosen that has the lowest mean error on the other scenes of "
    "its group; the scene itself takes no part. The number in brackets is the number of scenes "
    "with this setting."
)
_HISTOGRAM_METHODS = ("truth", "equiangular", "parabola", "half_parabola", "planes")
"""The curves of the histograms of fractions; whole levels have one fraction only."""

_BINS = 16
"""Number of bins of a pixel in which fractions of disparities are counted."""

_PANEL_WIDTH = 2.1
"""Width of a panel of dots, in inches."""

_LINE_HEIGHT = 0.21
"""Height of the line of a method in a panel of dots, in inches."""


# --- Errors, with settings that are chosen on other scenes ----------------------------


def group_of(scene: str) -> str | None:
    """Return the name of the group of a scene; None if it is in no group."""
    for name, group in GROUPS.items():
        if scene.startswith(group.folder):
            return name
    return None


def errors_with_chosen_settings(
    results: Sequence[Result], *, region: str | None = None
) -> DataFrame:
    """Return the errors of each method, with the setting that is best on other scenes.

    Parameters
    ----------
    results : sequence of Result
        Results of one condition: the results of a method on a scene may differ only in
        the setting that is to be chosen.
    region : str, optional
        The pixels that count; default: those of the group.

    Returns
    -------
    DataFrame
        A row for each scene and method. ``error`` is the percentage of bad pixels at
        the threshold of the group, ``error_at_1_px`` that at 1 pixel, and ``seconds``
        the time of matching. ``setting`` is a text.
    """
    rows = []
    for result in results:
        group_name = group_of(result.scene)
        is_failed = result.error is not None
        if group_name is None or is_failed:
            continue
        group = GROUPS[group_name]
        row = (
            group_name,
            result.method,
            short(result.scene),
            setting_of(result),
            result.statistics[group.statistic(region)],
            result.statistics[group.statistic(region, threshold=1)],
            result.matching_seconds or 0.0,
        )
        rows.append(row)
    return choose_settings(DataFrame(rows, columns=COLUMNS))


def choose_settings(errors: DataFrame) -> DataFrame:
    """Keep the rows with the setting of lowest mean error on other scenes of the group.

    The column ``error`` decides. On a single scene, the first setting of the grid is
    kept. A setting that failed on one of the other scenes is chosen only if every
    setting failed on at least one of them; then it is the first of the grid. A scene on
    which the chosen setting failed has no row.
    """
    chosen_rows = []
    for _, rows in errors.groupby(["group", "method"], sort=False):
        table = rows.pivot(index="setting", columns="scene", values="error")
        # The order of the grid decides between settings of equal errors.
        table = table.reindex(rows["setting"].unique())
        best_settings = {scene: _best_setting(table.drop(columns=scene)) for scene in table}
        chosen_rows.append(rows[rows["setting"] == rows["scene"].map(best_settings)])
    non_empty = [rows for rows in chosen_rows if len(rows)]
    return concat(non_empty) if non_empty else errors


def _best_setting(errors: DataFrame) -> str:
    """Return the setting of lowest mean error in a table of settings and scenes."""
    sums = errors.sum(axis=1, skipna=False)
    if sums.notna().any():
        return str(sums.idxmin())
    return str(errors.index[0])


def setting_of(result: Result) -> str:
    """Return the swept parameters of a result as text.

    If two parameters have the same name, the names of their stages are part of the
    text.
    """
    values = {
        address: value
        for address, value in result.axes.items()
        if not address.startswith(_RADIOMETRIC_CHANGE)
    }
    names = [address.rpartition(".")[2] for address in values]
    texts = []
    for name, (address, value) in zip(names, values.items(), strict=True):
        if names.count(name) > 1:
            name = ".".join(address.split(".")[-2:])
        number = f"{value:g}" if isinstance(value, float) else str(value)
        texts.append(f"{name} {number}")
    return ", ".join(texts)


def errors_of(errors: DataFrame, group: str, method: str) -> Series:
    """Return the errors of a method on the scenes of a group, by scene."""
    rows = errors[(errors["group"] == group) & (errors["method"] == method)]
    return rows.set_index("scene")["error"]


def mean_errors(errors: DataFrame, column: str = "error") -> DataFrame:
    """Return the mean errors of methods over the scenes of each group."""
    means = errors.groupby(["group", "method"], sort=False)[column].mean().unstack("group")
    return means.loc[errors["method"].unique(), errors["group"].unique()]


def _columns_of_errors(errors: DataFrame) -> DataFrame:
    """Return the mean errors, those of roads at both of their thresholds."""
    means = mean_errors(errors)
    if "roads" in means:
        at_1_px = mean_errors(errors, "error_at_1_px")["roads"]
        means.insert(means.columns.get_loc("roads") + 1, ROADS_AT_1_PX, at_1_px)
    return means


def settings_table(title: str, errors: Mapping[str, DataFrame], note: str) -> Table:
    """Return the table of the settings that were chosen, by method and column.

    Parameters
    ----------
    title : str
        Title of the table.
    errors : mapping of str to DataFrame
        Errors with chosen settings, by the name of the column.
    note : str
        A sentence on the grid.
    """
    methods = list(dict.fromkeys(name for rows in errors.values() for name in rows["method"]))
    rows = []
    fixed_methods = []
    for method in methods:
        cells = [_settings_cell(column, method) for column in errors.values()]
        if any(cell != "-" for cell in cells):
            rows.append([_starred(method), *cells])
        else:
            fixed_methods.append(method)
    notes = [_HOW_CHOSEN, note] if rows else [note]
    if rows and fixed_methods:
        notes.append(f"Without a grid: {', '.join(fixed_methods)}.")
    return plain_table(title, ["method", *errors], rows, ".1f", " ".join(notes))


def _settings_cell(errors: DataFrame, method: str) -> str:
    """Return the settings of a method by number of scenes, the most frequent first."""
    settings = errors[errors["method"] == method]["setting"]
    counts = settings[settings != ""].value_counts(sort=True)
    return "; ".join(f"{setting} ({count})" for setting, count in counts.items()) or "-"


def _by_group(errors: DataFrame) -> dict[str, DataFrame]:
    """Divide errors by group, in the order in which the groups occur."""
    return {str(group): rows for group, rows in errors.groupby("group", sort=False)}


def _note_on_grid(name: str, errors: DataFrame, criterion: str) -> str:
    """Return the sentence on the grid of a script and its criterion."""
    place = f"configs/photographs/{name}.yaml"
    if errors["setting"].any():
        return (
            f"The error is {criterion}. The grids, and the values of all other parameters, "
            f"stand in {place}."
        )
    return (
        f"Nothing was chosen: the methods have the fixed values in {place} and in the scripts "
        "that it includes."
    )


def _starred(method: str) -> str:
    """Return the name of a method, with a star if it was made on these scenes."""
    return f"{method}*" if method.startswith(_MADE_ON_THESE_SCENES) else str(method)


# --- Experiments ----------------------------------------------------------------------

_BAD_PIXELS = "the percentage of pixels off by more than 1 pixel, on roads by more than 3 pixels"


def light(context: Context) -> Outcome:
    """Compare the matching costs on photographs of which one image is changed."""
    folder = GROUPS["photographs"].folder
    results = [result for result in context.run("costs") if result.scene.startswith(folder)]
    results += context.run("costs_changed")
    results_of_light: dict[str, list[Result]] = {}
    for result in results:
        results_of_light.setdefault(light_of(result), []).append(result)

    lights = {name: errors_with_chosen_settings(rows) for name, rows in results_of_light.items()}
    if len(lights) < 2:
        return Outcome([], absent="no photographs are there")

    means = {name: mean_errors(errors)["photographs"] for name, errors in lights.items()}
    rows = []
    for method in means[_AS_IT_IS].index:
        error_on_artl = errors_of(lights[_AS_IT_IS], "photographs", method).get("ArtL")
        errors_by_light = [column[method] for column in means.values()]
        rows.append([_starred(method), *errors_by_light, error_on_artl])
    header = ["cost and what follows", *lights, "ArtL alone"]
    note = (
        f"{_NOTE} One image was changed: by a factor, an exponent, the share that corners lose, "
        "or grey levels of noise. The images of ArtL were lit differently."
    )
    table = plain_table("Errors on photographs by change", header, rows, ".1f", note, lower=header)
    note_on_grid = _note_on_grid("costs", lights[_AS_IT_IS], _BAD_PIXELS)
    settings = settings_table("Settings by change", lights, note_on_grid)
    return Outcome([table, settings], data={"lights": lights})


def light_of(result: Result) -> str:
    """Return the radiometric change of a result as text, such as "exposure .6".

    The judges below use these texts as keys.
    """
    changes = []
    for name, unchanged in _UNCHANGED.items():
        value = result.axes.get(f"{_RADIOMETRIC_CHANGE}{name}", unchanged)
        if value != unchanged:
            changes.append(f"{name} {value:g}".replace(" 0.", " ."))
    return ", ".join(changes) or _AS_IT_IS


Fractions = dict[tuple[str, str], dict[str, NDArray[np.float32]]]
"""Fractions of disparities by group and method, or "truth", and then by scene."""


@dataclass(frozen=True)
class SubPixelErrors:
    """Errors of the disparity maps of a scene, on the same pixels for all methods.

    Parameters
    ----------
    textured_rms : dict of str to float
        RMS errors by method, in pixels, of the textured, non-occluded pixels at which
        all methods have an estimate.
    close_rms : dict of str to float
        RMS errors of the pixels at which all methods are off by no more than a pixel.
    textured_share : float
        Share of the textured, non-occluded pixels at which all methods have an
        estimate.
    fractions : dict of str to ndarray
        Fractions of the disparities of the pixels of `close_rms`, by method and for
        "truth".
    """

    textured_rms: dict[str, float]
    close_rms: dict[str, float]
    textured_share: float
    fractions: dict[str, NDArray[np.float32]]


def textured_mask(scene: Scene) -> NDArray[np.bool_]:
    """Return the textured, non-occluded pixels, as the paper of 2002 defines them.

    The region of the scene's group applies too. On roads it is all pixels.
    """
    mask = region_masks(scene, resolve(TEXTURED_PROTOCOL))["textured"]
    return mask & _counted_mask(scene)


def _counted_mask(scene: Scene) -> NDArray[np.bool_]:
    """Return the pixels that count for the group of a scene."""
    protocol = _protocol_of_sub_pixel()
    group = group_of(scene.name)
    assert group is not None
    return region_masks(scene, protocol)[GROUPS[group].region]


@cache
def _protocol_of_sub_pixel() -> Protocol:
    """Return the protocol of the script, which is read once."""
    [protocol] = load("photographs/sub_pixel").protocols
    return protocol


def sub_pixel_errors(
    scene: Scene, disparities: Mapping[str, NDArray[np.float32]]
) -> SubPixelErrors:
    """Measure disparity maps by method on the pixels that all of them have."""
    truth = scene.truth
    assert truth is not None
    textured = textured_mask(scene)
    estimated = textured.copy()
    close = _counted_mask(scene).copy()
    for disparity in disparities.values():
        estimated &= np.isfinite(disparity)
        # A comparison with NaN is False, so missing estimates are not close.
        close &= np.abs(disparity - truth) <= 1

    fractions = {name: fraction_of(disparity[close]) for name, disparity in disparities.items()}
    return SubPixelErrors(
        textured_rms={name: rms_error(d, truth, estimated) for name, d in disparities.items()},
        close_rms={name: rms_error(d, truth, close) for name, d in disparities.items()},
        textured_share=estimated.sum() / max(1, textured.sum()),
        fractions={**fractions, "truth": fraction_of(truth[close])},
    )


def sub_pixel(context: Context) -> Outcome:
    """Measure RMS errors of the same pixels for all methods, and their fractions."""
    chosen = _chosen_maps(context)
    if not chosen:
        return Outcome([], absent=_NO_SCENES)

    rows = []
    fractions: Fractions = {}
    shares: dict[str, list[float]] = {}
    for scene_name, results in chosen.items():
        group = group_of(scene_name)
        assert group is not None
        scene = load_scene(scene_name, data=context.data)
        disparities = {name: r.disparity for name, r in results.items() if r.disparity is not None}
        measured = sub_pixel_errors(scene, disparities)
        shares.setdefault(group, []).append(measured.textured_share)
        for method, values in measured.fractions.items():
            fractions.setdefault((group, method), {})[scene_name] = values
        for method, result in results.items():
            row = (
                group,
                method,
                short(scene_name),
                setting_of(result),
                measured.textured_rms[method],
                measured.close_rms[method],
            )
            rows.append(row)
    columns = ["group", "method", "scene", "setting", "error", "close_error"]
    errors = DataFrame(rows, columns=columns)

    tables = _sub_pixel_tables(errors, fractions, shares)
    data = {
        "textured_rms": errors,
        "close_rms": errors.assign(error=errors["close_error"]),
    }
    return Outcome([*tables, *_pictures_of_fractions(fractions)], data=data, absent=_NO_SCENES)


def _chosen_maps(context: Context) -> dict[str, dict[str, Result]]:
    """Return sub-pixel results with chosen settings, by scene and method.

    A setting is chosen by the RMS error of textured, non-occluded pixels with an
    estimate.
    """
    rows = []
    result_of: dict[tuple[str, str, str], Result] = {}
    for result in context.run("sub_pixel", maps=True):
        group = group_of(result.scene)
        if group is None or result.error is not None or result.disparity is None:
            continue
        scene = load_scene(result.scene, data=context.data)
        assert scene.truth is not None
        error = rms_error(result.disparity, scene.truth, textured_mask(scene))
        setting = setting_of(result)
        rows.append((group, result.method, result.scene, setting, error))
        result_of[result.scene, result.method, setting] = result

    errors = DataFrame(rows, columns=["group", "method", "scene", "setting", "error"])
    chosen: dict[str, dict[str, Result]] = {}
    for row in choose_settings(errors).itertuples():
        result = result_of[row.scene, row.method, row.setting]
        chosen.setdefault(row.scene, {})[row.method] = result
    return chosen


def _sub_pixel_tables(
    errors: DataFrame,
    fractions: Fractions,
    shares: Mapping[str, Sequence[float]],
) -> list[Table]:
    """Return the table of RMS errors and locking, and the table of settings."""
    textured = mean_errors(errors)
    close = mean_errors(errors, "close_error")
    locking_groups = [group for group in GROUPS_WITH_FINE_TRUTH if group in textured]
    rows = []
    for method in textured.index:
        locking = [_locking_of_group(fractions, group, method) for group in locking_groups]
        rows.append([_starred(method), *textured.loc[method], *close.loc[method], *locking])

    header = ["method"]
    header += [f"{group}: RMS, textured (px)" for group in textured]
    header += [f"{group}: RMS, right to a pixel (px)" for group in close]
    header += [f"{group}: locking (%)" for group in locking_groups]
    forms = ["", *[".3f"] * (2 * len(textured.columns)), *[".0f"] * len(locking_groups)]
    shares_text = ", ".join(f"{100 * mean(of):.0f} % ({group})" for group, of in shares.items())
    note = (
        "RMS disparity errors in the mean of the scenes, of the same pixels for all methods. "
        "Textured: the textured, non-occluded pixels at which all methods have an estimate. Right "
        "to a pixel: the pixels at which all methods are off by no more than a pixel. Locking: the "
        "share of these pixels whose fraction of a pixel would have to move to another sixteenth "
        f"for the fractions to be distributed as those of the ground truth. {_STAR}"
    )
    table = plain_table("Between the levels", header, rows, forms, note, lower=header)
    criterion = "the RMS error of textured, non-occluded pixels with an estimate"
    settings_note = (
        f"{_note_on_grid('sub_pixel', errors, criterion)} All methods have an estimate at "
        f"{shares_text} of the textured, non-occluded pixels."
    )
    settings = settings_table("Settings: between the levels", _by_group(errors), settings_note)
    return [table, settings]


def _pictures_of_fractions(fractions: Fractions) -> list[Picture]:
    """Return the histograms of the fractions of disparities, if a group has them."""
    panels: dict[str, dict[str, NDArray]] = {}
    for group in GROUPS_WITH_FINE_TRUTH:
        for method in _HISTOGRAM_METHODS:
            if (group, method) in fractions:
                panel = panels.setdefault(f"{group}: fraction of disparity (px)", {})
                panel[method] = np.concatenate(list(fractions[group, method].values()))
    if not panels:
        return []
    figure = distributions_figure(panels, 1 / _BINS, title="Fractions of disparities")
    return [drawn("sub_pixel", figure, "histograms of fractions")]


def fraction_of(disparity: NDArray) -> NDArray[np.float32]:
    """Return the fractions of disparities above whole pixels.

    Bins are centred on multiples of their width. Therefore a fraction that belongs to
    the bin of 0 may be a little below 0.
    """
    whole = np.floor(disparity + 0.5 / _BINS)
    return np.asarray(disparity - whole, np.float32)


def locking_percentage(
    fractions: Mapping[str, NDArray], true_fractions: Mapping[str, NDArray]
) -> float:
    """Return the percentage of pixel locking, in the mean of the scenes.

    Pixel locking means that estimates gather at certain fractions of a pixel. The
    percentage is that of the fractions that would have to move to another bin for their
    histogram to equal that of the ground truth: half the sum of the absolute
    differences between both histograms.

    Parameters
    ----------
    fractions, true_fractions : mapping of str to ndarray
        The fractions of a method and of the ground truth, by scene. Scenes without a
        map of the method are left out.
    """
    percentages = []
    for scene, of_map in fractions.items():
        of_truth = true_fractions[scene]
        distance = np.abs(_shares_of_bins(of_map) - _shares_of_bins(of_truth)).sum()
        percentages.append(100 * float(distance) / 2)
    return mean(percentages)


def _locking_of_group(fractions: Fractions, group: str, method: str) -> float:
    """Return the pixel locking of a method; NaN if it has no map of the group."""
    if (group, method) not in fractions:
        return float("nan")
    return locking_percentage(fractions[group, method], fractions[group, "truth"])


def _shares_of_bins(fractions: NDArray) -> NDArray:
    """Return the share of fractions in each bin."""
    bins = np.rint(_BINS * fractions).astype(int) % _BINS
    return np.bincount(bins, minlength=_BINS) / max(fractions.size, 1)


def methods(context: Context) -> Outcome:
    """Compare whole methods, and draw their errors over their times."""
    outcome = _compared("methods", "whole methods", context)
    if "errors" not in outcome.data:
        return outcome
    errors = outcome.data["errors"]
    deciding = errors[errors["group"].isin(DECIDING_GROUPS)]
    panels = []
    for column, (group, rows) in enumerate(_by_group(deciding).items()):
        times = rows.groupby("method")[["seconds", "error"]].mean()
        curves = tuple(
            Line((_starred(method),), (Mark(seconds, error),))
            for method, seconds, error in times.itertuples()
        )
        panels.append(Panel(0, column, group, "seconds a pair", "bad pixels (%)", curves))
    if not panels:
        return outcome

    names = {curve.series: curve.series[0] for panel in panels for curve in panel.curves}
    figure = curves_figure(panels, names, x_scale="log", title="Errors over time")
    picture = drawn("methods_time", figure, "errors over time")
    return replace(outcome, blocks=[*outcome.blocks, picture])


def _compared(
    name: str,
    title: str,
    context: Context,
    *,
    region: str | None = None,
    note: str = _NOTE,
) -> Outcome:
    """Return the tables and the chart of a script.

    They have a row for each method with a result on the first group, best first.
    """
    errors = errors_with_chosen_settings(context.run(name), region=region)
    if not len(errors):
        return Outcome([], absent=_NO_SCENES)

    first_group = errors["group"].iloc[0]
    means = _columns_of_errors(errors)
    means = means[means[first_group].notna()].sort_values(first_group, kind="stable")
    first_errors = errors[errors["group"] == first_group]
    seconds_column = f"seconds, {first_group}"
    shown = means.rename(index=_starred, columns=str)
    mean_seconds = first_errors.groupby("method")["seconds"].mean()
    shown[seconds_column] = [mean_seconds[method] for method in means.index]

    forms = ["", *[".1f"] * len(means.columns), ".2g"]
    header = ["method", *shown]
    table = plain_table(
        f"Errors: {title}", header, shown.itertuples(), forms, note, lower=header[1:]
    )
    note_on_grid = _note_on_grid(name, errors, _BAD_PIXELS)
    settings = settings_table(f"Settings: {title}", _by_group(errors), note_on_grid)
    errors_by_method = {
        group: {
            _starred(method): errors_of(errors, group, method).tolist() for method in means.index
        }
        for group in errors["group"].unique()
    }
    figure = ranked_dots_figure(errors_by_method, "bad pixels (%)", title.capitalize())
    blocks = [table, settings, drawn(name, figure, title)]
    return Outcome(blocks, data={"errors": errors}, absent=_NO_SCENES)


costs = partial(_compared, "costs", "matching costs")
aggregation = partial(_compared, "aggregation", "aggregation of one cost")
optimizers = partial(_compared, "optimizers", "optimization of one cost")
post_processing = partial(
    _compared,
    "post_processing",
    "steps left out, all pixels counted",
    region="all",
    note=_NOTE_ON_ALL_PIXELS,
)


def ranked_dots_figure(
    groups: Mapping[str, Mapping[str, Sequence[float]]], x_label: str, title: str = ""
) -> Figure:
    """Draw the mean of each method as a dot and its values as small rings.

    Parameters
    ----------
    groups : mapping of str to mapping of str to sequence of float
        The values by the title of a panel and by method. The methods of the first panel
        stand in this order from above.
    x_label : str
        Label with the unit; the same for all panels.
    title : str
        Title of the figure.
    """
    method_names = list(next(iter(groups.values())))
    width = _PANEL_WIDTH * len(groups) + longest(method_names)
    figure = new_chart(width, 0, 0.9 + _LINE_HEIGHT * len(method_names), title)
    for index, (group, values) in enumerate(groups.items()):
        axes = figure.add_subplot(1, len(groups), index + 1)
        for line, method in enumerate(method_names):
            _draw_dots(axes, line, values.get(method, ()))
        axes.set_ylim(len(method_names) - 0.5, -0.5)
        labels = method_names if index == 0 else [""] * len(method_names)
        axes.set_yticks(range(len(method_names)), labels, parse_math=False)
        axes.set_xlim(left=0)
        axes.grid(axis="y", color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
        plain_axes(axes, group, x_label)
    return figure


def _draw_dots(axes: Any, line: int, values: Sequence[float]) -> None:
    """Draw the values of a method as rings and their mean as a dot."""
    ring = {"markerfacecolor": "none", "markeredgecolor": "0.6", "markeredgewidth": 0.6}
    axes.plot(values, [line] * len(values), "o", markersize=3, **ring)
    if len(values):
        axes.plot(sum(values) / len(values), line, "o", markersize=5, color="#0072b2")


# --- Judges of the sentences, by the names in ``photographs.yaml`` --------------------


def comparisons_of(
    errors: DataFrame,
    method: str,
    other: str,
    *,
    groups: Sequence[str] = DECIDING_GROUPS,
    prefix: str = "",
    **options: Any,
) -> Iterator[PairedComparison]:
    """Yield the comparison of two methods on each group of scenes.

    Parameters
    ----------
    errors : DataFrame
        Errors by group, method and scene.
    method, other : str
        The method that has fewer errors if the sentence is true, and the other method.
    groups : sequence of str
        The groups that decide.
    prefix : str
        Text before the names of the methods.
    **options
        Further arguments of `PairedComparison`.
    """
    for group in groups:
        yield PairedComparison(
            f"{prefix}{method} and {other}, {group}",
            errors_of(errors, group, method),
            errors_of(errors, group, other),
            **options,
        )


def _cases_of_pairs(errors: DataFrame, pairs: Iterable[tuple[str, str]]) -> Cases:
    """Judge whether the first method of each pair has fewer errors than the second."""
    comparisons: list[PairedComparison] = []
    for method, other in pairs:
        comparisons += comparisons_of(errors, method, other)
    return cases_of_sign_tests(comparisons)


def _judge_of_fewer_errors(
    methods: Sequence[str], others: Sequence[str]
) -> Callable[[DataFrame], Cases]:
    """Return the judge of whether methods have fewer errors than other methods."""
    return lambda errors: _cases_of_pairs(errors, product(methods, others))


def _judge_of_lower_rms(
    pairs: Sequence[tuple[str, str]], tolerance: float = 0.0
) -> Callable[..., Cases]:
    """Return the judge of whether the first of each pair has the lower RMS error.

    Parameters
    ----------
    pairs : sequence of (str, str)
    tolerance : float
        See `PairedComparison`.
    """

    def judge(rms: DataFrame) -> Cases:
        comparisons: list[PairedComparison] = []
        for method, other in pairs:
            comparisons += comparisons_of(
                rms,
                method,
                other,
                groups=SUB_PIXEL_GROUPS,
                tolerance=tolerance,
                remark=_remark_on_roads(rms, method, other),
                **RMS_FORMATS,
            )
        return cases_of_sign_tests(comparisons)

    return judge


def _remark_on_roads(rms: DataFrame, method: str, other: str) -> str:
    """Return the figures of roads, which do not decide about errors below a pixel."""
    [comparison] = comparisons_of(rms, method, other, groups=["roads"], **RMS_FORMATS)
    if not comparison.has_enough_scenes:
        return ""
    figures = comparison.figures.removeprefix(f"{comparison.name}: ")
    return f" (roads, which do not count here: {figures})"


def census_instead_of_differences(errors: DataFrame) -> Cases:
    pairs = [(f"census_{step}", f"ad_truncated_{step}") for step in ("window", "paths")]
    return _cases_of_pairs(errors, pairs)


def _in_light(
    lights: Mapping[str, DataFrame], light: str, method: str, other: str
) -> Iterator[PairedComparison]:
    """Yield the comparison of two methods on photographs with a radiometric change."""
    prefix = f"{light}: "
    return comparisons_of(lights[light], method, other, groups=["photographs"], prefix=prefix)


def census_in_changed_light(lights: Mapping[str, DataFrame]) -> Cases:
    comparisons: list[PairedComparison] = []
    # Images whose light is not changed are one of the conditions.
    for light in lights:
        comparisons += _in_light(lights, light, "census_paths", "ad_truncated_paths")
    return cases_of_sign_tests(comparisons)


def information_at_gamma(lights: Mapping[str, DataFrame]) -> Cases:
    comparisons = _in_light(lights, "gamma 1.5", "mutual_information_paths", "census_paths")
    return cases_of_sign_tests(list(comparisons))


def light_before_differences(lights: Mapping[str, DataFrame]) -> Cases:
    comparisons: list[PairedComparison] = []
    for light in ("exposure .6", "vignetting .6"):
        for method in ("ad_bilateral_paths", "ad_field_paths"):
            comparisons += _in_light(lights, light, method, "ad_paths")
    return cases_of_sign_tests(comparisons)


def every_step_helps(errors: DataFrame) -> Cases:
    pairs = []
    names = sorted(errors["method"].unique())
    for method in ("sgm", "fine"):
        pairs += [(method, name) for name in names if name.startswith(f"{method}_no_")]
    return _cases_of_pairs(errors, pairs)


shiftable_best = _judge_of_fewer_errors(["shiftable"], ["box", "binomial", "diffusion", "membrane"])
weights_instead_of_windows = _judge_of_fewer_errors(
    ["guided_filter", "support_weights"], ["shiftable"]
)
graph_cuts_best = _judge_of_fewer_errors(["expansion"], ["dynamic_programming", "scanline"])
two_dimensions_best = _judge_of_fewer_errors(
    ["belief_propagation", "trw_s", "expansion"],
    ["winner_take_all", "dynamic_programming", "scanline"],
)
paths_instead_of_graph_cuts = _judge_of_fewer_errors(["semi_global_8"], ["expansion"])
planes_instead_of_levels = _judge_of_fewer_errors(
    ["plane_paths"],
    ["belief_propagation", "trw_s", "expansion", "semi_global_8", "semi_global_8_refined"],
)
fit_always_helps = _judge_of_lower_rms(
    [("parabola", "whole"), ("equiangular", "whole"), ("half_parabola", "half_levels")]
)
half_pixels_adequate = _judge_of_lower_rms(
    [("half_parabola", "quarter_parabola")], tolerance=ALLOWED_LOSS
)
planes_nearest = _judge_of_lower_rms(
    [("planes", "half_parabola"), ("planes", "half_parabola_smooth")]
)
shiftable_good_choice = _judge_of_fewer_errors(["shiftable_census"], ["census", "sgm", "bm"])
global_ahead = _judge_of_fewer_errors(["sgm"], ["ssd", "dp", "so", "dp_census", "so_census"])

# The YAML file names the experiments and judges above; `paper_of` finds them here.
add_paper(
    paper_of(
        "photographs",
        yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")),
        globals(),
    )
)
