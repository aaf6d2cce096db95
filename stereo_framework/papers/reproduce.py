"""Run a paper's items and write one page, its figures, its tables and its counts."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stereo_framework.io import output_folder, write_bytes
from stereo_framework.kernels.threads import thread_count
from stereo_framework.page.page import Block, Details, Page, Picture, Section, Statement, Text
from stereo_framework.papers.claim import KINDS, OF_THE_PAPER, Judgement, failures_first
from stereo_framework.papers.comparison import HEADER, Comparison, comparison_table, plain_table
from stereo_framework.papers.counts import (
    NumberCounts,
    SentenceCounts,
    by_sentence,
    count_numbers,
    count_replaced,
    count_sentences,
    counts_of,
    verdict_of,
)
from stereo_framework.papers.extent import Coverage, Extent, union
from stereo_framework.papers.paper import Context, Item, Outcome, Paper
from stereo_framework.sweep import Result
from stereo_framework.sweep.value_text import counted
from stereo_framework.tables.environment import environment_text
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.tables import Table


@dataclass(frozen=True)
class Reproduction:
    """The result of a reproduction.

    Parameters
    ----------
    page : Path
        The written page.
    outcomes : dict of str to Outcome
        By item.
    missing : dict of str to str
        Scenes that were not available, with the reason.
    title : str
        The paper's name, and the part of the paper that was run.
    extent : Extent
        The items and scenes that were run.
    """

    page: Path
    outcomes: dict[str, Outcome]
    missing: dict[str, str]
    title: str
    extent: Extent

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparisons of all items."""
        return [c for outcome in self.outcomes.values() for c in outcome.comparisons]

    @property
    def judgements(self) -> list[Judgement]:
        """The judgements of all items."""
        return [judgement for outcome in self.outcomes.values() for judgement in outcome.judgements]

    @property
    def statements(self) -> list[Statement]:
        """The sentences of all items, of every kind."""
        return [judgement.statement for judgement in self.judgements]

    @property
    def status(self) -> int:
        """Exit status.

        1 if a published number lies outside its tolerance or a sentence of the paper does
        not hold, 3 if only our own checks or sentences asked of scenes of ours fail, 0
        otherwise.
        """
        failing_kinds = {
            judgement.kind for judgement in self.judgements if judgement.holds is False
        }
        if any(c.is_outside_tolerance for c in self.comparisons) or failing_kinds & set(
            OF_THE_PAPER
        ):
            return 1
        return 3 if failing_kinds else 0

    @property
    def totals(self) -> list[str]:
        """The counts as text: published numbers, then sentences by kind."""
        by_kind = count_sentences(self.judgements)
        lines = [_total_of_numbers(self.comparisons)]
        for kind, counts in by_kind.items():
            if kind == "not judged":
                lines.append(_total_of_unjudged(by_kind))
            elif counts.asked > 0:
                lines.append(_total_of_kind(kind, counts))
        return [line for line in lines if line]


def _total_of_numbers(comparisons: Sequence[Comparison]) -> str:
    counts = count_numbers(comparisons)
    text = (
        f"Published numbers: {counts.judged - counts.met} of {counts.judged} judged lie outside their tolerance, "
        f"{counts.met} are met; {counts.without_verdict} are shown without a verdict, {counts.not_measured} were not measured."
    )
    if counts.one_sided > 0:
        text += (
            f" {counts.one_sided} of those judged are limited on one side alone: {counts.one_sided_met} of these are met, "
            f"{counts.one_sided_near} with the same limit on the other side too."
        )
    return text


def _total_of_kind(kind: str, counts: SentenceCounts) -> str:
    subject = "Our own checks, in no total" if kind == "own" else f"Sentences {KINDS[kind]}"
    asked = counts.asked
    if kind in OF_THE_PAPER:
        # Sentences whose verdict depends on unprinted details count among those not judged.
        asked -= counts.undetermined
    text = f"{subject}: {counts.fail} of {asked} do not hold, {counts.hold} hold"
    if counts.undetermined > 0 and kind not in OF_THE_PAPER:
        text += f", {counts.undetermined} depend on details that the paper does not print"
    if counts.undecided > 0:
        text += f", {counts.undecided} are not decided"
    if counts.no_verdict > 0:
        text += f", {counts.no_verdict} were not asked"
    return f"{text}."


def _total_of_unjudged(by_kind: Mapping[str, SentenceCounts]) -> str:
    undetermined = sum(by_kind[kind].undetermined for kind in OF_THE_PAPER)
    total = by_kind["not judged"].asked + undetermined
    if total == 0:
        return ""
    if undetermined == 0:
        return f"Sentences not judged: {total}."
    return f"Sentences not judged: {total}, of which {undetermined} have a verdict that depends on details that the paper does not print."


def reproduce(
    paper: Paper,
    out: Path,
    *,
    item: str | None = None,
    data: Path | None = None,
    workers: int | None = None,
    quick: bool = False,
) -> Reproduction:
    """Reproduce a paper or one of its items.

    Parameters
    ----------
    paper : Paper
    out : Path
        Folder that gets ``PAPER.html``, ``counts.json``, ``assets``, ``figures``, ``tables`` and ``runs``; existing runs are not repeated.
    item : str, optional
        The only item to reproduce.
    data : Path, optional
        Data root; default: as for `load_scene`.
    workers : int, optional
        Runs at a time; default: 2, or 1 if only one thread is available.
    quick : bool
        Reproduce only the fast items, on one scene and with few settings. The names of
        figures and tables end in ``_quick``.

    Raises
    ------
    ParameterError
        There is no such item.
    DataError
        The folder cannot be written.
    """
    chosen_items = [i for i in paper.items if i.quick or not quick]
    if item is not None:
        chosen_items = [paper.item(item)]

    context = Context(paper.name, out, data, workers or min(2, thread_count()), quick)
    outcomes: dict[str, Outcome] = {}
    coverages: list[Coverage] = []
    sections: list[Section] = []
    start = time.perf_counter()
    with output_folder(out):
        for chosen in chosen_items:
            outcome = paper.build(chosen, context)
            outcome = replace(outcome, blocks=_shown(chosen, outcome, context.used))
            coverages.append(context.coverage)
            outcomes[chosen.name] = outcome
            sections.append(
                Section(chosen.title, [*outcome.blocks, *failures_first(outcome.statements)])
            )
            _write(out, chosen, outcome, _Mark(quick, context.coverage))

    extent = Extent(
        list(outcomes),
        len(paper.items),
        union(coverages),
        quick=quick,
        single_item=item is not None,
    )
    title = f"{paper.name}: published and ours"
    if extent.label:
        title += f". {extent.label}"
    done = Reproduction(out / f"{paper.name}.html", outcomes, context.missing, title, extent)
    sections.extend(_sections_about_rules(paper, done, whole=extent.all_items))
    summary = Section("Summary: failures first", list(_summary(done, time.perf_counter() - start)))
    page = Page(title, " ".join(opening(paper, done)), [summary, *sections])
    page.write(done.page)
    counts = counts_of(
        paper=paper.name,
        item=item,
        quick=quick,
        missing=list(context.missing),
        comparisons={name: outcome.comparisons for name, outcome in outcomes.items()},
        judgements=done.judgements,
    )
    write_bytes(
        out / "counts.json",
        (json.dumps(counts, indent=1, ensure_ascii=False, default=float) + "\n").encode(),
    )
    return done


def _sections_about_rules(paper: Paper, done: Reproduction, *, whole: bool) -> Iterator[Section]:
    """Yield the sections on replaced rules, and of a whole paper those on what is not asked."""
    rows = []
    for judgements in by_sentence(done.judgements).values():
        claim = judgements[0].claim
        for earlier in claim.before:
            rows.append(
                [claim.says, earlier.rule, earlier.verdict, claim.rule, verdict_of(judgements)]
            )
    if rows:
        header = ["sentence", "earlier rule", "its verdict", "today's rule", "its verdict"]
        yield Section(
            "Rules that were replaced",
            [plain_table("Both verdicts of each sentence", header, rows)],
        )
    if paper.not_asked and whole:
        not_asked = plain_table(
            "Sentences that are not among those judged",
            ["sentence"],
            [[text] for text in paper.not_asked],
        )
        yield Section("Not asked", [not_asked])
    if paper.gone and whole:
        gone = plain_table(
            "What earlier versions judged",
            ["statement", "verdict, and why it is gone"],
            paper.gone.items(),
        )
        yield Section("No longer asked", [gone])


def _shown(item: Item, outcome: Outcome, used: Sequence[Result]) -> list[Block]:
    """What an item shows: what it tells, published numbers, and the rest; then the protocol of the results that it used, and those that failed."""
    shown = (
        [comparison_table(f"{item.title}: published and ours", outcome.comparisons)]
        if outcome.comparisons
        else []
    )
    told = [block for block in outcome.blocks if isinstance(block, Text)]
    blocks = [
        *([Text(item.text)] if item.text else []),
        *told,
        *shown,
        *(block for block in outcome.blocks if block not in told),
    ]
    if used:
        failed = [f"{r.scene} {r.method} {dict(r.axes)}: {r.error}" for r in used if r.error]
        lines = [f"{len(used)} results", *dict.fromkeys(r.protocol_text for r in used), *failed]
        blocks.append(Details("Protocol and number of results", "\n".join(lines)))
    return blocks


def opening(paper: Paper, done: Reproduction) -> list[str]:
    """Return the sentences that open a page.

    They give the part of the paper that was run, its agreement and its failures, the
    verdicts that reproduce nothing, and the rules that were replaced. The reasons and
    limits that the paper's file gives follow only if the whole paper was run.
    """
    by_kind = count_sentences(done.judgements)
    agreement, failure = _agreement_and_failure(count_numbers(done.comparisons), by_kind["runs"])
    disagreement = f"{failure}, listed first below" if failure else "nothing that was judged"
    verdicts = [
        f"What agrees: {agreement or 'nothing was judged on our runs'}.",
        f"What does not: {disagreement}.",
        *_limits_of_verdicts(done, by_kind),
    ]
    if not done.extent.all_items:
        command = f"stereo-framework reproduce {paper.name}"
        return [
            f"{paper.reference}.",
            done.extent.sentence,
            "In this part:",
            *verdicts,
            f"The whole paper: {command}.",
        ]

    subject = f"{paper.reference}: {paper.repeated}."
    if not done.extent.whole:
        return [subject, *verdicts, done.extent.sentence]
    return [subject, *verdicts, paper.why, paper.cannot]


def _agreement_and_failure(numbers: NumberCounts, runs: SentenceCounts) -> tuple[str, str]:
    """Return the printed numbers and sentences that agree and those that do not, as texts."""
    agreeing, failing = [], []
    if numbers.judged > 0:
        agreeing.append(f"{numbers.met} of {numbers.judged} printed numbers that can be judged")
    if numbers.judged > numbers.met:
        failing.append(
            f"{counted(numbers.judged - numbers.met, 'printed number')} that can be judged"
        )
    if runs.judged > 0:
        agreeing.append(f"{runs.hold} of {runs.judged} sentences {KINDS['runs']}")
    if runs.fail > 0:
        failing.append(f"{counted(runs.fail, 'sentence')} {KINDS['runs']}")
    return ", ".join(agreeing), ", ".join(failing)


def _limits_of_verdicts(done: Reproduction, by_kind: Mapping[str, SentenceCounts]) -> Iterator[str]:
    """Yield the sentences on verdicts that are not about the paper's experiments."""
    printed, our_scenes = by_kind["printed"], by_kind["our scenes"]
    if printed.judged > 0:
        yield (
            f"Judged on the printed numbers alone, {printed.hold} of {printed.judged} sentences hold: "
            "this compares the paper with itself and reproduces nothing."
        )
    if our_scenes.judged > 0:
        yield (
            f"Asked of scenes of ours in the place of scenes that are not published, {our_scenes.hold} of {our_scenes.judged} "
            "sentences hold: these verdicts are about our scenes and do not count as the paper's."
        )
    undetermined = sum(counts.undetermined for counts in by_kind.values())
    if undetermined > 0:
        yield f"Without a verdict, because it depends on details that the paper does not print: {counted(undetermined, 'sentence')}."
    undecided = sum(counts.undecided for counts in by_kind.values())
    if undecided > 0:
        sentences = counted(undecided, "sentence")
        reason = "because differences are not significant or scenes are too few"
        yield f"Not decided, {reason}: {sentences}."
    replaced = count_replaced(group[0].claim for group in by_sentence(done.judgements).values())
    if replaced["sentences"] > 0:
        yield (
            f"{counted(replaced['sentences'], 'rule')} replaced an earlier one after its verdict was known; "
            f"{replaced['after_failure']} of the earlier rules had failed, and a table below shows both verdicts."
        )


def _summary(done: Reproduction, seconds: float) -> Iterator[Block]:
    """Yield the failures, the totals, the missing scenes and the environment."""
    for c in done.comparisons:
        if c.is_outside_tolerance:
            numbers = f"{c.published:g} published, {c.ours:g} ours ({c.tolerance}: {c.reason})"
            yield Text(f"Outside its tolerance: {c.row}, {c.column}: {numbers}.")
    yield from failures_first(s for s in done.statements if s.holds is False)
    yield from map(Text, done.totals)
    yield Text(f"Computed, or taken from earlier runs, in {seconds:.0f} s.")
    if done.missing:
        rows = [[name, reason, _fetch(name)] for name, reason in done.missing.items()]
        yield plain_table(
            "Scenes that are not there; their columns are empty",
            ["scene", "reason", "to get it"],
            rows,
        )
    unjudged: dict[str, list[str]] = {}
    for c in done.comparisons:
        if c.published is not None and not c.judged:
            reason = (
                c.reason
                if c.below is None and c.above is None
                else f"not measured, otherwise {c.tolerance}: {c.reason}"
            )
            unjudged.setdefault(reason, []).append(f"{c.row} {c.column}")
    if unjudged:
        listed = "\n".join(f"{reason}: {', '.join(places)}" for reason, places in unjudged.items())
        yield Details("Published numbers without a verdict, by reason", listed)
    yield Details("Environment", environment_text())


def _fetch(scene: str) -> str:
    sets = {"teddy": "middlebury2003", "cones": "middlebury2003"}
    folder = scene.partition("/")[0] if "/" in scene else sets.get(scene, "middlebury2001")
    return f"stereo-framework scenes --fetch {folder}"


@dataclass(frozen=True)
class _Mark:
    """The marks of an item's files that show a part of the item.

    A file that is taken out of its folder must not be mistaken for the whole item.
    """

    quick: bool
    coverage: Coverage

    @property
    def name_ending(self) -> str:
        """The end of the files' names, so that the files of a whole run stay."""
        return "_quick" if self.quick else ""

    @property
    def title_ending(self) -> str:
        """The end of the tables' titles."""
        if not self.quick and self.coverage.complete:
            return ""
        kind = "quick" if self.quick else "in part"
        return (
            f" ({kind}: {self.coverage.scene_count})" if self.coverage.requested else f" ({kind})"
        )


def _write(out: Path, item: Item, outcome: Outcome, mark: _Mark) -> None:
    """Write the pictures and tables of an item as files."""
    for block in outcome.blocks:
        if isinstance(block, Picture) and block.name:
            name = Path(block.name)
            write_bytes(out / "figures" / f"{name.stem}{mark.name_ending}{name.suffix}", block.file)

    for table_name, table in _tables(item, outcome).items():
        titled = replace(table, title=f"{table.title}{mark.title_ending}")
        for ending, form in (("csv", "csv"), ("md", "markdown"), ("tex", "latex")):
            if table.rows:
                path = out / "tables" / f"{table_name}{mark.name_ending}.{ending}"
                write_bytes(path, to_text(titled, form).encode())


def _tables(item: Item, outcome: Outcome) -> dict[str, Table]:
    """Return the tables of an item's files by the name of the file."""
    header = ("verdict", "kind", "sentence", "source", "figures", "notes")
    statements = failures_first(outcome.statements)
    rows = tuple(
        (s.verdict, s.asked, s.text, s.source, s.figures, " ".join(s.notes)) for s in statements
    )
    tables = {f"{item.name}_statements": Table(header, rows, 0, f"{item.title}: sentences")}

    shown_tables = [block for block in outcome.blocks if isinstance(block, Table)]
    for i, table in enumerate(shown_tables):
        name = item.name if table.header == HEADER else f"{item.name}_{i}"
        tables[name] = _plain(table)
    return tables


def _plain(shown: Table) -> Table:
    """A table of the page for files: numbers with all their digits, and nothing for a dash."""
    rows = [
        [cell.value if cell.value is not None or cell.text == "-" else cell.text for cell in row]
        for row in shown.cells()
    ]
    return replace(shown, rows=rows)
