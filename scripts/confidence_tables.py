"""The tables and the picture of docs/confidence.md, from stored results: ``python scripts/confidence_tables.py FOLDER ...``.

Prints, for each method, the mean over the scenes of area over optimal area, measures by their mean rank: once for all scenes, and once for the
scenes that the weights of `learned` were not learned from. Then it prints the areas with each scene left out of learning, from ``learned.yaml``.
``--counts`` also writes the second table to ``docs/counts/confidence.json``. ``--points ALL SURE``: instead, from two ``points.ply`` of `match`,
``docs/images/points_sure.jpg``.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from counts import write_counts
from PIL import Image

from stereo_framework.sweep import Result
from stereo_framework.tables.results import stored

POINTS = Path(__file__).parents[1] / "docs" / "images" / "points_sure.jpg"
LEARNED = Path(__file__).parents[1] / "stereo_framework" / "confidence" / "learned.yaml"
MARKS = {"learned": "`learned`\\*"}
"""Cells of measures whose weights were learned from scenes of the table."""
SHOWN_LEFT_OUT = (
    "learned",
    "ambiguity",
    "matching_score",
    "peak_ratio",
    "maximum_likelihood",
    "left_right_consistency",
)
_RATIO = "auc_ratio_"


def short(name: str) -> str:
    """A scene's name without its folders."""
    return name.rpartition("/")[2]


def measures(found: Sequence[Result]) -> list[str]:
    """The measures that all results have."""
    return [name.removeprefix(_RATIO) for name in found[0].statistics if name.startswith(_RATIO)]


def ratios(
    found: Sequence[Result], names: Sequence[str], methods: Sequence[str]
) -> dict[str, np.ndarray]:
    """By method the areas over the optimal ones, (scenes, measures)."""
    return {
        m: np.array([[r.statistics[_RATIO + n] for n in names] for r in found if r.method == m])
        for m in methods
    }


def ranks(table: np.ndarray) -> np.ndarray:
    """The rank of each measure on each scene, 1 = best; ties count half."""
    return (
        (table[:, None, :] < table[:, :, None]).sum(axis=2)
        + (table[:, None, :] == table[:, :, None]).sum(axis=2) / 2
        + 0.5
    )


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in Markdown."""
    for cells in (header, ["---"] * len(header), *rows):
        print(f"| {' | '.join(cells)} |")
    print()


def from_the_side(path: Path, rows: int = 520, columns: int = 720) -> np.ndarray:
    """A picture of Adirondack's points, seen from the right and a little from above, uint8 (rows, columns, 3)."""
    vertices = np.frombuffer(
        path.read_bytes().partition(b"end_header\n")[2], [("place", "<f4", 3), ("colour", "u1", 3)]
    )
    turn, tilt = np.radians([-50, 25])
    around = np.array(
        [[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]]
    )
    above = np.array([[1, 0, 0], [0, np.cos(tilt), np.sin(tilt)], [0, -np.sin(tilt), np.cos(tilt)]])
    x, y, z = above @ around @ (vertices["place"] - [0, 0, 2300]).T
    order = np.argsort(-z)  # the nearest last
    column, row = (
        np.rint(along[order] * 0.36 + size / 2).astype(int)
        for along, size in ((x, columns), (y, rows))
    )
    seen = (row >= 0) & (row < rows - 1) & (column >= 0) & (column < columns - 1)
    picture = np.full((rows, columns, 3), 255, np.uint8)
    for down, right in np.ndindex(2, 2):
        picture[row[seen] + down, column[seen] + right] = vertices["colour"][order][seen]
    return picture


class RatioTable:
    """Mean areas over optimal areas of some results, measures in the order of their mean rank.

    Parameters
    ----------
    results : sequence of Result
        Results without errors, all with the same measures.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        measure_names = measures(results)
        self.methods = list(dict.fromkeys(r.method for r in results))
        self.scenes = list(dict.fromkeys(r.scene for r in results))
        areas = ratios(results, measure_names, self.methods)
        rank_of_method = [ranks(values).mean(axis=0) for values in areas.values()]
        mean_ranks = np.mean(rank_of_method, axis=0)

        order = np.argsort(mean_ranks)
        self.measures = [measure_names[i] for i in order]
        self.ranks = mean_ranks[order]
        self.means = np.array([areas[method].mean(axis=0)[order] for method in self.methods])
        self.without = np.array([mean_error_ratio(results, method) for method in self.methods])

    def print(self, marks: dict[str, str]) -> None:
        """Print the table in Markdown, with other cells for the measures that have a mark."""
        print(f"{len(self.scenes)} scenes: {', '.join(map(short, self.scenes))}\n")
        rows = []
        for i, name in enumerate(self.measures):
            areas = [f"{mean:.2f}" for mean in self.means[:, i]]
            rows.append([marks.get(name, f"`{name}`"), *areas, f"{self.ranks[i]:.1f}"])
        rows.append(["(none: the error rate)", *(f"{ratio:.2f}" for ratio in self.without), "-"])
        print_table(
            ["area over optimal area", *(f"`{method}`" for method in self.methods), "mean rank"],
            rows,
        )

    def counts(self) -> dict[str, Any]:
        """Return the table as a mapping: the scenes, and for each measure its areas and its mean rank."""
        figures: dict[str, Any] = {}
        for i, name in enumerate(self.measures):
            areas = [round(float(mean), 4) for mean in self.means[:, i]]
            by_method = dict(zip(self.methods, areas, strict=True))
            figures[name] = {**by_method, "mean rank": round(float(self.ranks[i]), 4)}
        return {"scenes": self.scenes, "measures": figures}


def mean_error_ratio(results: Sequence[Result], method: str) -> float:
    """Return the mean over the scenes of a method's error rate over its optimal area."""
    statistics = [r.statistics for r in results if r.method == method]
    return float(
        np.mean([values["bad_pixels_all"] / values["auc_optimal"] for values in statistics])
    )


def left_out_rows(record: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table of areas with each scene left out of learning."""
    areas = record["mean_auc_over_optimal"]
    cells = {name: f"`{name}`" for name in SHOWN_LEFT_OUT}
    cells["learned"] = "`learned`, each scene left out"
    return [[cells[name], f"{areas[name]:.2f}"] for name in SHOWN_LEFT_OUT]


def main() -> None:
    """Print the tables, or draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--points", action="store_true")
    parser.add_argument(
        "--counts",
        action="store_true",
        help="write the table of scenes that were not learned from, too",
    )
    arguments = parser.parse_args()
    if arguments.points:
        pictures = [from_the_side(path) for path in arguments.folders]
        Image.fromarray(np.hstack(pictures)).save(POINTS, quality=80, optimize=True)
        return

    record = yaml.safe_load(LEARNED.read_text())
    results = [r for folder in arguments.folders for r in stored(folder) if r.error is None]
    unseen_results = [r for r in results if r.scene not in record["left_out"]]
    if len(unseen_results) < len(results):
        RatioTable(results).print(MARKS)
    if unseen_results:
        unseen = RatioTable(unseen_results)
        unseen.print({})
        if arguments.counts:
            command = "python scripts/confidence_tables.py FOLDER --counts, from results of confidence/measures"
            write_counts("confidence", command, {"not learned from": unseen.counts()})
    print_table(
        [f"area over optimal area, {len(record['left_out'])} scenes", "`census_sgm`"],
        left_out_rows(record),
    )


if __name__ == "__main__":
    main()
