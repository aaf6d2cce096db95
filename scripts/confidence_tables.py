"""The table and the picture of docs/confidence.md, from stored results: ``python scripts/confidence_tables.py FOLDER ...``.

Prints, for each method, the mean over the scenes of area over optimal area, measures by their mean rank. ``--points ALL SURE``: instead, from two
``points.ply`` of `match`, ``docs/images/points_sure.jpg``.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from stereo_framework.sweep import Result
from stereo_framework.tables.results import stored

POINTS = Path(__file__).parents[1] / "docs" / "images" / "points_sure.jpg"
_RATIO = "auc_ratio_"


def short(name: str) -> str:
    """A scene's name without its folders."""
    return name.rpartition("/")[2]


def measures(found: Sequence[Result]) -> list[str]:
    """The measures that all results have."""
    return [name.removeprefix(_RATIO) for name in found[0].statistics if name.startswith(_RATIO)]


def ratios(found: Sequence[Result], names: Sequence[str], methods: Sequence[str]) -> dict[str, np.ndarray]:
    """By method the areas over the optimal ones, (scenes, measures)."""
    return {m: np.array([[r.statistics[_RATIO + n] for n in names] for r in found if r.method == m]) for m in methods}


def ranks(table: np.ndarray) -> np.ndarray:
    """The rank of each measure on each scene, 1 = best; ties count half."""
    return (table[:, None, :] < table[:, :, None]).sum(axis=2) + (table[:, None, :] == table[:, :, None]).sum(axis=2) / 2 + 0.5


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in Markdown."""
    for cells in (header, ["---"] * len(header), *rows):
        print(f"| {' | '.join(cells)} |")
    print()


def from_the_side(path: Path, rows: int = 520, columns: int = 720) -> np.ndarray:
    """A picture of Adirondack's points, seen from the right and a little from above, uint8 (rows, columns, 3)."""
    vertices = np.frombuffer(path.read_bytes().partition(b"end_header\n")[2], [("place", "<f4", 3), ("colour", "u1", 3)])
    turn, tilt = np.radians([-50, 25])
    around = np.array([[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]])
    above = np.array([[1, 0, 0], [0, np.cos(tilt), np.sin(tilt)], [0, -np.sin(tilt), np.cos(tilt)]])
    x, y, z = above @ around @ (vertices["place"] - [0, 0, 2300]).T
    order = np.argsort(-z)  # the nearest last
    column, row = (np.rint(along[order] * 0.36 + size / 2).astype(int) for along, size in ((x, columns), (y, rows)))
    seen = (row >= 0) & (row < rows - 1) & (column >= 0) & (column < columns - 1)
    picture = np.full((rows, columns, 3), 255, np.uint8)
    for down, right in np.ndindex(2, 2):
        picture[row[seen] + down, column[seen] + right] = vertices["colour"][order][seen]
    return picture


def main() -> None:
    """Print, or draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--points", action="store_true")
    arguments = parser.parse_args()
    if arguments.points:
        Image.fromarray(np.hstack([from_the_side(path) for path in arguments.folders])).save(POINTS, quality=80, optimize=True)
        return
    found = [r for folder in arguments.folders for r in stored(folder) if r.error is None]
    names, methods = measures(found), list(dict.fromkeys(r.method for r in found))
    scenes = list(dict.fromkeys(r.scene for r in found))
    table = ratios(found, names, methods)
    mean_rank = np.mean([ranks(values).mean(axis=0) for values in table.values()], axis=0)
    order = np.argsort(mean_rank)
    names = [names[i] for i in order]
    table = {m: values[:, order] for m, values in table.items()}
    print(f"{len(scenes)} scenes: {', '.join(map(short, scenes))}\n")
    rows = [
        [f"`{name}`", *(f"{values[:, i].mean():.2f}" for values in table.values()), f"{mean_rank[order[i]]:.1f}"]
        for i, name in enumerate(names)
    ]
    means = {
        m: np.mean([r.statistics["bad_pixels_all"] / r.statistics["auc_optimal"] for r in found if r.method == m])
        for m in methods
    }
    rows.append(["(none: the error rate)", *(f"{means[m]:.2f}" for m in methods), "-"])
    print_table(["area over optimal area", *(f"`{m}`" for m in methods), "mean rank"], rows)


if __name__ == "__main__":
    main()
