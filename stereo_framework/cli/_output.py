"""What verbs print: tables for people, JSON for machines, progress on the error stream."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stereo_framework.sweep import Result

_EVERY_SECONDS = 5.0
"""How often progress is told where it cannot be drawn."""


def print_json(value: Any) -> None:
    """Print plain data; NaN, which JSON has not, becomes null."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False, default=str))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print a table; all but the leading text columns are flushed right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        numeric = all(_is_number(row[i]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    # Files and pipes get the whole table, however wide.
    Console(
        soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 10_000, markup=False, highlight=False
    ).print(table)


def _is_number(text: str) -> bool:
    if text in ("", "-"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def print_results(results: Sequence[Result], columns: Sequence[str] = ()) -> None:
    """Print results, one table for each protocol with the protocol's text under it, then errors and warnings."""
    from stereo_framework.report.tables import results_table

    for text in dict.fromkeys(r.protocol_text for r in results):
        header, rows = results_table([r for r in results if r.protocol_text == text], columns)
        print_table(header, rows)
        print(text)
    for result in results:
        settings = ", ".join(f"{k}={v}" for k, v in result.axes.items())
        where = f"{result.scene} {result.method}" + (f" ({settings})" if settings else "")
        for warning in result.warnings:
            print(f"warning: {where}: {warning}", file=sys.stderr)
        if result.error:
            print(f"error: {where}: {result.error}", file=sys.stderr)


def progress(results: Iterable[Result], total: int) -> Iterator[Result]:
    """Pass results on while showing how far they are: a bar on a terminal, a line every few seconds elsewhere."""
    if total == 1:
        yield from results
    elif sys.stderr.isatty():
        yield from _bar(results, total)
    else:
        yield from _lines(results, total)


def _bar(results: Iterable[Result], total: int) -> Iterator[Result]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("running", total=total)
        for result in results:
            bar.update(task, advance=1, description=f"{result.scene} {result.method}")
            yield result


def _lines(results: Iterable[Result], total: int) -> Iterator[Result]:
    start = told = time.monotonic()
    for count, result in enumerate(results, 1):
        now = time.monotonic()
        if now - told >= _EVERY_SECONDS and count < total:
            left = (now - start) / count * (total - count)
            print(
                f"{count} of {total} done, about {left:.0f} s left ({result.scene} {result.method})", file=sys.stderr, flush=True
            )
            told = now
        yield result
