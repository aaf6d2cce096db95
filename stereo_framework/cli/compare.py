"""The command ``compare``."""

from dataclasses import replace
from pathlib import Path

from stereo_framework.cli import _shared
from stereo_framework.cli.evaluate import map_names
from stereo_framework.core.errors import DataError, ParameterError


def compare(
    maps: list[Path],
    scene: str | None = None,
    truth: _shared.Truth = None,
    truth_mask: _shared.TruthMask = None,
    protocol: _shared.ProtocolSpec = None,
    threshold: float = 1.0,
    disparity_scale: _shared.DisparityScale = None,
    unknown: _shared.Unknown = None,
    truth_scale: _shared.TruthScale = None,
    truth_unknown: _shared.TruthUnknown = None,
    without_truth: bool = False,
    out: Path | None = None,
    json: _shared.Json = False,
) -> None:
    """Show two or more disparity maps side by side.

    The command prints the statistics of the maps and their differences from the first map,
    and writes pictures.

    Works without truth: then it says which maps are better or worse than the first one, or that it cannot tell.

    Example: stereo-framework compare mine.pfm theirs.pfm --scene synthetic/planes

    Parameters
    ----------
    maps
        Two or more disparity maps of one scene.
    scene
        The scene that the maps belong to, with or without truth.
    threshold
        Pixels from which two maps differ.
    without_truth
        Judge as if the scene had no truth.
    out
        Folder for pictures: all maps side by side, with their errors or what differs from the first, and those of each.
    """
    from stereo_framework.datasets import load_scene
    from stereo_framework.evaluation import resolve
    from stereo_framework.evaluation.disparity_error import map_difference
    from stereo_framework.figures.disparity_figures import write_comparison, write_pictures
    from stereo_framework.io import changed_since_written, output_folder
    from stereo_framework.sweep.external_maps import measure_map
    from stereo_framework.sweep.result import changed_maps_warning
    from stereo_framework.sweep.result_set import ResultSet
    from stereo_framework.user_pair.method_choice import judge

    folders = [path for path in maps if path.is_dir()]
    if folders:
        message = (
            f"{folders[0]} is a folder; compare needs the files of maps; "
            "to compare the results of two folders: stereo-framework rank FOLDER FOLDER"
        )
        raise ParameterError(message)
    spec = _shared.protocol_spec(protocol)
    encoding = _shared.Encoding(disparity_scale, unknown, truth_scale, truth_unknown)
    alone = _shared.truth_alone(truth, truth_mask, spec, encoding, maps)
    if (alone is None) == (scene is None):
        raise ParameterError("compare needs the scene that the maps belong to: --scene, or --truth")
    if without_truth:
        _shared.refuse_without_effect(
            "with --truth, which is the truth", {"--without-truth": truth is not None}
        )
    if len(set(maps)) < 2:
        raise ParameterError(
            f"compare needs two maps or more; {maps[0]} is one ('evaluate' measures one)"
        )
    place, how, remedies = alone or (load_scene(str(scene)), spec, None)
    place = replace(place, truths={}) if without_truth else place
    results = []
    for path, name in map_names(maps).items():
        scale_of_map = encoding.scale_of_map(path, maps, truth)
        marker = encoding.unknown_of_map(path, maps)
        result = measure_map(
            path,
            place,
            how,
            method=name,
            disparity_scale=scale_of_map,
            unknown=marker,
            remedies=remedies,
        )
        results.append(result)
    changed = [path for path in maps if changed_since_written(path)]
    if changed:
        _shared.tell("warning", changed_maps_warning(changed))
    found = {one.method: one.disparity for one in results if one.disparity is not None}
    first = results[0].method
    for i, one in enumerate(results[1:], 1):
        apart = map_difference(found[one.method], found[first], threshold, mask=place.evaluated)
        results[i] = replace(one, statistics={**one.statistics, **apart})
    comparisons = None
    if place.truth is None and place.search is not None:
        try:
            comparisons = judge(place, found)
        except DataError as error:
            _shared.tell("warning", f"{place.name}: {error}")
    if out is not None:
        with output_folder(out):
            for name, disparity in found.items():
                write_pictures(out / name, disparity, place, None if how is None else resolve(how))
            write_comparison(out / "comparison.png", found, place)
    if json:
        told = (
            {"without_truth": _shared.map_comparisons_record(place.name, first, comparisons)}
            if comparisons
            else {}
        )
        _shared.print_json([result.record() | told for result in results])
        return
    _shared.print_results(ResultSet(results))
    if comparisons:
        _shared.print_map_comparisons(place.name, first, comparisons)
    if out is not None:
        print(_shared.as_typed(f"pictures in {out}"))
