"""The verb ``compare``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _output
from stereo_framework.cli._options import Data, Json, ProtocolSpec, Scale, Unknown, protocol_spec
from stereo_framework.errors import ParameterError

if TYPE_CHECKING:
    from stereo_framework.submission import Measured


def compare(
    maps: list[Path],
    scene: Annotated[str, typer.Option()],
    protocol: ProtocolSpec = None,
    threshold: float = 1.0,
    other_view: list[Path] | None = None,
    scale: Scale = None,
    unknown: Unknown = None,
    columns: str | None = None,
    out: Path | None = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Put two or more disparity maps side by side: their statistics, how they differ from the first, and pictures.

    Works without truth: then prediction errors and left-right consistency tell the better one.

    Example: stereo-framework compare a.pfm b.pfm --scene teddy --out comparison

    Parameters
    ----------
    maps
        Two or more disparity maps of one scene.
    scene
        The scene that the maps belong to, with or without truth.
    threshold
        Pixels from which two maps, or two views, differ.
    other_view
        The same method's map of the match frame, for left-right consistency; one for each map, in order.
    columns
        Statistics to show, separated by commas.
    out
        Folder for pictures: all maps side by side, and those of each.
    """
    from stereo_framework.cli.evaluate import map_names, map_result
    from stereo_framework.datasets import load_scene
    from stereo_framework.figures.result_pictures import write_comparison, write_pictures
    from stereo_framework.submission import measure_map

    if len(maps) < 2:
        raise ParameterError(f"compare needs two maps or more; {maps[0]} is one ('evaluate' measures one)")
    if other_view and len(other_view) != len(maps):
        raise ParameterError(f"--other-view: {len(other_view)} given for {len(maps)} maps; give one for each map, in order")
    loaded = load_scene(scene, data=data)
    how: dict[str, Any] = {"protocol": protocol_spec(protocol), "scale": scale, "unknown": unknown}
    measured = [measure_map(path, loaded, **how) for path in maps]
    if other_view:
        exchanged = loaded.pair(loaded.match_index, loaded.reference_index)
        others = [measure_map(path, exchanged, **how).disparity for path in other_view]
        measured = [_with_consistency(m, other, threshold) for m, other in zip(measured, others, strict=True)]
    measured = [measured[0], *(_with_difference(m, measured[0], threshold) for m in measured[1:])]
    names = map_names(maps)
    results = [map_result(m, names[m.path]) for m in measured]
    if out is not None:
        for one in measured:
            write_pictures(out / names[one.path], one.disparity, loaded, one.protocol)
        write_comparison(out / "comparison.png", {names[m.path]: m.disparity for m in measured}, loaded)
    if json:
        _output.print_json([r.record() for r in results])
    else:
        _output.print_results(results, columns.split(",") if columns else ())
        if out is not None:
            print(f"pictures in {out}")
    return 0


def _with_consistency(measured: Measured, other: Any, threshold: float) -> Measured:
    from stereo_framework.evaluation.consistency import inconsistent_pixels

    share = inconsistent_pixels(measured.disparity, other, measured.scene.direction, threshold)
    return replace(measured, statistics={**measured.statistics, "inconsistent_pixels": share})


def _with_difference(measured: Measured, first: Measured, threshold: float) -> Measured:
    import numpy as np

    from stereo_framework.evaluation.disparity_error import bad_pixels
    from stereo_framework.evaluation.error_measures import mean_absolute_error

    both = np.isfinite(first.disparity) & np.isfinite(measured.disparity)
    differing = bad_pixels(measured.disparity, first.disparity, both, threshold)
    mean = mean_absolute_error(measured.disparity, first.disparity, both)
    return replace(measured, statistics={**measured.statistics, "differing_pixels": differing, "mean_difference": mean})
