"""Change the source code slightly, many times, and list the changes that tests miss.

    python scripts/mutants.py PACKAGE [--sample N] [--seed S] [--out FILE]

PACKAGE is a folder or a file of ``stereo_framework``, such as ``core`` or
``stereo_framework/sweep/store.py``. Each change is made in a copy of the working tree.
The tests that execute the changed code run in this copy until one fails. A change that
no test notices survives. Some survivors alter no result; all are listed, because no
program can tell them from the others.

The program is our own because mutmut leaves out functions with decorators, which all
our kernels and stages have. Cosmic-ray and mutatest do not select tests by the lines
that each test executes.

Kernels are tried twice. The tests that CI runs without the JIT meet a change first, as
plain Python: coverage sees the lines of kernels, and nothing is compiled. The tests of
refinement and aggregation take 10 s of processor time in this way. With compiled
kernels they take 18 s, and a changed kernel compiles for 3 to 20 s more. A change that
survives is then compiled, and the tests that execute the callers of the kernel run.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutation import record
from mutation.changes import Change, changes, draw
from mutation.mutant_runs import MutantRuns
from mutation.record import SOURCES, FailingTests, Recorder
from mutation.results import Mutant, Outcome, Results, UsageError
from mutation.trees import Processes, Stopped, copied, finished, project_files
from mutation.witnesses import is_kernel

ROOT = Path(__file__).resolve().parents[1]

INTERPRETED_TESTS = (
    "tests/preprocessing",
    "tests/matching_cost",
    "tests/aggregation",
    "tests/smoothness",
    "tests/optimization",
    "tests/refinement",
    "tests/confidence",
    "tests/matcher/test_patch_match.py",
)
"""Tests that CI runs without the JIT; others are too slow without it."""

_INTERRUPTED = 130

Drawn = list[tuple[Mutant, Change]]


def drawn(trees: Mapping[str, ast.Module], number: int, seed: int) -> Drawn:
    """Draw a number of changes of syntax trees."""
    candidates: list[Change] = []
    places: list[tuple[str, int]] = []
    for file, tree in trees.items():
        changes_of_file = changes(tree)
        candidates += changes_of_file
        places += [(file, i) for i in range(len(changes_of_file))]

    pairs: Drawn = []
    for i in draw(candidates, number, seed):
        file, number_in_file = places[i]
        change = candidates[i]
        old, new = change.texts()
        mutant = Mutant(file, number_in_file, change.kind, change.line, old, new)
        pairs.append((mutant, change))
    return pairs


def package_files(root: Path, package: str) -> list[str]:
    """List the Python files of PACKAGE, or refuse it."""
    name = package.rstrip("/").removeprefix("./")
    path = name if name.split("/")[0] == SOURCES else f"{SOURCES}/{name}"
    files = python_files(root, path)
    if not files:
        all_files = python_files(root, SOURCES)
        names = sorted({file.split("/")[1] for file in all_files})
        message = (
            f"{package}: {path} has no Python file; name a folder or a file of {SOURCES}:"
            f" {', '.join(names)}"
        )
        raise UsageError(message)
    return files


def python_files(root: Path, path: str) -> list[str]:
    """List the Python files at a path, which is a folder or a file."""
    names = [name for name in project_files(root) if name.endswith(".py")]
    return [name for name in names if name == path or name.startswith(f"{path}/")]


def tests_below(root: Path, paths: Sequence[str]) -> list[str]:
    """List the files of tests below some paths, or all; refuse a path without tests."""
    files = record.test_files(root)
    if not paths:
        return files
    selected: list[str] = []
    for path in paths:
        name = path.rstrip("/").removeprefix("./")
        below = [file for file in files if file == name or file.startswith(f"{name}/")]
        if not below:
            message = (
                f"--tests {path}: no file of tests has this name or lies in a folder of"
                " this name; name paths such as tests/engine or tests/test_scene.py"
            )
            raise UsageError(message)
        selected += below
    return list(dict.fromkeys(selected))


def run(arguments: argparse.Namespace, root: Path, processes: Processes) -> int:
    """Draw changes, try them and print the survivors; return the exit status."""
    files = package_files(root, arguments.package)
    test_files = tests_below(root, arguments.tests)
    trees = _syntax_trees(root, python_files(root, SOURCES))
    pairs = drawn({file: trees[file] for file in files}, arguments.sample, arguments.seed)
    if not pairs:
        message = f"{arguments.package}: no code can be changed; name another package"
        raise UsageError(message)

    mutants = [mutant for mutant, _ in pairs]
    digests = {"sources": record.digest_of_sources(root), "tests": record.digest_of_tests(root)}
    # Other tests, or fewer seconds for them, may miss other changes.
    digests["tests"] += f" {arguments.seconds:g} {' '.join(arguments.tests)}"
    results = Results(arguments.out, digests)
    results.read()
    waiting = [(mutant, change) for mutant, change in pairs if mutant.key not in results.outcomes]
    if len(waiting) < len(pairs):
        print(f"{len(pairs) - len(waiting)} of {len(pairs)} changes have outcomes already")

    try:
        if waiting:
            _try(waiting, results, len(pairs), test_files, trees, arguments, root, processes)
    except KeyboardInterrupt:
        processes.stop()
        results.print_summary(mutants)
        if arguments.out:
            print("interrupted; the same command continues the run")
        else:
            print("interrupted; a run with --out FILE can be continued by the same command")
        return _INTERRUPTED
    return 0 if results.print_summary(mutants) else 1


def _try(
    pairs: Drawn,
    results: Results,
    number: int,
    test_files: Sequence[str],
    trees: Mapping[str, ast.Module],
    arguments: argparse.Namespace,
    root: Path,
    processes: Processes,
) -> None:
    """Record the coverage of the tests, then try changes and report the outcomes."""
    # The checkout may be edited while this program runs, so one copy serves all trials.
    with copied(root, processes) as base:
        recorder = Recorder(base.folder, arguments.cache, processes, arguments.workers, _print)
        tests = {False: recorder.recorded(test_files, interpreted=False)}
        in_kernels = any(is_kernel(node) for _, change in pairs for node in change.ancestors)
        quick_files = [file for file in test_files if file.startswith(INTERPRETED_TESTS)]
        if in_kernels and quick_files:
            tests[True] = recorder.recorded(quick_files, interpreted=True)

        trials = MutantRuns(base.folder, trees, processes, arguments.seconds, tests)
        _print("running the tests of the first change without the change")
        trials.require_success(*pairs[0])
        for mutant, outcome in _outcomes(trials, pairs, arguments.workers, processes):
            results.add(mutant, outcome)
            _print(results.progress(mutant, number))


def _outcomes(
    trials: MutantRuns, pairs: Drawn, workers: int, processes: Processes
) -> Iterator[tuple[Mutant, Outcome]]:
    """Yield outcomes as they come, several changes at a time."""
    pool = ThreadPoolExecutor(workers)
    try:
        mutant_of = {pool.submit(trials.outcome, *pair): pair[0] for pair in pairs}
        for future in finished(mutant_of):
            yield mutant_of[future], future.result()
    except BaseException:
        processes.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _syntax_trees(root: Path, files: Sequence[str]) -> dict[str, ast.Module]:
    return {file: ast.parse((root / file).read_text(encoding="utf-8")) for file in files}


def _print(line: str) -> None:
    print(line, flush=True)


def _default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "stereo_framework", "mutants")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        message = f"{text} is not a positive number"
        raise argparse.ArgumentTypeError(message)
    return number


def _parser() -> argparse.ArgumentParser:
    epilog = (
        "The exit status is 0 if at most 10 % of the sample survive, 1 if more survive, 2 for"
        " wrong use or if tests fail before any change, and 130 if the run is interrupted."
    )
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=epilog)
    parser.add_argument("package", metavar="PACKAGE", help="folder or file of stereo_framework")
    sample_help = "number of changes; default: %(default)s"
    parser.add_argument("--sample", type=_count, default=60, metavar="N", help=sample_help)
    seed_help = "seed of the draw; default: %(default)s"
    parser.add_argument("--seed", type=int, default=1, metavar="S", help=seed_help)
    tests_help = "folders and files of tests to use; default: all tests that plain pytest runs"
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help=tests_help)
    seconds_help = "time that the tests of a change may take; default: %(default)s"
    parser.add_argument("--seconds", type=float, default=60, metavar="T", help=seconds_help)
    out_help = "file to which outcomes are added, and which a later run continues"
    parser.add_argument("--out", type=Path, metavar="FILE", help=out_help)
    workers_help = "changes at a time; default: one for each core"
    parser.add_argument(
        "--workers", type=_count, default=os.cpu_count(), metavar="W", help=workers_help
    )
    cache_help = "folder of the recorded coverage; default: %(default)s"
    parser.add_argument(
        "--cache", type=Path, default=_default_cache(), metavar="FOLDER", help=cache_help
    )
    return parser


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if importlib.util.find_spec("coverage") is None:
        parser.error("coverage.py is not installed; install it with pip install -e '.[dev]'")
    if parsed.out is not None and not parsed.out.absolute().parent.is_dir():
        parser.error(f"--out {parsed.out}: the folder does not exist; create it first")

    # A terminated program must leave neither running tests nor copies behind.
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    processes = Processes()
    try:
        return run(parsed, root, processes)
    except (UsageError, FailingTests) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, Stopped):
        processes.stop()
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
