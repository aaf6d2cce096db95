"""Experiment 4 (section 6.2, Figures 11 and 12): aggregation from small to large support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.page.page import Block, Text
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map
from stereo_framework.papers.claim import Cases, Verdict, by_cases, claims
from stereo_framework.papers.paper import Context, Outcome, short
from stereo_framework.papers.taxonomy2002.readings import plotted, told
from stereo_framework.sweep import Result


def _by_support(results: Sequence[Result], region: str) -> dict[str, dict[str, list[float]]]:
    """Percent of bad pixels by scene and method, from small to large support, as the script lists them."""
    found: dict[str, dict[str, list[float]]] = {}
    for r in results:
        if r.error is None:
            found.setdefault(short(r.scene), {}).setdefault(r.method, []).append(r.statistics[f"bad_pixels_{region}"])
    return found


def _flat_and_near_edges(results: Sequence[Result]) -> Iterator[tuple[str, list[float], list[float]]]:
    """Scene and method in words, and the percentages in textureless regions and near discontinuities, from small to large support."""
    flat, edge = (_by_support(results, region) for region in ("textureless", "discont"))
    return ((f"{scene} {m}", flat[scene][m], near) for scene, methods in edge.items() for m, near in methods.items())


@by_cases
def _trade_off(results: Sequence[Result]) -> Cases:
    for where, flat, near in _flat_and_near_edges(results):
        figures = f"textureless {flat[0]:.1f} to {flat[-1]:.1f} %, discontinuities {min(near):.1f} at best to {near[-1]:.1f} %"
        yield f"{where}: {figures}", flat[-1] < flat[0] and near[-1] > min(near)


@by_cases
def _shiftable_best(region: str, results: Sequence[Result]) -> Cases:
    for scene, methods in _by_support(results, region).items():
        best = {method: min(values) for method, values in methods.items()}
        yield f"{scene}: {told(best.items())}", best["shiftable"] == min(best.values())


@by_cases
def _large_support(results: Sequence[Result]) -> Cases:
    for where, flat, near in _flat_and_near_edges(results):
        # Of equal errors the smaller support is the best.
        a, b = (int(np.argmin(values)) for values in (flat, near))
        yield f"{where}: best at {a + 1} of {len(near)}, near discontinuities at {b + 1}", a > b


def _fattened(shares: Mapping[str, float]) -> Verdict:
    return Verdict(shares["shiftable"] < shares["box"] if shares else None, told(shares.items()) or "no data")


_FOUR = claims(
    "taxonomy2002",
    {
        "trade_off": _trade_off,
        "shiftable_best": partial(_shiftable_best, "nonocc"),
        "shiftable_best_at_discontinuities": partial(_shiftable_best, "discont"),
        "large_support": _large_support,
    },
)
(_FATTENING,) = claims("taxonomy2002", {"fattening": _fattened})
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
