"""Run a paper's items and write one page, its figures and its tables."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stereo_framework.io import output_folder, write_bytes
from stereo_framework.page.page import Block, Details, Page, Picture, Section, Statement, Text
from stereo_framework.papers.claim import KINDS, failures_first
from stereo_framework.papers.comparison import HEADER, Comparison, comparison_table, plain_table
from stereo_framework.papers.extent import Coverage, Extent, union
from stereo_framework.papers.paper import Context, Item, Outcome, Paper
from stereo_framework.sweep import Result
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
    def statements(self) -> list[Statement]:
        """The sentences of all items, of every kind."""
        return [s for outcome in self.outcomes.values() for s in outcome.statements]

    def holds(self, kind: str) -> list[bool | None]:
        """The verdicts of the sentences of a kind, in the words of `KINDS`."""
        return [s.holds for s in self.statements if s.asked == kind]

    @property
    def status(self) -> int:
        """Exit status: 1 if a published number lies outside its tolerance or a sentence does not hold, 3 if only checks of our own fail, 0 otherwise."""
        fails = {s.asked == KINDS["own"] for s in self.statements if s.holds is False}
        return 1 if any(c.outside for c in self.comparisons) or False in fails else 3 if fails else 0

    @property
    def totals(self) -> list[str]:
        """The counts as text: published numbers, then sentences by kind."""
        judged, outside = [c for c in self.comparisons if c.judged], sum(c.outside for c in self.comparisons)
        absent = sum(c.ours is None for c in self.comparisons)
        unjudged = len(self.comparisons) - len(judged) - absent
        numbers = (
            f"Published numbers: {outside} of {len(judged)} judged lie outside their tolerance, {len(judged) - outside} are met; "
            f"{unjudged} are shown without a verdict, {absent} were not measured."
        )
        if one_sided := [c for c in judged if c.one_sided]:
            met = [c for c in one_sided if not c.outside]
            numbers += (
                f" {len(one_sided)} of those judged are limited on one side alone: {len(met)} of these are met, "
                f"{sum(c.near for c in met)} with the same limit on the other side too."
            )
        lines = [numbers]
        for kind in KINDS.values():
            verdicts = self.holds(kind)
            counts = f"{verdicts.count(False)} of {len(verdicts)} do not hold, {verdicts.count(True)} hold"
            lacking = f", {verdicts.count(None)} were not asked" if None in verdicts else ""
            told = f"{len(verdicts)}" if kind == KINDS["not judged"] else counts + lacking
            if verdicts:
                lines.append(f"{'Our own checks, in no total' if kind == KINDS['own'] else f'Sentences {kind}'}: {told}.")
        return lines


def reproduce(
    paper: Paper,
    out: Path,
    *,
    item: str | None = None,
    data: Path | None = None,
    workers: int = 2,
    quick: bool = False,
) -> Reproduction:
    """Reproduce a paper or one of its items.

    Parameters
    ----------
    paper : Paper
    out : Path
        Folder that gets ``PAPER.html``, ``assets``, ``figures``, ``tables`` and ``runs``; existing runs are not repeated.
    item : str, optional
        The only item to reproduce.
    data : Path, optional
        Data root; default: as for `load_scene`.
    workers : int
        Runs at a time.
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

    context = Context(paper.name, out, data, workers, quick)
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
            sections.append(Section(chosen.title, [*outcome.blocks, *failures_first(outcome.statements)]))
            _write(out, chosen, outcome, _Mark(quick, context.coverage))

    extent = Extent(list(outcomes), len(paper.items), union(coverages), quick=quick, single_item=item is not None)
    title = f"{paper.name}: published and ours"
    if extent.label:
        title += f". {extent.label}"
    done = Reproduction(out / f"{paper.name}.html", outcomes, context.missing, title, extent)
    if paper.gone and extent.all_items:
        gone = plain_table("What earlier versions judged", ["statement", "verdict, and why it is gone"], paper.gone.items())
        sections.append(Section("No longer asked", [gone]))
    summary = Section("Summary: failures first", list(_summary(done, time.perf_counter() - start)))
    page = Page(title, " ".join(opening(paper, done)), [summary, *sections])
    page.write(done.page)
    return done


def _shown(item: Item, outcome: Outcome, used: Sequence[Result]) -> list[Block]:
    """What an item shows: what it tells, published numbers, and the rest; then the protocol of the results that it used, and those that failed."""
    shown = [comparison_table(f"{item.title}: published and ours", outcome.comparisons)] if outcome.comparisons else []
    told = [block for block in outcome.blocks if isinstance(block, Text)]
    blocks = [*([Text(item.text)] if item.text else []), *told, *shown, *(block for block in outcome.blocks if block not in told)]
    if used:
        failed = [f"{r.scene} {r.method} {dict(r.axes)}: {r.error}" for r in used if r.error]
        lines = [f"{len(used)} results", *dict.fromkeys(r.protocol_text for r in used), *failed]
        blocks.append(Details("Protocol and number of results", "\n".join(lines)))
    return blocks


def opening(paper: Paper, done: Reproduction) -> list[str]:
    """Return the sentences of the first paragraph.

    They give the work that was repeated, what agrees and what does not. The reasons and
    limits that the paper's file gives follow only if the whole paper was run.
    """
    whole = done.extent.whole
    agreeing, disagreeing = _verdict_counts(done)
    agreement = agreeing or "nothing was judged"
    disagreement = f"{disagreeing}, listed first below" if disagreeing else "nothing that was judged"
    if not done.extent.all_items:
        return [
            f"{paper.reference}.",
            done.extent.sentence,
            f"What agrees in this part: {agreement}.",
            f"What does not: {disagreement}.",
            f"The whole paper: stereo-framework reproduce {paper.name}.",
        ]
    sentences = [
        f"{paper.reference}: {paper.repeated}.",
        f"What agrees: {agreement}.",
        f"What does not: {disagreement}.",
    ]
    if whole:
        return [*sentences, paper.why, paper.cannot]
    return [*sentences, done.extent.sentence]


def _verdict_counts(done: Reproduction) -> tuple[str, str]:
    """Return the numbers and sentences that agree and those that do not, as texts."""
    verdicts = {"printed numbers that can be judged": [not c.outside for c in done.comparisons if c.judged]}
    for kind in ("runs", "printed"):
        kind_words = KINDS[kind]
        verdicts[f"sentences {kind_words}"] = [holds for holds in done.holds(kind_words) if holds is not None]

    agreeing: list[str] = []
    disagreeing: list[str] = []
    for noun, values in verdicts.items():
        if values:
            agreeing.append(f"{sum(values)} of {len(values)} {noun}")
        if not all(values):
            disagreeing.append(f"{values.count(False)} {noun}")
    return ", ".join(agreeing), ", ".join(disagreeing)


def _summary(done: Reproduction, seconds: float) -> Iterator[Block]:
    """Yield the failures, the totals, the missing scenes and the environment."""
    for c in done.comparisons:
        if c.outside:
            numbers = f"{c.published:g} published, {c.ours:g} ours ({c.tolerance}: {c.reason})"
            yield Text(f"Outside its tolerance: {c.row}, {c.column}: {numbers}.")
    yield from failures_first(s for s in done.statements if s.holds is False)
    yield from map(Text, done.totals)
    yield Text(f"Computed, or taken from earlier runs, in {seconds:.0f} s.")
    if done.missing:
        rows = [[name, reason, _fetch(name)] for name, reason in done.missing.items()]
        yield plain_table("Scenes that are not there; their columns are empty", ["scene", "reason", "to get it"], rows)
    unjudged: dict[str, list[str]] = {}
    for c in done.comparisons:
        if c.published is not None and not c.judged:
            reason = c.reason if c.below is None and c.above is None else f"not measured, otherwise {c.tolerance}: {c.reason}"
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
        return f" ({kind}: {self.coverage.scene_count})" if self.coverage.requested else f" ({kind})"


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
    rows = tuple((s.verdict, s.asked, s.text, s.source, s.figures, " ".join(s.notes)) for s in statements)
    tables = {f"{item.name}_statements": Table(header, rows, 0, f"{item.title}: sentences")}

    shown_tables = [block for block in outcome.blocks if isinstance(block, Table)]
    for i, table in enumerate(shown_tables):
        name = item.name if table.header == HEADER else f"{item.name}_{i}"
        tables[name] = _plain(table)
    return tables


def _plain(shown: Table) -> Table:
    """A table of the page for files: numbers with all their digits, and nothing for a dash."""
    rows = [[cell.value if cell.value is not None or cell.text == "-" else cell.text for cell in row] for row in shown.cells()]
    return replace(shown, rows=rows)
