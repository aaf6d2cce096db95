"""Results read from CSV files: those that ``results --format csv`` prints, and tables of scores from anywhere.

A file has a row for each method and a column for each score, which may be named ``SCENE:MEASURE``; or the columns ``method``, ``scene`` and one for each
statistic. An empty cell, ``-``, ``nan`` or null is a hole.
"""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, short
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.io import read_bytes
from stereo_framework.sweep.result import Result

_HOLES = ("", "-", "nan", "null", "n/a")


def read_csv(path: Path) -> list[Result]:
    """The scores of a CSV file, as a result for each method and scene, which is empty where the file names none.

    Raises
    ------
    DataError
        The file is missing or is not a table.
    """
    try:
        text = read_bytes(path, limits.TABLE, empty=True).decode("utf-8-sig")
        lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines()) if line]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be read: not UTF-8 text") from error
    except csv.Error as error:
        raise DataError(f"{path}: is damaged or not a CSV file: {error}") from None
    header = lines[0] if lines else []
    if len(header) < 2 or len(lines) < 2:
        raise DataError(f"{path}: no table: expected a line of column names, then a line for each method")
    for name, count in Counter(header).items():
        if count > 1:
            raise DataError(f"{path}: the column {short(name, 80)!r} occurs twice")
    for i, line in enumerate(lines):
        if len(line) != len(header):
            raise DataError(f"{path}: row {i} has {len(line)} cells, the header {len(header)}")
    columns = dict(zip(header, zip(*lines[1:], strict=True), strict=True))
    methods = columns["method"] if "method" in columns else columns[header[0]]
    scenes = columns.get("scene")
    scores: list[dict[str, dict[str, float]]] = [{} for _ in methods]
    for name in header:
        if name in ("scene", "protocol") or columns[name] is methods or (scenes and not metric_of(name)):
            continue
        head, colon, tail = name.partition(":")
        scene, measure = (head, tail) if colon and not scenes else ("", name)
        for i, number in enumerate(_numbers(path, name, columns[name], methods)):
            scores[i].setdefault(scenes[i] if scenes else scene, {})[measure] = number
    protocols = columns.get("protocol", [""] * len(methods))
    return [
        Result("", scene, method, {}, {}, protocol, own)
        for method, protocol, by_scene in zip(methods, protocols, scores, strict=True)
        for scene, own in (by_scene or {"": {}}).items()
    ]


def _numbers(path: Path, name: str, cells: Sequence[str], methods: Sequence[str]) -> list[float]:
    """The cells of a column as numbers; none of a column that holds text alone. In all others every cell must be a number or a hole."""
    numbers: list[float] = []
    faults = []
    for cell, method in zip(cells, methods, strict=True):
        try:
            numbers.append(math.nan if cell.lower() in _HOLES else float(cell))
        except ValueError:
            faults.append(f"{path}: {method}, column {name!r}: {cell!r} is not a number")
    if faults and not all(map(math.isnan, numbers)):
        raise DataError(faults[0])
    return [] if faults else numbers
