"""Run a paper's items and write one page, its figures and its tables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stereo_framework.errors import ParameterError, nearest
from stereo_framework.io import output_folder, write_bytes
from stereo_framework.page.page import Block, Cell, Details, Page, PageTable, Section, Statement, Text
from stereo_framework.papers.claim import claims_table, failures_first
from stereo_framework.papers.comparison import Comparison, exported
from stereo_framework.papers.paper import Context, Item, Outcome, Paper
from stereo_framework.tables.environment import environment_text
from stereo_framework.tables.formats import to_text


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
        """The statements of the paper, from all items."""
        return [s for s in self._claims if s.source]

    @property
    def checks(self) -> list[Statement]:
        """Our own checks, from all items; they are not part of any total."""
        return [s for s in self._claims if not s.source]

    @property
    def _claims(self) -> list[Statement]:
        return [s for outcome in self.outcomes.values() for s in outcome.statements]

    @property
    def status(self) -> int:
        """Exit status: 1 if a published number lies outside its tolerance or a statement does not hold, 3 if only checks of our own fail, 0 otherwise."""
        if any(c.outside for c in self.comparisons) or any(s.holds is False for s in self.statements):
            return 1
        return 3 if any(s.holds is False for s in self.checks) else 0

    @property
    def totals(self) -> list[str]:
        """The counts as text, with a line for each of the three kinds."""
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
        return [
            numbers,
            f"The paper's statements: {_counts(self.statements)}.",
            f"Our own checks, in no total: {_counts(self.checks)}.",
        ]


def _counts(statements: Sequence[Statement]) -> str:
    count = {holds: sum(s.holds is holds for s in statements) for holds in (False, True, None)}
    return f"{count[False]} of {len(statements)} do not hold, {count[True]} hold, {count[None]} were not checked"


def reproduce(
    paper: Paper,
    out: Path,
    *,
    item: str | None = None,
    data: Path | None = None,
    workers: int = 2,
    quick: bool = False,
    single_file: bool = False,
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
        Reproduce only the items and scenes that take seconds.
    single_file : bool
        Keep the page's pictures inside the page instead of in ``assets``.

    Raises
    ------
    ParameterError
        There is no such item.
    DataError
        The folder cannot be written.
    """
    names = [i.name for i in paper.items]
    if item is not None and item not in names:
        raise ParameterError(f"{paper.name} has no item {item!r}; {nearest(item, names, kind='items')}")
    chosen = [i for i in paper.items if (item is None and (i.quick or not quick)) or i.name == item]
    context = Context(paper.name, out, data, workers, quick)
    outcomes, sections = {}, []
    start = time.perf_counter()
    with output_folder(out):
        for one in chosen:
            outcomes[one.name] = outcome = one.build(context)
            # The paper's statements come before our own checks, failures first.
            told = sorted(failures_first(outcome.statements), key=lambda s: not s.source)
            sections.append(Section(one.title, [*outcome.blocks, *told]))
            _write(out, one, outcome)
    done = Reproduction(out / f"{paper.name}.html", outcomes, context.missing)
    lead = f"{paper.reference}. {paper.description}"
    summary = _summary(done, {i.name: i.title for i in chosen}, time.perf_counter() - start, quick)
    Page(f"{paper.name}: published and ours", lead, [summary, *sections]).write(done.page, single_file=single_file)
    return done


def by_item(outcomes: Mapping[str, Outcome], titles: Mapping[str, str]) -> PageTable:
    """A row for each item: how many published numbers were judged and how many lie outside their tolerance, and how many statements and checks hold."""
    header = ["item", "numbers judged", "outside", "statements: hold", "do not", "own checks: hold", "fail"]
    rows = []
    for name, outcome in outcomes.items():
        numbers = [(sum(c.judged for c in outcome.comparisons), ""), (sum(c.outside for c in outcome.comparisons), "outside")]
        for said, wrong in ((True, "the paper’s statement does not hold"), (False, "our own check fails")):
            verdicts = [s.holds for s in outcome.statements if bool(s.source) is said]
            numbers += [(verdicts.count(True), ""), (verdicts.count(False), wrong)]
        # Zeros are left empty, so that the other counts stand out.
        rows.append([Cell(titles[name]), *(Cell(str(n), n, wrong) if n else Cell("", n) for n, wrong in numbers)])
    return PageTable("What each item came to", header, rows)


def _summary(done: Reproduction, titles: Mapping[str, str], seconds: float, quick: bool) -> Section:
    blocks: list[Block] = []
    for c in done.comparisons:
        if c.outside:
            numbers = f"{c.published:g} published, {c.ours:g} ours ({c.tolerance}: {c.reason})"
            blocks.append(Text(f"Outside its tolerance: {c.row}, {c.column}: {numbers}."))
    blocks += [s for s in done.statements if s.holds is False]
    blocks += [s for s in done.checks if s.holds is False]
    blocks += map(Text, done.totals)
    if len(done.outcomes) > 1:
        blocks.append(by_item(done.outcomes, titles))
    blocks.append(Text(f"Computed, or taken from earlier runs, in {seconds:.0f} s{' (quick: one scene)' if quick else ''}."))
    if done.missing:
        rows = [[Cell(name), Cell(reason), Cell(_fetch(name))] for name, reason in done.missing.items()]
        blocks.append(PageTable("Scenes that are not there; their columns are empty", ["scene", "reason", "to get it"], rows))
    unjudged: dict[str, list[str]] = {}
    for c in done.comparisons:
        if c.published is not None and not c.judged:
            reason = c.reason if c.below is None and c.above is None else f"not measured, otherwise {c.tolerance}: {c.reason}"
            unjudged.setdefault(reason, []).append(f"{c.row} {c.column}")
    if unjudged:
        listed = "\n".join(f"{reason}: {', '.join(places)}" for reason, places in unjudged.items())
        blocks.append(Details("Published numbers without a verdict, by reason", listed))
    blocks.append(Details("Environment", environment_text()))
    return Section("Summary: failures first", blocks)


def _fetch(scene: str) -> str:
    sets = {"teddy": "middlebury2003", "cones": "middlebury2003"}
    folder = scene.partition("/")[0] if "/" in scene else sets.get(scene, "middlebury2001")
    return f"stereo-framework scenes fetch {folder}"


def _write(out: Path, item: Item, outcome: Outcome) -> None:
    statements, checks = ([s for s in outcome.statements if bool(s.source) is said] for said in (True, False))
    tables = {
        item.name: exported(item.title, outcome.comparisons),
        f"{item.name}_statements": claims_table(f"{item.title}: the paper's statements", statements),
        f"{item.name}_checks": claims_table(f"{item.title}: our own checks, in no total", checks),
    }
    for name, content in outcome.files.items():
        write_bytes(out / "figures" / name, content.encode() if isinstance(content, str) else content)
    for name, table in tables.items():
        for ending, form in (("csv", "csv"), ("md", "markdown"), ("tex", "latex")):
            if table.rows:
                write_bytes(out / "tables" / f"{name}.{ending}", to_text(table, form).encode())
