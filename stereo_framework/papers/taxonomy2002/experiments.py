"""Experiments 1 to 6 and Figure 12: the scripts of each, its plots, and the sentences that are asked of its results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.page.page import Text
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.taxonomy2002.claims import CLAIMS

_NOTES = {
    "experiment5": "Our annealing starts at a temperature of 200 and makes 500 sweeps; 10 stands in Table 2 as typical, and at which one the paper's began it does not say.",
    "experiment6": "Figure 14 has four runs, p1, p1 + BT, p2 + BT and p4 + BT, which the sentences are asked of; the others are shown only.",
}


def experiment(name: str) -> Callable[[Context], Outcome]:
    """What builds the item of an experiment: the plots of its scripts, and the sentences whose data are its results."""
    said = [claim for claim in CLAIMS.values() if claim.of and claim.of[0].partition("_")[0] == name]
    scripts = dict.fromkeys([name, *(script for claim in said for script in claim.of)])

    def build(context: Context) -> Outcome:
        results = {script: context.run(script) for script in scripts}
        if name == "experiment6":
            # The map scene has a weight of its own.
            results[name] = [*results[name], *context.run("experiment6_map")]
        plots = [plot for script, own in results.items() if script.startswith(name) for plot in context.plots(script, own)]
        statements = [claim.asked(*(results[script] for script in claim.of)) for claim in said]
        text = [Text(_NOTES[name])] if name in _NOTES else []
        return Outcome([*text, *plots, results_details([r for own in results.values() for r in own])], statements=statements)

    return build


experiment1, experiment2, experiment3, experiment4, experiment5, experiment6 = (experiment(f"experiment{i}") for i in range(1, 7))


def figure12(context: Context) -> Outcome:
    """Foreground fattening on the map scene: sums of absolute differences over 21x21 pixels, without and with the minimum filter."""
    shares, rows = {}, []
    for scene in context.scenes(["map"]):
        assert scene.truth is not None
        near_edges, shown = region_masks(scene, resolve("taxonomy2002"))["discont"], {}
        for r in context.run("figure12", maps=True):
            if r.disparity is not None:
                shares[r.method] = too_near(r.disparity - scene.truth, near_edges)
                caption = f"Near discontinuities {shares[r.method]:.2f} % are more than a pixel too near, {r.statistics['bad_pixels_discont']:.2f} % are bad in either way."
                shown[r.method] = stored_map(r.disparity, caption=caption)
        rows.append(scene_row(scene, shown, resolve("taxonomy2002")))
    text = Text("Signed errors: red is too near, blue too far. Behind the edges of what is near, red bands are the fattening.")
    return Outcome([text, Scenes(rows, layer="error")], statements=[CLAIMS["fattening"].asked(shares)])


def too_near(error: NDArray, mask: NDArray[np.bool_]) -> float:
    """Percent of a region's pixels whose disparity is more than one pixel too large."""
    return 100 * float(np.mean(error[mask] > 1))
