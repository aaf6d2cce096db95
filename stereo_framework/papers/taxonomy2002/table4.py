"""Table 4: the parameters of the five methods, as printed and as our scripts say."""

from __future__ import annotations

from typing import Any

from stereo_framework.page.page import Cell, PageTable, Statement
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import published_parameters
from stereo_framework.script import load

_METHODS = {"ssd": "SSD", "dp": "DP", "so": "SO", "gc": "GC", "bayesian": "Bay"}
_COSTS = {"absolute_difference": "AD", "squared_difference": "SD"}
_OPTIMIZERS = {
    "winner_take_all": "WTA",
    "dynamic_programming": "DP",
    "scanline_optimization": "SO",
    "graph_cut": "GC",
}
_PLACES = {
    "aggr_window_size": "aggregation.box.size",
    "aggr_minfilter": "aggregation.min_filter.size",
    "diff_mu": "aggregation.bayesian_diffusion.mu",
    "diff_sigmaP": "aggregation.bayesian_diffusion.sigma",
    "diff_epsP": "aggregation.bayesian_diffusion.epsilon",
    "diff_scale_cost": "aggregation.bayesian_diffusion.cost_scale",
    "opt_smoothness": "smoothness.weight",
    "opt_occlusion_cost": "optimization.occlusion_cost",
    "opt_grad_thresh": "smoothness.gradient_threshold",
    "opt_grad_penalty": "smoothness.gradient_penalty",
    "birchfield_tomasi": "matching_cost.interval",
}


def table4(context: Context) -> Outcome:
    """Every printed parameter beside that of the script of the method."""
    published = published_parameters("taxonomy2002", "table4")
    rows, different = [], []
    for name, values in published.items():
        cells = [Cell(name)]
        for method, column in _METHODS.items():
            ours = _ours(name, load(method).runs[0].parameters)
            wanted = values[column]
            same = wanted is None or ours == wanted
            cells.append(Cell("-" if wanted is None else str(ours), mark="" if same else "bad", hint=f"printed: {wanted}"))
            if not same:
                different.append(f"{column} {name}: printed {wanted}, ours {ours}")
        rows.append(cells)
    table = PageTable(
        "Parameters of our scripts; a value that differs from the printed one is marked", ["parameter", *_METHODS.values()], rows
    )
    statement = Statement(
        "The scripts ssd, dp, so, gc and bayesian hold the printed parameters",
        not different,
        "; ".join(different) or "all are equal",
    )
    return Outcome([table], statements=[statement])


def _ours(name: str, parameters: Any) -> Any:
    if name == "match_fn":
        return _COSTS[parameters["matching_cost.use"]]
    if name == "truncation":
        return parameters["matching_cost.truncation"] is not None
    if name == "opt_fn":
        bayesian = any(key.startswith("aggregation.bayesian_diffusion") for key in parameters)
        return "Bayesian" if bayesian else _OPTIMIZERS[parameters["optimization.use"]]
    if name == "aggr_iter":
        return parameters.get("aggregation.bayesian_diffusion.iterations", parameters.get("aggregation.box.iterations"))
    return parameters.get(_PLACES[name])
