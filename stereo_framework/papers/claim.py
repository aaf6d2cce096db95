"""What a paper says, and what we check on our own: a sentence, and a function that measured data can prove wrong.

Published numbers are `Comparison`; a `Claim` is everything else that a page judges. One with a `section` is a statement of the paper and counts; one without
is a check of our own, which is told apart and is in no total.
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
    """Whether a claim holds, None where it could not be asked, and the figures that decide."""

    holds: bool | None
    figures: str


@dataclass(frozen=True)
class Claim:
    """A sentence and how it is judged.

    Parameters
    ----------
    name : str
        Short, one of its kind in the paper.
    text : str
        The paper's own sentence; where `quoted` is false, what the section says in our words.
    judge : callable
        Takes measured data, whatever the item measures, and returns a `Verdict`.
    section : str
        Where the paper says it, such as ``"section 6.1"``. Empty: the paper does not, it is a check of our own.
    quoted : bool
        Whether `text` is word for word the paper's.
    why : str
        What is known of why it does not hold; shown where it does not.
    """

    name: str
    text: str
    judge: Callable[..., Verdict]
    section: str = ""
    quoted: bool = False
    why: str = ""

    def asked(self, *measured: Any) -> Statement:
        """The claim with the verdict of these data."""
        return self._told(self.judge(*measured))

    def unasked(self, reason: str) -> Statement:
        """The claim, not checked for this reason."""
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
    """A claim that holds when all its cases do; each case with its figures, those that do not hold first. Without a case it is not checked."""
    found = sorted(told, key=lambda case: case[1])
    figures = "; ".join(f"{'' if holds else 'NOT '}{f}" for f, holds in found)
    return Verdict(all(holds for _, holds in found) if found else None, figures or "no data")


def by_cases(tell: Callable[..., Cases]) -> Callable[..., Verdict]:
    """A judge made of a function that gives all cases of a claim."""

    @functools.wraps(tell)
    def judge(*measured: Any) -> Verdict:
        return cases(tell(*measured))

    return judge


def verdict_word(holds: bool | None) -> str:
    """A verdict in words."""
    return "not checked" if holds is None else "holds" if holds else "does not hold"


def failures_first(statements: Sequence[Statement]) -> list[Statement]:
    """What does not hold, what was not checked, what holds."""
    return sorted(statements, key=lambda s: (s.holds is True, s.holds is None))


CLAIM_HEADER = ("verdict", "text", "source", "figures", "why not")


def claims_table(title: str, statements: Sequence[Statement]) -> Table:
    """Judged claims for CSV, Markdown and LaTeX files."""
    rows = tuple((verdict_word(s.holds), s.text, s.source, s.figures, s.why) for s in failures_first(statements))
    return Table(CLAIM_HEADER, rows, 0, title)
