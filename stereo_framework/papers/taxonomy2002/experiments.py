"""Experiments 1 to 6: the scripts of each, and its plots."""

from __future__ import annotations

from functools import partial

from stereo_framework.page.page import Text
from stereo_framework.papers.paper import Context, Outcome

_NOTES = {
    "experiment5": "Our annealing starts at a temperature of 200 and makes 500 sweeps; 10 stands in Table 2 as typical, and at which one the paper's began it does not say.",
    "experiment6": "Figure 14 has four runs, p1, p1 + BT, p2 + BT and p4 + BT, which the sentences are asked of; the others are shown only.",
}


def _experiment(name: str, others: tuple[str, ...], context: Context) -> Outcome:
    """The plots of an experiment's scripts, and by script the results that its sentences are asked of, those of other scripts too."""
    results = {script: context.run(script) for script in (name, *others)}
    if name == "experiment6":
        # The map scene has a weight of its own.
        results[name] = [*results[name], *context.run("experiment6_map")]
    plots = [plot for script, own in results.items() if script.startswith(name) for plot in context.plots(script, own)]
    data = {script: own or None for script, own in (results | {"results": results[name]}).items()}
    return Outcome([*([Text(_NOTES[name])] if name in _NOTES else []), *plots], data=data)


experiment1 = partial(_experiment, "experiment1", ("experiment1_window21",))
experiment2 = partial(_experiment, "experiment2", ("experiment1", "experiment2_window21"))
experiment3, experiment4, experiment5 = (partial(_experiment, f"experiment{i}", ()) for i in (3, 4, 5))
experiment6 = partial(_experiment, "experiment6", ("experiment6_scanlines",))
