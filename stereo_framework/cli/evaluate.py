"""The command ``evaluate``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stereo_framework.cli import _shared
from stereo_framework.core.errors import DataError, ParameterError, escape_controls, few

if TYPE_CHECKING:
    from stereo_framework.sweep import Result


def evaluate(
    maps: list[Path],
    scene: list[str] | None = None,
    truth: _shared.Truth = None,
    truth_mask: _shared.TruthMask = None,
    protocol: _shared.ProtocolSpec = None,
    metric: _shared.Metrics = None,
    threshold: list[float] | None = None,
    disparity_scale: _shared.DisparityScale = None,
    unknown: _shared.Unknown = None,
    truth_scale: _shared.TruthScale = None,
    truth_unknown: _shared.TruthUnknown = None,
    out: Path | None = None,
    name: str | None = None,
    json: _shared.Json = False,
) -> None:
    """Compute the error statistics of existing disparity maps.

    A folder may contain a whole submission to a benchmark, which also gets the average of
    the benchmark.

    Example: stereo-framework evaluate mine.pfm --truth truth.pfm --threshold 0.5

    Example: stereo-framework evaluate mine.pfm --scene synthetic/planes

    Parameters
    ----------
    maps
        Disparity maps (PFM, 16-bit PNG, scaled PGM or PNG, npy) or folders with one for each scene.
    scene
        The scene that the maps belong to; with folders, their data set, scenes or patterns such as 'middlebury2006/*' (repeatable).
    threshold
        Pixels beyond which an estimate is bad; repeatable, the main one first.
    out
        Results folder, new or of a run: the maps and what was measured stand there beside what run writes, with pictures.
    name
        What to call the method; default: the folder's or the file's name.
    """
    from stereo_framework.datasets import load_scene
    from stereo_framework.evaluation import resolve
    from stereo_framework.evaluation.protocols import derive, of_scene, with_metrics
    from stereo_framework.figures.disparity_figures import write_pictures
    from stereo_framework.io import output_folder
    from stereo_framework.io.disparity import KITTI_SCALE, grey_bits
    from stereo_framework.sweep.external_maps import add_maps, measure_map
    from stereo_framework.sweep.map_folders import find_maps
    from stereo_framework.sweep.result_set import ResultSet
    from stereo_framework.sweep.store import map_stem
    from stereo_framework.tables.averages import average_rows

    for path in maps:
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
    if name is not None and len(maps) > 1:
        raise ParameterError(
            f"--name {name}: one name for {len(maps)} maps or folders; give one of them at a time"
        )
    spec = _shared.protocol_spec(protocol)
    files, folders = [p for p in maps if not p.is_dir()], [p for p in maps if p.is_dir()]
    encoding = _shared.Encoding(disparity_scale, unknown, truth_scale, truth_unknown)
    alone = _shared.truth_alone(truth, truth_mask, spec, encoding, files)
    if alone is not None and (scene or folders or out is not None):
        raise ParameterError(
            "--truth is that of single maps, which are not kept; leave out --scene, --out and folders"
        )
    if files and alone is None and len(scene or []) != 1:
        raise ParameterError(
            f"{files[0]}: name the scene it belongs to with one --scene ('stereo-framework scenes' lists them), or give --truth"
        )
    names = map_names(files)
    given: list[tuple[Path, str, Mapping[Any, Path]]] = [
        (path, name or names[path], {alone[0] if alone else (scene or [""])[0]: path})
        for path in files
    ]
    for folder in folders:
        found = find_maps(folder, protocol=spec, scenes=scene or ())
        _shared.tell(
            "warning",
            *(f"{path}: belongs to no scene; left out" for path in found.unassigned_files),
        )
        if found.missing_scenes:
            missing_scenes = ", ".join(found.missing_scenes)
            _shared.tell(
                "warning", f"{folder}: no map for {missing_scenes}; the average leaves them out"
            )
        given.append((folder, name or folder.resolve().name, found.maps))
    changes = {} if threshold is None else {"thresholds": threshold}
    base = alone[1] if alone else None if spec is None else resolve(spec)
    results: list[Result] = []
    assumed_scales: dict[tuple[int, float | None], list[Path]] = {}
    for place, method, of_scenes in given:
        measured = []
        for one, path in of_scenes.items():
            known = load_scene(one) if isinstance(one, str) else one
            under = with_metrics(
                derive(of_scene(known) if base is None else base, changes),
                tuple(_shared.metrics_of(metric or [])),
            )
            siblings = list(dict.fromkeys([*files, *of_scenes.values()]))
            scale = encoding.scale_of_map(path, siblings, truth)
            result = measure_map(
                path,
                known,
                under,
                method=method,
                maps_path=place,
                disparity_scale=scale,
                unknown=encoding.unknown_of_map(path, siblings),
                remedies=alone[2] if alone else None,
            )
            measured.append(result)
            if scale is None and (bits := grey_bits(path)):
                # These are the scales that `read_map` assumes.
                factor = KITTI_SCALE if bits == 16 else known.grey_levels
                assumed_scales.setdefault((bits, factor), []).append(path)
            if out is not None and (disparity := measured[-1].disparity) is not None:
                with output_folder(out):
                    write_pictures(
                        out / "pictures" / map_stem(measured[-1]), disparity, known, under
                    )
        results += measured if out is None else add_maps(out, measured)
    for (bits, factor), paths in assumed_scales.items():
        names_of_maps = few([str(path) for path in paths], 1)
        remark = f"{bits}-bit image, read as {factor:g} stored units per pixel of disparity"
        _shared.tell("note", f"{names_of_maps}: {remark}; --disparity-scale sets another scale")
    result_set = ResultSet(results)
    if json:
        _shared.print_json([r.record() for r in result_set + average_rows(result_set)])
        return
    _shared.print_results(result_set, _shared.statistics_of_metrics(result_set, metric or []))
    if out is not None:
        print(_shared.as_typed(f"results, maps, pictures in {out}"))


def map_names(maps: list[Path]) -> dict[Path, str]:
    """Each map's file name without its ending, with as many of its folders as it takes to tell all maps apart."""
    for depth in range(1, max((len(p.parts) for p in maps), default=0) + 1):
        names = {p: escape_controls("-".join(p.with_suffix("").parts[-depth:])) for p in maps}
        if len(set(names.values())) == len(names):
            return names
    return {p: p.name for p in maps}
