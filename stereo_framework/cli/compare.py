"""The verb ``compare``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stereo_framework.cli import _options as opt
from stereo_framework.cli import _output
from stereo_framework.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from stereo_framework.core.scene import Scene
    from stereo_framework.own_pair.choosing import Standing
    from stereo_framework.sweep import Result
    from stereo_framework.sweep.submission import Measured


def compare(
    maps: list[Path],
    scene: str | None = None,
    truth: opt.Truth = None,
    truth_scale: opt.TruthScale = None,
    mask: opt.TruthMask = None,
    protocol: opt.ProtocolSpec = None,
    threshold: float = 1.0,
    other_view: list[Path] | None = None,
    scale: opt.Scale = None,
    unknown: opt.Unknown = None,
    columns: str | None = None,
    without_truth: bool = False,
    out: Path | None = None,
    data: opt.Data = None,
    json: opt.Json = False,
) -> int:
    """Put two or more disparity maps side by side: their statistics, how they differ from the first, and pictures.

    Works without truth: then it says which maps are better or worse than the first one, or that it cannot tell.

    Example: stereo-framework compare a.pfm b.pfm --scene teddy --out comparison

    Example: stereo-framework compare results/all theirs/ --scene middlebury-v3/trainingQ

    Parameters
    ----------
    maps
        Two or more disparity maps of one scene, folders with one for each scene, or results folders, which stand for the maps of all of their methods.
    scene
        The scene that the maps belong to, with or without truth; with folders also a data set or a pattern.
    threshold
        Pixels from which two maps, or two views, differ.
    other_view
        The same method's map of the match frame, for left-right consistency; one for each map, in order.
    columns
        Statistics to show, separated by commas.
    without_truth
        Judge as if the scene had no truth.
    out
        Folder for pictures: all maps side by side, those of each, and without truth where the first two disagree.
    """
    from stereo_framework.cli._without_truth import print_standings, record
    from stereo_framework.datasets import find_scenes, load_scene
    from stereo_framework.sweep.store import FILE

    spec = opt.protocol_spec(protocol)
    alone = opt.truth_alone(truth, truth_scale, mask, spec)
    if (alone is None) == (scene is None):
        raise ParameterError("compare needs the scene that the maps belong to: --scene, or --truth")
    scenes = [alone[0]] if alone else [load_scene(name, data=data) for name in find_scenes(str(scene), data=data)]
    if without_truth:
        scenes = [replace(one, truths={}) for one in scenes]
    if len(maps) < 2 and not (maps[0] / FILE).is_file():
        raise ParameterError(f"compare needs two maps or more; {maps[0]} is one ('evaluate' measures one)")
    if other_view and len(other_view) != len(maps):
        raise ParameterError(f"--other-view: {len(other_view)} given for {len(maps)} maps; give one for each map, in order")
    how: dict[str, Any] = {"protocol": alone[1] if alone else spec, "scale": scale, "unknown": unknown}
    results: list[Result] = []
    judged: dict[str, tuple[str, Sequence[Standing]]] = {}
    for one in scenes:
        named = _maps_of(maps, one, several=len(scenes) > 1)
        if len(named) >= 2:
            folder = out if out is None or len(scenes) == 1 else out / one.name.replace("/", "-")
            found, told = _compared(one, named, how, threshold, other_view or [], folder)
            results += found
            judged |= {one.name: (next(iter(named)), told)} if told else {}
        elif len(scenes) == 1:
            raise ParameterError(f"compare needs two maps or more of {one.name}; there are {len(named)}")
    if not results:
        raise ParameterError(f"no scene of {scene} has two maps or more")
    if json:
        _output.print_json(
            [r.record() | ({"without_truth": record(r.scene, *judged[r.scene])} if r.scene in judged else {}) for r in results]
        )
    else:
        _output.print_results(results, opt.names(columns), data=data)
        for name, standings in judged.items():
            print_standings(name, *standings)
        if out is not None:
            print(f"pictures in {out}")
    return 0


def _maps_of(places: list[Path], scene: Scene, *, several: bool) -> dict[str, Path]:
    """The maps of a scene by name: files, those in folders, and those of the methods of results folders."""
    from stereo_framework.cli.evaluate import map_names
    from stereo_framework.io.map_files import map_of
    from stereo_framework.sweep.store import FILE
    from stereo_framework.tables.results import stored
    from stereo_framework.tables.words import setting_name

    names = map_names(places)
    found: dict[str, Path] = {}
    for place in places:
        own = {names[place]: place}
        if (place / FILE).is_file():
            own = {setting_name(r): r.map for r in stored(place) if r.scene == scene.name and r.map is not None}
        elif place.is_dir():
            try:
                own = {names[place]: map_of(str(place), scene.name)}
            except DataError as error:
                if not several:
                    raise
                print(f"warning: {error}; left out", file=sys.stderr)
                own = {}
        elif several:
            raise ParameterError(f"{place}: one map for several scenes; give a folder with a map for each, or one --scene")
        if both := found.keys() & own.keys():
            raise ParameterError(f"{place}: two maps of {scene.name} are called {min(both)!r}; rename a file or its folder")
        found |= own
    return found


def _compared(
    scene: Scene,
    maps: dict[str, Path],
    how: dict[str, Any],
    threshold: float,
    other_view: list[Path],
    out: Path | None,
) -> tuple[list[Result], Sequence[Standing]]:
    """What is measured of maps of one scene, how they are judged without its truth, and their pictures."""
    from stereo_framework.cli._without_truth import compared as without_truth
    from stereo_framework.figures.picture_files import write_comparison, write_disagreement, write_pictures
    from stereo_framework.io import output_folder
    from stereo_framework.sweep.submission import measure_map

    measured = [measure_map(path, scene, **how) for path in maps.values()]
    compared = {name: m.disparity for name, m in zip(maps, measured, strict=True)}
    judged = without_truth(scene, compared) if scene.truth is None and scene.search is not None else ()
    if other_view:
        exchanged = scene.pair(scene.match_index, scene.reference_index)
        others = [measure_map(path, exchanged, **how).disparity for path in other_view]
        measured = [_with_consistency(m, other, threshold) for m, other in zip(measured, others, strict=True)]
    measured = [measured[0], *(_with_difference(m, measured[0], threshold) for m in measured[1:])]
    if out is not None:
        with output_folder(out):
            for name, one in zip(maps, measured, strict=True):
                write_pictures(out / name, one.disparity, scene, one.protocol)
            write_comparison(out / "comparison.png", compared, scene)
            if scene.truth is None:
                write_disagreement(out / "disagreement.png", measured[0].disparity, measured[1].disparity, scene.reference)
    return [m.result(name) for name, m in zip(maps, measured, strict=True)], judged


def _with_consistency(measured: Measured, other: Any, threshold: float) -> Measured:
    from stereo_framework.evaluation.consistency import inconsistent_pixels

    share = inconsistent_pixels(measured.disparity, other, measured.scene.direction, threshold, mask=measured.scene.evaluated)
    return replace(measured, statistics={**measured.statistics, "inconsistent_pixels": share})


def _with_difference(measured: Measured, first: Measured, threshold: float) -> Measured:
    import numpy as np

    from stereo_framework.evaluation.disparity_error import bad_pixels, mean_absolute_error

    both = np.isfinite(first.disparity) & np.isfinite(measured.disparity)
    if measured.scene.evaluated is not None:
        both &= measured.scene.evaluated
    differing = bad_pixels(measured.disparity, first.disparity, both, threshold)
    mean = mean_absolute_error(measured.disparity, first.disparity, both)
    return replace(measured, statistics={**measured.statistics, "differing_pixels": differing, "mean_difference": mean})
