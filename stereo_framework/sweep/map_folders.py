"""Assign the disparity maps in a folder to the scenes that they belong to."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereo_framework.core.errors import DataError
from stereo_framework.datasets import find_scenes, load_scene, scene_names
from stereo_framework.evaluation import resolve
from stereo_framework.io import PathLike
from stereo_framework.io.scene_maps import best_scenes, map_files


@dataclass(frozen=True)
class FolderMaps:
    """The disparity maps in a folder, such as a submission to a benchmark.

    Parameters
    ----------
    maps : mapping of str to Path
        Dictionary from the full name of a scene to the file of its disparity map. The
        scenes have the same order as in the data sets.
    unassigned_files : tuple of Path
        Files with the extension of a disparity map that belong to no scene.
    missing_scenes : tuple of str
        Names of scenes without a disparity map. Only the data sets for which the folder
        contains at least one disparity map are considered.
    """

    maps: Mapping[str, Path]
    unassigned_files: tuple[Path, ...]
    missing_scenes: tuple[str, ...]


def find_maps(
    folder: PathLike,
    *,
    protocol: str | Mapping[str, Any] | None = None,
    scenes: Sequence[str] = (),
    data: PathLike | None = None,
) -> FolderMaps:
    """Assign the disparity maps in a folder to scenes by the names of the files.

    Parameters
    ----------
    folder : path-like
        Folder with disparity maps, which may be in subfolders. A file belongs to a
        scene if the name of the file begins with the name of the scene, such as
        ``tsukuba.png`` or ``tsukuba_mine.pfm``. A file also belongs to a scene if one
        of its folders has the name of the scene, such as
        ``trainingQ/Pipes/disp0MINE.pfm``.
    protocol : str or mapping, optional
        Name of a preset, or a protocol that is derived from a preset. If `scenes` is
        empty, only scenes of data sets with this preset are considered.
    scenes : sequence of str, optional
        Names of scenes, names of data sets such as ``middlebury-v3/trainingQ``, and
        patterns that `find_scenes` accepts. Only scenes with these names are
        considered. By default, all scenes except synthetic scenes are considered.
    data : path-like, optional
        Folder of the data sets. `load_scene` documents the default.

    Returns
    -------
    FolderMaps
        The disparity map of each scene, the files without a scene, and the scenes
        without a file.

    Raises
    ------
    DataError
        The folder does not exist, no file belongs to a scene, the name of a file fits
        several scenes equally well, or two files belong to the same scene.
    ParameterError
        The protocol is not valid.
    """
    root = Path(folder)
    if not root.is_dir():
        message = f"{root}: there is no such folder"
        raise DataError(message)
    if protocol is not None:
        # This call raises an error if the protocol is unknown. The check comes before
        # the search for files, which may take long.
        resolve(protocol)
    preset = None if scenes else _preset_of(protocol)
    candidates = _named_scenes(scenes, data) if scenes else _scenes_under(preset, data)
    scenes_of_file = {
        path: list(best_scenes(path.relative_to(root.parent), candidates))
        for path in map_files(root)
    }
    maps = _map_of_scene(root, scenes_of_file)
    if not maps:
        scene_words = f"scene of {preset}" if preset else "scene"
        message = (
            f"{root}: the folder contains no disparity map of a known {scene_words} "
            f"(disparity maps: {len(scenes_of_file)}, known scenes: {len(candidates)}); name each "
            "file, or its folder, after its scene, for example teddy.pfm"
        )
        raise DataError(message)

    unassigned_files = tuple(path for path, names in scenes_of_file.items() if not names)
    ordered_maps = {name: maps[name] for name in candidates if name in maps}
    return FolderMaps(ordered_maps, unassigned_files, _missing_scenes(candidates, maps))


def _preset_of(protocol: str | Mapping[str, Any] | None) -> str | None:
    """Return the name of the preset on which a protocol is based."""
    if protocol is None or isinstance(protocol, str):
        return protocol
    return str(protocol["base"])


def _map_of_scene(folder: Path, scenes_of_file: Mapping[Path, Sequence[str]]) -> dict[str, Path]:
    """Return a dictionary from the name of each scene to the file of its disparity map.

    Parameters
    ----------
    folder : Path
        Folder of the files. Messages contain this path.
    scenes_of_file : mapping of Path to sequence of str
        Names of the scenes that fit the name of each file best. Files without a scene
        are left out of the result.

    Raises
    ------
    DataError
        The name of a file fits several scenes equally well, or two files belong to the
        same scene.
    """
    maps: dict[str, Path] = {}
    for path, names in scenes_of_file.items():
        if len(names) > 1:
            message = (
                f"{path}: the name of the file fits {' and '.join(names)} equally well; choose "
                "the data set with --protocol or --scene"
            )
            raise DataError(message)
        if not names:
            continue
        [name] = names
        if name in maps:
            first = maps[name].relative_to(folder)
            second = path.relative_to(folder)
            message = (
                f"{folder}: there are two maps for {name}: {first} and {second}; remove one of them"
            )
            raise DataError(message)
        maps[name] = path
    return maps


def _missing_scenes(candidates: Sequence[str], maps: Collection[str]) -> tuple[str, ...]:
    """Return the scenes without a map, if another scene of their data set has a map."""
    folders = {_folder_of(name) for name in maps}
    return tuple(name for name in candidates if name not in maps and _folder_of(name) in folders)


def _folder_of(scene_name: str) -> str:
    """Return the name of a scene's data set, including the subfolder of the scene."""
    return scene_name.rpartition("/")[0]


# --- scenes that may have maps --------------------------------------------------------


def _named_scenes(scenes: Sequence[str], data: PathLike | None) -> list[str]:
    """Return the full names of all scenes that fit the given names or patterns.

    Raises
    ------
    DataError
        No scene fits one of the given names or patterns.
    """
    wanted_names: set[str] = set()
    for scene in scenes:
        wanted_names.update(find_scenes(scene, data=data))
    endings = tuple(f"/{name}" for name in wanted_names)
    names = [name for name in scene_names(data) if name in wanted_names or name.endswith(endings)]
    if not names:
        message = (
            f"there is no scene or data set {' or '.join(scenes)}; 'stereo-framework scenes' "
            "lists all scenes"
        )
        raise DataError(message)
    return names


def _scenes_under(preset: str | None, data: PathLike | None) -> list[str]:
    """Return the scenes of all data sets, or only of data sets with a given protocol.

    Synthetic scenes are left out, because a file with the name of a synthetic scene
    rarely belongs to this scene.
    """
    names = [name for name in scene_names(data) if not name.startswith("synthetic/")]
    if preset is None:
        return names
    # All scenes of a data set have the same protocol. Therefore only one scene of each
    # data set is loaded, although a data set may contain hundreds of scenes.
    scene_of_data_set = {_data_set_of(name): name for name in names}
    data_sets = {
        data_set
        for data_set, name in scene_of_data_set.items()
        if load_scene(name, data=data).protocol == preset
    }
    return [name for name in names if _data_set_of(name) in data_sets]


def _data_set_of(scene_name: str) -> str:
    return scene_name.partition("/")[0]
