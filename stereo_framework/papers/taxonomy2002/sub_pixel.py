"""Experiment 7 (section 6.4, Figures 15 and 16): sub-pixel disparities.

The paper's planar newsprint scene is not published. Instead: a synthetic, finely textured slanted plane whose truth is exact, and a crop of
venus in which the truth is one slanted plane to an eighth of a pixel, the step of its file; parts of that one have little texture and match
nowhere. The paper's scene has no such parts, so pixels with an error above one pixel, its bad ones, are told apart as gross errors, and the RMS
error of the other pixels, which match, stands beside that of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stereo_framework.datasets import Plane, Texture, planes_scene, slanted
from stereo_framework.evaluation import resolve
from stereo_framework.figures.distributions import distributions_figure
from stereo_framework.figures.plots import plot_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.page.page import Block, Cell, PageTable, Picture, Text
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map
from stereo_framework.papers.claim import Cases, by_cases, claims
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.taxonomy2002.readings import told
from stereo_framework.scene import Disparity, Scene
from stereo_framework.script import load
from stereo_framework.script.report import read_report
from stereo_framework.sweep import Result

_ROWS, _COLUMNS = slice(260, 370), slice(20, 190)
"""Where venus shows a single plane, whose disparity rises by 0.039 px per row and falls by 0.021 px per column."""

_BORDER = 20
"""Border in pixels: within the largest disparity of an end, pixels may match outside the image."""

_PHASES = 8
"""Phases of a pixel in which mean errors are compared: the eighths of the truth's file."""

_GROSS = 1.0
"""Pixels: larger errors are gross."""

_MATCHED, _PREDICTION = "rms_error_matched", "predict_err_match"
_SHOWN = {"whole pixels": (1, "none"), "whole pixels, fitted": (1, "parabola"), "half pixels, fitted": (0.5, "parabola")}
"""What Figure 15 shows: sampling step and refinement, without intervals and blur."""


def experiment7(context: Context) -> Outcome:
    """RMS and inverse prediction errors by sampling step, sub-pixel fit, interval matching and blur; maps, signed errors and histograms."""
    scenes = [_plane(), *map(_crop, context.scenes(["venus"]))]
    truths = {scene.name: truth for scene in scenes if (truth := scene.truth) is not None}
    runs = context.run("experiment7", scenes=scenes, maps=True)
    results = [with_matched(r, truths[r.scene]) for r in runs if r.error is None]
    blocks: list[Block] = [
        Text(" ".join((__doc__ or "").split("\n\n", 1)[1].split())),
        *context.plots("experiment7", results),
        _matched_plot(results),
        _what_each_does(results),
    ]
    files: dict[str, str | bytes] = {}
    heights: dict[str, dict[str, float]] = {}
    for scene in scenes:
        maps, truth = _shown(results, scene.name), truths[scene.name]
        errors = {name: _inner(d - truth) for name, d in maps.items()}
        stored = {name: stored_map(disparity) for name, disparity in maps.items()}
        blocks.append(Scenes([scene_row(scene, stored, resolve("taxonomy2002"))], f"Figure 15: {scene.name}", "error"))
        near = {name: e[np.abs(e) <= _GROSS] for name, e in errors.items()}
        panels = {"disparity (px)": {n: _inner(d) for n, d in maps.items()}, "signed error of matches (px)": near}
        drawn = svg_text(distributions_figure(panels, 1 / 16, title=f"Figure 15: histograms, {scene.name}"))
        files[f"figure15_{scene.name.replace(' ', '_')}.svg"] = drawn
        blocks.append(Picture(drawn, "histograms of disparities and of signed errors", scene.name))
        heights[scene.name] = {name: staircase(e, _inner(truth)) for name, e in errors.items()}
    statements = [_STAIRCASE.asked(heights), *(c.asked(results) for c in _LOWER)]
    return Outcome([*blocks, results_details(runs)], statements=statements, files=files)


def _plane() -> Scene:
    """A single slanted plane with fine texture and camera-like noise."""
    texture = Texture((40, 40, 40), (225, 225, 225), "clouds", 6, grain=30)
    planes = [Plane(slanted(5, per_column=0.021, per_row=0.013), texture)]
    return replace(planes_scene(planes, rows=180, columns=240, noise=2, name="synthetic plane"), border=_BORDER)


def _crop(scene: Scene) -> Scene:
    """The part of a scene that shows a single plane."""
    pair = (scene.reference_index, scene.match_index)

    def cut(load: NDArray) -> NDArray:
        return np.ascontiguousarray(load[_ROWS, _COLUMNS])

    frames = tuple(replace(f, load=partial(lambda i: cut(scene.image(i)), i)) for i, f in enumerate(scene.frames))
    truth = scene.truth
    assert truth is not None, "venus has truth"
    return replace(scene, name="venus crop", frames=frames, truths={pair: lambda: cut(truth)}, masks={}, border=_BORDER)


def _inner(values: NDArray) -> NDArray:
    return values[_BORDER:-_BORDER, _BORDER:-_BORDER]


def with_matched(result: Result, truth: NDArray) -> Result:
    """A result with two more statistics: the RMS error of the pixels that match, in pixels, and the percentage of gross errors, both within the border."""
    assert result.disparity is not None, "maps were asked for"
    error = _inner(result.disparity - truth).astype(np.float64)
    gross = ~(np.abs(error) <= _GROSS)
    found = {_MATCHED: float(np.sqrt(np.mean(error[~gross] ** 2))), "bad_pixels_gross": 100 * float(np.mean(gross))}
    return replace(result, statistics={**result.statistics, **found})


def _matched_plot(results: Sequence[Result]) -> Picture:
    """Figure 16 for the pixels that match; the script's own plots can only show all pixels."""
    [plot] = [p for p in read_report(load("taxonomy2002/experiment7").report).plots if p.name == "figure16"]
    plot = replace(plot, y=(_MATCHED,), title="Experiment 7: RMS error of the pixels that match")
    return Picture(svg_text(plot_figure(plot, results)), "plot figure16 of the pixels that match", plot.title)


def _pairs(results: Sequence[Result], axis: str, statistic: str) -> dict[str, list[tuple[float, float]]]:
    """A statistic without and with what `axis` switches on, all else being equal, by scene."""
    found: dict[tuple, dict[bool, float]] = {}
    for r in results:
        setting = (r.scene, *(str(value) for key, value in r.axes.items() if key != axis))
        found.setdefault(setting, {})[r.axes[axis] not in ("none", False)] = r.statistics[statistic]
    both: dict[str, list[tuple[float, float]]] = {}
    for (scene, *_), values in found.items():
        if len(values) == 2:
            both.setdefault(scene, []).append((values[False], values[True]))
    return both


@by_cases
def _lower(axis: str, statistic: str, results: Sequence[Result]) -> Cases:
    """Whether a statistic is always lower with what `axis` switches on."""
    for scene, pairs in _pairs(results, axis, statistic).items():
        better = sum(after < before for before, after in pairs)
        change = 100 * float(np.mean([after / before - 1 for before, after in pairs]))
        yield f"{scene}: {better} of {len(pairs)} settings, {change:+.1f} % on average", better == len(pairs)


def _what_each_does(results: Sequence[Result]) -> PageTable:
    """The number of settings in which each measure is lower with the fit, with intervals and with blur."""
    axes = {"sub-pixel fit": "refinement", "interval matching": "matching_cost.interval", "blur": "preprocessing"}
    measures = {
        "RMS error of matches": _MATCHED,
        "RMS error of all": "rms_error_all",
        "gross errors": "bad_pixels_gross",
        "prediction error": _PREDICTION,
    }
    rows = []
    for scene in dict.fromkeys(r.scene for r in results):
        for words, axis in axes.items():
            cells = []
            for statistic in measures.values():
                pairs = _pairs(results, axis, statistic)[scene]
                before, after = np.mean(pairs, axis=0)
                cells.append(Cell(f"{sum(b < a for a, b in pairs)} of {len(pairs)} ({before:.3f} to {after:.3f})"))
            rows.append([Cell(scene), Cell(words), *cells])
    note = "Gross errors in percent, RMS errors in pixels, prediction errors in grey levels; in brackets the means without and with it."
    return PageTable("Settings in which a measure is lower with it than without", ["scene", "with", *measures], rows, note)


def _shown(results: Sequence[Result], scene: str) -> dict[str, Disparity]:
    """The maps that Figure 15 shows."""
    plain = {
        (r.axes["search.step"], r.axes["refinement"]): r.disparity
        for r in results
        if r.scene == scene and not r.axes["matching_cost.interval"] and r.axes["preprocessing"] == "none"
    }
    return {name: d for name, setting in _SHOWN.items() if (d := plain.get(setting)) is not None}


def staircase(error: NDArray, truth: NDArray) -> float:
    """How far the mean error differs between phases of a pixel, in pixels."""
    # Mismatches would hide the systematic part.
    close = np.abs(error) < _GROSS
    phase = np.round((truth[close].astype(np.float64) % 1) * _PHASES).astype(int) % _PHASES
    means = [error[close][phase == i].mean(dtype=np.float64) for i in range(_PHASES) if (phase == i).any()]
    return float(max(means) - min(means))


@by_cases
def _removed(heights: Mapping[str, Mapping[str, float]]) -> Cases:
    for scene, own in heights.items():
        yield f"{scene}: {told(own.items(), ' px')}", own["half pixels, fitted"] < own["whole pixels, fitted"] / 2


(_STAIRCASE,) = claims("taxonomy2002", {"staircase": _removed})
_LOWER = claims(
    "taxonomy2002",
    {
        "fit_helps": partial(_lower, "refinement", "rms_error_all"),
        "fit_helps_matches": partial(_lower, "refinement", _MATCHED),
        "fit_predicts": partial(_lower, "refinement", _PREDICTION),
        "blur_helps": partial(_lower, "preprocessing", _MATCHED),
    },
)
CLAIMS = (_STAIRCASE, *_LOWER)
