"""Disparity maps made elsewhere, measured and stored among the results of a script, and maps of ours as benchmarks want them submitted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.scene import Scene
from stereo_framework.datasets import find_scenes, load_scene, scene_names
from stereo_framework.evaluation import Protocol, find_reading_errors, resolve
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.protocols import PRESETS, derive, of_scene
from stereo_framework.evaluation.sanity import Remedies
from stereo_framework.io import PathLike, encoding_fault, write_bytes, write_disparity
from stereo_framework.io.scene_maps import best_scenes, map_files, read_encoded
from stereo_framework.sweep.identity import (
    content_digest,
    environment,
    result_key,
    run_id,
    scene_digest,
)
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.store import Store


@dataclass(frozen=True)
class Submission:
    """What a folder of maps holds.

    Parameters
    ----------
    maps : mapping of str to Path
        A map by its scene's full name, in the order of the data sets.
    strangers : tuple of Path
        Files that look like maps but belong to no scene.
    missing : tuple of str
        Scenes of the same data sets without a map.
    """

    maps: Mapping[str, Path]
    strangers: tuple[Path, ...]
    missing: tuple[str, ...]


def find_maps(
    folder: PathLike,
    *,
    protocol: str | Mapping[str, Any] | None = None,
    scenes: Sequence[str] = (),
    data: PathLike | None = None,
) -> Submission:
    """Which file of a folder is the map of which scene.

    Parameters
    ----------
    folder : path-like
        Searched with all its folders. A file belongs to the scene whose name is its own (``tsukuba.png``), begins it (``tsukuba_mine.pfm``)
        or is that of one of its folders (``trainingQ/Pipes/disp0MINE.pfm``).
    protocol : str or mapping, optional
        A preset or what is derived from one: without `scenes`, only those of the data sets that are measured with it.
    scenes : sequence of str, optional
        Only these scenes, as `find_scenes` takes them: names, data sets (``middlebury-v3/trainingQ``) and patterns.
    data : path-like, optional
        As in `load_scene`.

    Raises
    ------
    DataError
        No folder, no map in it that belongs to a scene, a file that fits several scenes equally well, two files for one scene.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    if protocol is not None:
        resolve(protocol)
    preset = (
        None
        if protocol is None or scenes
        else protocol
        if isinstance(protocol, str)
        else str(protocol["base"])
    )
    candidates = _candidates(preset, scenes, data)
    fits = {
        path: list(best_scenes(path.relative_to(folder.parent), candidates))
        for path in map_files(folder)
    }
    maps: dict[str, Path] = {}
    for path, names in fits.items():
        if len(names) > 1:
            raise DataError(
                f"{path}: belongs to {' or '.join(names)}; say which data set with --protocol or --scene"
            )
        if names and (first := maps.setdefault(names[0], path)) is not path:
            raise DataError(
                f"{folder}: two maps for {names[0]}: {first.relative_to(folder)} and {path.relative_to(folder)}"
            )
    if not maps:
        wanted = f" of {preset}" if preset else ""
        raise DataError(
            f"{folder}: holds no map of a scene{wanted}: {len(fits)} files with a map's ending, {len(candidates)} scenes found; "
            "a file or its folder is named like its scene"
        )
    sets = {name.rpartition("/")[0] for name in maps}
    missing = tuple(
        name for name in candidates if name not in maps and name.rpartition("/")[0] in sets
    )
    strangers = tuple(path for path, names in fits.items() if not names)
    return Submission({name: maps[name] for name in candidates if name in maps}, strangers, missing)


def _candidates(protocol: str | None, scenes: Sequence[str], data: PathLike | None) -> list[str]:
    if scenes:
        wanted = {name for scene in scenes for name in find_scenes(scene, data=data)}
        names = [
            name
            for name in scene_names(data)
            if name in wanted or any(name.endswith(f"/{one}") for one in wanted)
        ]
        if not names:
            raise DataError(
                f"no scene is called {' or '.join(scenes)} or begins so; 'stereo-framework scenes' lists them"
            )
    else:
        # Files are rarely named after synthetic scenes; who means them says so.
        names = [name for name in scene_names(data) if not name.startswith("synthetic/")]
    if protocol is not None:
        # The scenes of a data set share its protocol: one of each is looked at, since there may be hundreds.
        one_of = {name.partition("/")[0]: name for name in names}
        measured = {
            folder
            for folder, name in one_of.items()
            if load_scene(name, data=data).protocol == protocol
        }
        names = [name for name in names if name.partition("/")[0] in measured]
    return names


COMMAND_LINE = Remedies(
    "write --unknown {value}",
    "write 'unknown: {value}' below truth in scene.yaml",
    other_scale="if it is the map's, write --disparity-scale {value}; if it is the truth's, give the truth its scale (--truth-scale, or disparity_scale in scene.yaml)",
)
"""Instructions for markers in maps and scenes that commands read."""


def measure_map(
    path: PathLike,
    scene: str | Scene,
    protocol: str | Mapping[str, Any] | Protocol | None = None,
    *,
    method: str = "",
    place: PathLike | None = None,
    disparity_scale: float | None = None,
    unknown: float | None = None,
    changes: Mapping[str, Any] | None = None,
    data: PathLike | None = None,
    remedies: Remedies | None = None,
) -> Result:
    """Read a disparity map and measure it.

    Parameters
    ----------
    path : path-like
        In the encoding that its scene's data set uses: PFM and npy hold pixels.
    scene : str or Scene
    protocol : str, mapping or Protocol, optional
        As `evaluation.resolve` takes it. Default: the scene's own.
    method : str
        What made it; default: the name of the file.
    place : path-like, optional
        Where it was found: the folder with a file for each scene; default: the file.
    disparity_scale : float, optional
        Stored units per pixel, negative for disparities of the other sign; default: in
        pictures of 8 bits the scene's, with 16 bits 256, otherwise 1.
    unknown : float, optional
        Stored value that means no estimate; default: 0 in pictures, but none in 8-bit
        maps under a protocol that counts missing estimates as bad, since 0 is a
        disparity in the maps of the 2002 paper; in other files only what is not finite.
    changes : mapping, optional
        Fields that differ from the protocol.
    data : path-like, optional
        As in `load_scene`.
    remedies : Remedies, optional
        Instructions for markers; default: those for commands.

    Returns
    -------
    Result
        With its map.

    Raises
    ------
    DataError
        No such scene or file, a damaged file, another size than the scene's.
    ParameterError
        A protocol with faults.
    """
    loaded = load_scene(scene, data=data) if isinstance(scene, str) else scene
    chosen = derive(of_scene(loaded) if protocol is None else resolve(protocol), changes or {})
    encoding, disparity = read_encoded(
        path,
        loaded,
        disparity_scale=disparity_scale,
        unknown=unknown,
        zero_is_known=chosen.missing == "bad",
    )
    remedies = replace(remedies or COMMAND_LINE, map_scale=encoding)
    options = {"disparity_scale": disparity_scale, "unknown": unknown}
    reading = {name: value for name, value in options.items() if value is not None}
    name = method or Path(path).stem
    if fault := encoding_fault(name):
        message = f"{fault}; set PYTHONUTF8=1 in the environment, or name the method (--name)"
        raise ParameterError(message)
    parameters = {
        "matcher.use": "maps",
        **{f"matcher.{key}": value for key, value in reading.items()},
    }
    # The protocol decides too how a file is read, so the map itself is part of the identity.
    content = parameters | {"matcher.map": content_digest(disparity, {}).hex()}
    spec = chosen.name if chosen.name in PRESETS else {"base": "taxonomy2002", **chosen.as_dict()}
    maps = {"path": str(Path(place or path).resolve()), **reading}
    # The digest loads the images.
    digest = scene_digest(loaded)
    return Result(
        # Nothing was computed: other code makes it no other map. What measures it may have changed, and so it is measured anew whenever it is added.
        id=run_id(digest, "", content, ""),
        scene=loaded.name,
        method=name,
        parameters=parameters,
        axes={},
        protocol=chosen.name,
        statistics=statistics_of(disparity, loaded, chosen),
        warnings=(*loaded.damage, *find_reading_errors(disparity, loaded, remedies=remedies)),
        script={
            "name": name,
            "scenes": [loaded.name],
            "maps": maps,
            "evaluation": {"protocol": spec},
        },
        protocol_text=str(chosen),
        environment=environment(),
        _disparity=disparity,
    )


def add_maps(folder: Path, results: Sequence[Result]) -> list[Result]:
    """Write maps that somebody else has made, and what was measured of them, to a results folder.

    They stand there beside the results of the script that was run there last, or will be; those of the same method, scene and protocol are replaced.

    Parameters
    ----------
    folder : Path
        Output folder, new or with results.
    results : sequence of Result
        Of `measure_map`.

    Returns
    -------
    list of Result
        With the maps in the folder.

    Raises
    ------
    DataError
        A script's method in the folder has that name, or another process writes there.
    """
    with Store(folder, create=True) as store:
        of_scripts = {result.method for result in store.results() if "maps" not in result.script}
        if taken := of_scripts.intersection(result.method for result in results):
            raise DataError(
                f"{folder}: a method of the script that was run there is called {min(taken)!r}; choose another name"
            )
        stored: list[Result] = []
        for result in results:
            stored += store.with_map([result])
            key = result_key("external map", result.method, result.scene, result.protocol_text)
            store.add(key, stored[-1], is_external=True)
    return stored


# --- maps for benchmarks ------------------------------------------------------------------------------------------------


FORMATS: Mapping[str, tuple[str, str, str]] = {
    # Maps with holes bear another name.
    "middlebury-v3": (
        "{folder}/{scene}/disp0{method}{holes}.pfm",
        "{folder}/{scene}/time{method}.txt",
        "{:.6g}\n",
    ),
    # A disparity of 0, which means no estimate there, becomes the smallest that there is.
    "kitti2015": ("{part}/disp_0/{scene}.png", "", ""),
    "eth3d": ("low_res_two_view/{scene}.pfm", "low_res_two_view/{scene}.txt", "runtime {:.6g}\n"),
}
"""By data set, as their organizers describe them for submission: the path of a map, that of the file with its seconds (empty: none), and what stands there."""


def export_maps(results: Sequence[Result], form: str, method: str, folder: Path) -> list[str]:
    """Write the maps of one method as a benchmark wants them.

    Parameters
    ----------
    results : sequence of Result
        Of one setting of a method, with maps.
    form : str
        One of `FORMATS`.
    method : str
        What the method is called there; letters, digits, ``-`` and ``_`` are kept.
    folder : Path
        Gets the benchmark's own folders.

    Returns
    -------
    list of str
        What is missing, one line each: scenes without a map, times that nobody knows.

    Raises
    ------
    DataError
        No map is of the benchmark's data set, or one does not fit its encoding.
    """
    map_path, time_path, seconds = FORMATS[form]
    # Several protocols measure the same map.
    ours = {
        r.scene.removeprefix(f"{form}/"): r
        for r in results
        if r.map is not None and r.scene.startswith(f"{form}/")
    }
    if not ours:
        raise DataError(
            f"{method}: no map of a scene of {form}; run with --maps on some, such as --scene {form}"
        )
    plain, told = re.sub(r"[^\w-]", "", method), []
    for scene, result in ours.items():
        disparity = result.disparity
        if disparity is None:
            told.append(f"{method}: the map of {result.scene}, {result.map}, is gone")
            continue
        part, _, last = scene.rpartition("/")
        holes = "_s" if np.isnan(disparity).any() else ""
        names = {
            "part": part or "training",
            "folder": part,
            "scene": last,
            "method": plain,
            "holes": holes,
        }
        # A store of somebody else may name any scenes: joined as texts, an absolute one stays below the folder, and what leads out is not written.
        write_disparity(f"{folder}/{map_path.format(**names)}", disparity)
        if time_path and result.matching_seconds is None:
            told.append(
                f"{method}: nobody knows what {result.scene} took; the benchmark wants it in {time_path.format(**names)}"
            )
        elif time_path:
            write_bytes(
                f"{folder}/{time_path.format(**names)}",
                seconds.format(result.matching_seconds).encode(),
            )
    return told
