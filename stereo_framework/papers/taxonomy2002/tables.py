"""Tables 4 to 7: parameters, the five methods among twenty, fixed and best parameters, times."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from stereo_framework.papers.comparison import Comparison, PublishedTable, compared, plain_table, published_table, raw_table
from stereo_framework.papers.paper import Context, Outcome, short
from stereo_framework.papers.taxonomy2002.claims import METHODS, REGIONS
from stereo_framework.papers.taxonomy2002.claims_of_optimizers import Rows, table_ranks, with_ours
from stereo_framework.script import load
from stereo_framework.tables.tables import Cell

SCENES = ("tsukuba", "sawtooth", "venus", "map")

SHORT = {"ssd": "SSD", "dp": "DP", "so": "SO", "gc": "GC", "bayesian": "Bay"}
"""Our methods, with their columns in Table 4 and rows in Table 6."""

_RUNS = ("table6", "table5", *(f"experiment{i}" for i in range(1, 7)), "experiment6_map", "experiment6_scanlines")


def kind(parameters: Mapping[str, Any]) -> str | None:
    """To which of the five methods a run belongs, by its parameters."""
    aggregation, optimizer = parameters.get("aggregation.use"), parameters["optimization.use"]
    if optimizer == "winner_take_all":
        return {"bayesian_diffusion": "bayesian", "box > min_filter": "ssd"}.get(aggregation or "")
    return {"dynamic_programming": "dp", "scanline_optimization": "so", "graph_cut": "gc"}.get(optimizer)


def table4(context: Context) -> Outcome:
    """Every printed parameter beside the one in the method's script."""
    published, words = published_table("taxonomy2002", "table4"), raw_table("taxonomy2002", "table4")["ours"]
    scripts = {column: load(method).settings[0].parameters for method, column in SHORT.items()}
    rows, different = [], []
    for name, values in published.rows.items():
        cells = [Cell(name)]
        for column, parameters in scripts.items():
            of = {**parameters, "kind": kind(parameters)}
            value, wanted = next((of[place] for place in words["places"][name] if place in of), None), values.get(column)
            ours = words["words"].get(value, value)
            wrong = wanted is not None and ours != wanted
            cells.append(Cell("-" if wanted is None else str(ours), mark="not as printed" * wrong, hint=f"printed: {wanted}"))
            different += [f"{column} {name}: printed {wanted}, ours {ours}"] * wrong
        rows.append(cells)
    caption = "Parameters of our scripts; a value that differs from the printed one is marked"
    return Outcome([plain_table(caption, ["parameter", *scripts], rows)], data={"different": different})


def measured(context: Context) -> dict[str, dict[str, list[float]]]:
    """Percentages by method and column of Table 5, one for each random order."""
    found: dict[str, dict[str, list[float]]] = {method: {} for method in METHODS}
    for r in context.run("table5", overrides=["seed=0"] if context.quick else [], maps=True):
        for region in REGIONS if r.error is None else ():
            found[r.method].setdefault(f"{short(r.scene)}_{region}", []).append(r.statistics[f"bad_pixels_{region}"])
    return found


def compared_cell(method: str, column: str, published: float | None, values: Sequence[float]) -> Comparison:
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
    ours = {METHODS[m]: {column: statistics.median(values) for column, values in own.items()} for m, own in found.items()}
    rows = with_ours(published, ours)
    among = table_ranks(rows)
    named = [
        [f"{label} (ours)" if ours.get(str(label)) else label, average]
        + [Cell.number(rows[str(label)][c], hint=f"rank {among[c][label]:.0f}") for c in among]
        for label, average in among.mean(axis=1).sort_values(kind="stable").items()
    ]
    header = ["method", "average rank", *among]
    table = plain_table("All twenty methods, ours in place of the paper's own five", header, named, ".1f", lower=header)
    numbers = raw_table("taxonomy2002", "table5")["numbers"]
    whole = ours if all(f"{scene}_nonocc" in own for scene in SCENES for own in ours.values()) else None
    data = {"published": published, "ours": whole, "rows": published.rows, "numbers": numbers}
    data |= {"graph_cuts": found["gc"], "ranks": own_ranks(published, ours)}
    return Outcome([table], comparisons, data, {"rows": whole, "numbers": numbers}, "needs all four scenes")


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
    everything = [r for name in _RUNS for r in context.run(name, maps=name == "table5") if r.error is None]
    comparisons, ours = [], {row: dict[str, float]() for row in SHORT.values()}
    for method, row in SHORT.items():
        for scene in SCENES:
            printed = {name: published.rows[row][f"{scene}_{name}"] for name in ("fixed", "best")}
            own = [r for r in everything if short(r.scene) == scene and kind(r.parameters) == method]
            best = min(own, key=lambda r: r.statistics["bad_pixels_nonocc"], default=None)
            cell = compared_cell(method, f"{scene}_nonocc", printed["fixed"], fixed[method].get(f"{scene}_nonocc", ()))
            setting = ", ".join(f"{k}={v}" for k, v in best.axes.items()) if best else ""
            lowest = best.statistics["bad_pixels_nonocc"] if best else None
            welcome = f"lower is welcome, for the experiments may try more settings; ours: {setting or 'the fixed ones'}"
            comparisons += [
                Comparison(row, f"{scene}_fixed", cell.published, cell.ours, None, None, "judged in Table 5"),
                Comparison(row, f"{scene}_best", printed["best"], lowest, None, cell.above, f"{cell.reason}; {welcome}"),
            ]
            if cell.ours is not None and lowest is not None:
                ours[row] |= {f"{scene}_fixed": cell.ours, f"{scene}_best": lowest}
    return Outcome([], comparisons, {"table6": ours if all(ours.values()) else None}, absent="no scene is there")


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
