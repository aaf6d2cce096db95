"""The page of a run: its results, plots, maps, times and everything behind the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from stereo_framework.datasets import load_scene
from stereo_framework.errors import DataError
from stereo_framework.evaluation.protocols import of_scene
from stereo_framework.figures.layers import scene_layers
from stereo_framework.io import PathLike
from stereo_framework.page.choosing import choosing_blocks
from stereo_framework.page.page import Block, Cell, Details, Page, PageTable, Picture, Section, Text, Viewer
from stereo_framework.page.report_files import reports
from stereo_framework.page.standing import rank_blocks, roc_blocks
from stereo_framework.script.report import read_report
from stereo_framework.sweep import Result, Store
from stereo_framework.tables.averages import averages
from stereo_framework.tables.environment import environment_text
from stereo_framework.tables.tables import listing, show
from stereo_framework.tables.values import is_number
from stereo_framework.tables.words import setting_name

_MOST_VIEWERS = 40
"""Maps on a page; a viewer of a quarter-megapixel scene weighs half a megabyte."""


def run_page(folder: PathLike, *, data: PathLike | None = None) -> Page:
    """The page of an output folder.

    Parameters
    ----------
    folder : path-like
        The ``--out`` folder of a run.
    data : path-like, optional
        Data root, for truth and images of the maps; default: as of `load_scene`.

    Raises
    ------
    DataError
        No results there.
    """
    folder = Path(folder)
    with Store(folder) as store:
        results, missing = store.results(), store.missing()
    sections = [Section("Results", _results(results, averages(results, data)))]
    if choosing := _choosing(folder, results):
        sections.append(Section("Choosing", choosing))
    if ranks := rank_blocks(folder, results):
        sections.append(Section("Ranks", ranks))
    if curves := roc_blocks(results):
        sections.append(Section("ROC", curves))
    if plots := sorted((folder / "plots").glob("*.svg")):
        sections.append(Section("Plots", [Picture(p.read_text(), f"plot {p.stem}", p.stem) for p in plots]))
    if maps := [r for r in results if r.map is not None and r.map.is_file()]:
        sections.append(Section("Disparity maps", _maps(maps, data)))
    sections += [Section("Times", [_times(results)]), Section("Behind the numbers", _details(folder, results))]
    lead = f"{len(results)} result{'s' * (len(results) != 1)}{f', {missing} still missing' if missing else ''}."
    return Page(f"Run: {folder.resolve().name}", lead, sections)


def _results(results: Sequence[Result], means: Sequence[Result]) -> list[Block]:
    blocks: list[Block] = []
    for text in dict.fromkeys(r.protocol_text for r in results):
        table = listing([r for r in (*results, *means) if r.protocol_text == text])
        cells = [
            [
                Cell(shown, float(value) if is_number(value) else None, "best" if (i, j) in table.best else "")
                for j, (value, shown) in enumerate(zip(row, texts, strict=True))
            ]
            for i, (row, texts) in enumerate(zip(table.rows, table.texts(), strict=True))
        ]
        name = text.partition(":")[0]
        blocks.append(PageTable(f"Protocol {name}", list(table.header), cells, text))
    failed = [f"{r.scene} {r.method} {dict(r.axes) or ''}: {r.error}" for r in results if r.error]
    return [*blocks, *([Details(f"{len(failed)} runs failed", "\n".join(failed))] if failed else [])]


def _choosing(folder: Path, results: Sequence[Result]) -> list[Block]:
    """Charts for choosing among several methods or settings: those that scripts ask for, else of the HCI metrics, where they were measured."""
    # A run writes its script, resolved, into its folder.
    scripts = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))]
    asked = [
        (own, chart)
        for own, report in reports(results, [script for script in scripts if isinstance(script, dict)])
        for chart in read_report(report).charts
    ]
    if asked:
        return [block for own, chart in asked for block in choosing_blocks(own, chart)]
    return choosing_blocks(results) if len({setting_name(r) for r in results}) > 1 else []


def _maps(results: Sequence[Result], data: PathLike | None) -> list[Block]:
    blocks: list[Block] = []
    for result in results[:_MOST_VIEWERS]:
        settings = ", ".join(f"{k}={v}" for k, v in result.axes.items())
        title = ", ".join(filter(None, (result.scene, result.method, settings)))
        try:
            scene = load_scene(result.scene, data=data)
            if result.disparity is not None:
                blocks.append(Viewer(title, scene_layers(scene, result.disparity, of_scene(scene))))
        except DataError as error:
            blocks.append(Text(f"{title}: not shown: {error}"))
    if len(results) > _MOST_VIEWERS:
        blocks.append(Text(f"The first {_MOST_VIEWERS} of {len(results)} maps; the others lie in the folder maps."))
    return blocks


def _times(results: Sequence[Result]) -> PageTable:
    stages = list(dict.fromkeys(name for r in results for name in r.seconds))
    rows = [[Cell(r.scene), Cell(r.method), *(Cell(show(v), v) for v in map(r.seconds.get, stages))] for r in results]
    return PageTable("Seconds of each stage", ["scene", "method", *stages], rows)


def _details(folder: Path, results: Sequence[Result]) -> list[Block]:
    scripts: list[Block] = [Details(f"Script {p.name}, with all defaults", p.read_text()) for p in sorted(folder.glob("*.yaml"))]
    settings = "\n".join(f"{r.id} {r.scene} {r.method} {dict(r.parameters)}" for r in results)
    warnings = "\n".join(dict.fromkeys(f"{r.scene} {r.method}: {w}" for r in results for w in r.warnings))
    return [
        *scripts,
        Details("Parameters of every result", settings),
        *([Details("Warnings", warnings)] if warnings else []),
        Details("Environment of this page", environment_text()),
    ]
