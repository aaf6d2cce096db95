"""What a paper says and what we check ourselves: a sentence, the rule that it carries, and a short function that judges it.

The sentences of a paper stand in ``papers/PAPER/paper.yaml``, in its own words. Each has a rule, written before its result was seen, and one of three kinds:

- ``runs``: judged on our runs of what the paper's figure shows;
- ``printed``: judged on the printed numbers alone, and beside it, in no total, on our own results;
- ``not judged``: with the reason.

A fourth kind, ``own``, is a check of ours, which is no sentence of the paper and in no total. The function that judges a sentence stands in the paper's
package and has the sentence's name, or the one under ``judge``. It takes data that the item of the sentence found, by name, and after them, by keyword, the
parameters that stand under ``with``, and returns the cases, all of which must hold.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pandas import Series

from stereo_framework.page.page import Statement

Cases = Iterable[tuple[str, bool]]
"""The figures of each case of a sentence, and whether it holds there."""

KINDS = {
    "runs": "judged on our runs",
    "printed": "judged on the printed numbers alone",
    "not judged": "not judged",
    "own": "our own check, in no total",
}


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
    item: str | Sequence[str] = ()
    of: Sequence[str] = ()
    judge: Callable[..., Cases] | None = None
    reason: str = ""
    before: str = ""
    why: str = ""

    def is_of(self, item: str) -> bool:
        """Whether it is asked of the data of this item."""
        return item == self.item if isinstance(self.item, str) else item in self.item

    def stated(self, data: Mapping[str, Any], ours: Mapping[str, Any], absent: str = "") -> Statement:
        """The sentence with its verdict on what an item found, and beside it what is so of our own results.

        `absent` says why some of the data was not found, which is None or left out.
        """
        if self.judge is None:
            return self._statement(None, self.reason)
        taken = inspect.signature(self.judge).parameters.values()
        names = self.of or [p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
        found, own = ([given.get(name) for name in names] for given in (data, ours))
        if any(one is None for one in found):
            return self._statement(None, absent)
        if isinstance(found[0], Alternatives):
            return self._on_all(found[0])
        beside = self.reason and f"Not asked of our own results: {self.reason}."
        if not self.reason and not any(one is None for one in own):
            holds, figures = verdict(self.judge(*own))
            told = {None: "cannot be told", True: "holds", False: "does not hold"}[holds]
            beside = f"Asked of our own results, it {told}: {figures}."
        return self._statement(*verdict(self.judge(*found)), beside)

    def _on_all(self, data: Alternatives) -> Statement:
        """The sentence judged on each of the alternatives, the first being ours; not judged where they do not all say the same."""
        assert self.judge is not None
        verdicts = {words: verdict(self.judge(found)) for words, found in data.found.items()}
        if len({holds for holds, _ in verdicts.values()}) == 1:
            return self._statement(*next(iter(verdicts.values())))
        split = {one: "; ".join(words for words, (holds, _) in verdicts.items() if holds is one) for one in (True, False)}
        reason = f"{data.what} not specified: it holds with {split[True]}, and does not with {split[False]}"
        return replace(self, kind="not judged")._statement(None, reason)

    def _statement(self, holds: bool | None, figures: str, beside: str = "") -> Statement:
        rule, before = self.rule and f"Rule: {self.rule}.", self.before and f"Before: {self.before}."
        why = f"What we know of why not: {self.why}." if holds is False and self.why else ""
        text = f"“{self.says}”" if self.section else self.says
        return Statement(text, holds, figures, self.section, KINDS[self.kind], tuple(filter(None, (rule, beside, before, why))))


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
    """Sorted: first what does not hold, then what holds, then what has no verdict; our own checks come last."""
    return sorted(statements, key=lambda s: (s.asked == KINDS["own"], s.holds is None, s.holds is True))
