"""Counts of a reproduction: published numbers, sentences by kind, and replaced rules.

`reproduce` writes the counts into the file ``counts.json`` of its folder. The page of the
reproduction and the tables of the documentation show these counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stereo_framework import __version__
from stereo_framework.papers.claim import KINDS, Claim, Judgement, Verdict
from stereo_framework.papers.comparison import Comparison

DECIDING_ORDER = (Verdict.FAILS, Verdict.UNDETERMINED, Verdict.NOT_DECIDED, Verdict.HOLDS)
"""The verdicts of single items in the order in which they decide about a sentence."""


@dataclass(frozen=True)
class NumberCounts:
    """Numbers of published numbers that are judged, and that are met.

    Parameters
    ----------
    judged : int
        Numbers that have a tolerance and a number of ours.
    met : int
        Judged numbers from which our number differs by no more than the tolerance.
    one_sided : int
        Judged numbers whose tolerance limits only one side.
    one_sided_met : int
        One-sided numbers that are met.
    one_sided_near : int
        Met one-sided numbers that the same limit on both sides would also accept.
    without_verdict : int
        Numbers that are shown next to ours without a verdict.
    not_measured : int
        Numbers without a number of ours.
    """

    judged: int
    met: int
    one_sided: int
    one_sided_met: int
    one_sided_near: int
    without_verdict: int
    not_measured: int


@dataclass(frozen=True)
class SentenceCounts:
    """Numbers of sentences of a kind, by verdict.

    Parameters
    ----------
    asked : int
        All sentences of the kind.
    hold : int
        Sentences that hold.
    fail : int
        Sentences that do not hold.
    undetermined : int
        Sentences whose verdict depends on a setting that the paper does not print.
    undecided : int
        Sentences that are not decided, because differences are not significant.
    no_verdict : int
        Sentences that are not judged, or whose data are missing.
    """

    asked: int = 0
    hold: int = 0
    fail: int = 0
    undetermined: int = 0
    undecided: int = 0
    no_verdict: int = 0

    @property
    def judged(self) -> int:
        """Number of the sentences that hold or do not hold."""
        return self.hold + self.fail


def count_numbers(comparisons: Sequence[Comparison]) -> NumberCounts:
    """Count the published numbers that are judged, met and one-sided."""
    judged = [c for c in comparisons if c.judged]
    one_sided = [c for c in judged if c.one_sided]
    one_sided_met = [c for c in one_sided if not c.is_outside_tolerance]
    not_measured = sum(c.ours is None for c in comparisons)
    return NumberCounts(
        judged=len(judged),
        met=sum(not c.is_outside_tolerance for c in judged),
        one_sided=len(one_sided),
        one_sided_met=len(one_sided_met),
        one_sided_near=sum(c.near for c in one_sided_met),
        without_verdict=len(comparisons) - len(judged) - not_measured,
        not_measured=not_measured,
    )


def verdict_of(judgements: Sequence[Judgement]) -> Verdict:
    """Combine judgements of a sentence into a verdict; one failure decides."""
    verdicts = {judgement.verdict for judgement in judgements}
    for verdict in DECIDING_ORDER:
        if verdict in verdicts:
            return verdict
    return Verdict.NONE


def by_sentence(judgements: Iterable[Judgement]) -> dict[str, list[Judgement]]:
    """Group judgements by the name of the sentence."""
    groups: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault(judgement.claim.name, []).append(judgement)
    return groups


def count_sentences(judgements: Iterable[Judgement]) -> dict[str, SentenceCounts]:
    """Count the sentences of each kind by verdict.

    A sentence counts once, even if two items judge it.
    """
    verdicts: dict[str, list[Verdict]] = {kind: [] for kind in KINDS}
    for group in by_sentence(judgements).values():
        verdicts[group[0].claim.kind].append(verdict_of(group))
    return {
        kind: SentenceCounts(
            asked=len(of_kind),
            hold=of_kind.count(Verdict.HOLDS),
            fail=of_kind.count(Verdict.FAILS),
            undetermined=of_kind.count(Verdict.UNDETERMINED),
            undecided=of_kind.count(Verdict.NOT_DECIDED),
            no_verdict=of_kind.count(Verdict.NONE),
        )
        for kind, of_kind in verdicts.items()
    }


def count_replaced(claims: Iterable[Claim]) -> dict[str, int]:
    """Count the sentences with replaced rules, by the verdict of the last one."""
    last_verdicts = [claim.before[-1].holds for claim in claims if claim.before]
    return {
        "sentences": len(last_verdicts),
        "after_failure": last_verdicts.count(False),
        "after_success": last_verdicts.count(True),
        "not_recorded": last_verdicts.count(None),
    }


def counts_of(
    *,
    paper: str,
    item: str | None,
    quick: bool,
    missing: Sequence[str],
    comparisons: Mapping[str, Sequence[Comparison]],
    judgements: Sequence[Judgement],
) -> dict[str, Any]:
    """Return the counts of a reproduction as the content of ``counts.json``.

    Parameters
    ----------
    paper : str
        Name of the paper.
    item : str or None
        The only item that was reproduced; None = all items.
    quick : bool
        Whether only the items and scenes that take a few seconds were run.
    missing : sequence of str
        Names of the scenes that were not available.
    comparisons : mapping of str to sequence of Comparison
        The published numbers with ours, by item.
    judgements : sequence of Judgement
        The judgements of all items on their sentences.
    """
    every_number = [c for of_item in comparisons.values() for c in of_item]
    groups = by_sentence(judgements)
    return {
        "paper": paper,
        "version": __version__,
        "item": item,
        "quick": quick,
        "missing": list(missing),
        "numbers": asdict(count_numbers(every_number)),
        "sentences": {kind: asdict(counts) for kind, counts in count_sentences(judgements).items()},
        "replaced_rules": count_replaced(group[0].claim for group in groups.values()),
        "claims": {name: _sentence_entry(group) for name, group in groups.items()},
        "comparisons": {
            name: [_number_entry(c) for c in of_item]
            for name, of_item in comparisons.items()
            if of_item
        },
    }


def _sentence_entry(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return the entry of a sentence in ``counts.json``, from all judgements on it."""
    claim = judgements[0].claim
    entry: dict[str, Any] = {"kind": claim.kind, "verdict": verdict_of(judgements)}
    entry["figures"] = [judgement.figures for judgement in judgements]
    if claim.before:
        entry["earlier"] = [asdict(earlier) for earlier in claim.before]
    return entry


def _number_entry(comparison: Comparison) -> dict[str, Any]:
    """Return the entry of a published number in ``counts.json``."""
    met = not comparison.is_outside_tolerance if comparison.judged else None
    return {
        "row": comparison.row,
        "column": comparison.column,
        "published": comparison.published,
        "ours": comparison.ours,
        "met": met,
        "one_sided": comparison.one_sided,
        "near": comparison.near,
        "reason": comparison.reason,
    }
