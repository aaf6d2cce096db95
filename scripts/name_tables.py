"""Write the tables of docs/names.md: names of parameters, and former names.

    python scripts/name_tables.py

The names and units of parameters come from the stages, their meanings from the stages'
docstrings, and their names in papers and other programs from parameter_symbols.yaml.
The former names come from stereo_framework/core/former_names.yaml.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml
from page_tables import with_block

from stereo_framework.core import former_names
from stereo_framework.core.docstrings import parameter_descriptions
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/names.md"
SYMBOLS = Path(__file__).with_name("parameter_symbols.yaml")

SOURCES = {
    "paper": "in the paper",
    "opencv": "in OpenCV",
    "pandora": "in Pandora",
    "stereo_matcher": "in StereoMatcher 1.0",
}
"""Headings of the columns with names of other sources, by their keys in SYMBOLS."""

SECTIONS = {
    "stage_parameters": "Parameters of stages",
    "script_keys": "Keys of scripts",
    "protocol_fields": "Fields of protocols",
    "statistics": "Statistics and metrics",
    "scene_keys": "Keys of scene.yaml",
    "command_options": "Options of commands",
    "command_values": "Arguments of commands",
    "script_names": "Scripts of the package",
    "data_arguments": "Data arguments of plug-ins",
    "module_names": "Python names",
    "moved_names": "Python names in other modules",
    "attributes": "Attributes",
    "arguments": "Arguments of Python functions",
}
"""Headings of the tables of former names, by the section of the table."""

PLACES = {
    "aggregation.*": "every entry of a list of `aggregation`",
    "matching_cost.*": "every entry of a list of `matching_cost`",
    "configs": "names for `load` and the commands",
    "script": "a script, an entry of `methods`, an auxiliary method",
    "stage": "stages",
    "metric": "metrics",
    "metrics": "statistics of results, and metrics of protocols",
}
"""Descriptions of the places whose names in the table of former names are no names."""


@functools.cache
def symbols() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return the names in other sources by stage, parameter and source."""
    content: Mapping[str, Mapping[str, Mapping[str, str]]]
    content = yaml.safe_load(SYMBOLS.read_text("utf-8"))
    return content


def package_stages(slot: str) -> list[Stage]:
    """Return the stages of a slot that are in the package and have parameters."""
    return [stage for stage in stages(slot) if _is_in_package(stage) and stage.parameters]


def _is_in_package(stage: Stage) -> bool:
    return str(stage.function.__module__).startswith("stereo_framework.")


def first_sentence(text: str) -> str:
    """Return the first sentence of a parameter's description.

    Examples
    --------
    >>> first_sentence("Width of the windows, in pixels. Larger windows smooth more.")
    'Width of the windows, in pixels'
    """
    sentence = re.split(r"[.;] ", text)[0]
    return sentence.rstrip(".").replace("``", "`")


def parameter_table(slot: str) -> str:
    """Return the table of the parameters of a slot's stages."""
    rows = []
    for stage in package_stages(slot):
        names_elsewhere = symbols().get(f"{slot}.{stage.name}", {})
        texts = parameter_descriptions(stage.function)
        for name in stage.parameters:
            elsewhere = names_elsewhere.get(name, {})
            meaning = first_sentence(texts.get(name, ""))
            cells = [f"`{stage.name}`", f"`{name}`", meaning, stage.unit(name)]
            rows.append([*cells, *(elsewhere.get(source, "") for source in SOURCES)])
    header = ["stage", "parameter", "meaning", "unit", *SOURCES.values()]
    return markdown_table(*_without_empty_columns(header, rows))


def former_name_table(section: str) -> str:
    """Return the table of the former names of a section."""
    rows = []
    for place, names in former_names.table()[section].items():
        shown_place = PLACES.get(place, f"`{place}`")
        rows += [[shown_place, f"`{former}`", f"`{new}`"] for former, new in names.items()]
    return markdown_table(["place", "former name", "name"], rows)


def _without_empty_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Remove the columns of other sources that no row fills."""
    filled = [i for i, column in enumerate(zip(*rows, strict=True)) if any(column)]
    shorter_rows = []
    for row in rows:
        shorter_rows.append([row[i] for i in filled])
    return [header[i] for i in filled], shorter_rows


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; an empty cell shows a dash."""
    lines = [header, ["---"] * len(header)]
    for row in rows:
        lines.append([cell.replace("|", "\\|") or "-" for cell in row])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def parameter_sections() -> str:
    """Return the tables of all slots whose stages have parameters, with headings."""
    slots = [slot for slot in SLOTS if package_stages(slot)]
    return "\n\n".join(f"### {slot}\n\n{parameter_table(slot)}" for slot in slots)


def former_name_sections() -> str:
    """Return the tables of all sections of former names, with headings."""
    tables = [
        f"### {heading}\n\n{former_name_table(section)}" for section, heading in SECTIONS.items()
    ]
    return "\n\n".join(tables)


def page(text: str) -> str:
    """Return the text of the page with new tables."""
    text = with_block(text, "parameters", parameter_sections())
    return with_block(text, "former names", former_name_sections())


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
