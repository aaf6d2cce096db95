"""Run the methods of configs/comparison, store their errors and write docs/results.md.

    python scripts/method_tables.py [--data DIR] [--out DIR] [--pandora] [--seconds]

Errors go to ``docs/counts/results.json``, from which page_tables.py writes the tables.
Stages use one thread; results that are in DIR are not computed again.

With ``--seconds`` everything is run again and only times are stored, in
``docs/counts/results_times.json``. This takes a quarter of an hour, and the script refuses
a machine that has other work to do.
"""

import argparse
import re
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import page_tables
import yaml
from counts import refuse_busy_machine, start_of_run, write_counts

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
        results = list(run(script, data=arguments.data, out=folder and folder / name, workers=1, maps=False))
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
            numbers = {name: value for name, value in result.statistics.items() if name.startswith("bad")}
            counts[method][scene] = numbers
    return counts


def scene_sizes(tables: dict[str, Methods], data: Path | None) -> dict[str, dict[str, int]]:
    """Return rows, columns and levels of all scenes."""
    names = {scene for methods in tables.values() for results in methods.values() for scene in results}
    sizes = {}
    for name in sorted(names):
        scene = load_scene(name, data=data)
        assert scene.search is not None, "scenes of the data sets have a range"
        rows, columns = scene.reference.shape[:2]
        sizes[name] = {"rows": rows, "columns": columns, "levels": scene.search.levels}
    return sizes


def row_offsets(tables: dict[str, Methods]) -> dict[str, float]:
    """Return the largest offset of rows in pixels that `fine` reports, by scene."""
    offsets = {}
    for methods in tables.values():
        for scene, result in methods.get("fine", {}).items():
            report = re.search(r"rows are off by up to ([\d.]+) px", " ".join(result.warnings))
            if report:
                offsets[scene] = float(report[1])
    return offsets


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


def main() -> None:
    """Store the errors or the times of all methods and rewrite the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, help="folder in which results are stored")
    parser.add_argument("--seconds", action="store_true", help="measure and store times only")
    parser.add_argument("--pandora", action="store_true", help="with Pandora's chain: see benchmarks/pandora_sgm.py")
    arguments = parser.parse_args()

    start = start_of_run()
    if arguments.seconds:
        refuse_busy_machine(start["machine"])
    command = f"python scripts/method_tables.py {' '.join(sys.argv[1:])}"
    tables = {name: measured(name, arguments) for name in SCRIPTS}
    if arguments.seconds:
        timed_tables = {name: mean_seconds(methods) for name, methods in tables.items()}
        write_counts("results_times", command, {**start, "seconds": timed_tables})
    else:
        stored_tables = {name: error_statistics(methods) for name, methods in tables.items()}
        facts = {"scenes": scene_sizes(tables, arguments.data), "row_offsets": row_offsets(tables)}
        write_counts("results", command, {**start, **facts, "tables": stored_tables})
    page_tables.main()


if __name__ == "__main__":
    main()
