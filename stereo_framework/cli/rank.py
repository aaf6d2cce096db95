"""The verb ``rank``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stereo_framework.cli import _output
from stereo_framework.cli._boundary import rank_by_boundary
from stereo_framework.cli._options import Data, Json
from stereo_framework.core.errors import DataError, ParameterError, few

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stereo_framework.tables.ranking import Bootstrap, LeftOut, Ranking, Scores

_NAMED = 5
"""Names in one cell or line, before the rest is only counted."""


def rank(
    tables: list[Path],
    columns: Annotated[str | None, typer.Option("--columns", "--measure", "--measures")] = None,
    lower: list[str] | None = None,
    higher: list[str] | None = None,
    protocol: str | None = None,
    split: str = ":",
    groups: bool = False,
    dominance: bool = False,
    leave_one_out: bool = False,
    bootstrap: Annotated[int | None, typer.Option(metavar="N")] = None,
    seed: int = 0,
    drop_incomplete: bool = False,
    boundary: bool = False,
    error_rate: float | None = None,
    density: float | None = None,
    weight: Annotated[list[str] | None, typer.Option(metavar="SCENE=W")] = None,
    out: Path | None = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Rank methods as the Middlebury benchmark does, by the average of their ranks; and group them by dominance (A* groups).

    Example: stereo-framework rank results/first --groups --leave-one-out

    Example: stereo-framework rank table.csv --lower '*' --bootstrap 1000

    Example: stereo-framework rank results/roc --boundary --error-rate 0.02 --out results/boundary

    Parameters
    ----------
    tables
        Results folders, CSV files (a row per method, or tidy) or YAML files with columns and rows; several make one table.
    columns
        Measures to rank by, names, groups (hci) or patterns separated by commas; default: the bad pixels of the regions, else the HCI metrics.
    lower
        Lower is better in columns of this name or pattern; repeatable.
    higher
        Higher is better in columns of this name or pattern; repeatable.
    protocol
        Rank results of this protocol only.
    split
        What stands between scene and measure in names of columns.
    groups
        Show the A* groups: group 1 holds whom nobody beats in everything.
    dominance
        Show who is at least as good as whom in every column.
    leave_one_out
        Rank again without each scene, measure and column.
    bootstrap
        Draw the scenes N times with replacement; 95 % intervals of the ranks.
    seed
        Of the drawing of scenes.
    drop_incomplete
        Leave methods without a score in some column out instead of refusing.
    boundary
        Compare methods by error rate against sparsity instead, from results of the protocol kostliva2007: efficiencies, improvements, the feasibility
        boundary. Measures of confidence that are stored with maps are drawn too: each as the method without its least sure estimates.
    error_rate
        With --boundary, a wish: at most this error rate; answers with the densest known setting.
    density
        With --boundary, a wish: at least this density (0..1); answers with the most accurate setting.
    weight
        With --boundary, weight of a scene in the mean; repeatable, others have 1.
    out
        With --boundary, folder for plots (SVG, PNG) and the answer as a script.
    """
    if boundary:
        wishes: dict[str, Any] = {"weight": weight or [], "error_rate": error_rate, "density": density, "out": out}
        return rank_by_boundary(tables, protocol=protocol, drop_incomplete=drop_incomplete, data=data, json=json, **wishes)
    for option, given in (("--error-rate", error_rate), ("--density", density), ("--weight", weight), ("--out", out)):
        if given is not None:
            raise ParameterError(f"{option} goes with --boundary")
    from stereo_framework.tables import ranking
    from stereo_framework.tables.score_tables import read_scores

    both = set(lower or []) & set(higher or [])
    if both:
        raise ParameterError(f"--lower and --higher: {min(both)!r} stands in both")
    better: dict[str, Literal["lower", "higher"]] = dict.fromkeys(lower or [], "lower")
    better |= dict.fromkeys(higher or [], "higher")
    wanted = [name.strip() for name in columns.split(",")] if columns else ()
    scores, notes = read_scores(tables, measures=wanted, better=better, protocol=protocol, split=split)
    for note in notes:
        print(f"warning: {note}", file=sys.stderr)
    found = ranking.rank_methods(_complete(scores, drop_incomplete))
    beats = ranking.dominance(found.scores.lower_is_better()) if dominance else None
    left_out = ranking.leave_one_out(found.scores) if leave_one_out else []
    drawn = ranking.bootstrap(found.scores, bootstrap, seed=seed) if bootstrap is not None else None
    order = [int(i) for i in found.ranks.argsort(kind="stable")]
    if json:
        _output.print_json([_record(i, found, beats, left_out, drawn) for i in order])
        return 0
    methods = found.scores.methods
    _output.print_table(*_table(order, found, groups, drawn), keys=2, upright=True)
    _output.say(
        f"each column: score, rank; {len(methods)} methods, {len(found.scores.columns)} columns; equal scores share the better rank"
    )
    if groups:
        _output.say(ranking.astar_verdict(found.groups))
    if drawn is not None:
        scenes = len(found.scores.scenes)
        _output.say(
            f"rank 95 %, first, in A*: over {drawn.count} drawings of {scenes} scenes with replacement, seed {drawn.seed}"
        )
    if beats is not None:
        rows = [[methods[i], _some(methods, beats[i]), _some(methods, beats[:, i])] for i in order]
        _output.print_table(["method", "dominates", "dominated by"], rows)
    if left_out:
        _output.print_table(["without", "first", "A* set", "ranks that change most"], [_without(found, one) for one in left_out])
    return 0


def _complete(scores: Scores, drop: bool) -> Scores:
    import numpy as np

    whole, incomplete = scores.complete()
    if not incomplete:
        return scores
    holes = np.isnan(scores.values)
    told = []
    for name in incomplete:
        absent = [scores.columns[k].name for k in np.flatnonzero(holes[scores.methods.index(name)])]
        told.append(f"{name} ({_listed(absent)})")
    listed = few(told, _NAMED)
    if not drop:
        raise DataError(
            f"methods without a score in some column: {listed}; --drop-incomplete leaves them out, --columns chooses others"
        )
    if not whole.methods:
        raise DataError(f"every method lacks a score in some column: {listed}; choose other columns with --columns")
    print(f"warning: left out, without a score in some column: {listed}", file=sys.stderr)
    return whole


def _table(order: list[int], found: Ranking, groups: bool, drawn: Bootstrap | None) -> tuple[list[str], list[list[str]]]:
    from stereo_framework.tables.tables import show
    from stereo_framework.tables.words import short_names

    header = ["rank", "method", "average rank"]
    rows = [[str(found.ranks[i]), found.scores.methods[i], f"{found.average_ranks[i]:.2f}"] for i in order]
    if groups:
        header.append("A* group")
        rows = [[*row, str(found.groups[i])] for i, row in zip(order, rows, strict=True)]
    if drawn is not None:
        header += ["rank 95 %", "first", "in A*"]
        for i, row in zip(order, rows, strict=True):
            shares = [f"{100 * share[i]:.0f} %" for share in (drawn.first, drawn.in_astar)]
            row += [f"{drawn.rank_low[i]}..{drawn.rank_high[i]}", *shares]
    shown = short_names(found.scores.scenes)
    for k, column in enumerate(found.scores.columns):
        header.append(f"{shown[column.scene]}:{column.measure}" if column.scene else column.measure)
        cells = [(show(float(found.scores.values[i, k])), str(found.column_ranks[i, k])) for i in order]
        widths = [max(len(cell[part]) for cell in cells) for part in (0, 1)]
        for row, (score, place) in zip(rows, cells, strict=True):
            row.append(f"{score:>{widths[0]}} {place:>{widths[1]}}")
    return header, rows


def _record(
    i: int, found: Ranking, beats: NDArray[np.bool_] | None, left_out: list[LeftOut], drawn: Bootstrap | None
) -> dict[str, Any]:
    methods, names = found.scores.methods, [c.name for c in found.scores.columns]
    record: dict[str, Any] = {
        "method": methods[i],
        **_standing(found, i),
        "scores": dict(zip(names, found.scores.values[i].tolist(), strict=True)),
        "ranks": dict(zip(names, found.column_ranks[i].tolist(), strict=True)),
    }
    if beats is not None:
        for name, row in (("dominates", beats[i]), ("dominated_by", beats[:, i])):
            record[name] = [methods[j] for j in row.nonzero()[0]]
    if left_out:
        record["leave_one_out"] = [{"kind": one.kind, "without": one.name, **_standing(one.ranking, i)} for one in left_out]
    if drawn is not None:
        record["bootstrap"] = {
            "count": drawn.count,
            "seed": drawn.seed,
            "rank": [int(drawn.rank_low[i]), int(drawn.rank_high[i])],
            "average_rank": [float(drawn.average_rank_low[i]), float(drawn.average_rank_high[i])],
            "first": float(drawn.first[i]),
            "in_astar": float(drawn.in_astar[i]),
        }
    return record


def _standing(found: Ranking, i: int) -> dict[str, Any]:
    return {"rank": int(found.ranks[i]), "average_rank": float(found.average_ranks[i]), "group": int(found.groups[i])}


def _without(found: Ranking, one: LeftOut) -> list[str]:
    methods, before, after = found.scores.methods, found.ranks, one.ranking.ranks
    moved = sorted((before != after).nonzero()[0], key=lambda j: -abs(int(after[j]) - int(before[j])))
    changes = [f"{methods[j]} {before[j]} to {after[j]}" for j in moved]
    return [f"{one.kind} {one.name}", _some(methods, after == 1), _some(methods, one.ranking.groups == 1), _listed(changes)]


def _some(methods: tuple[str, ...], chosen: NDArray[np.bool_]) -> str:
    return _listed([methods[j] for j in chosen.nonzero()[0]])


def _listed(names: list[str]) -> str:
    return few(names, _NAMED) or "-"
