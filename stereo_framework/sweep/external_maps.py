"""Evaluate disparity maps of other programs, and store them with the results."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.datasets import load_scene
from stereo_framework.evaluation import Protocol, find_reading_errors, resolve
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.protocols import PRESETS, derive, of_scene
from stereo_framework.evaluation.sanity import Remedies
from stereo_framework.io import PathLike, encoding_fault
from stereo_framework.io.scene_maps import read_encoded
from stereo_framework.sweep.environment import environment
from stereo_framework.sweep.identity import content_digest, result_key, run_id, scene_digest
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.store import Store

COMMAND_REMEDIES = Remedies(
    "write --unknown {value}",
    "write 'unknown: {value}' below truth in scene.yaml",
    other_scale=(
        "if it is the map's, write --disparity-scale {value}; if it is the truth's, give the "
        "truth its scale (--truth-scale, or disparity_scale in scene.yaml)"
    ),
)
"""Instructions for markers in the disparity maps and scenes that commands read."""


def measure_map(
    path: PathLike,
    scene: str | Scene,
    protocol: str | Mapping[str, Any] | Protocol | None = None,
    *,
    method: str = "",
    maps_path: PathLike | None = None,
    disparity_scale: float | None = None,
    unknown: float | None = None,
    changes: Mapping[str, Any] | None = None,
    data: PathLike | None = None,
    remedies: Remedies | None = None,
) -> Result:
    """Read a disparity map and evaluate it.

    Parameters
    ----------
    path : path-like
        File of the disparity map, in the encoding of the data set. PFM and npy files
        contain pixels.
    scene : str or Scene
        Scene of the disparity map.
    protocol : str, mapping or Protocol, optional
        Protocol of the evaluation; see `resolve`. Default: the protocol of the scene.
    method : str
        Name of the method. Default: the name of the file without its extension.
    maps_path : path-like, optional
        Path under ``maps`` in the script of the result. It is the folder if a folder
        contains the disparity maps of several scenes. Default: `path`.
    disparity_scale : float, optional
        Stored units per pixel. It is negative if the file contains negative
        disparities. Default: the scale of the scene for images with 8 bits, 256 for
        images with 16 bits, otherwise 1.
    unknown : float, optional
        Stored value that means no estimate. Default: 0 for images, and only values that
        are not finite for other files. There is one exception: in the images of the
        2002 paper, 0 is a disparity. Therefore no value of an image with 8 bits means
        "no estimate" if the protocol counts missing estimates as bad.
    changes : mapping, optional
        Fields of the protocol to change.
    data : path-like, optional
        Folder of the data sets; see `load_scene`.
    remedies : Remedies, optional
        Instructions for markers. Default: the instructions for commands.

    Returns
    -------
    Result
        The statistics, with the disparity map.

    Raises
    ------
    DataError
        The scene or the file does not exist, the file is damaged, or the disparity map
        and the scene differ in size.
    ParameterError
        The protocol has a fault, or the name of the method cannot be stored.
    """
    loaded_scene = load_scene(scene, data=data) if isinstance(scene, str) else scene
    base_protocol = of_scene(loaded_scene) if protocol is None else resolve(protocol)
    used_protocol = derive(base_protocol, changes or {})
    scale, disparity = read_encoded(
        path,
        loaded_scene,
        disparity_scale=disparity_scale,
        unknown=unknown,
        zero_is_known=used_protocol.missing == "bad",
    )
    method_name = method or Path(path).stem
    _refuse_unencodable_name(method_name)

    reading = _reading_parameters(disparity_scale, unknown)
    parameters = {"matcher.use": "maps"} | {f"matcher.{key}": reading[key] for key in reading}
    map_remedies = replace(remedies or COMMAND_REMEDIES, map_scale=scale)
    identity = _identity(loaded_scene, parameters, disparity)
    statistics = statistics_of(disparity, loaded_scene, used_protocol)
    # The call of `_identity` has read the images. Only now is it known whether their
    # files are damaged.
    damage = loaded_scene.damage
    reading_errors = find_reading_errors(disparity, loaded_scene, remedies=map_remedies)
    return Result(
        id=identity,
        scene=loaded_scene.name,
        method=method_name,
        parameters=parameters,
        axes={},
        protocol=used_protocol.name,
        statistics=statistics,
        warnings=(*damage, *reading_errors),
        script={
            "name": method_name,
            "scenes": [loaded_scene.name],
            "maps": {"path": str(Path(maps_path or path).resolve())} | reading,
            "evaluation": {"protocol": _protocol_in_script(used_protocol)},
        },
        protocol_text=str(used_protocol),
        environment=environment(),
        _disparity=disparity,
    )


def _refuse_unencodable_name(method: str) -> None:
    """Refuse the name of a method that cannot be written in the current encoding."""
    fault = encoding_fault(method)
    if fault:
        message = f"{fault}; set PYTHONUTF8=1 in the environment, or name the method (--name)"
        raise ParameterError(message)


def _reading_parameters(disparity_scale: float | None, unknown: float | None) -> dict[str, float]:
    """Return the given parameters, which change how the file is read."""
    reading: dict[str, float] = {}
    if disparity_scale is not None:
        reading["disparity_scale"] = disparity_scale
    if unknown is not None:
        reading["unknown"] = unknown
    return reading


def _identity(scene: Scene, parameters: Mapping[str, Any], disparity: Disparity) -> str:
    """Return the identity of the result of a disparity map.

    The identity contains the disparity map and not its file, because the protocol
    decides, too, how the file is read. It contains no code and no search range, because
    no code of this package has computed the disparity map. The code of the evaluation
    does not belong to it either, because a disparity map is evaluated each time that it
    is added.
    """
    content = {**parameters, "matcher.map": content_digest(disparity, {}).hex()}
    return run_id(scene_digest(scene), "", content, "")


def _protocol_in_script(protocol: Protocol) -> str | dict[str, Any]:
    """Return a protocol as the value of ``evaluation.protocol`` in a script."""
    if protocol.name in PRESETS:
        return protocol.name
    return {"base": "taxonomy2002", **protocol.as_dict()}


def add_maps(folder: Path, results: Sequence[Result]) -> list[Result]:
    """Write disparity maps of other programs and their statistics to a results folder.

    The folder may also contain the results of a script. A new result replaces an
    earlier result of the same method, scene and protocol.

    Parameters
    ----------
    folder : Path
        Results folder, which is created if it does not exist.
    results : sequence of Result
        Results of `measure_map`.

    Returns
    -------
    list of Result
        The same results, with the paths of their disparity maps in the folder.

    Raises
    ------
    DataError
        A method of a script has the same name, or another process writes to the folder.
    """
    with Store(folder, create=True) as store:
        _refuse_names_of_script_methods(folder, store.results(), results)
        stored_results: list[Result] = []
        for result in results:
            [stored_result] = store.with_map([result])
            key = result_key("external map", result.method, result.scene, result.protocol_text)
            store.add(key, stored_result, is_external=True)
            stored_results.append(stored_result)
    return stored_results


def _refuse_names_of_script_methods(
    folder: Path, earlier_results: Sequence[Result], results: Sequence[Result]
) -> None:
    """Refuse results with the name of a method that a script has run in the folder."""
    script_methods = {result.method for result in earlier_results if "maps" not in result.script}
    common_names = script_methods.intersection(result.method for result in results)
    if common_names:
        message = (
            f"{folder}: a script that was run in this folder has a method {min(common_names)!r}; "
            "choose another name"
        )
        raise DataError(message)
