"""``results --export``: maps as a benchmark wants them submitted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stereo_framework.core.errors import DataError, ParameterError, nearest


def export(folder: Path, format: str, method: Sequence[str], out: Path | None, data: Path | None) -> int:
    """Write the maps of a results folder as a benchmark wants them, checked by reading them back; returns the exit status."""
    from stereo_framework.io import output_folder
    from stereo_framework.sweep import Result
    from stereo_framework.sweep.export import FORMATS, export_maps
    from stereo_framework.tables.results import stored
    from stereo_framework.tables.words import setting_name

    if format not in FORMATS:
        raise ParameterError(f"--export {format}: no such benchmark; {nearest(format, FORMATS)}")
    settings: dict[str, list[Result]] = {}
    for result in stored(folder):
        settings.setdefault(setting_name(result), []).append(result)
    for name in method:
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
