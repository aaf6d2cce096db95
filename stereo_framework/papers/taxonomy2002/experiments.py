"""Experiments 1 to 6: the scripts of each, and its plots."""

from __future__ import annotations

from collections.abc import Callable

from stereo_framework.page.page import Text
from stereo_framework.papers.paper import Context, Outcome, results_details

_OTHERS = {
    "experiment1": ["experiment1_window21"],
    "experiment2": ["experiment1", "experiment2_window21"],
    "experiment6": ["experiment6_scanlines"],
}
"""Scripts whose results the sentences of an experiment are asked of beside its own."""

_NOTES = {
    "experiment5": "Our annealing starts at a temperature of 200 and makes 500 sweeps; 10 stands in Table 2 as typical, and at which one the paper's began it does not say.",
    "experiment6": "Figure 14 has four runs, p1, p1 + BT, p2 + BT and p4 + BT, which the sentences are asked of; the others are shown only.",
}


def experiment(name: str) -> Callable[[Context], Outcome]:
    """What builds the item of an experiment: the plots of its scripts, and the results that its sentences are asked of, by script."""

    def build(context: Context) -> Outcome:
        results = {script: context.run(script) for script in (name, *_OTHERS.get(name, ()))}
        if name == "experiment6":
            # The map scene has a weight of its own.
            results[name] = [*results[name], *context.run("experiment6_map")]
        plots = [plot for script, own in results.items() if script.startswith(name) for plot in context.plots(script, own)]
        text = [Text(_NOTES[name])] if name in _NOTES else []
        details = results_details([r for own in results.values() for r in own])
        return Outcome(
            [*text, *plots, details], data={**{s: own or None for s, own in results.items()}, "results": results[name] or None}
        )

    return build


experiment1, experiment2, experiment3, experiment4, experiment5, experiment6 = (experiment(f"experiment{i}") for i in range(1, 7))
