"""The verb ``results``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli._options import Json, key_value

if TYPE_CHECKING:
    from stereo_framework.sweep import Result


def results(
    folder: Annotated[Path, typer.Argument(help="The --out folder of a run.")],
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="KEY=VALUE", help="Keep results with this scene, method or parameter; repeatable."),
    ] = None,
    sort: Annotated[str | None, typer.Option("--sort", help="Sort by a statistic or parameter, smallest first.")] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Statistics or parameters to show, separated by commas.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Results of earlier scripts in this folder too.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print all parameters and statistics as CSV.")] = False,
    json: Json = False,
) -> int:
    """List, filter and export stored results.

    Example: stereo-framework results results/ssd --sort bad_pixels_nonocc --csv
    """
    from stereo_framework.cli import _output
    from stereo_framework.report.tables import to_csv, value
    from stereo_framework.sweep import Store

    with Store(folder) as store:
        found, missing = store.results(every=every), store.missing()
    for text in where or []:
        key, wanted = key_value(text, "--where")
        found = [r for r in found if _matches(r, key, wanted, found)]
    if sort is not None:
        _known(sort, found)
        found.sort(key=lambda r: _order(value(r, sort)))
    if json:
        _output.print_json([r.record() for r in found])
    elif csv:
        print(to_csv(found), end="")
    else:
        _output.print_results(found, columns.split(",") if columns else ())
        print(f"{len(found)} results")
    if missing:
        print(f"{missing} results are still missing; the run was stopped early: run the same command again", file=sys.stderr)
    return 0


def _matches(result: Result, key: str, wanted: str, results: list[Result]) -> bool:
    from stereo_framework.report.tables import show, value

    if key in ("scene", "method", "protocol"):
        return str(getattr(result, key)) == wanted
    _known(key, results)
    found = value(result, key)
    return show(found) == wanted or str(found) == wanted or (found is None and wanted == "null")


def _known(name: str, results: list[Result]) -> None:
    from stereo_framework.errors import ParameterError, nearest

    names = {"scene", "method", "protocol", "energy", "seconds"}
    names |= {n for r in results for n in (*r.parameters, *r.statistics)}
    if results and name not in names:
        raise ParameterError(f"no result has {name!r}; {nearest(name, names)}")


def _order(item: object) -> tuple[int, float, str]:
    """Numbers first, by size, then texts, then nothing."""
    if isinstance(item, int | float) and item == item:
        return 0, float(item), ""
    return (2, 0.0, "") if item is None or item != item else (1, 0.0, str(item))
