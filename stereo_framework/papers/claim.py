"""What a paper says and what we check ourselves: a sentence, the rule that it carries, and a short function that judges it.

The sentences of a paper stand in ``papers/PAPER/paper.yaml``, in its own words. Each has a rule, written before its result was seen, and one of three kinds:

- ``runs``: judged on our runs of what the paper's figure shows;
- ``printed``: judged on the printed numbers alone, and beside it, in no total, on our own results;
- ``not judged``: with the reason.

A fourth kind, ``own``, is a check of ours, which is no sentence of the paper and in no total. The function that judges a sentence has its name and stands in
``papers/PAPER/claims.py``: it takes measured or printed data and returns the cases, all of which must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereo_framework.page.page import Statement
from stereo_framework.papers.published import raw_table

Cases = Iterable[tuple[str, bool]]
"""The figures of each case of a sentence, and whether it holds there."""

KINDS = {
    "runs": "judged on our runs",
    "printed": "judged on the printed numbers alone",
    "not judged": "not judged",
    "own": "our own check, in no total",
}


@dataclass(frozen=True)
class Claim:
    """A sentence, its rule and the function that judges it.

    Parameters
    ----------
    name : str
        Unique within the paper.
    says : str
        The paper's words; of our own checks, ours.
    section : str
        Where the paper says it; empty for our own checks.
    rule : str
        What must be so for the sentence to hold.
    kind : str
        One of `KINDS`.
    of : sequence of str
        The scripts whose results the function takes, where these are all.
    judge : callable or None
        Takes data and returns `Cases`.
    reason : str
        Why it is not judged, or why it is not asked of our own results.
    before : str
        The rule and the verdict of an earlier version, where these have changed.
    why : str
        The known reason why it does not hold; shown only then.
    """

    name: str
    says: str
    section: str = ""
    rule: str = ""
    kind: str = "runs"
    of: Sequence[str] = ()
    judge: Callable[..., Cases] | None = None
    reason: str = ""
    before: str = ""
    why: str = ""

    def asked(self, *data: Any, ours: tuple[Any, ...] = ()) -> Statement:
        """The sentence with its verdict on these data, and beside it what is so of our own results."""
        if self.judge is None:
            return self.unasked(self.reason)
        holds, figures = verdict(self.judge(*data))
        own = "Asked of our own results, it {}: {}.".format(*_told(verdict(self.judge(*ours)))) if ours else ""
        return self._statement(holds, figures, own or (self.reason and f"Not asked of our own results: {self.reason}."))

    def unasked(self, reason: str) -> Statement:
        """The sentence without a verdict, for this reason."""
        return self._statement(None, reason, "")

    def _statement(self, holds: bool | None, figures: str, own: str) -> Statement:
        rule, before = self.rule and f"Rule: {self.rule}.", self.before and f"Before: {self.before}."
        why = f"What we know of why not: {self.why}." if holds is False and self.why else ""
        text = f"“{self.says}”" if self.section else self.says
        return Statement(text, holds, figures, self.section, KINDS[self.kind], tuple(filter(None, (rule, own, before, why))))


def verdict(cases: Cases) -> tuple[bool | None, str]:
    """Whether all cases hold, None without any, and the figures of each, failing ones first."""
    found = sorted(cases, key=lambda case: case[1])
    figures = "; ".join(f"{'' if holds else 'NOT '}{f}" for f, holds in found)
    return (all(holds for _, holds in found) if found else None), figures or "no data"


def _told(judged: tuple[bool | None, str]) -> tuple[str, str]:
    return {None: "cannot be told", True: "holds", False: "does not hold"}[judged[0]], judged[1]


def claims(paper: str, judges: Mapping[str, Any]) -> dict[str, Claim]:
    """All sentences of a paper by name, in its order, with the functions that judge them; `judges` is what the paper's module ``claims`` holds.

    Raises
    ------
    KeyError
        A sentence that is to be judged has no function.
    """
    said = raw_table(paper, "paper")["claims"]
    return {
        name: Claim(name, judge=None if own.get("kind") == "not judged" else judges[name], **own) for name, own in said.items()
    }


def failures_first(statements: Iterable[Statement]) -> list[Statement]:
    """Sorted: first what does not hold, then what holds, then what has no verdict; our own checks come last."""
    return sorted(statements, key=lambda s: (s.asked == KINDS["own"], s.holds is None, s.holds is True))
