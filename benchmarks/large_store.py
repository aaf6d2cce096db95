"""Measure queries of a large results folder.

Run ``python benchmarks/large_store.py COUNT``.

The program makes a results folder with COUNT results of two methods on five scenes, or
uses the folder of ``--folder``. Half of the results lack the parameter
``matching_cost.truncation``, and it is null in a third of the others. The statistics
are those of two real runs, multiplied by random numbers.

Each query runs in a new process with one core. The table shows the processor time of
the query, without the start of Python and the imports, and the peak memory of the whole
process.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from stereo_framework import run
from stereo_framework.sweep import Result, ResultSet, Store
from stereo_framework.sweep.identity import result_key
from stereo_framework.tables.results import ordered, where
from stereo_framework.tables.summaries import group

SCENES = ("synthetic/planes", "synthetic/occlusions", "synthetic/slanted", "tsukuba", "venus")
STATISTIC = "bad_pixels_nonocc"
TRUNCATION = "matching_cost.truncation"
TRUNCATIONS = (5.0, 20.0, None)
RESULTS_PER_TRANSACTION = 1000


def selected(condition: str) -> Callable[[ResultSet], int]:
    """Return a query that counts the results that meet a condition."""
    return lambda results: len(where(results, [condition]))


def first_of(condition: str, key: str) -> Callable[[ResultSet], int]:
    """Return a query that reads the first 20 results that meet a condition."""
    return lambda results: len(ordered(where(results, [condition]), [key])[:20])


def grouped(*keys: str) -> Callable[[ResultSet], int]:
    """Return a query that averages a statistic for each value of some keys."""
    return lambda results: len(group(results, keys, [STATISTIC]).rows)


QUERIES: dict[str, Callable[[ResultSet], int]] = {
    "filter by a statistic": selected(f"{STATISTIC}<0.5"),
    "filter by a parameter that half of the results lack": selected(f"{TRUNCATION}=20"),
    "filter by null": selected(f"{TRUNCATION}=null"),
    "filter by a number, sort, read 20": first_of(f"{TRUNCATION}<=20", STATISTIC),
    "group by a parameter": grouped(TRUNCATION),
    "group by method and scene": grouped("method", "scene"),
}


def made_results(count: int) -> Iterator[Result]:
    """Yield results of two methods on five scenes."""
    [semi_global] = run("sgm", scenes="synthetic/planes")
    [window] = run("window", scenes="synthetic/planes")
    generator = random.Random(1)
    for i in range(count):
        setting, scene = divmod(i, len(SCENES))
        number = setting // 2
        axes: dict[str, Any]
        if setting % 2:
            template, axes = semi_global, {"optimization.p1": 1 + number}
        else:
            truncation = TRUNCATIONS[number % len(TRUNCATIONS)]
            size = 3 + 2 * (number // len(TRUNCATIONS))
            template, axes = window, {TRUNCATION: truncation, "aggregation.box.size": size}
        statistics = {
            name: value * generator.random() for name, value in template.statistics.items()
        }
        yield dataclasses.replace(
            template,
            id=f"{i:016x}",
            scene=SCENES[scene],
            parameters=dict(template.parameters) | axes,
            axes=axes,
            statistics=statistics,
        )


def make_folder(folder: Path, count: int) -> None:
    """Write results to a folder, with many results in a transaction."""
    with Store(folder, create=True) as store:
        # A sweep uses a transaction for each result, which would take minutes here.
        store._db.transaction = lambda content: contextlib.nullcontext()  # type: ignore
        connection = store._db._connection
        keys: list[str] = []
        for i, result in enumerate(made_results(count)):
            keys.append(result_key(result.id, result.method, "x" * 32, "0"))
            store.add(keys[-1], result)
            if i % RESULTS_PER_TRANSACTION == 0:
                connection.commit()
        store.set_listed_keys(keys)
        connection.commit()


def measure(folder: Path, query: str) -> dict[str, float]:
    """Return the processor time and the rows of a query, and the memory so far."""
    with Store(folder) as store:
        start = time.process_time()
        rows = QUERIES[query](store.query())
        seconds = time.process_time() - start
    return {"seconds": seconds, "rows": rows, "memory": peak_memory()}


def peak_memory() -> int:
    """Return the peak memory of this process in bytes. It needs Linux.

    The peak of `resource.getrusage` includes the memory of the parent process.
    """
    status = Path("/proc/self/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def measure_in_process(folder: Path, query: str, repeats: int) -> list[dict[str, float]]:
    """Measure a query in new processes on one core."""
    command = [sys.executable, __file__, "0", "--folder", str(folder), "--query", query]
    outputs = []
    for _ in range(repeats):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        outputs.append(json.loads(done.stdout))
    return outputs


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("count", type=int, help="number of results")
    parser.add_argument("--folder", type=Path, help="existing results folder to measure")
    parser.add_argument("--repeats", type=int, default=3, help="processes for each query")
    parser.add_argument("--query", choices=QUERIES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    if options.query is not None:
        print(json.dumps(measure(options.folder, options.query)))
        return

    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary, "results")
        if options.folder is None:
            make_folder(folder, options.count)
        size = (folder / "results.sqlite").stat().st_size
        table = Table(title=f"results.sqlite: {size / 1e6:.0f} MB", title_justify="left")
        for heading in ("query", "rows", "processor seconds", "peak memory"):
            table.add_column(heading, justify="left" if heading == "query" else "right")
        for query in QUERIES:
            outputs = measure_in_process(folder, query, options.repeats)
            seconds = min(output["seconds"] for output in outputs)
            memory = max(output["memory"] for output in outputs)
            rows = f"{outputs[0]['rows']:.0f}"
            table.add_row(query, rows, f"{seconds:.2f}", f"{memory / 1e6:.0f} MB")
        Console(width=100).print(table)


if __name__ == "__main__":
    main()
