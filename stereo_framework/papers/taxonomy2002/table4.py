"""Table 4: the parameters of the five methods, as printed and as our scripts say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stereo_framework.page.page import Cell, PageTable
from stereo_framework.papers.claim import Verdict, claims
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import published_parameters, raw_table
from stereo_framework.script import load

CLAIMS = claims(
    "taxonomy2002",
    {"printed_parameters": lambda different: Verdict(not different, "; ".join(different) or "all are equal")},
)

_METHODS = {"ssd": "SSD", "dp": "DP", "so": "SO", "gc": "GC", "bayesian": "Bay"}


def table4(context: Context) -> Outcome:
    """Every printed parameter beside the one in the method's script."""
    published, ours_of = published_parameters("taxonomy2002", "table4"), raw_table("taxonomy2002", "table4")["ours"]
    rows, different = [], []
    for name, values in published.items():
        cells = [Cell(name)]
        for method, column in _METHODS.items():
            ours = _ours(name, load(method).runs[0].parameters, ours_of)
            wanted = values[column]
            same = wanted is None or ours == wanted
            cells.append(
                Cell("-" if wanted is None else str(ours), mark="" if same else "not as printed", hint=f"printed: {wanted}")
            )
            if not same:
                different.append(f"{column} {name}: printed {wanted}, ours {ours}")
        rows.append(cells)
    table = PageTable(
        "Parameters of our scripts; a value that differs from the printed one is marked", ["parameter", *_METHODS.values()], rows
    )
    return Outcome([table], statements=[c.asked(different) for c in CLAIMS])


def _ours(name: str, parameters: Mapping[str, Any], ours_of: Mapping[str, Mapping[str, str]]) -> Any:
    """What a script says under a name of the paper."""
    if name == "match_fn":
        return ours_of["costs"][parameters["matching_cost.use"]]
    if name == "truncation":
        return parameters["matching_cost.truncation"] is not None
    if name == "opt_fn":
        bayesian = any(key.startswith("aggregation.bayesian_diffusion") for key in parameters)
        return "Bayesian" if bayesian else ours_of["optimizers"][parameters["optimization.use"]]
    if name == "aggr_iter":
        return parameters.get("aggregation.bayesian_diffusion.iterations", parameters.get("aggregation.box.iterations"))
    return parameters.get(ours_of["places"][name])
