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
from stereo_framework.sweep.environment import current_time, environment
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
"""Instructions that commands give if a disparity map or a scene is read incorrectly."""


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
        contain disparities in pixels.
    scene : str or Scene
        Scene that the disparity map belongs to.
    protocol : str, mapping or Protocol, optional
        Protocol of the evaluation. The function `resolve` lists the allowed values. The
        default is the protocol of the scene.
    method : str
        Name of the method. The default is the name of the file without its extension.
    maps_path : path-like, optional
        Path that the script of the result contains under ``maps``. If a folder contains
        the disparity maps of several scenes, pass the path of this folder. The default
        is `path`.
    disparity_scale : float, optional
        Stored units per pixel. The scale is negative if the file contains negative
        disparities. The default is the scale of the scene for images with 8 bits, 256
        for images with 16 bits, and 1 for other files.
    unknown : float, optional
        Stored value that means "no estimate". The default for images is 0. In other
        files, only values that are not finite mean "no estimate" by default. If the
        protocol counts missing estimates as bad, images with 8 bits have no default
        value, because such images of the 2002 paper contain 0 as a disparity.
    changes : mapping, optional
        Fields of the protocol that are changed, with their new values.
    data : path-like, optional
        Folder of the data sets. `load_scene` documents the default.
    remedies : Remedies, optional
        Instructions in the warnings of the result, for example about stored values that
        probably mean "no estimate". The default is `COMMAND_REMEDIES`.

    Returns
    -------
    Result
        The statistics of the disparity map, and the disparity map itself.

    Raises
    ------
    DataError
        The scene or the file does not exist, the file is damaged, or the disparity map
        and the scene differ in size.
    ParameterError
        The protocol is not valid, or the name of the method cannot be stored.
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
    # The function `_identity` has read the images, and has recorded damaged image files
    # in `loaded_scene.damage`.
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
        time=current_time(),
        _disparity=disparity,
    )


def _refuse_unencodable_name(method: str) -> None:
    """Refuse a name of a method that the current text encoding cannot represent."""
    fault = encoding_fault(method)
    if fault:
        message = f"{fault}; set PYTHONUTF8=1 in the environment, or name the method (--name)"
        raise ParameterError(message)


def _reading_parameters(disparity_scale: float | None, unknown: float | None) -> dict[str, float]:
    """Return the parameters that the caller has given for reading the file."""
    reading: dict[str, float] = {}
    if disparity_scale is not None:
        reading["disparity_scale"] = disparity_scale
    if unknown is not None:
        reading["unknown"] = unknown
    return reading


def _identity(scene: Scene, parameters: Mapping[str, Any], disparity: Disparity) -> str:
    """Return the identity of the result of a disparity map.

    The identity contains the digest of the disparities instead of the file, because the
    meaning of the values in the file also depends on the protocol. The identity
    contains neither code nor a search range, because another program has computed the
    disparity map. The identity does not contain the code of the evaluation, because
    each call of `measure_map` evaluates the disparity map again.
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
        Results folder. The function creates a missing folder.
    results : sequence of Result
        Results that `measure_map` has returned.

    Returns
    -------
    list of Result
        The given results, with the paths of their disparity maps in the folder.

    Raises
    ------
    DataError
        The folder contains results of a script whose method has the same name, or
        another process writes to the folder.
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
    """Refuse results if a script has run a method with the same name in the folder."""
    script_methods = {result.method for result in earlier_results if "maps" not in result.script}
    common_names = script_methods.intersection(result.method for result in results)
    if common_names:
        message = (
            f"{folder}: a script that was run in this folder has a method {min(common_names)!r}; "
            "choose another name"
        )
        raise DataError(message)
