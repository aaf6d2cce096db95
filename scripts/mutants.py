"""Change the source code a little, many times, and list the changes that no test notices.

    scripts/mutants.py PACKAGE --sample N --seed S [--tests PATH ...] [--out FILE]

PACKAGE is a folder or a file of ``stereo_framework``, such as ``core`` or
``stereo_framework/sweep/store.py``. Each change is made in a copy of the working tree, in
which the tests that execute the changed line are run, until one fails. A change that no test
notices survives. Some survivors do not alter any result; all are listed, because no program
can tell them apart. The exit status is 1 if more than 10 % of the sample survive.

The program is our own because mutmut leaves out functions with decorators, which are all our
kernels and stages, cosmic-ray neither draws samples nor selects tests by coverage, and
mutatest is no longer developed.

Kernels are tried twice. First the tests that CI runs without the JIT meet the change as plain
Python, where coverage sees the lines of kernels and nothing is compiled. A change that
survives is compiled and met by the tests that execute the functions which call the kernel.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mutation import record
from mutation.changes import Change, changes, draw
from mutation.record import SOURCES, FailingTests, RecordedTest, Recorder
from mutation.trees import Processes, Stopped, Tree, copied, project_files
from mutation.witnesses import Package, is_kernel

ROOT = Path(__file__).resolve().parents[1]

LIMIT = 0.1
"""Largest share of the sample that may survive."""

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

_START, _SLOWER, _COMPILING = 60, 8, 400
"""Time after which a change hangs: seconds to start pytest, times as long as the tests took
without the change, and seconds to compile kernels. Other work may slow the machine down."""

_INTERRUPTED = 130


class UsageError(Exception):
    """The command cannot be carried out as it was typed."""


@dataclass(frozen=True)
class Mutant:
    """A drawn change.

    Attributes
    ----------
    file : str
        The changed file.
    number : int
        Number of the change among all of its file, in the order of the syntax tree.
    kind : str
        Sort of the change.
    line : int
        Line of the changed statement.
    old, new : str
        Code before and after the change, without its formatting.
    """

    file: str
    number: int
    kind: str
    line: int
    old: str
    new: str

    @property
    def key(self) -> tuple[str, int, str]:
        """Identity of the change, for as long as the code stays the same."""
        return self.file, self.number, self.new


@dataclass(frozen=True)
class Outcome:
    """Whether the tests notice a change.

    Attributes
    ----------
    found : bool
        Whether they do.
    reason : str
        The test that fails, or another reason for the outcome.
    tests, all_tests : int
        Number of tests that were run, and that execute the changed line.
    seconds : float
        Time of the runs.
    """

    found: bool
    reason: str
    tests: int
    all_tests: int
    seconds: float


@dataclass
class Results:
    """The outcomes so far, and the file in which they are kept.

    Attributes
    ----------
    path : Path or None
        File of JSON lines; with None the outcomes are only printed.
    digests : dict
        Digests of the sources and of the tests.
    outcomes : dict
        Outcomes by the key of their mutant.
    """

    path: Path | None
    digests: dict[str, str]
    outcomes: dict[tuple[str, int, str], Outcome] = field(default_factory=dict)

    def read(self) -> None:
        """Read the outcomes of an earlier run, except for survivors of other tests."""
        if self.path is None or not self.path.exists():
            return
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                entry = json.loads(line)
                mutant = Mutant(**entry["mutant"])
                outcome = Outcome(**entry["outcome"])
            except (ValueError, KeyError, TypeError):
                # A killed run may leave half a line, which is tried again.
                print(f"{self.path}:{number}: the line is no outcome, so it is ignored")
                continue
            if entry["sources"] != self.digests["sources"]:
                message = (
                    f"--out {self.path}: the file belongs to another state of the source code;"
                    " name a new file"
                )
                raise UsageError(message)
            # New tests may find a survivor, and do not lose what others found.
            if outcome.found or entry["tests"] == self.digests["tests"]:
                self.outcomes[mutant.key] = outcome

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Keep an outcome, in the file too."""
        self.outcomes[mutant.key] = outcome
        if self.path is None:
            return
        entry = {"mutant": asdict(mutant), "outcome": asdict(outcome), **self.digests}
        text = json.dumps(entry, ensure_ascii=False) + "\n"
        with open(self.path, "a", encoding="utf-8") as file:
            # The line that a killed run left unfinished must not swallow this one.
            file.write(text if _ends_with_line_break(self.path) else "\n" + text)


class Trials:
    """Tries changes in copies of a checkout.

    Parameters
    ----------
    root : Path
        The checkout.
    processes : Processes
        The processes of this program.
    seconds : float
        Time that the tests of one change may take without the change.
    tests : dict
        Recorded tests; the key is whether kernels were interpreted.
    """

    def __init__(
        self,
        root: Path,
        processes: Processes,
        seconds: float,
        tests: dict[bool, list[RecordedTest]],
    ) -> None:
        self._root = root
        self._processes = processes
        self._seconds = seconds
        self._tests = tests
        self._package = Package(_syntax_trees(root, _python_files(root, SOURCES)))

    def outcome(self, mutant: Mutant, change: Change) -> Outcome:
        """Make a change in a copy and run the tests that execute its line."""
        start = time.monotonic()
        in_kernel = any(map(is_kernel, change.ancestors))
        modes = [True, False] if in_kernel and True in self._tests else [False]
        number_run, number_of_all, reason = 0, 0, ""
        for interpreted in modes:
            lines = self._package.witnesses(mutant.file, change, not interpreted)
            selected = [test for test in self._tests[interpreted] if test.executes(lines)]
            chosen = affordable(selected, self._seconds)
            number_of_all += len(selected)
            number_run += len(chosen)
            if chosen:
                with copied(self._root, self._processes) as tree:
                    _apply(change, tree.folder / mutant.file)
                    reason = self._failure(tree, chosen, interpreted, in_kernel)
            if reason:
                break
        seconds = round(time.monotonic() - start, 1)
        found = bool(reason)
        if number_of_all == 0:
            reason = "no test executes it"
        return Outcome(found, reason, number_run, number_of_all, seconds)

    def require_success(self, mutant: Mutant, change: Change) -> None:
        """Run the tests of a change without the change, and refuse to go on if they fail."""
        lines = self._package.witnesses(mutant.file, change, compiled=True)
        chosen = affordable([t for t in self._tests[False] if t.executes(lines)], self._seconds)
        if not chosen:
            return
        with copied(self._root, self._processes) as tree:
            reason = self._failure(tree, chosen, interpreted=False, compiles=True)
            output = tree.output.read_text(encoding="utf-8", errors="replace")
        if reason:
            end = "\n".join(output.splitlines()[-15:])
            message = f"{reason}: the test fails without any change; its output ends with:\n{end}"
            raise FailingTests(message)

    def _failure(
        self, tree: Tree, tests: Sequence[RecordedTest], interpreted: bool, compiles: bool
    ) -> str:
        """Run tests until one fails, and return its name or another reason."""
        limit = _START + _SLOWER * sum(test.seconds for test in tests)
        if compiles and not interpreted:
            limit += _COMPILING
        status = tree.run_tests(
            sorted({test.file for test in tests}),
            names=[test.name for test in tests],
            interpreted=interpreted,
            stop_at_failure=True,
            seconds=limit,
        )
        # 5: the change removed all cases of the tests, and none of them failed.
        if status in (0, 5):
            return ""
        failed = [str(test["name"]) for test in tree.outcomes() if test["outcome"] == "failed"]
        if status is None:
            return f"the tests do not end within {limit:.0f} s"
        if status < 0:
            return f"the tests are killed by signal {-status}"
        return failed[0] if failed else f"the tests cannot be collected (status {status})"


def affordable(tests: Sequence[RecordedTest], seconds: float) -> list[RecordedTest]:
    """Return the tests to run, in their order: the cheapest ones within some seconds.

    The cheapest case of each test function comes first, then the second cheapest and so on,
    because the cases of one function notice much the same changes. At least one test is run.
    """
    rounds: dict[str, int] = {}
    ordered: list[tuple[int, float, str, RecordedTest]] = []
    for test in sorted(tests, key=lambda test: (test.seconds, test.name)):
        function = test.name.partition("[")[0]
        rounds[function] = rounds.get(function, 0) + 1
        ordered.append((rounds[function], test.seconds, test.name, test))
    chosen: list[RecordedTest] = []
    total = 0.0
    for _, cost, _, test in sorted(ordered, key=lambda entry: entry[:3]):
        if chosen and total + cost > seconds:
            continue
        chosen.append(test)
        total += cost
    return chosen


def drawn(root: Path, files: Sequence[str], number: int, seed: int) -> list[tuple[Mutant, Change]]:
    """Draw changes of some files."""
    candidates: list[Change] = []
    places: list[tuple[str, int]] = []
    for file, tree in _syntax_trees(root, files).items():
        of_file = changes(tree)
        candidates += of_file
        places += [(file, number) for number in range(len(of_file))]
    pairs: list[tuple[Mutant, Change]] = []
    for i in draw(candidates, number, seed):
        change = candidates[i]
        old, new = change.texts()
        line = getattr(change.node, "lineno", change.statement.lineno)
        pairs.append((Mutant(*places[i], change.kind, line, old, new), change))
    return pairs


def package_files(root: Path, package: str) -> list[str]:
    """List the Python files of PACKAGE, or refuse it."""
    within = package.rstrip("/")
    within = within.removeprefix("./").removeprefix(f"{SOURCES}/")
    path = f"{SOURCES}/{within}" if within != SOURCES else SOURCES
    files = _python_files(root, path)
    if not files:
        folders = sorted({name.split("/")[1] for name in _python_files(root, SOURCES)})
        message = (
            f"{package}: {path} has no Python file; name a folder or a file of {SOURCES}:"
            f" {', '.join(folders)}"
        )
        raise UsageError(message)
    return files


def tests_below(root: Path, paths: Sequence[str]) -> list[str]:
    """List the files of tests below some paths, or refuse a path without tests."""
    files = record.test_files(root)
    if not paths:
        return files
    selected: list[str] = []
    for path in paths:
        name = path.rstrip("/").removeprefix("./")
        below = [file for file in files if file == name or file.startswith(f"{name}/")]
        if not below:
            message = (
                f"--tests {path}: no file of tests has this name or lies in a folder of this name;"
                " name paths such as tests/engine or tests/test_scene.py"
            )
            raise UsageError(message)
        selected += below
    return list(dict.fromkeys(selected))


def run(arguments: argparse.Namespace, root: Path, processes: Processes) -> int:
    """Draw changes, try them and print the survivors; return the exit status."""
    files = package_files(root, arguments.package)
    test_files = tests_below(root, arguments.tests)
    pairs = drawn(root, files, arguments.sample, arguments.seed)
    if not pairs:
        message = f"{arguments.package}: no part of the code can be changed; name another package"
        raise UsageError(message)
    digests = {
        "sources": record.digest_of_sources(root),
        "tests": record.digest_of_tests(root) + " ".join(test_files),
    }
    results = Results(arguments.out, digests)
    results.read()
    waiting = [(mutant, change) for mutant, change in pairs if mutant.key not in results.outcomes]
    mutants = [mutant for mutant, _ in pairs]
    if len(waiting) < len(pairs):
        print(f"{len(pairs) - len(waiting)} of {len(pairs)} changes were tried before")

    try:
        if waiting:
            recorder = Recorder(root, arguments.cache, processes, arguments.workers, _print)
            tests = _recorded_tests(recorder, test_files, waiting)
            trials = Trials(root, processes, arguments.seconds, tests)
            trials.require_success(*waiting[0])
            for mutant, outcome in _tried(trials, waiting, arguments.workers, processes):
                results.add(mutant, outcome)
                _print(_progress(mutant, outcome, len(pairs), results))
    except KeyboardInterrupt:
        processes.stop()
        _print_summary(mutants, results)
        hint = f"--out {arguments.out}" if arguments.out else "--out FILE"
        print(f"interrupted; the same command with {hint} continues a run that has this option")
        return _INTERRUPTED
    return _print_summary(mutants, results)


def _recorded_tests(
    recorder: Recorder, files: Sequence[str], pairs: Sequence[tuple[Mutant, Change]]
) -> dict[bool, list[RecordedTest]]:
    tests = {False: recorder.recorded(files, interpreted=False)}
    in_kernels = any(is_kernel(node) for _, change in pairs for node in change.ancestors)
    quick = [file for file in files if file.startswith(INTERPRETED_TESTS)]
    if in_kernels and quick:
        tests[True] = recorder.recorded(quick, interpreted=True)
    return tests


def _tried(
    trials: Trials, pairs: Sequence[tuple[Mutant, Change]], workers: int, processes: Processes
) -> Iterator[tuple[Mutant, Outcome]]:
    """Yield the outcomes as they come, several changes at a time."""
    pool = ThreadPoolExecutor(workers)
    try:
        waiting = {pool.submit(trials.outcome, *pair): pair[0] for pair in pairs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    except BaseException:
        processes.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _progress(mutant: Mutant, outcome: Outcome, number: int, results: Results) -> str:
    word = "found   " if outcome.found else "SURVIVED"
    count = f"{len(results.outcomes)}/{number}"
    line = f"{count:>7}  {word}  {mutant.kind:11} {mutant.file}:{mutant.line}"
    tests = f"{outcome.tests} of {outcome.all_tests} tests"
    details = outcome.reason if outcome.found else f"{outcome.reason or 'all pass'}: {tests}"
    return f"{line}  ({outcome.seconds:.0f} s)  {details}"


def _print_summary(mutants: Sequence[Mutant], results: Results) -> int:
    """Print the survivors of the sample and return the exit status."""
    tried = [mutant for mutant in mutants if mutant.key in results.outcomes]
    survivors = [mutant for mutant in tried if not results.outcomes[mutant.key].found]
    unmet = [m for m in survivors if results.outcomes[m.key].all_tests == 0]
    met = [mutant for mutant in survivors if mutant not in unmet]
    _print_survivors("Survivors, which all tests pass:", met, results)
    _print_survivors("Survivors, which no test executes:", unmet, results)
    share = len(survivors) / max(1, len(tried))
    print(f"\n{len(survivors)} of {len(tried)} changes survive ({share:.0%}; at most {LIMIT:.0%})")
    return 1 if share > LIMIT else 0


def _print_survivors(title: str, mutants: Sequence[Mutant], results: Results) -> None:
    if not mutants:
        return
    print(f"\n{title}")
    for mutant in sorted(mutants, key=lambda mutant: (mutant.file, mutant.line, mutant.number)):
        outcome = results.outcomes[mutant.key]
        print(f"\n{mutant.file}:{mutant.line}: {mutant.kind}", end="")
        print(f" ({outcome.tests} of {outcome.all_tests} tests run)" if outcome.all_tests else "")
        print(f"  - {mutant.old}".replace("\n", "\n    "))
        print(f"  + {mutant.new}".replace("\n", "\n    "))


def _apply(change: Change, path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    path.write_text(change.applied(source), encoding="utf-8")


def _python_files(root: Path, path: str) -> list[str]:
    names = [name for name in project_files(root) if name.endswith(".py")]
    return [name for name in names if name == path or name.startswith(f"{path}/")]


def _syntax_trees(root: Path, files: Sequence[str]) -> dict[str, ast.Module]:
    return {file: ast.parse((root / file).read_text(encoding="utf-8")) for file in files}


def _ends_with_line_break(path: Path) -> bool:
    content = path.read_bytes()
    return not content or content.endswith(b"\n")


def _print(line: str) -> None:
    print(line, flush=True)


def _default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "stereo_framework", "mutants")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Exit status: 0 if at most 10 %% of the sample survive, 1 if more survive,"
        " 2 for wrong use and if tests fail before any change, 130 if interrupted.",
    )
    parser.add_argument("package", metavar="PACKAGE", help="folder or file of stereo_framework")
    parser.add_argument("--sample", type=_positive, default=60, metavar="N",
                        help="number of changes; default: %(default)s")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, metavar="S",
                        help="seed of the draw; default: %(default)s")  # fmt: skip
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH",
                        help="folders and files of tests to use; default: all")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=60, metavar="T",
                        help="time that the tests of a change may take; default: %(default)s")  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE",
                        help="file of outcomes, which a later run continues")  # fmt: skip
    parser.add_argument("--workers", type=_positive, default=os.cpu_count(), metavar="W",
                        help="changes at a time; default: one for each core")  # fmt: skip
    parser.add_argument("--cache", type=Path, default=_default_cache(), metavar="FOLDER",
                        help="folder of recorded coverage; default: %(default)s")  # fmt: skip
    return parser


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if importlib.util.find_spec("coverage") is None:
        parser.error("coverage.py is not installed; install it with pip install -e '.[dev]'")

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    # A program that is terminated must not leave running tests and copies behind.
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
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
