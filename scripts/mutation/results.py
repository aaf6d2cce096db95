"""Outcomes of changes: their file, lines of progress and the list of survivors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

LIMIT = 0.1
"""Largest share of the sample that may survive."""


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
        Line of the changed code.
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
        Number of tests that were run, and of those that execute the changed code.
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
        for number, line in enumerate(self._lines(), start=1):
            try:
                entry = json.loads(line)
                mutant = Mutant(**entry["mutant"])
                outcome = Outcome(**entry["outcome"])
                sources, tests = entry["sources"], entry["tests"]
            except (ValueError, KeyError, TypeError):
                # A killed run may leave half a line; its change is tried again.
                print(f"{self.path}:{number}: the line is no outcome, so it is ignored")
                continue
            if sources != self.digests["sources"]:
                message = (
                    f"--out {self.path}: the file belongs to another state of the source"
                    " code; name a new file"
                )
                raise UsageError(message)
            # New tests may find a survivor, and do not lose what others found.
            if outcome.found or tests == self.digests["tests"]:
                self.outcomes[mutant.key] = outcome

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Keep an outcome, in the file too."""
        self.outcomes[mutant.key] = outcome
        if self.path is None:
            return
        entry = {"mutant": asdict(mutant), "outcome": asdict(outcome), **self.digests}
        text = json.dumps(entry, ensure_ascii=False) + "\n"
        # The line that a killed run left unfinished must not swallow this one.
        is_unfinished = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
        if is_unfinished and self.path.stat().st_size > 0:
            text = "\n" + text
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(text)

    def progress(self, mutant: Mutant, number: int) -> str:
        """Return the line that reports the outcome of a change, one of a number."""
        outcome = self.outcomes[mutant.key]
        word = "found   " if outcome.found else "SURVIVED"
        count = f"{len(self.outcomes)}/{number}"
        line = f"{count:>7}  {word}  {mutant.kind:11} {mutant.file}:{mutant.line}"
        details = outcome.reason
        if not outcome.found and outcome.all_tests:
            details = f"{outcome.tests} of the {outcome.all_tests} tests that execute it pass"
        return f"{line}  ({outcome.seconds:.0f} s)  {details}"

    def print_summary(self, mutants: Sequence[Mutant]) -> bool:
        """Print the survivors of a sample; return whether they are few enough."""
        tried = [mutant for mutant in mutants if mutant.key in self.outcomes]
        survivors = [mutant for mutant in tried if not self.outcomes[mutant.key].found]
        unmet = [mutant for mutant in survivors if not self.outcomes[mutant.key].all_tests]
        met = [mutant for mutant in survivors if mutant not in unmet]
        self._print_survivors("Survivors with which the tests pass:", met)
        self._print_survivors("Survivors that no test executes:", unmet)

        share = len(survivors) / max(1, len(tried))
        count = f"{len(survivors)} of {len(tried)} changes survive"
        print(f"\n{count} ({share:.0%}; the limit is {LIMIT:.0%})")
        return share <= LIMIT

    def _print_survivors(self, title: str, mutants: Sequence[Mutant]) -> None:
        if not mutants:
            return
        print(f"\n{title}")
        for mutant in sorted(mutants, key=lambda mutant: (mutant.file, mutant.line)):
            outcome = self.outcomes[mutant.key]
            line = f"\n{mutant.file}:{mutant.line}: {mutant.kind}"
            if outcome.all_tests:
                line += f" ({outcome.tests} of {outcome.all_tests} tests were run)"
            print(line)
            print(f"  - {mutant.old}".replace("\n", "\n    "))
            print(f"  + {mutant.new}".replace("\n", "\n    "))

    def _lines(self) -> list[str]:
        assert self.path is not None
        # A lone line feed ends a line; other separators may occur inside a text.
        content = self.path.read_text(encoding="utf-8", errors="replace")
        return [line for line in content.split("\n") if line]
