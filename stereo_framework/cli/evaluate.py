"""The verb ``evaluate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stereo_framework.cli._options import Data, Json


def evaluate(
    maps: Annotated[list[Path], typer.Argument(help="Disparity maps: PFM, 16-bit PNG, scaled PGM or PNG, npy, npz.")],
    scene: Annotated[str, typer.Option("--scene", help="The scene that the maps belong to.")],
    protocol: Annotated[str | None, typer.Option("--protocol", help="How to measure; default: the scene's own.")] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", help="Pixels beyond which an estimate is bad; repeatable, the main one first."),
    ] = None,
    border: Annotated[int | None, typer.Option("--border", help="Pixels to ignore on all sides; default: the scene's.")] = None,
    scale: Annotated[float | None, typer.Option("--scale", help="Grey levels per pixel of disparity in integer maps.")] = None,
    unknown: Annotated[int | None, typer.Option("--unknown", help="Grey level that means no estimate.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for pictures of the maps and their errors.")] = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Measure disparity maps from anywhere against a scene's truth.

    Example: stereo-framework evaluate mine.pfm --scene middlebury2001/tsukuba --threshold 0.5
    """
    from stereo_framework.cli import _output
    from stereo_framework.datasets import load_scene
    from stereo_framework.evaluation import doubts, resolve
    from stereo_framework.evaluation import evaluate as measure
    from stereo_framework.evaluation.protocols import of_scene
    from stereo_framework.io import read_disparity
    from stereo_framework.report.result_pictures import write_pictures
    from stereo_framework.sweep import Result

    loaded = load_scene(scene, data=data)
    changes: dict[str, Any] = {"thresholds": threshold, "border": border}
    changes = {k: v for k, v in changes.items() if v is not None}
    chosen = resolve(protocol) if protocol else of_scene(loaded)
    if changes:
        chosen = resolve({"base": chosen.name, **changes})
    if loaded.truth is None:
        print(f"warning: scene {loaded.name} has no truth; only the density can be measured", file=sys.stderr)
    results = []
    names = _names(maps)
    for path in maps:
        disparity = read_disparity(path, scale=scale, unknown=unknown)
        results.append(
            Result(
                id="",
                scene=loaded.name,
                method=names[path],
                parameters={"map": str(path)},
                axes={},
                protocol=chosen.name,
                protocol_text=str(chosen),
                statistics=measure(disparity, loaded, chosen),
                warnings=tuple(doubts(disparity, loaded)),
            )
        )
        if out is not None:
            write_pictures(out / names[path], disparity, loaded, chosen)
    if json:
        _output.print_json([r.record() for r in results])
    else:
        _output.print_results(results)
    return 0


def _names(maps: list[Path]) -> dict[Path, str]:
    """Each map's file name without its ending, with as many of its folders as it takes to tell all maps apart."""
    for depth in range(1, max(len(p.parts) for p in maps) + 1):
        names = {p: "-".join(p.with_suffix("").parts[-depth:]) for p in maps}
        if len(set(names.values())) == len(names):
            return names
    return {p: p.name for p in maps}
