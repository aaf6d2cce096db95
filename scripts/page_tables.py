"""Write the tables of README.md, docs/why.md and docs/results.md from stored counts.

    python scripts/page_tables.py

Nothing is measured. A table stands between ``<!-- NAME -->`` and ``<!-- end -->``. Its
errors come from ``docs/counts/quality.json`` or ``docs/counts/results.json``, its times
from ``docs/counts/quality_times.json`` or ``docs/counts/results_times.json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from counts import read_counts

ROOT = Path(__file__).parents[1]

Statistics = Mapping[str, Mapping[str, float]]
"""Statistics of a method by scene and name."""


@dataclass(frozen=True)
class Column:
    """A column of docs/results.md: the mean of some statistics over some scenes."""

    heading: str
    statistics: tuple[str, ...]
    scenes: str = ""
    """Regular expression of the scenes that count."""

    def value(self, statistics: Statistics) -> float:
        """Return the mean of the column for a method."""
        scenes = [scene for scene in statistics if re.search(self.scenes, scene)]
        return mean(statistics[scene][name] for scene in scenes for name in self.statistics)


TEN = "^middlebury-v3/trainingQ/"
"""The ten photographs; configs/comparison/photographs.yaml has the motorcycle pair too."""

RESULT_TABLES: dict[str, Sequence[Column]] = {
    "photographs": (
        Column("mean, 1 px", ("bad4_nonocc",), TEN),
        Column("0.5 px", ("bad2_nonocc",), TEN),
        Column("2 px", ("bad8_nonocc",), TEN),
    ),
    "middlebury_v2": (Column("mean of 12", ("bad_pixels_nonocc", "bad_pixels_all", "bad_pixels_disc")),),
    "kept": (
        Column("mean, 1 px", ("bad1_nonocc",)),
        Column("without Art", ("bad1_nonocc",), "(?<!/Art)$"),
        Column("0.5 px", ("bad0.5_nonocc",)),
        Column("2 px", ("bad2_nonocc",)),
    ),
    "roads": tuple(Column(f"{pixels} px", (f"bad{pixels}_all",)) for pixels in ("3", "2", "1", "0.5")),
}
"""The tables of docs/results.md by the name of their script in configs/comparison."""

WITHOUT_SECONDS = ("roads",)
"""Tables that show no times."""

PEERS = {
    "fine": "`fine`, the default",
    "fast": "`fast`",
    "sgm": "`sgm`",
    "pandora": "Pandora 1.9, its chain of census and eight paths",
    "hh": "StereoSGBM, eight paths",
    "sgbm": "StereoSGBM, five paths (`sgbm`)",
}
"""The rows of docs/why.md."""

README_ROWS = {**PEERS, "hh": "OpenCV's StereoSGBM, eight paths, filled"}


def result_values(name: str) -> dict[str, list[float]]:
    """Return the values of a table of docs/results.md by method, unrounded, without seconds."""
    columns = RESULT_TABLES[name]
    methods: dict[str, Statistics] = read_counts("results")["tables"][name]
    return {method: [column.value(statistics) for column in columns] for method, statistics in methods.items()}


def result_table(name: str) -> str:
    """Return a table of docs/results.md, the method with the fewest errors first."""
    headings = ["method", *(column.heading for column in RESULT_TABLES[name])]
    values = result_values(name)
    seconds = read_counts("results_times")["seconds"].get(name, {})
    if name not in WITHOUT_SECONDS:
        headings.append("seconds")

    rows = []
    for method in sorted(values, key=lambda method: values[method][0]):
        cells = [f"{value:.1f}" for value in values[method]]
        if name not in WITHOUT_SECONDS:
            cells.append(f"{seconds[method]:.2f}" if method in seconds else "not measured")
        rows.append([f"`{method}`", *cells])
    return markdown(headings, rows)


def peer_error(method: str, kind: str, threshold: float, seed: int = 0) -> float:
    """Return a method's mean error over a set of benchmarks/quality.py, in percent."""
    quality = read_counts("quality")
    place = quality["thresholds"].index(threshold)
    by_scene = quality["errors_by_seed"][method][seed][kind]
    return mean(errors[place] for errors in by_scene.values())


def peer_time(method: str) -> dict[str, float]:
    """Return the seconds and the MiB that a method takes for the photograph Piano."""
    piano: dict[str, float] = read_counts("quality_times")["methods"][method]["piano"]
    return piano


def peer_table(headings: Sequence[str], names: Mapping[str, str]) -> str:
    """Return the table of errors, seconds and memory beside OpenCV and Pandora."""
    rows = []
    for method, name in names.items():
        piano = peer_time(method)
        photographs = f"{peer_error(method, 'C', 1.0):.1f} %"
        roads = f"{peer_error(method, 'roads', 3.0):.1f} %"
        seconds = piano["seconds"]
        digits = 1 if seconds >= 1 else 2
        rows.append([name, photographs, roads, f"{seconds:.{digits}f}", f"{piano['memory_mib']:.0f}"])
    return markdown(headings, rows)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def block(text: str, name: str) -> str:
    """Return the part of a page between the markers of a name."""
    match = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    if match is None:
        message = f"no block between <!-- {name} --> and <!-- end -->: expected one; write the two markers into the page"
        raise ValueError(message)
    return match[1]


def with_block(text: str, name: str, content: str) -> str:
    """Return a page with other content between the markers of a name."""
    old = f"<!-- {name} -->\n{block(text, name)}\n<!-- end -->"
    return text.replace(old, f"<!-- {name} -->\n{content}\n<!-- end -->")


def generated_blocks() -> dict[tuple[str, str], str]:
    """Return the content of all generated blocks by page and name."""
    readme_rows = {method: name for method, name in README_ROWS.items() if method not in ("sgm", "sgbm")}
    blocks = {
        ("README.md", "peers"): peer_table(["", "ten photographs", "eight roads", "seconds", "MiB"], readme_rows),
        ("docs/why.md", "peers"): peer_table(
            ["method", "off by more than 1 px, ten photographs", "3 px, eight roads", "seconds a photograph", "MiB"],
            PEERS,
        ),
    }
    for name in RESULT_TABLES:
        blocks["docs/results.md", name] = result_table(name)
    return blocks


def main() -> None:
    """Rewrite the tables of the pages."""
    for (page, name), content in generated_blocks().items():
        path = ROOT / page
        text: Any = path.read_text(encoding="utf-8")
        path.write_text(with_block(text, name, content), encoding="utf-8")


if __name__ == "__main__":
    main()
