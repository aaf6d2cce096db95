"""Run a paper's items and write one page, its figures and its tables."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stereo_framework.io import output_folder, write_bytes
from stereo_framework.kernels.threads import thread_count
from stereo_framework.page.page import Block, Details, Page, Picture, Section, Statement, Text
from stereo_framework.papers.claim import KINDS, failures_first
from stereo_framework.papers.comparison import HEADER, Comparison, comparison_table, plain_table
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
    """

    page: Path
    outcomes: dict[str, Outcome]
    missing: dict[str, str]

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
    workers: int | None = None,
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
    workers : int, optional
        Runs at a time; default: 2, or 1 if only one thread is available.
    quick : bool
        Reproduce only the items and scenes that take seconds.

    Raises
    ------
    ParameterError
        There is no such item.
    DataError
        The folder cannot be written.
    """
    chosen = [paper.item(item)] if item is not None else [i for i in paper.items if i.quick or not quick]
    context = Context(paper.name, out, data, workers or min(2, thread_count()), quick)
    outcomes, sections = {}, []
    start = time.perf_counter()
    with output_folder(out):
        for one in chosen:
            context.used.clear()
            outcome = paper.build(one, context)
            outcomes[one.name] = outcome = replace(outcome, blocks=_shown(one, outcome, context.used))
            sections.append(Section(one.title, [*outcome.blocks, *failures_first(outcome.statements)]))
            _write(out, one, outcome)
    done = Reproduction(out / f"{paper.name}.html", outcomes, context.missing)
    if paper.gone and item is None:
        gone = plain_table("What earlier versions judged", ["statement", "verdict, and why it is gone"], paper.gone.items())
        sections.append(Section("No longer asked", [gone]))
    summary = Section("Summary: failures first", list(_summary(done, time.perf_counter() - start, quick)))
    page = Page(f"{paper.name}: published and ours", " ".join(opening(paper, done)), [summary, *sections])
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
    """Five sentences: what was repeated, what agrees, what does not, why, and what cannot be judged."""
    found = {"printed numbers that can be judged": [None if not c.judged else not c.outside for c in done.comparisons]}
    found |= {f"sentences {KINDS[kind]}": done.holds(KINDS[kind]) for kind in ("runs", "printed")}
    told = {words: judged for words, own in found.items() if (judged := [holds for holds in own if holds is not None])}
    agree = ", ".join(f"{sum(own)} of {len(own)} {words}" for words, own in told.items()) or "nothing was judged"
    not_so = ", ".join(f"{len(own) - sum(own)} {words}" for words, own in told.items() if not all(own))
    return [
        f"{paper.reference}: {paper.repeated}.",
        f"What agrees: {agree}.",
        f"What does not: {(not_so and f'{not_so}, listed first below') or 'nothing that was judged'}.",
        paper.why,
        paper.cannot,
    ]


def _summary(done: Reproduction, seconds: float, quick: bool) -> Iterator[Block]:
    for c in done.comparisons:
        if c.outside:
            numbers = f"{c.published:g} published, {c.ours:g} ours ({c.tolerance}: {c.reason})"
            yield Text(f"Outside its tolerance: {c.row}, {c.column}: {numbers}.")
    yield from failures_first(s for s in done.statements if s.holds is False)
    yield from map(Text, done.totals)
    yield Text(f"Computed, or taken from earlier runs, in {seconds:.0f} s{' (quick: one scene)' if quick else ''}.")
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


def _write(out: Path, item: Item, outcome: Outcome) -> None:
    for block in outcome.blocks:
        if isinstance(block, Picture) and block.name:
            write_bytes(out / "figures" / block.name, block.file)
    told = failures_first(outcome.statements)
    rows = tuple((s.verdict, s.asked, s.text, s.source, s.figures, " ".join(s.notes)) for s in told)
    header = ("verdict", "kind", "sentence", "source", "figures", "notes")
    tables = {f"{item.name}_statements": Table(header, rows, 0, f"{item.title}: sentences")}
    for i, table in enumerate(block for block in outcome.blocks if isinstance(block, Table)):
        tables[item.name if table.header == HEADER else f"{item.name}_{i}"] = _plain(table)
    for name, table in tables.items():
        for ending, form in (("csv", "csv"), ("md", "markdown"), ("tex", "latex")):
            if table.rows:
                write_bytes(out / "tables" / f"{name}.{ending}", to_text(table, form).encode())


def _plain(shown: Table) -> Table:
    """A table of the page for files: numbers with all their digits, and nothing for a dash."""
    rows = [[cell.value if cell.value is not None or cell.text == "-" else cell.text for cell in row] for row in shown.cells()]
    return replace(shown, rows=rows)
