"""The verb ``export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stereo_framework.cli._options import Data
from stereo_framework.core.errors import DataError, ParameterError, nearest


def export(
    folder: Path,
    format: Annotated[str, typer.Option("--format", metavar="BENCHMARK")],
    method: list[str] | None = None,
    out: Path | None = None,
    data: Data = None,
) -> int:
    """Write the maps of a results folder as a benchmark wants them submitted, checked by reading them back.

    Example: stereo-framework export results/all --format middlebury-v3 --method mine

    Parameters
    ----------
    folder
        The --out folder of a run.
    format
        The benchmark: middlebury-v3, kitti2015 or eth3d.
    method
        Only this method, or setting of one; repeatable. Default: all.
    out
        Folder that gets one for each method; default: submissions in the results folder.
    """
    from stereo_framework.io import output_folder
    from stereo_framework.sweep import Result
    from stereo_framework.sweep.export import FORMATS, export_maps
    from stereo_framework.tables.results import stored
    from stereo_framework.tables.words import setting_name

    if format not in FORMATS:
        raise ParameterError(f"--format {format}: no such benchmark; {nearest(format, FORMATS)}")
    settings: dict[str, list[Result]] = {}
    for result in stored(folder):
        settings.setdefault(setting_name(result), []).append(result)
    for name in method or []:
        if name not in settings:
            raise ParameterError(f"--method {name}: no such method there; {nearest(name, settings, kind='methods')}")
    failed = 0
    for name in method or settings:
        target = (out or folder / "submissions") / "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        try:
            with output_folder(out or folder):
                told = export_maps(settings[name], format, name, target, data=data)
        except DataError as error:
            print(f"error: {error}", file=sys.stderr)
            failed += 1
            continue
        for line in told:
            print(f"warning: {line}", file=sys.stderr)
        print(f"{name}: {target}, read back as it was written; measure it with: evaluate {target} --scene {format}")
    if failed == len(method or settings):
        return 2
    return 1 if failed else 0
