"""Average statistics over scenes as the protocol of a benchmark prescribes.

Each average is a `Result` too, so that a table can list the average of a method below
the results of this method.
"""

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.datasets import load_scene
from stereo_framework.evaluation import Protocol, resolve
from stereo_framework.evaluation.protocols import (
    PRESETS,
    average_unchecked,
    is_counted,
    with_metrics,
)
from stereo_framework.io import PathLike
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.grouping import group_items
from stereo_framework.tables.words import short_names


def average_rows(
    results: ResultSet, data: PathLike | None = None, scenes: Sequence[str] | None = None
) -> ResultSet:
    """Average the results of each setting over scenes, as the protocol prescribes.

    Parameters
    ----------
    results : ResultSet
        Results of one or more protocols.
    data : path-like, optional
        Folder of the data sets. The weights of scenes are read from this folder if the
        protocol uses weights.
    scenes : sequence of str, optional
        All scenes of the protocol, if the results belong to only some settings. The
        default is the scenes of the results of a protocol.

    Returns
    -------
    ResultSet
        One result for each setting. Its scene is ``average of 10``. If the setting has
        no result on a scene on which another setting was evaluated, the scene is
        ``average of 9 of 10``, and a warning names the missing scene. A protocol has no
        averages if it was used on a single scene, if it is not known any more, or if
        the weights cannot be read.
    """
    rows: list[Result] = []
    for results_of_protocol in results.by("protocol_text").values():
        rows += _average_rows_of_protocol(results_of_protocol, data, scenes)
    return ResultSet(rows)


def _average_rows_of_protocol(
    results: ResultSet, data: PathLike | None, scenes: Sequence[str] | None
) -> Iterator[Result]:
    """Yield the average of each setting, for results of one protocol."""
    if scenes is None:
        scenes = list(dict.fromkeys(results.column("scene")))
    protocol = protocol_of(results) if len(scenes) > 1 else None
    if protocol is None:
        return
    weights = _weights_of_scenes(scenes, protocol, data)
    if weights is None:
        return

    groups = group_items(results, lambda result: result.setting_name)
    for results_of_setting in groups.values():
        counted = [
            result
            for result in results_of_setting
            if result.statistics and is_counted(result.statistics, protocol)
        ]
        if counted and _has_one_result_per_scene(counted):
            yield _average_row(counted, scenes, protocol, weights)


def _has_one_result_per_scene(results: Sequence[Result]) -> bool:
    """Return whether the results of a setting have a unique average.

    A scene has two results if the setting ran with two versions of the code.
    """
    scenes = {result.scene for result in results}
    return len(scenes) == len(results)


def _average_row(
    counted: Sequence[Result],
    scenes: Sequence[str],
    protocol: Protocol,
    weights: Mapping[str, float],
) -> Result:
    """Return the average of the results of one setting, as a result.

    Parameters
    ----------
    counted : sequence of Result
        Results of the setting that the average includes.
    scenes : sequence of str
        All scenes of the protocol. A scene without a result is named in a warning.
    protocol : Protocol
        The protocol that prescribes the average.
    weights : mapping of str to float
        Weight of each scene.
    """
    title = f"average of {len(counted)}"
    if len(counted) < len(scenes):
        title += f" of {len(scenes)}"
    statistics = [result.statistics for result in counted]
    scene_weights = [weights[result.scene] for result in counted]
    return replace(
        counted[0],
        id="",
        scene=title,
        statistics=average_unchecked(statistics, protocol, scene_weights),
        warnings=_warnings_about_scenes(counted, scenes),
        energy=_mean_energy(counted),
        seconds={},
        error=None,
        map=None,
        _disparity=None,
    )


def _warnings_about_scenes(counted: Sequence[Result], scenes: Collection[str]) -> tuple[str, ...]:
    """Return a warning that names the scenes that an average does not include."""
    missing_scenes = set(scenes) - {result.scene for result in counted}
    if not missing_scenes:
        return ()
    listed = ", ".join(short_names(missing_scenes).values())
    if any(map(counted[0].is_meant_for, missing_scenes)):
        return (f"without {listed}, where it has no result",)
    return (f"without {listed}, on which it does not run",)


def _mean_energy(results: Sequence[Result]) -> float | None:
    """Return the mean energy, or None if a result has no energy."""
    energies = [result.energy for result in results if result.energy is not None]
    if len(energies) < len(results):
        return None
    return math.fsum(energies) / len(energies)


def protocol_of(results: ResultSet) -> Protocol | None:
    """Find the protocol of some results: a preset, or a protocol in a script.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.

    Returns
    -------
    Protocol or None
        The protocol; None if no preset and no script of the results describes it.
    """
    text = results[0].protocol_text
    for preset in map(resolve, PRESETS):
        if str(preset) == text:
            return preset
    for evaluation in _evaluations_of_scripts(results):
        metrics = tuple(_as_list(evaluation.get("metrics") or []))
        for spec in _as_list(evaluation.get("protocol") or list(PRESETS)):
            # A ParameterError is raised if the protocol belongs to a plug-in that is
            # not loaded. A TypeError is raised if the script has a value of a wrong
            # type, because a script from an unknown source is not checked.
            with contextlib.suppress(ParameterError, TypeError):
                protocol = with_metrics(resolve(spec), metrics)
                if str(protocol) == text:
                    return protocol
    return None


def _evaluations_of_scripts(results: ResultSet) -> list[Mapping[str, Any]]:
    """Return the different values of the key ``evaluation`` in all scripts."""
    evaluations: dict[str, Mapping[str, Any]] = {}
    for result in results:
        evaluation = result.script.get("evaluation")
        if evaluation:
            evaluations[repr(evaluation)] = evaluation
    return list(evaluations.values())


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _weights_of_scenes(
    scenes: Sequence[str], protocol: Protocol, data: PathLike | None
) -> dict[str, float] | None:
    """Return the weight of each scene, or None if a weight cannot be read."""
    if protocol.averaging != "weighted":
        return dict.fromkeys(scenes, 1.0)
    try:
        return {scene: load_scene(scene, data=data).weight for scene in scenes}
    except DataError:
        return None
