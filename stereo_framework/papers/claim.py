"""What a paper says and what we check ourselves: a sentence, and a function that measured data can prove wrong.

Published numbers are `Comparison`; a `Claim` is everything else that a page judges. A claim with a `section` is a statement of the paper and counts; one
without is a check of our own, which is listed separately and not part of any total.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stereo_framework.page.page import Statement
from stereo_framework.papers.published import raw_table
from stereo_framework.tables.tables import Table


class Verdict(NamedTuple):
    """Whether a claim holds, or None if it could not be tested, and the figures that decide."""

    holds: bool | None
    figures: str


@dataclass(frozen=True)
class Claim:
    """A sentence and the function that judges it.

    Parameters
    ----------
    name : str
        A short name, unique within the paper.
    text : str
        The paper's own sentence; if `quoted` is false, what the section says in our words.
    judge : callable
        Takes measured data, whatever the item measures, and returns a `Verdict`.
    section : str
        Where the paper says it, such as ``"section 6.1"``. Empty: it is a check of our own.
    quoted : bool
        Whether `text` is word for word the paper's.
    why : str
        The known reason why it does not hold; shown only then.
    """

    name: str
    text: str
    judge: Callable[..., Verdict]
    section: str = ""
    quoted: bool = False
    why: str = ""

    def asked(self, *measured: Any) -> Statement:
        """The claim with its verdict on these data."""
        return self._told(self.judge(*measured))

    def unasked(self, reason: str) -> Statement:
        """The claim as not checked, for this reason."""
        return self._told(Verdict(None, reason))

    def _told(self, verdict: Verdict) -> Statement:
        source = self.section and f"{self.section}, {'the paper’s words' if self.quoted else 'in our words'}"
        text = f"“{self.text}”" if self.quoted else self.text
        return Statement(text, verdict.holds, verdict.figures, source, self.why if verdict.holds is False else "")


def claims(paper: str, judges: Mapping[str, Callable[..., Verdict]]) -> tuple[Claim, ...]:
    """Claims of ``papers/PAPER/claims.yaml`` by their names there, each with the function that judges it."""
    said = raw_table(paper, "claims")
    return tuple(Claim(name, judge=judge, **said[name]) for name, judge in judges.items())


Cases = Iterable[tuple[str, bool]]
"""The figures of each case of a claim, and whether it holds."""


def cases(told: Cases) -> Verdict:
    """The verdict on a claim that holds if all its cases do, with the figures of each case, failing ones first. Without any case it is not checked."""
    found = sorted(told, key=lambda case: case[1])
    figures = "; ".join(f"{'' if holds else 'NOT '}{f}" for f, holds in found)
    return Verdict(all(holds for _, holds in found) if found else None, figures or "no data")


def by_cases(tell: Callable[..., Cases]) -> Callable[..., Verdict]:
    """Make a judge from a function that returns all cases of a claim."""

    @functools.wraps(tell)
    def judge(*measured: Any) -> Verdict:
        return cases(tell(*measured))

    return judge


def verdict_word(holds: bool | None) -> str:
    """A verdict in words."""
    return "not checked" if holds is None else "holds" if holds else "does not hold"


def failures_first(statements: Sequence[Statement]) -> list[Statement]:
    """Sorted: first what does not hold, then what was not checked, then what holds."""
    return sorted(statements, key=lambda s: (s.holds is True, s.holds is None))


CLAIM_HEADER = ("verdict", "text", "source", "figures", "why not")


def claims_table(title: str, statements: Sequence[Statement]) -> Table:
    """Judged claims for CSV, Markdown and LaTeX files."""
    rows = tuple((verdict_word(s.holds), s.text, s.source, s.figures, s.why) for s in failures_first(statements))
    return Table(CLAIM_HEADER, rows, 0, title)
