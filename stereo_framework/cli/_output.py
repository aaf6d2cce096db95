"""What verbs print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from stereo_framework.core.errors import few, harmless

if TYPE_CHECKING:
    from stereo_framework.own_pair.choosing import Standing
    from stereo_framework.sweep import Result
    from stereo_framework.sweep.tune import Trial


def print_json(value: Any) -> None:
    """Print plain data; NaN, which JSON has not, becomes null."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False, default=str))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    keys: int = 0,
    upright: bool = False,
    best: Collection[tuple[int, int]] = (),
) -> None:
    """Print a table as `laid_out` arranges it for the terminal, with the cells `best` bold; into a pipe, with tabs between the cells."""
    from stereo_framework.tables.terminal import laid_out, tabbed

    say(title)
    header, *rows = ([harmless(cell) for cell in row] for row in (header, *rows))
    if not on_a_terminal():
        print("\n".join(tabbed(header, rows)))
        return
    print(laid_out(header, rows, _columns(), keys=keys, upright=upright, best=best) + "\n")


def say(*lines: str, indent: int = 0) -> None:
    """Print lines that are not empty; too long ones go on below, indented, on a terminal."""
    for line in map(harmless, filter(None, lines)):
        if on_a_terminal():
            options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": " " * indent}
            line = textwrap.fill(line, _columns(), **options)
        print(line)


def tell(kind: str, *lines: str) -> None:
    """Print what is wrong beside the results, each line with its kind: ``warning: ...``."""
    for line in lines:
        print(harmless(f"{kind}: {line}"), file=sys.stderr)


def on_a_terminal() -> bool:
    """Whether people see what is printed."""
    return sys.stdout.isatty()


def _columns() -> int:
    """Characters of a line of the terminal."""
    return shutil.get_terminal_size().columns


def said_protocol(text: str) -> str:
    """The first choices of a protocol in one line."""
    from stereo_framework.evaluation.protocols import PRESETS
    from stereo_framework.tables.terminal import protocol_line

    name = text.partition(": ")[0]
    how = f"stages {name}" if name in PRESETS else "the page of 'report'"
    return protocol_line(text, _columns() if on_a_terminal() else 0, how)


_AVERAGES = 200
"""Averages below a table of which only the first rows are printed."""


def print_results(
    results: Sequence[Result],
    columns: Sequence[str] = (),
    *,
    most: int | None = None,
    whole: str = "--limit 0",
) -> list[Result]:
    """Print results, one table for each protocol and what it is, in short, under it, then warnings and errors.

    Where just the first rows of each protocol are printed, at `most` so many, the columns and what is best are those of all of its results, and `whole` is what
    shows all of them. A table over several scenes ends with the averages that the protocol prescribes, over all results, of which a cut table shows no
    more than `_AVERAGES`. The results that are printed are returned.
    """
    from stereo_framework.tables.means import average_rows
    from stereo_framework.tables.tables import listing
    from stereo_framework.tables.values import by_protocol
    from stereo_framework.tables.words import setting_name

    means = average_rows(results)
    averages = by_protocol(means)
    printed: list[Result] = []
    for text, same in by_protocol(results).items():
        own = averages.get(text, [])
        part = range(len(same))[: most or None]
        below = range(len(own))[: _AVERAGES if most else None]
        table = listing([*same, *own], columns).rows_of([*part, *(len(same) + i for i in below)])
        printed += same[: len(part)]
        print_table(table.header, table.texts(), keys=table.keys, upright=True, best=table.best)
        say(said_protocol(text))
        say_cut(len(part), len(same), "rows", whole)
        say_cut(len(below), len(own), "averages", whole)
    warned: dict[tuple[str, str], list[str]] = {}
    for result in [*printed, *means]:
        for warning in result.warnings:
            warned.setdefault((result.scene, warning.removeprefix(f"{result.scene}: ")), []).append(setting_name(result))
        if result.error:
            tell("error", f"{result.scene} {setting_name(result)}: {result.error}")
    for (scene, warning), settings in warned.items():
        tell("warning", f"{scene} {few(list(dict.fromkeys(settings)), 1)}: {warning}")
    return printed


def say_cut(shown: int, count: int, what: str, whole: str) -> None:
    """Tell that only the first of something were printed."""
    if shown < count:
        say(f"the first {shown} of {count} {what}; {whole} shows all")


def print_tracebacks(failed: Sequence[Result] | Sequence[Trial]) -> None:
    """Print where in the code errors were raised, each place once."""
    for text in dict.fromkeys(one.traceback for one in failed if one.traceback):
        print(text, end="", file=sys.stderr)


def measured(results: Sequence[Result], measures: Sequence[str]) -> list[str]:
    """The statistics of results that measures or groups ask for; of the HCI metrics' coverages the pages and exports tell."""
    from stereo_framework.evaluation.metrics import GROUPS, metric_of

    asked = {name for measure in measures for name in GROUPS.get(measure, (measure,)) if name != "hci_coverage"}
    found = dict.fromkeys(name for r in results for name in r.statistics)
    return [name for name in found if (metric := metric_of(name)) and metric.name in asked]


def print_standings(scene: str, first: str, found: Sequence[Standing], seconds: Mapping[str, float] | None = None) -> None:
    """How maps compare with the first one, without truth."""
    print(f"{scene}, without truth, against {first}: wrong pixels more (+) or less (-), estimated, in percentage points")
    header = ["map", "estimate", "90 %", "answer", *(["seconds"] if seconds else [])]
    rows = [
        [s.name, f"{s.difference:+.1f}", f"+- {s.half_width:.1f}", s.verdict, *([f"{seconds[s.name]:.2f}"] if seconds else [])]
        for s in found
    ]
    print_table(header, rows)


def standings_record(scene: str, first: str, found: Sequence[Standing]) -> dict[str, Any]:
    """The same for ``--json``."""
    return {"scene": scene, "first": first, "standings": [vars(s) | {"verdict": s.verdict} for s in found]}
