"""Experiment 7 (Figures 15 and 16): sub-pixel disparities.

The paper's planar newsprint scene is not published. Instead: a synthetic, finely textured slanted plane whose truth is exact, and a crop of
venus in which the truth is one slanted plane to an eighth of a pixel, the step of its file; parts of that one have little texture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stereo_framework.datasets import Plane, Texture, planes_scene, slanted
from stereo_framework.page.page import Statement, Text
from stereo_framework.papers.paper import Context, Outcome, checked, results_details
from stereo_framework.scene import Scene
from stereo_framework.sweep import Result

_ROWS, _COLUMNS = slice(260, 370), slice(20, 190)
"""Where venus shows a single plane, whose disparity rises by 0.039 px a row and falls by 0.021 px a column."""

_BORDER = 20
"""Pixels: what lies within the largest disparity of an end may match outside the image."""

_BINS = 8
"""Phases of a pixel in which mean errors are compared: the eighths of the truth's file."""


def experiment7(context: Context) -> Outcome:
    """RMS errors and inverse prediction errors by sampling step, sub-pixel fit, interval matching and blur."""
    scenes: list[Scene] = [_plane(), *map(_crop, context.scenes(["venus"]))]
    results = context.run("experiment7", scenes=scenes, maps=True)
    text = Text(" ".join((__doc__ or "").split("\n\n", 1)[1].split()))
    statements = [_fit_helps(results), _staircase(results, scenes)]
    return Outcome([text, *context.plots("experiment7", results), results_details(results)], statements=statements)


def _plane() -> Scene:
    """A single slanted plane with fine texture, and noise as of a camera."""
    texture = Texture((40, 40, 40), (225, 225, 225), "clouds", 6, grain=30)
    scene = planes_scene(
        [Plane(slanted(5, per_column=0.021, per_row=0.013), texture)], rows=180, columns=240, noise=2, name="synthetic plane"
    )
    return replace(scene, border=_BORDER)


def _crop(scene: Scene) -> Scene:
    """The part of a scene that shows a single plane."""
    pair = (scene.reference_index, scene.match_index)

    def cut(load: NDArray) -> NDArray:
        return np.ascontiguousarray(load[_ROWS, _COLUMNS])

    frames = tuple(replace(f, load=partial(lambda i: cut(scene.image(i)), i)) for i, f in enumerate(scene.frames))
    truth = scene.truth
    assert truth is not None, "venus has truth"
    return replace(scene, name="venus crop", frames=frames, truths={pair: lambda: cut(truth)}, masks={}, border=_BORDER)


def _fit_helps(results: Sequence[Result]) -> Statement:
    pairs: dict[tuple[object, ...], dict[bool, float]] = {}
    for r in results:
        if r.error is None:
            setting = (r.scene, *(v for k, v in r.axes.items() if k != "refinement"))
            fitted = "refinement.parabola.limit" in r.parameters
            pairs.setdefault(tuple(map(str, setting)), {})[fitted] = r.statistics["rms_error_all"]
    both = [p for p in pairs.values() if len(p) == 2]
    better = [p for p in both if p[True] < p[False]]
    figures = (
        f"{len(better)} of {len(both)} settings; the RMS error falls by {100 * np.mean([1 - p[True] / p[False] for p in both]):.0f} % on average"
        if both
        else "no data"
    )
    return Statement("The sub-pixel fit always lowers the RMS error", len(better) == len(both) if both else None, figures)


def _staircase(results: Sequence[Result], scenes: Sequence[Scene]) -> Statement:
    cases = []
    for scene in scenes:
        heights = {}
        for step in (1.0, 0.5):
            found = [
                r
                for r in results
                if r.scene == scene.name
                and "refinement.parabola.limit" in r.parameters
                and not r.parameters["matching_cost.interval"]
                and r.parameters.get("preprocessing.use") is None
                and r.axes["search.step"] == step
            ]
            if found and found[0].disparity is not None:
                heights[step] = _height(found[0].disparity, scene)
        if len(heights) == 2:
            told = (
                f"{scene.name}: {heights[1.0]:.3f} px with whole-pixel sampling, {heights[0.5]:.3f} px with half-pixel sampling"
            )
            cases.append((told, heights[0.5] < heights[1.0] / 2))
    text = "Half-pixel sampling removes the staircase that the sub-pixel fit leaves (to less than half: range of the mean error over the phase of a pixel)"
    return checked(text, cases)


def _height(disparity: NDArray[np.float32], scene: Scene) -> float:
    """How far the mean error differs between phases of a pixel."""
    assert scene.truth is not None
    inner = np.s_[_BORDER:-_BORDER, _BORDER:-_BORDER]
    truth, error = scene.truth[inner].astype(np.float64), (disparity - scene.truth)[inner]
    # Mismatches would drown the systematic part.
    close = np.isfinite(error) & (np.abs(error) < 1)
    phase = np.round((truth[close] % 1) * _BINS).astype(int) % _BINS
    means = [error[close][phase == i].mean() for i in range(_BINS) if (phase == i).any()]
    return float(max(means) - min(means))
