"""Run the methods of configs/comparison and write docs/results.md's tables: ``python scripts/method_tables.py [--data DIR] [--out DIR] [TABLE ...]``.

Stages use one thread; results that are in DIR are not computed again. With ``--seconds`` everything is run again and only the seconds in the tables are replaced; this takes
a quarter of an hour on a machine that does nothing else.
"""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

from stereo_framework import run, threads
from stereo_framework.sweep.result import Result

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
Column = tuple[str, Callable[[dict[str, Result]], float]]
"""The heading of a column, and the function that computes its number from a method's results by scene."""


def errors(names: Sequence[str], *statistics: str) -> Callable[[dict[str, Result]], float]:
    """Mean of some statistics over some scenes."""
    return lambda results: mean(results[name].statistics[statistic] for name in names for statistic in statistics)


def seconds(names: Sequence[str]) -> Callable[[dict[str, Result]], float]:
    """Mean time over some scenes."""
    return lambda results: mean(results[name].matching_seconds or 0 for name in names)


def photographs(scenes: list[str]) -> list[Column]:
    """Visible pixels off by more than 1, 0.5 and 2 pixels of the ten photographs."""
    ten = [scene for scene in scenes if "trainingQ" in scene]
    found: list[Column] = [("mean, 1 px", errors(ten, "bad4_nonocc"))]
    return [*found, ("0.5 px", errors(ten, "bad2_nonocc")), ("2 px", errors(ten, "bad8_nonocc")), ("seconds", seconds(ten))]


def middlebury_v2(scenes: list[str]) -> list[Column]:
    """The benchmark's mean of twelve percentages."""
    regions = [f"bad_pixels_{region}" for region in ("nonocc", "all", "disc")]
    return [("mean of 12", errors(scenes, *regions)), ("seconds", seconds(scenes))]


def kept(scenes: list[str]) -> list[Column]:
    """Errors above 1, 0.5 and 2 pixels, and those above 1 pixel without the scene that shows the same things as ArtL."""
    means = [(title, errors(scenes, f"bad{title.split()[-2]}_nonocc")) for title in ("mean, 1 px", "0.5 px", "2 px")]
    means.insert(1, ("without Art", errors([scene for scene in scenes if not scene.endswith("/Art")], "bad1_nonocc")))
    return [*means, ("seconds", seconds(scenes))]


def roads(scenes: list[str]) -> list[Column]:
    """All pixels with truth."""
    return [(f"{pixels} px", errors(scenes, f"bad{pixels}_all")) for pixels in ("3", "2", "1", "0.5")]


TABLES = {function.__name__: function for function in (photographs, roads, middlebury_v2, kept)}


def table(results: list[Result], columns: Callable[[list[str]], list[Column]]) -> str:
    """A row for each method without a failed run, the best one first."""
    scenes = list(dict.fromkeys(r.scene for r in results))
    methods: dict[str, dict[str, Result]] = {}
    for r in results:
        if r.error:
            print(f"{r.method} on {r.scene}: {r.error}")
        else:
            methods.setdefault(r.method, {})[r.scene] = r
    made = columns(scenes)
    rows = [(name, [value(found) for _, value in made]) for name, found in methods.items() if len(found) == len(scenes)]
    lines = [["method", *(title for title, _ in made)], ["---"] * (len(made) + 1)]
    for name, values in sorted(rows, key=lambda row: row[1][0]):
        cells = (f"{v:.2f}" if title == "seconds" else f"{v:.1f}" for v, (title, _) in zip(values, made, strict=True))
        lines.append([f"`{name}`", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_seconds(old: str, new: str) -> str:
    """A table with its seconds replaced by those of another table with the same methods."""
    rows, others = ([line[2:-2].split(" | ") for line in text.splitlines()] for text in (old, new))
    if "seconds" not in rows[0]:
        return old
    place = rows[0].index("seconds")
    taken = {cells[0]: cells[place] for cells in others}
    for cells in rows:
        cells[place] = taken.get(cells[0], cells[place])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _pandora(script: Path) -> dict[str, Any]:
    """Pandora's chain, its holes filled from the background, on the scenes of a script."""
    given = yaml.safe_load(script.read_text())
    method = {"matcher": "pandora_sgm", "refinement": ["fill_occlusions"]}
    scenes = {key: given[key] for key in ("scenes", "evaluation")}
    return {"plugins": [str(ROOT / "benchmarks" / "pandora_sgm.py")], "methods": {"pandora": method}, **scenes}


def main() -> None:
    """Write all tables, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)}; default: all")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, help="folder that keeps the results")
    parser.add_argument("--seconds", action="store_true", help="replace the seconds alone")
    parser.add_argument("--pandora", action="store_true", help="with Pandora's chain: see benchmarks/pandora_sgm.py")
    arguments = parser.parse_args()
    for name in arguments.tables or TABLES:
        script = ROOT / "configs" / "comparison" / f"{name}.yaml"
        out = arguments.out / name if arguments.out and not arguments.seconds else None
        with threads(1):
            results = run(script, data=arguments.data, out=out, workers=1, maps=False)
            if arguments.pandora:
                results += run(_pandora(script), data=arguments.data, workers=1, maps=False)
        made, page = table(results, TABLES[name]), PAGE.read_text()
        before, old, after = re.split(rf"(?<=<!-- {name} -->\n)(.*?)(?=\n<!-- end -->)", page, maxsplit=1, flags=re.DOTALL)
        PAGE.write_text(before + (with_seconds(old, made) if arguments.seconds else made) + after)


if __name__ == "__main__":
    main()
