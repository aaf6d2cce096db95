"""Results as tables of text."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stereo_framework.errors import ParameterError, nearest

if TYPE_CHECKING:
    from stereo_framework.sweep import Result

_USUAL = (
    "bad_pixels_nonocc",
    "bad_pixels_textureless",
    "bad_pixels_discont",
    "bad_pixels_all",
    "bad_pixels_disc",
    "bad_pixels_background",
    "bad_pixels_foreground",
    "bad_pixels",
    "invalid_pixels_nonocc",
    "avg_error_nonocc",
    "avg_error_all",
    "rms_error_nonocc",
    "rms_error_all",
    "A90_nonocc",
    "density_nonocc",
    "density_all",
    "inconsistent_pixels",
    "differing_pixels",
    "mean_difference",
)
"""Statistics shown unless others are asked for, where results have them; the first three are those of Scharstein & Szeliski 2002, Table 5."""


def results_table(results: Sequence[Result], columns: Sequence[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of results: what distinguishes them, then statistics, then the time.

    Parameters
    ----------
    results : sequence of Result
    columns : sequence of str
        Statistics or dotted parameters to show instead of the usual ones.

    Raises
    ------
    ParameterError
        No result has such a column, or the results are of different protocols.
    """
    protocols = list(dict.fromkeys(r.protocol_text for r in results))
    if len(protocols) > 1:
        names = " and ".join(text.partition(":")[0] for text in protocols)
        raise ParameterError(f"results of {names} do not belong in one table; choose those of one protocol")
    axes = list(dict.fromkeys(name for r in results for name in r.axes))
    statistics = list(dict.fromkeys(name for r in results for name in r.statistics))
    shown = list(columns) or [n for n in _USUAL if n in statistics]
    if not any(n.startswith(("bad_pixels", "rms_error")) for n in shown):
        shown = list(columns) or statistics  # without truth all the rest counts
    known = {
        *statistics,
        *(name for r in results for name in r.parameters),
        *(f"seconds.{n}" for r in results for n in r.seconds),
    }
    for name in shown:
        if name not in known | {"energy", "seconds"}:
            raise ParameterError(f"column {name!r}: no result has it; {nearest(name, known | {'energy', 'seconds'})}")
    timed = "seconds" not in shown and any(r.seconds for r in results)
    header = ["scene", "method", *axes, *shown, *(["seconds"] if timed else [])]
    rows = []
    for result in results:
        values = [result.axes.get(name, "-") for name in axes] + [value(result, name) for name in header[2 + len(axes) :]]
        rows.append([result.scene, result.method, *("failed" if result.error and v is None else show(v) for v in values)])
    return header, rows


def value(result: Result, name: str) -> Any:
    """A statistic, parameter, ``energy``, ``seconds`` (in all) or ``seconds.STAGE`` of a result; None where it has none."""
    if name == "energy":
        return result.energy
    if name == "seconds":
        return sum(result.seconds.values()) if result.seconds else None
    if name.startswith("seconds."):
        return result.seconds.get(name.removeprefix("seconds."))
    return result.statistics.get(name, result.parameters.get(name))


def show(item: Any) -> str:
    """A value as tables print it: numbers with the digits that matter, nothing as "-"."""
    if item is None:
        return "-"
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, float):
        if not math.isfinite(item):
            return "-"
        return f"{item:.0f}" if abs(item) >= 10_000 else f"{item:.2g}" if 0 < abs(item) < 0.1 else f"{item:.2f}"
    return str(item)


def to_csv(results: Sequence[Result]) -> str:
    """All results with all their parameters and statistics, one row each; empty = not applicable."""
    parameters = list(dict.fromkeys(name for r in results for name in r.parameters))
    statistics = list(dict.fromkeys(name for r in results for name in r.statistics))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["id", "scene", "method", "protocol", *parameters, *statistics, "energy", "seconds", "error"])
    for r in results:
        numbers = [r.statistics.get(n) for n in statistics]
        row = [r.id, r.scene, r.method, r.protocol, *(r.parameters.get(n) for n in parameters)]
        row += ["" if v is None or math.isnan(v) else repr(v) for v in numbers]
        writer.writerow([*row, r.energy, value(r, "seconds"), r.error])
    return buffer.getvalue()
