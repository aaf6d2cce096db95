"""The figures of a file, and the places behind them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from .words import MARKERS


@dataclass(frozen=True)
class Case:
    """A place in a file that a column counts.

    The weight orders the cases of a column: it is a size if the column is about sizes.
    """

    line: int
    last_line: int
    note: str
    weight: int = 1


@dataclass(frozen=True)
class Passage:
    """A piece of prose: a docstring, a comment, a message, a page or a text in YAML."""

    kind: str
    line: int
    text: str


@dataclass
class Measurement:
    """The things that were counted in a file, and the cases among them."""

    path: Path
    totals: Counter[str] = field(default_factory=Counter)
    cases: dict[str, list[Case]] = field(default_factory=lambda: defaultdict(list))
    sizes: list[int] = field(default_factory=list)
    functions: list[tuple[int, str]] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)

    def add_case(
        self, column: str, line: int, note: str, weight: int = 1, last_line: int | None = None
    ) -> None:
        """Add a case to a column."""
        end = line if last_line is None else last_line
        self.cases[column].append(Case(line, end, note, weight))

    def add_passage(self, passage: Passage) -> None:
        """Add a piece of prose: its words, and the marker words among them."""
        self.passages.append(passage)
        text = INLINE_CODE.sub("X", without_code(passage.text))
        self.totals[f"words of {passage.kind}"] += len(WORD.findall(text))
        for match in MARKERS.finditer(text):
            line = passage.line + text.count("\n", 0, match.start())
            words = " ".join(match.group().split())
            self.add_case(f"markers {passage.kind}", line, f"the words '{words}'")


WORD = re.compile(r"[A-Za-z']+")

INLINE_CODE = re.compile(r"``[^`]*``|`[^`]*`")

CODE_IN_PROSE = re.compile(
    r"""
      ```.*?```                     # a block of code in Markdown
    | ^[ \t]*(?:>>>|\.\.\.)[^\n]*$  # a line of a doctest
    | ^[ \t]*[\w*, ]+[ ]:[ ][^\n]*$ # the name and the type of a parameter in numpydoc
    | ^[ \t]*[-=|:~ ]{3,}$          # an underline, or the second line of a table
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def without_code(text: str) -> str:
    """Remove code and types from prose. The numbers of the lines stay the same."""
    return CODE_IN_PROSE.sub(lambda match: "\n" * match.group().count("\n"), text)
