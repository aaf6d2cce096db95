"""What `rank`, `compare` and `choose` print where there is no ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stereo_framework.cli import _output
from stereo_framework.core.errors import DataError, ParameterError, few

if TYPE_CHECKING:
    from stereo_framework.core.scene import Disparity, Scene
    from stereo_framework.own_pair.choosing import Judged

NOTE = "a distance is no error rate: it is too low by about the reference's own errors, and a map better than the reference is not recognised"


def with_reference(scenes: Sequence[Scene], own: Path | None) -> list[Scene]:
    """The scenes; the one scene that there is with the file of one's own reference map in place of ours."""
    from stereo_framework.io.map_files import read_map

    if own is None:
        return list(scenes)
    if len(scenes) > 1:
        raise ParameterError(
            f"--reference is a map of one scene, and there are {len(scenes)}: {', '.join(s.name for s in scenes)}"
        )
    [scene] = scenes
    disparity = read_map(own, scene)
    return [replace(scene, stand_in=lambda: disparity)]


def print_judged(judged: Judged, further: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """The table of standings, with further columns by name, the answer, and how to read it."""
    from stereo_framework.evaluation.protocols import WITHOUT_TRUTH

    further = further or {}
    if not judged.doubts:
        header = ["map", "distance %", "95 %", "undecided", "kin", *further]
        rows = [
            [
                s.name,
                f"{s.distance:.1f}",
                f"+- {s.half_width:.1f}",
                "yes" if s.undecided and judged.best is None else "",
                "yes" if s.name in judged.kin else "?" if s.name in judged.unknown else "",
                *(column.get(s.name, "") for column in further.values()),
            ]
            for s in judged.standings
        ]
        _output.print_table(header, rows)
    print(judged.answer)
    reference = judged.reference
    if judged.doubts or reference is None:
        return
    whose = "your own reference map" if reference.own else "reference map"
    smoothed = ", of smoothed images, since they are noisy" if reference.smoothed else ""
    floor = "" if reference.own else f", floor {reference.floor:.1f} %"
    print(f"{WITHOUT_TRUTH}: {whose} at {reference.consistent:.0f} % of the pixels{smoothed}{floor}; {NOTE}")
    if judged.unknown:
        print(
            f"kin ?: how {few(sorted(judged.unknown), 4)} came about is not known; if by semi-global matching of census costs, as the reference, the distance is too low "
            "and a map that is called better need not be"
        )


def record(judged: Judged) -> dict[str, Any]:
    """The same for ``--json``."""
    from stereo_framework.evaluation.protocols import WITHOUT_TRUTH

    reference = judged.reference
    return {
        "scene": judged.scene.name,
        "protocol": WITHOUT_TRUTH,
        "best": judged.best,
        "answer": judged.answer,
        "doubts": list(judged.doubts),
        "consistent": reference and reference.consistent,
        "smoothed": reference and reference.smoothed,
        "floor": None if judged.doubts or reference is None or reference.own else reference.floor,
        "own_reference": reference and reference.own,
        "standings": [vars(s) | {"kin": None if s.name in judged.unknown else s.name in judged.kin} for s in judged.standings],
    }


def rank_without_truth(given: list[Path], scene: str | None, own: Path | None, data: Path | None, *, json: bool) -> int:
    """Rank map files of a scene, or the maps that results folders keep, scene by scene."""
    from stereo_framework.own_pair.choosing import judge

    maps, kin, unknown = _maps(given, scene, data)
    scenes = with_reference(list(maps), own)
    judged = [
        judge(one, found, kin=kin & found.keys(), unknown=unknown & found.keys())
        for one, found in zip(scenes, maps.values(), strict=True)
    ]
    if json:
        _output.print_json([record(one) for one in judged])
        return 0
    for one in judged:
        print(f"{one.scene.name}:")
        print_judged(one)
    return 0


def _maps(
    given: list[Path], scene: str | None, data: Path | None
) -> tuple[dict[Scene, dict[str, Disparity]], set[str], set[str]]:
    """Maps by scene and name, the names of the reference's kin, and those of which that is not known."""
    from stereo_framework.cli.evaluate import check_places, map_names
    from stereo_framework.datasets import load_scene
    from stereo_framework.own_pair.choosing import is_kin, is_known
    from stereo_framework.sweep.kept_scenes import scene_of
    from stereo_framework.sweep.submission import measure_map
    from stereo_framework.tables.results import stored
    from stereo_framework.tables.words import setting_name

    check_places(given)
    files = [path for path in given if not path.is_dir()]
    if files and scene is None:
        raise ParameterError(f"{files[0]}: say which scene the map belongs to: --scene NAME")
    known = {} if scene is None else {(loaded := load_scene(scene, data=data)).name: loaded}
    found: dict[str, dict[str, Disparity]] = {}
    kin, unknown = set(), set()
    for folder in (path for path in given if path.is_dir()):
        for result in stored(folder):
            disparity = result.disparity if result.error is None and (scene is None or result.scene in known) else None
            if disparity is not None:
                if result.scene not in known:
                    known[result.scene] = scene_of(folder, result.scene, data)
                found.setdefault(result.scene, {})[setting_name(result)] = disparity
                kin |= {setting_name(result)} if is_kin(result.parameters) else set()
                unknown |= set() if is_known(result.parameters) else {setting_name(result)}
    names = map_names(files)
    for path in files:
        [one] = known.values()
        found.setdefault(one.name, {})[names[path]] = measure_map(path, one, data=data).disparity
        unknown.add(names[path])
    if not found:
        raise DataError(f"{given[0]}: keeps no disparity map; let 'run' write them with --maps")
    return {known[name]: maps for name, maps in found.items()}, kin, unknown
