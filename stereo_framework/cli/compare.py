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
    from stereo_framework.core.scene import Disparity, Scene
    from stereo_framework.own_pair.choosing import Standing
    from stereo_framework.sweep import Result


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
    from stereo_framework.evaluation import resolve
    from stereo_framework.evaluation.consistency import inconsistent_pixels, map_difference
    from stereo_framework.figures.picture_files import write_comparison, write_disagreement, write_pictures
    from stereo_framework.io import output_folder
    from stereo_framework.sweep.outside import measure_map

    measured = [measure_map(path, scene, method=name, **how) for name, path in maps.items()]
    compared = {m.method: _map_of(m) for m in measured}
    judged = without_truth(scene, compared) if scene.truth is None and scene.search is not None else ()
    own: list[dict[str, float]] = [{} for _ in measured]
    if other_view:
        exchanged = scene.pair(scene.match_index, scene.reference_index)
        for told, m, path in zip(own, measured, other_view, strict=True):
            other = _map_of(measure_map(path, exchanged, **how))
            share = inconsistent_pixels(_map_of(m), other, scene.direction, threshold, mask=scene.evaluated)
            told["inconsistent_pixels"] = share
    for told, m in zip(own[1:], measured[1:], strict=True):
        told |= map_difference(_map_of(m), _map_of(measured[0]), threshold, mask=scene.evaluated)
    if out is not None:
        with output_folder(out):
            protocol = None if how["protocol"] is None else resolve(how["protocol"])
            for name, disparity in compared.items():
                write_pictures(out / name, disparity, scene, protocol)
            write_comparison(out / "comparison.png", compared, scene)
            if scene.truth is None:
                write_disagreement(out / "disagreement.png", _map_of(measured[0]), _map_of(measured[1]), scene.reference)
    return [replace(m, statistics={**m.statistics, **told}) for m, told in zip(measured, own, strict=True)], judged


def _map_of(result: Result) -> Disparity:
    """The map that was measured."""
    assert result.disparity is not None
    return result.disparity
