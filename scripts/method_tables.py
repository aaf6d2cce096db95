"""Run the methods of configs/comparison, store their errors and write docs/results.md.

    python scripts/method_tables.py [TABLE ...] [--data DIR] [--out DIR] [--pandora] [--seconds]

Errors go to ``docs/counts/results.json``, an entry for each table, from which page_tables.py
writes the pages. Stages use one thread; results that are in DIR are not computed again.

With ``--seconds`` everything is run again and only times are stored, in
``docs/counts/results_times.json``. This takes a quarter of an hour, and the script refuses
a machine that has other work to do.

With ``--scenes`` no method is measured: the sizes of the scenes go to
``docs/counts/scenes.json``, with the largest offset of rows that `fast` reports.
"""

import argparse
import re
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import page_tables
import yaml
from counts import add_counts, refuse_busy_machine, start_of_run

from stereo_framework import load_scene, run, threads
from stereo_framework.sweep.result import Result

ROOT = Path(__file__).parents[1]
SCRIPTS = (*page_tables.RESULT_TABLES, "kept_road")
"""Scripts in configs/comparison; a sentence shows the results of the last one."""

Methods = dict[str, dict[str, Result]]
"""Results by method and scene."""


def measured(name: str, arguments: argparse.Namespace) -> Methods:
    """Run the methods of a script, or read their results, without methods that failed."""
    script = ROOT / "configs" / "comparison" / f"{name}.yaml"
    folder = arguments.out if arguments.out and not arguments.seconds else None
    with threads(1):
        results = list(
            run(script, data=arguments.data, out=folder and folder / name, workers=1, maps=False)
        )
        if arguments.pandora:
            out = folder and folder / "pandora" / name
            results += run(_pandora(script), data=arguments.data, out=out, workers=1, maps=False)
    return _without_failures(results)


def _without_failures(results: list[Result]) -> Methods:
    """Group results by method; a method with a failed run is left out and reported."""
    failed = {result.method for result in results if result.error}
    methods: Methods = {}
    for result in results:
        if result.error:
            print(f"{result.method} on {result.scene}: {result.error}")
        if result.method not in failed:
            methods.setdefault(result.method, {})[result.scene] = result
    return methods


def error_statistics(methods: Methods) -> dict[str, Any]:
    """Return the percentages of bad pixels by method and scene, unrounded."""
    counts: dict[str, Any] = {}
    for method, results in methods.items():
        counts[method] = {}
        for scene, result in results.items():
            numbers = {
                name: value for name, value in result.statistics.items() if name.startswith("bad")
            }
            counts[method][scene] = numbers
    return counts


def mean_seconds(methods: Methods) -> dict[str, float]:
    """Return the mean matching time of each method over the scenes of its table."""
    seconds = {}
    for method, results in methods.items():
        photographs_only = any("trainingQ" in scene for scene in results)
        scenes = [scene for scene in results if "trainingQ" in scene or not photographs_only]
        seconds[method] = mean(results[scene].matching_seconds or 0 for scene in scenes)
    return seconds


def _pandora(script: Path) -> dict[str, Any]:
    """Return a script of Pandora's chain, filled from the background, on a script's scenes."""
    comparison = yaml.safe_load(script.read_text())
    method = {"matcher": "pandora_sgm", "refinement": ["fill_occlusions"]}
    scenes = {key: comparison[key] for key in ("scenes", "evaluation")}
    plugin = str(ROOT / "benchmarks" / "pandora_sgm.py")
    return {"plugins": [plugin], "methods": {"pandora": method}, **scenes}


def scene_facts(name: str, data: Path | None) -> dict[str, dict[str, float]]:
    """Return rows, columns, levels and the offset of rows in pixels for a table's scenes."""
    script = ROOT / "configs" / "comparison" / f"{name}.yaml"
    names = yaml.safe_load(script.read_text())["scenes"]
    facts: dict[str, dict[str, float]] = {}
    for result in run("fast", scenes=names, data=data, workers=1, maps=False):
        scene = load_scene(result.scene, data=data)
        assert scene.search is not None, "scenes of the data sets have a range"
        rows, columns = scene.reference.shape[:2]
        report = re.search(r"rows are off by up to ([\d.]+) px", " ".join(result.warnings))
        offset = float(report[1]) if report else 0.0
        facts[result.scene] = {
            "rows": rows,
            "columns": columns,
            "levels": scene.search.levels,
            "row_offset": offset,
        }
    return facts


def store(name: str, arguments: argparse.Namespace, start: dict[str, Any]) -> None:
    """Measure and store one table: its scenes, its times or its errors."""
    options = [option for option in ("--pandora", "--seconds", "--scenes") if option in sys.argv]
    command = " ".join(["python scripts/method_tables.py", name, *options])
    if arguments.scenes:
        add_counts("scenes", command, name, {**start, "scenes": scene_facts(name, arguments.data)})
        return
    methods = measured(name, arguments)
    if arguments.seconds:
        add_counts("results_times", command, name, {**start, "seconds": mean_seconds(methods)})
    else:
        add_counts("results", command, name, {**start, "errors": error_statistics(methods)})


def main() -> None:
    """Store the errors or the times of all methods and rewrite the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help=f"{', '.join(SCRIPTS)}; default: all"
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, help="folder in which results are stored")
    parser.add_argument("--seconds", action="store_true", help="measure and store times only")
    parser.add_argument("--scenes", action="store_true", help="store the sizes of the scenes only")
    parser.add_argument(
        "--pandora", action="store_true", help="with Pandora's chain: see benchmarks/pandora_sgm.py"
    )
    arguments = parser.parse_args()

    start = start_of_run()
    if arguments.seconds:
        refuse_busy_machine(start["machine"])
    for name in arguments.tables or SCRIPTS:
        store(name, arguments, start)
    page_tables.main()


if __name__ == "__main__":
    main()
