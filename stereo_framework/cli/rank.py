"""The verb ``rank``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stereo_framework.cli import _options as opt
from stereo_framework.cli import _output
from stereo_framework.cli._boundary import rank_by_boundary
from stereo_framework.core.errors import DataError, ParameterError, few

if TYPE_CHECKING:
    import pandas

    from stereo_framework.tables.ranking import Ranking

_NAMED = 5
"""Names in one cell or line, before the rest is only counted."""


def rank(
    tables: list[Path],
    columns: Annotated[str | None, typer.Option("--columns", "--measure", "--measures")] = None,
    lower: list[str] | None = None,
    higher: list[str] | None = None,
    protocol: str | None = None,
    groups: bool = False,
    drop_incomplete: bool = False,
    boundary: bool = False,
    error_rate: float | None = None,
    density: float | None = None,
    out: Path | None = None,
    json: opt.Json = False,
) -> int:
    """Rank methods as the Middlebury benchmark does, by the average of their ranks; and group them by dominance (A* groups).

    Example: stereo-framework rank results/ssd --groups

    Example: stereo-framework rank table.csv --lower '*'

    Parameters
    ----------
    tables
        Results folders or CSV files with a row for each method; several make one table.
    columns
        Measures to rank by, names, groups (hci) or patterns separated by commas; default: the bad pixels of the regions, else the HCI metrics.
    lower
        Lower is better in columns of this name or pattern; repeatable.
    higher
        Higher is better in columns of this name or pattern; repeatable.
    protocol
        Rank results of this protocol only.
    groups
        Show the A* groups: group 1 holds whom nobody beats in everything.
    drop_incomplete
        Leave methods without a score in some column out instead of refusing.
    boundary
        Compare methods by error rate against sparsity instead, from results of the protocol kostliva2007: efficiencies, improvements, the feasibility
        boundary.
    error_rate
        With --boundary, a wish: at most this error rate; answers with the densest known setting.
    density
        With --boundary, a wish: at least this density (0..1); answers with the most accurate setting.
    out
        With --boundary, folder for plots (SVG, PNG) and the answer as a script.
    """
    if boundary:
        wishes: dict[str, Any] = {"error_rate": error_rate, "density": density, "out": out}
        return rank_by_boundary(tables, protocol=protocol, drop_incomplete=drop_incomplete, json=json, **wishes)
    for option, given in (("--error-rate", error_rate), ("--density", density), ("--out", out)):
        if given is not None:
            raise ParameterError(f"{option} goes with --boundary")
    from stereo_framework.tables import ranking
    from stereo_framework.tables.score_tables import read_scores

    both = set(lower or []) & set(higher or [])
    if both:
        raise ParameterError(f"--lower and --higher: {min(both)!r} stands in both")
    better: dict[str, Literal["lower", "higher"]] = dict.fromkeys(lower or [], "lower")
    better |= dict.fromkeys(higher or [], "higher")
    wanted = opt.names(columns)
    scores, notes = read_scores(tables, measures=wanted, better=better, protocol=protocol)
    for note in notes:
        print(f"warning: {note}", file=sys.stderr)
    found = ranking.rank_methods(_complete(scores, drop_incomplete))
    order = [int(i) for i in found.ranks.argsort(kind="stable")]
    if json:
        _output.print_json([_record(i, found) for i in order])
        return 0
    _output.print_table(*_table(order, found, groups), keys=2, upright=True)
    count, places = found.scores.shape
    _output.say(f"each column: score, rank; {count} methods, {places} columns; equal scores share the better rank")
    if groups:
        _output.say(ranking.astar_verdict(found.groups))
    return 0


def _complete(scores: pandas.DataFrame, drop: bool) -> pandas.DataFrame:
    """The scores without the methods that lack one, which are told, or refused unless they are to be dropped."""
    from stereo_framework.tables.ranking import column_name

    whole, holes = scores.dropna(), scores.isna()
    if len(whole) == len(scores):
        return scores
    lacking = {name: [column_name(*column) for column in scores.columns[row]] for name, row in holes.iterrows() if row.any()}
    listed = few([f"{name} ({_listed(columns)})" for name, columns in lacking.items()], _NAMED)
    if not drop:
        raise DataError(
            f"methods without a score in some column: {listed}; --drop-incomplete leaves them out, --columns chooses others"
        )
    if whole.empty:
        raise DataError(f"every method lacks a score in some column: {listed}; choose other columns with --columns")
    print(f"warning: left out, without a score in some column: {listed}", file=sys.stderr)
    return whole


def _table(order: list[int], found: Ranking, groups: bool) -> tuple[list[str], list[list[str]]]:
    from stereo_framework.tables.ranking import column_name
    from stereo_framework.tables.tables import show
    from stereo_framework.tables.words import short_names

    header = ["rank", "method", "average rank", *["A* group"] * groups]
    rows = [
        [str(found.ranks[i]), found.scores.index[i], f"{found.average_ranks[i]:.2f}", *[str(found.groups[i])] * groups]
        for i in order
    ]
    shown = short_names(filter(None, found.scores.columns.get_level_values("scene"))) | {"": ""}
    for k, (scene, measure, _) in enumerate(found.scores.columns):
        header.append(column_name(shown[scene], measure))
        cells = [(show(float(found.scores.iat[i, k])), str(found.column_ranks[i, k])) for i in order]
        widths = [max(len(cell[part]) for cell in cells) for part in (0, 1)]
        for row, (score, place) in zip(rows, cells, strict=True):
            row.append(f"{score:>{widths[0]}} {place:>{widths[1]}}")
    return header, rows


def _record(i: int, found: Ranking) -> dict[str, Any]:
    from stereo_framework.tables.ranking import column_name

    names = [column_name(*column) for column in found.scores.columns]
    return {
        "method": found.scores.index[i],
        "rank": int(found.ranks[i]),
        "average_rank": float(found.average_ranks[i]),
        "group": int(found.groups[i]),
        "scores": dict(zip(names, found.scores.iloc[i].tolist(), strict=True)),
        "ranks": dict(zip(names, found.column_ranks[i].tolist(), strict=True)),
    }


def _listed(names: list[str]) -> str:
    return few(names, _NAMED) or "-"
