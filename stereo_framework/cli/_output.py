"""What verbs print: tables for people, JSON for machines, progress on the error stream."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from stereo_framework.sweep import Result
    from stereo_framework.sweep.tune import Trial

_COMPILING = "compiling kernels: first use only; no result counts it as its seconds"
_EVERY_SECONDS = 5.0
"""How often progress is told where it cannot be drawn."""


def print_json(value: Any) -> None:
    """Print plain data; NaN, which JSON has not, becomes null."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False, default=str))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = vars(value)
    if isinstance(value, Mapping):
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


def print_results(
    results: Sequence[Result], columns: Sequence[str] = (), *, errors: bool = True, data: Path | None = None
) -> None:
    """Print results, one table for each protocol with its average over the scenes and its text, then warnings and, if wanted, errors."""
    from stereo_framework.tables.averages import averages
    from stereo_framework.tables.tables import results_table
    from stereo_framework.tables.words import setting_name

    means = averages(results, data)
    for text in dict.fromkeys(r.protocol_text for r in results):
        header, rows = results_table([r for r in (*results, *means) if r.protocol_text == text], columns)
        print_table(header, rows)
        print(text)
    for result in results:
        where = f"{result.scene} {setting_name(result)}"
        for warning in result.warnings:
            print(f"warning: {where}: {warning}", file=sys.stderr)
        if result.error and errors:
            print(f"error: {where}: {result.error}", file=sys.stderr)


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


def say_compiling() -> None:
    """Say on the error stream why this takes long."""
    # In one piece with its end: others write too.
    print(_COMPILING + "\n", end="", file=sys.stderr, flush=True)


class Progress:
    """How far a sweep is, or what a single result waits for: a bar on a terminal, a line every few seconds elsewhere; once that kernels are compiled.

    Parameters
    ----------
    total : int
        Results in all.
    things : str
        What they are, in the plural.
    """

    def __init__(self, total: int, things: str = "runs"):
        self.total, self.things, self.count, self.doing = total, things, 0, ""
        self._began: tuple[float, int] | None = None
        self._bar: Any = None
        self._ended = threading.Event()
        self._listening = contextlib.ExitStack()
        self._teller = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Progress:
        from stereo_framework.kernels.compiling import told

        self._listening.enter_context(told(self._compiling))
        if sys.stderr.isatty():
            from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn

            of_many = [MofNCompleteColumn()] if self.total > 1 else []
            self._bar = bar(*of_many, TimeElapsedColumn(), TextColumn("{task.fields[rate]}"))
            # A bar without a total moves to and fro.
            self._bar.add_task("", total=self.total if self.total > 1 else None, rate="")
            self._bar.start()
        else:
            self._teller.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listening.close()
        self._ended.set()
        if self._bar:
            self._bar.stop()
        if self._teller.is_alive():
            # No line comes late, between those of the results.
            self._teller.join()

    def watch(self, doing: str) -> None:
        """Note what is being computed; what was counted before the first call was there already."""
        if self._began is None:
            self._began = time.monotonic(), self.count
        self.doing = doing
        if self._bar and self._bar.tasks[0].description != doing:
            self._bar.update(self._bar.task_ids[0], description=doing)

    def advance(self) -> None:
        """Count one result."""
        self.count += 1
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self.count, rate=self.rate())

    def rate(self) -> str:
        """Speed and time left in words; empty while nothing can be said."""
        if self._began is None or self.count <= self._began[1]:
            return ""
        speed = (self.count - self._began[1]) / (time.monotonic() - self._began[0])
        left = f"{speed:.3g} {self.things}/s" if speed >= 1 else f"{1 / speed:.3g} s a {self.things[:-1]}"
        return f"{left}, about {_duration((self.total - self.count) / speed)} left"

    def _compiling(self) -> None:
        if self._bar:
            self._bar.console.print(_COMPILING)
        else:
            say_compiling()

    def _tell(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            if self.total == 1 and self.doing and self._began is not None:
                text = f"{self.doing}, {_duration(time.monotonic() - self._began[0])} so far\n"
                print(text, end="", file=sys.stderr, flush=True)
            elif self.total > 1 and self.count < self.total:
                parts = [f"{self.count} of {self.total} done", *filter(None, [self.rate()])]
                # In one piece with its end: others write too.
                print(", ".join(parts) + (f" ({self.doing})" if self.doing else "") + "\n", end="", file=sys.stderr, flush=True)


def bar(*columns: Any) -> Any:
    """A bar on the error stream, of rich: what is done, how far, and further columns."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    described = TextColumn("{task.description}", markup=False)
    return Bar(described, BarColumn(), *columns, console=Console(stderr=True), transient=True)


def _duration(seconds: float) -> str:
    """A time to wait, as one says it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
