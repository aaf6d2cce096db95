"""The verb ``evaluate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _options as opt
from stereo_framework.cli import _output
from stereo_framework.core.errors import DataError, ParameterError, harmless

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stereo_framework.core.scene import Scene
    from stereo_framework.sweep import Result


def evaluate(
    maps: list[Path],
    scene: list[str] | None = None,
    truth: opt.Truth = None,
    truth_scale: opt.TruthScale = None,
    mask: opt.TruthMask = None,
    protocol: opt.ProtocolSpec = None,
    measure: opt.Measures = None,
    threshold: list[float] | None = None,
    border: int | None = None,
    scale: opt.Scale = None,
    unknown: opt.Unknown = None,
    columns: str | None = None,
    out: Path | None = None,
    name: str | None = None,
    format: Annotated[str | None, typer.Option("--format", metavar="FORMAT")] = None,
    data: opt.Data = None,
    json: opt.Json = False,
) -> int:
    """Measure disparity maps from anywhere against the truth: single ones, or whole submissions with the benchmark's average.

    Example: stereo-framework evaluate mine.pfm --scene middlebury2001/tsukuba --threshold 0.5

    Example: stereo-framework evaluate mine.pfm --truth truth.pfm

    Example: stereo-framework evaluate submission/ --protocol middlebury-v2 --out results/all --name mine

    Parameters
    ----------
    maps
        Disparity maps (PFM, 16-bit PNG, scaled PGM or PNG, npy) or folders with one for each scene.
    scene
        The scene that the maps belong to; with folders, their data set, scenes or patterns such as 'middlebury2006/*' (repeatable).
    threshold
        Pixels beyond which an estimate is bad; repeatable, the main one first.
    border
        Pixels to ignore on all sides; default: the scene's.
    columns
        Statistics to show, separated by commas.
    out
        Results folder, new or of a run: the maps and what was measured stand there beside what run writes, with pictures.
    name
        What to call the method; default: the folder's or the file's name.
    format
        table, csv, json, markdown (md) or latex (tex).
    """
    from stereo_framework.cli.results import format_of, print_all
    from stereo_framework.datasets import load_scene
    from stereo_framework.evaluation import resolve
    from stereo_framework.evaluation.protocols import derive, of_scene
    from stereo_framework.figures.picture_files import write_pictures
    from stereo_framework.io import output_folder
    from stereo_framework.sweep.outside import add_maps, find_maps, measure_map
    from stereo_framework.tables.means import average_rows

    kind = format_of(format, json)
    for path in maps:
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
    if name is not None and len(maps) > 1:
        raise ParameterError(f"--name {name}: one name for {len(maps)} maps or folders; give one of them at a time")
    given = {"measures": measure, "thresholds": threshold, "border": border}
    changes = {field: value for field, value in given.items() if value is not None}
    spec = opt.protocol_spec(protocol)
    base = None if spec is None else resolve(spec)
    files, folders = [p for p in maps if not p.is_dir()], [p for p in maps if p.is_dir()]
    alone = opt.truth_alone(truth, truth_scale, mask, spec)
    if alone is not None:
        if scene or folders or out is not None:
            raise ParameterError("--truth is that of single maps, which are not kept; leave out --scene, --out and folders")
        base = alone[1]
    if files and alone is None and len(scene or []) != 1:
        raise ParameterError(
            f"{files[0]}: name the scene it belongs to with one --scene ('stereo-framework scenes' lists them), or give --truth"
        )
    results: list[Result] = []

    def tell(place: Path, method: str, found: Iterable[tuple[Path, str | Scene]]) -> None:
        measured = []
        for path, known in found:
            loaded = load_scene(known, data=data) if isinstance(known, str) else known
            under = derive(of_scene(loaded) if base is None else base, changes)
            measured.append(measure_map(path, loaded, under, method=method, place=place, scale=scale, unknown=unknown))
            if out is not None and (disparity := measured[-1].disparity) is not None:
                stem = f"{method}_{loaded.name.replace('/', '-')}" if place.is_dir() else method
                with output_folder(out):
                    write_pictures(out / "pictures" / stem, disparity, loaded, under)
        results.extend(measured if out is None else add_maps(out, measured))

    names = map_names(files)
    for path in files:
        tell(path, name or names[path], [(path, alone[0] if alone else (scene or [""])[0])])
    for folder in folders:
        found = find_maps(folder, protocol=spec, scenes=scene or (), data=data)
        for path in found.strangers:
            print(f"warning: {path}: belongs to no scene; left out", file=sys.stderr)
        if found.missing:
            print(f"warning: {folder}: no map for {', '.join(found.missing)}; the average leaves them out", file=sys.stderr)
        tell(folder, name or folder.resolve().name, [(path, one) for one, path in found.maps.items()])
    shown = opt.names(columns) or _output.measured(results, measure or [])
    if kind in ("json", "csv"):
        results += average_rows(results, data)
    print_all(results, shown, kind, data=data)
    if kind == "table" and out is not None:
        print(f"results, maps, pictures in {out}")
    return 0


def map_names(maps: list[Path]) -> dict[Path, str]:
    """Each map's file name without its ending, with as many of its folders as it takes to tell all maps apart."""
    for depth in range(1, max((len(p.parts) for p in maps), default=0) + 1):
        names = {p: harmless("-".join(p.with_suffix("").parts[-depth:])) for p in maps}
        if len(set(names.values())) == len(names):
            return names
    return {p: p.name for p in maps}
