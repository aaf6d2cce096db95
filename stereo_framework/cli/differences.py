"""The command ``differences``."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli.rank import results_of_tables
from stereo_framework.core.errors import ParameterError, one_line

if TYPE_CHECKING:
    from stereo_framework.sweep import ResultSet
    from stereo_framework.tables.differences import MethodComparison, PairOfMethods
    from stereo_framework.tables.tables import Table

_SMALLEST_SHOWN_P = 0.0001
"""Smaller p-values are printed as ``<0.0001``."""


def differences(
    tables: list[Path],
    statistic: str | None = None,
    by: Annotated[str, typer.Option(metavar="KEY,KEY")] = "method",
    baseline_method: Annotated[str | None, typer.Option("--baseline", metavar="METHOD")] = None,
    correction: str = "holm",
    block: str | None = None,
    where: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None,
    limit: Annotated[int, typer.Option(min=0)] = 200,
    format: str = "table",
    json: _shared.Json = False,
) -> None:
    """Test whether methods differ on the same scenes.

    The command prints the mean difference of each pair of methods, a 95 % interval, a
    p-value and a verdict in words. A decision needs at least six scenes on which the
    methods differ.

    Example: stereo-framework differences results/methods

    Example: stereo-framework differences results/methods --baseline ssd

    Parameters
    ----------
    tables
        Results folders, or CSV files with a row for each method. Several are compared
        together; a result that several folders contain counts once.
    statistic
        Statistic to compare; default: the first of the usual statistics, such as
        bad_pixels_nonocc.
    by
        Keys that distinguish the methods, separated by commas. For the settings of a
        sweep: method,aggregation.box.size, for example.
    baseline_method
        Compare all other methods only with this method.
    correction
        Correction of the p-values for the number of pairs: holm, bonferroni,
        benjamini-hochberg or none.
    block
        data_set: average the differences over the scenes of each data set first, and
        compare data sets instead of scenes.
    where
        Compare results with this scene, method, protocol, parameter or statistic, as in
        'results'; repeatable.
    limit
        Maximum number of rows of the printed table; 0 prints all. CSV, Markdown, LaTeX
        and JSON contain all rows.
    format
        table, csv, markdown or latex.
    """
    from stereo_framework.tables.differences import compare_methods
    from stereo_framework.tables.results import where as select

    _shared.check_format(format, json=json)
    results = select(results_of_tables(tables), where or [])
    name = statistic or _usual_statistic(results)
    comparison = compare_methods(
        results,
        name,
        _shared.names(by),
        baseline=baseline_method,
        correction=correction,
        block=block,
        better_first=True,
    )
    _shared.tell("warning", *comparison.warnings)
    if json:
        _shared.print_json([pair.record() for pair in comparison.pairs])
    elif format == "table":
        _print_comparison(comparison, correction, limit=limit)
    else:
        _print_formatted(comparison, format)
    if json or format == "csv":
        # These formats have no place for the title and the notes.
        lines = filter(None, [comparison.title, *comparison.notes, comparison.protocol])
        print("\n".join(map(one_line, lines)), file=sys.stderr)


def _usual_statistic(results: ResultSet) -> str:
    """Return the first usual statistic whose lower or higher values are better."""
    from stereo_framework.tables.directions import better_direction
    from stereo_framework.tables.method_scores import refuse_empty_results
    from stereo_framework.tables.tables import shown_statistics

    refuse_empty_results(results)
    for name in shown_statistics(results):
        if better_direction(name):
            return name
    message = (
        "--statistic: no statistic of these results has a direction in which values are better; "
        "name another statistic"
    )
    raise ParameterError(message)


def _print_formatted(comparison: MethodComparison, format: str) -> None:
    """Print all pairs as CSV, Markdown or LaTeX."""
    from stereo_framework.tables.formats import to_text

    print(to_text(_table(comparison), format), end="")


def _table(comparison: MethodComparison) -> Table:
    """Return a table with the numbers of all pairs."""
    from stereo_framework.tables.tables import Table

    records = [pair.record() for pair in comparison.pairs]
    return Table(
        header=tuple(records[0]),
        rows=tuple(tuple(record.values()) for record in records),
        keys=2,
        title=comparison.title,
        notes=tuple(filter(None, [*comparison.notes, comparison.protocol])),
    )


def _print_comparison(comparison: MethodComparison, correction: str, *, limit: int) -> None:
    """Print the pairs for a reader, and the meaning of the numbers."""
    pairs = comparison.pairs[: limit or None]
    has_blocks = comparison.pairs[0].blocks is not None
    # A narrow terminal prints the last columns in a second table. Therefore the columns
    # that every reader needs come first.
    header = ["first", "second", "verdict", "scenes"]
    if has_blocks:
        header.append("data sets")
    header += ["difference", "95 % interval", "p", "corrected p", "wins", "ties"]

    _shared.say(comparison.title)
    _shared.print_table(header, [_cells(pair) for pair in pairs], keys=2)
    _shared.say_cut(len(pairs), len(comparison.pairs), "pairs", "--limit 0")
    _shared.say(*comparison.notes)
    # Tables of scores, such as CSV files, have no protocol.
    if comparison.protocol:
        _shared.say(_shared.protocol_summary(comparison.protocol))
    _shared.say(*_explanations(comparison, correction))


def _cells(pair: PairOfMethods) -> list[str]:
    """Return the texts of the cells of a pair."""
    counts = [pair.scenes] if pair.blocks is None else [pair.scenes, pair.blocks]
    interval = "-"
    if not math.isnan(pair.low):
        interval = f"{pair.low:+.3g} to {pair.high:+.3g}"
    return [
        pair.first,
        pair.second,
        pair.verdict,
        *map(str, counts),
        _signed(pair.difference),
        interval,
        _p_text(pair.p),
        _p_text(pair.corrected_p),
        str(pair.wins),
        str(pair.ties),
    ]


def _signed(number: float) -> str:
    """Return a difference with its sign, or a dash for NaN."""
    return "-" if math.isnan(number) else f"{number:+.3g}"


def _p_text(p_value: float) -> str:
    """Return a p-value with four decimals, or a dash for NaN."""
    if math.isnan(p_value):
        return "-"
    if p_value < _SMALLEST_SHOWN_P:
        return f"<{_SMALLEST_SHOWN_P}"
    return f"{p_value:.4f}"


def _explanations(comparison: MethodComparison, correction: str) -> list[str]:
    """Return lines with the meaning of interval, p-values and verdict."""
    from stereo_framework.sweep.value_text import counted
    from stereo_framework.tables.paired_tests import LEVEL

    test_count = sum(1 for pair in comparison.pairs if not math.isnan(pair.p))
    pairs_text = counted(test_count, "pair")
    corrected_text = f"p after the correction for {pairs_text} ({correction})"
    if correction == "none":
        corrected_text = f"p itself, which is not corrected for {pairs_text}"
    return [
        "interval: if the experiment is repeated with other scenes of this kind, about 95 of 100 "
        "intervals contain the true mean difference",
        "p: the probability of differences at least as clear if both methods are equally good",
        f"corrected p: {corrected_text}",
        f"verdict: the verdict is better or worse if the corrected p-value is below {LEVEL}; it "
        "describes the first method; 'not decided' does not mean that both are equally good",
        "wins, ties: number of scenes on which the first method is better, and on which both "
        "methods are equal",
    ]
