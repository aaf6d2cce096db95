"""Sentences of a paper and our own checks: a sentence, its rule, and a short function that judges it.

The sentences of a paper stand in ``papers/PAPER/paper.yaml``, in its own words. Each has
a rule and one of four kinds:

- ``runs``: judged on our runs of the experiment that the sentence is about;
- ``our scenes``: asked of scenes of ours, since the paper did not publish its own. The
  verdict is about our scenes, so it counts in no total of the paper;
- ``printed``: judged on the printed numbers alone. The verdict compares the paper with
  itself and reproduces nothing. The page shows the verdict on our own results next to it;
- ``not judged``: with the reason.

A fifth kind, ``own``, is a check of ours, which is no sentence of the paper and in no
total. A sentence may list rules under ``before``: these were replaced by today's rule
after their verdicts were known, and the page shows their verdicts too.

The function that judges a sentence stands in the paper's package and has the sentence's
name, or the name under ``judge``. It takes data that the item of the sentence returned,
by name, and after them, by keyword, the parameters that stand under ``with``. It returns
the cases, all of which must hold.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pandas import Series

from stereo_framework.page.page import Statement

Cases = Iterable[tuple[str, bool]]
"""The figures of each case of a sentence, and whether it holds there."""

KINDS = {
    "runs": "judged on our runs",
    "our scenes": "asked of scenes of ours, not counted as the paper's",
    "printed": "judged on the printed numbers alone, which compares the paper with itself",
    "not judged": "not judged",
    "own": "our own check, in no total",
}

OF_THE_PAPER = ("runs", "printed", "not judged")
"""The kinds whose sentences count as the paper's."""


@dataclass(frozen=True)
class Alternatives:
    """The same data under several readings of what a paper does not say.

    Parameters
    ----------
    what : str
        What is not said.
    found : mapping of str to object
        The data of each reading, by what it is, ours first.
    """

    what: str
    found: Mapping[str, Any]


@dataclass(frozen=True)
class EarlierRule:
    """A rule that was replaced by another rule after its verdict was known.

    Parameters
    ----------
    rule : str
        The rule as it was.
    holds : bool or None
        Its verdict; None = the verdict was not recorded.
    reason : str
        Why it was replaced; empty = the reason was not recorded.
    """

    rule: str
    holds: bool | None = None
    reason: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return _EARLIER_VERDICTS[self.holds]

    @property
    def note(self) -> str:
        """The rule with its verdict and the reason for its replacement, as two sentences."""
        reason = f"Reason: {self.reason}." if self.reason else "The reason was not recorded."
        return f"Earlier rule, replaced after its verdict was known: {self.rule}; {self.verdict}. {reason}"


_EARLIER_VERDICTS = {True: "it held", False: "it did not hold", None: "its verdict was not recorded"}


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
    item : str or sequence of str
        The item, or items, whose data it is asked of.
    of : sequence of str
        Names of these data; default: those of what the function takes.
    judge : callable or None
        Takes data and returns `Cases`.
    reason : str
        Why it is not judged, or why it is not asked of our own results.
    judged_part : str
        The part of the sentence that the rule judges, if the rule is narrower.
    before : sequence of EarlierRule
        The rules that were replaced, the oldest first.
    why : str
        The known reason why it does not hold; shown only then.
    """

    name: str
    says: str
    section: str = ""
    rule: str = ""
    kind: str = "runs"
    item: str | Sequence[str] = ()
    of: Sequence[str] = ()
    judge: Callable[..., Cases] | None = None
    reason: str = ""
    judged_part: str = ""
    before: Sequence[EarlierRule] = ()
    why: str = ""

    def is_of(self, item: str) -> bool:
        """Whether it is asked of the data of this item."""
        return item == self.item if isinstance(self.item, str) else item in self.item

    def stated(self, data: Mapping[str, Any], ours: Mapping[str, Any], absent: str = "") -> Statement:
        """Return the block of a page that shows the `judgement` on these data."""
        return self.judgement(data, ours, absent).statement

    def judgement(self, data: Mapping[str, Any], ours: Mapping[str, Any], absent: str = "") -> "Judgement":
        """Judge the sentence on the data of an item, and next to it on our own results.

        Parameters
        ----------
        data, ours : mapping of str to object
            The data of the item by name, and the same of our own results.
        absent : str
            The reason why some of the data are None or left out.
        """
        if self.judge is None:
            return Judgement(self, None, self.reason)

        names = self.of or _data_names(self.judge)
        taken = [data.get(name) for name in names]
        taken_of_ours = [ours.get(name) for name in names]
        if any(value is None for value in taken):
            return Judgement(self, None, absent)
        if isinstance(taken[0], Alternatives):
            return self._judgement_on_all(taken[0])

        beside = ""
        if self.reason:
            beside = f"Not asked of our own results: {self.reason}."
        elif all(value is not None for value in taken_of_ours):
            holds, figures = verdict(self.judge(*taken_of_ours))
            beside = f"Asked of our own results, it {_OUR_VERDICTS[holds]}: {figures}."
        return Judgement(self, *verdict(self.judge(*taken)), beside)

    def _judgement_on_all(self, data: Alternatives) -> "Judgement":
        """Judge the sentence on each alternative; if their verdicts differ, it has none."""
        assert self.judge is not None
        verdicts = {words: verdict(self.judge(reading)) for words, reading in data.found.items()}
        if len({holds for holds, _ in verdicts.values()}) == 1:
            return Judgement(self, *next(iter(verdicts.values())))
        with_it = "; ".join(words for words, (holds, _) in verdicts.items() if holds is True)
        without_it = "; ".join(words for words, (holds, _) in verdicts.items() if holds is False)
        reason = f"{data.what} not specified: it holds with {with_it}, and does not with {without_it}"
        return Judgement(self, None, reason, undetermined=True)


_OUR_VERDICTS = {None: "cannot be told", True: "holds", False: "does not hold"}


def _data_names(judge: Callable[..., Cases]) -> list[str]:
    """Return the names of the data that a judge takes, which are its arguments without a default."""
    parameters = inspect.signature(judge).parameters.values()
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty]


@dataclass(frozen=True)
class Judgement:
    """A sentence with its verdict on the data of an item.

    Parameters
    ----------
    claim : Claim
        The sentence.
    holds : bool or None
        The verdict; None = no verdict.
    figures : str
        The figures that decide; without a verdict, the reason.
    beside : str
        A sentence about our own results.
    undetermined : bool
        Whether it has no verdict because the verdict changes with what is not printed.
    """

    claim: Claim
    holds: bool | None
    figures: str
    beside: str = ""
    undetermined: bool = False

    @property
    def kind(self) -> str:
        """The kind under which it counts, one of `KINDS`."""
        if self.undetermined and self.claim.kind in OF_THE_PAPER:
            return "not judged"
        return self.claim.kind

    @property
    def statement(self) -> Statement:
        """The block of a page that shows it."""
        claim = self.claim
        text = f"“{claim.says}”" if claim.section else claim.says
        notes = [self.beside, *(earlier.note for earlier in claim.before)]
        if claim.rule:
            notes.insert(0, f"Rule: {claim.rule}.")
        if claim.judged_part:
            notes.insert(0, f"Judged: only {claim.judged_part}.")
        if self.holds is False and claim.why:
            notes.append(f"What we know of why not: {claim.why}.")
        return Statement(text, self.holds, self.figures, claim.section, KINDS[self.kind], tuple(filter(None, notes)))


def verdict(cases: Cases) -> tuple[bool | None, str]:
    """Whether all cases hold, None without any, and the figures of each, failing ones first."""
    found = sorted(cases, key=lambda case: case[1])
    figures = "; ".join(f"{'' if holds else 'not met: '}{f}" for f, holds in found)
    return (all(holds for _, holds in found) if found else None), figures or "no data"


def told(values: Mapping[str, float] | Series, unit: str = "", form: str = ".2f") -> str:
    """Names and numbers as text."""
    return ", ".join(f"{name} {value:{form}}{unit}" for name, value in values.items())


def cases(rows: Iterable[tuple[Any, Any]], holds: Callable[[Any], bool], unit: str = " %", form: str = ".2f") -> Cases:
    """A case for each place: its numbers by name, and whether something holds of them."""
    for where, own in rows:
        yield f"{where}: {told(own, unit, form)}", holds(own)


def most(holds: Series) -> bool:
    """Whether something holds of more than half."""
    return bool(2 * holds.sum() > len(holds))


def tally(holds: Series, things: str, enough: Callable[[Series], Any] = all, where: str = "") -> Cases:
    """A case for all things together, if there are any: of how many something holds, and whether that is enough."""
    if len(holds):
        yield f"{where}{holds.sum()} of {len(holds)} {things}".rstrip(), bool(enough(holds))


def failures_first(statements: Iterable[Statement]) -> list[Statement]:
    """Sort: first what does not hold, then what holds, then what has no verdict.

    Sentences on scenes of ours come after those of the paper, and our own checks last.
    """
    last = {KINDS["our scenes"]: 1, KINDS["own"]: 2}
    return sorted(statements, key=lambda s: (last.get(s.asked, 0), s.holds is None, s.holds is True))
