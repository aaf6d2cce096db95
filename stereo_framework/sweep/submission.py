"""Disparity maps from anywhere, measured: single files and folders that hold a map for each scene of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.datasets import find_scenes, load_scene, scene_names
from stereo_framework.evaluation import Protocol, doubts, resolve
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.protocols import derive, of_scene
from stereo_framework.io import PathLike
from stereo_framework.io.map_files import best_scenes, map_files, read_map
from stereo_framework.sweep.result import Result


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
    folder: PathLike, *, protocol: str | Mapping[str, Any] | None = None, scenes: Sequence[str] = (), data: PathLike | None = None
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
    preset: str | None = None
    if protocol is not None:
        resolve(protocol)
        preset = None if scenes else protocol if isinstance(protocol, str) else str(protocol["base"])
    candidates = _candidates(preset, scenes, data)
    files = map_files(folder)
    maps: dict[str, Path] = {}
    strangers = []
    for path in files:
        fits = list(best_scenes(path.relative_to(folder.parent), candidates))
        if len(fits) > 1:
            raise DataError(f"{path}: belongs to {' or '.join(fits)}; say which data set with --protocol or --scene")
        if not fits:
            strangers.append(path)
        elif fits[0] in maps:
            raise DataError(
                f"{folder}: two maps for {fits[0]}: {maps[fits[0]].relative_to(folder)} and {path.relative_to(folder)}"
            )
        else:
            maps[fits[0]] = path
    if not maps:
        wanted = f" of {preset}" if preset else ""
        raise DataError(
            f"{folder}: holds no map of a scene{wanted}: {len(files)} files with a map's ending, {len(candidates)} scenes found; "
            "a file or its folder is named like its scene"
        )
    sets = {name.rpartition("/")[0] for name in maps}
    missing = tuple(name for name in candidates if name not in maps and name.rpartition("/")[0] in sets)
    return Submission({name: maps[name] for name in candidates if name in maps}, tuple(strangers), missing)


@dataclass(frozen=True, eq=False)
class Measured:
    """A map and what was measured of it.

    Parameters
    ----------
    path : Path
    scene : Scene
    protocol : Protocol
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    statistics : mapping of str to float
        As of `evaluation.evaluate`.
    warnings : tuple of str
        As of `evaluation.doubts`.
    """

    path: Path
    scene: Scene
    protocol: Protocol
    disparity: Disparity
    statistics: Mapping[str, float]
    warnings: tuple[str, ...]

    def result(self, method: str, **told: Any) -> Result:
        """As a result of a method; `told` are further fields of it."""
        plain = Result(
            id="",
            scene=self.scene.name,
            method=method,
            parameters={"map": str(self.path)},
            axes={},
            protocol=self.protocol.name,
            statistics=self.statistics,
            warnings=self.warnings,
            protocol_text=str(self.protocol),
        )
        return replace(plain, **told)


def measure_map(
    path: PathLike,
    scene: str | Scene,
    protocol: str | Mapping[str, Any] | Protocol | None = None,
    *,
    scale: float | None = None,
    unknown: int | None = None,
    changes: Mapping[str, Any] | None = None,
    data: PathLike | None = None,
) -> Measured:
    """Read a disparity map and measure it.

    Parameters
    ----------
    path : path-like
        In the encoding that its scene's data set uses: PFM and npy hold pixels.
    scene : str or Scene
    protocol : str, mapping or Protocol, optional
        As `evaluation.resolve` takes it. Default: the scene's own.
    scale : float, optional
        Grey levels per pixel; default: for 8 bits the scene's, for 16 bits 256.
    unknown : int, optional
        Grey level, or number in files of pixels, that means no estimate; default: 0 in pictures, but none in 8-bit maps under a protocol that
        counts missing estimates as bad, since 0 is a disparity in the maps of the 2002 paper; in files of pixels only what is not finite.
    changes : mapping, optional
        Fields that differ from the protocol.
    data : path-like, optional
        As in `load_scene`.

    Raises
    ------
    DataError
        No such scene or file, a damaged file, another size than the scene's.
    ParameterError
        A protocol with faults.
    """
    loaded = load_scene(scene, data=data) if isinstance(scene, str) else scene
    chosen = derive(of_scene(loaded) if protocol is None else resolve(protocol), changes or {})
    disparity = read_map(path, loaded, scale=scale, unknown=unknown, zero_is_known=chosen.missing == "bad")
    statistics = statistics_of(disparity, loaded, chosen)
    return Measured(Path(path), loaded, chosen, disparity, statistics, tuple(doubts(disparity, loaded)))


def _candidates(protocol: str | None, scenes: Sequence[str], data: PathLike | None) -> list[str]:
    # Files are rarely named after synthetic scenes; who means them says so.
    names = [name for name in scene_names(data) if scenes or not name.startswith("synthetic/")]
    if scenes:
        wanted = {name for scene in scenes for name in find_scenes(scene, data=data)}
        names = [name for name in names if name in wanted or any(name.endswith(f"/{one}") for one in wanted)]
        if not names:
            raise DataError(f"no scene is called {' or '.join(scenes)} or begins so; 'stereo-framework scenes' lists them")
    if protocol is not None:
        # The scenes of a data set share its protocol: one of each is looked at, since there may be hundreds.
        one_of = {name.partition("/")[0]: name for name in names}
        measured = {folder for folder, name in one_of.items() if load_scene(name, data=data).protocol == protocol}
        names = [name for name in names if name.partition("/")[0] in measured]
    return names
