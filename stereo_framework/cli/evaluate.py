"""The verb ``evaluate``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stereo_framework.cli import _output
from stereo_framework.cli._options import Data, Json, Measures, ProtocolSpec, Scale, Unknown, protocol_spec
from stereo_framework.errors import ParameterError

if TYPE_CHECKING:
    from stereo_framework.submission import Measured
    from stereo_framework.sweep import Result


def evaluate(
    maps: list[Path],
    scene: list[str] | None = None,
    protocol: ProtocolSpec = None,
    measure: Measures = None,
    threshold: list[float] | None = None,
    border: int | None = None,
    scale: Scale = None,
    unknown: Unknown = None,
    columns: str | None = None,
    out: Path | None = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Measure disparity maps from anywhere against the truth: single ones, or whole submissions with the benchmark's average.

    Example: stereo-framework evaluate mine.pfm --scene middlebury2001/tsukuba --threshold 0.5

    Example: stereo-framework evaluate submission/ --protocol middlebury-v2

    Parameters
    ----------
    maps
        Disparity maps (PFM, 16-bit PNG, scaled PGM or PNG, npy, npz) or folders with one for each scene.
    scene
        The scene that the maps belong to; with folders, their data set or scenes (repeatable).
    threshold
        Pixels beyond which an estimate is bad; repeatable, the main one first.
    border
        Pixels to ignore on all sides; default: the scene's.
    columns
        Statistics to show, separated by commas.
    out
        Folder for pictures of the maps and their errors.
    """
    from stereo_framework.evaluation.averages import average
    from stereo_framework.submission import find_maps, measure_map

    given = {"measures": measure, "thresholds": threshold, "border": border}
    changes = {name: value for name, value in given.items() if value is not None}
    spec = protocol_spec(protocol)
    how: dict[str, Any] = {"protocol": spec, "changes": changes, "scale": scale, "unknown": unknown, "data": data}
    files, folders = [p for p in maps if not p.is_dir()], [p for p in maps if p.is_dir()]
    if files and len(scene or []) != 1:
        raise ParameterError(f"{files[0]}: name the scene it belongs to with one --scene; 'stereo-framework scenes' lists them")
    results: list[Result] = []
    names = map_names(files)
    for path in files:
        results.append(map_result(measure_map(path, (scene or [""])[0], **how), names[path], out and out / names[path]))
    for folder in folders:
        found = find_maps(folder, protocol=spec, scenes=scene or (), data=data)
        for path in found.strangers:
            print(f"warning: {path}: belongs to no scene; left out", file=sys.stderr)
        if found.missing:
            print(f"warning: {folder}: no map for {', '.join(found.missing)}; the average leaves them out", file=sys.stderr)
        measured = [measure_map(path, name, **how) for name, path in found.maps.items()]
        method = folder.resolve().name
        for one in measured:
            results.append(map_result(one, method, out and out / f"{method}_{one.scene.name.replace('/', '-')}"))
        for one in {str(m.protocol): m for m in measured}.values():
            same = [m for m in measured if m.protocol == one.protocol]
            if len(same) > 1:
                mean = average([m.statistics for m in same], one.protocol, [m.scene.weight for m in same])
                of = f"average of {len(same)}"
                results.append(replace(map_result(one, method, None), scene=of, statistics=mean, parameters={}, warnings=()))
    if json:
        _output.print_json([r.record() for r in results])
    else:
        _output.print_results(
            results, columns.split(",") if columns else _output.measured(results, measure or []), protocol=protocol is not None
        )
    return 0


def map_result(measured: Measured, method: str, stem: Path | None) -> Result:
    """A measured map as a result; with `stem` its pictures are written under names that begin so."""
    from stereo_framework.figures.result_pictures import write_pictures
    from stereo_framework.sweep import Result

    scene = measured.scene
    if stem is not None:
        write_pictures(stem, measured.disparity, scene, measured.protocol)
    return Result(
        id="",
        scene=scene.name,
        method=method,
        parameters={"map": str(measured.path)},
        axes={},
        protocol=measured.protocol.name,
        protocol_text=str(measured.protocol),
        statistics=measured.statistics,
        warnings=measured.warnings,
    )


def map_names(maps: list[Path]) -> dict[Path, str]:
    """Each map's file name without its ending, with as many of its folders as it takes to tell all maps apart."""
    for depth in range(1, max((len(p.parts) for p in maps), default=0) + 1):
        names = {p: "-".join(p.with_suffix("").parts[-depth:]) for p in maps}
        if len(set(names.values())) == len(names):
            return names
    return {p: p.name for p in maps}
