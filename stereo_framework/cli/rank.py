"""The command ``rank``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _shared
from stereo_framework.core.errors import DataError, ParameterError, few

if TYPE_CHECKING:
    from stereo_framework.evaluation.roc import Point
    from stereo_framework.sweep import ResultSet
    from stereo_framework.tables.scores import Scores

_NAMED = 5
"""Names in one cell or line, before the rest is only counted."""


def rank(
    tables: list[Path],
    columns: Annotated[str | None, typer.Option(metavar="NAME,NAME")] = None,
    lower: list[str] | None = None,
    higher: list[str] | None = None,
    where: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None,
    groups: bool = False,
    boundary: bool = False,
    json: _shared.Json = False,
) -> None:
    """Rank methods by the rules of the Middlebury benchmark.

    The rank of a method is the average of its ranks in all columns. The command can also
    group methods by dominance (A* groups).

    Example: stereo-framework rank results/ssd --groups

    Example: stereo-framework rank table.csv --lower '*'

    Parameters
    ----------
    tables
        Results folders or CSV files with a row for each method; several make one table, which contains equal results of several folders once.
    columns
        Names, groups (hci) or patterns of the metrics to rank by, separated by commas;
        default: the bad pixels of the regions, else the HCI metrics.
    lower
        Lower is better in columns of this name or pattern; repeatable.
    higher
        Higher is better in columns of this name or pattern; repeatable.
    where
        Rank results with this scene, method, protocol, parameter or statistic, as in 'results'; repeatable.
    groups
        Show the A* groups: group 1 holds whom nobody beats in everything.
    boundary
        Compare methods by error rate against sparsity instead, from results of the protocol kostliva2007: efficiencies, improvements, the feasibility
        boundary; 'report' draws the curves.
    """
    from stereo_framework.tables.ranking import astar_verdict
    from stereo_framework.tables.results import where as select
    from stereo_framework.tables.scores import ranked

    results = select(results_of_tables(tables), where or [])
    if boundary:
        unused_options = {
            "--columns": columns is not None,
            "--lower": bool(lower),
            "--higher": bool(higher),
            "--groups": groups,
        }
        _shared.refuse_without_effect(
            "with --boundary, which has columns of its own", unused_options
        )
        _print_boundary(results, json=json)
        return
    if both := set(lower or []) & set(higher or []):
        raise ParameterError(f"--lower and --higher: {min(both)!r} stands in both")
    better: Any = dict.fromkeys(lower or [], "lower") | dict.fromkeys(higher or [], "higher")
    found = ranked(results, _shared.names(columns), better)
    _shared.tell("warning", *found.notes)
    if lacking := found.complete()[1]:
        listed = few([f"{name} ({few(names, _NAMED)})" for name, names in lacking.items()], _NAMED)
        # Of settings of a sweep only their axes can be named.
        named = [
            f", as by --where 'method!={r.method}'," for r in results if r.method in lacking
        ] or [" by --where"]
        raise DataError(
            f"methods without a score in some column: {listed}; leave them out{named[0]} or choose other --columns"
        )
    places, ranks, a_star = found.places.tolist(), found.ranks.tolist(), found.groups.tolist()
    order = sorted(range(len(places)), key=places.__getitem__)
    names = [c.name for c in found.columns]
    if json:
        records = [
            {
                "method": found.methods[i],
                "rank": places[i],
                "average_rank": float(found.average_ranks[i]),
                "group": a_star[i],
                "scores": dict(zip(names, found.values[i].tolist(), strict=True)),
                "ranks": dict(zip(names, ranks[i], strict=True)),
            }
            for i in order
        ]
        _shared.print_json(records)
        return
    _shared.print_table(*_table(order, found, groups), keys=2, upright=True)
    _shared.say(
        f"each column: score, rank; {len(order)} methods, {len(names)} columns; equal scores share the better rank"
    )
    if groups:
        _shared.say(astar_verdict(found.groups))


def results_of_tables(tables: Sequence[Path]) -> ResultSet:
    """Return the results of folders and CSV files, each result of the folders once."""
    from stereo_framework.sweep.result_set import ResultSet

    folders = [table for table in tables if not _is_csv_file(table)]
    if len(folders) < 2:
        return ResultSet(result for table in tables for result in _results(table))
    files = [table for table in tables if _is_csv_file(table)]
    results_of_files = [result for file in files for result in _results(file)]
    return _results_of_folders(folders) + results_of_files


def _results_of_folders(folders: Sequence[Path]) -> ResultSet:
    """Return the results of several folders, and print what they lack."""
    from stereo_framework.sweep.merging import combined_results

    for folder in folders:
        _refuse_file(folder)
    combined = combined_results(folders)
    _shared.tell_some("warning", combined.warnings)
    if combined.missing_text:
        _shared.tell("warning", combined.missing_text)
    return combined.results


def _is_csv_file(table: Path) -> bool:
    return table.suffix.lower() == ".csv" and not table.is_dir()


def _refuse_file(table: Path) -> None:
    """Refuse a file that is not a CSV file."""
    if table.is_file():
        raise DataError(f"{table}: expected a results folder or a .csv file")


def _results(table: Path) -> ResultSet:
    """Return the results of a folder or of a CSV file."""
    from stereo_framework.sweep import Store
    from stereo_framework.tables.formats import read_csv

    if _is_csv_file(table):
        return read_csv(table)
    _refuse_file(table)
    with Store(table) as store:
        results, lacking = store.results(), store.lacking()
    if lacking:
        _shared.tell("warning", f"{table}: {lacking}")
    return results


def _table(order: list[int], found: Scores, groups: bool) -> tuple[list[str], list[list[str]]]:
    from stereo_framework.sweep.value_text import cell_text
    from stereo_framework.tables.words import short_names

    header = ["rank", "method", "average rank", *["A* group"] * groups]
    places, average, a_star = found.places, found.average_ranks, found.groups
    rows = [
        [str(places[i]), found.methods[i], f"{average[i]:.2f}", *[str(a_star[i])] * groups]
        for i in order
    ]
    shown = short_names(filter(None, found.scenes)) | {"": ""}
    for column, values, ranks in zip(
        found.columns, found.values.T.tolist(), found.ranks.T.tolist(), strict=True
    ):
        header.append(column._replace(scene=shown[column.scene]).name)
        cells = [(cell_text(values[i]), str(ranks[i])) for i in order]
        widths = [max(len(cell[part]) for cell in cells) for part in (0, 1)]
        for row, (score, place) in zip(rows, cells, strict=True):
            row.append(f"{score:>{widths[0]}} {place:>{widths[1]}}")
    return header, rows


def _print_boundary(results: ResultSet, *, json: bool) -> None:
    """Print tables that compare methods by error rate against sparsity rate."""
    from stereo_framework.tables.boundary import boundary

    found = boundary(results)
    feasible = {scene: found.feasible(scene) for scene in found.points}
    if json:
        _shared.print_json(
            [
                {
                    "efficiencies": found.efficiencies(),
                    "improvements": found.improvements(),
                    "boundary": feasible,
                }
            ]
        )
        return
    _matrix("E: efficiency, 1 = ideal; Expected: of the mean curve", found.efficiencies())
    _matrix(
        "I(row | column): what the row's mean curve gains over the column's", found.improvements()
    )
    for scene, points in feasible.items():
        rows = [
            [
                f"{p.sparsity_rate:.4f}",
                f"{p.error_rate:.4f}",
                p.method,
                _setting(p, found.points[scene][p.method]),
            ]
            for p in points
        ]
        _shared.print_table(
            ["sparsity_rate", "error_rate", "method", "setting"],
            rows,
            title=f"feasibility boundary of {scene}",
        )


def _matrix(title: str, values: Mapping[str, Mapping[str, float]]) -> None:
    columns = list(dict.fromkeys(name for row in values.values() for name in row))
    columns = list(values) if set(columns) <= set(values) else columns
    rows = [
        [name, *(f"{row[c]:.3f}" if c in row else "-" for c in columns)]
        for name, row in values.items()
    ]
    _shared.print_table(["method", *columns], rows, title=title)


def _setting(point: Point, others: list[Point]) -> str:
    """Return the parameters that distinguish a point from others of its method."""
    from stereo_framework.sweep.value_text import setting_text

    varied = [
        k for k, v in point.parameters.items() if any(p.parameters.get(k) != v for p in others)
    ]
    return (
        ", ".join(f"{k}={setting_text(point.parameters[k])}" for k in varied) or "the only setting"
    )
