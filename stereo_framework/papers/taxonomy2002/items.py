"""Tables 4 to 7, Figures 1 to 17 and Experiments 1 to 7."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.datasets import Plane, Texture, planes_scene, slanted
from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.evaluate import predictions
from stereo_framework.evaluation.prediction import prediction_error
from stereo_framework.evaluation.protocols import derive
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures.disparity_figures import prediction_figure
from stereo_framework.figures.plots import distributions_figure
from stereo_framework.io.images import encode_png
from stereo_framework.matching_cost.absolute_difference import absolute_difference
from stereo_framework.page.page import Block, Picture
from stereo_framework.page.stored_pictures import (
    Scenes,
    Stored,
    scene_row,
    stored_map,
    stored_picture,
)
from stereo_framework.papers.comparison import (
    Comparison,
    PublishedTable,
    compared,
    plain_table,
    published_table,
    raw_table,
)
from stereo_framework.papers.extent import missing_mean
from stereo_framework.papers.paper import Context, Outcome, drawn, painted, short
from stereo_framework.papers.taxonomy2002.claims import METHODS, REGIONS
from stereo_framework.papers.taxonomy2002.claims_of_optimizers import (
    ERROR,
    Rows,
    table_ranks,
    with_ours,
)
from stereo_framework.script import load
from stereo_framework.sweep import Result, ResultSet
from stereo_framework.tables.tables import Cell, Table

# --- Tables -----------------------------------------------------------------------------------------------------------

SCENES = ("tsukuba", "sawtooth", "venus", "map")

SHORT = {"ssd": "SSD", "dp": "DP", "so": "SO", "gc": "GC", "bayesian": "Bay"}
"""Our methods, with their columns in Table 4 and rows in Table 6."""

_RUNS = (
    "table6",
    "table5",
    *(f"experiment{i}" for i in range(1, 7)),
    "experiment6_map",
    "experiment6_scanlines",
)


def kind(parameters: Mapping[str, Any]) -> str | None:
    """To which of the five methods a run belongs, by its parameters."""
    aggregation, optimizer = parameters.get("aggregation.use"), parameters["optimization.use"]
    if optimizer == "winner_take_all":
        return {"bayesian_diffusion": "bayesian", "box > min_filter": "ssd"}.get(aggregation or "")
    return {"dynamic_programming": "dp", "scanline_optimization": "so", "graph_cut": "gc"}.get(
        optimizer
    )


def table4(context: Context) -> Outcome:
    """Every printed parameter beside the one in the method's script."""
    published, words = (
        published_table("taxonomy2002", "table4"),
        raw_table("taxonomy2002", "table4")["ours"],
    )
    scripts = {column: load(method).settings[0].parameters for method, column in SHORT.items()}
    rows, different = [], []
    for name, values in published.rows.items():
        cells = [Cell(name)]
        for column, parameters in scripts.items():
            of = {**parameters, "kind": kind(parameters)}
            value, wanted = (
                next((of[place] for place in words["places"][name] if place in of), None),
                values.get(column),
            )
            ours = words["words"].get(value, value)
            wrong = wanted is not None and ours != wanted
            cells.append(
                Cell(
                    "-" if wanted is None else str(ours),
                    mark="not as printed" * wrong,
                    hint=f"printed: {wanted}",
                )
            )
            different += [f"{column} {name}: printed {wanted}, ours {ours}"] * wrong
        rows.append(cells)
    caption = "Parameters of our scripts; a value that differs from the printed one is marked"
    return Outcome(
        [plain_table(caption, ["parameter", *scripts], rows)], data={"different": different}
    )


def measured(context: Context) -> dict[str, dict[str, list[float]]]:
    """Percentages by method and column of Table 5, one for each random order."""
    if context.quick:
        context.omit("all random orders of the moves but one")
    found: dict[str, dict[str, list[float]]] = {method: {} for method in METHODS}
    for r in context.run("table5", overrides=["seed=0"] if context.quick else [], maps=True):
        for region in REGIONS if r.error is None else ():
            found[r.method].setdefault(f"{short(r.scene)}_{region}", []).append(
                r.statistics[f"bad_pixels_{region}"]
            )
    return found


def compared_cell(
    method: str, column: str, published: float | None, values: Sequence[float]
) -> Comparison:
    """A cell of Table 5 and ours, the median where there are several orders."""
    below, above, reason = published_table("taxonomy2002", "table5").limits(METHODS[method], column)
    if method == "gc" and len(values) > 1:
        # The published row is one order too.
        below = above = max(0.01, round(max(values) - min(values), 3))
        reason = f"the order of the moves is random: our {len(values)} orders lie this far apart"
    ours = statistics.median(values) if values else None
    return Comparison(METHODS[method], column, published, ours, below, above, reason)


def table5(context: Context) -> Outcome:
    """Percentages of bad pixels of the five methods beside the published ones, and their ranks among all twenty."""
    published, found = published_table("taxonomy2002", "table5"), measured(context)
    comparisons = [
        compared_cell(method, column, value, found[method].get(column, ()))
        for method, row in METHODS.items()
        for column, value in published.rows[row].items()
        if column in found[method] or not context.quick
    ]
    ours = {
        METHODS[m]: {column: statistics.median(values) for column, values in own.items()}
        for m, own in found.items()
    }
    table = _all_twenty(with_ours(published, ours), ours, missing_mean(context.coverage))
    numbers = raw_table("taxonomy2002", "table5")["numbers"]
    whole = (
        ours if all(f"{scene}_nonocc" in own for scene in SCENES for own in ours.values()) else None
    )
    data = {"published": published, "ours": whole, "rows": published.rows, "numbers": numbers}
    data |= {"graph_cuts": found["gc"], "ranks": own_ranks(published, ours)}
    return Outcome(
        [table], comparisons, data, {"rows": whole, "numbers": numbers}, "needs all four scenes"
    )


def _all_twenty(rows: Rows, ours: Rows, missing: str) -> Table:
    """Return the table of all methods in the order of their average ranks.

    `missing` is the reason why the average over the scenes stays empty, or "".
    """
    ranks = table_ranks(rows)
    averages = ranks.mean(axis=1).sort_values(kind="stable")
    header = ["method", "average rank", *ranks]
    lines = []
    for label, average in averages.items():
        name = str(label)
        title = f"{name} (ours)" if name in ours else name
        cells = [
            Cell.number(rows[name][c], ".1f", hint=f"rank {ranks[c][label]:.0f}") for c in ranks
        ]
        lines.append([title, None if missing else average, *cells])

    note = (
        f"The average rank is empty: {missing}. The order is that of the ranks shown."
        if missing
        else ""
    )
    caption = "All twenty methods, ours in place of the paper's own five"
    return plain_table(caption, header, lines, ".1f", note, lower=header)


def own_ranks(published: PublishedTable, ours: Rows) -> dict[str, dict[str, tuple[float, float]]]:
    """The printed ranks, and the ranks of our numbers among the printed ones of the other methods, by row and column."""
    printed, ranks = published.frame, raw_table("taxonomy2002", "table5")["ranks"]
    return {
        row: {
            c: (rank, 1.0 + (printed[c].drop(row) < own[c]).sum())
            for c, rank in zip(published.columns, ranks[row], strict=True)
            if c in own
        }
        for row, own in ours.items()
    }


def table6(context: Context) -> Outcome:
    """Percentages of bad pixels with Table 4's parameters and with the best seen in all experiments."""
    published, fixed = published_table("taxonomy2002", "table6"), measured(context)
    everything = [
        r for name in _RUNS for r in context.run(name, maps=name == "table5") if r.error is None
    ]
    comparisons, ours = [], {row: dict[str, float]() for row in SHORT.values()}
    for method, row in SHORT.items():
        for scene in SCENES:
            printed = {name: published.rows[row][f"{scene}_{name}"] for name in ("fixed", "best")}
            own = [
                r for r in everything if short(r.scene) == scene and kind(r.parameters) == method
            ]
            best = min(own, key=lambda r: r.statistics["bad_pixels_nonocc"], default=None)
            cell = compared_cell(
                method,
                f"{scene}_nonocc",
                printed["fixed"],
                fixed[method].get(f"{scene}_nonocc", ()),
            )
            setting = ", ".join(f"{k}={v}" for k, v in best.axes.items()) if best else ""
            lowest = best.statistics["bad_pixels_nonocc"] if best else None
            welcome = f"lower is welcome, for the experiments may try more settings; ours: {setting or 'the fixed ones'}"
            comparisons += [
                Comparison(
                    row,
                    f"{scene}_fixed",
                    cell.published,
                    cell.ours,
                    None,
                    None,
                    "judged in Table 5",
                ),
                Comparison(
                    row,
                    f"{scene}_best",
                    printed["best"],
                    lowest,
                    None,
                    cell.above,
                    f"{cell.reason}; {welcome}",
                ),
            ]
            if cell.ours is not None and lowest is not None:
                ours[row] |= {f"{scene}_fixed": cell.ours, f"{scene}_best": lowest}
    return Outcome(
        [],
        comparisons,
        {"table6": ours if all(ours.values()) else None},
        absent="no scene is there",
    )


def table7(context: Context) -> Outcome:
    """Seconds of the five methods, without evaluation, beside those of 2002. Nothing is judged: the machines differ."""
    rows = dict(zip(METHODS, ("1-SSD + MF", "2-DP", "3-SO", "4-GC", "5-Bay"), strict=True))
    found: dict[str, dict[str, float]] = {}
    for r in context.run("table5", maps=True):
        if r.error is None and (seconds := r.matching_seconds) is not None:
            own = found.setdefault(rows[r.method], {})
            own[short(r.scene)] = min(seconds, own.get(short(r.scene), seconds))
    published = published_table("taxonomy2002", "table7")
    return Outcome([], compared(published, found, "another machine", rows=list(rows.values())))


# --- Experiments ------------------------------------------------------------------------------------------------------

_ROWS, _COLUMNS = slice(260, 370), slice(20, 190)
"""Where venus shows a single plane, whose disparity rises by 0.039 px per row and falls by 0.021 px per column."""

_BORDER = 20
"""Border in pixels: within the largest disparity of an end, pixels may match outside the image."""

_PHASES = 8
"""Phases of a pixel in which mean errors are compared: the eighths of the truth's file."""

_GROSS = 1.0
"""Pixels: larger errors would hide the systematic part."""


def experiment(context: Context, *, name: str, others: Sequence[str] = ()) -> Outcome:
    """The plots of an experiment's scripts, and by script the results that its sentences are asked of, those of other scripts too."""
    results = {script: context.run(script) for script in (name, *others)}
    if name == "experiment6":
        # The map scene has a weight of its own.
        results[name] += context.run("experiment6_map")
    plots = [
        plot
        for script, own in results.items()
        if script.startswith(name)
        for plot in context.plots(script, own)
    ]
    return Outcome(
        plots,
        data={
            script: own or None for script, own in (results | {"results": results[name]}).items()
        },
    )


def experiment7(context: Context, *, figure15: Mapping[str, Sequence[Any]]) -> Outcome:
    """RMS and inverse prediction errors by sampling step, sub-pixel fit, interval matching and blur; maps, signed errors and histograms.

    `figure15` are the settings that it shows: step, refinement, intervals and blur.
    """
    scenes = [_plane(), *map(_crop, context.loaded(["venus"]))]
    results = ResultSet(
        r for r in context.run("experiment7", scenes=scenes, maps=True) if r.error is None
    )
    rows, shown = [], list[Block]()
    heights: dict[str, dict[str, float]] = {}
    for scene in scenes:
        assert scene.truth is not None
        there = shown_in_figure15(results, scene.name, figure15)
        rows += [
            [scene.name, name, r.statistics[ERROR], r.statistics["rms_error_all"]]
            for name, r in there.items()
        ]
        maps = {name: r.disparity for name, r in there.items() if r.disparity is not None}
        errors = {name: _inner(disparity - scene.truth) for name, disparity in maps.items()}
        stored = {name: stored_map(disparity) for name, disparity in maps.items()}
        shown.append(
            Scenes(
                [scene_row(scene, stored, resolve("taxonomy2002"))],
                f"Figure 15: {scene.name}",
                "error",
            )
        )
        near = {name: e[np.abs(e) <= _GROSS] for name, e in errors.items()}
        panels = {
            "disparity (px)": {n: _inner(d) for n, d in maps.items()},
            "signed error up to a pixel (px)": near,
        }
        figure = distributions_figure(panels, 1 / 16, title=f"Figure 15: histograms, {scene.name}")
        file = f"figure15_{scene.name.replace(' ', '_')}"
        shown.append(
            drawn(file, figure, "histograms of disparities and of signed errors", scene.name)
        )
        heights[scene.name] = {
            name: staircase_height(e, _inner(scene.truth)) for name, e in errors.items()
        }
    table = plain_table(
        "Figure 15: RMS errors", ["scene", "setting", "textured", "all"], rows, ".4f", keys=2
    )
    blocks = [table, *context.plots("experiment7", results), *shown]
    return Outcome(blocks, data={"results": results, "heights": heights})


def _plane() -> Scene:
    """A single slanted plane with fine texture and camera-like noise."""
    texture = Texture((40, 40, 40), (225, 225, 225), "clouds", 6, grain=30)
    planes = [Plane(slanted(5, per_column=0.021, per_row=0.013), texture)]
    return replace(
        planes_scene(planes, rows=180, columns=240, noise=2, name="synthetic plane"), border=_BORDER
    )


def _crop(scene: Scene) -> Scene:
    """The part of a scene that shows a single plane."""
    pair = (scene.reference_index, scene.match_index)

    def cut(load: NDArray) -> NDArray:
        return np.ascontiguousarray(load[_ROWS, _COLUMNS])

    frames = tuple(
        replace(f, load=partial(lambda i: cut(scene.image(i)), i))
        for i, f in enumerate(scene.frames)
    )
    truth = scene.truth
    assert truth is not None, "venus has truth"
    return replace(
        scene,
        name="venus crop",
        frames=frames,
        truths={pair: lambda: cut(truth)},
        masks={},
        border=_BORDER,
    )


def _inner(values: NDArray) -> NDArray:
    return values[_BORDER:-_BORDER, _BORDER:-_BORDER]


def shown_in_figure15(
    results: Sequence[Result], scene: str, settings: Mapping[str, Sequence[Any]]
) -> dict[str, Result]:
    """The results of these settings on a scene."""
    axes = ("search.step", "refinement", "matching_cost.birchfield_tomasi", "preprocessing")
    of = {tuple(map(r.axes.__getitem__, axes)): r for r in results if r.scene == scene}
    return {name: of[tuple(setting)] for name, setting in settings.items() if tuple(setting) in of}


def staircase_height(error: Disparity, truth: Disparity) -> float:
    """How far the mean error differs between phases of a pixel, in pixels."""
    close = np.abs(error) < _GROSS
    phase = np.round((truth[close].astype(np.float64) % 1) * _PHASES).astype(int) % _PHASES
    means = [
        error[close][phase == i].mean(dtype=np.float64)
        for i in range(_PHASES)
        if (phase == i).any()
    ]
    return float(max(means) - min(means))


# --- Figures ----------------------------------------------------------------------------------------------------------

_SLICES, _ROW = (10, 16, 21), 151
"""Levels and row that Figure 1 shows. Bookshelves, table and head lie at these levels if they are half pixels, which the paper leaves open."""


def figure1(context: Context) -> Outcome:
    """Slices of the disparity space of tsukuba: three with all pixels at one level, and one with all levels of one row."""
    blocks: list[Block] = []
    for scene in context.scenes(["tsukuba"]):
        assert scene.search is not None
        costs = absolute_difference(
            scene.reference, scene.match, replace(scene.search, step=0.5)
        ).costs
        # The median cost is a middle grey.
        grey = np.clip(128 * costs / max(float(np.median(costs)), 1), 0, 255).astype(np.uint8)
        slices = {f"{level / 2:g} px": stored_picture(grey[:, :, level]) for level in _SLICES}
        row = encode_png(np.repeat(grey[_ROW].T[::-1], 6, axis=0))
        caption = f"Row {_ROW} of {scene.name}: disparity upwards, column to the right."
        blocks += [
            Scenes([scene_row(scene, slices)], "Slices of one disparity"),
            Picture(row, "costs of a row by disparity", caption),
        ]
    return Outcome(blocks)


def figure4(context: Context) -> Outcome:
    """Region maps: textureless white, discontinuities white, occluded pixels black."""
    rows = []
    for scene in context.scenes(SCENES):
        masks = region_masks(scene, resolve("taxonomy2002"))
        shown = {
            name: stored_picture(
                np.where(masks["occ"], 0, np.where(masks[region], 255, 128)).astype(np.uint8)
            )
            for name, region in (("textureless", "textureless"), ("discontinuities", "discont"))
        }
        shares = [
            f"{name} {100 * masks[name].sum() / masks['all'].sum():.1f} %"
            for name in ("occ", "textureless", "discont")
        ]
        rows.append(scene_row(scene, shown, note=f"Of the evaluated pixels: {', '.join(shares)}."))
    return Outcome([Scenes(rows)])


def warps(context: Context, *, name: str, kind: str) -> Outcome:
    """Warped images, drawn with the true disparities."""
    blocks: list[Block] = []
    rows: list[tuple[str, str, float, float]] = []
    for scene, truth in context.truths(SCENES):
        views = predictions(scene, truth, derive(resolve("taxonomy2002"), {"prediction": kind}))
        figure = prediction_figure(views, None, f"{scene.name}: {kind} prediction by the truth")
        description, file = (
            f"{scene.name}: real frames above, {kind} predictions below",
            scene.name.replace("/", "-"),
        )
        blocks.append(painted(f"{name}_{file}", figure, description, scene.name))
        for place, (prediction, real) in views.items():
            rows.append(
                (
                    scene.name,
                    place,
                    prediction_error(prediction, real),
                    100 * float(np.mean(~prediction.predicted)),
                )
            )
    header = ["scene", "frame", "prediction error (grey levels)", "gaps (%)"]
    table = plain_table("Prediction errors of the truth, and the share of gaps", header, rows)
    return Outcome([*blocks, table])


def figure7(context: Context) -> Outcome:
    """Reference images and true disparities of the four scenes."""
    rows = []
    for scene in context.scenes(SCENES):
        height, width = scene.reference.shape[:2]
        note = (
            f"{width}x{height} pixels, disparities {scene.search} px, {len(scene.frames)} frames."
        )
        rows.append(scene_row(scene, {}, note=note))
    return Outcome([Scenes(rows)])


def figure12(context: Context) -> Outcome:
    """Foreground fattening on the map scene: sums of absolute differences over 21x21 pixels, without and with the minimum filter."""
    shares, rows = {}, []
    for scene, truth in context.truths(["map"]):
        near_edges, shown = region_masks(scene, resolve("taxonomy2002"))["discont"], {}
        for r in context.run("figure12", maps=True):
            if r.disparity is not None:
                shares[r.method] = too_near(r.disparity - truth, near_edges)
                caption = f"Near discontinuities {shares[r.method]:.2f} % are more than a pixel too near, {r.statistics['bad_pixels_discont']:.2f} % are bad in either way."
                shown[r.method] = stored_map(r.disparity, caption=caption)
        rows.append(scene_row(scene, shown, resolve("taxonomy2002")))
    return Outcome([Scenes(rows, layer="error")], data={"shares": shares})


def too_near(error: NDArray, mask: NDArray[np.bool_]) -> float:
    """Percent of a region's pixels whose disparity is more than one pixel too large."""
    return 100 * float(np.mean(error[mask] > 1))


def figure17(context: Context) -> Outcome:
    """Disparity maps of the five methods on the four scenes, with truth and errors to blink between."""
    rows, changes = [], dict[str, dict[str, float]]()
    for scene in context.scenes(SCENES):
        shown: dict[str, Stored] = {}
        for r in context.run("table5", maps=True):
            # Of several orders of moves the first one.
            if r.scene == scene.name and r.method not in shown and r.disparity is not None:
                shown[r.method] = stored_map(
                    r.disparity, caption=f"{r.statistics['bad_pixels_nonocc']:.2f} % bad"
                )
                changes.setdefault(scene.name, {})[r.method] = row_changes(r.disparity)
        rows.append(scene_row(scene, shown, resolve("taxonomy2002")))
    return Outcome([Scenes(rows)], data={"changes": changes})


def row_changes(disparity: NDArray) -> float:
    """Percent of pixels whose disparity differs from that of the pixel below."""
    return 100 * float(np.mean(disparity[1:] != disparity[:-1]))
