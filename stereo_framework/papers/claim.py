"""Sentences of a paper and our own checks, each with a rule and a function that judges it.

The file ``papers/PAPER/paper.yaml`` quotes the sentences of a paper. Each sentence has a
rule and a kind:

- ``runs``: the sentence is judged on our runs of its experiment.
- ``our scenes``: the sentence is judged on scenes of ours, because the paper did not
  publish its scenes. The verdict is about our scenes, so it counts in no total of the
  paper.
- ``printed``: the sentence is judged only on the printed numbers. The verdict compares the
  paper with itself and reproduces nothing. The page also shows the verdict on our results.
- ``not judged``: there is no verdict, and the entry states the reason.
- ``own``: this is our own check. It is no sentence of the paper and counts in no total.

The key ``before`` of a sentence lists earlier rules. Today's rule replaced them after
their verdicts were known. The page shows these verdicts too.

The key ``tested_parts`` of a sentence lists the words that the rule tests, if it does
not test all. The page marks these words, and the verdict belongs to them only.

The function that judges a sentence is in the paper's package. It has the name of the
sentence, or the name under the key ``judge``. Its first arguments are data that the
item of the sentence returned; an argument has the name of its datum. The parameters
under the key ``with`` are passed by keyword. The function returns cases, and `verdict`
combines them: the sentence holds if all cases hold, it does not hold if a case speaks
against it, and otherwise it is not decided. A case that depends on a significance test
speaks against the sentence only if its difference is significant;
`sign_tests.cases_of_sign_tests` returns such cases.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from pandas import Series

from stereo_framework.page.page import Statement

Cases = Iterable[tuple[str, bool | None]]
"""Pairs of the figures of a case, as text, and whether the sentence holds in this case.

None means that the figures do not decide: they have no significant difference.
"""


class Verdict(StrEnum):
    """The verdicts on a sentence; a sentence that is judged has one of the first three."""

    HOLDS = "holds"
    FAILS = "does not hold"
    NOT_DECIDED = "not decided"
    UNDETERMINED = "depends on unprinted details"
    NONE = "no verdict"

    @property
    def holds(self) -> bool | None:
        """Return whether the sentence holds; None if it is neither true nor false."""
        if self is Verdict.HOLDS:
            return True
        if self is Verdict.FAILS:
            return False
        return None


class Decision(NamedTuple):
    """The verdict of the cases of a sentence, and the figures of these cases."""

    verdict: Verdict
    figures: str

    @property
    def holds(self) -> bool | None:
        """Return whether the sentence holds; None if it is neither true nor false."""
        return self.verdict.holds


KINDS = {
    "runs": "judged on our runs",
    "our scenes": "asked of scenes of ours, not counted as the paper's",
    "printed": "judged on the printed numbers alone, which compares the paper with itself",
    "not judged": "not judged",
    "own": "our own check, in no total",
}

OF_THE_PAPER = ("runs", "printed", "not judged")
"""The kinds of sentences that count in the totals of the paper."""


@dataclass(frozen=True)
class Alternatives:
    """Data for several values of a setting that a paper does not specify.

    Parameters
    ----------
    setting : str
        A noun for the setting, such as "cost".
    data_by_value : mapping of str to object
        The data for each value of the setting, by a description of the value. Our choice
        comes first.
    """

    setting: str
    data_by_value: Mapping[str, Any]


@dataclass(frozen=True)
class EarlierRule:
    """A rule that was replaced by another rule after its verdict was known.

    Parameters
    ----------
    rule : str
        The words of the earlier rule.
    holds : bool or None
        The verdict by this rule; None = it was not recorded.
    reason : str
        The reason for the replacement; empty = it was not recorded.
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
        """Two sentences: the rule with its verdict, and the reason for its replacement."""
        reason = f"Reason: {self.reason}." if self.reason else "The reason was not recorded."
        return f"Earlier rule, replaced after its verdict was known: {self.rule}; {self.verdict}. {reason}"


_EARLIER_VERDICTS = {
    True: "it held",
    False: "it did not hold",
    None: "its verdict was not recorded",
}


@dataclass(frozen=True)
class Claim:
    """A sentence, its rule and the function that judges it.

    Parameters
    ----------
    name : str
        Name of the sentence, unique within the paper.
    says : str
        The words of the paper. For our own checks, these are our words.
    section : str
        Section of the paper that contains the sentence; empty for our own checks.
    rule : str
        Condition under which the sentence holds.
    kind : str
        One of `KINDS`.
    item : str or sequence of str
        The item or items that return the data for the judgement.
    of : sequence of str
        Names of these data; default: the names of the function's arguments.
    judge : callable or None
        Function that takes the data and returns `Cases`; None = the sentence is not judged.
    reason : str
        The reason why the sentence is not judged, or why the function is not called with
        our own results.
    judged_part : str
        A description of the part that the rule judges, if the rule is narrower than the
        sentence.
    tested_parts : sequence of str
        The words of the sentence that the rule tests, if the rule is narrower than the
        sentence. The page marks them.
    before : sequence of EarlierRule
        The replaced rules, the oldest first.
    why : str
        The known reason why the sentence does not hold; shown only if it does not.
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
    tested_parts: Sequence[str] = ()
    before: Sequence[EarlierRule] = ()
    why: str = ""

    def __post_init__(self) -> None:
        for part in self.tested_parts:
            if part not in self.says:
                message = (
                    f"{self.name}: the tested part {part!r} does not occur in the sentence; "
                    "copy its words from the sentence"
                )
                raise ValueError(message)

    def is_of(self, item: str) -> bool:
        """Return whether the sentence is judged on the data of an item."""
        return item == self.item if isinstance(self.item, str) else item in self.item

    def stated(
        self, data: Mapping[str, Any], ours: Mapping[str, Any], absent: str = ""
    ) -> Statement:
        """Return the block of a page that shows the `judgement` on data of an item."""
        return self.judgement(data, ours, absent).statement

    def judgement(
        self, data: Mapping[str, Any], ours: Mapping[str, Any], absent: str = ""
    ) -> "Judgement":
        """Judge the sentence on the data of an item, and also on our own results.

        Parameters
        ----------
        data : mapping of str to object
            The data of the item, by name.
        ours : mapping of str to object
            Data of our own results with the same names. If `data` are the printed numbers,
            these take their place in a second judgement.
        absent : str
            The reason why some of the data are None or left out.
        """
        if self.judge is None:
            return Judgement(self, Verdict.NONE, self.reason)

        names = self.of or _data_names(self.judge)
        arguments = [data.get(name) for name in names]
        arguments_of_ours = [ours.get(name) for name in names]
        if any(value is None for value in arguments):
            return Judgement(self, Verdict.NONE, absent)
        if isinstance(arguments[0], Alternatives):
            return self._judgement_on_alternatives(arguments[0])

        note_on_ours = ""
        if self.reason:
            note_on_ours = f"Not asked of our own results: {self.reason}."
        elif all(value is not None for value in arguments_of_ours):
            decision = verdict(self.judge(*arguments_of_ours))
            predicate = _PREDICATES[decision.verdict]
            note_on_ours = f"Asked of our own results, it {predicate}: {decision.figures}."
        return Judgement(self, *verdict(self.judge(*arguments)), note_on_ours)

    def _judgement_on_alternatives(self, alternatives: Alternatives) -> "Judgement":
        """Judge the sentence on each alternative; there is no verdict if they differ."""
        assert self.judge is not None
        decisions = {
            value: verdict(self.judge(data)) for value, data in alternatives.data_by_value.items()
        }
        if len({decision.verdict for decision in decisions.values()}) == 1:
            return Judgement(self, *next(iter(decisions.values())))
        values_by_predicate: dict[str, list[str]] = {}
        for value, decision in decisions.items():
            predicate = _PREDICATES[decision.verdict]
            values_by_predicate.setdefault(predicate, []).append(value)
        results = ", and ".join(
            f"it {predicate} with {'; '.join(values)}"
            for predicate, values in values_by_predicate.items()
        )
        reason = f"{alternatives.setting} not specified: {results}"
        return Judgement(self, Verdict.UNDETERMINED, reason)


_PREDICATES = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "does not hold",
    Verdict.NOT_DECIDED: "is not decided",
    Verdict.NONE: "cannot be told",
}
"""The verdicts as predicates of the note on our own results."""


def _data_names(judge: Callable[..., Cases]) -> list[str]:
    """Return the names of the data that a judge takes: its arguments without default."""
    parameters = inspect.signature(judge).parameters.values()
    return [
        p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty
    ]


@dataclass(frozen=True)
class Judgement:
    """A sentence with its verdict on the data of an item.

    Parameters
    ----------
    claim : Claim
        The sentence.
    verdict : Verdict
        The verdict.
    figures : str
        The figures on which the verdict depends. If there is no verdict, this is the reason.
    note_on_ours : str
        A sentence about the verdict on our own results; empty if there is none.
    """

    claim: Claim
    verdict: Verdict
    figures: str
    note_on_ours: str = ""

    @property
    def holds(self) -> bool | None:
        """Return whether the sentence holds; None if it is neither true nor false."""
        return self.verdict.holds

    @property
    def undetermined(self) -> bool:
        """Return whether `Alternatives` have different verdicts."""
        return self.verdict is Verdict.UNDETERMINED

    @property
    def kind(self) -> str:
        """The kind under which the sentence is counted, one of `KINDS`."""
        if self.undetermined and self.claim.kind in OF_THE_PAPER:
            return "not judged"
        return self.claim.kind

    @property
    def statement(self) -> Statement:
        """The block of a page that shows the judgement."""
        claim = self.claim
        text = f"“{claim.says}”" if claim.section else claim.says
        notes = [self.note_on_ours, *(earlier.note for earlier in claim.before)]
        if claim.rule:
            notes.insert(0, f"Rule: {claim.rule}.")
        if claim.judged_part:
            notes.insert(0, f"Judged: only {claim.judged_part}.")
        if claim.tested_parts:
            quoted_parts = " and ".join(f"“{part}”" for part in claim.tested_parts)
            notes.insert(0, f"Tested: only {quoted_parts}.")
        if self.holds is False and claim.why:
            notes.append(f"What we know of why not: {claim.why}.")
        return Statement(
            text,
            self.holds,
            self.figures,
            claim.section,
            KINDS[self.kind],
            tuple(filter(None, notes)),
            undecided=self.verdict is Verdict.NOT_DECIDED,
            tested_parts=tuple(claim.tested_parts),
        )


def verdict(cases: Cases) -> Decision:
    """Decide a sentence by its cases; this rule is the only one of the package.

    A sentence holds if all of its cases hold. It does not hold if at least one case
    speaks against it. Otherwise, at least one case does not decide, and the sentence is
    not decided. Without cases there is no verdict.

    Parameters
    ----------
    cases : Cases
        The cases of the sentence. A case that depends on a significance test is False
        only if its difference is significantly against the sentence, with the
        correction for the number of tests that `sign_tests.cases_of_sign_tests` makes.
        If its difference is not significant, the case is None.

    Returns
    -------
    Decision
        The verdict and the figures of all cases. Cases against the sentence come first,
        cases that do not decide second, and cases that hold last.
    """
    groups: dict[bool | None, list[str]] = {False: [], None: [], True: []}
    for figures, holds in cases:
        groups[None if holds is None else bool(holds)].append(figures)

    texts = [f"{AGAINST}{figures}" for figures in groups[False]]
    texts += [f"{OPEN}{figures}" for figures in groups[None]]
    texts += groups[True]
    if groups[False]:
        return Decision(Verdict.FAILS, "; ".join(texts))
    if groups[None]:
        return Decision(Verdict.NOT_DECIDED, "; ".join(texts))
    if groups[True]:
        return Decision(Verdict.HOLDS, "; ".join(texts))
    return Decision(Verdict.NONE, "no data")


AGAINST = "not met: "
"""The text before the figures of a case that speaks against the sentence."""

OPEN = "not decided: "
"""The text before the figures of a case that does not decide."""


def listed_numbers(values: Mapping[str, float] | Series, unit: str = "", form: str = ".2f") -> str:
    """Return names with their numbers as text, such as "venus 1.79 %, map 0.31 %"."""
    return ", ".join(f"{name} {value:{form}}{unit}" for name, value in values.items())


def cases(
    rows: Iterable[tuple[Any, Any]],
    holds: Callable[[Any], bool],
    unit: str = " %",
    form: str = ".2f",
) -> Cases:
    """Yield a case for each row: its name with its numbers, and whether they pass a test.

    Parameters
    ----------
    rows : iterable of (object, Series)
        The name of each row, such as a scene, with its numbers by name.
    holds : callable
        The test: it takes the numbers of a row.
    unit : str
        Unit of the numbers, with a space before it.
    form : str
        Format of the numbers.
    """
    for row_name, numbers in rows:
        yield f"{row_name}: {listed_numbers(numbers, unit, form)}", holds(numbers)


def more_than_half(holds: Series) -> bool:
    """Return whether more than half of the values are true."""
    return bool(2 * holds.sum() > len(holds))


def tally(
    holds: Series, things: str, enough: Callable[[Series], Any] = all, prefix: str = ""
) -> Cases:
    """Yield a case with the number of true values; yield nothing without values.

    Parameters
    ----------
    holds : Series of bool
        A value for each thing.
    things : str
        A noun for the things in the plural, as in "3 of 4 methods".
    enough : callable
        Function that takes `holds` and returns whether the case holds.
    prefix : str
        Text before the number.
    """
    if len(holds):
        yield f"{prefix}{holds.sum()} of {len(holds)} {things}".rstrip(), bool(enough(holds))


def failures_first(statements: Iterable[Statement]) -> list[Statement]:
    """Sort statements by verdict: failing, undecided, holding, without verdict.

    Sentences that are judged on scenes of ours come after the sentences of the paper. Our
    own checks come last.
    """
    last_groups = {KINDS["our scenes"]: 1, KINDS["own"]: 2}
    order: list[str] = [Verdict.FAILS, Verdict.NOT_DECIDED, Verdict.HOLDS, Verdict.NONE]
    return sorted(statements, key=lambda s: (last_groups.get(s.asked, 0), order.index(s.verdict)))
