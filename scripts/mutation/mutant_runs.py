"""Runs of mutants: each change is made in a copy, in which its tests run."""

from __future__ import annotations

import ast
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mutation.changes import Change
from mutation.record import FailingTests, RecordedTest
from mutation.results import Mutant, Outcome
from mutation.trees import Processes, Tree, copied, copy_kernels
from mutation.witnesses import Package, is_kernel

_START = 60
"""Seconds that pytest may take before and after the tests, on a busy machine."""

_SLOWER = 8
"""How many times as long as before the tests may take, on a busy machine."""

_COMPILING = 400
"""Seconds that changed kernels may compile, on a busy machine."""


class MutantRuns:
    """Tries changes in copies of a checkout.

    Parameters
    ----------
    root : Path
        A copy of the checkout, to which compiled kernels may be added.
    trees : mapping
        Syntax trees of the package by file.
    processes : Processes
        The processes of this program.
    seconds : float
        Time that the tests of one change may take without the change.
    tests : mapping
        Recorded tests; the key tells whether kernels were interpreted.
    """

    def __init__(
        self,
        root: Path,
        trees: Mapping[str, ast.Module],
        processes: Processes,
        seconds: float,
        tests: Mapping[bool, Sequence[RecordedTest]],
    ) -> None:
        self._root = root
        self._processes = processes
        self._seconds = seconds
        self._tests = tests
        self._package = Package(trees)
        self._files_with_kernels = {
            file for file, tree in trees.items() if any(map(is_kernel, ast.walk(tree)))
        }

    def outcome(self, mutant: Mutant, change: Change) -> Outcome:
        """Make a change in a copy and run the tests that execute it."""
        start = time.monotonic()
        in_kernel = any(map(is_kernel, change.ancestors))
        may_compile = mutant.file in self._files_with_kernels or not change.is_in_function
        number_run = 0
        number_of_all = 0
        reason = ""
        for interpreted in [True, False] if in_kernel else [False]:
            selected = self._selected(mutant, change, interpreted)
            chosen = affordable(selected, self._seconds)
            number_of_all += len(selected)
            number_run += len(chosen)
            if chosen:
                with copied(self._root, self._processes) as tree:
                    path = tree.folder / mutant.file
                    source = path.read_text(encoding="utf-8")
                    path.write_text(change.applied(source), encoding="utf-8")
                    limit = self._limit(chosen, compiles=may_compile and not interpreted)
                    reason = self._failure(tree, chosen, limit, interpreted=interpreted)
            if reason:
                break

        seconds = round(time.monotonic() - start, 1)
        found = bool(reason)
        if number_of_all == 0:
            reason = "no test executes it"
        return Outcome(found, reason, number_run, number_of_all, seconds)

    def require_success(self, mutant: Mutant, change: Change) -> None:
        """Refuse to go on if the tests of a change fail without the change."""
        chosen = affordable(self._selected(mutant, change, False), self._seconds)
        if not chosen:
            return
        with copied(self._root, self._processes) as tree:
            limit = self._limit(chosen, compiles=True)
            reason = self._failure(tree, chosen, limit, interpreted=False)
            end = tree.end_of_output()
            copy_kernels(tree.folder, self._root)
        if reason:
            message = f"{reason}: the failure occurs before any change; pytest ends with:\n{end}"
            raise FailingTests(message)

    def _selected(self, mutant: Mutant, change: Change, interpreted: bool) -> list[RecordedTest]:
        lines = self._package.witnesses(mutant.file, change, compiled=not interpreted)
        return [test for test in self._tests.get(interpreted, []) if test.executes(lines)]

    def _limit(self, tests: Sequence[RecordedTest], *, compiles: bool) -> float:
        """Return the seconds after which a change counts as one that never ends."""
        limit = _START + _SLOWER * sum(test.seconds for test in tests)
        return limit + _COMPILING if compiles else limit

    def _failure(
        self, tree: Tree, tests: Sequence[RecordedTest], limit: float, *, interpreted: bool
    ) -> str:
        """Return the name of the first test that fails, another reason or nothing."""
        status = tree.run_tests(
            sorted({test.file for test in tests}),
            names=[test.name for test in tests],
            interpreted=interpreted,
            stop_at_failure=True,
            seconds=limit,
        )
        # With 5 the change removed the cases of the tests, and none of them failed.
        if status in (0, 5):
            return ""
        failed = [str(test["name"]) for test in tree.outcomes() if test["outcome"] == "failed"]
        if status is None:
            return f"the tests do not end within {limit:.0f} s"
        if status < 0:
            return f"signal {-status} ends the tests"
        return failed[0] if failed else f"pytest cannot collect the tests (status {status})"


def affordable(tests: Sequence[RecordedTest], seconds: float) -> list[RecordedTest]:
    """Choose and order the tests to run: the cheapest ones, within some seconds.

    The cheapest case of each test function comes first, then the second cheapest and so
    on, because the cases of one function notice similar changes. At least one test is
    chosen.
    """
    number_of_cases: dict[str, int] = {}
    entries: list[tuple[int, float, str, RecordedTest]] = []
    for test in sorted(tests, key=lambda test: (test.seconds, test.name)):
        function = test.name.partition("[")[0]
        number_of_cases[function] = number_of_cases.get(function, 0) + 1
        entries.append((number_of_cases[function], test.seconds, test.name, test))

    chosen: list[RecordedTest] = []
    total = 0.0
    for *_, test in sorted(entries, key=lambda entry: entry[:3]):
        if chosen and total + test.seconds > seconds:
            continue
        chosen.append(test)
        total += test.seconds
    return chosen
