"""Experiment 4 (section 6.2, Figures 11 and 12): aggregation from small to large support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.page.page import Block, Text
from stereo_framework.page.pictures import Scenes, scene_row, stored_map
from stereo_framework.papers.claim import Claim, Verdict, cases
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.taxonomy2002.readings import plotted, short, told
from stereo_framework.sweep import Result


def _by_support(results: Sequence[Result], region: str) -> dict[str, dict[str, list[float]]]:
    """Percent of bad pixels by scene and method, from small to large support, as the script lists them."""
    found: dict[str, dict[str, list[float]]] = {}
    for r in results:
        if r.error is None:
            found.setdefault(short(r), {}).setdefault(r.method, []).append(r.statistics[f"bad_pixels_{region}"])
    return found


def _trade_off(results: Sequence[Result]) -> Verdict:
    flat, edge = (_by_support(results, region) for region in ("textureless", "discont"))
    return cases(
        [
            (
                f"{scene} {method}: textureless {flat[scene][method][0]:.1f} to {flat[scene][method][-1]:.1f} %, discontinuities "
                f"{min(near):.1f} at best to {near[-1]:.1f} %",
                flat[scene][method][-1] < flat[scene][method][0] and near[-1] > min(near),
            )
            for scene, methods in edge.items()
            for method, near in methods.items()
        ]
    )


def _shiftable_best(results: Sequence[Result], region: str) -> Verdict:
    found = {scene: {m: min(values) for m, values in methods.items()} for scene, methods in _by_support(results, region).items()}
    return cases([(f"{scene}: {told(best.items())}", best["shiftable"] == min(best.values())) for scene, best in found.items()])


def _large_support(results: Sequence[Result]) -> Verdict:
    flat, edge = (_by_support(results, region) for region in ("textureless", "discont"))
    found = []
    for scene, methods in edge.items():
        for method, near in methods.items():
            # Of equal errors the smaller support is the best.
            places = [int(np.argmin(values)) for values in (flat[scene][method], near)]
            figures = f"{scene} {method}: best at {places[0] + 1} of {len(near)}, near discontinuities at {places[1] + 1}"
            found.append((figures, places[0] > places[1]))
    return cases(found)


def _fattened(shares: Mapping[str, float]) -> Verdict:
    if not shares:
        return cases([])
    return Verdict(shares["shiftable"] < shares["box"], told(shares.items()))


_SECTION = "section 6.2, Experiment 4"
_FATTENING = Claim(
    "fattening",
    "A window fattens the foreground, and the minimum filter lessens it (judged: share of the pixels near discontinuities that are more than a pixel too "
    "near)",
    _fattened,
    "section 6.2, Figure 12",
)
_FOUR = (
    Claim(
        "trade_off",
        "Larger support gives fewer errors in textureless areas and more near discontinuities, whatever the method",
        _trade_off,
        _SECTION,
    ),
    Claim(
        "shiftable_best",
        "Shiftable windows perform best (judged: non-occluded pixels, each method at its best support)",
        lambda results: _shiftable_best(results, "nonocc"),
        _SECTION,
    ),
    Claim(
        "shiftable_best_at_discontinuities",
        "Shiftable windows perform best in particular near discontinuities (judged: each method at its best support)",
        lambda results: _shiftable_best(results, "discont"),
        _SECTION,
    ),
    Claim(
        "large_support",
        "Textureless regions need large support (judged: the best support there is larger than near discontinuities)",
        _large_support,
        _SECTION,
    ),
)
CLAIMS = (*_FOUR, _FATTENING)


def experiment4(context: Context) -> Outcome:
    """Aggregation from small to large support."""
    (results,), outcome = plotted(context, "experiment4")
    return replace(outcome, statements=[c.asked(results) for c in _FOUR])


def figure12(context: Context) -> Outcome:
    """Foreground fattening on the map scene: sums of absolute differences over 21x21 pixels, without and with the minimum filter."""
    blocks: list[Block] = [
        Text("Signed errors: red is too near, blue too far. Behind the edges of what is near, red bands are the fattening.")
    ]
    shares = {}
    results = context.run("figure12", maps=True)
    for scene in context.scenes(["map"]):
        assert scene.truth is not None
        near_edges = region_masks(scene, resolve("taxonomy2002"))["discont"]
        shown = {}
        for r in results:
            if r.disparity is not None:
                shares[r.method] = too_near(r.disparity - scene.truth, near_edges)
                caption = f"Near discontinuities {shares[r.method]:.2f} % are more than a pixel too near, {r.statistics['bad_pixels_discont']:.2f} % are bad in either way."
                shown[r.method] = stored_map(r.disparity, caption=caption)
        blocks.append(Scenes([scene_row(scene, shown, resolve("taxonomy2002"))], layer="error"))
    return Outcome(blocks, statements=[_FATTENING.asked(shares)])


def too_near(error: NDArray, mask: NDArray[np.bool_]) -> float:
    """Percent of a region's pixels whose disparity is more than one pixel too large."""
    return 100 * float(np.mean(error[mask] > 1))
