"""Run a paper's items and write one page, its figures and its tables."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from stereo_framework.errors import DataError, ParameterError, nearest
from stereo_framework.page.page import Cell, Details, Page, PageTable, Section, Statement, Text
from stereo_framework.papers.comparison import Comparison, exported
from stereo_framework.papers.paper import Context, Item, Outcome, Paper
from stereo_framework.tables.environment import environment_text
from stereo_framework.tables.formats import to_text


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction came to.

    Parameters
    ----------
    page : Path
        The written page.
    outcomes : dict of str to Outcome
        By item.
    missing : dict of str to str
        Scenes that were not there, with the reason.
    """

    page: Path
    outcomes: dict[str, Outcome]
    missing: dict[str, str]

    @property
    def comparisons(self) -> list[Comparison]:
        """Of all items."""
        return [c for outcome in self.outcomes.values() for c in outcome.comparisons]

    @property
    def statements(self) -> list[Statement]:
        """Of all items."""
        return [s for outcome in self.outcomes.values() for s in outcome.statements]

    @property
    def holds(self) -> bool:
        """Whether no number is outside its tolerance and no statement false."""
        return not any(c.outside for c in self.comparisons) and not any(s.holds is False for s in self.statements)


def reproduce(
    paper: Paper,
    out: Path,
    *,
    item: str | None = None,
    data: Path | None = None,
    workers: int = 2,
    quick: bool = False,
    full: bool = False,
) -> Reproduction:
    """Reproduce a paper or one of its items.

    Parameters
    ----------
    paper : Paper
    out : Path
        Gets ``PAPER.html``, ``figures``, ``tables`` and ``runs``; runs that are there are not repeated.
    item : str, optional
        Only this one.
    data : Path, optional
        Data root; default: as of `load_scene`.
    workers : int
        Runs at a time.
    quick : bool
        Only the items and scenes that take seconds.
    full : bool
        Nothing at reduced size, however long it takes.

    Raises
    ------
    ParameterError
        No such item, or `quick` and `full` together.
    DataError
        The folder cannot be written.
    """
    names = [i.name for i in paper.items]
    if item is not None and item not in names:
        raise ParameterError(f"{paper.name} has no item {item!r}; {nearest(item, names, kind='items')}")
    if quick and full:
        raise ParameterError("quick and full are two wishes; give one")
    chosen = [i for i in paper.items if (item is None and (i.quick or not quick)) or i.name == item]
    context = Context(paper.name, out, data, workers, quick, full)
    outcomes, sections = {}, []
    start = time.perf_counter()
    for one in chosen:
        outcomes[one.name] = outcome = one.build(context)
        sections.append(Section(one.title, [*outcome.blocks, *outcome.statements]))
        _write(out, one, outcome)
    done = Reproduction(out / f"{paper.name}.html", outcomes, context.missing)
    lead = f"{paper.reference}. {paper.description}"
    summary = _summary(done, time.perf_counter() - start, quick)
    Page(f"{paper.name}: published and ours", lead, [summary, *sections]).write(done.page)
    return done


def _summary(done: Reproduction, seconds: float, quick: bool) -> Section:
    outside = [c for c in done.comparisons if c.outside]
    judged = [c for c in done.comparisons if c.difference is not None and (c.below is not None or c.above is not None)]
    wrong = [s for s in done.statements if s.holds is False]
    met = f"{len(judged) - len(outside)} of {len(judged)} published numbers are met within their tolerance"
    text = (
        f"{met if judged else 'Published numbers are shown without a verdict'}; "
        f"{sum(s.holds is True for s in done.statements)} of {len(done.statements)} statements of the paper hold. "
        f"Computed, or taken from earlier runs, in {seconds:.0f} s{' (quick: one scene)' if quick else ''}."
    )
    blocks: list[Text | PageTable | Details] = [Text(text)]
    blocks += [
        Text(f"Outside its tolerance: {c.row}, {c.column}: {c.published:g} published, {c.ours:.2f} ours.") for c in outside
    ]
    blocks += [Text(f"Does not hold: {s.text}.") for s in wrong]
    if done.missing:
        rows = [[Cell(name), Cell(reason), Cell(_fetch(name))] for name, reason in done.missing.items()]
        blocks.append(PageTable("Scenes that are not there; their columns are empty", ["scene", "reason", "to get it"], rows))
    blocks.append(Details("Environment", environment_text()))
    return Section("Summary", blocks)


def _fetch(scene: str) -> str:
    sets = {"teddy": "middlebury2003", "cones": "middlebury2003"}
    folder = scene.partition("/")[0] if "/" in scene else sets.get(scene, "middlebury2001")
    return f"stereo-framework scenes fetch {folder}"


def _write(out: Path, item: Item, outcome: Outcome) -> None:
    try:
        for folder in ("figures", "tables"):
            (out / folder).mkdir(parents=True, exist_ok=True)
        for name, content in outcome.files.items():
            (out / "figures" / name).write_bytes(content.encode() if isinstance(content, str) else content)
        if outcome.comparisons:
            table = exported(item.title, outcome.comparisons)
            for ending, form in (("csv", "csv"), ("md", "markdown"), ("tex", "latex")):
                (out / "tables" / f"{item.name}.{ending}").write_text(to_text(table, form))
    except OSError as error:
        raise DataError(f"{out}: cannot be written: {error.strerror}") from None
